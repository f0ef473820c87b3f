//! Entry point of the fuzz target `results` of `fuzz/`. A unit test runs it on its corpus.

use std::path::Path;

use capbench_judge::comparison::Thresholds;
use capbench_judge::comparison::runs::of_runs;

use crate::formats::{FORMATS, Source};
use crate::report;
use capbench_results::read;

/// A results file, complete or not: writes every format and compares it with a later run of the same results.
pub fn results(octets: &[u8]) {
    let Ok(run) = read::parse(octets, Path::new("run/results.json")) else { return };
    let report = report::report(&run);
    let source = Source { runs: std::slice::from_ref(&run), report: &report, with_charts: true };
    for format in &FORMATS {
        // A format may reject the contents of a modified file.
        drop((format.write)(&source));
    }
    let mut later = run.results.clone();
    later.started_unix_s = later.started_unix_s.wrapping_add(1);
    drop(of_runs(&run.results.facts(), &later.facts(), &[], Thresholds::default()));
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_results_file_of_the_corpus_is_reported_or_refused() {
        capbench_testing::replay("results", super::results);
    }
}
