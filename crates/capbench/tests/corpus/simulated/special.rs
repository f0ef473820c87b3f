//! Plans that need a simulated host of their own.

use std::time::Duration;

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_judge::recommendation::recommend;
use capbench_judge::search::{End, SearchPlan, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{
    Collected, INTERRUPTS, at, bench_plan, dain, publication_methods, sweep_plan,
};
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, BackToBackTest, MemberCount, Point, Probe, RingSize, SweepPlan};
use capbench_reproduce::{Conditions, PUBLICATIONS, Scale};
use capbench_statistics::scalability::Law;

use super::Definition;
use super::hosts::Host;
use super::plans::{concluded, of_soak, swept};
use crate::imports::Results;

pub fn all() -> Vec<Definition> {
    let mut all = Vec::new();
    all.extend(members());
    all.extend(rings());
    all.extend(placements_and_interrupts());
    all.extend(regimes());
    all.extend(goals());
    all.extend(stopped());
    all.extend(soaks());
    all.extend(publications());
    all
}

fn noise(per_trial: f64, per_second: f64) -> Noise {
    Noise { per_trial, per_second }
}

/// Sweeps of members on paths with a known limit.
fn members() -> Vec<Definition> {
    const METHOD: &str = "packet-v3+fanout=lb";
    let free = Law { lambda: 1e6, sigma: 0.01, kappa: 0.0 };
    let contended = Law { lambda: 1e6, sigma: 0.3, kappa: 0.0005 };
    let coherent = Law { lambda: 1e6, sigma: 0.02, kappa: 0.02 };
    // Name, law, generator, backlog, kernel's time per frame, flows, most members, load.
    let cases = [
        ("generator", free, 4.5e6, f64::INFINITY, 100, None, 7, Load::Maximum),
        ("kernel", free, 1e7, 4e6, 250, None, 7, Load::Maximum),
        ("uneven", free, 1e7, f64::INFINITY, 50, Some(3), 5, Load::Maximum),
        ("contention", contended, 1e8, f64::INFINITY, 5, None, 10, Load::Maximum),
        ("coherence", coherent, 1e8, f64::INFINITY, 5, None, 10, Load::Maximum),
        ("needed-2", free, 1e8, f64::INFINITY, 5, None, 4, at(2.5e6)),
        ("needed-7", free, 1e8, f64::INFINITY, 5, None, 4, at(7.5e6)),
        ("needed-many", coherent, 1e8, f64::INFINITY, 5, None, 8, at(7.5e6)),
    ];
    let mut definitions = Vec::new();
    for (name, law, generator, backlog, kernel_ns, flows, most, load) in cases {
        for seed in [0, 5] {
            definitions.push(Definition::new(format!("sweep-members-{name}-{seed}"), move || {
                let method = if flows.is_some() { "packet-v3" } else { METHOD };
                let methods = vec![SimulatedMethod::with_scaling(method, law).cost(0, kernel_ns)];
                let path = SimulatedLaboratory::new(generator, methods).backlog(backlog);
                let mut path = if seed > 0 { path.noise(seed, noise(0.02, 0.0)) } else { path };
                let count = |count: u16| Point::Members(MemberCount(count.try_into().unwrap()));
                let layout = match flows {
                    Some(flows) => {
                        FrameLayout { flows: Flows::new(flows).unwrap(), ..FrameLayout::default() }
                    }
                    None => FrameLayout::default(),
                };
                let plan = SweepPlan {
                    methods: vec![format!("{method}+members=1").parse().unwrap()],
                    base: Setup { layout, ..setup(64) },
                    loads: vec![load],
                    repeats: 2,
                    ..sweep_plan(Axis::new((1..=most).map(count).collect()).unwrap(), &[])
                };
                swept(&["sweep", "members"], &plan, &mut path)
            }));
        }
    }
    definitions.push(Definition::new("bench-members".into(), move || {
        let methods = vec![
            SimulatedMethod::with_scaling("packet-v3+fanout=lb", free).cost(60, 100),
            SimulatedMethod::new("recv", 900_000.0).cost(500, 800),
        ];
        let names = ["packet-v3+fanout=lb+members=4", "recv"].map(|name| name.parse().unwrap());
        let plan = BenchPlan { methods: names.to_vec(), visits: 2, ..bench_plan(&[]) };
        let mut path = crate::runs::guarded(SimulatedLaboratory::new(5e6, methods));
        let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
        let mut run = crate::runs::results(&["bench", "--members", "4"], outcome.trials);
        run.recommended = recommend(&run.trials, &run.searches);
        concluded(run)
    }));
    definitions
}

/// Sweeps of rings: rates, and bursts.
fn rings() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (name, seed, deviation) in [("quiet", 1, 0.0), ("noisy", 2, 0.05)] {
        for bursts in [false, true] {
            let kind = if bursts { "bursts" } else { "rates" };
            definitions.push(Definition::new(format!("sweep-ring-{kind}-{name}-{seed}"), move || {
                let methods = vec![
                    SimulatedMethod::new("packet-v2", 700_000.0)
                        .room(Room::Slots(ByteCount(2048)))
                        .cost(90, 700),
                    SimulatedMethod::new("packet-v3", 900_000.0)
                        .room(Room::Slots(ByteCount(128)))
                        .room_at_most(60_000)
                        .cost(60, 650),
                ];
                let path =
                    SimulatedLaboratory::new(1e6, methods).noise(seed, noise(deviation, deviation / 2.0));
                let ring = |ring| Point::Ring(RingSize { ring: ByteCount(ring), block: ByteCount(1 << 16) });
                let rings = [1 << 16, 1 << 20, 1 << 23].map(ring).to_vec();
                let plan = sweep_plan(Axis::new(rings).unwrap(), &["packet-v2", "packet-v3"]);
                let probe = if bursts { Probe::BackToBack(BackToBackTest::default()) } else { Probe::Trial };
                let plan = SweepPlan { probe, loads: vec![at(950_000.0)], repeats: 2, seed, ..plan };
                swept(&["sweep", "ring"], &plan, &mut crate::runs::guarded(path))
            }));
        }
    }
    definitions
}

fn placements_and_interrupts() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for host in [Host::Quiet, Host::Shared, Host::Noisy, Host::Disturbed] {
        definitions.push(Definition::new(format!("sweep-placement-{}", host.name()), move || {
            let places = ["same", "other"].map(|name| Point::Placement(name.parse().unwrap())).to_vec();
            let plan = sweep_plan(Axis::new(places).unwrap(), &["recv", "packet-v2", "packet-v3"]);
            let plan = SweepPlan { loads: vec![at(300_000.0), Load::Maximum], repeats: 3, ..plan };
            swept(&["sweep", "placement"], &plan, &mut host.path(4))
        }));
    }
    for (name, deviation) in [("quiet", 0.0), ("noisy", 0.03)] {
        definitions.push(Definition::new(format!("sweep-coalesce-{name}"), move || {
            let points = ["0us", "50us", "adaptive", "200us", "1000us"];
            let points = points.map(|text| Point::Coalesce(text.parse().unwrap())).to_vec();
            let plan = sweep_plan(Axis::new(points).unwrap(), &["packet-v2", "packet-v3"]);
            let plan = SweepPlan { repeats: 3, loads: vec![at(90_000.0), at(400_000.0)], ..plan };
            let methods = capbench_plan::for_tests::methods();
            let laboratory = SimulatedLaboratory::new(1e6, methods).interrupts(INTERRUPTS);
            swept(&["sweep", "coalesce"], &plan, &mut laboratory.noise(8, noise(deviation, 0.0)))
        }));
    }
    definitions
}

/// Costs in two regimes, as Dain measured them.
fn regimes() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (name, rate, deviation) in
        [("45k", 45_000.0, 0.0), ("167k", 167_000.0, 0.0), ("noisy", 45_000.0, 0.03)]
    {
        definitions.push(Definition::new(format!("sweep-regimes-{name}"), move || {
            let methods = vec![
                SimulatedMethod::with_regimes("libpcap", dain()),
                SimulatedMethod::new("packet-v2", 250_000.0).cost(3000, 900),
            ];
            let works =
                (0..8).map(|nth| Point::Work(format!("ns:{}", nth * 4000).parse().unwrap())).collect();
            let plan = sweep_plan(Axis::new(works).unwrap(), &["libpcap", "packet-v2"]);
            let plan = SweepPlan { loads: vec![at(rate)], repeats: 3, refinement: 3, ..plan };
            let mut path = SimulatedLaboratory::new(200_000.0, methods).noise(3, noise(deviation, 0.0));
            swept(&["sweep", "work"], &plan, &mut path)
        }));
    }
    definitions
}

/// A search for each kind of goal, and with each limit.
fn goals() -> Vec<Definition> {
    let goals = [
        "ndr,pdr",
        "rfc2544",
        "strict-capture",
        "trex-like",
        "nfvbench-ndr",
        "nfvbench-pdr",
        "mine:loss=0.2%,exceed=0.4,width=3%,duration=2s,sum=9s,strategy=mlr",
        "mine:loss=0,exceed=0.3,width=2%,duration=2s,sum=6s,strategy=binary",
    ];
    let mut definitions = Vec::new();
    for (nth, goal) in goals.into_iter().enumerate() {
        // A goal of short trials makes many on a bursty host.
        let hosts = if nth == 0 { &[Host::Quiet][..] } else { &[Host::Quiet, Host::Bursty] };
        for &host in hosts {
            definitions.push(Definition::new(format!("search-goal-{nth}-{}", host.name()), move || {
                of_search(host, 9, SearchPlan::new(parse(goal).unwrap()), None)
            }));
        }
    }
    for host in [Host::Noisy, Host::Disturbed] {
        definitions.push(Definition::new(format!("search-limits-{}", host.name()), move || {
            let plan = SearchPlan::new(parse("quick").unwrap());
            let maximum_pps = Some(capbench_plan::for_tests::pps(600_000.0));
            let traffic_allowed = Some(Duration::from_secs(40));
            let least_pps = capbench_plan::for_tests::pps(100_000.0);
            of_search(
                host,
                2,
                SearchPlan { maximum_pps, traffic_allowed, least_pps, burst_frames: 8, ..plan },
                None,
            )
        }));
        definitions.push(Definition::new(format!("search-stopped-{}", host.name()), move || {
            of_search(host, 6, SearchPlan::new(parse("ndr").unwrap()), Some(9))
        }));
    }
    definitions
}

fn of_search(host: Host, seed: u64, plan: SearchPlan, stop_after: Option<usize>) -> Results {
    use capbench_model::laboratory::Laboratory;
    let method = capbench_model::method_spec::MethodSpec::plain("recv");
    let mut path = host.path(seed);
    let mut trial = path.prepare(&Setup { method, ..setup(64) }).unwrap();
    let mut collected = Collected { stop_after, ..Collected::default() };
    let outcome =
        search::run(&plan, "recv", trial.as_mut(), Stored::default(), &mut collected).unwrap().outcome;
    let mut run = crate::runs::results(&["search"], collected.trials);
    run.complete = outcome.ended == End::Complete;
    run.searches = vec![outcome];
    concluded(run)
}

/// Benches and sweeps that the user stopped.
fn stopped() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for trials in [1, 4, 9] {
        definitions.push(Definition::new(format!("bench-stopped-{trials}"), move || {
            let plan = capbench_plan::for_tests::searching_bench_plan(&["recv", "packet-v2", "packet-v3"]);
            let mut collected = Collected::stopping_after(trials);
            let outcome = plan.run(&mut Host::Noisy.path(7), &mut collected).unwrap();
            let mut run = crate::runs::results(&["bench"], outcome.trials);
            run.complete = false;
            run.searches = outcome.searches;
            run.recommended = recommend(&run.trials, &run.searches);
            concluded(run)
        }));
        definitions.push(Definition::new(format!("sweep-stopped-{trials}"), move || {
            let loads = (1..=4).map(|nth| Point::Load(at(f64::from(nth) * 200_000.0))).collect();
            let plan = sweep_plan(Axis::new(loads).unwrap(), &["recv", "packet-v3"]);
            let mut collected = Collected::stopping_after(trials);
            let swept = plan.run(&mut Host::Quiet.path(7), &mut collected).unwrap();
            let mut run = crate::runs::results(&["sweep", "load"], swept.trials);
            run.complete = false;
            run.sweeps = vec![swept.outcome];
            concluded(run)
        }));
    }
    definitions
}

fn soaks() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (name, method, rate) in [
        ("clean", "packet-v3", 300_000.0),
        ("lossy", "packet-v2", 930_000.0),
        ("unsent", "packet-v3", 1_200_000.0),
    ] {
        definitions.push(Definition::new(format!("soak-{name}"), move || {
            let path = SimulatedLaboratory::new(1e6, capbench_plan::for_tests::methods());
            let mut path = path.bursts(5, LossBursts { per_second: 0.02, frames: 90 }).showing_moments();
            of_soak(&mut path, method, rate)
        }));
    }
    definitions
}

/// Publications run again.
fn publications() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for publication in PUBLICATIONS.iter() {
        for (visits, deviation) in [(1, 0.0), (3, 0.05)] {
            let name = format!("reproduce-{}-{visits}", publication.key);
            definitions.push(Definition::new(name, move || {
                let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
                let conditions = Conditions { base, scale: Scale::new(0.001).unwrap(), visits, seed: 7 };
                let path = SimulatedLaboratory::new(1_500_000.0, publication_methods());
                let mut path = path.noise(11, noise(deviation, 0.0));
                let mut collected = capbench_plan::for_tests::Collected::expecting_skips();
                publication.run(&conditions, &mut path, &mut collected).unwrap();
                collected.swept.retain(|sweep| !sweep.stopped);
                let mut run = crate::runs::results(&["reproduce", &publication.key], collected.trials);
                run.reproductions.extend(collected.reproduced.pop());
                run.sweeps = collected.swept;
                run.searches = collected.searches;
                run.not_measured = collected.not_measured;
                concluded(run)
            }));
        }
    }
    definitions
}
