//! The words of plans: rows, lists and estimated times.

use std::fmt::Display;
use std::time::Duration;

use capbench_judge::durations::{PlannedTime, whole_run};
use capbench_model::figures::count;
use capbench_plan::cost::{Cost, Spread};
use capbench_report::formats::text::wrapped;

/// Appends a row of a plan: a head of 12 columns or more, and words in lines that fit.
pub fn row(text: &mut String, head: &str, words: impl Display) {
    wrapped(text, &format!("{head:<11} "), &" ".repeat(12), &words.to_string());
}

/// Things separated by commas.
pub fn list<T: Display>(things: impl IntoIterator<Item = T>) -> String {
    things.into_iter().map(|thing| thing.to_string()).collect::<Vec<_>>().join(", ")
}

/// The time that trials are shorter than RFC 2544 requires, as a statement.
pub fn shorter(duration: Duration, quiet: Duration) -> String {
    format!(
        "trials send for {duration:?} and wait {quiet:?} for missing frames, where RFC 2544 asks for 60 s and 2 s"
    )
}

/// Time of a run with a number of repetitions, by the paths on which estimates were tested.
pub fn time_of(spread: Spread, quiet: Duration, times: usize) -> String {
    let Spread { least, median, most } = spread;
    let of_run = |cost: Cost| roughly(whole_run(cost.times(times as u32).time(quiet)));
    format!("about {} ({} to {})", of_run(median), of_run(least), of_run(most))
}

/// The planned time of a run.
pub fn planned_time(PlannedTime { quiet, disturbed }: PlannedTime) -> String {
    let (quiet, disturbed) = (roughly(quiet), roughly(disturbed));
    if quiet == disturbed {
        return quiet;
    }
    format!("{quiet} ({disturbed} if other programs disturb the trials)")
}

/// A rounded time for people.
pub fn roughly(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (minutes, hours) = ((seconds / 60.0).round() as u64, (seconds / 3600.0).round() as u64);
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..600.0 => format!("{seconds:.0} s"),
        ..36_000.0 => format!("{} h {} min", minutes / 60, minutes % 60).trim_start_matches("0 h ").into(),
        _ => format!("{} h", count(hours)),
    }
}
