//! What puts it in doubt whether a soak sustained its load.

use super::record::SoakRecord;
use crate::thresholds::NOTED_SOAK_SHARE;

/// Reasons to doubt that a soak sustained its load. Frames that no counter explains are none: whether they were delivered is known,
/// only the place of the loss is not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoakDoubts {
    /// Share of the intended frames that was not sent, if it matters.
    pub unsent_ratio: Option<f64>,
    /// Share of the sent frames that was delivered only because the generator pauses, if it matters.
    pub buffered_ratio: Option<f64>,
    /// Segments whose ledger contradicts itself.
    pub invalid_segments: u64,
}

impl SoakDoubts {
    /// Those about a soak.
    pub fn of_record(record: &SoakRecord) -> Self {
        Self {
            unsent_ratio: noted(record.unsent_ratio()),
            buffered_ratio: noted(record.untaken_ratio()),
            invalid_segments: record.whole.as_ref().map_or(0, |whole| whole.invalid),
        }
    }

    /// The share of the frames that could be lost as well.
    pub fn doubtful_share(&self) -> f64 {
        self.unsent_ratio.unwrap_or(0.0) + self.buffered_ratio.unwrap_or(0.0)
    }
}

/// A share that matters. One clock read at the end of a segment, or a stall at the end of one segment in hundreds, leaves far less.
fn noted(share: f64) -> Option<f64> {
    Some(share).filter(|share| *share > NOTED_SOAK_SHARE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::*;
    use crate::soak::segment::Segment;
    use crate::sustained::{Sustains, of_soak};

    /// A soak of one segment that should send a million frames.
    fn soak(unsent: u64, lost: u64, buffered: u64) -> SoakRecord {
        let second = Duration::from_secs(1);
        let sent = 1_000_000 - unsent;
        let measured = measured(1_000_000, sent, sent - lost, lost);
        let trial = measured.result(1, Phase::Soak, &profile("recv"), Load::Maximum, second);
        let mut record = SoakRecord::new(Pps::new(1e6).unwrap(), second, second);
        record.add(Segment { number: 1, began_unix_s: 0.0, resident_bytes: None, trial });
        record.whole.as_mut().unwrap().untaken = buffered;
        record
    }

    #[test]
    fn a_loss_above_the_allowed_one_decides_whatever_else_is_in_doubt() {
        assert_eq!(of_soak(&soak(0, 0, 0), 0.0), Sustains::Yes);
        assert_eq!(of_soak(&soak(0, 1, 0), 0.0), Sustains::No);
        assert_eq!(of_soak(&soak(100_000, 1, 100_000), 0.0), Sustains::No);
        assert_eq!(of_soak(&soak(0, 5, 0), 1e-5), Sustains::Yes);
    }

    #[test]
    fn unsent_or_buffered_frames_leave_it_open_from_a_thousandth_on() {
        for (frames, sustains) in [(800, Sustains::Yes), (1200, Sustains::Unknown)] {
            assert_eq!(of_soak(&soak(frames, 0, 0), 0.0), sustains, "{frames} unsent");
            assert_eq!(of_soak(&soak(0, 0, frames), 0.0), sustains, "{frames} buffered");
        }
    }

    #[test]
    fn doubtful_frames_that_may_be_lost_as_well_leave_nothing_open() {
        let allowed = 0.01;
        assert_eq!(of_soak(&soak(4000, 1000, 4000), allowed), Sustains::Yes);
        assert_eq!(of_soak(&soak(6000, 1000, 4000), allowed), Sustains::Unknown, "11,000 of a million");
        assert_eq!(of_soak(&soak(0, 9000, 2000), allowed), Sustains::Unknown, "all together are too many");
    }

    #[test]
    fn an_end_before_the_planned_time_leaves_it_open_unless_too_much_was_lost() {
        for (planned_s, sustains) in [(1.0009, Sustains::Yes), (1.0011, Sustains::Unknown)] {
            let cut = SoakRecord { planned_s, ..soak(0, 0, 0) };
            assert_eq!(of_soak(&cut, 0.0), sustains, "{planned_s}");
            assert_eq!(of_soak(&cut, 1.0), sustains, "{planned_s}: whatever loss is allowed");
            let lossy = SoakRecord { planned_s, ..soak(0, 1, 0) };
            assert_eq!(of_soak(&lossy, 0.0), Sustains::No, "{planned_s}");
        }
        let nothing_sent = SoakRecord { planned_s: 1.0, ..SoakRecord::default() };
        assert_eq!(of_soak(&nothing_sent, 1.0), Sustains::Unknown);
    }

    #[test]
    fn a_contradiction_leaves_it_open_and_an_unexplained_loss_does_not() {
        let mut record = soak(0, 10, 0);
        record.whole.as_mut().unwrap().counts.unexplained = 10;
        assert_eq!(of_soak(&record, 1e-4), Sustains::Yes);
        record.whole.as_mut().unwrap().invalid = 1;
        assert_eq!(of_soak(&record, 1e-4), Sustains::Unknown);
    }
}
