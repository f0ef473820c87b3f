//! Methods that took turns with another one, compared.

use capbench_measure::comparison::{Comparison, Contrast, Judgement, Measure, Scale, Setup};
use capbench_measure::figures::grouped;
use capbench_measure::results::Results;

use crate::figures::number;
use crate::model::{Cell, Column, Row, Table, Unit};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let several = results.comparisons.len() > 1;
    results
        .comparisons
        .iter()
        .enumerate()
        .filter_map(|(index, comparison)| {
            let id = if several { format!("comparison-{}", index + 1) } else { "comparison".into() };
            table(&id, comparison)
        })
        .collect()
}

fn table(id: &str, comparison: &Comparison) -> Option<Table> {
    let columns = vec![
        Column::words("setup", "set-up"),
        Column::new("setups", "set-ups together", Unit::Count),
        Column::words("measure", "figure"),
        Column::words("then", "it was"),
        Column::words("now", "it is"),
        Column::new("change_ratio", "change (95 %)", Unit::Ratio),
        Column::new("by_chance", "chance", Unit::None),
        Column::new("corrected", "corrected for all", Unit::None),
        Column::words("judgement", "what is to be said"),
    ];
    let rows = comparison
        .contrasts
        .iter()
        .map(|contrast| {
            let cells = vec![
                Cell::text(setup(&contrast.setup)),
                Cell::Count(contrast.setups.into()),
                Cell::text(contrast.measure.words()),
                figure(contrast.measure, contrast.then.median),
                figure(contrast.measure, contrast.now.median),
                change(contrast),
                Cell::where_known(contrast.by_chance),
                Cell::where_known(contrast.corrected),
                Cell::text(judgement(contrast.judgement)),
            ];
            Row::new(cells, contrast.then.trials.iter().chain(&contrast.now.trials).copied().collect())
        })
        .collect();
    let how = if comparison.paired { ", in pairs that ran side by side" } else { "" };
    let caption = format!("{} against {}{how}", comparison.now, comparison.then);
    let proviso = if comparison.paired { "" } else { ", as far as nothing drifts between the runs" };
    let mut notes = vec![format!(
        "{} figures were tested. The probability of a false statement in all of them together is at most {} %{proviso}. Of loss \
         the change is a difference, of everything else a part of what it was.",
        comparison.tested,
        number(comparison.false_alarms, Unit::Ratio)
    )];
    notes.extend(comparison.notes.clone());
    notes.extend(comparison.differences.iter().map(|difference| format!("They differ: {difference}.")));
    let left_out = comparison.left_out.iter();
    notes.extend(
        left_out.map(|out| format!("{} trials of {} are not compared: {}.", out.trials, out.of, out.because)),
    );
    Some(Table::of(id, &caption, columns, rows)?.without_empty_columns().with_notes(notes))
}

fn setup(setup: &Setup) -> String {
    let Setup { method, placement, frame_size, traffic: _, transmit: _, work, load, capture } = setup;
    let named = |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what}{value}"));
    let parts = [
        named("", method),
        named("", frame_size).map(|size| format!("{size} B")),
        named("placement ", placement),
        named("work ", work).filter(|work| work != "work none"),
        named("", load),
        named("", capture),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "all together".into() } else { parts.join(", ") }
}

/// A figure with its unit, as a column has many.
fn figure(measure: Measure, value: Option<f64>) -> Cell {
    match (value, measure.scale()) {
        (None, _) => Cell::Empty,
        (Some(share), Scale::Difference) => Cell::text(format!("{} %", number(share, Unit::Ratio))),
        (Some(value), Scale::Ratio) => Cell::text(format!("{} {}", grouped(value), measure.unit())),
    }
}

fn change(contrast: &Contrast) -> Cell {
    let change = contrast.change;
    match change.low.zip(change.high) {
        Some((low, high)) => Cell::Interval { middle: change.middle, low, high },
        None => Cell::number(Some(change.middle)),
    }
}

/// What is to be said of a change.
pub(crate) fn judgement(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Regression => "worse",
        Judgement::Improvement => "better",
        Judgement::BelowThreshold => "changed, below the threshold",
        Judgement::NotShown => "chance is not excluded",
        Judgement::TooFewVisits => "too few trials to tell",
    }
}
