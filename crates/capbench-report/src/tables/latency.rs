//! How long frames took.

use capbench_measure::latency::Delays;
use capbench_measure::results::Results;

use crate::groups::{scene_cells, scene_columns};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{self, Scene};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    table(results).into_iter().collect()
}

fn table(results: &Results) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("method", "method"),
        Column::words("load", "load"),
        Column::words("leg", "leg"),
        Column::new("frames", "frames", Unit::Count),
        Column::named("min_ns", "least"),
        Column::named("mean_ns", "mean"),
        Column::named("p50_ns", "median"),
        Column::named("p90_ns", "90 %"),
        Column::named("p99_ns", "99 %"),
        Column::named("p99_9_ns", "99.9 %"),
        Column::named("max_ns", "largest"),
        Column::named("pdv_ns", "variation (PDV)"),
        Column::new("lost", "lost in the trial", Unit::Count),
    ]);
    let (mut rows, mut notes) = (Vec::new(), Vec::<String>::new());
    for trial in &results.trials {
        let Some(latency) = &trial.latency else { continue };
        let legs = [
            ("to_kernel", &latency.to_kernel),
            ("to_application", &latency.to_application),
            ("total", &latency.total),
        ];
        for (leg, delays) in legs {
            let Some(delays) = delays else { continue };
            let mut cells = scene_cells(&Scene::of(trial));
            cells.extend([
                Cell::text(trial.profile.method.as_str()),
                Cell::text(naming::load(trial)),
                Cell::text(leg),
            ]);
            cells.extend(spread(delays));
            cells.push(Cell::Count(trial.lost()));
            rows.push(Row::new(cells, vec![trial.number]));
        }
        if let Some(why) = &latency.absent_because {
            let note = format!("{}: {why}.", trial.profile.method);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let caption = "Latency of every frame, a row for each trial and leg; the figures are those of RFC 8219";
    Some(Table::of("latency-by-trial", caption, columns, rows)?.with_notes(notes))
}

fn spread(delays: &Delays) -> [Cell; 9] {
    let ns = |ns: u64| Cell::Number(ns as f64);
    [
        Cell::Count(delays.frames),
        ns(delays.min_ns),
        Cell::number(Some(delays.mean_ns)),
        ns(delays.p50_ns),
        ns(delays.p90_ns),
        ns(delays.p99_ns),
        ns(delays.p99_9_ns),
        ns(delays.max_ns),
        ns(delays.pdv_ns),
    ]
}
