//! Entry point of the fuzz target `library` of `fuzz/`. A unit test runs it on its corpus.

use crate::library::elf;

/// The beginning of a file that is to be opened as a library, and that of a library of this machine.
pub fn library(octets: &[u8]) {
    elf::understand(octets);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_a_library_or_refused() {
        capbench_testing::replay("library", super::library);
    }
}
