//! What became of every packet of a recording.
//!
//! ```text
//! accepted by the kernel = lost in ring or queue + taken + unexplained
//! taken = left out by a filter of ours + lost in queues of workers + past the end + written + refused by the writer + unwritten + in hand
//! ```

use std::time::Duration;

use crate::counters::{Loss, LossPlace};
use crate::fill::Fill;
use crate::merge::{MergeTally, PortTally};
use crate::writing::PacketCounts;

/// A recording so far, or as it ended.
#[derive(Clone, Debug)]
pub struct Account {
    /// The interfaces, in the order of the plan.
    pub interfaces: Vec<InterfaceAccount>,
    /// When it began, ns since 1970-01-01 UTC: the time in the name of its first file.
    pub began_ns: u64,
    /// How long it has gone on.
    pub time: Duration,
    /// Files begun.
    pub files: u64,
    /// Bytes of files before compression.
    pub bytes: u64,
    /// Bytes handed to the kernel.
    pub stored_bytes: u64,
    /// Buffers of the writer.
    pub buffers: u64,
    /// Those that hold something.
    pub buffers_in_use: u64,
    /// The most that ever did.
    pub most_buffers_in_use: u64,
    /// The longest that one handing over to the file took.
    pub longest_write: Duration,
    /// What the merge of several captures counted; known at the end.
    pub merge: Option<MergeTally>,
}

/// What became of the packets of an interface.
#[derive(Clone, Debug)]
pub struct InterfaceAccount {
    /// Its name.
    pub name: String,
    /// The method as the user wrote it.
    pub method: String,
    /// Captures that shared its frames.
    pub members: usize,
    /// Frames that the interface received, as it counts them itself.
    pub received: Option<u64>,
    /// Frames that reached the method and passed its filter, those lost there included.
    pub accepted: Option<u64>,
    /// Where frames were lost in front of us, with what says so.
    pub losses: Vec<Loss>,
    /// Frames that the method gave.
    pub taken: u64,
    /// Those of them that were lost at the queue of each worker, wanted by a filter of ours or not; empty without workers.
    pub queues: Vec<Loss>,
    /// Frames that a filter of ours left out; absent where the filter runs in front of the method, or there is none.
    pub filtered: Option<u64>,
    /// Frames that came when the recording had ended by its own limits.
    pub past_end: u64,
    /// What became of those given to the output.
    pub output: PacketCounts,
    /// Octets of frames that were given to it, without FCS; absent where nobody looked at each frame (verbatim files).
    pub octets: Option<u64>,
    /// How full the fullest of its captures was, in the second that ended last and since; absent where the method cannot
    /// tell.
    pub fill: Option<Fill>,
    /// The same since the beginning.
    pub fullest: Option<Fill>,
    /// Lost frames that stand in the file as drop counts before packets; absent where the format has no place for them.
    pub told: Option<u64>,
    /// Lost frames behind which no packet of the interface came: they stand in the statistics alone.
    pub behind_last: u64,
    /// What the merge counted of its captures together; known at the end, where there was one.
    pub merged: Option<PortTally>,
    /// Times that it went down.
    pub went_down: u64,
    /// Whether it is down.
    pub is_down: bool,
}

impl InterfaceAccount {
    /// Frames lost in ring, queue and other places of the kernel or method after they were accepted; `None` where one of
    /// them cannot tell.
    pub fn lost_by_kernel(&self) -> Option<u64> {
        let mut lost =
            self.losses.iter().filter(|loss| loss.place.is_accepted()).map(|loss| loss.count).peekable();
        lost.peek()?;
        lost.sum()
    }

    /// Frames lost in front of the method, as the interface counts them.
    pub fn lost_by_interface(&self) -> Option<u64> {
        self.losses.iter().find(|loss| loss.place == LossPlace::Link)?.count
    }

    /// Frames lost at the queues of workers; `None` without any.
    pub fn lost_in_queues(&self) -> Option<u64> {
        self.queues.iter().map(|loss| loss.count).reduce(|sum, count| Some(sum? + count?)).flatten()
    }

    /// Frames that were captured: taken, wanted, and before the end.
    pub fn captured(&self) -> u64 {
        self.taken.saturating_sub(self.filtered.unwrap_or(0)).saturating_sub(self.past_end)
    }

    /// All frames that were wanted and are in no file, as far as is known.
    pub fn lost(&self) -> u64 {
        self.lost_by_kernel().unwrap_or(0) + self.lost_in_queues().unwrap_or(0) + self.output.lost()
    }

    /// Frames on their way between the method and the file. At the end there are none, or what is there is unexplained.
    pub fn in_hand(&self) -> i64 {
        let PacketCounts { written, refused, unwritten } = self.output;
        let lost = self.lost_in_queues().unwrap_or(0);
        signed(self.captured()) - signed(lost) - signed(written) - signed(refused) - signed(unwritten)
    }

    /// Frames that were accepted, and that neither a loss nor anything else explains; negative where more were taken than
    /// accepted. `None` where the method does not count.
    pub fn unexplained(&self) -> Option<i64> {
        Some(signed(self.accepted?) - signed(self.lost_by_kernel()?) - signed(self.taken))
    }
}

impl Account {
    /// Frames of all interfaces that were wanted and are in no file, as far as is known.
    pub fn lost(&self) -> u64 {
        self.interfaces.iter().map(InterfaceAccount::lost).sum()
    }

    /// Frames of all interfaces that are in files.
    pub fn written(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.output.written).sum()
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::InterfaceAccount;
    use crate::counters::{Loss, LossPlace};
    use crate::writing::PacketCounts;

    fn account() -> InterfaceAccount {
        InterfaceAccount {
            name: "eth0".into(),
            method: "packet-v3".into(),
            members: 1,
            received: None,
            accepted: Some(100),
            losses: vec![Loss { place: LossPlace::Ring, count: Some(10), source: "".into() }],
            taken: 90,
            queues: Vec::new(),
            filtered: None,
            past_end: 5,
            output: PacketCounts { written: 80, refused: 3, unwritten: 2 },
            octets: Some(0),
            fill: None,
            fullest: None,
            told: Some(13),
            behind_last: 0,
            merged: None,
            went_down: 0,
            is_down: false,
        }
    }

    #[test]
    fn every_packet_stands_somewhere() {
        let all = account();
        assert_eq!((all.captured(), all.lost(), all.in_hand(), all.unexplained()), (85, 15, 0, Some(0)));
        let missing = InterfaceAccount { taken: 88, ..account() };
        assert_eq!((missing.in_hand(), missing.unexplained()), (-2, Some(2)));
    }

    #[test]
    fn what_workers_lost_is_lost_and_not_in_hand() {
        let queue =
            |count| Loss { place: LossPlace::ApplicationQueue, count: Some(count), source: "".into() };
        let behind = InterfaceAccount { queues: vec![queue(7), queue(0)], ..account() };
        assert_eq!((behind.lost_in_queues(), behind.lost(), behind.in_hand()), (Some(7), 22, -7));
        assert_eq!((behind.unexplained(), account().lost_in_queues()), (Some(0), None));
    }

    #[test]
    fn what_nobody_counts_is_unknown() {
        let silent = InterfaceAccount { accepted: None, ..account() };
        assert_eq!(silent.unexplained(), None);
        let partly = InterfaceAccount {
            losses: vec![Loss { place: LossPlace::Ring, count: None, source: "".into() }],
            ..account()
        };
        assert_eq!((partly.lost_by_kernel(), partly.unexplained(), partly.lost()), (None, None, 5));
        assert_eq!(partly.lost_by_interface(), None);
    }
}
