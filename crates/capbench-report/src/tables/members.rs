//! What each member of a trial read and lost.

use capbench_model::members::Member;
use capbench_results::Results;

use super::rows::{Fields, Rows};
use crate::model::{Cell, Table};

/// A row per trial and member.
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut rows = Rows::new();
    for trial in &results.trials {
        for (index, member) in trial.members.iter().enumerate() {
            let fields = Fields::new()
                .words("number", "trial", trial.number.to_string())
                .words("method", "method", trial.profile.method.to_string())
                .words("member", "member", (index + 1).to_string())
                .words("cpu", "CPU", member.cpu.to_string())
                .count("accepted", "reached its socket", Cell::count_or_unknown(member.accepted))
                .count("lost", "lost there", Cell::count_or_unknown(member.lost()))
                .count("read", "read", member.read)
                .count("delivered", "delivered", member.delivered)
                .count("reordered", "reordered", member.reordered)
                .figure("app_ns_per_packet", "app CPU", ns_per_packet(member));
            rows.add(fields, vec![trial.number]);
        }
    }
    Vec::from_iter(rows.table("members", "What each member read and lost"))
}

/// The member's CPU time for each packet that it read; unknown if it read none.
fn ns_per_packet(member: &Member) -> Cell {
    match member.read {
        0 => Cell::Unknown,
        read => Cell::Number(member.cpu_ns as f64 / read as f64),
    }
}
