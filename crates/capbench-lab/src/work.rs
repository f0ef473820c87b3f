//! Does the application's work per frame, and measures how fast a CPU does it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use capbench_model::work::WorkModel;

/// Work ready to run: calibrated and with its memory allocated.
#[derive(Clone, Debug)]
pub struct Work {
    kind: Kind,
    copy: Box<[u8; COPY]>,
    speed: LoopSpeed,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Loop(u64),
    Touch,
    Parse,
    Copy,
}

/// Upper bound of copied octets: longer than any frame, receive offloads included.
const COPY: usize = 1 << 16;

impl Work {
    /// Prepares a model. The models that wait need the speed of the wait loop on the CPU that will do the work.
    pub fn new(model: WorkModel, speed: LoopSpeed) -> Self {
        let kind = match model {
            WorkModel::None => Kind::None,
            WorkModel::Loop(iterations) => Kind::Loop(iterations.into()),
            WorkModel::Nanoseconds(duration) => Kind::Loop(speed.iterations(duration)),
            WorkModel::Touch => Kind::Touch,
            WorkModel::Parse => Kind::Parse,
            WorkModel::Copy => Kind::Copy,
        };
        Self { kind, copy: Box::new([0; COPY]), speed }
    }

    /// Time of one iteration of the wait loop in nanoseconds; `None` for other work.
    pub fn iteration_ns(&self) -> Option<f64> {
        matches!(self.kind, Kind::Loop(_)).then(|| 1.0 / self.speed.iterations_per_ns)
    }

    /// Does the work for one frame.
    #[inline]
    pub fn apply(&mut self, frame: &[u8]) {
        match self.kind {
            Kind::None => {}
            Kind::Loop(iterations) => wait_loop(iterations),
            Kind::Touch => {
                black_box(frame.iter().fold(0u8, |sum, &octet| sum.wrapping_add(octet)));
            }
            Kind::Parse => {
                black_box(ports(frame));
            }
            Kind::Copy => {
                let octets = frame.len().min(COPY);
                self.copy[..octets].copy_from_slice(&frame[..octets]);
                black_box(&self.copy);
            }
        }
    }
}

/// Multiplies `iterations` times, each time the previous result. An iteration takes a rotation and a multiplication in sequence
/// (4 cycles on most processors) and leaves most execution units idle. Therefore its time does not depend on the code around it
/// or on the load of the core's other hardware thread. An iteration of a plain counting loop takes one or two cycles, depending
/// on how fast the core fetches it.
#[inline]
fn wait_loop(iterations: u64) {
    /// Odd, so that a nonzero value never becomes 0. Its bits are those of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = black_box(1_u64);
    for _ in 0..iterations {
        // The rotation prevents the compiler from combining several multiplications.
        state = state.rotate_left(5).wrapping_mul(FACTOR);
    }
    black_box(state);
}

/// Time of a loop iteration on a CPU in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoopTimes {
    /// Mean of all runs.
    pub(crate) mean_ns: f64,
    /// Fastest run.
    pub(crate) fastest_ns: f64,
}

/// Repeats a loop of `iterations` on the calling thread's CPU for `length`, but at least once. A run of about 10 microseconds is
/// best: shorter than most intervals between two disturbances, and much longer than a clock read.
pub(crate) fn time_loop(length: Duration, iterations: u64, run: impl Fn(u64)) -> LoopTimes {
    let each = |time: Duration, runs: u64| time.as_nanos().max(1) as f64 / (runs * iterations) as f64;
    let begin = Instant::now();
    let (mut from, mut fastest) = (begin, Duration::MAX);
    for runs in 1.. {
        run(iterations);
        let now = Instant::now();
        fastest = fastest.min(now - from);
        if now - begin >= length {
            return LoopTimes { mean_ns: each(now - begin, runs), fastest_ns: each(fastest, 1) };
        }
        from = now;
    }
    unreachable!("the loop has no end of its own")
}

/// Protocol and ports of a frame: the minimum work of every classifier.
fn ports(frame: &[u8]) -> Option<(u8, u16, u16)> {
    let word = |at: usize| frame.get(at..at + 2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]));
    let mut network = 14;
    let mut kind = word(12)?;
    while kind == 0x8100 || kind == 0x88a8 {
        kind = word(network + 2)?;
        network += 4;
    }
    let (protocol, transport) = match kind {
        0x0800 => (*frame.get(network + 9)?, network + usize::from(frame.get(network)? & 15) * 4),
        0x86dd => (*frame.get(network + 6)?, network + 40),
        _ => return None,
    };
    Some((protocol, word(transport)?, word(transport + 2)?))
}

/// How fast the wait loop runs on a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopSpeed {
    /// Iterations per nanosecond.
    pub iterations_per_ns: f64,
}

impl LoopSpeed {
    /// Measures the loop on the calling thread's CPU. The fastest of many short runs counts, because every disturbance makes a
    /// run slower.
    pub fn measure() -> Self {
        const LENGTH: Duration = Duration::from_millis(20);
        const ITERATIONS: u64 = 10_000;
        Self { iterations_per_ns: 1.0 / time_loop(LENGTH, ITERATIONS, wait_loop).fastest_ns }
    }

    fn iterations(self, nanoseconds: u32) -> u64 {
        (f64::from(nanoseconds) * self.iterations_per_ns).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LoopSpeed, Work, ports, time_loop, wait_loop};

    #[test]
    fn nanoseconds_become_iterations_at_the_measured_speed() {
        let speed = LoopSpeed { iterations_per_ns: 2.5 };
        assert_eq!(speed.iterations(1000), 2500);
        let once = time_loop(Duration::ZERO, 1000, wait_loop);
        assert!(once.fastest_ns > 0.0 && once.mean_ns >= once.fastest_ns);
        let iteration_ns = |model: &str| Work::new(model.parse().unwrap(), speed).iteration_ns();
        assert_eq!(
            [iteration_ns("loop:3"), iteration_ns("ns:3"), iteration_ns("touch")],
            [Some(0.4), Some(0.4), None]
        );
    }

    #[test]
    fn ports_are_found_behind_tags_and_nothing_panics() {
        let mut frame = vec![0u8; 60];
        frame[12..14].copy_from_slice(&[0x81, 0]);
        frame[16..18].copy_from_slice(&[8, 0]);
        frame[18] = 0x45;
        frame[27] = 17;
        frame[38..42].copy_from_slice(&[0x12, 0x34, 0, 7]);
        assert_eq!(ports(&frame), Some((17, 0x1234, 7)));
        for length in 0..frame.len() {
            ports(&frame[..length]);
        }
    }

    #[test]
    fn every_model_takes_frames_of_any_length() {
        for model in ["none", "loop:3", "touch", "parse", "copy"] {
            let mut work = Work::new(model.parse().unwrap(), LoopSpeed { iterations_per_ns: 1.0 });
            for length in [0, 1, 60, 70_000] {
                work.apply(&vec![1; length]);
            }
        }
    }
}
