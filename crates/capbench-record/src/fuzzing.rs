//! Entry points for the fuzz targets in `fuzz/`: each runs a reader of this crate on any octets. Unit tests run each on its
//! corpus.

use std::path::Path;

use crate::convert::{self, Converted, OutputLimit};
use crate::file::{CaptureReader, FileFormat};
use crate::writing::WriteOptions;

pub use crate::file::fuzzing::check as capture_file;

/// A capture file, converted to both formats: the output of a conversion without an error is whole and has its packets.
pub fn convert(octets: &[u8]) {
    convert_in(&std::env::temp_dir(), octets);
}

fn convert_in(folder: &Path, octets: &[u8]) {
    let path = folder.join(format!("converted-{}", std::process::id()));
    let mut options = WriteOptions::new(&path);
    options.pool.0 = 4 << 20;
    for format in [FileFormat::Pcapng, FileFormat::Pcap] {
        let mut counts = Converted::default();
        if convert::convert(octets, format, &options, OutputLimit::None, &mut counts).is_ok() {
            let written = std::fs::read(&path).expect("it was written");
            let mut reader = CaptureReader::new(&written[..]).expect("it has a header");
            while reader.next_record().expect("its records are whole").is_some() {}
            assert_eq!((reader.frames(), reader.ends_early()), (counts.packets, false));
        }
    }
    drop(std::fs::remove_file(path));
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_file_of_the_corpus_is_converted_or_refused() {
        let folder = capbench_testing::Scratch::new();
        replay("capture_file", |octets| super::convert_in(&folder, octets));
    }
}
