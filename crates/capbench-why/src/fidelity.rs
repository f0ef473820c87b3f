//! Differences between captured frames and the frames on the wire.

use capbench_sys::host::ethtool::{self, Offload};

use crate::look::Look;
use crate::sockets::Method;
use capbench_host::links::Link;

/// Its name in `ethtool -k`.
const HARDWARE_GRO: &str = "rx-gro-hw";

/// Name of the offload that passes damaged frames on.
const RECEIVE_ALL: &str = "rx-all";

/// Longest packet in octets that GRO builds if the kernel does not report the limit, and that LRO builds: an IP packet's maximum
/// (GRO_LEGACY_MAX_SIZE of include/linux/netdevice.h).
const LEGACY_MOST: u32 = 65_536;

/// Octets of an Ethernet header with up to one tag.
const HEADER: u32 = 18;

/// Offloads of an interface that change captured frames; `None` if not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offloads {
    pub(super) gro: Option<bool>,
    hardware_gro: Option<bool>,
    /// Whether captures have damaged frames.
    pub(super) receive_all: Option<bool>,
    lro: Option<bool>,
    vlan: Option<bool>,
    checksum: Option<bool>,
    tso: Option<bool>,
    transmit_checksum: Option<bool>,
}

impl Offloads {
    /// The offloads of an interface in the calling thread's network namespace.
    pub(super) fn read(interface: &str) -> Self {
        let get = |which| ethtool::offload(interface, which).ok();
        let features = ethtool::features(interface).ok().flatten().unwrap_or_default();
        Self {
            gro: get(Offload::Gro),
            hardware_gro: features.get(HARDWARE_GRO).copied(),
            receive_all: features.get(RECEIVE_ALL).copied(),
            lro: get(Offload::Lro),
            vlan: get(Offload::ReceiveVlan),
            checksum: get(Offload::ReceiveChecksum),
            tso: get(Offload::Tso),
            transmit_checksum: get(Offload::TransmitChecksum),
        }
    }
}

/// The longest frame that a packet socket can receive.
fn longest_frame(offloads: Offloads, link: &Link) -> u32 {
    let joins = [offloads.gro, offloads.hardware_gro, offloads.lro].contains(&Some(true)) && !link.loopback;
    let joined = if joins { link.gro_most.unwrap_or(LEGACY_MOST) } else { 0 };
    (link.mtu + HEADER).max(joined)
}

/// The notes, one sentence each.
pub(super) fn notes(look: &Look, offloads: Offloads, link: &Link) -> Vec<String> {
    let interface = &look.interface;
    let (mtu, is_loopback) = (link.mtu, link.loopback);
    let on = |offload: Option<bool>| offload == Some(true);
    let sockets = &look.sockets.here;
    let queues = look.receive_queues.unwrap_or(0);
    let bound = |queue: u32| sockets.iter().any(|socket| socket.queue == Some(queue));
    let unbound = (0..queues).filter(|queue| !bound(*queue)).count();
    let all = [
        (
            on(offloads.lro),
            format!("LRO is on: the NIC joins TCP segments to longer ones; `ethtool -K {interface} lro off`"),
        ),
        (
            on(offloads.hardware_gro),
            format!(
                "hardware GRO is on: the NIC joins TCP segments to longer ones before anybody sees them; `ethtool -K \
                 {interface} rx-gro-hw off`"
            ),
        ),
        (
            on(offloads.gro) && !is_loopback,
            format!(
                "GRO is on: AF_PACKET sockets see TCP segments joined to longer ones, AF_XDP does not; `ethtool -K \
                 {interface} gro off`"
            ),
        ),
        (
            on(offloads.vlan) && !is_loopback,
            format!(
                "the interface removes VLAN tags: they are reported as metadata, not in the octets; `ethtool \
                 -K {interface} rxvlan off`"
            ),
        ),
        (
            on(offloads.checksum),
            "checksums are verified or left out by the interface: frames between this host's own programs carry \
             unfinished ones"
                .into(),
        ),
        (
            is_loopback,
            "loopback: a socket that captures both directions sees every frame twice, on its way out and in".into(),
        ),
        (
            look.xdp.is_some(),
            format!(
                "an XDP program is attached ({}): AF_PACKET sockets see only the frames that it passes, with its changes",
                look.xdp.as_deref().unwrap_or_default()
            ),
        ),
        (
            look.promiscuous == Some(false) && !is_loopback && !sockets.is_empty(),
            format!("{interface} is not promiscuous: a NIC leaves out frames that are addressed to others"),
        ),
        (
            unbound > 0 && sockets.iter().any(|socket| socket.method == Method::AfXdp),
            format!(
                "{unbound} of {queues} receive queues have no AF_XDP socket: no AF_XDP socket here sees their frames"
            ),
        ),
    ];
    let mut notes: Vec<String> = all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect();
    let sent = match (on(offloads.tso), on(offloads.transmit_checksum)) {
        (true, _) => ", before it cuts them to frames (TSO) and fills in checksums",
        (false, true) => ", before it fills in checksums",
        (false, false) => "",
    };
    for socket in sockets {
        let who = format!("{} of {}", socket.what(), socket.owner());
        if socket.outgoing == Some(true) && !is_loopback {
            notes.push(format!("{who} captures both directions: copies of what this host sends, too{sent}"));
        }
        let longest = longest_frame(offloads, link);
        if let Some(octets) = socket.cut_to.filter(|octets| *octets < longest) {
            let single = mtu + HEADER;
            let joined = match longest > single {
                true => format!(", and joined ones (GRO, LRO) reach {longest}"),
                false => String::new(),
            };
            notes.push(format!(
                "{who} cuts frames to {octets} octets; the MTU of {mtu} allows {single}{joined}"
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_host::links::Links;

    #[test]
    fn joined_frames_are_longer_than_the_mtu_allows() {
        let mut link = Links::of_current_namespace().unwrap().by_name("lo").unwrap();
        (link.mtu, link.loopback, link.gro_most) = (1500, false, Some(131_072));
        let none = Offloads::default();
        assert_eq!(longest_frame(none, &link), 1518);
        for joining in [
            Offloads { gro: Some(true), ..none },
            Offloads { hardware_gro: Some(true), ..none },
            Offloads { lro: Some(true), ..none },
        ] {
            assert_eq!(longest_frame(joining, &link), 131_072);
            let unknown = Link { gro_most: None, ..link.clone() };
            assert_eq!(longest_frame(joining, &unknown), LEGACY_MOST);
            let loopback = Link { loopback: true, ..link.clone() };
            assert_eq!(longest_frame(joining, &loopback), 1518);
        }
    }
}
