//! Whether a soak sustained its load, and what puts that in doubt.

use super::{Sustains, can_hide_loss};
use crate::soak::record::SoakRecord;

/// Whether a soak sustained its load: it lost up to `max_loss` of the sent frames, and sent and read its load for the planned time.
/// Unsent or buffered frames that matter leave it open, unless they could have been lost as well. So do a contradiction, and an end
/// before the planned time.
pub fn of_soak(record: &SoakRecord, max_loss: f64) -> Sustains {
    if record.loss_ratio() > max_loss {
        return Sustains::No;
    }
    let doubts = SoakDoubts::of_record(record);
    let doubtful = doubts.doubtful_share();
    if record.is_cut_short() {
        return Sustains::Unknown;
    }
    if doubts.invalid_segments > 0 || doubtful > 0.0 && record.loss_ratio() + doubtful > max_loss {
        return Sustains::Unknown;
    }
    Sustains::Yes
}

/// Reasons to doubt that a soak sustained its load. Frames that no counter explains are no such reason: it is known
/// whether they were delivered, and only the place of the loss is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoakDoubts {
    /// Share of the intended frames that was not sent, if it can hide a loss.
    pub unsent_ratio: Option<f64>,
    /// Share of the sent frames that was delivered only because the generator pauses, if it can hide a loss.
    pub buffered_ratio: Option<f64>,
    /// Segments whose ledger contradicts itself.
    pub invalid_segments: u64,
}

impl SoakDoubts {
    /// The doubts about a soak.
    pub fn of_record(record: &SoakRecord) -> Self {
        Self {
            unsent_ratio: doubtful(record.unsent_ratio()),
            buffered_ratio: doubtful(record.backlogged_ratio()),
            invalid_segments: record.whole.as_ref().map_or(0, |whole| whole.invalid),
        }
    }

    /// The share of the frames that another run, without unsent and buffered frames, could lose.
    pub fn doubtful_share(&self) -> f64 {
        self.unsent_ratio.unwrap_or(0.0) + self.buffered_ratio.unwrap_or(0.0)
    }
}

/// A share that can hide a loss. One clock read at the end of a segment, or a stall at the end of one segment in hundreds, leaves far
/// less.
fn doubtful(share: f64) -> Option<f64> {
    if can_hide_loss(share) { Some(share) } else { None }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::of_soak;
    use crate::soak::record::SoakRecord;
    use crate::soak::segment::Segment;
    use crate::sustained::Sustains;

    /// What became of a million frames that a soak of one segment should send. The others were delivered.
    #[derive(Clone, Copy, Default)]
    struct Frames {
        unsent: u64,
        lost: u64,
        /// Delivered only because the generator paused.
        buffered: u64,
    }

    fn soak(Frames { unsent, lost, buffered }: Frames) -> SoakRecord {
        let second = Duration::from_secs(1);
        let sent = 1_000_000 - unsent;
        let measured = measured(1_000_000, sent, sent - lost, lost);
        let trial = measured.result(1, Phase::Soak, &profile("recv"), Load::Maximum, second);
        let mut record = SoakRecord::new(Pps::new(1e6).unwrap(), second, second);
        record.add(Segment { number: 1, began_unix_s: 0.0, resident_bytes: None, trial });
        record.whole.as_mut().unwrap().backlogged = buffered;
        record
    }

    #[test]
    fn a_loss_above_the_allowed_one_decides_whatever_else_is_in_doubt() {
        assert_eq!(of_soak(&soak(Frames::default()), 0.0), Sustains::Yes);
        assert_eq!(of_soak(&soak(Frames { lost: 1, ..Frames::default() }), 0.0), Sustains::No);
        assert_eq!(of_soak(&soak(Frames { unsent: 100_000, lost: 1, buffered: 100_000 }), 0.0), Sustains::No);
        assert_eq!(of_soak(&soak(Frames { lost: 5, ..Frames::default() }), 1e-5), Sustains::Yes);
    }

    #[test]
    fn unsent_or_buffered_frames_leave_it_open_from_a_thousandth_on() {
        for (frames, sustains) in [(800, Sustains::Yes), (1200, Sustains::Unknown)] {
            assert_eq!(
                of_soak(&soak(Frames { unsent: frames, ..Frames::default() }), 0.0),
                sustains,
                "{frames} unsent"
            );
            assert_eq!(
                of_soak(&soak(Frames { buffered: frames, ..Frames::default() }), 0.0),
                sustains,
                "{frames} buffered"
            );
        }
    }

    #[test]
    fn doubtful_frames_that_may_be_lost_as_well_leave_nothing_open() {
        // 10,000 of a million frames.
        let allowed = 0.01;
        assert_eq!(
            of_soak(&soak(Frames { unsent: 4000, lost: 1000, buffered: 4000 }), allowed),
            Sustains::Yes
        );
        assert_eq!(
            of_soak(&soak(Frames { unsent: 6000, lost: 1000, buffered: 4000 }), allowed),
            Sustains::Unknown,
            "11,000 of a million"
        );
        assert_eq!(
            of_soak(&soak(Frames { lost: 9000, buffered: 2000, ..Frames::default() }), allowed),
            Sustains::Unknown,
            "all together are too many"
        );
    }

    #[test]
    fn an_end_before_the_planned_time_leaves_it_open_unless_too_much_was_lost() {
        for (planned_s, sustains) in [(1.0009, Sustains::Yes), (1.0011, Sustains::Unknown)] {
            let cut = SoakRecord { planned_s, ..soak(Frames::default()) };
            assert_eq!(of_soak(&cut, 0.0), sustains, "{planned_s}");
            assert_eq!(of_soak(&cut, 1.0), sustains, "{planned_s}: whatever loss is allowed");
            let lossy = SoakRecord { planned_s, ..soak(Frames { lost: 1, ..Frames::default() }) };
            assert_eq!(of_soak(&lossy, 0.0), Sustains::No, "{planned_s}");
        }
        let nothing_sent = SoakRecord { planned_s: 1.0, ..SoakRecord::default() };
        assert_eq!(of_soak(&nothing_sent, 1.0), Sustains::Unknown);
    }

    #[test]
    fn a_contradiction_leaves_it_open_and_an_unexplained_loss_does_not() {
        let mut record = soak(Frames { lost: 10, ..Frames::default() });
        record.whole.as_mut().unwrap().counts.unexplained = 10;
        assert_eq!(of_soak(&record, 1e-4), Sustains::Yes);
        record.whole.as_mut().unwrap().invalid = 1;
        assert_eq!(of_soak(&record, 1e-4), Sustains::Unknown);
    }
}
