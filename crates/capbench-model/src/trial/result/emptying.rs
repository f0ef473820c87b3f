//! The frames of a trial that were still in buffers when sending ended. Without this count a lossless trial proves nothing about
//! the load: a longer trial may lose frames.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::TrialResult;

/// Longest single wait for frames; bounds how late the end of a trial is noticed.
pub const TICK: Duration = Duration::from_millis(10);

/// How long the application went on reading frames after sending ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Emptying {
    /// Seconds from when the application saw the end of sending, after its current batch, until it read the last frame.
    pub after_s: f64,
    /// Seconds for which the method may delay a frame although the application waits for it.
    pub holds_s: f64,
}

impl TrialResult {
    /// Seconds by which the application was behind when sending ended; absent if nobody saw when it read its last frame. These do
    /// not count: `together` frames that the load sends at once, frames not yet on the link, a batch, frames that the method
    /// delays, and the receiver's tick.
    pub fn behind_s(&self, together: u32) -> Option<f64> {
        let Emptying { after_s, holds_s } = self.emptying?;
        let batches = self.cpu.batches as f64;
        let batch_s = if batches > 0.0 { (self.sending_s + after_s) / batches } else { 0.0 };
        let at_once_s = if together > 1 { f64::from(together) / self.offered_pps } else { 0.0 };
        let on_the_way_s = self.departed.map_or(0.0, |departed| (departed.after_s - self.sending_s).max(0.0));
        let explained_s = holds_s + batch_s.max(TICK.as_secs_f64()) + at_once_s + on_the_way_s;
        Some(if after_s > explained_s { after_s } else { 0.0 })
    }

    /// The rate at which the application read frames while there were any: delivered frames by the time of sending plus the time
    /// that the application was behind. An unknown time counts as 0.
    pub fn read_pps(&self) -> f64 {
        let time_s = self.sending_s + self.behind_s(1).unwrap_or(0.0);
        self.delivered as f64 / time_s.max(f64::MIN_POSITIVE)
    }

    /// Sent frames that were delivered only because buffers had room for them until sending ended. A longer trial loses this many
    /// in the same time once its buffers are full. Absent if unknown; `together` as for [`Self::behind_s`].
    pub fn backlogged(&self, together: u32) -> Option<u64> {
        let behind_s = self.behind_s(together)?;
        let whole_s = (self.sending_s + behind_s).max(f64::MIN_POSITIVE);
        Some((self.delivered as f64 * behind_s / whole_s).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{Emptying, TrialResult};
    use crate::for_tests::{measured, profile};
    use crate::trial::{Load, Phase};

    /// A trial of a second in which 100,000 frames were sent, that took so long to empty.
    fn trial(delivered: u64, after_ms: f64, holds_ms: f64, batches: u64) -> TrialResult {
        let lost = 100_000 - delivered;
        let rate = Load::Rate("100000".parse().unwrap());
        let mut trial = measured(100_000, 100_000, delivered, lost).result(
            1,
            Phase::Search,
            &profile("packet-v3"),
            rate,
            Duration::from_secs(1),
        );
        trial.emptying = Some(Emptying { after_s: after_ms / 1e3, holds_s: holds_ms / 1e3 });
        trial.cpu.batches = batches;
        trial
    }

    #[test]
    fn a_longer_trial_loses_what_was_only_buffered() {
        // It takes 80,000 a second, so that a fifth waits, and takes a quarter of a second.
        let trial = trial(100_000, 250.0, 10.0, 10_000);
        assert_eq!(trial.backlogged(1), Some(20_000));
        assert!((trial.read_pps() - 80_000.0).abs() < 1e-6);
        // A tenth is lost as well: of 90,000 in 1.125 s a second has 80,000.
        let trial = self::trial(90_000, 125.0, 10.0, 10_000);
        assert_eq!((trial.lost(), trial.backlogged(1)), (10_000, Some(10_000)));
    }

    #[test]
    fn batches_and_delayed_frames_are_no_backlog() {
        let backlogged =
            |after_ms, holds_ms, batches| trial(100_000, after_ms, holds_ms, batches).backlogged(1);
        assert_eq!(backlogged(9.9, 0.0, 100_000), Some(0), "the receiver's tick");
        assert!(backlogged(11.0, 0.0, 100_000) > Some(1000));
        assert_eq!(
            backlogged(19.9, 10.0, 100),
            Some(0),
            "a block that the timeout retires, and one that the application reads"
        );
        assert!(backlogged(21.0, 10.0, 100) > Some(1000));
        assert_eq!(backlogged(120.0, 64.0, 16), Some(0), "longer blocks");
        let burst = trial(100_000, 60.0, 0.0, 100_000);
        assert_eq!(burst.backlogged(6000), Some(0), "6000 frames that came at once");
        assert!(burst.backlogged(1) > Some(5000));
    }

    #[test]
    fn unseen_time_is_unknown_and_counts_as_none() {
        let trial = TrialResult { emptying: None, ..trial(100_000, 500.0, 0.0, 0) };
        assert_eq!((trial.behind_s(1), trial.backlogged(1), trial.read_pps()), (None, None, 100_000.0));
    }

    proptest! {
        /// For any length of the trial, the share is that by which the load exceeds the read rate.
        #[test]
        fn the_share_does_not_depend_on_the_length(seconds in 1.0..100.0f64, above in 0.03..0.9f64) {
            let mut trial = trial(100_000, seconds * above / (1.0 - above) * 1e3, 10.0, 100_000);
            trial.sending_s = seconds;
            let share = trial.backlogged(1).unwrap() as f64 / 1e5;
            prop_assert!((share - above).abs() < 1e-4, "{share} {above}");
        }
    }
}
