//! Every place where a frame can be lost, in one table: its names, the counter that reports it, and when it is unknown.
//!
//! `docs/ledger.md` has the ledger's part of this table, and a test compares the two.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// Declares the places with their rows.
macro_rules! places {
    ($(
        $(#[$attribute:meta])*
        $place:ident $key:literal $phrase:literal
        means $meaning:literal $(veth $veth:literal card $card:literal unknown $unknown:literal)?;
    )+) => {
        /// A place on a frame's path where it can be lost, in the order of the path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Place {
            $(#[doc = $meaning] $(#[$attribute])* $place,)+
        }

        const TABLE: &[About] = &[$(About {
            key: $key,
            phrase: $phrase,
            meaning: $meaning,
            on_virtual_link: concat!($($veth)?),
            on_card: concat!($($card)?),
            unknown: concat!($($unknown)?),
        }),+];
    };
}

/// Description of a place. Only places of the ledger name their counters.
#[derive(Debug)]
pub struct About {
    /// Its name in results files and tables.
    pub key: &'static str,
    /// The place's name in sentences.
    pub phrase: &'static str,
    /// Meaning of a frame counted here.
    pub meaning: &'static str,
    /// The counter on capbench's virtual link.
    pub on_virtual_link: &'static str,
    /// The counter on a network card.
    pub on_card: &'static str,
    /// When no counter reports it.
    pub unknown: &'static str,
}

places! {
    Unsent "unsent" "never sent by the generator"
        means "the generator was to send it and had no time for it"
        veth "generator"
        card "generator"
        unknown "never";
    Transmit "transmit" "on the transmit side"
        means "queueing discipline or driver of the sending side"
        veth "`tx_dropped` + `tx_errors`, less what the backlog refused; tracer: drops by tc at egress and by \
              queueing disciplines"
        card "`tx_dropped` + `tx_errors`; tracer as there"
        unknown "without link statistics; without the tracer, drops in front of the driver are not seen";
    // The aliases were the names in earlier files of soaks.
    #[serde(alias = "queue")]
    LinkQueue "link_queue" "in the virtual link's own queue of 256 frames, before the method"
        means "the queue of 256 frames in front of a veth's NAPI poll"
        veth "`tx_dropped` of the sender, where a poll takes the frames; else there is no such queue"
        card "there is none"
        unknown "without link statistics";
    Path "path" "between the two interfaces"
        means "cable, switch or tap: the sending interfaces counted it out, the receiving one did not count it in \
               nor lose it"
        veth "there is nothing between its ends"
        card "the senders' `tx_packets` less the receiver's `rx_packets` and what its card, driver and backlog lost"
        unknown "unless the drivers of all interfaces are known to count each frame once and the receiving card to \
                 count what it loses; where a counter contradicts the frames sent or captured; with foreign frames";
    Link "link" "on the link or in the NIC"
        means "the card, or the wire as far as the card sees it: no descriptor or buffer (missed), FIFO overrun, \
               bad checksum or length"
        veth "`rx_missed`, `rx_fifo`, `rx_over`, `rx_crc`, `rx_length` and `rx_frame` errors"
        card "the driver's own counters (`ethtool -S`); where `path` is unknown, also what is missing between the \
              senders' `tx_packets` and the receiver's `rx_packets`"
        unknown "on cards that do not count it and whose two sides cannot be compared";
    Driver "driver" "in the driver"
        means "the receiving driver, for example because it had no memory"
        veth "`rx_queue_N_drops`, less failed redirects"
        card "the driver's own counters"
        unknown "with drivers that are not in the table, or have no such counter";
    Backlog "backlog" "in the softirq backlog"
        means "the softirq backlog of a CPU was full (`net.core.netdev_max_backlog`)"
        veth "`dropped` of `/proc/net/softnet_stat`, each CPU named, as far as `tx_dropped` of the sender \
              confirms it; tracer: no more than it saw refused on the receiving interface"
        card "the same, as far as `rx_dropped` of the receiver, without its driver's own drops, confirms it"
        unknown "where `/proc/net/softnet_stat` or link statistics are missing";
    Xdp "xdp" "in XDP"
        means "an XDP program dropped it, failed, or could not redirect it"
        veth "AF_XDP and `xdp-count`: their own counters; other programs: `xdp_drops` of the driver; tracer: \
              generic XDP, failed redirects"
        card "the same"
        unknown "with a foreign program whose drops neither driver nor tracer counts; where the tracer \
                 counts them, as at `stack`";
    Stack "stack" "in the network stack"
        means "the network stack dropped it in front of the capture point"
        veth "tracer: `skb:kfree_skb` by the kernel's reasons"
        card "the same"
        unknown "without the tracer: not asked for, no privilege, no BTF; where it missed events, saw drops of \
                 unknown place, or did not see every frame end; the source says which";
    Filter "filter" "at the socket filter"
        means "a socket filter dropped it on purpose"
        veth "0, as no filter drops frames of the trial; else unknown, as the kernel does not count it"
        card "the same"
        unknown "where a filter can drop frames of the trial";
    #[serde(alias = "fill")]
    FillRing "fill_ring" "without a free buffer (fill ring)"
        means "AF_XDP's fill ring had no free buffer"
        veth "`XDP_STATISTICS`: `rx_fill_ring_empty_descs`, and the program's failed redirects"
        card "the same, in copy mode; in zero-copy mode the card misses such a frame"
        unknown "before Linux 5.9; where a program does not report it, unless its definition says that it has none";
    Ring "ring" "in the ring or socket queue"
        means "ring or socket queue had no room"
        veth "`PACKET_STATISTICS`, `XDP_STATISTICS`, `pcap_stats`, the library's or the program's own report"
        card "the same"
        unknown "where a library or program does not report it, unless its definition says that it has none";
    #[serde(alias = "method")]
    MethodQueue "method_queue" "in the method's queues"
        means "queues of the method itself, between its threads or inside its library"
        veth "the method's own counters; 0 where it has none"
        card "the same"
        unknown "where the method may have such a queue and does not count";
    #[serde(alias = "app")]
    ApplicationQueue "application_queue" "in the application's queue"
        means "queues behind the method"
        veth "the application's own counters; 0 where it has none"
        card "the same"
        unknown "never";
    Unread "unread" "unread at the end"
        means "it was in ring or socket, unread, when the trial ended"
        veth "0 where a trial went on until every frame was accounted for or none came any more; where it was \
              cut short, computed: what the method accepted, less its losses and the frames read. Of a program: counted \
              in its sockets and rings when it had ended"
        card "the same"
        unknown "where a trial was cut short and the method does not report what it accepted or lost; where a program \
                 captures by another way than a packet socket, or its sockets cannot be opened";
    #[serde(alias = "cut")]
    Truncated "truncated" "cut short"
        means "it was delivered cut short, though the snap length allowed it whole"
        veth "verification of every frame"
        card "the same"
        unknown "where a method or program only counts frames";
    #[serde(alias = "damage")]
    Corrupt "corrupt" "damaged"
        means "it was delivered damaged"
        veth "verification of every frame"
        card "the same"
        unknown "where a method or program only counts frames";
    #[serde(skip)]
    Nic "nic" "in the NIC"
        means "the NIC had no free buffer: `why` distinguishes it from damage on the link";
    #[serde(skip)]
    Writer "writer" "at the output"
        means "the output was too slow, or could not be written: for `record`";
}

/// Every place of the ledger, in the order of the path.
pub const ALL: [Place; 17] = [
    Place::Unsent,
    Place::Transmit,
    Place::LinkQueue,
    Place::Path,
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

impl Place {
    /// Whether frames wait there for the application, so that a slow application loses them.
    pub fn is_before_application(self) -> bool {
        matches!(
            self,
            Self::Ring | Self::FillRing | Self::MethodQueue | Self::ApplicationQueue | Self::Unread
        )
    }

    /// Whether frames lost there had reached the capture point and count as accepted.
    pub fn is_accepted(self) -> bool {
        matches!(
            self,
            Self::FillRing | Self::Ring | Self::MethodQueue | Self::ApplicationQueue | Self::Writer
        )
    }

    /// Its name in results files and tables.
    pub fn key(self) -> &'static str {
        about(self).key
    }

    /// The place's name in sentences.
    pub fn words(self) -> &'static str {
        about(self).phrase
    }
}

/// The row of a place.
pub const fn about(place: Place) -> &'static About {
    &TABLE[place as usize]
}

/// The table as Markdown.
pub fn table() -> String {
    let mut text = String::from(
        "| place | a frame counts here when | counter on capbench's own link | counter on a card | unknown |\n\
         |---|---|---|---|---|\n",
    );
    for place in ALL {
        let About { key, meaning, on_virtual_link, on_card, unknown, .. } = about(place);
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
