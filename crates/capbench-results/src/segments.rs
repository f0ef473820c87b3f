//! The segments of a soak that ended since `results.json` was written, as in `segments.jsonl`: one line of JSON for each.
//!
//! Rewriting all results after every segment would write megabytes per segment of a soak of days. The lines and the saved record
//! together restore the complete record, at any moment of a kill.

use capbench_judge::soak::record::SoakRecord;
use capbench_judge::soak::segment::Segment;
use capbench_model::bounded_json;

/// File name in a run's directory.
pub const FILE: &str = "segments.jsonl";

/// Memory of a segment, as a multiple of the length of its line.
const MEMORY: usize = 12;

/// Adds the segments of these lines that a saved record lacks, up to the first damaged line, whose fault it returns.
pub fn add_lines(record: &mut SoakRecord, lines: &[u8]) -> Option<String> {
    let mut remaining = lines;
    let mut number = 0u64;
    while !remaining.is_empty() {
        number += 1;
        let Some(end) = remaining.iter().position(|octet| *octet == b'\n') else {
            return Some(format!("{FILE} ends within line {number}, which is left out."));
        };
        let line = &remaining[..end];
        remaining = &remaining[end + 1..];
        let segment = match bounded_json::from_slice::<Segment>(line, MEMORY) {
            Ok(segment) => segment,
            Err(error) => {
                return Some(format!(
                    "{FILE}: line {number} is damaged ({error}); it and what follows are left out."
                ));
            }
        };
        let next = record.segments + 1;
        if segment.number > next {
            let found = segment.number;
            return Some(format!(
                "{FILE}: line {number} is of segment {found}, and segment {next} is missing; what follows is left out."
            ));
        }
        if segment.number == next {
            record.add(segment);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_judge::soak::record::SoakRecord;
    use capbench_judge::soak::segment::Segment;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::add_lines;

    /// A segment of a second at this load, which loses a tenth of the frames.
    fn segment(number: u64, load: Load) -> Segment {
        let measured = measured(1000, 1000, 900, 100);
        let trial =
            measured.result(number as u32, Phase::Soak, &profile("recv"), load, Duration::from_secs(1));
        Segment { number, began_unix_s: number as f64, resident_bytes: None, trial }
    }

    #[test]
    fn lines_of_segments_add_up_to_the_record_that_the_soak_had() {
        let rate = "1k".parse().unwrap();
        let mut record = SoakRecord::new(rate, Duration::from_secs(9), Duration::from_secs(1));
        let mut saved = record.clone();
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        for number in 1..=9 {
            let segment = segment(number, Load::Rate(rate));
            serde_json::to_writer(&mut lines, &segment).unwrap();
            ends.push(lines.len());
            lines.push(b'\n');
            record.add(segment);
            if number == 2 {
                saved = record.clone();
            }
        }
        let mut read = saved.clone();
        assert_eq!(add_lines(&mut read, &lines), None);
        assert_eq!(read, record, "the first two are in the saved record already");

        let mut cut = saved.clone();
        let warning = add_lines(&mut cut, &lines[..ends[8] - 1]).unwrap();
        assert_eq!((cut.segments, warning.contains("ends within line 9")), (8, true), "{warning}");

        let mut damaged = lines.clone();
        damaged[ends[4] + 1] = b'!';
        let mut before = saved.clone();
        let warning = add_lines(&mut before, &damaged).unwrap();
        assert_eq!((before.segments, warning.contains("line 6 is damaged")), (5, true), "{warning}");

        let mut first = SoakRecord { segments: 0, ..saved };
        let warning = add_lines(&mut first, &lines[ends[0] + 1..]).unwrap();
        assert!(warning.contains("segment 1 is missing"), "{warning}");
    }
}
