//! What a run states about itself: how its path was made, and what was measured otherwise than asked. capbench-report makes the
//! words.

use serde::{Deserialize, Serialize};

use crate::placement::CpuTasks;
use crate::saved::{SavedMethod, SavedPlacement};
use crate::trial::SizeLabel;

/// A statement of a run about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Statement {
    /// What a command says of its plan; or the text of a file of an earlier version.
    Text {
        /// The text.
        text: String,
    },
    /// The run was interrupted and went on later.
    Resumed {
        /// Trials before the interruption.
        after_trials: u64,
        /// When it went on (RFC 3339, UTC).
        at: String,
    },
    /// A bench left something out to end in time.
    NotMeasured(LeftOutOfBench),
    /// The link is a veth pair.
    VirtualLink,
    /// No network was used.
    SimulatedPath,
    /// Which CPUs do what in a placement.
    Placement {
        /// The placement.
        placement: SavedPlacement,
        /// Whether the driver or a method's name decides how the kernel's receive work reaches its CPU.
        is_decided_elsewhere: bool,
        /// What each CPU does.
        cpus: CpuTasks,
        /// What moves the kernel's receive work to its CPU; absent if nothing was set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set_by: Option<KernelWorkSetting>,
    },
    /// Which CPUs several threads of the generator use.
    GeneratorThreads {
        /// What each CPU does.
        cpus: CpuTasks,
    },
    /// A method has more threads than CPUs.
    MembersShareCpus {
        /// The method.
        method: SavedMethod,
        /// The CPUs.
        cpus: u32,
    },
    /// What the tracer sees.
    Traced(Traced),
    /// There is no tracer.
    NotTraced {
        /// Why.
        because: String,
    },
    /// What guards did with disturbed trials and overloads.
    Guards(GuardCounts),
    /// The run went on without a generator.
    GeneratorAbsent {
        /// The message of the error.
        error: String,
    },
    /// An agent is of another build than the controller.
    OtherBuild {
        /// Where the agent is.
        location: String,
    },
    /// What the check of the cable found.
    CableCheck(CableCheck),
    /// Which agents counted.
    CountedByAgents {
        /// Where the senders are.
        senders: String,
        /// Where the receiver is.
        receiver: String,
    },
    /// What a generator sent is its own count.
    SentUnverified {
        /// Where the generator is.
        location: String,
    },
    /// The threads of an agent may run on CPUs that are measured.
    AgentThreadsNotMoved {
        /// The message of the error.
        error: String,
    },
    /// The trials measure every CPU that an agent may use, so the agent's threads run there, too.
    AgentThreadsOnMeasuredCpus,
    /// Interrupts of the connection to an agent may go to CPUs that are measured.
    ConnectionInterruptsUnknown {
        /// Why it is unknown.
        because: String,
    },
    /// Interrupts of the connection to an agent go to CPUs that are measured.
    ConnectionInterruptsOnMeasuredCpus {
        /// The interface of the connection.
        interface: String,
        /// The CPUs.
        cpus: Vec<u32>,
    },
    /// A statement of an agent.
    OfAgent {
        /// Where the agent is.
        location: String,
        /// The statement.
        statement: Box<Self>,
    },
}

/// What moves the kernel's receive work to its CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelWorkSetting {
    /// The settings.
    pub by: String,
    /// The CPUs that the kernel states afterwards; empty if it states none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_back: Vec<u32>,
}

/// What a bench left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOutOfBench {
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
    /// Which part of the set-up.
    pub part: PartOfBench,
}

/// A part of what a bench measures of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartOfBench {
    /// Some of its trials, and so its searches.
    Trials,
    /// Some of its searches.
    Searches,
    /// All of it.
    Everything,
}

/// What the tracer sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Traced {
    /// Which drops.
    pub drops: TracedDrops,
    /// Which frames count as dropped behind the capture point.
    pub frame_ends: FrameEnds,
    /// Why it does not time the receive softirq; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_softirqs_because: Option<String>,
    /// What it costs.
    pub cost: TracedCost,
}

/// Which drops the tracer sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum TracedDrops {
    /// None.
    None {
        /// Why.
        because: String,
    },
    /// Those with the kernel's reasons.
    ByReason,
    /// Those by the kernel's functions: the kernel has no reasons.
    ByFunction,
}

/// Which frames count as dropped behind the capture point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum FrameEnds {
    /// Those of tc do not.
    Consumed,
    /// All that the network stack does not need: nothing consumes them.
    Dropped,
    /// The same: tc cannot consume them.
    NotConsumed {
        /// Why.
        because: String,
    },
}

/// What the tracer itself costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum TracedCost {
    /// It was measured.
    Measured {
        /// The times for each event, in the words of the tracer.
        times: String,
    },
    /// It could not be measured.
    Unknown {
        /// Why.
        because: String,
    },
    /// It has not been measured yet.
    NotMeasured,
}

/// What guards did, and what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardCounts {
    /// Discarded attempts.
    pub repeats: u32,
    /// Most attempts of a trial that are discarded.
    pub most_repeats: u32,
    /// Share of the trials' time that repeats may add.
    pub repeat_ratio: f64,
    /// Probes after overloads.
    pub probes: u32,
    /// Most probes after an overload.
    pub most_probes: u32,
}

/// What the check of the cable found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CableCheck {
    /// Generators that sent.
    pub generators: u32,
    /// Their frames.
    pub sent: u64,
    /// Frames that the receiving interface lost in itself.
    pub lost: u64,
    /// Frames of other senders.
    pub foreign: u64,
    /// Pause frames on all interfaces.
    pub pauses: u64,
}

impl Statement {
    /// The statement that a file of an earlier version has as text.
    pub fn from_earlier(text: &str) -> Self {
        let known = resumed(text).or_else(|| not_measured(text));
        known.unwrap_or_else(|| Self::Text { text: text.into() })
    }
}

/// "interrupted after N trials and gone on with at TIME"
fn resumed(text: &str) -> Option<Statement> {
    let (count, rest) = text.strip_prefix("interrupted after ")?.split_once(' ')?;
    let (_, at) = rest.rsplit_once(" at ")?;
    Some(Statement::Resumed { after_trials: count.parse().ok()?, at: at.into() })
}

/// "not measured: SIZE B, placement NAME: PART"
fn not_measured(text: &str) -> Option<Statement> {
    let (set_up, part) = text.strip_prefix("not measured: ")?.rsplit_once(": ")?;
    let (size, placement) = set_up.split_once(" B, placement ")?;
    let frame_size = match size.parse() {
        Ok(octets) => SizeLabel::Octets(octets),
        Err(_) => SizeLabel::Named(size.into()),
    };
    let part = if part.contains("searches") {
        PartOfBench::Searches
    } else if part.contains("trials") {
        PartOfBench::Trials
    } else {
        PartOfBench::Everything
    };
    Some(Statement::NotMeasured(LeftOutOfBench { frame_size, placement: placement.into(), part }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_earlier_versions_that_judgement_needs_are_read() {
        let read = Statement::from_earlier;
        assert_eq!(
            read("interrupted after 3 trials and gone on with at 2026-01-02T03:04:05Z"),
            Statement::Resumed { after_trials: 3, at: "2026-01-02T03:04:05Z".into() }
        );
        let left_out = |frame_size, part| {
            Statement::NotMeasured(LeftOutOfBench { frame_size, placement: "same".into(), part })
        };
        assert_eq!(
            read("not measured: 64 B, placement same: some of its searches, to end in time"),
            left_out(SizeLabel::Octets(64), PartOfBench::Searches)
        );
        assert_eq!(
            read("not measured: imix B, placement same: some of its trials, to end in time"),
            left_out(SizeLabel::Named("imix".into()), PartOfBench::Trials)
        );
        assert_eq!(
            read("not measured: 64 B, placement same: no time was left"),
            left_out(SizeLabel::Octets(64), PartOfBench::Everything)
        );
        assert_eq!(read("a veth was made"), Statement::Text { text: "a veth was made".into() });
    }
}
