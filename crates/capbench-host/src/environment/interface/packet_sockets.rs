//! Foreign packet sockets on an interface: a socket that receives all protocols adds cost to every frame.

use capbench_model::environment::interface::PacketSockets;
use capbench_sys::host::InterfaceIndex;

use crate::environment::tree::{Directory, Tree};

/// Of the calling thread's network namespace; `/proc/net` would show that of the process's first thread.
const FILE: &str = "proc/thread-self/net/packet";
/// ETH_P_ALL in the file's notation.
const EVERY_PROTOCOL: &str = "0003";
/// The file's value for an unbound socket, which receives from all interfaces.
const EVERY_INTERFACE: u32 = 0;

/// Packet sockets on an interface of the calling thread's network namespace; `None` if the file cannot be read.
pub(super) fn on(interface: InterfaceIndex) -> Option<PacketSockets> {
    parse(&Directory::of_host().text(FILE)?, interface.number())
}

/// `None` if the text lacks the columns. A socket that is not running (R) gets no frames: it only sends, or is not bound yet.
fn parse(text: &str, interface: u32) -> Option<PacketSockets> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let column = |name: &str| head.iter().position(|column| *column == name);
    let [protocol, bound, runs] = [column("Proto")?, column("Iface")?, column("R")?];
    let mut sockets = PacketSockets::default();
    for line in lines {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let of = |column: usize| columns.get(column).copied();
        let bound_to = of(bound).and_then(|number| number.parse::<u32>().ok());
        let receives = of(runs) == Some("1");
        if !receives || !bound_to.is_some_and(|bound| [EVERY_INTERFACE, interface].contains(&bound)) {
            continue;
        }
        match of(protocol) == Some(EVERY_PROTOCOL) {
            true => sockets.of_all_protocols += 1,
            false => sockets.of_one_protocol += 1,
        }
    }
    Some(sockets)
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
        let on = |interface| parse(text, interface).unwrap();
        assert_eq!(on(2), PacketSockets { of_all_protocols: 2, of_one_protocol: 1 });
        assert_eq!(on(4), PacketSockets { of_all_protocols: 2, of_one_protocol: 0 });
        assert_eq!(on(7), PacketSockets { of_all_protocols: 1, of_one_protocol: 0 });
        let none = text.lines().next().unwrap();
        assert_eq!(parse(none, 2), Some(PacketSockets::default()));
        assert_eq!((parse("", 2), parse("sk Proto\n", 2)), (None, None));
    }

    #[test]
    fn this_namespace_tells_its_sockets() {
        assert!(on(interface::index_of("lo").unwrap()).is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(Proto Iface R\\n)?.{0,80}\\n.{0,40}", interface: u32) {
            let _ = parse(&text, interface);
        }
    }
}
