//! The longest frame that an interface delivers to a capture. Offloads make frames longer than its MTU: GRO and LRO join received
//! segments, and a sender on this host passes segments on unsegmented (TSO, GSO): of a veth, the sender at its peer.
//!
//! GRO joins up to `gro_max_size` octets behind the Ethernet header (skb_gro_receive). A device segments what is longer than its
//! `gso_max_size` (gso_features_check). Both have a form for IPv4 and can exceed 64 KiB (ip-link(8), "BIG TCP").

use std::thread;

use capbench_model::direction::Direction;
use capbench_sys::host::ethtool::{self, Offload};

use crate::Result;
use crate::bed::Side;
use crate::links::{Link, Tie};

/// Octets of an Ethernet header with up to two tags.
const HEADER: u32 = 14 + 2 * 4;

/// Longest packet in octets that GRO, LRO or a sender builds unless somebody sets another limit (GRO_LEGACY_MAX_SIZE and
/// GSO_LEGACY_MAX_SIZE of include/linux/netdevice.h).
pub const LEGACY_MOST: u32 = 65_536;

/// The longest frame, and why it is that long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestFrame {
    /// Its octets without FCS, from the Ethernet header on.
    pub octets: u32,
    /// What makes it that long.
    pub cause: FrameCause,
}

/// What makes the longest frame of an interface that long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameCause {
    /// The interface's MTU: no packet is joined or passed on unsegmented.
    Mtu(u32),
    /// An offload of an interface, with the limit in octets.
    Offload {
        /// Name of the interface whose offload it is.
        interface: String,
        /// The offload, as ethtool(8) names it.
        offload: String,
        /// Longest packet in octets.
        limit: u32,
    },
    /// The interface is a veth whose peer cannot be read. It may pass packets of the usual limit on.
    UnreadablePeer,
    /// The interface passes frames of others on; this one of them has the largest limit.
    Behind {
        /// Name of the other interface.
        interface: String,
        /// Longest packet in octets.
        limit: u32,
    },
}

impl LargestFrame {
    /// The longest frame of an MTU.
    pub fn of_mtu(mtu: u32) -> Self {
        Self { octets: mtu.saturating_add(HEADER), cause: FrameCause::Mtu(mtu) }
    }

    /// The longest frame that a capture of these frames gets on an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// The interface does not exist any more.
    pub fn of_interface(side: &Side, direction: Direction) -> Result<Self> {
        let link = side.link()?;
        let mut found = Vec::new();
        if direction != Direction::Out {
            found.extend(received(side, &link)?);
        }
        if direction != Direction::In || link.loopback {
            found.extend(sent_by(&link, || segmentation(&link.name)));
        }
        // The first of equal ones: the MTU where offloads add nothing.
        let mut most = Self::of_mtu(link.mtu);
        for one in found {
            if one.octets > most.octets {
                most = one;
            }
        }
        Ok(most)
    }

    fn of_offload(interface: &str, offload: String, limit: u32) -> Self {
        let cause = FrameCause::Offload { interface: interface.into(), offload, limit };
        Self { octets: limit.saturating_add(HEADER), cause }
    }
}

/// Received frames that are longer than those of the MTU.
fn received(side: &Side, link: &Link) -> Result<Vec<LargestFrame>> {
    let mut found = Vec::from_iter(joined(link));
    match (link.kind.as_deref(), link.tied_to) {
        (Some("veth"), Some(tie)) => found.push(of_peer(side, tie)),
        // A network card's frames come from the wire.
        (None, _) => {}
        _ => found.push(behind(side)?),
    }
    Ok(found)
}

/// What GRO or LRO of the interface joins.
fn joined(link: &Link) -> Option<LargestFrame> {
    let is_on = |offload| ethtool::offload(&link.name, offload).unwrap_or(false);
    let in_hardware = || {
        let features = ethtool::features(&link.name).ok().flatten();
        features.is_some_and(|all| all.get("rx-gro-hw").copied().unwrap_or(false))
    };
    let limit = link.gro_most.unwrap_or(LEGACY_MOST);
    if is_on(Offload::Gro) {
        Some(LargestFrame::of_offload(&link.name, "gro".into(), limit))
    } else if in_hardware() {
        Some(LargestFrame::of_offload(&link.name, "rx-gro-hw".into(), limit.max(LEGACY_MOST)))
    } else if is_on(Offload::Lro) {
        Some(LargestFrame::of_offload(&link.name, "lro".into(), LEGACY_MOST))
    } else {
        None
    }
}

/// What senders pass to this interface unsegmented, if `segmentation` names an offload that takes it.
fn sent_by(link: &Link, segmentation: impl FnOnce() -> Option<String>) -> Option<LargestFrame> {
    let limit = link.gso_most.unwrap_or(LEGACY_MOST);
    segmentation().map(|offload| LargestFrame::of_offload(&link.name, offload, limit))
}

/// An active offload of an interface of the calling thread's namespace that takes packets longer than the MTU. Where the kernel
/// does not list its offloads, that for TCP is assumed.
fn segmentation(interface: &str) -> Option<String> {
    let Ok(Some(features)) = ethtool::features(interface) else { return Some("tso".into()) };
    let usual = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"].map(String::from);
    let others = features.keys().filter(|name| name.starts_with("tx-") && name.ends_with("-segmentation"));
    let mut all = usual.iter().chain(others);
    all.find(|name| features.get(*name).copied().unwrap_or(false)).cloned()
}

/// What the peer of a veth passes on unsegmented. The peer can be in another namespace.
fn of_peer(side: &Side, tie: Tie) -> LargestFrame {
    let unreadable =
        LargestFrame { octets: LEGACY_MOST.saturating_add(HEADER), cause: FrameCause::UnreadablePeer };
    let links = side.links();
    let Ok(peer) = links.tied(tie) else { return unreadable };
    let none = LargestFrame::of_mtu(peer.mtu);
    if tie.namespace.is_none() {
        return sent_by(&peer, || segmentation(&peer.name)).unwrap_or(none);
    }
    let Some(namespace) = links.visible_namespace_of(tie) else {
        return sent_by(&peer, || Some("tso".into())).unwrap_or(none);
    };
    let inside =
        thread::scope(|scope| scope.spawn(|| namespace.enter().map(|()| segmentation(&peer.name))).join());
    // A namespace that cannot be entered hides the offloads, not the limit.
    let segmentation = inside.ok().and_then(std::result::Result::ok).unwrap_or_else(|| Some("tso".into()));
    sent_by(&peer, || segmentation).unwrap_or(none)
}

/// The largest limit of all interfaces of this namespace and of the peers of their veths: a bridge, a tunnel or a VLAN interface
/// passes on what those receive or send.
fn behind(side: &Side) -> Result<LargestFrame> {
    let links = side.links();
    let limit = |link: &Link| link.gro_most.max(link.gso_most).unwrap_or(LEGACY_MOST);
    let mut most = (String::new(), LEGACY_MOST);
    for link in links.all()? {
        let peer = link.tied_to.filter(|tie| tie.namespace.is_some()).and_then(|tie| links.tied(tie).ok());
        for one in std::iter::once(link).chain(peer) {
            if limit(&one) > most.1 || most.0.is_empty() {
                most = (one.name.clone(), limit(&one).max(LEGACY_MOST));
            }
        }
    }
    let (interface, limit) = most;
    Ok(LargestFrame { octets: limit.saturating_add(HEADER), cause: FrameCause::Behind { interface, limit } })
}
