//! Whether a recording is right. Which places and counts make it complete is decided in `completeness.rs` of capbench-model.
//!
//! | question | answer |
//! |---|---|
//! | Is it right, by the stamps of its frames or by what its files say? | [`Recorded::is_right`] |
//! | Is it complete by what its files say: statistics, drop counts, places in the recording? | [`Recorded::verdict`] |
//! | What speaks against it by the stamps of its frames? | [`Recorded::faults_by_stamps`] |

use capbench_frames::TrialId;
use capbench_model::completeness::UnknownLoss;
use capbench_record::file::{EarlierFiles, InterfaceStatistics, RecordingPart, SectionDescription};

use super::interface::RecordedInterface;
use super::{OtherFrames, Recorded};

/// A section of a file, by what it says of itself.
#[derive(Clone, Debug, Default)]
pub struct PartRead {
    /// Index of its file.
    pub file: usize,
    /// Its place in the recording, if it says so.
    pub part: Option<RecordingPart>,
    /// Its packets.
    pub packets: u64,
    /// Whether it has statistics.
    has_statistics: bool,
    interfaces: u64,
    /// Interfaces with statistics of the end of the capture, behind all packets.
    ended: u64,
}

/// Whether a recording is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Every packet that its statistics know is in the files.
    Complete,
    /// Packets are missing.
    Incomplete,
    /// The files do not say it.
    Unknown,
}

/// What speaks against completeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Packets that statistics or drop counts report as lost.
    Lost {
        /// Their number.
        packets: u64,
    },
    /// Packets that are shorter than the snap length allows.
    Cut {
        /// Their number.
        packets: u64,
    },
    /// Packets between two files.
    MissingBetween {
        /// Their number.
        packets: u64,
        /// Index of the file before.
        before: usize,
        /// Index of the file behind.
        behind: usize,
    },
    /// Packets before the first file, although the recording keeps all files.
    MissingAtStart {
        /// Their number.
        packets: u64,
    },
    /// A file has packets that the file behind it counts as its own: a file is named twice, or was changed.
    Overlap {
        /// Index of the file before.
        before: usize,
        /// Index of the file behind.
        behind: usize,
    },
    /// A ring has more files.
    MissingOfRing {
        /// Files that were read.
        files: usize,
        /// Files of the ring.
        of: u32,
    },
    /// A file ends within a record.
    EndsEarly {
        /// Its index.
        file: usize,
    },
    /// A file was not read to its end, so that nothing is known of the rest.
    Unreadable {
        /// Its index.
        file: usize,
    },
    /// The last file has no statistics of the end: the recorder was killed, still runs, or there are later files.
    NoEnd {
        /// Its index.
        file: usize,
    },
    /// A file has no statistics, or none about losses.
    NoStatistics {
        /// Its index.
        file: usize,
    },
    /// It is unknown how many packets of an interface were lost.
    UnknownLoss {
        /// Index of the interface.
        interface: usize,
        /// Why.
        loss: UnknownLoss,
    },
    /// Files do not say how they follow each other.
    NoOrder,
    /// The files are of several recordings.
    SeveralRecordings {
        /// Their number.
        recordings: usize,
    },
}

impl Finding {
    /// What it means for the recording.
    pub fn meaning(self) -> Completeness {
        match self {
            Self::Unreadable { .. }
            | Self::NoEnd { .. }
            | Self::NoStatistics { .. }
            | Self::UnknownLoss { .. }
            | Self::NoOrder
            | Self::SeveralRecordings { .. } => Completeness::Unknown,
            _ => Completeness::Incomplete,
        }
    }
}

/// What speaks against a recording by the stamps of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultByStamps {
    /// Frames of the trials are missing.
    Missing {
        /// Their number.
        frames: u64,
        /// All frames of the trials.
        of: u64,
    },
    /// Frames are there more than once.
    Duplicate {
        /// The number of further copies.
        frames: u64,
    },
    /// Frames are shorter than the snap length allows.
    Truncated {
        /// Their number.
        frames: u64,
    },
    /// Frames are damaged.
    Corrupt {
        /// Their number.
        frames: u64,
    },
    /// Frames lack the VLAN tag with which they were sent.
    Untagged {
        /// Their number.
        frames: u64,
    },
    /// No frame of a trial is there.
    NoFrame {
        /// The trial.
        trial: TrialId,
    },
    /// A file ends within a record.
    EndsEarly {
        /// Its index.
        file: usize,
    },
    /// A file was not read to its end.
    Unreadable {
        /// Its index.
        file: usize,
    },
    /// An interface's statistics report fewer losses than its drop counts.
    Contradiction,
}

impl Recorded {
    /// Whether stamps decide if the recording is right: a frame has one, or they were asked for.
    pub fn has_stamps(&self) -> bool {
        let OtherFrames { truncated, corrupt, untagged, .. } = self.other;
        let has_own_frames = self.trials.iter().any(|trial| trial.delivered > 0);
        self.needs_stamps || has_own_frames || truncated + corrupt + untagged > 0
    }

    /// Whether the recording is right. By stamps, every frame of every trial is there once, as sent, and the files are whole and do not
    /// contradict themselves. Without stamps it is right if it is complete.
    pub fn is_right(&self) -> bool {
        if self.has_stamps() {
            return self.faults_by_stamps().is_empty();
        }
        self.verdict().completeness == Completeness::Complete
    }

    /// What speaks against the recording by the stamps of its frames, the most important first.
    pub fn faults_by_stamps(&self) -> Vec<FaultByStamps> {
        let OtherFrames { truncated, corrupt, untagged, .. } = self.other;
        let missing: u64 = self.trials.iter().map(|trial| trial.missing().numbers).sum();
        let delivered: u64 = self.trials.iter().map(|trial| trial.delivered).sum();
        let duplicates: u64 = self.trials.iter().map(|trial| trial.duplicates).sum();
        let mut faults = Vec::new();
        if missing > 0 {
            faults.push(FaultByStamps::Missing { frames: missing, of: missing + delivered });
        }
        if duplicates > 0 {
            faults.push(FaultByStamps::Duplicate { frames: duplicates });
        }
        if truncated > 0 {
            faults.push(FaultByStamps::Truncated { frames: truncated });
        }
        if corrupt > 0 {
            faults.push(FaultByStamps::Corrupt { frames: corrupt });
        }
        if untagged > 0 {
            faults.push(FaultByStamps::Untagged { frames: untagged });
        }
        for trial in self.trials.iter().filter(|trial| trial.delivered == 0) {
            faults.push(FaultByStamps::NoFrame { trial: trial.trial });
        }
        for &file in &self.early {
            faults.push(FaultByStamps::EndsEarly { file });
        }
        if let Some(file) = self.unreadable {
            faults.push(FaultByStamps::Unreadable { file });
        }
        if self.interfaces.iter().any(RecordedInterface::contradicts_itself) {
            faults.push(FaultByStamps::Contradiction);
        }
        faults
    }

    /// The verdict by what the files say, without stamps.
    pub fn verdict(&self) -> RecordingVerdict {
        let mut not_whole: Vec<Finding> =
            self.early.iter().map(|&file| Finding::EndsEarly { file }).collect();
        not_whole.extend(self.unreadable.map(|file| Finding::Unreadable { file }));
        RecordingVerdict::new(&self.parts, self.files, &not_whole, &self.interfaces)
    }
}

/// The verdict about a recording, without stamps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingVerdict {
    /// Whether it is complete.
    pub completeness: Completeness,
    /// Packets in the files.
    pub packets: u64,
    /// Packets that the files report as lost; absent if they do not say it.
    pub lost: Option<u64>,
    /// Packets of files that a ring replaced, or that were removed as it was asked for.
    pub replaced: u64,
    /// What speaks against completeness, the most important first.
    pub findings: Vec<Finding>,
}

impl PartRead {
    pub(super) fn new(file: usize, section: &SectionDescription) -> Self {
        let part = RecordingPart::of_comments(&section.comments);
        Self { file, part, ..Self::default() }
    }

    pub(super) fn note_interface(&mut self) {
        self.interfaces += 1;
    }

    pub(super) fn note_packet(&mut self) {
        self.packets += 1;
        self.ended = 0;
    }

    pub(super) fn note_statistics(&mut self, statistics: &InterfaceStatistics) {
        self.has_statistics = true;
        self.ended += u64::from(statistics.end_ns.is_some());
    }

    fn has_end(&self) -> bool {
        self.interfaces > 0 && self.ended >= self.interfaces
    }
}

impl RecordingVerdict {
    /// Of the sections in their order; `not_whole` are the findings about files that were not read as a whole.
    pub(super) fn new(
        parts: &[PartRead],
        files: usize,
        not_whole: &[Finding],
        interfaces: &[RecordedInterface],
    ) -> Self {
        let lost = lost(interfaces);
        let cut: u64 = interfaces.iter().map(|interface| interface.cut).sum();
        let mut findings = Vec::new();
        if let Some(packets) = lost.filter(|packets| *packets > 0) {
            findings.push(Finding::Lost { packets });
        }
        if cut > 0 {
            findings.push(Finding::Cut { packets: cut });
        }
        let replaced = sequence(parts, files, &mut findings);
        findings.extend(not_whole);
        if let Some(last) = parts.last() {
            match parts.iter().find(|part| !part.has_statistics) {
                Some(without) if without.part.is_none() => {
                    findings.push(Finding::NoStatistics { file: without.file });
                }
                _ if !last.has_end() => findings.push(Finding::NoEnd { file: last.file }),
                _ if lost.is_none() => findings.push(Finding::NoStatistics { file: last.file }),
                _ => unknown_losses(interfaces, &mut findings),
            }
        }
        let is_a = |completeness| findings.iter().any(|finding: &Finding| finding.meaning() == completeness);
        let completeness = if is_a(Completeness::Incomplete) {
            Completeness::Incomplete
        } else if is_a(Completeness::Unknown) || parts.is_empty() {
            Completeness::Unknown
        } else {
            Completeness::Complete
        };
        let packets = parts.iter().map(|part| part.packets).sum();
        Self { completeness, packets, lost, replaced, findings }
    }
}

/// Packets that statistics or drop counts report as lost; absent if no interface reports any count.
fn lost(interfaces: &[RecordedInterface]) -> Option<u64> {
    let mut sum = None;
    for interface in interfaces {
        let lost = interface.lost();
        if lost.is_some() || interface.told > 0 {
            sum = Some(lost.unwrap_or(0).max(interface.told).saturating_add(sum.unwrap_or(0)));
        }
    }
    sum
}

/// Finds interfaces whose losses are unknown, by their last statistics.
fn unknown_losses(interfaces: &[RecordedInterface], findings: &mut Vec<Finding>) {
    for (interface, recorded) in interfaces.iter().enumerate() {
        let Some(statistics) = &recorded.statistics else { continue };
        if let Some(loss) = statistics.unknown_loss() {
            findings.push(Finding::UnknownLoss { interface, loss });
        }
    }
}

/// Finds gaps between the sections. Returns the packets before the first one that are not missing, because old files go.
fn sequence(parts: &[PartRead], files: usize, findings: &mut Vec<Finding>) -> u64 {
    let Some(first) = parts.first() else { return 0 };
    let known: Vec<_> = parts.iter().filter_map(|part| Some((part, part.part?))).collect();
    if known.len() < parts.len() {
        if parts.len() > 1 {
            findings.push(Finding::NoOrder);
        }
        return 0;
    }
    let mut begins: Vec<_> = known.iter().map(|(_, part)| part.began_ns).collect();
    begins.sort_unstable();
    begins.dedup();
    if begins.len() > 1 {
        findings.push(Finding::SeveralRecordings { recordings: begins.len() });
        return 0;
    }
    for pair in known.windows(2) {
        let [(one, part), (next, next_part)] = pair else { continue };
        let (before, behind) = (one.file, next.file);
        let end = part.packets_before + one.packets;
        match next_part.packets_before.checked_sub(end) {
            None => findings.push(Finding::Overlap { before, behind }),
            Some(0) => {}
            Some(packets) => findings.push(Finding::MissingBetween { packets, before, behind }),
        }
    }
    let Some(RecordingPart { packets_before: packets, earlier_files, .. }) = first.part else { return 0 };
    match earlier_files {
        _ if packets == 0 => {}
        EarlierFiles::Kept => findings.push(Finding::MissingAtStart { packets }),
        EarlierFiles::Ring(of) if files < of as usize => findings.push(Finding::MissingOfRing { files, of }),
        EarlierFiles::Ring(_) | EarlierFiles::Removed => return packets,
    }
    0
}
