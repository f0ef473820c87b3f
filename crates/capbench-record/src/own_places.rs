//! At which places a recording books what it loses itself between a capture and its file, in its account and in the file's statistics.

use capbench_model::places::Place;

/// What no worker took, or lost.
pub(crate) const WORKERS: Place = Place::ApplicationQueue;
/// What the writer refused, or could not write.
pub(crate) const WRITER: Place = Place::Writer;
