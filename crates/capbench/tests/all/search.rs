//! A search by the command line: what it saves, and how one that was interrupted is gone on with.

use std::fs;
use std::path::Path;

use crate::support::{
    Ended, HOST, Running, Scratch, capbench, eventually, measured, numbers, results, run, saved_trials,
    scratch_of_root,
};
use serde_json::Value;

/// A search of less than two seconds of traffic.
const SHORT: &str = "search --goal short:loss=0,duration=100ms,sum=200ms,width=20% --min-rate 5k --max-rate 40k \
                     --quiet 60ms --work ns:100 --ring 8MiB --no-trace";

/// Runs a search that ends by itself.
fn search(folder: &Path, more: &str) -> (Ended, Value) {
    measured(&format!("{SHORT} {more}"), folder)
}

/// Starts a search for a goal that takes many trials, so that a signal comes in their midst; and few loads, at most 15 trials
/// each: on a busy host every load may need all of them. It is sent a signal when so many trials are saved.
fn interrupted(folder: &Path, after: usize, signal: &str) -> Ended {
    let many = SHORT.replace("sum=200ms,width=20%", "sum=1500ms,width=40%,targets=0").replace("40k", "10k");
    let running = Running::start(HOST, capbench("").args(many.split_whitespace()).arg("--out").arg(folder));
    eventually("trials are saved", || saved_trials(folder) >= after);
    running.signal(signal);
    running.end()
}

fn resume(folder: &Path, more: &str) -> Ended {
    run(HOST, capbench("search --resume").arg(folder).args(more.split_whitespace()))
}

/// A search that ended by itself, with a result or without.
fn completed(ended: Ended) -> Ended {
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.errors);
    ended
}

#[test]
fn root_a_search_that_was_stopped_is_gone_on_with() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let ended = interrupted(&folder, 2, "INT");
    assert_eq!(ended.code, Some(130), "{}", ended.errors);
    let stopped = results(&folder).unwrap();
    assert_eq!(stopped["complete"], false);
    assert_eq!(stopped["searches"][0]["ended"]["how"], "stopped", "{}", ended.out);

    // On another host they would be trials of something else.
    let file = folder.join("results.json");
    let own = fs::read(&file).unwrap();
    let mut other = stopped.clone();
    other["environment"]["cpu_model"] = "another CPU".into();
    other["environment"]["netdev_max_backlog"] = 7.into();
    let other = serde_json::to_vec(&other).unwrap();
    fs::write(&file, &other).unwrap();
    let ended = resume(&folder, "");
    assert_eq!(ended.code, Some(2));
    for part in ["CPU model: another CPU then", "net.core.netdev_max_backlog: 7 then", "begin a new search"] {
        assert!(ended.errors.contains(part), "{part} in {}", ended.errors);
    }
    assert_eq!(fs::read(&file).unwrap(), other, "nothing is lost");
    fs::write(&file, own).unwrap();

    completed(resume(&folder, ""));
    let whole = results(&folder).unwrap();
    assert_eq!(whole["complete"], true);
    let (before, after) = (&stopped["trials"], whole["trials"].as_array().unwrap());
    let kept = before.as_array().unwrap();
    assert!(after.len() > kept.len());
    assert_eq!(&after[..kept.len()], &kept[..], "trials of the first run stand as they were");
    let own: Vec<_> = after.iter().map(|trial| trial["number"].as_u64().unwrap()).collect();
    assert!(own.windows(2).all(|pair| pair[0] < pair[1]), "{own:?}");
    let mut every: Vec<_> = after.iter().flat_map(numbers).collect();
    every.sort_unstable();
    assert!(every.windows(2).all(|pair| pair[0] < pair[1]), "probes and attempts have their own: {every:?}");
    assert_eq!(whole["searches"].as_array().unwrap().len(), 1);

    let ended = resume(&folder, "");
    assert_eq!(ended.code, Some(2));
    assert!(ended.errors.contains("nothing to go on with"), "{}", ended.errors);
}

#[test]
fn root_a_search_whose_time_was_used_up_is_gone_on_with_in_more_time() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let mut command = capbench("");
    // Enough for the least that the goal can need, and too little with drains.
    let longer = SHORT.replace("sum=200ms", "sum=1s");
    command.args(longer.split_whitespace()).args(["--time", "600ms", "--out"]);
    let ended = completed(run(HOST, command.arg(&folder)));
    let short = results(&folder).unwrap();
    assert_eq!(short["searches"][0]["ended"]["how"], "time_up", "{}", ended.out);
    assert_eq!(short["complete"], false);

    let ended = resume(&folder, "");
    assert_eq!(ended.code, Some(2));
    assert!(ended.errors.contains("--time"), "{}", ended.errors);
    completed(resume(&folder, "--time 10m"));
    assert_eq!(results(&folder).unwrap()["complete"], true);
}

#[test]
fn root_a_search_accounts_for_every_packet_and_saves_its_bounds() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let (ended, results) = search(&folder, "--method packet-v3,packet-v2");
    for trial in results["trials"].as_array().unwrap() {
        assert_eq!(trial["unexplained"], 0, "{trial}");
        assert_eq!(trial["phase"], "search");
    }
    let searches = results["searches"].as_array().unwrap();
    let methods: Vec<_> = searches.iter().map(|search| search["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["packet-v3", "packet-v2"]);
    for search in searches {
        assert_eq!(search["maximum"]["source"], "given", "{search}");
    }
    for part in ["short", "without loss", "40,000"] {
        assert!(ended.out.contains(part), "{part} in {}", ended.out);
    }
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80 || line.starts_with("Saved")));
}

#[test]
fn root_searches_are_repeated_in_turn_and_each_has_its_own_trials() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let (ended, results) =
        search(&folder, "--method packet-v3,packet-v2 --searches 2 --traffic 1m --details");
    let searches = results["searches"].as_array().unwrap();
    let order: Vec<_> = searches
        .iter()
        .map(|search| (search["nth"].as_u64().unwrap(), search["method"].as_str().unwrap()))
        .collect();
    assert_eq!(order, [(1, "packet-v3"), (1, "packet-v2"), (2, "packet-v3"), (2, "packet-v2")]);
    let trials = results["trials"].as_array().unwrap();
    for search in searches {
        assert_eq!(search["plan"]["traffic_allowed_s"], 60.0);
        for number in search["trials"].as_array().unwrap() {
            let own = trials.iter().filter(|trial| trial["number"] == *number);
            assert!(own.map(|trial| &trial["search"]).eq([&search["nth"]]), "{number}");
        }
    }
    let one_line = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    // On a busy host a search may sustain no load at all: then there are no two bounds of a method.
    let is_bounded = searches.iter().all(|search| !search["goals"][0]["lower"].is_null());
    assert!(one_line.contains("of 2 searches") || !is_bounded, "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80 || line.starts_with("Saved")));
}

#[test]
fn root_repeated_searches_go_on_each_from_its_own_trials() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let (_, whole) = search(&folder, "--searches 2");
    // As a run leaves it that is killed when the second search has its first trial.
    let mut cut = whole.clone();
    let all = whole["trials"].as_array().unwrap();
    let second = all.iter().position(|trial| trial["search"] == 2).unwrap();
    cut["trials"].as_array_mut().unwrap().truncate(second + 1);
    cut["searches"].as_array_mut().unwrap().truncate(1);
    cut["complete"] = false.into();
    fs::write(folder.join("results.json"), serde_json::to_vec(&cut).unwrap()).unwrap();

    completed(resume(&folder, ""));
    let resumed = results(&folder).unwrap();
    assert_eq!(resumed["complete"], true);
    let after = resumed["trials"].as_array().unwrap();
    assert_eq!(&after[..=second], &all[..=second], "trials of the first run stand as they were");
    assert!(after[second..].iter().all(|trial| trial["search"] == 2), "the first search needs no more");
    let searches = resumed["searches"].as_array().unwrap();
    assert_eq!(searches.iter().map(|search| search["nth"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(searches[0]["goals"], whole["searches"][0]["goals"]);
    assert_eq!(searches[1]["trials"][0], all[second]["number"]);
}

#[test]
fn root_a_search_with_bursts_says_so_with_each_trial() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.file("run");
    let (_, results) = search(&folder, "--burst 16");
    for trial in results["trials"].as_array().unwrap() {
        assert!(trial["traffic"].as_str().unwrap().ends_with("in bursts of 16 frames"), "{trial}");
        assert_eq!(trial["unexplained"], 0, "{trial}");
    }
    assert_eq!(results["searches"][0]["plan"]["burst_frames"], 16);
}

#[test]
fn what_is_no_run_of_a_search_is_not_gone_on_with() {
    let scratch = Scratch::new();
    let ended = resume(scratch.path(), "");
    assert!(ended.code == Some(1) && ended.errors.contains("results.json"), "{ended:#?}");
    fs::write(scratch.file("results.json"), "{\"schema_version\": 1, \"trials\": [").unwrap();
    let ended = resume(scratch.path(), "");
    let parts = ["results.json", "EOF"];
    assert!(ended.code == Some(1) && parts.iter().all(|part| ended.errors.contains(part)), "{ended:#?}");
}
