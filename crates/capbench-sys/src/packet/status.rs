//! The ownership words of kernel-shared rings, read and returned in exactly these two functions.
//!
//! A slot or block belongs either to the kernel or to us; its status word says to whom. The kernel publishes with
//! `smp_wmb(); WRITE_ONCE(status, TP_STATUS_USER)` (`__packet_set_status`, `prb_close_block` in
//! net/packet/af_packet.c) and reads our answer with `READ_ONCE` followed by `smp_rmb`.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Where a status word lies. TPACKET_V1 made it an `unsigned long`; V2 and V3 a `__u32`.
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
/// every later read of that memory sees what the kernel wrote before it gave it to us.
///
/// # Safety
/// The word must lie in a live mapping, aligned to its size, and be accessed by this side only through these two functions.
#[inline]
pub(crate) unsafe fn read_acquire(word: StatusWord) -> u32 {
    match word {
        // SAFETY: the caller promises a live, aligned word that both sides access atomically.
        StatusWord::Int(word) => unsafe { AtomicU32::from_ptr(word) }.load(Ordering::Acquire),
        // SAFETY: as above. The kernel's flags all lie in the low 32 bits.
        StatusWord::Long(word) => unsafe { AtomicUsize::from_ptr(word) }.load(Ordering::Acquire) as u32,
    }
}

/// Gives memory to the kernel by setting its ownership word.
///
/// Release: pairs with the kernel's read barrier after it read the word. Every read that we made of the memory (when
/// receiving) and every write (when transmitting) is done before the kernel can see that the memory is its own.
///
/// # Safety
/// As for [`read_acquire`]; besides, the memory that the word speaks for must be owned by user space, and nothing may
/// refer to it any more.
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
