//! Sums the counts of sockets between frequent reads. Owners reset counters whenever they read them; each time only the counts
//! since our last read are lost. Closed sockets stay in the sum.

use std::collections::HashSet;

use super::Sockets;
use super::processes::Process;
use super::socket::Socket;

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
}

impl Socket {
    /// The later socket with the counts of both.
    fn plus(&self, later: &Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        let processes = later.processes.iter().map(|process| {
            let before = self.processes.iter().find(|other| other.pid == process.pid);
            let cpu_s = match (before.and_then(|before| before.cpu_s), process.cpu_s) {
                (Some(before), Some(now)) => Some(before + now),
                (before, now) => before.or(now),
            };
            Process { cpu_s, ..process.clone() }
        });
        Self {
            processes: processes.collect(),
            accepted: sum(self.accepted, later.accepted),
            dropped: sum(self.dropped, later.dropped),
            ring_full: sum(self.ring_full, later.ring_full),
            fill_empty: sum(self.fill_empty, later.fill_empty),
            freezes: sum(self.freezes, later.freezes),
            at_least: self.at_least || later.at_least,
            closed: later.closed,
            ..later.clone()
        }
    }
}
