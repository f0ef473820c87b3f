//! Random small trials: whatever the method, the load, the sizes and the faults, every frame is accounted for.
//!
//! `CAPBENCH_TRIALS` is their number and `CAPBENCH_TRIALS_SEED` the seed, which is printed. Each trial is drawn from the
//! seed and its own number only: `CAPBENCH_TRIALS_ONLY=N` runs the N-th again. With `CAPBENCH_TRIALS_MEMBERS=1` each is one of
//! several members.

use std::fmt;
use std::num::NonZeroU16;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::faults::{Every, Fault, balance, entry, is_in_doubt};
use capbench_capture::{CaptureError, METHODS};
use capbench_frames::layout::{Flows, FrameLayout, Network, Transport, VlanTag};
use capbench_frames::{Mtu, Pps};
use capbench_lab::LabError;
use capbench_lab::for_tests::live;
use capbench_lab::live::{LiveLaboratory, Path};
use capbench_lab::programs::Programs;
use capbench_lab::subject::ReceiveBy;
use capbench_lab::subject::all_methods;
use capbench_model::TrialError;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::Recording;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult};
use capbench_model::units::{ByteCount, SnapLength};
use capbench_model::work::WorkPlan;
use capbench_sys::bpf::XdpMode;
use capbench_testing::network::privileges;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// How the error of a program that refuses its arguments begins to tell of its end.
const BEFORE_RECEIVING: &str = "it ended before it could receive";

/// Trials where nobody asks for more.
const FEW: u64 = 5;

/// A source of choices.
struct Draw(SplitMix64);

impl Draw {
    /// The source of the trial of this number.
    fn new(seed: u64, number: u64) -> Self {
        let mut mixed = SplitMix64::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed.next_u64();
        Self(mixed)
    }

    /// A number from 0 to `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        self.0.next_u64() % (most + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.up_to(99) < percent
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.up_to(choices.len() as u64 - 1) as usize].clone()
    }

    /// A number between two, such that each order of magnitude is as likely as any other.
    fn scaled(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.up_to(1_000_000) as f64 / 1e6)
    }
}

/// A trial that was drawn.
struct Drawn {
    setup: Setup,
    receive_by: ReceiveBy,
    queues: u16,
    is_traced: bool,
    fault: Fault,
    load: Load,
    duration: Duration,
}

/// Methods and programs that run here, polled paths among them.
fn methods() -> Vec<String> {
    let programs = Programs::default();
    let here = |name: &String| {
        if let Some(program) = name.strip_prefix("cmd:") {
            let known = programs.rows().iter().find(|known| known.name == program);
            return known.is_some_and(|known| known.supported().is_ok());
        }
        let Ok(spec) = name.split("+napi").next().unwrap_or(name).parse::<MethodSpec>() else { return false };
        METHODS.iter().any(|method| method.name == spec.name() && (method.supported)(&spec).is_ok())
    };
    let more = ["packet-v3+spin=200us", "recv+busy-poll", "recv+napi-thread", "recvmmsg+napi-defer"];
    let more = more.into_iter().chain(["packet-v1+napi-thread", "af-xdp+fill=64", "libpcap+napi-thread"]);
    all_methods(&programs).into_iter().chain(more.map(String::from)).filter(here).collect()
}

impl Drawn {
    /// `members` is the share of trials with several members, in percent.
    fn new(draw: &mut Draw, methods: &[String], members: u64) -> Self {
        let mut method: MethodSpec = draw.of(methods).parse().unwrap();
        let sharing = METHODS.iter().find(|known| known.name == method.name()).and_then(|known| known.fanout);
        let mut queues = 1;
        if let Some(sharing) = sharing.filter(|_| draw.chance(members)) {
            let fanout = draw.of(sharing.modes);
            queues = draw.of(&[4, 4, 1, 5]);
            // Members of af-xdp have a queue each.
            let most = if sharing.modes.len() == 1 { u64::from(queues) } else { 5 };
            let count = 1 + draw.up_to(most - 1);
            method = format!("{method}+members={count}+fanout={fanout}").parse().unwrap();
        }
        let in_xdp = ["af-xdp", "xdp-count"].contains(&method.name());
        let filters = METHODS.iter().any(|known| known.name == method.name() && known.socket_filter);
        let transmit = draw.of(&["packet-tx", "sendmmsg", "sendto", "af-xdp-tx", "xdp-live"]).to_string();
        let through_stack = ["packet-tx", "sendmmsg", "sendto"].contains(&transmit.as_str());
        let every = draw.of(&Every::ALL);
        let mut faults = vec![Fault::DropAtIngress(every)];
        if through_stack {
            faults.extend([Fault::DropAtEgress(every), Fault::Corrupt(every), Fault::Duplicate(every)]);
        }
        if !in_xdp {
            let slow = Fault::SlowSoftirq(draw.up_to(20_000) as u32);
            faults.extend([
                Fault::DropInXdp(every, XdpMode::Generic),
                Fault::DropInXdp(every, XdpMode::Driver),
                slow,
            ]);
        }
        if filters {
            faults.push(Fault::SocketFilter(every));
        }
        let fault = if draw.chance(50) { draw.of(&faults) } else { Fault::None };
        let layout = match fault {
            // Faults find the number of a frame there.
            Fault::None | Fault::SlowSoftirq(_) => FrameLayout {
                vlan: draw.chance(20).then_some(VlanTag { tci: 0x2065 }),
                network: draw.of(&[Network::V4, Network::V6]),
                transport: draw.of(&[Transport::Udp, Transport::Tcp]),
                flows: Flows::new(draw.of(&[1, 7, 300])).unwrap(),
                ..FrameLayout::default()
            },
            _ => FrameLayout::default(),
        };
        // The least that holds any of the headers, and where they are short, the least of all.
        let least = if layout == FrameLayout::default() { "64" } else { "86" };
        let sizes = draw.of(&[least, "128", "512", "1518", "imix", "random:96-1500"]);
        let cut = draw.chance(25).then(|| 86 + draw.up_to(200) as u32);
        let block = 1 << (12 + draw.up_to(8));
        let capture = CaptureOptions {
            ring: ByteCount((draw.scaled(16e3, 32e6) as u64).next_multiple_of(block)),
            block: ByteCount(block),
            retire_timeout: Duration::from_millis(1 + draw.up_to(19)),
            snap_length: cut.map_or(SnapLength::EVERYTHING, SnapLength::new),
            ..CaptureOptions::default()
        };
        let ns = draw.scaled(100.0, 20_000.0) as u64;
        let mut work = draw.of(&["none", "none", "touch", "parse", "copy", &format!("ns:{ns}")]).to_string();
        if draw.chance(30) {
            work = format!("{work}+queue={}", draw.scaled(1.0, 10_000.0) as u64);
        }
        let load = match draw.chance(15) {
            true => Load::Maximum,
            false => Load::Rate(Pps::new(draw.scaled(5e3, 4e5)).unwrap()),
        };
        let mut setup = Setup {
            method,
            sizes: sizes.parse().unwrap(),
            layout,
            placement: draw.of(&[PlacementChoice::Same, PlacementChoice::Other]),
            work: work.parse::<WorkPlan>().unwrap(),
            capture,
            transmit: transmit.parse().unwrap(),
            quiet: Duration::from_millis(250),
            ..setup(64)
        };
        fault.shape(&mut setup);
        if through_stack && draw.chance(20) {
            setup.transmit.through_qdisc = true;
        }
        let receive_by = draw.of(&[ReceiveBy::Rps, ReceiveBy::Rps, ReceiveBy::NapiThread]);
        let duration = Duration::from_millis(30 + draw.up_to(50));
        setup.latency = draw.chance(25).then(Recording::default);
        Self { setup, receive_by, queues, is_traced: draw.chance(50), fault, load, duration }
    }

    fn run(&self, laboratories: &mut Laboratories) -> Ended {
        let laboratory = laboratories.find(self.receive_by, self.queues, self.is_traced);
        // Refused set-ups are refused before anything stands in the way of frames.
        if let Err(error) = laboratory.prepare(&self.setup).map(drop) {
            let is_refusal = matches!(error, TrialError::Unsupported { .. })
                || matches!(LabError::inside(&error), Some(LabError::Capture(_)));
            return if is_refusal { Ended::Refused(error) } else { Ended::Failed(error) };
        }
        let mut run = || {
            let bed = laboratory.bed_of(&self.setup).map_err(TrialError::from)?;
            let _injected = self.fault.inject(&bed);
            laboratory.prepare(&self.setup)?.run(self.load, self.duration)
        };
        match run() {
            Ok(trial) => Ended::Run(Box::new(trial)),
            Err(error) => match LabError::inside(&error) {
                // Not every ring is one of every method, which says so when it is opened; no method says such a thing later.
                Some(LabError::Capture(CaptureError::Option { .. } | CaptureError::Unsupported { .. })) => {
                    Ended::Refused(error)
                }
                // Nor is it one of every program.
                Some(LabError::Program { .. }) if error.to_string().contains(BEFORE_RECEIVING) => {
                    Ended::Refused(error)
                }
                _ => Ended::Failed(error),
            },
        }
    }

    /// What is wrong with what is booked for the fault, where it picked frames by their numbers: those that were not lost
    /// before they came by are at its place, and no others.
    fn misbooked(&self, trial: &TrialResult) -> Option<String> {
        let at = |place| entry(trial, place).count;
        // In the ledger's order, that of the path.
        let before = |place| {
            let earlier = trial.ledger.iter().take_while(|entry| entry.place != place);
            earlier.filter(|entry| entry.place != Place::Unsent).filter_map(|entry| entry.count).sum::<u64>()
        };
        let (every, booked, lost, what) = match self.fault {
            Fault::DropAtEgress(every) => (every, at(Place::Transmit), 0, "transmit"),
            Fault::DropInXdp(every, _) => (every, at(Place::Xdp), before(Place::Xdp), "XDP"),
            Fault::SocketFilter(every) => (every, at(Place::Filter), before(Place::Filter), "filter"),
            // Who counts frames without looking at them cannot tell.
            Fault::Corrupt(_) | Fault::Duplicate(_) if trial.unverified_because.is_some() => return None,
            // Generic XDP leaves copies that a program redirected to the stack (skb_is_redirected in
            // netif_receive_generic_xdp, net/core/dev.c).
            Fault::Duplicate(_) if trial.engine().contains("generic mode") => return None,
            Fault::Corrupt(every) => (every, at(Place::Corrupt), before(Place::Corrupt), "corrupt"),
            Fault::Duplicate(every) => (every, Some(trial.duplicates), before(Place::Corrupt), "duplicates"),
            Fault::None | Fault::DropAtIngress(_) | Fault::SlowSoftirq(_) => return None,
        };
        let picked = every.of(trial.sent);
        // Where no counter tells, or not of all, the others are unexplained.
        let is_all = !matches!(self.fault, Fault::DropInXdp(..)) || !is_in_doubt(entry(trial, Place::Xdp));
        let booked = match booked {
            Some(booked) if is_all => booked,
            booked => booked.unwrap_or(0) + trial.unexplained.max(0) as u64,
        };
        (!(picked.saturating_sub(lost)..=picked).contains(&booked))
            .then(|| format!("{booked} booked as {what}: {picked} picked, {lost} lost before"))
    }

    /// What is wrong with the books of a trial.
    fn judge(&self, trial: &TrialResult) -> Option<String> {
        let (intended, left) = balance(trial);
        if (intended, left) != (trial.intended, trial.unexplained.into()) {
            return Some(format!("the stored result does not balance: {intended} intended, {left} left"));
        }
        let picked = |every: Every| every.of(trial.sent) as i64;
        let explained = match self.fault {
            // The kernel's counters cannot tell a copy from the frame: what both were lost as is one loss too many.
            Fault::Duplicate(every) => -picked(every)..=0,
            // Without the tracer nobody tells what a program in the stack dropped, and where that did not see every frame end, it
            // tells too little; the ledger says so.
            Fault::DropInXdp(every, _) if is_in_doubt(entry(trial, Place::Xdp)) => 0..=picked(every),
            _ => 0..=0,
        };
        if !explained.contains(&trial.unexplained) {
            return Some(format!("{} unexplained", trial.unexplained));
        }
        let strange = (
            trial.foreign,
            trial.duplicates * u64::from(!matches!(self.fault, Fault::Duplicate(_))),
            trial.corrupt * u64::from(!matches!(self.fault, Fault::Corrupt(_))),
            trial.truncated,
        );
        if strange != (0, 0, 0, 0) {
            return Some(format!("foreign, duplicate, corrupt, truncated: {strange:?}"));
        }
        self.misbooked(trial).or_else(|| mistimed(trial))
    }
}

/// What is wrong with the latency of a trial: it is of each frame once, by whichever member that read it first.
fn mistimed(trial: &TrialResult) -> Option<String> {
    let latency = trial.latency.as_ref()?;
    let noted = match &trial.members[..] {
        [] => trial.delivered,
        members => members.iter().map(|member| member.delivered).sum(),
    };
    let recorded = latency.total.as_ref().map_or(0, |total| total.frames);
    let is_partial = latency.absent_because.is_some();
    (recorded != noted && !(is_partial && recorded < noted))
        .then(|| format!("the latency of {recorded} of {noted} frames: {:?}", latency.absent_because))
}

/// How a trial that was drawn ended.
enum Ended {
    Run(Box<TrialResult>),
    /// There is no such set-up here.
    Refused(TrialError),
    /// It could not be run to its end.
    Failed(TrialError),
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { method, sizes, layout, placement, work, capture, transmit, .. } = &self.setup;
        write!(
            f,
            "{method} by {:?} of {} queues on {placement}, {transmit} {:?} for {:?} of {sizes} {layout}, work {work}, ring {} of {}, \
             retired after {:?}, snap length {}, fault {:?}{}{}",
            self.receive_by,
            self.queues,
            self.load,
            self.duration,
            capture.ring,
            capture.block,
            capture.retire_timeout,
            capture.snap_length.octets(),
            self.fault,
            if self.is_traced { ", traced" } else { "" },
            if self.setup.latency.is_some() { ", with latency" } else { "" }
        )
    }
}

/// A laboratory for each way to receive and number of queues, with a tracer and without.
struct Laboratories(Vec<((ReceiveBy, u16, bool), LiveLaboratory)>);

impl Laboratories {
    fn find(&mut self, receive_by: ReceiveBy, queues: u16, is_traced: bool) -> &mut LiveLaboratory {
        let wanted = (receive_by, queues, is_traced);
        let at = self.0.iter().position(|(kind, _)| *kind == wanted).unwrap_or_else(|| {
            let laboratory =
                live(Path::Virtual { mtu: Mtu(1500), receive_by, queues: NonZeroU16::new(queues).unwrap() });
            let laboratory = if is_traced { laboratory.with_tracer() } else { laboratory };
            self.0.push((wanted, laboratory));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[test]
fn root_alone_whatever_is_drawn_every_frame_is_accounted_for() {
    let Some(()) = privileges() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number_of("CAPBENCH_TRIALS_SEED").unwrap_or(now);
    let count = number_of("CAPBENCH_TRIALS").unwrap_or(FEW);
    let only = number_of("CAPBENCH_TRIALS_ONLY");
    let (begun, mut methods) = (Instant::now(), methods());
    let members = if number_of("CAPBENCH_TRIALS_MEMBERS") == Some(1) { 100 } else { 25 };
    if members == 100 {
        methods.retain(|method| {
            let spec: MethodSpec = method.parse().unwrap();
            METHODS.iter().any(|known| known.name == spec.name() && known.fanout.is_some())
        });
    }
    let mut laboratories = Laboratories(Vec::new());
    let (mut run, mut lossy, mut refused, mut wrong) = (0, 0, Vec::new(), Vec::new());
    println!("seed {seed}, {count} trials, methods {}", methods.join(" "));
    let mut number = only.unwrap_or(0);
    while run < count {
        let drawn = Drawn::new(&mut Draw::new(seed, number), &methods, members);
        match drawn.run(&mut laboratories) {
            Ended::Run(trial) => {
                run += 1;
                lossy += u64::from(trial.delivered < trial.sent);
                let fault = drawn.judge(&trial);
                if only.is_some() || fault.is_some() {
                    println!("trial {number}: {drawn}: {}", fault.as_deref().unwrap_or("balances"));
                    println!("{trial:#?}");
                }
                wrong.extend(fault.map(|fault| format!("trial {number}: {fault}: {drawn}")));
            }
            Ended::Refused(error) => refused.push(format!("trial {number}: {error}: {drawn}")),
            Ended::Failed(error) => {
                run += 1;
                wrong.push(format!("trial {number}: {error}: {drawn}"));
            }
        }
        assert!(refused.len() as u64 <= 2 + count / 10, "{refused:#?}");
        number += 1;
        if only.is_some() {
            break;
        }
    }
    println!(
        "seed {seed}: {run} trials in {:.0?}, {lossy} of them with loss, {} set-ups refused, {} wrong",
        begun.elapsed(),
        refused.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
}
