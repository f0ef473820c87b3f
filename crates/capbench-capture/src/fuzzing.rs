//! Entry points of the fuzz targets in `fuzz/`: parsers fed with any octets. Unit tests run each on its corpus.

use std::cell::RefCell;

use capbench_sys::packet::{Frame, PacketType};

use crate::filter::{Compiler, FilterText, FrameMetadata, Listing, Optimise, SoftwareFilter, Tags};
use crate::{Filter, Interface};
use capbench_model::units::SnapLength;

/// A filter file. Its program runs on the remaining octets as a frame and ends. It parses back from its printed form.
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
    for tags in [Tags::InMetadata, Tags::InFrames] {
        if let Ok(mut filter) =
            SoftwareFilter::new(filter, SnapLength::EVERYTHING, &FrameMetadata::tags(tags))
        {
            assert_eq!(filter.matches(&frame), filter.pass(&frame));
        }
    }
}

thread_local! {
    /// `None` without libpcap, or without the privilege for a handle on the loopback interface.
    static COMPILER: RefCell<Option<Compiler>> = RefCell::new(
        Interface::of_name("lo", 65_536)
            .ok()
            .and_then(|loopback| Compiler::open(&loopback, SnapLength::EVERYTHING).ok()),
    );
}

/// An expression: libpcap compiles or refuses it. An error's place is in the text. The program passes the checks.
pub fn expression(octets: &[u8]) {
    let Ok(FilterText::Expression(text)) = FilterText::of_octets(octets) else { return };
    COMPILER.with_borrow_mut(|compiler| {
        let Some(compiler) = compiler else { return };
        // A refusal shows the place, which slices the text.
        match compiler.compile(&text, Optimise::No) {
            Ok(filter) => run(&filter, octets),
            Err(error) => drop(error.to_string()),
        }
    });
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_filter_of_the_corpus_is_read_or_refused() {
        replay("filter", super::filter);
    }

    #[test]
    fn root_every_expression_of_the_corpus_is_compiled_or_refused() {
        replay("expression", super::expression);
    }
}
