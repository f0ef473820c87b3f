//! Records the delay of a trial's frames.

mod clocks;
mod recorder;
mod times;

pub use clocks::RealtimeReading;
pub use recorder::{LatencyRecorder, Timekeeper};
pub use times::{OneWayTimes, Times};
