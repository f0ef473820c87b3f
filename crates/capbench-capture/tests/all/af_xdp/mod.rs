//! `af-xdp` on veth pairs: frames whole and in order, each loss at its place to the frame, refusals instead of fallbacks.
//! Nothing stays on the interface after any end of the process.
//!
//! | file | what |
//! |---|---|
//! | `frames` | what is captured, and how long it stays |
//! | `losses` | each loss at its place, to the frame |
//! | `queues` | several receive queues as one source |
//! | `passing` | frames that the host gets, too |
//! | `refusals` | impossible requests, and interfaces and processes that go away |

mod frames;
mod losses;
mod passing;
mod queues;
mod refusals;

use capbench_capture::backends::af_xdp::AfXdp;
use capbench_capture::{Capture, CaptureError, Interface};
use capbench_model::counters::Counters;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place as At;
use capbench_model::units::ByteCount;
use capbench_sys::bpf::link_state;
use capbench_sys::host::interface::index_of;
use capbench_testing::network::{Namespaces, Place, eventually};

const MODES: [&str; 2] = ["af-xdp", "af-xdp+generic"];

fn options() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(4 << 20), ..CaptureOptions::default() }
}

fn open_as(method: &str, mtu: u32, options: &CaptureOptions) -> Result<AfXdp, CaptureError> {
    let interface = Interface::of_name("right", mtu).unwrap();
    AfXdp::open(&method.parse().unwrap(), &interface, options)
}

/// Opens again what has just been closed. A process that another test has forked meanwhile has copies of all descriptors until it
/// executes its program: with that of a closed socket it keeps the socket's queue.
fn once_the_queue_is_free(open: impl Fn() -> Result<AfXdp, CaptureError>) -> Result<AfXdp, CaptureError> {
    let is_taken = |error: &CaptureError| error.to_string().contains("another AF_XDP socket");
    let mut answer = open();
    eventually("the queue is free", || match &answer {
        Err(error) if is_taken(error) => {
            answer = open();
            false
        }
        _ => true,
    });
    answer
}

fn refusal(place: &Place, method: &str, mtu: u32) -> String {
    let open = || open_as(method, mtu, &options());
    place.inside(|| once_the_queue_is_free(open).map(drop).unwrap_err().to_string())
}

/// Whether a program is on the interface `right`.
fn is_attached(place: &Place) -> bool {
    place.inside(|| link_state(index_of("right").unwrap()).unwrap().attached.is_some())
}

/// A frame of this size with its number, and full of the number's last octet.
fn frame(destination: [u8; 6], number: u32, octets: usize) -> Vec<u8> {
    let mut frame = crate::wire::frame(destination, number as u8, octets);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(data: &[u8]) -> u32 {
    u32::from_be_bytes(data[14..18].try_into().unwrap())
}

/// The counters once this many frames have come through the program.
fn counters_after(capture: &mut impl Capture, redirected: u64) -> Counters {
    eventually("all frames have arrived", || {
        capture.counters().unwrap().raw("xdp.redirected") == Some(redirected)
    });
    capture.counters().unwrap()
}

fn losses(counters: &Counters) -> [Option<u64>; 3] {
    [At::Xdp, At::FillRing, At::Ring].map(|place| counters.lost_at(place))
}

fn with_each_mode(test: &str, work: impl Fn(&str, &Namespaces)) {
    crate::wire::with_each(test, &MODES, work);
}
