//! Names of set-ups, loads and trials in sentences and tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use capbench_judge::recommendation::{Ranking, Recommendation};
use capbench_judge::search::SearchOutcome;
use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::saved::{SavedPlacement, SavedWork};
use capbench_model::trial::{LoadShape, Phase, Profile, SizeLabel, TrialResult, Verdict};
use capbench_model::work::Work;
use capbench_results::{Kind, Results};

pub(crate) use crate::figures::many;
use crate::figures::{count, number};
use crate::model::{Trials, Unit};

/// The command as it can be typed again, without the program's folder.
pub fn command_line(command: &[String]) -> String {
    let words = command.iter().enumerate().map(|(place, word)| match place {
        0 => word.rsplit('/').next().unwrap_or(word).to_string(),
        _ if !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+.,:/%@".contains(c)) =>
        {
            word.clone()
        }
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    });
    words.collect::<Vec<_>>().join(" ")
}

pub fn frames(size: &SizeLabel) -> String {
    match size {
        SizeLabel::Octets(octets) => format!("{octets}-byte frames"),
        SizeLabel::Named(name) => format!("{name} frames"),
    }
}

/// A rate, rounded down: `1,234,567 packets/s`. A sustained rate must not be rounded up.
pub fn rate(pps: f64) -> String {
    format!("{} packets/s", whole(pps))
}

pub fn whole(pps: f64) -> String {
    number(if pps >= 100.0 { pps.floor() } else { pps }, Unit::PacketsPerSecond)
}

pub fn percent(ratio: f64) -> String {
    format!("{} %", number(ratio, Unit::Ratio))
}

/// A list in words: `a, b and c`.
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// A duration for people.
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
    pub fn from_trial(trial: &TrialResult) -> Self {
        let Profile { frame_size, placement, work, .. } = &trial.profile;
        Self { frame_size: frame_size.clone(), placement: placement.clone(), work: work.clone() }
    }

    pub fn of_ranking(Ranking { frame_size, placement, work, .. }: &Ranking) -> Self {
        Self { frame_size: frame_size.clone(), placement: placement.clone(), work: work.clone() }
    }

    /// The scene in words; no work is not mentioned.
    pub fn words(&self) -> String {
        format!("{}, {}", frames(&self.frame_size), self.place())
    }

    /// The same without the frames.
    pub fn place(&self) -> String {
        place(&self.placement, &self.work)
    }
}

/// Placement and work in words; no work is not mentioned.
pub fn place(placement: &SavedPlacement, work: &SavedWork) -> String {
    let work = if *work == Work::NONE { String::new() } else { format!(", work {work}") };
    format!("placement {placement}{work}")
}

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

/// The purpose of a trial in words.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::BestEffort => "maximum load",
        Phase::CommonLoad => "common load",
        Phase::Confirmation => "confirmation",
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
    Some(&results.reproductions.iter().find(|one| one.trials.contains(&number))?.key)
}

/// Whether a trial is conclusive.
pub fn is_sound(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid
}

/// The position of a trial on a load axis. At maximum load the offered load counts as the intended one.
pub fn intended_or_offered(trial: &TrialResult) -> f64 {
    trial.intended_pps.unwrap_or(trial.offered_pps)
}

pub fn numbers<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Trials {
    trials.into_iter().map(|trial| trial.number).collect()
}

pub fn by_number(results: &Results) -> BTreeMap<u32, &TrialResult> {
    results.trials.iter().map(|trial| (trial.number, trial)).collect()
}

/// Trials by number, for the trial lists of sweeps and searches.
pub struct Numbered<'r>(BTreeMap<u32, &'r TrialResult>);

impl<'r> Numbered<'r> {
    pub fn from_results(results: &'r Results) -> Self {
        Self(by_number(results))
    }

    /// The conclusive trials among these numbers.
    pub fn sound(&self, numbers: &[u32]) -> Vec<&'r TrialResult> {
        let known = numbers.iter().filter_map(|number| self.0.get(number).copied());
        known.filter(|trial| is_sound(trial)).collect()
    }
}

/// Losses by place, largest first: `ring 1,234, backlog 5`. Unexplained frames are added at the end.
pub fn places(losses: &[(Place, u64)], unexplained: i64) -> String {
    let mut words: Vec<String> =
        losses.iter().map(|(place, frames)| format!("{} {}", place.key(), count(*frames))).collect();
    if unexplained != 0 {
        words.push(format!("unexplained {unexplained}"));
    }
    words.join(", ")
}

/// Losses of several trials by place, largest first.
pub fn losses<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Vec<(Place, u64)> {
    let lost = LostAt::sum(trials.into_iter().flat_map(TrialResult::losses));
    lost.into_iter().map(|lost| (lost.place, lost.frames)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = ["/opt/bin/capbench", "bench", "--work", "ns:500+queue=2", "--out", "my run", "it's"];
        let line = command_line(&words.map(String::from));
        assert_eq!(line, "capbench bench --work ns:500+queue=2 --out 'my run' 'it'\\''s'");
    }
}
