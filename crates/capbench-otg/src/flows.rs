//! A flow of the model as frames and when they are sent.

use std::sync::Arc;
use std::time::Duration;

use capbench_frames::stack::StackPlan;
use capbench_frames::{
    FrameError, FrameLimits, FrameSize, HeaderStack, Imix, Mtu, Pps, RecordedTimes, Schedule, Sizes,
    StatedRate, StreamId,
};

use crate::error::{OtgError, Result};
use crate::model::flow::{
    Burst, Delay, Duration as FlowDuration, Flow, Gap, GapBytes, GapMicroseconds, GapNanoseconds, Number,
    Octets, Percent, Rate, Size, WeightPair, WeightPairs,
};
use crate::ports::Port;

/// The seed of random sizes: the same sizes in each run.
const SEED: u64 = 1;

/// Sum of the weights of a mix. Weights of the model are any numbers.
const WEIGHTS: f64 = 10_000.0;

/// Largest number of frames of a burst: the time of each is in memory.
const MOST_OF_BURST: u32 = 100_000;

/// Octets of the gap between any two frames on a line (IEEE 802.3), the model's default between bursts.
const USUAL_GAP: f64 = 12.0;

/// What a flow sends, and when.
#[derive(Debug)]
pub struct FlowPlan {
    /// Its frames; with a trailer by which receivers count them, if it has metrics.
    pub frames: Arc<StackPlan>,
    pub schedule: Schedule,
    /// Its rate; of bursts, while one is sent.
    pub rate: Pps,
    /// It stops after so many frames, or this time; absent: at a stop.
    pub most: Option<u64>,
    pub duration: Option<Duration>,
    /// Time until its first frame.
    pub delay: Duration,
    /// Upper limit of the memory that it needs, in octets.
    pub memory: usize,
}

impl FlowPlan {
    /// Octets of memory for the frames and times of all flows.
    const MOST_MEMORY: usize = FrameLimits::MOST_MEMORY;

    /// Checks a flow of the configuration, which is at `path`, and the flow number `stream` of its port. Other flows leave `memory`
    /// octets of memory.
    pub fn new(config: &Flow, port: &Port, stream: usize, memory: usize, path: &str) -> Result<Self> {
        let link = Link { mtu: Mtu(port.side.mtu()), line: port.line };
        Self::on(config, link, stream, memory).map_err(|error| error.inside(path))
    }

    fn on(config: &Flow, link: Link, stream: usize, memory: usize) -> Result<Self> {
        let stack = config.packet.clone().map_or_else(default_stack, Ok)?;
        let sizes = sizes(&config.size).map_err(|error| error.inside("size"))?;
        let stream = config.metrics.enable.then(|| u8::try_from(stream).map(StreamId)).transpose();
        let stream =
            stream.map_err(|_| OtgError::invalid("metrics", "more than 256 flows of a port have metrics"))?;
        let limits = FrameLimits { mtu: link.mtu, memory };
        let frames = StackPlan::new(stack.with_inner_fcs(), sizes, &config.payload, stream, limits);
        let frames = frames.map_err(|error| error.of_flow("packet"))?;
        let rate =
            link.rate(&config.rate, frames.sizes().mean_octets()).map_err(|error| error.inside("rate"))?;
        let delay = |delay: &Delay, choice: &str| {
            link.delay(delay).map_err(|error| error.inside(&format!("duration.{choice}.delay")))
        };
        let constant = Schedule::Constant(rate);
        let (schedule, most, duration, delay) = match &config.duration {
            FlowDuration::Continuous(continuous) => {
                (constant, None, None, delay(&continuous.delay, "continuous")?)
            }
            FlowDuration::FixedPackets(fixed) => {
                (constant, Some(fixed.packets.0.0), None, delay(&fixed.delay, "fixed_packets")?)
            }
            FlowDuration::FixedSeconds(fixed) => {
                let time =
                    seconds(fixed.seconds).map_err(|error| error.inside("duration.fixed_seconds.seconds"))?;
                (constant, None, Some(time), delay(&fixed.delay, "fixed_seconds")?)
            }
            FlowDuration::Burst(burst) => {
                let bursts = link.bursts(burst, rate, memory - frames.memory());
                let times = bursts.map_err(|error| error.inside("duration.burst"))?;
                let frames = u64::from(burst.bursts) * burst.packets.0.0;
                (
                    Schedule::Recorded(times.into()),
                    Some(frames).filter(|frames| *frames > 0),
                    None,
                    Duration::ZERO,
                )
            }
        };
        let times = match &config.duration {
            FlowDuration::Burst(burst) => memory_of_times(burst),
            _ => 0,
        };
        let memory = frames.memory() + times;
        Ok(Self { frames: frames.into(), schedule, rate, most, duration, delay, memory })
    }

    /// Octets of memory that are left if other flows, of all ports, need so many.
    pub fn memory_left_by(others: usize) -> usize {
        Self::MOST_MEMORY.saturating_sub(others)
    }

    /// What of the flow at `path` is not as the configuration has it.
    pub fn warning(&self, path: &str) -> Option<String> {
        let sizes = self.frames.sizes();
        sizes.is_raised().then(|| {
            format!(
                "{path}.size: frames below {least} bytes have {least}, which their headers need",
                least = sizes.least()
            )
        })
    }
}

/// What a flow needs to know of the link of its port.
#[derive(Clone, Copy, Debug)]
struct Link {
    mtu: Mtu,
    /// Bits per second of the line; absent: unknown.
    line: Option<f64>,
}

/// A header of Ethernet.
fn default_stack() -> Result<HeaderStack> {
    let header = serde_json::json!([{ "choice": "ethernet" }]);
    HeaderStack::from_value(&header).map_err(|error| OtgError::from(error.inside("packet")))
}

fn sizes(size: &Size) -> Result<Sizes> {
    let frame = |member: &str, octets: u32| FrameSize::new(octets).map_err(|error| error.inside(member));
    Ok(match size {
        Size::Fixed(Octets(octets)) => Sizes::Fixed(frame("fixed", *octets)?),
        Size::Increment(steps) => {
            let step = u16::try_from(steps.step.0).ok().filter(|step| *step > 0);
            let step =
                step.ok_or_else(|| OtgError::invalid("increment.step", "a step has 1 to 65535 octets"))?;
            let from = frame("increment.start", steps.start.0)?;
            Sizes::Incremental { from, to: above("increment.end", from, steps.end.0)?, step }
        }
        Size::Random(range) => {
            let from = frame("random.min", range.min.0)?;
            Sizes::Random { from, to: above("random.max", from, range.max.0)?, seed: SEED }
        }
        Size::WeightPairs(WeightPairs::Predefined(mix)) => {
            let name = mix.preset();
            let mix = Imix::preset(name);
            Sizes::Imix(mix.ok_or_else(|| OtgError::invalid("weight_pairs", format!("no mix {name}")))?)
        }
        Size::WeightPairs(WeightPairs::Custom(pairs)) => {
            Sizes::Imix(mix(pairs).map_err(|error| error.inside("weight_pairs.custom"))?)
        }
    })
}

/// The end of a range of sizes.
fn above(member: &str, from: FrameSize, octets: u32) -> Result<FrameSize> {
    let to = FrameSize::new(octets).map_err(|error| error.inside(member))?;
    if from <= to { Ok(to) } else { Err(OtgError::invalid(member, format!("{to} is below {from}"))) }
}

fn mix(pairs: &[WeightPair]) -> Result<Imix> {
    let sum: f64 = pairs.iter().map(|pair| pair.weight).sum();
    let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
    if !pairs.iter().all(|pair| is_weight(pair.weight)) || sum <= 0.0 || !sum.is_finite() {
        return Err(OtgError::invalid("", "weights are 0 or more, and one is above 0"));
    }
    let is_whole = sum <= WEIGHTS && pairs.iter().all(|pair| pair.weight.fract() == 0.0);
    let scale = if is_whole { 1.0 } else { WEIGHTS / sum };
    let part = |(index, pair): (usize, &WeightPair)| {
        // A mix can have shorter frames than Ethernet, which are then as long as it needs.
        let size = u16::try_from(pair.size.0).ok().and_then(|octets| FrameSize::try_from(octets).ok());
        let Some(size) = size else {
            let why = format!("{} is no size from 18 to 65535", pair.size.0);
            return Err(OtgError::invalid(&format!("[{index}].size"), why));
        };
        let weight = (pair.weight * scale).round() as u32;
        if weight == 0 && pair.weight > 0.0 {
            let why = format!("of {WEIGHTS} frames none would have this size; a larger share is possible");
            return Err(OtgError::invalid(&format!("[{index}].weight"), why));
        }
        Ok((size, weight))
    };
    let parts = pairs.iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
    Ok(Imix::weighted(&parts)?)
}

impl Link {
    /// Frames per second. Bits per second are those of the line: the model's least rate, 672 bit/s, is one frame of 64 octets with
    /// preamble and gap.
    fn rate(self, rate: &Rate, mean_octets: f64) -> Result<Pps> {
        let bits = |number: u64, unit: f64| StatedRate::Layer1(number as f64 * unit);
        let (member, stated) = match rate {
            Rate::Pps(Number(pps)) => {
                ("pps", StatedRate::Frames(Pps::new(pps.0 as f64).map_err(|error| error.inside("pps"))?))
            }
            Rate::Bps(number) => ("bps", bits(number.0.0, 1.0)),
            Rate::Kbps(number) => ("kbps", bits(number.0.0, 1e3)),
            Rate::Mbps(number) => ("mbps", bits(number.0.0, 1e6)),
            Rate::Gbps(number) => ("gbps", bits(number.0.0, 1e9)),
            Rate::Percentage(Percent(percent)) => {
                let refuse = |why: &str| Err(OtgError::invalid("percentage", why));
                if !(*percent > 0.0 && *percent <= 100.0) {
                    return refuse("a share of the line is above 0 and up to 100");
                }
                if self.line.is_none() {
                    return refuse(
                        "the interface has no speed that a percentage could be of; set layer1.speed of the port, or rate.pps",
                    );
                }
                ("percentage", StatedRate::OfLine(percent / 100.0))
            }
        };
        Ok(stated.of_frames(mean_octets, self.line).map_err(|error| error.inside(member))?)
    }

    /// The times of the frames of a burst, and when the next one begins: one interval of the rate after the last frame, which has
    /// the usual gap in it, and what the gap between bursts has above that.
    fn bursts(self, burst: &Burst, rate: Pps, memory: usize) -> Result<RecordedTimes> {
        let packets = u32::try_from(burst.packets.0.0).ok().filter(|packets| *packets <= MOST_OF_BURST);
        let why = || OtgError::invalid("packets", format!("a burst has up to {MOST_OF_BURST} packets"));
        let packets = packets.ok_or_else(why)?;
        let needed = memory_of_times(burst);
        if needed > memory {
            let error = FrameError::FrameMemory { needed, left: memory, most: FlowPlan::MOST_MEMORY };
            return Err(error.inside("packets").into());
        }
        // Octets take no time on a line whose speed is unknown, and so the usual gap takes none.
        let usual_ns = self.line.map_or(0.0, |bits| USUAL_GAP * 8e9 / bits);
        let (unit, ns) = match burst.inter_burst_gap {
            Gap::Bytes(GapBytes(octets)) => ("bytes", self.ns_of(beyond(octets, USUAL_GAP))),
            Gap::Nanoseconds(GapNanoseconds(ns)) => ("nanoseconds", Ok(beyond(ns, usual_ns))),
            Gap::Microseconds(GapMicroseconds(us)) => ("microseconds", Ok(beyond(us * 1e3, usual_ns))),
        };
        let gap = ns
            .and_then(|ns| seconds(ns / 1e9))
            .map_err(|error| error.inside(&format!("inter_burst_gap.{unit}")))?;
        Ok(RecordedTimes::bursts(packets, rate, gap.as_nanos() as u64)?)
    }

    fn delay(self, delay: &Delay) -> Result<Duration> {
        let (unit, ns) = match *delay {
            Delay::Bytes(octets) => ("bytes", self.ns_of(octets)),
            Delay::Nanoseconds(ns) => ("nanoseconds", Ok(ns)),
            Delay::Microseconds(us) => ("microseconds", Ok(us * 1e3)),
        };
        ns.and_then(|ns| seconds(ns / 1e9)).map_err(|error| error.inside(unit))
    }

    /// Nanoseconds that octets take on the line.
    fn ns_of(self, octets: f64) -> Result<f64> {
        let why = "the interface has no speed at which octets could take a time; set layer1.speed of the port, or nanoseconds";
        if octets == 0.0 {
            return Ok(0.0);
        }
        self.line.map(|bits| octets * 8e9 / bits).ok_or_else(|| OtgError::invalid("", why))
    }
}

/// Octets of memory for the times of a burst.
fn memory_of_times(burst: &Burst) -> usize {
    usize::try_from(burst.packets.0.0).unwrap_or(usize::MAX).saturating_mul(RecordedTimes::OVERHEAD)
}

/// What a gap has above the usual one; a negative gap remains.
fn beyond(gap: f64, usual: f64) -> f64 {
    if gap < usual { gap.min(0.0) } else { gap - usual }
}

/// A time of up to a day.
fn seconds(seconds: f64) -> Result<Duration> {
    const DAY: f64 = 86_400.0;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds <= DAY);
    time.ok_or_else(|| OtgError::invalid("", format!("{seconds} s is no time from 0 to a day")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::of_value;

    /// A flow of UDP over IPv4 with these members, on a link of 1 Gbit/s.
    fn plan(members: &Value, line: Option<f64>, memory: usize) -> Result<FlowPlan> {
        let mut flow = json!({
            "name": "f", "tx_rx": {"port": {"tx_name": "p"}}, "packet": [{}, {"ipv4": {}}, {"udp": {}}],
            "rate": {"pps": 1000}, "metrics": {"enable": true},
        });
        members.as_object().unwrap().iter().for_each(|(name, value)| flow[name] = value.clone());
        FlowPlan::on(&of_value(&flow)?, Link { mtu: Mtu(1500), line }, 0, memory)
    }

    fn refusal(members: &Value) -> String {
        plan(members, Some(1e9), FlowPlan::MOST_MEMORY).unwrap_err().to_string()
    }

    #[test]
    fn the_same_gap_between_bursts_is_the_same_in_every_unit() {
        let burst = |gap: Value, line| {
            let burst = json!({"bursts": 3, "packets": 2, "inter_burst_gap": gap});
            let plan = plan(&json!({"duration": {"burst": burst}}), line, FlowPlan::MOST_MEMORY)?;
            assert_eq!((plan.most, plan.delay), (Some(6), Duration::ZERO));
            Ok((0..6).map(|number| plan.schedule.planned_ns(number).unwrap()).collect::<Vec<_>>())
        };
        const MS: u64 = 1_000_000;
        let with_gap = |ns: u64| vec![0, MS, 2 * MS + ns, 3 * MS + ns, 4 * MS + 2 * ns, 5 * MS + 2 * ns];
        let gigabit = Some(1e9);
        // 12 bytes are 96 ns at 1 Gbit/s: what is between any two frames.
        for (gap, expected_ns) in [
            (json!({"bytes": 137}), 1000),
            (json!({"nanoseconds": 1096}), 1000),
            (json!({"microseconds": 1.096}), 1000),
            (json!({}), 0),
            (json!({"choice": "bytes"}), 0),
            (json!({"choice": "nanoseconds"}), 0),
            (json!({"choice": "microseconds"}), 0),
            (json!({"bytes": 0}), 0),
            (json!({"nanoseconds": 0}), 0),
        ] {
            assert_eq!(burst(gap.clone(), gigabit).unwrap(), with_gap(expected_ns), "{gap}");
        }
        assert_eq!(burst(json!({"bytes": 12}), None).unwrap(), with_gap(0), "a line of unknown speed");
        assert_eq!(burst(json!({"nanoseconds": 1000}), None).unwrap(), with_gap(1000));
        for (gap, line, expected) in [
            (json!({"bytes": 13}), None, "duration.burst.inter_burst_gap.bytes: the interface has no speed"),
            (
                json!({"bytes": -1}),
                gigabit,
                "duration.burst.inter_burst_gap.bytes: -0.000000008 s is no time",
            ),
            (json!({"microseconds": 1e12}), gigabit, "duration.burst.inter_burst_gap.microseconds: "),
        ] {
            let error: OtgError = burst(gap, line).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    #[test]
    fn refusals_have_the_place_in_the_flow() {
        for (members, expected) in [
            (json!({"packet": [{}, {"tcp": {}}]}), "packet[1].tcp.checksum: needs the addresses"),
            (json!({"packet": [{"vlan": {}}]}), "packet: the headers vlan have 4 octets"),
            (json!({"size": {"fixed": 60}}), "size.fixed: frame size 60 is not allowed"),
            (json!({"size": {"fixed": 1519}}), "size: frame size 1519 needs an MTU of 1501"),
            (json!({"packet": [{}, {"ipv6": {}}, {"udp": {}}]}), "size: frame size 64 is too small for"),
            (json!({"size": {"increment": {"start": 70, "end": 69}}}), "size.increment.end: 69 is below 70"),
            (json!({"size": {"increment": {"step": 0}}}), "size.increment.step: "),
            (json!({"size": {"random": {"max": 70_000}}}), "size.random.max: frame size 70000"),
            (
                json!({"size": {"weight_pairs": {"custom": [{"size": 64}, {"size": 65_600}]}}}),
                "size.weight_pairs.custom[1].size: 65600 is no size from 18 to 65535",
            ),
            (
                json!({"size": {"weight_pairs": {"custom": [{"size": 64}, {"size": 65, "weight": 1e-6}]}}}),
                "size.weight_pairs.custom[1].weight: of 10000 frames none would have this size",
            ),
            (json!({"rate": {"percentage": 101}}), "rate.percentage: a share of the line is above 0"),
            (json!({"rate": {"percentage": 0}}), "rate.percentage: a share of the line is above 0"),
            (json!({"duration": {"fixed_seconds": {"seconds": -1}}}), "duration.fixed_seconds.seconds: -1 s"),
            (
                json!({"duration": {"continuous": {"delay": {"microseconds": -1}}}}),
                "duration.continuous.delay.microseconds: ",
            ),
            (
                json!({"duration": {"burst": {"packets": 100_001}}}),
                "duration.burst.packets: a burst has up to 100000 packets",
            ),
        ] {
            let error = refusal(&members);
            assert!(error.starts_with(expected), "{members}: {error}");
        }
    }

    #[test]
    fn sizes_below_what_the_headers_need_are_reported() {
        let warning =
            |members: Value| plan(&members, None, FlowPlan::MOST_MEMORY).unwrap().warning("flows[0]");
        let increment = |start| json!({"size": {"increment": {"start": start, "end": 100}}});
        assert_eq!(warning(increment(64)), None);
        let mut small = increment(64);
        small["packet"] = json!([{}, {"ipv6": {}}, {"udp": {}}]);
        let expected = "flows[0].size: frames below 84 bytes have 84, which their headers need";
        assert_eq!(warning(small).as_deref(), Some(expected));
        let mix = json!({"size": {"weight_pairs": {"predefined": "standard_imix"}}});
        assert!(warning(mix).unwrap().contains("frames below 64 bytes have 64"));
    }

    #[test]
    fn frames_and_times_count_as_memory_before_they_are_there() {
        let random = json!({"size": {"choice": "random"}});
        let needed = plan(&random, None, FlowPlan::MOST_MEMORY).unwrap().memory;
        assert_eq!(plan(&random, None, needed).unwrap().memory, needed);
        let error = plan(&random, None, needed - 1).unwrap_err().to_string();
        let left = needed - 1;
        assert!(
            error.starts_with(&format!("its frames need {needed} bytes of memory, but {left} are left")),
            "{error}"
        );
        let burst = json!({"duration": {"burst": {"packets": 50_000}}});
        let needed = plan(&burst, None, FlowPlan::MOST_MEMORY).unwrap().memory;
        assert!(needed > 400_000 && plan(&burst, None, needed).is_ok());
        assert_eq!(FlowPlan::memory_left_by(needed), FlowPlan::MOST_MEMORY - needed);
        assert_eq!(FlowPlan::memory_left_by(usize::MAX), 0);
        let error = plan(&burst, None, needed - 1).unwrap_err().to_string();
        assert!(error.starts_with("duration.burst.packets: its frames need 400000 bytes"), "{error}");
    }
}
