//! The indices of AF_XDP rings, read and advanced in exactly these two functions.
//!
//! A ring has a producer and a consumer index, free-running 32-bit numbers. Each is advanced by one side only. Entries
//! from the consumer's index up to the producer's belong to the consumer, the others to the producer; advancing an
//! index passes entries to the other side.
//!
//! | ring | producer | consumer |
//! |---|---|---|
//! | fill | we: chunks that may be filled | kernel |
//! | receive | kernel: frames | we |
//! | transmit | we: frames | kernel |
//! | completion | kernel: chunks that were sent | we |

use std::sync::atomic::{AtomicU32, Ordering};

/// Reads the index that the kernel advances.
///
/// Acquire: pairs with the kernel's `smp_store_release` of the producer (`__xskq_prod_submit`: receive and completion
/// rings) or of the consumer (`__xskq_cons_release`: fill and transmit rings) in net/xdp/xsk_queue.h. Before Linux 5.12
/// it pairs with the write barrier before it. After this read the kernel's writes into passed entries and chunks are
/// visible, and it has finished reading the entries that it consumed.
///
/// # Safety
/// The word must be in a live mapping, aligned, and accessed by this side only through these two functions.
#[inline]
pub(crate) unsafe fn read_acquire(word: *mut u32) -> u32 {
    // SAFETY: the caller promises a live, aligned word that both sides access atomically.
    unsafe { AtomicU32::from_ptr(word) }.load(Ordering::Acquire)
}

/// Advances the index that is ours.
///
/// Release: pairs with the kernel's `smp_load_acquire` of the producer (`__xskq_cons_peek`: fill and transmit rings) or
/// with the control dependency on its read of the consumer (`xskq_prod_nb_free`: receive and completion rings). Our
/// writes into entries and chunks, and our reads of them, end before the kernel can see that it owns them.
///
/// # Safety
/// As for [`read_acquire`]; besides, the passed entries and the chunks that they name must be ours, and
/// nothing may refer to them any more.
#[inline]
pub(crate) unsafe fn advance_release(word: *mut u32, index: u32) {
    // SAFETY: the caller promises a live, aligned word that both sides access atomically.
    unsafe { AtomicU32::from_ptr(word) }.store(index, Ordering::Release);
}
