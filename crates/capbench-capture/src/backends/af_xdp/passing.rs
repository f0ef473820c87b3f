//! `+pass`: passes captured frames on to the stack, as received on their interface.
//!
//! XDP cannot clone a frame. The only way is `BPF_PROG_RUN` with live frames (Linux 5.18). A program that returns `XDP_PASS`
//! runs on a copy of the frame, and the kernel passes the copy to the stack. This takes one system call per frame. The kernel
//! allocates and frees a pool of pages in each call, which costs far more than the capture itself.

use capbench_sys::SysError;
use capbench_sys::bpf::object::{Loaded, Opened, object_file};
use capbench_sys::host::InterfaceIndex;

/// Passes frames on to the stack.
#[derive(Debug)]
pub(super) struct Passing {
    program: Loaded,
    interface: InterfaceIndex,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Why the first of those failed.
    first_failure: Option<SysError>,
}

impl Passing {
    /// Loads the program and tries it on a header without content, which goes nowhere. So a kernel without support fails
    /// here.
    ///
    /// # Errors
    /// Missing privilege, or a kernel before 5.18.
    pub(super) fn open(interface: InterfaceIndex) -> Result<Self, SysError> {
        let mut program = Opened::read("pass", object_file!("pass"))?.load()?;
        program.run_live(&[0; 14], interface, 0)?;
        Ok(Self { program, interface, passed: 0, failed: 0, first_failure: None })
    }

    /// Passes a frame on. A failure is only counted, because the frame was captured.
    pub(super) fn pass(&mut self, frame: &[u8], queue: u32) {
        match self.program.run_live(frame, self.interface, queue) {
            Ok(()) => self.passed += 1,
            Err(error) => {
                self.failed += 1;
                self.first_failure.get_or_insert(error);
            }
        }
    }

    /// The message on frames that the stack did not get, if there were any.
    pub(super) fn shortfall(&self) -> Option<String> {
        let error = self.first_failure.as_ref()?;
        let all = self.passed + self.failed;
        Some(format!(
            "{} of {all} captured frames were not passed on to the stack, first: {error}",
            self.failed
        ))
    }
}
