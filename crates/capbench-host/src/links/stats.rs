//! The counters of an interface: `struct rtnl_link_stats64` of linux/if_link.h.

/// Declares the counters once, in the kernel's order, with all functions that iterate over them.
macro_rules! link_stats {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counters of an interface since its creation: packets or bytes, 64 bits wide, never reset by reading.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct LinkStats {
            $($(#[$doc])* pub $name: u64,)+
            /// Packets dropped because they were addressed to another host (Linux 5.19); `None` before.
            pub rx_otherhost_dropped: Option<u64>,
        }

        /// Counts in an interval; `None` if the counter decreased, because the interface was recreated or its driver reset: the
        /// count in between is unknown.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct LinkDeltas {
            $($(#[$doc])* pub $name: Option<u64>,)+
            /// Packets dropped because they were addressed to another host; `None` before Linux 5.19, too.
            pub rx_otherhost_dropped: Option<u64>,
        }

        impl LinkDeltas {
            /// Names of the counters that decreased.
            pub fn went_back(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name)),+];
                all.into_iter().filter(|(_, count)| count.is_none()).map(|(name, _)| name).collect()
            }

            /// The sum of both intervals.
            pub fn plus(&self, later: &Self) -> Self {
                let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
                Self {
                    $($name: sum(self.$name, later.$name),)+
                    rx_otherhost_dropped: sum(self.rx_otherhost_dropped, later.rx_otherhost_dropped),
                }
            }
        }

        impl From<&LinkStats> for LinkDeltas {
            /// Counts that are all known.
            fn from(counted: &LinkStats) -> Self {
                Self { $($name: Some(counted.$name),)+ rx_otherhost_dropped: counted.rx_otherhost_dropped }
            }
        }

        impl LinkStats {
            /// Count of each since `before`.
            pub fn each_since(&self, before: &Self) -> LinkDeltas {
                let otherhost = self.rx_otherhost_dropped.zip(before.rx_otherhost_dropped);
                LinkDeltas {
                    $($name: self.$name.checked_sub(before.$name),)+
                    rx_otherhost_dropped: otherhost.and_then(|(now, then)| now.checked_sub(then)),
                }
            }

            /// The counters in the attribute IFLA_STATS64; `None` if it is shorter than in Linux 4.6.
            pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
                let mut words = words(bytes);
                Some(Self { $($name: words.next()?,)+ rx_otherhost_dropped: words.next() })
            }

            /// The counts of two interfaces together.
            pub fn plus(&self, other: &Self) -> Self {
                let otherhost = self.rx_otherhost_dropped.zip(other.rx_otherhost_dropped);
                Self {
                    $($name: self.$name + other.$name,)+
                    rx_otherhost_dropped: otherhost.map(|(one, other)| one + other),
                }
            }

            /// Counts since `before`; `None` if a counter decreased, because the interface was recreated or its driver reset.
            pub fn since(&self, before: &Self) -> Option<Self> {
                let otherhost = match (self.rx_otherhost_dropped, before.rx_otherhost_dropped) {
                    (Some(now), Some(then)) => Some(now.checked_sub(then)?),
                    _ => None,
                };
                Some(Self { $($name: self.$name.checked_sub(before.$name)?,)+ rx_otherhost_dropped: otherhost })
            }
        }
    };
}

link_stats! {
    /// Good packets that the interface received.
    rx_packets,
    /// Packets passed to the interface for sending.
    tx_packets,
    /// Bytes of the good received packets, with the Ethernet header, usually without FCS.
    rx_bytes,
    /// Bytes passed to the interface for sending.
    tx_bytes,
    /// Bad received packets, the sum of the detailed errors below.
    rx_errors,
    /// Packets that could not be sent, the sum of the detailed errors below.
    tx_errors,
    /// Packets received but not processed, by the stack or for lack of memory; on a veth also full NAPI rings.
    rx_dropped,
    /// Packets dropped before sending; on a veth because the peer had no room.
    tx_dropped,
    /// Multicast packets received.
    multicast,
    /// Collisions while sending.
    collisions,
    /// Packets with a wrong length.
    rx_length_errors,
    /// Receive overflow; drivers differ in the meaning.
    rx_over_errors,
    /// Packets with a wrong FCS.
    rx_crc_errors,
    /// Packets with a framing error.
    rx_frame_errors,
    /// Overflow of the receive FIFO.
    rx_fifo_errors,
    /// Packets dropped because the host had provided no buffer (no receive descriptor).
    rx_missed_errors,
    /// Sending aborted.
    tx_aborted_errors,
    /// Sending failed for lack of carrier.
    tx_carrier_errors,
    /// Underrun of the transmit FIFO.
    tx_fifo_errors,
    /// Heartbeat errors of old half-duplex Ethernet.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed packets received.
    rx_compressed,
    /// Compressed packets sent.
    tx_compressed,
    /// Packets received on an inactive interface, without a receiver.
    rx_nohandler,
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    // Copied word by word, because attributes are aligned to 4 bytes only.
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: u64) -> Vec<u8> {
        (1..=count).flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn counters_are_in_the_kernels_order() {
        let stats = LinkStats::parse(&bytes(25)).unwrap();
        assert_eq!((stats.rx_packets, stats.tx_packets, stats.rx_dropped, stats.tx_dropped), (1, 2, 7, 8));
        assert_eq!((stats.rx_missed_errors, stats.rx_nohandler), (16, 24));
        assert_eq!(stats.rx_otherhost_dropped, Some(25));
    }

    #[test]
    fn an_older_kernel_has_one_counter_less_and_a_newer_one_more() {
        assert_eq!(LinkStats::parse(&bytes(24)).unwrap().rx_otherhost_dropped, None);
        assert_eq!(LinkStats::parse(&bytes(30)), LinkStats::parse(&bytes(25)));
        assert_eq!(LinkStats::parse(&bytes(23)), None);
        assert_eq!(LinkStats::parse(&[0; 7]), None);
    }

    #[test]
    fn a_counter_that_went_back_is_no_difference() {
        let (old, new) = (LinkStats::parse(&bytes(24)).unwrap(), LinkStats::parse(&bytes(25)).unwrap());
        assert_eq!(new.since(&old).unwrap(), LinkStats::default());
        let more = LinkStats { rx_packets: 11, ..new };
        assert_eq!(more.since(&new).unwrap().rx_packets, 10);
        assert_eq!(new.since(&more), None);
    }

    #[test]
    fn a_counter_that_went_back_leaves_the_others_known() {
        let before = LinkStats { rx_packets: 1000, rx_dropped: 50, ..LinkStats::default() };
        let after = LinkStats { rx_packets: 1007, rx_dropped: 2, ..LinkStats::default() };
        let came = after.each_since(&before);
        assert_eq!((came.rx_packets, came.rx_dropped, came.went_back()), (Some(7), None, vec!["rx_dropped"]));
        let later = LinkDeltas::from(&LinkStats { rx_packets: 3, rx_dropped: 9, ..LinkStats::default() });
        let all = came.plus(&later);
        assert_eq!((all.rx_packets, all.rx_dropped), (Some(10), None));
    }
}
