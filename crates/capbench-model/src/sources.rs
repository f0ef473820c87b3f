//! Where a count of the ledger comes from, or why there is none. capbench-report makes the words.
//!
//! To add one: a variant here, its words in `capbench-report/src/sentences/sources.rs`.

mod card;

use serde::{Deserialize, Serialize};

use crate::counters::LossSource;
use crate::traced_losses::{LossesByReason, TracedCount, TracedXdp};
use crate::work::QueueLength;
use capbench_sys::host::CpuId;
pub use card::{BlindCard, CardCount, CardCounter, CardCounters, CountedFrames, LinkSource, PathSource};

/// Where a count of the ledger comes from, or why there is none. It belongs to one place of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A counter of the method, or why it has none.
    Method(LossSource),
    /// The method does not have the place.
    NotInMethod,
    /// The method has the place and does not report it.
    MethodReportsNone,
    /// Intended frames less those passed to the kernel.
    Generator,
    /// Counters of the sending interface.
    Transmit(TransmitSource),
    /// Frames pass no queue in front of a veth's NAPI poll.
    NoLinkQueue,
    /// `tx_dropped` and `tx_errors` of the sender: frames that the queue in front of a veth's NAPI poll refused.
    LinkQueue {
        /// Frames more that were still in it at the end, computed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<u64>,
    },
    /// The path between the interfaces.
    Path(PathSource),
    /// The receiving card, if not by its counters alone.
    Link(LinkSource),
    /// Counters of the receiving card or its driver.
    Card(CardCounters),
    /// A veth has no other queue.
    VethHasNoQueue,
    /// `rx_dropped` also counts frames that were captured.
    ReceiveDropsHaveCaptured,
    /// The backlogs of the kernel.
    Backlog(BacklogSource),
    /// XDP in front of the method.
    Xdp(TracedXdp),
    /// The same, as both count a part: the driver, and the tracer behind it.
    CardAndXdp {
        /// Counters of the driver.
        card: CardCounters,
        /// What the tracer saw.
        xdp: TracedXdp,
    },
    /// What the tracer saw in the network stack.
    Stack(TracedCount),
    /// The tracer of drop reasons did not run.
    NotTraced {
        /// Why; absent if nobody wanted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// The socket filter.
    Filter(FilterSource),
    /// The application has no queue.
    NoQueue,
    /// Frames that the application's queue had no room for, or still had.
    Queue {
        /// Its capacity in frames.
        length: QueueLength,
        /// Frames that it had no room for.
        refused: u64,
        /// Frames that were still in it at the end.
        left: u64,
    },
    /// Frames that the application did not read.
    Unread(UnreadSource),
    /// Verification of every frame.
    Verification,
    /// Frames were not verified.
    Unverified {
        /// Why.
        because: String,
    },
}

/// What the counters of the sending interface count, and what they miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransmitSource {
    /// Which counters.
    pub counters: TransmitCounters,
    /// Losses in front of the counters; absent if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeCounters>,
    /// Drops at an unknown place, which do not count.
    #[serde(default, skip_serializing_if = "LossesByReason::is_empty")]
    pub unplaced: LossesByReason,
}

/// Counters of the sending interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransmitCounters {
    /// `tx_dropped` and `tx_errors`.
    LinkStatistics,
    /// The same, less what the backlog at the far end refused.
    LessBacklog,
    /// None: a veth refuses only what the queue at its far end has no room for.
    FarQueueOnly,
}

/// Losses in front of the counters of the sending interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeforeCounters {
    /// The tracer saw them.
    Traced(LossesByReason),
    /// The kernel reported them to the generator (`ENOBUFS`).
    Refused(u64),
}

/// Where the count of the backlogs comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BacklogSource {
    /// How the trial's part of the host's drops is known.
    pub part: BacklogPart,
    /// The CPUs of the host whose backlogs dropped, frames of the trial or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<BacklogOfCpu>,
}

/// What the backlog of a CPU dropped, frames of the trial or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BacklogOfCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// Its drops.
    pub dropped: u64,
}

/// How the trial's part of what the backlogs of the host dropped is known (`dropped` of /proc/net/softnet_stat).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BacklogPart {
    /// Frames pass no backlog.
    NoBacklog,
    /// As far as `rx_dropped` of the receiver, without its driver's part, confirms it.
    ReceiverWithoutDriver,
    /// As far as `rx_dropped` of the receiver exceeds `tx_dropped` of the sender.
    ReceiverBeyondSender,
    /// As far as `rx_dropped` of the receiver confirms it.
    Receiver,
    /// As far as `tx_dropped` of the sender confirms it.
    Sender,
    /// Unknown: /proc/net/softnet_stat could not be read.
    Unreadable,
    /// Unknown: there are no link statistics.
    NoLinkStatistics,
}

/// How it is known what a socket filter dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterSource {
    /// No filter drops frames of the trial.
    NoFilter,
    /// `rx_packets` of the receiver less what backlog, XDP and stack lost and the socket accepted.
    Difference,
    /// The same. The tracer did not see all that backlog, XDP and stack lost: the rest is in the count.
    DifferenceInDoubt,
    /// The same without the stack: without a tracer its losses are in the count.
    DifferenceWithStack,
    /// The kernel does not count what a filter drops.
    Unknown,
}

/// How it is known which frames the application did not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnreadSource {
    /// The trial went on until every frame was accounted for, or none came any more.
    Drained,
    /// Frames in the sockets and rings of a program when it had ended.
    SocketsOfProgram,
    /// What the method accepted, less its losses and the frames read.
    Difference,
    /// Unknown: the trial was cut short, and the method does not report what it accepted or lost.
    CutShort,
    /// Unknown: the sockets of a program cannot be read.
    SocketsUnknown(SocketsUnknown),
}

/// Why it is unknown what is in the sockets of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketsUnknown {
    /// It captures by another way than a packet socket on the interface.
    NoPacketSocket,
    /// Its packet socket is open in none of its processes that can be seen.
    NotVisible,
    /// They cannot be read.
    Unreadable {
        /// The message of the error.
        error: String,
    },
}
