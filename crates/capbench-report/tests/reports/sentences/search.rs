//! What is said of searches.

use capbench_judge::search::{SearchOutcome, SearchPlan, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::units::ByteCount;
use capbench_plan::for_tests::Collected;
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_report::sentences;
use capbench_results::{Finding, Results};

use super::run_of;

/// The n-th search of a method whose path is computed.
fn nth(nth: Option<u32>, method: &str, goals: &str, path: &mut SimulatedLaboratory) -> SearchOutcome {
    let mut setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    setup.capture.ring = ByteCount(64 << 20);
    let plan = SearchPlan::new(parse(goals).unwrap());
    let mut trial = path.prepare(&setup).unwrap();
    search::run_nth(&plan, nth, "a path", trial.as_mut(), Stored::default(), &mut Collected::default())
        .unwrap()
        .outcome
}

fn search(goals: &str, path: &mut SimulatedLaboratory) -> SearchOutcome {
    nth(None, "packet-v3", goals, path)
}

fn path(generator: f64, capacity: f64) -> SimulatedLaboratory {
    SimulatedLaboratory::new(generator, vec![SimulatedMethod::new("packet-v3", capacity)])
}

fn found(searches: Vec<SearchOutcome>) -> Vec<Finding> {
    sentences::find(&Results { searches, ..run_of(Vec::new()) })
}

fn said(searches: Vec<SearchOutcome>) -> String {
    found(searches).into_iter().map(|finding| finding.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_was_found_is_said_with_its_trials() {
    let bursts = LossBursts { per_second: 0.1, frames: 500 };
    let mut paths = [
        path(1.4e6, 1e6).bursts(7, bursts).showing_moments(),
        path(1e5, 1e6),
        path(1.4e6, 10.0).showing_moments(),
    ];
    let text: Vec<_> = paths
        .iter_mut()
        .flat_map(|path| found(vec![search("ndr,pdr", path)]))
        .map(|finding| format!("{} {:?}", finding.text, finding.trials))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn the_numbers_are_said_together_even_where_nothing_is_held() {
    let numbers = |goals: &str, capacity: f64| -> String {
        let text = said(vec![search(goals, &mut path(2e6, capacity))]);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("; NDR ")).collect();
        assert_eq!(lines.len(), 1, "{text}");
        lines[0].into()
    };
    let text = numbers("ndr", 400.0);
    for part in [
        "no trial sent and delivered every frame, not even at 1,000 packets/s; NDR below 1,000 packets/s; PDR ",
        "is unknown",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = numbers("mine:from=ndr,width=1%", 1e6);
    assert!(text.contains("s of trials, goal mine); PDR ") && text.contains("; up to "), "{text}");
}

#[test]
fn what_the_host_disturbed_is_said() {
    let mut outcome = search("ndr", &mut path(2e6, 4e5));
    let lower = outcome.goals[0].lower.as_mut().unwrap();
    lower.disturbed.clone_from(&lower.trials);
    let (disturbed, all) =
        (lower.trials.len(), lower.trials.len() + outcome.goals[0].upper.as_ref().unwrap().trials.len());
    let events = outcome.numbers.loss_events.as_mut().unwrap();
    (events.set_aside, events.set_aside_lossy) = (2, 1);
    let text = said(vec![outcome]);
    for part in [
        format!("goal ndr: the host disturbed {disturbed} of the {all} trials that decide the bounds."),
        "the host disturbed 2 of these trials, which the search repeated (1 of them lost frames)".into(),
    ] {
        assert!(text.contains(&part), "{part} in {text}");
    }
}

#[test]
fn what_lies_in_the_ring_is_said_to_be_no_throughput() {
    let method = SimulatedMethod::new("packet-v3", 2e5).room(Room::Slots(ByteCount(128)));
    let text = said(vec![search("ndr", &mut SimulatedLaboratory::new(1e6, vec![method]))]);
    for part in [
        "were in buffers when sending ended",
        "the limit is the application",
        "only because buffers had room",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn moments_of_loss_are_told_from_too_high_a_load() {
    let often = LossBursts { per_second: 0.9, frames: 300 };
    let stalling = said(vec![search("ndr", &mut path(1.4e6, 1e6).bursts(3, often).showing_moments())]);
    assert!(stalling.contains("the host stalls now and then"), "{stalling}");
    let steady = said(vec![search("ndr", &mut path(1.4e6, 1e6).showing_moments())]);
    assert!(!steady.contains("stalls"), "{steady}");
}

#[test]
fn searches_of_a_set_up_are_said_together_and_methods_in_their_order() {
    let noise = Noise { per_trial: 0.01, ..Noise::default() };
    let methods = [("recv", 2e5), ("packet-v3", 1e6), ("packet-v2", 1e6)];
    let own = methods.map(|(method, capacity)| SimulatedMethod::new(method, capacity));
    let mut path = SimulatedLaboratory::new(1.4e6, own.to_vec()).noise(3, noise);
    let all: Vec<SearchOutcome> = (1..=5)
        .flat_map(|which| methods.map(|(method, _)| (which, method)))
        .map(|(which, method)| nth(Some(which), method, "ndr", &mut path))
        .collect();
    let once: Vec<SearchOutcome> =
        all[..3].iter().map(|search| SearchOutcome { nth: None, ..search.clone() }).collect();
    let text = said(once);
    let order = text.lines().find(|line| line.starts_with("ndr by method")).unwrap();
    assert!(order.starts_with("ndr by method, highest first, packets/s: packet-v"), "{order}");
    let end = "; one search each: the order may be chance; 5 searches of each decide it.";
    assert!(order.ends_with(end) && !order.contains("then"), "{order}");
    let text = said(all);
    assert!(
        text.contains("recv, goal ndr, lower bounds: median ") && text.contains("5 searches: 5 regular."),
        "{text}"
    );
    let order = text.lines().find(|line| line.starts_with("ndr by method")).unwrap();
    assert!(order.contains(", not distinguished from packet-v") && order.contains(", then recv "), "{order}");
}
