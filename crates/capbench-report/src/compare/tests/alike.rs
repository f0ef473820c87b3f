//! What makes set-ups equal, and the report if runs are not.

use capbench_model::running::{CaptureFacts, Engine, RingGeometry, Running, TimeSource};

use super::*;
use crate::sentences::comparison::note_words;

/// A run at a load, captured with this ring and source of times.
fn with((ring, times): (RingGeometry, &'static str), seed: u64) -> Results {
    let plan = BenchPlan { rate: Some(Pps::new(200_000.0).unwrap()), ..plan(6, 2000) };
    let mut run = run(&plan, &mut path(seed), seed);
    let running = Running::new("recv", Engine::default(), ring, TimeSource::unknown(times));
    run.trials.iter_mut().for_each(|trial| trial.capture = Some(running.clone().into()));
    run
}

fn ring(kib: u64, times: &'static str) -> (RingGeometry, &'static str) {
    (RingGeometry::Described { sizes: format!("ring {kib} KiB") }, times)
}

/// One that captured with the one, then with the other, which costs twice as much.
fn with_both(one: (RingGeometry, &'static str), other: (RingGeometry, &'static str), seed: u64) -> Results {
    let (mut run, more) = (with(one, seed), with(other, seed + 100));
    let last = run.trials.len() as u32;
    run.trials.extend(more.trials.into_iter().map(|mut trial| {
        trial.number += last;
        trial.cpu.total_ns_per_packet = trial.cpu.total_ns_per_packet.map(|ns| 2.0 * ns);
        trial
    }));
    run
}

fn captures(comparison: &Comparison) -> Vec<Option<&str>> {
    let costs = comparison
        .contrasts
        .iter()
        .filter(|one| one.measure == Measure::TotalCost && one.setup.method == Some("recv".into()));
    costs.filter(|one| one.setups == 1).map(|one| one.setup.capture.as_deref()).collect()
}

#[test]
fn set_ups_that_a_run_captured_differently_fall_apart() {
    let [then, now] = [1, 2].map(|seed| with_both(ring(256, "a"), ring(65536, "a"), seed));
    let comparison = compared(&then, &now);
    assert_eq!(captures(&comparison), [Some("ring 256 KiB"), Some("ring 65536 KiB")]);
    let costs = comparison
        .contrasts
        .iter()
        .filter(|one| one.measure == Measure::TotalCost && one.setup.method == Some("recv".into()))
        .filter_map(|one| Some((one.then.median?, one.now.median?)));
    let costs: Vec<_> = costs.collect();
    assert!(costs[1].0 > 1.9 * costs[0].0 && costs[1].1 > 1.9 * costs[0].1, "{costs:?}");
    assert_eq!(count(&comparison, Judgement::Regression), 0, "{comparison:#?}");
    assert!(
        comparison.only_then.is_empty() && !differences(&comparison).iter().any(|one| one.contains("ring"))
    );
    // Of what one run has alone nothing is compared, and that it is so is said.
    let comparison = compared(&then, &with(ring(65536, "a"), 3));
    assert_eq!(captures(&comparison), [Some("ring 65536 KiB")]);
    assert!(comparison.only_then.iter().all(|setup| setup.capture.as_deref() == Some("ring 256 KiB")));
    let is_named = differences(&comparison).iter().any(|one| {
        one.contains(
            "of packet-v3, recv: ring 256 KiB; time: a or ring 65536 KiB; time: a then, ring 65536 KiB",
        )
    });
    assert!(is_named, "{:?}", comparison.difference_facts);
}

#[test]
fn what_each_run_has_one_of_is_compared_and_said() {
    let comparison = compared(&with(ring(256, "a"), 1), &with(ring(65536, "a"), 2));
    assert_eq!(captures(&comparison), [None]);
    assert!(
        differences(&comparison).iter().any(|one| one.contains("ring 256 KiB; time: a then, ring 65536 KiB"))
    );
    // The source of times, and the names of interfaces that are new in every run, make no other set-up.
    let run_with = |interface: &str, seed| {
        let command = "tcpdump -i {interface} -w {file}".into();
        with((RingGeometry::Program { command, interface: interface.into() }, "a"), seed)
    };
    let comparison = compared(&run_with("cbr12ag", 1), &run_with("cbr12bh", 2));
    assert!(
        !differences(&comparison).iter().any(|one| one.contains("tcpdump")),
        "{:?}",
        comparison.difference_facts
    );
    let twice = with_both(ring(1, "a"), ring(1, "b"), 1);
    assert_eq!(captures(&compared(&twice, &with(ring(1, "a"), 2))), [None]);
}

#[test]
fn work_that_was_calibrated_to_another_number_of_iterations_is_named_first() {
    let run_with = |ns: f64, seed| {
        let mut run = bench(2, 2000, seed);
        run.trials.iter_mut().for_each(|trial| trial.cpu.wait_ns_per_iteration = Some(ns));
        run
    };
    let notes: Vec<String> =
        compared(&run_with(1.0, 1), &run_with(0.8, 2)).note_facts.iter().map(note_words).collect();
    assert!(notes[0].starts_with("work ns:2000 was 2,000 iterations"), "{notes:?}");
    assert!(notes[0].contains("2,500 in B (+25 %)"), "{notes:?}");
    let is_of_work = |note: &ComparisonNote| matches!(note, ComparisonNote::OtherWork { .. });
    assert!(!compared(&run_with(1.0, 1), &run_with(1.04, 2)).note_facts.iter().any(is_of_work));
    assert!(
        !compared(&run_with(1.0, 1), &bench(2, 2400, 2)).note_facts.iter().any(is_of_work),
        "other by name"
    );
}

#[test]
fn trials_that_contradict_themselves_are_set_aside_and_make_it_inconclusive() {
    let (then, mut now) = (bench(6, 2000, 1), bench(6, 2000, 2));
    assert!(!compared(&then, &now).damaged);
    now.trials[0].delivered -= 1;
    let comparison = compared(&then, &now);
    assert!(comparison.damaged && comparison.is_inconclusive());
    assert_eq!((comparison.left_out[0].subject.as_str(), comparison.left_out[0].trials), ("B", 1));
    assert!(comparison.left_out[0].because == NotCompared::Changed, "{:?}", comparison.left_out);
    let number = now.trials[0].number;
    assert!(!comparison.contrasts.iter().any(|one| one.now.trials.contains(&number)));
    // Both sides of a comparison are looked at.
    assert!(compared(&now, &then).damaged);
}

#[test]
fn buffers_of_runs_of_older_versions_are_compared_by_their_texts() {
    let older = |kib, seed| {
        let mut run = serde_json::to_value(with(ring(kib, "a"), seed)).unwrap();
        for trial in run["trials"].as_array_mut().unwrap() {
            let trial = trial.as_object_mut().unwrap();
            let facts: CaptureFacts = serde_json::from_value(trial.remove("capture").unwrap()).unwrap();
            trial.insert("running".into(), facts.running().into());
        }
        let text = serde_json::to_vec(&run).unwrap();
        capbench_results::read::parse(&text, std::path::Path::new("older.json")).unwrap().results
    };
    let comparison = compared(&older(256, 1), &with(ring(65536, "a"), 2));
    let mut all = differences(&comparison);
    all.retain(|one| one.contains("ring"));
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].contains("ring 256 KiB; time: a then, ring 65536 KiB; time: a now"), "{all:?}");
    let same = compared(&older(256, 1), &with(ring(256, "a"), 2));
    assert!(!differences(&same).iter().any(|one| one.contains("ring")), "{:?}", same.difference_facts);
}
