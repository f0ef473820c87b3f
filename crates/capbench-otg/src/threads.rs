//! Threads of the server and of engines.

use std::thread::{Builder, JoinHandle};

use crate::error::{OtgError, Result};

/// Starts a thread with a name.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let spawned = Builder::new().name(name.into()).spawn(work);
    spawned.map_err(|source| OtgError::System { what: "the system starts no thread", source })
}
