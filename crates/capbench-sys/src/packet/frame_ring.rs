//! TPACKET_V1 and V2 receive rings: one slot holds one frame.

use super::frame::{Frame, VlanTag};
use super::geometry::{FrameGeometry, FrameVersion};
use super::run::ready_in_a_row;
use super::status::{StatusWord, give_release, read_acquire};
use crate::error::{Result, SysError};
use crate::memory::Mapping;

/// A mapped ring of slots and the reader's position in it.
#[derive(Debug)]
pub struct FrameRing {
    map: Mapping,
    geometry: FrameGeometry,
    version: FrameVersion,
    next: u32,
}

impl FrameRing {
    pub(crate) fn new(map: Mapping, geometry: FrameGeometry, version: FrameVersion) -> Result<Self> {
        if (map.length() as u64) < geometry.bytes() {
            return Err(SysError::argument("packet ring", format!("{} bytes are mapped", map.length())));
        }
        Ok(Self { map, geometry, version, next: 0 })
    }

    /// The ring's geometry.
    pub fn geometry(&self) -> FrameGeometry {
        self.geometry
    }

    /// Whether the next slot holds a frame.
    #[inline]
    pub fn is_ready(&self) -> bool {
        // SAFETY: `status` gives an aligned word inside the live mapping.
        unsafe { read_acquire(self.status(self.next)) & libc::TP_STATUS_USER != 0 }
    }

    /// Slots with unread frames, found by a few status words. The kernel fills slots in order; if several CPUs fill slots at
    /// the same time, a late one hides those after it.
    pub fn waiting(&self) -> u32 {
        let frames = self.geometry.frames();
        ready_in_a_row(frames, |offset| {
            let slot = (u64::from(self.next) + u64::from(offset)) % u64::from(frames);
            // SAFETY: `status` gives an aligned word inside the live mapping.
            unsafe { read_acquire(self.status(slot as u32)) & libc::TP_STATUS_USER != 0 }
        })
    }

    /// Returns the filled frames in order, up to `most`; `None` if the next slot is the kernel's.
    #[inline]
    pub fn take(&mut self, most: u32) -> Option<FrameBatch<'_>> {
        let start = self.next;
        let mut slot = start;
        let mut count = 0;
        while count < most.min(self.geometry.frames()) {
            // SAFETY: `status` gives aligned words inside the live mapping.
            if unsafe { read_acquire(self.status(slot)) } & libc::TP_STATUS_USER == 0 {
                break;
            }
            count += 1;
            slot = if slot + 1 == self.geometry.frames() { 0 } else { slot + 1 };
        }
        if count == 0 {
            return None;
        }
        self.next = slot;
        Some(FrameBatch { ring: self, start, count })
    }

    #[inline]
    fn slot(&self, index: u32) -> *mut u8 {
        self.map
            .at(self.geometry.offset(index), self.geometry.frame_size() as usize)
            .expect("a slot of a checked geometry is in its mapping")
    }

    #[inline]
    fn status(&self, index: u32) -> StatusWord {
        let slot = self.slot(index);
        match self.version {
            FrameVersion::V1 => StatusWord::Long(slot.cast()),
            FrameVersion::V2 => StatusWord::Int(slot.cast()),
        }
    }

    /// The frame in a slot, with bytes that end at the slot's end, even if the header claims more.
    ///
    /// # Safety
    /// The slot is owned by user space for `'a`.
    #[inline]
    unsafe fn frame<'a>(&self, index: u32) -> Frame<'a> {
        let slot = self.slot(index);
        // SAFETY: an aligned word inside the live mapping.
        let status = unsafe { read_acquire(self.status(index)) };
        // SAFETY: user space owns the slot, so the kernel does not write it; headers are aligned plain data inside it.
        let (mac, captured, wire_length, time_ns, vlan) = unsafe {
            match self.version {
                FrameVersion::V1 => {
                    let h = slot.cast::<libc::tpacket_hdr>();
                    let time_ns = u64::from((*h).tp_sec) * 1_000_000_000 + u64::from((*h).tp_usec) * 1000;
                    ((*h).tp_mac, (*h).tp_snaplen, (*h).tp_len, time_ns, None)
                }
                FrameVersion::V2 => {
                    let h = slot.cast::<libc::tpacket2_hdr>();
                    let vlan = VlanTag::from_status(status, (*h).tp_vlan_tci, (*h).tp_vlan_tpid);
                    let time_ns = u64::from((*h).tp_sec) * 1_000_000_000 + u64::from((*h).tp_nsec);
                    ((*h).tp_mac, (*h).tp_snaplen, (*h).tp_len, time_ns, vlan)
                }
            }
        };
        // SAFETY: geometry makes every slot hold header and address, which is aligned; user space owns the slot.
        let packet_type =
            unsafe { (*slot.add(self.version.address_offset()).cast::<libc::sockaddr_ll>()).sll_pkttype };
        let mac = usize::from(mac).min(self.geometry.frame_size() as usize);
        let captured = (captured as usize).min(self.geometry.frame_size() as usize - mac);
        // SAFETY: the bytes lie inside the slot, which user space owns for 'a.
        let data = unsafe { std::slice::from_raw_parts(slot.add(mac), captured) };
        Frame { vlan, packet_type: packet_type.into(), status, ..Frame::new(data, wire_length, time_ns) }
    }
}

/// Frames of a ring; dropping it returns their slots to the kernel.
#[derive(Debug)]
pub struct FrameBatch<'r> {
    ring: &'r mut FrameRing,
    start: u32,
    count: u32,
}

impl FrameBatch<'_> {
    /// Number of frames.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Never true: an empty batch is `None`.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The frames in the kernel's order.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (0..self.count).map(|offset| {
            // SAFETY: `take` saw this slot as user-owned, and it stays so until this batch, borrowed here, is dropped.
            unsafe { self.ring.frame(self.index(offset)) }
        })
    }

    #[inline]
    fn index(&self, offset: u32) -> u32 {
        let index = self.start + offset;
        if index >= self.ring.geometry.frames() { index - self.ring.geometry.frames() } else { index }
    }
}

impl Drop for FrameBatch<'_> {
    #[inline]
    fn drop(&mut self) {
        for offset in 0..self.count {
            // SAFETY: the slot is ours since `take`, and frames borrowed from this batch are gone when it drops.
            unsafe { give_release(self.ring.status(self.index(offset)), libc::TP_STATUS_KERNEL) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{FrameGeometry, FrameVersion};
    use super::super::stand_in::FrameKernel;
    use super::FrameRing;

    const VERSIONS: [FrameVersion; 2] = [FrameVersion::V1, FrameVersion::V2];

    fn ring(version: FrameVersion) -> (FrameKernel, FrameRing) {
        FrameKernel::with_ring(FrameGeometry::new(256, 16, 4096).unwrap(), version).unwrap()
    }

    #[test]
    fn frames_placed_after_a_loss_are_marked_until_the_counters_are_read() {
        for version in VERSIONS {
            let geometry = FrameGeometry::new(2048, 2, 4096).unwrap();
            let (mut kernel, mut ring) = FrameKernel::with_ring(geometry, version).unwrap();
            let mut marks = |kernel: &mut FrameKernel| {
                while kernel.deliver(&[1; 60], 60, None) {}
                let batch = ring.take(64).unwrap();
                batch.frames().map(|frame| frame.is_losing()).collect::<Vec<_>>()
            };
            assert_eq!(marks(&mut kernel), [false, false], "they were there before the loss");
            assert_eq!(marks(&mut kernel), [true, true], "not read in between");
            assert_eq!(kernel.take_drops(), 2);
            assert_eq!(marks(&mut kernel), [false, false]);
        }
    }

    #[test]
    fn frames_come_in_order_over_the_wrap_and_slots_go_back() {
        for version in VERSIONS {
            let (mut kernel, mut ring) = ring(version);
            let mut sent = 0u8;
            let mut seen = 0u8;
            for round in 0..20 {
                for _ in 0..(round % 7) {
                    assert!(kernel.deliver(&[sent; 60], 60, None));
                    sent = sent.wrapping_add(1);
                }
                while let Some(batch) = ring.take(3) {
                    assert!(batch.len() <= 3);
                    for frame in batch.frames() {
                        assert_eq!(frame.data, [seen; 60]);
                        assert_eq!(frame.wire_length, 60);
                        seen = seen.wrapping_add(1);
                    }
                }
            }
            assert_eq!(sent, seen);
        }
    }

    #[test]
    fn the_kernel_cannot_overwrite_a_batch_that_is_held() {
        let (mut kernel, mut ring) = ring(FrameVersion::V2);
        for value in 0..16u8 {
            assert!(kernel.deliver(&[value; 60], 60, None));
        }
        assert!(!kernel.deliver(&[99; 60], 60, None), "the ring is full");
        let batch = ring.take(4).unwrap();
        assert!(!kernel.deliver(&[99; 60], 60, None), "its oldest frames are held");
        assert_eq!(batch.frames().map(|frame| frame.data[0]).collect::<Vec<_>>(), [0, 1, 2, 3]);
        drop(batch);
        assert!(kernel.deliver(&[16; 60], 60, None));
        assert_eq!(
            ring.take(64).unwrap().frames().map(|f| f.data[0]).collect::<Vec<_>>(),
            (4..=16).collect::<Vec<_>>()
        );
        assert!(ring.take(1).is_none());
    }

    #[test]
    fn waiting_blocks_are_counted_at_any_reader_position() {
        for version in VERSIONS {
            let (mut kernel, mut ring) = ring(version);
            let mut waiting = 0;
            for round in 0..40 {
                for _ in 0..round % 19 {
                    waiting += u32::from(kernel.deliver(&[1; 60], 60, None));
                }
                assert_eq!(ring.waiting(), waiting, "{version:?}, round {round}");
                waiting -= ring.take(round % 17).map_or(0, |batch| batch.len() as u32);
                assert_eq!(ring.waiting(), waiting, "{version:?}, round {round}");
            }
        }
    }

    #[test]
    fn v2_keeps_the_vlan_tag_and_v1_has_none() {
        for (version, expected) in [(FrameVersion::V1, None), (FrameVersion::V2, Some(0x2005))] {
            let (mut kernel, mut ring) = ring(version);
            kernel.deliver(&[1; 60], 1514, Some(0x2005));
            let batch = ring.take(1).unwrap();
            let frame = batch.frames().next().unwrap();
            assert_eq!(frame.vlan.map(|tag| tag.tci), expected);
            assert_eq!((frame.data.len(), frame.wire_length), (60, 1514));
        }
    }

    #[test]
    fn a_header_that_points_outside_its_slot_is_cut_at_the_slot() {
        let (mut kernel, mut ring) = ring(FrameVersion::V2);
        kernel.deliver_header(u16::MAX, u32::MAX);
        kernel.deliver_header(200, u32::MAX);
        let batch = ring.take(2).unwrap();
        let lengths: Vec<_> = batch.frames().map(|frame| frame.data.len()).collect();
        assert_eq!(lengths, [0, 56]);
    }
}
