//! How busy the CPUs of a trial were while its application read frames.

use super::TrialResult;
use crate::members::Member;

impl TrialResult {
    /// Seconds for which the application read frames: the time of sending, and the time that it was behind then.
    fn reading_s(&self) -> f64 {
        (self.sending_s + self.behind_s(1).unwrap_or(0.0)).max(f64::MIN_POSITIVE)
    }

    /// Share of the time for which a member's thread ran. Above 1 if the kernel charges interrupts to it.
    pub fn member_busy(&self, member: &Member) -> f64 {
        member.cpu_ns as f64 * 1e-9 / self.reading_s()
    }

    /// Share of the time for which the kernel did its receive work, as the sum of its CPUs; `None` if it is unknown.
    pub fn kernel_cpu_busy(&self) -> Option<f64> {
        Some(self.cpu.kernel_ns? as f64 * 1e-9 / self.reading_s())
    }
}
