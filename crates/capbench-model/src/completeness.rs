//! What a recording of an interface lacks, and which counts must be known for it to be complete.
//!
//! `record` asks this about its account and about what its files list, `verify` about what files list.
//!
//! | losses | what they mean for a recording |
//! |---|---|
//! | behind the capture point: fill ring, ring, queues, writer | lost; each count must be known, and one of the capture at least |
//! | XDP | lost, in front of the method or by `af-xdp` itself; listed only if a program was seen, and then the count must be known |
//! | stack | lost; the count must be known if the interface went down, because the kernel then detaches sockets |
//! | card, driver, backlog, filter | no part of the recording's account: the counters of the interface also count frames that nobody wanted |

use crate::places::Place;

/// Why it is unknown how many packets a recording of an interface lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownLoss {
    /// The count of a place is unknown, or only a lower limit.
    At(Place),
    /// The capture counts losses at no place.
    NoCounter,
    /// So many accepted packets are unexplained, and may have come after the end.
    Unexplained(u64),
}

/// What unexplained packets are for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// So many are lost.
    Lost(u64),
    /// Whether they are lost is unknown.
    Unknown(UnknownLoss),
}

/// Packets lost at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCount {
    /// The place.
    pub place: Place,
    /// Their number; `None` if it is unknown, or only a lower limit.
    pub count: Option<u64>,
}

/// Whether a recording lacks the packets that are lost at this place.
pub fn is_lacking(place: Place) -> bool {
    place.is_accepted() || matches!(place, Place::Xdp | Place::Stack)
}

/// Whether the count of this place must be known for a recording to be complete.
pub fn must_be_known(place: Place, went_down: bool) -> bool {
    is_lacking(place) && (place != Place::Stack || went_down)
}

/// Whether a capture counts losses at this place: between its capture point and the program that reads it.
fn is_of_capture(place: Place) -> bool {
    place.is_accepted() && !place.is_in_program()
}

/// Why it is unknown how many packets were lost at these places: the first reason. `None`: each count that must be known is.
pub fn unknown_loss(losses: &[PlaceCount], went_down: bool) -> Option<UnknownLoss> {
    for loss in losses {
        if loss.count.is_none() && must_be_known(loss.place, false) {
            return Some(UnknownLoss::At(loss.place));
        }
    }
    if !losses.iter().any(|loss| is_of_capture(loss.place)) {
        return Some(UnknownLoss::NoCounter);
    }
    for loss in losses {
        if loss.count.is_none() && must_be_known(loss.place, went_down) {
            return Some(UnknownLoss::At(loss.place));
        }
    }
    None
}

/// Accepted packets that were neither lost nor delivered; negative if more were delivered than accepted. `None` if a count is
/// unknown.
pub fn unexplained(accepted: Option<u64>, lost: Option<u64>, delivered: Option<u64>) -> Option<i64> {
    // A file can state any counts.
    Some(signed(accepted?).saturating_sub(signed(lost?)).saturating_sub(signed(delivered?)))
}

impl Unexplained {
    /// What this remainder of [`unexplained`] is. Packets that can have come after the end are not lost for certain. `was_closed`: the
    /// arrival of packets was stopped at the end.
    pub fn of_remainder(remainder: Option<i64>, was_closed: bool) -> Self {
        let packets = remainder.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        if packets == 0 || was_closed {
            return Self::Lost(packets);
        }
        Self::Unknown(UnknownLoss::Unexplained(packets))
    }

    /// How many of them are lost, as far as known.
    pub fn lost(self) -> u64 {
        match self {
            Self::Lost(packets) => packets,
            Self::Unknown(_) => 0,
        }
    }

    /// Why it is unknown whether they are lost.
    pub fn unknown(self) -> Option<UnknownLoss> {
        match self {
            Self::Lost(_) => None,
            Self::Unknown(unknown) => Some(unknown),
        }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{PlaceCount, Unexplained, UnknownLoss, unexplained, unknown_loss};
    use crate::places::{ALL, Place};

    fn known(place: Place) -> PlaceCount {
        PlaceCount { place, count: Some(0) }
    }

    fn unknown(place: Place) -> PlaceCount {
        PlaceCount { place, count: None }
    }

    #[test]
    fn a_place_that_a_recording_lacks_packets_of_must_be_counted() {
        let mut must_be_known = Vec::new();
        for place in ALL.into_iter().chain([Place::Nic, Place::Writer]) {
            let found = unknown_loss(&[known(Place::Ring), unknown(place)], false);
            if found.is_some() {
                assert_eq!(found, Some(UnknownLoss::At(place)));
                must_be_known.push(place);
            }
        }
        let expected = [
            Place::Xdp,
            Place::FillRing,
            Place::Ring,
            Place::MethodQueue,
            Place::ApplicationQueue,
            Place::Writer,
        ];
        assert_eq!(must_be_known, expected);
    }

    #[test]
    fn the_stack_must_be_counted_if_the_interface_went_down() {
        let losses = [unknown(Place::Stack), known(Place::Ring)];
        assert_eq!(unknown_loss(&losses, false), None);
        assert_eq!(unknown_loss(&losses, true), Some(UnknownLoss::At(Place::Stack)));
        let ring = [unknown(Place::Stack), unknown(Place::Ring)];
        assert_eq!(unknown_loss(&ring, true), Some(UnknownLoss::At(Place::Ring)), "it is lost all the time");
    }

    #[test]
    fn a_capture_that_counts_no_losses_leaves_them_unknown() {
        let of_program = [known(Place::Link), known(Place::ApplicationQueue), known(Place::Writer)];
        assert_eq!(unknown_loss(&of_program, false), Some(UnknownLoss::NoCounter));
        assert_eq!(unknown_loss(&[], false), Some(UnknownLoss::NoCounter));
        assert_eq!(unknown_loss(&[known(Place::MethodQueue)], false), None);
    }

    #[test]
    fn only_known_counts_leave_a_remainder() {
        assert_eq!(unexplained(Some(10), Some(2), Some(5)), Some(3));
        assert_eq!(unexplained(Some(10), Some(2), Some(9)), Some(-1));
        for counts in [(None, Some(2), Some(5)), (Some(10), None, Some(5)), (Some(10), Some(2), None)] {
            let (accepted, lost, delivered) = counts;
            assert_eq!(unexplained(accepted, lost, delivered), None);
        }
    }

    #[test]
    fn unexplained_packets_are_lost_unless_they_can_have_come_after_the_end() {
        let unknown = Unexplained::Unknown(UnknownLoss::Unexplained(2));
        for (remainder, was_closed, expected) in [
            (Some(2), true, Unexplained::Lost(2)),
            (Some(2), false, unknown),
            (Some(-2), false, Unexplained::Lost(0)),
            (None, false, Unexplained::Lost(0)),
        ] {
            assert_eq!(
                Unexplained::of_remainder(remainder, was_closed),
                expected,
                "{remainder:?} {was_closed}"
            );
        }
    }

    #[test]
    fn counts_that_a_file_makes_up_do_not_overflow() {
        let most = Some(u64::MAX);
        assert_eq!(unexplained(Some(0), most, most), Some(i64::MIN));
        assert_eq!(unexplained(most, Some(0), Some(0)), Some(i64::MAX));
    }
}
