//! The memory of frames: a UMEM, divided into chunks of one size.
//!
//! A chunk is in exactly one place; a word per chunk records it:
//!
//! | word | place |
//! |---|---|
//! | `SPARE` | here, unused: a list of its queue, or on its way there |
//! | `LENT` | with the kernel: in a fill ring, being filled, in a receive, transmit or completion ring |
//! | 1 and more | in use here, by that many users |
//!
//! Only a chunk with the word `LENT` is accepted from the kernel, even if a descriptor names another one. The end of the last
//! use makes a chunk spare and returns it. So no chunk is returned twice, or while it can still be read.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::error::{Result, SysError};
use crate::memory::Mapping;

/// Bytes that the kernel reserves before every received frame (`XDP_PACKET_HEADROOM` of `linux/bpf.h`).
pub const KERNEL_HEADROOM: u32 = 256;

/// The possible chunk sizes: the kernel requires a power of two from 2048 (`XDP_UMEM_MIN_CHUNK_SIZE`) to the page size.
pub const CHUNK_SIZES: [u32; 2] = [2048, 4096];

/// The word of a chunk that nobody uses and the kernel does not have.
const SPARE: u32 = 0;

const LENT: u32 = u32::MAX;

/// Users of a chunk at most: far below [`LENT`], so that no count can become it.
const MOST_USERS: u32 = u32::MAX / 2;

/// The sizes of a UMEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UmemGeometry {
    chunk_size: u32,
    chunks: u32,
}

impl UmemGeometry {
    /// `chunks` chunks of `chunk_size` bytes.
    pub fn new(chunk_size: u32, chunks: u32) -> Result<Self> {
        if !CHUNK_SIZES.contains(&chunk_size) {
            return Err(SysError::argument("UMEM", format!("chunks of {chunk_size} bytes: 2048 or 4096")));
        }
        if chunks == 0 || chunks > 1 << 24 {
            return Err(SysError::argument("UMEM", format!("{chunks} chunks: 1 to 16777216")));
        }
        Ok(Self { chunk_size, chunks })
    }

    /// Bytes of a chunk.
    pub fn chunk_size(&self) -> u32 {
        self.chunk_size
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Bytes of the whole UMEM.
    pub fn bytes(&self) -> u64 {
        u64::from(self.chunk_size) * u64::from(self.chunks)
    }

    /// Octets of the largest frame that a chunk of this size can receive.
    pub const fn frame_room(chunk_size: u32) -> u32 {
        chunk_size - KERNEL_HEADROOM
    }

    /// Where chunk `index` begins, as an address in the UMEM.
    #[inline]
    pub(crate) fn address(&self, index: u32) -> u64 {
        u64::from(index) * u64::from(self.chunk_size)
    }

    /// The chunk that an address is in, if `length` bytes from there are in the same one.
    #[inline]
    pub(crate) fn chunk_of(&self, address: u64, length: u32) -> Option<u32> {
        let size = u64::from(self.chunk_size);
        let (index, offset) = (address / size, address % size);
        (index < u64::from(self.chunks) && offset + u64::from(length) <= size).then_some(index as u32)
    }
}

#[derive(Debug)]
pub(crate) struct Umem {
    map: Mapping,
    geometry: UmemGeometry,
    places: Box<[AtomicU32]>,
}

impl Umem {
    pub(crate) fn of_pages(geometry: UmemGeometry) -> Result<Arc<Self>> {
        Self::new(Mapping::of_pages(geometry.bytes() as usize, "a UMEM")?, geometry)
    }

    pub(crate) fn new(map: Mapping, geometry: UmemGeometry) -> Result<Arc<Self>> {
        if (map.length() as u64) < geometry.bytes() {
            return Err(SysError::argument("UMEM", format!("{} bytes are mapped", map.length())));
        }
        let places = (0..geometry.chunks()).map(|_| AtomicU32::new(SPARE)).collect();
        Ok(Arc::new(Self { map, geometry, places }))
    }

    pub(crate) fn geometry(&self) -> UmemGeometry {
        self.geometry
    }

    /// The description that the kernel wants (`XDP_UMEM_REG`).
    pub(crate) fn registration(&self) -> libc::xdp_umem_reg {
        libc::xdp_umem_reg {
            addr: self.start(0, 0) as u64,
            len: self.geometry.bytes(),
            chunk_size: self.geometry.chunk_size(),
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        }
    }

    /// Notes that a spare chunk of the caller's goes to the kernel; call this before it is in a ring.
    #[inline]
    pub(crate) fn lend(&self, chunk: u32) {
        let place = &self.places[chunk as usize];
        debug_assert_eq!(place.load(Ordering::Relaxed), SPARE, "chunk {chunk} is lent");
        // Relaxed, here and where it is read: only the queue that has the chunk lends it and takes it.
        place.store(LENT, Ordering::Relaxed);
    }

    /// Begins to use a chunk that the kernel delivers. `false` if it had not been lent: then it is spare or in use, and the
    /// caller must leave it alone.
    #[inline]
    pub(crate) fn begin_use(&self, chunk: u32) -> bool {
        // Relaxed: the Acquire on the ring's index has ordered the kernel's writes. A Release of ours after its last use
        // put the chunk there.
        self.take_from_kernel(chunk, 1)
    }

    /// Takes back a chunk that the kernel says it is done with: it is spare. `false` as for [`Self::begin_use`].
    #[inline]
    pub(crate) fn take_back(&self, chunk: u32) -> bool {
        self.take_from_kernel(chunk, SPARE)
    }

    #[inline]
    fn take_from_kernel(&self, chunk: u32, now: u32) -> bool {
        let place = &self.places[chunk as usize];
        // No exchange: while it is lent nobody but the caller changes it, and what is not lent is not touched.
        if place.load(Ordering::Relaxed) != LENT {
            return false;
        }
        place.store(now, Ordering::Relaxed);
        true
    }

    /// One more user of a chunk that the caller uses.
    #[inline]
    pub(crate) fn share(&self, chunk: u32) {
        // Relaxed, as for the count of an Arc: the caller's own use keeps the count above 0.
        if self.places[chunk as usize].fetch_add(1, Ordering::Relaxed) > MOST_USERS {
            // As an Arc does: somebody forgets frames without end.
            std::process::abort();
        }
    }

    /// Ends the caller's use. `true` if it was the last one: then, and only then, the chunk is spare and must be returned.
    #[inline]
    pub(crate) fn end_use(&self, chunk: u32) -> bool {
        let users = &self.places[chunk as usize];
        // Acquire: sees the end of all other uses. With one user left nobody can add one but that user, the caller.
        if users.load(Ordering::Acquire) == 1 {
            users.store(SPARE, Ordering::Relaxed);
            return true;
        }
        // Release: this use is over before the last user can know that it is the last. It leaves 0, which is SPARE.
        if users.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        fence(Ordering::Acquire);
        true
    }

    #[inline]
    pub(crate) fn start(&self, address: u64, length: usize) -> *mut u8 {
        self.map.at(address as usize, length).expect("an address of a checked chunk is in its mapping")
    }

    /// Bytes of a frame.
    ///
    /// # Safety
    /// They must be in a chunk that the caller uses for all of the lifetime `'a`.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(&self, address: u64, length: u32) -> &'a [u8] {
        // SAFETY: the bytes lie in the live mapping. The caller uses their chunk, so it is in no ring, and neither the
        // kernel nor anybody here writes it.
        unsafe { slice::from_raw_parts(self.start(address, length as usize), length as usize) }
    }
}

/// Chunks on their way back to the owner of their fill ring, because the last user was another one. It is a stack linked
/// through an array, so it allocates nothing. Anybody pushes, and the owner takes all at once, so that no entry can leave
/// and come back during a push.
#[derive(Debug)]
pub(crate) struct Returned {
    newest: AtomicU32,
    older: Box<[AtomicU32]>,
    first_chunk: u32,
}

const NONE: u32 = u32::MAX;

impl Returned {
    pub(crate) fn new(first_chunk: u32, chunks: u32) -> Self {
        let older = (0..chunks).map(|_| AtomicU32::new(NONE)).collect();
        Self { newest: AtomicU32::new(NONE), older, first_chunk }
    }

    /// Gives a chunk back. The caller's [`Umem::end_use`] said that it is the one to do so.
    pub(crate) fn push(&self, chunk: u32) {
        let link = &self.older[(chunk - self.first_chunk) as usize];
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            link.store(newest, Ordering::Relaxed);
            // Release: the link, and all use of the chunk, is done before the owner can see it.
            match self.newest.compare_exchange_weak(newest, chunk, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    #[inline]
    pub(crate) fn take_all(&self, mut take: impl FnMut(u32)) {
        if self.newest.load(Ordering::Relaxed) == NONE {
            return;
        }
        // Acquire: pairs with the Release of each push.
        let mut chunk = self.newest.swap(NONE, Ordering::Acquire);
        while chunk != NONE {
            // Before `take`, which may lend the chunk out again.
            let older = self.older[(chunk - self.first_chunk) as usize].load(Ordering::Relaxed);
            take(chunk);
            chunk = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_outside_a_chunk_are_refused() {
        let geometry = UmemGeometry::new(2048, 4).unwrap();
        assert_eq!(geometry.chunk_of(2048 + 256, 1792), Some(1));
        assert_eq!(geometry.chunk_of(2048 + 256, 1793), None);
        assert_eq!(geometry.chunk_of(4 * 2048, 0), None);
        assert_eq!(geometry.chunk_of(u64::MAX, 1), None);
        assert_eq!(UmemGeometry::frame_room(2048), 1792);
        for (size, chunks) in [(1024, 1), (3000, 1), (8192, 1), (2048, 0), (2048, u32::MAX)] {
            assert!(UmemGeometry::new(size, chunks).is_err(), "{size} {chunks}");
        }
    }

    #[test]
    fn only_the_last_user_returns_a_lent_chunk() {
        let geometry = UmemGeometry::new(2048, 2).unwrap();
        let umem = Umem::new(Mapping::on_heap(4096).unwrap(), geometry).unwrap();
        assert!(!umem.begin_use(1) && !umem.take_back(1), "spare");
        umem.lend(1);
        umem.lend(0);
        assert!(umem.begin_use(1) && umem.begin_use(0));
        assert!(!umem.begin_use(1) && !umem.take_back(1), "in use");
        umem.share(1);
        umem.share(1);
        assert_eq!([umem.end_use(1), umem.end_use(1), umem.end_use(1)], [false, false, true]);
        assert!(!umem.begin_use(1) && umem.end_use(0), "spare again");
        umem.lend(1);
        assert!(umem.take_back(1) && !umem.take_back(1));
        assert!(Umem::new(Mapping::on_heap(4096).unwrap(), UmemGeometry::new(4096, 2).unwrap()).is_err());
    }

    #[test]
    fn chunks_come_back_once_from_many_threads() {
        let returned = Returned::new(100, 4000);
        let mut seen = vec![0; 4000];
        std::thread::scope(|scope| {
            for part in 0..4 {
                let returned = &returned;
                scope.spawn(move || (0..1000).for_each(|n| returned.push(100 + part * 1000 + n)));
            }
            let mut left = 4000;
            while left > 0 {
                returned.take_all(|chunk| {
                    seen[chunk as usize - 100] += 1;
                    left -= 1;
                });
            }
        });
        assert!(seen.iter().all(|&times| times == 1));
    }
}
