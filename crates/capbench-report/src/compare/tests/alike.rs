//! Which set-ups of two runs are compared: those that captured alike; and what the report states if runs differ.

use std::path::Path;

use capbench_frames::rates::Pps;
use capbench_judge::comparison::note::ComparisonNote;
use capbench_judge::comparison::{Comparison, Contrast, Judgement, Measure, NotCompared};
use capbench_model::running::{CaptureFacts, Engine, RingGeometry, Running, TimeSource};
use capbench_plan::bench::BenchPlan;
use capbench_results::{Results, read};

use super::{bench, compared_across_work, differences, path, plan, run, usual_bench};
use crate::sentences::comparison::note_words;

/// What `recv` and `packet-v3` captured with.
#[derive(Clone)]
struct Captured {
    ring: RingGeometry,
    /// Where time stamps come from.
    times: &'static str,
}

impl Captured {
    /// A ring of this size, whose time stamps come from `a`.
    fn with_ring(kib: u64) -> Self {
        Self { ring: RingGeometry::Described { sizes: format!("ring {kib} KiB") }, times: "a" }
    }

    /// tcpdump on this interface.
    fn with_tcpdump(interface: &str) -> Self {
        let command = "tcpdump -i {interface} -w {file}".into();
        Self {
            ring: RingGeometry::Program { command, interface: interface.into(), file: None, remark: None },
            times: "a",
        }
    }
}

/// A run at 200,000 frames per second, which both methods sustain, whose trials all captured with this: six visits, 2,000 ns of
/// work per packet. The method in `Running` is not compared.
fn captured_with(captured: Captured, seed: u64) -> Results {
    let plan = BenchPlan { rate: Some(Pps::new(200_000.0).unwrap()), ..plan(6, 2000) };
    let mut run = run(&plan, &mut path(seed), seed);
    let running = Running::new("recv", Engine::default(), captured.ring, TimeSource::unknown(captured.times));
    for trial in &mut run.trials {
        trial.capture = Some(running.clone().into());
    }
    run
}

/// A run whose trials captured with `first`; then as many captured with `second`, where frames cost twice as much CPU time.
fn captured_with_both(first: Captured, second: Captured, seed: u64) -> Results {
    let mut run = captured_with(first, seed);
    let last_number = run.trials.len() as u32;
    // Another seed, so that the trials are no copies.
    for mut trial in captured_with(second, seed + 100).trials {
        trial.number += last_number;
        if let Some(ns) = &mut trial.cpu.total_ns_per_packet {
            *ns *= 2.0;
        }
        run.trials.push(trial);
    }
    run
}

/// The compared CPU costs of `recv`, one for each of its set-ups. Contrasts of several set-ups together are left out.
fn costs_of_recv(comparison: &Comparison) -> Vec<&Contrast> {
    let mut costs = Vec::new();
    for contrast in &comparison.contrasts {
        let is_of_recv = contrast.setup.method == Some("recv".into());
        if is_of_recv && contrast.measure == Measure::TotalCost && contrast.setups == 1 {
            costs.push(contrast);
        }
    }
    costs
}

/// What the set-ups of [`costs_of_recv`] captured with; `None` if the runs do not distinguish set-ups by that.
fn captures(comparison: &Comparison) -> Vec<Option<&str>> {
    costs_of_recv(comparison).iter().map(|contrast| contrast.setup.capture.as_deref()).collect()
}

#[test]
fn a_run_with_two_rings_has_a_set_up_for_each() {
    let [then, now] =
        [1, 2].map(|seed| captured_with_both(Captured::with_ring(256), Captured::with_ring(65_536), seed));
    let comparison = compared_across_work(&then, &now);
    assert_eq!(captures(&comparison), [Some("ring 256 KiB"), Some("ring 65536 KiB")]);
    let [small, large] = costs_of_recv(&comparison)[..] else { panic!("{comparison:#?}") };
    // The second ring was made twice as costly.
    assert!(large.then.median.unwrap() > 1.9 * small.then.median.unwrap(), "{comparison:#?}");
    assert!(large.now.median.unwrap() > 1.9 * small.now.median.unwrap(), "{comparison:#?}");
    assert_eq!(comparison.judged(Judgement::Regression).count(), 0);
    assert!(comparison.only_then.is_empty());
    assert!(!differences(&comparison).join("\n").contains("ring"), "both runs have both rings");
}

#[test]
fn a_ring_of_one_run_only_is_not_compared_and_is_listed() {
    let then = captured_with_both(Captured::with_ring(256), Captured::with_ring(65_536), 1);
    let comparison = compared_across_work(&then, &captured_with(Captured::with_ring(65_536), 3));
    assert_eq!(captures(&comparison), [Some("ring 65536 KiB")]);
    assert!(comparison.only_then.iter().all(|setup| setup.capture.as_deref() == Some("ring 256 KiB")));
    let differences = differences(&comparison).join("\n");
    let rings = "of packet-v3, recv: ring 256 KiB; time: a or ring 65536 KiB; time: a then, ring 65536 KiB";
    assert!(differences.contains(rings), "{differences}");
}

#[test]
fn runs_with_one_ring_each_are_compared_and_the_difference_is_listed() {
    let (then, now) =
        (captured_with(Captured::with_ring(256), 1), captured_with(Captured::with_ring(65_536), 2));
    let comparison = compared_across_work(&then, &now);
    assert_eq!(captures(&comparison), [None]);
    let differences = differences(&comparison).join("\n");
    assert!(differences.contains("ring 256 KiB; time: a then, ring 65536 KiB"), "{differences}");
}

#[test]
fn names_of_interfaces_and_sources_of_times_make_no_other_set_up() {
    // Every run makes interfaces with new names.
    let (then, now) = (
        captured_with(Captured::with_tcpdump("cbr12ag"), 1),
        captured_with(Captured::with_tcpdump("cbr12bh"), 2),
    );
    let differences = differences(&compared_across_work(&then, &now)).join("\n");
    assert!(!differences.contains("tcpdump"), "{differences}");

    let (times_a, times_b) = (Captured::with_ring(1), Captured { times: "b", ..Captured::with_ring(1) });
    let both_times = captured_with_both(times_a.clone(), times_b, 1);
    assert_eq!(captures(&compared_across_work(&both_times, &captured_with(times_a, 2))), [None]);
}

/// A run with work of this time per frame, in which an iteration of the work took `iteration_ns`.
fn calibrated(work_ns: u32, iteration_ns: f64, seed: u64) -> Results {
    let mut run = bench(2, work_ns, seed);
    for trial in &mut run.trials {
        trial.cpu.wait_ns_per_iteration = Some(iteration_ns);
    }
    run
}

/// Whether a comparison notes that the same work meant another number of iterations.
fn notes_other_work(comparison: &Comparison) -> bool {
    comparison.note_facts.iter().any(|note| matches!(note, ComparisonNote::OtherWork { .. }))
}

#[test]
fn work_that_was_calibrated_to_another_number_of_iterations_is_noted_first() {
    let then = calibrated(2000, 1.0, 1);
    let comparison = compared_across_work(&then, &calibrated(2000, 0.8, 2));
    let first = note_words(&comparison.note_facts[0]);
    assert!(first.starts_with("work ns:2000 was 2,000 iterations"), "{first}");
    assert!(first.contains("2,500 in B (+25 %)"), "{first}");

    // 4 % is within what calibrations differ by.
    assert!(!notes_other_work(&compared_across_work(&then, &calibrated(2000, 1.04, 2))));
    // The names of the works show that they differ.
    assert!(!notes_other_work(&compared_across_work(&then, &bench(2, 2400, 2))));
}

#[test]
fn trials_that_contradict_themselves_are_left_out_and_make_it_inconclusive() {
    let (then, mut now) = (usual_bench(1), usual_bench(2));
    assert!(!compared_across_work(&then, &now).damaged);
    // One frame is neither delivered nor lost.
    now.trials[0].delivered -= 1;
    let comparison = compared_across_work(&then, &now);
    assert!(comparison.damaged && comparison.is_inconclusive());
    assert_eq!(comparison.left_out[0].subject, "B");
    assert_eq!(comparison.left_out[0].trials, 1);
    assert_eq!(comparison.left_out[0].because, NotCompared::Changed);
    let number = now.trials[0].number;
    assert!(!comparison.contrasts.iter().any(|one| one.now.trials.contains(&number)));
    // Trials of the earlier run are checked, too.
    assert!(compared_across_work(&now, &then).damaged);
}

/// A run as an earlier version saved it: each trial has the facts about its capture as one text.
fn of_earlier_version(run: &Results) -> Results {
    let mut saved = serde_json::to_value(run).unwrap();
    for trial in saved["trials"].as_array_mut().unwrap() {
        let trial = trial.as_object_mut().unwrap();
        let facts: CaptureFacts = serde_json::from_value(trial.remove("capture").unwrap()).unwrap();
        trial.insert("running".into(), facts.running().into());
    }
    let file = serde_json::to_vec(&saved).unwrap();
    read::parse(&file, Path::new("earlier.json")).unwrap().results
}

#[test]
fn rings_of_runs_of_earlier_versions_are_compared_by_their_texts() {
    let earlier = of_earlier_version(&captured_with(Captured::with_ring(256), 1));
    let mut differences_of_rings =
        differences(&compared_across_work(&earlier, &captured_with(Captured::with_ring(65_536), 2)));
    differences_of_rings.retain(|difference| difference.contains("ring"));
    let [difference] = &differences_of_rings[..] else { panic!("{differences_of_rings:?}") };
    let rings = "ring 256 KiB; time: a then, ring 65536 KiB; time: a now";
    assert!(difference.contains(rings), "{difference}");

    let same = compared_across_work(&earlier, &captured_with(Captured::with_ring(256), 2));
    assert!(!differences(&same).join("\n").contains("ring"), "{:?}", same.difference_facts);
}
