//! Cost regimes of a work sweep: what a packet costs beside its work, and the plateaus of it that chance does not explain.

use super::contrasts::Evidence;
use super::outcome::{Reading, Series};
use super::regimes::{self, Plateau, Regimes, Saturated};
use super::swept::Swept;
use crate::trial::TrialResult;
use capbench_model::statistics::interval::Estimate;

/// What a packet costs beside its work, as far as one line of a work sweep shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct CostRegimes<'r> {
    /// The points at which the application was the limit.
    pub readings: Vec<&'r Reading>,
    /// Their costs, in that order. Of the plateaus those are left that differ by more than chance explains; they name the readings
    /// by their places among these.
    pub found: Regimes,
    /// What the difference of every two neighbouring plateaus rests on.
    pub changes: Vec<Evidence>,
}

/// The cost regimes of one line of a work sweep; `None` where the application was the limit at too few points, or their costs
/// are no line, or bursts were searched for.
pub fn cost_regimes<'r>(swept: &Swept<'_>, series: &'r Series) -> Option<CostRegimes<'r>> {
    if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
        return None;
    }
    let readings: Vec<&Reading> = series.readings.iter().filter(|reading| reading.is_saturated()).collect();
    let mut found = analyse(swept, series, &readings)?;
    let changes;
    (found.plateaus, changes) = told_apart(swept, &readings, &found);
    Some(CostRegimes { readings, found, changes })
}

/// Costs at points where the application is the limit.
fn analyse(swept: &Swept<'_>, series: &Series, saturated: &[&Reading]) -> Option<Regimes> {
    let points: Option<Vec<Saturated>> = saturated
        .iter()
        .map(|reading| {
            let rate = reading.taken_pps;
            let time_ns = 1e9 / rate.median;
            Some(Saturated {
                work: swept.outcome.points.get(reading.point)?.at?,
                time_ns,
                spread_ns: time_ns * rate.half_width() / rate.median,
            })
        })
        .collect();
    regimes::find(&points?, series.unit_ns)
}

/// The plateaus whose costs differ by more than chance explains, and for every two neighbours what that rests on. What is
/// not told apart is one plateau, with whatever lies between. It is held against all the ways in which two plateaus could
/// have been cut out of the points.
fn told_apart(swept: &Swept<'_>, saturated: &[&Reading], found: &Regimes) -> (Vec<Plateau>, Vec<Evidence>) {
    let costs = |plateau: &Plateau, unit_ns: f64| -> Vec<f64> {
        let readings = saturated[plateau.first..=plateau.last].iter();
        let of_reading = |reading: &&Reading| -> Vec<f64> {
            let work = swept.outcome.points.get(reading.point).and_then(|point| point.at).unwrap_or(0.0);
            let cost = |trial: &TrialResult| 1e9 / trial.taken_pps() - unit_ns * work;
            swept.of(reading).map(cost).collect()
        };
        readings.flat_map(of_reading).collect()
    };
    // Two pieces of at least three points, one behind the other.
    let ends = saturated.len().saturating_sub(2 * (regimes::LEAST_POINTS - 2));
    let comparisons = if ends < 4 { 1 } else { ends * (ends - 1) * (ends - 2) * (ends - 3) / 24 };
    let (mut plateaus, mut changes): (Vec<Plateau>, Vec<Evidence>) = (Vec::new(), Vec::new());
    for next in &found.plateaus {
        let Some(last) = plateaus.last_mut() else {
            plateaus.push(*next);
            continue;
        };
        // What a slope that is off makes of the costs is no difference: the same one is higher whatever the slope is.
        let at = |off: f64| {
            let unit_ns = found.unit.ns + off * found.unit.error_ns;
            let (before, after) = (costs(last, unit_ns), costs(next, unit_ns));
            let rises = Estimate::of(after.iter().copied()).map(|cost| cost.median)
                > Estimate::of(before.iter().copied()).map(|cost| cost.median);
            (Evidence::of_difference(&before, &after, comparisons), rises)
        };
        let [least, fitted, most] = [at(-1.0), at(0.0), at(1.0)];
        let change = match least.1 == most.1 {
            true => fitted.0.weaker(least.0).weaker(most.0),
            false => Evidence { by_chance: 1.0, comparisons },
        };
        if change.is_told() {
            plateaus.push(*next);
            changes.push(change);
        } else {
            *last = regimes::level(&found.costs_ns, last.first, next.last);
        }
    }
    (plateaus, changes)
}
