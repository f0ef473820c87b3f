//! Adds up what sockets counted between readings that follow each other closely: owners reset counters whenever they read
//! them, and each time only what came since the reading before is lost to us. Sockets that were closed stay in the sum.

use super::Sockets;
use super::processes::Process;
use super::socket::Socket;

/// What sockets counted since a moment.
#[derive(Debug, Clone)]
pub(in crate::why) struct Tally {
    last: Sockets,
    sum: Option<Sockets>,
}

impl Tally {
    /// Begins at this reading.
    pub(in crate::why) fn new(first: Sockets) -> Self {
        Self { last: first, sum: None }
    }

    /// Adds what was counted since the last reading.
    pub(in crate::why) fn add(&mut self, now: Sockets) {
        let came = now.since(&self.last);
        self.last = now;
        // Whose owner was once seen to read its counters stays marked.
        for socket in self.last.here.iter_mut().chain(&mut self.last.elsewhere) {
            socket.at_least = came.by_inode(socket.inode).is_some_and(|came| came.at_least);
        }
        match &mut self.sum {
            Some(sum) => sum.absorb(&came),
            sum => *sum = Some(came),
        }
    }

    /// What was added since this was asked last.
    pub(in crate::why) fn take(&mut self) -> Sockets {
        self.sum.take().unwrap_or_else(|| self.last.since(&self.last))
    }
}

impl Sockets {
    /// Adds what was counted after it.
    pub(in crate::why) fn absorb(&mut self, later: &Self) {
        let earlier = std::mem::replace(self, later.clone());
        for socket in self.here.iter_mut().chain(&mut self.elsewhere) {
            if let Some(before) = earlier.by_inode(socket.inode) {
                *socket = before.plus(socket);
            }
        }
        for (list, before) in [(&mut self.here, earlier.here), (&mut self.elsewhere, earlier.elsewhere)] {
            let gone = before.into_iter().filter(|socket| later.by_inode(socket.inode).is_none());
            list.extend(gone.map(|socket| Socket { closed: true, ..socket }));
        }
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
