use std::sync::Arc;

use super::*;

const VNET: Prefix = Prefix::VnetHeader { copied_up_to: 256, head: 42 };

/// The kernel's side: `tpacket_snd` as far as a writer can see it.
struct Kernel {
    map: Arc<Mapping>,
    geometry: FrameGeometry,
    head: u32,
}

impl Kernel {
    fn with_ring(frame_size: u32, frames: u32, prefix: Prefix) -> (Self, TransmitRing) {
        let geometry = FrameGeometry::new(frame_size, frames, 4096).unwrap();
        let map = Arc::new(Mapping::on_heap(geometry.bytes() as usize).unwrap());
        let ring = TransmitRing::new(Mapping::view_of(Arc::clone(&map)), geometry, prefix).unwrap();
        (Self { map, geometry, head: 0 }, ring)
    }

    fn slot(&self, index: u32) -> *mut u8 {
        self.map.at(self.geometry.offset(index), self.geometry.frame_size() as usize).unwrap()
    }

    fn status(&self, index: u32) -> u32 {
        // SAFETY: an aligned word of the live region.
        unsafe { read_acquire(StatusWord::Int(self.slot(index).cast())) }
    }

    fn set(&self, index: u32, status: u32) {
        // SAFETY: as above, and the slot is the kernel's.
        unsafe { give_release(StatusWord::Int(self.slot(index).cast()), status) }
    }

    /// Takes up to `most` frames and returns prefix and frame of each.
    fn take(&mut self, most: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while frames.len() < most && self.status(self.head) == libc::TP_STATUS_SEND_REQUEST {
            let slot = self.slot(self.head);
            // SAFETY: the slot is requested, so it is the kernel's; header and frame lie inside it.
            let frame = unsafe {
                let length = (*slot.cast::<libc::tpacket2_hdr>()).tp_len as usize;
                slice::from_raw_parts(slot.add(DATA_OFFSET), length).to_vec()
            };
            frames.push(frame);
            self.set(self.head, libc::TP_STATUS_SENDING);
            self.head = (self.head + 1) % self.geometry.frames();
        }
        frames
    }

    fn complete(&self) {
        for index in 0..self.geometry.frames() {
            if self.status(index) == libc::TP_STATUS_SENDING {
                self.set(index, libc::TP_STATUS_AVAILABLE);
            }
        }
    }
}

fn write(ring: &mut TransmitRing, values: &[u8]) {
    assert!(ring.room(values.len() as u32) as usize >= values.len());
    for (index, &value) in values.iter().enumerate() {
        ring.slot(index as u32)[..60].fill(value);
    }
    ring.request(&vec![60; values.len()]).unwrap();
}

#[test]
fn frames_arrive_in_order_over_the_wrap() {
    for prefix in [Prefix::None, VNET] {
        let (mut kernel, mut ring) = Kernel::with_ring(256, 16, prefix);
        let (mut sent, mut seen) = (0_u8, 0_u8);
        for round in 0..40 {
            let values: Vec<u8> = (0..round % 7).map(|offset| sent.wrapping_add(offset)).collect();
            write(&mut ring, &values);
            sent = sent.wrapping_add(values.len() as u8);
            let frames = kernel.take(usize::MAX);
            assert_eq!(ring.take_count().unwrap() as usize, values.len());
            for frame in frames {
                assert_eq!(frame[prefix.length()..], [seen; 60]);
                seen = seen.wrapping_add(1);
            }
            assert_eq!(ring.in_flight() as usize, values.len());
            kernel.complete();
        }
        assert_eq!((sent, ring.pending(), ring.in_flight()), (seen, 0, 0));
    }
}

#[test]
fn a_full_ring_has_no_room_until_the_driver_lets_go() {
    let (mut kernel, mut ring) = Kernel::with_ring(256, 16, Prefix::None);
    write(&mut ring, &[1; 16]);
    assert_eq!(ring.room(64), 0);
    assert_eq!(kernel.take(10).len(), 10);
    assert_eq!((ring.take_count().unwrap(), ring.pending(), ring.room(64)), (10, 6, 0));
    kernel.complete();
    assert_eq!(ring.room(64), 10);
    assert!(ring.request(&[60; 11]).is_err());
    assert!(ring.request(&[250]).is_err());
}

#[test]
fn withdrawn_frames_are_never_sent() {
    let (mut kernel, mut ring) = Kernel::with_ring(256, 16, VNET);
    write(&mut ring, &[1; 14]);
    kernel.take(14);
    kernel.complete();
    assert_eq!(ring.take_count().unwrap(), 14);
    write(&mut ring, &[2, 3, 4, 5]);
    assert_eq!(kernel.take(1)[0][10..], [2; 60]);
    assert_eq!(ring.take_count().unwrap(), 1);
    assert_eq!((ring.withdraw().unwrap(), ring.pending()), (3, 0));
    assert!(kernel.take(9).is_empty());
    // The next frame goes where the kernel looks.
    write(&mut ring, &[6]);
    assert_eq!(kernel.take(9)[0][10..], [6; 60]);
    assert_eq!(ring.take_count().unwrap(), 1);
}

#[test]
fn a_withdrawn_frame_is_too_short_for_its_prefix() {
    let (mut kernel, mut ring) = Kernel::with_ring(256, 16, VNET);
    write(&mut ring, &[1, 2, 3]);
    assert_eq!(kernel.take(1).len(), 1);
    assert_eq!(ring.take_count().unwrap(), 1);
    ring.give_up_oldest();
    let rest = kernel.take(9);
    assert_eq!(rest.iter().map(Vec::len).collect::<Vec<_>>(), [0, 70]);
    assert_eq!(rest[1][10..], [3; 60]);
}

#[test]
fn the_prefix_says_how_much_to_copy() {
    let (mut kernel, mut ring) = Kernel::with_ring(2048, 16, VNET);
    assert_eq!(ring.room(3), 3);
    ring.request(&[60, 256, 1514]).unwrap();
    let frames = kernel.take(3);
    let copied: Vec<u16> = frames.iter().map(|f| u16::from_ne_bytes([f[2], f[3]])).collect();
    assert_eq!(copied, [60, 256, 42]);
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [70, 266, 1524]);
    assert!(frames.iter().all(|f| f[..2] == [0, 0] && f[4..10] == [0; 6]));
}

#[test]
fn a_refused_format_is_an_error() {
    let (kernel, mut ring) = Kernel::with_ring(256, 16, Prefix::None);
    write(&mut ring, &[1]);
    kernel.set(0, libc::TP_STATUS_WRONG_FORMAT);
    assert!(ring.take_count().unwrap_err().to_string().contains("format"));
}

#[test]
fn slots_hold_what_they_were_made_for() {
    for frame in [60, 88, 1514, 9014] {
        for prefix in [Prefix::None, VNET] {
            let size = TransmitRing::slot_size(frame, prefix) as usize;
            assert!(size - DATA_OFFSET - prefix.length() >= frame && size.is_multiple_of(16));
        }
    }
    assert_eq!(DATA_OFFSET, 32);
}
