//! The words of sweeps: up to where each method keeps up, its cost, where one overtakes another, and the most that it delivers.
//! capbench-judge decides what they say.

mod buffers;
mod cheapest;
mod cost;
mod crossing;
mod members;
mod onset;

use capbench_judge::finding::sweep::answer::{
    BurstRange, HighestRate, KeepsUp, KeptPoints, KeptUp, LossAtHighestRate, MeanBurst, MethodBursts,
};
use capbench_judge::finding::sweep::livelock::LivelockFound;
use capbench_judge::finding::sweep::{SweepAnswer, SweepFinding};
use capbench_judge::sweep::effects::Effect;
use capbench_judge::sweep::outcome::SweepScene;
use capbench_model::figures::grouped;
use capbench_model::saved::SavedMethod;

use super::{first_of, sentence};
use crate::figures::number;
use crate::model::{Sentence, Trials, Unit};
use crate::naming::{self, many};

/// Most series that are listed one by one.
const MOST: usize = 3;

/// The sentence of an answer.
pub(super) fn answer(answer: &SweepAnswer, trials: Trials) -> Sentence {
    match answer {
        SweepAnswer::Scales { methods } => members::answer(methods),
        SweepAnswer::KeepsUp(kept) => kept_up(kept),
        SweepAnswer::LongestBursts { methods } => bursts(methods),
        SweepAnswer::HighestRate(highest) => sentence(highest_words(highest), trials),
    }
}

/// Up to which point each method keeps up. What all share is said once.
fn kept_up(kept: &KeptUp) -> Sentence {
    let mut words = Vec::new();
    for one in &kept.methods {
        let name = match kept.shared_scene {
            Some(_) => one.method.to_string(),
            None => name(&one.method, &one.scene),
        };
        let points = keeps_up(&one.keeps_up);
        let verb = match one.keeps_up.points {
            // The name of the point begins with `up to`.
            KeptPoints::UpTo(_) => "keeps",
            _ => "keeps up",
        };
        words.push((format!("{name} {verb} {points}"), one.trials.clone()));
    }
    let Sentence { text, trials } = first_of(&words, MOST);
    let scene = kept.shared_scene.as_ref().and_then(SweepScene::words);
    let scene = scene.map_or_else(String::new, |scene| format!("With {scene}: "));
    Sentence { text: format!("{scene}{text}"), trials }
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
        KeptPoints::Only { points } => {
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
fn highest_words(highest: &HighestRate) -> String {
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
    format!(
        "{name} read most: {} at {}{lost} (medians of {}).",
        naming::rate(highest.read_pps),
        highest.point.label,
        many(highest.visits.into(), "visit", "visits")
    )
}

/// The longest bursts without loss.
fn bursts(methods: &[MethodBursts]) -> Sentence {
    let mut words = Vec::new();
    let mut trials = Vec::new();
    for bursts in methods.iter().take(MOST) {
        words.push(format!("{} {}", name(&bursts.method, &bursts.scene), bursts_of(&bursts.range)));
        trials.extend(bursts.trials.iter().copied());
    }
    sentence(format!("Longest bursts without loss: {}.", words.join("; ")), trials)
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
        SweepFinding::Effect(Effect { method, answer, .. }) => format!("{method}: {answer}"),
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
