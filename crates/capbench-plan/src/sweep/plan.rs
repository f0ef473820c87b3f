//! The plan of a sweep.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use super::axis::{Axis, AxisKind, Point, contradiction};
use super::back_to_back::BackToBackTest;
use crate::Result;
use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;

/// The measurement at a point. A sweep over rings can ask for the ring size in two ways: for a load to sustain, or for a burst
/// that is faster than the reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Probe {
    /// One trial.
    Trial,
    /// The longest burst without loss at the load's rate.
    BackToBack(BackToBackTest),
}

/// A sweep.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    /// The varied parameter.
    pub axis: Axis,
    /// Methods, in the order in which they take turns.
    pub methods: Vec<MethodSpec>,
    /// All other properties of a trial. Method, placement and the axis replace their part.
    pub base: Setup,
    /// Placements; empty if they are the axis.
    pub placements: Vec<PlacementChoice>,
    /// Loads; empty if they are the axis.
    pub loads: Vec<Load>,
    /// The measurement at a point.
    pub probe: Probe,
    /// Length of a trial.
    pub duration: Duration,
    /// Number of visits per point.
    pub repeats: u32,
    /// Points that may be added where the curve bends.
    pub refinement: usize,
    /// Seed of the order of the points.
    pub seed: u64,
    /// Combinations found impossible before any trial ran.
    pub left_out: Vec<(PlacementChoice, MethodSpec)>,
}

impl SweepPlan {
    /// Checks whether the plan can run.
    ///
    /// # Errors
    /// When something is missing or contradicts itself. The message says what to specify.
    pub fn check(&self) -> Result<()> {
        let axis = self.axis.kind();
        let given = |on_axis: bool, count: usize, what: &str| match (on_axis, count) {
            (true, 1..) => {
                Err(contradiction(format!("{what}s are the axis; name them there and nowhere else")))
            }
            (false, 0) => Err(contradiction(format!("no {what} was given; name one"))),
            _ => Ok(()),
        };
        given(axis == AxisKind::Placement, self.placements.len(), "placement")?;
        given(axis == AxisKind::Load, self.loads.len(), "load")?;
        given(false, self.methods.len(), "method")?;
        if self.repeats == 0 || self.duration.is_zero() {
            return Err(contradiction("0 repeats, or trials of 0 s, measure nothing; give at least 1"));
        }
        for (position, load) in self.loads.iter().enumerate() {
            if self.loads[..position].contains(load) {
                return Err(contradiction(format!("load {load} was given twice; give it once")));
            }
        }
        if let Probe::BackToBack(test) = self.probe {
            test.check()?;
            for load in self.named_loads() {
                let Load::Rate(rate) = load else {
                    return Err(contradiction(
                        "a burst needs a rate to be sent at; give one in place of maximum load",
                    ));
                };
                test.check_rate(rate)?;
            }
        }
        Ok(())
    }

    /// Placements and loads of the sweep.
    pub(super) fn scenes(&self) -> Vec<(PlacementChoice, Load)> {
        // The axis replaces this load.
        let loads = if self.loads.is_empty() { &[Load::Maximum][..] } else { &self.loads };
        let placements = self.placements_or_base().iter();
        placements.flat_map(|&placement| loads.iter().map(move |&load| (placement, load))).collect()
    }

    /// Placements; if they are the axis, one placeholder that the axis replaces.
    fn placements_or_base(&self) -> &[PlacementChoice] {
        if self.placements.is_empty() { std::slice::from_ref(&self.base.placement) } else { &self.placements }
    }

    /// Whether a method is available in a placement.
    pub(super) fn has(&self, placement: PlacementChoice, method: &MethodSpec) -> bool {
        !self.left_out.iter().any(|(place, out)| *place == placement && out == method)
    }

    /// Number of visits of points, including all points that may be added.
    fn visits(&self) -> usize {
        let points = self.axis.points();
        let added = if points.iter().any(|point| point.coordinate().is_some()) { self.refinement } else { 0 };
        let loads = self.loads.len().max(1);
        (points.len() + added) * loads * self.methods_had() * self.repeats as usize
    }

    /// Maximum number of trials; approximate for a search for bursts.
    pub fn trials(&self) -> usize {
        let per_visit = match self.probe {
            Probe::Trial => 1,
            Probe::BackToBack(test) => self.rates().map(|rate| test.trials(rate)).max().unwrap_or(1),
        };
        self.visits() * per_visit
    }

    /// Number of available methods, summed over all placements.
    pub(super) fn methods_had(&self) -> usize {
        let had = |&placement| self.methods.iter().filter(move |method| self.has(placement, method)).count();
        self.placements_or_base().iter().map(had).sum()
    }

    /// The given loads, on the axis or in `loads`.
    fn named_loads(&self) -> impl Iterator<Item = Load> {
        let on_axis = self.axis.points().iter().filter_map(|point| match point {
            Point::Load(load) => Some(*load),
            _ => None,
        });
        self.loads.iter().copied().chain(on_axis)
    }

    pub(super) fn rates(&self) -> impl Iterator<Item = Pps> {
        self.named_loads().filter_map(|load| match load {
            Load::Rate(rate) => Some(rate),
            _ => None,
        })
    }
}
