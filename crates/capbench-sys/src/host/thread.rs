//! The kernel's number of a thread: `gettid(2)`.

/// The kernel's number of a thread, within the process's PID namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// The thread with this number, for example from `/proc`; `None` for invalid numbers.
    pub fn new(number: u32) -> Option<Self> {
        libc::pid_t::try_from(number).ok().filter(|number| *number > 0).map(Self)
    }

    /// The kernel's number.
    pub fn number(self) -> u32 {
        self.0.unsigned_abs()
    }

    pub(crate) fn raw(self) -> libc::pid_t {
        self.0
    }
}

/// The calling thread.
pub fn current_thread() -> ThreadId {
    ThreadId(rustix::thread::gettid().as_raw_pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_number() {
        let here = current_thread();
        let there = std::thread::spawn(current_thread).join().unwrap();
        assert_ne!(here, there);
        assert_eq!(ThreadId::new(here.number()), Some(here));
    }

    #[test]
    fn numbers_that_no_thread_has_are_refused() {
        // 0 would mean "the calling thread" to the scheduler's calls.
        assert_eq!(ThreadId::new(0), None);
        assert_eq!(ThreadId::new(u32::MAX), None);
    }
}
