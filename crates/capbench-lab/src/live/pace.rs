//! The speed of a trial's CPUs right before and after it, while all of them are busy.
//!
//! Guests of one machine share its cores. A guest on the same core slows a CPU for seconds at a time: the same code takes 1.3 to
//! 1.5 times as long. No account of the kernel shows it: no steal, no foreign load. The duration of a fixed loop does.

use std::hint::black_box;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use capbench_sys::host::{CpuId, affinity};

use crate::Result;
use crate::work::{LoopTimes, time_loop};
use capbench_model::disturbance::CoreSpeed;

/// Length of the first measurement on some CPUs; it must include moments without slowdown.
const FIRST: Duration = Duration::from_millis(150);
/// Length of the measurements before and after a trial: long enough that a single interrupt does not matter.
const BESIDE_TRIAL: Duration = Duration::from_millis(4);

/// Shortest time of an iteration of [`busy_loop`] on CPUs that are busy together, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces(Arc<Mutex<Vec<Fastest>>>);

type Fastest = (Vec<CpuId>, Vec<f64>);

/// The pace of some CPUs before a trial.
#[derive(Debug)]
pub(super) struct Before {
    paces: Paces,
    cpus: Vec<CpuId>,
    times: Vec<LoopTimes>,
}

impl Paces {
    /// Measures the CPUs of a trial that is about to begin. `cpus` may name a CPU more than once.
    ///
    /// # Errors
    /// When a thread cannot be bound to one of them.
    pub(super) fn before(&self, mut cpus: Vec<CpuId>) -> Result<Before> {
        cpus.sort_unstable();
        cpus.dedup();
        let is_known = self.locked().iter().any(|(known, _)| *known == cpus);
        if !is_known {
            self.keep(&cpus, &together(&cpus, FIRST)?);
        }
        let times = together(&cpus, BESIDE_TRIAL)?;
        self.keep(&cpus, &times);
        Ok(Before { paces: self.clone(), cpus, times })
    }

    /// Stores the fastest times and returns them.
    fn keep(&self, cpus: &[CpuId], times: &[LoopTimes]) -> Vec<f64> {
        let mut all = self.locked();
        match all.iter_mut().find(|(known, _)| known == cpus) {
            Some((_, fastest)) => {
                fastest.iter_mut().zip(times).for_each(|(known, new)| *known = known.min(new.fastest_ns));
                fastest.clone()
            }
            None => {
                let fastest: Vec<f64> = times.iter().map(|times| times.fastest_ns).collect();
                all.push((cpus.to_vec(), fastest.clone()));
                fastest
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Fastest>> {
        // A measurement that panicked has changed nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before {
    /// Measures the CPUs again after the trial.
    pub(super) fn after(self) -> Result<Vec<(CpuId, CoreSpeed)>> {
        let after = together(&self.cpus, BESIDE_TRIAL)?;
        let fastest = self.paces.keep(&self.cpus, &after);
        let times = self.times.iter().zip(&after).zip(fastest);
        let paces = times.map(|((before, after), fastest_ns)| CoreSpeed {
            before_ns: before.mean_ns,
            after_ns: after.mean_ns,
            fastest_ns,
        });
        Ok(self.cpus.iter().copied().zip(paces).collect())
    }
}

/// Loop iterations of one run: about 10 us on a core of 4 GHz.
const ITERATIONS: u64 = 10_000;

/// Keeps every arithmetic unit of a core busy with six independent chains of operations. A thread of another guest on the same
/// core leaves fewer units. (The wait loop of [`crate::work`] leaves the units idle and hardly slows down.)
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

/// Runs the loop on all of these CPUs at the same time.
fn together(cpus: &[CpuId], length: Duration) -> Result<Vec<LoopTimes>> {
    let begin = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let on = |cpu: CpuId| {
            let begin = &begin;
            scope.spawn(move || {
                let pinned = affinity::pin_current_thread(cpu);
                // Also after an error: the others wait for this thread.
                begin.wait();
                pinned.map(|()| time_loop(length, ITERATIONS, busy_loop))
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
    use capbench_sys::host::CpuId;

    use super::Paces;
    use crate::work::LoopTimes;

    #[test]
    fn the_fastest_of_each_set_of_cpus_is_kept() {
        let paces = Paces::default();
        let times = |of: &[f64]| -> Vec<LoopTimes> {
            of.iter().map(|&fastest_ns| LoopTimes { mean_ns: 2.0 * fastest_ns, fastest_ns }).collect()
        };
        let both = [CpuId::new(0), CpuId::new(1)];
        assert_eq!(paces.keep(&both, &times(&[0.5, 0.3])), [0.5, 0.3]);
        assert_eq!(paces.keep(&both[..1], &times(&[0.2])), [0.2], "alone on its core");
        assert_eq!(paces.keep(&both, &times(&[0.4, 0.6])), [0.4, 0.3]);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_no_wait() {
        assert!(Paces::default().before(vec![CpuId::new(0), CpuId::new(99_999)]).is_err());
    }
}
