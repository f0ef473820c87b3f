//! The cost of a sweep, before it starts: its own plan, run on paths with computed losses.
//!
//! Points differ in cost. Work makes the application slow, so that its ring takes long to empty. Missing frames cause a wait,
//! and an overload is followed by a probe. All methods are alike there, and so are all passes, so the estimate runs one method
//! and one pass.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::units::ByteCount;

use super::axis::{Axis, AxisKind, Point};
use super::plan::SweepPlan;
use crate::Result;
use crate::cost::{Cost, Spread};
use crate::rehearsal::Rehearsal;
use crate::simulated::{Interrupts, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_model::trial::Load;

/// The rate of an application without work, as shares of the highest load. At the last one nothing is lost without work.
const SHARES: [f64; 6] = [0.05, 0.2, 0.5, 0.8, 0.95, 2.0];
/// Bytes of a frame in a ring: of methods with fixed slots, and the minimum.
const SLOTS: [ByteCount; 2] = [ByteCount(2048), ByteCount(128)];
/// The assumed maximum rate of the generator, frames per second, if the load is the maximum.
const SUPPOSED_MAXIMUM: f64 = 1e6;
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
    /// The cost on paths without noise, for several speeds of the application and buffer sizes. With noise it costs more.
    ///
    /// # Errors
    /// A plan that contradicts itself.
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
        Ok(Spread::of(costs?, self.base.quiet))
    }

    fn rehearsed(&self, share: f64, room: Room) -> Result<Cost> {
        let supposed = if self.has_maximum_load() { SUPPOSED_MAXIMUM } else { 0.0 };
        let most = self.rates().map(Pps::get).fold(supposed, f64::max);
        let methods: Vec<SimulatedMethod> = self
            .methods
            .iter()
            .map(|method| SimulatedMethod::new(&method.to_string(), most * share).room(room))
            .collect();
        let path = SimulatedLaboratory::new(most, methods);
        let path = if self.axis.kind() == AxisKind::Coalesce { path.interrupts(CARD) } else { path };
        let mut rehearsal = Rehearsal::on(path);
        self.run(&mut rehearsal, &mut ())?;
        Ok(rehearsal.cost())
    }

    fn has_maximum_load(&self) -> bool {
        let mut loads = self.scenes().into_iter().map(|(_, load)| load);
        self.axis.kind() != AxisKind::Load && loads.any(|load| load == Load::Maximum)
            || self.axis.points().contains(&Point::Load(Load::Maximum))
    }
}
