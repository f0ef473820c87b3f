//! A bench that is stopped in the middle, by whatever: finished trials are saved, and nothing of it is left on the host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{
    Ended, HOST, Running, Scratch, capbench, eventually, lossy, numbers, privileges, program, results,
    saved_trials, scratch_of_root,
};
use capbench_testing::network::user_namespaces_of_nobody;

/// Entries of a folder; a process may end while it is looked at.
fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The number of a network namespace, if that is what the path leads to.
fn namespace(path: &Path) -> Option<u64> {
    let data = fs::metadata(path).ok()?;
    let device = fs::metadata("/proc/self/ns/net").unwrap().dev();
    (data.dev() == device).then(|| data.ino())
}

/// Network namespaces that a process is in or has open.
fn namespaces_of(process: &Path) -> BTreeSet<u64> {
    let threads = entries(process.join("task")).into_iter().map(|thread| thread.join("ns/net"));
    let open = entries(process.join("fd")).into_iter();
    let named = open
        .filter(|file| fs::read_link(file).is_ok_and(|target| target.to_string_lossy().starts_with("net:[")));
    threads.chain(named).filter_map(|path| namespace(&path)).collect()
}

/// Network namespaces that anything keeps: processes, or names in the file system.
fn namespaces() -> BTreeSet<u64> {
    let processes = entries("/proc").into_iter().filter(|path| path.join("ns").is_dir());
    let mut found: BTreeSet<u64> = processes.flat_map(|process| namespaces_of(&process)).collect();
    found.extend(
        ["/run/netns", "/var/run/netns"].iter().flat_map(entries).filter_map(|path| namespace(&path)),
    );
    found
}

/// Interfaces of the host, by ip(8).
fn links() -> BTreeSet<String> {
    let output = program("ip -o link").output().unwrap();
    assert!(output.status.success());
    let name = |line: &str| line.split(':').nth(1).unwrap().trim().to_string();
    lossy(&output.stdout).lines().map(name).collect()
}

/// Network settings of the host that a bench could have an interest in.
fn settings() -> BTreeMap<PathBuf, String> {
    let files = entries("/proc/sys/net/core").into_iter();
    files.filter_map(|file| Some((file.clone(), fs::read_to_string(&file).ok()?))).collect()
}

/// Processes of a process group.
fn processes_of_group(group: u32) -> Vec<PathBuf> {
    let in_group = |process: &PathBuf| {
        // Behind the name, which may hold anything: state, parent, group (proc_pid_stat(5)).
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.to_string()).unwrap_or_default();
        fields.split_whitespace().nth(2) == Some(group.to_string().as_str())
    };
    entries("/proc").into_iter().filter(in_group).collect()
}

/// Runs a bench of many trials, ends it by `end` after it has saved one, and asserts that all that is left is the
/// results of whole trials.
fn interrupted(mut command: Command, out: &Path, end: impl FnOnce(&Running)) -> Ended {
    use std::os::unix::process::CommandExt;
    let (links_before, settings_before, own) = (links(), settings(), namespaces_of(Path::new("/proc/self")));
    command
        .args(["bench", "--duration", "250ms", "--quiet", "100ms", "--repeats", "0", "--out"])
        .arg(out)
        .process_group(0);
    let bench = Running::start(HOST, &mut command);
    let pid = bench.pid();
    eventually("a trial is saved", || saved_trials(out) > 0);
    let mut made = BTreeSet::new();
    // Between two beds it may have none for a moment.
    eventually("it works in namespaces of its own", || {
        made = namespaces_of(Path::new(&format!("/proc/{pid}")));
        made.retain(|namespace| !own.contains(namespace));
        !made.is_empty()
    });
    end(&bench);
    let ended = bench.end();

    // Where other processes keep the CPUs busy, the kernel needs a while to end the children of a process that was killed.
    eventually("no process is left", || processes_of_group(pid).is_empty());
    eventually("no namespace is left", || made.is_disjoint(&namespaces()));
    let new_links: Vec<_> = links().difference(&links_before).cloned().collect();
    assert_eq!(new_links, [] as [String; 0], "links are left: {ended:#?}");
    assert_eq!(settings(), settings_before, "settings are left: {ended:#?}");

    let results = results(out).unwrap();
    assert_eq!((&results["schema_version"], &results["complete"]), (&1.into(), &false.into()));
    let trials = results["trials"].as_array().unwrap();
    let mut ran: Vec<u64> = trials.iter().flat_map(numbers).collect();
    ran.sort_unstable();
    assert!(ran.iter().zip(1..).all(|(number, expected)| *number == expected), "none is lost: {ran:?}");
    for trial in trials {
        assert_eq!(trial["unexplained"], 0, "{trial:#}");
        let sending = trial["sending_s"].as_f64().unwrap();
        assert!(sending > 0.2, "a trial that was cut short is not saved: {trial:#}");
    }
    let rows = fs::read_to_string(out.join("trials.csv")).unwrap().lines().count();
    // Whoever is killed between the two files leaves one trial less in the second.
    assert!(rows == trials.len() + 1 || ended.signal == Some(9) && rows == trials.len(), "{rows} rows");
    ended
}

#[test]
fn root_signals_that_ask_end_a_bench_with_its_results() {
    let Some(()) = privileges() else { return };
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let folder = Scratch::new();
        let ended = interrupted(capbench(""), &folder.file("results"), |bench| bench.signal(name));
        assert_eq!((ended.code, ended.errors.as_str()), (Some(code), ""), "{name}: {ended:#?}");
        assert!(ended.out.contains("\n- ") && ended.out.contains("results.json"), "{name}: {ended:#?}");
    }
}

/// A campaign takes the exit code from the results. They have it before anything is printed that can fail.
#[test]
fn root_a_finished_bench_has_its_exit_code_when_nobody_reads_its_report() {
    let Some(folder) = scratch_of_root() else { return };
    let out = folder.file("results");
    let flags =
        "--method recv --rate 1k --duration 100ms --quiet 50ms --visits 1 --require recv:1k --max-loss 50%";
    let script = format!("\"$1\" bench {flags} --out \"$2\" | true; exit ${{PIPESTATUS[0]}}");
    let mut command = program("bash");
    command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_capbench")]).arg(&out);
    let ended = Running::start(HOST, &mut command).end();
    assert_eq!(ended.code, Some(141), "{ended:#?}");
    let results = results(&out).unwrap();
    assert_eq!(results["complete"], true);
    assert!(matches!(results["exit_code"].as_u64(), Some(0 | 3 | 4)), "{}", results["exit_code"]);
}

/// As timeout(1) does: one to the command, and one to the group that it is in.
#[test]
fn root_a_request_that_comes_twice_is_one() {
    let Some(folder) = scratch_of_root() else { return };
    let ended = interrupted(capbench(""), &folder.file("results"), |bench| {
        let pid = bench.pid();
        let send = format!("kill -TERM {pid}; kill -TERM {pid}; kill -TERM -{pid}");
        assert!(program("sh -c").arg(send).status().unwrap().success());
    });
    assert_eq!((ended.code, ended.errors.as_str()), (Some(143), ""), "{ended:#?}");
    assert!(ended.out.contains("\n- "), "{ended:#?}");
}

#[test]
fn root_a_killed_bench_leaves_results_and_nothing_else() {
    let Some(folder) = scratch_of_root() else { return };
    let ended = interrupted(capbench(""), &folder.file("results"), |bench| bench.signal("KILL"));
    assert_eq!((ended.code, ended.signal), (None, Some(9)));
    let Some(()) = user_namespaces_of_nobody() else { return };
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    let command = folder.capbench_of_nobody(&home);
    let ended = interrupted(command, &home.file("results"), |bench| bench.signal("KILL"));
    assert_eq!((ended.code, ended.signal), (None, Some(9)), "as nobody: {ended:#?}");
}

/// Nothing in capbench panics when asked to. It panics where the system cannot start a thread, which a limit on the
/// number of processes brings about; that limit does not hold for root, so an ordinary user runs the bench.
#[test]
fn root_a_panic_leaves_results_and_nothing_else() {
    let Some(()) = privileges() else { return };
    let Some(()) = user_namespaces_of_nobody() else { return };
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    let command = folder.capbench_of_nobody(&home);
    let ended = interrupted(command, &home.file("results"), |bench| {
        // By the same user, who may do that to processes of their own.
        let mut limit = program("setpriv --reuid 65534 --regid 65534 --clear-groups");
        limit.arg(program("prlimit").get_program());
        let limit = limit.args(["--pid", &bench.pid().to_string(), "--nproc=1:1"]).output().unwrap();
        assert!(limit.status.success(), "prlimit: {}", lossy(&limit.stderr));
    });
    assert!(
        ended.code == Some(101) && ended.errors.contains("panicked"),
        "no panic any more? Then this test needs another cause for one: {ended:#?}"
    );
}
