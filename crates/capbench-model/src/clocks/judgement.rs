//! Whether one-way times between two hosts may be stated, and with which error.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Bounds, ClockReading, ClockState, HostClock};
use crate::reasons::NoDelays;
use crate::thresholds::{CLOCK_RATES_DIFFERENCE_PPM, MEDIAN_OVER_CLOCK_ERROR};

/// The largest error of times between two hosts: the sum of what both state. Stated errors can be wrong; exchanges before and
/// after the trial must agree with them.
///
/// # Errors
/// Why there is none, in words without an end mark.
pub fn common_error(transmit: &HostClock, receive: &HostClock) -> Result<u64, String> {
    let mut largest = 0;
    for (when, of_sender, of_receiver) in
        [("before", &transmit.before, &receive.before), ("after", &transmit.after, &receive.after)]
    {
        let error_ns = stated("sends", of_sender)?.saturating_add(stated("receives", of_receiver)?);
        let ahead = ahead(of_receiver, of_sender);
        if !ahead.allow(error_ns) {
            return Err(contradiction(when, ahead, error_ns));
        }
        largest = largest.max(error_ns);
    }
    Ok(largest)
}

/// By how much the receiver's clock is ahead of the sender's. The controller's clock, which both were compared with, may drift
/// between the two comparisons.
fn ahead(receiver: &ClockReading, sender: &ClockReading) -> Bounds {
    let between_ns = receiver.at_ns.abs_diff(sender.at_ns);
    let drift_ns = (between_ns as f64 * CLOCK_RATES_DIFFERENCE_PPM / 1e6).ceil() as i64;
    let Bounds { low_ns, high_ns } = receiver.ahead.ahead_of(sender.ahead);
    Bounds { low_ns: low_ns.saturating_sub(drift_ns), high_ns: high_ns.saturating_add(drift_ns) }
}

fn stated(does: &str, reading: &ClockReading) -> Result<u64, String> {
    match &reading.state {
        ClockState::Synchronised { error_ns, .. } => Ok(*error_ns),
        ClockState::Unsynchronised { reason } => {
            Err(format!("the clock of the host that {does} is not synchronised: {reason}"))
        }
    }
}

fn contradiction(when: &'static str, ahead: Bounds, error_ns: u64) -> String {
    let wrong = NoDelays::StatedErrorWrong {
        stated: Duration::from_nanos(error_ns),
        when,
        offset: Duration::from_nanos(ahead.offset_ns().unsigned_abs()),
        is_behind: ahead.offset_ns() < 0,
        error: Duration::from_nanos(ahead.error_ns()),
    };
    wrong.to_string()
}

/// Whether a distribution of delays may be stated with this error. Without a limit of the user it may be a tenth of the median.
///
/// # Errors
/// Why not, in words without an end mark.
pub fn is_accepted(
    error_ns: u64,
    least_ns: i64,
    median_ns: i64,
    limit: Option<Duration>,
) -> Result<(), String> {
    let error = i64::try_from(error_ns).unwrap_or(i64::MAX);
    let shown = Duration::from_nanos(error_ns);
    if least_ns < -error {
        return Err(format!(
            "a frame would have arrived {:?} before it was sent, which is more than the stated error of ±{shown:?}",
            Duration::from_nanos(least_ns.unsigned_abs())
        ));
    }
    match limit {
        Some(limit) if shown <= limit => Ok(()),
        Some(limit) => Err(format!("the clocks' error of ±{shown:?} exceeds {limit:?} (--clock-error)")),
        None if error <= median_ns / MEDIAN_OVER_CLOCK_ERROR => Ok(()),
        None => Err(format!(
            "the clocks' error of ±{shown:?} exceeds a tenth of the median of {}{:?}; --clock-error accepts another one",
            if median_ns < 0 { "-" } else { "" },
            Duration::from_nanos(median_ns.unsigned_abs())
        )),
    }
}

/// By how many parts per million the receiver's clock can run faster than the sender's, as the exchanges before and after the
/// trial show.
pub fn skew_bounds(transmit: &HostClock, receive: &HostClock) -> RangeInclusive<f64> {
    let before = ahead(&receive.before, &transmit.before);
    let after = ahead(&receive.after, &transmit.after);
    // The exchanges with the two hosts are not at one moment; the shortest time between them gives the widest bounds.
    let begun = transmit.before.at_ns.max(receive.before.at_ns);
    let passed = transmit.after.at_ns.min(receive.after.at_ns).saturating_sub(begun).max(1) as f64;
    let ppm = |ns: i64| ns as f64 / passed * 1e6;
    ppm(after.low_ns.saturating_sub(before.high_ns))..=ppm(after.high_ns.saturating_sub(before.low_ns))
}
