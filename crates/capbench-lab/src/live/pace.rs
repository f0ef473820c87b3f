//! The speed of a trial's CPUs right before and after it, while all of them are busy, in CPU time of the thread that measures:
//! what other threads take of a CPU is a fact of its own.
//!
//! Guests of one machine share its cores. A guest on the same core slows a CPU for seconds at a time: the same code takes 1.3 to
//! 1.5 times as long. No account of the kernel shows it: no steal, no foreign load. The duration of a fixed loop does.

use std::hint::black_box;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::{CpuId, affinity};

use crate::Result;
use crate::work::{LoopTimes, OfThread, time_loop, wait_loop};
use capbench_model::disturbance::{CoreClock, CoreSpeed};

/// Length of the first measurement on some CPUs; it must include moments without slowdown.
const FIRST: Duration = Duration::from_millis(50);
/// Length of the measurements before and after a trial: long enough that a single interrupt does not matter.
const BESIDE_TRIAL: Duration = Duration::from_millis(4);

/// A trial that begins so soon after another one on the same CPUs shares the measurement between them.
const STILL_VALID: Duration = Duration::from_millis(100);

/// Shortest times of both loops on CPUs that are busy together.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces(Arc<Mutex<Vec<Known>>>);

/// The fastest times on CPUs that were measured together.
#[derive(Clone, Debug)]
struct Known {
    cpus: Vec<CpuId>,
    /// On each CPU.
    fastest: Vec<Fastest>,
    /// The measurement after the last trial.
    last: Option<AfterTrial>,
}

/// What was measured after a trial, on each CPU.
#[derive(Clone, Debug)]
struct AfterTrial {
    times: Vec<Measured>,
    over: Instant,
}

/// Shortest time of an iteration of each loop on a CPU, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fastest {
    busy_ns: f64,
    waiting_ns: f64,
}

/// The times of both loops on a CPU.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// [`busy_loop`]: slower if the clock is lowered, and if another hardware thread or guest uses the core.
    busy: LoopTimes,
    /// [`wait_loop`]: slower if the clock is lowered.
    waiting: LoopTimes,
}

impl Measured {
    fn fastest(&self) -> Fastest {
        Fastest { busy_ns: self.busy.fastest_ns, waiting_ns: self.waiting.fastest_ns }
    }

    /// Share of the time of both measurements in which other threads had the CPU.
    fn taken_share(&self) -> f64 {
        self.busy.taken_share.max(self.waiting.taken_share)
    }
}

/// The pace of some CPUs before a trial.
#[derive(Debug)]
pub(super) struct Before {
    paces: Paces,
    cpus: Vec<CpuId>,
    times: Vec<Measured>,
}

impl Paces {
    /// Measures the CPUs of a trial that is about to begin. `cpus` may name a CPU more than once.
    ///
    /// # Errors
    /// When a thread cannot be bound to one of them.
    pub(super) fn before(&self, mut cpus: Vec<CpuId>) -> Result<Before> {
        cpus.sort_unstable();
        cpus.dedup();
        if let Some(times) = self.just_measured(&cpus) {
            return Ok(Before { paces: self.clone(), cpus, times });
        }
        let is_known = self.locked().iter().any(|known| known.cpus == cpus);
        if !is_known {
            self.keep(&cpus, &together(&cpus, FIRST)?);
        }
        let times = together(&cpus, BESIDE_TRIAL)?;
        self.keep(&cpus, &times);
        Ok(Before { paces: self.clone(), cpus, times })
    }

    /// The measurement after a trial of these CPUs that ended a moment ago.
    fn just_measured(&self, cpus: &[CpuId]) -> Option<Vec<Measured>> {
        let all = self.locked();
        let last = all.iter().find(|known| known.cpus == cpus)?.last.as_ref()?;
        (last.over.elapsed() < STILL_VALID).then(|| last.times.clone())
    }

    /// Stores the measurement after a trial, for one that follows at once.
    fn store_after(&self, cpus: &[CpuId], times: Vec<Measured>) {
        let mut all = self.locked();
        // Measurements of other CPUs disturbed these, or the other way round.
        for known in all.iter_mut() {
            known.last = None;
        }
        if let Some(known) = all.iter_mut().find(|known| known.cpus == cpus) {
            known.last = Some(AfterTrial { times, over: Instant::now() });
        }
    }

    /// Stores the fastest times and returns them.
    fn keep(&self, cpus: &[CpuId], times: &[Measured]) -> Vec<Fastest> {
        let mut all = self.locked();
        let Some(known) = all.iter_mut().find(|known| known.cpus == cpus) else {
            let fastest: Vec<Fastest> = times.iter().map(Measured::fastest).collect();
            all.push(Known { cpus: cpus.to_vec(), fastest: fastest.clone(), last: None });
            return fastest;
        };
        for (fastest, now) in known.fastest.iter_mut().zip(times) {
            fastest.busy_ns = fastest.busy_ns.min(now.busy.fastest_ns);
            fastest.waiting_ns = fastest.waiting_ns.min(now.waiting.fastest_ns);
        }
        known.fastest.clone()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Known>> {
        // A measurement that panicked has changed nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before {
    /// Measures the CPUs again after the trial.
    pub(super) fn after(self) -> Result<Vec<(CpuId, CoreSpeed)>> {
        let after = together(&self.cpus, BESIDE_TRIAL)?;
        let all_fastest = self.paces.keep(&self.cpus, &after);
        let mut speeds = Vec::new();
        for (nth, cpu) in self.cpus.iter().enumerate() {
            speeds.push((*cpu, core_speed(&self.times[nth], &after[nth], all_fastest[nth])));
        }
        self.paces.store_after(&self.cpus, after);
        Ok(speeds)
    }
}

/// The speed of a CPU around a trial.
fn core_speed(before: &Measured, after: &Measured, fastest: Fastest) -> CoreSpeed {
    CoreSpeed {
        before_ns: before.busy.mean_ns,
        after_ns: after.busy.mean_ns,
        fastest_ns: fastest.busy_ns,
        clock: Some(CoreClock {
            before_ns: before.waiting.typical_ns,
            after_ns: after.waiting.typical_ns,
            fastest_ns: fastest.waiting_ns,
        }),
        taken_share: Some(before.taken_share().max(after.taken_share())),
    }
}

/// Loop iterations of one run: about 10 us on a core of 4 GHz.
const ITERATIONS: u64 = 10_000;

/// Keeps every arithmetic unit of a core busy with six independent chains of operations. A thread of another guest on the same
/// core leaves fewer units. (The wait loop of [`crate::work`] leaves the units idle: that thread hardly slows it down.)
#[inline(never)]
fn busy_loop(iterations: u64) {
    let [mut a, mut b, mut c, mut d, mut e, mut f] = black_box([1_u64, 2, 3, 4, 5, 6]);
    for nth in 0..iterations {
        // A different distance each: no instruction does several such rotations at once, so the compiler keeps them separate.
        a = a.rotate_left(7) ^ nth;
        b = b.rotate_left(9).wrapping_add(nth);
        c = c.rotate_left(13) ^ nth;
        d = d.rotate_left(17).wrapping_add(nth);
        e = e.rotate_left(19) ^ nth;
        f = f.rotate_left(23).wrapping_add(nth);
    }
    black_box([a, b, c, d, e, f]);
}

/// Loop iterations of one run of [`wait_loop`], each of which takes several times as long.
const WAITING_ITERATIONS: u64 = 4_000;

/// Runs the loops on all of these CPUs at the same time.
fn together(cpus: &[CpuId], length: Duration) -> Result<Vec<Measured>> {
    let begin = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let on = |cpu: CpuId| {
            let begin = &begin;
            scope.spawn(move || {
                let pinned = affinity::pin_current_thread(cpu);
                // Also after an error: the others wait for this thread.
                begin.wait();
                pinned.map(|()| Measured {
                    busy: time_loop(length, ITERATIONS, &OfThread, busy_loop),
                    waiting: time_loop(length / 2, WAITING_ITERATIONS, &OfThread, wait_loop),
                })
            })
        };
        let threads: Vec<_> = cpus.iter().map(|cpu| on(*cpu)).collect();
        let times = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(times.collect::<std::result::Result<Vec<_>, _>>()?)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use capbench_statistics::interval::median;
    use capbench_sys::host::{CpuId, affinity};

    use super::{Fastest, Measured, Paces, STILL_VALID, busy_loop, core_speed, together};
    use crate::work::LoopTimes;

    fn loop_times(mean_ns: f64, taken_share: f64) -> LoopTimes {
        LoopTimes { mean_ns, typical_ns: mean_ns, fastest_ns: mean_ns / 2.0, taken_share }
    }

    fn measured(busy_ns: f64, waiting_ns: f64) -> Measured {
        Measured { busy: loop_times(busy_ns, 0.0), waiting: loop_times(waiting_ns, 0.25) }
    }

    #[test]
    fn the_fastest_of_each_set_of_cpus_is_kept() {
        let paces = Paces::default();
        let both = [CpuId::new(0), CpuId::new(1)];
        let fastest = |busy_ns: f64, waiting_ns: f64| Fastest { busy_ns, waiting_ns };
        let first = paces.keep(&both, &[measured(1.0, 4.0), measured(0.6, 4.0)]);
        assert_eq!(first, [fastest(0.5, 2.0), fastest(0.3, 2.0)]);
        assert_eq!(paces.keep(&both[..1], &[measured(0.4, 4.0)]), [fastest(0.2, 2.0)], "alone on its core");
        let second = paces.keep(&both, &[measured(0.8, 6.0), measured(1.2, 2.0)]);
        assert_eq!(second, [fastest(0.4, 2.0), fastest(0.3, 1.0)]);
    }

    #[test]
    fn a_trial_that_follows_at_once_shares_the_measurement_before_it() {
        let (paces, cpus) = (Paces::default(), [CpuId::new(0), CpuId::new(1)]);
        paces.keep(&cpus, &[measured(1.0, 4.0), measured(0.6, 4.0)]);
        assert!(paces.just_measured(&cpus).is_none(), "no trial ended yet");
        paces.store_after(&cpus, vec![measured(2.0, 4.0), measured(0.8, 4.0)]);
        let before_ns = |nth: usize| paces.just_measured(&cpus).map(|times| times[nth].busy.mean_ns);
        // On a slow host the moment is over.
        assert!([None, Some(2.0)].contains(&before_ns(0)), "{:?}", before_ns(0));
        assert!(paces.just_measured(&cpus[..1]).is_none(), "other CPUs");
        let mut all = paces.locked();
        let last = all[0].last.as_mut().unwrap();
        last.over = last.over.checked_sub(STILL_VALID).expect("the host runs for longer");
        drop(all);
        assert!(paces.just_measured(&cpus).is_none(), "it is over");
    }

    #[test]
    fn a_speed_has_both_loops_and_what_others_took() {
        let speed = core_speed(&measured(1.0, 4.0), &measured(1.5, 5.0), measured(1.0, 4.0).fastest());
        assert_eq!((speed.before_ns, speed.after_ns, speed.fastest_ns), (1.0, 1.5, 0.5));
        let clock = speed.clock.unwrap();
        assert_eq!((clock.before_ns, clock.after_ns, clock.fastest_ns), (4.0, 5.0, 2.0));
        assert_eq!(speed.taken_share, Some(0.25));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_no_wait() {
        assert!(Paces::default().before(vec![CpuId::new(0), CpuId::new(99_999)]).is_err());
    }

    /// Three loops leave a quarter of the CPU: by the time that passes, an iteration takes four times as long as at best. A guest on
    /// the same core makes it up to 1.5 times as long (docs/evidence/guards.md).
    #[test]
    fn root_alone_processes_on_its_cpu_take_time_and_do_not_slow_a_core_down() {
        let cpu = affinity::allowed_cpus().unwrap()[0];
        let is_over = AtomicBool::new(false);
        let mut slowdowns = Vec::new();
        let mut shares = Vec::new();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    affinity::pin_current_thread(cpu).unwrap();
                    while !is_over.load(Ordering::Relaxed) {
                        busy_loop(1000);
                    }
                });
            }
            for _ in 0..5 {
                let measured = together(&[cpu], Duration::from_millis(40));
                let Ok([Measured { busy, .. }]) = measured.as_deref() else { break };
                slowdowns.push(busy.mean_ns / busy.fastest_ns);
                shares.push(busy.taken_share);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(slowdowns.len(), 5);
        let slowdown = median(slowdowns).unwrap();
        let taken_share = median(shares).unwrap();
        assert!(taken_share > 0.5, "three loops took {taken_share}");
        assert!(slowdown < 2.0, "an iteration took {slowdown} times as long as at best");
    }
}
