//! A single segment of a soak, as in `segments.jsonl`: one line of JSON for each segment since `results.json` was written.
//!
//! Rewriting all results after every segment would write megabytes per segment of a soak of days. The lines and the saved record
//! together restore the complete record, at any moment of a kill.

use serde::{Deserialize, Serialize};

use super::record::SoakRecord;
use capbench_model::bounded_json;
use capbench_model::trial::TrialResult;

/// File name in a run's directory.
pub const FILE: &str = "segments.jsonl";

/// A completed segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Its number, from 1.
    pub number: u64,
    /// When it began, seconds since the epoch.
    pub began_unix_s: f64,
    /// Resident memory of the process at its end, in bytes; absent if the system does not report it.
    pub resident_bytes: Option<u64>,
    /// What was measured.
    pub trial: TrialResult,
}

/// Memory of a segment, as a multiple of the length of its line.
const MEMORY: usize = 12;

/// Adds the segments of these lines that a saved record lacks, up to the first damaged line, whose fault it returns.
pub fn add_lines(record: &mut SoakRecord, lines: &[u8]) -> Option<String> {
    let mut rest = lines;
    let mut number = 0u64;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|&octet| octet == b'\n');
        let Some(end) = end else {
            return Some(format!("{FILE} ends within line {number}, which is left out."));
        };
        let next = record.segments + 1;
        match bounded_json::from_slice::<Segment>(&rest[..end], MEMORY) {
            Ok(segment) if segment.number < next => {}
            Ok(segment) if segment.number == next => drop(record.add(segment)),
            Ok(segment) => {
                let found = segment.number;
                return Some(format!(
                    "{FILE}: line {number} is of segment {found}, and segment {next} is missing; what follows is left out."
                ));
            }
            Err(error) => {
                return Some(format!(
                    "{FILE}: line {number} is damaged ({error}); it and what follows are left out."
                ));
            }
        }
        rest = &rest[end + 1..];
    }
    None
}
