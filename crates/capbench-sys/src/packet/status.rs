//! The ownership words of kernel-shared rings, read and returned in exactly these two functions.
//!
//! A slot or block belongs either to the kernel or to us; its status word says which. The kernel publishes with
//! `smp_wmb(); WRITE_ONCE(status, TP_STATUS_USER)` (`__packet_set_status`, `prb_close_block` in
//! net/packet/af_packet.c) and reads our answer with `READ_ONCE` followed by `smp_rmb`.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The address of a status word. TPACKET_V1 made it an `unsigned long`; V2 and V3 a `__u32`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StatusWord {
    /// A `__u32` (TPACKET_V2 and V3).
    Int(*mut u32),
    /// An `unsigned long` (TPACKET_V1).
    Long(*mut usize),
}

/// Reads an ownership word.
///
/// Acquire: pairs with the kernel's write barrier before it set the word. If this read sees that the memory is ours,
/// every later read of that memory sees what the kernel wrote before.
///
/// # Safety
/// The word must be in a live mapping, aligned to its size, and accessed by this side only through these two functions.
#[inline]
pub(crate) unsafe fn read_acquire(word: StatusWord) -> u32 {
    match word {
        // SAFETY: the caller promises a live, aligned word that both sides access atomically.
        StatusWord::Int(word) => unsafe { AtomicU32::from_ptr(word) }.load(Ordering::Acquire),
        // SAFETY: as above. The kernel's flags are all in the low 32 bits.
        StatusWord::Long(word) => unsafe { AtomicUsize::from_ptr(word) }.load(Ordering::Acquire) as u32,
    }
}

/// Gives memory to the kernel by setting its ownership word.
///
/// Release: pairs with the kernel's read barrier after it read the word. Our reads of the memory
/// (when receiving) and our writes (when transmitting) end before the kernel can see that it owns the memory.
///
/// # Safety
/// As for [`read_acquire`]; besides, user space must own the memory of the word, and nothing may refer to it any more.
#[inline]
pub(crate) unsafe fn give_release(word: StatusWord, status: u32) {
    match word {
        // SAFETY: the caller promises a live, aligned word that both sides access atomically.
        StatusWord::Int(word) => unsafe { AtomicU32::from_ptr(word) }.store(status, Ordering::Release),
        StatusWord::Long(word) => {
            // SAFETY: as above.
            unsafe { AtomicUsize::from_ptr(word) }.store(status as usize, Ordering::Release);
        }
    }
}
