//! A publication by the command line: what it prints and saves.

use std::fs;

use capbench_results::Results;
use serde_json::Value;

use crate::support::{HOST, Running, capbench, eventually, run, scratch_of_root};

fn read(folder: &std::path::Path) -> Option<Results> {
    let text = fs::read(folder.join("results.json")).ok()?;
    Some(serde_json::from_slice(&text).expect("a file is whole whenever it is read"))
}

#[test]
fn root_a_publication_is_run_again_beside_its_table() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.path().join("run");
    let mut command = capbench("");
    let arguments = "reproduce loke-2011 --scale 0.0001 --visits 3 --quiet 60ms --repeats 0 --details --out";
    command.args(arguments.split_whitespace()).arg(&folder);
    let ended = run(HOST, &mut command);
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.errors);
    let narrow = |line: &&str| line.chars().count() <= 80 || line.starts_with("Saved");
    assert_eq!(ended.out.lines().find(|line| !narrow(line)), None);
    for part in ["loke-2011: ", "84,909,875", "102,562,942", "tpacket_v3: packet-v3"] {
        assert!(ended.out.contains(part), "{part} in {}", ended.out);
    }
    let results = read(&folder).unwrap();
    assert!(results.complete && results.trials.iter().all(|trial| trial.unexplained == 0));
    let [reproduction] = &results.reproductions[..] else { panic!("{:?}", results.reproductions) };
    assert_eq!((reproduction.key.as_str(), reproduction.complete), ("loke-2011", true));
    // Three methods, and three times as many visits.
    assert_eq!(reproduction.trials.len(), 27);
    let file: Value = serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap();
    let findings = file["findings"].as_array().unwrap();
    let is_not_testable = |finding: &Value| {
        finding["fact"]["answer"] == "not_testable" && finding["fact"]["publication"] == "loke-2011"
    };
    assert!(findings.iter().any(is_not_testable), "{findings:?}");
    assert!(findings.iter().any(|finding| finding["scene"] == "loke-2011"));
}

#[test]
fn root_a_publication_that_is_interrupted_keeps_its_trials_and_tables() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.path().join("run");
    let mut command = capbench("");
    let arguments =
        "reproduce deri-2004 --scale 0.0001 --visits 500 --quiet 60ms --repeats 0 --no-trace --out";
    command.args(arguments.split_whitespace()).arg(&folder);
    let started = Running::start(HOST, &mut command);
    eventually("some trials are saved", || read(&folder).is_some_and(|results| results.trials.len() >= 3));
    started.signal("INT");
    let ended = started.end();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let results = read(&folder).unwrap();
    assert!(!results.complete && results.reproductions.len() == 1, "{:?}", results.reproductions);
    assert!(!results.reproductions[0].complete && results.reproductions[0].trials.len() >= 3);
    assert!(ended.out.contains("not complete"), "{}", ended.out);
}
