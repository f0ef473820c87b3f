//! Programs of others under `capbench bench`: mistakes in definitions, and ends of every kind.

use std::path::Path;
use std::process::Command;

use crate::support::{
    HOST, Running, Scratch, capbench, eventually, privileges, program, run, scratch_of_root, signal,
};

/// A program with a child, one that left its session, and a capture of its own, which nobody ends but capbench.
const TREE: &str = r#"
[programs.tree]
command = ["sh", "-c", "trap : INT; sleep 1000 & setsid sleep 1000 & tcpdump -n -Z root -i {interface} -w {file}"]
ready = "listening on"
[programs.broken]
command = ["sh", "-c", "echo no such luck >&2; exit 3"]
counts = { captured = '(\d+)' }
[programs.absent]
command = ["no-such-program", "{file}"]
"#;

fn bench(scratch: &Scratch, definitions: &Path, methods: &str, duration: &str) -> Command {
    let mut command = capbench(&format!(
        "bench --placement same --size 64 --rate 20000 --visits 1 --duration {duration} --method {methods} --programs"
    ));
    command.arg(definitions).arg("--out").arg(scratch.file("results"));
    command
}

/// Processes that the trials of a capbench started: they carry its number in their environment.
fn started_by(capbench: u32) -> Vec<String> {
    let mark = format!("CAPBENCH_PROGRAM_OF={capbench}.");
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries
        .filter(|path| {
            let environment = std::fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|octet| *octet == 0).any(|text| text.starts_with(mark.as_bytes()))
        })
        .filter_map(|path| std::fs::read_to_string(path.join("comm")).ok())
        .collect()
}

fn has_directory(capbench: u32) -> bool {
    let prefix = format!("capbench-{capbench}-");
    ["/dev/shm".into(), std::env::temp_dir()]
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
}

#[test]
fn root_nothing_of_a_program_outlives_capbench_however_that_ends() {
    let Some(()) = privileges() else { return };
    let _ = program("tcpdump");
    for (name, code) in [("KILL", None), ("INT", Some(130)), ("TERM", Some(143))] {
        let scratch = Scratch::new();
        let definitions = scratch.file("programs.toml");
        std::fs::write(&definitions, TREE).unwrap();
        let running = Running::start(HOST, &mut bench(&scratch, &definitions, "cmd:tree", "60s"));
        let capbench = running.pid();
        eventually("the program captures", || {
            let names = started_by(capbench);
            let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
            (count("tcpdump\n"), count("sleep\n")) == (1, 2)
        });
        assert!(has_directory(capbench));
        signal(capbench, name);
        let ended = running.end();
        assert_eq!(ended.code, code, "{ended:?}");
        // After SIGKILL another process cleans up, in a moment.
        eventually("everything is gone", || started_by(capbench).is_empty() && !has_directory(capbench));
    }
}

#[test]
fn root_a_program_that_fails_leaves_the_others_measured() {
    let Some(scratch) = scratch_of_root() else { return };
    let definitions = scratch.file("programs.toml");
    std::fs::write(&definitions, TREE).unwrap();
    let methods = "cmd:absent,cmd:broken,packet-v3";
    let ended = run(HOST, &mut bench(&scratch, &definitions, methods, "40ms"));
    assert!(ended.out.contains("Every packet is accounted for"), "{ended:?}");
    // Of methods asked for by name, one failed while it was measured.
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for expected in [
        "not measured: cmd:absent: there is no program no-such-program on the PATH",
        "cmd:broken: it ended before it could receive, with exit status 3; it said last: \"no such luck\"",
    ] {
        assert!(ended.errors.contains(expected), "{}", ended.errors);
    }
}

#[test]
fn mistakes_in_names_and_definitions_are_usage_errors() {
    let scratch = Scratch::new();
    let definitions = scratch.file("programs.toml");
    for (text, method, expected) in [
        (TREE, "cmd:wireshark", "there is no program \"wireshark\" for cmd:; known are tcpdump, "),
        (TREE, "cmd", "write cmd:PROGRAM"),
        (TREE, "cmd:tree+fast", "a program has no setting \"fast\""),
        ("[programs.x]\n", "cmd:x", "programs.toml: line 1: missing field `command`"),
        ("[programs.x]\ncommand = ['x']\n", "cmd:x", "programs.x: nothing would report what it captured"),
    ] {
        std::fs::write(&definitions, text).unwrap();
        let ended = run(HOST, &mut bench(&scratch, &definitions, method, "1s"));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.errors.contains(expected) && ended.errors.lines().count() == 1, "{}", ended.errors);
    }
    std::fs::write(&definitions, TREE).unwrap();
    let ended = run(HOST, capbench("methods --programs").arg(&definitions));
    for expected in ["cmd:tree", "cmd:tcpdump", "cmd:zeek", "untested", "no program no-such-program"] {
        assert!(ended.out.contains(expected), "{expected}: {}", ended.out);
    }
}
