//! What the fuzz targets of `fuzz/` call: the bodies of requests on any octets. A unit test runs it on its corpus.

use std::hint::black_box;

use crate::messages::{Numbered, Reply, of_part, read_message};
use crate::model::config::Config;
use crate::model::read;
use crate::model::requests::{CaptureRequest, ConfigUpdate, ControlState, MetricsRequest};

/// The body of any request. A configuration that was taken is taken again as the client gets it.
pub fn request(octets: &[u8]) {
    if let Ok((_, text)) = Config::read(octets) {
        let octets = text.octets();
        assert!(Config::read(&octets).is_ok(), "{}", String::from_utf8_lossy(&octets));
    }
    black_box(read::<ConfigUpdate>(octets).is_ok());
    black_box(read::<ControlState>(octets).is_ok());
    black_box(read::<MetricsRequest>(octets).is_ok());
    black_box(read::<CaptureRequest>(octets).is_ok());
}

/// A message to the engine of a port, or from it.
pub fn message(octets: &[u8]) {
    black_box(read_message::<Numbered>(octets).is_ok());
    black_box(read_message::<Reply>(octets).is_ok());
    black_box(of_part(octets).is_some());
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        capbench_testing::replay("otg", super::request);
        capbench_testing::replay("engine", super::message);
    }
}
