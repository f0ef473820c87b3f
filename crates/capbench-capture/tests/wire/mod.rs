//! A wire for tests of methods: single frames sent into one end of a veth pair, and those that a capture took, kept.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use capbench_capture::{Batch, Capture, PacketType, VlanTag};
use capbench_sys::host::interface::index_of;
use capbench_sys::packet::{PacketSocket, Protocol};

use capbench_testing::network::{LEFT_MAC, PATIENCE, Place};

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

/// A frame of so many octets that no protocol takes for its own, full of its number.
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
    /// The tag beside it.
    pub vlan: Option<VlanTag>,
    /// Whom it is addressed to.
    pub packet_type: PacketType,
    /// Its time.
    pub time_ns: u64,
}

/// The next `count` frames.
pub fn take(capture: &mut impl Capture, count: usize) -> Vec<Seen> {
    let (start, mut seen) = (Instant::now(), Vec::new());
    while seen.len() < count {
        assert!(start.elapsed() < PATIENCE, "{} of {count} frames: {seen:?}", seen.len());
        if let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() {
            seen.extend(batch.frames().map(|frame| Seen {
                data: frame.data.to_vec(),
                wire_length: frame.wire_length,
                vlan: frame.vlan,
                packet_type: frame.packet_type,
                time_ns: frame.time_ns,
            }));
        }
    }
    seen
}

/// Frames until none comes any more.
pub fn drain(capture: &mut impl Capture) -> u64 {
    let mut frames = 0;
    // Longer than a partly filled block waits.
    while let Some(batch) = capture.next_batch(Duration::from_millis(100)).unwrap() {
        frames += batch.frames().count() as u64;
    }
    frames
}
