//! The plan of a sweep: what is measured where, whether the plan contradicts itself, and what it costs. The cost is that of the
//! same sweep on simulated paths, with applications of several speeds and buffers of several sizes.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use super::axis::{Axis, Point, contradiction, method_of_series};
use super::back_to_back::BackToBackTest;
use crate::Result;
use crate::cost::{Cost, FIXED_SLOT, SMALLEST_SLOT, SUPPOSED_MAXIMUM, Spread};
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
        check_given("placement", self.placements.len(), axis.replaces_placements())?;
        check_given("load", self.loads.len(), axis.replaces_loads())?;
        check_given("method", self.methods.len(), false)?;
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

    /// In which placements, and at which loads, every point is measured.
    pub(super) fn scenes(&self) -> Vec<(PlacementChoice, Load)> {
        // The axis replaces this load.
        let loads = if self.loads.is_empty() { &[Load::Maximum][..] } else { &self.loads };
        let mut scenes = Vec::new();
        for &placement in self.placements_or_base() {
            for &load in loads {
                scenes.push((placement, load));
            }
        }
        scenes
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
        (points.len() + added) * loads * self.available_methods() * self.repeats as usize
    }

    /// Maximum number of trials; approximate for a search for bursts.
    pub fn trials(&self) -> usize {
        let per_visit = match self.probe {
            Probe::Trial => 1,
            Probe::BackToBack(test) => {
                self.rates().into_iter().map(|rate| test.trials(rate)).max().unwrap_or(1)
            }
        };
        self.visits() * per_visit
    }

    /// Number of available methods, summed over all placements.
    fn available_methods(&self) -> usize {
        let mut available = 0;
        for &placement in self.placements_or_base() {
            available += self.methods.iter().filter(|method| self.has(placement, method)).count();
        }
        available
    }

    /// The load of every point in every scene.
    fn all_loads(&self) -> Vec<Load> {
        let mut loads = Vec::new();
        for point in self.axis.points() {
            for (_, load) in self.scenes() {
                loads.push(point.apply(&self.base, load).1);
            }
        }
        loads
    }

    /// The rates among these loads.
    fn rates(&self) -> Vec<Pps> {
        let mut rates = Vec::new();
        for load in self.all_loads() {
            if let Load::Rate(rate) = load {
                rates.push(rate);
            }
        }
        rates
    }
}

/// Refuses a choice that the axis replaces, and one that is needed and missing.
fn check_given(what: &str, count: usize, is_on_axis: bool) -> Result<()> {
    match (is_on_axis, count) {
        (true, 1..) => Err(contradiction(format!("{what}s are the axis; name them there and nowhere else"))),
        (false, 0) => Err(contradiction(format!("no {what} was given; name one"))),
        _ => Ok(()),
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
        let times = (every * self.available_methods()).saturating_mul(self.repeats as usize);
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        let mut costs = Vec::new();
        for share in SHARES {
            for room in [Room::Slots(FIXED_SLOT), Room::Slots(SMALLEST_SLOT), Room::None] {
                costs.push(part.rehearsed(share, room)?.times(times));
            }
        }
        Ok(Spread::from_costs(costs, self.base.quiet))
    }

    /// The cost on a simulated path whose applications read this share of the highest load, and whose frames wait in this room.
    fn rehearsed(&self, share: f64, room: Room) -> Result<Cost> {
        let has_maximum = self.all_loads().contains(&Load::Maximum);
        let supposed_pps = if has_maximum { SUPPOSED_MAXIMUM } else { 0.0 };
        let highest_pps = self.rates().into_iter().map(Pps::get).fold(supposed_pps, f64::max);
        let mut methods = Vec::new();
        for method in &self.methods {
            let name = method_of_series(self.axis.kind(), method).to_string();
            methods.push(SimulatedMethod::new(&name, highest_pps * share).room(room));
        }
        let mut path = SimulatedLaboratory::new(highest_pps, methods);
        if self.axis.points().iter().any(|point| self.moderates(point)) {
            path = path.interrupts(CARD);
        }
        let mut rehearsal = Rehearsal::on(path);
        self.run(&mut rehearsal, &mut ())?;
        Ok(rehearsal.cost())
    }

    /// Whether a point sets the moderation of interrupts.
    fn moderates(&self, point: &Point) -> bool {
        let (setup, _) = point.apply(&self.base, Load::Maximum);
        setup.moderation.is_some()
    }
}
