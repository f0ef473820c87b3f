//! The places of the ledger in one table: the meaning, the counter that reports each, and when it is unknown.
//!
//! `docs/ledger.md` has this table, and a test compares the two.

use std::fmt::Write;

use crate::ledger::Place;

/// Every place, in the order of the path.
pub const ALL: [Place; 16] = [
    Place::Unsent,
    Place::Transmit,
    Place::LinkQueue,
    Place::Link,
    Place::Driver,
    Place::Backlog,
    Place::Xdp,
    Place::Stack,
    Place::Filter,
    Place::FillRing,
    Place::Ring,
    Place::MethodQueue,
    Place::ApplicationQueue,
    Place::Unread,
    Place::Truncated,
    Place::Corrupt,
];

/// Description of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The key in `results.json`.
    pub key: &'static str,
    /// Meaning of a frame counted here.
    pub meaning: &'static str,
    /// The counter on capbench's virtual link.
    pub on_virtual_link: &'static str,
    /// The counter on a network card.
    pub on_card: &'static str,
    /// When no counter reports it.
    pub unknown: &'static str,
}

/// The row of a place.
pub const fn about(place: Place) -> About {
    match place {
        Place::Unsent => About {
            key: "unsent",
            meaning: "the generator was to send it and did not get to it",
            on_virtual_link: "generator",
            on_card: "generator",
            unknown: "never",
        },
        Place::Transmit => About {
            key: "transmit",
            meaning: "queueing discipline or driver of the sending side",
            on_virtual_link: "`tx_dropped` + `tx_errors`, less what the backlog refused; tracer: drops by tc at egress and \
                              by queueing disciplines",
            on_card: "`tx_dropped` + `tx_errors`; tracer as there",
            unknown: "without link statistics; without the tracer, drops in front of the driver are not seen",
        },
        Place::LinkQueue => About {
            key: "link_queue",
            meaning: "the queue of 256 frames in front of a veth's NAPI poll",
            on_virtual_link: "`tx_dropped` of the sender, where a poll takes the frames; else there is no such queue",
            on_card: "there is none",
            unknown: "without link statistics",
        },
        Place::Link => About {
            key: "link",
            meaning: "wire or card: no descriptor or buffer (missed), FIFO overrun, bad checksum or length",
            on_virtual_link: "`rx_missed`, `rx_fifo`, `rx_over`, `rx_crc`, `rx_length` and `rx_frame` errors",
            on_card: "the driver's own counters (`ethtool -S`); sender's `tx_packets` less receiver's `rx_packets`",
            unknown: "on cards that do not count it and whose two sides cannot be compared",
        },
        Place::Driver => About {
            key: "driver",
            meaning: "the receiving driver, for want of memory for example",
            on_virtual_link: "`rx_queue_N_drops`, less failed redirects",
            on_card: "the driver's own counters",
            unknown: "with drivers that are not in the table, or have no such counter",
        },
        Place::Backlog => About {
            key: "backlog",
            meaning: "the softirq backlog of a CPU was full (`net.core.netdev_max_backlog`)",
            on_virtual_link: "`dropped` of `/proc/net/softnet_stat`, each CPU named, as far as `tx_dropped` of the sender \
                              confirms it",
            on_card: "the same, as far as `rx_dropped` of the receiver, without its driver's own drops, confirms it",
            unknown: "where `/proc/net/softnet_stat` or link statistics are missing",
        },
        Place::Xdp => About {
            key: "xdp",
            meaning: "an XDP program dropped it, failed, or could not redirect it",
            on_virtual_link: "AF_XDP and `xdp-count`: their own counters; other programs: `xdp_drops` of the driver; tracer: \
                              generic XDP, failed redirects",
            on_card: "the same",
            unknown: "with a program of somebody else whose drops neither driver nor tracer counts; where the tracer counts them, \
                      as at `stack`",
        },
        Place::Stack => About {
            key: "stack",
            meaning: "the network stack dropped it in front of the capture point",
            on_virtual_link: "tracer: `skb:kfree_skb` by the kernel's reasons",
            on_card: "the same",
            unknown: "without the tracer: not asked for, no privilege, no BTF; where it missed events, saw drops of unknown place, \
                      or did not see every frame end; the source says which",
        },
        Place::Filter => About {
            key: "filter",
            meaning: "a socket filter dropped it on purpose",
            on_virtual_link: "0, as no filter drops frames of the trial; else unknown, as the kernel does not count it",
            on_card: "the same",
            unknown: "where a filter can drop frames of the trial",
        },
        Place::FillRing => About {
            key: "fill_ring",
            meaning: "AF_XDP's fill ring had no free buffer",
            on_virtual_link: "`XDP_STATISTICS`: `rx_fill_ring_empty_descs`, and the program's failed redirects",
            on_card: "the same, in copy mode; in zero-copy mode the card misses such a frame",
            unknown: "before Linux 5.9; where a program does not tell, unless its definition says that it has none",
        },
        Place::Ring => About {
            key: "ring",
            meaning: "ring or socket queue had no room",
            on_virtual_link: "`PACKET_STATISTICS`, `XDP_STATISTICS`, `pcap_stats`, the library's or the program's own report",
            on_card: "the same",
            unknown: "where a library or program does not tell, unless its definition says that it has none",
        },
        Place::MethodQueue => About {
            key: "method_queue",
            meaning: "queues of the method itself, between its threads or inside its library",
            on_virtual_link: "the method's own counters; 0 where it has none",
            on_card: "the same",
            unknown: "where the method may have such a queue and does not count",
        },
        Place::ApplicationQueue => About {
            key: "application_queue",
            meaning: "queues behind the method",
            on_virtual_link: "the application's own counters; 0 where it has none",
            on_card: "the same",
            unknown: "never",
        },
        Place::Unread => About {
            key: "unread",
            meaning: "it lay in ring or socket, unread, when the trial ended",
            on_virtual_link: "0 where a trial went on until every frame was accounted for or none came any more; where it was cut \
                              short, computed: what the method accepted, less its losses and the frames read",
            on_card: "the same",
            unknown: "where a trial was cut short and the method does not tell what it accepted or lost",
        },
        Place::Truncated => About {
            key: "truncated",
            meaning: "it was delivered cut short, though the snap length allowed it whole",
            on_virtual_link: "verification of every frame",
            on_card: "the same",
            unknown: "where a method or program only counts frames",
        },
        Place::Corrupt => About {
            key: "corrupt",
            meaning: "it was delivered damaged",
            on_virtual_link: "verification of every frame",
            on_card: "the same",
            unknown: "where a method or program only counts frames",
        },
    }
}

/// The table as Markdown.
pub fn table() -> String {
    let mut text = String::from(
        "| place | a frame stands here when | told, on capbench's own link, by | told, on a card, by | unknown |\n\
         |---|---|---|---|---|\n",
    );
    for place in ALL {
        let About { key, meaning, on_virtual_link, on_card, unknown } = about(place);
        let _ = writeln!(text, "| `{key}` | {meaning} | {on_virtual_link} | {on_card} | {unknown} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ALL, about, table};

    #[test]
    fn keys_are_those_of_the_results() {
        for place in ALL {
            let key = serde_json::to_value(place).unwrap();
            assert_eq!(key.as_str(), Some(about(place).key));
        }
    }

    /// `CAPBENCH_UPDATE_DOCS=1` writes the table into the file instead.
    #[test]
    fn the_documentation_has_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ledger.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (begin, end) = ("<!-- places -->\n", "<!-- end of places -->\n");
        let (before, rest) = text.split_once(begin).unwrap();
        let (written, after) = rest.split_once(end).unwrap();
        if std::env::var_os("CAPBENCH_UPDATE_DOCS").is_some() {
            std::fs::write(path, format!("{before}{begin}{}{end}{after}", table())).unwrap();
        } else {
            assert!(
                written == table(),
                "docs/ledger.md is behind: run this test with CAPBENCH_UPDATE_DOCS=1"
            );
        }
    }
}
