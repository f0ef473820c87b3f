//! What a soak prints while it runs: a head, and a line for each segment.

use std::time::Duration;

use capbench_judge::soak::record::Interval;
use capbench_model::figures::{count, grouped};
use capbench_plan::soak::SoakPlan;
use humantime::format_duration;

/// The set-up and its load, and the heads of the columns.
pub fn head(plan: &SoakPlan) -> String {
    let setup = &plan.setup;
    format!(
        "{}, {}-byte frames, placement {}, {} packets/s for {}\n{:>10} {:>12} {:>12} {:>12}  where\n",
        setup.method,
        setup.label(),
        setup.placement,
        grouped(plan.rate.get()),
        format_duration(plan.length),
        "sent for",
        "offered/s",
        "delivered",
        "lost"
    )
}

/// The line of a segment.
pub fn line(segment: &Interval) -> String {
    let mut places = Vec::new();
    for (place, count) in &segment.lost {
        places.push(format!("{} {count}", place.key()));
    }
    if segment.counts.unexplained != 0 {
        places.push(format!("unexplained {}", segment.counts.unexplained));
    }
    if segment.backlogged > 0 {
        places.push(format!("in buffers at the end {}", segment.backlogged));
    }
    let places = if places.is_empty() { "-".into() } else { places.join(", ") };
    let care = if segment.disturbed > 0 || segment.invalid > 0 { " *" } else { "" };
    let end = Duration::from_millis(((segment.from_s + segment.sending_s) * 10.0).round() as u64 * 100);
    format!(
        "{:>10} {:>12} {:>12} {:>12}  {places}{care}\n",
        format_duration(end).to_string().replace(' ', ""),
        grouped(segment.offered_pps()),
        count(segment.counts.delivered),
        count(segment.lost())
    )
}
