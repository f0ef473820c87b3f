//! The length of the frame check sequence (FCS) at the end of each packet, as files state it.
//!
//! | where | unit | source |
//! |---|---|---|
//! | link-type word of a pcap header | 2 octets | draft-ietf-opsawg-pcap, section 4 |
//! | `if_fcslen` of a pcapng interface | bits | draft-ietf-opsawg-pcapng, section 4.2 |
//! | flags word of a pcapng packet | octets | draft-ietf-opsawg-pcapng, section 4.3.1 |
//!
//! Older texts name no unit for `if_fcslen`, and some writers of both formats count octets. Such a value is read as octets where
//! the unit of the standard makes no sense.

use super::ETHERNET;

/// Bit of the link-type word: it has an FCS length.
const PRESENT: u32 = 1 << 26;
/// First bit of the FCS length in the link-type word.
const LENGTH: u32 = 28;
/// Bits of the link-type word besides link type and FCS length.
const RESERVED: u32 = !(0xffff | PRESENT | 0xf << LENGTH);
/// First of the four bits of a packet's flags word.
const IN_FLAGS: u32 = 5;
/// Octets of the FCS of Ethernet.
const OF_ETHERNET: u8 = 4;

/// The FCS length of a pcap link-type word, and whether the word has bits without a known meaning.
pub(super) fn of_link_word(word: u32) -> (Option<u8>, bool) {
    let length = (word >> LENGTH) as u8;
    if word & PRESENT == 0 {
        return (None, word & RESERVED != 0 || length > 0);
    }
    let counts_octets = word as u16 == ETHERNET && length == OF_ETHERNET;
    (Some(if counts_octets { length } else { 2 * length }), word & RESERVED != 0)
}

/// The part of a pcap link-type word that states this FCS length; `None` if the format cannot state it.
pub(super) fn link_word(octets: u8) -> Option<u32> {
    let length = u32::from(octets / 2);
    (octets.is_multiple_of(2) && length <= 0xf).then_some(PRESENT | length << LENGTH)
}

/// The FCS length of an `if_fcslen`; `None` if it is not a number of octets. No FCS has less than 8 bits.
pub(super) fn of_option(bits: u8) -> Option<u8> {
    match bits {
        0..8 => Some(bits),
        _ => bits.is_multiple_of(8).then_some(bits / 8),
    }
}

/// The `if_fcslen` of an FCS length.
pub(super) fn option(octets: u8) -> u8 {
    octets.saturating_mul(8)
}

/// The FCS length of a packet's flags word, if it has one.
pub(super) fn of_flags(flags: u32) -> Option<u8> {
    Some((flags >> IN_FLAGS & 0xf) as u8).filter(|octets| *octets > 0)
}

#[cfg(test)]
mod tests {
    use super::{link_word, of_flags, of_link_word, of_option, option};

    #[test]
    fn an_fcs_length_is_read_in_the_unit_of_its_place() {
        assert_eq!(of_link_word(0x2400_0001), (Some(4), false));
        assert_eq!(of_link_word(0x4400_0001), (Some(4), false), "octets: Ethernet has no FCS of 8");
        assert_eq!(of_link_word(0x4400_0069), (Some(8), false), "not Ethernet");
        assert_eq!(of_link_word(0x0400_0001), (Some(0), false), "known to be absent");
        assert_eq!(of_link_word(1), (None, false));
        assert_eq!(of_link_word(0x2000_0001), (None, true), "a length, but not marked as one");
        assert_eq!(of_link_word(0x2408_0001), (Some(4), true));
        assert_eq!([0, 4, 32, 16, 33].map(of_option), [Some(0), Some(4), Some(4), Some(2), None]);
        assert_eq!([0, 4 << 5 | 1, 1 << 9].map(of_flags), [None, Some(4), None]);
    }

    #[test]
    fn an_fcs_length_that_is_written_is_read_again() {
        for octets in 0..=31 {
            let again = link_word(octets).map(|word| of_link_word(word | 105));
            assert_eq!(again, octets.is_multiple_of(2).then_some((Some(octets), false)));
            assert_eq!(of_option(option(octets)), Some(octets));
        }
    }
}
