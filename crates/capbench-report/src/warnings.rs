//! What to know before you trust a report.

use crate::results::Results;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_plan::session::NotMeasured;

use crate::naming::{frames, many};
use crate::read::Run;

/// A mark of trials in words, and the function that checks for it.
type Mark = (&'static str, fn(&TrialResult) -> bool);

/// Most trials that are listed one by one.
const NAMED: usize = 8;

/// The warnings of a run, those of the file reader first.
pub fn warnings(run: &Run) -> Vec<String> {
    let results = &run.results;
    let mut warnings = run.warnings.clone();
    if !results.complete {
        let trials = many(results.trials.len() as u64, "trial", "trials");
        warnings.push(format!("The run is not complete: it was stopped or interrupted after {trials}."));
    }
    const MARKS: [Mark; 5] = [
        (
            "Trials that show nothing, because their account contradicts itself or the path was not ready",
            |trial| trial.verdict == Verdict::Invalid,
        ),
        ("Trials with frames that nothing explains, or that were counted twice", |trial| {
            trial.unexplained != 0
        }),
        (
            "Trials that the host disturbed, and that stand because repeats were used up or could not be had",
            |trial| !trial.disturbance.without_core_speed().reasons().is_empty(),
        ),
        (
            "Trials of which a CPU ran slower than it can, because its core is shared or its clock was lowered",
            |trial| trial.disturbance.is_slow(),
        ),
        ("Trials that delivered less of more (livelock)", |trial| trial.livelock.is_some()),
    ];
    warnings.extend(MARKS.iter().filter_map(|(words, is_such)| of_trials(results, words, *is_such)));
    warnings.extend(dependent(results));
    let words = "Trials that were not verified frame by frame: their counts are taken on trust";
    warnings.extend(of_trials(results, words, |trial| trial.unverified_because.is_some()));
    warnings.extend(results.not_measured.iter().map(missing));
    warnings
}

/// The number of marked trials, and which.
fn of_trials(results: &Results, words: &str, is_such: impl Fn(&TrialResult) -> bool) -> Option<String> {
    let such: Vec<String> =
        results.trials.iter().filter(|trial| is_such(trial)).map(|trial| trial.number.to_string()).collect();
    let more = if such.len() > NAMED { ", …" } else { "" };
    let named = such.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!such.is_empty())
        .then(|| format!("{words}: {} of {} ({named}{more}).", such.len(), results.trials.len()))
}

/// Set-ups whose offered load depends on the receiver, with the reason.
fn dependent(results: &Results) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for trial in results.trials.iter().filter(|trial| !trial.profile.load_independent) {
        let reason = trial.profile.load_depends_because.as_deref().unwrap_or("the reason was not saved");
        let text = format!(
            "Placement {}: the offered load depends on the receiver ({reason}), so rates there are no limits of a method.",
            trial.profile.placement
        );
        if !reasons.contains(&text) {
            reasons.push(text);
        }
    }
    reasons
}

fn missing(missing: &NotMeasured) -> String {
    let mut what = vec![missing.method.clone()];
    what.extend(missing.test.iter().map(|test| format!("test {test}")));
    what.extend(missing.frame_size.iter().map(frames));
    what.extend(missing.placement.iter().map(|placement| format!("placement {placement}")));
    format!("Not measured: {}: {}.", what.join(", "), missing.reason.trim_end_matches('.'))
}
