//! Transmit methods by their names on the command line.

use std::fmt;
use std::num::NonZeroU16;

use capbench_frames::TransmitSpec;
use capbench_sys::dpdk::DeviceName;
use capbench_sys::host::LinkLayer;

use super::{METHODS, Opener, TransmitConfig, TransmitMethod};
use crate::{Result, TrafficError};

/// A transmit method as the user names it: `packet-tx`, `packet-tx+qdisc+threads=2`, `dpdk-tx:net_af_xdp`.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// Its row.
    pub method: &'static TransmitMethod,
    device: Option<DeviceName>,
    through_qdisc: bool,
    /// How many threads send a load together, each a stream of its own.
    pub threads: NonZeroU16,
}

impl Chosen {
    /// Opens what its threads share on an interface. The rest is opened for each thread.
    ///
    /// # Errors
    /// A refused setting, no privilege (CAP_NET_RAW), no such interface, or a link whose packets it does not send.
    pub fn open(&self, config: &TransmitConfig) -> Result<Opener> {
        if config.layer == LinkLayer::Ip && !self.method.sends_ip_packets {
            let reason = "sends Ethernet frames, and this link has IP packets without an Ethernet header; sendmmsg and sendto send those";
            return Err(TrafficError::unsupported(self.to_string(), reason));
        }
        let qdisc_bypass = config.qdisc_bypass && !self.through_qdisc;
        (self.method.open)(&TransmitConfig {
            qdisc_bypass,
            threads: self.threads,
            device: self.device,
            ..*config
        })
    }

    /// Its name and settings.
    pub fn spec(&self) -> TransmitSpec {
        TransmitSpec {
            name: self.method.name.into(),
            device: self.device.map(|device| device.to_string()),
            through_qdisc: self.through_qdisc,
            threads: self.threads,
        }
    }

    /// The same with this number of threads.
    pub fn with_threads(self, threads: NonZeroU16) -> Self {
        Self { threads, ..self }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)
    }
}

/// The method of a name with settings.
///
/// # Errors
/// An unknown method, or a setting that it does not support. The message lists the valid ones.
pub fn method(spec: &TransmitSpec) -> Result<Chosen> {
    let TransmitSpec { name, device, through_qdisc, threads } = spec;
    let device = device.as_deref().map(known_device).transpose()?;
    let mut known = Vec::new();
    for method in METHODS {
        if *through_qdisc && !method.takes_qdisc || device.is_some() && !method.takes_device {
            continue;
        }
        let chosen = Chosen { method, device, through_qdisc: *through_qdisc, threads: *threads };
        if method.name == name {
            return Ok(chosen);
        }
        known.push(Chosen { device: None, ..chosen }.to_string());
    }
    Err(TrafficError::Unknown { kind: "transmit method", name: spec.to_string(), known: known.join(", ") })
}

fn known_device(text: &str) -> Result<DeviceName> {
    DeviceName::parse(text).ok_or_else(|| TrafficError::Unknown {
        kind: "device of DPDK",
        name: text.to_owned(),
        known: DeviceName::KNOWN.into(),
    })
}
