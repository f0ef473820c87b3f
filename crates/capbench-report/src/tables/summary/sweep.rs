//! The table of a sweep: where each method keeps up, and the most that it reads.

use capbench_judge::finding::sweep::series::{
    SeriesOfSweep, all_series, burst_range, keeps_up, ranked, reads_most, searches_bursts,
};
use capbench_judge::sweep::keeps_up::{first_lossy, loses};
use capbench_judge::sweep::outcome::{Swept, numbers};
use capbench_results::Results;

use crate::model::{Cell, Table};
use crate::sentences::sweep::{burst_range_words, keeps_up_words};
use crate::tables::rows::{Fields, Rows};

/// A row per method, placement and load; those that searched for bursts last.
pub(super) fn table(results: &Results) -> Option<Table> {
    let mut all = ranked(&results.sweeps, &results.trials);
    all.extend(all_series(&results.sweeps).into_iter().filter(|one| searches_bursts(one.series)));
    let mut rows = Rows::new();
    for line in &all {
        rows.add(series_fields(results, line), numbers(&line.series.readings));
    }
    let table = rows.table("summary", "Where each method keeps up, and the most that it reads")?;
    Some(table.without_empty_columns())
}

fn series_fields(results: &Results, line: &SeriesOfSweep<'_>) -> Fields {
    let SeriesOfSweep { sweep, series, .. } = *line;
    let swept = Swept::new(sweep, &results.trials);
    let onset = first_lossy(series.readings.iter().map(|reading| loses(&swept, reading)));
    let lost_at = onset.and_then(|nth| series.readings[nth].lost.first());
    let most = reads_most(series);
    Fields::new()
        .words("axis", "sweep", sweep.axis.to_string())
        .words("method", "method", series.method.to_string())
        .words("placement", "placement", series.placement.as_ref().map(ToString::to_string))
        .words("load", "load", series.load.as_deref())
        .words("keeps_up", "keeps up", where_it_keeps_up(results, line))
        .words("lost_where", "then lost in", lost_at.map(|lost| lost.place.key()))
        .figure(
            "read_pps",
            "read most",
            Cell::whole_rate_or_empty(most.map(|reading| reading.taken_pps.median)),
        )
        .words("read_at", "at", most.map(|reading| sweep.label(reading)))
}

/// The loads or points at which a method keeps up, or the bursts that it delivers whole.
fn where_it_keeps_up(results: &Results, line: &SeriesOfSweep<'_>) -> Option<String> {
    if searches_bursts(line.series) {
        let range = burst_range(line.sweep, line.series)?;
        return Some(burst_range_words(&range));
    }
    let swept = Swept::new(line.sweep, &results.trials);
    Some(keeps_up_words(&keeps_up(&swept, line.series)))
}
