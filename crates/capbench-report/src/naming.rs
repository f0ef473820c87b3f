//! How sentences and tables name set-ups, loads, rates, times and losses; and which trials of a run a report compares.

use std::borrow::Cow;
use std::collections::BTreeMap;

use capbench_judge::finding::search::SetUp;
use capbench_judge::recommendation::{Ranking, Recommendation};
use capbench_judge::search::SearchOutcome;
use capbench_model::figures::grouped;
use capbench_model::places::Place;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{Load, LoadShape, Phase, Profile, SizeLabel, TrialResult, Verdict};
use capbench_model::work::Work;
use capbench_results::{Kind, Results};

pub(crate) use crate::figures::many;
use crate::figures::{count, number};
use crate::model::{Trials, Unit};

/// The command as it can be typed again, without the program's folder.
pub fn command_line(command: &[String]) -> String {
    let mut words = Vec::new();
    for (nth, word) in command.iter().enumerate() {
        if nth == 0 {
            words.push(word.rsplit('/').next().unwrap_or(word).to_string());
        } else if needs_no_quotes(word) {
            words.push(word.clone());
        } else {
            words.push(format!("'{}'", word.replace('\'', "'\\''")));
        }
    }
    words.join(" ")
}

/// Whether a shell reads a word as it is.
fn needs_no_quotes(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_=+.,:/%@".contains(letter))
}

/// The size of frames: `64-byte frames`.
pub fn frames(size: &SizeLabel) -> String {
    match size {
        SizeLabel::Octets(octets) => format!("{octets}-byte frames"),
        SizeLabel::Named(name) => format!("{name} frames"),
    }
}

/// A rate, rounded down: `1,234,567 packets/s`. A sustained rate must not be rounded up.
pub fn rate(pps: f64) -> String {
    format!("{} packets/s", rate_number(pps))
}

/// A rate as [`rate`] writes it, without its unit.
pub fn rate_number(pps: f64) -> String {
    number(if pps >= 100.0 { pps.floor() } else { pps }, Unit::PacketsPerSecond)
}

/// A share in percent, with three digits: `12.5 %`.
pub fn percent(ratio: f64) -> String {
    format!("{} %", number(ratio, Unit::Ratio))
}

/// A share as a part of a sentence: `half`, or in percent.
pub fn share(ratio: f64) -> String {
    match ratio {
        0.5 => "half".into(),
        _ => percent(ratio),
    }
}

/// A list in words: `a, b and c`.
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [before_last @ .., last] => {
            let before_last: Vec<&str> = before_last.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", before_last.join(", "), last.as_ref())
        }
    }
}

/// A time in a unit that suits its size: `1.5 ms`.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        _ if !seconds.is_finite() => return crate::figures::UNKNOWN.into(),
        0.0 => (0.0, "s"),
        ..1e-6 => (seconds * 1e9, "ns"),
        ..1e-3 => (seconds * 1e6, "µs"),
        ..1.0 => (seconds * 1e3, "ms"),
        ..600.0 => (seconds, "s"),
        ..36_000.0 => (seconds / 60.0, "min"),
        ..360_000.0 => (seconds / 3600.0, "h"),
        _ => (seconds / 86_400.0, "days"),
    };
    format!("{} {unit}", number(value, Unit::Seconds))
}

/// What trials share besides their method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scene {
    pub frame_size: SizeLabel,
    pub placement: SavedPlacement,
    pub work: SavedWork,
}

impl Scene {
    /// The set-up of a trial without its method.
    pub fn from_trial(trial: &TrialResult) -> Self {
        let Profile { frame_size, placement, work, .. } = &trial.profile;
        Self { frame_size: frame_size.clone(), placement: placement.clone(), work: work.clone() }
    }

    /// The set-up of a ranking.
    pub fn of_ranking(Ranking { frame_size, placement, work, .. }: &Ranking) -> Self {
        Self { frame_size: frame_size.clone(), placement: placement.clone(), work: work.clone() }
    }

    /// Frames, placement and work in words; no work is not mentioned.
    pub fn words(&self) -> String {
        format!("{}, {}", frames(&self.frame_size), self.placement_and_work())
    }

    /// Placement and work in words.
    pub fn placement_and_work(&self) -> String {
        placement_and_work(&self.placement, &self.work)
    }
}

/// Placement and work in words; no work is not mentioned.
pub fn placement_and_work(placement: &SavedPlacement, work: &SavedWork) -> String {
    let work = if *work == Work::NONE { String::new() } else { format!(", work {work}") };
    format!("placement {placement}{work}")
}

/// The method of a search.
pub fn method_name(method: Option<&SavedMethod>) -> String {
    match method {
        Some(method) => method.to_string(),
        None => "a method that did not run".into(),
    }
}

/// The frames, placement and work of a search, as far as known; no work is not mentioned.
pub fn set_up_words(set_up: &SetUp) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(frame_size) = &set_up.frame_size {
        words.push(frames(frame_size));
    }
    if let Some(placement) = &set_up.placement {
        words.push(format!("placement {placement}"));
    }
    if let Some(work) = set_up.work.as_ref().filter(|work| **work != Work::NONE) {
        words.push(format!("work {work}"));
    }
    words
}

/// A search: its method, its set-up, and its number if there are several.
pub fn search_words(set_up: &SetUp) -> String {
    let method = method_name(set_up.method.as_ref());
    let mut parts = set_up_words(set_up);
    if let Some(nth) = set_up.nth {
        parts.push(format!("search {nth}"));
    }
    if parts.is_empty() { method } else { format!("{method} ({})", parts.join(", ")) }
}

/// The load of a trial: `1,000 packets/s`, `burst of 64 frames`, `maximum load`.
pub fn load(trial: &TrialResult) -> String {
    match (trial.load, trial.intended_pps) {
        (Some(LoadShape::Burst { frames }), Some(pps)) => {
            format!("burst of {} frames at {}", count(frames), rate(pps))
        }
        (Some(LoadShape::Burst { frames }), None) => format!("burst of {} frames", count(frames)),
        (Some(LoadShape::Step { before_pps, at_s, after_pps }), _) => {
            format!("{} for {}, then {}", rate(before_pps), time(at_s), rate(after_pps))
        }
        (None, Some(pps)) => rate(pps),
        (None, None) => "maximum load".into(),
    }
}

/// A planned load in a sentence.
pub fn planned_load_words(load: Load) -> String {
    match load {
        Load::Burst { frames, rate } => {
            format!("a burst of {frames} frames at {} packets/s", grouped(rate.get()))
        }
        Load::Step(step) => {
            let rate_before = grouped(step.before.get());
            let rate_after = grouped(step.after.get());
            format!("{rate_before} packets/s for {:?}, then {rate_after} packets/s", step.at)
        }
        Load::Rate(_) | Load::Maximum => load.to_string(),
    }
}

/// The purpose of a trial in words.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::BestEffort => "maximum load",
        Phase::CommonLoad => "common load",
        Phase::Confirmation => "confirmation",
        Phase::Turns => "turns",
        Phase::FixedLoad => "fixed load",
        Phase::Search => "search",
        Phase::SelfTest => "self-test",
        Phase::Soak => "soak",
        Phase::Probe => "probe",
        Phase::Retried => "discarded",
        Phase::Sweep => "sweep",
        Phase::Latency => "latency",
        Phase::FrameLoss => "frame loss rate",
        Phase::BackToBack => "back-to-back frames",
        Phase::Recovery => "system recovery",
    }
}

/// Trials that methods are compared by. None for a run of publications: load, ring and traffic of its trials differ within and
/// between publications, and its own tables show them.
pub fn compared(results: &Results) -> &[TrialResult] {
    if results.kind() == Kind::Reproduce { &[] } else { &results.trials }
}

/// Searches that methods are compared by; see [`compared`].
pub fn compared_searches(results: &Results) -> &[SearchOutcome] {
    if results.kind() == Kind::Reproduce { &[] } else { &results.searches }
}

/// Which method to use: saved with a bench. For a bench of an earlier version it is computed from its trials.
pub fn recommendation(results: &Results) -> Option<Recommendation> {
    results.whole_run().recommendation().map(Cow::into_owned)
}

/// The publication whose experiment a trial belongs to.
pub fn publication(results: &Results, number: u32) -> Option<&str> {
    let mut reproductions = results.reproductions.iter();
    Some(&reproductions.find(|reproduction| reproduction.trials.contains(&number))?.key)
}

/// Whether a trial is conclusive.
pub fn is_sound(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid
}

/// The position of a trial on a load axis. At maximum load the offered load counts as the intended one.
pub fn intended_or_offered(trial: &TrialResult) -> f64 {
    trial.intended_pps.unwrap_or(trial.offered_pps)
}

/// The numbers of trials.
pub fn numbers<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Trials {
    trials.into_iter().map(|trial| trial.number).collect()
}

/// Trials by number, for the trial lists of sweeps and searches.
pub struct Numbered<'r>(BTreeMap<u32, &'r TrialResult>);

impl<'r> Numbered<'r> {
    pub fn from_results(results: &'r Results) -> Self {
        Self(results.trials.iter().map(|trial| (trial.number, trial)).collect())
    }

    /// The trials with these numbers, as far as the run has them.
    pub fn known(&self, numbers: &[u32]) -> Vec<&'r TrialResult> {
        numbers.iter().filter_map(|number| self.0.get(number).copied()).collect()
    }

    /// The conclusive trials among these numbers.
    pub fn sound(&self, numbers: &[u32]) -> Vec<&'r TrialResult> {
        let mut sound = self.known(numbers);
        sound.retain(|trial| is_sound(trial));
        sound
    }
}

/// Losses by place, largest first: `ring 1,234, backlog 5`. Unexplained frames are added at the end.
pub fn losses_by_place(losses: &[(Place, u64)], unexplained: i64) -> String {
    let mut words = Vec::new();
    for (place, frames) in losses {
        words.push(format!("{} {}", place.key(), count(*frames)));
    }
    if unexplained != 0 {
        words.push(format!("unexplained {unexplained}"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_frames::schedule::Step;

    use super::{Load, command_line, planned_load_words};

    #[test]
    fn a_planned_load_is_said_in_a_sentence() {
        let pps = |rate| Pps::new(rate).unwrap();
        let burst = Load::Burst { frames: NonZeroU64::new(64).unwrap(), rate: pps(1000.0) };
        assert_eq!(planned_load_words(burst), "a burst of 64 frames at 1,000 packets/s");
        let step = Step { before: pps(2000.0), at: Duration::from_secs(1), after: pps(1000.0) };
        assert_eq!(planned_load_words(Load::Step(step)), "2,000 packets/s for 1s, then 1,000 packets/s");
        assert_eq!(planned_load_words(Load::Maximum), "maximum load");
    }

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = ["/opt/bin/capbench", "bench", "--work", "ns:500+queue=2", "--out", "my run", "it's"];
        let line = command_line(&words.map(String::from));
        assert_eq!(line, "capbench bench --work ns:500+queue=2 --out 'my run' 'it'\\''s'");
    }
}
