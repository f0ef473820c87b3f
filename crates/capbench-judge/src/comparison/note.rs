//! What to know before the figures of a comparison, and in what the compared runs differ besides them.

use capbench_model::environment::HostFact;
use capbench_model::saved::{SavedMethod, SavedWork};
use serde::{Deserialize, Serialize};

/// One of the two compared runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum RunSide {
    /// The earlier run.
    A,
    /// The later run.
    B,
}

/// Something to know before the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ComparisonNote {
    /// The file of a run is not as capbench writes it.
    FileWarning {
        /// What its reader says of it, with the name of the run.
        text: String,
    },
    /// Work of one name was other work in the two runs.
    OtherWork {
        /// The work.
        work: SavedWork,
        /// Iterations of the wait loop for each frame in the earlier run.
        iterations_then: f64,
        /// The same in the later run.
        iterations_now: f64,
    },
    /// A run was not finished.
    Incomplete {
        /// Which run.
        run: RunSide,
    },
    /// A run was interrupted and went on later.
    Resumed {
        /// Which run.
        run: RunSide,
        /// Trials before the interruption.
        after_trials: u64,
        /// When it went on (RFC 3339, UTC).
        at: String,
    },
    /// Trials of a run are noisy.
    Noisy {
        /// Which run.
        run: RunSide,
        /// How many are.
        noisy_trials: u64,
        /// Trials of the run.
        all_trials: u64,
    },
    /// Trials of the compared runs of a dataset are noisy.
    NoisyRuns {
        /// How many are.
        noisy_trials: u64,
        /// Trials of the runs.
        all_trials: u64,
    },
    /// A run is a soak, whose segments are not compared.
    Soak {
        /// Which run.
        run: RunSide,
    },
    /// The host itself is faster or slower.
    HostSpeed {
        /// Time to verify a frame in the earlier run, in nanoseconds.
        verify_ns_then: f64,
        /// The same in the later run.
        verify_ns_now: f64,
    },
}

impl ComparisonNote {
    /// Whether it is about noise, which a caveat says with its cause.
    pub fn is_of_noise(&self) -> bool {
        matches!(self, Self::Noisy { .. } | Self::NoisyRuns { .. })
    }
}

/// Something other than the measured figures in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum RunsDifference {
    /// A fact about the host.
    Host {
        /// The fact.
        fact: HostFact,
        /// The earlier value.
        then: String,
        /// The later value.
        now: String,
    },
    /// A fact about trials of equal set-ups.
    Trials {
        /// The fact.
        fact: TrialFact,
        /// The methods; absent for one that may differ.
        methods: Vec<Option<SavedMethod>>,
        /// The earlier values; empty for an unknown one.
        then: Vec<String>,
        /// The later values; empty for an unknown one.
        now: Vec<String>,
    },
}

/// A fact about a trial that is not part of its set-up and must still be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialFact {
    /// What captured.
    Engine,
    /// Buffers and the source of time stamps.
    Capture,
    /// The generator as it ran.
    Generator,
    /// The CPUs.
    Cpus,
    /// The length of trials.
    Length,
    /// Whether the load is independent of the receiver.
    LoadIndependent,
}
