//! The addressee of a frame that no kernel classified.

use capbench_sys::packet::PacketType;

/// By the destination address and the interface's own, as the kernel decides after the driver (`eth_type_trans`, net/ethernet/eth.c).
#[inline]
pub(super) fn addressee(data: &[u8], own: &[u8; 6]) -> PacketType {
    match data.first_chunk::<6>() {
        Some(destination) if destination == own => PacketType::Host,
        Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => PacketType::Broadcast,
        Some([first, ..]) if first & 1 != 0 => PacketType::Multicast,
        _ => PacketType::OtherHost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_address_gives_the_addressee() {
        let own = [2, 0, 0, 0, 0, 7];
        let of = |destination: [u8; 6]| addressee(&[&destination[..], &[0; 60]].concat(), &own);
        assert_eq!(of(own), PacketType::Host);
        assert_eq!(of([0xff; 6]), PacketType::Broadcast);
        assert_eq!(of([1, 0, 0x5e, 0, 0, 1]), PacketType::Multicast);
        assert_eq!(of([2, 0, 0, 0, 0, 9]), PacketType::OtherHost);
        assert_eq!(addressee(&[1, 2], &own), PacketType::OtherHost);
    }
}
