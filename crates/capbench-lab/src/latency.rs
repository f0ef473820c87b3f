//! Records the delay of a trial's frames.

mod clocks;
mod recorder;

pub use clocks::RealtimeReading;
pub use recorder::{LatencyRecorder, OneWayTimes, Timekeeper};
