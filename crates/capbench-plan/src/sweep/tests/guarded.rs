//! Sweeps as the product runs them, through guards: what disturbs single trials changes no reading, and every attempt is
//! accounted for.

use super::*;
use crate::guards::{Guarded, livelock};
use crate::simulated::tampered::{
    Guarding, Tampered, accounted, contradicts_itself, disturbs_every, exceeds_the_line, guarded,
    recovers_after,
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

fn sweep<F: FnMut(u32, &mut TrialResult)>(
    plan: &SweepPlan,
    path: &mut Guarded<Tampered<SimulatedLaboratory, F>>,
) -> (SweepRun, Guarding) {
    let run = plan.run(path, &mut Collected::default()).unwrap();
    let guarding = accounted(path, &run.trials);
    let read: usize = run
        .outcome
        .series
        .iter()
        .flat_map(|series| &series.readings)
        .map(|reading| reading.trials.len())
        .sum();
    let shows = run.trials.iter().filter(|trial| trial.verdict != Verdict::Invalid).count();
    assert_eq!(read, shows, "every trial that shows something stands in a reading");
    (run, guarding)
}

/// Of a method the points with rate delivered, trials without loss, and trials.
type Read = (String, Vec<(usize, f64, u32, usize)>);

/// What was read at every point, without the numbers of trials.
fn essence(run: &SweepRun) -> Vec<Read> {
    let reading = |reading: &crate::sweep::outcome::Reading| {
        (reading.point, reading.delivered_pps.median, reading.lossless, reading.trials.len())
    };
    let series = run.outcome.series.iter();
    series.map(|series| (series.method.clone(), series.readings.iter().map(reading).collect())).collect()
}

fn undisturbed() -> (SweepRun, Guarding) {
    sweep(&works_plan(), &mut guarded(path(), |_, _| {}))
}

#[test]
fn probes_between_trials_change_no_reading() {
    let (run, guarding) = undisturbed();
    let alone = super::run(&works_plan(), &mut path());
    assert_eq!(essence(&run), essence(&alone));
    assert!(guarding.probes > 10 && guarding.probes == guarding.recoveries, "{guarding:?}");
    assert_eq!((guarding.stand, guarding.set_aside), (works_plan().trials(), 0));
}

#[test]
fn a_path_that_recovers_slowly_is_waited_for() {
    let (exact, usual) = undisturbed();
    let (slow, guarding) = sweep(&works_plan(), &mut guarded(path(), recovers_after(2)));
    assert_eq!(essence(&slow), essence(&exact));
    assert_eq!(guarding, Guarding { probes: 3 * usual.probes, ..usual });
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
fn trials_that_the_host_disturbs_are_repeated_and_read_alike() {
    let (exact, usual) = undisturbed();
    let (run, guarding) = sweep(&works_plan(), &mut guarded(path(), disturbs_every(7)));
    assert_eq!(essence(&run), essence(&exact));
    assert_eq!((guarding.marked, guarding.because.len()), (0, 5));
    assert_eq!(guarding.set_aside, (usual.stand + guarding.set_aside) / 7);
}

#[test]
fn contradictions_are_repeated_and_where_they_stay_not_read() {
    let (exact, _) = undisturbed();
    let (run, guarding) =
        sweep(&works_plan(), &mut guarded(path(), contradicts_itself(|trial| trial % 9 == 2)));
    assert_eq!(essence(&run), essence(&exact));
    assert!(guarding.set_aside > 5 && guarding.because.iter().all(|why| why.contains("negative loss")));
    let (run, guarding) =
        sweep(&works_plan(), &mut guarded(path(), exceeds_the_line(1e6, |trial| trial % 9 == 2)));
    assert_eq!(essence(&run), essence(&exact));
    assert!(guarding.set_aside > 5 && guarding.because.iter().all(|why| why.contains("the link carries")));
    let (run, guarding) = sweep(&works_plan(), &mut guarded(path(), contradicts_itself(|_| true)));
    assert!(run.trials.iter().all(|trial| trial.verdict == Verdict::Invalid));
    assert_eq!(guarding.set_aside, 2 * run.trials.len());
}

#[test]
fn livelock_shows_in_a_sweep_of_loads() {
    let method = SimulatedMethod::new("recv", 300_000.0).livelock(0.5);
    let loads = [1e5, 2e5, 3e5, 4e5, 6e5, 9e5];
    let axis = Axis::new(loads.map(|pps| Point::Load(at(pps))).to_vec()).unwrap();
    let plan = SweepPlan { repeats: 6, refinement: 0, ..plan(axis, &["recv"]) };
    let mut path = guarded(SimulatedLaboratory::new(1e6, vec![method]), |_, _| {});
    let (mut run, _) = sweep(&plan, &mut path);
    livelock::mark(&mut run.trials);
    for trial in &run.trials {
        // Half of what is offered beyond 300,000 is lost from it: at 400,000 there are 250,000.
        let expected = (trial.offered_pps > 350_000.0).then_some(300_000.0);
        assert_eq!(trial.livelock.map(|mark| mark.delivered_pps), expected, "{}", trial.offered_pps);
    }
}
