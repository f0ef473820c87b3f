//! Threads that DPDK did not create. They may receive, one thread per queue. A registered thread also has a cache of buffers;
//! otherwise every buffer comes from and returns to a ring that all threads share.

use std::cell::Cell;
use std::marker::PhantomData;

use super::eal::{forget_what_was_said, refused};
use super::ffi;
use crate::Result;

thread_local! {
    /// How many captures of this thread rely on its registration.
    static HOLDERS: Cell<usize> = const { Cell::new(0) };
}

/// The calling thread's registration with the EAL, kept as long as one of these lives. It stays on its thread.
#[derive(Debug)]
pub(super) struct Registered(PhantomData<*const ()>);

impl Registered {
    /// Registers the calling thread, if it is not. The EAL has to run.
    pub(super) fn new() -> Result<Self> {
        HOLDERS.with(|holders| {
            if holders.get() == 0 {
                forget_what_was_said();
                // SAFETY: concerns the calling thread only, which is not registered. Before the EAL runs it fails.
                let code = unsafe { ffi::capbench_dpdk_register_thread() };
                if code < 0 {
                    return Err(refused("rte_thread_register".into(), code));
                }
            }
            holders.set(holders.get() + 1);
            Ok(Self(PhantomData))
        })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // A thread that is ending may have no counter any more; DPDK then forgets the thread with it.
        let _ = HOLDERS.try_with(|holders| {
            holders.set(holders.get() - 1);
            if holders.get() == 0 {
                // SAFETY: the thread was registered by `new` and is still; nothing of it uses the registration.
                unsafe { ffi::capbench_dpdk_unregister_thread() };
            }
        });
    }
}
