//! Comparisons of runs on the simulated path, whose differences are known.

mod alike;
mod loss;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use capbench_judge::comparison::note::{ComparisonNote, RunSide};
use capbench_judge::comparison::*;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup as LaboratorySetup};
use capbench_model::running::CaptureFacts;
use capbench_model::statement::Statement;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, bench_plan};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_results::Results;
use capbench_results::for_tests::results;

use crate::sentences::comparison::difference_words;

const METHODS: [&str; 2] = ["recv", "packet-v3"];

fn plan(visits: u32, work_ns: u32) -> BenchPlan {
    let work = WorkModel::Nanoseconds(work_ns).into();
    BenchPlan { visits, sizes: vec![LaboratorySetup { work, ..setup(64) }], ..bench_plan(&METHODS) }
}

/// A path whose capacity varies by 3 % from trial to trial.
fn path(seed: u64) -> SimulatedLaboratory {
    let methods = METHODS.map(|name| SimulatedMethod::new(name, 10_000_000.0).cost(100, 300));
    let noise = Noise { per_trial: 0.03, per_second: 0.0 };
    SimulatedLaboratory::new(1_000_000.0, methods.to_vec()).noise(seed, noise)
}

fn run(plan: &BenchPlan, laboratory: &mut dyn Laboratory, seed: u64) -> Results {
    let outcome = plan.run(laboratory, &mut Collected::default()).unwrap();
    let command = vec!["capbench".into(), "bench".into()];
    Results { command, started_unix_s: seed, ..results(outcome.trials) }
}

fn bench(visits: u32, work_ns: u32, seed: u64) -> Results {
    run(&plan(visits, work_ns), &mut path(seed), seed)
}

fn of_runs(
    then: &Results,
    now: &Results,
    across: &[Field],
    thresholds: Thresholds,
) -> capbench_judge::Result<Comparison> {
    runs::of_runs(&then.facts(), &now.facts(), across, thresholds)
}

fn compared(then: &Results, now: &Results) -> Comparison {
    of_runs(then, now, &[Field::Work], Thresholds::default()).unwrap()
}

fn count(comparison: &Comparison, judgement: Judgement) -> usize {
    comparison.judged(judgement).count()
}

#[test]
fn lengthy_runs_that_are_alike_hardly_ever_show_a_regression() {
    const PAIRS: u64 = 100;
    let (mut false_alarms, mut excluded, mut all) = (0, 0, 0);
    for seed in 0..PAIRS {
        let comparison = compared(&bench(6, 2000, 2 * seed + 1), &bench(6, 2000, 2 * seed + 2));
        let named = count(&comparison, Judgement::Regression) + count(&comparison, Judgement::Improvement);
        false_alarms += usize::from(named > 0);
        for contrast in comparison.contrasts.iter().filter(|one| one.measure == Measure::DeliveredRate) {
            all += 1;
            let range = contrast.change.low.unwrap()..=contrast.change.high.unwrap();
            excluded += usize::from(!range.contains(&0.0));
        }
    }
    assert!(false_alarms <= PAIRS as usize / 20, "{false_alarms} of {PAIRS}");
    assert!(excluded as f64 <= 0.08 * f64::from(all), "{excluded} of {all} intervals exclude what is true");
}

#[test]
fn lengthy_a_fifth_more_work_is_a_regression_every_time() {
    for seed in 0..20 {
        let comparison = compared(&bench(6, 2000, 2 * seed + 1), &bench(6, 2400, 2 * seed + 2));
        let regressions: Vec<_> = comparison.judged(Judgement::Regression).collect();
        for measure in [Measure::DeliveredRate, Measure::ApplicationCost] {
            let of = regressions.iter().filter(|one| one.measure == measure && one.setups == 1);
            assert!(of.count() >= METHODS.len(), "{measure:?} of {seed}: {comparison:#?}");
        }
        assert_eq!(count(&comparison, Judgement::Improvement), 0, "{comparison:#?}");
        // 2,100 ns a frame became 2,500 ns.
        let rate = regressions.iter().find(|one| one.measure == Measure::DeliveredRate).unwrap();
        assert!((rate.change.middle - (2100.0 / 2500.0 - 1.0)).abs() < 0.05, "{rate:#?}");
        let back = compared(&bench(6, 2400, 2 * seed + 1), &bench(6, 2000, 2 * seed + 2));
        assert_eq!(count(&back, Judgement::Regression), 0);
        assert!(count(&back, Judgement::Improvement) > 0);
    }
}

#[test]
fn a_certain_change_below_the_threshold_is_no_regression() {
    let thresholds = Thresholds { relative: 0.5, ..Thresholds::default() };
    let comparison = of_runs(&bench(6, 2000, 1), &bench(6, 2400, 2), &[Field::Work], thresholds).unwrap();
    assert_eq!(count(&comparison, Judgement::Regression), 0);
    assert!(count(&comparison, Judgement::BelowThreshold) > 0);
}

#[test]
fn single_visits_show_nothing_and_say_how_many_would() {
    let comparison = compared(&bench(1, 2000, 1), &bench(1, 2000, 2));
    assert_eq!(comparison.tested, 0);
    assert!(comparison.is_inconclusive());
    assert!(comparison.contrasts.iter().all(|contrast| contrast.judgement == Judgement::TooFewVisits));
    // Two methods: what they deliver and the application's cost at maximum load, loss and both costs at the common one.
    let single = comparison.contrasts.iter().filter(|contrast| contrast.setups == 1).count();
    assert_eq!(single, 10);
    // 2 / C(10, 5) is above 0.05 / 10, 2 / C(12, 6) is not.
    assert_eq!(comparison.visits_needed, Some(6));
    assert!(comparison.contrasts.iter().all(|contrast| contrast.change.middle.is_finite()));
}

#[test]
fn many_set_ups_of_one_visit_are_told_together() {
    let sizes: Vec<_> = [64, 128, 256, 512, 1024, 1280, 1518]
        .map(|size| LaboratorySetup { work: WorkModel::Nanoseconds(2000).into(), ..setup(size) })
        .to_vec();
    let run_with = |work: u32, seed| {
        let more = |setup: &LaboratorySetup| LaboratorySetup {
            work: WorkModel::Nanoseconds(work).into(),
            ..setup.clone()
        };
        let plan = BenchPlan { sizes: sizes.iter().map(more).collect(), ..plan(1, work) };
        run(&plan, &mut path(seed), seed)
    };
    let comparison = compared(&run_with(2000, 1), &run_with(2400, 2));
    let regressions: Vec<_> = comparison.judged(Judgement::Regression).collect();
    assert!(
        !regressions.is_empty() && regressions.iter().all(|contrast| contrast.setups > 1),
        "{regressions:#?}"
    );
    assert!(regressions.iter().any(|one| one.measure == Measure::DeliveredRate && one.setups == 14));
}

/// A method of this capacity in turns with one that does 400,000 frames per second.
fn took_turns(capacity: f64, seed: u64) -> Vec<Comparison> {
    let methods = [("slow", 400_000.0), ("fast", capacity)]
        .map(|(name, capacity)| SimulatedMethod::new(name, capacity).cost(100, 300));
    let noise = Noise { per_trial: 0.03, per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(1_000_000.0, methods.to_vec()).noise(seed, noise);
    let plan = BenchPlan {
        methods: vec![MethodSpec::plain("fast")],
        against: Some(MethodSpec::plain("slow")),
        ..plan(10, 0)
    };
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    of_pairs(&outcome.trials, &outcome.pairs, Thresholds::default())
}

#[test]
fn methods_that_take_turns_are_compared_in_pairs() {
    let compared = took_turns(480_000.0, 3);
    assert_eq!(compared.len(), 1);
    let comparison = &compared[0];
    assert_eq!((comparison.then.as_str(), comparison.now.as_str()), ("slow", "fast"));
    let rate =
        comparison.judged(Judgement::Improvement).find(|one| one.measure == Measure::DeliveredRate).unwrap();
    assert!((rate.change.middle - 0.2).abs() < 0.05, "{rate:#?}");
    assert_eq!(rate.then.trials.len(), 10);
    assert_eq!(rate.setup.method, Some("fast".into()));
    let text = serde_json::to_string(comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), *comparison);
}

#[test]
fn lengthy_methods_that_are_alike_hardly_ever_differ_in_turns() {
    const RUNS: u64 = 400;
    // The level, and two standard deviations of the count.
    let most = 0.05 * RUNS as f64 + 2.0 * (0.05 * 0.95 * RUNS as f64).sqrt();
    let mut false_alarms = 0;
    for seed in 0..RUNS {
        let comparison = &took_turns(400_000.0, seed)[0];
        let significant = comparison.contrasts.iter().filter(|one| one.corrected.is_some_and(|p| p <= 0.05));
        false_alarms += u32::from(significant.count() > 0);
    }
    assert!(f64::from(false_alarms) <= most, "{false_alarms} of {RUNS}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let refused = |then: &Results, now: &Results, across: &[Field]| {
        of_runs(then, now, across, Thresholds::default()).unwrap_err().to_string()
    };
    let one = bench(1, 2000, 1);
    assert!(refused(&one, &one, &[]).contains("one run, or copies"));
    let other_work = bench(1, 2400, 2);
    let text = refused(&one, &other_work, &[]);
    assert!(text.contains("no set-up was measured in both") && text.contains("--across"), "{text}");
    let sweep = Results { command: vec!["capbench".into(), "sweep".into()], ..other_work };
    let text = refused(&one, &sweep, &[]);
    assert!(text.contains("`capbench bench`") && text.contains("`capbench sweep`"), "{text}");
    let text = refused(&one, &bench(1, 2000, 2), &[Field::Method]);
    assert!(
        text.contains("--across method") && text.contains("recv") && text.contains("packet-v3"),
        "{text}"
    );
    let nothing = Results { trials: Vec::new(), ..one.clone() };
    assert!(refused(&one, &nothing, &[]).contains("no set-up was measured in both"));
    let mut weak = bench(1, 2000, 2);
    weak.trials.iter_mut().for_each(|trial| trial.verdict = Verdict::Invalid);
    let text = refused(&one, &weak, &[]);
    assert!(text.ends_with("; of B 4 left out: they are invalid"), "{text}");
}

#[test]
fn what_is_left_out_is_counted_and_what_is_in_one_run_only_is_listed() {
    let then = bench(2, 2000, 1);
    let mut now = bench(2, 2000, 2);
    now.complete = false;
    now.statement_facts.push(Statement::Resumed { after_trials: 3, at: "noon".into() });
    now.environment.kernel_release = Some("9.9.9".into());
    now.trials[0].verdict = Verdict::Invalid;
    now.trials.retain(|trial| trial.profile.method != "packet-v3" || trial.intended_pps.is_none());
    for trial in &mut now.trials {
        trial.capture = Some(CaptureFacts::from_texts("another one", ""));
    }
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert_eq!(comparison.left_out.len(), 1, "{:?}", comparison.left_out);
    assert_eq!((comparison.left_out[0].subject.as_str(), comparison.left_out[0].trials), ("B", 1));
    assert_eq!(comparison.only_then.len(), 1, "{:?}", comparison.only_then);
    assert_eq!(comparison.only_then[0].method, Some("packet-v3".into()));
    assert!(comparison.only_now.is_empty());
    let has = |part: &str| differences(&comparison).iter().any(|one| one.contains(part));
    assert!(has("9.9.9 now"), "{:?}", comparison.difference_facts);
    assert!(has("what ran of packet-v3, recv: unknown then, another one now"));
    let resumed = ComparisonNote::Resumed { run: RunSide::B, after_trials: 3, at: "noon".into() };
    assert_eq!(comparison.note_facts, [ComparisonNote::Incomplete { run: RunSide::B }, resumed]);
}

#[test]
fn what_is_the_same_in_all_trials_costs_no_other_figure_anything() {
    let comparison = compared(&bench(6, 2000, 1), &bench(6, 2000, 2));
    let same: Vec<_> = comparison.contrasts.iter().filter(|one| one.measure == Measure::LossRatio).collect();
    assert!(
        same.iter().all(|one| one.judgement == Judgement::NotShown && one.corrected == Some(1.0)),
        "{same:#?}"
    );
    assert!(same.iter().all(|one| (one.change.low, one.change.high) == (Some(0.0), Some(0.0))), "{same:#?}");
    // Costs on this path do not vary either: only what is delivered does, of each method and of both together.
    assert_eq!(comparison.tested, 3);
}

#[test]
fn what_a_busy_host_shows_is_inconclusive() {
    use capbench_model::disturbance::{CpuDisturbance, Disturbance};
    let (then, mut now) = (bench(6, 2000, 1), bench(6, 2400, 2));
    assert!(!compared(&then, &now).is_inconclusive());
    for trial in &mut now.trials {
        let second = 1_000_000_000;
        let stolen = CpuDisturbance { steal_ns: second / 2, ..CpuDisturbance::default() };
        trial.disturbance = Disturbance { cpus: vec![stolen], sending_ns: second, ..Disturbance::default() };
    }
    let comparison = compared(&then, &now);
    assert!(comparison.disturbed && comparison.is_inconclusive());
    assert!(count(&comparison, Judgement::Regression) > 0, "what was found is there all the same");
}

/// Gives each trial CPUs that ran as slow as its number says.
fn paced(run: &mut Results, slowdown: fn(u32) -> f64) {
    use capbench_model::disturbance::{CoreSpeed, CpuDisturbance, Disturbance};
    for trial in &mut run.trials {
        let slow_ns = 0.3 * slowdown(trial.number);
        let core_speed = Some(CoreSpeed { before_ns: slow_ns, after_ns: slow_ns, fastest_ns: 0.3 });
        let cpu = trial.profile.cpus.application;
        let cpus = vec![CpuDisturbance { cpu, core_speed, ..CpuDisturbance::default() }];
        trial.disturbance = Disturbance { cpus, ..Disturbance::default() };
        // What takes CPU time takes so much longer.
        trial.delivered_pps /= slowdown(trial.number);
    }
}

#[test]
fn trials_are_compared_with_those_whose_cpus_ran_as_fast() {
    // Of the first run one trial in four is slow, of the second three.
    let (mut then, mut now) = (bench(16, 2000, 1), bench(16, 2000, 2));
    paced(&mut then, |number| if number % 4 == 0 { 2.0 } else { 1.0 });
    paced(&mut now, |number| if number % 4 == 0 { 1.0 } else { 2.0 });
    let comparison = compared(&then, &now);
    assert_eq!(count(&comparison, Judgement::Regression), 0, "{comparison:#?}");
    assert_eq!(comparison.left_out, [], "every pace is in both");
    let mut worse = bench(16, 2400, 2);
    paced(&mut worse, |number| if number % 4 == 0 { 1.0 } else { 2.0 });
    let comparison = compared(&then, &worse);
    let rates = comparison.judged(Judgement::Regression).filter(|one| one.measure == Measure::DeliveredRate);
    for rate in
        rates.inspect(|one| assert!((one.change.middle - (2100.0 / 2500.0 - 1.0)).abs() < 0.05, "{one:#?}"))
    {
        assert!(rate.corrected.is_some_and(|p| p <= 0.05));
    }
    assert!(count(&comparison, Judgement::Regression) >= METHODS.len(), "{comparison:#?}");
}

#[test]
fn a_run_that_was_slow_throughout_is_not_compared_with_one_that_was_not() {
    let (mut then, mut now) = (bench(6, 2000, 1), bench(6, 2000, 2));
    paced(&mut then, |number| if number == 1 { 1.2 } else { 1.0 });
    paced(&mut now, |_| 2.0);
    // It does not know itself that it was slow: its fastest was what it always took.
    for cpu in now.trials.iter_mut().flat_map(|trial| &mut trial.disturbance.cpus) {
        let speed = cpu.core_speed.as_mut().unwrap();
        speed.fastest_ns = speed.before_ns;
    }
    let comparison = compared(&then, &now);
    assert!(comparison.contrasts.is_empty() && comparison.is_inconclusive() && !comparison.disturbed);
    let lone: Vec<_> = comparison.left_out.iter().map(|out| (out.subject.as_str(), out.trials)).collect();
    assert_eq!(lone, [("A", then.trials.len() as u32), ("B", now.trials.len() as u32)]);
    now.environment.cpu_model = Some("another CPU".into());
    assert!(!compared(&then, &now).contrasts.is_empty(), "of another host nothing is known");
}

#[test]
fn costs_at_common_loads_far_apart_are_not_compared() {
    let then = bench(1, 2000, 1);
    let mut now = bench(1, 2000, 2);
    for trial in &mut now.trials {
        trial.intended_pps = trial.intended_pps.map(|pps| pps * 1.2);
    }
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert!(
        comparison.contrasts.iter().all(|contrast| contrast.setup.load.as_deref() == Some("maximum load"))
    );
    let because: Vec<_> = comparison.left_out.iter().map(|out| &out.because).collect();
    assert_eq!(because, [&NotCompared::UnlikeCommonLoads; 2]);
}

#[test]
fn what_the_generator_sent_is_no_limit_of_a_method() {
    let run_with = |generator: f64, seed| {
        let methods = METHODS.map(|name| SimulatedMethod::new(name, 2_000_000.0));
        let noise = Noise { per_trial: 0.02, per_second: 0.0 };
        run(&plan(6, 0), &mut SimulatedLaboratory::new(generator, methods.to_vec()).noise(seed, noise), seed)
    };
    let comparison = of_runs(&run_with(1e6, 1), &run_with(0.95e6, 2), &[], Thresholds::default()).unwrap();
    assert!(comparison.contrasts.iter().all(|one| one.measure != Measure::DeliveredRate), "{comparison:#?}");
    assert_eq!(comparison.left_out.len(), 1, "{:?}", comparison.left_out);
    assert!(comparison.left_out[0].because == NotCompared::RateOfGenerator);
    // Where the side that delivered less lost frames, it is the method's.
    let slower = run(&plan(6, 2000), &mut path(3), 3);
    let comparison = of_runs(&run_with(1e6, 1), &slower, &[Field::Work], Thresholds::default()).unwrap();
    let mut regressions = comparison.judged(Judgement::Regression);
    assert!(regressions.any(|one| one.measure == Measure::DeliveredRate), "{comparison:#?}");
}

#[test]
fn a_load_that_was_given_is_compared_by_its_loss() {
    let run_with = |capacity: f64, seed| {
        let methods = METHODS.map(|name| SimulatedMethod::new(name, capacity));
        let noise = Noise { per_trial: 0.02, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(1e6, methods.to_vec()).noise(seed, noise);
        run(&BenchPlan { rate: Some(Pps::new(200_000.0).unwrap()), ..plan(8, 0) }, &mut path, seed)
    };
    let comparison =
        of_runs(&run_with(400_000.0, 1), &run_with(170_000.0, 2), &[], Thresholds::default()).unwrap();
    let loss: Vec<_> = comparison.judged(Judgement::Regression).collect();
    assert!(loss.iter().all(|one| one.measure == Measure::LossRatio), "{loss:#?}");
    assert_eq!(loss.iter().filter(|one| one.setups == 1).count(), 2);
    assert!((loss[0].change.middle - 0.15).abs() < 0.02, "{:#?}", loss[0]);
}

/// The differences of two runs in words.
fn differences(comparison: &Comparison) -> Vec<String> {
    comparison.difference_facts.iter().map(difference_words).collect()
}
