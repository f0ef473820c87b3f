//! The words of `SearchFinding`: the bounds that a search found, the doubts about them, and the order of methods.

use capbench_judge::finding::search::{CoarserBounds, RankedMethod, SearchFinding, SetUp, TooFewSearches};
use capbench_judge::search::ranking::Repeated;
use capbench_judge::search::{Buffered, MaximumSource, Reason, Status};
use capbench_model::figures::grouped;

use super::numbers::{self, Numbers};
use super::reasons::{end_words, reason_words};
use super::{goals, interval_words};
use crate::naming::list;

/// The text of a fact.
pub(in crate::sentences) fn words(fact: &SearchFinding) -> String {
    match fact {
        SearchFinding::Ranking { goal, methods, too_few_searches, .. } => {
            order_of_methods(goal, methods, *too_few_searches)
        }
        SearchFinding::Repeated(repeated) => {
            format!("{}, goal {}, lower bounds: {}.", repeated.method, repeated.goal, lower_bounds(repeated))
        }
        SearchFinding::Goals { set_up, goals: names, shows } => {
            let noun = if names.len() == 1 { "goal" } else { "goals" };
            format!("{}, {noun} {}: {}.", method_or_search(set_up), list(names), goals::words(shows))
        }
        SearchFinding::Numbers { set_up, strict_lossless, lowest_load, ndr, pdr, loss_events } => {
            let loss_events = loss_events.as_ref();
            let lowest_load = *lowest_load;
            let words = numbers::words(&Numbers { strict_lossless, lowest_load, ndr, pdr, loss_events });
            format!("{}: {words}.", method_or_search(set_up))
        }
        SearchFinding::Bounds {
            set_up,
            goal,
            status,
            lower_pps,
            upper_pps,
            reason,
            so_far,
            conditional_throughput_pps,
        } => {
            let bounds = both_bounds(*status, *lower_pps, *upper_pps, reason.as_ref());
            let so_far = match so_far {
                Some(coarser) => coarser_bounds(coarser),
                None => String::new(),
            };
            let conditional = match conditional_throughput_pps {
                Some(pps) => format!(", conditional throughput {} packets/s", grouped(pps.floor())),
                None => String::new(),
            };
            format!("{}, goal {goal}: {bounds}{so_far}{conditional}.", method_or_search(set_up))
        }
        SearchFinding::NoBounds { set_up, goal, reason } => {
            format!("{}, goal {goal}: no bound is known: {}.", method_or_search(set_up), reason_words(reason))
        }
        SearchFinding::MaximumLoad { load_pps, source, sustained, unpaced_pps, .. } => {
            maximum_load(*load_pps, *source, *sustained, *unpaced_pps)
        }
        SearchFinding::Buffered { set_up, buffered } => {
            format!("{}: {}.", method_or_search(set_up), buffered_loads(buffered))
        }
        SearchFinding::Incomplete { set_up, end } => {
            format!("{}: the search is incomplete: {}.", method_or_search(set_up), end_words(end))
        }
    }
}

/// The highest load of a search, and why it is that. `has_sent_all`: whether the generator sent everything at that load.
fn maximum_load(load_pps: f64, source: MaximumSource, has_sent_all: bool, unpaced_pps: f64) -> String {
    let limit = match source {
        MaximumSource::LineRate => ", the line rate",
        _ if has_sent_all => "",
        _ => ", though it kept none of the rates that were tried",
    };
    format!(
        "maximum load of the search: {} packets/s{limit}; the generator sent {} without a plan.",
        grouped(load_pps),
        grouped(unpaced_pps.floor())
    )
}

/// The method of a search, with which its findings begin.
fn method_or_search(set_up: &SetUp) -> String {
    match &set_up.method {
        Some(method) => method.to_string(),
        None => "the search".into(),
    }
}

/// The methods in order, and the pairs whose difference chance explains.
fn order_of_methods(goal: &str, methods: &[RankedMethod], too_few: Option<TooFewSearches>) -> String {
    let is_of_medians = methods.iter().any(|ranked| ranked.median_pps.is_some());
    let order =
        if is_of_medians { "highest median first, with the range of all bounds" } else { "highest first" };
    let mut text = format!("{goal} by method, {order}, packets/s: ");
    for (nth, ranked) in methods.iter().enumerate() {
        text.push_str(&range_of_bounds(ranked));
        if nth + 1 < methods.len() {
            text.push_str(match ranked.above_next {
                None => ", ",
                Some(true) => ", then ",
                Some(false) => ", not distinguished from ",
            });
        }
    }
    if let Some(TooFewSearches { searches, needed }) = too_few {
        let searches = match searches {
            1 => "one search each".into(),
            few => format!("{few} searches each"),
        };
        text.push_str(&format!("; {searches}: the order may be chance; {needed} searches of each decide it"));
    }
    text.push('.');
    text
}

/// From where to where the bounds of a method reach, after the median of several searches.
fn range_of_bounds(ranked: &RankedMethod) -> String {
    let least = grouped(ranked.least_pps.floor());
    let method = &ranked.method;
    match (ranked.median_pps, ranked.most_pps) {
        (None, Some(most_pps)) => format!("{method} {least} to {}", grouped(most_pps.floor())),
        (None, None) => format!("{method} at least {least}"),
        (Some(median_pps), Some(most_pps)) => {
            format!("{method} {} ({least} to {})", grouped(median_pps.floor()), grouped(most_pps.floor()))
        }
        (Some(median_pps), None) => {
            format!("{method} at least {} ({least} and more)", grouped(median_pps.floor()))
        }
    }
}

/// The lower bounds of several searches: their median and range, and the number of each quality.
fn lower_bounds(repeated: &Repeated) -> String {
    let median = &repeated.lower_pps;
    let interval = match interval_words(median, repeated.is_end_open) {
        Some(interval) => format!("; median {interval}"),
        None => String::new(),
    };
    let counts_by_quality = [
        (repeated.regular, "regular"),
        (repeated.at_least, "at least"),
        (repeated.irregular(), "irregular"),
        (repeated.coarser, "with a coarser target"),
        (repeated.without, "without a lower bound"),
    ];
    let mut qualities = Vec::new();
    for (count, quality) in counts_by_quality {
        if count > 0 {
            qualities.push(format!("{count} {quality}"));
        }
    }
    format!(
        "median {} packets/s, least {}, most {} ({:.1} % of the median apart){interval}; {} searches: {}",
        grouped(median.median.floor()),
        grouped(repeated.least_pps.floor()),
        grouped(repeated.most_pps.floor()),
        repeated.spread_ratio() * 100.0,
        repeated.searches,
        qualities.join(", ")
    )
}

/// The bounds of a goal, and why they are not regular.
fn both_bounds(
    status: Status,
    lower_pps: Option<f64>,
    upper_pps: Option<f64>,
    reason: Option<&Reason>,
) -> String {
    let lower = load_or_none(lower_pps);
    let upper = load_or_none(upper_pps);
    match (status, reason) {
        (Status::AtLeast, Some(reason)) => format!("at least {lower} packets/s: {}", reason_words(reason)),
        (_, None) => format!("lower bound {lower}, upper bound {upper} packets/s"),
        (_, Some(reason)) => {
            let reason = reason_words(reason);
            format!("irregular, lower bound {lower}, upper bound {upper} packets/s: {reason}")
        }
    }
}

/// A load, or `none`.
fn load_or_none(pps: Option<f64>) -> String {
    match pps {
        Some(pps) => grouped(pps.floor()),
        None => "none".into(),
    }
}

/// Bounds of a target that requires less trial time than the goal.
fn coarser_bounds(bounds: &CoarserBounds) -> String {
    format!(
        "; with {:.1} s per load, lower bound {}, upper bound {} packets/s, {:.1} % apart",
        bounds.seconds_per_load,
        grouped(bounds.lower_pps.floor()),
        grouped(bounds.upper_pps.floor()),
        bounds.relative_width * 100.0
    )
}

/// Loads at which trials lost nothing only because buffers had room.
fn buffered_loads(buffered: &Buffered) -> String {
    let from = grouped(buffered.from_pps.floor());
    let loads = match buffered.trials.len() {
        1 => format!("at {from} packets/s a trial"),
        _ => format!("from {from} to {} packets/s trials", grouped(buffered.to_pps.floor())),
    };
    format!(
        "{loads} lost nothing only because buffers had room: the application read up to {} packets/s, and needed up to {:.3} s \
         more after sending had ended. Frames in buffers count as lost, because a longer trial loses them",
        grouped(buffered.taken_pps.floor()),
        buffered.behind_s
    )
}
