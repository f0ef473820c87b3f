//! Numbers and options in either byte order.

use super::super::blocks::END;

/// The byte order of a file's numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    #[inline]
    pub(in crate::file) fn u16(self, octets: &[u8]) -> Option<u16> {
        let octets = *octets.first_chunk()?;
        Some(if self == Self::Little { u16::from_le_bytes(octets) } else { u16::from_be_bytes(octets) })
    }

    #[inline]
    pub(in crate::file) fn u32(self, octets: &[u8]) -> Option<u32> {
        let octets = *octets.first_chunk()?;
        Some(if self == Self::Little { u32::from_le_bytes(octets) } else { u32::from_be_bytes(octets) })
    }

    #[inline]
    pub(super) fn u64(self, octets: &[u8]) -> Option<u64> {
        let octets = *octets.first_chunk()?;
        Some(if self == Self::Little { u64::from_le_bytes(octets) } else { u64::from_be_bytes(octets) })
    }

    /// Several consecutive 32-bit numbers, and the octets after them.
    #[inline]
    pub(super) fn words<const N: usize>(self, octets: &[u8]) -> Option<([u32; N], &[u8])> {
        let (head, rest) = octets.split_at_checked(4 * N)?;
        let mut words = [0; N];
        for (word, octets) in words.iter_mut().zip(head.chunks_exact(4)) {
            *word = self.u32(octets)?;
        }
        Some((words, rest))
    }
}

/// The options at the end of a block's body (section 3.5). They end at their end mark, or at an option longer than the rest.
#[derive(Clone, Copy, Debug)]
pub(in crate::file) struct Options<'a> {
    order: Order,
    octets: &'a [u8],
}

impl<'a> Options<'a> {
    pub(super) fn new(order: Order, octets: &'a [u8]) -> Self {
        Self { order, octets }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.octets.split_at_checked(4)?;
        let (code, length) = (self.order.u16(head)?, usize::from(self.order.u16(&head[2..])?));
        if code == END {
            return None;
        }
        let value = rest.get(..length)?;
        self.octets = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}

/// A text, which ends at a zero octet and may be invalid UTF-8 (section 3.6.3).
pub(super) fn text(value: &[u8]) -> String {
    let value = value.split(|&octet| octet == 0).next().unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Options, Order, text};

    #[test]
    fn options_end_at_their_end_and_before_what_is_not_whole() {
        let read = |octets: &[u8]| {
            Options::new(Order::Big, octets).map(|(code, value)| (code, value.to_vec())).collect::<Vec<_>>()
        };
        let two = [0, 1, 0, 2, b'h', b'i', 0, 0, 0, 9, 0, 1, 6, 0, 0, 0];
        let expected = [(1, b"hi".to_vec()), (9, vec![6])];
        assert_eq!(read(&two), expected);
        assert_eq!(read(&[&two[..], &[0, 0, 0, 0, 0, 5, 0, 0]].concat()), expected);
        assert_eq!(read(&[&two[..], &[0, 5, 0, 1]].concat()), expected);
        assert_eq!(read(&[&two[..], &[0, 5]].concat()), expected);
        assert_eq!(read(&[0, 5, 0, 1, 7]), [(5, vec![7])], "padding may be missing at the end");
    }

    #[test]
    fn a_text_ends_at_a_zero_and_may_be_anything() {
        assert_eq!(text(b"eth0\0\0junk"), "eth0");
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(text(b""), "");
    }
}
