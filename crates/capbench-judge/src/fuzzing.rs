//! What a fuzz target of `fuzz/` calls: the reader of search goals, on any octets. A unit test runs it on its corpus.

use crate::search::notation;

/// Reads octets as search goals in both notations. Goals that are read must be valid.
pub fn goals(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    std::hint::black_box(notation::parse_toml(text).is_ok());
    if let Ok(goals) = notation::parse(text) {
        goals.iter().for_each(|goal| goal.validate().expect("it was checked"));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        capbench_testing::replay("definitions", super::goals);
    }
}
