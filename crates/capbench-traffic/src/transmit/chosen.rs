//! Transmit methods by their names on the command line.

use std::fmt;

use super::{METHODS, Opened, TransmitConfig, TransmitMethod};
use crate::{Result, TrafficError};

/// The setting that sends frames through the queueing discipline and tc at egress, like those of other programs. This is
/// slower. Without it frames go directly to the driver.
pub const THROUGH_QDISC: &str = "+qdisc";

/// A transmit method as the user names it: `packet-tx`, `packet-tx+qdisc`.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// Its row.
    pub method: &'static TransmitMethod,
    through_qdisc: bool,
}

impl Chosen {
    /// Opens it on an interface.
    ///
    /// # Errors
    /// A refused setting, no privilege (CAP_NET_RAW), or no such interface.
    pub fn open(&self, config: &TransmitConfig) -> Result<Opened> {
        let qdisc_bypass = config.qdisc_bypass && !self.through_qdisc;
        (self.method.open)(&TransmitConfig { qdisc_bypass, ..*config })
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method.name)?;
        f.write_str(if self.through_qdisc { THROUGH_QDISC } else { "" })
    }
}

/// The method that `text` names.
///
/// # Errors
/// An unknown method, or a setting that it does not support. The message lists the valid ones.
pub fn method(text: &str) -> Result<Chosen> {
    let (name, through_qdisc) = match text.strip_suffix(THROUGH_QDISC) {
        Some(name) => (name, true),
        None => (text, false),
    };
    let known = |method: &&TransmitMethod| method.takes_qdisc || !through_qdisc;
    match METHODS.iter().filter(known).find(|method| method.name == name) {
        Some(method) => Ok(Chosen { method, through_qdisc }),
        None => {
            let suffix = if through_qdisc { THROUGH_QDISC } else { "" };
            let known: Vec<_> =
                METHODS.iter().filter(known).map(|method| format!("{}{suffix}", method.name)).collect();
            Err(TrafficError::Unknown {
                kind: "transmit method",
                name: text.to_owned(),
                known: known.join(", "),
            })
        }
    }
}
