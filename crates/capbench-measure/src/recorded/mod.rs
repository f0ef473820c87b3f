//! What capture files hold of the frames of trials: each looked at, in bounded memory, and what the files say is missing set
//! against what is.
//!
//! | file | what |
//! |---|---|
//! | `missing` | which numbers of a trial did not come |
//! | `interface` | what a file says of losses at an interface, and whether it says so in the right place |

mod interface;
mod missing;

use std::io::Read;
use std::ops::Range;

use capbench_frames::{
    Classifier, FrameClass, FrameError, FrameLayout, Stamp, StreamId, TagMetadata, TrialId,
};
use capbench_record::file::{CaptureReader, ETHERNET, FileError, FileFormat, Packet, Record};

pub use self::interface::RecordedInterface;
pub use self::missing::Missing;
use self::missing::MissingRanges;
use crate::loss_shape::Arrival;

/// Ranges of missing numbers that are remembered of a trial: some megabytes.
const MOST_RANGES: usize = 1 << 16;

/// Why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// It is no capture file, damaged, or cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its frames are of another link.
    #[error("has frames of link type {0}, not Ethernet")]
    Link(u16),
    /// Its snapshot length cuts off what frames are known by.
    #[error("cannot be verified: {0}")]
    SnapLength(#[from] FrameError),
}

/// A file, as far as it could be read.
#[derive(Debug)]
pub struct FileRead {
    /// Its format; `None` where it has none that is known.
    pub format: Option<FileFormat>,
    /// Frames read.
    pub frames: u64,
    /// Whether it ends within a record.
    pub ends_early: bool,
    /// Why not all of it was read.
    pub failure: Option<RecordedError>,
}

/// Verifies the frames of files that are one recording: those of a rotation, in their order.
#[derive(Debug)]
pub struct Recorded {
    layout: FrameLayout,
    trials: Vec<TrialFrames>,
    interfaces: Vec<RecordedInterface>,
    looks: Vec<Option<Look>>,
    frames: u64,
    other: OtherFrames,
    latest_ns: u64,
    late: Late,
}

/// Frames that are none of a trial, or not as they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherFrames {
    /// Other traffic.
    pub foreign: u64,
    /// Cut shorter than the snapshot length allows.
    pub truncated: u64,
    /// Damaged.
    pub corrupt: u64,
    /// Frames of a trial, whole, but without the VLAN tag that they were sent with. They count as delivered, too.
    pub untagged: u64,
}

/// Frames that stand behind one of a later time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// How many.
    pub frames: u64,
    /// By how many nanoseconds at most.
    pub most_ns: u64,
}

/// The frames of a trial in the files.
#[derive(Debug)]
pub struct TrialFrames {
    /// The trial.
    pub trial: TrialId,
    /// Frames that came once or more.
    pub delivered: u64,
    /// Further copies.
    pub duplicates: u64,
    /// Frames behind a later one.
    pub reordered: u64,
    missing: MissingRanges,
}

/// Recognises the frames of an interface: one recogniser for each trial.
#[derive(Debug)]
struct Look(Vec<Classifier>);

impl Recorded {
    /// For the frames of these trials, which have this layout.
    pub fn new(trials: &[TrialId], layout: FrameLayout) -> Self {
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
            interfaces: Vec::new(),
            looks: Vec::new(),
            frames: 0,
            other: OtherFrames::default(),
            latest_ns: 0,
            late: Late::default(),
        }
    }

    /// Reads the next file as far as it is whole.
    pub fn read(&mut self, source: impl Read) -> FileRead {
        let mut reader = match CaptureReader::new(source) {
            Ok(reader) => reader,
            Err(error) => {
                return FileRead { format: None, frames: 0, ends_early: false, failure: Some(error.into()) };
            }
        };
        let failure = self.read_records(&mut reader).err();
        FileRead {
            format: Some(reader.format()),
            frames: reader.frames(),
            ends_early: reader.ends_early(),
            failure,
        }
    }

    /// Ends the trials, of which so many frames each were sent, where that is known.
    pub fn end(&mut self, sent: Option<u64>) {
        self.trials.iter_mut().for_each(|trial| trial.missing.end(sent));
    }

    /// Frames in the files.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The trials, as they were asked for.
    pub fn trials(&self) -> &[TrialFrames] {
        &self.trials
    }

    /// The interfaces, by their numbers in the files.
    pub fn interfaces(&self) -> &[RecordedInterface] {
        &self.interfaces
    }

    /// Frames that are not as those of the trials were sent.
    pub fn other(&self) -> OtherFrames {
        self.other
    }

    /// Frames out of time order.
    pub fn late(&self) -> Late {
        self.late
    }

    /// Whether every frame of every trial is there once, as it was sent, and the files contradict themselves in nothing.
    pub fn is_right(&self) -> bool {
        let whole = |trial: &TrialFrames| {
            trial.delivered > 0 && trial.duplicates == 0 && trial.missing().numbers == 0
        };
        let OtherFrames { truncated, corrupt, untagged, .. } = self.other;
        self.trials.iter().all(whole)
            && truncated + corrupt + untagged == 0
            && self.interfaces.iter().all(|interface| !interface.contradicts_itself())
    }

    fn read_records(&mut self, reader: &mut CaptureReader<impl Read>) -> Result<(), RecordedError> {
        while let Some(record) = reader.next_record()? {
            match record {
                Record::Section(_) => self.looks.clear(),
                Record::Interface(_, interface) if interface.link_type != ETHERNET => {
                    return Err(RecordedError::Link(interface.link_type));
                }
                Record::Interface(number, interface) => {
                    let number = number as usize;
                    let snap = Some(interface.snap).filter(|snap| *snap > 0);
                    if self.interfaces.len() <= number {
                        self.interfaces.resize_with(number + 1, RecordedInterface::default);
                    }
                    self.interfaces[number].name.clone_from(&interface.description.name);
                    self.interfaces[number].lacks_vlan_tags |= interface.description.lacks_vlan_tags();
                    self.looks.resize_with(number + 1, || None);
                    self.looks[number] = Some(Look::new(&self.trials, &self.layout, snap)?);
                }
                Record::Packet(packet) => self.note(&packet),
                Record::Statistics(statistics) => {
                    if let Some(interface) = self.interfaces.get_mut(statistics.interface as usize) {
                        interface.keep(statistics);
                    }
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, packet: &Packet<'_>) {
        self.frames += 1;
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
            Found::Foreign => self.other.foreign += 1,
        }
        if let Some(interface) = self.interfaces.get_mut(at) {
            interface.note(packet.dropped.unwrap_or(0), gap);
        }
    }
}

impl TrialFrames {
    /// What is missing of it.
    pub fn missing(&self) -> Missing {
        self.missing.missing()
    }

    /// Where, as numbers of frames, the first first; not all, where there are very many.
    pub fn missing_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.missing.ranges()
    }

    /// Notes one of its frames; how many are missing just before it.
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

/// What a frame is.
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
        for (trial, recogniser) in self.0.iter().enumerate() {
            let see = |tag| recogniser.look(packet.data, packet.original_length, tag);
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
