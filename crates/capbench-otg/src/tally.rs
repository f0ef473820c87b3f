//! What arrived of a flow at a port.

use capbench_capture::Frame;
use capbench_frames::units::FCS_OCTETS;
use capbench_frames::{Stamp, TrialId};
use serde::{Deserialize, Serialize};

/// Octets of a VLAN tag that the kernel removed.
const TAG_OCTETS: u32 = 4;

/// What arrived of a run of a flow at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The run: the trial of its trailers.
    pub trial: Option<TrialId>,
    pub frames: u64,
    /// FCS included.
    pub octets: u64,
    /// Kernel's times of the first and the last frame, in nanoseconds since 1970.
    pub first_ns: u64,
    pub last_ns: u64,
    /// Sum, least and largest time since the planned send time, in nanoseconds; planned since the start of the run.
    delay_sum_ns: i128,
    delay_least_ns: i64,
    delay_most_ns: i64,
}

impl Tally {
    /// Counts a frame. The first frame of another run begins anew.
    #[inline]
    pub fn note(&mut self, stamp: &Stamp, frame: &Frame<'_>) {
        let delay = frame.time_ns.wrapping_sub(stamp.planned_ns).cast_signed();
        if self.trial != Some(stamp.trial) {
            *self = Self {
                trial: Some(stamp.trial),
                first_ns: frame.time_ns,
                delay_least_ns: i64::MAX,
                delay_most_ns: i64::MIN,
                ..Self::default()
            };
        }
        self.frames += 1;
        let tag = if frame.vlan.is_some() { TAG_OCTETS } else { 0 };
        self.octets += u64::from(frame.wire_length + tag + u32::from(FCS_OCTETS));
        self.last_ns = frame.time_ns;
        self.delay_sum_ns += i128::from(delay);
        self.delay_least_ns = self.delay_least_ns.min(delay);
        self.delay_most_ns = self.delay_most_ns.max(delay);
    }

    /// One of so many frames with this sum of delays.
    #[cfg(test)]
    pub fn with_delays(trial: TrialId, frames: u64, delay_sum_ns: i128) -> Self {
        Self { trial: Some(trial), frames, delay_sum_ns, ..Self::default() }
    }

    /// Least, largest and mean delay in nanoseconds of a run that began at this time of the kernel's clock.
    pub fn delays(&self, began_ns: u64) -> Option<[f64; 3]> {
        let began = i128::from(began_ns);
        let frames = i128::from(self.frames);
        let mean = self.delay_sum_ns.saturating_sub(began.saturating_mul(frames)).checked_div(frames)?;
        let [least, most] = [self.delay_least_ns, self.delay_most_ns].map(|delay| i128::from(delay) - began);
        Some([least, most, mean].map(|delay| delay as f64))
    }

    /// Together with what another port received. An engine elsewhere may report any numbers.
    pub fn plus(self, other: &Self) -> Self {
        match (self.frames, other.frames) {
            (0, _) => *other,
            (_, 0) => self,
            _ => Self {
                trial: self.trial,
                frames: self.frames.saturating_add(other.frames),
                octets: self.octets.saturating_add(other.octets),
                first_ns: self.first_ns.min(other.first_ns),
                last_ns: self.last_ns.max(other.last_ns),
                delay_sum_ns: self.delay_sum_ns.saturating_add(other.delay_sum_ns),
                delay_least_ns: self.delay_least_ns.min(other.delay_least_ns),
                delay_most_ns: self.delay_most_ns.max(other.delay_most_ns),
            },
        }
    }
}
