//! Captures of ports: recorded into files, and returned as octets with the FCS of each frame.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use capbench_capture::Frame;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_record::RecordError;
use capbench_record::file::{
    CaptureReader, Encoder, FileFormat, HashAlgorithm, InterfaceDescription, Packet, Record,
    SectionDescription,
};
use capbench_record::recording::{InterfaceAccount, Opened, Plan, Session, Source};
use capbench_record::writing::{Rotation, WriteOptions};

use crate::capture_folder::CaptureFolder;
use crate::error::{OtgError, Result};
use crate::model::config::{Capture, CaptureFormat};
use crate::model::requests::{InitialSlice, Packets, Slice};
use crate::ports::Port;

/// Memory of the ring of a capture, and behind it for frames that wait for the file.
const MEMORY: ByteCount = ByteCount(16 << 20);

/// Octets of a frame check sequence.
const FCS: usize = 4;

/// Name of the file in its folder.
const FILE: &str = "capture.pcapng";

/// The place of frames that a full capture does not have, in the list of losses of a file.
const FULL: &str = "full_file";

/// A capture of a port.
#[derive(Debug)]
pub struct Recording {
    config: Capture,
    limit: ByteCount,
    folder: CaptureFolder,
    session: Option<Session>,
    /// Absent: it has ended with room for more, or records.
    full: Option<Full>,
}

/// Frames that a full capture has read and does not have.
#[derive(Clone, Copy, Debug)]
enum Full {
    /// Later frames have overwritten so many.
    First(u64),
    /// It ended by itself, and so many had come by then. Those that came afterwards were not captured.
    Last(u64),
}

/// The open files of a capture. They can be read when its folder is removed.
#[derive(Debug)]
pub struct Files {
    config: Capture,
    full: Option<Full>,
    files: Vec<File>,
}

impl Recording {
    /// Starts to record what a port receives. The file has up to `limit` octets.
    pub fn start(port: &Port, config: &Capture, limit: ByteCount, folder: &Path) -> Result<Self> {
        let folder = CaptureFolder::below(folder)
            .map_err(|source| OtgError::System { what: "no folder for captures", source })?;
        let snap_length = snap_length(config);
        let options =
            CaptureOptions { snap_length, ring: MEMORY, flow_hashes: false, ..CaptureOptions::default() };
        // A full file is followed by another, which replaces the one before; or it is the last one.
        let rotation = if config.overwrite {
            Rotation { bytes: Some((limit.0 / 2).max(1)), files: Some(2), ..Rotation::default() }
        } else {
            Rotation { bytes: Some(limit.0), last: Some(1), ..Rotation::default() }
        };
        let plan = Plan {
            sources: vec![Source {
                interface: port.interface(),
                method: MethodSpec::plain("packet-v3"),
                options,
                members: 1,
                description: InterfaceDescription {
                    name: Some(port.name.clone()),
                    description: Some(port.side.name().into()),
                    mac: port.side.mac(),
                    ..InterfaceDescription::default()
                },
            }],
            format: FileFormat::Pcapng,
            section: SectionDescription {
                application: Some(format!("capbench {}", env!("CARGO_PKG_VERSION"))),
                ..SectionDescription::default()
            },
            snap_length,
            hash: HashAlgorithm::default(),
            write: WriteOptions {
                rotation,
                pool: MEMORY,
                syncs: false,
                ..WriteOptions::new(folder.path().join(FILE))
            },
            packets: None,
            packet_buffered: false,
            workers: None,
            cpus: Vec::new(),
        };
        let failed = |error: RecordError| match error {
            RecordError::Capture(error) => {
                OtgError::Capture { path: port.name.clone(), source: error.into() }
            }
            error => OtgError::Record { path: port.name.clone(), source: error.into() },
        };
        let session = Opened::open(plan).map_err(failed)?.start().map_err(failed)?;
        Ok(Self { config: config.clone(), limit, folder, session: Some(session), full: None })
    }

    /// Whether it records.
    pub fn is_running(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.is_over())
    }

    /// Ends it, and says what is not in the file.
    pub fn stop(&mut self, port: &str) -> Vec<String> {
        let Some(session) = self.session.take() else { return Vec::new() };
        let finished = session.finish();
        let sum = |count: fn(&InterfaceAccount) -> u64| finished.account.interfaces.iter().map(count).sum();
        let (lost, written): (u64, u64) = (sum(InterfaceAccount::lost), sum(|of| of.output.written));
        let (overwritten, past): (u64, u64) = (sum(|of| of.output.overwritten), sum(|of| of.past_end));
        self.full = match (overwritten, past) {
            (0, 0) => None,
            (overwritten, 0) => Some(Full::First(overwritten)),
            (_, past) => Some(Full::Last(past)),
        };
        let full = self.full.map(|full| {
            let what = match full {
                Full::First(frames) => {
                    format!("its first {frames} frames were overwritten, its last {written} are in it")
                }
                Full::Last(_) => format!("its first {written} frames are in it, and none that came later"),
            };
            format!("the capture of {port} is full ({}, --capture-size): {what}", self.limit)
        });
        let lost = (lost > 0).then(|| format!("the capture of {port} lost {lost} frames"));
        let failures = finished.failures.into_iter().map(|error| format!("the capture of {port}: {error}"));
        failures.chain(lost).chain(full).collect()
    }

    /// Opens its files. They are complete when it has ended.
    pub fn files(&self) -> Result<Files> {
        let files = self.folder.files().map_err(unreadable)?;
        Ok(Files { config: self.config.clone(), full: self.full, files })
    }
}

impl Files {
    /// Writes the file with the frames that the client asked for, in the format of the configuration.
    pub fn write(self, port: &str, packets: &Packets, to: &mut dyn Write) -> Result<()> {
        let slice = match packets {
            Packets::All(_) => None,
            Packets::Slice(Slice::Initial(slice)) => Some(slice),
        };
        encode(self, slice, to).map_err(|failure| match failure {
            Failure::Record(error) => OtgError::Record { path: port.into(), source: error.into() },
            Failure::System(source) => unreadable(source),
        })
    }
}

fn unreadable(source: io::Error) -> OtgError {
    OtgError::System { what: "the capture cannot be read back", source }
}

/// Octets of each frame that are recorded.
fn snap_length(config: &Capture) -> SnapLength {
    config.packet_size.map_or(SnapLength::EVERYTHING, |octets| SnapLength::new(octets.get().into()))
}

enum Failure {
    Record(RecordError),
    System(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

/// Writes the frames of files anew, and at the end what the interface received and what was lost, if the format has it. Sizes of the
/// model include the FCS, which Linux removes: it is computed and put back, except behind frames that were cut.
fn encode(
    files: Files,
    slice: Option<&InitialSlice>,
    to: &mut dyn Write,
) -> std::result::Result<(), Failure> {
    let Files { config, full, files } = files;
    let (skipped, most) = slice.map_or((0, u64::MAX), |slice| (slice.start.0.0 - 1, slice.count.0.0));
    let (format, snap) = (config.format, snap_length(&config));
    let (mut encoder, mut statistics): (Option<Encoder>, _) = (None, None);
    let (mut octets, mut number, mut with_fcs) = (Vec::new(), 0_u64, Vec::new());
    let mut last_ns = 0;
    for file in files {
        let reader = CaptureReader::new(BufReader::new(file));
        let mut reader = reader.map_err(io::Error::other)?;
        let mut section = SectionDescription::default();
        while let Some(record) = reader.next_record().map_err(io::Error::other)? {
            match record {
                Record::Section(described) => section = described.clone(),
                Record::Interface(_, interface) if encoder.is_none() => {
                    let made = match format {
                        CaptureFormat::Pcap => Encoder::pcap(interface.link_type, snap),
                        CaptureFormat::Pcapng => {
                            let description = InterfaceDescription {
                                fcs_octets: Some(FCS as u8),
                                ..interface.description.clone()
                            };
                            Encoder::pcapng(&section, &[description], snap, HashAlgorithm::default())?
                        }
                    };
                    octets.extend(made.header());
                    if format == CaptureFormat::Pcap {
                        octets[PCAP_FCS] |= 2 << 4 | 4;
                    }
                    to.write_all(&octets)?;
                    encoder = Some(made);
                }
                Record::Packet(packet) => {
                    number += 1;
                    last_ns = packet.frame().time_ns;
                    let Some(encoder) = &encoder else { continue };
                    if number <= skipped || number - skipped > most {
                        continue;
                    }
                    octets.clear();
                    put(&packet, encoder, &mut with_fcs, &mut octets);
                    to.write_all(&octets)?;
                }
                // The counts begin with the capture: the last ones are of all its files.
                Record::Statistics(counts) => statistics = Some(counts),
                Record::Interface(..) | Record::Other => {}
            }
        }
    }
    if let (Some(encoder), Some(mut statistics)) = (encoder, statistics) {
        if let Some(Full::First(frames) | Full::Last(frames)) = full {
            statistics.book_own(FULL, frames);
        }
        if let Some(Full::Last(_)) = full {
            // It was full long before it was stopped, and its counts end there.
            (statistics.time_ns, statistics.end_ns) = (last_ns, Some(last_ns));
        }
        to.write_all(&encoder.statistics(&statistics).unwrap_or_default())?;
    }
    Ok(())
}

/// The octet of a pcap file's header with the length of the FCS in units of 16 bits, and the bit that says that it is known
/// (draft-ietf-opsawg-pcap, section 4).
const PCAP_FCS: usize = 23;

/// Octets of the largest record without those of the frame.
const AROUND: usize = 256;

/// Appends a frame.
fn put(packet: &Packet<'_>, encoder: &Encoder, with_fcs: &mut Vec<u8>, octets: &mut Vec<u8>) {
    with_fcs.clear();
    with_fcs.extend_from_slice(packet.data);
    let mut frame = Frame { wire_length: packet.original_length + FCS as u32, ..packet.frame() };
    if packet.data.len() == packet.original_length as usize {
        with_fcs.extend(crc32fast::hash(packet.data).to_le_bytes());
    }
    frame.data = with_fcs;
    let begin = octets.len();
    // As long as the record can be: its octets, and what is around them.
    octets.resize(begin + frame.data.len() + AROUND, 0);
    let written = encoder.encode(&frame, &packet.facts(), &mut octets[begin..]).unwrap_or(0);
    octets.truncate(begin + written);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroU16;
    use std::path::PathBuf;

    use capbench_record::file::{InterfaceStatistics, PacketFacts};
    use capbench_testing::Scratch;
    use capbench_testing::network::program;

    use super::*;
    use crate::model::of_value;

    /// A file of a capture with frames of 60 octets, as a recording writes it: its last record has the counts until then.
    fn file(scratch: &Scratch, name: &str, frames: u8, received: u64) -> PathBuf {
        let description = InterfaceDescription { name: Some("p1".into()), ..InterfaceDescription::default() };
        let section = SectionDescription::default();
        let whole = SnapLength::EVERYTHING;
        let encoder = Encoder::pcapng(&section, &[description], whole, HashAlgorithm::default()).unwrap();
        let mut octets = encoder.header();
        for number in 0..frames {
            let octets_of_frame = [number; 60];
            let frame = Frame::new(&octets_of_frame, 60, 1 << 60);
            let mut room = [0; 512];
            let length = encoder.encode(&frame, &PacketFacts::default(), &mut room).unwrap();
            octets.extend(&room[..length]);
        }
        let statistics = InterfaceStatistics {
            time_ns: 1 << 60,
            received: Some(received),
            interface_dropped: Some(2),
            system_dropped: Some(received / 10),
            comments: vec![format!("lost: link 2, ring {}, writer (ours) 1", received / 10)],
            ..InterfaceStatistics::default()
        };
        octets.extend(encoder.statistics(&statistics).unwrap());
        let path = scratch.file(name);
        fs::write(&path, octets).unwrap();
        path
    }

    fn fetched(paths: &[PathBuf], members: serde_json::Value, slice: Option<&InitialSlice>) -> Vec<u8> {
        fetched_full(paths, members, slice, None)
    }

    fn fetched_full(
        paths: &[PathBuf],
        members: serde_json::Value,
        slice: Option<&InitialSlice>,
        full: Option<Full>,
    ) -> Vec<u8> {
        let mut capture = serde_json::json!({"name": "c", "port_names": ["p1"]});
        members.as_object().unwrap().iter().for_each(|(name, value)| capture[name] = value.clone());
        let files = paths.iter().map(|path| File::open(path).unwrap()).collect();
        let files = Files { config: of_value(&capture).unwrap(), full, files };
        let mut octets = Vec::new();
        encode(files, slice, &mut octets).unwrap_or_else(|_| panic!("it is encoded"));
        octets
    }

    /// The lengths of the frames of a file, and its counts.
    fn read(octets: &[u8]) -> (Vec<(usize, u32)>, Vec<InterfaceStatistics>) {
        let mut reader = CaptureReader::new(octets).unwrap();
        let (mut frames, mut counts) = (Vec::new(), Vec::new());
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Packet(packet) => frames.push((packet.data.len(), packet.original_length)),
                Record::Statistics(statistics) => counts.push(statistics),
                _ => {}
            }
        }
        (frames, counts)
    }

    #[test]
    fn a_fetched_pcapng_ends_with_the_counts_of_the_whole_capture() {
        let scratch = Scratch::new();
        let files = [file(&scratch, "1", 3, 30), file(&scratch, "2", 2, 60)];
        let octets = fetched(&files, serde_json::json!({"format": "pcapng"}), None);
        let (frames, counts) = read(&octets);
        assert_eq!(frames, [(64, 64); 5], "with the FCS");
        let [counts] = &counts[..] else { panic!("{counts:?}") };
        assert_eq!(
            (counts.received, counts.interface_dropped, counts.system_dropped),
            (Some(60), Some(2), Some(6))
        );
        assert_eq!(counts.own_dropped(), Some(1));
        let slice = InitialSlice { start: of_value(&2.into()).unwrap(), count: of_value(&1.into()).unwrap() };
        let (part, of_part) = read(&fetched(&files, serde_json::json!({"format": "pcapng"}), Some(&slice)));
        assert_eq!((part.len(), of_part), (1, vec![counts.clone()]), "a slice has the counts, too");
        let (frames, counts) = read(&fetched(&files, serde_json::json!({"format": "pcap"}), None));
        assert_eq!((frames.len(), counts.len()), (5, 0), "pcap has no counts");
        let path = scratch.file("fetched.pcapng");
        fs::write(&path, &octets).unwrap();
        let said = |line: &str| {
            let output = program(line).arg(&path).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let infos = said("capinfos -M -c -I");
        for line in ["Number of packets:   5", "Number of stat entries = 1"] {
            assert!(infos.contains(line), "{infos}");
        }
        assert_eq!(said("tshark -o eth.check_fcs:TRUE -T fields -e eth.fcs.status -r"), "1\n".repeat(5));
    }

    #[test]
    fn no_frame_of_a_file_is_longer_than_the_packet_size() {
        let scratch = Scratch::new();
        let files = [file(&scratch, "1", 2, 30)];
        for (size, expected) in [(60, 60), (62, 62), (64, 64), (65, 64)] {
            let octets = fetched(&files, serde_json::json!({"packet_size": size}), None);
            assert_eq!(read(&octets).0, [(expected, 64); 2], "packet_size {size}");
            let config =
                of_value::<Capture>(&serde_json::json!({"name": "c", "port_names": [], "packet_size": size}));
            assert_eq!(config.unwrap().packet_size, NonZeroU16::new(size));
        }
    }

    #[test]
    fn the_counts_of_a_full_capture_have_what_it_left_out() {
        let scratch = Scratch::new();
        let files = [file(&scratch, "1", 3, 30)];
        let last_frame_ns = 1 << 60;
        for (full, expected_end) in [(Full::First(7), None), (Full::Last(7), Some(last_frame_ns))] {
            let octets = fetched_full(&files, serde_json::json!({"format": "pcapng"}), None, Some(full));
            let (_, counts) = read(&octets);
            assert_eq!((counts[0].own_dropped(), counts[0].end_ns), (Some(1 + 7), expected_end));
            assert_eq!(counts[0].comments, ["lost: link 2, ring 3, writer (ours) 1, full_file (ours) 7"]);
        }
    }
}
