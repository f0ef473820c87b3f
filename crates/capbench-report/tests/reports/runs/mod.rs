//! Small runs of every kind on the simulated path, the same each time. On `path`, the generator sends up to 1,000,000 frames per
//! second, and methods have known capacities.

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
use capbench_results::trial_columns::key;

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

/// A complete run of this command, on a host that is the same everywhere.
pub fn results(command: &[&str], trials: Vec<TrialResult>) -> Results {
    Results {
        command: ["/usr/bin/capbench"].iter().chain(command).map(ToString::to_string).collect(),
        environment: environment(),
        statements: vec!["a simulated path: no network was used".into()],
        ..capbench_results::for_tests::results(trials)
    }
}

/// The run with its answers, findings and caveats, as it is saved at its end.
fn concluded(mut run: Results) -> Results {
    sentences::conclude(&mut run);
    run
}

/// The path with guards, which repeat disturbed trials as those of a real run do.
pub fn guarded(path: SimulatedLaboratory) -> Guarded<SimulatedLaboratory> {
    Guarded::new(path, Policy::default(), Arc::default())
}

/// The set-ups of a bench.
struct BenchSetUps<'n> {
    methods: &'n [&'n str],
    /// Octets of a frame.
    sizes: &'n [u16],
    placements: &'n [&'n str],
    /// Trials of each method at each load.
    visits: u32,
}

/// Three methods in one set-up, visited once.
const THREE_METHODS: BenchSetUps<'_> = BenchSetUps {
    methods: &["recv", "packet-v2", "packet-v3"],
    sizes: &[64],
    placements: &["same"],
    visits: 1,
};

/// A bench with guards, concluded.
fn bench_of(set_ups: &BenchSetUps<'_>) -> Results {
    let BenchSetUps { methods, sizes, placements, visits } = *set_ups;
    let plan = BenchPlan {
        sizes: sizes.iter().map(|size| setup(*size)).collect(),
        placements: placements.iter().map(|name| name.parse().unwrap()).collect(),
        visits,
        ..bench_plan(methods)
    };
    let mut outcome = plan.run(&mut guarded(path()), &mut Collected::default()).unwrap();
    livelock::mark(&mut outcome.trials);
    concluded(results(&["bench", "--method", &methods.join(",")], outcome.trials))
}

/// Three methods in one set-up; a fourth could not be measured.
pub fn bench() -> Results {
    let mut bench = bench_of(&THREE_METHODS);
    bench.not_measured.push(NotMeasured::new("af-xdp".into(), None, "needs CAP_BPF; run as root".into()));
    bench
}

/// Three methods in four set-ups.
pub fn large_bench() -> Results {
    bench_of(&BenchSetUps { sizes: &[64, 512], placements: &["same", "other"], ..THREE_METHODS })
}

/// Three methods, each measured three times at each load.
pub fn visited_bench() -> Results {
    bench_of(&BenchSetUps { visits: 3, ..THREE_METHODS })
}

/// A publication with five claims, which have every answer.
pub fn reproduction() -> Results {
    let mut run = bench();
    run.command = ["/usr/bin/capbench", "reproduce", "a-paper"].map(String::from).to_vec();
    let judged = |claim: &str, answer: Answer, trials: &[u32]| Judgement {
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
            judged("The ring loses less than the socket.", Answer::Holds, &numbers[..2]),
            judged("The socket loses almost everything at maximum load.", Answer::Changed, &numbers[..1]),
            judged("The ring costs less.", Answer::Holds, &numbers[1..3]),
            judged("Cards do not matter.", Answer::NotTestable, &[]),
            judged("Interrupts are the limit.", Answer::Inconclusive, &numbers[2..3]),
        ],
        trials: numbers,
    }];
    concluded(run)
}

/// One method, few trials.
pub fn small_bench() -> Results {
    bench_of(&BenchSetUps { methods: &["packet-v2"], ..THREE_METHODS })
}

/// Searches of two methods, one of which sustains all that the generator sends.
pub fn search() -> Results {
    let plan = SearchPlan::new(parse("ndr,pdr").unwrap());
    let (mut trials, mut searches) = (Vec::new(), Vec::new());
    let mut laboratory = path();
    for method in ["packet-v2", "packet-v3"] {
        let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
        let mut trial = laboratory.prepare(&setup).unwrap();
        let mut collected = Collected::default();
        let search = search::run(&plan, method, trial.as_mut(), Stored::default(), &mut collected).unwrap();
        trials.extend(collected.trials);
        searches.push(search.outcome);
    }
    let mut run = results(&["search", "--goal", "ndr,pdr"], trials);
    run.searches = searches;
    concluded(run)
}

/// A sweep of the work per packet, two methods, two visits of each point.
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

/// Every test of RFC 2544 after a search for the throughput.
pub fn rfc2544() -> Results {
    let extent = Extent::quick();
    let mut goals = Vec::new();
    for goal in parse("rfc2544").unwrap() {
        goals.push(Goal {
            final_duration: extent.trial,
            duration_sum: extent.trial,
            initial_duration: extent.trial.min(Duration::from_secs(1)),
            ..goal
        });
    }
    let suite = Suite {
        tests: vec![Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent,
        throughput: Throughput::Search(SearchPlan::new(goals)),
    };
    let method = SimulatedMethod::new("packet-v3", 400_000.0).room(Room::Frames(1000));
    let mut path = guarded(SimulatedLaboratory::new(1e6, vec![method]));
    let mut collected = Collected::default();
    suite.run(&setup(64), &mut path, &mut collected).unwrap();
    let mut run = results(&["rfc2544", "--quick"], collected.trials);
    run.searches = collected.searches;
    run.rfc2544 = collected.tested;
    run.not_measured = sentences::not_measured(&collected.untested);
    concluded(run)
}

/// A soak of 35 s at 950,000 frames per second, of which the method reads 900,000.
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
    // The time of day and the memory of this process differ from run to run.
    for interval in record.intervals.iter_mut().chain(&mut record.whole).chain(&mut record.worst) {
        interval.began_unix_s = 1.7e9 + interval.from_s;
        interval.resident_bytes = None;
    }
    let mut run = results(&["soak", "--rate", "950k", "--for", "35s"], record.kept.clone());
    run.soak = Some(record);
    concluded(run)
}

/// What trials of a method have at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The sum of the known counts.
    pub frames: i128,
    /// Trials without a count.
    pub unknown_trials: u64,
}

/// The totals by method and place of the ledger; `delivered` and `unexplained` are places, too.
pub type Totals = BTreeMap<(String, String), Total>;

/// The totals of a run's trials.
pub fn totals(results: &Results) -> Totals {
    let mut totals = Totals::new();
    for trial in &results.trials {
        let mut counts: Vec<(String, Option<i128>)> = vec![
            ("delivered".into(), Some(trial.delivered.into())),
            ("unexplained".into(), Some(trial.unexplained.into())),
        ];
        for entry in &trial.ledger {
            counts.push((key(entry.place), entry.count.map(i128::from)));
        }
        for (place, count) in counts {
            let total = totals.entry((trial.profile.method.to_string(), place)).or_default();
            match count {
                Some(frames) => total.frames += frames,
                None => total.unknown_trials += 1,
            }
        }
    }
    totals
}

/// A run of every kind, with its name; computed once.
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
