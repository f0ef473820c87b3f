//! Rates, limits and sizes in words, for plans of `send`.

use std::time::Duration;

use capbench_frames::{Schedule, Sizes};
use capbench_model::figures::grouped;

/// A single size is in bytes; other texts have names or several sizes.
pub fn sizes_in_words(sizes: &Sizes) -> String {
    if let Sizes::Fixed(size) = sizes { format!("{size} bytes") } else { sizes.to_string() }
}

/// Rate and limits.
pub fn pace_in_words(schedule: &Schedule, frames: Option<u64>, duration: Option<Duration>) -> String {
    let rate = match schedule.rate() {
        Some(rate) => format!("{} packets/s", grouped(rate.get())),
        None if matches!(schedule, Schedule::Recorded(_)) => "at the file's times".into(),
        None => "unpaced".into(),
    };
    let limits = [frames.map(|frames| format!("{frames} frames")), duration.map(|time| format!("{time:?}"))];
    let limits: Vec<_> = limits.into_iter().flatten().collect();
    if limits.is_empty() { rate } else { format!("{rate} for {}", limits.join(" or ")) }
}
