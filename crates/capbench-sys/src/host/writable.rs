//! Waiting until a descriptor takes bytes: poll(2).

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::error::check;
use crate::{Result, SysError};

/// Waits until a pipe, socket or terminal takes bytes or says why it does not. Who opened it may have made it non-blocking
/// for everybody that it is shared with, as programs do with their standard output.
///
/// # Errors
/// The kernel's reason.
pub fn wait(descriptor: BorrowedFd<'_>) -> Result<()> {
    let mut asked = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    loop {
        // SAFETY: poll(2) reads and writes one pollfd, which is ours and alive; the descriptor is open while borrowed.
        let code = unsafe { libc::poll(&raw mut asked, 1, -1) };
        match check(code, || "poll of the output".into()) {
            Err(SysError::Call { source, .. }) if source.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn a_pipe_is_waited_for_until_it_is_read_or_closed() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        super::wait(writer.as_fd()).unwrap();
        writer.write_all(b"x").unwrap();
        drop(reader);
        super::wait(writer.as_fd()).unwrap();
    }
}
