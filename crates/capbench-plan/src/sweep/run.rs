//! A sweep from its first trial to its outcome: every pass visits each point in each scene, methods in turn. After the first pass
//! points are added where the curves bend.
//!
//! | file | what |
//! |---|---|
//! | `refinement` | which points are added, and how many |
//! | `outcome` | what is saved of the visits |

mod outcome;
mod refinement;

use std::collections::{BTreeMap, BTreeSet};

use super::axis::Point;
use super::back_to_back::BurstVisit;
use super::plan::{Probe, SweepPlan};
use crate::order::{Shuffle, turns};
use crate::session::{Session, describe};
use crate::{Observer, Result};
use capbench_judge::bursts::BurstEnd;
use capbench_judge::sweep::back_to_back::BackToBack;
use capbench_judge::sweep::outcome::{Reading, SweepOutcome};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase, TrialResult};

/// A finished sweep.
#[derive(Debug)]
pub struct SweepRun {
    /// The saved outcome, without the trials.
    pub outcome: SweepOutcome,
    /// The trials in the order in which they ran.
    pub trials: Vec<TrialResult>,
}

/// One method at one point in one scene, by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scene: usize,
    point: usize,
    method: usize,
}

/// A point of a running sweep.
struct CoursePoint {
    point: Point,
    /// Whether it was added because the curve bends there.
    is_added: bool,
}

/// A running sweep.
struct Course<'p, 's> {
    plan: &'p SweepPlan,
    laboratory: &'s mut dyn Laboratory,
    observer: &'s mut dyn Observer,
    trials: Vec<TrialResult>,
    stopped: bool,
    scenes: Vec<(PlacementChoice, Load)>,
    /// Points in the order in which they were added.
    points: Vec<CoursePoint>,
    visits: BTreeMap<Key, Vec<BurstVisit>>,
    /// Summaries of the visits.
    readings: BTreeMap<Key, Reading>,
    /// Failed combinations, which are not tried again.
    failed: BTreeSet<Key>,
    shuffle: Shuffle,
    passes: usize,
}

impl SweepPlan {
    /// Runs the sweep, without points that cannot be measured. Fails for a plan that contradicts itself, or if a save fails.
    pub fn run(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<SweepRun> {
        self.check()?;
        let mut points = Vec::new();
        for point in self.axis.points() {
            points.push(CoursePoint { point: point.clone(), is_added: false });
        }
        let mut course = Course {
            plan: self,
            laboratory,
            observer,
            trials: Vec::new(),
            stopped: false,
            scenes: self.scenes(),
            points,
            visits: BTreeMap::new(),
            readings: BTreeMap::new(),
            failed: BTreeSet::new(),
            shuffle: Shuffle::new(self.seed),
            passes: 0,
        };
        course.report_progress();
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
            if self.stopped {
                return Ok(());
            }
            self.visit(Key { scene: place / points, point: first + place % points, method })?;
        }
        self.passes += 1;
        Ok(())
    }

    /// Measures one method at one point, unless it is unavailable there.
    fn visit(&mut self, key: Key) -> Result<()> {
        let (placement, load) = self.scenes[key.scene];
        let point = &self.points[key.point].point;
        let method = &self.plan.methods[key.method];
        let setup = Setup { method: method.clone(), placement, ..self.plan.base.clone() };
        let (setup, load) = point.apply(&setup, load);
        if self.failed.contains(&key) || !self.plan.has(setup.placement, method) {
            return Ok(());
        }
        let what = format!("{}, {point}", describe(&setup, load));
        let mut session = Session::new(&mut *self.laboratory, &mut *self.observer);
        let visit = match (self.plan.probe, load) {
            (Probe::BackToBack(test), Load::Rate(rate)) => {
                test.search(&mut session, &setup, rate, self.plan.duration, &what)?
            }
            _ => session
                .announced(&what, &setup, load, self.plan.duration, Phase::Sweep)?
                .map(|trial| BurstVisit { trial, burst: None }),
        };
        let Session { trials, stopped, .. } = session;
        self.trials.extend(trials);
        self.stopped |= stopped;
        match visit {
            Some(visit) => self.add(key, visit),
            None if self.stopped => {}
            None => {
                self.failed.insert(key);
            }
        }
        Ok(())
    }

    fn add(&mut self, key: Key, visit: BurstVisit) {
        if visit.burst.as_ref().is_some_and(|burst| burst.end == BurstEnd::NotRun) {
            self.failed.insert(key);
        }
        let visits = self.visits.entry(key).or_default();
        visits.push(visit);
        let trials: Vec<&TrialResult> = visits.iter().map(|visit| &visit.trial).collect();
        let bursts = visits.iter().filter_map(|visit| visit.burst.clone()).collect();
        let back_to_back = BackToBack::from_searches(bursts);
        if let Some(reading) = Reading::from_trials(key.point, &trials, back_to_back) {
            self.readings.insert(key, reading);
        }
        self.report_progress();
    }

    /// Passes the outcome so far to the observer, marked as stopped.
    fn report_progress(&mut self) {
        let so_far = self.outcome(true);
        self.observer.swept(so_far);
    }
}
