//! What sweeps of members show, as facts, on paths with a known limit. Their words: `sentences/sweep/members`.

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_judge::finding::sweep::members::MembersLaw;
use capbench_judge::finding::sweep::members_answer::{Scales, members_answers};
use capbench_judge::finding::sweep::members_stop::StopFigures;
use capbench_judge::limit::Limit;
use capbench_judge::sweep::scaling::Needed;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::statistics::scalability::{Law, Unfit};
use capbench_model::trial::Load;
use capbench_plan::for_tests::{at, sweep_plan};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, MemberCount, Point, SweepPlan};
use capbench_report::model::{Place, Role};
use capbench_report::report;
use capbench_report::sentences;
use capbench_results::Results;

use super::run_of;
use super::sweep::run;

const METHOD: &str = "packet-v3+fanout=lb";
const FREE: Law = Law { lambda: 1e6, sigma: 0.01, kappa: 0.0 };
const COHERENT: Law = Law { lambda: 1e6, sigma: 0.02, kappa: 0.02 };

/// A sweep up to this number of members.
fn plan(method: &str, most: u16, load: Load) -> SweepPlan {
    let points = (1..=most).map(|count| Point::Members(MemberCount(count.try_into().unwrap()))).collect();
    let methods = vec![format!("{method}+members=1").parse().unwrap()];
    SweepPlan { methods, loads: vec![load], repeats: 2, ..sweep_plan(Axis::new(points).unwrap(), &[]) }
}

fn path(generator: f64, method: &str, law: Law, kernel_ns: u64) -> SimulatedLaboratory {
    let methods = vec![SimulatedMethod::with_scaling(method, law).cost(0, kernel_ns)];
    SimulatedLaboratory::new(generator, methods)
}

fn results(plan: &SweepPlan, mut path: SimulatedLaboratory) -> Results {
    let run = run(plan, &mut path);
    Results { sweeps: vec![run.outcome], ..run_of(run.trials) }
}

/// The facts of the only series.
fn facts(results: &Results) -> Vec<SweepFinding> {
    let mut facts = Vec::new();
    for finding in sentences::find(results) {
        if let Some(Fact::Sweep(fact)) = finding.fact {
            facts.push(*fact);
        }
    }
    facts
}

/// What the only series needs for its load, by its findings.
fn needed(results: &Results) -> Needed {
    let facts = facts(results);
    let found = facts.iter().find_map(|fact| match fact {
        SweepFinding::MembersNeeded(fact) => Some(fact.needed),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{facts:?}"))
}

/// The law of the only series, by its findings.
fn law(results: &Results) -> MembersLaw {
    let facts = facts(results);
    let found = facts.iter().find_map(|fact| match fact {
        SweepFinding::MembersLaw(fact) => Some(fact.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{facts:?}"))
}

/// What stops the members of the only series, by its findings.
fn stop(results: &Results) -> StopFigures {
    let facts = facts(results);
    let found = facts.iter().find_map(|fact| match fact {
        SweepFinding::MembersGrowth(fact) => Some(fact.stop.clone()?.cause),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{facts:?}"))
}

/// How the only series scales, as the verdict has it.
fn scales(results: &Results) -> Scales {
    members_answers(&results.sweeps, &results.trials).remove(0).scales
}

#[test]
fn each_limit_is_named_and_no_other() {
    let layout = FrameLayout { flows: Flows::new(3).unwrap(), ..FrameLayout::default() };
    let uneven = SweepPlan { base: Setup { layout, ..setup(64) }, ..plan("packet-v3", 5, Load::Maximum) };
    let contended = Law { lambda: 1e6, sigma: 0.3, kappa: 0.0005 };
    let maximum = |most| plan(METHOD, most, Load::Maximum);
    let runs = [
        (Limit::Generator, results(&maximum(7), path(4.5e6, METHOD, FREE, 100))),
        (Limit::Backlog, results(&maximum(7), path(1e7, METHOD, FREE, 250).backlog(4e6))),
        (Limit::Sharing, results(&uneven, path(1e7, "packet-v3", FREE, 50))),
        (Limit::Contention, results(&maximum(12), path(1e8, METHOD, contended, 5))),
        (Limit::Coherence, results(&maximum(12), path(1e8, METHOD, COHERENT, 5))),
    ];
    for (cause, results) in &runs {
        let found = match stop(results) {
            StopFigures::Generator { offered_pps, busiest_ratio: Some(busiest) } => {
                assert!(offered_pps == 4.5e6 && (busiest - 0.788).abs() < 0.001, "{busiest}");
                Limit::Generator
            }
            StopFigures::Kernel { cpu, kernel_ratio, members } => {
                assert_eq!((cpu, kernel_ratio), (Some(1), Some(1.0)));
                assert!(members.busiest_ratio.is_some_and(|busy| busy < 0.84), "{members:?}");
                Limit::Backlog
            }
            StopFigures::Sharing { excess_ratio: Some(excess), idlest_ratio } => {
                assert!((excess - 1.0 / 3.0).abs() < 0.001, "{excess}");
                assert_eq!(idlest_ratio, Some(0.0));
                Limit::Sharing
            }
            StopFigures::Contention { of_one_alone: Some(part) } => {
                assert!((part - 0.624).abs() < 0.001, "{part}");
                Limit::Contention
            }
            StopFigures::Coherence { of_one_alone: Some(part) } => {
                assert!((part - 0.676).abs() < 0.001, "{part}");
                Limit::Coherence
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(found, *cause);
        match scales(results) {
            Scales::UpTo { limit, .. } | Scales::NotAtAll { limit, .. } => assert_eq!(limit, *cause),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_members_that_a_load_needs_are_named() {
    let of_rate = |most, rate| plan(METHOD, most, at(rate));
    let runs = [
        results(&of_rate(4, 2.5e6), path(1e8, METHOD, FREE, 5)),
        results(&of_rate(4, 7.5e6), path(1e8, METHOD, FREE, 5)),
        results(&of_rate(8, 7.5e6), path(1e8, METHOD, COHERENT, 5)),
        results(&of_rate(3, 7.5e6), path(1e8, METHOD, FREE, 5)),
        results(&plan(METHOD, 4, Load::Maximum), path(1e8, METHOD, FREE, 5)),
        results(&of_rate(1, 7.5e6), path(1e8, METHOD, FREE, 5)),
    ];
    assert_eq!(needed(&runs[0]), Needed::Measured { members: 3 });
    assert_eq!(scales(&runs[0]), Scales::Needs { members: 3 });
    assert!(matches!(scales(&runs[1]), Scales::NeedsByLaw { other_limit: None, .. }));
    assert!(matches!(scales(&runs[2]), Scales::NoNumberIsEnough { limit: Some(Limit::Coherence) }));
    assert!(matches!(scales(&runs[4]), Scales::UpToLast { .. }));
    assert!(matches!(scales(&runs[5]), Scales::LessThanLoad { limit: None, .. }));
    assert!(matches!(needed(&runs[1]), Needed::ByLaw { members: 9 }));
    assert!(
        matches!(needed(&runs[2]), Needed::NoNumber { most_pps } if (most_pps - 3_571_429.0).abs() < 1.0)
    );
    assert_eq!(needed(&runs[3]), Needed::Unknown);
    assert_eq!(stop(&runs[0]), StopFigures::Load);
    assert!(law(&runs[1]).law.is_some_and(|law| law.peak.is_none()));
    assert!(law(&runs[2]).law.is_some_and(|law| (law.peak.unwrap() - 7.0).abs() < 0.01));
    assert_eq!(law(&runs[3]).no_law_because, Some(Unfit::TooFewNumbers { numbers: 3 }));
}

#[test]
fn the_chart_has_the_law_and_the_ideal_and_the_table_every_number() {
    let results = results(&plan(METHOD, 6, Load::Maximum), path(1e8, METHOD, COHERENT, 5));
    let report = report::report(&crate::run(results));
    let chart = report.charts().find(|chart| chart.id == "members-rate").unwrap();
    let law = chart.series.iter().find(|series| series.role == Role::Fit).unwrap();
    assert_eq!(
        (law.name.as_str(), law.points.len()),
        ("packet-v3+fanout=lb, placement same, maximum load, by the law", 6)
    );
    let Place::Curve(ideal) = &chart.marks[0].at else { panic!("{:?}", chart.marks) };
    assert!((ideal[1][1] / 6e6 - 1.0).abs() < 0.001, "{ideal:?}");
    let table = report.tables().find(|table| table.id == "sweep-scaling").unwrap();
    assert_eq!(table.rows.len(), 6);
    assert!(table.is_main);
}
