//! Waits for descriptors: poll(2).

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::Result;
use crate::error::check;

/// Waits until a pipe, socket or terminal is writable or has an error. Another process that shares it may have made it
/// non-blocking, as programs do with their standard output.
pub fn writable(descriptor: BorrowedFd<'_>) -> Result<()> {
    let mut asked = [libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLOUT, revents: 0 }];
    while !poll(&mut asked, Duration::MAX, "the output")? {}
    Ok(())
}

/// Waits for an event of these descriptors, which errors call `what`; `false` after the timeout or a signal.
pub(crate) fn poll(entries: &mut [libc::pollfd], timeout: Duration, what: &str) -> Result<bool> {
    // A call that a signal ends need not say anything of them.
    entries.iter_mut().for_each(|entry| entry.revents = 0);
    // SAFETY: valid entries, as many as the count says, which are ours alone. A number that is no descriptor is an event.
    let code =
        unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds(timeout)) };
    match check(code, || format!("poll of {what}")) {
        Err(error) if error.errno() == Some(libc::EINTR) => Ok(false),
        waited => waited.map(|events| events > 0),
    }
}

/// A timeout as poll(2) takes it. Rounded up: a wait of under a millisecond must not become a spin.
pub(crate) fn milliseconds(timeout: Duration) -> libc::c_int {
    timeout.as_micros().div_ceil(1000).min(i32::MAX as u128) as libc::c_int
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_pipe_is_waited_for_until_it_is_read_or_closed() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writable(writer.as_fd()).unwrap();
        writer.write_all(b"x").unwrap();
        drop(reader);
        writable(writer.as_fd()).unwrap();
    }

    #[test]
    fn waits_are_rounded_up_and_bounded() {
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::from_micros(1)), 1);
        assert_eq!(milliseconds(Duration::MAX), i32::MAX);
    }
}
