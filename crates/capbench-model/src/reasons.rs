//! Reasons why a trial shows less than it should. Results files have their messages.

use std::time::Duration;

use crate::figures::grouped;

/// Why a trial is no evidence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// No frame was sent.
    #[error("nothing was sent")]
    NothingSent,
    /// More frames were delivered than sent.
    #[error("{delivered} frames were delivered of {sent} sent (negative loss)")]
    MoreDelivered {
        /// Delivered frames.
        delivered: u64,
        /// Sent frames.
        sent: u64,
    },
    /// The ledger has more frames than were sent.
    #[error("{excess} frames more were delivered and booked as lost than the {sent} sent (negative loss)")]
    MoreBooked {
        /// Frames too many.
        excess: u64,
        /// Sent frames.
        sent: u64,
    },
    /// A contradiction that an early version did not name.
    #[error("its account contradicts itself")]
    Contradiction,
    /// More frames arrived than the link carries.
    #[error(
        "{claimed} frames in {seconds:.4} s are more than the link carries ({} packets/s of this size, and {under_way} that may be \
         on their way)",
        grouped(*line_pps)
    )]
    MoreThanTheLinkCarries {
        /// Frames that were delivered, or sent past the kernel.
        claimed: u64,
        /// The time that they took.
        seconds: f64,
        /// The rate of the link in frames per second.
        line_pps: f64,
        /// Frames that may be between the interfaces.
        under_way: u64,
    },
    /// The path had not recovered from an overload.
    #[error(
        "the path had not recovered from the overload of trial {after}: {probes} probes at low load were not clean"
    )]
    NotRecovered {
        /// The trial that overloaded the path.
        after: u32,
        /// Probes after it.
        probes: usize,
    },
    /// A generator ended while it sent.
    #[error("a generator ended while it sent: {0}")]
    GeneratorEnded(String),
    /// The connection to a generator was lost.
    #[error("{0}: the connection was lost while frames were sent")]
    ConnectionLost(String),
    /// Nothing is known of the trial.
    #[error("the account was lost, and so nothing is counted: {0}")]
    AccountLost(String),
}

/// Why frames or counts are as a method, program or generator states them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// A program writes no file.
    #[error("it only counts frames: they are as it says, and what they contained is unknown")]
    ProgramCounts,
    /// A method counts in the kernel.
    #[error("its frames were counted in the kernel, their contents not verified")]
    CountedInKernel,
    /// A generator counts what it sent.
    #[error("frames_tx of {0} is the generator's own count")]
    GeneratorCounts(String),
}

/// Why delays of frames are unknown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoDelays {
    /// The frames have no time of the kernel.
    #[error("the method gives no time stamps of the kernel (time: {0})")]
    NoKernelStamps(String),
    /// The clock of the time stamps was set.
    #[error(
        "the host's clock, which time stamps are taken from, was set during the trial, by {0:?} in the end; keep what sets it \
         (NTP, chrony) from stepping it"
    )]
    StampClockSet(Duration),
    /// Frames without a time stamp.
    #[error("{0} frames came without a time stamp")]
    Unstamped(u64),
    /// Frames came too early.
    #[error("{0} frames came before the trial's start was known")]
    BeforeStart(u64),
    /// No frame was recorded.
    #[error("no frame was recorded")]
    NothingRecorded,
    /// The work queue does not record times.
    #[error("frames go through a work queue, and when its other end gets them is not recorded")]
    WorkQueue,
    /// A program captures.
    #[error("when a program got a frame is not known: it is seen in its file only")]
    Program,
    /// The generator's start is unknown.
    #[error("when the generator began is unknown")]
    StartUnknown,
    /// The sender's clock was set.
    #[error("the sender's clock was set during the trial, by {0:?}")]
    SenderClockSet(Duration),
    /// The receiver's clock was set.
    #[error("the receiver's clock was set during the trial, by {0:?}")]
    ReceiverClockSet(Duration),
    /// The stated errors of two clocks are wrong.
    #[error(
        "the hosts state that their clocks differ by up to {stated:?}, and an exchange {when} the trial shows {}{offset:?} ± \
         {error:?}: a stated error is wrong",
        if *is_behind { "-" } else { "" }
    )]
    StatedErrorWrong {
        /// What the hosts state.
        stated: Duration,
        /// Before or after the trial.
        when: &'static str,
        /// The difference of the clocks.
        offset: Duration,
        /// Whether the receiver's clock is behind.
        is_behind: bool,
        /// The error of the difference.
        error: Duration,
    },
    /// No network was used.
    #[error("a simulated path stamps no frames")]
    Simulated,
    /// A clock was set while it was compared.
    #[error("it was set while it was compared")]
    SetWhileCompared,
}
