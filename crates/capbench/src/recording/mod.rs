//! `record` and `extcap`, and what they share: from interface names to the plan, and from the start of a recording to its end.

mod account_file;
pub mod auto;
mod dumpcap;
pub mod extcap;
mod flags;
pub mod ledger;
mod list;
mod plan;
mod progress;
pub mod record;
mod slots;
mod words;

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::methods;
use capbench_capture::{Filter, Interface};
use capbench_host::bed::Side;
use capbench_host::largest_frame::LargestFrame;
use capbench_host::xdp::XdpProgram;
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::options::CaptureOptions;
use capbench_record::RecordError;
use capbench_record::file::{InterfaceDescription, InterfaceFilter, SectionDescription};
use capbench_record::recording::{Session, Source};
use capbench_sys::host::ethtool::{self, Offload};
use capbench_sys::host::filesystem::open_pipe;

use crate::exit::Usage;
use crate::flags::check_own_method;
use crate::signals::Stop;

/// How often signals, limits, rings and the recording are checked.
const LOOK: Duration = Duration::from_millis(100);
/// How often counters are read.
const SECOND: Duration = Duration::from_secs(1);
/// The loopback interface, on which every sent packet also arrives.
const LOOPBACK: &str = "lo";

/// A method that delivers packets, on an unmodified interface.
pub fn method(text: &str) -> Result<MethodSpec> {
    let spec: MethodSpec = text.parse().map_err(Usage)?;
    check_method(&spec)?;
    Ok(spec)
}

/// Whether `record` can use the method.
fn check_method(spec: &MethodSpec) -> Result<()> {
    check_own_method(spec)?;
    methods::find(spec)?;
    if spec.delivery() == Some(Delivery::Counted) {
        let why = "it counts packets in the kernel and returns none to record";
        return Err(Usage(format!("--method {spec}: {why}")).into());
    }
    Ok(())
}

/// An interface of this network namespace, whose frames are no longer than its MTU allows.
pub fn interface(side: &Side) -> Result<Interface> {
    Ok(Interface::new(side.name(), side.index(), side.mtu()).with_layer(side.layer()?))
}

/// How to record an interface.
#[derive(Debug)]
pub struct Wanted<'w> {
    pub method: &'w MethodSpec,
    /// Its options except direction and filter.
    pub options: CaptureOptions,
    /// Direction that the user asked for; default: that of tcpdump and Wireshark.
    pub direction: Option<Direction>,
    pub filter: Option<&'w FilterText>,
    pub optimise: Optimise,
    /// How many captures share its packets.
    pub members: usize,
    /// Whether the kernel is to compute flow hashes where the NIC does not.
    pub flow_hashes: bool,
}

impl Wanted<'_> {
    /// The source of one interface, with the filter compiled for it.
    pub fn on(&self, name: &str) -> Result<Source> {
        let side = Side::existing(name)?;
        let interface = interface(&side)?;
        let mut options = self.options.clone();
        options.fanout = options.fanout.as_ref().map(Fanout::another);
        options.direction = self.direction.map_or_else(|| usual_direction(self.method, &interface), Ok)?;
        options.filter = match self.filter {
            Some(text) => Some(text.compile(&interface, options.snap_length, self.optimise)?),
            None => None,
        };
        let largest = LargestFrame::of_interface(&side, options.direction)?;
        let interface = interface.with_largest_frame(largest.octets);
        options.flow_hashes = self.flow_hashes || has_flow_hashes(&interface);
        let description = description(&interface, side.mac(), options.filter.as_ref());
        Ok(Source { interface, method: self.method.clone(), options, members: self.members, description })
    }
}

/// Both directions if the method captures both and the interface shows each packet in one direction only.
fn usual_direction(method: &MethodSpec, interface: &Interface) -> Result<Direction> {
    let both = CaptureOptions { direction: Direction::Both, ..CaptureOptions::default() };
    let has_both = (methods::find(method)?.check)(method, interface, &both).is_ok();
    Ok(if has_both && interface.name != LOOPBACK { Direction::Both } else { Direction::In })
}

/// What a capture leaves out although it arrives: on the loopback interface, copies of what is sent.
pub fn left_out(interface: &str, direction: Direction) -> Option<String> {
    (interface == LOOPBACK && direction == Direction::In).then(|| {
        format!("{interface}: a loopback interface shows each packet twice, sent and received; the sent copies are left out (-Q inout has both)")
    })
}

/// Whether a method captures by a packet socket, which sees only the frames that an XDP program passes.
pub fn is_packet_socket(method: &MethodSpec) -> bool {
    methods::find(method).is_ok_and(|row| row.socket_filter)
}

/// The XDP program on an interface, in front of a method that captures by a packet socket.
pub fn xdp_program(method: &MethodSpec, interface: &Interface) -> Option<XdpProgram> {
    XdpProgram::on(interface.index, None).ok().flatten().filter(|_| is_packet_socket(method))
}

/// What such a program means for the capture.
pub fn behind_xdp(interface: &str, program: &XdpProgram) -> String {
    format!("{interface}: XDP {program}: packet sockets see only the frames that it passes")
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

/// The section: program and host.
fn section() -> SectionDescription {
    SectionDescription {
        hardware: read("/sys/class/dmi/id/product_name"),
        system: system(),
        application: Some(format!("capbench {}", env!("CARGO_PKG_VERSION"))),
        comments: Vec::new(),
    }
}

fn system() -> Option<String> {
    read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"))
}

fn read(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// An interface of the calling thread's namespace. Unknown facts are left out.
fn description(interface: &Interface, mac: Option<[u8; 6]>, filter: Option<&Filter>) -> InterfaceDescription {
    let driver = ethtool::driver(&interface.name).ok();
    InterfaceDescription {
        name: Some(interface.name.clone()),
        description: None,
        mac,
        speed: None,
        filter: filter.map(|filter| match filter.expression() {
            Some(expression) => InterfaceFilter::Expression(expression.text.clone()),
            None => InterfaceFilter::Program(filter.program().to_vec()),
        }),
        system: system(),
        hardware: driver.map(|driver| format!("{} {}", driver.driver, driver.bus).trim_end().to_string()),
        fcs_octets: None,
        comments: offloads(&interface.name).into_iter().collect(),
    }
}

/// Whether the NIC computes flow hashes; false if unknown.
fn has_flow_hashes(interface: &Interface) -> bool {
    ethtool::offload(&interface.name, Offload::ReceiveHash).unwrap_or(false)
}

/// Active offloads: those that change packets from what was on the wire.
fn offloads(interface: &str) -> Option<String> {
    const ASKED: [(&str, Offload); 7] = [
        ("gro", Offload::Gro),
        ("lro", Offload::Lro),
        ("tso", Offload::Tso),
        ("gso", Offload::Gso),
        ("rx-vlan", Offload::ReceiveVlan),
        ("rx-checksum", Offload::ReceiveChecksum),
        ("tx-checksum", Offload::TransmitChecksum),
    ];
    let state = |(name, offload): &(&str, Offload)| {
        let is_on = ethtool::offload(interface, *offload).ok()?;
        Some(format!("{name} {}", if is_on { "on" } else { "off" }))
    };
    let states: Vec<_> = ASKED.iter().filter_map(state).collect();
    (!states.is_empty()).then(|| format!("offloads: {}", states.join(", ")))
}

/// How often to check for a reader of the pipe: no event reports it.
const READER: Duration = Duration::from_millis(10);

/// Returns the pipe once it has a reader. The open pipe never blocks, and the reader sees no end while it lives. `None` if the
/// user stops or the deadline passes first. `waits` is called once if there is no reader at first.
///
/// Opening a pipe blocks until a reader comes, and a signal does not interrupt it. So this opens without blocking, in a loop.
fn with_reader(
    path: &Path,
    stop: &Stop,
    until: Option<Instant>,
    waits: impl FnOnce(),
) -> io::Result<Option<File>> {
    let mut waits = Some(waits);
    loop {
        match open_pipe(path) {
            Ok(Some(pipe)) => return Ok(Some(pipe)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Some(waits) = waits.take() {
            waits();
        }
        if stop.is_wanted() || until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        thread::sleep(READER);
    }
}
