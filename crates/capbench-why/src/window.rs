//! The counts of a window of about 100 ms, for monitoring: short enough that a burst of loss does not vanish in a mean, and often
//! enough that little is missed of what owners of sockets reset.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use capbench_host::Result;
use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_host::links::Links;
use capbench_sys::host::clock;

use crate::captured;
use crate::look::{InterfaceWindow, Look};
use crate::sockets::records::KERNEL_TYPES;
use crate::sockets::{Method, Socket, Sockets, Source, are_processes_hidden};
use crate::watch::Watch;

/// Length of a window.
const WINDOW: Duration = Duration::from_millis(100);

/// Shortest time between the beginnings of two windows, as a multiple of the CPU time that the reading took. With very many
/// interfaces or processes windows become longer, instead of costing more than this share of a CPU.
const REST: u32 = 10;

/// The counts of a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// Those of each watched interface.
    pub interfaces: Vec<InterfaceWindow>,
    /// Open sockets that capture on a watched interface or on all interfaces.
    pub sockets: Vec<SocketWindow>,
    /// Why the losses of some sockets are unknown; absent if all are known.
    pub unknown: Option<String>,
}

/// A socket with its counts in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct SocketWindow {
    /// The socket.
    pub socket: Socket,
    /// Whether its owner was seen to reset the counters in the window.
    pub was_reset: bool,
}

/// Takes windows of several interfaces. The sockets of the host are read once for all of them.
#[derive(Debug)]
pub struct Sampler {
    links: Links,
    source: Source,
    namespace: u64,
    ledger: Ledger,
    next: Instant,
}

impl Sampler {
    /// Begins to read the sockets of the calling thread's network namespace; later calls must also be made in that namespace.
    ///
    /// # Errors
    /// If the kernel does not list the interfaces.
    pub fn new() -> Result<Self> {
        let links = Links::of_current_namespace()?;
        let (source, namespace) = captured::source(&links, Path::new(KERNEL_TYPES))?;
        let ledger = Ledger::new(&source.read());
        Ok(Self { links, source, namespace, ledger, next: Instant::now() + WINDOW })
    }

    /// Whether it reads maps of BPF programs.
    pub fn reads_maps(&self) -> bool {
        self.source.has_program()
    }

    /// Whether it must look into processes: for their sockets, or because `/proc` hides their names.
    pub fn searches_processes(&self) -> bool {
        !self.source.has_program() || are_processes_hidden()
    }

    /// The counts since the last window, if it is time for one. An interface that has disappeared is left out. The watches attend
    /// to the same reading of the sockets.
    pub fn window(&mut self, watches: &mut [Watch]) -> Option<Window> {
        let begin = Instant::now();
        if begin < self.next {
            return None;
        }
        let cpu_begin = clock::thread_cpu_ns();
        // Before the sockets: what counts at a socket, too, has counted there when the sockets are read.
        let softnet = SoftnetSnapshot::read().ok();
        let counters: Vec<_> = watches
            .iter()
            .map(|watch| softnet.as_ref().and_then(|softnet| watch.counters(softnet).ok()))
            .collect();
        let sockets = self.source.read();
        let count = watches.len();
        watches.iter_mut().for_each(|watch| watch.attend_to(&sockets, count));
        let mut window = self.ledger.window(&sockets, |socket| {
            let is_watched = |name: &String| watches.iter().any(|watch| watch.interface() == name);
            socket.namespace == self.namespace
                && socket.receives
                && (socket.every_interface || socket.interface.as_ref().is_some_and(is_watched))
        });
        for (watch, counters) in watches.iter_mut().zip(counters) {
            let refused = window.refused_on(watch.interface());
            let Some(counters) = counters else { continue };
            window.interfaces.extend(watch.window(counters, refused).ok());
        }
        let cost = Duration::from_nanos(clock::thread_cpu_ns() - cpu_begin);
        // Windows keep their distance. After a long stall they do not follow each other at once.
        self.next = (self.next + WINDOW).max(begin + WINDOW / 2).max(begin + REST * cost);
        Some(window)
    }

    /// The looks of watches at this moment, with one reading of the sockets for all of them.
    pub fn looks(&self, watches: &mut [Watch]) -> Vec<Result<Look>> {
        let sockets = self.source.read();
        watches.iter_mut().map(|watch| watch.look_at(&sockets)).collect()
    }

    /// The interfaces on which a socket captures, by the sockets of the last window.
    ///
    /// # Errors
    /// If the kernel does not list the interfaces.
    pub fn captured(&self) -> Result<Vec<String>> {
        captured::on_which(&self.links, self.ledger.last.values(), self.namespace)
    }
}

impl Window {
    /// Frames that AF_XDP sockets on an interface refused.
    fn refused_on(&self, interface: &str) -> u64 {
        let is_its = |socket: &&Socket| {
            socket.method == Method::AfXdp && socket.interface.as_deref() == Some(interface)
        };
        let sockets = self.sockets.iter().map(|window| &window.socket);
        sockets.filter(is_its).filter_map(|socket| socket.dropped).sum()
    }
}

/// The counters of each socket at the last reading.
#[derive(Debug)]
struct Ledger {
    last: HashMap<u64, Socket>,
}

impl Ledger {
    /// Begins with these counts.
    fn new(sockets: &Sockets) -> Self {
        Self { last: by_inode(sockets) }
    }

    /// The counts since the last reading, of wanted sockets. A new socket counts from 0.
    fn window(&mut self, now: &Sockets, is_wanted: impl Fn(&Socket) -> bool) -> Window {
        let last = std::mem::replace(&mut self.last, by_inode(now));
        let of = |socket: &Socket| {
            let before = last.get(&socket.inode);
            let was_reset = before.is_some_and(|before| socket.was_reset_since(before));
            SocketWindow {
                socket: before.map_or_else(|| socket.clone(), |before| socket.since(before)),
                was_reset,
            }
        };
        Window {
            interfaces: Vec::new(),
            sockets: now.all().filter(|socket| is_wanted(socket)).map(of).collect(),
            unknown: now.unknown.clone(),
        }
    }
}

fn by_inode(sockets: &Sockets) -> HashMap<u64, Socket> {
    sockets.all().map(|socket| (socket.inode, socket.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reading(sockets: &[(u64, u64)]) -> Sockets {
        let socket = |(inode, dropped): &(u64, u64)| Socket {
            inode: *inode,
            accepted: Some(2 * dropped),
            dropped: Some(*dropped),
            ..Socket::default()
        };
        Sockets { here: sockets.iter().map(socket).collect(), ..Sockets::default() }
    }

    #[test]
    fn losses_from_before_the_start_do_not_count_and_those_of_new_sockets_do() {
        let mut ledger = Ledger::new(&reading(&[(1, 100)]));
        let window = ledger.window(&reading(&[(1, 107), (2, 5)]), |_| true);
        let lost: Vec<_> = window.sockets.iter().map(|window| window.socket.dropped).collect();
        assert_eq!(lost, [Some(7), Some(5)]);
        assert!(window.sockets.iter().all(|window| !window.was_reset));
    }

    #[test]
    fn a_socket_that_was_closed_does_not_count_again() {
        let mut ledger = Ledger::new(&reading(&[]));
        assert_eq!(ledger.window(&reading(&[(1, 3)]), |_| true).sockets[0].socket.dropped, Some(3));
        assert!(ledger.window(&reading(&[]), |_| true).sockets.is_empty());
        // The kernel uses numbers again.
        assert_eq!(ledger.window(&reading(&[(1, 2)]), |_| true).sockets[0].socket.dropped, Some(2));
    }

    proptest! {
        #[test]
        fn the_sum_of_windows_is_what_was_lost_over_resets(
            steps in prop::collection::vec((0_u64..1000, any::<bool>()), 1..50),
        ) {
            let mut ledger = Ledger::new(&reading(&[(1, 0)]));
            let (mut counter, mut lost, mut sum, mut resets, mut seen) = (0, 0, 0, 0, 0);
            for (more, is_reset) in steps {
                // The owner reads its counters directly after a window. The next window shows that if fewer frames came since.
                if is_reset && more < counter {
                    (counter, resets) = (0, resets + 1);
                }
                (counter, lost) = (counter + more, lost + more);
                let window = ledger.window(&reading(&[(1, counter)]), |_| true);
                sum += window.sockets[0].socket.dropped.unwrap();
                seen += u64::from(window.sockets[0].was_reset);
            }
            prop_assert_eq!((sum, seen), (lost, resets));
        }
    }
}
