//! `capbench bench`: every frame accounted for, results that other tools can read.

use std::borrow::BorrowMut;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{HOST, Place, Running, Scratch, capbench, privileges, results, run, scratch_of_root};
use capbench_judge::recommendation::sustains;
use capbench_judge::sustained::Sustains;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_report::sentences::noise;
use capbench_results::Results;
use capbench_testing::busy;
use capbench_testing::network::user_namespaces_of_nobody;
use serde_json::Value;

/// The methods that run wherever packet sockets do, also for ordinary users.
const PACKET_SOCKETS: [&str; 6] = ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3", "libpcap"];

/// The methods that a bench runs when none is named, as far as they can run here.
fn usual() -> BTreeSet<String> {
    let listed = capbench("methods --json").output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let methods = listed["methods"].as_array().unwrap().iter();
    let usual = methods.filter(|method| method["in_default"] == true && method["runs_here"] == true);
    usual.map(|method| method["method"].as_str().unwrap().to_string()).collect()
}

/// What other tools read of every trial (design.md, "Results file").
const TRIAL_KEYS: [&str; 18] = [
    "method",
    "frame_size",
    "placement",
    "work",
    "intended_pps",
    "duration_s",
    "intended",
    "sent",
    "delivered",
    "duplicates",
    "reordered",
    "foreign",
    "corrupt",
    "loss_ratio",
    "ledger",
    "unexplained",
    "verdict",
    "cpu",
];
const CPU_KEYS: [&str; 3] = ["app_ns_per_packet", "kernel_ns_per_packet", "busy_cores"];

/// Runs a bench, in a namespace if one is given, and returns its trials, all of them checked.
fn trials(place: Option<&Place>, mut command: impl BorrowMut<Command>, out: &Path) -> Vec<Value> {
    // What is checked holds in noisy trials, too.
    let command = command.borrow_mut().args(["--repeats", "0", "--out"]).arg(out);
    let ended = Running::start(place, command).end();
    // On a host that does other things meanwhile, the generator may have been the limit of every trial (4).
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(ended.out.contains("\n- ") && ended.out.contains("results.json"), "{ended:#?}");
    let trials = saved(out);
    let mut sent = 0;
    for trial in trials.iter().filter(|trial| !is_starved(trial)) {
        check(trial);
        sent += number(trial, "sent");
    }
    assert!(sent > 0, "{trials:#?}");
    trials
}

/// The trials of a results folder, which has to be complete and to agree with its table.
fn saved(out: &Path) -> Vec<Value> {
    let results = results(out).unwrap();
    assert_eq!(results["schema_version"], 1);
    assert_eq!(results["complete"], true);
    for key in ["environment", "trials", "findings"] {
        assert!(!results[key].is_null(), "{key} in {:?}", results.as_object().unwrap().keys());
    }
    let trials = results["trials"].as_array().unwrap().clone();
    let table = std::fs::read_to_string(out.join("trials.csv")).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|&head| head == name).unwrap();
    let delivered = column("delivered");
    let told: Vec<u64> = rows.map(|row| row[delivered].parse().unwrap()).collect();
    assert_eq!(told, trials.iter().map(|trial| number(trial, "delivered")).collect::<Vec<_>>());
    trials
}

fn number(trial: &Value, key: &str) -> u64 {
    trial[key].as_u64().unwrap_or_else(|| panic!("{key} is a count: {trial:#}"))
}

/// What the ledger books to a place; 0 where nothing is known.
fn booked(trial: &Value, place: &str) -> u64 {
    let entries = trial["ledger"].as_array().unwrap();
    entries.iter().find(|entry| entry["place"] == place).unwrap()["count"].as_u64().unwrap_or(0)
}

/// What has to hold in every trial, whatever was lost.
fn check(trial: &Value) {
    for key in TRIAL_KEYS {
        assert!(trial.as_object().unwrap().contains_key(key), "{key} in {trial:#}");
    }
    for key in CPU_KEYS {
        assert!(trial["cpu"].as_object().unwrap().contains_key(key), "cpu.{key} in {trial:#}");
    }
    for entry in trial["ledger"].as_array().unwrap() {
        assert!(entry["count"].is_u64() || entry["count"].is_null(), "{entry}");
        assert!(
            !entry["place"].as_str().unwrap().is_empty() && !entry["source"].as_str().unwrap().is_empty()
        );
    }
    let [intended, sent, delivered] = ["intended", "sent", "delivered"].map(|key| number(trial, key));
    assert!(sent > 0, "{trial:#}");
    assert_eq!(trial["unexplained"], 0, "{trial:#}");
    for key in ["foreign", "duplicates", "reordered", "corrupt", "truncated"] {
        assert_eq!(trial[key], 0, "{key} in {trial:#}");
    }
    // The identities of design.md, from what is stored.
    let places = trial["ledger"].as_array().unwrap().iter();
    let lost: u64 =
        places.filter(|entry| entry["place"] != "unsent").filter_map(|entry| entry["count"].as_u64()).sum();
    assert_eq!(intended, booked(trial, "unsent") + sent, "{trial:#}");
    assert_eq!(sent, lost + delivered, "{trial:#}");
    // And from the counters that the account was made from.
    let counters = &trial["counters"];
    let counter = |name: &str| number(counters, name);
    assert_eq!(sent, counter("generator.accepted") + counter("generator.refused_lost"), "{trial:#}");
    assert_eq!(counter("generator.in_flight"), 0, "{trial:#}");
    assert_eq!(counter("transmit.tx_packets"), counter("receive.rx_packets"), "{trial:#}");
    assert_eq!(counter("method.accepted"), counter("receive.rx_packets"), "{trial:#}");
    assert_eq!(counter("method.read"), delivered, "{trial:#}");
    let in_method: u64 = ["fill_ring", "ring", "method_queue"].map(|place| booked(trial, place)).iter().sum();
    assert_eq!(counter("method.dropped"), in_method, "{trial:#}");
    let ratio = trial["loss_ratio"].as_f64().unwrap();
    assert!((ratio - (1.0 - delivered as f64 / intended as f64)).abs() < 1e-9, "{trial:#}");
    match trial["verdict"].as_str().unwrap() {
        "lossless" | "generator_limited" => assert_eq!(sent, delivered, "{trial:#}"),
        "lossy" => assert!(delivered < sent, "{trial:#}"),
        other => panic!("{other}: {trial:#}"),
    }
}

/// Whether others had the generator's CPU for the whole of a short trial: it sent nothing, and says so.
fn is_starved(trial: &Value) -> bool {
    trial["verdict"] == "invalid" && number(trial, "intended") == booked(trial, "unsent")
}

/// The different values of a key.
fn all(trials: &[Value], key: &str) -> BTreeSet<String> {
    trials.iter().map(|trial| trial[key].as_str().unwrap().to_string()).collect()
}

fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().map(ToString::to_string).collect()
}

/// That it accounts for every frame is seen in smoke.
#[test]
fn root_a_quick_bench_has_the_usual_methods_that_differ() {
    let Some(()) = privileges() else { return };
    let quick = set(&["recv", "packet-v2", "packet-v3", "libpcap", "af-xdp"]);
    let planned = run(HOST, &mut capbench("bench --quick --dry-run")).success().out;
    let planned = planned.lines().find_map(|line| line.strip_prefix("methods     ")).unwrap();
    let planned = planned.split(", ").map(String::from).collect::<BTreeSet<_>>();
    assert_eq!(planned, usual().intersection(&quick).cloned().collect());
}

#[test]
fn root_nobody_runs_the_methods_on_packet_sockets() {
    let Some(()) = privileges() else { return };
    let Some(()) = user_namespaces_of_nobody() else { return };
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    let mut bench = folder.capbench_of_nobody(&home);
    // A trial each: a search may have no time for all of them.
    bench.args(["bench", "--rate", "10k", "--visits", "1", "--size", "64", "--ring", "8MiB"]);
    bench.args(["--duration", "80ms", "--quiet", "80ms", "--placement", "same"]);
    let trials = trials(None, &mut bench, &home.file("results"));
    assert!(all(&trials, "method").is_superset(&set(&PACKET_SOCKETS)));
}

#[test]
fn root_alone_what_an_overloaded_method_loses_is_lost_at_a_known_place() {
    overloaded_by("rps");
}

#[test]
fn root_lengthy_what_a_polled_method_loses_is_lost_at_a_known_place() {
    overloaded_by("napi");
}

/// All methods with more than they can do, on an interface that receives in this way.
fn overloaded_by(way: &str) {
    let Some(()) = privileges() else { return };
    const WORK_NS: f64 = 5000.0;
    // More frames than any of the rings below holds.
    const RING: f64 = 10_000.0;
    let folder = Scratch::new();
    let trials = trials(
        None,
        capbench(&format!(
            "bench --work ns:5000 --rate 300k --visits 1 --duration 300ms --size 64 --quiet 100ms --ring 1MiB --block 64KiB \
             --no-trace --receive-by {way}"
        )),
        &folder.file(way),
    );
    assert!(all(&trials, "method").is_superset(&set(&PACKET_SOCKETS)), "{way}");
    for trial in &trials {
        let [sent, delivered] = ["sent", "delivered"].map(|key| number(trial, key));
        let places: u64 = ["fill_ring", "ring", "backlog", "link_queue", "transmit"]
            .iter()
            .map(|place| booked(trial, place))
            .sum();
        assert_eq!(sent, delivered + places, "{trial:#}");
        assert_eq!(trial["intended_pps"], 300_000.0);
        // What it could do while frames came, a fifth more for a calibration that was disturbed, and what waited.
        let could = trial["sending_s"].as_f64().unwrap() * 1e9 / WORK_NS * 1.2 + RING;
        if sent as f64 > could {
            assert_eq!(trial["verdict"], "lossy", "{trial:#}");
        }
    }
}

#[test]
fn root_every_method_verifies_frames_of_all_kinds() {
    let Some(folder) = scratch_of_root() else { return };
    let kinds = [
        "--size imix --flows 16",
        "--size 128-1024/128 --ipv6 --tcp --vlan 4001 --flows 3",
        "--size random:64-1518 --vlan 7 -s 96",
        "--size 9018 --mtu 9000 --tcp --transmit sendto",
        "--size 80,1518 --ipv6 --transmit sendmmsg --work touch",
    ];
    for (number, kind) in kinds.into_iter().enumerate() {
        let trials = trials(
            None,
            capbench("bench --rate 10k --visits 1 --duration 50ms --quiet 50ms --placement same --ring 8MiB")
                .args(kind.split(' ')),
            &folder.file(&number.to_string()),
        );
        assert!(all(&trials, "method").is_superset(&set(&PACKET_SOCKETS)), "{kind}");
    }
}

/// Each method once a round at one load; how they compare is in the results.
#[test]
fn root_at_one_load_methods_take_turns_in_rounds() {
    let Some(()) = privileges() else { return };
    let folder = Scratch::new();
    let out = folder.file("turns");
    let ended = Running::start(
        HOST,
        capbench("bench --method packet-v3,recv --rate 20k --size 64 --placement same --duration 150ms")
            .args(["--quiet", "80ms", "--ring", "8MiB", "--repeats", "0", "--no-trace", "--out"])
            .arg(&out),
    )
    .end();
    let results = results(&out).unwrap();
    let trials = results["trials"].as_array().unwrap().iter();
    let in_turns: Vec<&Value> = trials.filter(|trial| trial["phase"] == "turns").collect();
    assert!(in_turns.len() >= 8, "four rounds are judged first: {ended:#?}");
    for round in in_turns.chunks_exact(2) {
        assert_ne!(round[0]["method"], round[1]["method"], "{round:#?}");
        assert!(round.iter().all(|trial| trial["intended_pps"] == 20_000.0), "{round:#?}");
    }
    let turns = &results["recommended"]["rankings"][0]["turns"];
    assert_eq!(
        (&turns["load_pps"], turns["methods"].as_array().unwrap().len()),
        (&20_000.0.into(), 2),
        "{turns:#}"
    );
    assert!(turns["judged_rounds"].as_u64().unwrap() >= 4, "{turns:#}");
}

#[test]
fn root_a_bench_runs_between_two_interfaces_of_the_host() {
    let Some(()) = privileges() else { return };
    let (folder, place) = (Scratch::new(), Place::with_pair());
    let trials = trials(
        Some(&place),
        capbench(
            "bench --tx left --rx right --size 64 --rate 20k --visits 1 --duration 60ms --quiet 60ms --ring 8MiB",
        ),
        &folder.file("results"),
    );
    assert!(all(&trials, "method").is_superset(&set(&PACKET_SOCKETS)));
}

/// The exit code is what the saved trials show, whatever the host did to them. Where it left one of three runs alone, that shows
/// `quiet`, and the program says `words`.
fn ends_by_its_trials(
    arguments: &str,
    required: (&str, f64),
    max_loss: f64,
    (quiet, words): (Sustains, &str),
) {
    let (method, pps) = required;
    let mut disturbed = Vec::new();
    for _ in 0..3 {
        let folder = Scratch::new();
        let mut command = capbench(&format!(
            "bench --size 64 --placement same --duration 300ms --quiet 100ms --no-trace {arguments}"
        ));
        let ended = Running::start(HOST, command.arg("--out").arg(folder.path())).end();
        let results: Results = serde_json::from_value(results(folder.path()).unwrap()).unwrap();
        let shown = sustains(&results.trials, &results.searches, &method.parse().unwrap(), pps, max_loss);
        let code = match shown {
            Sustains::Yes => 0,
            Sustains::No => 3,
            Sustains::Unknown => 4,
        };
        assert_eq!(ended.code, Some(code), "{shown:?}: {ended:#?}");
        if shown == quiet {
            return assert!(ended.errors.contains(words), "{ended:#?}");
        }
        disturbed.extend(results.trials.iter().flat_map(disturbances));
    }
    assert!(
        !disturbed.is_empty(),
        "{arguments}: three times not {quiet:?}, and nothing disturbed the trials"
    );
    busy(format_args!("{arguments}: {}", disturbed.join("; ")));
}

/// What the host did to a trial, by its figures.
fn disturbances(trial: &TrialResult) -> Vec<String> {
    let is_late = trial.intended_pps.is_some_and(|pps| trial.offered_pps < 0.999 * pps);
    let is_late = is_late && matches!(trial.verdict, Verdict::Lossless | Verdict::GeneratorLimited);
    let mut all: Vec<String> = trial.disturbance.reasons().iter().map(noise::words).collect();
    if is_late {
        all.push("its generator was late".into());
    }
    all
}

#[test]
fn root_alone_a_requirement_decides_the_exit_code() {
    let Some(()) = privileges() else { return };
    let met = "--rate 1k --method packet-v3 --ring 4MiB --require packet-v3:1k --max-loss 50%";
    ends_by_its_trials(met, ("packet-v3", 1e3), 0.5, (Sustains::Yes, ""));
    // 200 µs of work per frame are 5,000 frames per second at most.
    let slow = "--rate 20k --method recv --work ns:200000 --ring 64KiB --max-loss 1%";
    let words = "requirement not met: recv does not sustain 20,000 packets/s with up to 1.0 % loss";
    ends_by_its_trials(slow, ("recv", 20e3), 0.01, (Sustains::No, words));
    // 1,000 frames per second show nothing about 90 million.
    let open = "--rate 1k --method packet-v3 --ring 4MiB --require packet-v3:90M --max-loss 50%";
    ends_by_its_trials(open, ("packet-v3", 90e6), 0.5, (Sustains::Unknown, "requirement not decided"));
}
