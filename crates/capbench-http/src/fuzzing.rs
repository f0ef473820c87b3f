//! Entry point of the fuzz target `web` of `fuzz/`. A unit test runs it on its corpus.

use std::hint::black_box;
use std::path::Path;

use crate::http_config::HttpConfig;
use crate::web_config::WebConfig;

/// Any octets as the configuration of a server and of a client. No file that they name is opened.
pub fn configuration(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    black_box(WebConfig::parse(&text, Path::new("/folder")).is_ok());
    black_box(HttpConfig::parse(&text, Path::new("/folder")).is_ok());
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        capbench_testing::replay("web", super::configuration);
    }
}
