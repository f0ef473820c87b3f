use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::disturbers::{CpuUser, Disturbers, Hidden, Throttled};
use capbench_model::noise::{Noise, NoiseOfTrial};
use capbench_model::trial::{Cpus, Generator, Profile, TrialResult};

use super::{CpuUse, Disturber, DisturbersOfRun, FreeCpus, find};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A process that used this many hundredths of CPU 1.
fn process(pid: u32, comm: &str, percent: u64) -> CpuUser {
    CpuUser { pid, comm: comm.into(), is_kernel_thread: false, cpu: 1, run_ns: percent * 10 * MS }
}

/// A noisy trial of a second, on CPUs 0 and 1.
fn trial(number: u32, processes: Vec<CpuUser>) -> TrialResult {
    let cpu_0 = CpuDisturbance { cpu: 0, window_ns: SECOND, ..CpuDisturbance::default() };
    let cpu_1 = CpuDisturbance { cpu: 1, ..cpu_0.clone() };
    TrialResult {
        number,
        profile: Profile {
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            ..Profile::default()
        },
        noise: NoiseOfTrial::new(vec![Noise::SlowCpu]),
        disturbance: Disturbance {
            cpus: vec![cpu_0, cpu_1],
            tick_ns: 10 * MS,
            sending_ns: SECOND,
            disturbers: Some(Disturbers { window_ns: SECOND, processes, ..Disturbers::default() }),
            ..Disturbance::default()
        },
        ..TrialResult::default()
    }
}

fn disturbers(trial: &mut TrialResult) -> &mut Disturbers {
    trial.disturbance.disturbers.as_mut().unwrap()
}

fn found(trials: &[TrialResult]) -> DisturbersOfRun {
    find(trials).expect("something used a CPU").fact
}

/// The disturbers with their CPUs and shares in hundredths.
fn shares(trials: &[TrialResult]) -> Vec<(Disturber, Vec<u32>, u64)> {
    let mut shares = Vec::new();
    for CpuUse { by, cpus, share, .. } in found(trials).used {
        shares.push((by, cpus, (share * 100.0).round() as u64));
    }
    shares
}

fn python(pid: u32) -> Disturber {
    Disturber::Process { comm: "python3".into(), pid }
}

fn unnamed(hidden: &[Hidden]) -> Disturber {
    Disturber::Unnamed { hidden: hidden.to_vec() }
}

#[test]
fn the_largest_time_of_the_run_is_first() {
    let trials = [
        trial(1, vec![process(8, "cron", 60)]),
        trial(2, vec![process(7, "python3", 90)]),
        trial(3, vec![process(7, "python3", 30)]),
    ];
    let cron = Disturber::Process { comm: "cron".into(), pid: 8 };
    assert_eq!(shares(&trials), [(python(7), vec![1], 60), (cron, vec![1], 60)]);
    assert_eq!(find(&trials).unwrap().trials, [1, 2, 3].into());
    let of_python = &found(&trials).used[0];
    assert_eq!((of_python.total_ns, of_python.trials), (1200 * MS, 2));
}

#[test]
fn a_trial_between_two_in_which_a_process_was_idle_counts_as_idle() {
    let trials = [
        trial(1, vec![process(7, "python3", 40)]),
        trial(2, vec![]),
        trial(3, vec![process(7, "python3", 20)]),
    ];
    assert_eq!(shares(&trials), [(python(7), vec![1], 20)]);
}

#[test]
fn less_than_a_trial_tolerates_is_not_named_and_more_is_in_a_run_without_noisy_trials() {
    assert!(find(&[trial(1, vec![process(7, "python3", 4)])]).is_none());
    assert!(find(&[trial(1, vec![process(7, "python3", 6)])]).is_some());
    for (run_ms, named) in [(16, 1), (24, 2)] {
        let other = CpuUser { run_ns: run_ms * MS, ..process(8, "cron", 0) };
        let named_both = found(&[trial(1, vec![process(7, "python3", 90), other])]).used.len();
        assert_eq!(named_both, named, "{run_ms} ms of a second besides a larger one");
    }
    let unmarked =
        TrialResult { noise: NoiseOfTrial::default(), ..trial(1, vec![process(7, "python3", 90)]) };
    assert!(find(&[unmarked]).is_some(), "it may be the reason of what no mark shows");
    let mut earlier = trial(1, vec![]);
    earlier.disturbance.cpus[1].foreign_ns = SECOND / 2;
    earlier.disturbance.disturbers = None;
    assert!(find(&[earlier]).is_none(), "a version that read no processes");
}

#[test]
fn what_used_a_cpu_in_moments_of_the_run_only_is_not_named() {
    for (number, is_named) in [(80, true), (120, false)] {
        let mut trials: Vec<TrialResult> = (2..=number).map(|number| trial(number, vec![])).collect();
        trials.push(trial(1, vec![process(7, "python3", 98)]));
        assert_eq!(find(&trials).is_some(), is_named, "98 % of a CPU in one of {number} trials");
    }
}

#[test]
fn a_process_on_two_cpus_is_one() {
    let elsewhere = CpuUser { cpu: 0, ..process(7, "python3", 40) };
    let trials = [trial(1, vec![process(7, "python3", 60)]), trial(2, vec![elsewhere])];
    assert_eq!(shares(&trials), [(python(7), vec![0, 1], 50)]);
    for (percent, cpus) in [(8, vec![1]), (12, vec![0, 1])] {
        let seldom = CpuUser { cpu: 0, ..process(7, "python3", percent) };
        let trials = [trial(1, vec![process(7, "python3", 100 - percent)]), trial(2, vec![seldom])];
        assert_eq!(shares(&trials), [(python(7), cpus, 50)], "{percent} % of its time");
    }
}

#[test]
fn many_processes_of_a_name_are_one_disturber() {
    let mut compilers = vec![process(1, "cc1", 20), process(2, "cc1", 20), process(3, "cc1", 20)];
    assert_eq!(found(&[trial(1, compilers.clone())]).used.len(), 3);
    compilers.push(process(4, "cc1", 20));
    compilers.push(CpuUser { cpu: 0, ..process(4, "cc1", 30) });
    let together = Disturber::Processes { comm: "cc1".into(), processes: 4 };
    assert_eq!(shares(&[trial(1, compilers)]), [(together.clone(), vec![1], 80), (together, vec![0], 30)]);
}

#[test]
fn time_that_no_process_explains_has_no_name() {
    let mut one = trial(1, vec![process(7, "python3", 30)]);
    one.disturbance.cpus[1].foreign_ns = 500 * MS;
    assert_eq!(shares(&[one.clone()]), [(python(7), vec![1], 30), (unnamed(&[]), vec![1], 20)]);
    disturbers(&mut one).hidden = vec![Hidden::PidNamespace];
    disturbers(&mut one).processes.clear();
    assert_eq!(shares(&[one.clone()]), [(unnamed(&[Hidden::PidNamespace]), vec![1], 50)]);
    // A process that was seen on the other CPU last was on this one before.
    disturbers(&mut one).processes = vec![CpuUser { cpu: 0, ..process(7, "python3", 48) }];
    assert_eq!(shares(&[one.clone()]), [(python(7), vec![0], 48)]);
    // Fewer ticks than the accounts can be wrong by.
    disturbers(&mut one).processes.clear();
    one.disturbance.tick_ns = 130 * MS;
    assert!(find(&[one]).is_none());
}

#[test]
fn what_ticks_hide_in_each_short_trial_is_found_in_all_together() {
    let short = |number: u32, foreign_ns: u64| {
        let mut one = trial(number, vec![]);
        one.disturbance.cpus[1].window_ns = 75 * MS;
        one.disturbance.cpus[1].foreign_ns = foreign_ns;
        disturbers(&mut one).window_ns = 75 * MS;
        one
    };
    let run = |foreign_ns| (1..=16).map(|number| short(number, foreign_ns)).collect::<Vec<_>>();
    assert_eq!(shares(&run(30 * MS)), [(unnamed(&[]), vec![1], 40)]);
    // In 16 trials four ticks of each are 16 ticks of all.
    assert!(find(&run(9 * MS)).is_none() && find(&run(11 * MS)).is_some());
    assert!(find(&run(30 * MS)[..1]).is_none());
}

#[test]
fn hypervisor_and_quota_are_named() {
    let mut one = trial(1, vec![]);
    one.disturbance.cpus[0].steal_ns = 100 * MS;
    disturbers(&mut one).throttled = Some(Throttled { periods: 3, stopped_ns: 200 * MS });
    assert_eq!(
        shares(&[one.clone()]),
        [(Disturber::Quota, vec![], 20), (Disturber::Hypervisor, vec![0], 10)]
    );
    // A generator of others that does not say when it sent.
    let sending_ns = std::mem::take(&mut one.disturbance.sending_ns);
    assert_eq!(shares(&[one.clone()])[1], (Disturber::Hypervisor, vec![0], 10));
    one.disturbance.sending_ns = sending_ns;
    one.disturbance.tick_ns = 80 * MS;
    disturbers(&mut one).throttled = Some(Throttled { periods: 0, stopped_ns: 200 * MS });
    assert!(find(&[one]).is_none(), "one tick, and a quota that was not used up");
}

#[test]
fn a_process_on_a_generators_host_is_named_with_its_location() {
    let remote = Disturbers {
        window_ns: 2 * SECOND,
        processes: vec![CpuUser { is_kernel_thread: true, ..process(7, "kcompactd0", 40) }],
        ..Disturbers::default()
    };
    let generator =
        Generator { location: "ssh:b/eth0".into(), disturbers: Some(remote), ..Generator::default() };
    let mut one = trial(1, vec![]);
    disturbers(&mut one).idle_cpus = vec![2, 3];
    one.generators.push(generator);
    let found = found(&[one]);
    let named = &found.used[0];
    assert_eq!(named.by, Disturber::KernelThread { comm: "kcompactd0".into() });
    assert_eq!((named.location.as_deref(), named.share), (Some("ssh:b/eth0"), 0.2));
    assert_eq!(found.free_cpus, None);
}

#[test]
fn free_cpus_take_the_place_of_disturbed_ones() {
    let mut one = trial(1, vec![process(7, "python3", 90)]);
    assert_eq!(found(&[one.clone()]).free_cpus, None, "no CPU is idle");
    disturbers(&mut one).idle_cpus = vec![2, 3];
    let free = FreeCpus { generator: 0, kernel: 2, application: 2 };
    assert_eq!(found(&[one.clone()]).free_cpus, Some(free));
    let mut two = TrialResult { number: 2, ..one.clone() };
    disturbers(&mut two).idle_cpus = vec![3];
    let free = FreeCpus { generator: 0, kernel: 3, application: 3 };
    assert_eq!(found(&[one.clone(), two.clone()]).free_cpus, Some(free), "idle in all trials");
    let other = CpuUser { cpu: 0, ..process(9, "make", 90) };
    disturbers(&mut one).processes.push(other);
    let free = FreeCpus { generator: 2, kernel: 3, application: 3 };
    assert_eq!(found(&[one.clone()]).free_cpus, Some(free));
    assert_eq!(found(&[one, two]).free_cpus, None, "one CPU for two");
}
