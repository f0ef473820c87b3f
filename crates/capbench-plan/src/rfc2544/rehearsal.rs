//! The cost of a suite, before it starts: its tests run on paths with computed losses, where no time passes.

use std::num::NonZeroU32;

use capbench_frames::rates::Pps;

use super::suite::{Extent, Rates, Suite, Test, Throughput};
use crate::cost::{Cost, FIXED_SLOT, SMALLEST_SLOT, Spread};
use crate::rehearsal::Rehearsal;
use crate::search::plan::{cost, supposed_maximum};
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use crate::{PlanError, Result};
use capbench_judge::search::SearchPlan;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;

/// A minimal buffer.
const LITTLE: Room = Room::Frames(16);
/// Throughputs that the estimate tries, as shares of the maximum rate. The closer they are to it, the longer are bursts.
const SHARES: [f64; 10] = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99];
/// Duration of a burst that makes its search long, as a share of the longest burst.
const LONG: f64 = 0.9;

/// The cost of a suite on paths without noise. With noise it costs more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The search for the throughput; absent if the user gave it.
    pub throughput: Option<Spread>,
    /// Each test, for several throughputs and buffer sizes.
    pub tests: Vec<(Test, Spread)>,
    /// All of it.
    pub all: Spread,
    /// All of it, if the maximum rate is sustained. Absent if the user gave the throughput.
    pub at_maximum: Option<Cost>,
}

/// The rates that the estimate tries.
struct Rehearsed<'s> {
    maximum: Pps,
    /// Throughputs.
    capacities: Vec<Pps>,
    /// The search, and its cost for each of the throughputs; absent if the user gave the throughput.
    search: Option<RehearsedSearch<'s>>,
}

struct RehearsedSearch<'s> {
    plan: &'s SearchPlan,
    costs: Vec<Cost>,
}

impl Throughput {
    fn rehearse(&self) -> Result<Rehearsed<'_>> {
        let plan = match self {
            Self::Given { throughput, maximum } => {
                return Ok(Rehearsed { maximum: *maximum, capacities: vec![*throughput], search: None });
            }
            Self::Search(plan) => plan,
        };
        let maximum = supposed_maximum(plan)?;
        let mut capacities = Vec::new();
        let mut costs = Vec::new();
        for share in SHARES {
            let capacity = Pps::new(maximum.get() * share)?;
            costs.push(cost(plan, maximum, capacity)?);
            capacities.push(capacity);
        }
        Ok(Rehearsed { maximum, capacities, search: Some(RehearsedSearch { plan, costs }) })
    }
}

impl Suite {
    /// The cost with this set-up. Fails for goals that need too many trials.
    pub fn estimate(&self, setup: &Setup) -> Result<Estimate> {
        let Rehearsed { maximum, capacities, search } = self.throughput.rehearse()?;
        let mut costs_of_tests = vec![Vec::new(); self.tests.len()];
        let mut all = Vec::new();
        for (nth, capacity) in capacities.iter().enumerate() {
            let rates = Rates::given(*capacity, maximum);
            for room in self.extent.rooms(setup, *capacity, maximum) {
                let mut whole = search.as_ref().map_or_else(Cost::default, |search| search.costs[nth]);
                for (test, costs) in self.tests.iter().zip(&mut costs_of_tests) {
                    let cost = test.rehearse(&self.extent, setup, &rates, room)?;
                    costs.push(cost);
                    whole = whole.and(cost);
                }
                all.push(whole);
            }
        }
        let at_maximum = match &search {
            Some(search) => Some(self.cost_at_maximum(setup, search.plan, maximum)?),
            None => None,
        };
        let mut tests = Vec::new();
        for (test, costs) in self.tests.iter().zip(costs_of_tests) {
            tests.push((*test, Spread::from_costs(costs, setup.quiet)));
        }
        Ok(Estimate {
            throughput: search.map(|search| Spread::from_costs(search.costs, setup.quiet)),
            tests,
            all: Spread::from_costs(all, setup.quiet),
            at_maximum,
        })
    }

    /// The cost if the maximum rate is sustained.
    fn cost_at_maximum(&self, setup: &Setup, plan: &SearchPlan, maximum: Pps) -> Result<Cost> {
        let mut whole = cost(plan, maximum, maximum)?;
        let rates = Rates::sustained_at(maximum);
        for test in &self.tests {
            whole = whole.and(test.rehearse(&self.extent, setup, &rates, LITTLE)?);
        }
        Ok(whole)
    }
}

impl Extent {
    /// Buffer sizes: the ring's, a minimal one, and if possible one that is full shortly before the longest burst ends.
    fn rooms(&self, setup: &Setup, capacity: Pps, maximum: Pps) -> Vec<Room> {
        let mut rooms = Vec::new();
        let mut most = 0;
        for slot in [FIXED_SLOT, SMALLEST_SLOT] {
            let room = Room::Slots(slot);
            most = most.max(room.frames(&setup.capture));
            rooms.push(room);
        }
        let filling = (maximum.get() - capacity.get()).max(0.0) * self.longest_burst.as_secs_f64() * LONG;
        rooms.extend([LITTLE, Room::Frames((filling as u64).min(most))]);
        rooms
    }
}

impl Test {
    /// The cost on a path with these rates and this buffer; none if the test is meaningless there.
    fn rehearse(self, extent: &Extent, setup: &Setup, rates: &Rates, room: Room) -> Result<Cost> {
        if rates.refuse(self).is_some() {
            return Ok(Cost::default());
        }
        let method = SimulatedMethod::new(&setup.method.to_string(), rates.throughput.get()).room(room);
        let path = SimulatedLaboratory::new(rates.maximum.pps.get(), vec![method]);
        let mut rehearsal = Rehearsal::on(path);
        // Searches for bursts are alike on a path without noise.
        let once = Extent { bursts: NonZeroU32::MIN, ..*extent };
        match self.run(&once, rates, setup, &mut rehearsal, &mut ()) {
            Ok(_) | Err(PlanError::Trial(TrialError::Unsupported { .. })) => {}
            Err(error) => return Err(error),
        }
        let times = if self == Self::BackToBack { extent.bursts.get() } else { 1 };
        Ok(rehearsal.cost().times(times))
    }
}
