//! What a sweep shows beyond its single trials: where each method starts to lose, what a packet costs, which method overtakes
//! another, and which is the cheapest.
//!
//! | file | about |
//! |---|---|
//! | [`onset`], [`loss`] | where loss begins and ends, where buffers hide it, and the limit |
//! | [`cost`] | what a packet costs besides the work |
//! | [`livelock`] | more load that delivers fewer packets |
//! | [`buffers`] | the longest bursts without loss, and what limits them |
//! | [`members`], [`stop_figures`] | how the rate grows with members, and what stops it |
//! | [`crossing`], [`cheapest`] | methods next to each other |
//! | [`mod@answers`], [`members_answer`] | what answers the question of a run of sweeps |
//! | [`series`] | where a method keeps up, its longest bursts, the most that it reads |
//! | [`point`] | how facts name points and methods |

pub mod answers;
pub mod buffers;
pub mod cheapest;
pub mod cost;
pub mod crossing;
pub mod livelock;
pub mod loss;
pub mod members;
pub mod members_answer;
pub mod onset;
pub mod point;
pub mod series;
pub mod stop_figures;

pub use answers::{SweepAnswer, answers};

use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::{Finding, Found, Subject};
use crate::sweep::Analysis;
use crate::sweep::effects::{Effect, ShownEffect, effects};
use crate::sweep::outcome::{Series, SweepOutcome, SweepScene, Swept};
use point::SweepSeries;

/// A fact about a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SweepFinding {
    /// Loss begins at a point.
    LossBegins(onset::LossBegins),
    /// Frames are lost at points without an order.
    LossAtNamedPoints(onset::LossAtNamedPoints),
    /// No frame is lost, or only in a minority of the visits.
    HardlyAnyLoss(onset::HardlyAnyLoss),
    /// The kernel's receive work is the limit.
    LimitedByKernel(cost::LimitedByKernel),
    /// What a packet costs besides the work.
    PacketCost(cost::PacketCost),
    /// The points do not show what a packet costs.
    NoCost(cost::NoCost),
    /// More load delivers fewer packets.
    Livelock(livelock::LivelockFound),
    /// The longest bursts without loss.
    LongestBursts(buffers::LongestBursts),
    /// How the rate grows with members.
    MembersGrowth(members::MembersGrowth),
    /// How many members the load needs.
    MembersNeeded(members::MembersNeeded),
    /// The law of the members' rates.
    MembersLaw(members::MembersLaw),
    /// Whether one of Dain's two effects appears.
    Effect(EffectFound),
    /// One method overtakes another.
    Crossing(crossing::Crossing),
    /// The cheapest method at points.
    CheapestAtPoints(cheapest::CheapestAtPoints),
    /// The cheapest pair of method and ring.
    CheapestRing(cheapest::CheapestRing),
}

impl SweepFinding {
    /// Placement and load of its methods.
    pub fn scene(&self) -> &SweepScene {
        match self {
            Self::LossBegins(fact) => &fact.series.scene,
            Self::LossAtNamedPoints(fact) => &fact.series.scene,
            Self::HardlyAnyLoss(fact) => &fact.series.scene,
            Self::LimitedByKernel(fact) => &fact.series.scene,
            Self::PacketCost(fact) => &fact.series.scene,
            Self::NoCost(fact) => &fact.series.scene,
            Self::Livelock(fact) => &fact.series.scene,
            Self::LongestBursts(fact) => &fact.series.scene,
            Self::MembersGrowth(fact) => &fact.series.scene,
            Self::MembersNeeded(fact) => &fact.series.scene,
            Self::MembersLaw(fact) => &fact.series.scene,
            Self::Effect(fact) => &fact.series.scene,
            Self::Crossing(fact) => &fact.series.scene,
            Self::CheapestAtPoints(fact) => &fact.scene,
            Self::CheapestRing(fact) => &fact.scene,
        }
    }
}

/// All facts about a sweep beyond those of its single trials.
pub fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Found> {
    let mut all = of_each_method(outcome, trials);
    if outcome.axis.shows(Analysis::CostRegimes) {
        all.extend(effects_found(outcome, trials));
    }
    all.extend(between_methods(outcome, trials));
    all
}

/// One of Dain's effects, with the method that it is about.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EffectFound {
    /// The method.
    pub series: SweepSeries,
    /// Whether the effect appears.
    pub effect: Effect,
}

/// Whether the two effects of Dain (2004) appear, for each method of a sweep of work.
fn effects_found(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Found> {
    let mut all = Vec::new();
    for ShownEffect { series, effect, trials } in effects(&Swept::new(outcome, trials)) {
        let fact = EffectFound { series: SweepSeries::new(series), effect };
        all.push(found(SweepFinding::Effect(fact), trials));
    }
    all
}

/// What each method of a sweep shows, one after the other.
pub fn of_each_method(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Found> {
    let swept = Swept::new(outcome, trials);
    outcome.series.iter().flat_map(|series| facts_of_method(&swept, series)).collect()
}

fn facts_of_method(swept: &Swept<'_>, series: &Series) -> Vec<Found> {
    // Searches for bursts have no load to keep up with: they answer only how long bursts can be.
    if series::searches_bursts(series) {
        return vec![buffers::longest_bursts(swept, series)];
    }
    let shows = swept.outcome.axis.facts().shows;
    if shows == Some(Analysis::Scaling) {
        return members::members(swept, series);
    }
    let mut all = Vec::new();
    all.extend(onset::onset(swept, series));
    match shows {
        Some(Analysis::CostRegimes) => {
            all.extend(cost::limited_by_kernel(swept, series));
            all.extend(cost::packet_cost(swept, series));
        }
        Some(Analysis::Livelock) => all.extend(livelock::livelock(swept, series)),
        Some(Analysis::LineRates | Analysis::Buffers | Analysis::Scaling) | None => {}
    }
    all
}

/// What the methods of a sweep show next to each other.
pub fn between_methods(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Found> {
    let swept = Swept::new(outcome, trials);
    let mut all = crossing::crossings(&swept);
    all.extend(cheapest::cheapest(&swept));
    all
}

fn found(fact: SweepFinding, trials: Vec<u32>) -> Found {
    Found { subject: subject_of_scene(fact.scene()), fact: Finding::Sweep(Box::new(fact)), trials }
}

/// Placement and load, if one of them is no axis of the sweep.
fn subject_of_scene(scene: &SweepScene) -> Option<Subject> {
    let is_known = scene.placement.is_some() || scene.load.is_some();
    is_known.then(|| Subject::Series(scene.clone()))
}
