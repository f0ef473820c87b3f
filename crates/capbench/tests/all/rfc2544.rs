//! The tests of RFC 2544 by the command line.

use crate::support::{measured, scratch_of_root};
use capbench_testing::{HostLoad, busy};
use serde_json::Value;

/// Trials of a fifth of a second, each test once.
const SHORT: &str =
    "rfc2544 --quick --duration 200ms --repetitions 1 --longest-burst 200ms --quiet 60ms --no-trace";

/// The entries of a list, which is left out where it is empty.
fn list(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn texts<'v>(entries: &'v Value, key: &str) -> Vec<&'v str> {
    list(entries).iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

#[test]
fn root_alone_what_is_held_at_the_limit_has_no_recovery_and_no_longest_burst() {
    let Some(scratch) = scratch_of_root() else { return };
    let load = HostLoad::watch();
    // Any host holds that much, and the user wants no more.
    let (ended, results) =
        measured(&format!("{SHORT} --details --method packet-v3 --max-rate 5k"), &scratch.path().join("run"));
    let goal = &results["searches"][0]["goals"][0];
    if let Some(others) = load.others()
        && goal["status"] != "at_least"
    {
        return busy(format_args!("{goal}; {others}"));
    }
    assert_eq!(goal["status"], "at_least", "{goal}");
    assert_eq!(ended.code, Some(4), "what the generator limits is no throughput");
    let statements = results["statements"].to_string();
    assert!(statements.contains("RFC 2544 section 9.1 asks for at least 5"), "{statements}");
    assert_eq!(texts(&results["rfc2544"], "test"), ["latency", "frame-loss"]);
    for tested in list(&results["rfc2544"]) {
        assert_eq!(tested["throughput_status"], "at_least", "{tested}");
    }
    assert_eq!(texts(&results["not_measured"], "test"), ["back-to-back", "recovery"]);
    for reason in texts(&results["not_measured"], "reason") {
        assert!(
            reason.contains("are sustained (") && reason.contains("the throughput is unknown"),
            "{reason}"
        );
    }
    let one_line = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "at least",
        "where the throughput is at least that",
        "Not measured: packet-v3 test back-to-back",
        "test recovery",
    ] {
        assert!(one_line.contains(part), "{part} in {}", ended.out);
    }
    assert!(!one_line.contains("on average") && !one_line.contains("longest burst"), "{}", ended.out);
}

#[test]
fn root_lengthy_a_throughput_that_was_found_is_what_all_tests_are_told_in_terms_of() {
    let Some(scratch) = scratch_of_root() else { return };
    // With 500 us of work no host holds more than 2,000 packets/s and what the ring has room for, and any sends four times
    // that.
    let flags =
        "--method packet-v2 --placement other --work ns:500000 --ring 64KiB --block 64KiB --max-rate 8k";
    let (ended, results) = measured(&format!("{SHORT} {flags}"), &scratch.path().join("run"));
    let goal = &results["searches"][0]["goals"][0];
    for trial in list(&results["trials"]).iter().filter(|trial| trial["verdict"] != "invalid") {
        assert_eq!(trial["unexplained"], 0, "{trial}");
    }
    // A host that is disturbed may hold nothing; then nothing is claimed.
    let is_whole = |tested: &Value| tested["ended"]["how"] == "complete";
    if goal["status"] != "regular" || !list(&results["rfc2544"]).iter().all(is_whole) {
        eprintln!("the search was {goal}");
        assert_eq!(list(&results["rfc2544"]).len() + list(&results["not_measured"]).len(), 4);
        return;
    }
    // A trial of another test that lost frames at the throughput contradicts it.
    let code = if ended.out.starts_with("Not repeatable") { 4 } else { 0 };
    assert_eq!((ended.code, &results["complete"]), (Some(code), &Value::from(true)));
    assert_eq!(texts(&results["rfc2544"], "test"), ["latency", "frame-loss", "back-to-back", "recovery"]);
    assert!(list(&results["not_measured"]).is_empty(), "{}", ended.out);
    let throughput = goal["lower"]["achieved_pps"].as_f64().unwrap();
    let (latency, burst) = (&results["rfc2544"][0], &results["rfc2544"][2]);
    assert_eq!(latency["rate_pps"].as_f64(), Some(throughput));
    assert_eq!(burst["throughput_pps"].as_f64(), Some(throughput));
    assert!(throughput < 2500.0 && burst["searches"][0]["frames"].as_u64().is_some(), "{burst}");
    let one_line = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["longest burst without loss", "takes off the frames", "frames from 200 ms on"] {
        assert!(one_line.contains(part), "{part} in {}", ended.out);
    }
}
