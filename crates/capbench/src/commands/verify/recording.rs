//! The verdict about a recording without stamps, in one sentence.

use std::path::Path;

use capbench_lab::recorded::{Completeness, FileRead, Finding, RecordingVerdict};
use capbench_model::figures::{grouped, percent};

/// The verdict.
pub(super) fn sentence(verdict: &RecordingVerdict, files: &[(&Path, FileRead)]) -> String {
    let findings: Vec<_> = verdict.findings.iter().map(|finding| words(*finding, verdict, files)).collect();
    match verdict.completeness {
        Completeness::Complete => complete(verdict, files.len()),
        Completeness::Incomplete => format!("not complete: {}\n", findings.join("; ")),
        Completeness::Unknown if findings.is_empty() => "unknown whether it is complete: no packets\n".into(),
        Completeness::Unknown => format!("unknown whether it is complete: {}\n", findings.join("; ")),
    }
}

fn complete(verdict: &RecordingVerdict, files: usize) -> String {
    let packets = count(verdict.packets);
    let all = format!("{packets} of {packets} packets in {}", several(files as u64, "file"));
    let gaps = if files > 1 { ", no gap between files" } else { "" };
    match verdict.replaced {
        0 => format!("complete: {all}{gaps}\n"),
        replaced => format!(
            "complete from packet {}: {all}{gaps}; the recorder removed the files before, with {}\n",
            count(replaced + 1),
            several(replaced, "packet")
        ),
    }
}

/// A finding, as the rest of a sentence.
pub(super) fn words(finding: Finding, verdict: &RecordingVerdict, files: &[(&Path, FileRead)]) -> String {
    let name = |file: usize| files.get(file).map_or_else(String::new, |(file, _)| file.display().to_string());
    match finding {
        Finding::Lost { packets } => {
            let all = verdict.packets + verdict.replaced + packets;
            let share = percent(packets as f64 / all as f64);
            format!("lost {} of {} packets ({share})", count(packets), count(all))
        }
        Finding::Cut { packets } => {
            format!("{} shorter than the snap length allows", several(packets, "packet"))
        }
        Finding::MissingBetween { packets, before, behind } => {
            format!("{} missing between {} and {}", several(packets, "packet"), name(before), name(behind))
        }
        Finding::MissingAtStart { packets } => {
            format!("{} missing before {}", several(packets, "packet"), name(0))
        }
        Finding::Overlap { before, behind } => {
            format!("{} and {} overlap: a file is named twice, or was changed", name(before), name(behind))
        }
        Finding::MissingOfRing { files, of } => {
            format!("{files} of the {of} files of the ring")
        }
        Finding::EndsEarly { file } => format!("{} ends within a record", name(file)),
        Finding::Unreadable { file } => format!("{} cannot be read to its end", name(file)),
        Finding::NoEnd { file } => format!(
            "{} has no statistics of the end: the recorder was killed, still runs, or a later file is missing",
            name(file)
        ),
        Finding::NoStatistics { file } => {
            format!("{} says nothing of losses: it has no statistics with counts of them", name(file))
        }
        Finding::NoOrder => "the files do not say how they follow each other".into(),
        Finding::SeveralRecordings { recordings } => {
            format!("the files are of {recordings} recordings: verify each of them alone")
        }
    }
}

fn count(number: u64) -> String {
    grouped(number as f64)
}

fn several(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}
