//! The text format of HdrHistogram tools: format V2, deflated, in base64. A foreign file may claim any length in its header, and
//! the library allocates that length: therefore the header is checked first.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use super::{DIGITS, LONGEST_NS};

use crate::error::ParseError;

/// Cookie of a deflated histogram; the length of the following data is next.
const DEFLATED: u32 = 0x1c84_9314;
/// Cookie of a histogram that is not deflated.
const V2: u32 = 0x1c84_9313;
/// Cookie and length before the deflated octets.
const ENVELOPE: usize = 8;
/// Cookie, length of the counts, offset, digits, lowest and highest value, ratio.
const HEADER: usize = 40;
/// Upper bound of the octets of a histogram's counts up to [`LONGEST_NS`].
const MOST_COUNTS: usize = 9 * 33 * 1024;

/// A histogram in format V2, deflated.
pub(super) fn to_octets(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut octets = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut octets)
        .expect("memory takes every octet, and counts of frames are below 2^63");
    octets
}

/// A histogram as text.
pub(super) fn to_text(histogram: &Histogram<u64>) -> String {
    STANDARD.encode(to_octets(histogram))
}

/// The histogram of a text, if it has the kind that capbench writes.
pub(super) fn from_text(text: &str) -> Result<Histogram<u64>, String> {
    let octets = STANDARD.decode(text).map_err(|error| format!("no histogram in base64: {error}"))?;
    let refused = |reason: String| ParseError::Histogram(reason).to_string();
    let plain = inflated(&octets).and_then(|plain| check(&plain).map(|()| plain)).map_err(refused)?;
    let read = Deserializer::new().deserialize(&mut plain.as_slice());
    read.map_err(|error| refused(error.to_string()))
}

/// The inflated data, up to the longest histogram of capbench.
fn inflated(octets: &[u8]) -> Result<Vec<u8>, String> {
    if number(octets, 0) != Some(DEFLATED) {
        return Err("its first octets are others".into());
    }
    let most = HEADER + MOST_COUNTS;
    let mut plain = Vec::new();
    let read =
        ZlibDecoder::new(&octets[ENVELOPE.min(octets.len())..]).take(most as u64 + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("it cannot be inflated: {error}"))?;
    if plain.len() > most {
        return Err(format!("it has more than {most} octets"));
    }
    Ok(plain)
}

/// Checks that the header claims no more than there is.
fn check(plain: &[u8]) -> Result<(), String> {
    let field = |at| number(plain, at).map(u64::from).ok_or("its header is cut off");
    let wide = |at| Ok::<_, &str>(field(at)? << 32 | field(at + 4)?);
    if field(0)? != u64::from(V2) {
        return Err("what is deflated is no histogram".into());
    }
    let (length, digits, highest) = (field(4)?, field(12)?, wide(24)?);
    wide(32)?;
    let counts = (plain.len() - HEADER) as u64;
    if length != counts {
        return Err(format!("its header claims {length} octets of counts, and {counts} are there"));
    }
    if digits != u64::from(DIGITS) {
        return Err(format!("it has {digits} significant digits instead of {DIGITS}"));
    }
    if highest > LONGEST_NS {
        return Err(format!("its highest value is {highest} ns, above {LONGEST_NS} ns"));
    }
    Ok(())
}

/// The big-endian number at an offset.
fn number(octets: &[u8], at: usize) -> Option<u32> {
    let (number, _) = octets.get(at..)?.split_first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::V2Serializer;
    use proptest::prelude::*;

    use super::*;

    fn plain(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut octets = Vec::new();
        V2Serializer::new().serialize(histogram, &mut octets).unwrap();
        octets
    }

    /// The text of these octets, deflated.
    fn wrapped(plain: &[u8]) -> String {
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut octets = DEFLATED.to_be_bytes().to_vec();
        octets.extend((deflated.len() as u32).to_be_bytes());
        octets.extend(deflated);
        STANDARD.encode(octets)
    }

    fn ours() -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).unwrap();
        histogram.record_n(1_000, 7).unwrap();
        histogram
    }

    #[test]
    fn a_header_that_claims_too_much_is_refused_before_anything_is_allocated() {
        assert_eq!(from_text(&wrapped(&plain(&ours()))).unwrap(), ours());
        let with = |at: usize, octets: &[u8]| {
            let mut changed = plain(&ours());
            changed[at..at + octets.len()].copy_from_slice(octets);
            from_text(&wrapped(&changed)).unwrap_err()
        };
        assert!(with(4, &2_000_000_000_u32.to_be_bytes()).contains("claims 2000000000 octets"));
        assert!(with(12, &5_u32.to_be_bytes()).contains("5 significant digits"));
        assert!(with(24, &u64::MAX.to_be_bytes()).contains("highest value"));
        assert!(with(0, &DEFLATED.to_be_bytes()).contains("no histogram"));
        assert!(from_text(&wrapped(&plain(&ours())[..20])).unwrap_err().contains("cut off"));
        assert!(from_text(&wrapped(&vec![0; 1 << 24])).unwrap_err().contains("more than"));
        assert!(from_text("").unwrap_err().contains("first octets"));
    }

    #[test]
    fn the_longest_histogram_of_capbench_fits() {
        let mut histogram = ours();
        let all = histogram.distinct_values();
        let mut value = 1;
        while value < LONGEST_NS {
            histogram.record_n(value, 1 << 40).unwrap();
            value = histogram.next_non_equivalent(value);
        }
        assert!(all * 9 <= MOST_COUNTS, "{all}");
        assert_eq!(from_text(&to_text(&histogram)).unwrap(), histogram);
    }

    proptest! {
        #[test]
        fn a_changed_octet_gives_a_small_histogram_or_an_error(at in 0..48_usize, octet in 0..0x80_u8) {
            let mut changed = plain(&ours());
            let at = at.min(changed.len() - 1);
            changed[at] = octet;
            if let Ok(histogram) = from_text(&wrapped(&changed)) {
                prop_assert!(histogram.distinct_values() <= ours().distinct_values());
            }
        }
    }
}
