//! 200 simulated hosts with methods of random capacity and cost, some equal, livelocked or lossy at any load, with weak
//! generators and with noise: the recommendation names the right method, and no wrong one as certain.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::{BenchPlan, Searching};
use crate::for_tests::{Collected, searching_bench_plan};
use crate::guards::{Guarded, Policy};
use crate::search;
use crate::search::Stored;
use crate::simulated::{ForeignWork, LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::recommendation::{Certainty, Conclusion, Recommendation, recommend};
use capbench_judge::search::{GoalResult, Ratio, SearchPlan, parse};
use capbench_judge::thresholds::CONFIRMATION_LENGTH;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;

const HOSTS: u64 = 200;
const SEED: u64 = 20_260_901;
const NAMES: [&str; 6] = ["recv", "packet-v1", "packet-v2", "packet-v3", "libpcap", "af-xdp"];

/// The constants of a method.
#[derive(Clone, Debug)]
struct Known {
    name: &'static str,
    capacity: f64,
    livelock: f64,
    app_ns: u64,
}

/// A host with known constants.
#[derive(Debug)]
struct Host {
    generator: f64,
    methods: Vec<Known>,
    is_lossy: bool,
    noise: Noise,
    bursts: Option<LossBursts>,
    foreign: Option<ForeignWork>,
    seed: u64,
}

/// The methods that may be named at a precision.
struct RightAnswer {
    names: Vec<&'static str>,
    /// Whether no other answer is right: their limits are equal, and those of all others are further away than twice the precision.
    is_decidable: bool,
}

impl RightAnswer {
    fn has(&self, method: &SavedMethod) -> bool {
        self.names.iter().any(|name| *method == *name)
    }
}

/// Random constants from a seed.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.between(0.0, 1.0) < probability
    }
}

impl Host {
    fn from_seed(seed: u64) -> Self {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let count = dice.between(2.0, 6.99) as usize;
        let mut methods: Vec<Known> = NAMES[..count]
            .iter()
            .map(|name| Known {
                name,
                capacity: dice.between(100_000_f64.ln(), 2_000_000_f64.ln()).exp().round(),
                livelock: if dice.happens(0.3) { dice.between(0.2, 0.9) } else { 0.0 },
                app_ns: dice.between(50.0, 900.0) as u64,
            })
            .collect();
        if dice.happens(0.25) {
            methods[1].capacity = methods[0].capacity;
        }
        let generator = match dice.happens(0.25) {
            true => dice.between(90_000.0, 600_000.0),
            false => 2_500_000.0,
        };
        let is_lossy = dice.happens(0.05);
        let kind = dice.between(0.0, 5.0) as u32;
        let deviation = if kind == 1 || kind == 4 { 0.01 } else { 0.0 };
        Self {
            generator,
            methods,
            is_lossy,
            noise: Noise { per_trial: deviation, per_second: 0.0 },
            bursts: (is_lossy || kind == 2 || kind == 4)
                .then_some(LossBursts { per_second: if is_lossy { 4.0 } else { 0.3 }, frames: 40 }),
            foreign: (kind == 3).then_some(ForeignWork { per_trial: 0.25, share: 0.4 }),
            seed,
        }
    }

    fn path(&self) -> SimulatedLaboratory {
        let method = |known: &Known| {
            SimulatedMethod::new(known.name, known.capacity)
                .livelock(known.livelock)
                .cost(known.app_ns, 600)
                .room(Room::Frames(4096))
        };
        let path = SimulatedLaboratory::new(self.generator, self.methods.iter().map(method).collect());
        let path = path.noise(self.seed, self.noise).showing_moments();
        let path = match self.bursts {
            Some(bursts) => path.bursts(self.seed, bursts),
            None => path,
        };
        match self.foreign {
            Some(foreign) => path.foreign_work(self.seed, foreign),
            None => path,
        }
    }

    fn plan(&self) -> BenchPlan {
        let names: Vec<&str> = self.methods.iter().map(|known| known.name).collect();
        searching_bench_plan(&names)
    }

    fn measure(&self, plan: &BenchPlan) -> (Recommendation, Vec<TrialResult>) {
        let policy = Policy { pause: Duration::ZERO, ..Policy::default() };
        let mut path = Guarded::new(self.path(), policy, std::sync::Arc::default());
        let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
        let recommended = recommend(&outcome.trials, &outcome.searches).expect("trials at maximum load");
        (recommended, outcome.trials)
    }

    /// The lossless load of a method by `search --goal quick`.
    fn search(&self, method: &str) -> GoalResult {
        let policy = Policy { pause: Duration::ZERO, ..Policy::default() };
        let mut path = Guarded::new(self.path(), policy, std::sync::Arc::default());
        let with_method = Setup { method: method.parse().unwrap(), ..setup(64) };
        let mut trial = path.prepare(&with_method).unwrap();
        let plan = SearchPlan::new(parse("quick").unwrap());
        let finished =
            search::run(&plan, "a host", trial.as_mut(), Stored::default(), &mut Collected::default())
                .unwrap();
        finished.outcome.goals.into_iter().next().expect("quick has goals")
    }

    /// The load that a method can sustain as far as the generator can show it.
    fn sustains(&self, method: &str) -> f64 {
        let known = self.methods.iter().find(|known| known.name == method).unwrap();
        known.capacity.min(self.generator)
    }

    fn right(&self, precision: f64) -> RightAnswer {
        let best = self.methods.iter().map(|known| self.sustains(known.name)).fold(0.0, f64::max);
        let near: Vec<&Known> = self
            .methods
            .iter()
            .filter(|known| self.sustains(known.name) >= best * (1.0 - 2.0 * precision))
            .collect();
        let are_equal = near.iter().all(|known| self.sustains(known.name) >= best * 0.999);
        if !are_equal {
            return RightAnswer { names: near.iter().map(|known| known.name).collect(), is_decidable: false };
        }
        let least = near.iter().map(|known| known.app_ns).min().unwrap() as f64;
        // A single trial is taken to be 5 % precise.
        let cheap = near.iter().filter(|known| known.app_ns as f64 <= least * 1.11 + 1.0);
        RightAnswer { names: cheap.map(|known| known.name).collect(), is_decidable: true }
    }
}

#[test]
fn the_right_method_is_named_and_no_wrong_one_is_certain() {
    let (mut decidable, mut named, mut certain) = (0, 0, 0);
    let mut wrong = Vec::new();
    for seed in SEED..SEED + HOSTS {
        let host = Host::from_seed(seed);
        let (recommended, _) = host.measure(&host.plan());
        let ranking = recommended.headline().unwrap();
        if host.is_lossy {
            assert!(
                matches!(ranking.conclusion, Conclusion::NoneLossless { .. }),
                "seed {seed}: {ranking:?}"
            );
            continue;
        }
        let right = host.right(ranking.precision.unwrap_or(0.05));
        decidable += u32::from(right.is_decidable);
        let Conclusion::Use { method, certainty, equal, .. } = &ranking.conclusion else {
            let known = |ranked: &capbench_judge::recommendation::Ranked| {
                format!("{} {:?}", ranked.method, ranked.lossless)
            };
            let limits: Vec<String> =
                ranking.methods.iter().filter(|ranked| ranked.rank == 1).map(known).collect();
            wrong.push(format!("seed {seed}, decidable: {}; {limits:#?}", right.is_decidable));
            continue;
        };
        let is_right = right.has(method);
        named += u32::from(right.is_decidable && is_right);
        certain += u32::from(*certainty == Certainty::Certain);
        if !is_right {
            let RightAnswer { names, is_decidable } = &right;
            wrong.push(format!(
                "seed {seed}, decidable: {is_decidable}; {method} {certainty:?}, equal {equal:?}, right {names:?}"
            ));
        }
        let may_be = is_right || equal.iter().any(|equal| right.has(equal));
        assert!(may_be || *certainty != Certainty::Certain, "seed {seed}: {ranking:#?} of {host:#?}");
    }
    println!("seeds from {SEED}: {named} of {decidable} named, {certain} as certain; others {wrong:#?}");
    assert!(decidable > HOSTS as u32 / 2, "{decidable}");
    assert!(f64::from(named) >= 0.95 * f64::from(decidable), "{named} of {decidable}: {wrong:#?}");
    assert!(certain > decidable / 2, "{certain} of {decidable}");
}

/// On hosts that only vary. A search counts every loss of another task or a pause, and a bench leaves them out.
#[test]
fn a_bench_and_a_search_find_the_same_sustained_rate() {
    let (mut pairs, mut apart) = (0, Vec::new());
    let is_quiet = |host: &Host| host.bursts.is_none() && host.foreign.is_none();
    for host in (SEED..SEED + HOSTS).map(Host::from_seed).filter(is_quiet) {
        let (recommended, _) = host.measure(&host.plan());
        for ranked in &recommended.headline().unwrap().methods {
            let (Some(lower), Some(upper)) = (ranked.lossless.lower_pps, ranked.lossless.upper_pps) else {
                continue;
            };
            let found = host.search(&ranked.method.to_string());
            let [Some(found_lower), Some(found_upper)] =
                [&found.lower, &found.upper].map(|bound| bound.as_ref().map(|bound| bound.intended_pps))
            else {
                continue;
            };
            pairs += 1;
            let precision = ranked.lossless.precision.unwrap_or(0.05);
            // The intervals between the bounds meet within the stated precision.
            if lower > found_upper * (1.0 + precision) || upper < found_lower * (1.0 - precision) {
                let searched = format!("search {found_lower:.0} to {found_upper:.0}");
                apart.push((
                    host.seed,
                    ranked.method.clone(),
                    format!("bench {lower:.0} to {upper:.0}, {searched}"),
                ));
            }
        }
    }
    println!("seeds from {SEED}: {} of {pairs} pairs agree; others {apart:#?}", pairs - apart.len());
    assert!(pairs > HOSTS as usize / 2, "{pairs} have both bounds: the generator limits the others");
    assert!(10 * apart.len() <= pairs, "of {pairs}: {apart:#?}");
}

#[test]
fn nothing_is_certain_on_a_host_that_disturbs_every_trial() {
    for seed in SEED..SEED + HOSTS / 4 {
        let host =
            Host { foreign: Some(ForeignWork { per_trial: 1.0, share: 0.4 }), ..Host::from_seed(seed) };
        let (recommended, trials) = host.measure(&host.plan());
        assert!(trials.iter().all(|trial| !trial.disturbance.reasons().is_empty()), "seed {seed}");
        assert_ne!(recommended.certainty, Some(Certainty::Certain), "seed {seed}: {recommended:#?}");
        assert!(!recommended.is_conclusive());
        assert!(recommended.method.is_some() || host.is_lossy, "seed {seed}: it still gets an answer");
    }
}

#[test]
fn a_slow_host_gets_fewer_set_ups_and_a_coarser_precision_but_no_longer_run() {
    for (quiet, budget, sizes) in [(150, 80, 3), (2_000, 80, 3), (2_000, 20, 3), (5_000, 20, 1), (150, 5, 3)]
    {
        for seed in SEED..SEED + HOSTS / 10 {
            let host = Host::from_seed(seed);
            let takes_turns = seed.is_multiple_of(2);
            if host.is_lossy {
                // A path that does not recover from an overload is probed longer than any plan can know.
                continue;
            }
            let (quiet, budget) = (Duration::from_millis(quiet), Duration::from_secs(budget));
            let mut plan = host.plan();
            let size = |octets| Setup { quiet, ..setup(octets) };
            plan.sizes = [64, 512, 1518].map(size)[..sizes].to_vec();
            plan.searching = plan.searching.map(|searching| Searching { budget, quiet, ..searching });
            plan.turns = takes_turns.then_some(budget);
            let (recommended, trials) = host.measure(&plan);
            // A trial that other work disturbed is repeated, which no plan knows before. The longest is the confirmation.
            let longest = CONFIRMATION_LENGTH * plan.duration + 2 * quiet;
            let unforeseen = if host.foreign.is_some() { longest } else { Duration::ZERO };
            let spent: f64 = trials.iter().map(TrialResult::spent_s).sum();
            assert!(
                spent <= (budget + unforeseen).as_secs_f64() + 1e-6,
                "seed {seed}: {spent} s of {budget:?}, quiet {quiet:?}, turns: {takes_turns}"
            );
            assert!(!recommended.rankings.is_empty());
        }
    }
}

#[test]
fn a_short_time_goes_to_the_methods_that_may_be_best() {
    let (mut hosts, mut named, mut wrong) = (0, 0, Vec::new());
    let precision = Ratio::new(0.1).unwrap();
    let (budget, quiet) = (Duration::from_secs(12), Duration::from_millis(150));
    let trial = Searching::least_trial(precision);
    for host in (SEED..SEED + HOSTS).map(Host::from_seed).filter(|host| !host.is_lossy) {
        let mut plan = host.plan();
        plan.sizes = vec![Setup { quiet, ..setup(64) }];
        plan.duration = Duration::from_millis(300);
        plan.searching = Some(Searching { precision, budget, trial, quiet });
        let (recommended, _) = host.measure(&plan);
        let right = host.right(precision.get());
        hosts += 1;
        match &recommended.headline().unwrap().conclusion {
            Conclusion::Use { method, .. } if right.has(method) => named += 1,
            // The method to use meanwhile.
            Conclusion::OneOf { best: Some(best), .. } if right.has(best) => {}
            other => wrong.push((host.seed, format!("{other:?}, right {:?}", right.names))),
        }
    }
    println!("seeds from {SEED}: {named} of {hosts} named; wrong {wrong:#?}");
    assert!(4 * named >= 3 * hosts, "{named} of {hosts}");
    assert!(20 * wrong.len() <= hosts, "of {hosts}: {wrong:#?}");
}
