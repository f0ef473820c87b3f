//! What was found in files as data: what `verify --json` prints. `docs/verify.schema.json` is its schema.

use std::path::Path;

use capbench_lab::recorded::{
    Completeness, FileRead, Recorded, RecordedInterface, RecordingVerdict, TrialFrames,
};
use capbench_record::file::{FileFormat, InterfaceStatistics};
use schemars::JsonSchema;
use serde::Serialize;

use super::recording::NamedVerdict;
use crate::status::OtherTrial;

/// Missing ranges listed per trial.
pub const RANGES: usize = 20;

/// Version of [`Document`].
pub const SCHEMA_VERSION: u32 = 1;

/// What was found in a recording.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Increases when a reader of older documents would misunderstand newer ones.
    schema_version: u32,
    /// Whether every frame of the trials is there once and intact, and the files are whole. If no frame has a stamp and none was
    /// asked for: whether the recording is complete.
    right: bool,
    /// What the files say of the recording, without stamps.
    recording: RecordingDocument,
    /// Packets read.
    packets: u64,
    /// Packets that are not of the trials.
    foreign: u64,
    /// Foreign packets by the trial they are of.
    of_other_trials: Vec<OtherTrial>,
    /// Packets cut short, though the snap length allows them whole.
    truncated: u64,
    /// Damaged packets.
    corrupt: u64,
    /// Packets without the VLAN tag that they were sent with.
    untagged: u64,
    /// Packets whose time is before that of an earlier packet.
    late: u64,
    /// By how many nanoseconds up to; null if none is late.
    latest_ns: Option<u64>,
    /// The files that were read.
    files: Vec<FileDocument>,
    /// The frames of each trial.
    trials: Vec<TrialDocument>,
    /// The interfaces of the files.
    interfaces: Vec<InterfaceDocument>,
}

/// What the files say of the recording.
#[derive(Debug, Serialize, JsonSchema)]
struct RecordingDocument {
    /// Whether it is complete: `complete`, `incomplete` or `unknown`.
    completeness: &'static str,
    /// Packets in the files.
    packets: u64,
    /// Packets that statistics or drop counts report as lost; null if the files do not say it.
    lost: Option<u64>,
    /// Packets of files that the recorder removed: a ring replaced them, or they were old.
    removed: u64,
    /// What speaks against completeness, the most important first.
    findings: Vec<String>,
}

/// A file that was read.
#[derive(Debug, Serialize, JsonSchema)]
struct FileDocument {
    /// Its name as given.
    file: String,
    /// Its format; null if it has none that is known.
    format: Option<&'static str>,
    /// Packets read from it.
    packets: u64,
    /// Whether it ends within a record.
    ends_early: bool,
    /// Why it could not be read to its end; null if it could.
    failure: Option<String>,
}

/// The frames of a trial.
#[derive(Debug, Serialize, JsonSchema)]
struct TrialDocument {
    /// Number of the trial (`send --trial`).
    trial: u16,
    /// Frames that are there once and intact.
    delivered: u64,
    /// Further copies.
    duplicates: u64,
    /// Frames behind one with a higher number.
    reordered: u64,
    /// Frames that are not there.
    missing: u64,
    /// Frames that were sent, as far as known: --frames, else up to the last one found.
    of: u64,
    /// Number of ranges of missing frames.
    missing_ranges: u64,
    /// The first ranges: first and last number of each.
    first_missing_ranges: Vec<[u64; 2]>,
}

/// An interface of the recording.
#[derive(Debug, Serialize, JsonSchema)]
struct InterfaceDocument {
    /// Its name; null if the file does not have it.
    interface: Option<String>,
    /// Whether the recorder says that VLAN tags are missing.
    vlan_tags_missing: bool,
    /// Its packets.
    packets: u64,
    /// Packets that are shorter than the snap length allows.
    cut: u64,
    /// Lost packets that drop counts of its packets report.
    drops_told: u64,
    /// Gaps in the numbers of its frames.
    gaps: u64,
    /// Gaps that the drop count of the packet that follows reports exactly.
    gaps_told: u64,
    /// Lost packets of drop counts that fit no gap.
    told_elsewhere: u64,
    /// Lost packets by its statistics; null without statistics.
    lost: Option<u64>,
    /// The statistics at the end of the file; null if there are none.
    statistics: Option<StatisticsDocument>,
}

/// Statistics of an interface, as the recorder wrote them. Null is unknown; it is not 0.
#[derive(Debug, Serialize, JsonSchema)]
struct StatisticsDocument {
    /// Packets that the interface received.
    received: Option<u64>,
    /// Packets that passed the filter.
    accepted: Option<u64>,
    /// Packets that the recorder wrote.
    delivered: Option<u64>,
    /// Packets lost in the interface.
    lost_by_interface: Option<u64>,
    /// Packets lost in the operating system.
    lost_by_system: Option<u64>,
    /// Packets lost in the recorder.
    lost_by_recorder: Option<u64>,
}

impl Document {
    /// Of the files and what they have.
    pub fn new(
        files: &[(&Path, FileRead)],
        recorded: &Recorded,
        verdict: &RecordingVerdict,
        is_right: bool,
    ) -> Self {
        let (other, late) = (recorded.other(), recorded.late());
        Self {
            schema_version: SCHEMA_VERSION,
            right: is_right,
            recording: RecordingDocument::new(&NamedVerdict {
                verdict,
                files,
                interfaces: recorded.interfaces(),
            }),
            packets: recorded.frames(),
            foreign: other.foreign,
            of_other_trials: OtherTrial::list(&recorded.other_trials()),
            truncated: other.truncated,
            corrupt: other.corrupt,
            untagged: other.untagged,
            late: late.frames,
            latest_ns: (late.frames > 0).then_some(late.most_ns),
            files: files.iter().map(|(path, read)| FileDocument::of(path, read)).collect(),
            trials: recorded.trials().iter().map(TrialDocument::of).collect(),
            interfaces: recorded.interfaces().iter().map(InterfaceDocument::of).collect(),
        }
    }
}

impl RecordingDocument {
    fn new(named: &NamedVerdict<'_>) -> Self {
        let verdict = named.verdict;
        Self {
            completeness: match verdict.completeness {
                Completeness::Complete => "complete",
                Completeness::Incomplete => "incomplete",
                Completeness::Unknown => "unknown",
            },
            packets: verdict.packets,
            lost: verdict.lost,
            removed: verdict.replaced,
            findings: named.findings(),
        }
    }
}

impl FileDocument {
    fn of(path: &Path, read: &FileRead) -> Self {
        Self {
            file: path.display().to_string(),
            format: read.format.map(FileFormat::name),
            packets: read.frames,
            ends_early: read.ends_early,
            failure: read.failure.as_ref().map(ToString::to_string),
        }
    }
}

impl TrialDocument {
    fn of(trial: &TrialFrames) -> Self {
        let missing = trial.missing();
        Self {
            trial: trial.trial.0,
            delivered: trial.delivered,
            duplicates: trial.duplicates,
            reordered: trial.reordered,
            missing: missing.numbers,
            of: trial.delivered + missing.numbers,
            missing_ranges: missing.ranges,
            first_missing_ranges: trial
                .missing_ranges()
                .take(RANGES)
                .map(|range| [range.start, range.end - 1])
                .collect(),
        }
    }
}

impl InterfaceDocument {
    fn of(interface: &RecordedInterface) -> Self {
        Self {
            interface: interface.name.clone(),
            vlan_tags_missing: interface.lacks_vlan_tags,
            packets: interface.frames,
            cut: interface.cut,
            drops_told: interface.told,
            gaps: interface.gaps,
            gaps_told: interface.gaps_told,
            told_elsewhere: interface.told_elsewhere,
            lost: interface.lost(),
            statistics: interface.statistics.as_ref().map(StatisticsDocument::of),
        }
    }
}

impl StatisticsDocument {
    fn of(statistics: &InterfaceStatistics) -> Self {
        Self {
            received: statistics.received,
            accepted: statistics.accepted,
            delivered: statistics.delivered,
            lost_by_interface: statistics.interface_dropped,
            lost_by_system: statistics.system_dropped,
            lost_by_recorder: statistics.own_dropped(),
        }
    }
}
