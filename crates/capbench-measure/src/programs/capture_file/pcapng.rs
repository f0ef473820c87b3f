//! The pcapng format (draft-ietf-opsawg-pcapng): sections of blocks.

use std::io::Read;

use capbench_capture::Frame;

use super::{Filled, LARGEST_RECORD, Order, Visit, check_link_type, damaged, fill};

/// The type of a section header block, the same in either order; a file begins with it.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// `if_tsresol`.
const RESOLUTION: u16 = 9;
/// Type, length and length again.
const FRAMING: u32 = 12;

/// What an interface description block tells.
struct Interface {
    snaplen: u32,
    /// Units of its time stamps in a second; 0: more than 64 bits hold.
    per_second: u64,
}

/// Reads what follows the first block's type; whether the file ends within a block.
pub(super) fn read<E: FnMut(&Frame<'_>)>(mut input: impl Read, visit: &mut Visit<E>) -> Result<bool, String> {
    let mut order = Order::Little;
    let mut interfaces = Vec::new();
    let mut kind = SECTION;
    let mut body = Vec::new();
    loop {
        let mut length = [0; 4];
        if !fill(&mut input, &mut length)?.is_whole() {
            return Ok(true);
        }
        let mut begun = 0;
        body.clear();
        if kind == SECTION {
            // Its length can be read only after the order that its body begins with.
            body.resize(4, 0);
            if !fill(&mut input, &mut body)?.is_whole() {
                return Ok(true);
            }
            order = match body[..] {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                _ => return Err(damaged(visit.frames, &format!("a section without {BYTE_ORDER:#x}"))),
            };
            interfaces.clear();
            begun = 4;
        }
        let length = order.u32(&length);
        if !length.is_multiple_of(4) || !(FRAMING + begun..=LARGEST_RECORD).contains(&length) {
            return Err(damaged(visit.frames, &format!("a block of {length} octets")));
        }
        body.resize((length - FRAMING) as usize, 0);
        if body.len() > begun as usize && !fill(&mut input, &mut body[begun as usize..])?.is_whole() {
            return Ok(true);
        }
        let mut again = [0; 4];
        if !fill(&mut input, &mut again)?.is_whole() {
            return Ok(true);
        }
        if order.u32(&again) != length {
            return Err(damaged(visit.frames, "the two lengths of a block differ"));
        }
        let told = match order.u32(&kind) {
            INTERFACE => Interface::parse(order, &body).map(|interface| interfaces.push(interface)),
            ENHANCED_PACKET => enhanced(order, &body, &interfaces, visit),
            SIMPLE_PACKET => simple(order, &body, &interfaces, visit),
            _ => Some(()),
        };
        told.ok_or_else(|| {
            damaged(visit.frames, "a block that is too short, or of an interface that there is not")
        })?;
        if order.u32(&kind) == INTERFACE {
            check_link_type(u32::from(order.u16(&body)))?;
        }
        match fill(&mut input, &mut kind)? {
            Filled::Whole => {}
            Filled::Nothing => return Ok(false),
            Filled::Part => return Ok(true),
        }
    }
}

impl Interface {
    fn parse(order: Order, body: &[u8]) -> Option<Self> {
        let snaplen = order.u32(body.get(4..8)?);
        let mut per_second = 1_000_000;
        let mut options = &body[8..];
        while let Some(head) = options.get(..4) {
            let (code, length) = (order.u16(head), usize::from(order.u16(&head[2..])));
            let Some(value) = options.get(4..4 + length) else { break };
            match (code, value) {
                (0, _) => break,
                (RESOLUTION, [exponent, ..]) => {
                    let power = u32::from(exponent & 0x7f);
                    let base = if exponent & 0x80 == 0 { 10_u64 } else { 2 };
                    per_second = base.checked_pow(power).unwrap_or(0);
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(Self { snaplen, per_second })
    }

    fn time_ns(&self, units: u64) -> u64 {
        let per_second = u128::from(self.per_second);
        (u128::from(units) * 1_000_000_000).checked_div(per_second).map_or(0, |ns| ns as u64)
    }
}

fn enhanced<E: FnMut(&Frame<'_>)>(
    order: Order,
    body: &[u8],
    interfaces: &[Interface],
    visit: &mut Visit<E>,
) -> Option<()> {
    let head = body.get(..20)?;
    let [interface, high, low, captured, length] = [0, 4, 8, 12, 16].map(|at| order.u32(&head[at..at + 4]));
    let time = u64::from(high) << 32 | u64::from(low);
    let data = body[20..].get(..captured as usize)?;
    visit.frame(data, length, interfaces.get(interface as usize)?.time_ns(time));
    Some(())
}

/// Has no time, and is of the section's first interface.
fn simple<E: FnMut(&Frame<'_>)>(
    order: Order,
    body: &[u8],
    interfaces: &[Interface],
    visit: &mut Visit<E>,
) -> Option<()> {
    let length = order.u32(body.get(..4)?);
    let snaplen = match interfaces.first()?.snaplen {
        0 => u32::MAX,
        octets => octets,
    };
    let data = body[4..].get(..length.min(snaplen) as usize)?;
    visit.frame(data, length, 0);
    Some(())
}
