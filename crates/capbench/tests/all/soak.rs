//! `capbench soak`: every segment accounted for, whatever ends it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::support::{HOST, Running, Tmpfs, capbench, privileges, results, scratch_of_root};
use capbench::exit;
use serde_json::Value;

fn soak(out: &Path, arguments: &str) -> Command {
    let mut command = capbench("soak --no-trace");
    command.args(arguments.split_whitespace()).arg("--out").arg(out);
    command
}

/// The saved soak, its sums checked.
fn saved(out: &Path) -> (Value, Value) {
    let results = results(out).unwrap();
    let soak = results["soak"].clone();
    let intervals = soak["intervals"].as_array().unwrap();
    for key in ["intended", "sent", "delivered", "unexplained", "segments"] {
        let sum: i64 = intervals.iter().map(|interval| interval[key].as_i64().unwrap()).sum();
        assert_eq!(soak["whole"][key], sum, "{key}");
    }
    let whole = &soak["whole"];
    let lost: u64 = whole["lost"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    let (sent, delivered) = (whole["sent"].as_u64().unwrap(), whole["delivered"].as_u64().unwrap());
    assert_eq!((whole["unexplained"].as_i64(), whole["invalid"].as_u64()), (Some(0), Some(0)), "{whole}");
    assert_eq!(sent, delivered + lost, "{whole}");
    assert!(!results["trials"].as_array().unwrap().is_empty());
    (results, soak)
}

#[test]
fn root_a_soak_says_a_line_per_interval_and_accounts_for_every_frame() {
    let Some(scratch) = scratch_of_root() else { return };
    let out = scratch.path().join("out");
    let ended = Running::start(HOST, &mut soak(&out, "--rate 2000 --for 2500ms --interval 1s")).end();
    // A busy host may keep the generator from its load (4), or lose a frame of this one (3).
    assert!(matches!(ended.code, Some(0 | 3 | 4)), "{ended:#?}");
    let (results, soak) = saved(&out);
    assert_eq!((&results["complete"], &soak["segments"]), (&Value::Bool(true), &Value::from(3)));
    assert_eq!(soak["whole"]["intended"], 5000);
    assert!(ended.out.contains("sent for") && ended.out.contains("results.json"), "{ended:#?}");
}

#[test]
fn root_loss_above_the_limit_ends_with_3_and_has_its_time() {
    let Some(scratch) = scratch_of_root() else { return };
    // At most 1000 frames/s of 20,000.
    let slow =
        "--method recv --work ns:1000000 --ring 128KiB --rate 20k --for 1s --interval 500ms --quiet 100ms";
    let out = scratch.path().join("out");
    let ended = Running::start(HOST, &mut soak(&out, slow)).end();
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let (_, record) = saved(&out);
    assert!(record["bursts"].as_u64().unwrap() > 0 && !record["events"].as_array().unwrap().is_empty());
    assert!(record["worst"]["worst_100ms_lost"].as_u64().unwrap() > 0);
    let out = scratch.path().join("allowed");
    let ended = Running::start(HOST, &mut soak(&out, &format!("{slow} --max-loss 99.99%"))).end();
    assert_ne!(ended.code, Some(3), "{ended:#?}");
}

#[test]
fn root_a_soak_that_is_stopped_keeps_every_segment() {
    let Some(scratch) = scratch_of_root() else { return };
    let out = scratch.path().join("out");
    let mut running = Running::start(HOST, &mut soak(&out, "--rate 2000 --for 3d --interval 500ms"));
    running.wait_for("1s ");
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let (results, record) = saved(&out);
    assert_eq!((&results["complete"], &results["exit_code"]), (&Value::Bool(false), &Value::from(130)));
    assert!(record["segments"].as_u64() >= Some(2), "{record:#}");
}

#[test]
fn root_a_soak_that_is_killed_keeps_every_segment_that_it_has_printed() {
    let Some(scratch) = scratch_of_root() else { return };
    let out = scratch.path().join("out");
    let mut running = Running::start(HOST, &mut soak(&out, "--rate 2000 --for 3d --interval 500ms"));
    running.wait_for("3s ");
    let results = std::fs::metadata(out.join("results.json")).unwrap();
    running.signal("KILL");
    let printed =
        running.end().out.lines().filter(|line| line.trim_start().starts_with(char::is_numeric)).count()
            as u64;
    assert_eq!(
        std::fs::metadata(out.join("results.json")).unwrap().ino(),
        results.ino(),
        "is not written anew"
    );
    let run = capbench_results::read::read(&out).unwrap();
    assert_eq!(run.warnings, [""; 0]);
    assert_eq!(run.results.exit_code, None);
    assert_eq!(
        exit::saved_code(&run.results),
        4,
        "what it lost is known, and not whether it sustains the load for 3 days"
    );
    let soak = run.results.soak.unwrap();
    assert!((6..=soak.segments).contains(&printed), "{printed} of {}", soak.segments);
    let whole = soak.whole.unwrap();
    assert_eq!((soak.segments, whole.counts.intended), (whole.segments, 1000 * soak.segments));
    assert_eq!(
        soak.intervals.iter().map(|interval| interval.counts.delivered).sum::<u64>(),
        whole.counts.delivered
    );
}

#[test]
fn root_a_soak_that_fills_the_disk_fails_and_is_no_success_when_it_is_read() {
    let Some(_) = privileges() else { return };
    let disk = Tmpfs::new("60k");
    let out = disk.0.file("out");
    let ended = Running::start(HOST, &mut soak(&out, "--rate 2000 --for 3d --interval 500ms")).end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.errors.contains("No space left on device"), "{ended:#?}");
    let results = capbench_results::read::read(&out).unwrap().results;
    assert!(!results.complete && exit::saved_code(&results) != 0);
}

#[test]
fn root_what_cannot_be_held_is_refused_before_anything_is_saved() {
    let Some(scratch) = scratch_of_root() else { return };
    let out = scratch.path().join("out");
    let ended = Running::start(HOST, &mut soak(&out, "--rate 1000 --for 1s --method cmd:tcpdump")).end();
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    assert!(!out.exists());
}
