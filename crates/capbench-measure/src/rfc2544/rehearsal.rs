//! What a suite will take, before it starts: its tests, run on paths whose losses are worked out and on which no time passes.

use std::num::NonZeroU32;

use capbench_capture::ByteCount;
use capbench_frames::rates::Pps;

use super::suite::{Extent, Rates, Suite, Test, Throughput};
use crate::cost::{Cost, Spread};
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::rehearsal::Rehearsal;
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};

/// What a frame takes in a ring: of methods with fixed slots, and at least.
const SLOTS: [ByteCount; 2] = [ByteCount(2048), ByteCount(128)];
/// A buffer that hardly is one.
const LITTLE: Room = Room::Frames(16);
/// Throughputs that are tried, as shares of the maximum rate. The nearer they are to it, the longer are bursts.
const SHARES: [f64; 10] = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99];
/// Of the longest burst that is tried, what one lasts that makes the search for it long.
const LONG: f64 = 0.9;

/// What a suite costs on paths without noise. With noise it takes more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The search for the throughput; absent where that is given.
    pub throughput: Option<Spread>,
    /// Each test, by how high the throughput is and what buffers hold.
    pub tests: Vec<(Test, Spread)>,
    /// All of it.
    pub all: Spread,
    /// Where the maximum rate is held: then no test that overloads is run. Absent where the throughput is given.
    pub at_maximum: Option<Cost>,
}

impl Suite {
    /// What it will cost with this set-up.
    ///
    /// # Errors
    /// Goals that need too many trials.
    pub fn estimate(&self, setup: &Setup) -> Result<Estimate> {
        let (maximum, capacities, searching) = match &self.throughput {
            Throughput::Given { throughput, maximum } => (*maximum, vec![*throughput], None),
            Throughput::Search(plan) => {
                let maximum = plan.supposed_maximum()?;
                let capacities: Vec<Pps> = SHARES
                    .into_iter()
                    .map(|share| Pps::new(maximum.get() * share))
                    .collect::<std::result::Result<_, _>>()?;
                let costs: Result<Vec<_>> =
                    capacities.iter().map(|capacity| plan.cost(maximum, *capacity)).collect();
                (maximum, capacities, Some((plan, costs?)))
            }
        };
        let searched = searching.as_ref().map(|(_, costs)| Spread::of(costs.clone(), setup.quiet));
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
                let mut whole = plan.cost(maximum, maximum)?;
                for test in self.tests.iter().filter(|test| !test.overloads()) {
                    whole = whole.and(test.rehearse(&self.extent, setup, maximum, maximum, LITTLE)?);
                }
                Some(whole)
            }
        };
        let spreads = of_tests.into_iter().map(|costs| Spread::of(costs, setup.quiet));
        Ok(Estimate {
            throughput: searched,
            tests: self.tests.iter().copied().zip(spreads).collect(),
            all: Spread::of(all, setup.quiet),
            at_maximum,
        })
    }
}

impl Extent {
    /// Buffers: such as the ring can have, hardly any, and where the ring can be as large as that, one that is full shortly
    /// before the longest burst ends.
    fn rooms(&self, setup: &Setup, capacity: Pps, maximum: Pps) -> impl Iterator<Item = Room> {
        let filling = (maximum.get() - capacity.get()).max(0.0) * self.longest_burst.as_secs_f64() * LONG;
        let most = SLOTS.map(|slot| Room::Slots(slot).frames(&setup.capture)).into_iter().max();
        let long = Room::Frames((filling as u64).min(most.unwrap_or(0)));
        SLOTS.into_iter().map(Room::Slots).chain([LITTLE, long])
    }
}

impl Test {
    /// What it costs on a path that holds so much and has this room for more; nothing where it has no meaning there.
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
            Ok(_) | Err(MeasureError::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
        let times = if self == Self::BackToBack { extent.bursts.get() } else { 1 };
        Ok(rehearsal.cost().times(times))
    }
}
