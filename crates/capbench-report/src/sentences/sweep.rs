//! The words of what sweeps show: up to which point each method keeps up, and `SweepFinding`, the other facts.
//!
//! | file | words |
//! |---|---|
//! | `onset` | where loss begins and ends, and the limit |
//! | `cost` | what a packet costs besides the work |
//! | `buffers` | the longest bursts without loss, by ring size |
//! | `members` | how the rate grows with members, and how many a load needs |
//! | `crossing` | one method overtakes another |
//! | `cheapest` | the cheapest method and ring |

pub(crate) mod buffers;
mod cheapest;
mod cost;
mod crossing;
pub(crate) mod effects;
mod members;
mod onset;
#[cfg(test)]
mod tests;

use capbench_judge::finding::sweep::answers::{
    HighestRate, KeptUp, LossAtHighestRate, MethodBursts, MethodKeepsUp,
};
use capbench_judge::finding::sweep::livelock::LivelockFound;
use capbench_judge::finding::sweep::series::{BurstRange, KeepsUp, KeptPoints, MeanBurst};
use capbench_judge::finding::sweep::{SweepAnswer, SweepFinding};
use capbench_judge::sweep::contrasts::Evidence;
use capbench_judge::sweep::outcome::SweepScene;
use capbench_judge::thresholds::SWEEP_FALSE_ALARMS;
use capbench_model::figures::grouped;
use capbench_model::saved::SavedMethod;

use super::{Clause, first_clauses, with_trials};
use crate::figures::number;
use crate::model::{Sentence, Trials, Unit};
use crate::naming::{self, many};

/// Up to this number of methods, or points, are listed.
const NAMED: usize = 3;

/// The sentence of an answer.
pub(super) fn answer(answer: &SweepAnswer, trials: Trials) -> Sentence {
    match answer {
        SweepAnswer::Scales { methods } => members::answer(methods),
        SweepAnswer::KeepsUp(points) => kept_up_sentence(points),
        SweepAnswer::LongestBursts { methods } => burst_ranges_sentence(methods),
        SweepAnswer::HighestRate(highest) => with_trials(highest_rate_words(highest), trials),
    }
}

/// Up to which point each method keeps up. If all methods share placement and load, the sentence begins with these.
fn kept_up_sentence(kept_up: &KeptUp) -> Sentence {
    let mut clauses = Vec::new();
    for MethodKeepsUp { method, scene, keeps_up, trials } in &kept_up.methods {
        let name = match kept_up.shared_scene {
            Some(_) => method.to_string(),
            None => method_in_scene(method, scene),
        };
        let verb = match keeps_up.points {
            // The words of the points begin with "up to".
            KeptPoints::UpTo(_) => "keeps",
            _ => "keeps up",
        };
        let text = format!("{name} {verb} {}", keeps_up_words(keeps_up));
        clauses.push(Clause { text, trials: trials.clone() });
    }
    let Sentence { text, trials } = first_clauses(&clauses, NAMED);
    match kept_up.shared_scene.as_ref().and_then(SweepScene::words) {
        Some(scene) => Sentence { text: format!("With {scene}: {text}"), trials },
        None => Sentence { text, trials },
    }
}

/// A method with its placement and load.
fn method_in_scene(method: &SavedMethod, scene: &SweepScene) -> String {
    match scene.words() {
        Some(scene) => format!("{method}, {scene}"),
        None => method.to_string(),
    }
}

/// The points of a series at which it neither loses frames nor only buffers them.
pub(crate) fn keeps_up_words(kept: &KeepsUp) -> String {
    let points = match &kept.points {
        KeptPoints::Nowhere => "at no point".into(),
        KeptPoints::Everywhere => "at every point".into(),
        KeptPoints::UpTo(last) => format!("up to {}", last.label),
        KeptPoints::From(first) => format!("from {} on", first.label),
        KeptPoints::Only { points } => {
            let labels: Vec<&str> = points.iter().take(NAMED).map(|point| point.label.as_str()).collect();
            let ellipsis = if points.len() > NAMED { ", …" } else { "" };
            format!("only at {}{ellipsis}", labels.join(", "))
        }
    };
    if kept.unsent_points == 0 {
        return points;
    }
    let unsent = many(kept.unsent_points as u64, "point", "points");
    format!("{points} (the generator did not send the load at {unsent})")
}

/// The method and point with the highest rate, and its loss.
fn highest_rate_words(highest: &HighestRate) -> String {
    let lost = match highest.loss {
        LossAtHighestRate::Lost { loss_ratio } => {
            format!(", and lost {} of what was sent", naming::percent(loss_ratio))
        }
        LossAtHighestRate::BuffersFilled => ", while its buffers filled".into(),
        LossAtHighestRate::Nothing => ", and lost nothing".into(),
        LossAtHighestRate::NothingInMostVisits => ", and lost nothing in most visits".into(),
    };
    let name = match &highest.scene {
        Some(scene) => method_in_scene(&highest.method, scene),
        None => highest.method.to_string(),
    };
    format!(
        "{name} read most: {} at {}{lost} (medians of {}).",
        naming::rate(highest.read_pps),
        highest.point.label,
        many(highest.visits.into(), "visit", "visits")
    )
}

/// The longest bursts without loss.
fn burst_ranges_sentence(methods: &[MethodBursts]) -> Sentence {
    let mut clauses = Vec::new();
    let mut trials = Trials::new();
    for bursts in methods.iter().take(NAMED) {
        let name = method_in_scene(&bursts.method, &bursts.scene);
        clauses.push(format!("{name} {}", burst_range_words(&bursts.range)));
        trials.extend(&bursts.trials);
    }
    with_trials(format!("Longest bursts without loss: {}.", clauses.join("; ")), trials)
}

/// The bursts without loss of a method: that of the point where it is shortest, and of the one where it is longest.
pub(crate) fn burst_range_words(range: &BurstRange) -> String {
    let without_burst = match range.points_without as u64 {
        0 => String::new(),
        points => format!(", and none was found at {}", many(points, "other point", "other points")),
    };
    let shortest = mean_burst(&range.shortest);
    match &range.longest {
        None => format!("takes {shortest}{without_burst}"),
        Some(longest) => format!("takes {shortest} to {}{without_burst}", mean_burst(longest)),
    }
}

/// The frames of a burst, its length in time, and its point.
fn mean_burst(burst: &MeanBurst) -> String {
    let time = match burst.lasts_s {
        Some(seconds) => format!(" ({})", naming::time(seconds)),
        None => String::new(),
    };
    format!("{} frames{time} at {}", number(burst.frames, Unit::Count), burst.point.label)
}

/// How likely chance alone causes a difference.
fn evidence_words(evidence: Evidence) -> String {
    let Evidence { by_chance, comparisons } = evidence;
    let probability = match by_chance {
        small if small < 1e-4 => "p < 0.0001".into(),
        small if small < 0.1 => format!("p = {small:.4}"),
        large => format!("p = {large:.2}"),
    };
    format!(
        "{probability} by ranks, corrected after Holm for {comparisons} comparisons at level {SWEEP_FALSE_ALARMS}"
    )
}

/// The text of a fact.
pub(super) fn words(fact: &SweepFinding) -> String {
    match fact {
        SweepFinding::LossBegins(fact) => onset::loss_begins(fact),
        SweepFinding::LossAtNamedPoints(fact) => onset::loss_at_named_points(fact),
        SweepFinding::HardlyAnyLoss(fact) => onset::hardly_any_loss(fact),
        SweepFinding::LimitedByKernel(fact) => cost::limited_by_kernel(fact),
        SweepFinding::PacketCost(fact) => cost::packet_cost(fact),
        SweepFinding::NoCost(fact) => cost::no_cost(fact),
        SweepFinding::Livelock(fact) => livelock(fact),
        SweepFinding::LongestBursts(fact) => buffers::longest_bursts(fact),
        SweepFinding::MembersGrowth(fact) => members::growth(fact),
        SweepFinding::MembersNeeded(fact) => members::needed(fact),
        SweepFinding::MembersLaw(fact) => members::law(fact),
        SweepFinding::Effect(fact) => effects::words(&fact.series.method, &fact.effect),
        SweepFinding::Crossing(fact) => crossing::crossing(fact),
        SweepFinding::CheapestAtPoints(fact) => cheapest::cheapest_at_points(fact),
        SweepFinding::CheapestRing(fact) => cheapest::cheapest_ring(fact),
    }
}

/// Where more load delivers fewer packets.
fn livelock(fact: &LivelockFound) -> String {
    format!(
        "{}: livelock: {} packets/s are delivered at {} and only {} at {} ({}).",
        fact.series.method,
        grouped(fact.peak_pps),
        fact.peak.label,
        grouped(fact.lowest_pps),
        fact.lowest.label,
        evidence_words(fact.evidence)
    )
}

/// A time in nanoseconds, such as what a packet costs: `1.80 µs`.
fn time_words(ns: f64) -> String {
    match ns.abs() {
        size if size >= 1e9 => format!("{:.3} s", ns / 1e9),
        size if size >= 1e6 => format!("{:.2} ms", ns / 1e6),
        size if size >= 1e4 => format!("{:.1} µs", ns / 1e3),
        size if size >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
