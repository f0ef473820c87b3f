//! The cost of a suite, before it starts: its tests run on paths with computed losses, where no time passes.

use std::num::NonZeroU32;

use capbench_frames::rates::Pps;

use super::suite::{Extent, Rates, Suite, Test, Throughput};
use crate::cost::{Cost, SLOTS, Spread};
use crate::rehearsal::Rehearsal;
use crate::search::plan::{cost, supposed_maximum};
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use crate::{PlanError, Result};
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;

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
    /// If the maximum rate is sustained: then no test that overloads is run. Absent if the user gave the throughput.
    pub at_maximum: Option<Cost>,
}

impl Suite {
    /// The cost with this set-up. Fails for goals that need too many trials.
    pub fn estimate(&self, setup: &Setup) -> Result<Estimate> {
        let (maximum, capacities, searching) = match &self.throughput {
            Throughput::Given { throughput, maximum } => (*maximum, vec![*throughput], None),
            Throughput::Search(plan) => {
                let maximum = supposed_maximum(plan)?;
                let capacities: Vec<Pps> = SHARES
                    .into_iter()
                    .map(|share| Pps::new(maximum.get() * share))
                    .collect::<std::result::Result<_, _>>()?;
                let costs: Result<Vec<_>> =
                    capacities.iter().map(|capacity| cost(plan, maximum, *capacity)).collect();
                (maximum, capacities, Some((plan, costs?)))
            }
        };
        let searched = searching.as_ref().map(|(_, costs)| Spread::from_costs(costs.clone(), setup.quiet));
        let mut of_tests = vec![Vec::new(); self.tests.len()];
        let mut all = Vec::new();
        for (position, capacity) in capacities.iter().enumerate() {
            let search = searching.as_ref().and_then(|(_, costs)| costs.get(position).copied());
            for room in self.extent.rooms(setup, *capacity, maximum) {
                let mut whole = search.unwrap_or_default();
                for (test, costs) in self.tests.iter().zip(&mut of_tests) {
                    let cost = test.rehearse(&self.extent, setup, *capacity, maximum, room)?;
                    costs.push(cost);
                    whole = whole.and(cost);
                }
                all.push(whole);
            }
        }
        let at_maximum = match &searching {
            None => None,
            Some((plan, _)) => {
                let mut whole = cost(plan, maximum, maximum)?;
                for test in self.tests.iter().filter(|test| !test.overloads()) {
                    whole = whole.and(test.rehearse(&self.extent, setup, maximum, maximum, LITTLE)?);
                }
                Some(whole)
            }
        };
        let spreads = of_tests.into_iter().map(|costs| Spread::from_costs(costs, setup.quiet));
        Ok(Estimate {
            throughput: searched,
            tests: self.tests.iter().copied().zip(spreads).collect(),
            all: Spread::from_costs(all, setup.quiet),
            at_maximum,
        })
    }
}

impl Extent {
    /// Buffer sizes: the ring's, a minimal one, and if possible one that is full shortly before the longest burst ends.
    fn rooms(&self, setup: &Setup, capacity: Pps, maximum: Pps) -> impl Iterator<Item = Room> {
        let filling = (maximum.get() - capacity.get()).max(0.0) * self.longest_burst.as_secs_f64() * LONG;
        let most = SLOTS.map(|slot| Room::Slots(slot).frames(&setup.capture)).into_iter().max();
        let long = Room::Frames((filling as u64).min(most.unwrap_or(0)));
        SLOTS.into_iter().map(Room::Slots).chain([LITTLE, long])
    }
}

impl Test {
    /// The cost on a path with this capacity and this buffer; `None` if the test is meaningless there.
    fn rehearse(
        self,
        extent: &Extent,
        setup: &Setup,
        capacity: Pps,
        maximum: Pps,
        room: Room,
    ) -> Result<Cost> {
        let method = SimulatedMethod::new(&setup.method.to_string(), capacity.get()).room(room);
        let path = SimulatedLaboratory::new(maximum.get(), vec![method]);
        let mut rehearsal = Rehearsal::on(path);
        // Searches for bursts are alike on a path without noise.
        let once = Extent { bursts: NonZeroU32::MIN, ..*extent };
        let rates = Rates::given(capacity, maximum);
        match self.run(&once, &rates, setup, &mut rehearsal, &mut ()) {
            Ok(_) | Err(PlanError::Trial(TrialError::Unsupported { .. })) => {}
            Err(error) => return Err(error),
        }
        let times = if self == Self::BackToBack { extent.bursts.get() } else { 1 };
        Ok(rehearsal.cost().times(times))
    }
}
