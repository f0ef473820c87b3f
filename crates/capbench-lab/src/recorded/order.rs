//! The order of the files of a recording, by what they say themselves.

use std::io::Read;

use capbench_record::file::{CaptureReader, Record, RecordingPart};

/// What orders files: the beginning of their recording and the packets in files before, else the time of the first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileOrder {
    time_ns: u64,
    packets_before: u64,
    /// A file without packets comes before the one that has the next packet.
    has_packets: bool,
}

impl FileOrder {
    /// From the beginning of a file. A file that cannot be read comes first.
    pub fn read(source: impl Read) -> Self {
        let mut order = Self::default();
        let Ok(mut reader) = CaptureReader::new(source) else { return order };
        let mut is_known = false;
        while let Ok(Some(record)) = reader.next_record() {
            match record {
                Record::Section(section) if !is_known => {
                    if let Some(part) = RecordingPart::of_comments(&section.comments) {
                        (order.time_ns, order.packets_before) = (part.began_ns, part.packets_before);
                        is_known = true;
                    }
                }
                Record::Packet(packet) => {
                    order.has_packets = true;
                    if !is_known {
                        order.time_ns = packet.time_ns.unwrap_or(0);
                    }
                    break;
                }
                _ => {}
            }
        }
        order
    }
}
