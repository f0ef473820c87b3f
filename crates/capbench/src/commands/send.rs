//! `capbench send`: sends generated frames, flows of a packet file, or frames of a capture file, and accounts for every frame.

pub mod document;
mod packet;
mod replay;

use capbench_frames::TransmitSpec;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_frames::{
    AskedRate, FlowSet, FlowSummary, FramePlan, FrameSource, Mtu, Pps, Schedule, SentFrames, Sizes,
    StatedRate, StreamId, TrialId, Turn,
};
use capbench_host::bed::{PortLock, Side};
use capbench_lab::live::line_rate;
use capbench_model::figures::grouped;
use capbench_sys::host::{CpuId, LinkLayer, affinity};
use capbench_traffic::transmit::Refusal;
use capbench_traffic::{Limits, SendJob, SendReport, TrafficError, TransmitConfig};
use clap::Args;

use self::document::{Document, ThreadDocument, as_text, fcs_octets};
use self::packet::PacketFlags;
use self::replay::{Loaded, ReplayFlags};
use crate::exit::{self, Exit, Usage};
use crate::flag_values::positive_duration;
use crate::flags::{LayoutFlags, threads, transmit, transmit_by};
use crate::output::{print, print_json};
use crate::signals::Stop;
use crate::status::BitRates;

#[derive(Args, Clone, Debug)]
pub struct SendFlags {
    /// Interface to send on; the link must be isolated (RFC 6815)
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Constant rate: frames per second (100000, 250k, 1.5Mpps), bits per second of frames with FCS (500Mbit/s, 1Gbps) or
    /// with preamble and gap (1GbpsL1), a share of the line (10%), or max: as fast as it goes [default: max, or the times of
    /// --replay]
    #[arg(long, value_name = "RATE", conflicts_with = "wait_loop")]
    rate: Option<AskedRate>,
    /// Send bursts of this many frames back to back; --rate is then the mean
    #[arg(long, value_name = "FRAMES", requires = "rate", conflicts_with = "poisson")]
    burst: Option<NonZeroU32>,
    /// Exponentially distributed gaps from this seed; --rate is then the mean
    #[arg(long, value_name = "SEED", requires = "rate")]
    poisson: Option<u64>,
    /// Dain's schedule: a loop of N iterations between frames
    #[arg(long, value_name = "N")]
    wait_loop: Option<u32>,
    /// Stop after this many frames
    #[arg(short = 'c', long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = positive_duration, required_unless_present_any = ["count", "file", "packet"])]
    duration: Option<Duration>,
    /// Frame sizes with FCS: octets, a list 64,570,1518, random:64-1518, 64-1518/100, or a mix such as imix
    #[arg(long, value_name = "SIZES", default_value = "64", conflicts_with = "dain_2004")]
    size: Sizes,
    /// The packets of Dain's measurement of 2004: TCP with 4 octets of payload, 58 octets without FCS
    #[arg(long, conflicts_with_all = ["flows", "vlan", "ipv6", "tcp", "dst_mac"])]
    dain_2004: bool,
    /// Send from this many threads, each on a CPU of its own; they take the frames of one schedule in turn
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroU16>,
    /// CPUs to send from, one for each thread: 2,3 or 4-7 [default: several threads take those that capbench may use]
    #[arg(long, value_name = "LIST")]
    cpu: Option<String>,
    /// Number that the stamps of the frames carry
    #[arg(long, value_name = "ID", default_value_t = 1)]
    trial: u16,
    /// Nothing but this test is on the interface's link, though it has addresses or a default route
    #[arg(long)]
    isolated: bool,
    /// Print the plan and stop
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Transmit method: sendto, sendmmsg, packet-tx, af-xdp-tx, xdp-live or dpdk-tx; with +qdisc behind it, one of the first
    /// three goes through the queueing discipline [default: packet-tx; on a link without Ethernet sendmmsg]
    #[arg(long, value_name = "METHOD", value_parser = transmit)]
    transmit: Option<TransmitSpec>,
    #[command(flatten)]
    layout: LayoutFlags,
    #[command(flatten)]
    packet: PacketFlags,
    #[command(flatten)]
    replay: ReplayFlags,
}

/// What is sent.
enum Frames {
    Generated(FramePlan),
    Recorded(Loaded),
    Flows(FlowSet),
}

impl Frames {
    fn of(flags: &SendFlags, side: &Side, layer: LinkLayer) -> Result<Self> {
        let mtu = Mtu(side.mtu());
        if let Some(set) = flags.packet.load(flags, mtu, line_rate::bits_per_second(side)?)? {
            return Ok(Self::Flows(set));
        }
        let own_times = flags.rate.is_none() && flags.wait_loop.is_none();
        let loaded = flags.replay.load(layer, mtu, flags.layout.dst_mac, flags.count, own_times)?;
        loaded.map_or_else(|| Ok(Self::Generated(plan(flags, mtu)?)), |loaded| Ok(Self::Recorded(loaded)))
    }

    fn source(&self) -> FrameSource<'_> {
        match self {
            Self::Generated(plan) => FrameSource::Generated(plan),
            Self::Recorded(loaded) => FrameSource::Recorded(&loaded.replay.frames),
            Self::Flows(set) => FrameSource::Flows(set),
        }
    }

    /// The number of frames of all senders; flows have their own.
    fn count(&self, flags: &SendFlags) -> Option<u64> {
        match self {
            Self::Generated(_) => flags.count,
            Self::Recorded(loaded) => Some(loaded.frames),
            Self::Flows(_) => None,
        }
    }

    /// The times of all frames; flows have their own.
    fn schedule(&self, flags: &SendFlags, side: &Side) -> Result<Schedule> {
        match self {
            Self::Flows(_) => Ok(Schedule::Maximum),
            Self::Recorded(Loaded { schedule: Some(times), .. }) => Ok(times.clone()),
            _ => Ok(schedule(flags, rate_of_frames(flags, self.source(), side)?)),
        }
    }

    fn recorded(&self) -> Option<&Loaded> {
        if let Self::Recorded(loaded) = self { Some(loaded) } else { None }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Generated(plan) => format!("{}, {}", plan.layout(), sizes_in_words(plan.asked())),
            Self::Recorded(loaded) => loaded.in_words(),
            Self::Flows(set) => packet::in_words(set),
        }
    }

    fn flows(&self) -> Vec<FlowSummary> {
        if let Self::Flows(set) = self { set.summaries() } else { Vec::new() }
    }
}

/// Unsent frames worth up to this much time come from rounding of the clock.
const TOLERATED: Duration = Duration::from_micros(10);

/// Time for several threads to reach their loops before the first frame.
const HEAD_START: Duration = Duration::from_millis(2);

/// How often a line is printed.
const SECOND: Duration = Duration::from_secs(1);

pub fn run(flags: &SendFlags) -> Result<Exit> {
    let side = &match flags.replay.is_given() {
        true => Side::for_recorded_packets(&flags.interface, flags.isolated)?,
        false => Side::for_trials(&flags.interface, flags.isolated)?,
    };
    let layer = side.layer()?;
    let frames = Frames::of(flags, side, layer)?;
    let (recorded, count) = (frames.recorded(), frames.count(flags));
    let schedule = frames.schedule(flags, side)?;
    for note in recorded.map(Loaded::notes).unwrap_or_default() {
        tell!("capbench: {note}");
    }
    if flags.dry_run {
        let words = match &frames {
            Frames::Flows(_) => frames.in_words(),
            _ => format!("{}, {}\n", frames.in_words(), describe(&schedule, count, flags.duration)),
        };
        print(&words)?;
        return Ok(Exit::Done);
    }
    // Mistakes on the command line are found before.
    let _lock = PortLock::take(side)?;
    let stop = Stop::install()?;
    let threads = sent(flags, side, layer, frames.source(), count, &schedule, &stop)?;
    let each: Vec<_> = threads.iter().map(ThreadDocument::new).collect();
    let reports = threads.into_iter().map(|thread| thread.report);
    let report = reports.reduce(SendReport::plus).expect("one thread or more sends");
    let flows = frames.flows();
    match flags.json {
        true => print_json(&Document::new(&report, layer, each, flows, recorded))?,
        false => print(&as_text(&report, layer, &each, &flows))?,
    }
    if let Some(failure) = report.failure {
        // Print the account of the sent frames first.
        let is_refused = matches!(failure, TrafficError::Refused { .. });
        let because = if is_refused { refused_because(side, frames.source()) } else { None };
        let error = anyhow::Error::from(failure);
        return Err(match because {
            Some(because) => error.context(because),
            None => error,
        });
    }
    let SentFrames { accepted, refused_lost, refused_repeated, .. } = report.frames;
    if accepted == 0
        && refused_lost + refused_repeated > 0
        && let Some(because) = refused_because(side, frames.source())
    {
        tell!("capbench: {because}");
    }
    let rate = if let Frames::Flows(set) = &frames { set.rate() } else { schedule.rate().map(Pps::get) };
    let tolerated = rate.map_or(0, |rate| (rate * TOLERATED.as_secs_f64()).ceil() as u64);
    Ok(exit::of_sending(stop.signal(), &report.frames, tolerated))
}

/// Why the other end takes none of these frames, if it shows that: a veth drops what is longer than the MTU of its peer.
fn refused_because(side: &Side, frames: FrameSource<'_>) -> Option<String> {
    /// Octets of a frame besides its payload that a veth passes: the Ethernet header and a VLAN tag (`is_skb_forwardable` of
    /// include/linux/netdevice.h).
    const HEADERS: u32 = 18;
    let (link, longest) = (side.link().ok()?, frames.largest().captured() as u32);
    let peer = side.links().tied(link.tied_to?).ok().filter(|peer| longest > peer.mtu + HEADERS)?;
    Some(format!(
        "frames of {longest} octets are longer than the MTU {} of {}, the other end of {}; give both the same MTU, or send \
         --size {} and smaller",
        peer.mtu,
        peer.name,
        side.name(),
        peer.mtu + HEADERS
    ))
}

/// What a thread sent.
struct Thread {
    stream: StreamId,
    cpu: Option<CpuId>,
    report: SendReport,
}

/// The CPU of each thread; `None`: wherever the kernel lets the only one run.
fn cpus(flags: &SendFlags, threads: NonZeroU16) -> Result<Vec<Option<CpuId>>> {
    let count = usize::from(threads.get());
    let list = match &flags.cpu {
        Some(text) => crate::flags::cpus(text)?,
        None if count == 1 => return Ok(vec![None]),
        None => affinity::allowed_cpus()?,
    };
    let is_enough = if flags.cpu.is_some() { list.len() == count } else { list.len() >= count };
    if !is_enough {
        return Err(Usage(format!(
            "--threads {count}: each spins on a CPU of its own, and there are {}; name as many with --cpu, or ask for \
             another number",
            list.len()
        ))
        .into());
    }
    Ok(list.into_iter().take(count).map(Some).collect())
}

/// Sends, and prints a line per second where the result is no document.
fn sent(
    flags: &SendFlags,
    side: &Side,
    layer: LinkLayer,
    frames: FrameSource<'_>,
    count: Option<u64>,
    schedule: &Schedule,
    stop: &Stop,
) -> Result<Vec<Thread>> {
    let usual = TransmitSpec::plain(match layer {
        LinkLayer::Ethernet => "packet-tx",
        LinkLayer::Ip => "sendmmsg",
    });
    let method = transmit_by(flags.transmit.as_ref().unwrap_or(&usual), flags.threads)?;
    let (stop, cpus) = (stop.flag(), cpus(flags, method.threads)?);
    let config =
        TransmitConfig { layer, ..TransmitConfig::for_frames(side.index(), frames, Refusal::Repeat) };
    let open = method.open(&config)?;
    let opened = (0..method.threads.get()).map(&*open).collect::<capbench_traffic::Result<Vec<_>>>()?;
    let progress: Vec<AtomicU64> = cpus.iter().map(|_| AtomicU64::default()).collect();
    let (ended, end) = mpsc::channel::<()>();
    let start = Instant::now() + if opened.len() > 1 { HEAD_START } else { Duration::ZERO };
    let turns = Turn::of_each(method.threads.into());
    let each = opened.into_iter().zip(cpus).zip(&progress).zip(turns).zip(0..=u8::MAX);
    std::thread::scope(|scope| {
        let threads = each.map(|((((mut opened, cpu), progress), turn), stream)| {
            // Its drop says that the thread has ended.
            let (ended, stop, stream) = (ended.clone(), &stop, StreamId(stream));
            scope.spawn(move || -> Result<Thread> {
                let _ended = ended;
                cpu.map_or(Ok(()), affinity::pin_current_thread)?;
                let job = SendJob {
                    frames,
                    schedule,
                    turn,
                    limits: Limits { duration: flags.duration, frames: count, stop },
                    trial: TrialId(flags.trial),
                    stream,
                    progress: Some(progress),
                    start,
                };
                Ok(Thread { stream, cpu, report: opened.sender.send(&job)? })
            })
        });
        let threads: Vec<_> = threads.collect();
        drop(ended);
        if !flags.json {
            print_progress(&progress, layer, frames.mean_octets(), end);
        }
        let joined = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(joined).collect()
    })
}

/// Prints a line per second until no other end of `end` is left. `mean_octets` is that of a frame, with its FCS.
fn print_progress(progress: &[AtomicU64], layer: LinkLayer, mean_octets: f64, end: Receiver<()>) {
    let (start, mut before) = (Instant::now(), (0, 0.0));
    let mut next = SECOND;
    while end.recv_timeout(next.saturating_sub(start.elapsed())) == Err(RecvTimeoutError::Timeout) {
        let sent = progress.iter().map(|sent| sent.load(Ordering::Relaxed)).sum();
        let seconds = start.elapsed().as_secs_f64();
        let per_s = (sent - before.0) as f64 / (seconds - before.1);
        let rates = BitRates::of(layer, per_s, per_s * (mean_octets - f64::from(fcs_octets(layer))));
        let line = format!("{seconds:8.3} s  {sent:>12} packets  {per_s:>12.0} packets/s  {rates}\n");
        // The result shows that nobody reads any more.
        if print(&line).is_err() {
            return;
        }
        (before, next) = ((sent, seconds), next + SECOND);
    }
}

/// The requested frames per second on this interface; `None` without a stated rate.
fn rate_of_frames(flags: &SendFlags, frames: FrameSource<'_>, side: &Side) -> Result<Option<Pps>> {
    let rate = match flags.rate {
        None => return Ok(None),
        Some(AskedRate::Maximum) if flags.burst.is_some() || flags.poisson.is_some() => {
            return Err(Usage("--rate max: --burst and --poisson need a mean rate; state one".into()).into());
        }
        Some(AskedRate::Maximum) => return Ok(None),
        Some(AskedRate::Stated(rate)) => rate,
    };
    if matches!(rate, StatedRate::Layer1(_) | StatedRate::OfLine(_)) && side.layer()? == LinkLayer::Ip {
        let why = "preamble and gap, or a share of the line, are of Ethernet; state packets per second, or bits per second of packets";
        return Err(Usage(format!("--rate: {}: {why}", side.name())).into());
    }
    let rate = rate.of_frames(frames.mean_octets(), line_rate::bits_per_second(side)?);
    Ok(Some(rate.map_err(|error| Usage(format!("--rate: {}: {error}", side.name())))?))
}

fn schedule(flags: &SendFlags, rate: Option<Pps>) -> Schedule {
    match (rate, flags.burst, flags.poisson, flags.wait_loop) {
        (Some(rate), Some(frames), _, _) => Schedule::Bursts { frames, rate },
        (Some(rate), _, Some(seed), _) => Schedule::Poisson { rate, seed },
        (Some(rate), _, _, _) => Schedule::Constant(rate),
        (None, _, _, Some(iterations)) => Schedule::WaitLoop { iterations },
        _ => Schedule::Maximum,
    }
}

fn plan(flags: &SendFlags, mtu: Mtu) -> Result<FramePlan> {
    if flags.dain_2004 {
        return Ok(FramePlan::dain_2004(mtu)?);
    }
    Ok(FramePlan::new(flags.layout.layout(), flags.size.clone(), mtu)?)
}

/// A single size is in bytes; other texts have names or several sizes.
fn sizes_in_words(sizes: &Sizes) -> String {
    if let Sizes::Fixed(size) = sizes { format!("{size} bytes") } else { sizes.to_string() }
}

/// Rate and limits.
fn describe(schedule: &Schedule, frames: Option<u64>, duration: Option<Duration>) -> String {
    let rate = match schedule.rate() {
        Some(rate) => format!("{} packets/s", grouped(rate.get())),
        None if matches!(schedule, Schedule::Recorded(_)) => "at the file's times".into(),
        None => "unpaced".into(),
    };
    let limits = [frames.map(|frames| format!("{frames} frames")), duration.map(|time| format!("{time:?}"))];
    let limits: Vec<_> = limits.into_iter().flatten().collect();
    if limits.is_empty() { rate } else { format!("{rate} for {}", limits.join(" or ")) }
}
