//! The five tables. A table is a file here: what a row is, and its columns in order.
//!
//! Columns are only added, at the end. A change of meaning raises [`layout::VERSION`](crate::layout::VERSION).

pub mod hosts;
pub mod ledger;
pub mod rankings;
pub mod searches;
pub mod trials;

use std::collections::BTreeMap;

use capbench_model::environment::Environment;
use capbench_model::environment::interface::{InterfaceFacts, Role};
use capbench_model::saved::SavedPlacement;
use capbench_results::Results;
use capbench_results::column::{Column, Values};
use capbench_results::trial_columns::key;

use crate::error::Result;
use crate::writer;

/// A run with what all of its rows have.
#[derive(Clone, Debug)]
pub struct ExportedRun<'r> {
    /// What identifies it.
    pub id: String,
    /// What identifies its host, the one that receives; `None` if unknown.
    pub host_id: Option<String>,
    /// Its results.
    pub results: &'r Results,
    /// The user's labels, besides the campaign.
    pub labels: &'r BTreeMap<String, String>,
}

impl ExportedRun<'_> {
    /// Microseconds since 1970.
    fn started_us(&self) -> Option<i64> {
        i64::try_from(self.results.started_unix_s.checked_mul(1_000_000)?).ok()
    }

    /// The command, without the program and the flags: `bench`.
    fn command(&self) -> Option<String> {
        self.results.command.get(1).filter(|word| !word.starts_with('-')).cloned()
    }
}

/// The identifier of the host that receives, as a run saved it.
pub fn saved_host_id(results: &Results) -> Option<String> {
    let receives = results.environment.hosts.iter().find(|host| host.role == Role::Receive);
    match receives {
        Some(host) => host.host_id.clone(),
        None => results.host_id.clone(),
    }
}

/// The receiving interface in this placement. The test bed is made anew for each placement.
fn receiving<'e>(
    environment: &'e Environment,
    placement: Option<&SavedPlacement>,
) -> Option<&'e InterfaceFacts> {
    let is_of = |placements: &[SavedPlacement]| {
        placement
            .is_none_or(|placement| placements.is_empty() || placements.iter().any(|own| own == placement))
    };
    let all = environment.interfaces.iter().flatten();
    let own = all.filter(|interface| interface.role == Role::Receive && is_of(&interface.placements));
    own.map(|interface| &interface.facts).next()
}

/// A value as results files write it; `None` for text that says nothing.
fn word<T: serde::Serialize>(value: T) -> Option<String> {
    Some(key(value)).filter(|word| !word.is_empty())
}

/// A table: its name, and the functions that make its file and describe its columns.
pub struct Table {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// What a row is.
    pub row: &'static str,
    /// The file of a run, also if it has no row: so every dataset has all tables.
    pub file: fn(&ExportedRun<'_>) -> Result<Vec<u8>>,
    /// Name, type and origin of each column.
    pub columns: fn() -> Vec<[&'static str; 3]>,
}

/// All tables. `trials` is the last: with it a run is in the dataset.
pub const TABLES: [Table; 5] = [
    Table {
        name: "hosts",
        row: "a host of a run",
        file: |run| writer::file("hosts", &hosts::columns(), &hosts::rows(run)),
        columns: || described(&hosts::columns()),
    },
    Table {
        name: "searches",
        row: "a goal of a search",
        file: |run| writer::file("searches", &searches::columns(), &searches::rows(run)),
        columns: || described(&searches::columns()),
    },
    Table {
        name: "rankings",
        row: "a method of a ranking",
        file: |run| writer::file("rankings", &rankings::columns(), &rankings::rows(run)),
        columns: || described(&rankings::columns()),
    },
    Table {
        name: "ledger",
        row: "a place of a trial",
        file: |run| writer::file("ledger", &ledger::columns(), &ledger::rows(run)),
        columns: || described(&ledger::columns()),
    },
    Table {
        name: trials::NAME,
        row: "a trial",
        file: |run| writer::file(trials::NAME, &trials::columns(), &trials::rows(run)),
        columns: || described(&trials::columns()),
    },
];

/// Name, type and origin of each column.
fn described<R>(columns: &[Column<'_, R>]) -> Vec<[&'static str; 3]> {
    columns.iter().map(|column| [column.name, type_name(&column.values), column.origin]).collect()
}

/// The type of a column in a Parquet file, as engines name it. Counts have a sign there, because not every engine reads unsigned
/// numbers.
fn type_name<R>(values: &Values<'_, R>) -> &'static str {
    match values {
        Values::Text(_) => "string",
        Values::Count(_) | Values::Signed(_) => "int64",
        Values::Number(_) => "double",
        Values::Flag(_) => "boolean",
        Values::Time(_) => "timestamp (µs, UTC)",
        Values::Octets(_) => "binary",
        Values::Map(_) => "map<string, string>",
        Values::List(_) => "list<string>",
    }
}
