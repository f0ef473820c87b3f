//! Compiles an expression to a program: by libpcap, on a live handle of the interface.
//!
//! Only a live handle knows that this kernel moves VLAN tags from frames to metadata. With a dead one (pcap_open_dead(3PCAP))
//! `vlan 100` becomes a program that looks for tags in the octets, and finds none.

use capbench_model::filter::program::{Expression, Filter, MOST_INSTRUCTIONS};
use capbench_sys::host::interface::LinkLayer;
use capbench_sys::pcap::{LinkType, Pcap, PcapLibrary, Settings};
use capbench_sys::{SysError, pcap};

use super::place;
use crate::{CaptureError, Interface, Result};
use capbench_model::units::SnapLength;

/// The name in messages.
const WHAT: &str = "a filter expression";

/// Whether libpcap optimises a program (tcpdump's `-O` is `No`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimise {
    /// As tcpdump does.
    Yes,
    /// No optimisation, for programs that the optimiser breaks.
    No,
}

/// Compiles expressions for one interface. Keeps a small capture open on it, which is never read, except on links without Ethernet
/// for which libpcap has a header of its own.
#[derive(Debug)]
pub struct Compiler {
    pcap: Pcap,
    netmask: Option<u32>,
}

impl Compiler {
    /// Opens the system's libpcap and a live handle in the calling thread's namespace.
    ///
    /// # Errors
    /// There is no libpcap; CAP_NET_RAW is missing; the interface is missing or down; or libpcap captures other frames from
    /// it than a packet socket does.
    pub fn open(interface: &Interface, snap: SnapLength) -> Result<Self> {
        Self::with(library()?, interface, snap)
    }

    fn with(library: PcapLibrary, interface: &Interface, snap: SnapLength) -> Result<Self> {
        /// The smallest ring size of libpcap.
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
        if interface.layer == LinkLayer::Ip {
            if link_type == LinkType::RAW {
                return Ok(Self { pcap, netmask });
            }
            // Where libpcap adds its own header, its program fits the packets of a packet socket only if compiled for raw IP. Such
            // links have no VLAN tags.
            let pcap = Pcap::dead(self::library()?, LinkType::RAW, snap.octets()).map_err(fail)?;
            return Ok(Self { pcap, netmask });
        }
        if link_type.is_cooked() {
            return Err(CaptureError::Unsupported {
                method: WHAT.into(),
                interface: interface.name.clone(),
                reason: "libpcap puts its own header in front of this interface's packets, so that its program fits \
                         no frames; give the program as numbers, as tcpdump -ddd prints them"
                    .into(),
            });
        }
        Ok(Self { pcap, netmask })
    }

    /// Compiles an expression (pcap-filter(7)). An empty one selects every frame. Host names are resolved.
    ///
    /// `ip broadcast` needs the interface's IPv4 netmask. It is refused if the interface has none.
    ///
    /// # Errors
    /// [`CaptureError::Filter`] with libpcap's message, and the place in the expression if it can be found.
    pub fn compile(&mut self, expression: &str, optimise: Optimise) -> Result<Filter> {
        let optimised = optimise == Optimise::Yes;
        let refuse = |reason, place| CaptureError::Filter { expression: expression.into(), reason, place };
        let netmask = self.netmask;
        let outcome = self.pcap.compile(expression, optimised, netmask);
        let program = match outcome.map_err(|error| refuse(error.to_string(), None))? {
            Ok(program) => program,
            Err(said) => {
                // Errors of the optimiser follow those of the parser, and have no place.
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

/// The system's libpcap. The error says what works without it.
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

/// Why there is no live handle. Nothing is compiled with a dead handle instead.
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
    use std::io;

    use capbench_sys::SysError;

    use super::{PcapLibrary, failed, missing};

    #[test]
    fn errors_name_what_is_missing_and_the_next_step() {
        let text = missing(PcapLibrary::open("/nonexistent/libpcap.so").unwrap_err()).to_string();
        assert!(text.contains("/nonexistent/libpcap.so") && text.contains("tcpdump -ddd"), "{text}");
        let source = SysError::Call { what: "pcap_activate".into(), source: io::Error::from_raw_os_error(1) };
        let text = failed("eth0", source).to_string();
        assert!(text.contains("a filter expression on eth0") && text.contains("CAP_NET_RAW"), "{text}");
    }
}
