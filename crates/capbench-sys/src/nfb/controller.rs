//! The packet counters of a receive queue's DMA controller (`netcope/rxqueue.h`). That header has only inline functions, so
//! this module reads the counters in the same steps.

use std::ffi::c_uint;
use std::mem::size_of;
use std::ptr::NonNull;

use super::abi::{CONTROLLERS, Functions, NfbComponent, NfbDevice, Registers, STROBE};

/// Packet counts of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Packets transferred to the host's memory.
    pub received: u64,
    /// Packets dropped because the host's memory had no room.
    pub discarded: u64,
}

/// An open controller. Its counters belong to the card and are never reset here: others may read them too.
#[derive(Debug)]
pub(super) struct Controller {
    component: NonNull<NfbComponent>,
    registers: Registers,
    close: unsafe extern "C" fn(*mut NfbComponent),
    before: QueueCounts,
}

impl Controller {
    /// The controller of a queue, if the firmware describes one, with its counters noted as where to count from.
    ///
    /// # Safety
    /// `device` must be open, and has to stay so until the controller is dropped; so has the library.
    pub(super) unsafe fn find(
        functions: &Functions,
        device: NonNull<NfbDevice>,
        queue: c_uint,
    ) -> Option<Self> {
        let device = device.as_ptr().cast_const();
        let (name, registers) = CONTROLLERS
            .iter()
            // SAFETY: an open device and a C string.
            .find(|(name, _)| unsafe { (functions.nfb_comp_count)(device, name.as_ptr()) } > 0)?;
        // SAFETY: as above.
        let offset = unsafe { (functions.nfb_comp_find)(device, name.as_ptr(), queue) };
        if offset < 0 {
            return None;
        }
        // SAFETY: an open device and an offset into its device tree that `nfb_comp_find` gave.
        let component = NonNull::new(unsafe { (functions.nfb_comp_open)(device, offset) })?;
        let mut controller = Self {
            component,
            registers: *registers,
            close: functions.nfb_comp_close,
            before: QueueCounts::default(),
        };
        controller.before = controller.read(functions)?;
        Some(controller)
    }

    /// Packets since it was opened; `None` when the card cannot be read.
    pub(super) fn counts(&self, functions: &Functions) -> Option<QueueCounts> {
        let now = self.read(functions)?;
        Some(QueueCounts {
            received: now.received.wrapping_sub(self.before.received),
            discarded: now.discarded.wrapping_sub(self.before.discarded),
        })
    }

    fn read(&self, functions: &Functions) -> Option<QueueCounts> {
        if self.registers.strobe {
            let command = STROBE;
            // SAFETY: an open component, and as many octets as are said.
            let written = unsafe {
                (functions.nfb_comp_write)(
                    self.component.as_ptr(),
                    (&raw const command).cast(),
                    size_of::<u32>(),
                    self.registers.received,
                )
            };
            if written != size_of::<u32>() as isize {
                return None;
            }
        }
        let register = |offset| {
            let mut value: u64 = 0;
            // SAFETY: an open component, and room for as many octets as are said.
            let read = unsafe {
                (functions.nfb_comp_read)(
                    self.component.as_ptr(),
                    (&raw mut value).cast(),
                    size_of::<u64>(),
                    offset,
                )
            };
            (read == size_of::<u64>() as isize).then(|| u64::from_le(value))
        };
        Some(QueueCounts {
            received: register(self.registers.received)?,
            discarded: register(self.registers.discarded)?,
        })
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // SAFETY: an open component, closed here and nowhere else, before its device.
        unsafe { (self.close)(self.component.as_ptr()) };
    }
}
