//! What a program had not read when it ended: the frames in its packet sockets and rings.
//!
//! Its sockets are copied before it is stopped. They stay as they are when it has ended, so that their frames and their counters
//! can be read: nobody else reads them then.

use std::fs;
use std::path::Path;
use std::time::Duration;

use capbench_model::counters::{Counters, Loss, LossSource, ProgramCount};
use capbench_model::evidence::UnreadFrames;
use capbench_model::places::Place;
use capbench_model::sources::SocketsUnknown;
use capbench_sys::packet::left_over::{ForeignSocket, Unread};

use super::tree::Member;

/// Longest wait for a block that the kernel has not filled: a program may ask for hours.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// The packet sockets of a program, or why they cannot be opened.
#[derive(Debug)]
pub(super) struct OpenSockets(Result<Vec<ForeignSocket>, SocketsUnknown>);

/// What they had when it had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOver {
    /// Frames that they accepted, those dropped included, since the program last read its counters.
    accepted: u64,
    /// Frames that they dropped, likewise.
    dropped: u64,
    /// Frames that were in them.
    unread: Unread,
}

impl OpenSockets {
    /// The sockets of these processes that have these inodes.
    pub(super) fn of(members: &[Member], inodes: &[u64]) -> Self {
        if inodes.is_empty() {
            return Self(Err(SocketsUnknown::NoPacketSocket));
        }
        Self(inodes.iter().map(|inode| copied(members, *inode)).collect())
    }

    /// How long the kernel may keep frames of a partly filled block from the program.
    pub(super) fn holds(&self) -> Duration {
        let sockets = self.0.iter().flatten();
        let holds = sockets.filter_map(ForeignSocket::retire_timeout).max().unwrap_or_default();
        if holds > LONGEST_HOLD { Duration::ZERO } else { holds }
    }

    /// What is in them. Call it when the program has ended.
    pub(super) fn left_over(&self) -> Result<LeftOver, SocketsUnknown> {
        let sockets = self.0.as_ref().map_err(SocketsUnknown::clone)?;
        let mut left = LeftOver { accepted: 0, dropped: 0, unread: Unread::default() };
        for socket in sockets {
            let statistics = socket.statistics().map_err(unreadable)?;
            left.accepted += u64::from(statistics.packets);
            left.dropped += u64::from(statistics.drops);
            let unread = socket.unread().map_err(unreadable)?;
            left.unread.frames += unread.frames;
            left.unread.uncertain += unread.uncertain;
        }
        Ok(left)
    }
}

fn unreadable(error: impl ToString) -> SocketsUnknown {
    SocketsUnknown::Unreadable { error: error.to_string() }
}

fn copied(members: &[Member], inode: u64) -> Result<ForeignSocket, SocketsUnknown> {
    let inode = u32::try_from(inode).map_err(|_| unreadable(format!("{inode} is no inode of a socket")))?;
    let wanted = format!("socket:[{inode}]");
    for member in members {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", member.id));
        for descriptor in descriptors.into_iter().flatten().flatten() {
            if fs::read_link(descriptor.path()).is_ok_and(|target| target == Path::new(&wanted)) {
                let number = descriptor.file_name().to_str().and_then(|name| name.parse().ok());
                let number = number.ok_or_else(|| unreadable(format!("{wanted} has no number")))?;
                return ForeignSocket::of(member.id, number, inode).map_err(unreadable);
            }
        }
    }
    Err(SocketsUnknown::NotVisible)
}

impl LeftOver {
    /// Adds to a program's own counters what it did not report: what its sockets accepted and dropped. `read` are the frames that
    /// it read.
    pub(super) fn complete(&self, counters: &mut Counters, read: u64) {
        // A program that read its counters and did not report them has taken some away.
        let known = self.dropped + self.unread.frames - self.unread.uncertain + read;
        let is_whole = self.accepted >= known;
        if !is_whole || counters.accepted.is_some() || counters.without.contains(&Place::Ring) {
            return;
        }
        let Some(ring) = counters.losses.iter_mut().find(|loss| loss.place == Place::Ring) else { return };
        if ring.count.is_some() {
            return;
        }
        let source = LossSource::Program(ProgramCount::SocketStatistics);
        *ring = Loss { place: Place::Ring, count: Some(self.dropped), source };
        counters.accepted = Some(self.accepted);
    }

    /// The frames that it had not read. It may have read some frames of the block that was its last.
    pub(super) fn frames(&self, counters: &Counters, read: u64) -> UnreadFrames {
        let missing = counters
            .accepted
            .zip(counters.dropped())
            .map(|(accepted, dropped)| accepted.saturating_sub(dropped).saturating_sub(read));
        let frames = self.unread.frames;
        UnreadFrames::Counted(missing.map_or(frames, |missing| missing.min(frames)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(accepted: Option<u64>, dropped: Option<u64>) -> Counters {
        let ring = Loss { place: Place::Ring, count: dropped, source: "x".into() };
        Counters { accepted, losses: vec![ring], ..Counters::default() }
    }

    #[test]
    fn what_a_program_does_not_report_is_read_from_its_socket() {
        let left = LeftOver { accepted: 100, dropped: 20, unread: Unread { frames: 30, uncertain: 0 } };
        let mut unreported = counters(None, None);
        left.complete(&mut unreported, 50);
        assert_eq!((unreported.accepted, unreported.lost_at(Place::Ring)), (Some(100), Some(20)));
        assert_eq!(left.frames(&unreported, 50), UnreadFrames::Counted(30));
        // It read more than its socket had since: it took counts away.
        let mut taken = counters(None, None);
        left.complete(&mut taken, 51);
        assert_eq!((taken.accepted, taken.lost_at(Place::Ring)), (None, None));
        // It lost 10 itself: they are not unread.
        let mut lost = counters(None, None);
        left.complete(&mut lost, 40);
        assert_eq!(left.frames(&lost, 40), UnreadFrames::Counted(30));
    }

    #[test]
    fn what_a_program_reports_counts_and_a_block_that_it_read_in_part_is_not_unread() {
        let left = LeftOver { accepted: 0, dropped: 0, unread: Unread { frames: 30, uncertain: 30 } };
        let mut reported = counters(Some(100), Some(5));
        left.complete(&mut reported, 85);
        assert_eq!(reported, counters(Some(100), Some(5)));
        assert_eq!(left.frames(&reported, 85), UnreadFrames::Counted(10));
        assert_eq!(left.frames(&counters(None, None), 85), UnreadFrames::Counted(30));
    }

    #[test]
    fn a_program_without_a_packet_socket_is_unknown() {
        assert_eq!(OpenSockets::of(&[], &[]).left_over(), Err(SocketsUnknown::NoPacketSocket));
        assert_eq!(OpenSockets::of(&[], &[7]).left_over(), Err(SocketsUnknown::NotVisible));
        let foreign = OpenSockets::of(&[], &[1 << 40]).left_over();
        assert!(matches!(foreign, Err(SocketsUnknown::Unreadable { .. })), "{foreign:?}");
    }
}
