//! Small runs of every kind on the simulated path, the same each time.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod compared;
pub mod reproduced;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use capbench_judge::livelock;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::reproduction::{Answer, Judgement};
use capbench_judge::search::{Goal, SearchPlan, parse};
use capbench_model::environment::Environment;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::ledger::Entry;
use capbench_model::not_measured::NotMeasured;
use capbench_model::trial::TrialResult;
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, at, bench_plan, path, pps, sweep_plan};
use capbench_plan::guards::{Guarded, Policy};
use capbench_plan::rfc2544::{Extent, Suite, Test, Throughput};
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::soak::SoakPlan;
use capbench_plan::sweep::{Axis, Point, SweepPlan};
use capbench_report::sentences;
use capbench_results::Results;

/// A host that is the same everywhere, as far as sentences name it.
fn environment() -> Environment {
    Environment {
        capbench_version: "0.1.0".into(),
        kernel_release: Some("6.1.0".into()),
        cpu_model: Some("A CPU".into()),
        cpus_online: 2,
        virtual_machine: Some(true),
        ..Environment::default()
    }
}

pub fn results(command: &[&str], trials: Vec<TrialResult>) -> Results {
    Results {
        command: ["/usr/bin/capbench"].iter().chain(command).map(ToString::to_string).collect(),
        environment: environment(),
        statements: vec!["a simulated path: no network was used".into()],
        ..capbench_results::for_tests::results(trials)
    }
}

/// The run with what follows from it, as it is saved at its end.
fn concluded(mut run: Results) -> Results {
    sentences::conclude(&mut run);
    run
}

pub fn guarded(path: SimulatedLaboratory) -> Guarded<SimulatedLaboratory> {
    Guarded::new(path, Policy::default(), Arc::default())
}

fn bench_of(names: &[&str], sizes: &[u16], placements: &[&str], visits: u32) -> Results {
    let plan = BenchPlan {
        sizes: sizes.iter().map(|size| setup(*size)).collect(),
        placements: placements.iter().map(|name| name.parse().unwrap()).collect(),
        visits,
        ..bench_plan(names)
    };
    let mut outcome = plan.run(&mut guarded(path()), &mut Collected::default()).unwrap();
    livelock::mark(&mut outcome.trials);
    concluded(results(&["bench", "--method", &names.join(",")], outcome.trials))
}

/// Three methods in one set-up.
pub fn bench() -> Results {
    let mut bench = bench_of(&["recv", "packet-v2", "packet-v3"], &[64], &["same"], 1);
    bench.not_measured.push(NotMeasured {
        method: "af-xdp".into(),
        test: None,
        placement: None,
        frame_size: None,
        reason: "needs CAP_BPF; run as root".into(),
    });
    bench
}

/// Three methods in four set-ups.
pub fn large_bench() -> Results {
    bench_of(&["recv", "packet-v2", "packet-v3"], &[64, 512], &["same", "other"], 1)
}

/// Three methods, each measured three times at each load.
pub fn visited_bench() -> Results {
    bench_of(&["recv", "packet-v2", "packet-v3"], &[64], &["same"], 3)
}

/// A publication whose claims have every answer.
pub fn reproduction() -> Results {
    let mut run = bench();
    run.command = ["/usr/bin/capbench", "reproduce", "a-paper"].map(String::from).to_vec();
    let claim = |claim: &str, answer: Answer, trials: &[u32]| Judgement {
        claim: claim.into(),
        answer,
        text: "So it was measured.".into(),
        evidence: Vec::new(),
        trials: trials.to_vec(),
        visits: None,
        chance: None,
    };
    let numbers: Vec<u32> = run.trials.iter().map(|trial| trial.number).collect();
    run.reproductions = vec![Reproduction {
        key: "a-paper".into(),
        title: "An Author: Packets".into(),
        source: "a journal, 2004".into(),
        then: "A computer of 2004.".into(),
        here: vec!["A simulated path.".into()],
        conditions: None,
        complete: true,
        tables: Vec::new(),
        findings: vec![
            claim("The ring loses less than the socket.", Answer::Holds, &numbers[..2]),
            claim("The socket loses almost everything at maximum load.", Answer::Changed, &numbers[..1]),
            claim("The ring costs less.", Answer::Holds, &numbers[1..3]),
            claim("Cards do not matter.", Answer::NotTestable, &[]),
            claim("Interrupts are the limit.", Answer::Inconclusive, &numbers[2..3]),
        ],
        trials: numbers,
    }];
    concluded(run)
}

/// One method, few trials.
pub fn small_bench() -> Results {
    bench_of(&["packet-v2"], &[64], &["same"], 1)
}

/// Two methods, one of which holds what the generator sends.
pub fn search() -> Results {
    let plan = SearchPlan::new(parse("ndr,pdr").unwrap());
    let (mut trials, mut searches) = (Vec::new(), Vec::new());
    let mut laboratory = path();
    for method in ["packet-v2", "packet-v3"] {
        let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
        let mut trial = laboratory.prepare(&setup).unwrap();
        let mut kept = Collected::default();
        let outcome =
            search::run(&plan, method, trial.as_mut(), Stored::default(), &mut kept).unwrap().outcome;
        trials.extend(kept.trials);
        searches.push(outcome);
    }
    let mut run = results(&["search", "--goal", "ndr,pdr"], trials);
    run.searches = searches;
    concluded(run)
}

/// Work per packet, two methods.
pub fn sweep() -> Results {
    let works = [0, 500, 1000, 2000].map(|ns| Point::Work(WorkModel::Nanoseconds(ns)));
    let axis = Axis::new(works.to_vec()).unwrap();
    let plan =
        SweepPlan { loads: vec![at(450_000.0)], repeats: 2, ..sweep_plan(axis, &["recv", "packet-v3"]) };
    let swept = plan.run(&mut path(), &mut Collected::default()).unwrap();
    let mut run = results(&["sweep", "work"], swept.trials);
    run.sweeps = vec![swept.outcome];
    concluded(run)
}

/// Every test after a search for the throughput.
pub fn rfc2544() -> Results {
    let extent = Extent::quick();
    let goal = |goal: Goal| Goal {
        final_duration: extent.trial,
        duration_sum: extent.trial,
        initial_duration: extent.trial.min(Duration::from_secs(1)),
        ..goal
    };
    let plan = SearchPlan::new(parse("rfc2544").unwrap().into_iter().map(goal).collect());
    let suite = Suite {
        tests: vec![Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent,
        throughput: Throughput::Search(plan),
    };
    let method = SimulatedMethod::new("packet-v3", 400_000.0).room(Room::Frames(1000));
    let mut kept = Collected::default();
    suite.run(&setup(64), &mut guarded(SimulatedLaboratory::new(1e6, vec![method])), &mut kept).unwrap();
    let mut run = results(&["rfc2544", "--quick"], kept.trials);
    run.searches = kept.searches;
    run.rfc2544 = kept.tested;
    run.not_measured = sentences::not_measured(&kept.untested);
    concluded(run)
}

/// Half a minute above what the method holds.
pub fn soak() -> Results {
    let plan = SoakPlan {
        setup: setup(64),
        rate: pps(950_000.0),
        length: Duration::from_secs(35),
        interval: Duration::from_secs(10),
    };
    let method = SimulatedMethod::new("packet-v3", 900_000.0);
    let mut path = SimulatedLaboratory::new(1e6, vec![method]);
    let mut record = plan.run(&mut path, &mut Collected::default()).unwrap().record;
    // What the clock and this process would put into it.
    for interval in record.intervals.iter_mut().chain(&mut record.whole).chain(&mut record.worst) {
        interval.began_unix_s = 1.7e9 + interval.from_s;
        interval.resident_bytes = None;
    }
    let mut run = results(&["soak", "--rate", "950k", "--for", "35s"], record.kept.clone());
    run.soak = Some(record);
    concluded(run)
}

/// Frames that are known and trials that cannot tell, by method and place.
pub type Totals = BTreeMap<(String, String), (i128, u64)>;

pub fn totals(results: &Results) -> Totals {
    let mut totals = Totals::new();
    for trial in &results.trials {
        let known = [("delivered", trial.delivered.into()), ("unexplained", i128::from(trial.unexplained))];
        let known = known.map(|(place, count)| (place.into(), Some(count)));
        let place = |entry: &Entry| serde_json::to_value(entry.place).unwrap().as_str().unwrap().to_string();
        let ledger = trial.ledger.iter().map(|entry| (place(entry), entry.count.map(i128::from)));
        for (place, count) in ledger.chain(known) {
            let sum = totals.entry((trial.profile.method.to_string(), place)).or_default();
            match count {
                Some(count) => sum.0 += count,
                None => sum.1 += 1,
            }
        }
    }
    totals
}

/// One of every kind, with its name; computed once.
pub fn all() -> Vec<(&'static str, Results)> {
    static ALL: LazyLock<Vec<(&str, Results)>> = LazyLock::new(|| {
        vec![
            ("bench", bench()),
            ("large_bench", large_bench()),
            ("visited_bench", visited_bench()),
            ("search", search()),
            ("sweep", sweep()),
            ("rfc2544", rfc2544()),
            ("soak", soak()),
            ("reproduction", reproduction()),
        ]
    });
    ALL.clone()
}
