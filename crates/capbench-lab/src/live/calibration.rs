//! The speed of the wait loop on each CPU of the trials, measured once per run: every trial then does the same work, and none
//! spends the time again.

use std::sync::{Arc, Mutex, PoisonError};

use capbench_sys::host::CpuId;

use crate::work::{LoopSpeed, Work};
use capbench_model::work::WorkModel;

/// The speeds known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Calibration(Arc<Mutex<Vec<(CpuId, LoopSpeed)>>>);

impl Calibration {
    /// The work, for the calling thread, which is pinned to `cpu`. A model in nanoseconds needs the loop's speed; for a model in
    /// iterations the time of an iteration is recorded.
    pub(super) fn ready_work(&self, model: WorkModel, cpu: CpuId) -> Work {
        let speed = match model {
            WorkModel::Nanoseconds(_) | WorkModel::Loop(_) => self.speed(cpu, LoopSpeed::measure),
            _ => LoopSpeed { iterations_per_ns: 1.0 },
        };
        Work::new(model, speed)
    }

    fn speed(&self, cpu: CpuId, measure: impl FnOnce() -> LoopSpeed) -> LoopSpeed {
        // A measurement that panicked has changed nothing.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, speed)) = known.iter().find(|(of, _)| *of == cpu) {
            return *speed;
        }
        let speed = measure();
        known.push((cpu, speed));
        speed
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::CpuId;

    use super::Calibration;
    use crate::work::LoopSpeed;

    #[test]
    fn each_cpu_is_measured_once() {
        let calibration = Calibration::default();
        let speed = |cpu: u32, measured: f64| {
            let measure = || LoopSpeed { iterations_per_ns: measured };
            calibration.clone().speed(CpuId::new(cpu), measure).iterations_per_ns
        };
        assert_eq!([speed(0, 1.0), speed(1, 2.0), speed(0, 3.0), speed(1, 4.0)], [1.0, 2.0, 1.0, 2.0]);
    }
}
