//! Every guard triggered on purpose, on the simulated path.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{CoreSpeed, CpuDisturbance, Disturbance, Guarded, Policy, Stall};
use crate::for_tests::at;
use crate::simulated::tampered::{self, Tampered, lose_all};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::livelock;
use capbench_model::disturbance::ClockDrift;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::noise::Noise;
use capbench_model::reasons::Invalid;
use capbench_model::statement::{GuardCounts, Statement};
use capbench_model::trial::{Departed, Load, Phase, TrialResult, Verdict};

const SECOND: Duration = Duration::from_secs(1);
const MS: u64 = 1_000_000;

/// A path on which something happens to chosen trials, counted from 1.
fn guarded(
    mut happens: impl FnMut(&mut TrialResult),
) -> Guarded<Tampered<SimulatedLaboratory, impl FnMut(u32, &mut TrialResult)>> {
    let path = SimulatedLaboratory::new(
        1_000_000.0,
        vec![
            SimulatedMethod::new("packet-v3", 500_000.0),
            SimulatedMethod::new("recv", 400_000.0).livelock(0.5),
        ],
    );
    tampered::guarded(path, move |_, trial| happens(trial))
}

fn run(path: &mut dyn Laboratory, load: Load) -> TrialResult {
    path.prepare(&setup(64)).unwrap().run(load, SECOND).unwrap()
}

fn stolen(steal_ns: u64) -> Disturbance {
    let cpu = CpuDisturbance { cpu: 1, window_ns: 1000 * MS, steal_ns, ..CpuDisturbance::default() };
    Disturbance { cpus: vec![cpu], tick_ns: 10 * MS, sending_ns: 1000 * MS, ..Disturbance::default() }
}

#[test]
fn rests_reach_the_path_that_is_guarded() {
    let mut path = guarded(|_| {});
    path.rest(2 * SECOND);
    assert_eq!(path.inner().rests, [2 * SECOND]);
}

#[test]
fn nothing_is_done_to_a_trial_that_nothing_disturbs() {
    let mut path = guarded(|_| {});
    let trials = [run(&mut path, at(400_000.0)), run(&mut path, at(400_000.0))];
    assert!(trials.iter().all(|trial| trial.guarding.is_none()));
    assert_eq!([trials[0].number, trials[1].number], [1, 2]);
    let statement = &path.statements()[1];
    assert!(
        matches!(statement, Statement::Guards(GuardCounts { repeats: 0, probes: 0, .. })),
        "{statement:?}"
    );
}

#[test]
fn after_an_overload_a_clean_probe_comes_first_and_after_that_none() {
    let mut path = guarded(|_| {});
    assert_eq!(run(&mut path, at(1_000_000.0)).verdict, Verdict::Lossy);
    let next = run(&mut path, at(400_000.0));
    let recovery = next.guarding.as_ref().unwrap().recovery.as_ref().unwrap();
    assert_eq!((recovery.after, recovery.recovered, recovery.probes.len()), (1, true, 1));
    let probe = &recovery.probes[0];
    assert_eq!((probe.phase, probe.intended_pps, probe.sent), (Phase::Probe, Some(1000.0), 100));
    assert_eq!((next.number, next.verdict), (3, Verdict::Lossless));
    assert!(run(&mut path, at(400_000.0)).guarding.is_none());
}

#[test]
fn a_path_that_recovers_slowly_is_probed_at_half_the_load_each_until_it_has() {
    // Trial 1 overloads it; 2 and 3 find it busy; 4 sees leftovers only.
    let mut path = guarded(|trial| match trial.number {
        2 | 3 => lose_all(trial),
        4 => trial.foreign = 20,
        _ => {}
    });
    run(&mut path, at(1_000_000.0));
    let next = run(&mut path, at(400_000.0));
    let recovery = next.guarding.unwrap().recovery.unwrap();
    let loads: Vec<_> = recovery.probes.iter().filter_map(|probe| probe.intended_pps).collect();
    assert_eq!((loads, recovery.recovered), (vec![1000.0, 500.0, 250.0, 125.0], true));
    assert_eq!(next.verdict, Verdict::Lossless);
}

#[test]
fn a_trial_on_a_path_that_did_not_recover_shows_nothing_and_says_so() {
    let mut path = guarded(|trial| {
        if (2..=6).contains(&trial.number) {
            lose_all(trial);
        }
    });
    let overload = run(&mut path, at(1_000_000.0));
    let next = run(&mut path, at(400_000.0));
    assert_eq!((next.number, next.verdict), (7, Verdict::Invalid));
    let because =
        "the path had not recovered from the overload of trial 1: 5 probes at low load were not clean";
    assert_eq!((overload.number, next.invalid_because.as_deref()), (1, Some(because)));
    // It is probed again before the next one counts.
    let last = run(&mut path, at(400_000.0));
    assert_eq!((last.verdict, last.guarding.unwrap().recovery.unwrap().after), (Verdict::Lossless, 1));
}

#[test]
fn single_losses_are_no_overload() {
    let mut path = guarded(|trial| {
        if trial.number == 1 {
            trial.delivered -= 100;
            trial.verdict = Verdict::Lossy;
        }
    });
    run(&mut path, at(400_000.0));
    assert!(run(&mut path, at(400_000.0)).guarding.is_none());
}

#[test]
fn a_disturbed_trial_is_repeated_and_every_attempt_is_kept() {
    let mut path = guarded(|trial| {
        if trial.number <= 2 {
            trial.disturbance = stolen(30 * MS);
            trial.delivered -= 7 * u64::from(trial.number);
        }
    });
    let trial = run(&mut path, at(100_000.0));
    let guarding = trial.guarding.clone().unwrap();
    // Half of the run so far would be repeats: the budget allows one, so the second attempt stands, marked.
    assert_eq!((trial.number, guarding.attempt, guarding.discarded.len()), (2, 2, 1));
    let aside = &guarding.discarded[0];
    assert_eq!((aside.trial.number, aside.trial.delivered, aside.trial.phase), (1, 99_993, Phase::Retried));
    assert_eq!(aside.because.reasons, [Noise::Steal]);
}

#[test]
fn repeats_are_bounded_by_number_and_by_share_of_time() {
    let always = |trial: &mut TrialResult| trial.disturbance = stolen(30 * MS);
    let mut path = guarded(always);
    let trials: Vec<_> = (0..20).map(|_| run(&mut path, at(100_000.0))).collect();
    let repeats: Vec<_> = trials
        .iter()
        .map(|trial| trial.guarding.as_ref().map_or(0, |guarding| guarding.discarded.len()))
        .collect();
    assert_eq!(repeats.iter().sum::<usize>(), 5, "a quarter of 20: {repeats:?}");
    assert!(repeats.iter().all(|&count| count <= 2));
}

#[test]
fn a_trial_that_stays_disturbed_stands_marked_and_none_is_chosen_by_its_outcome() {
    let mut path = guarded(|trial| {
        trial.disturbance = stolen(30 * MS);
        // Each attempt is worse than the one before.
        trial.delivered -= u64::from(trial.number);
    });
    let trial = run(&mut path, at(100_000.0));
    assert_eq!((trial.number, trial.delivered), (2, 99_998), "the last, though the first lost less");
    assert!(!trial.disturbance.reasons().is_empty());
}

#[test]
fn negative_loss_is_repeated_and_an_attempt_that_shows_something_stands() {
    let mut path = guarded(|trial| {
        if trial.number != 2 {
            trial.invalidate(&Invalid::MoreBooked { excess: 5, sent: 100 });
        } else {
            trial.disturbance = stolen(50 * MS);
        }
    });
    // Time for both repeats.
    path.after_trials_of(100 * SECOND);
    let trial = run(&mut path, at(100_000.0));
    let guarding = trial.guarding.clone().unwrap();
    assert_eq!((trial.number, trial.verdict, guarding.attempt), (2, Verdict::Lossless, 2));
    let aside: Vec<_> = guarding.discarded.iter().map(|aside| aside.trial.number).collect();
    assert_eq!(aside, [1, 3]);
}

#[test]
fn a_rate_above_the_line_is_an_error() {
    // 1 Gbit/s at 64 bytes.
    let line = 1_488_095.2;
    let with = |frames: f64, departed: Option<Departed>| {
        let mut path = guarded(move |trial| {
            trial.line_rate_pps = Some(line);
            trial.sent = frames as u64;
            trial.delivered = trial.sent;
            trial.sending_s = 1.0;
            trial.departed = departed;
            trial.ledger.clear();
        });
        run(&mut path, at(400_000.0))
    };
    let after = |after_s, under_way| Some(Departed { after_s, under_way });
    assert_eq!(with(line, after(1.0, 0)).verdict, Verdict::Lossless);
    assert_eq!(with(line * 1.0002 + 1.0, after(1.0, 0)).verdict, Verdict::Lossless, "clocks of 100 ppm");
    assert_eq!(with(line * 2.0, None).verdict, Verdict::Lossless, "what was on its way is not known");
    let above = with(line * 1.001, after(1.0, 0));
    assert_eq!(above.verdict, Verdict::Invalid, "0.1 % in a second");
    assert!(above.invalid_because.unwrap().contains("more than the link carries (1,488,095 packets/s"));
    assert_eq!(above.guarding.unwrap().attempt, 3, "it is tried again first");
    // A ring of 4096 slots is filled at once and full in the end.
    let (filled, ring) = (line + 4096.0, 4096);
    assert_eq!(with(filled, after(1.0, 0)).verdict, Verdict::Invalid);
    assert_eq!(with(filled, after(1.0, ring)).verdict, Verdict::Lossless, "on their way in the end");
    assert_eq!(with(filled, after(1.0 + 4096.0 / line, 0)).verdict, Verdict::Lossless, "waited for");
}

#[test]
fn less_delivered_of_more_is_livelock_whatever_the_order() {
    let mut path = guarded(|_| {});
    let recv = Setup { method: "recv".parse().unwrap(), ..setup(64) };
    let loads = [1_000_000.0, 300_000.0, 400_000.0, 600_000.0];
    let mut trials: Vec<_> =
        loads.iter().map(|&pps| path.prepare(&recv).unwrap().run(at(pps), SECOND).unwrap()).collect();
    trials.push(run(&mut path, at(1_000_000.0)));
    livelock::mark(&mut trials);
    // 400,000 is what it holds; a half of what is offered beyond that is lost from it.
    let delivered: Vec<_> = trials.iter().map(|trial| trial.delivered_pps).collect();
    assert_eq!(delivered, [100_000.0, 300_000.0, 400_000.0, 300_000.0, 500_000.0]);
    let best = trials[2].number;
    let marks: Vec<_> = trials.iter().map(|trial| trial.livelock.map(|mark| mark.against)).collect();
    assert_eq!(marks, [Some(best), None, None, Some(best), None]);
}

#[test]
fn a_disturbed_trial_is_no_livelock() {
    let mut path = guarded(|trial| {
        if trial.intended_pps == Some(450_000.0) {
            trial.disturbance = stolen(300 * MS);
            trial.delivered_pps /= 2.0;
        }
    });
    let mut trials = vec![run(&mut path, at(400_000.0)), run(&mut path, at(450_000.0))];
    livelock::mark(&mut trials);
    assert!(trials[1].livelock.is_none());
}

#[test]
fn a_stop_ends_repeats_and_pauses() {
    let stop = Arc::new(AtomicBool::new(true));
    let path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("packet-v3", 5e5)]);
    let happens = |_, trial: &mut TrialResult| {
        trial.disturbance = stolen(30 * MS);
        lose_all(trial);
    };
    let policy = Policy { pause: Duration::from_secs(3600), ..Policy::default() };
    let mut path = Guarded::new(Tampered::new(path, happens), policy, stop);
    assert!(run(&mut path, at(1e6)).guarding.is_none());
    let next = run(&mut path, at(1e5));
    assert_eq!(next.guarding.unwrap().recovery.unwrap().probes.len(), 1);
}

#[test]
fn probes_and_attempts_of_a_run_that_is_gone_on_with_are_numbered_on_and_their_traffic_counts() {
    let mut path = guarded(|trial| {
        if trial.number == 43 {
            trial.invalidate(&Invalid::Contradiction);
        }
    });
    path.number_after(40);
    run(&mut path, at(1_000_000.0));
    let next = run(&mut path, at(400_000.0));
    let guarding = next.guarding.as_ref().unwrap();
    let recovery = guarding.recovery.as_ref().unwrap();
    assert_eq!((recovery.after, recovery.probes[0].number), (41, 42));
    assert_eq!((guarding.discarded[0].trial.number, next.number, next.last_number()), (43, 44, 44));
    assert!((next.traffic_s() - 2.1).abs() < 1e-9, "two attempts and a probe: {}", next.traffic_s());
    assert!(next.spent_s() >= next.traffic_s());
}

#[test]
fn what_guards_did_survives_json() {
    let mut path = guarded(|trial| {
        if trial.number <= 2 {
            trial.disturbance = stolen(30 * MS);
        }
    });
    run(&mut path, at(1_000_000.0));
    let trial = run(&mut path, at(100_000.0));
    let text = serde_json::to_string(&trial).unwrap();
    assert_eq!(serde_json::from_str::<TrialResult>(&text).unwrap(), trial);
}

#[test]
fn what_spoils_a_trial_and_what_does_not() {
    // A window that is twice as long as frames were sent: shares are of the latter.
    let cpu = |steal_ns, foreign_ns| CpuDisturbance {
        window_ns: 2000 * MS,
        steal_ns,
        foreign_ns,
        ..CpuDisturbance::default()
    };
    let reasons = |cpu, clocks| {
        let (cpus, tick_ns, sending_ns) = (vec![cpu], 10 * MS, 1000 * MS);
        Disturbance { cpus, tick_ns, clocks, sending_ns, ..Disturbance::default() }.reasons()
    };
    let still = ClockDrift::default();
    assert_eq!(reasons(cpu(10 * MS, 30 * MS), still), [], "a tick of steal, three of others");
    assert_eq!(reasons(cpu(20 * MS, 0), still), [Noise::Steal]);
    assert_eq!(reasons(cpu(0, 60 * MS), still), [Noise::ForeignLoad]);
    assert_eq!(reasons(cpu(0, 50 * MS), still), [], "not more than a twentieth");
    let stepped = |ns| reasons(cpu(0, 0), ClockDrift { realtime_step_ns: ns, ..still });
    assert!(stepped(-2_000_000) == [Noise::ClockSet] && stepped(20_000).is_empty());
    let slewed = |ppm| reasons(cpu(0, 0), ClockDrift { slew_ppm: ppm, ..still });
    assert!(slewed(-600.0) == [Noise::ClockSpeed] && slewed(500.0).is_empty());
    let suspended = ClockDrift { suspended_ns: 3_000_000_000, ..still };
    assert_eq!(reasons(cpu(0, 0), suspended), [Noise::Suspend]);
    assert_eq!(Disturbance::default().reasons(), [], "nothing known, nothing said");
}

/// A CPU that stalled for 3 to 5 ms, while the backlog lasts so long.
fn stood_still(backlog_lasts_ns: Option<u64>) -> Disturbance {
    let stall = Stall { until_ns: 500 * MS, at_least_ns: 3 * MS, at_most_ns: 5 * MS };
    let cpu = CpuDisturbance { cpu: 1, stalls: Some(vec![stall]), ..CpuDisturbance::default() };
    Disturbance { cpus: vec![cpu], backlog_lasts_ns, sending_ns: 1000 * MS, ..stolen(0) }
}

#[test]
fn a_standstill_disturbs_where_it_may_have_been_longer_than_the_backlog_lasts() {
    let reasons = |lasts: Option<u64>| stood_still(lasts).reasons();
    assert_eq!(reasons(Some(4 * MS)), [Noise::Stall]);
    assert!(reasons(Some(5 * MS)).is_empty() && reasons(None).is_empty());
    assert!(stood_still(Some(MS)).reasons_for_rates().is_empty(), "5 ms are no share of a second");
}

#[test]
fn a_cpu_that_took_longer_than_it_can_before_or_after_disturbs() {
    let paced = |before_ns: f64, after_ns: f64| {
        let core_speed = CoreSpeed { before_ns, after_ns, fastest_ns: 0.4 };
        let cpus = vec![CpuDisturbance { cpu: 1, core_speed: Some(core_speed), ..CpuDisturbance::default() }];
        Disturbance { cpus, ..stolen(0) }
    };
    assert!(paced(0.41, 0.45).reasons().is_empty(), "an eighth slower");
    for slow in [paced(0.47, 0.4), paced(0.4, 0.8)] {
        assert_eq!(slow.reasons_for_rates(), slow.reasons());
        assert_eq!(slow.reasons(), [Noise::SlowCpu]);
        assert!(slow.without_core_speed().reasons().is_empty());
    }
}
