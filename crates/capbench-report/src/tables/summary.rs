//! The table directly after the verdict: the main numbers of each kind of run.
//!
//! | file | the table of |
//! |---|---|
//! | [`bench`] | a bench: the methods of a set-up, best first |
//! | [`search`] | a search: the bounds of each goal |
//! | [`sweep`] | a sweep: where each method keeps up |
//! | [`rfc2544`] | the tests of RFC 2544: what each found |
//! | this | a soak: its whole length and its worst segment |
//! | [`claims`] | an experiment of a publication: its claims |

pub(super) mod bench;
mod rfc2544;
mod search;
mod sweep;

use capbench_judge::limit::LimitedBy;
use capbench_results::Kind;
use capbench_results::Results;

use super::rows::{Fields, Rows};
use super::{claims, soak};
use crate::model::Table;
use crate::naming;

/// The table of a run; `None` without data.
pub(crate) fn table(results: &Results) -> Option<Table> {
    match results.kind() {
        Kind::Bench => bench::table(results),
        Kind::Search => search::table(results),
        Kind::Sweep => sweep::table(results),
        Kind::Rfc2544 => rfc2544::table(results),
        Kind::Soak => soak_table(results),
        Kind::Reproduce => claims::table(results),
    }
}

fn soak_table(results: &Results) -> Option<Table> {
    let record = results.soak.as_ref()?;
    let mut rows = Rows::new();
    for (name, stretch) in [("whole", &record.whole), ("worst segment", &record.worst)] {
        let Some(stretch) = stretch else { continue };
        let fields = Fields::new().words("stretch", "stretch", name).and(soak::loss_fields(stretch));
        rows.add(fields, soak::kept_trials(record));
    }
    let caption = format!(
        "{} for {} in segments of {}",
        naming::rate(record.intended_pps),
        naming::time(record.planned_s),
        naming::time(record.segment_s)
    );
    rows.table("summary", &caption)
}

/// What limits a rate, in one word.
fn limit_word(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Generator => "generator",
        LimitedBy::Noise => "noise",
        LimitedBy::Application => "application",
        LimitedBy::Place(place) => place.key(),
    }
}
