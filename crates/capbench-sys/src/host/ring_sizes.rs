//! How many descriptors an interface's rings have: `ETHTOOL_GRINGPARAM` of linux/ethtool.h, in the network namespace of
//! the calling thread.

use super::ethtool::{Request, ethtool};
use crate::Result;

/// `ETHTOOL_GRINGPARAM`.
const GET_RINGS: u32 = 0x10;

/// `struct ethtool_ringparam`.
#[repr(C)]
#[derive(Default)]
struct Answer {
    command: u32,
    most_receive: u32,
    most_receive_mini: u32,
    most_receive_jumbo: u32,
    most_transmit: u32,
    receive: u32,
    receive_mini: u32,
    receive_jumbo: u32,
    transmit: u32,
}

// SAFETY: ETHTOOL_GRINGPARAM reads the command and writes one ethtool_ringparam.
unsafe impl Request for Answer {}

/// Descriptors in each ring of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingSizes {
    /// In each receive ring now.
    pub receive: u32,
    /// The most that a receive ring can have.
    pub most_receive: u32,
    /// In each transmit ring now.
    pub transmit: u32,
    /// The most that a transmit ring can have.
    pub most_transmit: u32,
}

/// The sizes; `None` where the driver does not tell.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn read(interface: &str) -> Result<Option<RingSizes>> {
    let mut answer = Answer { command: GET_RINGS, ..Answer::default() };
    match ethtool(interface, &mut answer, "ETHTOOL_GRINGPARAM") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    Ok(Some(RingSizes {
        receive: answer.receive,
        most_receive: answer.most_receive,
        transmit: answer.transmit,
        most_transmit: answer.most_transmit,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<Answer>(), 36);
        assert_eq!(std::mem::offset_of!(Answer, receive), 20);
        assert_eq!(std::mem::offset_of!(Answer, transmit), 32);
    }

    #[test]
    fn an_interface_without_rings_has_none() {
        assert_eq!(read("lo").unwrap(), None);
        assert_eq!(read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
