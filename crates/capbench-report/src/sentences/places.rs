//! Every place where a frame can be lost, in words: its name, the counter that reports it, and when it is unknown.
//!
//! `docs/ledger.md` has the ledger's part of this table, and a test compares the two.

use std::fmt::Write;

use capbench_model::places::{ALL, Place};

/// Description of a place. Only places of the ledger name their counters.
#[derive(Debug)]
pub struct About {
    /// Meaning of a frame counted here.
    pub meaning: &'static str,
    /// The counter on capbench's virtual link.
    pub on_virtual_link: &'static str,
    /// The counter on a network card.
    pub on_card: &'static str,
    /// When no counter reports it.
    pub unknown: &'static str,
}

/// The place's name in sentences.
pub const fn words(place: Place) -> &'static str {
    match place {
        Place::Unsent => "never sent by the generator",
        Place::Transmit => "on the transmit side",
        Place::LinkQueue => "in the virtual link's own queue of 256 frames, before the method",
        Place::Path => "between the two interfaces",
        Place::Link => "on the link or in the NIC",
        Place::Driver => "in the driver",
        Place::Backlog => "in the softirq backlog",
        Place::Xdp => "in XDP",
        Place::Stack => "in the network stack",
        Place::Filter => "at the socket filter",
        Place::FillRing => "without a free buffer (fill ring)",
        Place::Ring => "in the ring or socket queue",
        Place::MethodQueue => "in the method's queues",
        Place::ApplicationQueue => "in the application's queue",
        Place::Unread => "unread at the end",
        Place::Truncated => "cut short",
        Place::Corrupt => "damaged",
        Place::Nic => "in the NIC",
        Place::Writer => "at the output",
    }
}

/// The description of a place.
pub const fn about(place: Place) -> About {
    match place {
        Place::Unsent => About {
            meaning: "the generator was to send it and had no time for it",
            on_virtual_link: "generator",
            on_card: "generator",
            unknown: "never",
        },
        Place::Transmit => About {
            meaning: "queueing discipline or driver of the sending side",
            on_virtual_link: "`tx_dropped` + `tx_errors`, less what the backlog refused; tracer: drops by tc at egress and by queueing disciplines",
            on_card: "`tx_dropped` + `tx_errors`; tracer as there",
            unknown: "without link statistics; without the tracer, drops in front of the driver are not seen",
        },
        Place::LinkQueue => About {
            meaning: "the queue of 256 frames in front of a veth's NAPI poll",
            on_virtual_link: "`tx_dropped` of the sender, where a poll takes the frames; else there is no such queue",
            on_card: "there is none",
            unknown: "without link statistics",
        },
        Place::Path => About {
            meaning: "cable, switch or tap: the sending interfaces counted it out, the receiving one did not count it in nor lose it",
            on_virtual_link: "there is nothing between its ends",
            on_card: "the senders' `tx_packets` less the receiver's `rx_packets` and what its card, driver and backlog lost",
            unknown: "unless the drivers of all interfaces are known to count each frame once and the receiving card to count what it loses; where a counter contradicts the frames sent or captured; with foreign frames",
        },
        Place::Link => About {
            meaning: "the card, or the wire as far as the card sees it: no descriptor or buffer (missed), FIFO overrun, bad checksum or length",
            on_virtual_link: "`rx_missed`, `rx_fifo`, `rx_over`, `rx_crc`, `rx_length` and `rx_frame` errors",
            on_card: "the driver's own counters (`ethtool -S`); where `path` is unknown, also what is missing between the senders' `tx_packets` and the receiver's `rx_packets`",
            unknown: "on cards that do not count it and whose two sides cannot be compared",
        },
        Place::Driver => About {
            meaning: "the receiving driver, for example because it had no memory",
            on_virtual_link: "`rx_queue_N_drops`, less failed redirects",
            on_card: "the driver's own counters",
            unknown: "with drivers that are not in the table, or have no such counter",
        },
        Place::Backlog => About {
            meaning: "the softirq backlog of a CPU was full (`net.core.netdev_max_backlog`)",
            on_virtual_link: "`dropped` of `/proc/net/softnet_stat`, each CPU named, as far as `tx_dropped` of the sender confirms it; tracer: no more than it saw refused on the receiving interface",
            on_card: "the same, as far as `rx_dropped` of the receiver, without its driver's own drops, confirms it",
            unknown: "where `/proc/net/softnet_stat` or link statistics are missing",
        },
        Place::Xdp => About {
            meaning: "an XDP program dropped it, failed, or could not redirect it",
            on_virtual_link: "AF_XDP and `xdp-count`: their own counters; other programs: `xdp_drops` of the driver; tracer: generic XDP, failed redirects",
            on_card: "the same",
            unknown: "with a foreign program whose drops neither driver nor tracer counts; where the tracer counts them, as at `stack`",
        },
        Place::Stack => About {
            meaning: "the network stack dropped it in front of the capture point",
            on_virtual_link: "tracer: `skb:kfree_skb` by the kernel's reasons",
            on_card: "the same",
            unknown: "without the tracer: not asked for, no privilege, no BTF; where it missed events, saw drops of unknown place, or did not see every frame end; the source says which",
        },
        Place::Filter => About {
            meaning: "a socket filter dropped it on purpose",
            on_virtual_link: "0, as no filter drops frames of the trial; else unknown, as the kernel does not count it",
            on_card: "the same",
            unknown: "where a filter can drop frames of the trial",
        },
        Place::FillRing => About {
            meaning: "AF_XDP's fill ring had no free buffer",
            on_virtual_link: "`XDP_STATISTICS`: `rx_fill_ring_empty_descs`, and the program's failed redirects",
            on_card: "the same, in copy mode; in zero-copy mode the card misses such a frame",
            unknown: "before Linux 5.9; where a program does not report it, unless its definition says that it has none",
        },
        Place::Ring => About {
            meaning: "ring or socket queue had no room",
            on_virtual_link: "`PACKET_STATISTICS`, `XDP_STATISTICS`, `pcap_stats`, the library's or the program's own report",
            on_card: "the same",
            unknown: "where a library or program does not report it, unless its definition says that it has none",
        },
        Place::MethodQueue => About {
            meaning: "queues of the method itself, between its threads or inside its library",
            on_virtual_link: "the method's own counters; 0 where it has none",
            on_card: "the same",
            unknown: "where the method may have such a queue and does not count",
        },
        Place::ApplicationQueue => About {
            meaning: "queues behind the method",
            on_virtual_link: "the application's own counters; 0 where it has none",
            on_card: "the same",
            unknown: "never",
        },
        Place::Unread => About {
            meaning: "it was in ring or socket, unread, when the trial ended",
            on_virtual_link: "0 where a trial went on until every frame was accounted for or none came any more; where it was cut short, computed: what the method accepted, less its losses and the frames read. Of a program: counted in its sockets and rings when it had ended",
            on_card: "the same",
            unknown: "where a trial was cut short and the method does not report what it accepted or lost; where a program captures by another way than a packet socket, or its sockets cannot be opened",
        },
        Place::Truncated => About {
            meaning: "it was delivered cut short, though the snap length allowed it whole",
            on_virtual_link: "verification of every frame",
            on_card: "the same",
            unknown: "where a method or program only counts frames",
        },
        Place::Corrupt => About {
            meaning: "it was delivered damaged",
            on_virtual_link: "verification of every frame",
            on_card: "the same",
            unknown: "where a method or program only counts frames",
        },
        Place::Nic => About {
            meaning: "the NIC had no free buffer: `why` distinguishes it from damage on the link",
            on_virtual_link: "",
            on_card: "",
            unknown: "",
        },
        Place::Writer => About {
            meaning: "the output was too slow, or could not be written: for `record`",
            on_virtual_link: "",
            on_card: "",
            unknown: "",
        },
    }
}

/// The table as Markdown.
pub fn table() -> String {
    let mut text = String::from(
        "| place | a frame counts here when | counter on capbench's own link | counter on a card | unknown |\n\
         |---|---|---|---|---|\n",
    );
    for place in ALL {
        let About { meaning, on_virtual_link, on_card, unknown } = about(place);
        let key = place.key();
        let _ = writeln!(text, "| `{key}` | {meaning} | {on_virtual_link} | {on_card} | {unknown} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use capbench_chart::chart::Role;
    use capbench_chart::palette;

    use super::{ALL, table, words};

    /// Charts know a place by its words.
    #[test]
    fn every_place_has_a_colour_by_its_words() {
        for place in ALL {
            let by_key = palette::colour(Role::Place, place.key(), 3);
            assert_eq!(palette::colour(Role::Place, words(place), 4), by_key, "{place:?}");
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
