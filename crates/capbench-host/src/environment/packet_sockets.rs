//! Packet sockets of other programs: a socket that receives all protocols adds cost to every frame.

use capbench_model::environment::interface::PacketSockets;
use capbench_sys::host::InterfaceIndex;

use super::tree::{Directory, Tree};

/// A line of `/proc/net/packet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Whether it is for all protocols (ETH_P_ALL).
    pub(super) takes_all: bool,
    /// The interface that it is bound to; 0 if it receives from all of them.
    interface: Option<u32>,
    /// A socket that does not run gets no frames: it only sends, or is not bound yet.
    runs: bool,
}

/// The sockets in the text of `/proc/net/packet`; `None` if the text lacks the columns.
pub(super) fn parse(text: &str) -> Option<Vec<Listed>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let column = |name: &str| head.iter().position(|column| *column == name);
    let [protocol, bound, runs] = [column("Proto")?, column("Iface")?, column("R")?];
    let listed = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let of = |column: usize| columns.get(column).copied();
        Listed {
            takes_all: of(protocol) == Some("0003"),
            interface: of(bound).and_then(|number| number.parse().ok()),
            runs: of(runs) == Some("1"),
        }
    };
    Some(lines.filter(|line| !line.trim().is_empty()).map(listed).collect())
}

/// Packet sockets on an interface of the calling thread's network namespace; `None` if the file cannot be read.
pub(super) fn on(interface: InterfaceIndex) -> Option<PacketSockets> {
    // `/proc/net` would show the namespace of the process's first thread.
    Some(count(&parse(&Directory::of_host().text("proc/thread-self/net/packet")?)?, interface.number()))
}

fn count(sockets: &[Listed], interface: u32) -> PacketSockets {
    let is_on = |socket: &&Listed| socket.runs && [Some(0), Some(interface)].contains(&socket.interface);
    let (all, one): (Vec<&Listed>, Vec<&Listed>) =
        sockets.iter().filter(is_on).partition(|socket| socket.takes_all);
    PacketSockets { of_all_protocols: all.len() as u64, of_one_protocol: one.len() as u64 }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sockets_count_where_they_receive() {
        let text = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                    0000000000000000 3      3    0003   2     1 0      0      31337\n\
                    0000000000000000 3      2    88cc   2     1 0      100    31338\n\
                    0000000000000000 3      3    0003   0     1 0      0      31339\n\
                    0000000000000000 3      3    0003   4     1 0      0      31340\n\
                    0000000000000000 3      3    0000   2     0 0      0      31341\n";
        let all = parse(text).unwrap();
        assert_eq!((all.len(), all.iter().filter(|socket| socket.takes_all).count()), (5, 3));
        let on = |interface| count(&all, interface);
        assert_eq!(on(2), PacketSockets { of_all_protocols: 2, of_one_protocol: 1 });
        assert_eq!(on(4), PacketSockets { of_all_protocols: 2, of_one_protocol: 0 });
        assert_eq!(on(7), PacketSockets { of_all_protocols: 1, of_one_protocol: 0 });
        let none = text.lines().next().unwrap();
        assert_eq!((parse(none), parse(""), parse("sk Proto\n")), (Some(Vec::new()), None, None));
    }

    #[test]
    fn the_sockets_of_this_namespace_are_listed() {
        assert!(on(interface::index_of("lo").unwrap()).is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Proto Iface R\\n)?.{0,80}\\n.{0,40}", interface: u32) {
            let _ = parse(&text).map(|all| count(&all, interface));
        }
    }
}
