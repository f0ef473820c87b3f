//! Every fault at three intensities, one place at a time: the ledger books exactly what was injected at its place and
//! nothing at any other, and nothing is unexplained. Each row says what its number is known from, which is never the
//! counter that the ledger takes it from.

#![cfg(feature = "bpf")]

mod faults;
#[path = "../../capbench/tests/support/network.rs"]
mod network;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions};
use capbench_measure::accounts::irqtime::IrqAccounting;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::ledger::Place;
use capbench_measure::live::{LiveLaboratory, Path, ReceiveBy};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::simulated;
use capbench_measure::trial::{Load, TrialResult};
use capbench_measure::work::WorkModel;
use capbench_traffic::{Mtu, Pps};
use faults::xdp::Mode;
use faults::{Every, Fault, balance};
use network::{in_turn, privileged};

/// One fault at one intensity.
struct Case {
    fault: &'static str,
    intensity: String,
    /// What stands in the way of the frames.
    injected: Fault,
    /// The place that has to lose them; `None` where no frame is lost.
    place: Option<Place>,
    setup: Setup,
    load: Load,
    duration: Duration,
    /// How many frames it harmed; `None` when the host was too busy for the fault to have been what it should be.
    number: fn(&Self, &TrialResult) -> Option<u64>,
    /// Where the number is from.
    witness: &'static str,
}

/// How often a trial is run again in which a busy host lost frames elsewhere, or disturbed the fault.
const ATTEMPTS: usize = 20;

impl Case {
    /// A small load that the method `packet-v2` can take.
    fn new(fault: &'static str, intensity: impl ToString, place: impl Into<Option<Place>>) -> Self {
        let capture = CaptureOptions { ring: ByteCount(16 << 20), ..CaptureOptions::default() };
        Self {
            fault,
            intensity: intensity.to_string(),
            injected: Fault::None,
            place: place.into(),
            setup: Setup {
                method: "packet-v2".parse().unwrap(),
                placement: PlacementChoice::Same,
                transmit: "packet-tx".into(),
                quiet: Duration::from_millis(100),
                capture,
                ..simulated::setup(64)
            },
            load: pps(40_000.0),
            duration: Duration::from_millis(50),
            number: |_, trial| missing_numbers(trial).filter(|&lost| lost > 0),
            witness: "numbers missing",
        }
    }

    /// Frames that something on an interface picks by their numbers.
    fn picked(fault: &'static str, every: Every, injected: Fault, place: impl Into<Option<Place>>) -> Self {
        Self {
            injected,
            number: |case, trial| Some(case.every().of(trial.sent)),
            witness: "numbers picked",
            ..Self::new(fault, every, place)
        }
    }

    fn every(&self) -> Every {
        match self.injected {
            Fault::DropAtEgress(every)
            | Fault::DropAtIngress(every)
            | Fault::Corrupt(every)
            | Fault::Duplicate(every)
            | Fault::SocketFilter(every)
            | Fault::DropInXdp(every, _) => every,
            Fault::None | Fault::SlowSoftirq(_) => unreachable!("it picks no frames"),
        }
    }

    fn run(&self, laboratory: &mut LiveLaboratory) -> TrialResult {
        let mut setup = self.setup.clone();
        self.injected.shape(&mut setup);
        let bed = laboratory.bed_of(&setup).unwrap();
        let _injected = self.injected.inject(&bed);
        laboratory.prepare(&setup).unwrap().run(self.load, self.duration).unwrap()
    }

    /// Runs it, and judges the ledger.
    fn check(&self, laboratory: &mut LiveLaboratory) {
        for _ in 0..ATTEMPTS {
            let trial = self.run(laboratory);
            let what = || format!("{} {}: {trial:#?}", self.fault, self.intensity);
            assert_eq!(balance(&trial), (trial.intended, i128::from(trial.unexplained)), "{}", what());
            assert_eq!(trial.unexplained, 0, "{}", what());
            let elsewhere: Vec<_> =
                trial.losses().into_iter().filter(|(place, _)| Some(*place) != self.place).collect();
            let number = if elsewhere.is_empty() { (self.number)(self, &trial) } else { None };
            let Some(number) = number else {
                eprintln!("again, the host was busy: {} {} {elsewhere:?}", self.fault, self.intensity);
                continue;
            };
            let entry = |place| trial.ledger.iter().find(|entry| entry.place == place).unwrap();
            assert!(entry(Place::Xdp).count.is_some(), "the tracer knows what XDP dropped: {}", what());
            let stack = entry(Place::Stack);
            if stack.count.is_none() {
                // On a busy CPU the kernel fails to report some drops; the ledger is to say so, and does.
                assert!(stack.source.contains("not seen"), "{}", what());
                eprintln!("again, the tracer was blind: {} {} {}", self.fault, self.intensity, stack.source);
                continue;
            }
            let booked = match self.place {
                Some(place) => trial.ledger.iter().find(|entry| entry.place == place).unwrap().count.unwrap(),
                None => self.beside(&trial),
            };
            println!(
                "| {} | {} | {} | {} | {} | {number} | {booked} | 0 | {} | {} |",
                self.fault,
                self.intensity,
                self.setup.method,
                self.place.map_or("beside it", Place::word),
                trial.sent,
                trial.unexplained,
                self.witness
            );
            assert_eq!(booked, number, "{}", what());
            return;
        }
        panic!("{} {}: the host is too busy", self.fault, self.intensity);
    }

    /// What is counted beside the ledger for a fault that loses nothing.
    fn beside(&self, trial: &TrialResult) -> u64 {
        assert_eq!(trial.delivered, trial.sent, "{trial:#?}");
        match self.injected {
            Fault::Duplicate(_) => trial.duplicates,
            _ => trial.counters.get("trace.receive.drop.TC_INGRESS").copied().unwrap_or(0),
        }
    }
}

/// Frames whose numbers never came, of whatever kind of loss.
fn missing_numbers(trial: &TrialResult) -> Option<u64> {
    Some(trial.loss_shape.as_ref().unwrap().lost)
}

fn pps(rate: f64) -> Load {
    Load::Rate(Pps::new(rate).unwrap())
}

/// Runs the cases on one bed with a tracer, where the test can run.
fn check_all(test: &str, cases: impl IntoIterator<Item = Case>) {
    if !privileged(test) {
        return;
    }
    let _turn = in_turn();
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    let path = Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps };
    let mut laboratory = LiveLaboratory::new(path, irq, Arc::new(AtomicBool::new(false))).with_tracer();
    println!(
        "| fault | intensity | method | place | sent | injected | booked | elsewhere | unexplained | witness |"
    );
    for case in cases {
        case.check(&mut laboratory);
    }
}

#[test]
fn root_tc_drop_at_egress_is_booked_to_the_transmit_side() {
    check_all(
        "root_tc_drop_at_egress_is_booked_to_the_transmit_side",
        Every::ALL
            .map(|every| Case::picked("tc drop, egress", every, Fault::DropAtEgress(every), Place::Transmit)),
    );
}

#[test]
fn root_tc_drop_at_ingress_is_no_loss_of_a_packet_socket() {
    check_all(
        "root_tc_drop_at_ingress_is_no_loss_of_a_packet_socket",
        Every::ALL.map(|every| Case::picked("tc drop, ingress", every, Fault::DropAtIngress(every), None)),
    );
}

#[test]
fn root_frames_corrupted_on_the_way_are_booked_as_corrupt() {
    check_all(
        "root_frames_corrupted_on_the_way_are_booked_as_corrupt",
        Every::ALL
            .map(|every| Case::picked("corrupted frames", every, Fault::Corrupt(every), Place::Corrupt)),
    );
}

#[test]
fn root_frames_duplicated_on_the_way_are_counted_beside_the_ledger() {
    check_all(
        "root_frames_duplicated_on_the_way_are_counted_beside_the_ledger",
        Every::ALL.map(|every| Case::picked("duplicated frames", every, Fault::Duplicate(every), None)),
    );
}

#[test]
fn root_what_an_xdp_program_drops_is_booked_to_xdp() {
    let modes = [("XDP drop, generic", Mode::Generic), ("XDP drop, native", Mode::Native)];
    check_all(
        "root_what_an_xdp_program_drops_is_booked_to_xdp",
        modes.into_iter().flat_map(|(name, mode)| {
            Every::ALL.map(|every| Case::picked(name, every, Fault::DropInXdp(every, mode), Place::Xdp))
        }),
    );
}

/// The tracer's count of the kernel's reason, where the ledger takes softnet counter and link statistics.
#[test]
fn root_what_a_full_backlog_refuses_is_booked_to_the_backlog() {
    check_all(
        "root_what_a_full_backlog_refuses_is_booked_to_the_backlog",
        [10_000, 20_000, 50_000].map(|take_ns| Case {
            injected: Fault::SlowSoftirq(take_ns),
            load: pps(200_000.0),
            number: |_, trial| {
                let refused = trial.counters.get("trace.receive.drop.CPU_BACKLOG").copied().unwrap_or(0);
                assert_eq!(Some(refused), missing_numbers(trial), "tracer and numbers: {trial:#?}");
                Some(refused).filter(|&refused| refused > 0)
            },
            witness: "CPU_BACKLOG by the tracer, numbers missing",
            ..Case::new("backlog limit", format!("{} us a frame", take_ns / 1000), Place::Backlog)
        }),
    );
}

/// NAPI thread and a busy application share a CPU; the ring holds everything.
#[test]
fn root_what_the_queue_of_a_polled_veth_refuses_is_booked_to_it() {
    let loads = [("150,000/s", pps(150_000.0)), ("300,000/s", pps(300_000.0)), ("maximum", Load::Maximum)];
    check_all(
        "root_what_the_queue_of_a_polled_veth_refuses_is_booked_to_it",
        loads.map(|(words, load)| {
            let mut case = Case::new("full veth queue", words, Place::LinkQueue);
            case.setup.method = "packet-v2+napi-thread".parse().unwrap();
            case.setup.work = WorkModel::Nanoseconds(20_000).into();
            case.setup.capture.ring = ByteCount(128 << 20);
            Case { load, ..case }
        }),
    );
}

/// How long a reader is held over one frame. Until it is through with its first batch the sender is done.
const HELD: Duration = Duration::from_millis(15);
/// How long the sender sends meanwhile.
const BURST: Duration = Duration::from_millis(3);

/// A reader that is held while the sender sends: what has room is delivered, and everything else is lost.
fn held(fault: &'static str, place: Place, frames: u32, witness: &'static str) -> Case {
    let mut case = Case::new(fault, format!("room for {frames}"), place);
    case.setup.work = WorkModel::Nanoseconds(HELD.as_nanos() as u32).into();
    Case { load: pps(100_000.0), duration: BURST, witness, ..case }
}

/// What was sent less `room`, if the sender was done before the reader made more of it. On a busy host it may send less
/// than there is room for, or the kernel's receive work may be late: then more numbers come.
fn all_but(room: u64, trial: &TrialResult) -> Option<u64> {
    let expected = trial.sent.checked_sub(room).filter(|&lost| lost > 0)?;
    let was_held = trial.sending_s < HELD.as_secs_f64() / 2.0 && missing_numbers(trial)? == expected;
    was_held.then_some(expected)
}

#[test]
fn root_a_tiny_ring_loses_all_but_what_it_holds() {
    check_all(
        "root_a_tiny_ring_loses_all_but_what_it_holds",
        [8, 16, 32].map(|slots| {
            let mut case = held("tiny ring", Place::Ring, slots, "sent less the ring's slots");
            case.setup.capture.ring = ByteCount(u64::from(slots) * 2048);
            case.setup.capture.block = ByteCount(4096);
            case.setup.capture.frame = Some(ByteCount(2048));
            let number = |case: &Case, trial: &TrialResult| all_but(case.setup.capture.ring.0 / 2048, trial);
            Case { number, ..case }
        }),
    );
}

/// Before it is held, the reader puts one more buffer into the fill ring for the one that it has taken.
#[test]
fn root_a_starved_fill_ring_loses_all_but_the_buffers_in_it() {
    check_all(
        "root_a_starved_fill_ring_loses_all_but_the_buffers_in_it",
        [50_000.0, 100_000.0, 200_000.0].map(|rate| {
            let mut case = held("starved fill ring", Place::FillRing, 1, "sent less the two buffers given");
            case.intensity = format!("room for 1 at {rate}/s");
            case.setup.method = "af-xdp+generic+fill=1".parse().unwrap();
            case.setup.capture.ring = ByteCount(64 << 10);
            let number = |_: &Case, trial: &TrialResult| all_but(2, trial);
            Case { load: pps(rate), number, ..case }
        }),
    );
}

#[test]
fn root_a_slow_reader_loses_in_ring_or_socket() {
    let readers = ["packet-v3", "packet-v1", "recv"];
    check_all(
        "root_a_slow_reader_loses_in_ring_or_socket",
        readers.into_iter().flat_map(|method| {
            [20, 50, 100].map(|work_us| {
                let words = format!("{work_us} us a frame");
                let mut case = Case::new("slow reader", words, Place::Ring);
                case.setup.method = method.parse().unwrap();
                case.setup.work = WorkModel::Nanoseconds(work_us * 1000).into();
                case.setup.capture.ring = ByteCount(256 << 10);
                case.setup.capture.block = ByteCount(64 << 10);
                Case { load: pps(100_000.0), ..case }
            })
        }),
    );
}

/// A batch is handed over much faster than the second thread works: of each the queue holds what it has room for.
#[test]
fn root_a_slow_application_loses_in_its_queue() {
    check_all(
        "root_a_slow_application_loses_in_its_queue",
        [(16, 20), (64, 50), (256, 100)].map(|(length, work_us)| {
            let words = format!("queue of {length}, {work_us} us a frame");
            let mut case = Case::new("slow application queue", words, Place::ApplicationQueue);
            case.setup.method = "packet-v3".parse().unwrap();
            case.setup.work = format!("ns:{work_us}000+queue={length}").parse().unwrap();
            Case { load: pps(100_000.0), ..case }
        }),
    );
}

#[test]
fn root_what_a_socket_filter_drops_is_booked_to_the_filter() {
    let cases = ["packet-v2", "recv"].into_iter().flat_map(|method| {
        Every::ALL.map(|every| {
            let mut case = Case::picked("socket filter", every, Fault::SocketFilter(every), Place::Filter);
            case.setup.method = method.parse().unwrap();
            case
        })
    });
    check_all("root_what_a_socket_filter_drops_is_booked_to_the_filter", cases);
}
