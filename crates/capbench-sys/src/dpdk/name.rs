//! Names of devices, as users write them. Known also without the feature `dpdk`.

use std::fmt;
use std::fs::read_link;

/// A device that captures or sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceName {
    /// DPDK's driver over packet sockets of an interface.
    AfPacket,
    /// DPDK's driver over AF_XDP sockets of an interface.
    AfXdp,
    /// A PCI device: domain, bus, device, function.
    Pci([u16; 4]),
}

impl DeviceName {
    /// What can be written.
    pub const KNOWN: &str = "net_af_packet, net_af_xdp or a PCI address like 0000:03:00.0";

    /// Reads one. The default domain of a PCI address is 0.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "net_af_packet" => return Some(Self::AfPacket),
            "net_af_xdp" => return Some(Self::AfXdp),
            _ => {}
        }
        let hex = |text: &str, digits| {
            let is_valid = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
            is_valid.then(|| u16::from_str_radix(text, 16).ok()).flatten()
        };
        let (rest, function) = text.rsplit_once('.')?;
        let parts: Vec<&str> = rest.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [bus, device] => ("0000", bus, device),
            [domain, bus, device] => (domain, bus, device),
            _ => return None,
        };
        Some(Self::Pci([hex(domain, 4)?, hex(bus, 2)?, hex(device, 2)?, hex(function, 1)?]))
    }

    /// Whether its driver builds it on an interface.
    pub fn is_virtual(self) -> bool {
        !matches!(self, Self::Pci(_))
    }

    /// Checks that a PCI device belongs to the interface. For a device that the kernel no longer controls, which has no
    /// interface, the interface is `lo`.
    ///
    /// # Errors
    /// The interface's device is another.
    pub fn check_interface(self, interface: &str) -> Result<(), String> {
        let link = read_link(format!("/sys/class/net/{interface}/device")).ok();
        let device = link.as_deref().and_then(|link| link.file_name()?.to_str());
        let own = self.to_string();
        match device {
            _ if self.is_virtual() || device == Some(&own) || interface == "lo" => Ok(()),
            Some(other) => Err(format!("it is the device {other}, not {own}")),
            None => {
                Err(format!("it is not the PCI device {own}; give -i lo for a device that has no interface"))
            }
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfPacket => f.write_str("net_af_packet"),
            Self::AfXdp => f.write_str("net_af_xdp"),
            Self::Pci([domain, bus, device, function]) => {
                write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
            }
        }
    }
}
