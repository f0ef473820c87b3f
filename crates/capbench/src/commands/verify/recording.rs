//! The verdict about a recording without stamps, in one sentence.

use std::path::Path;

use capbench_lab::recorded::{Completeness, FileRead, Finding, RecordedInterface, RecordingVerdict};
use capbench_model::completeness::UnknownLoss;
use capbench_model::figures::{grouped, percent};
use capbench_report::sentences::places;

use super::name_of_interface;

/// A verdict, with the files and interfaces that it is about.
pub(super) struct NamedVerdict<'a> {
    pub verdict: &'a RecordingVerdict,
    pub files: &'a [(&'a Path, FileRead)],
    pub interfaces: &'a [RecordedInterface],
}

impl NamedVerdict<'_> {
    /// The verdict.
    pub fn sentence(&self) -> String {
        let findings = self.findings();
        match self.verdict.completeness {
            Completeness::Complete => complete(self.verdict, self.files.len()),
            Completeness::Incomplete => format!("not complete: {}\n", findings.join("; ")),
            Completeness::Unknown if findings.is_empty() => {
                "unknown whether it is complete: no packets\n".into()
            }
            Completeness::Unknown => format!("unknown whether it is complete: {}\n", findings.join("; ")),
        }
    }

    /// The findings, each as the rest of a sentence.
    pub fn findings(&self) -> Vec<String> {
        self.verdict.findings.iter().map(|finding| self.words(*finding)).collect()
    }

    fn words(&self, finding: Finding) -> String {
        match finding {
            Finding::Lost { packets } => {
                let all = self.verdict.packets + self.verdict.replaced + packets;
                let share = percent(packets as f64 / all as f64);
                format!("lost {} of {} packets ({share})", count(packets), count(all))
            }
            Finding::Cut { packets } => {
                format!("{} shorter than the snap length allows", several(packets, "packet"))
            }
            Finding::MissingBetween { packets, before, behind } => format!(
                "{} missing between {} and {}",
                several(packets, "packet"),
                self.file(before),
                self.file(behind)
            ),
            Finding::MissingAtStart { packets } => {
                format!("{} missing before {}", several(packets, "packet"), self.file(0))
            }
            Finding::Overlap { before, behind } => format!(
                "{} and {} overlap: a file is named twice, or was changed",
                self.file(before),
                self.file(behind)
            ),
            Finding::MissingOfRing { files, of } => format!("{files} of the {of} files of the ring"),
            Finding::EndsEarly { file } => format!("{} ends within a record", self.file(file)),
            Finding::Unreadable { file } => format!("{} cannot be read to its end", self.file(file)),
            Finding::NoEnd { file } => format!(
                "{} has no statistics of the end: the recorder was killed, still runs, or a later file is missing",
                self.file(file)
            ),
            Finding::NoStatistics { file } => {
                format!(
                    "{} says nothing of losses: it has no statistics with counts of them",
                    self.file(file)
                )
            }
            Finding::UnknownLoss { interface, loss } => self.unknown_loss(interface, loss),
            Finding::NoOrder => "the files do not say how they follow each other".into(),
            Finding::SeveralRecordings { recordings } => {
                format!("the files are of {recordings} recordings: verify each of them alone")
            }
        }
    }

    /// Why it is unknown how many packets of an interface were lost.
    fn unknown_loss(&self, interface: usize, loss: UnknownLoss) -> String {
        let name = name_of_interface(interface, &self.interfaces[interface]);
        match loss {
            UnknownLoss::At(place) => {
                format!("how many packets of {name} were lost {} is unknown", places::words(place))
            }
            UnknownLoss::NoCounter => {
                format!("the recorder did not count how many packets of {name} it lost")
            }
            UnknownLoss::Unexplained(packets) => format!(
                "{} of {name}, accepted by the kernel, neither delivered nor counted as lost",
                several(packets, "packet")
            ),
        }
    }

    /// The name of a file.
    fn file(&self, file: usize) -> String {
        self.files.get(file).map_or_else(String::new, |(path, _)| path.display().to_string())
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

fn count(number: u64) -> String {
    grouped(number as f64)
}

fn several(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}
