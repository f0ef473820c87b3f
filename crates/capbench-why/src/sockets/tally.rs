//! Adds up what sockets counted between readings that follow each other closely: owners reset counters whenever they read
//! them, and each time only what came since the reading before is lost to us. Sockets that were closed stay in the sum.

use std::collections::HashSet;

use super::Sockets;
use super::processes::Process;
use super::socket::Socket;

/// What sockets counted since a moment.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    last: Sockets,
    /// Since this was asked last.
    interval: Option<Sockets>,
    /// Since the beginning. No sum of intervals: in each interval other closed sockets have rows.
    total: Sockets,
}

impl Tally {
    /// Begins at this reading.
    pub(crate) fn new(first: Sockets) -> Self {
        Self { last: first, interval: None, total: Sockets::default() }
    }

    /// Adds what was counted since the last reading.
    pub(crate) fn add(&mut self, now: Sockets) {
        let came = now.since(&self.last);
        self.last = now;
        // Whose owner was once seen to read its counters stays marked.
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

    /// What was added since this was asked last.
    pub(crate) fn take(&mut self) -> Sockets {
        self.interval.take().unwrap_or_else(|| self.last.since(&self.last))
    }

    /// What was added since the beginning.
    pub(crate) fn total(&self) -> &Sockets {
        &self.total
    }
}

impl Sockets {
    /// Adds what was counted at the next reading. Of closed sockets a bounded number stays in the lists.
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
    /// The later one with the counts of both.
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
