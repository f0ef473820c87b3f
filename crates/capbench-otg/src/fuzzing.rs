//! What the fuzz targets of `fuzz/` call: the bodies of requests on any octets. A unit test runs it on its corpus.

use std::hint::black_box;

use crate::model::config::{Config, normalise};
use crate::model::requests::{CaptureRequest, ConfigUpdate, ControlState, MetricsRequest};
use crate::model::{of_value, read};

/// The body of any request. A configuration that was taken is taken again as the client gets it.
pub fn request(octets: &[u8]) {
    if let Ok((_, mut value)) = read::<Config>(octets) {
        normalise(&mut value);
        assert!(of_value::<Config>(&value).is_ok(), "{value}");
    }
    black_box(read::<ConfigUpdate>(octets).is_ok());
    black_box(read::<ControlState>(octets).is_ok());
    black_box(read::<MetricsRequest>(octets).is_ok());
    black_box(read::<CaptureRequest>(octets).is_ok());
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        capbench_testing::replay("otg", super::request);
    }
}
