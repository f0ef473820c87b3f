//! What root saves reaches no file of its own through a folder of somebody else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::support::{
    Ended, HOST, NOBODY, Namespaces, Recording, Running, Scratch, capbench, eventually, privileges, run,
};

const BENCH: [&str; 11] = [
    "bench",
    "--quick",
    "--placement",
    "same",
    "--rate",
    "2000",
    "--visits",
    "1",
    "--duration",
    "100ms",
    "--method",
];

/// A file that root alone may read, and a folder in which every name that a run writes leads to it.
struct Trap {
    folder: Scratch,
}

impl Trap {
    fn new() -> Self {
        let trap = Self { folder: Scratch::new() };
        fs::write(trap.victim(), "secret").unwrap();
        fs::set_permissions(trap.victim(), PermissionsExt::from_mode(0o600)).unwrap();
        for name in [
            "a.pcap.ledger.json",
            "results.part",
            "trials.part",
            "trials.csv",
            "report.html.part",
            "report.html",
        ] {
            symlink(trap.victim(), trap.folder.file(name)).unwrap();
        }
        trap
    }

    fn victim(&self) -> PathBuf {
        self.folder.file("victim")
    }

    fn is_untouched(&self) -> bool {
        fs::read(self.victim()).unwrap() == b"secret"
    }
}

/// Whether a bench went through. On a busy host its trials may show nothing, which is no matter here.
fn has_measured(ended: &Ended) -> bool {
    matches!(ended.code, Some(0 | 4)) && ended.out.contains("results.json, trials.csv, report.html")
}

#[test]
fn root_results_stay_in_their_folder_when_a_link_takes_its_place() {
    let Some(()) = privileges() else { return };
    let (folder, trap) = (Scratch::new(), Trap::new());
    let (out, moved) = (folder.file("out"), folder.file("moved"));
    let bench =
        Running::start(HOST, capbench("").args(BENCH).args(["recv,recvmmsg,packet-v3", "--out"]).arg(&out));
    eventually("the bench saves", || out.join("results.json").exists());
    fs::rename(&out, &moved).unwrap();
    symlink(trap.folder.path(), &out).unwrap();
    let ended = bench.end();
    assert!(has_measured(&ended), "{ended:#?}");
    assert!(trap.is_untouched());
    let mut saved: Vec<_> = fs::read_dir(&moved).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    saved.sort();
    assert_eq!(saved, ["report.html", "results.json", "trials.csv"]);
    let results = fs::read_to_string(moved.join("results.json")).unwrap();
    assert!(results.contains("\"complete\": true"), "{results}");
}

#[test]
fn root_the_account_of_a_recording_stays_in_its_folder_when_a_link_takes_its_place() {
    let Some(()) = privileges() else { return };
    let (spaces, folder, trap) = (Namespaces::make(), Scratch::new(), Trap::new());
    let (out, moved) = (folder.file("out"), folder.file("moved"));
    fs::create_dir(&out).unwrap();
    let recording = Recording::start(&spaces.right, &out.join("a.pcap"), "--format pcap --method packet-v3");
    fs::rename(&out, &moved).unwrap();
    symlink(trap.folder.path(), &out).unwrap();
    recording.running.signal("INT");
    let ended = recording.running.end();
    assert!(trap.is_untouched(), "{ended:#?}");
    assert!(moved.join("a.pcap.ledger.json").is_file(), "{ended:#?}");
}

#[test]
fn root_a_run_of_root_saves_in_no_folder_of_somebody_else() {
    let Some(()) = privileges() else { return };
    let folder = Scratch::of_nobody();
    let ended =
        run(HOST, capbench("").args(BENCH).arg("recv").current_dir(folder.path()).env_remove("SUDO_UID"));
    let reason = format!("{} belongs to user {NOBODY}", folder.path().display());
    assert!(ended.errors.contains(&reason) && ended.errors.contains("--out"), "{ended:#?}");
    assert_eq!((ended.code, folder.entries()), (Some(1), Vec::<String>::new()), "{ended:#?}");

    // As sudo runs it, the caller's folder is as good as root's.
    let ended = run(
        HOST,
        capbench("").args(BENCH).arg("recv").current_dir(folder.path()).env("SUDO_UID", NOBODY.to_string()),
    );
    assert!(has_measured(&ended), "{ended:#?}");
    assert_eq!(folder.entries(), ["capbench-results"]);
    // A folder that everybody may write, too.
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let ended = run(
        HOST,
        capbench("").args(BENCH).arg("recv").current_dir(folder.path()).env("SUDO_UID", NOBODY.to_string()),
    );
    assert!(ended.errors.contains("may be written by everybody"), "{ended:#?}");
}
