//! What is said of sweeps of members, on paths with a known limit.

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::statistics::scalability::Law;
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

/// The verdict, and what the sweep shows.
fn said(plan: &SweepPlan, path: SimulatedLaboratory) -> String {
    let results = results(plan, path);
    let found = sentences::find(&results).into_iter();
    let of_series = found
        .filter(|finding| finding.text.starts_with(&format!("{}: ", results.sweeps[0].series[0].method)));
    let lines = [sentences::answers(&results)[0].text.clone()]
        .into_iter()
        .chain(of_series.map(|finding| finding.text));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_limit_is_named_and_no_other() {
    let layout = FrameLayout { flows: Flows::new(3).unwrap(), ..FrameLayout::default() };
    let uneven = SweepPlan { base: Setup { layout, ..setup(64) }, ..plan("packet-v3", 5, Load::Maximum) };
    let contended = Law { lambda: 1e6, sigma: 0.3, kappa: 0.0005 };
    let maximum = |most| plan(METHOD, most, Load::Maximum);
    let texts = [
        ("the generator", said(&maximum(7), path(4.5e6, METHOD, FREE, 100))),
        ("the kernel's receive work", said(&maximum(7), path(1e7, METHOD, FREE, 250).backlog(4e6))),
        ("the sharing of the frames", said(&uneven, path(1e7, "packet-v3", FREE, 50))),
        ("contention", said(&maximum(12), path(1e8, METHOD, contended, 5))),
        ("coherence", said(&maximum(12), path(1e8, METHOD, COHERENT, 5))),
    ];
    for (planted, text) in &texts {
        let verdict = text.lines().next().unwrap();
        for (cause, _) in &texts {
            assert_eq!(verdict.contains(&format!("the limit is {cause}")), cause == planted, "{verdict}");
        }
    }
    insta::assert_snapshot!(texts.map(|(planted, text)| format!("# {planted}\n{text}")).join("\n"));
}

#[test]
fn the_members_that_a_load_needs_are_named() {
    let of_rate = |most, rate| plan(METHOD, most, at(rate));
    let texts = [
        said(&of_rate(4, 2.5e6), path(1e8, METHOD, FREE, 5)),
        said(&of_rate(4, 7.5e6), path(1e8, METHOD, FREE, 5)),
        said(&of_rate(8, 7.5e6), path(1e8, METHOD, COHERENT, 5)),
        said(&of_rate(3, 7.5e6), path(1e8, METHOD, FREE, 5)),
        said(&plan(METHOD, 4, Load::Maximum), path(1e8, METHOD, FREE, 5)),
        said(&of_rate(1, 7.5e6), path(1e8, METHOD, FREE, 5)),
    ];
    insta::assert_snapshot!(texts.join("\n\n"));
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
