//! What a report of a sweep of members says first: how many members read the load, or up to how many the rate grows.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::members::{MembersRate, other_limit, reading_with, stop_cause};
use super::series::{SeriesOfSweep, all_series};
use crate::limit::Limit;
use crate::sweep::outcome::{Reading, Series, SweepOutcome, Swept, numbers};
use crate::sweep::scaling::{Needed, Scaling};

/// How a method scales, or how many members its load needs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersAnswer {
    /// The method.
    pub method: SavedMethod,
    /// The load, in packets per second.
    pub load_pps: f64,
    /// The answer.
    pub scales: Scales,
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// How a method scales. The first four are answers about a requested rate, the others about maximum load.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Scales {
    /// This many members read the load.
    Needs {
        /// Their number.
        members: u32,
    },
    /// This many members would read the load by the law.
    NeedsByLaw {
        /// Their number.
        members: u32,
        /// A limit besides the members.
        #[serde(skip_serializing_if = "Option::is_none")]
        other_limit: Option<Limit>,
    },
    /// No number of members reads the load.
    NoNumberIsEnough {
        /// What stops them.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// No measured number reads the load.
    LessThanLoad {
        /// What the last number reads.
        last: MembersRate,
        /// What stops them.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// The rate does not grow from one member to the next number.
    NotAtAll {
        /// What one reads.
        one: MembersRate,
        /// What the next number reads.
        next: MembersRate,
        /// What stops them.
        limit: Limit,
    },
    /// The rate grows up to a number.
    UpTo {
        /// What that number reads.
        best: MembersRate,
        /// What stops more of them.
        limit: Limit,
    },
    /// The rate grows up to the last number.
    UpToLast {
        /// What that number reads.
        last: MembersRate,
    },
}

/// How each method scales. Empty without sweeps of members.
pub fn members_answers(sweeps: &[SweepOutcome], trials: &[TrialResult]) -> Vec<MembersAnswer> {
    let mut answers = Vec::new();
    for SeriesOfSweep { sweep, series } in all_series(sweeps) {
        let Some(scaling) = &series.scaling else { continue };
        let Some(scales) = scales(&Swept::new(sweep, trials), series, scaling) else { continue };
        answers.push(MembersAnswer {
            method: series.method.clone(),
            load_pps: scaling.load_pps,
            scales,
            trials: numbers(&series.readings),
        });
    }
    answers
}

/// How a method scales; `None` without readings.
fn scales(swept: &Swept<'_>, series: &Series, scaling: &Scaling) -> Option<Scales> {
    let last = series.readings.last()?;
    let is_rate_requested = swept.trials_of(last).all(|trial| trial.intended_pps.is_some());
    match is_rate_requested {
        true => Some(members_for_rate(swept, series, scaling, last)),
        false => growth_at_maximum_load(swept, series, scaling, last),
    }
}

/// How many members read the requested rate.
fn members_for_rate(swept: &Swept<'_>, series: &Series, scaling: &Scaling, last: &Reading) -> Scales {
    let limit = scaling.stop.map(|stop| stop_cause(swept, series, stop));
    match scaling.needed {
        Needed::Measured { members } => Scales::Needs { members },
        Needed::ByLaw { members } => Scales::NeedsByLaw { members, other_limit: other_limit(scaling) },
        Needed::NoNumber { .. } => Scales::NoNumberIsEnough { limit },
        Needed::Unknown => Scales::LessThanLoad { last: MembersRate::of_reading(swept, last), limit },
    }
}

/// Up to which number of members the rate grows.
fn growth_at_maximum_load(
    swept: &Swept<'_>,
    series: &Series,
    scaling: &Scaling,
    last: &Reading,
) -> Option<Scales> {
    let Some(stop) = scaling.stop else {
        return Some(Scales::UpToLast { last: MembersRate::of_reading(swept, last) });
    };
    let best = MembersRate::of_reading(swept, reading_with(swept, series, stop.after)?);
    let next = MembersRate::of_reading(swept, reading_with(swept, series, stop.next)?);
    let limit = stop_cause(swept, series, stop);
    Some(match stop.after {
        1 => Scales::NotAtAll { one: best, next, limit },
        _ => Scales::UpTo { best, limit },
    })
}
