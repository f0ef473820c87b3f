//! Captures of ports: recorded into files, and returned as octets with the FCS of each frame.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use capbench_capture::Frame;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_record::RecordError;
use capbench_record::file::{
    CaptureReader, Encoder, FileFormat, HashAlgorithm, InterfaceDescription, Packet, Record,
    SectionDescription,
};
use capbench_record::recording::{Opened, Plan, Session, Source};
use capbench_record::writing::{Rotation, WriteOptions};

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

/// A capture of a port.
#[derive(Debug)]
pub struct Recording {
    files: Files,
    session: Option<Session>,
}

/// The files of a capture. They exist until nobody reads them any more.
#[derive(Clone, Debug)]
pub struct Files {
    format: CaptureFormat,
    folder: Arc<Folder>,
}

impl Recording {
    /// Starts to record what a port receives. The file has up to `limit` octets.
    pub fn start(port: &Port, config: &Capture, limit: ByteCount, folder: &Path) -> Result<Self> {
        let folder = Folder::below(folder)
            .map_err(|source| OtgError::System { what: "no folder for captures", source })?;
        let snap_length =
            config.packet_size.filter(|octets| *octets > 0).map_or(SnapLength::EVERYTHING, SnapLength::new);
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
                ..WriteOptions::new(folder.0.join(FILE))
            },
            packets: None,
            packet_buffered: false,
            workers: None,
            cpus: Vec::new(),
        };
        let failed = |error: RecordError| OtgError::Record { path: port.name.clone(), source: error.into() };
        let session = Opened::open(plan).map_err(failed)?.start().map_err(failed)?;
        let files = Files { format: config.format, folder: Arc::new(folder) };
        Ok(Self { files, session: Some(session) })
    }

    /// Whether it records.
    pub fn is_running(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.is_over())
    }

    /// Ends it, and says what is not in the file.
    pub fn stop(&mut self, port: &str) -> Vec<String> {
        let Some(session) = self.session.take() else { return Vec::new() };
        let finished = session.finish();
        let lost: u64 = finished.account.interfaces.iter().map(|interface| interface.lost()).sum();
        let lost = (lost > 0).then(|| format!("the capture of {port} lost {lost} frames"));
        let failures = finished.failures.into_iter().map(|error| format!("the capture of {port}: {error}"));
        failures.chain(lost).collect()
    }

    /// Its files. They are complete when it has ended.
    pub fn files(&self) -> Files {
        self.files.clone()
    }
}

impl Files {
    /// The file with the frames that the client asked for, in the format of the configuration.
    pub fn octets(&self, port: &str, packets: &Packets) -> Result<Vec<u8>> {
        let slice = match packets {
            Packets::All(_) => None,
            Packets::Slice(Slice::Initial(slice)) => Some(slice),
        };
        self.folder
            .files()
            .map_err(Failure::from)
            .and_then(|files| encode(&files, self.format, slice))
            .map_err(|failure| match failure {
                Failure::Record(error) => OtgError::Record { path: port.into(), source: error.into() },
                Failure::System(source) => {
                    OtgError::System { what: "the capture cannot be read back", source }
                }
            })
    }
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

/// Writes the frames of files anew. Sizes of the model include the FCS, which Linux removes: it is computed and put back, except
/// behind frames that were cut.
fn encode(
    files: &[PathBuf],
    format: CaptureFormat,
    slice: Option<&InitialSlice>,
) -> std::result::Result<Vec<u8>, Failure> {
    let (skipped, most) =
        slice.map_or((0, u64::MAX), |slice| (slice.start.0.0.saturating_sub(1), slice.count.0.0));
    let mut encoder: Option<Encoder> = None;
    let (mut octets, mut number, mut with_fcs) = (Vec::new(), 0_u64, Vec::new());
    for file in files {
        let reader = CaptureReader::new(BufReader::new(File::open(file)?));
        let mut reader = reader.map_err(io::Error::other)?;
        let mut section = SectionDescription::default();
        while let Some(record) = reader.next_record().map_err(io::Error::other)? {
            match record {
                Record::Section(described) => section = described.clone(),
                Record::Interface(_, interface) if encoder.is_none() => {
                    let whole = SnapLength::EVERYTHING;
                    let made = match format {
                        CaptureFormat::Pcap => Encoder::pcap(interface.link_type, whole),
                        CaptureFormat::Pcapng => {
                            let description = InterfaceDescription {
                                fcs_octets: Some(FCS as u8),
                                ..interface.description.clone()
                            };
                            Encoder::pcapng(&section, &[description], whole, HashAlgorithm::default())?
                        }
                    };
                    octets.extend(made.header());
                    if format == CaptureFormat::Pcap {
                        octets[PCAP_FCS] |= 2 << 4 | 4;
                    }
                    encoder = Some(made);
                }
                Record::Packet(packet) => {
                    number += 1;
                    let Some(encoder) = &encoder else { continue };
                    if number <= skipped || number - skipped > most {
                        continue;
                    }
                    put(&packet, encoder, &mut with_fcs, &mut octets);
                }
                _ => {}
            }
        }
    }
    Ok(octets)
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

/// A folder that is removed with its content.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// A new folder that only this user can read.
    fn below(parent: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("capbench-otg-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by a process of the same number that could not clean up.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", parent.display())));
                }
            }
        }
    }

    /// The files, in the order in which they were written.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // On failure somebody else has removed it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
