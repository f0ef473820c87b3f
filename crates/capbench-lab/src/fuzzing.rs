//! What the fuzz targets of `fuzz/` call: readers of this crate on any octets. Unit tests run each on its corpus.

use std::hint::black_box;
use std::sync::LazyLock;

use capbench_frames::{FrameLayout, TrialId};

use crate::programs::{self, Programs};
use crate::recorded::Recorded;

/// Capture files, as `verify` reads them: every packet of the file is counted once.
pub fn recorded(octets: &[u8]) {
    let mut recorded = Recorded::new(&[TrialId(1), TrialId(7)], FrameLayout::default(), false);
    let read = recorded.read(octets);
    recorded.end(Some(100));
    assert_eq!(recorded.frames(), read.frames, "every packet is looked at");
    black_box((recorded.is_right(), recorded.late()));
    for trial in recorded.trials() {
        assert!(trial.delivered + trial.duplicates <= recorded.frames());
        black_box((trial.missing(), trial.missing_ranges().count()));
    }
}

/// What a program prints, the number of the program in the first octet.
pub fn program_report(octets: &[u8]) {
    static PROGRAMS: LazyLock<Programs> = LazyLock::new(Programs::default);
    let Some((&number, text)) = octets.split_first() else { return };
    let rows = PROGRAMS.rows();
    programs::fuzz_report(&rows[usize::from(number) % rows.len()], &String::from_utf8_lossy(text));
}

/// Files of users that define programs.
pub fn definitions(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    black_box(programs::parse_definitions(text).is_ok());
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_file_of_each_corpus_is_read_or_refused() {
        replay("capture_file", super::recorded);
        replay("program_report", super::program_report);
        replay("definitions", super::definitions);
    }
}
