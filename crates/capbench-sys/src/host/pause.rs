//! Pause frames, by which a receiver makes its sender wait (IEEE 802.3 annex 31B): `ETHTOOL_GPAUSEPARAM` of
//! linux/ethtool.h, in the network namespace of the calling thread.

use super::ethtool::{Request, ethtool};
use crate::Result;

/// `ETHTOOL_GPAUSEPARAM`.
const GET_PAUSE: u32 = 0x12;

/// `struct ethtool_pauseparam`.
#[repr(C)]
#[derive(Default)]
struct Answer {
    command: u32,
    negotiated: u32,
    receive: u32,
    transmit: u32,
}

// SAFETY: ETHTOOL_GPAUSEPARAM reads the command and writes one ethtool_pauseparam.
unsafe impl Request for Answer {}

/// What an interface does about pause frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Whether both ends of the link agree on it by themselves.
    pub negotiated: bool,
    /// Whether it waits when it is told to.
    pub obeys: bool,
    /// Whether it makes the other end wait.
    pub sends: bool,
}

/// The setting; `None` where the driver has none.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn read(interface: &str) -> Result<Option<Pause>> {
    let mut answer = Answer { command: GET_PAUSE, ..Answer::default() };
    match ethtool(interface, &mut answer, "ETHTOOL_GPAUSEPARAM") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    let Answer { negotiated, receive, transmit, .. } = answer;
    Ok(Some(Pause { negotiated: negotiated != 0, obeys: receive != 0, sends: transmit != 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<Answer>(), 16);
        assert_eq!(std::mem::offset_of!(Answer, transmit), 12);
    }

    #[test]
    fn an_interface_without_a_wire_has_none() {
        assert_eq!(read("lo").unwrap(), None);
        assert_eq!(read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
