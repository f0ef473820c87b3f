//! `ledger`: a row is a place of a trial. With `stream` NULL the counts of a trial sum up to `intended`, if every place is known.

use capbench_results::column::Column;
use capbench_results::tidy::{Booked, SavedTrial, booked, saved, signed};

use super::ExportedRun;

/// A place of a trial.
#[derive(Clone, Debug)]
pub struct LedgerRow<'r> {
    run: &'r ExportedRun<'r>,
    number: u32,
    stream: Option<u8>,
    booked: Booked<'r>,
}

/// The places of all trials, each with those of its generators on other hosts behind it.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<LedgerRow<'r>> {
    let mut rows = Vec::new();
    for SavedTrial { trial, .. } in saved(run.results) {
        let number = trial.number;
        for booked in booked(trial) {
            rows.push(LedgerRow { run, number, stream: None, booked });
        }
        for generator in &trial.generators {
            let stream = Some(generator.stream);
            let counts = [
                ("unsent", generator.unsent, "its generator"),
                ("lost", generator.lost, "sent by its generator, less delivered"),
                ("delivered", generator.delivered, "the application, frame by frame"),
            ];
            for (place, count, source) in counts {
                let booked = Booked { place: place.into(), count: count.map(signed), source };
                rows.push(LedgerRow { run, number, stream, booked });
            }
        }
    }
    rows
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
