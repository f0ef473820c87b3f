//! The Internet checksum (RFC 1071).

/// The ones-complement sum of the 16-bit words of `bytes` in the machine's own order, not yet folded.
///
/// The sum of swapped words is the swapped sum (RFC 1071 2B), so that whole machine words can be added. An odd last
/// octet is padded with zero; sums of several pieces may be added if all but the last have an even length.
#[inline]
pub fn sum_native(bytes: &[u8]) -> u64 {
    // 32-bit halves in 64-bit sums cannot overflow, and the compiler vectorises this loop.
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum: u64 = words
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .map(|word| (word & 0xffff_ffff) + (word >> 32))
        .sum();
    // The rest without a copy of unknown length: that would be a call, which costs more than all of this.
    let mut rest = rest;
    if let Some((word, tail)) = rest.split_first_chunk::<4>() {
        sum += u64::from(u32::from_ne_bytes(*word));
        rest = tail;
    }
    if let Some((word, tail)) = rest.split_first_chunk::<2>() {
        sum += u64::from(u16::from_ne_bytes(*word));
        rest = tail;
    }
    if let Some(last) = rest.first() {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    sum
}

/// [`sum_native`] of octets whose first one is the second octet of a word.
#[inline]
pub fn sum_native_odd(bytes: &[u8]) -> u64 {
    u64::from(fold(sum_native(bytes)).swap_bytes())
}

/// A sum folded into 16 bits.
#[inline]
pub const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// The ones-complement sum of the big-endian 16-bit words of `bytes`, folded, as a number.
#[inline]
pub fn sum_words(bytes: &[u8]) -> u64 {
    u64::from(u16::from_be(fold(sum_native(bytes))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 section 4.1, word by word.
    fn by_the_book(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(sum_words(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn carries_of_a_whole_jumbo_frame_are_kept() {
        assert_eq!(sum_words(&[0xff; 65_535]), u64::from(by_the_book(&[0xff; 65_535])));
        assert_eq!(fold(u64::MAX), 0xffff);
    }

    proptest! {
        #[test]
        fn equal_to_the_book(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(sum_words(&bytes), u64::from(by_the_book(&bytes)));
        }
    }
}
