//! What a plan says of its agents before the first trial, as facts.

use std::time::Duration;

use capbench_model::generator::GeneratorFacts;

/// What is known of the agents and generators of a path.
#[derive(Clone, Debug)]
pub struct Description {
    /// Those that can be reached.
    pub ends: Vec<DescribedEnd>,
    /// Why others cannot be reached.
    pub absent: Vec<String>,
    /// What the ledger of a trial will leave unknown.
    pub unknown: Vec<UnknownLosses>,
}

/// An agent or a generator, and what it allows.
#[derive(Clone, Debug)]
pub struct DescribedEnd {
    /// Where it is.
    pub location: String,
    /// What it is.
    pub program: EndProgram,
    /// Capabilities that it lacks.
    pub missing_capabilities: Vec<String>,
    /// The highest rate that it allows, in frames per second.
    pub max_pps: Option<f64>,
    /// The longest trial that it allows.
    pub max_duration: Option<Duration>,
    /// Programs that it allows.
    pub programs: Vec<String>,
    /// Interfaces that its user calls isolated.
    pub isolated: Vec<String>,
    /// Why it leaves no report if its connection is lost.
    pub no_report_because: Option<String>,
}

/// What runs at an end of a path.
#[derive(Clone, Debug)]
pub enum EndProgram {
    /// An agent of capbench.
    Agent {
        /// Its version.
        version: String,
        /// Its kernel; `None` if unknown.
        kernel: Option<String>,
        /// Its interface, or why that cannot be used.
        interface: Result<DescribedInterface, String>,
    },
    /// A generator that the Open Traffic Generator API drives.
    Generator(GeneratorFacts),
}

/// The interface of an agent.
#[derive(Clone, Debug)]
pub struct DescribedInterface {
    /// Its driver; `None` if unknown.
    pub driver: Option<String>,
    /// Its speed; `None` if it has none.
    pub bits_per_second: Option<f64>,
    /// Its MTU.
    pub mtu: u32,
}

/// Losses that nobody will count.
#[derive(Clone, Debug)]
pub enum UnknownLosses {
    /// Those on the path: nobody counts what leaves a generator.
    UncountedSender {
        /// Where the generator is.
        location: String,
    },
    /// Those on the path: a driver is not known to count each frame.
    UnverifiedDriver {
        /// The driver; `None` if unknown.
        driver: Option<String>,
        /// Where its interface is.
        location: String,
    },
    /// Drops of a kernel by reason: an agent lacks CAP_BPF.
    DropReasons {
        /// Where the agent is.
        location: String,
    },
}

/// What the clocks allow to be known of one-way times, before a trial.
#[derive(Clone, Debug)]
pub enum OneWayTimes {
    /// They are exact: all ends read the clock of one kernel.
    OneClock,
    /// Nothing: frames have no send times.
    NoSendTimes {
        /// Where their generator is.
        location: String,
    },
    /// They are relative: a clock is not synchronised.
    Unsynchronised {
        /// Where it is.
        location: String,
        /// What its time service says.
        reason: String,
    },
    /// They have this error, if exchanges around a trial agree.
    WithinError(Duration),
}
