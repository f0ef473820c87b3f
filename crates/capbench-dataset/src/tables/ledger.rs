//! `ledger`: a row is a place of a trial. With `stream` NULL the counts of a trial sum up to `intended`, if every place is known.

use capbench_results::tidy::{Booked, SavedTrial, booked, saved};

use super::ExportedRun;
use crate::table::Column;

/// A place of a trial.
#[derive(Clone, Debug)]
pub struct LedgerRow<'r> {
    run: &'r ExportedRun<'r>,
    number: u32,
    stream: Option<u8>,
    booked: Booked<'r>,
}

/// The places of all trials, then those of each generator on another host.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<LedgerRow<'r>> {
    saved(run.results).into_iter().flat_map(|saved| of_trial(run, saved)).collect()
}

fn of_trial<'r>(
    run: &'r ExportedRun<'r>,
    SavedTrial { trial, .. }: SavedTrial<'r>,
) -> impl Iterator<Item = LedgerRow<'r>> {
    let row = move |stream, booked| LedgerRow { run, number: trial.number, stream, booked };
    let all = booked(trial).map(move |booked| row(None, booked));
    let of_streams = trial.generators.iter().flat_map(move |generator| {
        let counts = [
            ("unsent", generator.unsent, "its generator"),
            ("lost", generator.lost, "sent by its generator, less delivered"),
            ("delivered", generator.delivered, "the application, frame by frame"),
        ];
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        counts.map(|(place, count, source)| {
            row(Some(generator.stream), Booked { place: place.into(), count: count.map(signed), source })
        })
    });
    all.chain(of_streams)
}

type Ledger<'r> = Column<'r, LedgerRow<'r>>;

/// The columns, in order.
pub fn columns<'r>() -> Vec<Ledger<'r>> {
    vec![
        Ledger::text("run_id", "as in `trials`", |row| Some(row.run.id.clone())),
        Ledger::count("number", "`trials[].number`", |row| Some(row.number.into())),
        Ledger::text("host_id", "as in `trials`", |row| row.run.host_id.clone()),
        Ledger::count(
            "stream",
            "`trials[].generators[].stream`; NULL: all together. Sums need `WHERE stream IS NULL`",
            |row| row.stream.map(u64::from),
        ),
        Ledger::text(
            "place",
            "`trials[].ledger[].place`, `delivered` or `unexplained`; of a stream `unsent`, `lost`, `delivered`",
            |row| Some(row.booked.place.clone()),
        ),
        Ledger::signed("count", "`trials[].ledger[].count`; NULL if no counter reports it", |row| {
            row.booked.count
        }),
        Ledger::text("source", "`trials[].ledger[].source`", |row| Some(row.booked.source.into())),
    ]
}
