//! Closed sockets of a long watch. Programs that open and close sockets all the time, of any user, would fill memory and
//! the list of sockets. The closed ones that lost most are kept one by one, the others as sums by kind.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde::Serialize;

use super::{Method, Socket, Sockets};

/// Closed sockets that stay in the lists.
pub(super) const KEPT: usize = 64;

/// Closed sockets of one kind that are in no list, added up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClosedSockets {
    /// Whether they captured on the interface, as those of [`Sockets::here`] do.
    pub here: bool,
    /// How they captured.
    pub method: Method,
    /// Whether they took frames of every interface of their namespace.
    pub every_interface: bool,
    /// How many sockets.
    pub sockets: u64,
    /// Frames that they took, as far as that is known. AF_XDP does not count them.
    pub accepted: u64,
    /// Frames that they lost for want of room, as far as that is known.
    pub dropped: u64,
    /// Sockets of which it is not known what they lost.
    pub unknown: u64,
    /// Whether an owner was seen to read, and so to reset, the counters: then they tell the least.
    pub at_least: bool,
}

impl ClosedSockets {
    fn of(socket: &Socket, here: bool) -> Self {
        Self {
            here,
            method: socket.method,
            every_interface: socket.every_interface,
            sockets: 1,
            accepted: socket.accepted.unwrap_or(0),
            dropped: socket.dropped.unwrap_or(0),
            unknown: u64::from(socket.dropped.is_none()),
            at_least: socket.at_least,
        }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        let kind = |group: &Self| (group.here, group.method, group.every_interface);
        kind(self) == kind(other)
    }

    /// What they lost; absent where that is not known of one of them.
    pub fn dropped(&self) -> Option<u64> {
        (self.unknown == 0).then_some(self.dropped)
    }
}

impl Sockets {
    /// The sums of closed sockets that captured on the interface.
    pub fn closed_here(&self) -> impl Iterator<Item = &ClosedSockets> {
        self.closed.iter().filter(|group| group.here)
    }

    /// Adds to the sum of their kind.
    fn add_closed(&mut self, more: ClosedSockets) {
        match self.closed.iter_mut().find(|group| group.is_of_kind(&more)) {
            Some(group) => {
                group.sockets += more.sockets;
                group.accepted += more.accepted;
                group.dropped += more.dropped;
                group.unknown += more.unknown;
                group.at_least |= more.at_least;
            }
            None => self.closed.push(more),
        }
    }

    /// Leaves the [`KEPT`] closed sockets in the lists that lost most, and adds up the others.
    pub(super) fn keep_worst_closed(&mut self) {
        let closed = self.all().filter(|socket| socket.closed);
        let mut closed: Vec<_> = closed.map(|socket| (Reverse(socket.dropped), socket.inode)).collect();
        if closed.len() <= KEPT {
            return;
        }
        let (_, _, surplus) = closed.select_nth_unstable(KEPT - 1);
        let surplus: HashSet<u64> = surplus.iter().map(|(_, inode)| *inode).collect();
        for here in [true, false] {
            let list = if here { &mut self.here } else { &mut self.elsewhere };
            let is_surplus = |socket: &mut Socket| socket.closed && surplus.contains(&socket.inode);
            let gone: Vec<_> = list.extract_if(.., is_surplus).collect();
            for socket in &gone {
                self.add_closed(ClosedSockets::of(socket, here));
            }
        }
    }
}
