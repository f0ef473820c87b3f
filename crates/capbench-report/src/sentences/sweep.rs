//! The words of sweeps: up to where each method keeps up, its cost, where one overtakes another, and the most that it delivers.
//! capbench-judge decides what they say.

mod buffers;
mod cheapest;
mod cost;
mod crossing;
mod members;
mod onset;

use capbench_judge::finding::sweep::answer::{
    BurstRange, HighestRate, KeepsUp, KeptPoints, KeptUp, LossAtHighestRate, MeanBurst, all_series,
    burst_range, highest_rate, kept_up, trials_of_bursts,
};
use capbench_judge::finding::sweep::livelock::LivelockFound;
use capbench_judge::finding::sweep::{SweepFinding, between_methods, of_each_method};
use capbench_judge::finding::{Finding as Fact, Found};
use capbench_judge::sweep::effects::effects;
use capbench_judge::sweep::outcome::{SweepScene, Swept};
use capbench_judge::sweep::{Analysis, SweepOutcome};
use capbench_model::figures::grouped;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_results::{Finding, Results};

use super::{first_of, said, sentence};
use crate::figures::number;
use crate::model::{Sentence, Unit};
use crate::naming::{self, many};

/// Most series that are listed one by one.
const MOST: usize = 3;

/// Up to which point each method keeps up, or how it scales; then the most that is delivered.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let sweeps = &results.sweeps;
    let highest = highest_rate(sweeps).map(highest_words);
    if let Some(scaling) = members::answer(results) {
        return [Some(scaling), highest].into_iter().flatten().collect();
    }
    let kept_up = kept_up(sweeps, &results.trials).and_then(|kept| kept_up_words(&kept));
    [kept_up, bursts(sweeps), highest].into_iter().flatten().collect()
}

/// Up to which point each method keeps up. What all share is said once.
fn kept_up_words(kept: &KeptUp) -> Option<Sentence> {
    let mut words = Vec::new();
    for one in &kept.methods {
        let name = match kept.shared_scene {
            Some(_) => one.method.to_string(),
            None => name(&one.method, &one.scene),
        };
        let points = keeps_up(&one.keeps_up);
        let points = points.strip_prefix("up ").unwrap_or(&points);
        words.push((format!("{name} keeps up {points}"), one.trials.clone()));
    }
    let Sentence { text, trials } = first_of(&words, MOST)?;
    let scene = kept.shared_scene.as_ref().and_then(SweepScene::words);
    let scene = scene.map_or_else(String::new, |scene| format!("With {scene}: "));
    Some(Sentence { text: format!("{scene}{text}"), trials })
}

/// A method with its placement and load.
fn name(method: &SavedMethod, scene: &SweepScene) -> String {
    match scene.words() {
        Some(scene) => format!("{method}, {scene}"),
        None => method.to_string(),
    }
}

/// The points of a series at which it neither loses frames nor only buffers them.
pub(crate) fn keeps_up(kept: &KeepsUp) -> String {
    let points = match &kept.points {
        KeptPoints::Nowhere => "at no point".into(),
        KeptPoints::Everywhere => "at every point".into(),
        KeptPoints::UpTo(last) => format!("up to {}", last.label),
        KeptPoints::From(first) => format!("from {} on", first.label),
        KeptPoints::Only(points) => {
            let labels: Vec<&str> = points.iter().take(MOST).map(|point| point.label.as_str()).collect();
            let more = if points.len() > MOST { ", …" } else { "" };
            format!("only at {}{more}", labels.join(", "))
        }
    };
    match kept.unsent_points {
        0 => points,
        unsent => format!(
            "{points} (the generator did not send the load at {})",
            many(unsent as u64, "point", "points")
        ),
    }
}

/// The method and point with the highest rate, and its loss.
fn highest_words(highest: HighestRate) -> Sentence {
    let lost = match highest.loss {
        LossAtHighestRate::Lost { loss_ratio } => {
            format!(", and lost {} of what was sent", naming::percent(loss_ratio))
        }
        LossAtHighestRate::BuffersFilled => ", while its buffers filled".into(),
        LossAtHighestRate::Nothing => ", and lost nothing".into(),
        LossAtHighestRate::NothingInMostVisits => ", and lost nothing in most visits".into(),
    };
    let name = match &highest.scene {
        Some(scene) => name(&highest.method, scene),
        None => highest.method.to_string(),
    };
    let text = format!(
        "{name} read most: {} at {}{lost} (medians of {}).",
        naming::rate(highest.read_pps),
        highest.point.label,
        many(highest.visits.into(), "visit", "visits")
    );
    sentence(text, highest.trials)
}

/// The longest bursts without loss, if they were searched for.
fn bursts(sweeps: &[SweepOutcome]) -> Option<Sentence> {
    let mut words = Vec::new();
    let mut trials = Vec::new();
    for of_sweep in all_series(sweeps) {
        let Some(range) = burst_range(of_sweep.sweep, of_sweep.series) else { continue };
        if words.len() < MOST {
            words.push(format!("{} {}", of_sweep.series.name(), bursts_of(&range)));
            trials.extend(trials_of_bursts(of_sweep.series));
        }
    }
    if words.is_empty() {
        return None;
    }
    Some(sentence(format!("Longest bursts without loss: {}.", words.join("; ")), trials))
}

/// The shortest and the longest burst without loss of a method over the axis.
pub(crate) fn bursts_of(range: &BurstRange) -> String {
    let others = match range.points_without as u64 {
        0 => String::new(),
        others => format!(", and none was found at {}", many(others, "other point", "other points")),
    };
    let shortest = mean_burst(&range.shortest);
    match &range.longest {
        None => format!("takes {shortest}{others}"),
        Some(longest) => format!("takes {shortest} to {}{others}", mean_burst(longest)),
    }
}

fn mean_burst(burst: &MeanBurst) -> String {
    let lasts = burst.lasts_s.map_or_else(String::new, |seconds| format!(" ({})", naming::time(seconds)));
    format!("{} frames{lasts} at {}", number(burst.frames, Unit::Count), burst.point.label)
}

/// All findings of a sweep beyond those of its single trials.
pub(super) fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = of_each_method(outcome, trials).into_iter().map(said_of_scene).collect();
    if outcome.axis.shows(Analysis::CostRegimes) {
        for (series, effect) in effects(&Swept::new(outcome, trials)) {
            let text = format!("{}: {}", series.method, effect.text);
            findings.push(Finding { scene: series.scene(), text, fact: None, trials: effect.trials });
        }
    }
    findings.extend(between_methods(outcome, trials).into_iter().map(said_of_scene));
    findings
}

/// A fact of a sweep with its words: its scene is a placement and a load.
fn said_of_scene(found: Found) -> Finding {
    let scene = match &found.fact {
        Fact::Sweep(fact) => fact.scene().words(),
        _ => None,
    };
    Finding { scene, ..said(found) }
}

/// The sentences of a fact.
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
        SweepFinding::Crossing(fact) => crossing::crossing(fact),
        SweepFinding::CheapestAtPoints(fact) => cheapest::at_points(fact),
        SweepFinding::CheapestRing(fact) => cheapest::ring(fact),
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
        fact.evidence
    )
}
