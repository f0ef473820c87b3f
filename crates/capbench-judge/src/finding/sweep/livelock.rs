//! Whether more load delivers fewer packets, by the rates that a method delivers at rising loads.

use serde::{Deserialize, Serialize};

use super::point::{SweepPoint, SweepSeries};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::sweep::contrasts::{Evidence, Rises};
use crate::sweep::outcome::{Reading, Series, Swept, numbers};
use crate::thresholds::FALLING_RATE;

/// A higher load at which fewer packets are delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LivelockFound {
    /// The method.
    pub series: SweepSeries,
    /// The point with the highest delivered rate.
    pub peak: SweepPoint,
    /// The delivered rate there, in packets per second.
    pub peak_pps: f64,
    /// The later point with the lowest delivered rate.
    pub lowest: SweepPoint,
    /// The delivered rate there, in packets per second.
    pub lowest_pps: f64,
    /// Whether chance explains the difference.
    pub evidence: Evidence,
}

/// Where more load delivers fewer packets: the largest fall of the delivered rate that chance does not explain.
pub(super) fn livelock(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    // A value that falls with the load rises with its sign reversed: its `low` points are those with the high rates.
    let rises = Rises::find(swept, &series.readings, |trial| -trial.delivered_pps);
    let fall = rises.largest(|rise| rise.gain > FALLING_RATE * highest_pps(rise.low))?;
    let peak = fall.low.iter().max_by(|a, b| delivered_pps(a).total_cmp(&delivered_pps(b)))?;
    let lowest = fall.high.iter().min_by(|a, b| delivered_pps(a).total_cmp(&delivered_pps(b)))?;
    let fact = LivelockFound {
        series: SweepSeries::new(series),
        peak: SweepPoint::of_reading(swept.outcome, peak),
        peak_pps: delivered_pps(peak),
        lowest: SweepPoint::of_reading(swept.outcome, lowest),
        lowest_pps: delivered_pps(lowest),
        evidence: fall.evidence,
    };
    Some(found(SweepFinding::Livelock(fact), numbers(fall.low.iter().chain(fall.high))))
}

fn delivered_pps(reading: &Reading) -> f64 {
    reading.delivered_pps.median
}

fn highest_pps(readings: &[Reading]) -> f64 {
    readings.iter().map(delivered_pps).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::livelock;
    use crate::sweep::for_tests::{LoadTrial, reading, series, sweep_of_loads};
    use crate::sweep::outcome::Swept;

    #[test]
    fn a_rate_falls_if_it_falls_by_a_twentieth() {
        const VISITS: u32 = 8;
        for (delivered_pps, is_found) in [(95_300.0, false), (94_700.0, true)] {
            let mut at_low_load = Vec::new();
            let mut at_high_load = Vec::new();
            for visit in 0..VISITS {
                // Repeats differ a little, as those of a measurement.
                let noise_pps = f64::from(visit);
                let low = LoadTrial { delivered_pps: 1e5 + noise_pps, ..LoadTrial::lossless(visit + 1) };
                let high = LoadTrial {
                    number: VISITS + visit + 1,
                    pps: 2e5,
                    delivered_pps: delivered_pps + noise_pps,
                    lost: 1000,
                };
                at_low_load.push(low.result());
                at_high_load.push(high.result());
            }
            let readings = vec![reading(0, &at_low_load), reading(1, &at_high_load)];
            let sweep = sweep_of_loads(&[1e5, 2e5], vec![series("recv", readings)]);
            let trials = [at_low_load, at_high_load].concat();
            let found = livelock(&Swept::new(&sweep, &trials), &sweep.series[0]);
            assert_eq!(found.is_some(), is_found, "{delivered_pps} packets/s after 100,000");
        }
    }

    #[test]
    fn three_points_together_show_a_fall_that_chance_explains_at_fewer() {
        for (points, is_found) in [(5, false), (6, true)] {
            let mut places = Vec::new();
            let mut readings = Vec::new();
            let mut trials = Vec::new();
            for point in 0..points {
                let load_pps = 1e5 * f64::from(point + 1);
                let mut visits = Vec::new();
                for visit in 0..2 {
                    let number = 2 * point + visit + 1;
                    let delivered_pps = if point < 3 { 1e5 } else { 8e4 } + f64::from(visit);
                    visits.push(LoadTrial { number, pps: load_pps, delivered_pps, lost: 1000 }.result());
                }
                places.push(load_pps);
                readings.push(reading(point as usize, &visits));
                trials.extend(visits);
            }
            let sweep = sweep_of_loads(&places, vec![series("recv", readings)]);
            let found = livelock(&Swept::new(&sweep, &trials), &sweep.series[0]);
            assert_eq!(found.is_some(), is_found, "{points} points");
        }
    }
}
