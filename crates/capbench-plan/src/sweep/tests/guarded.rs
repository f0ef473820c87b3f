//! Sweeps as the product runs them, through guards: what disturbs single trials changes no reading, and every attempt is
//! accounted for.

use super::*;
use crate::guards::Guarded;
use crate::simulated::tampered::{
    Found, GuardingCounts, Spoiling, Tampered, accounted, assert_guards_change_nothing, contradicts_itself,
    guarded, recovers_after,
};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_model::trial::Verdict;

fn path() -> SimulatedLaboratory {
    SimulatedLaboratory::new(
        1e6,
        vec![SimulatedMethod::new("recv", 200_000.0), SimulatedMethod::new("packet-v2", 500_000.0)],
    )
}

/// Half of the points lose frames with one of the methods or with both.
fn works_plan() -> SweepPlan {
    let axis = works(&[0, 3000, 6000, 9000, 12_000, 15_000]);
    SweepPlan { repeats: 4, refinement: 2, seed: 5, ..plan(axis, &["recv", "packet-v2"]) }
}

fn swept(plan: &SweepPlan, path: &mut dyn Laboratory) -> SweepRun {
    let run = plan.run(path, &mut Collected::default()).unwrap();
    let readings = run.outcome.series.iter().flat_map(|series| &series.readings);
    let read: usize = readings.map(|reading| reading.trials.len()).sum();
    let shows = run.trials.iter().filter(|trial| trial.verdict != Verdict::Invalid).count();
    assert_eq!(read, shows, "every trial that shows something stands in a reading");
    run
}

fn sweep<F: FnMut(u32, &mut TrialResult)>(
    plan: &SweepPlan,
    path: &mut Guarded<Tampered<SimulatedLaboratory, F>>,
) -> (SweepRun, GuardingCounts) {
    let run = swept(plan, path);
    let guarding = accounted(path, &run.trials);
    (run, guarding)
}

/// Of a method the points with rate delivered, trials without loss, and trials.
type Read = (String, Vec<(usize, f64, u32, usize)>);

/// What was read at every point, without the numbers of trials.
fn essence(run: &SweepRun) -> Vec<Read> {
    let reading = |reading: &capbench_judge::sweep::outcome::Reading| {
        (reading.point, reading.delivered_pps.median, reading.lossless, reading.trials.len())
    };
    let series = run.outcome.series.iter();
    series.map(|series| (series.method.to_string(), series.readings.iter().map(reading).collect())).collect()
}

#[test]
fn what_guards_repeat_or_wait_for_changes_no_reading() {
    // The two trials after an overload, and each seventh, are spoilt: their guards wait for the one and repeat the other.
    assert_guards_change_nothing(path, &Spoiling { after_overload: 2, disturbed_every: 7 }, |path| {
        let run = swept(&works_plan(), path);
        assert_eq!(run.trials.len(), works_plan().trials());
        let conclusion = format!("{:?}", essence(&run));
        Found { trials: run.trials, conclusion }
    });
}

#[test]
fn on_a_path_that_does_not_recover_no_trial_after_the_overload_is_read() {
    let (run, guarding) = sweep(&works_plan(), &mut guarded(path(), recovers_after(u32::MAX)));
    let first = run.trials.iter().position(|trial| trial.verdict == Verdict::Invalid).unwrap();
    assert!(first > 0 && run.trials[..first].iter().all(|trial| trial.invalid_because.is_none()));
    let overload = run.trials[first - 1].number;
    for trial in &run.trials[first..] {
        let because = trial.invalid_because.as_ref().unwrap();
        assert!(because.contains("had not recovered from the overload of trial"), "{because}");
    }
    assert!(run.trials[first].invalid_because.as_ref().unwrap().contains(&format!("trial {overload}:")));
    assert_eq!(guarding.probes, 5 * (run.trials.len() - first));
}

#[test]
fn contradictions_that_stay_are_not_read() {
    let (run, guarding) = sweep(&works_plan(), &mut guarded(path(), contradicts_itself(|_| true)));
    assert!(run.trials.iter().all(|trial| trial.verdict == Verdict::Invalid));
    assert_eq!(guarding.discarded, 2 * run.trials.len());
}
