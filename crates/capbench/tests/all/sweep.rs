//! Sweeps and the tests of RFC 2544 by the command line: what they print and save.

use std::fs;

use crate::support::{HOST, Running, Scratch, capbench, eventually, measured, privileges, scratch_of_root};
use capbench_model::trial::Verdict;
use capbench_results::Results;
use serde_json::Value;

/// Runs a command that saves, and gives what it printed and what it saved.
fn saved(arguments: &str) -> (String, Value) {
    let scratch = Scratch::new();
    let (ended, results) = measured(&format!("{arguments} --details"), &scratch.path().join("run"));
    for trial in results["trials"].as_array().unwrap() {
        assert_eq!(trial["unexplained"], 0, "{trial}");
    }
    let narrow = |line: &str| line.chars().count() <= 80 || line.starts_with("Saved");
    for line in ended.out.lines() {
        assert!(narrow(line), "wider than 80 columns: {line}");
    }
    (ended.out, results)
}

#[test]
fn root_a_sweep_visits_every_point_with_every_method() {
    let Some(()) = privileges() else { return };
    let (text, results) = saved(
        "sweep work --from ns:0 --to ns:20000 --steps 3 --method packet-v2,packet-v3 --rate 20k --visits 2 --refine 0 \
         --duration 60ms --quiet 60ms --seed 7 --repeats 0",
    );
    let sweep = &results["sweeps"][0];
    assert_eq!((&sweep["axis"], &sweep["seed"]), (&Value::from("work"), &Value::from(7)));
    assert_eq!(sweep["points"].as_array().unwrap().len(), 3);
    let series = sweep["series"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    for series in series {
        for reading in series["readings"].as_array().unwrap() {
            let trials = ["trials", "invalid"].map(|part| reading[part].as_array().map_or(0, Vec::len));
            assert_eq!(trials.iter().sum::<usize>(), 2, "{reading}");
        }
    }
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["packet-v2", "packet-v3", "placement same", "work ns:10000", "Seed of the order 7"] {
        assert!(one_line.contains(part), "{part} in {text}");
    }
}

#[test]
fn root_a_sweep_that_is_killed_can_be_analysed() {
    let Some(scratch) = scratch_of_root() else { return };
    let folder = scratch.path().join("run");
    let read = || -> Option<Results> {
        let text = fs::read(folder.join("results.json")).ok()?;
        Some(serde_json::from_slice(&text).expect("a file is whole whenever it is read"))
    };
    let named = |results: &Results| -> Vec<u32> {
        let series = results.sweeps.iter().flat_map(|sweep| &sweep.series);
        let readings = series.flat_map(|series| &series.readings);
        readings.flat_map(|reading| reading.trials.iter().chain(&reading.invalid).copied()).collect()
    };
    let mut command = capbench("");
    let arguments = "sweep work --from ns:0 --to ns:20000 --steps 4 --method packet-v2,packet-v3 --rate 20k --visits 500 \
                     --refine 0 --duration 60ms --quiet 60ms --repeats 0 --no-trace";
    command.args(arguments.split_whitespace()).arg("--out").arg(&folder);
    let sweep = Running::start(HOST, &mut command);
    // An invalid trial is no reading: a host that others use may need more than five trials.
    let has_both_methods = |results: &Results| {
        let series = results.sweeps.iter().flat_map(|sweep| &sweep.series);
        series.filter(|series| series.readings.len() > 1).count() == 2
    };
    eventually("five visits and both methods are saved", || {
        read().is_some_and(|results| named(&results).len() >= 5 && has_both_methods(&results))
    });
    sweep.signal("KILL");
    assert_eq!(sweep.end().signal, Some(9));
    let results = read().unwrap();
    assert!(!results.complete && results.sweeps.len() == 1 && results.sweeps[0].stopped);
    let named = named(&results);
    let last = results.trials.last().unwrap().number;
    for trial in results.trials.iter().filter(|trial| !named.contains(&trial.number)) {
        let is_of_reading = trial.verdict != Verdict::Invalid;
        assert!(trial.number == last || !is_of_reading, "{} is in no reading: {named:?}", trial.number);
    }
    assert!(named.iter().all(|number| results.trials.iter().any(|trial| trial.number == *number)));
    let found = capbench_report::sentences::find(&results);
    let says = |method: &str| found.iter().any(|finding| finding.text.starts_with(&format!("{method}: ")));
    assert!(says("packet-v2") && says("packet-v3"), "{found:?}");
}

#[test]
fn root_a_sweep_of_placements_or_sizes_takes_its_points_from_their_flags() {
    let Some(()) = privileges() else { return };
    let short = "--method packet-v2 --rate 10k --visits 1 --refine 0 --duration 50ms --quiet 60ms --repeats 0 --no-trace";
    for (axis, points) in [("placement", 2), ("size --size 64,128,1518", 3)] {
        let (_, results) = saved(&format!("sweep {axis} {short}"));
        assert_eq!(results["sweeps"][0]["points"].as_array().unwrap().len(), points, "{axis}");
    }
}

#[test]
fn root_a_sweep_of_members_has_the_ledger_of_each_member() {
    let Some(()) = privileges() else { return };
    let (text, results) = saved(
        "sweep members --points 1,2 --fanout lb --method packet-v3,packet-v2+fanout=hash --rate 10k --visits 1 --refine 0 \
         --duration 60ms --quiet 60ms --repeats 0",
    );
    let trials = results["trials"].as_array().unwrap();
    let mut methods: Vec<&str> = trials.iter().map(|trial| trial["method"].as_str().unwrap()).collect();
    methods.sort_unstable();
    let named = |method: &str| [1, 2].map(|count| method.replace('N', &count.to_string()));
    let expected =
        [named("packet-v2+fanout=hash+members=N"), named("packet-v3+members=N+fanout=lb")].concat();
    assert_eq!(methods, expected);
    for trial in trials {
        let members = trial["members"].as_array().unwrap();
        let asked = trial["method"].as_str().unwrap().contains("members=2");
        assert_eq!(members.len(), if asked { 2 } else { 1 }, "{trial}");
        let sum = |figure: &str| members.iter().map(|member| member[figure].as_u64().unwrap()).sum::<u64>();
        let lost = |member: &Value| member["lost"][0]["frames"].as_u64().unwrap();
        assert_eq!(sum("delivered"), trial["delivered"].as_u64().unwrap(), "{trial}");
        assert_eq!(sum("accepted"), sum("read") + members.iter().map(lost).sum::<u64>(), "{trial}");
    }
    let series = results["sweeps"][0]["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|series| series["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["packet-v3+fanout=lb", "packet-v2+fanout=hash"]);
    for series in series {
        let scaling = &series["scaling"];
        assert_eq!(
            (&scaling["load_pps"], scaling["limits"].as_array().unwrap().len()),
            (&10_000.0.into(), 2)
        );
        assert_eq!(scaling["no_law_because"]["what"], "too_few_numbers", "{scaling}");
    }
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["10,000 packets/s", "2 members", "no scalability law is fitted"] {
        assert!(one_line.contains(part), "{part} in {text}");
    }
}

#[test]
fn root_the_tests_of_rfc_2544_are_run_in_terms_of_a_throughput_that_is_given() {
    let Some(()) = privileges() else { return };
    let (text, results) = saved(
        "rfc2544 --quick --throughput 20k --max-rate 40k --duration 60ms --repetitions 1 --longest-burst 100ms \
         --quiet 60ms --method packet-v2 --repeats 0 --no-trace",
    );
    let tests: Vec<_> = results["rfc2544"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tested| tested["test"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(tests, ["latency", "frame-loss", "back-to-back", "recovery"]);
    for part in ["latency", "planned to application", "frame loss rate", "back-to-back", "recovery"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
