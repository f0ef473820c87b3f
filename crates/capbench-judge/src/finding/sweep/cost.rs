//! What a packet costs besides the work, in a sweep of work: points at which the kernel is the limit, ranges of points with the
//! same cost, and what changes between them, by the cost regimes of a series.

use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::point::{SweepPoint, SweepSeries};
use super::{SweepFinding, found};
use crate::disturbed::are_disturbed;
use crate::finding::Found;
use crate::sweep::contrasts::Evidence;
use crate::sweep::outcome::{Reading, Series, Swept, numbers};
use crate::sweep::regimes::{CostRegimes, Plateau, Regimes, cost_regimes};
use crate::thresholds::{CHANGED_QUANTITY_FACTOR, MOVED_LOSS_SHARE};

/// Points at which the kernel's receive work is the limit: they do not show the application's cost per packet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LimitedByKernel {
    /// The method.
    pub series: SweepSeries,
    /// Number of such points.
    pub points: usize,
    /// The first of them.
    pub first: SweepPoint,
    /// The last of them.
    pub last: SweepPoint,
    /// The largest share of the sent frames that was lost at one of them.
    pub loss_ratio: f64,
    /// Where that point lost most frames; absent if no counter reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The rate at which the application read there, in packets per second.
    pub read_pps: f64,
    /// The kernel's receive work there; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelWork>,
}

/// The kernel's receive work.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelWork {
    /// For each frame that it lets through, nanoseconds.
    pub ns_per_packet: f64,
    /// Its share of a CPU.
    pub busy_ratio: f64,
}

/// The application is the limit, but the points show no cost per packet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NoCost {
    /// The method.
    pub series: SweepSeries,
    /// Number of points at which the application is the limit.
    pub points: usize,
}

/// What a packet costs besides the work.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PacketCost {
    /// The method.
    pub series: SweepSeries,
    /// The cost at the first point at which the application is the limit.
    pub first: CostAtPoint,
    /// The cost at the last such point.
    pub last: CostAtPoint,
    /// Ranges of points with the same cost, in the order of the axis.
    pub regimes: Vec<CostRegime>,
    /// The change between every two neighbouring regimes.
    pub changes: Vec<CostChange>,
    /// How long a unit of work takes there; absent without a regime, and if work takes as long as requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed_work: Option<SlowedWork>,
    /// Whether others used the CPUs of most of these trials. They took a part of the wall time, so that a packet costs less.
    #[schemars(default)]
    pub is_upper_limit: bool,
}

/// The cost of a packet at a point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostAtPoint {
    /// The point.
    pub point: SweepPoint,
    /// Wall time besides the work, nanoseconds.
    pub cost_ns: f64,
}

/// Points in a row at which a packet costs the same.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostRegime {
    /// The first of them.
    pub from: SweepPoint,
    /// The last of them.
    pub to: SweepPoint,
    /// Wall time besides the work, nanoseconds: the median of the points.
    pub cost_ns: f64,
    /// The minimum of the points' costs, nanoseconds.
    pub least_ns: f64,
    /// The maximum, nanoseconds.
    pub most_ns: f64,
}

/// A change of the cost from one regime to the next, and what changes with it. This is a correlation, not a cause.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostChange {
    /// The last point of the regime before.
    pub from: SweepPoint,
    /// The first point of the regime after.
    pub to: SweepPoint,
    /// Whether chance explains it.
    pub evidence: Evidence,
    /// Wake-ups of the application per packet, if they change notably.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeups_per_packet: Option<BeforeAndAfter>,
    /// Frames that the application reads at a time, if they change notably.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_per_batch: Option<BeforeAndAfter>,
    /// Share of the backlog in the loss, if it changes notably.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_share: Option<BeforeAndAfter>,
    /// Share of the ring or socket queue in the loss, if it changes notably.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_share: Option<BeforeAndAfter>,
}

/// A quantity in two neighbouring regimes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BeforeAndAfter {
    /// In the first one.
    pub before: f64,
    /// In the second one.
    pub after: f64,
}

/// Work that takes longer than alone, because the kernel works on the same CPU.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SlowedWork {
    /// Time of a unit of work there, nanoseconds.
    pub unit_ns: f64,
    /// The application's part of the CPU; absent if the time of a unit alone is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_alone: Option<PartOfCpu>,
}

/// The part of a CPU that an application has.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PartOfCpu {
    /// Its share of the CPU's time.
    pub cpu_share: f64,
    /// What a packet costs of its own time in each regime, nanoseconds.
    pub costs_ns: Vec<f64>,
}

/// Points at which the kernel is the limit.
pub(super) fn limited_by_kernel(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    let limited: Vec<&Reading> =
        series.readings.iter().filter(|reading| reading.is_limited_by_kernel()).collect();
    let first = limited.first()?;
    let last = limited.last()?;
    let worst =
        limited.iter().max_by(|a, b| a.sent_loss_ratio.median.total_cmp(&b.sent_loss_ratio.median))?;
    let kernel_ns = swept.median(worst, |trial| trial.cpu.kernel_ns_per_packet);
    let fact = LimitedByKernel {
        series: SweepSeries::new(series),
        points: limited.len(),
        first: SweepPoint::of_reading(swept.outcome, first),
        last: SweepPoint::of_reading(swept.outcome, last),
        loss_ratio: worst.sent_loss_ratio.median,
        // The place with most lost frames is the first one.
        place: worst.lost.first().map(|most| most.place),
        read_pps: worst.taken_pps.median,
        kernel: kernel_ns.map(|ns_per_packet| KernelWork {
            ns_per_packet,
            busy_ratio: ns_per_packet * worst.reached_pps() * 1e-9,
        }),
    };
    Some(found(SweepFinding::LimitedByKernel(fact), numbers(limited)))
}

/// What a packet costs where the application is the limit, or that the points do not show it. `None` if it is the limit at no point.
pub(super) fn packet_cost(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    let Some(CostRegimes { readings, found: regimes, changes }) = cost_regimes(swept, series) else {
        return no_cost(series);
    };
    let fact = PacketCost {
        series: SweepSeries::new(series),
        first: cost_at_point(swept, &readings, &regimes, 0),
        last: cost_at_point(swept, &readings, &regimes, readings.len() - 1),
        regimes: regimes.plateaus.iter().map(|plateau| cost_regime(swept, &readings, plateau)).collect(),
        changes: cost_changes(swept, &readings, &regimes.plateaus, &changes),
        slowed_work: slowed_work(series, &regimes),
        is_upper_limit: are_most_disturbed(swept, &readings),
    };
    Some(found(SweepFinding::PacketCost(fact), numbers(readings)))
}

/// Whether others used the CPUs of most of the trials of these readings.
fn are_most_disturbed(swept: &Swept<'_>, readings: &[&Reading]) -> bool {
    let mut trials = 0;
    let mut disturbed = 0;
    for trial in readings.iter().flat_map(|reading| swept.trials_of(reading)) {
        trials += 1;
        disturbed += usize::from(!trial.disturbance.without_core_speed().reasons_for_rates().is_empty());
    }
    are_disturbed(disturbed, trials)
}

/// The points at which the application is the limit, without their cost.
fn no_cost(series: &Series) -> Option<Found> {
    let saturated: Vec<&Reading> = series.readings.iter().filter(|reading| reading.is_saturated()).collect();
    if saturated.is_empty() {
        return None;
    }
    let fact = NoCost { series: SweepSeries::new(series), points: saturated.len() };
    Some(found(SweepFinding::NoCost(fact), numbers(saturated)))
}

/// The cost at the `nth` of these readings, from 0.
fn cost_at_point(swept: &Swept<'_>, readings: &[&Reading], regimes: &Regimes, nth: usize) -> CostAtPoint {
    CostAtPoint {
        point: SweepPoint::of_reading(swept.outcome, readings[nth]),
        cost_ns: regimes.costs_ns[nth],
    }
}

fn cost_regime(swept: &Swept<'_>, readings: &[&Reading], plateau: &Plateau) -> CostRegime {
    CostRegime {
        from: SweepPoint::of_reading(swept.outcome, readings[plateau.first]),
        to: SweepPoint::of_reading(swept.outcome, readings[plateau.last]),
        cost_ns: plateau.cost_ns,
        least_ns: plateau.least_ns,
        most_ns: plateau.most_ns,
    }
}

/// The change between every two neighbouring plateaus, with its evidence. The plateaus have indices of the readings.
fn cost_changes(
    swept: &Swept<'_>,
    readings: &[&Reading],
    plateaus: &[Plateau],
    evidence: &[Evidence],
) -> Vec<CostChange> {
    let mut changes = Vec::new();
    for (pair, evidence) in plateaus.windows(2).zip(evidence) {
        let [before, after] = pair else { continue };
        let sides = TwoRegimes {
            swept,
            before: &readings[before.first..=before.last],
            after: &readings[after.first..=after.last],
        };
        changes.push(CostChange {
            from: SweepPoint::of_reading(swept.outcome, readings[before.last]),
            to: SweepPoint::of_reading(swept.outcome, readings[after.first]),
            evidence: *evidence,
            wakeups_per_packet: sides.notable_factor(wakeups_per_packet),
            frames_per_batch: sides.notable_factor(|trial| trial.cpu.frames_per_batch),
            backlog_share: sides.notable_share_of_loss(Place::Backlog),
            ring_share: sides.notable_share_of_loss(Place::Ring),
        });
    }
    changes
}

fn wakeups_per_packet(trial: &TrialResult) -> Option<f64> {
    Some(trial.cpu.voluntary_switches? as f64 / trial.delivered.max(1) as f64)
}

/// The readings of two neighbouring regimes.
struct TwoRegimes<'s> {
    swept: &'s Swept<'s>,
    before: &'s [&'s Reading],
    after: &'s [&'s Reading],
}

impl TwoRegimes<'_> {
    /// The means of a quantity of the trials, if they differ by a notable factor.
    fn notable_factor(&self, quantity: fn(&TrialResult) -> Option<f64>) -> Option<BeforeAndAfter> {
        let before = mean(self.before, |reading| self.swept.median(reading, quantity))?;
        let after = mean(self.after, |reading| self.swept.median(reading, quantity))?;
        let is_notable = before.max(after) > CHANGED_QUANTITY_FACTOR * before.min(after);
        is_notable.then_some(BeforeAndAfter { before, after })
    }

    /// The means of a place's share of the loss, if they differ notably.
    fn notable_share_of_loss(&self, place: Place) -> Option<BeforeAndAfter> {
        let before = mean(self.before, |reading| share_of_loss(reading, place))?;
        let after = mean(self.after, |reading| share_of_loss(reading, place))?;
        ((before - after).abs() > MOVED_LOSS_SHARE).then_some(BeforeAndAfter { before, after })
    }
}

/// The mean over readings; `None` if one does not know its value.
fn mean(readings: &[&Reading], value: impl Fn(&Reading) -> Option<f64>) -> Option<f64> {
    let mut values = Vec::new();
    for reading in readings {
        values.push(value(reading)?);
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The share of the lost frames that was lost at a place; `None` without a loss.
fn share_of_loss(reading: &Reading, place: Place) -> Option<f64> {
    let everywhere: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
    let here = reading.lost.iter().find(|lost| lost.place == place).map_or(0, |lost| lost.frames);
    (everywhere > 0).then(|| here as f64 / everywhere as f64)
}

/// How much longer work takes than alone; `None` without a regime, and if it takes as long as requested.
fn slowed_work(series: &Series, regimes: &Regimes) -> Option<SlowedWork> {
    if !regimes.unit.is_fitted || regimes.plateaus.is_empty() {
        return None;
    }
    let mut of_alone = None;
    if let Some(alone_ns) = series.unit_ns {
        // Work that takes twice as long has half of the CPU's time.
        let cpu_share = alone_ns / regimes.unit.ns;
        let costs_ns = regimes.plateaus.iter().map(|plateau| plateau.cost_ns * cpu_share).collect();
        of_alone = Some(PartOfCpu { cpu_share, costs_ns });
    }
    Some(SlowedWork { unit_ns: regimes.unit.ns, of_alone })
}

#[cfg(test)]
mod tests {
    use capbench_model::ledger::LostAt;
    use capbench_model::places::Place;
    use capbench_model::trial::TrialResult;

    use super::TwoRegimes;
    use crate::sweep::for_tests::{LoadTrial, reading_of_each, series, sweep_of_loads};
    use crate::sweep::outcome::{Reading, Swept};

    /// Two trials of 100,000 packets/s that lose 100 frames each: one before a change, and one after it.
    fn before_and_after() -> [TrialResult; 2] {
        let lossy = LoadTrial { lost: 100, ..LoadTrial::lossless(1) };
        [lossy.result(), LoadTrial { number: 2, ..lossy }.result()]
    }

    #[test]
    fn a_quantity_is_notable_if_it_changes_by_half() {
        for (after, is_notable) in [(14.8, false), (15.2, true)] {
            let mut trials = before_and_after();
            trials[0].cpu.frames_per_batch = Some(10.0);
            trials[1].cpu.frames_per_batch = Some(after);
            let sweep = sweep_of_loads(&[0.0, 1.0], vec![series("recv", reading_of_each(&trials))]);
            let swept = Swept::new(&sweep, &trials);
            let readings: Vec<&Reading> = sweep.series[0].readings.iter().collect();
            let regimes = TwoRegimes { swept: &swept, before: &readings[..1], after: &readings[1..] };
            let notable = regimes.notable_factor(|trial| trial.cpu.frames_per_batch);
            assert_eq!(notable.is_some(), is_notable, "10 and {after} frames");
        }
    }

    #[test]
    fn a_place_is_notable_if_its_share_of_the_loss_changes_by_a_quarter() {
        for (after, is_notable) in [(74, false), (76, true)] {
            let trials = before_and_after();
            let mut readings = reading_of_each(&trials);
            for (reading, in_ring) in readings.iter_mut().zip([50, after]) {
                let ring = LostAt { place: Place::Ring, frames: in_ring };
                reading.lost = vec![ring, LostAt { place: Place::Backlog, frames: 100 - in_ring }];
            }
            let sweep = sweep_of_loads(&[0.0, 1.0], vec![series("recv", readings)]);
            let swept = Swept::new(&sweep, &trials);
            let readings: Vec<&Reading> = sweep.series[0].readings.iter().collect();
            let regimes = TwoRegimes { swept: &swept, before: &readings[..1], after: &readings[1..] };
            let notable = regimes.notable_share_of_loss(Place::Ring);
            assert_eq!(notable.is_some(), is_notable, "50 and {after} % in the ring");
        }
    }
}
