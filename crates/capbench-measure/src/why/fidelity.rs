//! When what is captured is not what was on the wire.

use capbench_sys::host::offload::{self, Offload};

use super::Look;

/// Offloads of an interface that change what a capture sees; `None` where it does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offloads {
    gro: Option<bool>,
    lro: Option<bool>,
    vlan: Option<bool>,
    checksum: Option<bool>,
}

impl Offloads {
    /// Those of an interface of the calling thread's network namespace.
    pub(super) fn read(interface: &str) -> Self {
        let get = |which| offload::get(interface, which).ok();
        Self {
            gro: get(Offload::Gro),
            lro: get(Offload::Lro),
            vlan: get(Offload::ReceiveVlan),
            checksum: get(Offload::ReceiveChecksum),
        }
    }
}

/// What there is to know, a sentence each.
pub(super) fn notes(look: &Look, offloads: Offloads, mtu: u32, is_loopback: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let interface = &look.interface;
    let on = |offload: Option<bool>| offload == Some(true);
    let mut note = |text: String| notes.push(text);
    if on(offloads.lro) {
        note(format!(
            "LRO is on: the NIC joins TCP segments to longer ones; `ethtool -K {interface} lro off`"
        ));
    }
    if on(offloads.gro) && !is_loopback {
        note(format!(
            "GRO is on: AF_PACKET sockets see TCP segments joined to longer ones, AF_XDP does not; `ethtool -K {interface} \
             gro off`"
        ));
    }
    if on(offloads.vlan) && !is_loopback {
        note(format!(
            "VLAN tags are taken out by the interface: they are told beside the frame, not in its octets; `ethtool -K \
             {interface} rxvlan off`"
        ));
    }
    if on(offloads.checksum) {
        note(
            "checksums are verified or left out by the interface: frames between this host's own programs carry \
             unfinished ones"
                .into(),
        );
    }
    if is_loopback {
        note(
            "loopback: a socket that takes both directions sees every frame twice, on its way out and in"
                .into(),
        );
    }
    if let Some(program) = &look.xdp {
        note(format!(
            "an XDP program is attached ({program}): AF_PACKET sockets see what it lets through, as it leaves it"
        ));
    }
    for socket in &look.sockets.here {
        let who = format!("{} of {}", socket.what(), socket.owner());
        if socket.outgoing == Some(true) && !is_loopback {
            note(format!("{who} takes both directions: copies of what this host sends, too"));
        }
        // An Ethernet frame has 14 octets of header and, at most, 4 of tag.
        if let Some(octets) = socket.cut_to.filter(|octets| *octets < mtu + 18) {
            note(format!("{who} cuts frames to {octets} octets; the MTU of {mtu} allows {}", mtu + 18));
        }
    }
    notes
}
