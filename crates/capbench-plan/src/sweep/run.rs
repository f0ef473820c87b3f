//! A sweep from its first trial to its outcome.

use std::collections::{BTreeMap, BTreeSet};

use super::axis::{Point, method_of_series};
use super::plan::{Probe, SweepPlan};
use crate::order::{Shuffle, turns};
use crate::session::{Session, describe};
use crate::{Observer, Result};
use capbench_judge::bursts::BurstEnd;
use capbench_judge::sustained::captures_all;
use capbench_judge::sweep::Analysis;
use capbench_judge::sweep::back_to_back::{BackToBack, Burst};
use capbench_judge::sweep::outcome::{PointRecord, Reading, Series, SweepOutcome, sustained_pps};
use capbench_judge::sweep::scaling::{Scaling, Step};
use capbench_judge::thresholds::{ONSET_GAP_FACTOR, SMALLEST_BEND};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::Saved;
use capbench_model::statistics::interval::{self, median};
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

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

struct Visit {
    trial: TrialResult,
    burst: Option<Burst>,
}

struct Course<'p, 's> {
    plan: &'p SweepPlan,
    laboratory: &'s mut dyn Laboratory,
    observer: &'s mut dyn Observer,
    trials: Vec<TrialResult>,
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
    passes: usize,
}

impl SweepPlan {
    /// Runs the sweep, without points that cannot be measured. Fails for a plan that contradicts itself, or if a save fails.
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
        let what = format!("{}, {point}", describe(&setup, load));
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
                if let Some(reading) =
                    Reading::from_trials(point_nth, &trials, BackToBack::from_searches(bursts))
                {
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
                    (sustained_pps(trial), !captures_all(trial))
                }
            };
            let at = if self.plan.axis.kind().shows(Analysis::Buffers) { at.log2() } else { at };
            curves.entry((scene, method)).or_default().push(Seen { point, at, value, lost });
        }
        let mut curves: Vec<_> = curves.into_values().collect();
        curves.iter_mut().for_each(|curve| curve.sort_by(|a, b| a.at.total_cmp(&b.at)));
        curves
    }

    /// A reading of a number of members with its valid trials.
    fn step<'r>(&'r self, reading: &'r Reading, key: Key) -> Option<Step<'r>> {
        let (members, _) = self.points[key.1].0.coordinate()?;
        let trials = self.visits.get(&key)?.iter().map(|visit| &visit.trial);
        Some(Step {
            members,
            reading,
            trials: trials.filter(|trial| trial.verdict != Verdict::Invalid).collect(),
        })
    }

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
                let readings: Vec<Reading> = order.iter().enumerate().filter_map(reading).collect();
                let scaling = plan.axis.kind().shows(Analysis::Scaling).then(|| {
                    let key = |reading: &Reading| (scene, order[reading.point], method);
                    let steps: Vec<Step<'_>> =
                        readings.iter().filter_map(|reading| self.step(reading, key(reading))).collect();
                    Scaling::from_steps(&steps, *load)
                });
                series.push(Series {
                    method: Saved::Known(method_of_series(plan.axis.kind(), spec)),
                    placement: (!plan.placements.is_empty()).then(|| Saved::Known(placement.name())),
                    load: (!plan.loads.is_empty()).then(|| load.to_string()),
                    unit_ns,
                    scaling,
                    readings,
                });
            }
        }
        SweepOutcome {
            axis: plan.axis.kind(),
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

/// Time of a unit of work on an idle CPU, ns: as requested, or the median of what trials measured. So the cost of a packet
/// needs no slope, which would require quiet repeats.
fn unit_ns<'t>(points: &[(Point, bool)], trials: impl Iterator<Item = &'t TrialResult>) -> Option<f64> {
    match points.first()?.0.coordinate()?.1 {
        "ns" => Some(1.0),
        "iterations" => {
            let known: Option<Vec<f64>> = trials.map(|trial| trial.cpu.wait_ns_per_iteration).collect();
            median(known?)
        }
        _ => None,
    }
}

fn unit(points: &[(Point, bool)]) -> Option<String> {
    let units: Option<Vec<_>> = points.iter().map(|(point, _)| Some(point.coordinate()?.1)).collect();
    units?.first().map(|unit| (*unit).into())
}

/// The first pass's result of a series at a point, in the order of the axis.
#[derive(Clone, Copy, Debug)]
struct Seen {
    point: usize,
    at: f64,
    /// The value on the y axis: the sustainable rate, or the length of a burst.
    value: f64,
    /// Whether frames were lost, or a longer trial would have lost some.
    lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    from: usize,
    to: usize,
    worth: f64,
}

/// The most valuable gap of each series, best first, each once.
fn gaps(series: &[Vec<Seen>]) -> Vec<Gap> {
    let mut best: Vec<Gap> = Vec::new();
    for seen in series {
        let Some(gap) = of_series(seen) else { continue };
        match best.iter_mut().find(|known| (known.from, known.to) == (gap.from, gap.to)) {
            Some(known) => known.worth = known.worth.max(gap.worth),
            None => best.push(gap),
        }
    }
    best.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    best
}

fn of_series(seen: &[Seen]) -> Option<Gap> {
    let (first, last) = (seen.first()?, seen.last()?);
    let span = last.at - first.at;
    let range = |of: fn(f64, f64) -> f64| seen.iter().map(|seen| seen.value).reduce(of);
    let height = range(f64::max)? - range(f64::min)?;
    if span <= 0.0 {
        return None;
    }
    let width = |left: usize| (seen[left + 1].at - seen[left].at) / span;
    let mut worths = vec![0.0_f64; seen.len() - 1];
    // The gap where loss begins.
    if let Some(left) = (0..seen.len() - 1).find(|&left| !seen[left].lost && seen[left + 1].lost) {
        worths[left] = ONSET_GAP_FACTOR * width(left);
    }
    // The distance of each point from the line between its neighbours shows how much is unknown next to it.
    for middle in 1..seen.len() - 1 {
        if height <= 0.0 {
            break;
        }
        let (left, here, right) = (seen[middle - 1], seen[middle], seen[middle + 1]);
        let part = (here.at - left.at) / (right.at - left.at);
        let bend = (here.value - (left.value + (right.value - left.value) * part)).abs() / height;
        if bend > SMALLEST_BEND {
            for gap in [middle - 1, middle] {
                worths[gap] = worths[gap].max(bend * width(gap));
            }
        }
    }
    let (left, worth) = worths.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (worth > 0.0).then(|| Gap { from: seen[left].point, to: seen[left + 1].point, worth })
}

#[cfg(test)]
mod tests {
    use super::{Seen, gaps};

    fn curve(values: impl Fn(f64) -> f64, lost: impl Fn(f64) -> bool) -> Vec<Seen> {
        (0..11)
            .map(|point| {
                let at = point as f64;
                Seen { point, at, value: values(at), lost: lost(at) }
            })
            .collect()
    }

    #[test]
    fn the_gap_where_loss_begins_comes_first() {
        let seen = curve(|at| if at < 7.5 { 10.0 } else { 80.0 / at }, |at| at > 7.5);
        assert_eq!(gaps(&[seen]).first().map(|gap| (gap.from, gap.to)), Some((7, 8)));
    }

    #[test]
    fn a_bend_is_looked_at_and_a_line_is_not() {
        let bent = curve(|at| (at - 4.0).abs(), |_| true);
        let gap = gaps(&[bent])[0];
        assert!(gap.from == 4 || gap.to == 4, "{gap:?}");
        assert!(gaps(&[curve(|at| 3.0 * at, |_| true), curve(|_| 1.0, |_| false), Vec::new()]).is_empty());
    }

    #[test]
    fn series_that_want_the_same_gap_get_it_once() {
        let knee = || curve(|at| at.min(5.5), |at| at > 5.5);
        assert_eq!(gaps(&[knee(), knee()]).len(), 1);
    }

    #[test]
    fn a_bend_is_looked_at_from_two_percent_of_the_range_on() {
        let bent = |off: f64| gaps(&[curve(|at| if at == 5.0 { at + off } else { at }, |_| true)]);
        assert!(bent(0.16).is_empty());
        assert!(!bent(0.25).is_empty());
    }

    #[test]
    fn the_gap_where_loss_begins_has_priority_until_it_is_half_as_wide() {
        for (width, first) in [(1.6, 0), (2.5, 1)] {
            let places = [0.0, 1.0, 1.0 + width, 1.0 + 2.0 * width];
            let mut seen = Vec::new();
            for (point, at) in places.into_iter().enumerate() {
                let value = if point == 2 { 10.0 } else { 0.0 };
                seen.push(Seen { point, at, value, lost: point > 0 });
            }
            let from = gaps(&[seen])[0].from;
            assert_eq!(from.min(1), first, "a spike between gaps {width} times as wide");
        }
    }
}
