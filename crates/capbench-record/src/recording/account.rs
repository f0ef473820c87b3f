//! What became of every packet of a recording.
//!
//! ```text
//! accepted by the kernel = lost in ring or queue + delivered + unexplained
//! delivered = left out by a filter of ours + lost in queues of workers + past the end + written + refused by the writer + unwritten
//!         + written and perhaps not on the disk + overwritten by a ring of files + deleted with old files + in hand
//! ```

use std::time::Duration;

use capbench_capture::occupancy::Occupancy;
use capbench_model::completeness::{
    PlaceCount, Unexplained, UnknownLoss, is_lacking, unexplained, unknown_loss,
};
use capbench_model::counters::{Loss, lost_behind_capture_point};
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;

use crate::merge::{MergeTally, PortTally};
use crate::writing::{PacketCounts, WriterCounts};

/// State of a recording while it runs, or at its end.
#[derive(Clone, Debug)]
pub struct Account {
    /// The interfaces, in the order of the plan.
    pub interfaces: Vec<InterfaceAccount>,
    /// When it began, ns since 1970-01-01 UTC. The name of its first file contains this time.
    pub began_ns: u64,
    /// Its duration so far.
    pub time: Duration,
    /// Counters of the writer.
    pub writer: WriterCounts,
    /// Counters of the merge of several captures; known at the end.
    pub merge: Option<MergeTally>,
}

/// What became of the packets of an interface.
#[derive(Clone, Debug, Default)]
pub struct InterfaceAccount {
    /// Its name.
    pub name: String,
    /// The method as the user wrote it.
    pub method: SavedMethod,
    /// Captures that shared its frames.
    pub members: usize,
    /// Frames that the interface received, by its counter.
    pub received: Option<u64>,
    /// Frames that reached the method and passed its filter, including those lost there.
    pub accepted: Option<u64>,
    /// Losses before frames reached capbench, with the counter that reports each.
    pub losses: Vec<Loss>,
    /// What XDP programs of others took in front of the method, which is in `losses`, too; `None` if none was seen there. What
    /// `af-xdp` itself loses at this place is in `losses` alone.
    pub taken_by_xdp: Option<Loss>,
    /// Whether XDP programs may have taken more frames than `losses` has: that count is then a lower limit.
    pub may_be_more_by_xdp: bool,
    /// Frames that the method delivered.
    pub delivered: u64,
    /// Frames lost at each worker's queue, before any filter of ours; empty without workers.
    pub queues: Vec<Loss>,
    /// Frames that a filter in capbench rejected; absent if the method runs the filter, or there is none.
    pub filtered: Option<u64>,
    /// Frames that came when the recording had ended by its own limits.
    pub past_end: u64,
    /// What became of the frames that were passed to the output.
    pub output: PacketCounts,
    /// Of the frames passed to the output, those that are not whole in the file, though the snap length allows more octets.
    pub cut: u64,
    /// The octets of those that are not in the file.
    pub cut_octets: u64,
    /// Octets of the frames passed to the output, without FCS; absent if the recorder did not look at single frames (verbatim
    /// files).
    pub octets: Option<u64>,
    /// Those of `octets` that are behind the snap length that the user asked for, and so not in the file.
    pub snapped_octets: Option<u64>,
    /// Occupancy of its fullest capture, in the last full second and since; absent if the method cannot report it.
    pub fill: Option<Occupancy>,
    /// Its highest occupancy since the beginning.
    pub fullest: Option<Occupancy>,
    /// Lost frames recorded as drop counts before packets; absent if the format has no drop counts.
    pub reported: Option<u64>,
    /// Lost frames after the last packet of the interface: only the statistics report them.
    pub behind_last: u64,
    /// Counters of the merge for its captures together; known at the end, if there was a merge.
    pub merged: Option<PortTally>,
    /// How often it went down or lost its carrier.
    pub went_down: u64,
    /// Whether it is down.
    pub is_down: bool,
    /// Whether it has ended, and was closed for new frames while it was drained. Without that, frames can have arrived after the
    /// end.
    pub was_shut: bool,
}

/// What became of a wanted frame that never was in a file on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was lost before capbench's output.
    At(Place),
    /// The writer had no room for it, or could not write it.
    AtWriter,
    /// It was written, and the file may not be on the disk.
    NotKnownOnDisk,
    /// It was accepted, and is at no known place.
    Unexplained,
}

impl Account {
    /// Share of the packets that never were in a file or are cut in it, as far as known; after failed writes, cut packets that could
    /// not be written may count twice. 1 is all packets that were accepted or lost
    /// before the method.
    pub fn loss_ratio(&self) -> f64 {
        self.share(self.interfaces.iter().map(InterfaceAccount::missing_or_cut).sum())
    }

    /// Packets that were in files which a ring of files replaced, or which were removed as old. The user asked for that: they are not
    /// lost.
    pub fn removed(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.output.overwritten + interface.output.deleted).sum()
    }

    /// Share of the packets that were in such files.
    pub fn removed_ratio(&self) -> f64 {
        self.share(self.removed())
    }

    fn share(&self, packets: u64) -> f64 {
        let expected = self.expected();
        if expected == 0 { 0.0 } else { packets as f64 / expected as f64 }
    }

    /// Packets that never were in a file on the disk: lost at a known place, or unexplained.
    pub fn missing(&self) -> u64 {
        self.interfaces.iter().map(InterfaceAccount::missing).sum()
    }

    /// Packets that were accepted, or lost before the method.
    pub fn expected(&self) -> u64 {
        let mut packets = 0;
        for interface in &self.interfaces {
            let (mut accepted_and_lost, mut lost_before) = (0, 0);
            for loss in interface.losses.iter().filter(|loss| is_lacking(loss.place)) {
                let sum = if loss.place.is_accepted() { &mut accepted_and_lost } else { &mut lost_before };
                *sum += loss.count.unwrap_or(0);
            }
            packets += interface.accepted.unwrap_or(interface.delivered + accepted_and_lost) + lost_before;
        }
        packets
    }

    /// Wanted frames of all interfaces that never were in a file, as far as known.
    pub fn lost(&self) -> u64 {
        self.interfaces.iter().map(InterfaceAccount::lost).sum()
    }

    /// Frames of all interfaces that are in files.
    pub fn written(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.output.written).sum()
    }
}

impl InterfaceAccount {
    /// Frames lost in the kernel or method after they were accepted: ring, queue and other places. `None` if one of these counts
    /// is unknown.
    pub fn lost_by_kernel(&self) -> Option<u64> {
        lost_behind_capture_point(&self.losses)
    }

    /// Frames lost before the method, by the interface's counters.
    pub fn lost_by_interface(&self) -> Option<u64> {
        self.losses.iter().find(|loss| loss.place == Place::Link)?.count
    }

    /// Frames that the interface received and that never reached the method; `None` where that is unknown.
    pub fn lost_by_stack(&self) -> Option<u64> {
        self.losses.iter().find(|loss| loss.place == Place::Stack)?.count
    }

    /// Frames that XDP programs took in front of the method, or at least; `None` where that is unknown, or none was seen.
    pub fn lost_by_xdp(&self) -> Option<u64> {
        self.taken_by_xdp.as_ref()?.count
    }

    /// Frames lost at the queues of workers; `None` without any.
    pub fn lost_in_queues(&self) -> Option<u64> {
        self.queues.iter().map(|loss| loss.count).reduce(|sum, count| Some(sum? + count?)).flatten()
    }

    /// Frames captured: delivered, accepted by the filter, and before the end.
    pub fn captured(&self) -> u64 {
        self.delivered.saturating_sub(self.filtered.unwrap_or(0)).saturating_sub(self.past_end)
    }

    /// The wanted frames that never were in a file on the disk, as far as known, by what became of them. Frames in files that the ring
    /// of files replaced, or that retention removed, do not count.
    pub fn missing_by_kind(&self) -> Vec<(Missing, u64)> {
        let mut kinds = Vec::new();
        for loss in self.lacking() {
            kinds.push((Missing::At(loss.place), loss.count.unwrap_or(0)));
        }
        kinds.push((Missing::AtWriter, self.output.lost()));
        kinds.push((Missing::NotKnownOnDisk, self.output.sync_failed));
        let unexplained = Unexplained::of_remainder(self.unexplained(), self.was_shut);
        kinds.push((Missing::Unexplained, unexplained.lost()));
        kinds.retain(|(_, frames)| *frames > 0);
        kinds
    }

    /// The frames of [`Self::missing_by_kind`].
    pub fn missing(&self) -> u64 {
        self.missing_by_kind().iter().map(|(_, frames)| frames).sum()
    }

    /// The same without those that are unexplained.
    pub fn lost(&self) -> u64 {
        let kinds = self.missing_by_kind();
        kinds.iter().filter(|(kind, _)| *kind != Missing::Unexplained).map(|(_, frames)| frames).sum()
    }

    /// Frames that never were in a file on the disk, or not whole in it; an upper limit after failed writes
    /// ([`Self::cut_in_files`]).
    pub fn missing_or_cut(&self) -> u64 {
        self.missing() + self.cut_in_files()
    }

    /// Frames in files that are cut. After failed writes it is an upper limit: the writer does not know which of the frames that
    /// it could not write are cut.
    pub fn cut_in_files(&self) -> u64 {
        self.cut.min(self.output.written + self.output.overwritten + self.output.deleted)
    }

    /// Whether [`Self::cut_in_files`] is exact.
    pub fn knows_cut_in_files(&self) -> bool {
        self.cut == 0 || self.output.unwritten + self.output.sync_failed == 0
    }

    /// Why the number of missing frames is unknown; `None`: it is known.
    pub fn unknown_loss(&self) -> Option<UnknownLoss> {
        let mut losses = Vec::new();
        for loss in &self.losses {
            let is_lower_limit = loss.place == Place::Xdp && self.may_be_more_by_xdp;
            losses.push(PlaceCount { place: loss.place, count: loss.count.filter(|_| !is_lower_limit) });
        }
        if let Some(unknown) = unknown_loss(&losses, self.went_down > 0) {
            return Some(unknown);
        }
        Unexplained::of_remainder(self.unexplained(), self.was_shut).unknown()
    }

    /// The counter of a place, or why there is none.
    pub fn source_of(&self, place: Place) -> Option<&str> {
        Some(self.losses.iter().find(|loss| loss.place == place)?.source.counter())
    }

    /// Losses of wanted frames before capbench's output, by place.
    fn lacking(&self) -> impl Iterator<Item = &Loss> {
        self.losses.iter().chain(&self.queues).filter(|loss| is_lacking(loss.place))
    }

    /// Frames between the method and the file. At the end this is 0; a remainder is unexplained.
    pub fn in_hand(&self) -> i64 {
        let PacketCounts { written, refused, unwritten, sync_failed, overwritten, deleted, unsynced: _ } =
            self.output;
        let lost = self.lost_in_queues().unwrap_or(0);
        let behind = [lost, written, refused, unwritten, sync_failed, overwritten, deleted].map(signed);
        signed(self.captured()) - behind.iter().sum::<i64>()
    }

    /// Accepted frames that no loss and no other count explains; negative if more were delivered than accepted. `None` if the
    /// method does not count accepted frames.
    pub fn unexplained(&self) -> Option<i64> {
        unexplained(self.accepted, self.lost_by_kernel(), Some(self.delivered))
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Account, InterfaceAccount};
    use crate::writing::{PacketCounts, WriterCounts};
    use capbench_model::completeness::UnknownLoss;
    use capbench_model::counters::Loss;
    use capbench_model::places::Place;

    #[test]
    fn a_share_is_of_what_was_read_and_lost_where_nothing_else_is_counted() {
        let uncounted = InterfaceAccount {
            losses: vec![Loss { place: Place::Ring, count: Some(48), source: "".into() }],
            delivered: 4,
            output: PacketCounts { written: 4, ..PacketCounts::default() },
            ..InterfaceAccount::default()
        };
        let account = Account {
            interfaces: vec![uncounted],
            began_ns: 0,
            time: Duration::ZERO,
            writer: WriterCounts::default(),
            merge: None,
        };
        assert_eq!((account.expected(), account.loss_ratio()), (52, 48.0 / 52.0));
        // What the user asked to have removed was recorded.
        let mut ring = account;
        ring.interfaces[0].losses[0].count = Some(0);
        ring.interfaces[0].output =
            PacketCounts { written: 1, overwritten: 2, deleted: 1, ..Default::default() };
        assert_eq!((ring.loss_ratio(), ring.removed(), ring.removed_ratio()), (0.0, 3, 0.75));
    }

    fn account() -> InterfaceAccount {
        InterfaceAccount {
            name: "eth0".into(),
            method: "packet-v3".into(),
            accepted: Some(100),
            losses: vec![Loss { place: Place::Ring, count: Some(10), source: "".into() }],
            delivered: 90,
            past_end: 5,
            output: PacketCounts { written: 80, refused: 3, unwritten: 2, ..PacketCounts::default() },
            octets: Some(0),
            reported: Some(13),
            was_shut: true,
            ..InterfaceAccount::default()
        }
    }

    #[test]
    fn every_packet_is_in_the_account() {
        let all = account();
        assert_eq!((all.captured(), all.lost(), all.in_hand(), all.unexplained()), (85, 15, 0, Some(0)));
        let missing = InterfaceAccount { delivered: 88, ..account() };
        assert_eq!((missing.in_hand(), missing.unexplained()), (-2, Some(2)));
    }

    #[test]
    fn losses_of_workers_are_lost_and_not_pending() {
        let queue = |count| Loss { place: Place::ApplicationQueue, count: Some(count), source: "".into() };
        let behind = InterfaceAccount { queues: vec![queue(7), queue(0)], ..account() };
        assert_eq!((behind.lost_in_queues(), behind.lost(), behind.in_hand()), (Some(7), 22, -7));
        assert_eq!((behind.unexplained(), account().lost_in_queues()), (Some(0), None));
    }

    #[test]
    fn frames_that_never_reached_the_socket_and_unexplained_ones_are_missing() {
        let stack = |count| Loss { place: Place::Stack, count, source: "".into() };
        let ring = account().losses;
        let flapped =
            InterfaceAccount { losses: [ring.clone(), vec![stack(Some(427))]].concat(), ..account() };
        assert_eq!(
            (flapped.lost(), flapped.lost_by_kernel(), flapped.unexplained()),
            (442, Some(10), Some(0))
        );
        let unknown = InterfaceAccount { losses: [ring, vec![stack(None)]].concat(), ..account() };
        assert_eq!((unknown.lost(), unknown.lost_by_stack(), unknown.unknown_loss()), (15, None, None));
        let short = InterfaceAccount { delivered: 88, ..account() };
        assert_eq!((short.lost(), short.missing(), short.unknown_loss()), (15, 17, None));
        let open = InterfaceAccount { was_shut: false, ..short };
        let unexplained = Some(UnknownLoss::Unexplained(2));
        assert_eq!(
            (open.missing(), open.unknown_loss()),
            (15, unexplained),
            "they can have come behind the end"
        );
        let more = InterfaceAccount { delivered: 95, was_shut: false, ..account() };
        assert_eq!((more.missing(), more.unknown_loss()), (15, None));
    }

    #[test]
    fn frames_that_an_xdp_program_took_are_lost_and_an_unknown_number_of_them_is_no_proof_of_none() {
        let with = |count| {
            let xdp = Loss { place: Place::Xdp, count, source: "XDP program 7".into() };
            let losses = [account().losses, vec![xdp]].concat();
            InterfaceAccount { losses, ..account() }
        };
        let known = with(Some(2000));
        assert_eq!((known.lost(), known.unexplained(), known.unknown_loss()), (2015, Some(0), None));
        let passing = with(Some(0));
        assert_eq!((passing.lost(), passing.unknown_loss()), (15, None));
        let unknown = with(None);
        assert_eq!(unknown.lost(), 15);
        let at_least = InterfaceAccount { may_be_more_by_xdp: true, ..with(Some(501)) };
        assert_eq!((at_least.lost(), at_least.unknown_loss()), (516, Some(UnknownLoss::At(Place::Xdp))));
        assert_eq!(unknown.unknown_loss(), Some(UnknownLoss::At(Place::Xdp)));
        assert_eq!(unknown.source_of(Place::Xdp), Some("XDP program 7"));
    }

    #[test]
    fn unsynced_packets_count_as_lost_and_replaced_ones_do_not() {
        let output =
            PacketCounts { written: 50, sync_failed: 10, overwritten: 20, unsynced: 30, ..account().output };
        let odd = InterfaceAccount { output, ..account() };
        assert_eq!((odd.lost(), odd.in_hand()), (25, 0));
    }

    #[test]
    fn uncounted_losses_are_unknown() {
        let silent = InterfaceAccount { accepted: None, ..account() };
        assert_eq!(silent.unexplained(), None);
        let partly = InterfaceAccount {
            losses: vec![Loss { place: Place::Ring, count: None, source: "".into() }],
            ..account()
        };
        assert_eq!((partly.lost_by_kernel(), partly.unexplained(), partly.lost()), (None, None, 5));
        let stack = Loss { place: Place::Stack, count: None, source: "unknown: a filter".into() };
        let mut flapped = account();
        flapped.losses.push(stack);
        assert_eq!(flapped.unknown_loss(), None, "the interface was up all the time");
        flapped.went_down = 2;
        assert_eq!(flapped.unknown_loss(), Some(UnknownLoss::At(Place::Stack)));
        assert_eq!(partly.lost_by_interface(), None);
    }

    #[test]
    fn what_is_known_of_the_losses_is_lost_also_if_a_place_is_unknown() {
        let mut partly = account();
        partly.losses.push(Loss { place: Place::FillRing, count: None, source: "".into() });
        assert_eq!((partly.lost_by_kernel(), partly.lost()), (None, 15));
        assert_eq!(partly.unknown_loss(), Some(UnknownLoss::At(Place::FillRing)));
    }
}
