//! Code that `record` and `extcap` share: from interface names to the plan, and from the start of a recording to its end.

pub mod describe;
pub mod pipe;

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_capture::Interface;
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::methods;
use capbench_host::bed::Side;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, PATH_SETTINGS, Subject};
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::options::CaptureOptions;
use capbench_record::RecordError;
use capbench_record::recording::{Session, Source};
use capbench_sys::host::interface::{hardware_type, is_ethernet};

use crate::exit::{Unsupported, Usage};
use crate::stop::Stop;

/// How often signals, limits, rings and the recording are checked.
const LOOK: Duration = Duration::from_millis(100);
/// How often counters are read.
const SECOND: Duration = Duration::from_secs(1);
/// The loopback interface, on which every sent packet also arrives.
const LOOPBACK: &str = "lo";

/// A method that delivers packets, on an unmodified interface.
pub fn method(text: &str) -> Result<MethodSpec> {
    let refuse = |reason: String| Err(Usage(format!("--method {text}: {reason}")).into());
    let spec: MethodSpec = text.parse().map_err(Usage)?;
    if matches!(subject::find(&spec, &Programs::default())?.subject, Subject::Program(_)) {
        return refuse("capbench records by itself; bench measures programs".into());
    }
    if let Some(setting) =
        spec.settings().iter().find(|given| PATH_SETTINGS.iter().any(|known| known.name == given.name))
    {
        return refuse(format!("+{} changes the link, which only bench does, on its own", setting.name));
    }
    methods::find(&spec)?;
    if spec.delivery() == Some(Delivery::Counted) {
        return refuse("it counts packets in the kernel, and gives none that could be recorded".into());
    }
    Ok(spec)
}

/// An interface of this network namespace whose packets are Ethernet frames.
pub fn side(name: &str) -> Result<Side> {
    let side = Side::existing(name)?;
    let kind = hardware_type(name)?;
    if !is_ethernet(kind) {
        let reason = format!(
            "{name} has packets of another kind (ARPHRD {kind}), and capbench writes Ethernet frames"
        );
        return Err(Unsupported(reason).into());
    }
    Ok(side)
}

/// The interface in the form that methods need.
pub fn interface(side: &Side) -> Interface {
    Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() }
}

/// How to record an interface.
#[derive(Debug)]
pub struct Wanted<'w> {
    /// The method.
    pub method: &'w MethodSpec,
    /// Its options except direction and filter.
    pub options: CaptureOptions,
    /// Direction that the user asked for; default: that of tcpdump and Wireshark.
    pub direction: Option<Direction>,
    /// Filter of the packets.
    pub filter: Option<&'w FilterText>,
    /// How the filter is compiled.
    pub optimise: Optimise,
    /// How many captures share its packets.
    pub members: usize,
    /// Whether the kernel is to compute flow hashes where the NIC does not.
    pub flow_hashes: bool,
}

impl Wanted<'_> {
    /// The source of one interface, with the filter compiled for it.
    pub fn on(&self, name: &str) -> Result<Source> {
        let side = side(name)?;
        let interface = interface(&side);
        let mut options = self.options.clone();
        options.fanout = options.fanout.as_ref().map(Fanout::another);
        options.direction = self.direction.map_or_else(|| usual_direction(self.method, &interface), Ok)?;
        options.filter = match self.filter {
            Some(text) => Some(text.compile(&interface, options.snap_length, self.optimise)?),
            None => None,
        };
        options.flow_hashes = self.flow_hashes || describe::has_flow_hashes(&interface);
        let description = describe::interface(&interface, side.mac(), options.filter.as_ref());
        Ok(Source { interface, method: self.method.clone(), options, members: self.members, description })
    }
}

/// Both directions if the method captures both and the interface shows each packet in one direction only.
fn usual_direction(method: &MethodSpec, interface: &Interface) -> Result<Direction> {
    let both = CaptureOptions { direction: Direction::Both, ..CaptureOptions::default() };
    let has_both = (methods::find(method)?.check)(method, interface, &both).is_ok();
    Ok(if has_both && interface.name != LOOPBACK { Direction::Both } else { Direction::In })
}

/// Drives a recording until it ends. Several times per second it calls `each`, which may end the recording. The argument of
/// `each` says whether the counters of another second are there.
pub fn drive(session: &Session, stop: &Stop, mut each: impl FnMut(bool) -> ControlFlow<()>) {
    let mut next = Instant::now() + SECOND;
    let mut was_asked = false;
    while !session.is_over() && !stop.is_wanted() {
        // The counters were requested one look ago: time enough to read them.
        if each(was_asked).is_break() {
            return;
        }
        session.look();
        let now = Instant::now();
        was_asked = now >= next;
        if was_asked {
            // Seconds that were missed, for example while the process was stopped, are skipped.
            next = now + SECOND;
            session.statistics();
        }
        thread::sleep(LOOK);
    }
}

/// Returns the first failure and prints the others.
pub fn outcome(failures: Vec<RecordError>) -> Result<()> {
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else { return Ok(()) };
    for other in failures {
        tell!("capbench: {other}");
    }
    Err(first.into())
}
