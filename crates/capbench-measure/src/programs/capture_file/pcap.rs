//! The pcap format (draft-ietf-opsawg-pcap): a header, then records.

use std::io::Read;

use capbench_capture::Frame;

use super::{Filled, LARGEST_RECORD, Order, Visit, check_link_type, damaged, fill};

/// What the first four octets tell.
#[derive(Clone, Copy)]
pub(super) struct Format {
    order: Order,
    /// Nanoseconds in the smaller unit of time stamps.
    unit_ns: u64,
}

impl Format {
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        for (order, number) in
            [(Order::Little, u32::from_le_bytes(magic)), (Order::Big, u32::from_be_bytes(magic))]
        {
            match number {
                0xa1b2_c3d4 => return Some(Self { order, unit_ns: 1000 }),
                0xa1b2_3c4d => return Some(Self { order, unit_ns: 1 }),
                _ => {}
            }
        }
        None
    }
}

/// Reads what follows the magic number; whether the file ends within a record.
pub(super) fn read<E: FnMut(&Frame<'_>)>(
    mut input: impl Read,
    format: Format,
    visit: &mut Visit<E>,
) -> Result<bool, String> {
    let mut header = [0; 20];
    if !fill(&mut input, &mut header)?.is_whole() {
        return Ok(true);
    }
    let order = format.order;
    // The upper bits say how many octets of FCS there are.
    check_link_type(order.u32(&header[16..]) & 0xffff)?;
    let mut record = [0; 16];
    let mut data = Vec::new();
    loop {
        match fill(&mut input, &mut record)? {
            Filled::Whole => {}
            Filled::Nothing => return Ok(false),
            Filled::Part => return Ok(true),
        }
        let [seconds, fraction, captured, length] = [0, 4, 8, 12].map(|at| order.u32(&record[at..at + 4]));
        if captured > LARGEST_RECORD {
            return Err(damaged(visit.frames, &format!("a record of {captured} octets")));
        }
        data.resize(captured as usize, 0);
        if captured > 0 && !fill(&mut input, &mut data)?.is_whole() {
            return Ok(true);
        }
        let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * format.unit_ns;
        visit.frame(&data, length, time_ns);
    }
}
