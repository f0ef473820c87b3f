//! Receives packets from a device that a vendor's library has opened: the same two steps for every library.

use std::time::Duration;

use crate::error::Result;

/// A device that returns the packets of one call at a time; they stay valid until the next call.
pub trait Fetch {
    /// Lets go of what is at hand and takes what comes next; whether there is any. Does not wait.
    ///
    /// # Errors
    /// The library reports one, or gives what it cannot have ([`crate::SysError::Library`]).
    fn fetch(&mut self) -> Result<bool>;

    /// The same, waiting at most about `timeout`. Returns early, and without any, on a signal.
    ///
    /// # Errors
    /// As [`Self::fetch`], and where waiting fails or the device reports an error.
    fn fetch_within(&mut self, timeout: Duration) -> Result<bool>;
}
