//! Manual pages and completions, as the programs that read them see them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{HOST, Scratch, capbench, lossy, program, run};

fn generated(what: &str) -> Scratch {
    let folder = Scratch::new();
    let ended = run(HOST, capbench(&format!("generate {what}")).arg(folder.path())).success();
    assert_eq!((ended.out.as_str(), ended.errors.as_str()), ("", ""));
    folder
}

/// A program that need not be there.
fn where_installed(name: &str) -> Option<Command> {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        println!("without {name}: it is not installed");
    }
    found.map(Command::new)
}

/// Asserts that a program finds nothing to say about a file.
fn silent(command: &mut Command) {
    let output = command.output().unwrap();
    let said = lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{command:?}: {said}");
}

#[test]
fn every_command_that_help_lists_has_a_page_that_man_reads_without_a_warning() {
    let folder = generated("man");
    let help = run(HOST, capbench("--help")).success().out;
    let commands = help.split("Compare:").nth(1).unwrap().split("Options:").next().unwrap();
    let names =
        commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let mut pages: BTreeSet<String> =
        names.map(|line| format!("capbench-{}.1", line.split_whitespace().next().unwrap())).collect();
    assert!(pages.contains("capbench-bench.1") && pages.contains("capbench-extcap.1"), "{pages:?}");
    let references =
        ["campaign.5", "goals.5", "ledger.7", "methods.7", "programs.5", "recommended.5", "results.5"];
    pages.extend(references.map(|page| format!("capbench-{page}")));
    pages.insert("capbench.1".into());
    assert_eq!(folder.entries().into_iter().collect::<BTreeSet<_>>(), pages);
    for page in &pages {
        let file = folder.file(page);
        silent(
            program("man --warnings -E UTF-8 -l -Tutf8 -Z")
                .arg(&file)
                .env("LC_ALL", "C.UTF-8")
                .env("MANROFFSEQ", "")
                .env("MANWIDTH", "80"),
        );
        if let Some(mut mandoc) = where_installed("mandoc") {
            let output = mandoc.args(["-Tlint", "-Werror"]).arg(&file).output().unwrap();
            assert!(output.status.success(), "{page}: {}", lossy(&output.stdout));
        }
    }
    let text = fs::read_to_string(folder.file("capbench.1")).unwrap();
    assert!(text.contains("EXIT STATUS") && !text.contains("generate"), "{text}");
    assert!(text.contains(".SS \"Find a loss\"\n.TP\n\\fBcapbench\\-why\\fR(1)"), "{text}");
    for (page, parts) in [
        ("results.5", ["\\fBtrials (list of TrialResult)", ".SS \"Verdict\""]),
        ("recommended.5", ["\\fBrecommended (Recommendation)", ".SS \"Ranking\""]),
        ("programs.5", ["[programs.tcpdump\\-immediate]", "{interface}"]),
        ("campaign.5", ["command = \"search\"", "changes\n"]),
        ("goals.5", ["\\fBexceed\\fR", "\\fBstrict\\-capture\\fR"]),
        ("methods.7", [".SS \"packet\\-v3\"", "\\fBpacket\\-tx\\fR"]),
        ("ledger.7", [".SS \"fill_ring\"", "Counter on a card"]),
    ] {
        let text = fs::read_to_string(folder.file(&format!("capbench-{page}"))).unwrap();
        assert!(parts.iter().all(|part| text.contains(part)), "{page}: {text}");
    }
    let count = fs::read_to_string(folder.file("capbench-count.1")).unwrap();
    assert!(count.contains(".SH EXAMPLES") && count.contains("\\-\\-eal"), "{count}");
}

#[test]
fn shells_read_the_completions_and_complete_by_them() {
    let folder = generated("completions");
    let mut files = folder.entries();
    files.sort();
    assert_eq!(files, ["_capbench", "capbench.bash", "capbench.fish"]);
    let [zsh, bash, fish]: [PathBuf; 3] =
        files.iter().map(|name| folder.file(name)).collect::<Vec<_>>().try_into().unwrap();
    silent(program("bash -n").arg(&bash));
    // As readline does it: words and place in, possible words out.
    let script = "source \"$1\"; COMP_WORDS=(capbench cou); COMP_CWORD=1; _capbench capbench cou capbench; echo ${COMPREPLY[@]}";
    let output = program("bash -c").args([script, "bash"]).arg(&bash).output().unwrap();
    assert_eq!(lossy(&output.stdout), "count\n", "{}", lossy(&output.stderr));
    for (shell, file) in [("zsh", &zsh), ("fish", &fish)] {
        if let Some(mut shell) = where_installed(shell) {
            silent(shell.arg("-n").arg(file));
        }
    }
    for file in [&zsh, &bash, &fish] {
        assert!(!fs::read_to_string(file).unwrap().contains("generate"), "{}", file.display());
    }
}
