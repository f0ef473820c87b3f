//! Comparisons of runs on the simulated path, whose differences are known.
//!
//! The helpers of this file make runs. `bench` is a whole run: on `path` the frames of a method cost 100 ns besides the work, so
//! work of 2,000 ns allows 1 / 2,100 ns = 476,000 frames per second. A run's seed is the seed of the path's noise and the time at
//! which it started. Tests whose names begin with `lengthy` repeat a comparison often enough to count false alarms.

mod alike;
mod loss;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use capbench_judge::comparison::note::{ComparisonNote, RunSide};
use capbench_judge::comparison::{
    Comparison, Conclusion, Field, Judgement, Measure, NotCompared, Thresholds, of_pairs, runs,
};
use capbench_model::disturbance::{CoreClock, CoreSpeed, CpuDisturbance, Disturbance};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup as LaboratorySetup};
use capbench_model::running::CaptureFacts;
use capbench_model::statement::Statement;
use capbench_model::trial::{Phase, Verdict};
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, bench_plan};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_results::Results;
use capbench_results::for_tests::results;

use crate::sentences::comparison::difference_words;

const METHODS: [&str; 2] = ["recv", "packet-v3"];

/// A bench of both methods with frames of 64 octets: so many trials of each load, and so much work per frame.
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

/// The results of a plan; the run started `seed` seconds after the epoch.
fn run(plan: &BenchPlan, laboratory: &mut dyn Laboratory, seed: u64) -> Results {
    let outcome = plan.run(laboratory, &mut Collected::default()).unwrap();
    let command = vec!["capbench".into(), "bench".into()];
    Results { command, started_unix_s: seed, ..results(outcome.trials) }
}

/// A run of [`plan`] on [`path`].
fn bench(visits: u32, work_ns: u32, seed: u64) -> Results {
    run(&plan(visits, work_ns), &mut path(seed), seed)
}

/// A run of 6 trials of each load, with 2,000 ns of work per frame.
fn usual_bench(seed: u64) -> Results {
    bench(6, 2000, seed)
}

/// Compares runs; trials that differ in the fields `across` are compared all the same.
fn of_runs(
    then: &Results,
    now: &Results,
    across: &[Field],
    thresholds: Thresholds,
) -> capbench_judge::Result<Comparison> {
    runs::of_runs(&then.facts(), &now.facts(), across, thresholds)
}

/// Compares runs that may differ in work.
fn compared_across_work(then: &Results, now: &Results) -> Comparison {
    of_runs(then, now, &[Field::Work], Thresholds::default()).unwrap()
}

/// The number of contrasts with this judgement.
fn count(comparison: &Comparison, judgement: Judgement) -> usize {
    comparison.judged(judgement).count()
}

/// The change of the rate if the work grows from 2,000 to 2,400 ns: a frame takes 2,500 ns instead of 2,100 ns.
const CHANGE_BY_MORE_WORK: f64 = 2100.0 / 2500.0 - 1.0;

/// The differences of two runs in words.
fn differences(comparison: &Comparison) -> Vec<String> {
    comparison.difference_facts.iter().map(difference_words).collect()
}

#[test]
fn lengthy_runs_that_are_alike_hardly_ever_show_a_regression() {
    const PAIRS: u64 = 100;
    let (mut false_alarms, mut excluded, mut all) = (0, 0, 0);
    for pair in 0..PAIRS {
        let comparison = compared_across_work(&usual_bench(2 * pair + 1), &usual_bench(2 * pair + 2));
        let named = count(&comparison, Judgement::Regression) + count(&comparison, Judgement::Improvement);
        false_alarms += usize::from(named > 0);
        for contrast in comparison.contrasts.iter().filter(|one| one.measure == Measure::DeliveredRate) {
            all += 1;
            let range = contrast.change.low.unwrap()..=contrast.change.high.unwrap();
            excluded += usize::from(!range.contains(&0.0));
        }
    }
    // A comparison raises a false alarm with a probability of up to 5 %.
    assert!(false_alarms <= PAIRS as usize / 20, "{false_alarms} of {PAIRS}");
    // 5 % of the intervals may exclude the true change, and chance adds to that.
    assert!(
        excluded as f64 <= 0.08 * f64::from(all),
        "{excluded} of {all} intervals exclude the true change, 0"
    );
}

#[test]
fn lengthy_a_fifth_more_work_is_a_regression_every_time() {
    for pair in 0..20 {
        let less_work = usual_bench(2 * pair + 1);
        let comparison = compared_across_work(&less_work, &bench(6, 2400, 2 * pair + 2));
        let regressions: Vec<_> = comparison.judged(Judgement::Regression).collect();
        for measure in [Measure::DeliveredRate, Measure::ApplicationCost] {
            let single = regressions.iter().filter(|one| one.measure == measure && one.setups == 1);
            assert!(single.count() >= METHODS.len(), "{measure:?} of pair {pair}: {comparison:#?}");
        }
        assert_eq!(count(&comparison, Judgement::Improvement), 0, "{comparison:#?}");
        let rate = regressions.iter().find(|one| one.measure == Measure::DeliveredRate).unwrap();
        assert!((rate.change.middle - CHANGE_BY_MORE_WORK).abs() < 0.05, "{rate:#?}");
        let back = compared_across_work(&bench(6, 2400, 2 * pair + 1), &usual_bench(2 * pair + 2));
        assert_eq!(count(&back, Judgement::Regression), 0);
        assert!(count(&back, Judgement::Improvement) > 0);
    }
}

#[test]
fn a_certain_change_below_the_threshold_is_no_regression() {
    let thresholds = Thresholds { relative: 0.5, ..Thresholds::default() };
    let comparison = of_runs(&usual_bench(1), &bench(6, 2400, 2), &[Field::Work], thresholds).unwrap();
    assert_eq!(count(&comparison, Judgement::Regression), 0);
    assert!(count(&comparison, Judgement::BelowThreshold) > 0);
}

#[test]
fn single_visits_show_nothing_and_say_how_many_would() {
    let comparison = compared_across_work(&bench(1, 2000, 1), &bench(1, 2000, 2));
    assert_eq!(comparison.tested, 0);
    assert!(comparison.is_inconclusive());
    assert!(comparison.contrasts.iter().all(|contrast| contrast.judgement == Judgement::TooFewVisits));
    // Five figures of two methods: rate and application's cost at maximum load; loss and both costs at the common load.
    let single = comparison.contrasts.iter().filter(|contrast| contrast.setups == 1).count();
    assert_eq!(single, 10);
    // With n visits each, the least p is 2 / C(2n, n). For the 10 figures it must be at most 0.05 / 10: 2 / C(10, 5) is above
    // that, 2 / C(12, 6) is not.
    assert_eq!(comparison.visits_needed, Some(6));
    assert!(comparison.contrasts.iter().all(|contrast| contrast.change.middle.is_finite()));
}

#[test]
fn set_ups_of_one_visit_are_judged_together() {
    let seven_sizes = |work_ns: u32, seed| {
        let work = WorkModel::Nanoseconds(work_ns).into();
        let sizes = [64, 128, 256, 512, 1024, 1280, 1518].map(|size| LaboratorySetup { work, ..setup(size) });
        run(&BenchPlan { sizes: sizes.to_vec(), ..plan(1, work_ns) }, &mut path(seed), seed)
    };
    let comparison = compared_across_work(&seven_sizes(2000, 1), &seven_sizes(2400, 2));
    let regressions: Vec<_> = comparison.judged(Judgement::Regression).collect();
    assert!(!regressions.is_empty(), "{comparison:#?}");
    assert!(regressions.iter().all(|contrast| contrast.setups > 1), "{regressions:#?}");
    // Seven sizes of two methods.
    assert!(regressions.iter().any(|one| one.measure == Measure::DeliveredRate && one.setups == 14));
}

/// The comparisons of a bench of method `fast`, in turns with `slow`. `slow` reads up to 400,000 frames per second, `fast` up to
/// `fast_pps`.
fn took_turns(fast_pps: f64, seed: u64) -> Vec<Comparison> {
    let methods = [("slow", 400_000.0), ("fast", fast_pps)]
        .map(|(name, capacity_pps)| SimulatedMethod::new(name, capacity_pps).cost(100, 300));
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
    let comparisons = took_turns(480_000.0, 3);
    assert_eq!(comparisons.len(), 1);
    let comparison = &comparisons[0];
    assert_eq!(comparison.then, "slow");
    assert_eq!(comparison.now, "fast");
    let rate =
        comparison.judged(Judgement::Improvement).find(|one| one.measure == Measure::DeliveredRate).unwrap();
    // 480,000 is 20 % more than 400,000.
    assert!((rate.change.middle - 0.2).abs() < 0.05, "{rate:#?}");
    assert_eq!(rate.then.trials.len(), 10, "one trial per visit");
    assert_eq!(rate.setup.method, Some("fast".into()));
    // What is saved is read unchanged.
    let text = serde_json::to_string(comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), *comparison);
}

#[test]
fn lengthy_methods_that_are_alike_hardly_ever_differ_in_turns() {
    const RUNS: u64 = 400;
    // 5 % of the runs may raise a false alarm. Two standard deviations of their number are chance.
    let most = 0.05 * RUNS as f64 + 2.0 * (0.05 * 0.95 * RUNS as f64).sqrt();
    let mut false_alarms = 0;
    for seed in 0..RUNS {
        let comparison = &took_turns(400_000.0, seed)[0];
        let has_alarm = comparison.contrasts.iter().any(|one| one.corrected.is_some_and(|p| p <= 0.05));
        false_alarms += u32::from(has_alarm);
    }
    assert!(f64::from(false_alarms) <= most, "{false_alarms} of {RUNS}");
}

/// The message that refuses a comparison.
fn refused(then: &Results, now: &Results, across: &[Field]) -> String {
    of_runs(then, now, across, Thresholds::default()).unwrap_err().to_string()
}

#[test]
fn runs_without_comparable_trials_are_refused_with_the_reason() {
    let then = bench(1, 2000, 1);
    assert!(refused(&then, &then, &[]).contains("one run, or copies"));

    let other_work = bench(1, 2400, 2);
    let text = refused(&then, &other_work, &[]);
    assert!(text.contains("no set-up was measured in both") && text.contains("--across"), "{text}");

    let sweep = Results { command: vec!["capbench".into(), "sweep".into()], ..other_work };
    let text = refused(&then, &sweep, &[]);
    assert!(text.contains("`capbench bench`") && text.contains("`capbench sweep`"), "{text}");

    let text = refused(&then, &bench(1, 2000, 2), &[Field::Method]);
    assert!(text.contains("--across method"), "{text}");
    assert!(text.contains("recv") && text.contains("packet-v3"), "{text}");

    let no_trials = Results { trials: Vec::new(), ..then.clone() };
    assert!(refused(&then, &no_trials, &[]).contains("no set-up was measured in both"));

    let mut steps = bench(1, 2000, 2);
    for trial in &mut steps.trials {
        trial.phase = Phase::Probe;
    }
    // Two methods at two loads.
    let text = refused(&then, &steps, &[]);
    assert!(text.contains("; of B 4 left out: steps of searches"), "{text}");
}

#[test]
fn trials_of_which_none_can_be_compared_decide_nothing() {
    let then = bench(1, 2000, 1);
    let mut now = bench(1, 2000, 2);
    let [invalid, others @ ..] = &mut now.trials[..] else { panic!("no trials") };
    invalid.verdict = Verdict::Invalid;
    for trial in others {
        trial.intended_pps = Some(1e6);
        trial.intended = trial.sent * 2;
    }
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert_eq!(comparison.conclusion(), Conclusion::Inconclusive);
    let left_out: Vec<String> = comparison.left_out.iter().map(ToString::to_string).collect();
    assert!(
        left_out.contains(&"of B 3 left out: the generator did not reach their load".into()),
        "{left_out:?}"
    );
    assert!(left_out.contains(&"of B 1 left out: they are invalid".into()), "{left_out:?}");
}

#[test]
fn trials_left_out_are_counted_and_set_ups_of_one_run_are_listed() {
    let then = bench(2, 2000, 1);
    let mut now = bench(2, 2000, 2);
    now.trials[0].verdict = Verdict::Invalid;
    // `packet-v3` keeps its trials at maximum load only.
    now.trials.retain(|trial| trial.profile.method != "packet-v3" || trial.intended_pps.is_none());
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert_eq!(comparison.left_out.len(), 1, "{:?}", comparison.left_out);
    assert_eq!(comparison.left_out[0].subject, "B");
    assert_eq!(comparison.left_out[0].trials, 1);
    assert_eq!(comparison.only_then.len(), 1, "{:?}", comparison.only_then);
    assert_eq!(comparison.only_then[0].method, Some("packet-v3".into()));
    assert!(comparison.only_now.is_empty());
}

#[test]
fn differences_of_runs_and_what_they_state_are_listed() {
    let then = bench(2, 2000, 1);
    let mut now = bench(2, 2000, 2);
    now.complete = false;
    now.statement_facts.push(Statement::Resumed { after_trials: 3, at: "noon".into() });
    now.environment.kernel_release = Some("9.9.9".into());
    for trial in &mut now.trials {
        trial.capture = Some(CaptureFacts::from_texts("another one", ""));
    }
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    let differences = differences(&comparison).join("\n");
    assert!(differences.contains("9.9.9 now"), "{differences}");
    assert!(
        differences.contains("what ran of packet-v3, recv: unknown then, another one now"),
        "{differences}"
    );
    let resumed = ComparisonNote::Resumed { run: RunSide::B, after_trials: 3, at: "noon".into() };
    assert_eq!(comparison.note_facts, [ComparisonNote::Incomplete { run: RunSide::B }, resumed]);
}

#[test]
fn figures_that_never_vary_are_not_tested() {
    let comparison = compared_across_work(&usual_bench(1), &usual_bench(2));
    // No trial loses a frame at the common load.
    for contrast in comparison.contrasts.iter().filter(|one| one.measure == Measure::LossRatio) {
        assert_eq!(contrast.judgement, Judgement::NotShown, "{contrast:#?}");
        assert_eq!(contrast.corrected, Some(1.0), "{contrast:#?}");
        assert_eq!(contrast.change.low, Some(0.0), "{contrast:#?}");
        assert_eq!(contrast.change.high, Some(0.0), "{contrast:#?}");
    }
    // Costs on this path do not vary either. The delivered rate does: of each method, and of both together.
    assert_eq!(comparison.tested, 3);
}

#[test]
fn changes_on_a_busy_host_are_inconclusive() {
    let (then, mut now) = (usual_bench(1), bench(6, 2400, 2));
    assert!(!compared_across_work(&then, &now).is_inconclusive());
    // The hypervisor took half of each trial's second away.
    for trial in &mut now.trials {
        let stolen = CpuDisturbance { steal_ns: 500_000_000, ..CpuDisturbance::default() };
        trial.disturbance =
            Disturbance { cpus: vec![stolen], sending_ns: 1_000_000_000, ..Disturbance::default() };
    }
    let comparison = compared_across_work(&then, &now);
    assert!(comparison.disturbed && comparison.is_inconclusive());
    assert!(count(&comparison, Judgement::Regression) > 0, "the regressions are reported all the same");
}

/// Slows the application's CPU of each trial down by the factor that `slowdown` gives for the trial's number: its delivered rate
/// falls by that factor.
fn slow_down(run: &mut Results, slowdown: fn(u32) -> f64) {
    // What an iteration of the speed test takes on a CPU that nothing slows down.
    let fastest_ns = 0.3;
    for trial in &mut run.trials {
        let slow_ns = fastest_ns * slowdown(trial.number);
        let core_speed =
            Some(CoreSpeed { before_ns: slow_ns, after_ns: slow_ns, fastest_ns, ..CoreSpeed::default() });
        let cpu = trial.profile.cpus.application;
        let cpus = vec![CpuDisturbance { cpu, core_speed, ..CpuDisturbance::default() }];
        trial.disturbance = Disturbance { cpus, ..Disturbance::default() };
        trial.delivered_pps /= slowdown(trial.number);
    }
}

#[test]
fn trials_are_compared_with_those_whose_cpus_ran_as_fast() {
    // In the first run one trial in four is slow, in the others three in four.
    let mut then = bench(16, 2000, 1);
    slow_down(&mut then, |number| if number % 4 == 0 { 2.0 } else { 1.0 });
    let three_in_four = |number| if number % 4 == 0 { 1.0 } else { 2.0 };

    let mut same_work = bench(16, 2000, 2);
    slow_down(&mut same_work, three_in_four);
    let comparison = compared_across_work(&then, &same_work);
    assert_eq!(count(&comparison, Judgement::Regression), 0, "{comparison:#?}");
    assert_eq!(comparison.left_out, [], "both speeds are in both runs");

    let mut more_work = bench(16, 2400, 2);
    slow_down(&mut more_work, three_in_four);
    let comparison = compared_across_work(&then, &more_work);
    for rate in comparison.judged(Judgement::Regression).filter(|one| one.measure == Measure::DeliveredRate) {
        assert!((rate.change.middle - CHANGE_BY_MORE_WORK).abs() < 0.05, "{rate:#?}");
        assert!(rate.corrected.is_some_and(|p| p <= 0.05), "{rate:#?}");
    }
    assert!(count(&comparison, Judgement::Regression) >= METHODS.len(), "{comparison:#?}");
}

#[test]
fn a_run_that_was_slow_throughout_is_not_compared_with_one_that_was_not() {
    let (mut then, mut now) = (usual_bench(1), usual_bench(2));
    slow_down(&mut then, |number| if number == 1 { 1.2 } else { 1.0 });
    slow_down(&mut now, |_| 2.0);
    // The second run cannot know that it was slow: its fastest speed is the one that it always had.
    for cpu in now.trials.iter_mut().flat_map(|trial| &mut trial.disturbance.cpus) {
        let speed = cpu.core_speed.as_mut().unwrap();
        speed.fastest_ns = speed.before_ns;
    }
    let comparison = compared_across_work(&then, &now);
    assert!(comparison.contrasts.is_empty() && comparison.is_inconclusive() && !comparison.disturbed);
    let left_out: Vec<_> = comparison.left_out.iter().map(|out| (out.subject.as_str(), out.trials)).collect();
    assert_eq!(left_out, [("A", then.trials.len() as u32), ("B", now.trials.len() as u32)]);
    // How fast the CPUs of two hosts should be is unknown.
    now.environment.cpu_model = Some("another CPU".into());
    assert!(!compared_across_work(&then, &now).contrasts.is_empty());
}

#[test]
fn slow_trials_of_versions_that_timed_the_pace_differently_are_not_compared() {
    // The first run is of a version that measured the pace by the time that passed; every second trial of both is slow.
    let every_second = |number| if number % 2 == 0 { 2.0 } else { 1.0 };
    let (mut then, mut now) = (bench(16, 2000, 1), bench(16, 2000, 2));
    slow_down(&mut then, every_second);
    slow_down(&mut now, every_second);
    let by_one_timing = compared_across_work(&then, &now);
    assert_eq!(by_one_timing.left_out, [], "{by_one_timing:#?}");

    for cpu in now.trials.iter_mut().flat_map(|trial| &mut trial.disturbance.cpus) {
        cpu.core_speed.as_mut().unwrap().clock = Some(CoreClock::default());
    }
    let comparison = compared_across_work(&then, &now);
    let left_out: Vec<_> = comparison.left_out.iter().map(|out| (&out.because, out.trials)).collect();
    let slow = then.trials.len() as u32 / 2;
    assert_eq!(left_out, [(&NotCompared::UnlikePace, slow), (&NotCompared::UnlikePace, slow)]);
    for contrast in &comparison.contrasts {
        assert!(contrast.then.trials.iter().all(|number| number % 2 == 1), "{contrast:#?}");
    }
    assert!(!comparison.contrasts.is_empty(), "trials at full speed are compared");
}

#[test]
fn costs_at_common_loads_far_apart_are_not_compared() {
    let then = bench(1, 2000, 1);
    let mut now = bench(1, 2000, 2);
    for trial in &mut now.trials {
        if let Some(pps) = &mut trial.intended_pps {
            *pps *= 1.2;
        }
    }
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert!(
        comparison.contrasts.iter().all(|contrast| contrast.setup.load.as_deref() == Some("maximum load"))
    );
    let reasons: Vec<_> = comparison.left_out.iter().map(|out| &out.because).collect();
    assert_eq!(reasons, [&NotCompared::UnlikeCommonLoads; 2], "one for each run");
}

#[test]
fn rates_that_the_generator_limits_are_not_compared() {
    // The methods read 2 million frames per second, more than the generator sends.
    let limited_by_generator = |generator_pps: f64, seed| {
        let methods = METHODS.map(|name| SimulatedMethod::new(name, 2_000_000.0));
        let noise = Noise { per_trial: 0.02, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(generator_pps, methods.to_vec()).noise(seed, noise);
        run(&plan(6, 0), &mut path, seed)
    };
    let then = limited_by_generator(1_000_000.0, 1);
    let now = limited_by_generator(950_000.0, 2);
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    assert!(comparison.contrasts.iter().all(|one| one.measure != Measure::DeliveredRate), "{comparison:#?}");
    assert_eq!(comparison.left_out.len(), 1, "{:?}", comparison.left_out);
    assert!(comparison.left_out[0].because == NotCompared::RateOfGenerator);
    // The run that delivered less lost frames: its rate is a limit of the method.
    let comparison = compared_across_work(&then, &usual_bench(3));
    let mut regressions = comparison.judged(Judgement::Regression);
    assert!(regressions.any(|one| one.measure == Measure::DeliveredRate), "{comparison:#?}");
}

#[test]
fn runs_at_one_load_are_compared_by_their_loss() {
    let at_200_000 = |capacity_pps: f64, seed| {
        let methods = METHODS.map(|name| SimulatedMethod::new(name, capacity_pps));
        let noise = Noise { per_trial: 0.02, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(1e6, methods.to_vec()).noise(seed, noise);
        run(&BenchPlan { rate: Some(Pps::new(200_000.0).unwrap()), ..plan(8, 0) }, &mut path, seed)
    };
    let (then, now) = (at_200_000(400_000.0, 1), at_200_000(170_000.0, 2));
    let comparison = of_runs(&then, &now, &[], Thresholds::default()).unwrap();
    let regressions: Vec<_> = comparison.judged(Judgement::Regression).collect();
    assert!(regressions.iter().all(|one| one.measure == Measure::LossRatio), "{regressions:#?}");
    assert_eq!(regressions.iter().filter(|one| one.setups == 1).count(), METHODS.len());
    // Of 200,000 frames per second, 30,000 are too many.
    assert!((regressions[0].change.middle - 0.15).abs() < 0.02, "{:#?}", regressions[0]);
}
