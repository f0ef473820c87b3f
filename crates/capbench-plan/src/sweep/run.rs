//! A sweep from its first trial to its outcome.

use std::collections::{BTreeMap, BTreeSet};

use super::axis::{AxisKind, Point};
use super::back_to_back::{BackToBack, Burst, BurstEnd};
use super::outcome::{PointRecord, Reading, Series, SweepOutcome, sustained_pps};
use super::plan::{Probe, SweepPlan};
use super::refine::{Seen, gaps};
use crate::Result;
use crate::order::{Shuffle, turns};
use crate::session::{self, Session, describe};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::statistics::interval::{self, median};
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};
use capbench_model::work::WorkModel;

/// Follows a sweep's trials, and receives intermediate outcomes.
pub trait Observer: session::Observer {
    /// A sweep began, visited a point, or ended: its outcome so far, which replaces the previous one. Until the sweep ends, it
    /// is marked as stopped, so that a saved copy is correct if the process ends.
    fn swept(&mut self, _so_far: SweepOutcome) {}
}

impl Observer for () {}

/// A finished sweep.
#[derive(Debug)]
pub struct SweepRun {
    /// The saved outcome, without the trials.
    pub outcome: SweepOutcome,
    /// The trials in the order in which they ran.
    pub trials: Vec<TrialResult>,
}

/// Indexes of scene, point and method.
type Key = (usize, usize, usize);

/// The result of a visit of a point.
struct Visit {
    trial: TrialResult,
    burst: Option<Burst>,
}

/// A running sweep.
struct Course<'p, 's> {
    plan: &'p SweepPlan,
    laboratory: &'s mut dyn Laboratory,
    observer: &'s mut dyn Observer,
    /// The trials so far, in the order in which they ran.
    trials: Vec<TrialResult>,
    /// Whether the user stopped it.
    stopped: bool,
    scenes: Vec<(PlacementChoice, Load)>,
    /// Points in the order in which they were added, and whether refinement added them.
    points: Vec<(Point, bool)>,
    visits: BTreeMap<Key, Vec<Visit>>,
    /// Summary of the visits of each point, by its key.
    readings: BTreeMap<Key, Reading>,
    /// Failed combinations, which are not tried again.
    failed: BTreeSet<Key>,
    shuffle: Shuffle,
    /// Completed passes.
    passes: usize,
}

impl SweepPlan {
    /// Runs the sweep. A stop keeps all measurements.
    ///
    /// # Errors
    /// A plan that contradicts itself, and a trial that cannot be saved. A point that cannot be measured with a method is
    /// reported to the observer and skipped.
    pub fn run(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<SweepRun> {
        self.check()?;
        let mut course = Course {
            plan: self,
            laboratory,
            observer,
            trials: Vec::new(),
            stopped: false,
            scenes: self.scenes(),
            points: self.axis.points().iter().map(|point| (point.clone(), false)).collect(),
            visits: BTreeMap::new(),
            readings: BTreeMap::new(),
            failed: BTreeSet::new(),
            shuffle: Shuffle::new(self.seed),
            passes: 0,
        };
        course.tell();
        course.pass(0)?;
        course.refine()?;
        for _ in 1..self.repeats {
            course.pass(0)?;
        }
        let outcome = course.outcome(course.stopped);
        course.observer.swept(outcome.clone());
        Ok(SweepRun { outcome, trials: course.trials })
    }
}

impl Course<'_, '_> {
    /// Visits every point from `first` on in every scene, in random order, methods in turn.
    fn pass(&mut self, first: usize) -> Result<()> {
        let points = self.points.len() - first;
        let order = self.shuffle.pass(self.scenes.len() * points);
        for (place, method) in turns(&order, self.plan.methods.len(), self.passes) {
            let key = (place / points, first + place % points, method);
            if self.stopped {
                return Ok(());
            }
            self.visit(key)?;
        }
        self.passes += 1;
        Ok(())
    }

    fn visit(&mut self, key: Key) -> Result<()> {
        let (scene, point_nth, method) = key;
        let (placement, load) = self.scenes[scene];
        let point = &self.points[point_nth].0;
        let method = &self.plan.methods[method];
        let setup = Setup { method: method.clone(), placement, ..self.plan.base.clone() };
        let (setup, load) = point.apply(&setup, load);
        if self.failed.contains(&key) || !self.plan.has(setup.placement, method) {
            return Ok(());
        }
        let what = format!("{}, {point}", describe(&setup.method, &setup.label, setup.placement, load));
        let mut session = Session::new(&mut *self.laboratory, &mut *self.observer);
        let visit = match (self.plan.probe, load) {
            (Probe::BackToBack(test), Load::Rate(rate)) => test
                .search(&mut session, &setup, rate, self.plan.duration, &what)?
                .map(|(trial, burst)| Visit { trial, burst }),
            _ => session
                .announced(&what, &setup, load, self.plan.duration, Phase::Sweep)?
                .map(|trial| Visit { trial, burst: None }),
        };
        let Session { trials, stopped, .. } = session;
        self.trials.extend(trials);
        self.stopped |= stopped;
        match visit {
            Some(visit) => {
                if visit.burst.as_ref().is_some_and(|burst| burst.end == BurstEnd::NotRun) {
                    self.failed.insert(key);
                }
                let visits = self.visits.entry(key).or_default();
                visits.push(visit);
                let trials: Vec<_> = visits.iter().map(|visit| &visit.trial).collect();
                let bursts = visits.iter().filter_map(|visit| visit.burst.clone()).collect();
                if let Some(reading) = Reading::of(point_nth, &trials, BackToBack::of(bursts)) {
                    self.readings.insert(key, reading);
                }
                self.tell();
            }
            None if self.stopped => {}
            None => {
                self.failed.insert(key);
            }
        }
        Ok(())
    }

    /// Reports the outcome so far, marked as stopped.
    fn tell(&mut self) {
        let so_far = self.outcome(true);
        self.observer.swept(so_far);
    }

    /// Adds points where the curves bend, and visits them, until no gap is worth a point or no points are left.
    fn refine(&mut self) -> Result<()> {
        let mut left = self.plan.refinement;
        while left > 0 && !self.stopped {
            let first = self.points.len();
            for gap in gaps(&self.curves()) {
                let between = self.points[gap.from].0.between(&self.points[gap.to].0);
                let is_new = |point: &Point| !self.points.iter().any(|(known, _)| known == point);
                if let Some(point) = between.filter(is_new).filter(|_| left > 0) {
                    self.points.push((point, true));
                    left -= 1;
                }
            }
            if self.points.len() == first {
                break;
            }
            self.pass(first)?;
        }
        Ok(())
    }

    /// The first pass's results of every series.
    fn curves(&self) -> Vec<Vec<Seen>> {
        let mut curves: BTreeMap<(usize, usize), Vec<Seen>> = BTreeMap::new();
        for (&(scene, point, method), visits) in &self.visits {
            let Some((at, _)) = self.points[point].0.coordinate() else { continue };
            let Some(visit) = visits.first().filter(|visit| visit.trial.verdict != Verdict::Invalid) else {
                continue;
            };
            let (value, lost) = match (&visit.burst, self.plan.probe) {
                (Some(burst), _) if matches!(burst.end, BurstEnd::Invalid | BurstEnd::NotRun) => continue,
                // Bursts grow with the ring, so both are compared by ratio.
                (Some(burst), _) => ((burst.frames.unwrap_or(0) as f64 + 1.0).log2(), false),
                (None, Probe::BackToBack(_)) => continue,
                (None, Probe::Trial) => {
                    let trial = &visit.trial;
                    (sustained_pps(trial), trial.lost() > 0 || trial.buffered_frames(1) > 0)
                }
            };
            let at = if self.plan.axis.kind() == AxisKind::Ring { at.log2() } else { at };
            curves.entry((scene, method)).or_default().push(Seen { point, at, value, lost });
        }
        let mut curves: Vec<_> = curves.into_values().collect();
        curves.iter_mut().for_each(|curve| curve.sort_by(|a, b| a.at.total_cmp(&b.at)));
        curves
    }

    /// The outcome of the visits so far.
    fn outcome(&self, stopped: bool) -> SweepOutcome {
        let Self { plan, scenes, points, visits, .. } = self;
        let at = |point: &Point| point.coordinate().map(|(at, _)| at);
        let mut order: Vec<usize> = (0..points.len()).collect();
        if unit(points).is_some() {
            order.sort_by(|&a, &b| at(&points[a].0).partial_cmp(&at(&points[b].0)).expect("a coordinate"));
        }
        let records = order
            .iter()
            .map(|&index| {
                let (point, refined) = &points[index];
                PointRecord { label: point.to_string(), at: at(point), refined: *refined }
            })
            .collect();
        let axis = plan.axis.kind();
        let quiet_s = plan.base.quiet.as_secs_f64();
        let mut series = Vec::new();
        for (scene, (placement, load)) in scenes.iter().enumerate() {
            for (method, spec) in plan.methods.iter().enumerate() {
                let of_series = visits
                    .iter()
                    .filter(|((in_scene, _, by), _)| (*in_scene, *by) == (scene, method))
                    .flat_map(|(_, visits)| visits.iter().map(|visit| &visit.trial));
                let unit_ns = unit_ns(points, of_series);
                let reading = |(position, &point): (usize, &usize)| {
                    let reading = self.readings.get(&(scene, point, method))?;
                    Some(Reading { point: position, ..reading.clone() })
                };
                series.push(Series {
                    method: spec.to_string(),
                    placement: (axis != AxisKind::Placement).then(|| placement.to_string()),
                    load: (axis != AxisKind::Load).then(|| load.to_string()),
                    unit_ns,
                    readings: order.iter().enumerate().filter_map(reading).collect(),
                });
            }
        }
        SweepOutcome {
            axis,
            unit: unit(points),
            seed: plan.seed,
            repeats: plan.repeats,
            quiet_s,
            interval: interval::METHOD.into(),
            points: records,
            series,
            stopped,
        }
    }
}

/// Time of a unit of work if nothing else runs on the application's CPU, nanoseconds: the requested time, or the median of what
/// each trial measured there. With it, the cost of a packet besides its iterations needs no slope, which would require quiet
/// repeats.
fn unit_ns<'t>(points: &[(Point, bool)], trials: impl Iterator<Item = &'t TrialResult>) -> Option<f64> {
    match points.first()?.0 {
        Point::Work(WorkModel::Nanoseconds(_)) => Some(1.0),
        Point::Work(WorkModel::Loop(_)) => {
            let known: Option<Vec<f64>> = trials.map(|trial| trial.cpu.wait_ns_per_iteration).collect();
            median(known?)
        }
        _ => None,
    }
}

/// The unit of the points; `None` if one of them is a name.
fn unit(points: &[(Point, bool)]) -> Option<String> {
    let units: Option<Vec<_>> = points.iter().map(|(point, _)| Some(point.coordinate()?.1)).collect();
    units?.first().map(|unit| (*unit).into())
}
