//! How fast the CPUs of a trial run right before and after it, while all of them are busy.
//!
//! Guests of one machine share its cores, and what shares a core with a CPU slows it for seconds at a time, by half and more,
//! without a sign in any account of the kernel: no steal, no foreign load. What the same wait loop takes shows it.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use capbench_sys::host::{CpuId, affinity};

use crate::error::Result;
use crate::guards::{CpuDisturbance, Pace};
use crate::work::{LoopTimes, time_loop};

/// How long the first measurement on some CPUs goes on, which has to meet moments in which nothing slows them.
const FIRST: Duration = Duration::from_millis(150);
/// How long those before and after a trial do: long enough to be no matter of a single interrupt.
const BESIDE_TRIAL: Duration = Duration::from_millis(4);

/// What an iteration of the wait loop takes at least on CPUs that are busy together, nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces(Arc<Mutex<Vec<Fastest>>>);

type Fastest = (Vec<CpuId>, Vec<f64>);

/// The pace of some CPUs before a trial.
#[derive(Debug)]
pub(super) struct Before<'p> {
    paces: &'p Paces,
    cpus: Vec<CpuId>,
    times: Vec<LoopTimes>,
}

impl Paces {
    /// Measures the CPUs of a trial that is about to begin; each is named once.
    ///
    /// # Errors
    /// When a thread cannot be bound to one of them.
    pub(super) fn before(&self, mut cpus: Vec<CpuId>) -> Result<Before<'_>> {
        cpus.sort_unstable();
        cpus.dedup();
        let is_known = self.locked().iter().any(|(known, _)| *known == cpus);
        if !is_known {
            self.keep(&cpus, &together(&cpus, FIRST)?);
        }
        let times = together(&cpus, BESIDE_TRIAL)?;
        self.keep(&cpus, &times);
        Ok(Before { paces: self, cpus, times })
    }

    /// What an iteration took at least on a CPU, whatever else was busy meanwhile; `None` where it was not measured.
    pub(super) fn fastest_ns(&self, cpu: CpuId) -> Option<f64> {
        let all = self.locked();
        let of_sets = all.iter().flat_map(|(cpus, fastest)| cpus.iter().zip(fastest));
        of_sets.filter(|(of, _)| **of == cpu).map(|(_, ns)| *ns).reduce(f64::min)
    }

    /// Keeps the fastest, and gives them.
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
        // A measurement that panicked has left nothing behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before<'_> {
    /// Measures them again after the trial and writes both into its account of what disturbed it.
    pub(super) fn after(self, disturbed: &mut [CpuDisturbance]) -> Result<()> {
        let after = together(&self.cpus, BESIDE_TRIAL)?;
        let fastest = self.paces.keep(&self.cpus, &after);
        for (((cpu, before), after), fastest_ns) in self.cpus.iter().zip(&self.times).zip(&after).zip(fastest)
        {
            let pace = Pace { before_ns: before.mean_ns, after_ns: after.mean_ns, fastest_ns };
            if let Some(of) = disturbed.iter_mut().find(|disturbed| disturbed.cpu == cpu.number()) {
                of.pace = Some(pace);
            }
        }
        Ok(())
    }
}

/// Runs the wait loop on all of these CPUs at the same time.
fn together(cpus: &[CpuId], length: Duration) -> Result<Vec<LoopTimes>> {
    let begin = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let on = |cpu: CpuId| {
            let begin = &begin;
            scope.spawn(move || {
                let pinned = affinity::pin_current_thread(cpu);
                // Also where it failed: the others wait for this one.
                begin.wait();
                pinned.map(|()| time_loop(length))
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
        let known = [0, 1, 2].map(|cpu| paces.fastest_ns(CpuId::new(cpu)));
        assert_eq!(known, [Some(0.2), Some(0.3), None], "in any set");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_no_wait() {
        assert!(Paces::default().before(vec![CpuId::new(0), CpuId::new(99_999)]).is_err());
    }
}
