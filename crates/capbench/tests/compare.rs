//! Comparisons by the command line: of runs that were saved, and of methods that took turns.

mod support;

use std::fs;
use std::path::Path;

use capbench_measure::results::Results;
use serde_json::{Value, json};
use support::{Ended, Scratch, capbench, in_turn, privileged, run};

/// Saves a run like this one, in which so much of what was delivered was, on a host that did nothing else.
fn copied(from: &Path, to: &Path, started: u64, factor: f64) {
    let mut results: Value = read(from);
    results["started_unix_s"] = json!(started);
    for trial in results["trials"].as_array_mut().unwrap() {
        let rate = trial["delivered_pps"].as_f64().unwrap();
        trial["delivered_pps"] = json!(rate * factor);
        trial.as_object_mut().unwrap().remove("disturbance");
        let delivered = trial["delivered"].as_u64().unwrap();
        trial["delivered"] = json!((delivered as f64 * factor) as u64);
    }
    fs::create_dir(to).unwrap();
    fs::write(to.join("results.json"), results.to_string()).unwrap();
}

fn read(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap()
}

fn compare(one: &Path, other: &Path, more: &[&str]) -> Ended {
    run(None, capbench().arg("compare").arg(one).arg(other).args(more))
}

fn is_narrow(text: &str) -> bool {
    // Paths and commands are not cut.
    text.lines().all(|line| line.chars().count() <= 80 || line.contains("capbench-test-"))
}

#[test]
fn root_methods_that_take_turns_are_compared_and_runs_with_each_other() {
    if !privileged("root_methods_that_take_turns_are_compared_and_runs_with_each_other") {
        return;
    }
    let (_turn, folder) = (in_turn(), Scratch::new());
    let first = folder.file("first");
    let command = "bench --method packet-v3 --against recv --visits 7 --size 64 --placement same --duration 60ms --quiet 60ms \
                   --repeats 0 --seed 5";
    let ended = run(None, capbench().args(command.split_whitespace()).arg("--out").arg(&first));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(ended.out.contains("packet-v3 against recv, in pairs that ran side by side"), "{}", ended.out);
    assert!(ended.out.contains("medians of up to"), "{}", ended.out);
    assert!(is_narrow(&ended.out), "{}", ended.out);
    let results: Results = serde_json::from_value(read(&first)).unwrap();
    let comparison = &results.comparisons[0];
    assert_eq!(
        (comparison.then.as_str(), comparison.now.as_str(), comparison.paired),
        ("recv", "packet-v3", true)
    );
    assert!(
        results.statements.iter().any(|statement| statement.contains("seed 5")),
        "{:?}",
        results.statements
    );
    for contrast in &comparison.contrasts {
        assert_eq!(contrast.then.trials.len(), contrast.now.trials.len());
        for (then, now) in contrast.then.trials.iter().zip(&contrast.now.trials) {
            let of = |number: u32| results.trials.iter().find(|trial| trial.number == number).unwrap();
            assert_eq!(
                (of(*then).profile.method.as_str(), of(*now).profile.method.as_str()),
                ("recv", "packet-v3")
            );
        }
    }

    let [base, same, slower] = ["base", "same", "slower"].map(|name| folder.file(name));
    copied(&first, &base, 3, 1.0);
    copied(&first, &same, 1, 1.0);
    copied(&first, &slower, 2, 0.5);
    let ended = compare(&base, &same, &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.out.contains("none that they tell of") && ended.out.contains("No regression shown"),
        "{}",
        ended.out
    );
    let ended = compare(&base, &slower, &[]);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(ended.out.contains("Regressions\n") && is_narrow(&ended.out), "{}", ended.out);
    let ended = compare(&slower.join("results.json"), &base, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let document = ended.json();
    assert_eq!(
        (&document["schema_version"], &document["verdict"]),
        (&json!(1), &json!("no_regression_shown"))
    );
    assert!(
        document["comparison"]["contrasts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["judgement"] == "improvement")
    );

    for (other, part) in [(&first, "named twice"), (&folder.file("nothing"), "no run that can be compared")] {
        let ended = compare(&first, other, &[]);
        assert!(matches!(ended.code, Some(1 | 2)) && ended.errors.contains(part), "{ended:#?}");
        assert_eq!((ended.errors.lines().count(), ended.out.as_str()), (1, ""), "{ended:#?}");
    }
    let twin = folder.file("twin");
    copied(&base, &twin, 3, 1.0);
    let ended = compare(&base, &twin, &[]);
    assert!(ended.code == Some(2) && ended.errors.contains("one run, or copies of it"), "{ended:#?}");
}

#[test]
fn root_visits_come_in_an_order_that_a_seed_names() {
    if !privileged("root_visits_come_in_an_order_that_a_seed_names") {
        return;
    }
    let (_turn, folder) = (in_turn(), Scratch::new());
    let command = "bench --method packet-v2,packet-v3 --visits 3 --rate 20k --size 64,512 --placement same --duration 50ms \
                   --quiet 50ms --repeats 0 --seed 9";
    let order = |name: &str| {
        let out = folder.file(name);
        let ended = run(None, capbench().args(command.split_whitespace()).arg("--out").arg(&out));
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let results: Results = serde_json::from_value(read(&out)).unwrap();
        let of = |trial: &capbench_measure::trial::TrialResult| {
            (trial.profile.method.clone(), trial.profile.frame_size.to_string())
        };
        results.trials.iter().map(of).collect::<Vec<_>>()
    };
    let first = order("first");
    assert_eq!(first.len(), 12);
    assert_eq!(first, order("second"));
}
