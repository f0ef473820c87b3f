//! The XDP program of an interface, and the receive queues whose frames it redirects: of one capture, or of all members of a group.

use std::sync::{Mutex, PoisonError};

use capbench_sys::bpf::object::{Loaded, Opened, object_file};
use capbench_sys::bpf::{XdpLink, XdpMode};
use capbench_sys::xdp::Receiver;
use capbench_sys::{SysError, host::InterfaceIndex};

use super::super::queue_shares::QueueShares;

/// A loaded program. It is on its interface as long as this value exists, once it was attached.
#[derive(Debug)]
pub(super) struct Redirecting {
    // Drop order: the program leaves the interface before its maps go.
    link: Mutex<Option<XdpLink>>,
    program: Loaded,
    /// The receive queues that it counts for.
    pub(super) shares: QueueShares,
}

/// What the program counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) redirected: u64,
    pub(super) passed: u64,
}

impl Redirecting {
    /// Loads the program for this many receive queues, from 0 on.
    ///
    /// # Errors
    /// Missing privilege, or the kernel's reason.
    pub(super) fn load(queues: u32) -> Result<Self, SysError> {
        let mut opened = Opened::read("redirect", object_file!("redirect"))?;
        for map in ["sockets", "counts"] {
            opened.set_entries(map, queues)?;
        }
        Ok(Self { link: Mutex::default(), program: opened.load()?, shares: QueueShares::of(queues) })
    }

    /// Redirects the frames of these queues to the receiver's sockets.
    pub(super) fn redirect(&self, queues: &[u32], receiver: &Receiver) -> Result<(), SysError> {
        let mut sockets = queues.iter().zip(receiver.sockets());
        sockets.try_for_each(|(&queue, socket)| self.program.update_socket("sockets", queue, socket))
    }

    /// Attaches the program, unless another member has done it. Frames arrive from here on. Returns the mode in which it runs.
    pub(super) fn attach(&self, interface: InterfaceIndex, mode: XdpMode) -> Result<XdpMode, SysError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.is_none() {
            *link = Some(self.program.attach(interface, mode)?);
        }
        Ok(link.as_ref().map_or(mode, XdpLink::mode))
    }

    /// What it counted for a queue, summed over CPUs: `struct counts` of `redirect.bpf.c`.
    pub(super) fn counts(&self, queue: u32) -> Result<Counts, SysError> {
        let mut sum = Counts::default();
        for value in self.program.per_cpu("counts", queue)? {
            let Some([redirected, passed]) = value.as_chunks::<8>().0.first_chunk() else {
                return Err(SysError::argument("BPF map counts", "its values are not as expected"));
            };
            sum.redirected += u64::from_ne_bytes(*redirected);
            sum.passed += u64::from_ne_bytes(*passed);
        }
        Ok(sum)
    }
}
