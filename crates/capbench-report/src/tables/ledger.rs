//! Where frames went, by method and place, and the counter that reports it. The ledger of a trial has at most one entry for a place. Files
//! of earlier versions lack the places that came later, and what such a trial lost there is unknown.

use std::collections::BTreeSet;

use capbench_model::ledger::Entry;
use capbench_model::places::{ALL as ALL_PLACES, Place};
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::rows::{Fields, Rows, set_up};
use crate::groups::by_key;
use crate::model::{Cell, Table};
use crate::naming::{self, Scene};
use crate::sentences::{places, sources};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(frames_by_method(results));
    tables.extend(sources(results));
    tables
}

/// The entry of a place.
fn entry_at(trial: &TrialResult, place: Place) -> Option<&Entry> {
    trial.ledger.iter().find(|entry| entry.place == place)
}

/// Frames that a trial lost at a place; `None` if unknown.
fn lost_at(trial: &TrialResult, place: Place) -> Option<u64> {
    entry_at(trial, place)?.count
}

/// The places by what the trials of a run lost there.
#[derive(Default)]
struct PlacesOfRun {
    /// A trial lost frames there.
    lossy: Vec<Place>,
    /// No trial lost frames there.
    clean: Vec<&'static str>,
    /// No trial is known to have lost frames there, but at least one trial has no count for it.
    unknown: Vec<&'static str>,
}

impl PlacesOfRun {
    fn from_trials(trials: &[TrialResult]) -> Self {
        let mut found = Self::default();
        for place in ALL_PLACES {
            let counts: Vec<Option<u64>> = trials.iter().map(|trial| lost_at(trial, place)).collect();
            if counts.iter().flatten().any(|count| *count > 0) {
                found.lossy.push(place);
            } else if counts.contains(&None) {
                found.unknown.push(places::words(place));
            } else {
                found.clean.push(places::words(place));
            }
        }
        found
    }
}

/// A row for the trials of one method in one set-up for one purpose. A place with losses has a column, and notes name the others.
fn frames_by_method(results: &Results) -> Option<Table> {
    let places = PlacesOfRun::from_trials(&results.trials);
    let groups =
        by_key(&results.trials, |trial| (trial.phase, &trial.profile.method, Scene::from_trial(trial)));
    let mut rows = Rows::new();
    for (_, trials) in groups {
        let mut fields = set_up(&trials[0].profile)
            .words("phase", "run for", naming::phase(trials[0].phase))
            .count("trials", "trials", trials.len())
            .count("intended", "intended", sum(&trials, |trial| trial.intended));
        for place in &places.lossy {
            let lost = Cell::count_or_unknown(sum_lost_at(&trials, *place));
            fields = fields.count(&format!("lost_{}", place.key()), place.key(), lost);
        }
        let fields = fields.count("delivered", "delivered", sum(&trials, |trial| trial.delivered)).count(
            "unexplained",
            "unexplained",
            sum_unexplained(&trials),
        );
        rows.add(fields, naming::numbers(trials));
    }
    let caption = "Frames by method and the place that lost them: each row sums up to what was intended";
    let table = rows.table("ledger-by-method", caption)?;
    Some(table.with_notes([
        note("Nothing was lost", &places.clean),
        note("Losses that no counter here reports", &places.unknown),
    ]))
}

/// The sum of a count of these trials.
fn sum(trials: &[&TrialResult], frames: fn(&TrialResult) -> u64) -> u64 {
    let mut sum = 0_u64;
    for trial in trials {
        sum = sum.saturating_add(frames(trial));
    }
    sum
}

/// Frames that these trials lost at a place; `None` if one trial does not know it.
fn sum_lost_at(trials: &[&TrialResult], place: Place) -> Option<u64> {
    let mut sum = 0_u64;
    for trial in trials {
        sum = sum.saturating_add(lost_at(trial, place)?);
    }
    Some(sum)
}

/// The sum of unexplained frames of these trials.
fn sum_unexplained(trials: &[&TrialResult]) -> i64 {
    let mut sum = 0_i64;
    for trial in trials {
        sum = sum.saturating_add(trial.unexplained);
    }
    sum
}

/// A note that says `what` of places; empty without places.
fn note(what: &str, places: &[&str]) -> String {
    if places.is_empty() { String::new() } else { format!("{what}: {}.", places.join("; ")) }
}

/// The entries of a place in all trials.
#[derive(Default)]
struct PlaceEntries<'r> {
    /// Entries with a count.
    known: Vec<&'r Entry>,
    /// Entries without one.
    unknown: Vec<&'r Entry>,
    /// The trials that lost frames there.
    lossy_trials: Vec<u32>,
}

impl<'r> PlaceEntries<'r> {
    fn from_trials(trials: &'r [TrialResult], place: Place) -> Self {
        let mut found = Self::default();
        for trial in trials {
            let Some(entry) = entry_at(trial, place) else { continue };
            let Some(count) = entry.count else {
                found.unknown.push(entry);
                continue;
            };
            found.known.push(entry);
            if count > 0 {
                found.lossy_trials.push(trial.number);
            }
        }
        found
    }

    /// Frames lost there in the trials that know it, since the row says how many do not; `None` if no trial does.
    fn lost(&self) -> Option<u64> {
        if self.known.is_empty() {
            return None;
        }
        let mut lost = 0_u64;
        for entry in &self.known {
            lost = lost.saturating_add(entry.count.unwrap_or(0));
        }
        Some(lost)
    }
}

/// A row per place in the ledgers, with the counters behind its numbers, or why there are none.
fn sources(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    for place in ALL_PLACES {
        let entries = PlaceEntries::from_trials(&results.trials, place);
        if entries.known.is_empty() && entries.unknown.is_empty() {
            continue;
        }
        let fields = Fields::new()
            .words("place", "place", place.key())
            .words("meaning", "frames counted here", places::about(place).meaning)
            .count("lost", "lost", Cell::count_or_unknown(entries.lost()))
            .words("source", "who counted", different_sources(&entries.known))
            .count("unknown_trials", "trials without the count", entries.unknown.len())
            .words("unknown_because", "why they cannot", different_sources(&entries.unknown));
        rows.add(fields, entries.lossy_trials);
    }
    rows.table("ledger-sources", "Places in the order of the path, all trials together")
}

/// The sources of these entries, each once.
fn different_sources(entries: &[&Entry]) -> String {
    let mut different = BTreeSet::new();
    for entry in entries {
        different.insert(sources::words(entry));
    }
    Vec::from_iter(different).join("; ")
}
