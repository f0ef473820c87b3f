//! In which order methods are tried for the first place.

use super::loss::Loss;
use super::table::{Looks, Table};
use super::{dearer_by, outweighed_by};
use crate::thresholds::{TURNS_EQUAL, TURNS_LOOKS_LIKE_LESS};

/// These methods, the best looking one first: of those that capture about as much as any for their cost, the cheapest; of those that
/// cost about as much, the one that leaves the application most of its thread's time, which noise moves least; and of these the one
/// that captures most. Then the others, by what they capture. What noise may explain is about as much.
pub(super) fn in_order(table: &Table, columns: &[usize]) -> Vec<usize> {
    let mut looks = table.looks(columns);
    looks.sort_by(|one, other| other.share.total_cmp(&one.share));
    let Some(most) = looks.first().map(|most| most.column) else { return Vec::new() };
    let (lossy, mut complete): (Vec<Looks>, Vec<Looks>) =
        looks.into_iter().partition(|one| looks_like_less(table, one.column, most));
    let mut order = Vec::new();
    while !complete.is_empty() {
        let least =
            complete.iter().min_by(|one, other| one.cost.total_cmp(&other.cost)).unwrap_or(&complete[0]);
        let is_cheap = |one: &Looks| one.cost <= least.cost + TURNS_EQUAL.ln_1p();
        let cheap = complete.iter().filter(|one| is_cheap(one));
        let shortest = cheap.map(|one| one.application).fold(f64::INFINITY, f64::min);
        let is_first = |one: &Looks| is_cheap(one) && one.application <= shortest + TURNS_EQUAL.ln_1p();
        // Where the order of costs depends on the load, that at the limit counts: it is what the method takes when it is full, and noise
        // moves it less than what was captured.
        let depends_on_load = |one: &Looks| table.costs_depend_on_load(one.column, least.column);
        let nth = match complete.iter().any(depends_on_load) {
            true => {
                let may_be_first = |(_, one): &(usize, &Looks)| is_cheap(one) || depends_on_load(one);
                let candidates = complete.iter().enumerate().filter(may_be_first);
                candidates.min_by(|(_, one), (_, other)| one.cost_at_limit.total_cmp(&other.cost_at_limit))
            }
            // The first of several captures most: costs can be unknown.
            false => complete.iter().enumerate().find(|(_, one)| is_first(one)),
        };
        let nth = nth.map_or(0, |(nth, _)| nth);
        order.push(complete.remove(nth).column);
    }
    order.extend(lossy.iter().map(|one| one.column));
    order
}

/// Whether a method captures less than another one by more than its lower cost outweighs, as far as can be seen.
fn looks_like_less(table: &Table, column: usize, most: usize) -> bool {
    let Some(ahead) = Loss::between(table, most, column) else { return false };
    ahead.middle() > outweighed_by(dearer_by(table, most, column))
        && ahead.by_chance() <= TURNS_LOOKS_LIKE_LESS
}
