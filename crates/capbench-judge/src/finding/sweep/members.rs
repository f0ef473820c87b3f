//! How the rate of a method grows with its members, what stops it, and how many members a load needs, by the scaling of a series.

use capbench_model::trial::TrialResult;
use capbench_statistics::scalability::{ScalabilityFit, Unfit};
use serde::Serialize;

use super::point::{SweepPoint, SweepSeries};
use super::stop_figures::{StopFigures, stop_figures};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::limit::{Limit, saved_names};
use crate::sweep::outcome::{Reading, Series, Swept, numbers};
use crate::sweep::scaling::{Needed, Scaling, Stop};

/// How the rate grows.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersGrowth {
    /// The method.
    pub series: SweepSeries,
    /// The rate with the smallest number of members.
    pub first: MembersRate,
    /// The rate with the number up to which it grows: the last number if it grows up to that.
    pub best: MembersRate,
    /// Where more members stop to bring more; absent if they do up to the last number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<MembersStop>,
    /// Numbers of members that were measured.
    pub numbers: usize,
}

/// The rate that a number of members reads.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersRate {
    /// The number of members.
    pub point: SweepPoint,
    /// The rate, in packets per second.
    pub pps: f64,
}

/// Where more members stop to bring more.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersStop {
    /// The next number of members.
    pub next: MembersRate,
    /// The cause, with its figures.
    pub cause: StopFigures,
}

/// How many members a load needs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersNeeded {
    /// The method.
    pub series: SweepSeries,
    /// The load, in packets per second.
    pub load_pps: f64,
    /// The number.
    pub needed: Needed,
    /// A limit besides the members, which the law does not know; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", with = "saved_names::optional")]
    #[schemars(with = "Option<saved_names::LimitName>")]
    pub other_limit: Option<Limit>,
}

/// The Universal Scalability Law through the rates of the members.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MembersLaw {
    /// The method.
    pub series: SweepSeries,
    /// The law; absent if none fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<ScalabilityFit>,
    /// Why there is no law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_law_because: Option<Unfit>,
}

impl MembersGrowth {
    /// Whether more members than the first number read more.
    pub fn scales(&self) -> bool {
        self.best.point.index != self.first.point.index
    }
}

impl MembersRate {
    pub(super) fn of_reading(swept: &Swept<'_>, reading: &Reading) -> Self {
        Self { point: SweepPoint::of_reading(swept.outcome, reading), pps: swept.sustained_pps(reading) }
    }
}

/// Where the rate of a method stops to grow, and why; the members that the load needs; the fitted law. Empty if its points are no
/// numbers of members.
pub(super) fn members(swept: &Swept<'_>, series: &Series) -> Vec<Found> {
    let Some(scaling) = &series.scaling else { return Vec::new() };
    let mut facts = Vec::new();
    facts.extend(growth(swept, series, scaling).map(SweepFinding::MembersGrowth));
    facts.push(SweepFinding::MembersNeeded(MembersNeeded {
        series: SweepSeries::new(series),
        load_pps: scaling.load_pps,
        needed: scaling.needed,
        other_limit: other_limit(scaling),
    }));
    if scaling.law.is_some() || scaling.no_law_because.is_some() {
        facts.push(SweepFinding::MembersLaw(MembersLaw {
            series: SweepSeries::new(series),
            law: scaling.law,
            no_law_because: scaling.no_law_because,
        }));
    }
    facts.into_iter().map(|fact| found(fact, numbers(&series.readings))).collect()
}

/// How the rate grows; `None` without readings.
fn growth(swept: &Swept<'_>, series: &Series, scaling: &Scaling) -> Option<MembersGrowth> {
    let first = series.readings.first()?;
    // Without a stop the rate grows up to the last number.
    let mut best = series.readings.last()?;
    let mut stop = None;
    if let Some(stopped) = scaling.stop {
        best = reading_with(swept, series, stopped.after)?;
        let next = reading_with(swept, series, stopped.next)?;
        stop = Some(MembersStop {
            next: MembersRate::of_reading(swept, next),
            cause: stop_figures(swept, next, stop_cause(swept, series, stopped), scaling),
        });
    }
    Some(MembersGrowth {
        series: SweepSeries::new(series),
        first: MembersRate::of_reading(swept, first),
        best: MembersRate::of_reading(swept, best),
        stop,
        numbers: series.readings.len(),
    })
}

/// The reading with this number of members.
pub(super) fn reading_with<'r>(swept: &Swept<'_>, series: &'r Series, members: u32) -> Option<&'r Reading> {
    series.readings.iter().find(|reading| {
        let point = swept.outcome.points.get(reading.point);
        point.and_then(|point| point.at) == Some(members.into())
    })
}

/// What stops more members from bringing more.
pub(super) fn stop_cause(swept: &Swept<'_>, series: &Series, stop: Stop) -> Limit {
    let Some(next) = reading_with(swept, series, stop.next) else { return stop.cause };
    let trials: Vec<&TrialResult> = swept.trials_of(next).collect();
    Limit::of_stop(stop.cause, &trials, next.is_clean())
}

/// A limit besides the members, which the law does not know.
pub(super) fn other_limit(scaling: &Scaling) -> Option<Limit> {
    Limit::besides_members(scaling.stop?.cause)
}
