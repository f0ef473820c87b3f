//! Copies blocks and options of a pcapng file into a little-endian one (draft-ietf-opsawg-pcapng): all that the reader knows, and
//! all that it does not.
//!
//! A writer that rewrites a file leaves custom content as it is, and leaves out what is marked as not to be copied (section 5.2).
//! Of a big-endian file, only content of a known layout can be copied.

use super::blocks::{
    BYTE_ORDER, COMMENT, ENHANCED_PACKET, FRAMING, INTERFACE, OLD_PACKET, SECTION, STATISTICS, interface,
    kind, packet, section, statistics,
};
use super::reading::{LeftOut, Order, Packet, RawBlock, RawOptions};

/// Custom options: a text or octets that may be copied, or may not.
const CUSTOM_OPTIONS: [u16; 2] = [2988, 2989];
const CUSTOM_OPTIONS_NO_COPY: [u16; 2] = [19372, 19373];

/// How the octets of an option's value depend on the byte order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Not at all.
    Octets,
    /// 32-bit numbers.
    Words,
    /// A 64-bit number.
    Number,
    /// A private enterprise number, then octets of its owner.
    Custom,
    /// A filter: a kind, then a text or a program.
    Filter,
    /// An octet, then a 64-bit number of some kinds.
    Verdict,
    /// It is not known.
    Unknown,
    /// It may not be copied.
    NoCopy,
}

fn layout(kind: u32, code: u16) -> Layout {
    match (kind, code) {
        (_, code) if CUSTOM_OPTIONS_NO_COPY.contains(&code) => Layout::NoCopy,
        (_, code) if CUSTOM_OPTIONS.contains(&code) => Layout::Custom,
        (_, COMMENT) => Layout::Octets,
        (SECTION, section::HARDWARE..=section::APPLICATION) => Layout::Octets,
        (INTERFACE, interface::FILTER) => Layout::Filter,
        (INTERFACE, interface::TIME_ZONE) => Layout::Words,
        (INTERFACE, interface::SPEED | interface::TIME_OFFSET) => Layout::Number,
        (INTERFACE, interface::SEND_SPEED..=interface::RECEIVE_SPEED) => Layout::Number,
        (INTERFACE, interface::NAME..=interface::TIME_ZONE_NAME) => Layout::Octets,
        (ENHANCED_PACKET | OLD_PACKET, packet::FLAGS) => Layout::Words,
        (ENHANCED_PACKET | OLD_PACKET, packet::HASH) => Layout::Octets,
        (ENHANCED_PACKET, packet::DROP_COUNT..=packet::PACKET_ID) => Layout::Number,
        (ENHANCED_PACKET, packet::QUEUE | packet::PROCESS) => Layout::Words,
        (ENHANCED_PACKET, packet::VERDICT) => Layout::Verdict,
        (STATISTICS, statistics::START | statistics::END) => Layout::Words,
        (STATISTICS, statistics::RECEIVED..=statistics::DELIVERED) => Layout::Number,
        // The server that resolved the names: a text, and addresses in network byte order.
        (kind::NAMES, 2..=4) => Layout::Octets,
        _ => Layout::Unknown,
    }
}

/// Appends the value of an option as little-endian. Returns whether its layout is as `layout` says.
fn swap(layout: Layout, value: &[u8], out: &mut Vec<u8>) -> bool {
    let swapped = |width: usize, value: &[u8], out: &mut Vec<u8>| {
        value.chunks_exact(width).for_each(|number| out.extend(number.iter().rev()));
        value.len().is_multiple_of(width)
    };
    match layout {
        Layout::Octets => out.extend_from_slice(value),
        Layout::Words => return swapped(4, value, out),
        Layout::Number => return swapped(8, value, out),
        Layout::Custom => {
            let Some((owner, rest)) = value.split_first_chunk::<4>() else { return false };
            out.extend(owner.iter().rev());
            out.extend_from_slice(rest);
        }
        Layout::Verdict => match value {
            [1 | 2, number @ ..] => {
                out.push(value[0]);
                return swapped(8, number, out);
            }
            _ => out.extend_from_slice(value),
        },
        Layout::Filter => match value {
            [1, program @ ..] if program.len().is_multiple_of(8) => {
                out.push(1);
                for instruction in program.chunks_exact(8) {
                    out.extend([instruction[1], instruction[0], instruction[2], instruction[3]]);
                    out.extend(instruction[4..].iter().rev());
                }
            }
            [0, ..] => out.extend_from_slice(value),
            _ => return false,
        },
        Layout::Unknown | Layout::NoCopy => return false,
    }
    true
}

/// Appends an option.
fn put_option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(code.to_le_bytes());
    // Values that are copied had a length of 16 bits.
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Appends the drop count of a packet whose block had it in another place than in the options.
pub(crate) fn drop_count(packet: &Packet<'_>, out: &mut Vec<u8>) {
    if let Some(dropped) = packet.dropped.filter(|_| packet.options.kind == OLD_PACKET) {
        put_option(packet::DROP_COUNT, &dropped.to_le_bytes(), out);
    }
}

/// Appends the end of options, if there are options behind `from`.
fn end_options(from: usize, out: &mut Vec<u8>) {
    if out.len() > from {
        out.extend([0; 4]);
    }
}

impl RawOptions<'_> {
    /// Appends those that may be copied, little-endian and without their end. Counts the others.
    pub(crate) fn copy(&self, out: &mut Vec<u8>, left_out: &mut LeftOut) {
        for (code, value) in self.options() {
            let layout = layout(self.kind, code);
            let from = out.len();
            let is_copied = match self.order {
                Order::Little if layout == Layout::NoCopy => false,
                Order::Little => {
                    put_option(code, value, out);
                    true
                }
                Order::Big => {
                    put_option(code, &[], out);
                    let is_known = swap(layout, value, out);
                    out[from + 2..from + 4].copy_from_slice(&(value.len() as u16).to_le_bytes());
                    out.resize(out.len().next_multiple_of(4), 0);
                    is_known
                }
            };
            if !is_copied {
                out.truncate(from);
                left_out.options += 1;
            }
        }
    }
}

impl RawBlock<'_> {
    /// The whole block, little-endian. Counts what is left out of it; `None` if all of it is. For blocks that are no packets.
    pub(crate) fn copy(&self, left_out: &mut LeftOut) -> Option<Vec<u8>> {
        let mut block = Vec::with_capacity(FRAMING + self.body.len() + 4);
        block.extend(self.kind.to_le_bytes());
        block.extend([0; 4]);
        if self.put_body(&mut block, left_out).is_none() {
            left_out.block(self.kind);
            return None;
        }
        let length = (block.len() as u32 + 4).to_le_bytes();
        block[4..8].copy_from_slice(&length);
        block.extend(length);
        Some(block)
    }

    fn put_body(&self, out: &mut Vec<u8>, left_out: &mut LeftOut) -> Option<()> {
        let fixed = match self.kind {
            SECTION => {
                // Byte order and version; the length of the section is left open, because content may be left out of it.
                if self.put_numbers(&[4, 2, 2], out).is_none() {
                    // A section without a version is read as one of version 1.0.
                    out.truncate(8);
                    out.extend(BYTE_ORDER.to_le_bytes());
                    out.extend([1, 0, 0, 0]);
                }
                out.extend([0xff; 8]);
                16
            }
            INTERFACE => self.put_numbers(&[2, 2, 4], out)?,
            STATISTICS => self.put_numbers(&[4, 4, 4], out)?,
            kind::SECRETS => {
                self.put_numbers(&[4, 4], out)?;
                let length = self.order.u32(self.body.get(4..)?)? as usize;
                self.put_octets(8, length, out)?
            }
            kind::NAMES => self.put_names(out)?,
            kind::CUSTOM => {
                self.put_numbers(&[4], out)?;
                self.put_octets(4, self.body.len() - 4, out)?
            }
            kind::JOURNAL => self.put_octets(0, self.body.len(), out)?,
            kind::CUSTOM_NO_COPY => return None,
            _ if self.order == Order::Little => self.put_octets(0, self.body.len(), out)?,
            _ => return None,
        };
        let from = out.len();
        let options = self.body.get(fixed..).unwrap_or_default();
        RawOptions { kind: self.kind, order: self.order, octets: options }.copy(out, left_out);
        end_options(from, out);
        Some(())
    }

    /// Appends numbers of these widths from the beginning of the body, and returns their octets.
    fn put_numbers(&self, widths: &[usize], out: &mut Vec<u8>) -> Option<usize> {
        let mut at = 0;
        for width in widths {
            let number = self.body.get(at..at + width)?;
            match self.order {
                Order::Little => out.extend_from_slice(number),
                Order::Big => out.extend(number.iter().rev()),
            }
            at += width;
        }
        Some(at)
    }

    /// Appends octets of the body, padded to words, and returns where they end in the body.
    fn put_octets(&self, at: usize, length: usize, out: &mut Vec<u8>) -> Option<usize> {
        out.extend_from_slice(self.body.get(at..at.checked_add(length)?)?);
        out.resize(out.len().next_multiple_of(4), 0);
        Some((at + length).next_multiple_of(4))
    }

    /// Appends the records of a name resolution block: type, length, an address in network byte order and names.
    fn put_names(&self, out: &mut Vec<u8>) -> Option<usize> {
        let mut at = 0;
        loop {
            let head = self.body.get(at..)?;
            let (record, length) = (self.order.u16(head)?, self.order.u16(head.get(2..)?)?);
            out.extend(record.to_le_bytes());
            out.extend(length.to_le_bytes());
            at = self.put_octets(at + 4, length.into(), out)?;
            if record == 0 {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Foreign;
    use super::super::{CaptureReader, LeftOut};

    /// The blocks of a file, copied.
    fn copied(file: &[u8]) -> (Vec<u8>, LeftOut) {
        let mut reader = CaptureReader::new(file).unwrap().with_other_blocks();
        let (mut out, mut left_out) = (Vec::new(), LeftOut::default());
        while reader.next_record().unwrap().is_some() {
            out.extend(reader.block().unwrap().copy(&mut left_out).unwrap_or_default());
        }
        (out, left_out)
    }

    /// Every block and option with numbers in it.
    fn made(big: bool) -> Vec<u8> {
        let mut file = Foreign::new(big);
        let options = [file.option(1, b"a"), file.option(2, b"odd"), file.custom(2989, b"custom")];
        file.section(&options.concat());
        let program = [&[1][..], &file.number::<2>(6), &[1, 2], &file.number::<4>(96)].concat();
        let options = [
            file.option(4, &[10, 0, 0, 1, 255, 0, 0, 0]),
            file.option(8, &file.number::<8>(10_000_000_000)),
            file.option(11, &program),
            file.option(10, &file.number::<4>(3)),
            file.option(17, &file.number::<8>(5)),
            file.option(18, b"Europe/Berlin"),
        ];
        file.interface(1, 96, &options.concat());
        let options = [file.option(2, &file.words(&[1, 2])), file.option(8, &file.number::<8>(4))];
        let statistics = [&file.words(&[0, 1, 2])[..], &options.concat()].concat();
        file.block(5, &statistics);
        let record =
            [&file.number::<2>(1)[..], &file.number::<2>(9), &[10, 0, 0, 1, b'h', b'o', b's', b't', 0]];
        let names = [&padded(&record.concat())[..], &[0; 4], &file.option(2, b"server")].concat();
        file.block(4, &names);
        let secrets = [&file.words(&[0x544c_534b, 5])[..], b"key 1\0\0\0", &file.option(1, b"of a")].concat();
        file.block(10, &secrets);
        let custom = [&file.words(&[32473])[..], b"octets"].concat();
        file.block(0x0bad, &custom).block(9, b"__REALTIME_TIMESTAMP=1\n");
        file.octets
    }

    fn padded(octets: &[u8]) -> Vec<u8> {
        let mut octets = octets.to_vec();
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    #[test]
    fn blocks_of_a_known_layout_are_the_same_whichever_order_they_had() {
        let (little, left_out) = copied(&made(false));
        assert_eq!(left_out, LeftOut::default());
        assert_eq!(copied(&made(true)), (little.clone(), left_out));
        assert_eq!(copied(&little), (little.clone(), left_out), "a copy of a copy");
        // Ends of options, which the file lacks.
        assert_eq!(little.len(), made(false).len() + 5 * 4);
    }

    #[test]
    fn what_may_not_be_copied_or_cannot_be_is_counted() {
        for big in [false, true] {
            let mut file = Foreign::new(big);
            let options = [file.custom(19372, b"no"), file.option(1, b"yes"), file.option(999, &[1, 2])];
            file.section(&options.concat()).block(0x4000_0bad, &[0; 8]).block(0x8000_0001, &[1; 8]);
            let (copy, left_out) = copied(&file.octets);
            let unknown = u64::from(big);
            let expected = LeftOut { custom: 1, blocks: unknown, options: 1 + unknown, ..LeftOut::default() };
            assert_eq!(left_out, expected);
            assert!(copy.windows(3).any(|octets| octets == b"yes"));
            assert!(!copy.windows(2).any(|octets| octets == b"no"));
        }
    }
}
