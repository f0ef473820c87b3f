//! The best of several methods with equal limits: by their costs, then by the privilege that they need.

use std::cmp::Ordering;

use capbench_model::method_spec::{MethodSpec, Privilege};

use super::{Because, Ranked};

/// The best of several methods with equal limits.
pub(super) struct Choice {
    /// Its place among them.
    pub(super) nth: usize,
    pub(super) because: Because,
    /// Whether the costs that decide are known of all of them.
    pub(super) is_known: bool,
    /// Whether no disturbance can have caused the order.
    pub(super) is_undisturbed: bool,
    /// The places of those whose costs are known not to differ from its own.
    pub(super) equal: Vec<usize>,
}

/// A cost of a method.
struct Figure {
    ns: f64,
    error_ns: f64,
}

fn application(ranked: &Ranked) -> Option<Figure> {
    let cost = ranked.cost.as_ref()?;
    Some(Figure { ns: cost.app_ns?, error_ns: cost.app_error_ns })
}

fn total(ranked: &Ranked) -> Option<Figure> {
    let cost = ranked.cost.as_ref()?;
    Some(Figure { ns: cost.total_ns?, error_ns: cost.total_error_ns })
}

impl Choice {
    /// The best of at least one method.
    pub(super) fn among(tied: &[&Ranked]) -> Self {
        let all: Vec<usize> = (0..tied.len()).collect();
        let by_app = cheapest(tied, &all, application);
        let by_total = cheapest(tied, &by_app, total);
        let mut nth = by_total[0];
        for &other in &by_total {
            if by_privilege(tied[other], tied[nth]).is_lt() {
                nth = other;
            }
        }
        let mut equal = by_total.clone();
        equal.retain(|other| *other != nth);
        let is_alone = equal.iter().all(|&other| privilege(tied[other]) != privilege(tied[nth]));
        let because = match (by_app.len(), by_total.len()) {
            (1, _) => Because::ApplicationTime,
            (_, 1) => Because::TotalTime,
            _ if is_alone => Because::Privilege,
            _ => Because::Equal,
        };
        let is_disturbed = tied.iter().filter_map(|ranked| ranked.cost.as_ref()).any(|cost| cost.disturbed);
        let is_single = tied.len() == 1;
        Self {
            nth,
            because,
            is_known: is_single || do_costs_decide(tied, &all, &by_app),
            is_undisturbed: is_single || !is_disturbed,
            equal,
        }
    }
}

/// Where no method has the one figure, the other decides. Where only some have it, the others can cost less.
fn do_costs_decide(tied: &[&Ranked], all: &[usize], by_app: &[usize]) -> bool {
    let apps = all.iter().filter(|&&nth| application(tied[nth]).is_some()).count();
    let totals = by_app.iter().filter(|&&nth| total(tied[nth]).is_some()).count();
    let has_whole_total = totals == 0 || totals == by_app.len();
    match apps {
        0 => totals > 0 && has_whole_total,
        _ if apps < all.len() => false,
        _ => by_app.len() == 1 || has_whole_total,
    }
}

/// Those of `places` whose cost is not above the lowest by more than the errors. All of them if no cost is known.
fn cheapest(tied: &[&Ranked], places: &[usize], cost: fn(&Ranked) -> Option<Figure>) -> Vec<usize> {
    let mut known = Vec::new();
    for &nth in places {
        known.extend(cost(tied[nth]).map(|figure| (nth, figure)));
    }
    let Some((_, least)) = known.iter().min_by(|(_, one), (_, other)| one.ns.total_cmp(&other.ns)) else {
        return places.to_vec();
    };
    let most_ns = least.ns + least.error_ns;
    known.iter().filter(|(_, figure)| figure.ns - figure.error_ns <= most_ns).map(|(nth, _)| *nth).collect()
}

/// The method that needs less comes first. Of methods that are equal otherwise, the one with the lower figure.
fn by_privilege(one: &Ranked, other: &Ranked) -> Ordering {
    let ns = |ranked: &Ranked| application(ranked).map_or(f64::INFINITY, |figure| figure.ns);
    privilege(one).cmp(&privilege(other)).then(ns(one).total_cmp(&ns(other)))
}

/// What a method needs; a program needs what it needs.
fn privilege(ranked: &Ranked) -> (bool, Option<Privilege>) {
    let needs = ranked.method.known().and_then(MethodSpec::privilege);
    (needs.is_none(), needs)
}
