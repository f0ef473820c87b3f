//! The kernel's drop reasons: the stage of each, and where the ledger books a drop of a stage ([`booking_of`]).
//!
//! On a link with only a capture, no other part of the kernel needs the frames. After the packet sockets have their copy, the
//! stack drops the original, for example as OTHERHOST. That is no loss. Only a drop before the packet sockets is a loss. The
//! order in `__netif_receive_skb_core` (net/core/dev.c) is: generic XDP, removal of the VLAN tag, packet sockets of all
//! protocols (ETH_P_ALL), tc ingress, netfilter ingress, protocols. So a drop by tc at ingress comes after the capture.

use capbench_model::environment::interface::Role;
use capbench_model::places::Place;
use serde::Serialize;

use super::DropKind;

/// The meaning of a drop on a watched interface for a capture of all protocols there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropStage {
    /// Lost on the way out of the sending interface, which does not count it.
    Transmit,
    /// Lost in generic XDP.
    Xdp,
    /// Lost in the stack before the capture point.
    Stack,
    /// Lost in the softirq backlog of a CPU.
    Backlog,
    /// Lost at a place with its own counter: a driver, or a packet socket.
    Counted,
    /// Dropped after the capture point: no loss.
    After,
    /// Not known.
    Unknown,
}

impl DropStage {
    /// In words, after a number of frames.
    pub fn words(self) -> &'static str {
        match self {
            Self::Transmit => "on the way out",
            Self::Xdp => "in generic XDP",
            Self::Stack => "in front of the capture",
            Self::Backlog => "in the backlog",
            Self::Counted => "counted at its place",
            Self::After => "after the capture",
            Self::Unknown => "unknown where",
        }
    }
}

/// What the ledger makes of a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// A loss at this place, one of [`TracedLosses::PLACES`](capbench_model::traced_losses::TracedLosses::PLACES).
    Lost(Place),
    /// No loss: the stack ends a frame that reached the capture point.
    Captured,
    /// A loss or none: it makes counts of the interface uncertain.
    Unplaced,
    /// Nothing: a counter has it, or the frame is none of the trial's.
    NotBooked,
}

/// Where the ledger books a drop of this stage on the sending or on the receiving interface of a trial.
pub fn booking_of(stage: DropStage, role: Role) -> Booking {
    use Booking::{Captured, Lost, NotBooked, Unplaced};
    let [sending, receiving] = match stage {
        DropStage::Transmit => [Lost(Place::Transmit), NotBooked],
        DropStage::Xdp => [NotBooked, Lost(Place::Xdp)],
        DropStage::Stack => [NotBooked, Lost(Place::Stack)],
        DropStage::Backlog => [NotBooked, Lost(Place::Backlog)],
        DropStage::Counted => [NotBooked, NotBooked],
        DropStage::After => [NotBooked, Captured],
        DropStage::Unknown => [Unplaced, Unplaced],
    };
    match role {
        Role::Transmit => sending,
        Role::Receive => receiving,
    }
}

/// A meaning with its names, separated by `|`.
type Row = (DropStage, &'static str);

/// Reasons by name with their meaning. Each was verified in the kernel's source from Linux 5.17 to 6.18 (file and function), or
/// by a test here that causes it.
const BY_REASON: &[Row] = &[
    // net/core/dev.c: sch_handle_egress. net/can/dev: a CAN driver refuses to send.
    (DropStage::Transmit, "TC_EGRESS|CAN_TX_DROP"),
    // net/sched: tcf_classify. Also at ingress, where it comes after the capture point and is no loss.
    (DropStage::Transmit, "TC_COOKIE_ERROR|TC_CHAIN_NOTFOUND|TC_RECLASSIFY_LOOP"),
    // net/core/dev.c: do_xdp_generic, after a failed redirect. Caused by a test.
    (DropStage::Xdp, "XDP"),
    // net/core/dev.c: __netif_receive_skb_core (Linux 6.17; UNHANDLED_PROTO before). Only the memory reserve for swapping over
    // the network is left: packet sockets are skipped (skip_taps).
    (DropStage::Stack, "PFMEMALLOC"),
    // net/core/dev.c: enqueue_to_backlog (Linux 6.10) uses it while the interface goes down, and veth_xmit counts it in
    // tx_dropped; __dev_queue_xmit counts it in tx_dropped, as RECURSION_LIMIT.
    (DropStage::Counted, "DEV_READY|RECURSION_LIMIT"),
    // net/core/dev.c: enqueue_to_backlog, including the flow limit; softnet_stat. Caused by a test.
    (DropStage::Backlog, "CPU_BACKLOG"),
    // net/packet/af_packet.c: tpacket_rcv and packet_rcv; tp_drops.
    (DropStage::Counted, "PACKET_SOCK_ERROR"),
    // drivers/net/tun.c: tun_net_xmit; tx_dropped.
    (DropStage::Counted, "FULL_RING|TAP_FILTER|TAP_TXFILTER"),
    // net/core/dev.c: sch_handle_ingress and nf_ingress, after the packet sockets of all protocols. A test causes the one of
    // tc.
    (DropStage::After, "TC_INGRESS|NETFILTER_DROP"),
    // net/ipv4/ip_input.c: ip_rcv_core; net/ipv6/ip6_input.c: ip6_rcv_core. Caused by every test.
    (DropStage::After, "OTHERHOST"),
    // net/core/dev.c: end of __netif_receive_skb_core: no receiver for the protocol, or a copy for the last one failed.
    (DropStage::After, "UNHANDLED_PROTO|SKB_UCOPY_FAULT"),
    // Protocols and sockets: handlers of __netif_receive_skb_core, after the packet sockets of all protocols.
    (DropStage::After, "PKT_TOO_SMALL|NO_SOCKET|SECURITY_HOOK|PROTO_MEM|QUEUE_PURGE|PSP_INPUT"),
    // drivers/net/vxlan, net/bridge: the receive handler of the interface, also after the packet sockets.
    (DropStage::After, "LOCAL_MAC|NO_TX_TARGET"),
];

/// Families of reasons: queueing disciplines (net/sched) are on the transmit path; protocols and receive handlers come after
/// the capture point, as above.
const BY_FAMILY: &[Row] = &[
    (DropStage::Transmit, "QDISC_|FQ_|CAKE_|DUALPI2_"),
    (
        DropStage::After,
        "IP_|IPV6|TCP_|UDP_|UNICAST_IN_|ICMP_|ARP_|NEIGH_|FRAG_|DUP_FRAG|XFRM_|BRIDGE_|VXLAN_|MAC_|CAN|\
         SOCKET_|INVALID_PROTO",
    ),
    // Open vSwitch receives by a handler of the interface. Those of mac80211 stay unknown: it also drops data that never was a
    // frame for anybody, before a packet socket could see it.
    (DropStage::After, "OVS_DROP_|OPENVSWITCH "),
];

/// Functions that drop without a reason, from the kernel's source (Linux 5.10 to 6.18), by name prefix.
const BY_FUNCTION: &[Row] = &[
    (
        DropStage::Xdp,
        "do_xdp_generic|netif_receive_generic_xdp|bpf_prog_run_generic_xdp|generic_xdp_tx|\
         xdp_do_generic_redirect",
    ),
    // veth_xdp_rcv_skb of drivers/net/veth.c: the driver also counts it, as xdp_drops or drops.
    (DropStage::Counted, "veth_xdp_rcv"),
    (DropStage::Stack, "skb_vlan_untag"),
    (DropStage::Backlog, "enqueue_to_backlog|netif_rx|__netif_rx"),
    (DropStage::Counted, "veth_xmit|tpacket_rcv"),
    // packet_rcv of PF_RING's pf_ring.c frees its copy of every frame, including those stored in its rings.
    (DropStage::After, "packet_rcv [pf_ring]"),
    (DropStage::Counted, "packet_rcv"),
    (
        DropStage::After,
        "__netif_receive_skb|netif_receive_skb|sch_handle_ingress|ip_rcv|ip6_rcv|\
         ip6_mc_input|ip6_input|ipv6_rcv|arp_rcv|llc_rcv|skb_queue_purge",
    ),
];

/// Drops for which net/core/dev.c also adds to rx_dropped: by enqueue_to_backlog, and by __netif_receive_skb_core after the
/// capture point. Names of reasons, and beginnings of the names of functions that drop without one.
const IN_RX_DROPPED: [&str; 2] = [
    "CPU_BACKLOG|DEV_READY|PFMEMALLOC|UNHANDLED_PROTO|SKB_UCOPY_FAULT",
    "enqueue_to_backlog|netif_rx|__netif_rx|__netif_receive_skb",
];

/// Whether rx_dropped of the interface counts such a drop, too.
pub fn is_in_rx_dropped(kind: &DropKind) -> bool {
    let [reasons, functions] = IN_RX_DROPPED.map(|names| names.split('|'));
    match (&kind.reason, &kind.function) {
        (Some(reason), _) => reasons.into_iter().any(|name| name == reason),
        (None, Some(function)) => functions.into_iter().any(|beginning| function.starts_with(beginning)),
        (None, None) => false,
    }
}

/// The meaning of a drop.
pub fn stage_of(kind: &DropKind) -> DropStage {
    let find = |table: &[Row], is_it: &dyn Fn(&str) -> bool| {
        table.iter().find(|(_, names)| names.split('|').any(is_it)).map(|(stage, _)| *stage)
    };
    let known = match (&kind.reason, &kind.function) {
        (Some(reason), _) => find(BY_REASON, &|name| name == reason)
            .or_else(|| find(BY_FAMILY, &|beginning| reason.starts_with(beginning))),
        (None, Some(function)) => find(BY_FUNCTION, &|beginning| function.starts_with(beginning)),
        (None, None) => None,
    };
    known.unwrap_or(DropStage::Unknown)
}

/// The running kernel's names of its reasons: numbers differ between kernels.
#[derive(Clone, Debug, Default)]
pub struct ReasonNames {
    names: Vec<(u32, String)>,
    /// Subsystems with their own reasons, by the upper half of the number.
    subsystems: Vec<(u32, String)>,
}

/// Reasons of subsystems. Known only for a built-in subsystem; a module describes its types separately.
const OF_SUBSYSTEMS: [&str; 2] = ["mac80211_drop_reason", "ovs_drop_reason"];

/// Members that are no reasons.
const NO_REASONS: [&str; 4] = ["MAX", "SUBSYS_MASK", "SUBSYS_NUM", "OVS_DROP_MAX"];

impl ReasonNames {
    /// From the kernel's enumerations, looked up by name; `None` if the kernel has no reasons (before Linux 5.17).
    pub fn find(enumeration: impl Fn(&str) -> Option<Vec<(String, i64)>>) -> Option<Self> {
        let named = |prefix: &'static str| {
            move |(name, value): (String, i64)| {
                let name = name.strip_prefix(prefix).or_else(|| name.strip_prefix("SKB_")).unwrap_or(&name);
                let number = u32::try_from(value).ok().filter(|_| !NO_REASONS.contains(&name))?;
                Some((number, name.to_string()))
            }
        };
        let core = enumeration("skb_drop_reason")?.into_iter().filter_map(named("SKB_DROP_REASON_"));
        let lists = OF_SUBSYSTEMS.iter().filter_map(|list| enumeration(list)).flatten();
        let lists = lists.filter_map(named("___")).filter(|(number, _)| number >> 16 != 0);
        let subsystems = enumeration("skb_drop_reason_subsys").unwrap_or_default().into_iter();
        Some(Self {
            names: core.chain(lists).collect(),
            subsystems: subsystems.filter_map(named("SKB_DROP_REASON_SUBSYS_")).collect(),
        })
    }

    /// The number of the unspecified reason.
    pub fn unspecified(&self) -> Option<u32> {
        self.names.iter().find(|(_, name)| name == "NOT_SPECIFIED").map(|(number, _)| *number)
    }

    /// The name of a number, or the number itself with its subsystem.
    pub fn name(&self, number: u32) -> String {
        let known = |names: &[(u32, String)], wanted| {
            names.iter().find(|(known, _)| *known == wanted).map(|(_, name)| name.clone())
        };
        known(&self.names, number).unwrap_or_else(|| match (number >> 16, number & 0xffff) {
            (0, number) => format!("reason {number}"),
            (subsystem, number) => match known(&self.subsystems, subsystem) {
                Some(name) => format!("{name} reason {number}"),
                None => format!("reason {number} of subsystem {subsystem}"),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_model::traced_losses::TracedLosses;

    fn reason(name: &str) -> DropStage {
        stage_of(&DropKind { reason: Some(name.into()), function: None })
    }

    #[test]
    fn the_ledger_has_an_entry_for_every_place_of_a_booking() {
        for (stage, _) in [BY_REASON, BY_FAMILY, BY_FUNCTION].concat() {
            for role in [Role::Transmit, Role::Receive] {
                if let Booking::Lost(place) = booking_of(stage, role) {
                    assert!(TracedLosses::PLACES.contains(&place), "{stage:?}: {place:?}");
                }
            }
        }
        assert_eq!(booking_of(DropStage::Unknown, Role::Receive), Booking::Unplaced);
    }

    #[test]
    fn only_what_comes_before_the_capture_is_lost() {
        assert_eq!(reason("XDP"), DropStage::Xdp);
        assert_eq!(reason("PFMEMALLOC"), DropStage::Stack);
        assert_eq!(reason("CPU_BACKLOG"), DropStage::Backlog);
        for after in ["OTHERHOST", "TC_INGRESS", "UNHANDLED_PROTO", "IP_CSUM", "TCP_RESET", "NETFILTER_DROP"]
        {
            assert_eq!(reason(after), DropStage::After, "{after}");
        }
        assert_eq!((reason("TC_EGRESS"), reason("QDISC_DROP")), (DropStage::Transmit, DropStage::Transmit));
        assert_eq!(reason("SOMETHING_NEW"), DropStage::Unknown);
    }

    #[test]
    fn without_a_reason_the_function_decides() {
        let at = |function: &str| stage_of(&DropKind { reason: None, function: Some(function.into()) });
        assert_eq!(at("netif_receive_generic_xdp"), DropStage::Xdp);
        assert_eq!(at("netif_receive_skb_list_internal"), DropStage::After);
        assert_eq!(at("ip_rcv_core"), DropStage::After);
        assert_eq!(at("netif_rx_internal"), DropStage::Backlog);
        assert_eq!(at("veth_xdp_rcv_skb"), DropStage::Counted);
        assert_eq!(at("packet_rcv_spkt"), DropStage::Counted);
        assert_eq!(at("packet_rcv [pf_ring]"), DropStage::After);
        assert_eq!(at("some_driver_poll"), DropStage::Unknown);
        assert_eq!(stage_of(&DropKind { reason: None, function: None }), DropStage::Unknown);
    }

    #[test]
    fn the_stack_counts_in_rx_dropped_what_it_refuses_and_what_nothing_handles() {
        let by_reason =
            |name: &str| is_in_rx_dropped(&DropKind { reason: Some(name.into()), function: None });
        let by_function =
            |name: &str| is_in_rx_dropped(&DropKind { reason: None, function: Some(name.into()) });
        assert!(["CPU_BACKLOG", "UNHANDLED_PROTO", "PFMEMALLOC"].into_iter().all(by_reason));
        assert!(!["OTHERHOST", "TC_INGRESS", "XDP", "NETFILTER_DROP"].into_iter().any(by_reason));
        assert!(["__netif_receive_skb_core.constprop.0", "enqueue_to_backlog"].into_iter().all(by_function));
        assert!(!["ip_rcv_core", "netif_receive_generic_xdp"].into_iter().any(by_function));
    }

    /// Enumerations as a kernel has them.
    fn kernel(lists: &[(&str, &[(&str, i64)])]) -> Option<ReasonNames> {
        ReasonNames::find(|wanted| {
            let (_, members) = lists.iter().find(|(name, _)| *name == wanted)?;
            Some(members.iter().map(|(name, value)| (name.to_string(), *value)).collect())
        })
    }

    #[test]
    fn numbers_are_the_running_kernels() {
        let names = kernel(&[
            (
                "skb_drop_reason",
                &[
                    ("SKB_NOT_DROPPED_YET", 0),
                    ("SKB_CONSUMED", 1),
                    ("SKB_DROP_REASON_NOT_SPECIFIED", 2),
                    ("SKB_DROP_REASON_SKB_CSUM", 39),
                    ("SKB_DROP_REASON_XDP", 40),
                    ("SKB_DROP_REASON_MAX", 41),
                    ("SKB_DROP_REASON_SUBSYS_MASK", 0xffff_0000),
                ],
            ),
            (
                "skb_drop_reason_subsys",
                &[("SKB_DROP_REASON_SUBSYS_CORE", 0), ("SKB_DROP_REASON_SUBSYS_OPENVSWITCH", 2)],
            ),
            ("mac80211_drop_reason", &[("RX_CONTINUE", 1), ("RX_DROP_U_REPLAY", 0x0001_0003)]),
        ]);
        let names = names.unwrap();
        assert_eq!((names.unspecified(), names.name(40)), (Some(2), "XDP".to_string()));
        assert_eq!(
            (names.name(1), names.name(39), names.name(41)),
            ("CONSUMED".into(), "SKB_CSUM".into(), "reason 41".into())
        );
        assert_eq!(names.name(0x0001_0003), "RX_DROP_U_REPLAY");
        assert_eq!(names.name(0x0002_0005), "OPENVSWITCH reason 5");
        assert_eq!(names.name(0x0003_0005), "reason 5 of subsystem 3");
        assert_eq!(reason("OPENVSWITCH reason 5"), DropStage::After);
        assert_eq!(reason("RX_DROP_U_REPLAY"), DropStage::Unknown);
    }

    /// Linux 6.1: reasons without subsystems.
    #[test]
    fn a_kernel_without_subsystems_has_its_reasons() {
        let core: &[_] = &[("SKB_NOT_DROPPED_YET", 0), ("SKB_DROP_REASON_NOT_SPECIFIED", 1)];
        let names = kernel(&[("skb_drop_reason", core)]).unwrap();
        assert_eq!((names.unspecified(), names.name(7).as_str()), (Some(1), "reason 7"));
    }

    /// Linux 5.10: the place alone.
    #[test]
    fn a_kernel_without_reasons_has_no_names() {
        assert!(kernel(&[("skb_state", &[("A", 1)])]).is_none());
        let place = DropKind { reason: None, function: Some("ip_rcv_core".into()) };
        assert_eq!(
            (stage_of(&place), place.to_string().as_str()),
            (DropStage::After, "no reason, in ip_rcv_core")
        );
    }

    /// Of the kernel that runs here, so that a new one makes itself known.
    #[test]
    #[cfg(feature = "bpf")]
    fn most_reasons_of_this_kernel_have_a_stage() {
        use crate::tracer::kernel_types::{KERNEL_TYPES, KernelTypes};
        use capbench_testing::{HostLimit, cannot_have};

        let Ok(types) = KernelTypes::read(std::path::Path::new(KERNEL_TYPES)) else {
            return cannot_have(HostLimit::Kernel, "it does not describe its types");
        };
        let Some(names) = ReasonNames::find(|name| types.enumeration(name)) else {
            return cannot_have(HostLimit::Kernel, "it reports no drop reasons");
        };
        let unknown: Vec<_> =
            names.names.iter().filter(|(_, name)| reason(name) == DropStage::Unknown).collect();
        eprintln!("no stage: {unknown:?}");
        assert!(unknown.len() * 4 < names.names.len(), "{unknown:?}");
    }
}
