//! Frame counters in a pcapng file (draft-ietf-opsawg-pcapng, section 4.6), and which counter each loss belongs to.
//!
//! The format has two loss counters: interface and operating system. Losses in capbench belong to neither. A comment lists them,
//! together with the count of every other place.

use std::borrow::Cow;
use std::fmt::Write;

use capbench_model::completeness::{PlaceCount, Unexplained, UnknownLoss, unexplained, unknown_loss};
use capbench_model::counters::Loss;
use capbench_model::places::Place;

use super::LengthCounts;
use super::blocks::{BlockBuilder, COMMENT, STATISTICS, statistics};

/// Counters of an interface since its capture began: an interface statistics block. All are monotonic. An absent counter is
/// unknown, not 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceStatistics {
    /// Index of the interface in its section.
    pub interface: u32,
    /// When the counters were read, ns since the epoch.
    pub time_ns: u64,
    /// When the capture began: the same in all blocks of an interface (`isb_starttime`).
    pub start_ns: Option<u64>,
    /// When the capture ended: only in the last block (`isb_endtime`).
    pub end_ns: Option<u64>,
    /// Frames that the interface received (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Frames that the interface dropped because it had no resources (`isb_ifdrop`).
    pub interface_dropped: Option<u64>,
    /// Frames that passed the filter (`isb_filteraccept`).
    pub accepted: Option<u64>,
    /// Frames that the operating system dropped (`isb_osdrop`).
    pub system_dropped: Option<u64>,
    /// Frames that were delivered to the program (`isb_usrdeliv`).
    pub delivered: Option<u64>,
    /// Comments, such as the list of losses.
    pub comments: Vec<String>,
}

/// Frames lost in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostAt {
    /// Name of the place, as in the comment.
    pub place: Cow<'static, str>,
    /// The counter that the loss belongs to.
    pub booking: Booking,
    /// Number of lost frames; absent if unknown.
    pub count: Option<u64>,
}

/// The component that lost frames, which decides the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// What is in front of the filter: hardware, its driver, XDP programs, the stack (`isb_ifdrop`).
    Interface,
    /// The operating system: backlog, ring, socket (`isb_osdrop`).
    System,
    /// capbench: queues between threads, merge, writer. The format has no counter for it.
    Own,
}

impl Booking {
    /// The counter of a place. `None`: what is lost there is no loss of a recording.
    pub fn of_place(place: Place) -> Option<Self> {
        match place {
            // The format has no third place: frames lost in the stack or taken by an XDP program did not reach the filter.
            Place::Nic | Place::Link | Place::Driver | Place::Xdp | Place::Stack => Some(Self::Interface),
            Place::Backlog | Place::FillRing | Place::Ring | Place::MethodQueue => Some(Self::System),
            Place::ApplicationQueue | Place::Writer => Some(Self::Own),
            Place::Filter => None,
            // Places of a trial: a recording has no sender, and reads until its capture is empty.
            Place::Unsent
            | Place::Transmit
            | Place::LinkQueue
            | Place::Path
            | Place::Unread
            | Place::Truncated
            | Place::Corrupt => None,
        }
    }
}

impl LostAt {
    /// The counted losses, one per place. Frames that a filter rejected are not losses.
    pub fn of<'l>(losses: impl IntoIterator<Item = &'l Loss>) -> impl Iterator<Item = Self> {
        losses.into_iter().filter_map(|loss| {
            let booking = Booking::of_place(loss.place)?;
            Some(Self { place: loss.place.key().into(), booking, count: loss.count })
        })
    }
}

impl InterfaceStatistics {
    /// Records losses, replacing earlier ones. Each counter of the format becomes the sum of its known places, a lower limit if
    /// another one is unknown; it is absent if none of them is known. A comment lists every place, including unknown ones:
    /// `lost: link 0, backlog unknown, ring 12, writer (ours) 5`. [`InterfaceStatistics::unknown_loss`] reads it.
    pub fn book(&mut self, losses: &[LostAt]) {
        self.interface_dropped = None;
        self.system_dropped = None;
        for LostAt { booking, count, .. } in losses {
            let dropped = match booking {
                Booking::Interface => &mut self.interface_dropped,
                Booking::System => &mut self.system_dropped,
                Booking::Own => continue,
            };
            if let Some(count) = count {
                *dropped = Some(dropped.unwrap_or(0).saturating_add(*count));
            }
        }
        self.comments.retain(|comment| !comment.starts_with(LOST));
        if losses.is_empty() {
            return;
        }
        let mut comment = String::from(LOST);
        for (at, LostAt { place, booking, count }) in losses.iter().enumerate() {
            comment.push_str(if at == 0 { " " } else { ", " });
            comment.push_str(place);
            comment.push_str(if *booking == Booking::Own { OWN } else { " " });
            match count {
                // Writing to a string does not fail.
                Some(count) => drop(write!(comment, "{count}")),
                None => comment.push_str(UNKNOWN),
            }
        }
        self.comments.push(comment);
    }

    /// Notes the packets that are in the file shorter than the snap length allows, replacing an earlier note. The format has no
    /// counter for them.
    pub fn note_cut(&mut self, lengths: &LengthCounts) {
        self.comments.retain(|comment| !comment.starts_with(CUT));
        self.comments.push(format!("{CUT} packets {}, octets {}", lengths.cut_packets, lengths.cut));
    }

    /// Notes that the arrival of packets was stopped at the end of the capture, replacing an earlier note.
    pub fn note_closed(&mut self) {
        self.comments.retain(|comment| comment != CLOSED);
        self.comments.push(CLOSED.into());
    }

    /// Adds a place in capbench to the booked losses.
    pub fn book_own(&mut self, place: &str, count: u64) {
        let lost = format!("{place}{OWN}{count}");
        match self.comments.iter_mut().find(|comment| comment.starts_with(LOST)) {
            Some(comment) => *comment = format!("{comment}, {lost}"),
            None => self.comments.push(format!("{LOST} {lost}")),
        }
    }

    /// Frames that capbench itself lost, parsed from the comment of [`InterfaceStatistics::book`]; absent if no such place is
    /// known.
    pub fn own_dropped(&self) -> Option<u64> {
        let comment = self.comments.iter().find_map(|comment| comment.strip_prefix(LOST))?;
        let places = comment.split(", ").filter_map(|place| place.split_once(OWN));
        places.filter_map(|(_, count)| count.parse::<u64>().ok()).reduce(u64::saturating_add)
    }

    /// Packets that the counters report as lost: at the interface, by the system, or by the program itself, and unexplained ones that
    /// are lost. `None` if none of the counts is known.
    pub fn lost(&self) -> Option<u64> {
        let counts = [self.interface_dropped, self.system_dropped, self.own_dropped()];
        let counted = counts.into_iter().flatten().reduce(u64::saturating_add)?;
        Some(counted.saturating_add(self.unexplained().lost()))
    }

    /// Why it is unknown how many packets were lost until then; `None`: it is known. The recorder lists the places that it knows
    /// in the comment of [`InterfaceStatistics::book`]. Without the comment, any counter of losses is all that the program counts.
    pub fn unknown_loss(&self) -> Option<UnknownLoss> {
        let unknown = match self.listed_losses() {
            // An unknown loss in the stack is listed only if the interface went down.
            Some(losses) => unknown_loss(&losses, true),
            None if self.lost().is_none() => Some(UnknownLoss::NoCounter),
            None => None,
        };
        if unknown.is_some() {
            return unknown;
        }
        self.unexplained().unknown()
    }

    fn unexplained(&self) -> Unexplained {
        let was_closed = self.comments.iter().any(|comment| comment == CLOSED);
        let remainder = unexplained(self.accepted, self.system_dropped, self.delivered);
        Unexplained::of_remainder(remainder, was_closed)
    }

    /// The places in the comment about losses; absent without one.
    fn listed_losses(&self) -> Option<Vec<PlaceCount>> {
        let comment = self.comments.iter().find_map(|comment| comment.strip_prefix(LOST))?;
        let mut losses = Vec::new();
        for listed in comment.split(", ") {
            let listed = listed.trim();
            let parts = listed.split_once(OWN).or_else(|| listed.rsplit_once(' '));
            let Some((name, count)) = parts else { continue };
            // Names of no place are of programs that keep a file short: they are always counted.
            let Some(place) = Place::from_key(name) else { continue };
            losses.push(PlaceCount { place, count: count.parse().ok() });
        }
        Some(losses)
    }

    pub(super) fn block(&self) -> Vec<u8> {
        // The format stores the upper 32 bits first, so the halves are swapped in a little-endian number.
        let turned = |ns: u64| ns.rotate_left(32);
        let body = [&self.interface.to_le_bytes()[..], &turned(self.time_ns).to_le_bytes()].concat();
        let mut block = BlockBuilder::new(STATISTICS, &body);
        block.number(statistics::START, self.start_ns.map(turned));
        block.number(statistics::END, self.end_ns.map(turned));
        block.number(statistics::RECEIVED, self.received);
        block.number(statistics::INTERFACE_DROPPED, self.interface_dropped);
        block.number(statistics::ACCEPTED, self.accepted);
        block.number(statistics::SYSTEM_DROPPED, self.system_dropped);
        block.number(statistics::DELIVERED, self.delivered);
        for comment in &self.comments {
            block.text(COMMENT, comment);
        }
        block.finish()
    }
}

/// Prefix of the comment about losses.
const LOST: &str = "lost:";
/// Prefix of the comment about packets that were cut.
const CUT: &str = "cut:";
/// The comment that no packet arrived after the end.
const CLOSED: &str = "closed: no packet arrived after the end";
/// What is in the comment instead of a count that is not known.
const UNKNOWN: &str = "unknown";
/// Separator between a place in capbench and its count.
const OWN: &str = " (ours) ";

#[cfg(test)]
mod tests {
    use super::{Booking, InterfaceStatistics, LostAt};
    use capbench_model::completeness::{UnknownLoss, is_lacking};
    use capbench_model::counters::{Counters, Loss};
    use capbench_model::places::{ALL, Place};

    fn lost(place: &'static str, booking: Booking, count: Option<u64>) -> LostAt {
        LostAt { place: place.into(), booking, count }
    }

    #[test]
    fn losses_are_booked_where_they_belong_and_absent_is_not_zero() {
        let mut statistics = InterfaceStatistics::default();
        statistics.book(&[
            lost("link", Booking::Interface, Some(3)),
            lost("driver", Booking::Interface, None),
            lost("backlog", Booking::System, None),
            lost("writer", Booking::Own, Some(5)),
        ]);
        assert_eq!((statistics.interface_dropped, statistics.system_dropped), (Some(3), None));
        let expected = "lost: link 3, driver unknown, backlog unknown, writer (ours) 5";
        assert_eq!(statistics.comments, [expected]);
        assert_eq!(statistics.own_dropped(), Some(5));
        statistics.book_own("full_file", 4);
        assert_eq!(statistics.comments, [format!("{expected}, full_file (ours) 4")]);
        assert_eq!(statistics.own_dropped(), Some(9));
        statistics.book(&[lost("ring", Booking::System, Some(2)), lost("backlog", Booking::System, Some(7))]);
        assert_eq!((statistics.interface_dropped, statistics.system_dropped), (None, Some(9)));
        assert_eq!(statistics.comments, ["lost: ring 2, backlog 7"], "the old booking is gone");
        assert_eq!(statistics.own_dropped(), None, "no place of ours");
        let mut unbooked = InterfaceStatistics::default();
        unbooked.book_own("full_file", 4);
        assert_eq!(unbooked.own_dropped(), Some(4));
    }

    #[test]
    fn what_a_program_lost_is_no_loss_of_the_system() {
        for place in ALL.into_iter().chain([Place::Nic, Place::Writer]) {
            let booking = Booking::of_place(place);
            assert_eq!(booking == Some(Booking::Own), place.is_in_program(), "{place:?}");
            assert!(booking.is_some() || !is_lacking(place), "{place:?}");
        }
    }

    #[test]
    fn losses_counted_by_a_method_are_booked_at_their_place() {
        let loss = |place, count| Loss { place, count, source: "".into() };
        let counters = Counters {
            losses: vec![
                loss(Place::Link, Some(1)),
                loss(Place::Filter, Some(100)),
                loss(Place::FillRing, Some(2)),
                loss(Place::Ring, Some(4)),
                loss(Place::MethodQueue, None),
            ],
            ..Counters::default()
        };
        let mut statistics = InterfaceStatistics::default();
        statistics.book(&LostAt::of(&counters.losses).collect::<Vec<_>>());
        assert_eq!((statistics.interface_dropped, statistics.system_dropped), (Some(1), Some(6)));
        assert_eq!(statistics.comments, ["lost: link 1, fill_ring 2, ring 4, method_queue unknown"]);
        assert_eq!(statistics.unknown_loss(), Some(UnknownLoss::At(Place::MethodQueue)));
    }

    #[test]
    fn statistics_say_whether_every_loss_that_must_be_known_is() {
        let statistics = |comment: &str| InterfaceStatistics {
            interface_dropped: Some(0),
            comments: vec![comment.into()],
            ..InterfaceStatistics::default()
        };
        for (comment, expected) in [
            ("lost: link unknown, ring 0, application_queue (ours) 0, writer (ours) 0", None),
            ("lost: link 0, ring unknown, writer (ours) 0", Some(UnknownLoss::At(Place::Ring))),
            ("lost: link 0, ring 0, xdp unknown, writer (ours) 0", Some(UnknownLoss::At(Place::Xdp))),
            ("lost: link 0, stack unknown, ring 0, writer (ours) 0", Some(UnknownLoss::At(Place::Stack))),
            ("lost: link 0, writer (ours) 0", Some(UnknownLoss::NoCounter)),
            ("lost: ring 0, full_file (ours) 4", None),
            ("a comment of another program", None),
        ] {
            assert_eq!(statistics(comment).unknown_loss(), expected, "{comment}");
        }
        assert_eq!(InterfaceStatistics::default().unknown_loss(), Some(UnknownLoss::NoCounter));
        let mut unread = InterfaceStatistics {
            accepted: Some(10),
            delivered: Some(7),
            system_dropped: Some(1),
            ..InterfaceStatistics::default()
        };
        let unknown = Some(UnknownLoss::Unexplained(2));
        assert_eq!((unread.lost(), unread.unknown_loss()), (Some(1), unknown));
        unread.note_closed();
        assert_eq!((unread.lost(), unread.unknown_loss()), (Some(3), None), "none came after the end");
    }
}
