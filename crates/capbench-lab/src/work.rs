//! Does the application's work per frame, and measures how fast a CPU does it.

use std::hint::black_box;
use std::time::Duration;

use capbench_model::work::WorkModel;
use capbench_sys::host::clock;

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
pub(crate) fn wait_loop(iterations: u64) {
    /// Odd, so that a nonzero value never becomes 0. Its bits are those of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = black_box(1_u64);
    for _ in 0..iterations {
        // The rotation prevents the compiler from combining several multiplications.
        state = state.rotate_left(5).wrapping_mul(FACTOR);
    }
    black_box(state);
}

/// The clocks of the calling thread, in nanoseconds.
pub(crate) trait Clocks {
    /// Time that passed.
    fn passed_ns(&self) -> u64;
    /// CPU time that the thread had.
    fn thread_ns(&self) -> u64;
}

/// CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID.
pub(crate) struct OfThread;

impl Clocks for OfThread {
    fn passed_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn thread_ns(&self) -> u64 {
        clock::thread_cpu_ns()
    }
}

/// Time of a loop iteration on a CPU in nanoseconds, and the part of the CPU that the loop did not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoopTimes {
    /// Mean of all runs, in CPU time of the thread: without the time in which other threads had the CPU.
    pub(crate) mean_ns: f64,
    /// Median run. A pause of the CPU is in few runs.
    pub(crate) typical_ns: f64,
    /// Fastest run.
    pub(crate) fastest_ns: f64,
    /// Share of the time in which other threads had the CPU, from 0 to 1.
    pub(crate) taken_share: f64,
}

/// Repeats a loop of `iterations` on the calling thread's CPU for `length`, but at least once. Where other threads take the CPU it
/// goes on until the thread has had half of that, up to four times as long. A run of about 10 microseconds is best: shorter than
/// most intervals between two disturbances, and much longer than a clock read.
pub(crate) fn time_loop(
    length: Duration,
    iterations: u64,
    clocks: &impl Clocks,
    run: impl Fn(u64),
) -> LoopTimes {
    /// How much longer it may take where other threads take the CPU.
    const PATIENCE: u64 = 4;
    let length_ns = length.as_nanos() as u64;
    let thread_began_ns = clocks.thread_ns();
    let began_ns = clocks.passed_ns();
    let mut runs = Vec::new();
    let mut from_ns = began_ns;
    loop {
        run(iterations);
        let now_ns = clocks.passed_ns();
        runs.push(now_ns - from_ns);
        from_ns = now_ns;
        let passed_ns = now_ns - began_ns;
        if passed_ns < length_ns {
            continue;
        }
        let thread_ns = clocks.thread_ns() - thread_began_ns;
        if thread_ns >= length_ns / 2 || passed_ns >= PATIENCE * length_ns {
            return LoopTimes::of_runs(runs, iterations, passed_ns, thread_ns);
        }
        from_ns = clocks.passed_ns();
    }
}

impl LoopTimes {
    fn of_runs(mut runs: Vec<u64>, iterations: u64, passed_ns: u64, thread_ns: u64) -> Self {
        runs.sort_unstable();
        let in_all = runs.len() as u64 * iterations;
        // A clock of low resolution may show nothing.
        let each = |ns: u64, iterations: u64| ns.max(1) as f64 / iterations as f64;
        Self {
            mean_ns: each(thread_ns, in_all),
            typical_ns: each(runs[runs.len() / 2], iterations),
            fastest_ns: each(runs[0], iterations),
            taken_share: passed_ns.saturating_sub(thread_ns) as f64 / passed_ns.max(1) as f64,
        }
    }
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
        Self { iterations_per_ns: 1.0 / time_loop(LENGTH, ITERATIONS, &OfThread, wait_loop).fastest_ns }
    }

    fn iterations(self, nanoseconds: u32) -> u64 {
        (f64::from(nanoseconds) * self.iterations_per_ns).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::cell::Cell;

    use super::{Clocks, LoopSpeed, LoopTimes, OfThread, Work, ports, time_loop, wait_loop};

    /// Clocks that a loop sets.
    #[derive(Default)]
    struct Set {
        passed_ns: Cell<u64>,
        thread_ns: Cell<u64>,
    }

    impl Clocks for Set {
        fn passed_ns(&self) -> u64 {
            self.passed_ns.get()
        }

        fn thread_ns(&self) -> u64 {
            self.thread_ns.get()
        }
    }

    /// Runs of 100 iterations for 1000 ns. Each takes `run_ns` of the CPU, and every third is held up by `taken_ns` of others.
    fn timed(run_ns: u64, taken_ns: u64) -> LoopTimes {
        let clocks = Set::default();
        let runs = Cell::new(0);
        time_loop(Duration::from_nanos(1000), 100, &clocks, |_| {
            runs.set(runs.get() + 1);
            let taken_ns = if runs.get() % 3 == 0 { taken_ns } else { 0 };
            clocks.thread_ns.set(clocks.thread_ns.get() + run_ns);
            clocks.passed_ns.set(clocks.passed_ns.get() + run_ns + taken_ns);
        })
    }

    #[test]
    fn time_that_others_take_is_no_slower_core() {
        let alone = timed(100, 0);
        assert_eq!(alone, LoopTimes { mean_ns: 1.0, typical_ns: 1.0, fastest_ns: 1.0, taken_share: 0.0 });
        let shared = timed(100, 300);
        assert_eq!((shared.mean_ns, shared.typical_ns, shared.fastest_ns), (1.0, 1.0, 1.0));
        assert!((shared.taken_share - 0.5).abs() < 0.1, "{shared:?}");
        let slow = timed(150, 0);
        assert_eq!((slow.mean_ns, slow.typical_ns, slow.taken_share), (1.5, 1.5, 0.0));
    }

    #[test]
    fn a_loop_that_hardly_gets_the_cpu_goes_on_but_not_for_ever() {
        let starved = timed(100, 10_000);
        assert_eq!(starved.mean_ns, 1.0);
        assert!(starved.taken_share > 0.9, "{starved:?}");
        let patient = timed(100, 900);
        // 1500 ns for 600 of its own: at 1000 ns it had had 200.
        assert!((patient.taken_share - 0.6).abs() < 0.05, "{patient:?}");
    }

    #[test]
    fn nanoseconds_become_iterations_at_the_measured_speed() {
        let speed = LoopSpeed { iterations_per_ns: 2.5 };
        assert_eq!(speed.iterations(1000), 2500);
        let once = time_loop(Duration::ZERO, 1000, &OfThread, wait_loop);
        assert!(once.fastest_ns > 0.0 && once.mean_ns > 0.0);
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
