//! The merge against a model, and case by case.

mod blocks;
mod cases;
mod model;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use capbench_capture::capture::{Batch, Place, SeekableBatch};
use capbench_sys::packet::{Frame, PacketType};

use super::{Merge, Moment, PortPlan};

const MS: u64 = 1_000_000;
/// CLOCK_REALTIME at the beginning of a test, ns.
const START: u64 = 1_700_000_000_000_000_000;

/// A batch of frames with these times, each with the number of the frame on its port as its bytes.
struct Made {
    frames: Vec<(u64, [u8; 8])>,
    /// Batches that are alive.
    alive: Rc<Cell<u64>>,
}

impl Drop for Made {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
    }
}

impl Batch for Made {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut place = self.start();
        std::iter::from_fn(move || self.frame_at(&mut place))
    }
}

impl SeekableBatch for Made {
    fn start(&self) -> Place {
        Place { offset: 0, left: self.frames.len() as u32 }
    }

    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        let (time_ns, data) = self.frames.get(place.offset as usize)?;
        *place = Place { offset: place.offset + 1, left: place.left - 1 };
        Some(Frame {
            data,
            wire_length: 8,
            time_ns: *time_ns,
            vlan: None,
            packet_type: PacketType::Unknown,
            hash: None,
            status: 0,
        })
    }
}

/// A frame that came out: port, number on its port, time.
type Out = (usize, u64, u64);

/// A merge, the clock by which it goes, and what came out of it.
struct Rig {
    merge: Merge<Made>,
    now: Moment,
    counts: Vec<u64>,
    out: Vec<Out>,
    alive: Rc<Cell<u64>>,
}

impl Rig {
    fn new(ports: Vec<PortPlan>, window: Duration) -> Self {
        let counts = vec![0; ports.len()];
        let now = Moment { real_ns: START, monotonic_ns: 5 };
        let mut rig =
            Self { merge: Merge::new(ports, window), now, counts, out: vec![], alive: Rc::default() };
        rig.pass(0);
        rig
    }

    /// Ports with a hold of 10 ms and a disorder of 2 ms, and a window of 60 ms.
    fn of_ports(count: usize) -> Self {
        let plan =
            PortPlan { hold: Duration::from_millis(10), disorder: Duration::from_millis(2), batches: 1000 };
        Self::new(vec![plan; count], Duration::from_millis(60))
    }

    fn push(&mut self, port: usize, times: &[u64]) {
        let number = &mut self.counts[port];
        let frames = times.iter().map(|&time| {
            *number += 1;
            (time, (*number - 1).to_be_bytes())
        });
        self.alive.set(self.alive.get() + 1);
        self.merge.push(port, Made { frames: frames.collect(), alive: Rc::clone(&self.alive) });
    }

    fn idle(&mut self, port: usize) {
        self.merge.idle(port, self.now.real_ns);
    }

    /// Lets nanoseconds pass, then takes what is ready.
    fn pass(&mut self, ns: u64) {
        self.now.monotonic_ns += ns;
        self.now.real_ns += ns;
        self.drain();
    }

    fn drain(&mut self) {
        let before = self.out.len();
        let out = &mut self.out;
        let count = self.merge.drain_ready(self.now, |from, frame| out.push(seen(from.port, frame)));
        assert_eq!(count as usize, self.out.len() - before);
        assert_eq!(
            self.merge.held_batches(),
            self.alive.get(),
            "a batch is dropped when its last frame is out"
        );
    }

    /// Sets the host's clock by nanoseconds.
    fn set_clock(&mut self, by: i64) {
        self.now.real_ns = self.now.real_ns.saturating_add_signed(by);
    }

    fn finish(self) -> (Vec<Out>, super::MergeTally) {
        let Self { merge, mut out, alive, counts, .. } = self;
        let tally = merge.finish(|from, frame| out.push(seen(from.port, frame)));
        assert_eq!(alive.get(), 0);
        let mut sorted = out.clone();
        sorted.sort_unstable_by_key(|&(port, number, _)| (port, number));
        let all = counts.iter().enumerate().flat_map(|(port, &count)| (0..count).map(move |n| (port, n)));
        assert!(sorted.iter().map(|&(port, number, _)| (port, number)).eq(all), "each frame comes out once");
        let of_port = |port| out.iter().filter(|out| out.0 == port).count() as u64;
        assert!(tally.ports.iter().enumerate().all(|(port, tally)| tally.frames == of_port(port)));
        (out, tally)
    }
}

fn seen(port: usize, frame: &Frame<'_>) -> Out {
    (port, u64::from_be_bytes(frame.data.try_into().unwrap()), frame.time_ns)
}

/// Times alone.
fn times(out: &[Out]) -> Vec<u64> {
    out.iter().map(|out| out.2).collect()
}
