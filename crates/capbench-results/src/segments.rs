//! The segments of a soak that ended since `results.json` was written, as in `segments.jsonl`: one line of JSON for each.
//!
//! Rewriting all results after every segment would write megabytes per segment of a soak of days. The lines and the saved record
//! together restore the complete record, at any moment of a kill.

use capbench_judge::soak::record::SoakRecord;
use capbench_judge::soak::segment::Segment;
use capbench_model::bounded_json;

/// File name in a run's directory.
pub const FILE: &str = "segments.jsonl";

/// Most memory that parsing a segment may take, as a multiple of the length of its line.
const MEMORY: usize = 12;

/// Adds the segments of these lines that a saved record lacks. Stops at the first line that is damaged or does not follow, and
/// returns a warning about it. A segment that the record has is skipped: a kill may prevent the removal of the file after the
/// record was saved.
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

    /// A soak of nine segments. It was killed after the last one, and had saved its results after the second.
    struct KilledSoak {
        /// The record of all nine segments.
        complete: SoakRecord,
        /// The record in its results: the first two segments.
        saved: SoakRecord,
        /// A line for each of the nine segments.
        lines: Vec<u8>,
        /// The position of each line's line feed.
        ends: Vec<usize>,
    }

    fn killed_soak() -> KilledSoak {
        let rate = "1k".parse().unwrap();
        let empty = SoakRecord::new(rate, Duration::from_secs(9), Duration::from_secs(1));
        let mut soak =
            KilledSoak { complete: empty.clone(), saved: empty, lines: Vec::new(), ends: Vec::new() };
        for number in 1..=9 {
            let segment = segment(number, Load::Rate(rate));
            serde_json::to_writer(&mut soak.lines, &segment).unwrap();
            soak.ends.push(soak.lines.len());
            soak.lines.push(b'\n');
            soak.complete.add(segment);
            if number == 2 {
                soak.saved = soak.complete.clone();
            }
        }
        soak
    }

    #[test]
    fn lines_of_segments_complete_the_saved_record() {
        let mut soak = killed_soak();
        assert_eq!(add_lines(&mut soak.saved, &soak.lines), None);
        assert_eq!(soak.saved, soak.complete, "the first two lines are skipped");
    }

    #[test]
    fn a_line_that_is_cut_is_left_out() {
        let mut soak = killed_soak();
        let cut = &soak.lines[..soak.ends[8] - 1];
        let warning = add_lines(&mut soak.saved, cut).unwrap();
        assert!(warning.contains("ends within line 9"), "{warning}");
        assert_eq!(soak.saved.segments, 8);
    }

    #[test]
    fn a_damaged_line_and_those_after_it_are_left_out() {
        let mut soak = killed_soak();
        // The first octet of the sixth line.
        soak.lines[soak.ends[4] + 1] = b'!';
        let warning = add_lines(&mut soak.saved, &soak.lines).unwrap();
        assert!(warning.contains("line 6 is damaged"), "{warning}");
        assert_eq!(soak.saved.segments, 5);
    }

    #[test]
    fn lines_that_do_not_follow_the_record_are_left_out() {
        let soak = killed_soak();
        let mut without_segments = SoakRecord { segments: 0, ..soak.saved };
        let from_second_line = &soak.lines[soak.ends[0] + 1..];
        let warning = add_lines(&mut without_segments, from_second_line).unwrap();
        assert!(warning.contains("segment 1 is missing"), "{warning}");
    }
}
