//! Groups of trials: the same set-up at the same load for the same purpose.

use capbench_judge::finding::search::SetUp;
use capbench_model::saved::SavedMethod;
pub(crate) use capbench_model::statistics::by_key as grouped;
use capbench_model::trial::{Phase, TrialResult};
use capbench_model::work::Work;
use capbench_results::Results;

use crate::model::Trials;
use crate::naming::{self, Scene, by_number};

/// Trials of one method in one set-up at one load.
#[derive(Clone, Debug)]
pub(crate) struct Group<'r> {
    pub(crate) what: String,
    pub(crate) load: String,
    /// The trials, at least one.
    pub(crate) trials: Vec<&'r TrialResult>,
}

impl<'r> Group<'r> {
    fn from_trials(what: String, trials: Vec<&'r TrialResult>) -> Option<Self> {
        let first = trials.first()?;
        Some(Self { what, load: naming::load(first), trials })
    }

    pub(crate) fn numbers(&self) -> Trials {
        naming::numbers(self.trials.iter().copied())
    }
}

/// All groups of a run that are meaningful by themselves. A search tries many loads; only the loads that bound its goals count.
pub(crate) fn groups_in_run(results: &Results) -> Vec<Group<'_>> {
    let sets = [plain(results), of_sweeps(results), of_searches(results)];
    sets.into_iter().flatten().collect()
}

/// Trials outside searches and sweeps.
fn plain(results: &Results) -> Vec<Group<'_>> {
    let is_plain = |trial: &&TrialResult| {
        !matches!(
            trial.phase,
            Phase::Search
                | Phase::SelfTest
                | Phase::Sweep
                | Phase::BackToBack
                | Phase::Probe
                | Phase::Retried
        )
    };
    // Publications can differ in rings and traffic while their trials look equal.
    let alike = |trial: &&TrialResult| {
        let purpose = (trial.phase, naming::publication(results, trial.number));
        let intended = trial.intended_pps.map(f64::to_bits);
        (purpose, trial.profile.method.clone(), intended, trial.load, Scene::from_trial(trial))
    };
    let groups = grouped(results.trials.iter().filter(is_plain), alike).into_iter();
    let groups = groups.filter_map(|(((phase, publication), ..), trials)| {
        let phase = naming::phase(phase);
        Group::from_trials(publication.map_or_else(|| phase.into(), |key| format!("{key}, {phase}")), trials)
    });
    groups.collect()
}

fn of_sweeps(results: &Results) -> Vec<Group<'_>> {
    let trials = by_number(results);
    let mut groups = Vec::new();
    for sweep in &results.sweeps {
        for reading in sweep.series.iter().flat_map(|series| &series.readings) {
            let point = sweep.points.get(reading.point).map_or("?", |point| point.label.as_str());
            let own = reading.trials.iter().filter_map(|number| trials.get(number).copied()).collect();
            groups.extend(Group::from_trials(format!("point {point}"), own));
        }
    }
    groups
}

fn of_searches(results: &Results) -> Vec<Group<'_>> {
    let trials = by_number(results);
    let mut groups = Vec::new();
    for search in &results.searches {
        for goal in &search.goals {
            for (end, bound) in [("lower", &goal.lower), ("upper", &goal.upper)] {
                let Some(bound) = bound else { continue };
                let own = bound.trials.iter().filter_map(|number| trials.get(number).copied()).collect();
                let nth = search.nth.map_or_else(String::new, |nth| format!(", search {nth}"));
                groups.extend(Group::from_trials(format!("{end} bound of {}{nth}", goal.goal.name), own));
            }
        }
    }
    groups
}

/// The frames, placement and work of a set-up, as far as known; no work is not mentioned.
pub(crate) fn set_up_words(set_up: &SetUp) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(set_up.frame_size.as_ref().map(naming::frames));
    words.extend(set_up.placement.as_ref().map(|placement| format!("placement {placement}")));
    words.extend(set_up.work.as_ref().filter(|work| **work != Work::NONE).map(|work| format!("work {work}")));
    words
}

/// The method of a search in words.
pub(crate) fn method_name(method: Option<&SavedMethod>) -> String {
    method.map_or_else(|| "a method that did not run".into(), ToString::to_string)
}

/// A search in words: its method, its set-up, and its number if there are several.
pub(crate) fn search_words(set_up: &SetUp) -> String {
    let method = method_name(set_up.method.as_ref());
    let mut parts = set_up_words(set_up);
    parts.extend(set_up.nth.map(|nth| format!("search {nth}")));
    if parts.is_empty() { method } else { format!("{method} ({})", parts.join(", ")) }
}
