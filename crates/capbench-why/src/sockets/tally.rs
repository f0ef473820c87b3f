//! Sums the counts of sockets between frequent reads. Owners reset counters whenever they read them; each time only the counts
//! since our last read are lost. Closed sockets stay in the sum.
//!
//! Programs that open and close sockets all the time would fill memory and the list of sockets. So the closed ones that lost most
//! are listed one by one, the others as sums by kind.

use std::cmp::Reverse;
use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Method, Socket, Sockets};

/// The counts of sockets since a moment.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    last: Sockets,
    /// Counts since the last [`Self::take`].
    interval: Option<Sockets>,
    /// Counts since the beginning. Not a sum of intervals: each interval lists other closed sockets.
    total: Sockets,
}

impl Tally {
    /// Begins with these counts.
    pub(crate) fn new(first: Sockets) -> Self {
        Self { last: first, interval: None, total: Sockets::default() }
    }

    /// Adds the counts since the last read.
    pub(crate) fn add(&mut self, now: Sockets) {
        let came = now.since(&self.last);
        self.last = now;
        // A socket stays marked once its owner was seen to read its counters.
        let read: HashSet<u64> =
            came.all().filter(|socket| socket.at_least).map(|socket| socket.inode).collect();
        for socket in self.last.here.iter_mut().chain(&mut self.last.elsewhere) {
            socket.at_least = read.contains(&socket.inode);
        }
        self.total.absorb(&came);
        match &mut self.interval {
            Some(interval) => interval.absorb(&came),
            interval => *interval = Some(came),
        }
    }

    /// Counts since the last call.
    pub(crate) fn take(&mut self) -> Sockets {
        self.interval.take().unwrap_or_else(|| self.last.since(&self.last))
    }

    /// Whether a socket here has lost frames since the beginning.
    pub(crate) fn has_lost(&self) -> bool {
        let total = &self.total;
        total.here.iter().any(|socket| socket.dropped > Some(0))
            || total.closed_here().any(|group| group.dropped > 0)
    }

    /// Counts since the beginning.
    pub(crate) fn total(&self) -> &Sockets {
        &self.total
    }
}

impl Sockets {
    /// Adds the counts of the next read. A limited number of closed sockets stays in the lists.
    fn absorb(&mut self, later: &Self) {
        let earlier = std::mem::replace(self, later.clone());
        let before = earlier.by_inode();
        for socket in self.here.iter_mut().chain(&mut self.elsewhere) {
            if let Some(before) = before.get(&socket.inode) {
                *socket = before.plus(socket);
            }
        }
        let open: HashSet<u64> = later.all().map(|socket| socket.inode).collect();
        for (list, before) in [(&mut self.here, earlier.here), (&mut self.elsewhere, earlier.elsewhere)] {
            let gone = before.into_iter().filter(|socket| !open.contains(&socket.inode));
            list.extend(gone.map(|socket| Socket { closed: true, ..socket }));
        }
        self.closed = earlier.closed;
        self.keep_worst_closed();
    }

    /// The sums of closed sockets that captured on the interface.
    pub fn closed_here(&self) -> impl Iterator<Item = &ClosedSockets> {
        self.closed.iter().filter(|group| group.here)
    }

    /// Adds closed sockets to the sum of their kind.
    fn add_closed(&mut self, more: ClosedSockets) {
        let kind = |group: &ClosedSockets| (group.here, group.method, group.every_interface);
        match self.closed.iter_mut().find(|group| kind(group) == kind(&more)) {
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

    /// Keeps the [`KEPT`] closed sockets that lost most in the lists, and sums the others.
    fn keep_worst_closed(&mut self) {
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

/// Number of closed sockets that stay in the lists.
pub(super) const KEPT: usize = 64;

/// Sum of closed sockets of one kind that are in no list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClosedSockets {
    /// Whether they captured on the interface, like those of [`Sockets::here`].
    pub here: bool,
    /// Their capture method.
    pub method: Method,
    /// Whether they received frames of every interface of their namespace.
    pub every_interface: bool,
    /// Number of sockets.
    pub sockets: u64,
    /// Frames that they received, as far as known. AF_XDP does not count them.
    pub accepted: u64,
    /// Frames that they lost because buffers were full, as far as known.
    pub dropped: u64,
    /// Number of sockets with unknown losses.
    pub unknown: u64,
    /// Whether an owner was seen to read, and thereby reset, the counters: then they are lower bounds.
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

    /// Frames that they lost; absent if the loss of one of them is unknown.
    pub fn dropped(&self) -> Option<u64> {
        (self.unknown == 0).then_some(self.dropped)
    }
}
