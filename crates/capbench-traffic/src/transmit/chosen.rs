//! Transmit methods by their names on the command line.

use std::fmt;
use std::num::NonZeroU16;

use capbench_frames::stamp::StreamId;
use capbench_sys::dpdk::DeviceName;
use capbench_sys::host::LinkLayer;

use super::{METHODS, Opener, TransmitConfig, TransmitMethod};
use crate::{Result, TrafficError};

/// The setting that sends frames through the queueing discipline and tc at egress, like those of other programs. This is
/// slower. Without it frames go directly to the driver.
pub const THROUGH_QDISC: &str = "+qdisc";

/// The setting with the number of threads that send a load together.
const THREADS: &str = "+threads=";

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

    /// The same with this number of threads.
    pub fn with_threads(self, threads: NonZeroU16) -> Self {
        Self { threads, ..self }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method.name)?;
        self.device.map_or(Ok(()), |device| write!(f, ":{device}"))?;
        f.write_str(if self.through_qdisc { THROUGH_QDISC } else { "" })?;
        if self.threads == NonZeroU16::MIN { Ok(()) } else { write!(f, "{THREADS}{}", self.threads) }
    }
}

/// The method that `text` names.
///
/// # Errors
/// An unknown method, or a setting that it does not support. The message lists the valid ones.
pub fn method(text: &str) -> Result<Chosen> {
    let (name, threads) = match text.rsplit_once(THREADS) {
        Some((name, count)) => (name, threads(count)?),
        None => (text, NonZeroU16::MIN),
    };
    let (name, through_qdisc) = match name.strip_suffix(THROUGH_QDISC) {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (name, device) = match name.split_once(':') {
        Some((name, device)) => (name, Some(known_device(device)?)),
        None => (name, None),
    };
    let known = |method: &&TransmitMethod| {
        (method.takes_qdisc || !through_qdisc) && (method.takes_device || device.is_none())
    };
    match METHODS.iter().filter(known).find(|method| method.name == name) {
        Some(method) => Ok(Chosen { method, device, through_qdisc, threads }),
        None => {
            let known: Vec<_> = METHODS
                .iter()
                .filter(known)
                .map(|method| Chosen { method, device: None, through_qdisc, threads }.to_string())
                .collect();
            Err(TrafficError::Unknown {
                kind: "transmit method",
                name: text.to_owned(),
                known: known.join(", "),
            })
        }
    }
}

fn known_device(text: &str) -> Result<DeviceName> {
    DeviceName::parse(text).ok_or_else(|| TrafficError::Unknown {
        kind: "device of DPDK",
        name: text.to_owned(),
        known: DeviceName::KNOWN.into(),
    })
}

/// The number of threads in a user's text.
///
/// # Errors
/// It is no number, or there are not as many streams.
pub fn threads(text: &str) -> Result<NonZeroU16> {
    let known = || format!("1 to {}", StreamId::COUNT);
    let unknown =
        || TrafficError::Unknown { kind: "number of threads", name: text.to_owned(), known: known() };
    text.parse().ok().filter(|threads: &NonZeroU16| threads.get() <= StreamId::COUNT).ok_or_else(unknown)
}
