//! Which method is best on simulated shared hosts, by trials in turns: noise that adds, pauses, a core whose speed changes, ties,
//! livelock, weak generators, losses at any load. The right method is certain, a wrong one is not, and a tie has no winner.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::{BenchOutcome, BenchPlan, Searching};
use crate::for_tests::{Collected, searching_bench_plan};
use crate::guards::{Guarded, Policy};
use crate::simulated::{
    BesidesSending, ForeignWork, LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod, UnevenSpeed,
};
use capbench_frames::rates::Pps;
use capbench_judge::recommendation::turns::Turns;
use capbench_judge::recommendation::{Certainty, Conclusion, Ranking, SustainedStatus, recommend};
use capbench_judge::search::Ratio;
use capbench_judge::sustained::missing_share;
use capbench_judge::thresholds::{
    BENCH_TIME, QUICK_BENCH_TIME, TURN_LENGTH, TURNS_LOAD, TURNS_LOSS_FOR_COST,
};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Load, Phase, SizeLabel, TrialResult};

const SEED: u64 = 20_261_128;
const NAMES: [&str; 6] = ["recv", "packet-v1", "packet-v2", "packet-v3", "libpcap", "af-xdp"];
/// A difference of capacities or costs that matters.
const MATTERS: f64 = 1.1;

/// The constants of a method.
#[derive(Clone, Debug)]
struct Known {
    name: &'static str,
    capacity: f64,
    livelock: f64,
    app_ns: u64,
}

/// The kernel's time per packet of every method.
const KERNEL_NS: u64 = 600;

impl Known {
    /// What it sustains as far as the generator can show it.
    fn sustains(&self, generator: f64) -> f64 {
        self.capacity.min(generator)
    }
}

/// What disturbs a host.
#[derive(Clone, Copy, Debug, Default)]
struct Disturbances {
    noise: f64,
    speed: Option<UnevenSpeed>,
    foreign: Option<ForeignWork>,
    bursts: Option<LossBursts>,
}

/// A host with known constants.
#[derive(Debug)]
struct Host {
    kind: &'static str,
    generator: f64,
    methods: Vec<Known>,
    disturbances: Disturbances,
    cpus: u32,
    seed: u64,
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

    fn speed(&mut self) -> UnevenSpeed {
        UnevenSpeed { per_trial: self.between(0.03, 0.15), over_time: self.between(0.0, 0.4) }
    }

    fn foreign(&mut self) -> ForeignWork {
        ForeignWork { per_trial: self.between(0.1, 0.7), share: self.between(0.1, 0.5) }
    }

    fn pauses(&mut self) -> LossBursts {
        LossBursts { per_second: self.between(0.1, 1.0), frames: self.between(20.0, 3000.0) as u64 }
    }
}

impl Host {
    fn from_seed(seed: u64) -> Self {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
        let count = dice.between(2.0, 6.99) as usize;
        let mut methods = Vec::new();
        for name in &NAMES[..count] {
            methods.push(Known {
                name,
                capacity: dice.between(100_000_f64.ln(), 2_000_000_f64.ln()).exp().round(),
                livelock: if dice.happens(0.3) { dice.between(0.1, 0.5) } else { 0.0 },
                app_ns: dice.between(50.0, 2000.0) as u64,
            });
        }
        if dice.happens(0.3) {
            methods[1].capacity = methods[0].capacity;
            methods[1].livelock = methods[0].livelock;
        }
        if dice.happens(0.3) {
            methods[1].app_ns = methods[0].app_ns;
        }
        let generator = if dice.happens(0.25) { dice.between(90_000.0, 600_000.0) } else { 2_500_000.0 };
        let kinds = ["quiet", "noise", "pauses", "busy", "speed", "mixed", "lossy"];
        let kind = kinds[dice.between(0.0, 6.999) as usize];
        let disturbances = match kind {
            "noise" => Disturbances { noise: 0.02, ..Disturbances::default() },
            "pauses" => Disturbances { bursts: Some(dice.pauses()), ..Disturbances::default() },
            "busy" => Disturbances { foreign: Some(dice.foreign()), ..Disturbances::default() },
            "speed" => Disturbances { speed: Some(dice.speed()), ..Disturbances::default() },
            "mixed" => Disturbances {
                noise: 0.02,
                speed: Some(dice.speed()),
                foreign: Some(dice.foreign()),
                bursts: Some(dice.pauses()),
            },
            "lossy" => Disturbances {
                bursts: Some(LossBursts { per_second: 20.0, frames: 40 }),
                ..Disturbances::default()
            },
            _ => Disturbances::default(),
        };
        let cpus = 1 << dice.between(1.0, 6.999) as u32;
        Self { kind, generator, methods, disturbances, cpus, seed }
    }

    fn path(&self) -> SimulatedLaboratory {
        let mut methods = Vec::new();
        for known in &self.methods {
            methods.push(
                SimulatedMethod::new(known.name, known.capacity)
                    .livelock(known.livelock)
                    .cost(known.app_ns, KERNEL_NS)
                    .room(Room::Frames(4096)),
            );
        }
        let Disturbances { noise, speed, foreign, bursts } = self.disturbances;
        let noise = Noise { per_trial: noise, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(self.generator, methods)
            .noise(self.seed, noise)
            .showing_moments()
            .taking(BESIDES_SENDING);
        if let Some(bursts) = bursts {
            path = path.bursts(self.seed, bursts);
        }
        if let Some(foreign) = foreign {
            path = path.foreign_work(self.seed, foreign);
        }
        if let Some(speed) = speed {
            path = path.uneven_speed(self.seed, speed);
        }
        path
    }

    fn plan(&self, effort: Effort, octets: &[u16]) -> BenchPlan {
        let names: Vec<&str> = self.methods.iter().map(|known| known.name).collect();
        let quiet = Duration::from_millis(150);
        let budget = Duration::from_secs(effort.budget_s);
        let precision = Ratio::new(effort.precision).unwrap();
        let trial = Searching::least_trial(precision);
        BenchPlan {
            sizes: octets.iter().map(|&octets| Setup { quiet, ..setup(octets) }).collect(),
            placements: self.placements(),
            duration: Duration::from_millis(effort.trial_ms),
            seed: self.seed,
            turns: Some(budget),
            searching: Some(Searching { precision, budget, trial, quiet }),
            ..searching_bench_plan(&names)
        }
    }

    /// Where a bench measures by default.
    fn placements(&self) -> Vec<PlacementChoice> {
        match self.cpus {
            2 => vec![PlacementChoice::Same],
            _ => vec![PlacementChoice::Same, PlacementChoice::Other],
        }
    }

    /// What a bench says first.
    fn measure(&self, effort: Effort) -> Ranking {
        let outcome = self.bench(effort, effort.octets);
        recommend(&outcome.trials, &outcome.searches).unwrap().rankings.remove(0)
    }

    /// A bench with these frame sizes.
    fn bench(&self, effort: Effort, octets: &[u16]) -> BenchOutcome {
        let policy = Policy { pause: Duration::ZERO, ..Policy::default() };
        let mut path = Guarded::new(self.path(), policy, std::sync::Arc::default());
        self.plan(effort, octets).run(&mut path, &mut Collected::default()).unwrap()
    }

    /// What many rounds around the limit of the best method show of every method on this host, with its noise.
    fn reference(&self) -> Reference {
        let best_pps = self.methods.iter().map(|known| known.sustains(self.generator)).fold(0.0, f64::max);
        let load = Load::Rate(Pps::new((best_pps * TURNS_LOAD).min(self.generator).round()).unwrap());
        let mut path = self.path();
        let mut captured = vec![0.0; self.methods.len()];
        let mut cost = vec![0.0; self.methods.len()];
        for _ in 0..REFERENCE_ROUNDS {
            for (nth, known) in self.methods.iter().enumerate() {
                let with_method = Setup { method: known.name.parse().unwrap(), ..setup(64) };
                let trial = path.prepare(&with_method).unwrap().run(load, TURN_LENGTH).unwrap();
                let sent_share = trial.sent as f64 / trial.intended as f64;
                captured[nth] += (1.0 - missing_share(&trial)) * sent_share / f64::from(REFERENCE_ROUNDS);
                let cost_ns = trial.cpu.app_ns_per_packet.unwrap() + trial.cpu.kernel_ns_per_packet.unwrap();
                cost[nth] += cost_ns / f64::from(REFERENCE_ROUNDS);
            }
        }
        Reference { captured, cost }
    }

    fn nth(&self, method: &SavedMethod) -> usize {
        self.methods.iter().position(|known| *method == known.name).unwrap()
    }

    /// Whether two methods have the same constants as far as the generator can show it.
    fn are_alike(&self, one: &Known, other: &Known) -> bool {
        one.capacity == other.capacity && one.livelock == other.livelock && one.app_ns == other.app_ns
    }
}

/// What methods captured, and what a packet cost, in many rounds: the means, a place a method.
struct Reference {
    captured: Vec<f64>,
    cost: Vec<f64>,
}

impl Reference {
    /// Whether a method is better than another one by this factor, and by this much more: it captures more, or as much for less CPU time.
    /// Costs outweigh up to a quarter of what is captured.
    fn is_better_by(&self, one: usize, other: usize, factor: f64, more: f64) -> bool {
        let captured = self.captured[one] / self.captured[other];
        let saved = self.cost[other] / self.cost[one];
        let outweighed = |costs: f64| costs.clamp(factor, 1.0 + TURNS_LOSS_FOR_COST);
        captured > outweighed(1.0 / saved) + more
            || captured > 1.0 / outweighed(saved) + more && saved > factor + more
    }

    fn is_better(&self, one: usize, other: usize) -> bool {
        self.is_better_by(one, other, MATTERS, 0.0)
    }

    /// Whether it is better beyond doubt. A bench runs at a load that is a little above or below that of the reference, so a method that
    /// captures a tenth less here captures a little more or less there.
    fn is_clearly_better(&self, one: usize, other: usize) -> bool {
        self.is_better_by(one, other, MATTERS, LOADS_DIFFER)
    }

    /// The method that is better than every other one by enough to matter.
    fn best(&self) -> Option<usize> {
        let all = 0..self.cost.len();
        all.clone().find(|&one| all.clone().all(|other| other == one || self.is_better(one, other)))
    }
}

/// By how much shares differ because the loads of bench and reference do.
const LOADS_DIFFER: f64 = 0.04;

/// Rounds of a reference.
const REFERENCE_ROUNDS: u32 = 60;

/// How long a bench is.
#[derive(Clone, Copy)]
struct Effort {
    octets: &'static [u16],
    budget_s: u64,
    precision: f64,
    trial_ms: u64,
}

/// As measured with a release build on two CPUs that others kept busy (docs/bench.md).
const BESIDES_SENDING: BesidesSending =
    BesidesSending { trial: Duration::from_millis(200), in_turns: Duration::from_millis(100) };

const SIZES: [u16; 3] = [64, 512, 1518];
const QUICK: Effort =
    Effort { octets: &[64], budget_s: QUICK_BENCH_TIME.as_secs(), precision: 0.1, trial_ms: 300 };
const WHOLE: Effort =
    Effort { octets: &SIZES, budget_s: BENCH_TIME.as_secs(), precision: 0.05, trial_ms: 400 };

/// What benches said of many hosts.
#[derive(Debug, Default)]
struct Tally {
    hosts: u32,
    decidable: u32,
    right: u32,
    alone: u32,
    certain: u32,
    /// With a rate that the certain method sustains.
    rated: u32,
    wrong: Vec<String>,
    winners_of_ties: Vec<String>,
    missed: Vec<String>,
}

impl Tally {
    fn of_hosts(hosts: std::ops::Range<u64>, effort: Effort) -> Self {
        let mut tally = Self::default();
        for seed in hosts {
            let host = Host::from_seed(seed);
            tally.add(&host, &host.measure(effort));
        }
        tally
    }

    fn add(&mut self, host: &Host, ranking: &Ranking) {
        self.hosts += 1;
        let words = || format!("{}, {host:?}: {:?}, {:?}", host.kind, ranking.conclusion, ranking.turns);
        let (named, is_certain, equal) = match &ranking.conclusion {
            Conclusion::Use { method, certainty, equal, .. } => {
                (Some(method), *certainty == Certainty::Certain, equal.clone())
            }
            // Where nothing is lossless, the best one is certain if turns decide.
            Conclusion::NoneLossless { best, .. } => {
                let turns = ranking.turns.as_ref();
                let equal = turns.map(equal_methods).unwrap_or_default();
                (best.as_ref(), turns.is_some_and(|turns| turns.name_the_best()), equal)
            }
            _ => (None, false, Vec::new()),
        };
        let reference = host.reference();
        let best = reference.best();
        self.decidable += u32::from(best.is_some());
        self.certain += u32::from(is_certain);
        let Some(named) = named.filter(|_| is_certain).map(|method| host.nth(method)) else {
            if best.is_some() {
                self.missed.push(words());
            }
            return;
        };
        let first = ranking.find(&host.methods[named].name);
        self.rated += u32::from(first.is_some_and(|first| first.lossless.lower_pps.is_some()));
        if best == Some(named) {
            self.right += 1;
            self.alone += u32::from(equal.is_empty());
        }
        for other in 0..host.methods.len() {
            if reference.is_clearly_better(other, named) {
                self.wrong.push(words());
                break;
            }
        }
        for (other, known) in host.methods.iter().enumerate() {
            let is_tie = other != named && host.are_alike(known, &host.methods[named]);
            if is_tie && !equal.iter().any(|method| *method == known.name) {
                self.winners_of_ties.push(words());
            }
        }
    }

    fn print(&self, effort: &str) {
        println!(
            "{effort}: {} hosts, {} with a difference: {} right and certain ({:.1} %), {} of them alone; {} certain in all, {} with a rate; {} wrong, {} winners of ties",
            self.hosts,
            self.decidable,
            self.right,
            100.0 * f64::from(self.right) / f64::from(self.decidable),
            self.alone,
            self.certain,
            self.rated,
            self.wrong.len(),
            self.winners_of_ties.len(),
        );
    }
}

/// The methods that may be as good as the first.
fn equal_methods(turns: &Turns) -> Vec<SavedMethod> {
    let mut equal = Vec::new();
    for method in &turns.methods {
        if !method.is_below() && method.method != turns.methods[0].method {
            equal.push(method.method.clone());
        }
    }
    equal
}

/// At most one of 200 hosts has a wrong answer that is certain, or a winner of a tie.
fn assert_not_wrong(tally: &Tally) {
    let wrong = tally.wrong.len() + tally.winners_of_ties.len();
    assert!(200 * wrong <= tally.hosts as usize, "{:#?} {:#?}", tally.wrong, tally.winners_of_ties);
}

fn assert_right(tally: &Tally) {
    tally.print("bench");
    assert_not_wrong(tally);
    assert!(
        100 * tally.right >= 97 * tally.decidable,
        "{} of {}: {:#?}",
        tally.right,
        tally.decidable,
        tally.missed
    );
}

#[test]
fn the_right_method_is_certain_on_shared_hosts_and_no_wrong_one() {
    assert_right(&Tally::of_hosts(SEED..SEED + 200, Effort { octets: &[64], ..WHOLE }));
}

/// The hosts have up to six methods, and a trial in turns takes 205 ms.
#[test]
fn each_of_three_frame_sizes_gets_an_answer_in_the_time_of_one() {
    let mut tally = Tally::default();
    for seed in SEED..SEED + 20 {
        let host = Host { cpus: 2, ..Host::from_seed(seed) };
        let outcome = host.bench(WHOLE, &SIZES);
        let spent: f64 = outcome.trials.iter().map(TrialResult::spent_s).sum();
        // A trial that other work disturbed is repeated, which no plan knows before.
        let unforeseen = if host.disturbances.foreign.is_some() { 0.3 } else { 0.0 };
        assert!(spent <= WHOLE.budget_s as f64 + unforeseen, "{spent} s with {host:?}");
        let mut at_common_load = outcome.trials.iter().filter(|trial| trial.phase == Phase::CommonLoad);
        assert!(at_common_load.all(|trial| trial.duration_s == TURN_LENGTH.as_secs_f64()), "{host:?}");
        let rankings = recommend(&outcome.trials, &outcome.searches).unwrap().rankings;
        assert_eq!(rankings.len(), SIZES.len(), "{host:?}");
        for (ranking, octets) in rankings.iter().zip(SIZES) {
            let turns = ranking.turns.as_ref().unwrap();
            assert_eq!(ranking.frame_size, SizeLabel::Octets(octets));
            assert!(turns.judged_rounds > 0, "{octets} B with {host:?}: {turns:?}");
            assert_eq!(ranking.equal_load_pps, turns.cost_load_pps);
            // At least the rate of the best method is searched.
            let first = ranking.find(&turns.methods[0].method).unwrap();
            let is_searched = outcome.searches.iter().any(|search| {
                search.method.as_ref() == Some(&first.method)
                    && search.frame_size.as_ref() == Some(&ranking.frame_size)
            });
            let is_at_generator = first.lossless.status == SustainedStatus::AtLeast;
            assert!(is_searched || is_at_generator, "{octets} B with {host:?}: {first:?}");
            tally.add(&host, ranking);
        }
    }
    tally.print("bench of three frame sizes");
    assert_not_wrong(&tally);
    assert!(100 * tally.right >= 90 * tally.decidable, "{} of {}", tally.right, tally.decidable);
}

/// Seeds of other hosts than those of the short test: `CAPBENCH_HOSTS_SEED` names the first.
fn first_seed() -> u64 {
    std::env::var("CAPBENCH_HOSTS_SEED").map_or(SEED + 200, |seed| seed.parse().expect("a number"))
}

#[test]
fn lengthy_the_right_method_is_certain_on_a_thousand_hosts() {
    assert_right(&Tally::of_hosts(first_seed()..first_seed() + 1000, WHOLE));
}

#[test]
fn lengthy_a_quick_bench_decides_less_and_is_not_wrong() {
    let tally = Tally::of_hosts(first_seed()..first_seed() + 1000, QUICK);
    tally.print("bench --quick");
    assert_not_wrong(&tally);
    // Costs are the same at every load here, so that the rounds at the second load only take time.
    assert!(100 * tally.right >= 93 * tally.decidable, "{} of {}", tally.right, tally.decidable);
}

#[test]
fn lengthy_one_method_under_two_names_has_no_winner() {
    let mut winners = 0;
    for seed in first_seed()..first_seed() + 100 {
        let host = Host::from_seed(seed);
        let twice = [host.methods[0].clone(), Known { name: NAMES[1], ..host.methods[0].clone() }];
        let ranking = Host { methods: twice.to_vec(), ..host }.measure(QUICK);
        winners += u32::from(ranking.methods.iter().any(|ranked| ranked.below == Some(Certainty::Certain)));
    }
    println!("{winners} of 100 name a winner");
    assert!(winners <= 2, "{winners}");
}
