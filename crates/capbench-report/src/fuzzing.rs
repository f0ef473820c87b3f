//! What the fuzz target `results` of `fuzz/` calls. A unit test runs it on its corpus.

use std::path::Path;

use capbench_measure::comparison::{Thresholds, of_runs};

use crate::formats::{FORMATS, Source};
use crate::{read, report};

/// A results file, whole or not: every format is written, and it is compared with a later run of the same results.
pub fn results(octets: &[u8]) {
    let Ok(run) = read::parse(octets, Path::new("run/results.json")) else { return };
    if let Ok(report) = report::report(&run) {
        let source = Source { run: &run, report: &report, with_charts: true };
        for write in FORMATS.iter().filter_map(|format| format.write) {
            // A format may have no room for what a changed file says.
            drop(write(&source));
        }
    }
    let mut later = run.results.clone();
    later.started_unix_s = later.started_unix_s.wrapping_add(1);
    drop(of_runs(&run.results, &later, &[], Thresholds::default()));
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn every_results_file_of_the_corpus_is_reported_or_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/results");
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty());
        files.iter().for_each(|file| super::results(&fs::read(file).unwrap()));
    }
}
