//! Ports: the interfaces that clients may use, and those of the configuration.

use capbench_capture::Interface;
use capbench_frames::Pps;
use capbench_host::bed::{PortLock, Side};
use capbench_host::links::LinkStats;
use capbench_lab::live::line_rate;

use crate::error::{OtgError, Result};
use crate::messages::InterfaceCounts;
use crate::model::config::{Layer1, Speed};

/// The interfaces that clients may use.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Their locations.
    pub interfaces: Vec<String>,
    /// Whether nothing but tests is on their links, though they have addresses or a default route.
    pub isolated: bool,
    /// Highest rate of all flows of a port; `None`: any.
    pub max_rate: Option<Pps>,
}

impl Allowed {
    /// Why a port may not send at this rate; `None`: it may.
    pub fn refuses_rate(&self, frames_per_second: f64) -> Option<String> {
        let most = self.max_rate.map(Pps::get).filter(|most| frames_per_second > *most)?;
        Some(format!(
            "{frames_per_second} frames/s are above {most}, the most that a port may send (--max-rate)"
        ))
    }

    /// Refuses another location than these. The request has it at `path`.
    pub fn check(&self, location: &str, path: &str) -> Result<()> {
        if self.interfaces.iter().any(|allowed| allowed == location) {
            return Ok(());
        }
        let there_are = self.interfaces.join(", ");
        let why =
            format!("\"{location}\" is no interface that clients may use; there are: {there_are} (--port)");
        Err(OtgError::invalid(path, why))
    }
}

/// A port of the configuration. Nobody else uses its interface as long as it exists.
#[derive(Debug)]
pub struct Port {
    /// Its name in the configuration.
    pub name: String,
    pub side: Side,
    /// The speed of its line in bits per second: that of the interface, or where it has none, of the configuration.
    pub line: Option<f64>,
    /// Its counters at the last start of flows.
    before: Option<LinkStats>,
    _lock: PortLock,
}

impl Port {
    /// The port with this name in the configuration, which has its location at `path`.
    pub fn open(name: &str, interface: &str, path: &str, allowed: &Allowed) -> Result<Self> {
        allowed.check(interface, path)?;
        let host = |source| OtgError::Host { path: path.into(), source };
        let side = Side::for_trials(interface, allowed.isolated).map_err(host)?;
        let lock = PortLock::take(&side).map_err(host)?;
        let line = line_rate::bits_per_second(&side).map_err(|source| OtgError::System {
            what: "the speed of the line",
            source: std::io::Error::other(source),
        })?;
        let before = side.stats().map_err(host)?;
        Ok(Self { name: name.into(), side, line, before, _lock: lock })
    }

    /// The interface in the form that captures need. A port has Ethernet frames.
    pub fn interface(&self) -> Interface {
        Interface::new(self.side.name(), self.side.index(), self.side.mtu())
    }

    /// What of the settings of layer 1 is not as the configuration has it: nothing is changed.
    pub fn apply(&mut self, layer1: &Layer1, warnings: &mut Vec<String>) {
        let Self { name, side, .. } = self;
        match (self.line, layer1.speed.map(|Speed(bits)| bits)) {
            (Some(line), Some(wanted)) if line != wanted => warnings.push(format!(
                "layer1.speed of {name}: {} has {line} bit/s, which capbench does not change",
                side.name()
            )),
            (None, Some(wanted)) => {
                self.line = Some(wanted);
                warnings.push(format!(
                    "layer1.speed of {name}: {} has no speed; {wanted} bit/s is only what percentages are of",
                    side.name()
                ));
            }
            _ => {}
        }
        if let Some(mtu) = layer1.mtu.filter(|mtu| *mtu != side.mtu()) {
            warnings.push(format!(
                "layer1.mtu of {name}: {} has {} octets instead of {mtu}, which capbench does not change",
                side.name(),
                side.mtu()
            ));
        }
    }

    /// Its counters since the last start of flows, and whether it has a carrier.
    pub fn counts(&self) -> capbench_host::Result<InterfaceCounts> {
        let link = self.side.link()?;
        let since = link.stats.zip(self.before).and_then(|(now, before)| now.since(&before));
        let counts = since.map(|since| [since.tx_packets, since.tx_bytes, since.rx_packets, since.rx_bytes]);
        Ok(InterfaceCounts { has_link: link.up && link.carrier, counts })
    }

    /// Counts from now on.
    pub fn clear(&mut self) -> capbench_host::Result<()> {
        self.before = self.side.stats()?;
        Ok(())
    }
}
