//! What is saved of a sweep: its points in the order of the axis, and for each method in each scene the readings at them.

use super::{Course, CoursePoint, Key};
use crate::sweep::axis::{Point, method_of_series};
use capbench_judge::sweep::members_growth::MembersStep;
use capbench_judge::sweep::outcome::{PointRecord, Reading, Series, SweepOutcome};
use capbench_judge::sweep::scaling::Scaling;
use capbench_judge::sweep::{Analysis, PointUnit};
use capbench_model::saved::Saved;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_statistics::interval::{IntervalMethod, median};

impl Course<'_, '_> {
    /// The outcome so far.
    pub(super) fn outcome(&self, stopped: bool) -> SweepOutcome {
        let plan = self.plan;
        let order = self.order();
        let mut points = Vec::new();
        for &index in &order {
            let CoursePoint { point, is_added } = &self.points[index];
            points.push(PointRecord { label: point.to_string(), at: coordinate(point), refined: *is_added });
        }
        let mut series = Vec::new();
        for scene in 0..self.scenes.len() {
            for method in 0..plan.methods.len() {
                series.push(self.series(scene, method, &order));
            }
        }
        SweepOutcome {
            axis: plan.axis.kind(),
            unit: unit(&self.points),
            seed: plan.seed,
            repeats: plan.repeats,
            quiet_s: plan.base.quiet.as_secs_f64(),
            interval_method: Some(IntervalMethod::OrderStatistics),
            interval: String::new(),
            points,
            series,
            stopped,
        }
    }

    /// The indices of the points in the order of the axis; as added if they have no common unit.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        if unit(&self.points).is_some() {
            order.sort_by(|&a, &b| {
                let before = coordinate(&self.points[a].point);
                before.partial_cmp(&coordinate(&self.points[b].point)).expect("a coordinate")
            });
        }
        order
    }

    fn series(&self, scene: usize, method: usize, order: &[usize]) -> Series {
        let plan = self.plan;
        let (placement, load) = self.scenes[scene];
        let mut readings = Vec::new();
        let mut steps = Vec::new();
        for (position, &point) in order.iter().enumerate() {
            let key = Key { scene, point, method };
            if let Some(reading) = self.readings.get(&key) {
                readings.push(Reading { point: position, ..reading.clone() });
                steps.extend(self.step(reading, key));
            }
        }
        let is_scaling = plan.axis.kind().shows(Analysis::Scaling);
        Series {
            method: Saved::Known(method_of_series(plan.axis.kind(), &plan.methods[method])),
            placement: (!plan.placements.is_empty()).then(|| Saved::Known(placement.name())),
            load: (!plan.loads.is_empty()).then(|| load.to_string()),
            unit_ns: self.unit_ns(scene, method),
            scaling: is_scaling.then(|| Scaling::from_steps(&steps, load)),
            readings,
        }
    }

    /// A reading of a number of members with its valid trials.
    fn step<'r>(&'r self, reading: &'r Reading, key: Key) -> Option<MembersStep<'r>> {
        let members = coordinate(&self.points[key.point].point)?;
        let mut trials = Vec::new();
        for visit in self.visits.get(&key)? {
            if visit.trial.verdict != Verdict::Invalid {
                trials.push(&visit.trial);
            }
        }
        Some(MembersStep { members, reading, trials })
    }

    /// Time of a unit of work on an idle CPU, ns: as requested, or the median of what trials measured. So the cost of a packet
    /// needs no slope, which would require quiet repeats.
    fn unit_ns(&self, scene: usize, method: usize) -> Option<f64> {
        let (_, unit) = self.points.first()?.point.coordinate()?;
        match unit {
            PointUnit::Nanoseconds => return Some(1.0),
            PointUnit::Iterations => {}
            _ => return None,
        }
        let mut measured = Vec::new();
        for trial in self.trials_of_series(scene, method) {
            measured.push(trial.cpu.wait_ns_per_iteration?);
        }
        median(measured)
    }

    fn trials_of_series(&self, scene: usize, method: usize) -> impl Iterator<Item = &TrialResult> {
        let visited = self.visits.iter().filter(move |(key, _)| key.scene == scene && key.method == method);
        visited.flat_map(|(_, visits)| visits.iter().map(|visit| &visit.trial))
    }
}

fn coordinate(point: &Point) -> Option<f64> {
    point.coordinate().map(|(at, _)| at)
}

/// The unit of the first point; `None` if a point is a name.
fn unit(points: &[CoursePoint]) -> Option<PointUnit> {
    let mut first = None;
    for point in points {
        let (_, unit) = point.point.coordinate()?;
        first.get_or_insert(unit);
    }
    first
}
