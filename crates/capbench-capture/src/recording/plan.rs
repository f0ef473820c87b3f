//! What is recorded, how, and to where.

use capbench_sys::host::CpuId;

use crate::backends::packet_v3;
use crate::error::{CaptureError, Result};
use crate::file::reading::LARGEST_RECORD;
use crate::file::{FileFormat, HashAlgorithm, InterfaceDescription, SectionDescription};
use crate::options::{ByteCount, CaptureOptions, Interface, SnapLength};
use crate::spec::MethodSpec;
use crate::writing::WriteOptions;

/// A recording.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is captured; at least one. In a pcapng file they are numbered in this order.
    pub sources: Vec<Source>,
    /// The files' format. Classic pcap does not tell interfaces apart, and has no place for losses.
    pub format: FileFormat,
    /// Where the files come from.
    pub section: SectionDescription,
    /// Octets of each frame in the file at most.
    pub snap_length: SnapLength,
    /// How flow hashes were computed.
    pub hash: HashAlgorithm,
    /// How the files are written. [`WriteOptions::interfaces`] is set by what there is to record.
    pub write: WriteOptions,
    /// The recording ends with so many packets.
    pub packets: Option<u64>,
    /// Readers of the file shall have each packet as soon as the writer has nothing else to do.
    pub packet_buffered: bool,
    /// CPUs for the threads in their order: captures, then the one that merges. The first ones again where there are fewer;
    /// none, and the scheduler chooses.
    pub cpus: Vec<CpuId>,
}

/// An interface of a recording, and how its frames are captured.
#[derive(Clone, Debug)]
pub struct Source {
    /// The interface, in the namespace of the thread that opens the recording.
    pub interface: Interface,
    /// The method.
    pub method: MethodSpec,
    /// Its options. A filter that the method does not run itself is run on what it gives.
    pub options: CaptureOptions,
    /// How many captures share the interface's frames, by [`CaptureOptions::fanout`].
    pub members: usize,
    /// What the file says of it. What the capture turns out to be is added.
    pub description: InterfaceDescription,
}

impl Plan {
    /// # Errors
    /// [`CaptureError::Option`]: no interface, or one twice.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(CaptureError::Option { option: "-i", reason });
        if self.sources.is_empty() {
            return refuse("nothing to record from".into());
        }
        for (at, source) in self.sources.iter().enumerate() {
            let is_same = |other: &Source| other.interface.index == source.interface.index;
            if self.sources[..at].iter().any(is_same) {
                return refuse(format!(
                    "{} twice; several captures of one interface share its frames by --fanout and --members",
                    source.interface.name
                ));
            }
        }
        if self.format == FileFormat::Verbatim {
            self.check_verbatim()?;
        }
        Ok(())
    }

    /// # Errors
    /// [`CaptureError::Option`]: anything but one ring of blocks that readers of the file will take.
    fn check_verbatim(&self) -> Result<()> {
        let refuse = |reason: String| Err(CaptureError::Option { option: "--format verbatim", reason });
        if self.captures() != 1 {
            return refuse("it is for one capture; record several interfaces, or members, as pcapng".into());
        }
        for Source { method, options, .. } in &self.sources {
            if method.name() != packet_v3::METHOD.name {
                return refuse(format!("{method} has no blocks; give --method packet-v3"));
            }
            if options.block.0 > LARGEST_RECORD as u64 {
                return refuse(format!("blocks are at most {} (--block)", ByteCount(LARGEST_RECORD as u64)));
            }
        }
        if cfg!(target_endian = "big") {
            return refuse("it is little-endian, and this host is not; record pcapng".into());
        }
        Ok(())
    }

    /// Captures of all interfaces.
    pub(super) fn captures(&self) -> usize {
        self.sources.iter().map(|source| source.members).sum()
    }
}
