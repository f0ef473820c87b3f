//! A flow of the model as frames and when they are sent.

use std::sync::Arc;
use std::time::Duration;

use capbench_frames::stack::StackPlan;
use capbench_frames::{
    FrameSize, HeaderStack, Imix, Mtu, Pps, RecordedTimes, Schedule, Sizes, StatedRate, StreamId,
};

use crate::error::{OtgError, Result};
use crate::model::flow::{
    Burst, Delay, Duration as FlowDuration, Flow, Gap, GapBytes, GapMicroseconds, GapNanoseconds, Number,
    Octets, Percent, Rate, Size, WeightPairs,
};
use crate::ports::Port;

/// The seed of random sizes: the same sizes in each run.
const SEED: u64 = 1;

/// Sum of the weights of a mix. Weights of the model are any numbers.
const WEIGHTS: f64 = 10_000.0;

/// Largest number of frames of a burst: the time of each is in memory.
const MOST_OF_BURST: u32 = 100_000;

/// What a flow sends, and when.
#[derive(Debug)]
pub struct FlowPlan {
    /// Its frames; with a trailer by which receivers count them, if it has metrics.
    pub frames: StackPlan,
    pub schedule: Schedule,
    /// It stops after so many frames, or this time; absent: at a stop.
    pub most: Option<u64>,
    pub duration: Option<Duration>,
    /// Time until its first frame.
    pub delay: Duration,
}

impl FlowPlan {
    /// Checks a flow of the configuration, which is at `path`, and the flow number `stream` of its port.
    pub fn new(config: &Flow, port: &Port, stream: usize, path: &str) -> Result<Self> {
        let at = |member: &str| format!("{path}.{member}");
        let stack = config.packet.clone().map_or_else(|| default_stack(&at("packet")), Ok)?;
        let sizes = sizes(&config.size, &at("size"))?;
        let stream = config.metrics.enable.then(|| u8::try_from(stream).map(StreamId)).transpose();
        let stream = stream.map_err(|_| OtgError::invalid(path, "more than 256 flows of a port"))?;
        let frames =
            StackPlan::new(stack.with_inner_fcs(), sizes, &config.payload, stream, Mtu(port.side.mtu()));
        let frames = frames.map_err(|error| invalid(&at("size"), &error))?;
        let rate = rate(&config.rate, frames.sizes().mean_octets(), port.line, &at("rate"))?;
        let (constant, here) = (Schedule::Constant(rate), at("duration"));
        let delay = |delay: &Delay| delay_time(delay, port.line, &here);
        let (schedule, most, duration, delay) = match &config.duration {
            FlowDuration::Continuous(continuous) => (constant, None, None, delay(&continuous.delay)?),
            FlowDuration::FixedPackets(fixed) => {
                (constant, Some(fixed.packets.0.0), None, delay(&fixed.delay)?)
            }
            FlowDuration::FixedSeconds(fixed) => {
                (constant, None, Some(seconds(fixed.seconds, &here)?), delay(&fixed.delay)?)
            }
            FlowDuration::Burst(burst) => {
                let (schedule, frames) = bursts(burst, rate, port.line, &here)?;
                (schedule, frames, None, Duration::ZERO)
            }
        };
        if most == Some(0) {
            return Err(OtgError::invalid(&here, "0 packets are none; the model has 1 or more"));
        }
        Ok(Self { frames, schedule, most, duration, delay })
    }
}

/// A header of Ethernet.
fn default_stack(path: &str) -> Result<HeaderStack> {
    let header = serde_json::json!([{ "choice": "ethernet" }]);
    HeaderStack::from_value(&header).map_err(|error| OtgError::invalid(path, error.to_string()))
}

fn sizes(size: &Size, path: &str) -> Result<Sizes> {
    let invalid = |error: capbench_frames::FrameError| OtgError::invalid(path, error.to_string());
    let frame = |octets: u32| FrameSize::new(octets).map_err(invalid);
    // A mix can have shorter frames, which are then as short as Ethernet allows.
    let any = |octets: u32| FrameSize::try_from(octets.min(u16::MAX.into()) as u16).map_err(invalid);
    Ok(match size {
        Size::Fixed(Octets(octets)) => Sizes::Fixed(frame(*octets)?),
        Size::Increment(steps) => {
            let step = u16::try_from(steps.step.0).ok().filter(|step| *step > 0);
            let step = step.ok_or_else(|| OtgError::invalid(path, "a step has 1 to 65535 octets"))?;
            let (from, to) = (frame(steps.start.0)?, frame(steps.end.0)?);
            ordered(from, to, path)?;
            Sizes::Incremental { from, to, step }
        }
        Size::Random(range) => {
            let (from, to) = (frame(range.min.0)?, frame(range.max.0)?);
            ordered(from, to, path)?;
            Sizes::Random { from, to, seed: SEED }
        }
        Size::WeightPairs(WeightPairs::Predefined(mix)) => {
            let name = mix.preset();
            Sizes::Imix(Imix::preset(name).ok_or_else(|| OtgError::invalid(path, format!("no mix {name}")))?)
        }
        Size::WeightPairs(WeightPairs::Custom(pairs)) => {
            let sum: f64 = pairs.iter().map(|pair| pair.weight).sum();
            let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
            if !pairs.iter().all(|pair| is_weight(pair.weight)) || sum <= 0.0 || !sum.is_finite() {
                return Err(OtgError::invalid(path, "weights are 0 or more, and one is above 0"));
            }
            let is_whole = sum <= WEIGHTS && pairs.iter().all(|pair| pair.weight.fract() == 0.0);
            let scale = if is_whole { 1.0 } else { WEIGHTS / sum };
            let part = |size: u32, weight: f64| Ok((any(size)?, (weight * scale).round() as u32));
            let parts =
                pairs.iter().map(|pair| part(pair.size.0, pair.weight)).collect::<Result<Vec<_>>>()?;
            Sizes::Imix(Imix::weighted(&parts).map_err(invalid)?)
        }
    })
}

fn ordered(from: FrameSize, to: FrameSize, path: &str) -> Result<()> {
    if from <= to { Ok(()) } else { Err(OtgError::invalid(path, format!("{from} is above {to}"))) }
}

/// Frames per second. Bits per second are those of the line: the model's least rate, 672 bit/s, is one frame of 64 octets with
/// preamble and gap.
fn rate(rate: &Rate, mean_octets: f64, line: Option<f64>, path: &str) -> Result<Pps> {
    let stated = match rate {
        Rate::Pps(Number(pps)) => return Pps::new(pps.0 as f64).map_err(|error| invalid(path, &error)),
        Rate::Bps(number) => StatedRate::Layer1(number.0.0 as f64),
        Rate::Kbps(number) => StatedRate::Layer1(number.0.0 as f64 * 1e3),
        Rate::Mbps(number) => StatedRate::Layer1(number.0.0 as f64 * 1e6),
        Rate::Gbps(number) => StatedRate::Layer1(number.0.0 as f64 * 1e9),
        Rate::Percentage(Percent(percent)) => {
            if line.is_none() {
                let why = "the interface has no speed that a percentage could be of; set layer1.speed of the port, or rate.pps";
                return Err(OtgError::invalid(path, why));
            }
            StatedRate::OfLine(percent / 100.0)
        }
    };
    stated.of_frames(mean_octets, line).map_err(|error| invalid(path, &error))
}

fn invalid(path: &str, error: &capbench_frames::FrameError) -> OtgError {
    OtgError::invalid(path, error.to_string())
}

/// The schedule of bursts, and how many frames there are.
fn bursts(burst: &Burst, rate: Pps, line: Option<f64>, path: &str) -> Result<(Schedule, Option<u64>)> {
    let packets = u32::try_from(burst.packets.0.0).ok().filter(|packets| *packets <= MOST_OF_BURST);
    let packets = packets
        .ok_or_else(|| OtgError::invalid(path, format!("a burst has up to {MOST_OF_BURST} packets")))?;
    let gap_ns = match burst.inter_burst_gap {
        // What is between any two frames anyway.
        Gap::Bytes(GapBytes(12.0)) => 0.0,
        Gap::Bytes(GapBytes(octets)) => of_line(octets, line, path)?,
        Gap::Nanoseconds(GapNanoseconds(ns)) => ns,
        Gap::Microseconds(GapMicroseconds(us)) => us * 1e3,
    };
    let gap = seconds(gap_ns / 1e9, path)?;
    let times =
        RecordedTimes::bursts(packets, rate, gap.as_nanos() as u64).map_err(|error| invalid(path, &error))?;
    let frames = (burst.bursts > 0).then(|| u64::from(burst.bursts) * u64::from(packets));
    Ok((Schedule::Recorded(Arc::new(times)), frames))
}

fn delay_time(delay: &Delay, line: Option<f64>, path: &str) -> Result<Duration> {
    let ns = match *delay {
        Delay::Bytes(0.0) => 0.0,
        Delay::Bytes(octets) => of_line(octets, line, path)?,
        Delay::Nanoseconds(ns) => ns,
        Delay::Microseconds(us) => us * 1e3,
    };
    seconds(ns / 1e9, path)
}

/// Nanoseconds that octets take on the line.
fn of_line(octets: f64, line: Option<f64>, path: &str) -> Result<f64> {
    let why = "the interface has no speed at which octets could take a time; set layer1.speed of the port, or nanoseconds";
    line.map(|bits| octets * 8e9 / bits).ok_or_else(|| OtgError::invalid(path, why))
}

/// A time of up to a day.
fn seconds(seconds: f64, path: &str) -> Result<Duration> {
    const DAY: f64 = 86_400.0;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds <= DAY);
    time.ok_or_else(|| OtgError::invalid(path, format!("{seconds} s is no time from 0 to a day")))
}
