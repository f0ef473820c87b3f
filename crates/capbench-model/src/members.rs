//! Several threads of one method that share the frames of an interface, measured together.

use std::num::NonZeroU16;

pub use capbench_sys::packet::FanoutMode;
pub use capbench_sys::packet::fanout::MOST_MEMBERS;
use serde::{Deserialize, Serialize};

pub use crate::method_spec::members;
use crate::method_spec::{FANOUT, MEMBERS, MethodSpec};
use crate::places::Place;

/// How many members a method has, and which of them gets a frame: the settings `members` and `fanout` of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Their number.
    pub count: NonZeroU16,
    /// How the member for a frame is chosen.
    pub mode: FanoutMode,
}

/// A setting of a method with members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembersSetting {
    /// Their number.
    Count,
    /// How the member for a frame is chosen.
    Fanout,
}

impl MembersSetting {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Count, Self::Fanout];

    /// Its name, after the plus sign.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => MEMBERS,
            Self::Fanout => FANOUT,
        }
    }
}

impl Members {
    /// The group of a method. `None`: the method has one thread.
    ///
    /// # Errors
    /// A mode without a number.
    pub fn of_method(spec: &MethodSpec) -> Result<Option<Self>, String> {
        match (spec.member_count(), spec.fanout()) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(format!("+{FANOUT} needs +{MEMBERS}=N")),
            (Some(count), mode) => Ok(Some(Self { count, mode: mode.unwrap_or(spec.usual_fanout()) })),
        }
    }

    /// The method with these members, unless it has its own.
    #[must_use]
    pub fn given_to(spec: &MethodSpec, count: NonZeroU16, mode: Option<FanoutMode>) -> MethodSpec {
        if spec.member_count().is_some() {
            return spec.clone();
        }
        let with = spec.with_members(Some(count));
        match mode {
            Some(mode) if mode != spec.usual_fanout() && spec.fanout().is_none() => {
                with.with_fanout(Some(mode))
            }
            _ => with,
        }
    }

    /// How many threads a method has: 1 without the setting.
    pub fn count_of(spec: &MethodSpec) -> u16 {
        spec.member_count().map_or(1, NonZeroU16::get)
    }
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

    fn group(text: &str) -> Result<Option<(u16, FanoutMode)>, String> {
        let group = Members::of_method(&text.parse()?)?;
        Ok(group.map(|members| (members.count.get(), members.mode)))
    }

    #[test]
    fn members_are_settings_of_a_methods_name() {
        assert_eq!(group("packet-v3+spin"), Ok(None));
        assert_eq!(group("packet-v3+members=4"), Ok(Some((4, FanoutMode::Hash))));
        assert_eq!(group("af-xdp+generic+members=4"), Ok(Some((4, FanoutMode::Queue))));
        assert_eq!(group("packet-v3+fanout=cpu+spin+members=2"), Ok(Some((2, FanoutMode::Cpu))));
        for (text, said) in [
            ("recv+members=0", "1 to 256"),
            ("recv+members=257", "1 to 256"),
            ("recv+members", "1 to 256"),
            ("recv+members=2+fanout=dice", "hash, cpu, queue, lb, rollover and bpf"),
            ("recv+fanout=lb", "needs +members=N"),
        ] {
            assert!(group(text).is_err_and(|error| error.contains(said)), "{text}");
        }
        let count = |text: &str| Members::count_of(&text.parse().unwrap());
        assert_eq!((count("recv+members=7"), count("recv")), (7, 1));
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
