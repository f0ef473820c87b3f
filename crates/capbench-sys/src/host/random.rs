//! Random numbers of the kernel: getrandom(2).

use rustix::rand::{GetRandomFlags, getrandom};

use crate::Result;
use crate::error::named;

/// Random octets that nobody can guess.
///
/// # Errors
/// The kernel's reason: a system call filter, for example.
pub fn octets() -> Result<[u8; 16]> {
    let mut random = [0; 16];
    named(getrandom(&mut random, GetRandomFlags::empty()), || "getrandom".into())?;
    Ok(random)
}
