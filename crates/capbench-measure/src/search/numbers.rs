//! The numbers that belong together: what is held without a single loss, what is held by the usual tolerance of NDR and PDR,
//! and how often something is lost. Any one of them alone misleads on a noisy host.

use std::time::Duration;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::criteria::Criteria;
use super::database::{Bounds, Database, Observation};
use super::goal::Goal;
use super::presets;
use super::ratio::Ratio;

/// Of the trials of a search; a function of nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossNumbers {
    /// The highest load at which no trial lost anything, below any at which one did. It says as much as its seconds.
    pub strict_lossless: Held,
    /// The no-drop rate: loss in a share of the time only, given by the goal's exceed ratio.
    pub ndr: Held,
    /// The partial-drop rate.
    pub pdr: Held,
    /// How often something was lost at loads that count as held.
    pub loss_events: Option<LossEvents>,
}

/// A load that is held, and by what measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The goal whose attributes decide.
    pub by: String,
    /// Offered load of the lower bound; absent where trials do not decide any.
    pub pps: Option<f64>,
    /// Whether no higher load showed the path's limit: what is held is at least this, and no throughput.
    pub at_least: bool,
    /// Seconds of trials at it.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

/// Loss at loads up to one that is held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossEvents {
    /// Intended load up to which trials were looked at: the highest lower bound of these numbers.
    pub up_to_pps: f64,
    /// Seconds of those trials.
    pub seconds: f64,
    /// Trials.
    pub trials: u32,
    /// Those that lost something.
    pub lossy_trials: u32,
    /// Times at which one or several frames in a row were lost. A lossy trial nobody looked into counts as one.
    pub events: u64,
    /// Whether there may have been more, in lossy trials nobody looked into.
    pub at_least: bool,
    /// Events per second.
    pub per_second: f64,
}

/// No loss in any trial, however short.
const STRICT: Criteria = Criteria {
    loss_ratio: Ratio::ZERO,
    exceed_ratio: Ratio::ZERO,
    full_length: Duration::ZERO,
    duration_sum: Duration::from_nanos(1),
};

impl LossNumbers {
    /// From the trials of a search. NDR and PDR are those of its goals, where it has one without and one with loss that may
    /// be exceeded; else of the presets `ndr` and `pdr`, as far as its trials decide them.
    pub(super) fn new(goals: &[Goal], seen: &Database) -> Self {
        let (strict_lossless, strict) = held("strict", &STRICT, seen);
        let of = |preset: &str, is_such: fn(&Goal) -> bool| {
            let own = goals.iter().find(|goal| is_such(goal)).cloned();
            let goal = own.or_else(|| presets::goals(preset)?.into_iter().next());
            goal.map_or_else(|| held(preset, &STRICT, seen), |goal| held(&goal.name, &goal.criteria(), seen))
        };
        let (ndr, no_drop) =
            of("ndr", |goal| goal.loss_ratio == Ratio::ZERO && goal.exceed_ratio > Ratio::ZERO);
        let (pdr, partial) = of("pdr", |goal| goal.loss_ratio > Ratio::ZERO);
        // PDR allows loss in every trial, so what is lost there says nothing about how often loss strikes.
        let highest = no_drop.or(strict).or(partial);
        Self {
            strict_lossless,
            ndr,
            pdr,
            loss_events: highest.and_then(|load| LossEvents::up_to(load, seen)),
        }
    }
}

fn held(by: &str, criteria: &Criteria, seen: &Database) -> (Held, Option<Pps>) {
    let Bounds { lower, upper } = seen.bounds(criteria);
    let trials = lower.map_or(&[][..], |load| seen.at(load));
    let achieved = trials.iter().filter(|trial| trial.loss_ratio <= criteria.loss_ratio.get());
    let held = Held {
        by: by.into(),
        pps: achieved.map(|trial| trial.achieved.get()).reduce(f64::min),
        at_least: lower.is_some() && !upper.is_some_and(|load| seen.is_limit_of_path(load, criteria)),
        seconds: trials.iter().map(|trial| trial.duration.as_secs_f64()).sum(),
        trials: trials.iter().map(|trial| trial.number).collect(),
    };
    (held, lower)
}

impl LossEvents {
    fn up_to(load: Pps, seen: &Database) -> Option<Self> {
        let trials: Vec<&Observation> =
            seen.loads().take_while(|(at, _)| *at <= load).flat_map(|(_, trials)| trials).collect();
        let seconds: f64 = trials.iter().map(|trial| trial.duration.as_secs_f64()).sum();
        let is_lossy = |trial: &&&Observation| trial.path_loss_ratio > 0.0;
        let events = trials.iter().filter(is_lossy).map(|trial| trial.loss_events.unwrap_or(1)).sum();
        (seconds > 0.0).then(|| Self {
            up_to_pps: load.get(),
            seconds,
            trials: trials.len() as u32,
            lossy_trials: trials.iter().filter(is_lossy).count() as u32,
            events,
            at_least: trials.iter().any(|trial| trial.loss_events.is_none()),
            per_second: events as f64 / seconds,
        })
    }
}
