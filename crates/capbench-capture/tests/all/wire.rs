//! A wire for tests of methods: single frames sent into one end of a veth pair, and those that a capture took, kept.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use capbench_capture::{
    Capture, CaptureError, Frame, Interface, OwnedBatch, PacketType, Visitor, VlanTag, methods, open_with,
};
use capbench_model::counters::Counters;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;
use capbench_model::units::ByteCount;
use capbench_sys::host::interface::index_of;
use capbench_sys::packet::{PacketSocket, Protocol};

use capbench_testing::missing;
use capbench_testing::network::{LEFT_MAC, Namespaces, PATIENCE, Place, privileges};

/// A host that is not there.
pub const OTHER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const ENOBUFS: i32 = 105;

/// What sends single frames on an interface. On a veth pair a frame has arrived when the call returns, save for a
/// kernel that is busy on that CPU.
pub struct Wire(File);

impl Wire {
    /// On the interface of a place.
    pub fn new(place: &Place) -> Self {
        Self::on(place, place.interface)
    }

    /// On another interface there.
    pub fn on(place: &Place, interface: &str) -> Self {
        place.inside(|| {
            let socket = PacketSocket::open().unwrap();
            socket.bind(index_of(interface).unwrap(), Protocol::Nothing).unwrap();
            Self(socket.as_fd().try_clone_to_owned().unwrap().into())
        })
    }

    /// Sends a frame. One that the receiver's backlog refuses is offered again.
    pub fn send(&self, frame: &[u8]) {
        while let Err(error) = (&self.0).write_all(frame) {
            let again = error.raw_os_error() == Some(ENOBUFS) || error.kind() == ErrorKind::Interrupted;
            assert!(again, "{error}");
        }
    }
}

/// A frame of this size for no protocol, full of its number.
pub fn frame(destination: [u8; 6], number: u8, octets: usize) -> Vec<u8> {
    let mut frame = vec![number; octets];
    frame[..6].copy_from_slice(&destination);
    frame[6..12].copy_from_slice(&LEFT_MAC);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// The time that frames are stamped with, nanoseconds since the epoch.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// A frame that was captured, kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its octets, as far as they were captured.
    pub data: Vec<u8>,
    /// Its length before it was cut.
    pub wire_length: u32,
    /// Its removed tag.
    pub vlan: Option<VlanTag>,
    /// Its addressee.
    pub packet_type: PacketType,
    /// Its time.
    pub time_ns: u64,
}

impl From<&Frame<'_>> for Seen {
    fn from(frame: &Frame<'_>) -> Self {
        Self {
            data: frame.data.to_vec(),
            wire_length: frame.wire_length,
            vlan: frame.vlan,
            packet_type: frame.packet_type,
            time_ns: frame.time_ns,
        }
    }
}

/// The next `count` frames.
pub fn take(capture: &mut impl Capture, count: usize) -> Vec<Seen> {
    let (start, mut seen) = (Instant::now(), Vec::new());
    while seen.len() < count {
        assert!(start.elapsed() < PATIENCE, "{} of {count} frames: {seen:?}", seen.len());
        capture.for_each(Duration::from_millis(20), |frame| seen.push(Seen::from(frame))).unwrap();
    }
    seen
}

/// The methods on packet sockets, which promise the same to the last counter.
pub const AF_PACKET: [&str; 5] = ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3"];

/// The calls of the system's libpcap that read frames.
pub const LIBPCAP: [&str; 6] = [
    "libpcap",
    "libpcap+loop",
    "libpcap+next-ex",
    "libpcap+next",
    "libpcap+immediate",
    "libpcap+next-ex+immediate",
];

/// DPDK's drivers for interfaces, as far as they can be had here.
pub fn dpdk() -> Vec<&'static str> {
    let is_here = |method: &&str| {
        let spec = method.parse().unwrap();
        let supported = methods::find(&spec).map(|row| (row.supported)(&spec)).unwrap();
        supported.inspect_err(|reason| missing(format_args!("{method}: {reason}"))).is_ok()
    };
    let built = if cfg!(feature = "dpdk") { &["dpdk", "dpdk:net_af_xdp"][..] } else { &[] };
    built.iter().copied().filter(is_here).collect()
}

/// Small rings.
pub fn options() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(4 << 20), block: ByteCount(64 << 10), ..CaptureOptions::default() }
}

/// Runs a test with each of these methods, on a separate pair.
pub fn with_each(test: &str, methods: &[&'static str], work: impl Fn(&'static str, &Namespaces)) {
    let Some(()) = privileges() else { return };
    for &method in methods {
        eprintln!("{test}: {method}");
        work(method, &Namespaces::make());
    }
}

/// The interface of a place.
pub fn interface_of(place: &Place) -> Interface {
    Interface::of_name(place.interface, 1500).unwrap()
}

/// The error that ends a capture.
pub fn failure(capture: &mut impl Capture) -> CaptureError {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Err(error) = capture.next_batch(Duration::from_millis(20)).map(drop) {
            return error;
        }
    }
    panic!("no error within {PATIENCE:?}");
}

/// Ends what runs until then, also when the test fails.
pub struct SetOnDrop<'f>(pub &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the tests need of a capture of any method.
pub trait Probe {
    /// The next `count` frames.
    fn take(&mut self, count: usize) -> Vec<Seen>;
    /// Frames until none comes any more.
    fn drain(&mut self) -> u64;
    /// The error that ends it.
    fn failure(&mut self) -> CaptureError;
    fn counters(&mut self) -> Counters;
    /// How full it is, from 0 to 1.
    fn fill(&mut self) -> f64;
    /// The next batch to keep.
    fn next(&mut self, timeout: Duration) -> Option<OwnedBatch>;
    fn running(&self) -> &Running;
}

impl<C: Capture> Probe for C {
    fn take(&mut self, count: usize) -> Vec<Seen> {
        take(self, count)
    }

    fn drain(&mut self) -> u64 {
        drain(self)
    }

    fn failure(&mut self) -> CaptureError {
        failure(self)
    }

    fn counters(&mut self) -> Counters {
        Capture::counters(self).unwrap()
    }

    fn fill(&mut self) -> f64 {
        Capture::fill(self).unwrap().share()
    }

    fn next(&mut self, timeout: Duration) -> Option<OwnedBatch> {
        self.next_owned(timeout).unwrap()
    }

    fn running(&self) -> &Running {
        Capture::running(self)
    }
}

/// Work on a capture, for [`open_with`].
pub struct With<F>(pub F);

impl<T, F: FnOnce(&mut dyn Probe) -> T> Visitor for With<F> {
    type Output = T;

    fn visit<C: Capture>(self, mut capture: C) -> T {
        (self.0)(&mut capture)
    }
}

/// Opens a method on the interface of a place and works with it.
pub fn capture<T: Send>(
    place: &Place,
    method: &str,
    options: &CaptureOptions,
    work: impl FnOnce(&mut dyn Probe) -> T + Send,
) -> T {
    place.inside(|| open_with(&method.parse().unwrap(), &interface_of(place), options, With(work)).unwrap())
}

/// Frames until none comes any more.
pub fn drain(capture: &mut impl Capture) -> u64 {
    let mut frames = 0;
    // Longer than a partly filled block waits.
    while capture.for_each(Duration::from_millis(100), |_| frames += 1).unwrap() {}
    frames
}
