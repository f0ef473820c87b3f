//! Why the kernel drops frames, and which drops are losses of a capture.
//!
//! On a link that only a capture listens on, nobody in the kernel wants the frames: when a packet socket has got its own,
//! the stack drops the original, as OTHERHOST for example. That is no loss. Lost is only what is dropped before the
//! packet sockets are asked. In `__netif_receive_skb_core` (net/core/dev.c) the order is: generic XDP, removal of the VLAN
//! tag, packet sockets of all protocols (ETH_P_ALL), tc ingress, netfilter ingress, protocols. So a drop by tc at ingress
//! comes after the capture.

use super::DropKind;

/// What a drop on a watched interface means for a capture there that asks for all protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Lost on the way out of the sending interface: its counters leave these out.
    Transmit,
    /// Lost in generic XDP.
    Xdp,
    /// Lost in the stack in front of the capture point.
    Stack,
    /// Lost at a place whose own counter has it: the backlog, the sending driver, or a packet socket.
    Counted,
    /// Dropped after the capture point: no loss.
    After,
    /// Not known.
    Unknown,
}

/// Reasons by name and the place that each stands for, from the kernel's source (Linux 5.17 to 6.18).
const BY_REASON: [(&str, Standing); 17] = [
    ("TC_EGRESS", Standing::Transmit),
    ("CAN_TX_DROP", Standing::Transmit),
    ("XDP", Standing::Xdp),
    // No memory but the reserve for swapping over the network: packet sockets are passed over.
    ("PFMEMALLOC", Standing::Stack),
    ("DEV_READY", Standing::Stack),
    ("DEV_HDR", Standing::Stack),
    ("CPU_BACKLOG", Standing::Counted),
    ("PACKET_SOCK_ERROR", Standing::Counted),
    ("TC_INGRESS", Standing::After),
    ("NETFILTER_DROP", Standing::After),
    ("OTHERHOST", Standing::After),
    ("UNHANDLED_PROTO", Standing::After),
    ("PKT_TOO_SMALL", Standing::After),
    ("NO_SOCKET", Standing::After),
    ("SOCKET_FILTER", Standing::After),
    ("SOCKET_RCVBUFF", Standing::After),
    ("QUEUE_PURGE", Standing::After),
];

/// Families of reasons: protocols come after the capture point, queueing disciplines are on the way out.
const BY_FAMILY: [(&str, Standing); 17] = [
    ("QDISC_", Standing::Transmit),
    ("FQ_", Standing::Transmit),
    ("CAKE_", Standing::Transmit),
    ("IP_", Standing::After),
    ("IPV6", Standing::After),
    ("TCP_", Standing::After),
    ("UDP_", Standing::After),
    ("UNICAST_IN_", Standing::After),
    ("ICMP_", Standing::After),
    ("ARP_", Standing::After),
    ("NEIGH_", Standing::After),
    ("FRAG_", Standing::After),
    ("DUP_FRAG", Standing::After),
    ("XFRM_", Standing::After),
    ("BRIDGE_", Standing::After),
    ("VXLAN_", Standing::After),
    ("INVALID_PROTO", Standing::After),
];

/// Functions that drop without a reason, from the kernel's source (Linux 5.10 to 6.18), by the beginning of their names.
const BY_FUNCTION: [(&str, Standing); 22] = [
    ("do_xdp_generic", Standing::Xdp),
    ("netif_receive_generic_xdp", Standing::Xdp),
    ("bpf_prog_run_generic_xdp", Standing::Xdp),
    ("generic_xdp_tx", Standing::Xdp),
    ("xdp_do_generic_redirect", Standing::Xdp),
    // veth_xdp_rcv_skb of drivers/net/veth.c: the driver counts it, too, as xdp_drops or drops.
    ("veth_xdp_rcv", Standing::Counted),
    ("skb_vlan_untag", Standing::Stack),
    ("enqueue_to_backlog", Standing::Counted),
    ("netif_rx", Standing::Counted),
    ("__netif_rx", Standing::Counted),
    ("veth_xmit", Standing::Counted),
    ("tpacket_rcv", Standing::Counted),
    ("packet_rcv", Standing::Counted),
    ("__netif_receive_skb", Standing::After),
    ("netif_receive_skb", Standing::After),
    ("sch_handle_ingress", Standing::After),
    ("ip_rcv", Standing::After),
    ("ip6_rcv", Standing::After),
    ("ipv6_rcv", Standing::After),
    ("arp_rcv", Standing::After),
    ("llc_rcv", Standing::After),
    ("skb_queue_purge", Standing::After),
];

/// What a drop means.
pub fn standing(kind: &DropKind) -> Standing {
    let begins = |text: &str, table: &[(&str, Standing)]| {
        table.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|(_, standing)| *standing)
    };
    let known = match (&kind.reason, &kind.function) {
        (Some(reason), _) => BY_REASON
            .iter()
            .find(|(name, _)| name == reason)
            .map(|(_, standing)| *standing)
            .or_else(|| begins(reason, &BY_FAMILY)),
        (None, Some(function)) => begins(function, &BY_FUNCTION),
        (None, None) => None,
    };
    known.unwrap_or(Standing::Unknown)
}

/// The running kernel's names of its reasons: numbers differ between kernels.
#[derive(Clone, Debug, Default)]
pub struct ReasonNames {
    names: Vec<(u32, String)>,
}

impl ReasonNames {
    /// From the members of `enum skb_drop_reason`.
    pub fn new(members: impl IntoIterator<Item = (String, i64)>) -> Self {
        let named = |(name, value): (String, i64)| {
            let name = name.strip_prefix("SKB_DROP_REASON_").or_else(|| name.strip_prefix("SKB_"))?;
            Some((u32::try_from(value).ok()?, name.to_string()))
        };
        Self { names: members.into_iter().filter_map(named).collect() }
    }

    /// The number of the reason that says nothing.
    pub fn unspecified(&self) -> Option<u32> {
        self.names.iter().find(|(_, name)| name == "NOT_SPECIFIED").map(|(number, _)| *number)
    }

    /// The name of a number; of a subsystem's reason, which stands in a list of its own, the number.
    pub fn name(&self, number: u32) -> String {
        let name = self.names.iter().find(|(known, _)| *known == number).map(|(_, name)| name.clone());
        name.unwrap_or_else(|| match number >> 16 {
            0 => format!("reason {number}"),
            subsystem => format!("reason {} of subsystem {subsystem}", number & 0xffff),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(name: &str) -> Standing {
        standing(&DropKind { reason: Some(name.into()), function: None })
    }

    #[test]
    fn only_what_comes_before_the_capture_is_lost() {
        assert_eq!(reason("XDP"), Standing::Xdp);
        assert_eq!(reason("PFMEMALLOC"), Standing::Stack);
        assert_eq!(reason("CPU_BACKLOG"), Standing::Counted);
        for after in ["OTHERHOST", "TC_INGRESS", "UNHANDLED_PROTO", "IP_CSUM", "TCP_RESET", "NETFILTER_DROP"]
        {
            assert_eq!(reason(after), Standing::After, "{after}");
        }
        assert_eq!((reason("TC_EGRESS"), reason("QDISC_DROP")), (Standing::Transmit, Standing::Transmit));
        assert_eq!(reason("SOMETHING_NEW"), Standing::Unknown);
    }

    #[test]
    fn without_a_reason_the_function_tells() {
        let at = |function: &str| standing(&DropKind { reason: None, function: Some(function.into()) });
        assert_eq!(at("netif_receive_generic_xdp"), Standing::Xdp);
        assert_eq!(at("netif_receive_skb_list_internal"), Standing::After);
        assert_eq!(at("ip_rcv_core"), Standing::After);
        assert_eq!(at("netif_rx_internal"), Standing::Counted);
        assert_eq!(at("some_driver_poll"), Standing::Unknown);
        assert_eq!(standing(&DropKind { reason: None, function: None }), Standing::Unknown);
    }

    #[test]
    fn numbers_are_the_running_kernels() {
        let names = ReasonNames::new(
            [
                ("SKB_NOT_DROPPED_YET", 0),
                ("SKB_CONSUMED", 1),
                ("SKB_DROP_REASON_NOT_SPECIFIED", 2),
                ("SKB_DROP_REASON_XDP", 40),
            ]
            .map(|(name, value)| (name.to_string(), value)),
        );
        assert_eq!((names.unspecified(), names.name(40)), (Some(2), "XDP".to_string()));
        assert_eq!(names.name(41), "reason 41");
        assert_eq!(names.name(0x0003_0005), "reason 5 of subsystem 3");
        assert_eq!(ReasonNames::default().unspecified(), None);
    }
}
