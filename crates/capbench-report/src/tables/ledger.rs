//! Where frames went, by method and place, and the counter that reports it.

use std::collections::BTreeSet;

use capbench_model::ledger::Entry;
use capbench_model::places::ALL as ALL_PLACES;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::shape::{Columns, set_up};
use crate::model::{Cell, Table};
use crate::naming::{self, Scene};
use crate::sentences::places;
use capbench_model::statistics::by_key as grouped;

fn count(trial: &TrialResult, place: Place) -> Option<u64> {
    trial.ledger.iter().find(|entry| entry.place == place)?.count
}

/// Trials of one method in one set-up for one purpose.
type Sum<'r> = Vec<&'r TrialResult>;

fn total(sum: &Sum<'_>, of: impl Fn(&TrialResult) -> u64) -> u64 {
    sum.iter().fold(0, |sum, trial| sum.saturating_add(of(trial)))
}

pub(super) fn by_method(results: &Results) -> Option<Table> {
    // A place with losses has a column; notes under the table name the others.
    let (mut losing, mut clean, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for place in ALL_PLACES {
        let counts = || results.trials.iter().map(|trial| count(trial, place));
        if counts().flatten().any(|count| count > 0) {
            losing.push(place);
        } else if counts().any(|count| count.is_none()) {
            unknown.push(places::words(place));
        } else {
            clean.push(places::words(place));
        }
    }
    let mut columns = Columns::new()
        .part(set_up(), |sum: &Sum<'_>| &sum[0].profile)
        .words("phase", "run for", |sum| naming::phase(sum[0].phase))
        .count("trials", "trials", |sum| sum.len())
        .count("intended", "intended", |sum| total(sum, |trial| trial.intended));
    for place in losing {
        // Unknown if one trial does not know it.
        let at = move |sum: &Sum<'_>| {
            let counts: Option<Vec<u64>> = sum.iter().map(|trial| count(trial, place)).collect();
            Cell::count(counts.map(|counts| counts.into_iter().fold(0, u64::saturating_add)))
        };
        columns = columns.count(&format!("lost_{}", place.key()), place.key(), at);
    }
    let columns = columns.count("delivered", "delivered", |sum| total(sum, |trial| trial.delivered)).count(
        "unexplained",
        "unexplained",
        |sum| sum.iter().fold(0i64, |sum, trial| sum.saturating_add(trial.unexplained)),
    );
    let rows =
        grouped(&results.trials, |trial| (trial.phase, &trial.profile.method, Scene::from_trial(trial)));
    let rows = rows.into_iter().map(|(_, trials)| trials);
    let named = |what: &str, places: &[&str]| {
        if places.is_empty() { String::new() } else { format!("{what}: {}.", places.join("; ")) }
    };
    let caption = "Frames by method and the place that lost them: each row sums up to what was intended";
    let trials = |sum: &Sum<'_>| naming::numbers(sum.iter().copied());
    Some(columns.table("ledger-by-method", caption, rows, trials)?.with_notes([
        named("Nothing was lost", &clean),
        named("Losses that no counter here reports", &unknown),
    ]))
}

/// The entries of a place: with a count, and without one.
type OfPlace<'r> = (Place, Vec<&'r Entry>, Vec<&'r Entry>);

pub(super) fn sources(results: &Results) -> Option<Table> {
    let said = |entries: &[&Entry]| {
        let words: BTreeSet<&str> = entries.iter().map(|entry| entry.source.as_str()).collect();
        words.into_iter().collect::<Vec<_>>().join("; ")
    };
    let columns = Columns::new()
        .words("place", "place", |(place, ..): &OfPlace<'_>| place.key())
        .words("meaning", "frames counted here", |(place, ..)| places::about(*place).meaning)
        .count("lost", "lost", |(_, known, _)| {
            let counts = known.iter().filter_map(|entry| entry.count);
            Cell::count((!known.is_empty()).then(|| counts.fold(0, u64::saturating_add)))
        })
        .words("source", "who counted", move |(_, known, _)| said(known))
        .count("unknown_trials", "trials without the count", |(.., unknown)| unknown.len())
        .words("unknown_because", "why they cannot", move |(.., unknown)| said(unknown));
    let entries = |place| {
        let all = results.trials.iter().flat_map(|trial| &trial.ledger);
        let (known, unknown) =
            all.filter(|entry| entry.place == place).partition(|entry| entry.count.is_some());
        (place, known, unknown)
    };
    let rows = ALL_PLACES.into_iter().map(entries);
    let rows = rows.filter(|(_, known, unknown): &OfPlace<'_>| known.len() + unknown.len() > 0);
    let trials = |(place, ..): &OfPlace<'_>| {
        let loses = |trial: &&TrialResult| count(trial, *place).is_some_and(|count| count > 0);
        naming::numbers(results.trials.iter().filter(loses))
    };
    columns.table("ledger-sources", "Places in the order of the path, all trials together", rows, trials)
}
