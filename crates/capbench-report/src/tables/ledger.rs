//! Where frames went: by method and place, and which counter says so.

use std::collections::BTreeSet;

use capbench_measure::ledger::Place;
use capbench_measure::places;
use capbench_measure::results::Results;
use capbench_measure::trial::{Phase, TrialResult};

use crate::groups::{scene_cells, scene_columns};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{self, Scene};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    [by_method(results), sources(results)].into_iter().flatten().collect()
}

/// Trials of one method in one set-up for one purpose.
struct Sum<'r> {
    phase: Phase,
    method: &'r str,
    scene: Scene,
    trials: Vec<&'r TrialResult>,
}

impl Sum<'_> {
    fn total(&self, of: impl Fn(&TrialResult) -> u64) -> u64 {
        self.trials.iter().fold(0, |sum, trial| sum.saturating_add(of(trial)))
    }

    /// Frames at a place; unknown where one trial cannot tell.
    fn at(&self, place: Place) -> Option<u64> {
        let counts: Option<Vec<u64>> = self.trials.iter().map(|trial| count(trial, place)).collect();
        counts.map(|counts| counts.into_iter().fold(0, u64::saturating_add))
    }
}

fn count(trial: &TrialResult, place: Place) -> Option<u64> {
    trial.ledger.iter().find(|entry| entry.place == place)?.count
}

fn sums(results: &Results) -> Vec<Sum<'_>> {
    let mut sums: Vec<Sum<'_>> = Vec::new();
    for trial in &results.trials {
        let scene = Scene::of(trial);
        let method = trial.profile.method.as_str();
        let same =
            |sum: &&mut Sum<'_>| sum.phase == trial.phase && sum.method == method && sum.scene == scene;
        match sums.iter_mut().find(same) {
            Some(sum) => sum.trials.push(trial),
            None => sums.push(Sum { phase: trial.phase, method, scene, trials: vec![trial] }),
        }
    }
    sums
}

fn by_method(results: &Results) -> Option<Table> {
    let sums = sums(results);
    // A place has a column where it lost something; the others are told of under the table.
    let (mut losing, mut clean, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for place in places::ALL {
        let counts = || results.trials.iter().map(|trial| count(trial, place));
        if counts().flatten().any(|count| count > 0) {
            losing.push(place);
        } else if counts().any(|count| count.is_none()) {
            unknown.push(place.words());
        } else {
            clean.push(place.words());
        }
    }
    let mut columns = scene_columns();
    columns.extend([
        Column::words("method", "method"),
        Column::words("phase", "run for"),
        Column::new("trials", "trials", Unit::Count),
        Column::new("intended", "intended", Unit::Count),
    ]);
    columns.extend(
        losing.iter().map(|place| {
            Column::new(&format!("lost_{}", places::about(*place).key), place.word(), Unit::Count)
        }),
    );
    columns.extend([
        Column::new("delivered", "delivered", Unit::Count),
        Column::new("unexplained", "unexplained", Unit::Count),
    ]);
    let rows = sums
        .iter()
        .map(|sum| {
            let mut cells = scene_cells(&sum.scene);
            cells.extend([
                Cell::text(sum.method),
                Cell::text(naming::phase(sum.phase)),
                Cell::Count(sum.trials.len() as u64),
                Cell::Count(sum.total(|trial| trial.intended)),
            ]);
            cells.extend(losing.iter().map(|place| Cell::count(sum.at(*place))));
            let unexplained =
                sum.trials.iter().fold(0i64, |sum, trial| sum.saturating_add(trial.unexplained));
            cells.extend([Cell::Count(sum.total(|trial| trial.delivered)), Cell::Signed(unexplained)]);
            Row::new(cells, naming::numbers(sum.trials.iter().copied()))
        })
        .collect();
    let named = |what: &str, places: &[&str]| {
        if places.is_empty() { String::new() } else { format!("{what}: {}.", places.join("; ")) }
    };
    let caption = "Frames by method and the place that lost them: each row sums up to what was intended";
    Some(Table::of("ledger-by-method", caption, columns, rows)?.with_notes([
        named("Nothing was lost", &clean),
        named("Nobody here can tell how many were lost", &unknown),
    ]))
}

fn sources(results: &Results) -> Option<Table> {
    let rows = places::ALL
        .into_iter()
        .filter_map(|place| {
            let entries =
                || results.trials.iter().flat_map(|trial| &trial.ledger).filter(|entry| entry.place == place);
            let (known, unknown): (Vec<_>, Vec<_>) = entries().partition(|entry| entry.count.is_some());
            if known.is_empty() && unknown.is_empty() {
                return None;
            }
            let lost = known.iter().filter_map(|entry| entry.count).fold(0, u64::saturating_add);
            let said = |entries: &[&capbench_measure::ledger::Entry]| {
                let words: BTreeSet<&str> = entries.iter().map(|entry| entry.source.as_str()).collect();
                words.into_iter().collect::<Vec<_>>().join("; ")
            };
            let trials =
                results.trials.iter().filter(|trial| count(trial, place).is_some_and(|count| count > 0));
            let cells = vec![
                Cell::text(places::about(place).key),
                Cell::text(places::about(place).meaning),
                if known.is_empty() { Cell::Unknown } else { Cell::Count(lost) },
                Cell::text(said(&known)),
                Cell::Count(unknown.len() as u64),
                Cell::text(said(&unknown)),
            ];
            Some(Row::new(cells, naming::numbers(trials)))
        })
        .collect();
    let columns = vec![
        Column::words("place", "place"),
        Column::words("meaning", "a frame stands here because of"),
        Column::new("lost", "lost", Unit::Count),
        Column::words("source", "who counted"),
        Column::new("unknown_trials", "trials that cannot tell", Unit::Count),
        Column::words("unknown_because", "why they cannot"),
    ];
    Table::of("ledger-sources", "Places in the order of the path, all trials together", columns, rows)
}
