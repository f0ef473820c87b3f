//! Sends frames with an XDP program: `BPF_PROG_RUN` with `BPF_F_TEST_XDP_LIVE_FRAMES` (Linux 5.18,
//! Documentation/bpf/bpf_prog_run.rst). The kernel makes frames; the program fills each from a slot and redirects it.
//!
//! Slots are in an array map that is mapped into memory (`BPF_F_MMAPABLE`). A program may do anything with its maps. So
//! frames are written elsewhere and copied into the map, without a reference to it. (The kernel allows no writable mapping of
//! a map that programs may only read, `BPF_F_RDONLY_PROG`.)

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::call;
use crate::error::named;
use crate::memory::Mapping;
use crate::{Result, SysError};

/// Octets of a slot in front of its frame: the frame's length.
const HEADER: usize = 8;

/// `BPF_F_MMAPABLE` (Linux 5.5).
const MMAPABLE: u32 = 1 << 10;

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;

/// A program that sends frames, and the slots that it uses in turn for one of its threads.
#[derive(Debug)]
pub struct LiveFrames {
    program: OwnedFd,
    memory: Mapping,
    /// Its slots among those of all threads.
    slots: Range<usize>,
    slot_octets: usize,
    largest: usize,
    /// What the kernel fills each frame with before the program runs. By its length the program knows the thread.
    template: Vec<u8>,
    staged: Vec<u8>,
}

impl LiveFrames {
    /// Maps `slots`, an array map with values of a 64-bit length and a frame, of which `program` reads the `count` ones of this
    /// thread in turn. Frames have up to `largest` octets; before the program changes them, one more for each earlier thread.
    pub fn new(
        program: BorrowedFd<'_>,
        slots: BorrowedFd<'_>,
        largest: usize,
        thread: u16,
        count: u32,
    ) -> Result<Self> {
        const WHAT: &str = "slots of live frames";
        let info = call::map_info(slots)?;
        let value_octets = (info.value_size as usize).next_multiple_of(8);
        let is_fit = info.kind == ARRAY
            && info.flags & MMAPABLE != 0
            && count > 0
            && u64::from(info.entries) >= (u64::from(thread) + 1) * u64::from(count)
            && (14..=value_octets.saturating_sub(HEADER)).contains(&largest);
        if !is_fit {
            return Err(SysError::argument(WHAT, format!("the map is not one for them: {info:?}")));
        }
        let octets = value_octets * info.entries as usize;
        let first = usize::from(thread) * count as usize;
        // The kernel refuses a length beyond that of the map (array_map_mmap of kernel/bpf/arraymap.c).
        let memory = Mapping::of_file(slots, octets, 0, WHAT)?;
        let program = named(program.try_clone_to_owned(), || "dup(program)".into())?;
        Ok(Self {
            program,
            memory,
            slots: first..first + count as usize,
            slot_octets: value_octets,
            largest,
            template: vec![0; largest + usize::from(thread)],
            staged: vec![0; (value_octets - HEADER) * count as usize],
        })
    }

    /// The octets of the slot `number` modulo the number of slots: room for at least the largest frame.
    pub fn slot(&mut self, number: u64) -> &mut [u8] {
        let room = self.slot_octets - HEADER;
        let start = self.index(number) * room;
        &mut self.staged[start..start + room]
    }

    /// Passes a slot with the length of its frame to the program: the next run may send it.
    ///
    /// # Panics
    /// If it is longer than the largest frame.
    pub fn commit(&mut self, number: u64, octets: u16) {
        let length = usize::from(octets);
        assert!(length <= self.largest, "a frame of {octets} octets");
        let index = self.index(number);
        let frame = &self.staged[index * (self.slot_octets - HEADER)..][..length];
        let slot = self.memory.at((self.slots.start + index) * self.slot_octets, self.slot_octets);
        let slot = slot.expect("a slot of the mapping");
        // SAFETY: the index is below the number of slots, so the whole slot is inside the mapping. The mapping lives as
        // long as `self`, which is borrowed exclusively. Only `self` leads to its address; other mappings of the map
        // (of other threads, in the kernel) are at others, and nothing refers to their octets. The frame fits after the header
        // (`new`), slots begin at multiples of 8 of a page, and the staged octets are ours and do not overlap it.
        unsafe {
            slot.cast::<u64>().write_volatile(octets.into());
            std::ptr::copy_nonoverlapping(frame.as_ptr(), slot.add(HEADER), length);
        }
    }

    /// Lets the program send this number of frames, in batches that the driver gets together.
    ///
    /// # Errors
    /// `EINTR` on a signal, after some of the frames: only the program knows how many. `EPERM` without CAP_BPF and
    /// CAP_NET_ADMIN, `EINVAL` before Linux 5.18.
    pub fn run(&mut self, frames: u32, batch: u32) -> Result<()> {
        call::run_live(self.program.as_fd(), &self.template, frames, batch.min(frames))
    }

    fn index(&self, number: u64) -> usize {
        (number % self.slots.len() as u64) as usize
    }
}
