//! Reasons for care with the numbers of a trial: what the host, the path, the method or a program did.
//!
//! A reason is a fact; capbench-report makes its words. Results files have both. Numbers that differ from trial to trial are in
//! `disturbance` and `counters` of the trial, so that equal reasons of several trials are counted together.

use serde::{Deserialize, Deserializer, Serialize};

/// A reason for care with a trial, in the order in which reports list them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Noise {
    /// Generators took no part in the trial, as the user allows.
    GeneratorsAbsent {
        /// How many took no part.
        absent: u32,
        /// How many the run has.
        all: u32,
        /// The messages of their errors.
        reasons: Vec<String>,
    },
    /// Another CPU than the placement's received packets of the trial or of the host.
    KernelElsewhere,
    /// Frames were left in the transmit ring when the trial ended.
    LeftInTransmitRing,
    /// The application's time includes receive work of the kernel.
    KernelWorkInApplicationTime,
    /// The generators began at different times.
    UnevenStart,
    /// A CPU ran slower than its best, in files of versions that did not measure why: it shares its core, or its clock was lowered.
    SlowCpu,
    /// A CPU ran slower than its best because another guest or hardware thread used its core.
    SharedCore,
    /// A CPU ran slower than its best because its clock was lowered.
    LoweredClock,
    /// A CPU stalled for longer than the backlog lasts.
    Stall,
    /// Other work ran on the trial's CPUs.
    ForeignLoad,
    /// Other work kept the CPU busy that the application and the kernel share, so the cost is unknown.
    ForeignLoadOnSharedCpu,
    /// Pause frames made a sender wait.
    Paused {
        /// The counters that show it.
        counters: Vec<String>,
    },
    /// The host was suspended.
    Suspend,
    /// The host's clock ran at another speed than its hardware.
    ClockSpeed,
    /// The host's clock was set.
    ClockSet,
    /// The hypervisor kept back or dropped packets, of the trial or of the host.
    KeptBack {
        /// How many packets.
        packets: u64,
        /// The card's counter of them.
        counter: String,
    },
    /// The hypervisor took CPU time away (steal).
    Steal,
    /// The CPU quota of a control group stopped capbench.
    Throttled,
    /// The kernel kept receive softirqs from the tracer.
    MissedByTracer,
    /// The connection to a generator was lost after sending.
    ConnectionLost {
        /// Where the generator is.
        location: String,
    },
    /// The port of a generator sent frames that do not belong to the trial.
    ForeignFramesSent {
        /// Where the generator is.
        location: String,
        /// How many frames.
        frames: u64,
    },
    /// A generator reported a warning.
    GeneratorWarning {
        /// Where the generator is.
        location: String,
        /// Its words.
        warning: String,
    },
    /// What a program under test did.
    Program {
        /// The program.
        program: String,
        /// What it did.
        #[serde(flatten)]
        note: ProgramNote,
    },
    /// The capture method does not run as the user asked.
    Shortfall {
        /// The method's words.
        words: String,
    },
    /// A discarded attempt was invalid.
    Invalid {
        /// Why.
        because: String,
    },
    /// A reason of an earlier version, which stated it as text.
    Earlier {
        /// The text.
        text: String,
        /// The reason of this version that means the same; absent if none does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<Box<Self>>,
    },
}

/// What a program under test did, besides capturing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum ProgramNote {
    /// It does not have an option that the user set.
    IgnoresOption {
        /// The option.
        flag: String,
    },
    /// It was still busy when the longest drain was over.
    StillBusy {
        /// The longest drain.
        drain_ns: u64,
    },
    /// A signal did not stop it.
    StoppedLate {
        /// The signal.
        signal: String,
        /// How long it was waited for.
        waited_ns: u64,
    },
    /// It did not end as stopped programs do.
    UnusualEnd {
        /// Its exit status or signal.
        status: String,
    },
    /// It left processes behind, which were killed.
    LeftProcesses {
        /// How many.
        processes: u64,
    },
    /// It did not report counts.
    NotReported {
        /// The names of the counts.
        counts: Vec<String>,
        /// The end of its output.
        output: String,
    },
    /// It reports another number of captured frames than its file has.
    CapturedUnlikeFile {
        /// Captured frames that it reports.
        captured: u64,
        /// Frames in its file.
        in_file: u64,
    },
    /// It reports more dropped frames than received ones, or their difference is not what it captured.
    DroppedUnlikeReceived {
        /// Received frames that it reports.
        received: u64,
        /// Dropped frames that it reports.
        dropped: u64,
        /// What their difference contradicts; absent if it is below 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        against: Option<CountOfProgram>,
    },
    /// It reports more frames than there were.
    MoreThanThereWere {
        /// Frames that reached it, as it reports.
        received: u64,
        /// Upper bound.
        at_most: u64,
    },
    /// The last record of its file is not whole.
    LastRecordCut,
    /// It does not account for the last frames.
    MissingAtEnd {
        /// How many, or more.
        frames: u64,
        /// Whether its file lacks them.
        in_file: bool,
        /// How long it was waited for further frames.
        waited_ns: u64,
    },
}

/// Frames that a program captured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CountOfProgram {
    /// As it reports them.
    Captured(u64),
    /// Those in its file.
    InFile(u64),
}

/// Texts of earlier versions, by a part of them, with the reason of this version; the first that fits.
const EARLIER: [(&str, Noise); 9] = [
    ("slower than", Noise::SlowCpu),
    ("from the tracer", Noise::MissedByTracer),
    ("steal", Noise::Steal),
    ("foreign load", Noise::ForeignLoad),
    ("stood still", Noise::Stall),
    ("stalled", Noise::Stall),
    ("clock", Noise::ClockSet),
    ("suspended", Noise::Suspend),
    ("CPU chosen", Noise::KernelElsewhere),
];

impl Noise {
    /// The reason that a file of an earlier version states as text.
    pub fn from_earlier(text: &str) -> Self {
        let mut same_as = None;
        for (part, noise) in EARLIER {
            if same_as.is_none() && text.contains(part) {
                same_as = Some(Box::new(noise));
            }
        }
        Self::Earlier { text: text.into(), same_as }
    }

    /// The reason as this version knows it: itself, unless a file of an earlier version has it.
    pub fn current(&self) -> &Self {
        match self {
            Self::Earlier { same_as: Some(noise), .. } => noise,
            known => known,
        }
    }

    /// Whether it takes CPU time from the trial, so that rates can be higher without it.
    pub fn takes_cpu_time(&self) -> bool {
        matches!(
            self.current(),
            Self::SlowCpu
                | Self::SharedCore
                | Self::LoweredClock
                | Self::Steal
                | Self::Throttled
                | Self::ForeignLoad
                | Self::Stall
        )
    }
}

/// The reasons that a file has: its facts, or in files of earlier versions its texts.
fn read(words: &[String], reasons: Vec<Noise>) -> Vec<Noise> {
    if !reasons.is_empty() {
        return reasons;
    }
    words.iter().map(String::as_str).map(Noise::from_earlier).collect()
}

/// Reasons for care with a trial. An empty list means that there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NoiseOfTrial {
    /// In words, for readers of the file. The report makes them when the trial is saved.
    #[serde(rename = "noise")]
    pub words: Vec<String>,
    /// As facts. Absent in files of versions that did not write them.
    #[serde(rename = "noise_facts", default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Noise>,
}

impl NoiseOfTrial {
    /// These reasons, without words.
    pub fn new(reasons: Vec<Noise>) -> Self {
        Self { words: Vec::new(), reasons }
    }

    /// Whether there is no reason for care.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }
}

impl<'de> Deserialize<'de> for NoiseOfTrial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            noise: Vec<String>,
            #[serde(default)]
            noise_facts: Vec<Noise>,
        }
        let Read { noise, noise_facts } = Read::deserialize(deserializer)?;
        Ok(Self { reasons: read(&noise, noise_facts), words: noise })
    }
}

/// Why an attempt at a trial was discarded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NoiseOfAttempt {
    /// Its disturbances in words, for readers of the file. The report makes them when the trial is saved.
    #[serde(rename = "because")]
    pub words: Vec<String>,
    /// Its disturbances as facts. Absent in files of versions that did not write them.
    #[serde(rename = "because_facts", default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Noise>,
}

impl<'de> Deserialize<'de> for NoiseOfAttempt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            because: Vec<String>,
            #[serde(default)]
            because_facts: Vec<Noise>,
        }
        let Read { because, because_facts } = Read::deserialize(deserializer)?;
        Ok(Self { reasons: read(&because, because_facts), words: because })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_earlier_versions_are_read() {
        let cases = [
            ("one of its CPUs stood still for longer than the backlog lasts", Some(Noise::Stall)),
            ("its clock ran slower than its best", Some(Noise::SlowCpu)),
            ("the hypervisor took CPU time away while it ran (steal)", Some(Noise::Steal)),
            ("the moon", None),
        ];
        for (text, known) in cases {
            let read: NoiseOfTrial = serde_json::from_value(serde_json::json!({ "noise": [text] })).unwrap();
            let [reason] = &read.reasons[..] else { panic!("{read:?}") };
            assert_eq!(reason.current(), known.as_ref().unwrap_or(reason));
            assert_eq!(serde_json::to_value(&read).unwrap()["noise"][0], text, "written as it was read");
        }
    }

    #[test]
    fn what_takes_cpu_time_lowers_rates_in_texts_of_earlier_versions_too() {
        assert!(Noise::SharedCore.takes_cpu_time() && Noise::Steal.takes_cpu_time());
        assert!(!Noise::ClockSet.takes_cpu_time() && !Noise::from_earlier("the moon").takes_cpu_time());
        let earlier = Noise::from_earlier("one of its CPUs stood still for longer than the backlog lasts");
        assert!(earlier.takes_cpu_time());
    }

    #[test]
    fn facts_are_read_as_they_were_written() {
        let note = ProgramNote::DroppedUnlikeReceived {
            received: 3,
            dropped: 1,
            against: Some(CountOfProgram::InFile(1)),
        };
        let reasons = vec![Noise::Steal, Noise::Program { program: "tcpdump".into(), note }];
        let written = NoiseOfAttempt { words: vec!["a".into(), "b".into()], reasons };
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<NoiseOfAttempt>(&text).unwrap(), written);
    }
}
