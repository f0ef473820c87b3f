//! How an interface holds interrupts back: `ETHTOOL_GCOALESCE` and `ETHTOOL_SCOALESCE` of linux/ethtool.h, in the network
//! namespace of the calling thread.

use super::ethtool::{Request, ethtool};
use crate::Result;

/// `ETHTOOL_GCOALESCE`.
const GET: u32 = 0xe;
/// `ETHTOOL_SCOALESCE`.
const SET: u32 = 0xf;
/// Where `tx_coalesce_usecs` and `tx_max_coalesced_frames` stand among the members before `use_adaptive_rx_coalesce`.
const TRANSMIT_USECS: usize = 2;
const TRANSMIT_FRAMES: usize = 3;

/// `struct ethtool_coalesce`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parameters {
    command: u32,
    receive_usecs: u32,
    receive_frames: u32,
    /// Of receiving while interrupts are served, of transmitting, and of statistics.
    before_adaptive: [u32; 7],
    adaptive_receive: u32,
    /// Of adaptive transmitting, and of rates that select other values.
    after_adaptive: [u32; 12],
}

// SAFETY: ETHTOOL_GCOALESCE reads the command and writes one ethtool_coalesce, ETHTOOL_SCOALESCE reads one.
unsafe impl Request for Parameters {}

/// The settings of an interface, those that capbench does not look at among them, so that all can be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing(Parameters);

impl Coalescing {
    /// The settings now; `None` where the driver has none.
    ///
    /// # Errors
    /// `ENODEV` where there is no such interface.
    pub fn read(interface: &str) -> Result<Option<Self>> {
        let mut parameters = Parameters { command: GET, ..Parameters::default() };
        match ethtool(interface, &mut parameters, "ETHTOOL_GCOALESCE") {
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
            answered => answered?,
        }
        Ok(Some(Self(Parameters { command: 0, ..parameters })))
    }

    /// Applies these settings.
    ///
    /// # Errors
    /// `EOPNOTSUPP` and `EINVAL` where the driver refuses a value, `EPERM` without CAP_NET_ADMIN.
    pub fn write(&self, interface: &str) -> Result<()> {
        let mut parameters = Parameters { command: SET, ..self.0 };
        ethtool(interface, &mut parameters, "ETHTOOL_SCOALESCE")
    }

    /// Microseconds that a receive interrupt is held back (ethtool's `rx-usecs`).
    pub fn receive_usecs(&self) -> u32 {
        self.0.receive_usecs
    }

    /// Whether the driver chooses that by itself (ethtool's `adaptive-rx`).
    pub fn is_adaptive(&self) -> bool {
        self.0.adaptive_receive != 0
    }

    /// Frames after which a receive interrupt is not held back any longer (ethtool's `rx-frames`); 0: no such number.
    pub fn receive_frames(&self) -> u32 {
        self.0.receive_frames
    }

    /// Microseconds that an interrupt after sending is held back (ethtool's `tx-usecs`).
    pub fn transmit_usecs(&self) -> u32 {
        self.0.before_adaptive[TRANSMIT_USECS]
    }

    /// Frames after which an interrupt after sending is not held back any longer (ethtool's `tx-frames`); 0: no such number.
    pub fn transmit_frames(&self) -> u32 {
        self.0.before_adaptive[TRANSMIT_FRAMES]
    }

    /// Whether the driver chooses by itself how long interrupts after sending are held back (ethtool's `adaptive-tx`).
    pub fn is_transmit_adaptive(&self) -> bool {
        self.0.after_adaptive[0] != 0
    }

    /// The same with other microseconds.
    #[must_use]
    pub fn with_receive_usecs(self, usecs: u32) -> Self {
        Self(Parameters { receive_usecs: usecs, ..self.0 })
    }

    /// The same, the driver choosing or not.
    #[must_use]
    pub fn with_adaptive(self, adaptive: bool) -> Self {
        Self(Parameters { adaptive_receive: adaptive.into(), ..self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        // 23 members of 32 bits; use_adaptive_rx_coalesce is the eleventh.
        assert_eq!(size_of::<Parameters>(), 92);
        assert_eq!(std::mem::offset_of!(Parameters, adaptive_receive), 40);
        assert_eq!(std::mem::offset_of!(Parameters, receive_frames), 8);
        // tx_coalesce_usecs is the sixth, use_adaptive_tx_coalesce the twelfth.
        assert_eq!(std::mem::offset_of!(Parameters, before_adaptive) + 4 * TRANSMIT_USECS, 20);
        assert_eq!(std::mem::offset_of!(Parameters, after_adaptive), 44);
    }

    #[test]
    fn an_interface_without_interrupts_has_none() {
        assert_eq!(Coalescing::read("lo").unwrap(), None);
        assert_eq!(Coalescing::read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
