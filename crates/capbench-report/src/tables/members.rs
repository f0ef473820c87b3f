//! What each member of a trial did.

use capbench_model::members::Member;
use capbench_model::trial::TrialResult;

use super::shape::Columns;
use crate::model::{Cell, Table};
use capbench_results::Results;

/// A member with its trial, counted from 1.
type OfTrial<'r> = (&'r TrialResult, usize, &'r Member);

pub(super) fn table(results: &Results) -> Option<Table> {
    let per_packet = |(_, _, member): &OfTrial<'_>| match member.read {
        0 => Cell::Unknown,
        read => Cell::Number(member.cpu_ns as f64 / read as f64),
    };
    let columns = Columns::new()
        .words("number", "trial", |(trial, ..): &OfTrial<'_>| trial.number.to_string())
        .words("method", "method", |(trial, ..)| trial.profile.method.to_string())
        .words("member", "member", |(_, nth, _)| nth.to_string())
        .words("cpu", "CPU", |(.., member)| member.cpu.to_string())
        .count("accepted", "reached its socket", |(.., member)| Cell::count(member.accepted))
        .count("lost", "lost there", |(.., member)| Cell::count(member.lost()))
        .count("read", "read", |(.., member)| member.read)
        .count("delivered", "delivered", |(.., member)| member.delivered)
        .count("reordered", "reordered", |(.., member)| member.reordered)
        .named("app_ns_per_packet", "app CPU", per_packet);
    let rows = results.trials.iter().flat_map(|trial| {
        trial.members.iter().enumerate().map(move |(nth, member)| (trial, nth + 1, member))
    });
    columns.table("members", "What each member read and lost", rows, |(trial, ..)| vec![trial.number])
}
