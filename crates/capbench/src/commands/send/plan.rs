//! What `send` does: made once from its flags. Mistakes on the command line are found here, before anything is locked or sent.

use capbench_frames::TransmitSpec;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use anyhow::Result;
use capbench_frames::{
    AskedRate, FlowDefaults, FlowSet, FlowSummary, FramePlan, FrameSource, Mtu, Pps, Schedule, Sizes,
    StatedRate, TrialId,
};
use capbench_host::bed::Side;
use capbench_lab::live::line_rate;
use capbench_sys::host::{CpuId, LinkLayer, affinity};
use capbench_traffic::transmit::Chosen;
use clap::Args;

use super::packet::{self, PacketFlags};
use super::replay::{Loaded, ReplayFlags};
use super::words::{pace_in_words, sizes_in_words};
use crate::exit::Usage;
use crate::flag_values::positive_duration;
use crate::flags::{self, LayoutFlags, threads, transmit, transmit_by};

#[derive(Args, Clone, Debug)]
pub struct SendFlags {
    /// Interface to send on; the link must be isolated (RFC 6815)
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    #[command(flatten)]
    pace: PaceFlags,
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

/// When frames are sent.
#[derive(Args, Clone, Copy, Debug)]
struct PaceFlags {
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
}

/// What is sent, when, and by which threads.
pub struct SendPlan {
    /// The interface that sends.
    pub side: Side,
    /// What its packets begin with.
    pub layer: LinkLayer,
    pub frames: Frames,
    /// The times of all frames; flows have their own.
    pub schedule: Schedule,
    /// The number of frames of all threads; flows have their own.
    pub count: Option<u64>,
    pub duration: Option<Duration>,
    /// In the stamps of the frames.
    pub trial: TrialId,
    pub transmit: Chosen,
    /// The CPU of each thread; `None`: wherever the kernel lets the only one run.
    pub cpus: Vec<Option<CpuId>>,
    /// Whether the plan is printed, and nothing is sent.
    pub is_dry_run: bool,
    /// Whether the result is printed as JSON.
    pub json: bool,
}

/// What is sent.
pub enum Frames {
    Generated(FramePlan),
    Recorded(Loaded),
    Flows(FlowSet),
}

impl SendPlan {
    /// Makes the plan, and reads the files that the flags name.
    ///
    /// # Errors
    /// Flags that contradict each other or the interface; an interface or a file that cannot be used.
    pub fn new(flags: SendFlags) -> Result<Self> {
        let side = match flags.replay.is_given() {
            true => Side::for_recorded_packets(&flags.interface, flags.isolated)?,
            false => Side::for_trials(&flags.interface, flags.isolated)?,
        };
        let layer = side.layer()?;
        let mtu = Mtu(side.mtu());
        let usual = TransmitSpec::plain(match layer {
            LinkLayer::Ethernet => "packet-tx",
            LinkLayer::Ip => "sendmmsg",
        });
        let transmit = transmit_by(flags.transmit.as_ref().unwrap_or(&usual), flags.threads)?;
        let line = line_rate::bits_per_second(&side)?;
        let SendFlags { pace, count, duration, .. } = flags;
        let frames = if let Some(flows) =
            flags.packet.load(&pace.of_flows(&flags.size, count), duration, transmit.threads, mtu, line)?
        {
            Frames::Flows(flows)
        } else if let Some(loaded) =
            flags.replay.load(layer, mtu, flags.layout.dst_mac, count, !pace.is_stated())?
        {
            Frames::Recorded(loaded)
        } else if flags.dain_2004 {
            Frames::Generated(FramePlan::dain_2004(mtu)?)
        } else {
            Frames::Generated(FramePlan::new(flags.layout.layout(), flags.size, mtu)?)
        };
        let schedule = match &frames {
            Frames::Flows(_) => Schedule::Maximum,
            Frames::Recorded(Loaded { schedule: Some(times), .. }) => times.clone(),
            _ => pace.schedule(frames.source(), &side, line)?,
        };
        let count = match &frames {
            Frames::Generated(_) => count,
            Frames::Recorded(loaded) => Some(loaded.frames),
            Frames::Flows(_) => None,
        };
        Ok(Self {
            layer,
            frames,
            schedule,
            count,
            duration,
            trial: TrialId(flags.trial),
            transmit,
            cpus: cpus(flags.cpu.as_deref(), transmit.threads)?,
            is_dry_run: flags.dry_run,
            json: flags.json,
            side,
        })
    }

    /// The planned frames per second; `None` as fast as it goes.
    pub fn rate(&self) -> Option<f64> {
        if let Frames::Flows(flows) = &self.frames {
            flows.rate()
        } else {
            self.schedule.rate().map(Pps::get)
        }
    }

    /// What `--dry-run` prints.
    pub fn describe(&self) -> String {
        let frames = match &self.frames {
            Frames::Flows(flows) => return packet::in_words(flows),
            Frames::Generated(plan) => format!("{}, {}", plan.layout(), sizes_in_words(plan.asked())),
            Frames::Recorded(loaded) => loaded.in_words(),
        };
        format!("{frames}, {}\n", pace_in_words(&self.schedule, self.count, self.duration))
    }
}

impl Frames {
    pub fn source(&self) -> FrameSource<'_> {
        match self {
            Self::Generated(plan) => FrameSource::Generated(plan),
            Self::Recorded(loaded) => FrameSource::Recorded(&loaded.replay.frames),
            Self::Flows(flows) => FrameSource::Flows(flows),
        }
    }

    /// The frames of a capture file.
    pub fn recorded(&self) -> Option<&Loaded> {
        if let Self::Recorded(loaded) = self { Some(loaded) } else { None }
    }

    /// The flows of a packet file, each with what is sent of it.
    pub fn flows(&self) -> Vec<FlowSummary> {
        if let Self::Flows(flows) = self { flows.summaries() } else { Vec::new() }
    }
}

impl PaceFlags {
    /// Whether the user states when frames are sent.
    fn is_stated(self) -> bool {
        self.rate.is_some() || self.wait_loop.is_some()
    }

    /// What is true of flows that state nothing else.
    fn of_flows(self, sizes: &Sizes, frames: Option<u64>) -> FlowDefaults {
        let Self { rate, burst, poisson, .. } = self;
        FlowDefaults { sizes: sizes.clone(), rate, burst, poisson, frames }
    }

    /// The times of these frames. `line` is the speed of the interface's line in bits per second.
    fn schedule(self, frames: FrameSource<'_>, side: &Side, line: Option<f64>) -> Result<Schedule> {
        let rate = match self.rate {
            Some(AskedRate::Stated(rate)) => rate,
            Some(AskedRate::Maximum) if self.burst.is_some() || self.poisson.is_some() => {
                return Err(
                    Usage("--rate max: --burst and --poisson need a mean rate; state one".into()).into()
                );
            }
            _ => {
                return Ok(match self.wait_loop {
                    Some(iterations) => Schedule::WaitLoop { iterations },
                    None => Schedule::Maximum,
                });
            }
        };
        if matches!(rate, StatedRate::Layer1(_) | StatedRate::OfLine(_)) && side.layer()? == LinkLayer::Ip {
            let why = "preamble and gap, or a share of the line, are of Ethernet; state packets per second, or bits per second of packets";
            return Err(Usage(format!("--rate: {}: {why}", side.name())).into());
        }
        let rate = rate.of_frames(frames.mean_octets(), line);
        let rate = rate.map_err(|error| Usage(format!("--rate: {}: {error}", side.name())))?;
        Ok(match (self.burst, self.poisson) {
            (Some(frames), _) => Schedule::Bursts { frames, rate },
            (None, Some(seed)) => Schedule::Poisson { rate, seed },
            (None, None) => Schedule::Constant(rate),
        })
    }
}

/// The CPU of each thread, of those that `--cpu` lists.
fn cpus(listed: Option<&str>, threads: NonZeroU16) -> Result<Vec<Option<CpuId>>> {
    let count = usize::from(threads.get());
    let list = match listed {
        Some(text) => flags::cpus(text)?,
        None if count == 1 => return Ok(vec![None]),
        None => affinity::allowed_cpus()?,
    };
    let is_enough = if listed.is_some() { list.len() == count } else { list.len() >= count };
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
