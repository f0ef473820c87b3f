//! The longest frame that an interface delivers to a capture. Offloads make frames longer than its MTU: GRO and LRO join received
//! segments, and a sender on this host passes segments on unsegmented (TSO, GSO): of a veth, the sender at its peer.
//!
//! GRO joins up to `gro_max_size` octets behind the Ethernet header (skb_gro_receive). A device segments what is longer than its
//! `gso_max_size` (gso_features_check). Both have a form for IPv4 and can exceed 64 KiB (ip-link(8), "BIG TCP").

use std::cmp::Reverse;
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
    /// Offloads of an interface, with the limit in octets.
    Offload {
        /// Name of the interface whose offloads they are.
        interface: String,
        /// Whether the interface is a peer in another network namespace.
        is_elsewhere: bool,
        /// All active offloads of it that make frames longer, as ethtool(8) names them.
        offloads: Vec<String>,
        /// Whether the user can turn all of them off, and nothing else makes frames longer.
        is_removable: bool,
        /// Longest packet in octets.
        limit: u32,
    },
    /// The interface is a veth whose peer cannot be read.
    UnreadablePeer {
        /// Longest packet in octets that it is supposed to pass on.
        limit: u32,
    },
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
            found.extend(sent_by(&link, segmentation(&link.name, false)));
        }
        Ok(Self::largest_of(link.mtu, found))
    }

    /// The largest of these, the first of equal ones, with the other offloads of its interface; the MTU where they add nothing.
    fn largest_of(mtu: u32, found: Vec<Self>) -> Self {
        let usual = Self::of_mtu(mtu);
        let mut longer: Vec<_> = found.into_iter().filter(|one| one.octets > usual.octets).collect();
        // A stable sort: the first of equal ones stays first.
        longer.sort_by_key(|one| Reverse(one.octets));
        let mut longer = longer.into_iter();
        let Some(mut most) = longer.next() else { return usual };
        for other in longer {
            most.cause.join(other.cause);
        }
        most
    }

    fn of_offloads(interface: &str, offloads: ActiveOffloads, limit: u32) -> Self {
        let ActiveOffloads { names, can_be_off, is_elsewhere } = offloads;
        let cause = FrameCause::Offload {
            interface: interface.into(),
            is_elsewhere,
            offloads: names,
            is_removable: can_be_off,
            limit,
        };
        Self { octets: limit.saturating_add(HEADER), cause }
    }
}

impl FrameCause {
    /// Adds what also makes frames longer: to the offloads, if they are of the same interface.
    fn join(&mut self, other: Self) {
        let Self::Offload { interface, is_elsewhere, offloads, is_removable, .. } = self else { return };
        match other {
            Self::Offload {
                interface: name,
                is_elsewhere: elsewhere,
                offloads: more,
                is_removable: also,
                ..
            } if (&name, elsewhere) == (&*interface, *is_elsewhere) => {
                offloads.extend(more);
                *is_removable &= also;
            }
            _ => *is_removable = false,
        }
    }
}

/// Active offloads of an interface that make frames longer.
#[derive(Debug, Default)]
struct ActiveOffloads {
    names: Vec<String>,
    /// Whether the user can turn all of them off.
    can_be_off: bool,
    /// Whether the interface is in another network namespace.
    is_elsewhere: bool,
}

impl ActiveOffloads {
    /// Where the kernel does not show the offloads, that for TCP is assumed.
    fn assumed(is_elsewhere: bool) -> Self {
        Self { names: vec!["tso".into()], can_be_off: false, is_elsewhere }
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
    // Its short name for the user, its name in the kernel, its limit.
    let mut joining = Vec::new();
    if is_on(Offload::Gro) {
        joining.push(("gro", "rx-gro", limit));
    }
    if in_hardware() {
        joining.push(("rx-gro-hw", "rx-gro-hw", limit.max(LEGACY_MOST)));
    }
    if is_on(Offload::Lro) {
        joining.push(("lro", "rx-lro", LEGACY_MOST));
    }
    let limit = joining.iter().map(|(_, _, limit)| *limit).max()?;
    let names = joining.iter().map(|(name, ..)| name.to_string()).collect();
    let can_be_off = can_change(&link.name, joining.iter().map(|(_, name, _)| *name));
    let offloads = ActiveOffloads { names, can_be_off, is_elsewhere: false };
    Some(LargestFrame::of_offloads(&link.name, offloads, limit))
}

/// Whether the user can turn all these offloads on and off.
fn can_change<'n>(interface: &str, mut names: impl Iterator<Item = &'n str>) -> bool {
    let Ok(Some(changeable)) = ethtool::changeable_features(interface) else { return false };
    names.all(|name| changeable.get(name).copied().unwrap_or(false))
}

/// What senders pass to this interface unsegmented, by its offloads that take it.
fn sent_by(link: &Link, offloads: ActiveOffloads) -> Option<LargestFrame> {
    let limit = link.gso_most.unwrap_or(LEGACY_MOST);
    (!offloads.names.is_empty()).then(|| LargestFrame::of_offloads(&link.name, offloads, limit))
}

/// The active offloads of an interface of the calling thread's namespace that take packets longer than the MTU, the usual ones
/// first.
fn segmentation(interface: &str, is_elsewhere: bool) -> ActiveOffloads {
    const USUAL: [&str; 3] = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"];
    let Ok(Some(features)) = ethtool::features(interface) else {
        return ActiveOffloads::assumed(is_elsewhere);
    };
    let takes_longer = |name: &str| name.starts_with("tx-") && name.ends_with("-segmentation");
    let active = features.into_iter().filter(|(name, is_on)| *is_on && takes_longer(name));
    let mut names: Vec<String> = active.map(|(name, _)| name).collect();
    names.sort_by_key(|name| USUAL.iter().position(|usual| usual == name).unwrap_or(USUAL.len()));
    let can_be_off = can_change(interface, names.iter().map(String::as_str));
    ActiveOffloads { names, can_be_off, is_elsewhere }
}

/// What the peer of a veth passes on unsegmented. The peer can be in another namespace.
fn of_peer(side: &Side, tie: Tie) -> LargestFrame {
    let limit = LEGACY_MOST;
    let unreadable =
        LargestFrame { octets: limit.saturating_add(HEADER), cause: FrameCause::UnreadablePeer { limit } };
    let links = side.links();
    let Ok(peer) = links.tied(tie) else { return unreadable };
    let none = LargestFrame::of_mtu(peer.mtu);
    if tie.namespace.is_none() {
        return sent_by(&peer, segmentation(&peer.name, false)).unwrap_or(none);
    }
    let Some(namespace) = links.visible_namespace_of(tie) else {
        return sent_by(&peer, ActiveOffloads::assumed(true)).unwrap_or(none);
    };
    let inside = thread::scope(|scope| {
        scope.spawn(|| namespace.enter().map(|()| segmentation(&peer.name, true))).join()
    });
    // A namespace that cannot be entered hides the offloads, not the limit.
    let segmentation =
        inside.ok().and_then(std::result::Result::ok).unwrap_or_else(|| ActiveOffloads::assumed(true));
    sent_by(&peer, segmentation).unwrap_or(none)
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
