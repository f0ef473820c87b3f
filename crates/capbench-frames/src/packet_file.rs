//! Files that describe the flows of a sender: `send --packet FILE.toml`. `docs/packet-files.md` has the form.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::rates::AskedRate;
use crate::{
    FlowSet, FrameError, FrameLimits, HeaderStack, Mtu, Payload, Result, Schedule, Sizes, StackFlow,
    StackPlan, StreamId,
};

/// The flows of a file. What one does not state, the command line states.
#[derive(Debug, Clone)]
pub struct PacketFile {
    /// Each with its place in the file, which is empty in a file of one flow.
    flows: Vec<(String, FlowText)>,
}

/// Sizes, rate and number of frames of flows that state none.
#[derive(Debug, Clone)]
pub struct FlowDefaults {
    /// The sizes.
    pub sizes: Sizes,
    /// The rate; `None`: as fast as possible.
    pub rate: Option<AskedRate>,
    /// Frames of a burst, of flows without a rate of their own.
    pub burst: Option<NonZeroU32>,
    /// The seed of random intervals, of flows without a rate of their own.
    pub poisson: Option<u64>,
    /// The number of frames.
    pub frames: Option<u64>,
}

/// A flow as a file has it.
#[derive(Debug, Clone)]
struct FlowText {
    name: Option<String>,
    size: Option<Value>,
    rate: Option<Value>,
    burst: Option<NonZeroU32>,
    poisson: Option<u64>,
    count: Option<u64>,
    seconds: Option<f64>,
    delay_seconds: Option<f64>,
    trailer: Option<bool>,
    payload: Payload,
    header: HeaderStack,
}

impl PacketFile {
    /// Reads the text of a file: tables `[[flow]]`, or the content of one.
    ///
    /// # Errors
    /// No TOML, or a member or value that is not supported. The error has its place.
    pub fn from_toml(text: &str) -> Result<Self> {
        let mut file: Map<String, Value> = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            // The library shows the position in further lines.
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            FrameError::at(&format!("line {line}"), reason)
        })?;
        let flows = match file.remove("flow") {
            None => return Ok(Self { flows: vec![(String::new(), FlowText::read(file)?)] }),
            Some(Value::Array(flows)) if !flows.is_empty() && file.is_empty() => flows,
            Some(_) => {
                let other = file.keys().next().map_or("flow", String::as_str);
                let reason = "a file has tables [[flow]] and nothing else, or the content of one flow";
                return Err(FrameError::at(other, reason));
            }
        };
        let read = |(index, flow)| {
            let place = format!("flow[{index}]");
            let read = match flow {
                Value::Object(members) => FlowText::read(members),
                _ => Err(FrameError::at("", "must be a table")),
            };
            read.map_err(|error| error.inside(&place)).map(|flow| (place, flow))
        };
        Ok(Self { flows: flows.into_iter().enumerate().map(read).collect::<Result<_>>()? })
    }

    /// The flows for an interface with this MTU. `line` is the speed of the line in bits per second.
    ///
    /// # Errors
    /// What headers, sizes, rates and flows refuse, and more memory than [`FrameLimits::MOST_MEMORY`] for all flows. The error has
    /// the place of the flow.
    pub fn flow_set(self, defaults: &FlowDefaults, mtu: Mtu, line: Option<f64>) -> Result<FlowSet> {
        let mut limits = FrameLimits::from(mtu);
        let flow = |(index, (place, text)): (usize, (String, FlowText))| {
            let flow = text.planned(index, defaults, limits, line).map_err(|error| error.inside(&place))?;
            limits.memory -= flow.plan.memory();
            Ok(flow)
        };
        FlowSet::new(self.flows.into_iter().enumerate().map(flow).collect::<Result<_>>()?)
    }
}

impl FlowText {
    fn read(mut members: Map<String, Value>) -> Result<Self> {
        let payload = members.remove("payload").map(|payload| Payload::from_value(&payload)).transpose();
        let header =
            members.remove("header").ok_or_else(|| FrameError::at("", "is missing; state the headers"));
        let flow = Self {
            payload: payload.map_err(|error| error.inside("payload"))?.unwrap_or_default(),
            header: header
                .and_then(|header| HeaderStack::from_value(&header))
                .map_err(|error| error.inside("header"))?,
            name: member(&mut members, "name")?,
            size: member(&mut members, "size")?,
            rate: member(&mut members, "rate")?,
            burst: member(&mut members, "burst")?,
            poisson: member(&mut members, "poisson")?,
            count: member(&mut members, "count")?,
            seconds: member(&mut members, "seconds")?,
            delay_seconds: member(&mut members, "delay_seconds")?,
            trailer: member(&mut members, "trailer")?,
        };
        match members.keys().next() {
            None => Ok(flow),
            Some(name) => {
                Err(FrameError::at(name, "a flow has no such member; docs/packet-files.md lists them"))
            }
        }
    }

    fn planned(
        self,
        index: usize,
        defaults: &FlowDefaults,
        limits: FrameLimits,
        line: Option<f64>,
    ) -> Result<StackFlow> {
        let sizes = self.size.as_ref().map(|size| text_of(size).parse()).transpose();
        let sizes = sizes.map_err(|error: FrameError| error.inside("size"))?;
        let stream = match self.trailer {
            Some(false) => None,
            _ => Some(StreamId(u8::try_from(index).map_err(|_| {
                let reason = "only the first 256 flows can have a trailer; set trailer = false";
                FrameError::at("trailer", reason)
            })?)),
        };
        let sizes = sizes.unwrap_or_else(|| defaults.sizes.clone());
        let plan = StackPlan::new(self.header, sizes, &self.payload, stream, limits);
        let plan = plan.map_err(|error| error.of_flow("header"))?;
        let in_rate = |error: FrameError| error.inside("rate");
        let own = self.rate.as_ref().map(|rate| text_of(rate).parse()).transpose().map_err(in_rate)?;
        let (rate, burst, poisson) = match own {
            None => (defaults.rate, self.burst.or(defaults.burst), self.poisson.or(defaults.poisson)),
            own => (own, self.burst, self.poisson),
        };
        let rate = match rate {
            Some(AskedRate::Stated(rate)) => {
                Some(rate.of_frames(plan.sizes().mean_octets(), line).map_err(in_rate)?)
            }
            Some(AskedRate::Maximum) | None => None,
        };
        let schedule = match (rate, burst, poisson) {
            (Some(rate), None, None) => Schedule::Constant(rate),
            (Some(rate), Some(frames), None) => Schedule::Bursts { frames, rate },
            (Some(rate), None, Some(seed)) => Schedule::Poisson { rate, seed },
            (Some(_), ..) => return Err(FrameError::Schedule("burst and poisson exclude each other")),
            (None, None, None) => Schedule::Maximum,
            (None, ..) => return Err(FrameError::Schedule("burst and poisson need a mean rate; state one")),
        };
        Ok(StackFlow {
            name: self.name.unwrap_or_else(|| (index + 1).to_string()),
            plan: plan.into(),
            schedule,
            frames: self.count.or(defaults.frames),
            duration: self.seconds.map(|seconds| time("seconds", seconds)).transpose()?,
            delay: self.delay_seconds.map_or(Ok(Duration::ZERO), |seconds| time("delay_seconds", seconds))?,
        })
    }
}

/// Reads a member of a flow.
fn member<T: DeserializeOwned>(members: &mut Map<String, Value>, name: &str) -> Result<Option<T>> {
    let read = |value| serde_json::from_value(value).map_err(|error| FrameError::at(name, error.to_string()));
    members.remove(name).map(read).transpose()
}

fn time(member: &str, seconds: f64) -> Result<Duration> {
    let wrong = |_| FrameError::at(member, "must be a number from 0 on");
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// Sizes and rates are texts, or numbers that mean the same.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::write::WriteFrames;
    use crate::{MergedFlows, Pps, Stamp, TrialId, Turn};

    fn defaults() -> FlowDefaults {
        let sizes = "128".parse().unwrap();
        FlowDefaults { sizes, rate: None, burst: None, poisson: None, frames: Some(9) }
    }

    fn set(text: &str) -> Result<FlowSet> {
        let defaults = FlowDefaults { rate: Some("1k".parse().unwrap()), ..defaults() };
        PacketFile::from_toml(text)?.flow_set(&defaults, Mtu(1500), Some(1e9))
    }

    const HEADERS: &str = r#"
        [[header]]
        ethernet = { dst = "02:00:00:00:00:02" }
        [[header]]
        choice = "ipv4"
        ipv4 = { src = { increment = { start = "10.0.0.1", count = 4 } }, dst = "10.0.1.1" }
        [[header]]
        udp = { dst_port = [53, 123] }
    "#;

    #[test]
    fn a_file_of_headers_is_one_flow_of_the_command_line() {
        let set = set(HEADERS).unwrap();
        let [flow] = set.flows() else { panic!("one flow") };
        assert_eq!((flow.name.as_str(), flow.frames, flow.plan.stream()), ("1", Some(9), Some(StreamId(0))));
        assert_eq!(
            (flow.plan.stack().to_string().as_str(), flow.plan.asked().to_string().as_str()),
            ("ethernet/ipv4/udp", "128")
        );
        assert_eq!(flow.schedule, Schedule::Constant(Pps::new(1e3).unwrap()));
    }

    #[test]
    fn flows_state_what_is_theirs() {
        let headers = HEADERS.replace("[[header]]", "[[flow.header]]");
        let text = format!(
            "[[flow]]\nname = \"web\"\nsize = 64\nrate = \"10%\"\ncount = 5\n{headers}\n[[flow]]\nsize = \"imix\"\nrate = 2000\n\
             burst = 16\nseconds = 2.5\ndelay_seconds = 1\ntrailer = false\npayload = \"0a0b\"\n{headers}"
        );
        let set = set(&text).unwrap();
        let [web, second] = set.flows() else { panic!("two flows") };
        assert_eq!(
            (web.name.as_str(), web.frames, web.plan.sizes().largest().octets()),
            ("web", Some(5), 64)
        );
        assert_eq!(web.schedule.rate().unwrap().get().round(), 148_810.0);
        assert_eq!((second.name.as_str(), second.frames, second.plan.stream()), ("2", Some(9), None));
        assert_eq!(
            (second.duration, second.delay),
            (Some(Duration::from_millis(2500)), Duration::from_secs(1))
        );
        let bursts = Schedule::Bursts { frames: 16.try_into().unwrap(), rate: Pps::new(2e3).unwrap() };
        assert_eq!(second.schedule, bursts);
    }

    #[test]
    fn refusals_name_the_flow_and_the_place() {
        let headers = HEADERS.replace("[[header]]", "[[flow.header]]");
        for (text, expected) in [
            ("x = ", "line 1: "),
            ("", "header: is missing; state the headers"),
            ("flow = []", "flow: a file has tables [[flow]] and nothing else, or the content of one flow"),
            ("flow = [{}]\nsize = 64", "size: a file has tables [[flow]]"),
            ("flow = [7]", "flow[0]: must be a table"),
            ("header = [{}]\nmtu = 7", "mtu: a flow has no such member"),
            ("header = [{}]\nburst = 0", "burst: invalid value: integer `0`"),
            ("header = [{udp = {src = 1}}]", "header[0].udp.src: is not supported here; there are: src_port"),
            ("header = [{udp = {src_port = [1, 70000]}}]", "header[0].udp.src_port[1]: 70000 does not fit"),
            ("header = [{}, {udp = {}}]", "header[1].udp.checksum: needs the addresses of an ipv4"),
            ("header = [{vlan = {}}]", "header: the headers vlan have 4 octets"),
            ("size = 5\nheader = [{}]", "size: frame size 5 is not allowed"),
            ("size = 64\nheader = [{}, {ipv6 = {}}, {udp = {}}]", "size: frame size 64 is too small for"),
            ("size = 9000\nheader = [{}]", "size: frame size 9000 needs an MTU of 8982"),
            ("rate = \"fast\"\nheader = [{}]", "rate: 'fast' is not a rate"),
            ("rate = \"max\"\nburst = 2\nheader = [{}]", "burst and poisson need a mean rate; state one"),
            ("poisson = 1\nburst = 2\nheader = [{}]", "burst and poisson exclude each other"),
            ("seconds = -1\nheader = [{}]", "seconds: must be a number from 0 on"),
            ("payload = 7\nheader = [{}]", "payload: must be octets in hexadecimal"),
            (
                "payload = {fixed = {pattern = \"0\"}}\nheader = [{}]",
                "payload.fixed.pattern: must be octets in hexadecimal",
            ),
        ] {
            let error = set(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let second = format!("[[flow]]\n{headers}\n[[flow]]\n{}", headers.replace("10.0.1.1", "10.0.1"));
        let error = set(&second).unwrap_err().to_string();
        assert!(
            error.starts_with("flow[1].header[1].ipv4.dst: \"10.0.1\" is not an IPv4 address"),
            "{error}"
        );
        let second = format!("[[flow]]\n{headers}\n[[flow]]\nrate = \"max\"\n{headers}");
        assert_eq!(
            set(&second).unwrap_err().to_string(),
            "flow 2: state a rate for every flow of a sender, or for none"
        );
    }

    #[test]
    fn bursts_of_the_command_line_are_not_those_of_a_flow_with_a_rate() {
        let defaults =
            FlowDefaults { rate: Some("1k".parse().unwrap()), burst: NonZeroU32::new(4), ..defaults() };
        let text = "[[flow]]\nrate = 5\nheader = [{}]\n[[flow]]\nheader = [{}]";
        let set = PacketFile::from_toml(text).unwrap().flow_set(&defaults, Mtu(1500), None).unwrap();
        assert!(matches!(set.flows()[0].schedule, Schedule::Constant(_)));
        assert!(matches!(set.flows()[1].schedule, Schedule::Bursts { .. }));
    }

    const EXAMPLE: &str = include_str!("../../../examples/flows.toml");

    proptest! {
        /// Texts near a good one: most are refused, and all others give frames.
        #[test]
        fn no_text_makes_a_sender_panic(
            changes in prop::collection::vec((0..EXAMPLE.len(), 0..9_usize, "[0-9a-z\"={}\\[\\], .]{0,4}"), 1..4)
        ) {
            let mut text = EXAMPLE.to_owned();
            for (at, length, new) in changes {
                let at = at.min(text.len());
                text.replace_range(at..(at + length).min(text.len()), &new);
            }
            let Ok(set) = set(&text) else { return Ok(()) };
            let mut merged = MergedFlows::new(&set, Turn::EVERY);
            let stamp = Stamp { trial: TrialId(1), stream: StreamId(0), sequence: 0, planned_ns: 0 };
            let mut slot = [0; 2048];
            for _ in 0..50 {
                if merged.has_next() {
                    merged.write_next(&mut slot, stamp);
                }
            }
        }
    }
}
