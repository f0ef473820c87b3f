//! The frames of trials in capture files: examines each frame in bounded memory, and compares the losses that the files report
//! with the frames that are missing.
//!
//! | file | content |
//! |---|---|
//! | `missing` | the missing numbers of a trial |
//! | `completeness` | whether a recording is right, by the stamps of its frames or by what its files say |
//! | `order` | the order of files, by what they say |
//! | `interface` | the losses that a file reports for an interface, and whether it reports them at the right place |

mod completeness;
mod interface;
mod missing;
mod order;

use std::io::Read;
use std::ops::Range;

use capbench_frames::{
    Classifier, FrameClass, FrameError, FrameLayout, OtherTrials, Stamp, StreamId, TagMetadata, TrialId,
};
use capbench_record::file::{CaptureReader, ETHERNET, FileError, FileFormat, Packet, ReadInterface, Record};

pub use self::completeness::{Completeness, FaultByStamps, Finding, PartRead, RecordingVerdict};
pub use self::interface::RecordedInterface;
pub use self::missing::Missing;
use self::missing::MissingRanges;
pub use self::order::FileOrder;
use capbench_model::loss_pattern::Arrival;

/// Largest number of stored missing ranges of a trial: some megabytes.
const MOST_RANGES: usize = 1 << 16;

/// Largest number of sections whose places in a recording are compared: some megabytes.
const MOST_PARTS: usize = 1 << 16;

/// Why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// It is not a capture file, is damaged, or cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its snapshot length cuts off the part by which frames are recognised.
    #[error("cannot be verified: {0}")]
    SnapLength(#[from] FrameError),
}

/// The readable part of a file.
#[derive(Debug)]
pub struct FileRead {
    /// Its format; `None` if unknown.
    pub format: Option<FileFormat>,
    /// Frames read.
    pub frames: u64,
    /// Whether it ends within a record.
    pub ends_early: bool,
    /// Why the rest of it was not read.
    pub failure: Option<RecordedError>,
}

/// Verifies the frames of files that are one recording: the files of a rotation, in their order.
#[derive(Debug)]
pub struct Recorded {
    layout: FrameLayout,
    trials: Vec<TrialFrames>,
    /// Whether frames without stamps are no answer.
    needs_stamps: bool,
    interfaces: Vec<RecordedInterface>,
    looks: Vec<Option<Look>>,
    /// Snap lengths of the interfaces of the section.
    snaps: Vec<u32>,
    parts: Vec<PartRead>,
    /// Files read so far.
    files: usize,
    /// Those that end within a record.
    early: Vec<usize>,
    /// The file that was not read to its end.
    unreadable: Option<usize>,
    frames: u64,
    other: OtherFrames,
    other_trials: OtherTrials,
    latest_ns: u64,
    late: Late,
}

/// Frames that belong to no trial, or differ from the sent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherFrames {
    /// Other traffic.
    pub foreign: u64,
    /// Shorter than the snapshot length requires.
    pub truncated: u64,
    /// Damaged.
    pub corrupt: u64,
    /// Whole frames of a trial without the VLAN tag with which they were sent. They also count as delivered.
    pub untagged: u64,
}

/// Frames after a frame with a later timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// Number of frames.
    pub frames: u64,
    /// Largest difference of the timestamps in nanoseconds.
    pub most_ns: u64,
}

/// The frames of a trial in the files.
#[derive(Debug)]
pub struct TrialFrames {
    /// The trial.
    pub trial: TrialId,
    /// Frames that arrived once or more.
    pub delivered: u64,
    /// Further copies.
    pub duplicates: u64,
    /// Frames after one with a higher number.
    pub reordered: u64,
    missing: MissingRanges,
}

/// Recognises the frames of an interface: one recogniser for each trial.
#[derive(Debug)]
struct Look(Vec<Classifier>);

impl Recorded {
    /// For frames of these trials with this layout. With `needs_stamps`, a file is refused where its snap length cuts off stamps.
    pub fn new(trials: &[TrialId], layout: FrameLayout, needs_stamps: bool) -> Self {
        let of = |&trial| TrialFrames {
            trial,
            delivered: 0,
            duplicates: 0,
            reordered: 0,
            missing: MissingRanges::new(MOST_RANGES),
        };
        Self {
            layout,
            trials: trials.iter().map(of).collect(),
            needs_stamps,
            interfaces: Vec::new(),
            looks: Vec::new(),
            snaps: Vec::new(),
            parts: Vec::new(),
            files: 0,
            early: Vec::new(),
            unreadable: None,
            frames: 0,
            other: OtherFrames::default(),
            other_trials: OtherTrials::default(),
            latest_ns: 0,
            late: Late::default(),
        }
    }

    /// Reads the next file up to its last whole record.
    pub fn read(&mut self, source: impl Read) -> FileRead {
        let mut reader = match CaptureReader::new(source) {
            Ok(reader) => reader,
            Err(error) => {
                self.unreadable = Some(self.files);
                return FileRead { format: None, frames: 0, ends_early: false, failure: Some(error.into()) };
            }
        };
        let failure = self.read_records(&mut reader).err();
        if failure.is_some() {
            self.unreadable = Some(self.files);
        }
        if reader.ends_early() {
            self.early.push(self.files);
        }
        self.files += 1;
        FileRead {
            format: Some(reader.format()),
            frames: reader.frames(),
            ends_early: reader.ends_early(),
            failure,
        }
    }

    /// Ends the trials; `sent` is the number of frames sent in each, if known.
    pub fn end(&mut self, sent: Option<u64>) {
        self.trials.iter_mut().for_each(|trial| trial.missing.end(sent));
    }

    /// Frames in the files.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The trials in the requested order.
    pub fn trials(&self) -> &[TrialFrames] {
        &self.trials
    }

    /// The interfaces, by their numbers in the files.
    pub fn interfaces(&self) -> &[RecordedInterface] {
        &self.interfaces
    }

    /// Frames that differ from the sent frames of the trials.
    pub fn other(&self) -> OtherFrames {
        self.other
    }

    /// Trials that foreign frames are of.
    pub fn other_trials(&self) -> OtherTrials {
        self.other_trials
    }

    /// Frames out of time order.
    pub fn late(&self) -> Late {
        self.late
    }

    fn read_records(&mut self, reader: &mut CaptureReader<impl Read>) -> Result<(), RecordedError> {
        while let Some(record) = reader.next_record()? {
            match record {
                Record::Section(section) => {
                    self.looks.clear();
                    self.snaps.clear();
                    if self.parts.len() < MOST_PARTS {
                        self.parts.push(PartRead::new(self.files, section));
                    } else if let Some(last) = self.parts.last_mut() {
                        last.part = None;
                    }
                }
                Record::Interface(number, interface) => self.describe(number as usize, interface)?,
                Record::Packet(packet) => self.note(&packet),
                Record::Other => {}
                Record::Statistics(statistics) => {
                    if let Some(part) = self.parts.last_mut() {
                        part.note_statistics(&statistics);
                    }
                    if let Some(interface) = self.interfaces.get_mut(statistics.interface as usize) {
                        interface.keep(statistics);
                    }
                }
            }
        }
        Ok(())
    }

    fn describe(&mut self, number: usize, read: &ReadInterface) -> Result<(), RecordedError> {
        let snap = Some(read.snap).filter(|snap| *snap > 0);
        if self.interfaces.len() <= number {
            self.interfaces.resize_with(number + 1, RecordedInterface::default);
        }
        self.interfaces[number].name.clone_from(&read.description.name);
        self.interfaces[number].lacks_vlan_tags |= read.description.lacks_vlan_tags();
        self.snaps.push(snap.unwrap_or(u32::MAX));
        if let Some(part) = self.parts.last_mut() {
            part.note_interface();
        }
        // Frames of other links have no stamps.
        let look = match Look::new(&self.trials, &self.layout, snap) {
            Ok(look) => Some(look).filter(|_| read.link_type == ETHERNET),
            Err(error) if self.needs_stamps => return Err(error.into()),
            Err(_) => None,
        };
        self.looks.resize_with(number + 1, || None);
        self.looks[number] = look;
        Ok(())
    }

    fn note(&mut self, packet: &Packet<'_>) {
        self.frames += 1;
        if let Some(part) = self.parts.last_mut() {
            part.note_packet();
        }
        if let Some(time_ns) = packet.time_ns {
            let behind = self.latest_ns.saturating_sub(time_ns);
            self.late.frames += u64::from(behind > 0);
            self.late.most_ns = self.late.most_ns.max(behind);
            self.latest_ns = self.latest_ns.max(time_ns);
        }
        let at = packet.interface as usize;
        let look = self.looks.get(at).and_then(Option::as_ref);
        let mut gap = 0;
        match look.map_or(Found::Foreign, |look| look.at(packet, self.layout.vlan.is_some())) {
            Found::Ours { trial, stamp, is_untagged } => {
                self.other.untagged += u64::from(is_untagged);
                gap = self.trials[trial].note(stamp);
            }
            Found::Corrupt => self.other.corrupt += 1,
            Found::Truncated => self.other.truncated += 1,
            Found::Foreign => {
                self.other.foreign += 1;
                if let Some(trial) = look.and_then(|look| look.0.first()?.trial_of(packet.data)) {
                    self.other_trials.note(trial);
                }
            }
        }
        if let Some(interface) = self.interfaces.get_mut(at) {
            interface.note(packet.dropped.unwrap_or(0), gap);
            let captured = packet.data.len() as u32;
            let snap = self.snaps.get(at).copied().unwrap_or(u32::MAX);
            interface.cut += u64::from(captured < packet.original_length.min(snap));
        }
    }
}

impl TrialFrames {
    /// Its missing numbers.
    pub fn missing(&self) -> Missing {
        self.missing.missing()
    }

    /// The missing ranges of frame numbers in ascending order; incomplete if there are very many.
    pub fn missing_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.missing.ranges()
    }

    /// Counts one of its frames. Returns the number of frames missing just before it.
    fn note(&mut self, stamp: Stamp) -> u64 {
        let arrival = self.missing.note(stamp.sequence);
        if arrival == Arrival::Duplicate {
            self.duplicates += 1;
            return 0;
        }
        self.delivered += 1;
        self.reordered += u64::from(arrival == Arrival::Reordered);
        if let Arrival::AfterGap { missing } = arrival { missing } else { 0 }
    }
}

/// Classification of a frame.
enum Found {
    Ours { trial: usize, stamp: Stamp, is_untagged: bool },
    Corrupt,
    Truncated,
    Foreign,
}

impl Look {
    fn new(trials: &[TrialFrames], layout: &FrameLayout, snap: Option<u32>) -> Result<Self, FrameError> {
        trials.iter().map(|of| Classifier::new(of.trial, layout, snap)).collect::<Result<_, _>>().map(Self)
    }

    fn at(&self, packet: &Packet<'_>, has_tag: bool) -> Found {
        let (data, original_length) = packet.without_fcs();
        for (trial, recogniser) in self.0.iter().enumerate() {
            let see = |tag| recogniser.look(data, original_length, tag);
            match see(TagMetadata::Absent) {
                FrameClass::Own(stamp) if stamp.stream == StreamId(0) => {
                    return Found::Ours { trial, stamp, is_untagged: false };
                }
                FrameClass::Own(_) | FrameClass::Foreign => {}
                FrameClass::Truncated => return Found::Truncated,
                FrameClass::Corrupt => {
                    return match see(TagMetadata::Unknown) {
                        FrameClass::Own(stamp) if has_tag => Found::Ours { trial, stamp, is_untagged: true },
                        _ => Found::Corrupt,
                    };
                }
            }
        }
        Found::Foreign
    }
}
