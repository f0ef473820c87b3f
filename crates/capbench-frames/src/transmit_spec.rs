//! How a user names a transmit method: `NAME[:DEVICE][+qdisc][+threads=N]`.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::stamp::StreamId;

/// The setting that sends frames through the queueing discipline and tc at egress, like those of other programs. This is
/// slower. Without it frames go directly to the driver.
const THROUGH_QDISC: &str = "+qdisc";

/// The setting with the number of threads that send a load together.
const THREADS: &str = "+threads=";

/// A transmit method with its settings: `packet-tx`, `packet-tx+qdisc+threads=2`, `dpdk-tx:net_af_xdp`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct TransmitSpec {
    /// The method's name.
    pub name: String,
    /// The device after the colon.
    pub device: Option<String>,
    /// Whether frames go through the queueing discipline.
    pub through_qdisc: bool,
    /// How many threads send a load together, each a stream.
    pub threads: NonZeroU16,
}

impl TransmitSpec {
    /// A method by its bare name: one thread, directly to the driver.
    pub fn plain(name: &str) -> Self {
        Self { name: name.into(), device: None, through_qdisc: false, threads: NonZeroU16::MIN }
    }
}

/// The number of threads in a user's text.
///
/// # Errors
/// It is no number, or there are not as many streams.
pub fn threads(text: &str) -> Result<NonZeroU16, String> {
    match text.parse::<NonZeroU16>() {
        Ok(threads) if threads.get() <= StreamId::COUNT => Ok(threads),
        _ => Err(format!("there is no number of threads '{text}'; there are: 1 to {}", StreamId::COUNT)),
    }
}

impl FromStr for TransmitSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, threads) = match text.rsplit_once(THREADS) {
            Some((rest, count)) => (rest, threads(count)?),
            None => (text, NonZeroU16::MIN),
        };
        let (rest, through_qdisc) = match rest.strip_suffix(THROUGH_QDISC) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (name, device) = match rest.split_once(':') {
            Some((name, device)) => (name, Some(device.to_string())),
            None => (rest, None),
        };
        Ok(Self { name: name.into(), device, through_qdisc, threads })
    }
}

impl fmt::Display for TransmitSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.device.as_ref().map_or(Ok(()), |device| write!(f, ":{device}"))?;
        f.write_str(if self.through_qdisc { THROUGH_QDISC } else { "" })?;
        if self.threads == NonZeroU16::MIN { Ok(()) } else { write!(f, "{THREADS}{}", self.threads) }
    }
}

impl TryFrom<String> for TransmitSpec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TransmitSpec> for String {
    fn from(spec: TransmitSpec) -> Self {
        spec.to_string()
    }
}
