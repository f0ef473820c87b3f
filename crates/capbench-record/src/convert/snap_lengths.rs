//! The snap lengths that an output states: those of the input, except where packets contradict them.
//!
//! Programs that use libpcap refuse a pcapng file at the first packet that is longer than the snap length of its interface, and
//! cut such packets of a pcap file. The header is written before its packets are known. In a file, it is corrected at the end.
//! A pipe and a compressed file cannot be corrected: there the snap length is at least [`SnapLength::EVERYTHING`], the largest
//! that such programs accept, and no longer packet is converted.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use capbench_model::units::SnapLength;

use crate::error::RecordError;

/// Snap lengths in an output.
#[derive(Debug)]
pub(super) struct SnapLengths {
    /// Whether a stated length is written as it is: it can be corrected, or no packet contradicts it.
    keeps_stated: bool,
    /// Of the interfaces of the section.
    interfaces: Vec<Field>,
    /// Of earlier sections: offset in the file, and the right length.
    corrections: Vec<(u64, u32)>,
}

/// The snap length of an interface.
#[derive(Debug)]
struct Field {
    /// Offset in the file.
    at: u64,
    /// As written; 0 for no limit.
    written: u32,
    /// Captured octets of its largest packet.
    largest: u32,
}

impl Field {
    fn correction(&self) -> Option<(u64, u32)> {
        (self.written > 0 && self.largest > self.written).then_some((self.at, self.largest))
    }
}

impl SnapLengths {
    pub(super) fn new(keeps_stated: bool) -> Self {
        Self { keeps_stated, interfaces: Vec::new(), corrections: Vec::new() }
    }

    pub(super) fn begin_section(&mut self) {
        self.corrections.extend(self.interfaces.drain(..).filter_map(|field| field.correction()));
    }

    /// The length to write for one that the input states.
    pub(super) fn to_write(&self, stated: u32) -> u32 {
        if self.keeps_stated || stated == 0 { stated } else { stated.max(SnapLength::EVERYTHING.octets()) }
    }

    /// Notes that the next interface of the section has this length at this offset in the file.
    pub(super) fn add(&mut self, at: u64, written: u32) {
        self.interfaces.push(Field { at, written, largest: 0 });
    }

    /// The length of the last interface.
    pub(super) fn last_written(&self) -> Option<u32> {
        self.interfaces.last().map(|field| field.written)
    }

    /// Notes a packet of an interface, by its captured octets.
    #[inline]
    pub(super) fn note(&mut self, interface: u32, octets: u32) {
        if let Some(field) = self.interfaces.get_mut(interface as usize) {
            field.largest = field.largest.max(octets);
        }
    }

    /// Corrects the lengths that packets contradicted, in the complete file.
    pub(super) fn correct(mut self, file: &Path, syncs: bool) -> Result<(), RecordError> {
        self.begin_section();
        if self.corrections.is_empty() {
            return Ok(());
        }
        let written = OpenOptions::new().write(true).open(file).and_then(|output| {
            for (at, octets) in &self.corrections {
                output.write_all_at(&octets.to_le_bytes(), *at)?;
            }
            if syncs { output.sync_data() } else { Ok(()) }
        });
        written.map_err(|source| RecordError::Output {
            attempt: "correct the snap length in",
            path: file.into(),
            next: "all packets are in it; convert it again",
            source,
        })
    }
}
