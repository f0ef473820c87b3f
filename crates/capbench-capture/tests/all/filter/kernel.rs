//! Runs programs in the kernel. It also filters datagrams between the two ends of a Unix socket, which needs no privilege.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;

use capbench_sys::packet::{FilterInstruction, attach_filter};

/// A program in the kernel.
pub struct InKernel {
    to: UnixDatagram,
    from: UnixDatagram,
}

impl InKernel {
    /// Loads it; `None` where the kernel refuses.
    pub fn new(program: &[FilterInstruction]) -> Option<Self> {
        let (to, from) = UnixDatagram::pair().unwrap();
        from.set_nonblocking(true).unwrap();
        attach_filter(&from, program).ok()?;
        Some(Self { to, from })
    }

    /// How many octets of a frame it keeps.
    pub fn keeps(&self, frame: &[u8]) -> usize {
        let mut buffer = vec![0; frame.len() + 1];
        self.to.send(frame).unwrap();
        match self.from.recv(&mut buffer) {
            Ok(octets) => octets,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                0
            }
        }
    }
}
