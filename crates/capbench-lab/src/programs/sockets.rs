//! The packet sockets of the calling thread's network namespace: `/proc/net/packet` (net/packet/af_packet.c).

use capbench_sys::host::InterfaceIndex;

use crate::Result;
use capbench_host::HostError;

/// `/proc/net` would show the namespace of the process's first thread.
const FILE: &str = "/proc/thread-self/net/packet";

/// A packet socket that receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    /// Its unique number.
    inode: u64,
    /// Bytes that wait in its queue; 0 if it has a ring.
    queued: u64,
}

/// Sockets that receive on one interface.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Sockets(Vec<Socket>);

impl Sockets {
    /// Sockets that receive on `interface` now.
    pub(super) fn on(interface: InterfaceIndex) -> Result<Self> {
        let text = std::fs::read_to_string(FILE).map_err(|source| HostError::reading(FILE, source))?;
        Ok(Self(parse(&text, interface)))
    }

    /// Whether there is a socket that `before` does not have.
    pub(super) fn has_more_than(&self, before: &Self) -> bool {
        self.0.iter().any(|socket| !before.0.iter().any(|known| known.inode == socket.inode))
    }

    /// The inodes of sockets that `before` does not have.
    pub(super) fn inodes(&self, before: &Self) -> Vec<u64> {
        let new = self.0.iter().map(|socket| socket.inode);
        new.filter(|inode| !before.0.iter().any(|known| known.inode == *inode)).collect()
    }

    /// Bytes that wait in the queues of sockets that `before` does not have.
    pub(super) fn queued(&self, before: &Self) -> u64 {
        let others = self.0.iter().filter(|socket| !before.0.iter().any(|known| known.inode == socket.inode));
        others.map(|socket| socket.queued).sum()
    }
}

/// Columns: sk RefCnt Type Proto Iface R Rmem User Inode. A bound socket that is not running (R) receives no frames yet: libpcap
/// binds one before it sets up the ring.
fn parse(text: &str, interface: InterfaceIndex) -> Vec<Socket> {
    let socket = |line: &str| {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        let number = |column: usize| columns.get(column)?.parse::<u64>().ok();
        let receives = number(4)? == u64::from(interface.number()) && number(5)? == 1;
        receives.then_some(Socket { inode: number(8)?, queued: number(6)? })
    };
    text.lines().skip(1).filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::InterfaceIndex;

    use super::{Socket, Sockets, parse};

    const TEXT: &str = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
        000000009d3432c6 2      3    0000   2     0 0      0      1536429\n\
        000000001ed254fd 3      3    0003   2     1 4608   0      1536508\n\
        000000001ed254fe 3      3    0003   4     1 0      0      1536509\n";

    #[test]
    fn a_socket_that_is_bound_but_not_running_does_not_receive() {
        let on = |index| parse(TEXT, InterfaceIndex::new(index).unwrap());
        assert_eq!(on(2), [Socket { inode: 1536508, queued: 4608 }]);
        assert_eq!(on(4).len(), 1);
        assert!(on(3).is_empty() && parse("", InterfaceIndex::new(1).unwrap()).is_empty());
        assert!(parse("head\nx y\n1 2 3 4 2 1\n", InterfaceIndex::new(2).unwrap()).is_empty());
    }

    #[test]
    fn sockets_that_were_there_before_do_not_count() {
        let [old, new] = [1, 2].map(|inode| Socket { inode, queued: 100 * inode });
        let before = Sockets(vec![old]);
        assert_eq!(Sockets(vec![old, new]).inodes(&before), [2]);
        assert!(!before.has_more_than(&before) && Sockets(vec![old, new]).has_more_than(&before));
        assert_eq!(Sockets(vec![old, new]).queued(&before), 200);
    }
}
