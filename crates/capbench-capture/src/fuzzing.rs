//! What the fuzz targets of `fuzz/` call: readers of this crate on any octets. Unit tests run each on its corpus.

use crate::filter::SoftwareFilter;
use std::cell::RefCell;
use std::path::Path;

use capbench_sys::packet::{Frame, PacketType};

use crate::convert::{self, Converted, OutputLimit};
use crate::file::{CaptureReader, FileFormat};
use crate::filter::{Beside, Compiler, Filter, FilterText, Listing, Optimise, Tags};
use crate::interface::Interface;
use crate::units::SnapLength;
use crate::writing::WriteOptions;

pub use crate::file::fuzzing::check as capture_file;

/// A filter file. Its program, of which the rest of the octets are a frame, runs and ends; printed, it is read as the same.
pub fn filter(octets: &[u8]) {
    let (text, data) = match octets.iter().position(|octet| *octet == 0) {
        Some(end) => (&octets[..end], &octets[end + 1..]),
        None => (octets, &[][..]),
    };
    let Ok(FilterText::Program(filter)) = FilterText::of_octets(text) else { return };
    let printed = Listing::Decimal.of(&filter).expect("numbers need no library");
    assert_eq!(printed.parse(), Ok(filter.clone()));
    run(&filter, data);
}

fn run(filter: &Filter, data: &[u8]) {
    let frame = Frame {
        data,
        wire_length: data.len() as u32,
        time_ns: 0,
        vlan: None,
        packet_type: PacketType::Host,
        hash: None,
        status: 0,
    };
    for tags in [Tags::Beside, Tags::InFrames] {
        if let Ok(mut filter) = SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &Beside::tags(tags)) {
            assert_eq!(filter.matches(&frame), filter.pass(&frame));
        }
    }
}

thread_local! {
    /// `None` where there is no libpcap, or no privilege for a handle on the loopback interface.
    static COMPILER: RefCell<Option<Compiler>> = RefCell::new(
        Interface::of_name("lo", 65_536)
            .ok()
            .and_then(|loopback| Compiler::open(&loopback, SnapLength::EVERYTHING).ok()),
    );
}

/// An expression: libpcap compiles or refuses it, and the place of an error is in the text. The program passes the checks.
pub fn expression(octets: &[u8]) {
    let Ok(FilterText::Expression(text)) = FilterText::of_octets(octets) else { return };
    COMPILER.with_borrow_mut(|compiler| {
        let Some(compiler) = compiler else { return };
        // A refusal shows the place: that slices the text.
        match compiler.compile(&text, Optimise::No) {
            Ok(filter) => run(&filter, octets),
            Err(error) => drop(error.to_string()),
        }
    });
}

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

    #[test]
    fn every_filter_of_the_corpus_is_read_or_refused() {
        replay("filter", super::filter);
    }

    #[test]
    fn root_every_expression_of_the_corpus_is_compiled_or_refused() {
        replay("expression", super::expression);
    }
}
