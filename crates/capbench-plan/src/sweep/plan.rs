//! The plan of a sweep.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use super::axis::{Axis, Point, contradiction, method_of_series};
use super::back_to_back::BackToBackTest;
use crate::Result;
use crate::cost::{Cost, SLOTS, SUPPOSED_MAXIMUM, Spread};
use crate::rehearsal::Rehearsal;
use crate::simulated::{Interrupts, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;

/// The measurement at a point. A ring can be chosen for a load to sustain, or for a burst that is faster than the reader.
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
    /// Checks the plan. Fails when something is missing or contradicts itself; the message says what to specify.
    pub fn check(&self) -> Result<()> {
        let axis = self.axis.kind();
        let given = |on_axis: bool, count: usize, what: &str| match (on_axis, count) {
            (true, 1..) => {
                Err(contradiction(format!("{what}s are the axis; name them there and nowhere else")))
            }
            (false, 0) => Err(contradiction(format!("no {what} was given; name one"))),
            _ => Ok(()),
        };
        given(axis.replaces_placements(), self.placements.len(), "placement")?;
        given(axis.replaces_loads(), self.loads.len(), "load")?;
        given(false, self.methods.len(), "method")?;
        if self.repeats == 0 || self.duration.is_zero() {
            return Err(contradiction("0 repeats, or trials of 0 s, measure nothing; give at least 1"));
        }
        for (position, load) in self.loads.iter().enumerate() {
            if self.loads[..position].contains(load) {
                return Err(contradiction(format!("load {load} was named twice; name it once")));
            }
        }
        if let Probe::BackToBack(test) = self.probe {
            for load in self.all_loads() {
                let Load::Rate(rate) = load else {
                    return Err(contradiction(
                        "a burst needs a rate to be sent at; give one in place of maximum load",
                    ));
                };
                test.check(rate)?;
            }
        }
        Ok(())
    }

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

    /// The load of every point in every scene.
    fn all_loads(&self) -> impl Iterator<Item = Load> {
        let points = self.axis.points().iter();
        let of_point = |point: &Point| {
            let scenes = self.scenes().into_iter();
            scenes.map(|(_, load)| point.apply(&self.base, load).1).collect::<Vec<_>>()
        };
        points.flat_map(of_point)
    }

    pub(super) fn rates(&self) -> impl Iterator<Item = Pps> {
        self.all_loads().filter_map(|load| match load {
            Load::Rate(rate) => Some(rate),
            _ => None,
        })
    }
}

/// The rate of an application without work, as shares of the highest load. At the last one nothing is lost without work.
const SHARES: [f64; 6] = [0.05, 0.2, 0.5, 0.8, 0.95, 2.0];
/// Maximum number of points that the estimate tries, spread over the axis.
const POINTS: usize = 32;
/// A card whose moderation is swept; its cost is small compared with the trials.
const CARD: Interrupts = Interrupts {
    cost: Duration::from_micros(1),
    usual: Duration::from_micros(50),
    descriptors: 4096,
    aim: 64.0,
    at_most: Duration::from_micros(250),
};

impl SweepPlan {
    /// The cost on paths without noise, for several applications and buffers. Fails for a plan that contradicts itself.
    pub fn estimate(&self) -> Result<Spread> {
        self.check()?;
        let Some(method) = self.methods.first() else { return Ok(Spread::default()) };
        let points = self.axis.points();
        let every = points.len().div_ceil(POINTS).max(1);
        let part = Self {
            axis: Axis::new(points.iter().step_by(every).cloned().collect())?,
            methods: vec![method.clone()],
            placements: self.placements.first().copied().into_iter().collect(),
            repeats: 1,
            refinement: self.refinement.div_ceil(every),
            left_out: Vec::new(),
            ..self.clone()
        };
        let times = (every * self.methods_had()).saturating_mul(self.repeats as usize);
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        let rooms = || SLOTS.into_iter().map(Room::Slots).chain([Room::None]);
        let paths = SHARES.into_iter().flat_map(|share| rooms().map(move |room| (share, room)));
        let costs: Result<Vec<Cost>> =
            paths.map(|(share, room)| Ok(part.rehearsed(share, room)?.times(times))).collect();
        Ok(Spread::from_costs(costs?, self.base.quiet))
    }

    fn rehearsed(&self, share: f64, room: Room) -> Result<Cost> {
        let supposed =
            if self.all_loads().any(|load| load == Load::Maximum) { SUPPOSED_MAXIMUM } else { 0.0 };
        let most = self.rates().map(Pps::get).fold(supposed, f64::max);
        let methods: Vec<SimulatedMethod> = self
            .methods
            .iter()
            .map(|method| method_of_series(self.axis.kind(), method))
            .map(|method| SimulatedMethod::new(&method.to_string(), most * share).room(room))
            .collect();
        let path = SimulatedLaboratory::new(most, methods);
        let moderates = |point: &Point| point.apply(&self.base, Load::Maximum).0.moderation.is_some();
        let path = if self.axis.points().iter().any(moderates) { path.interrupts(CARD) } else { path };
        let mut rehearsal = Rehearsal::on(path);
        self.run(&mut rehearsal, &mut ())?;
        Ok(rehearsal.cost())
    }
}
