//! When what is captured is not what was on the wire.

use capbench_sys::host::offload::{self, Offload};

use super::Look;
use super::sockets::Method;
use crate::links::Link;

/// Offloads of an interface that change what a capture sees; `None` where it does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offloads {
    pub(super) gro: Option<bool>,
    lro: Option<bool>,
    vlan: Option<bool>,
    checksum: Option<bool>,
    tso: Option<bool>,
    transmit_checksum: Option<bool>,
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
            tso: get(Offload::Tso),
            transmit_checksum: get(Offload::TransmitChecksum),
        }
    }
}

/// What there is to know, a sentence each.
pub(super) fn notes(look: &Look, offloads: Offloads, link: &Link) -> Vec<String> {
    let mut notes = Vec::new();
    let interface = &look.interface;
    let (mtu, is_loopback) = (link.mtu, link.loopback);
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
    let sockets = &look.sockets.here;
    if look.promiscuous == Some(false) && !is_loopback && !sockets.is_empty() {
        note(format!("{interface} is not promiscuous: a NIC leaves out frames that are addressed to others"));
    }
    let bound = |queue: u32| sockets.iter().any(|socket| socket.queue == Some(queue));
    let unbound = (0..look.receive_queues.unwrap_or(0)).filter(|queue| !bound(*queue)).count();
    if unbound > 0 && sockets.iter().any(|socket| socket.method == Method::AfXdp) {
        note(format!(
            "{unbound} of {} receive queues have no AF_XDP socket: their frames go past those that there are",
            look.receive_queues.unwrap_or(0)
        ));
    }
    let sent = match (on(offloads.tso), on(offloads.transmit_checksum)) {
        (true, _) => ", before it cuts them to frames (TSO) and fills in checksums",
        (false, true) => ", before it fills in checksums",
        (false, false) => "",
    };
    for socket in sockets {
        let who = format!("{} of {}", socket.what(), socket.owner());
        if socket.outgoing == Some(true) && !is_loopback {
            note(format!("{who} takes both directions: copies of what this host sends, too{sent}"));
        }
        // An Ethernet frame has 14 octets of header and, at most, 4 of tag.
        if let Some(octets) = socket.cut_to.filter(|octets| *octets < mtu + 18) {
            note(format!("{who} cuts frames to {octets} octets; the MTU of {mtu} allows {}", mtu + 18));
        }
    }
    notes
}
