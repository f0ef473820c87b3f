//! Entry points for the fuzz targets in `fuzz/`: each runs a reader of this crate on any octets. Unit tests run each on its
//! corpus.

use crate::figures;

/// A file of a dataset, read as the trials of a run and as its searches.
pub fn dataset(octets: &[u8]) {
    figures::fuzz(octets);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        capbench_testing::replay("dataset", super::dataset);
    }
}
