//! The methods with the least and the most CPU time at the load at which they are compared, by the costs of a ranking. A method whose
//! cost with its error reaches the least is equal to it; but if a method that certainly costs more is cheaper than it, it is undecided.

use capbench_model::saved::SavedMethod;
use serde::Serialize;

use super::{BenchFinding, found};
use crate::finding::Found;
use crate::recommendation::{Because, Conclusion, Cost, Ranked, Ranking};

/// The CPU time by which methods are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedTime {
    /// The time of the application.
    Application,
    /// The time of application and kernel together, which decided between the methods.
    Total,
}

/// Bounds of a time; equal if its error is small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NsRange {
    /// Lower bound.
    pub low_ns: f64,
    /// Upper bound.
    pub high_ns: f64,
}

/// The CPU time of a method.
struct MethodTime<'r> {
    method: &'r SavedMethod,
    ns: f64,
    error_ns: f64,
    range: NsRange,
    trials: &'r [u32],
}

/// Time of the application per packet; `None` if unknown.
pub(super) fn app_time(ranked: &Ranked) -> Option<NsRange> {
    app_range(ranked.cost.as_ref()?)
}

fn app_range(cost: &Cost) -> Option<NsRange> {
    let (low_ns, high_ns) = cost.app_range()?;
    Some(NsRange { low_ns, high_ns })
}

/// The methods with the least and the most CPU time; `None` if it is known of fewer than two.
pub(super) fn costs(ranking: &Ranking) -> Option<Found> {
    // The application's time is what a user can plan with; only where it did not distinguish the methods, the total did.
    let compared_time = match ranking.conclusion {
        Conclusion::Use { because: Because::TotalTime, .. } => ComparedTime::Total,
        _ => ComparedTime::Application,
    };
    let mut known: Vec<MethodTime<'_>> =
        ranking.methods.iter().filter_map(|ranked| method_time(ranked, compared_time)).collect();
    if known.len() < 2 {
        return None;
    }
    known.sort_by(|one, other| one.ns.total_cmp(&other.ns));
    let least = &known[0];
    let most_of_equal = least.ns + least.error_ns;
    let at_pps = ranking.equal_load_pps;
    let trials: Vec<u32> = known.iter().flat_map(|time| time.trials.iter().copied()).collect();
    let Some(next) = known.iter().find(|time| time.ns - time.error_ns > most_of_equal) else {
        return Some(found(BenchFinding::CostsEqual { time: compared_time, at_pps }, trials));
    };
    let mut cheapest = Vec::new();
    let mut undecided = Vec::new();
    let mut cheapest_time = least.range;
    let mut dearest = next;
    for time in &known {
        if time.ns - time.error_ns > most_of_equal {
            dearest = time;
        } else if time.ns < next.ns {
            cheapest.push(time.method.clone());
            cheapest_time.low_ns = cheapest_time.low_ns.min(time.range.low_ns);
            cheapest_time.high_ns = cheapest_time.high_ns.max(time.range.high_ns);
        } else {
            undecided.push(time.method.clone());
        }
    }
    let fact = BenchFinding::CostsDiffer {
        time: compared_time,
        at_pps,
        cheapest,
        cheapest_time,
        undecided,
        dearest: dearest.method.clone(),
        dearest_time: dearest.range,
    };
    Some(found(fact, trials))
}

/// The time of a method by which it is compared; `None` if unknown.
fn method_time(ranked: &Ranked, time: ComparedTime) -> Option<MethodTime<'_>> {
    let cost = ranked.cost.as_ref()?;
    let method = &ranked.method;
    let trials = cost.trials.as_slice();
    match time {
        ComparedTime::Application => {
            let ns = cost.app_ns?;
            Some(MethodTime { method, ns, error_ns: cost.app_error_ns, range: app_range(cost)?, trials })
        }
        ComparedTime::Total => {
            let ns = cost.total_ns?;
            let range = NsRange { low_ns: ns, high_ns: ns };
            Some(MethodTime { method, ns, error_ns: cost.total_error_ns, range, trials })
        }
    }
}
