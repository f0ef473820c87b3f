//! Cost regimes of a work sweep: the cost of a packet besides its work, and the plateaus of that cost that chance does not
//! explain.

use super::contrasts::Evidence;
use super::outcome::{Reading, Series};
use super::regimes::{self, Plateau, Regimes, Saturated};
use super::swept::Swept;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::TrialResult;

/// The cost of a packet besides its work, as one line of a work sweep shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct CostRegimes<'r> {
    /// The points at which the application was the limit.
    pub readings: Vec<&'r Reading>,
    /// Their costs, in that order. Only plateaus remain that differ by more than chance explains; they refer to the readings by
    /// index.
    pub found: Regimes,
    /// The evidence for the difference of every two neighbouring plateaus.
    pub changes: Vec<Evidence>,
}

/// The cost regimes of one line of a work sweep. `None` if the application was the limit at too few points, if their costs fit
/// no line, or if the sweep searched for bursts.
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

/// The plateaus whose costs differ by more than chance explains, and the evidence for every two neighbours. Plateaus that are
/// not distinguished are merged, including the points between them. The correction covers all ways to cut two plateaus out of
/// the points.
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
    // Two pieces of at least three points, one after the other.
    let ends = saturated.len().saturating_sub(2 * (regimes::LEAST_POINTS - 2));
    let comparisons = if ends < 4 { 1 } else { ends * (ends - 1) * (ends - 2) * (ends - 3) / 24 };
    let (mut plateaus, mut changes): (Vec<Plateau>, Vec<Evidence>) = (Vec::new(), Vec::new());
    for next in &found.plateaus {
        let Some(last) = plateaus.last_mut() else {
            plateaus.push(*next);
            continue;
        };
        // The error of the slope must not create a difference: the same plateau must be higher for every possible slope.
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
