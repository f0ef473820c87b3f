//! Plans that run on every simulated host.

use std::num::NonZeroU32;
use std::time::Duration;

use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_judge::comparison::{Thresholds, of_pairs};
use capbench_judge::livelock;
use capbench_judge::recommendation::recommend;
use capbench_judge::search::{End, Goal, SearchPlan, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::method_spec::MethodSpec;
use capbench_model::statement::Statement;
use capbench_plan::bench::{BenchPlan, Pace};
use capbench_plan::for_tests::{Collected, at, bench_plan, pps, searching_bench_plan, specs, sweep_plan};
use capbench_plan::rfc2544::{Extent, Suite, Test, Throughput};
use capbench_plan::search::{self, Stored};
use capbench_plan::soak::SoakPlan;
use capbench_plan::sweep::{Axis, Point, SweepPlan};

use super::Definition;
use super::hosts::Host;
use crate::imports::{Results, sentences};

/// The methods of most runs.
const METHODS: [&str; 3] = ["recv", "packet-v2", "packet-v3"];
/// When the first run began.
const STARTED_UNIX_S: u64 = 1_700_000_000;

/// Hosts on which a plan of many trials runs.
const OF_SCENES: [Host; 4] = [Host::Quiet, Host::Disturbed, Host::Link, Host::Alike];

type Make = fn(&mut dyn Laboratory, u64) -> Results;

/// The plans, and the number of seeds of a host with which they run.
const PLANS: [(&str, u64, Make); 16] = [
    ("bench", 1, bench),
    ("bench-searching", 3, searching_bench),
    ("bench-turns", 3, bench_in_turns),
    ("bench-turns-rate", 1, bench_in_turns_at_rate),
    ("bench-scenes", 1, scenes),
    ("bench-rate", 3, bench_at_rate),
    ("bench-against", 2, bench_against),
    ("search", 2, search_of_both),
    ("search-repeated", 1, repeated_searches),
    ("search-binary", 1, binary_search),
    ("search-short", 1, short_search),
    ("sweep-load", 2, sweep_of_loads),
    ("sweep-work", 2, sweep_of_work),
    ("sweep-size", 1, sweep_of_sizes),
    ("rfc2544", 1, rfc2544),
    ("soak", 1, soak),
];

pub fn on(host: Host, seed: u64) -> Vec<Definition> {
    let mut definitions = Vec::new();
    for (name, seeds, make) in PLANS {
        let is_left_out = name == "bench-scenes" && !OF_SCENES.contains(&host);
        if !is_left_out && seed <= seeds {
            let name = format!("{name}-{}-{seed}", host.name());
            definitions.push(Definition::new(name, move || {
                let started_unix_s = STARTED_UNIX_S + seed * 86_400;
                Results { started_unix_s, ..make(&mut host.path(seed), seed) }
            }));
        }
    }
    definitions
}

/// A run with its findings, as it is saved at its end.
pub fn concluded(mut run: Results) -> Results {
    if run.soak.is_none() {
        livelock::mark(&mut run.trials);
    }
    sentences::conclude(&mut run);
    run
}

/// A bench as it is saved.
pub fn of_bench(command: &[&str], plan: &BenchPlan, path: &mut dyn Laboratory) -> Results {
    let outcome = plan.run(path, &mut Collected::expecting_skips()).unwrap();
    let mut run = crate::runs::results(command, outcome.trials);
    for left_out in outcome.left_out {
        let words = sentences::statements::words(&Statement::NotMeasured(left_out));
        run.statements.push(words.trim_start_matches("not measured: ").into());
    }
    run.searches = outcome.searches;
    run.recommended = recommend(&run.trials, &run.searches);
    run.comparisons = of_pairs(&run.trials, &outcome.pairs, Thresholds::default());
    concluded(run)
}

fn bench(path: &mut dyn Laboratory, seed: u64) -> Results {
    of_bench(&["bench"], &BenchPlan { seed, ..bench_plan(&METHODS) }, path)
}

fn searching_bench(path: &mut dyn Laboratory, seed: u64) -> Results {
    of_bench(&["bench"], &BenchPlan { seed, ..searching_bench_plan(&METHODS) }, path)
}

fn bench_in_turns(path: &mut dyn Laboratory, seed: u64) -> Results {
    let turns = Some(Pace::new(true).turns(false));
    of_bench(&["bench", "--quick"], &BenchPlan { seed, turns, ..searching_bench_plan(&METHODS) }, path)
}

fn bench_in_turns_at_rate(path: &mut dyn Laboratory, seed: u64) -> Results {
    let turns = Some(Pace::new(true).turns(true));
    let plan = BenchPlan { seed, turns, rate: Some(pps(420_000.0)), ..bench_plan(&METHODS) };
    of_bench(&["bench", "--quick", "--rate", "420k"], &plan, path)
}

fn scenes(path: &mut dyn Laboratory, seed: u64) -> Results {
    let sizes = vec![setup(64), setup(1518)];
    let placements = ["same", "other"].map(|name| name.parse().unwrap()).to_vec();
    let plan = BenchPlan { seed, sizes, placements, ..searching_bench_plan(&METHODS) };
    of_bench(&["bench", "--size", "64,1518"], &plan, path)
}

fn bench_at_rate(path: &mut dyn Laboratory, seed: u64) -> Results {
    let plan = BenchPlan { seed, visits: 4, rate: Some(pps(420_000.0)), ..bench_plan(&METHODS) };
    of_bench(&["bench", "--rate", "420k", "--visits", "4"], &plan, path)
}

fn bench_against(path: &mut dyn Laboratory, seed: u64) -> Results {
    let against = Some(MethodSpec::plain("packet-v2"));
    let plan = BenchPlan { seed, visits: 6, against, ..bench_plan(&["recv", "packet-v3"]) };
    of_bench(&["bench", "--against", "packet-v2"], &plan, path)
}

/// Searches of some methods, the methods in turns.
fn searched(
    command: &[&str],
    plan: &SearchPlan,
    methods: &[&str],
    searches: u32,
    path: &mut dyn Laboratory,
) -> Results {
    let mut trials = Vec::new();
    let mut outcomes = Vec::new();
    for nth in 1..=searches {
        for method in methods {
            let setup = Setup { method: MethodSpec::plain(method), ..setup(64) };
            let mut trial = path.prepare(&setup).unwrap();
            let mut collected = Collected::default();
            let nth = (searches > 1).then_some(nth);
            let stored = Stored::default();
            let outcome =
                search::run_nth(plan, nth, method, trial.as_mut(), stored, &mut collected).unwrap().outcome;
            trials.extend(collected.trials);
            outcomes.push(outcome);
        }
    }
    let mut run = crate::runs::results(command, trials);
    run.complete = outcomes.iter().all(|outcome| outcome.ended == End::Complete);
    run.searches = outcomes;
    concluded(run)
}

fn search_of_both(path: &mut dyn Laboratory, _: u64) -> Results {
    let plan = SearchPlan::new(parse("quick").unwrap());
    searched(&["search", "--goal", "quick"], &plan, &METHODS, 1, path)
}

fn repeated_searches(path: &mut dyn Laboratory, _: u64) -> Results {
    let plan = SearchPlan::new(parse("quick").unwrap());
    searched(&["search", "--goal", "quick", "--searches", "3"], &plan, &METHODS[1..], 3, path)
}

fn binary_search(path: &mut dyn Laboratory, _: u64) -> Results {
    let plan = SearchPlan::new(parse("tst009").unwrap());
    searched(&["search", "--goal", "tst009"], &plan, &METHODS[..2], 1, path)
}

fn short_search(path: &mut dyn Laboratory, _: u64) -> Results {
    let plan = SearchPlan::new(parse("ndr,pdr").unwrap());
    let plan = SearchPlan { time_allowed: Some(Duration::from_secs(75)), ..plan };
    searched(&["search", "--goal", "ndr,pdr", "--time", "75s"], &plan, &METHODS[..1], 1, path)
}

pub fn swept(command: &[&str], plan: &SweepPlan, path: &mut dyn Laboratory) -> Results {
    let swept = plan.run(path, &mut Collected::expecting_skips()).unwrap();
    let mut run = crate::runs::results(command, swept.trials);
    run.sweeps = vec![swept.outcome];
    concluded(run)
}

fn sweep_of_loads(path: &mut dyn Laboratory, seed: u64) -> Results {
    let loads = (1..=6).map(|nth| Point::Load(at(f64::from(nth) * 150_000.0))).collect();
    let plan = sweep_plan(Axis::new(loads).unwrap(), &METHODS);
    swept(&["sweep", "load"], &SweepPlan { seed, repeats: 2, refinement: 2, ..plan }, path)
}

fn sweep_of_work(path: &mut dyn Laboratory, seed: u64) -> Results {
    let works = ["none", "ns:500", "ns:2000", "ns:8000"].map(|model| Point::Work(model.parse().unwrap()));
    let plan = sweep_plan(Axis::new(works.to_vec()).unwrap(), &METHODS);
    let loads = vec![at(200_000.0)];
    swept(
        &["sweep", "work", "--rate", "200k"],
        &SweepPlan { seed, loads, repeats: 2, refinement: 2, ..plan },
        path,
    )
}

fn sweep_of_sizes(path: &mut dyn Laboratory, seed: u64) -> Results {
    let size = |octets| Point::Size(Sizes::Fixed(FrameSize::new(octets).unwrap()));
    let sizes = [64, 512, 1518].map(size).to_vec();
    let plan = sweep_plan(Axis::new(sizes).unwrap(), &METHODS[1..]);
    let loads = vec![at(500_000.0), capbench_model::trial::Load::Maximum];
    swept(&["sweep", "size"], &SweepPlan { seed, loads, repeats: 2, ..plan }, path)
}

fn rfc2544(path: &mut dyn Laboratory, _: u64) -> Results {
    let extent = Extent { bursts: NonZeroU32::MIN, recovery: 2, latency: 2, ..Extent::quick() };
    let goal = |goal: Goal| Goal { final_duration: extent.trial, duration_sum: extent.trial, ..goal };
    let plan = SearchPlan::new(parse("rfc2544").unwrap().into_iter().map(goal).collect());
    let suite = Suite {
        tests: vec![Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent,
        throughput: Throughput::Search(plan),
    };
    let mut collected = Collected::expecting_skips();
    for method in specs(&METHODS[1..]) {
        suite.run(&Setup { method, ..setup(64) }, path, &mut collected).unwrap();
    }
    let mut run = crate::runs::results(&["rfc2544", "--quick"], collected.trials);
    run.searches = collected.searches;
    run.rfc2544 = collected.tested;
    run.not_measured = sentences::not_measured(&collected.untested);
    concluded(run)
}

fn soak(path: &mut dyn Laboratory, _: u64) -> Results {
    of_soak(path, "recv", 380_000.0)
}

/// A soak of 95 seconds.
pub fn of_soak(path: &mut dyn Laboratory, method: &str, rate: f64) -> Results {
    let plan = SoakPlan {
        setup: Setup { method: MethodSpec::plain(method), ..setup(64) },
        rate: pps(rate),
        length: Duration::from_secs(95),
        interval: Duration::from_secs(10),
    };
    let mut record = plan.run(path, &mut Collected::default()).unwrap().record;
    // What the clock and this process would put into it.
    for interval in record.intervals.iter_mut().chain(&mut record.whole).chain(&mut record.worst) {
        interval.began_unix_s = 1.7e9 + interval.from_s;
        interval.resident_bytes = None;
    }
    let mut run = crate::runs::results(&["soak", "--for", "95s"], record.kept.clone());
    run.soak = Some(record);
    concluded(run)
}
