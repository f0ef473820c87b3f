//! Small plans on hosts whose figures are drawn at random, so that some are close to each threshold of a decision.

use std::num::NonZeroU32;
use std::time::Duration;

use capbench_judge::search::{End, SearchPlan, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::method_spec::MethodSpec;
use capbench_model::trial::Load;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, at, bench_plan, pps, searching_bench_plan, specs, sweep_plan};
use capbench_plan::guards::Guarded;
use capbench_plan::rfc2544::{Extent, Suite, Test, Throughput};
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{
    ForeignWork, LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod, TwoRegimes,
};
use capbench_plan::sweep::{Axis, MemberCount, Point, SweepPlan};
use capbench_statistics::scalability::Law;

use super::Definition;
use super::plans::{concluded, of_bench, of_soak, swept};
use crate::imports::{Results, sentences};

const METHODS: [&str; 3] = ["recv", "packet-v2", "packet-v3"];

type Make = fn(&mut Draws) -> Results;

/// The plans, and how many of each.
const PLANS: [(&str, u64, Make); 9] = [
    ("bench-searching", 16, searching_bench),
    ("bench", 16, bench),
    ("search", 14, search_quickly),
    ("sweep-load", 14, sweep_of_loads),
    ("sweep-work", 10, sweep_of_work),
    ("sweep-members", 10, sweep_of_members),
    ("rfc2544", 10, rfc2544),
    ("soak-unsent", 12, soak_unsent),
    ("soak-buffered", 12, soak_buffered),
];

pub fn all() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (plan, (name, count, make)) in PLANS.into_iter().enumerate() {
        for nth in 1..=count {
            let seed = plan as u64 * 1000 + nth;
            definitions.push(Definition::new(format!("drawn-{name}-{nth}"), move || make(&mut Draws(seed))));
        }
    }
    definitions
}

/// Numbers by SplitMix64.
struct Draws(u64);

impl Draws {
    /// A number from one to another.
    fn number(&mut self, from: f64, to: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        from + (to - from) * share
    }

    /// A number with equal chances for each ratio.
    fn ratio(&mut self, from: f64, to: f64) -> f64 {
        self.number(from.ln(), to.ln()).exp()
    }

    fn seed(&mut self) -> u64 {
        self.number(1.0, 1e9) as u64
    }

    /// Three methods whose capacities differ by up to a third.
    fn methods(&mut self) -> Vec<SimulatedMethod> {
        let mut methods = Vec::new();
        for name in METHODS {
            let capacity = self.number(600_000.0, 800_000.0);
            let (application_ns, kernel_ns) = (self.ratio(50.0, 400.0), self.ratio(300.0, 900.0));
            methods.push(
                SimulatedMethod::new(name, capacity)
                    .cost(application_ns as u64, kernel_ns as u64)
                    .livelock(self.number(0.0, 0.4))
                    .room(Room::Frames(self.ratio(10.0, 30_000.0) as u64)),
            );
        }
        methods
    }

    /// A host with these methods, and noise, bursts and other work to some degree.
    fn host(&mut self, methods: Vec<SimulatedMethod>) -> Guarded<SimulatedLaboratory> {
        let seed = self.seed();
        let noise = Noise { per_trial: self.ratio(0.001, 0.08), per_second: self.ratio(0.001, 0.05) };
        let foreign =
            ForeignWork { per_trial: self.number(-0.3, 0.5).max(0.0), share: self.ratio(0.01, 0.3) };
        let bursts =
            LossBursts { per_second: self.number(-0.2, 0.2).max(0.0), frames: self.ratio(1.0, 900.0) as u64 };
        let mut path = SimulatedLaboratory::new(self.ratio(650_000.0, 1_500_000.0), methods)
            .noise(seed, noise)
            .foreign_work(seed, foreign)
            .showing_moments();
        if bursts.per_second > 0.0 {
            path = path.bursts(seed, bursts);
        }
        if self.number(0.0, 1.0) < 0.3 {
            path = path.backlog(self.number(600_000.0, 900_000.0));
        }
        crate::runs::guarded(path)
    }
}

fn searching_bench(draws: &mut Draws) -> Results {
    let methods = draws.methods();
    let plan = BenchPlan { seed: draws.seed(), ..searching_bench_plan(&METHODS) };
    of_bench(&["bench"], &plan, &mut draws.host(methods))
}

fn bench(draws: &mut Draws) -> Results {
    let methods = draws.methods();
    let visits = draws.number(1.0, 5.0) as u32;
    let rate = draws.number(300_000.0, 900_000.0);
    let rate = (draws.number(0.0, 1.0) < 0.5).then(|| pps(rate));
    let plan = BenchPlan { seed: draws.seed(), visits, rate, ..bench_plan(&METHODS) };
    of_bench(&["bench"], &plan, &mut draws.host(methods))
}

fn search_quickly(draws: &mut Draws) -> Results {
    let methods = draws.methods();
    let mut path = draws.host(methods);
    let mut trial = path.prepare(&Setup { method: MethodSpec::plain(METHODS[1]), ..setup(64) }).unwrap();
    let goal = "mine:loss=0.1%,exceed=0.3,width=2%,duration=1s,sum=4s";
    let plan = SearchPlan::new(parse(goal).unwrap());
    let mut collected = Collected::default();
    let outcome =
        search::run(&plan, "a search", trial.as_mut(), Stored::default(), &mut collected).unwrap().outcome;
    let mut run = crate::runs::results(&["search"], collected.trials);
    run.complete = outcome.ended == End::Complete;
    run.searches = vec![outcome];
    concluded(run)
}

fn sweep_of_loads(draws: &mut Draws) -> Results {
    let methods = draws.methods();
    let step = draws.number(120_000.0, 220_000.0);
    let loads = (1..=5).map(|nth| Point::Load(at(f64::from(nth) * step))).collect();
    let plan = sweep_plan(Axis::new(loads).unwrap(), &METHODS[1..]);
    let plan = SweepPlan { seed: draws.seed(), repeats: 2, refinement: 3, ..plan };
    swept(&["sweep", "load"], &plan, &mut draws.host(methods))
}

/// Methods with two regimes of cost, which are more or less apart.
fn sweep_of_work(draws: &mut Draws) -> Results {
    let mut methods = Vec::new();
    for name in &METHODS[..2] {
        let nanoseconds = |ns: f64| Duration::from_nanos(ns as u64);
        let busy = draws.number(2_000.0, 6_000.0);
        let asleep_until = draws.number(1_000.0, 9_000.0);
        let regimes = TwoRegimes {
            asleep: nanoseconds(busy * draws.ratio(1.05, 4.0)),
            busy: nanoseconds(busy),
            asleep_until: nanoseconds(asleep_until),
            busy_from: nanoseconds(asleep_until + draws.number(500.0, 8_000.0)),
            batch: draws.ratio(2.0, 40.0),
        };
        methods.push(SimulatedMethod::with_regimes(name, regimes));
    }
    let works = (0..7).map(|nth| Point::Work(format!("ns:{}", nth * 3500).parse().unwrap())).collect();
    let plan = sweep_plan(Axis::new(works).unwrap(), &METHODS[..2]);
    let loads = vec![at(draws.number(40_000.0, 200_000.0))];
    let plan = SweepPlan { seed: draws.seed(), loads, repeats: 2, refinement: 2, ..plan };
    let noise = Noise { per_trial: draws.ratio(0.001, 0.02), per_second: 0.0 };
    swept(
        &["sweep", "work"],
        &plan,
        &mut SimulatedLaboratory::new(250_000.0, methods).noise(draws.seed(), noise),
    )
}

fn sweep_of_members(draws: &mut Draws) -> Results {
    let law = Law { lambda: 1e6, sigma: draws.ratio(0.005, 0.5), kappa: draws.ratio(0.0001, 0.05) };
    let method =
        SimulatedMethod::with_scaling("packet-v3+fanout=lb", law).cost(0, draws.ratio(5.0, 250.0) as u64);
    let noise = Noise { per_trial: draws.ratio(0.0001, 0.05), per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(draws.ratio(3e6, 3e7), vec![method])
        .backlog(draws.ratio(3e6, 3e7))
        .noise(draws.seed(), noise);
    let load = if draws.number(0.0, 1.0) < 0.5 { Load::Maximum } else { at(draws.number(2e6, 6e6)) };
    let points = (1..=6).map(|count: u16| Point::Members(MemberCount(count.try_into().unwrap()))).collect();
    let plan = SweepPlan {
        methods: vec!["packet-v3+fanout=lb+members=1".parse().unwrap()],
        loads: vec![load],
        repeats: 2,
        ..sweep_plan(Axis::new(points).unwrap(), &[])
    };
    swept(&["sweep", "members"], &plan, &mut path)
}

/// Tests at a stated throughput that is more or less right.
fn rfc2544(draws: &mut Draws) -> Results {
    let methods = draws.methods();
    let throughput = pps(draws.number(400_000.0, 700_000.0));
    let suite = Suite {
        tests: vec![Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent: Extent { bursts: NonZeroU32::MIN, recovery: 2, ..Extent::quick() },
        throughput: Throughput::Given {
            throughput,
            maximum: pps(throughput.get() * draws.number(1.02, 1.3)),
        },
    };
    let mut collected = Collected::expecting_skips();
    let method = specs(&METHODS[2..]).remove(0);
    suite.run(&Setup { method, ..setup(64) }, &mut draws.host(methods), &mut collected).unwrap();
    let mut run = crate::runs::results(&["rfc2544", "--quick"], collected.trials);
    run.rfc2544 = collected.tested;
    run.not_measured = sentences::not_measured(&collected.untested);
    concluded(run)
}

/// A generator that leaves out a small share of the frames.
fn soak_unsent(draws: &mut Draws) -> Results {
    let rate = draws.number(100_000.0, 300_000.0);
    let unsent = draws.ratio(2e-4, 5e-3);
    let methods = vec![SimulatedMethod::new("packet-v3", 900_000.0)];
    of_soak(&mut SimulatedLaboratory::new(rate * (1.0 - unsent), methods), "packet-v3", rate)
}

/// A method that is a little too slow, with a buffer that absorbs most of the excess of a segment.
fn soak_buffered(draws: &mut Draws) -> Results {
    let rate = draws.number(100_000.0, 300_000.0);
    let excess = draws.ratio(2e-4, 5e-3);
    let room = (rate * 10.0 * excess * draws.ratio(0.5, 3.0)) as u64;
    let methods = vec![SimulatedMethod::new("packet-v3", rate * (1.0 - excess)).room(Room::Frames(room))];
    of_soak(&mut SimulatedLaboratory::new(1e6, methods).showing_moments(), "packet-v3", rate)
}
