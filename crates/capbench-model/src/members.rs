//! Several threads of one method that share the frames of an interface, measured together.

use std::num::NonZeroU16;
use std::str::FromStr;

pub use capbench_sys::packet::FanoutMode;
pub use capbench_sys::packet::fanout::MOST_MEMBERS;
use serde::{Deserialize, Serialize};

use crate::method_spec::{MethodSpec, Setting};
use crate::places::Place;

/// How many members a method has, and which of them gets a frame: the settings `members` and `fanout` of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Their number.
    pub count: NonZeroU16,
    /// How the member for a frame is chosen.
    pub mode: FanoutMode,
}

impl Members {
    /// The setting with their number.
    pub const COUNT: &'static str = "members";
    /// The setting with the mode.
    pub const FANOUT: &'static str = "fanout";

    /// Takes its settings out of a method's name. `None`: the method has one thread, and no group.
    ///
    /// # Errors
    /// A number or a mode that there is not, or a mode without a number.
    pub fn take_from(spec: &mut MethodSpec) -> Result<Option<Self>, String> {
        let taken =
            spec.split_settings(|setting| [Self::COUNT, Self::FANOUT].contains(&setting.name.as_str()));
        let value = |name: &str| taken.iter().rfind(|setting| setting.name == name).map(value);
        let mode = value(Self::FANOUT).map(FanoutMode::from_str).transpose()?;
        match (value(Self::COUNT), mode) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(format!("+{} needs +{}=N", Self::FANOUT, Self::COUNT)),
            (Some(count), mode) => {
                Ok(Some(Self { count: members(count)?, mode: mode.unwrap_or(spec.usual_fanout()) }))
            }
        }
    }

    /// The method with these members, by its name: unless it has its own there.
    #[must_use]
    pub fn given_to(spec: &MethodSpec, count: NonZeroU16, mode: Option<FanoutMode>) -> MethodSpec {
        if spec.has(Self::COUNT) {
            return spec.clone();
        }
        let with = spec.with_value(Self::COUNT, Some(count.to_string()));
        match mode.filter(|mode| *mode != spec.usual_fanout() && !spec.has(Self::FANOUT)) {
            Some(mode) => with.with_value(Self::FANOUT, Some(mode.to_string())),
            None => with,
        }
    }

    /// How many threads a method has by its name: 1 without the setting, and with one that cannot be read.
    pub fn count_of(spec: &MethodSpec) -> u16 {
        spec.value(Self::COUNT).and_then(|count| members(count).ok()).map_or(1, NonZeroU16::get)
    }
}

fn value(setting: &Setting) -> &str {
    setting.value.as_deref().unwrap_or_default()
}

/// The number of members in a user's text.
///
/// # Errors
/// It is no number, or no number of members that a group can have.
pub fn members(text: &str) -> Result<NonZeroU16, String> {
    let refuse = || format!("\"{text}\" members: a fanout group has 1 to {MOST_MEMBERS}");
    let count: NonZeroU16 = text.parse().map_err(|_| refuse())?;
    if usize::from(count.get()) <= MOST_MEMBERS { Ok(count) } else { Err(refuse()) }
}

/// What one member of a trial did: the ledger of its socket, and its time. What reached its socket is what it read, and what its
/// socket lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Member {
    /// Its CPU.
    pub cpu: u32,
    /// Frames that reached its socket, those that were lost there included; absent if the method does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
    /// Frames that its own ring or queue lost, by place; absent if the method does not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<MemberLoss>,
    /// All frames that it read.
    pub read: u64,
    /// Frames of the trial among them, intact, that it read first.
    pub delivered: u64,
    /// Frames of the trial that it read after a later one of their stream.
    pub reordered: u64,
    /// CPU time of its thread in nanoseconds.
    pub cpu_ns: u64,
}

/// Frames that a member lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemberLoss {
    /// The place.
    pub place: Place,
    /// Number of frames; absent if the method does not report it.
    pub frames: Option<u64>,
}

impl Member {
    /// Frames that its socket lost; `None` if unknown.
    pub fn lost(&self) -> Option<u64> {
        let known: Option<u64> = self.lost.iter().map(|loss| loss.frames).sum();
        known.filter(|_| !self.lost.is_empty())
    }

    /// Frames that came to its socket, as far as known.
    pub fn arrived(&self) -> u64 {
        self.read + self.lost().unwrap_or(0)
    }
}

/// Whether the frames of a flow stay together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlowSharing {
    /// Flows of which frames came.
    pub flows: u32,
    /// Flows whose frames came to more than one member. 0 if the fanout keeps flows together.
    pub split: u32,
    /// Frames of these flows that did not come to the member that got most of the flow.
    pub split_frames: u64,
}

/// By how much the member with most frames exceeds an equal share: 0 if all got as many. What a socket lost counts as its share.
/// `None` without frames.
pub fn imbalance(members: &[Member]) -> Option<f64> {
    let shares = || members.iter().map(|member| member.arrived() as f64);
    let (sum, most) = (shares().sum::<f64>(), shares().fold(0.0, f64::max));
    (sum > 0.0).then(|| most * members.len() as f64 / sum - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Result<Option<(u16, FanoutMode)>, String> {
        let mut spec: MethodSpec = text.parse().unwrap();
        Members::take_from(&mut spec)
            .map(|members| members.map(|members| (members.count.get(), members.mode)))
    }

    #[test]
    fn members_are_settings_of_a_methods_name() {
        assert_eq!(taken("packet-v3+spin"), Ok(None));
        assert_eq!(taken("packet-v3+members=4"), Ok(Some((4, FanoutMode::Hash))));
        assert_eq!(taken("af-xdp+generic+members=4"), Ok(Some((4, FanoutMode::Queue))));
        assert_eq!(taken("packet-v3+fanout=cpu+spin+members=2"), Ok(Some((2, FanoutMode::Cpu))));
        for (text, said) in [
            ("recv+members=0", "1 to 256"),
            ("recv+members=257", "1 to 256"),
            ("recv+members", "1 to 256"),
            ("recv+members=2+fanout=dice", "hash, cpu, queue, lb, rollover and bpf"),
            ("recv+fanout=lb", "needs +members=N"),
        ] {
            assert!(taken(text).is_err_and(|error| error.contains(said)), "{text}");
        }
        let count = |text: &str| Members::count_of(&text.parse().unwrap());
        assert_eq!((count("recv+members=7"), count("recv"), count("recv+members=x")), (7, 1, 1));
    }

    #[test]
    fn a_method_is_given_members_unless_it_has_its_own() {
        let given = |text: &str, mode| {
            Members::given_to(&text.parse().unwrap(), NonZeroU16::new(4).unwrap(), mode).to_string()
        };
        assert_eq!(given("recv", None), "recv+members=4");
        assert_eq!(given("recv", Some(FanoutMode::Hash)), "recv+members=4", "the usual mode");
        assert_eq!(given("af-xdp", Some(FanoutMode::Hash)), "af-xdp+members=4+fanout=hash");
        assert_eq!(given("af-xdp", Some(FanoutMode::Queue)), "af-xdp+members=4");
        assert_eq!(given("recv+fanout=lb", Some(FanoutMode::Cpu)), "recv+fanout=lb+members=4");
        assert_eq!(given("recv+members=2", Some(FanoutMode::Cpu)), "recv+members=2");
    }

    #[test]
    fn the_largest_share_is_compared_with_an_equal_one() {
        let member = |read, lost| Member {
            read,
            lost: vec![MemberLoss { place: Place::Ring, frames: lost }],
            ..Member::default()
        };
        assert_eq!(imbalance(&[member(50, Some(50)), member(100, Some(0))]), Some(0.0));
        assert_eq!(imbalance(&[member(300, None), member(100, Some(0))]), Some(0.5));
        assert_eq!(imbalance(&[]), None);
    }
}
