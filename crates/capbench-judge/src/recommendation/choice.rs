//! The best of several methods with equal limits: by their costs, then by the privilege that they need. `rank.rs` decides between which
//! methods.

use std::cmp::Ordering;

use capbench_model::method_spec::{MethodSpec, Privilege};

use super::{Because, Ranked};

/// The best of several methods with equal limits. Methods are given by their indices in the list of which it was chosen.
pub(super) struct Choice {
    /// The index of the best method.
    pub(super) nth: usize,
    /// Why it is the best.
    pub(super) because: Because,
    /// Whether the costs that decide are known of all of them.
    pub(super) is_known: bool,
    /// Whether no disturbance can have caused the order.
    pub(super) is_undisturbed: bool,
    /// The indices of the other methods whose costs do not differ from those of the best, as far as they are known (`is_known`).
    pub(super) equal: Vec<usize>,
}

/// A cost of a method.
struct Figure {
    ns: f64,
    error_ns: f64,
}

/// The application's time per packet.
fn application(ranked: &Ranked) -> Option<Figure> {
    let cost = ranked.cost.as_ref()?;
    Some(Figure { ns: cost.app_ns?, error_ns: cost.app_error_ns })
}

/// The time of application and kernel per packet.
fn total(ranked: &Ranked) -> Option<Figure> {
    let cost = ranked.cost.as_ref()?;
    Some(Figure { ns: cost.total_ns?, error_ns: cost.total_error_ns })
}

impl Choice {
    /// The best of at least one method.
    pub(super) fn among(tied: &[&Ranked]) -> Self {
        let all: Vec<usize> = (0..tied.len()).collect();
        let cheapest_by_app = cheapest(tied, &all, application);
        let cheapest_by_both = cheapest(tied, &cheapest_by_app, total);
        let mut nth = cheapest_by_both[0];
        for &other in &cheapest_by_both {
            if by_privilege(tied[other], tied[nth]).is_lt() {
                nth = other;
            }
        }
        let mut equal = cheapest_by_both.clone();
        equal.retain(|other| *other != nth);
        let needs_least = equal.iter().all(|&other| privilege(tied[other]) != privilege(tied[nth]));
        let because = match (cheapest_by_app.len(), cheapest_by_both.len()) {
            (1, _) => Because::ApplicationTime,
            (_, 1) => Because::TotalTime,
            _ if needs_least => Because::Privilege,
            _ => Because::Equal,
        };
        let is_disturbed = tied.iter().filter_map(|ranked| ranked.cost.as_ref()).any(|cost| cost.disturbed);
        let is_single = tied.len() == 1;
        Self {
            nth,
            because,
            is_known: is_single || do_costs_decide(tied, &cheapest_by_app),
            is_undisturbed: is_single || !is_disturbed,
            equal,
        }
    }
}

/// Of how many methods a cost is known.
enum KnownOf {
    None,
    Some,
    All,
}

impl KnownOf {
    fn count(known: usize, methods: usize) -> Self {
        match known {
            0 => Self::None,
            _ if known < methods => Self::Some,
            _ => Self::All,
        }
    }
}

/// Whether the costs that decide are known of all methods that they decide between. A method without the figure could cost less.
fn do_costs_decide(tied: &[&Ranked], cheapest_by_app: &[usize]) -> bool {
    let with_app = tied.iter().filter(|ranked| application(ranked).is_some()).count();
    let with_total = cheapest_by_app.iter().filter(|&&nth| total(tied[nth]).is_some()).count();
    let app = KnownOf::count(with_app, tied.len());
    let total = KnownOf::count(with_total, cheapest_by_app.len());
    match (app, total) {
        // The total decides alone.
        (KnownOf::None, total) => matches!(total, KnownOf::All),
        (KnownOf::Some, _) => false,
        // The application's time leaves one method, so no total is needed.
        (KnownOf::All, _) if cheapest_by_app.len() == 1 => true,
        // Of methods with equal application time, all are compared by the total, or none can be.
        (KnownOf::All, total) => !matches!(total, KnownOf::Some),
    }
}

/// The methods at these indices whose cost is not above the lowest by more than the errors. All of them if no cost is known.
fn cheapest(tied: &[&Ranked], indices: &[usize], cost: fn(&Ranked) -> Option<Figure>) -> Vec<usize> {
    let figures = indices.iter().filter_map(|&nth| cost(tied[nth]));
    let Some(least) = figures.min_by(|one, other| one.ns.total_cmp(&other.ns)) else {
        return indices.to_vec();
    };
    let most_ns = least.ns + least.error_ns;
    let mut cheapest = Vec::new();
    for &nth in indices {
        if cost(tied[nth]).is_some_and(|figure| figure.ns - figure.error_ns <= most_ns) {
            cheapest.push(nth);
        }
    }
    cheapest
}

/// The method that needs less privilege comes first, else the one with the lower application time.
fn by_privilege(one: &Ranked, other: &Ranked) -> Ordering {
    privilege(one).cmp(&privilege(other)).then(app_ns(one).total_cmp(&app_ns(other)))
}

/// The application's time; infinite if unknown.
fn app_ns(ranked: &Ranked) -> f64 {
    application(ranked).map_or(f64::INFINITY, |figure| figure.ns)
}

/// How much privilege a method needs, the least first. What a program needs is unknown, and comes last.
fn privilege(ranked: &Ranked) -> (bool, Option<Privilege>) {
    let privilege = ranked.method.known().and_then(MethodSpec::privilege);
    let is_unknown = privilege.is_none();
    (is_unknown, privilege)
}
