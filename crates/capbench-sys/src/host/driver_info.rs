//! Which driver runs an interface: `ETHTOOL_GDRVINFO` of linux/ethtool.h, in the network namespace of the calling thread.

use super::ethtool::{Request, ethtool};
use crate::Result;

/// `ETHTOOL_GDRVINFO`.
const GET_DRIVER_INFO: u32 = 0x03;

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Answer {
    command: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware: [u8; 32],
    bus: [u8; 32],
    expansion_rom: [u8; 32],
    reserved: [u8; 12],
    lengths: [u32; 5],
}

// SAFETY: ETHTOOL_GDRVINFO reads the command and writes one ethtool_drvinfo.
unsafe impl Request for Answer {}

/// What a driver says about itself. A text that it leaves out is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// Its name, `ixgbe` for example.
    pub driver: String,
    /// Its version; for drivers of the kernel usually the kernel's.
    pub version: String,
    /// Version of the firmware.
    pub firmware: String,
    /// Address of the device, `0000:00:06.0` for example.
    pub bus: String,
}

/// The driver of the interface.
///
/// # Errors
/// `ENODEV` where there is no such interface, `EOPNOTSUPP` where it has no driver that tells (`lo`).
pub fn read(interface: &str) -> Result<DriverInfo> {
    let mut answer = Answer {
        command: GET_DRIVER_INFO,
        driver: [0; 32],
        version: [0; 32],
        firmware: [0; 32],
        bus: [0; 32],
        expansion_rom: [0; 32],
        reserved: [0; 12],
        lengths: [0; 5],
    };
    ethtool(interface, &mut answer, "ETHTOOL_GDRVINFO")?;
    Ok(DriverInfo {
        driver: text(&answer.driver),
        version: text(&answer.version),
        firmware: text(&answer.firmware),
        bus: text(&answer.bus),
    })
}

/// The text of a field: up to its NUL, or all of it.
pub(super) fn text(field: &[u8]) -> String {
    let end = field.iter().position(|octet| *octet == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_kernels_layout() {
        assert_eq!(size_of::<Answer>(), 196);
        assert_eq!(std::mem::offset_of!(Answer, firmware), 68);
        assert_eq!(std::mem::offset_of!(Answer, lengths), 176);
    }

    #[test]
    fn fields_end_at_their_nul_or_at_their_end() {
        assert_eq!(text(b"e1000\0\0junk"), "e1000");
        assert_eq!(text(b"e1000"), "e1000");
        assert_eq!(text(b""), "");
        assert_eq!(text(b"\xff\0"), "\u{fffd}");
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = read("no-such-if").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV));
        assert!(error.to_string().contains("no-such-if"));
    }
}
