//! Every fault at three intensities, one place at a time: the ledger books exactly what was injected at its place and
//! nothing at any other, and nothing is unexplained. Each row says what its number is known from, which is never the
//! counter that the ledger takes it from, nor what is left when that is known. A trial is repeated only where something
//! else shows that the host disturbed it: so these tests run next to others. What fills a backlog, or holds a reader for
//! milliseconds, runs alone.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::faults::host::Host;
use crate::faults::watched::lost_by_sockets;
use crate::faults::{Every, Fault, balance, doubts, entry, is_in_doubt};
use capbench_frames::Pps;
use capbench_lab::for_tests::{live, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult};
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_sys::bpf::XdpMode;
use capbench_testing::busy;
use capbench_testing::network::privileges;

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
    /// How many frames it harmed, or why the fault was not what it should be.
    number: fn(&Self, &Seen) -> Result<u64, String>,
    /// Whether the capture's sockets are watched from outside.
    is_watched: bool,
    /// Where the number is from.
    witness: &'static str,
}

/// Repeats for each case: beside two busy loops the 3 ms of a trial are often over before its sender has run.
const REPEATS: usize = 3;

/// A trial, and what was seen of it from outside.
struct Seen {
    trial: TrialResult,
    /// What the capture's sockets lost, where they are watched and were read in time.
    lost_by_sockets: Option<u64>,
    /// What disturbed it.
    signs: Vec<String>,
}

/// Trials of one test that were run again, each with a sign of what disturbed it; of those there may be [`REPEATS`] for each case.
struct Repeats {
    left: usize,
    /// Trials so far.
    trials: usize,
}

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
                transmit: "packet-tx".parse().unwrap(),
                quiet: Duration::from_millis(100),
                capture,
                ..setup(64)
            },
            load: pps(40_000.0),
            duration: Duration::from_millis(50),
            number: |_, seen| Ok(missing_numbers(&seen.trial)),
            is_watched: false,
            witness: "numbers missing",
        }
    }

    /// Frames that something on an interface picks by their numbers.
    fn picked(fault: &'static str, every: Every, injected: Fault, place: impl Into<Option<Place>>) -> Self {
        Self {
            injected,
            number: |case, seen| Ok(case.every().of(seen.trial.sent)),
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

    fn run(&self, laboratory: &mut LiveLaboratory) -> Seen {
        let mut setup = self.setup.clone();
        self.injected.shape(&mut setup);
        let bed = laboratory.bed_of(&setup).unwrap();
        let _injected = self.injected.inject(&bed);
        let host = Host::look();
        let done = AtomicBool::new(false);
        let (trial, lost_by_sockets) = thread::scope(|scope| {
            let watch = self.is_watched.then(|| {
                let (ready, is_ready) = mpsc::sync_channel(1);
                let (bed, done) = (&bed, &done);
                let watch = scope.spawn(move || lost_by_sockets(bed.receive_side(), ready, done));
                // An error means that it panicked, which join tells.
                let _ = is_ready.recv();
                watch
            });
            let trial = laboratory.prepare(&setup).and_then(|mut trial| trial.run(self.load, self.duration));
            done.store(true, Ordering::Release);
            (trial.unwrap(), watch.and_then(|watch| watch.join().unwrap()))
        });
        let signs = host.signs(&trial);
        Seen { trial, lost_by_sockets, signs }
    }

    /// Runs it, and judges the ledger. Whatever the host did, the books balance, and nothing is unexplained that they do not say
    /// may be. A host that disturbs it too often shows nothing.
    fn check(&self, laboratory: &mut LiveLaboratory, repeats: &mut Repeats) {
        loop {
            let seen = self.run(laboratory);
            repeats.trials += 1;
            let trial = &seen.trial;
            let what = || format!("{} {}: {trial:#?}", self.fault, self.intensity);
            assert_eq!(balance(trial), (trial.intended, i128::from(trial.unexplained)), "{}", what());
            let explained = self.explained(trial);
            assert!(explained.contains(&trial.unexplained), "{explained:?} can be unexplained: {}", what());
            match self.judge(&seen) {
                Ok(number) => {
                    let booked = self.booked(trial);
                    println!(
                        "| {} | {} | {} | {} | {} | {number} | {} | {booked} | 0 | {} |",
                        self.fault,
                        self.intensity,
                        self.setup.method,
                        self.place.map_or("elsewhere", Place::key),
                        trial.sent,
                        self.witness,
                        trial.unexplained,
                    );
                    assert_eq!((booked, trial.unexplained), (number, 0), "{}: {}", self.witness, what());
                    return;
                }
                Err(wrong) => {
                    let Seen { signs, .. } = &seen;
                    println!("{} {}: {wrong}; disturbed by: {signs:?}", self.fault, self.intensity);
                    assert!(!signs.is_empty(), "{wrong}, and nothing disturbed it: {}", what());
                    if repeats.left == 0 {
                        return busy(format_args!(
                            "{} {}: {wrong}, after {} trials",
                            self.fault, self.intensity, repeats.trials
                        ));
                    }
                    repeats.left -= 1;
                }
            }
        }
    }

    /// How many frames may be unexplained: none, but where counters cannot tell a frame from its copy and both were lost, and
    /// where the entry of XDP says that the tracer did not see every frame end. It names no more than there were.
    fn explained(&self, trial: &TrialResult) -> RangeInclusive<i64> {
        let of_receiver = |name: &str| trial.counters[&format!("receive.{name}")] as i64;
        match self.injected {
            Fault::Duplicate(every) => -(every.of(trial.sent) as i64)..=0,
            Fault::DropInXdp(_, XdpMode::Generic) if is_in_doubt(entry(trial, Place::Xdp)) => {
                let is_end =
                    |name: &str| name.starts_with("trace.receive.drop.") || name == "trace.receive.consumed";
                let ends = trial.counters.iter().filter(|(name, _)| is_end(name));
                let refused = traced(trial, "CPU_BACKLOG") as i64;
                let seen = ends.map(|(_, count)| *count as i64).sum::<i64>() - refused;
                0..=of_receiver("rx_packets") - seen
            }
            _ => 0..=0,
        }
    }

    /// How many frames the fault harmed, where nothing else lost any.
    fn judge(&self, seen: &Seen) -> Result<u64, String> {
        let losses = seen.trial.losses().into_iter();
        let elsewhere: Vec<_> = losses.filter(|(place, _)| Some(*place) != self.place).collect();
        if !elsewhere.is_empty() {
            return Err(format!("frames were lost elsewhere, {elsewhere:?}"));
        }
        for place in [Place::Stack, Place::Xdp] {
            let known = entry(&seen.trial, place);
            if is_in_doubt(known) {
                let unseen = doubts(known).map(|doubts| doubts.unseen);
                assert!(unseen > Some(0), "the tracer is there: {known:?}");
                return Err(format!("the tracer did not see everything, {known:?}"));
            }
        }
        match (self.number)(self, seen)? {
            0 => Err("the fault harmed nothing".into()),
            number => Ok(number),
        }
    }

    /// What the ledger has at its place.
    fn booked(&self, trial: &TrialResult) -> u64 {
        match self.place {
            Some(place) => entry(trial, place).count.unwrap(),
            None => self.beside(trial),
        }
    }

    /// What is counted beside the ledger for a fault that loses nothing.
    fn beside(&self, trial: &TrialResult) -> u64 {
        assert_eq!(trial.delivered, trial.sent, "{trial:#?}");
        match self.injected {
            Fault::Duplicate(_) => trial.duplicates,
            _ => traced(trial, "TC_INGRESS"),
        }
    }
}

/// Frames whose numbers never came, of whatever kind of loss.
fn missing_numbers(trial: &TrialResult) -> u64 {
    trial.loss_pattern.as_ref().unwrap().lost
}

/// What the tracer counted on the receiving interface of drops of this name.
fn traced(trial: &TrialResult, drop: &str) -> u64 {
    trial.counters.get(&format!("trace.receive.drop.{drop}")).copied().unwrap_or(0)
}

fn pps(rate: f64) -> Load {
    Load::Rate(Pps::new(rate).unwrap())
}

/// Runs the cases on one bed with a tracer, where the test can run.
fn check_all(cases: impl IntoIterator<Item = Case>) {
    let cases: Vec<_> = cases.into_iter().collect();
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link()).with_tracer().tracing_always();
    println!(
        "| fault | intensity | method | place | sent | injected | witness | booked | elsewhere | unexplained |"
    );
    let mut repeats = Repeats { left: REPEATS * cases.len(), trials: 0 };
    for case in &cases {
        case.check(&mut laboratory, &mut repeats);
    }
    println!("{} of {} trials repeated", repeats.trials - cases.len(), repeats.trials);
}

/// A fault that picks frames by their numbers, at each intensity.
fn picked_at_all(
    fault: &'static str,
    injected: fn(Every) -> Fault,
    place: impl Into<Option<Place>> + Copy,
) -> [Case; 3] {
    Every::ALL.map(|every| Case::picked(fault, every, injected(every), place))
}

/// Drops of tc are lost on the way out, and lost to no packet socket behind it on the way in. Frames that come twice are counted beside
/// the ledger.
#[test]
fn root_frames_that_tc_drops_corrupts_or_duplicates_are_booked_where_it_did() {
    let mut cases = Vec::new();
    cases.extend(picked_at_all("tc drop, egress", Fault::DropAtEgress, Place::Transmit));
    cases.extend(picked_at_all("tc drop, ingress", Fault::DropAtIngress, None));
    cases.extend(picked_at_all("corrupted frames", Fault::Corrupt, Place::Corrupt));
    cases.extend(picked_at_all("duplicated frames", Fault::Duplicate, None));
    check_all(cases);
}

#[test]
fn root_what_a_program_drops_is_booked_to_xdp_or_to_the_filter() {
    let mut cases = Vec::new();
    for (name, mode) in [("XDP drop, generic", XdpMode::Generic), ("XDP drop, native", XdpMode::Driver)] {
        for every in Every::ALL {
            cases.push(Case::picked(name, every, Fault::DropInXdp(every, mode), Place::Xdp));
        }
    }
    for method in ["packet-v2", "recv", "libpcap"] {
        for mut case in picked_at_all("socket filter", Fault::SocketFilter, Place::Filter) {
            case.setup.method = method.parse().unwrap();
            cases.push(case);
        }
    }
    check_all(cases);
}

/// The tracer's count of the kernel's reason, where the ledger takes softnet counter and link statistics.
fn full_backlog() -> [Case; 3] {
    [10_000, 20_000, 50_000].map(|take_ns| Case {
        injected: Fault::SlowSoftirq(take_ns),
        load: pps(200_000.0),
        number: |_, seen| Ok(traced(&seen.trial, "CPU_BACKLOG")),
        witness: "CPU_BACKLOG by the tracer",
        ..Case::new("backlog limit", format!("{} us a frame", take_ns / 1000), Place::Backlog)
    })
}

/// NAPI thread and a busy application share a CPU; the ring holds everything. The ledger takes the sender's `tx_dropped`.
fn full_link_queue() -> [Case; 3] {
    let loads = [("150,000/s", pps(150_000.0)), ("300,000/s", pps(300_000.0)), ("maximum", Load::Maximum)];
    loads.map(|(words, load)| {
        let mut case = Case::new("full veth queue", words, Place::LinkQueue);
        case.setup.method = "packet-v2+napi-thread".parse().unwrap();
        case.setup.work = WorkModel::Nanoseconds(20_000).into();
        case.setup.capture.ring = ByteCount(128 << 20);
        let number = |_: &Case, seen: &Seen| Ok(traced(&seen.trial, "no reason, in veth_xmit"));
        Case { load, number, witness: "drops in veth_xmit by the tracer", ..case }
    })
}

#[test]
fn root_alone_what_a_full_backlog_or_link_queue_refuses_is_booked_to_it() {
    check_all(full_backlog().into_iter().chain(full_link_queue()));
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

/// What was sent less `room`, if the sender was done before the reader made more of it. As many numbers are missing, unless
/// the kernel's receive work was late.
fn all_but(room: u64, trial: &TrialResult) -> Result<u64, String> {
    let expected = trial.sent.saturating_sub(room);
    let missing = missing_numbers(trial);
    if trial.sending_s >= HELD.as_secs_f64() / 2.0 {
        return Err(format!("it was sent for {} s", trial.sending_s));
    }
    if missing != expected {
        return Err(format!("{missing} numbers are missing of {} with room for {room}", trial.sent));
    }
    Ok(expected)
}

fn tiny_ring() -> [Case; 3] {
    [4, 8, 16].map(|slots| {
        let mut case = held("tiny ring", Place::Ring, slots, "sent less the ring's slots");
        case.setup.capture.ring = ByteCount(u64::from(slots) * 2048);
        case.setup.capture.block = ByteCount(4096);
        case.setup.capture.frame = Some(ByteCount(2048));
        let number = |case: &Case, seen: &Seen| all_but(case.setup.capture.ring.0 / 2048, &seen.trial);
        Case { number, ..case }
    })
}

/// Receive rings as long as the fill ring, from which the reader takes one frame at a time: of all its buffers one has no
/// room in the fill ring, and before the reader is held it puts that there, for those that the kernel has used. It wakes up
/// before the next frame comes: a full receive ring would refuse that.
fn starved_fill_ring() -> [Case; 3] {
    [1, 2, 4].map(|fill| {
        let witness = "sent less all buffers";
        let mut case = held("starved fill ring", Place::FillRing, fill + 1, witness);
        case.setup.method = format!("af-xdp+generic+fill={fill}").parse().unwrap();
        case.setup.capture.ring = ByteCount(u64::from(fill) * 2048);
        let number = |case: &Case, seen: &Seen| all_but(case.setup.capture.ring.0 / 2048 + 1, &seen.trial);
        Case { load: pps(20_000.0), duration: Duration::from_millis(5), number, ..case }
    })
}

/// The ledger takes what the socket tells its owner.
fn slow_reader() -> [Case; 5] {
    let readers = [("packet-v3", 8), ("packet-v3", 16), ("packet-v3", 32), ("packet-v1", 16), ("recv", 16)];
    readers.map(|(method, kib)| {
        let mut case = held("slow reader", Place::Ring, 0, "its socket, read from outside by BPF");
        case.intensity = format!("{kib} KiB");
        case.setup.method = method.parse().unwrap();
        // Its number is read from outside, so it need not be held until the sender is done: slow will do.
        case.setup.work = WorkModel::Nanoseconds(1_000_000).into();
        case.setup.quiet = Duration::from_millis(250);
        case.setup.capture.ring = ByteCount(kib << 10);
        case.setup.capture.block = ByteCount(4 << 10);
        case.setup.capture.retire_timeout = Duration::from_millis(100);
        let number = |_: &Case, seen: &Seen| {
            seen.lost_by_sockets.ok_or_else(|| "the sockets were not read in time".to_string())
        };
        Case { number, is_watched: true, ..case }
    })
}

/// The second thread is held over its first frame until the first has handed over what it can: that is the queue's length,
/// the frame that is worked on among them. The ledger takes what the first thread counted.
fn slow_application() -> [Case; 3] {
    [4, 8, 32].map(|length| {
        let witness = "sent less the queue's length";
        let mut case = held("slow application queue", Place::ApplicationQueue, length, witness);
        case.setup.method = "packet-v3".parse().unwrap();
        case.setup.work = format!("ns:{}+queue={length}", HELD.as_nanos()).parse().unwrap();
        let number = |case: &Case, seen: &Seen| {
            let queue = case.setup.work.queue.unwrap();
            all_but(queue.frames().into(), &seen.trial)
        };
        Case { number, ..case }
    })
}

#[test]
fn root_a_held_reader_loses_what_has_no_room_in_its_ring_fill_ring_or_queue() {
    let mut cases = Vec::new();
    cases.extend(tiny_ring());
    cases.extend(starved_fill_ring());
    cases.extend(slow_reader());
    cases.extend(slow_application());
    check_all(cases);
}
