//! A burst of received frames in DPDK buffers (rte_mbuf.h).

use std::slice;

use super::port::Port;
use crate::host::clock;
use crate::packet::{Frame, PacketType, VlanTag};

/// A burst of received frames. Dropping it returns their buffers.
#[derive(Debug)]
pub struct Burst<'a> {
    port: &'a mut Port,
    count: u16,
    time_ns: u64,
}

impl<'a> Burst<'a> {
    /// What the last look of a port found, which was so many frames, now.
    #[inline]
    pub(super) fn new(port: &'a mut Port, count: u16) -> Self {
        Self { port, count, time_ns: clock::realtime_ns() }
    }

    /// The frames in the driver's order. The time is that of the burst; the destination address gives the packet type.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let mac = self.port.mac();
        self.port.found(self.count).iter().map(move |frame| {
            // SAFETY: the shim says that so many octets of the buffer's memory lie there. The buffer is ours since it
            // was received, and nobody writes to it, until it is given back when `self` is dropped.
            let data = unsafe { slice::from_raw_parts(frame.data, frame.length as usize) };
            Frame {
                data,
                wire_length: frame.wire_length,
                time_ns: self.time_ns,
                vlan: (frame.vlan_stripped != 0).then_some(VlanTag { tci: frame.vlan_tci, tpid: 0x8100 }),
                packet_type: addressee(data, mac),
                hash: None,
                status: 0,
            }
        })
    }
}

impl Drop for Burst<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this burst is what the last look found, for it borrows the port since; it is dropped once, and no
        // frame that borrows from it is left.
        unsafe { self.port.give_back(self.count) };
    }
}

/// Whom a frame is for, by its destination address, as the kernel judges it (`eth_type_trans`, net/ethernet/eth.c).
#[inline]
fn addressee(data: &[u8], own: [u8; 6]) -> PacketType {
    match data.first_chunk::<6>() {
        Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => PacketType::Broadcast,
        Some(address) if address[0] & 1 == 1 => PacketType::Multicast,
        Some(address) if *address == own => PacketType::Host,
        _ => PacketType::OtherHost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_for_whom_its_address_says() {
        let own = [2, 0, 0, 0, 0, 1];
        let for_whom = |first: u8, rest: u8| addressee(&[first, rest, rest, rest, rest, rest, 9], own);
        assert_eq!(addressee(&own, own), PacketType::Host);
        assert_eq!(for_whom(0xff, 0xff), PacketType::Broadcast);
        assert_eq!(for_whom(1, 0), PacketType::Multicast);
        assert_eq!((for_whom(2, 2), addressee(&[2], own)), (PacketType::OtherHost, PacketType::OtherHost));
    }
}
