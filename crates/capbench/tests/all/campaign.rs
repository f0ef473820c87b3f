//! A campaign by the command line: what is done stays, and what is missing is run, also after Ctrl-C or kill -9.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{
    Ended, HOST, Running, Scratch, capbench, eventually, results, run, saved_trials, scratch_of_root,
};
use serde_json::Value;

/// A search with many trials, so that a signal comes in their midst, and a short soak.
const FILE: &str = r#"
name = "two"
labels = { lab = "here" }
[[run]]
command = "search"
[run.flags]
goal = "short:loss=0,duration=100ms,sum=1500ms,width=40%,targets=0"
min-rate = "5k"
max-rate = "10k"
quiet = "60ms"
work = "ns:100"
ring = "8MiB"
no-trace = true
[run.matrix]
size = [64]
[[run]]
command = "soak"
flags = { rate = "2k", for = "1s", interval = "500ms", max-loss = 0.9 }
"#;

fn campaign(scratch: &Scratch) -> Command {
    let file = scratch.file("two.toml");
    fs::write(&file, FILE).unwrap();
    let mut command = capbench("campaign");
    command.arg(file).arg("--out").arg(scratch.file("out"));
    command
}

/// Starts a campaign, and ends it by a signal when its first run has some trials.
fn interrupted(scratch: &Scratch, signal: &str) -> Ended {
    let first = scratch.file("out/search-64");
    let running = Running::start(HOST, campaign(scratch));
    eventually("trials are saved", || saved_trials(&first) >= 2);
    running.signal(signal);
    running.end()
}

/// The state of each run, by the lines that begin with its name.
fn states(ended: &Ended) -> Vec<(String, String)> {
    let runs = ended.out.lines().take_while(|line| !line.is_empty());
    let state = |line: &str| {
        let (name, rest) = line.split_once("  ").unwrap();
        (name.to_string(), rest.trim_start().split("  ").next().unwrap().to_string())
    };
    runs.map(state).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, state)| (name.to_string(), state.to_string())).collect()
}

/// Runs the campaign to its end, and asserts that each trial of an earlier call is still there as it was.
fn completed(scratch: &Scratch, earlier: &Value) {
    let ended = run(HOST, campaign(scratch));
    assert!(matches!(ended.code, Some(0 | 3 | 4)), "{ended:#?}");
    // What a search finds on a busy host can be inconclusive.
    let is_open = ended.code == Some(4);
    let searched = |state| if is_open { "inconclusive" } else { state };
    assert_eq!(states(&ended), pairs(&[("search-64", searched("done")), ("soak", "done")]), "{ended:#?}");
    let found = results(&scratch.file("out/search-64")).unwrap();
    let before = earlier["trials"].as_array().unwrap();
    assert_eq!(&found["trials"].as_array().unwrap()[..before.len()], &before[..]);
    assert!(!scratch.file("out/earlier").exists(), "it was resumed");

    let again = run(HOST, campaign(scratch));
    assert_eq!(again.code, ended.code, "what was done has the same exit code: {again:#?}");
    assert_eq!(
        states(&again),
        pairs(&[("search-64", searched("was done")), ("soak", "was done")]),
        "{again:#?}"
    );
    let rest = if is_open { ": 1 inconclusive" } else { "" };
    assert!(again.out.contains(&format!("\n2 of 2 runs done (2 before this call){rest}.\n")), "{again:#?}");
    assert!(
        again.out.contains("/*/results.json --to DATASET --label campaign=two --label lab=here\n"),
        "{again:#?}"
    );
}

#[test]
fn root_a_killed_campaign_goes_on_with_what_is_missing() {
    let Some(scratch) = scratch_of_root() else { return };
    let ended = interrupted(&scratch, "KILL");
    assert_eq!(ended.signal, Some(9), "{ended:#?}");
    // The run has the lock as long as it lives.
    eventually("the run has ended, too", || is_free(&scratch.file("out")));
    completed(&scratch, &results(&scratch.file("out/search-64")).unwrap());
}

#[test]
fn root_a_signal_ends_the_run_with_its_results_and_begins_no_further_one() {
    let Some(scratch) = scratch_of_root() else { return };
    let ended = interrupted(&scratch, "INT");
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert_eq!(states(&ended), pairs(&[("search-64", "interrupted"), ("soak", "not begun")]), "{ended:#?}");
    assert!(
        ended
            .out
            .contains("\n0 of 2 runs done: 1 interrupted, 1 not begun.\nWhat is missing: capbench campaign ")
    );
    let saved = results(&scratch.file("out/search-64")).unwrap();
    assert_eq!((&saved["complete"], &saved["exit_code"]), (&false.into(), &143.into()), "TERM ended it");
    completed(&scratch, &saved);
}

/// Whether no process has the lock of a campaign's directory.
fn is_free(folder: &Path) -> bool {
    let mut command = Command::new("flock");
    command.arg("--nonblock").arg(folder.join(".campaign.lock")).arg("true").status().unwrap().success()
}

#[test]
fn the_example_is_a_campaign_and_every_run_of_it_has_an_estimate() {
    let scratch = Scratch::new();
    let mut command = capbench("campaign --dry-run");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/campaign.toml");
    let ended = run(HOST, command.arg(example).current_dir(scratch.path())).success();
    let first = ended.out.lines().next().unwrap();
    assert!(
        first.starts_with("methods-and-sizes: 12 runs in capbench-results/methods-and-sizes, 0 done, about ")
    );
    assert!(first.ends_with(" for the others"), "{first}");
    assert_eq!(ended.out.lines().filter(|line| line.contains("  run  ")).count(), 12, "{ended:#?}");
    assert_eq!(scratch.entries(), [] as [String; 0], "nothing is made");
}
