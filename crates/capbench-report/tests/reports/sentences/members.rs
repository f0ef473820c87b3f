//! What sweeps of members show, as facts, on paths with a known limit. Their words: `sentences/sweep/members`.

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_judge::finding::sweep::members::MembersLaw;
use capbench_judge::finding::sweep::members_answer::{Scales, members_answers};
use capbench_judge::finding::sweep::stop_figures::StopFigures;
use capbench_judge::limit::Limit;
use capbench_judge::sweep::scaling::Needed;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;
use capbench_plan::for_tests::{at, sweep_plan};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, MemberCount, Point, SweepPlan};
use capbench_report::model::{Place, Role};
use capbench_report::report;
use capbench_report::sentences;
use capbench_results::Results;
use capbench_statistics::scalability::{Law, Unfit};

use super::run_of;
use super::sweep::run;

const METHOD: &str = "packet-v3+fanout=lb";
/// Hardly any contention: members do not hinder each other.
const FREE: Law = Law { lambda: 1e6, sigma: 0.01, kappa: 0.0 };
/// The rate is highest with 7 members, sqrt((1 - σ) / κ).
const COHERENT: Law = Law { lambda: 1e6, sigma: 0.02, kappa: 0.02 };

/// A sweep of 1 to `most` members at this load, two visits of each number.
fn plan(method: &str, most: u16, load: Load) -> SweepPlan {
    let points = (1..=most).map(|count| Point::Members(MemberCount(count.try_into().unwrap()))).collect();
    let methods = vec![format!("{method}+members=1").parse().unwrap()];
    SweepPlan { methods, loads: vec![load], repeats: 2, ..sweep_plan(Axis::new(points).unwrap(), &[]) }
}

/// A path whose generator sends up to `generator_pps`. The method scales by this law, and a frame costs the kernel `kernel_ns`.
fn path(generator_pps: f64, method: &str, law: Law, kernel_ns: u64) -> SimulatedLaboratory {
    let methods = vec![SimulatedMethod::with_scaling(method, law).cost(0, kernel_ns)];
    SimulatedLaboratory::new(generator_pps, methods)
}

/// A path on which nothing but the members is a limit.
fn free_path(law: Law) -> SimulatedLaboratory {
    path(1e8, METHOD, law, 5)
}

/// The results of a sweep.
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

/// How a sweep up to the maximum load scales; the limit must be this one in its answer, too.
fn stop_by(limit: Limit, plan: &SweepPlan, path: SimulatedLaboratory) -> StopFigures {
    let results = results(plan, path);
    match scales(&results) {
        Scales::UpTo { limit: found, .. } | Scales::NotAtAll { limit: found, .. } => assert_eq!(found, limit),
        other => panic!("{other:?}"),
    }
    stop(&results)
}

/// A sweep of 1 to `most_members` members at maximum load.
fn at_maximum(most_members: u16) -> SweepPlan {
    plan(METHOD, most_members, Load::Maximum)
}

#[test]
fn the_generator_is_the_limit_if_members_read_all_that_it_sends() {
    let stop = stop_by(Limit::Generator, &at_maximum(7), path(4.5e6, METHOD, FREE, 100));
    let StopFigures::Generator { offered_pps, busiest_ratio: Some(busiest) } = stop else {
        panic!("{stop:?}")
    };
    assert_eq!(offered_pps, 4.5e6);
    assert!((busiest - 0.788).abs() < 0.001, "{busiest}");
}

#[test]
fn the_kernel_is_the_limit_if_its_cpu_is_busy_and_members_are_not() {
    // 4,000,000 frames of 250 ns fill a second.
    let stop = stop_by(Limit::Backlog, &at_maximum(7), path(1e7, METHOD, FREE, 250).backlog(4e6));
    let StopFigures::Kernel { cpu, kernel_ratio, members } = stop else { panic!("{stop:?}") };
    assert_eq!(cpu, Some(1));
    assert_eq!(kernel_ratio, Some(1.0));
    assert!(members.busiest_ratio.is_some_and(|busy| busy < 0.84), "{members:?}");
}

#[test]
fn sharing_is_the_limit_if_one_member_gets_too_many_flows() {
    let layout = FrameLayout { flows: Flows::new(3).unwrap(), ..FrameLayout::default() };
    let three_flows =
        SweepPlan { base: Setup { layout, ..setup(64) }, ..plan("packet-v3", 5, Load::Maximum) };
    let stop = stop_by(Limit::Sharing, &three_flows, path(1e7, "packet-v3", FREE, 50));
    let StopFigures::Sharing { excess_ratio: Some(excess), idlest_ratio } = stop else { panic!("{stop:?}") };
    // One member has two of the three flows, half of them would be its share.
    assert!((excess - 1.0 / 3.0).abs() < 0.001, "{excess}");
    assert_eq!(idlest_ratio, Some(0.0));
}

#[test]
fn contention_and_coherence_are_limits_by_the_larger_part_of_the_law() {
    let contended = Law { lambda: 1e6, sigma: 0.3, kappa: 0.0005 };
    let stop = stop_by(Limit::Contention, &at_maximum(12), free_path(contended));
    let StopFigures::Contention { of_one_alone: Some(part) } = stop else { panic!("{stop:?}") };
    assert!((part - 0.624).abs() < 0.001, "{part}");

    let stop = stop_by(Limit::Coherence, &at_maximum(12), free_path(COHERENT));
    let StopFigures::Coherence { of_one_alone: Some(part) } = stop else { panic!("{stop:?}") };
    assert!((part - 0.676).abs() < 0.001, "{part}");
}

/// The results of a sweep of 1 to `most` members at this rate, on a path where nothing else is a limit.
fn at_rate(most: u16, pps: f64, law: Law) -> Results {
    results(&plan(METHOD, most, at(pps)), free_path(law))
}

#[test]
fn a_measured_number_of_members_is_enough_for_the_load() {
    let results = at_rate(4, 2.5e6, FREE);
    assert_eq!(needed(&results), Needed::Measured { members: 3 });
    assert_eq!(scales(&results), Scales::Needs { members: 3 });
    assert_eq!(stop(&results), StopFigures::Load);
}

#[test]
fn the_law_says_how_many_members_a_load_needs_beyond_those_measured() {
    let results = at_rate(4, 7.5e6, FREE);
    let needed = needed(&results);
    assert!(matches!(needed, Needed::ByLaw { members: 9 }), "{needed:?}");
    assert!(matches!(scales(&results), Scales::NeedsByLaw { other_limit: None, .. }));
    let fitted = law(&results).law.unwrap();
    assert_eq!(fitted.peak, None);
}

#[test]
fn no_number_of_members_is_enough_for_a_load_above_the_peak_of_the_law() {
    let results = at_rate(8, 7.5e6, COHERENT);
    let Needed::NoNumber { most_pps } = needed(&results) else { panic!("{:?}", needed(&results)) };
    // Seven members: 7,000,000 / (1 + 0.02 * 6 + 0.02 * 7 * 6).
    assert!((most_pps - 3_571_429.0).abs() < 1.0, "{most_pps}");
    assert!(matches!(scales(&results), Scales::NoNumberIsEnough { limit: Some(Limit::Coherence) }));
    let fitted = law(&results).law.unwrap();
    assert!((fitted.peak.unwrap() - 7.0).abs() < 0.01, "{fitted:?}");
}

#[test]
fn three_numbers_of_members_fit_no_law() {
    let results = at_rate(3, 7.5e6, FREE);
    assert_eq!(needed(&results), Needed::Unknown);
    assert_eq!(law(&results).no_law_because, Some(Unfit::TooFewNumbers { numbers: 3 }));
}

#[test]
fn a_sweep_without_a_limit_scales_up_to_its_last_number() {
    assert!(matches!(scales(&results(&at_maximum(4), free_path(FREE))), Scales::UpToLast { .. }));
    // One number shows no growth.
    assert!(matches!(scales(&at_rate(1, 7.5e6, FREE)), Scales::LessThanLoad { limit: None, .. }));
}

#[test]
fn the_chart_has_the_law_and_the_ideal() {
    let report = report::report(&crate::run(results(&at_maximum(6), free_path(COHERENT))));
    let chart = report.charts().find(|chart| chart.id == "members-rate").unwrap();
    let law = chart.series.iter().find(|series| series.role == Role::Fit).unwrap();
    assert_eq!(law.name, "packet-v3+fanout=lb, placement same, maximum load, by the law");
    assert_eq!(law.points.len(), 6);
    let Place::Curve(ideal) = &chart.marks[0].at else { panic!("{:?}", chart.marks) };
    // Six times the rate of one member.
    assert!((ideal[1][1] / 6e6 - 1.0).abs() < 0.001, "{ideal:?}");
}

#[test]
fn the_table_of_members_has_a_row_for_each_number() {
    let report = report::report(&crate::run(results(&at_maximum(6), free_path(COHERENT))));
    let table = report.tables().find(|table| table.id == "sweep-scaling").unwrap();
    assert_eq!(table.rows.len(), 6);
    assert!(table.is_main);
}
