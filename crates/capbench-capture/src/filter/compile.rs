//! An expression becomes a program: by libpcap, on a live handle of the interface.
//!
//! Only a live handle knows that this kernel takes VLAN tags out of frames and tells them beside: with a dead one
//! (pcap_open_dead(3PCAP)) `vlan 100` becomes a program that looks for tags among the octets, and finds none.

use capbench_sys::SysError;
use capbench_sys::pcap::{self, LinkType, Pcap, PcapLibrary, Settings};

use super::place;
use crate::error::{CaptureError, Result};
use crate::interface::Interface;
use crate::units::SnapLength;
use capbench_model::filter::program::{Expression, Filter, MOST_INSTRUCTIONS};

/// What messages call it.
const WHAT: &str = "a filter expression";

/// Whether libpcap optimises a program (tcpdump's `-O` is `No`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimise {
    /// As tcpdump does.
    Yes,
    /// For programs that the optimiser spoils.
    No,
}

/// Compiles expressions for one interface. While it lives it holds a small capture open there, of which nothing is read.
#[derive(Debug)]
pub struct Compiler {
    pcap: Pcap,
    netmask: Option<u32>,
}

impl Compiler {
    /// Opens the system's libpcap and a live handle in the calling thread's namespace.
    ///
    /// # Errors
    /// There is no libpcap; the capability CAP_NET_RAW is missing; the interface is not there or is down; or libpcap captures
    /// from it other frames than a packet socket gives.
    pub fn open(interface: &Interface, snap: SnapLength) -> Result<Self> {
        Self::with(library()?, interface, snap)
    }

    fn with(library: PcapLibrary, interface: &Interface, snap: SnapLength) -> Result<Self> {
        /// The smallest that libpcap makes a ring of.
        const BUFFER: u32 = 1 << 20;
        let settings = Settings {
            snap_length: snap.octets(),
            promiscuous: false,
            timeout_ms: 1000,
            buffer: BUFFER,
            immediate: false,
            direction: pcap::Direction::Both,
        };
        let netmask = library.netmask(&interface.name);
        let fail = |source| failed(&interface.name, source);
        let pcap = Pcap::open(library, &interface.name, &settings).map_err(fail)?;
        let link_type: LinkType = pcap.link_type().map_err(fail)?;
        if link_type.is_cooked() {
            return Err(CaptureError::Unsupported {
                method: WHAT.into(),
                interface: interface.name.clone(),
                reason: "libpcap puts a header of its own in front of this interface's packets, so that its program fits \
                         no frames; give the program as numbers, as tcpdump -ddd prints them"
                    .into(),
            });
        }
        Ok(Self { pcap, netmask })
    }

    /// Compiles an expression (pcap-filter(7)); an empty one wants every frame. Names of hosts are looked up.
    ///
    /// `ip broadcast` needs the interface's IPv4 netmask, and is refused where it has none.
    ///
    /// # Errors
    /// [`CaptureError::Filter`] with what libpcap says of the expression, and the place in it where that can be found out.
    pub fn compile(&mut self, expression: &str, optimise: Optimise) -> Result<Filter> {
        let optimised = optimise == Optimise::Yes;
        let refuse = |reason, place| CaptureError::Filter { expression: expression.into(), reason, place };
        let netmask = self.netmask;
        let outcome = self.pcap.compile(expression, optimised, netmask);
        let program = match outcome.map_err(|error| refuse(error.to_string(), None))? {
            Ok(program) => program,
            Err(said) => {
                // Errors of the optimiser come after the parser's, and have no place.
                let compile = |text: &str| {
                    self.pcap.compile(text, false, netmask).ok().and_then(std::result::Result::err)
                };
                let place = place::find(expression, &said, compile);
                return Err(refuse(said, place));
            }
        };
        if program.len() > MOST_INSTRUCTIONS {
            let next = if optimised { "say it shorter, or in several captures" } else { "have it optimised" };
            let count = program.len();
            let reason =
                format!("its program has {count} instructions and {MOST_INSTRUCTIONS} are possible: {next}");
            return Err(refuse(reason, None));
        }
        let filter = Filter::new(program).map_err(|reason| refuse(reason, None))?;
        Ok(filter.compiled(Expression { text: expression.into(), optimised }))
    }
}

/// The system's libpcap, or what can be done without.
pub(super) fn library() -> Result<PcapLibrary> {
    PcapLibrary::of_system().map_err(missing)
}

fn missing(source: SysError) -> CaptureError {
    let next = "; without libpcap give the filter as numbers, as tcpdump -ddd prints them elsewhere";
    let source = match source {
        SysError::Library { library, reason } => SysError::Library { library, reason: reason + next },
        source => source,
    };
    CaptureError::Library { method: WHAT.into(), source }
}

/// Why there is no live handle. Nothing is compiled for a dead one instead.
fn failed(interface: &str, source: SysError) -> CaptureError {
    const EPERM: i32 = 1;
    let interface = interface.to_string();
    if source.errno() == Some(EPERM) {
        return CaptureError::Privilege { method: WHAT, interface, capability: "CAP_NET_RAW", source };
    }
    CaptureError::Call { method: WHAT, interface, source }
}

#[cfg(test)]
mod tests {
    use super::{PcapLibrary, failed, missing};
    use capbench_sys::SysError;
    use std::io;

    #[test]
    fn what_is_missing_is_said_with_the_next_step() {
        let text = missing(PcapLibrary::open("/nonexistent/libpcap.so").unwrap_err()).to_string();
        assert!(text.contains("/nonexistent/libpcap.so") && text.contains("tcpdump -ddd"), "{text}");
        let source = SysError::Call { what: "pcap_activate".into(), source: io::Error::from_raw_os_error(1) };
        let text = failed("eth0", source).to_string();
        assert!(text.contains("a filter expression on eth0") && text.contains("CAP_NET_RAW"), "{text}");
    }
}
