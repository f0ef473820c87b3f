//! Waits until a descriptor is writable: poll(2).

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;

use crate::Result;
use crate::error::named;

/// Waits until a pipe, socket or terminal is writable or has an error. Another process that shares it may have made it
/// non-blocking, as programs do with their standard output.
pub fn wait(descriptor: BorrowedFd<'_>) -> Result<()> {
    let mut asked = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
    named(retry_on_intr(|| poll(&mut asked, None)), || "poll of the output".into()).map(drop)
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
