//! How many queues an interface has: `ETHTOOL_GCHANNELS` of linux/ethtool.h, or sysfs.

use super::SysfsView;
use super::ethtool::{Request, ethtool};
use crate::Result;

/// `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most_receive: u32,
    most_transmit: u32,
    most_other: u32,
    most_combined: u32,
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

// SAFETY: ETHTOOL_GCHANNELS reads the command and writes one ethtool_channels.
unsafe impl Request for Channels {}

/// Queues of an interface as its driver counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueCounts {
    /// Queues that only receive.
    pub receive: u32,
    /// Queues that only transmit.
    pub transmit: u32,
    /// Pairs of a receive and a transmit queue that share an interrupt.
    pub combined: u32,
    /// Queues that only receive, at most.
    pub most_receive: u32,
    /// Queues that only transmit, at most.
    pub most_transmit: u32,
    /// Pairs, at most.
    pub most_combined: u32,
}

/// What the driver says about its queues; `None` where it does not say.
///
/// # Errors
/// `ENODEV` where there is no such interface in the network namespace of the calling thread.
pub fn counts(interface: &str) -> Result<Option<QueueCounts>> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    match ethtool(interface, &mut channels, "ETHTOOL_GCHANNELS") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    let Channels { receive, transmit, combined, most_receive, most_transmit, most_combined, .. } = channels;
    Ok(Some(QueueCounts { receive, transmit, combined, most_receive, most_transmit, most_combined }))
}

/// Receive queues that the interface uses now, in the network namespace of the calling thread.
///
/// # Errors
/// The driver's reason, where it does not say and sysfs cannot be read (which takes CAP_SYS_ADMIN).
pub fn receive_queues(interface: &str) -> Result<u32> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    match ethtool(interface, &mut channels, "ETHTOOL_GCHANNELS") {
        Ok(()) if channels.receive + channels.combined > 0 => return Ok(channels.receive + channels.combined),
        Err(error) if error.errno() != Some(libc::EOPNOTSUPP) => return Err(error),
        _ => {}
    }
    let names = SysfsView::of_current_namespace()?.list(&format!("class/net/{interface}/queues"))?;
    Ok(names.iter().filter(|name| name.starts_with("rx-")).count() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<Channels>(), 36);
        assert_eq!(std::mem::offset_of!(Channels, receive), 20);
        assert_eq!(std::mem::offset_of!(Channels, combined), 32);
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = receive_queues("no-such-if").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV));
        assert!(error.to_string().contains("no-such-if"));
        assert_eq!(counts("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert_eq!(counts("lo").unwrap(), None);
    }

    #[test]
    fn root_an_interface_whose_driver_does_not_say_is_counted() {
        match receive_queues("lo") {
            Ok(queues) => assert_eq!(queues, 1),
            Err(error) => assert_eq!(error.errno(), Some(libc::EPERM), "{error}"),
        }
    }
}
