//! Fleets whose differences are known: hosts of different speed, runs that vary, and a change on some of the hosts.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{DatasetRun, Figure, Figures, HostChange, HostsCompared, of_figures};
use crate::comparison::setup::COMMON_LOAD;
use crate::comparison::{Conclusion, Judgement, Measure, NotCompared, Setup, Thresholds};
use crate::error::Result;

/// The column that is compared. The values of a fleet are two kernels, 6.1 and 6.2.
const COLUMN: &str = "kernel_release";

/// How a fleet is made.
#[derive(Clone, Copy)]
struct Fleet {
    hosts: usize,
    /// Runs of each host with each kernel.
    runs: usize,
    /// Share of the hosts on which the second kernel is worse.
    affected: f64,
    /// By which share it is worse there.
    worse_by: f64,
    seed: u64,
}

impl Default for Fleet {
    fn default() -> Self {
        Self { hosts: 24, runs: 4, affected: 0.0, worse_by: 0.0, seed: 1 }
    }
}

/// A normal number with this deviation, as the sum of twelve uniform ones.
fn normal(random: &mut Xoshiro256PlusPlus, deviation: f64) -> f64 {
    let uniform: f64 = (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum();
    (uniform - 6.0) * deviation
}

/// The set-up of a method at maximum load.
fn setup(method: &str) -> Setup {
    Setup {
        method: Some(method.into()),
        frame_size: Some("64".into()),
        load: Some("maximum load".into()),
        ..Setup::default()
    }
}

impl Fleet {
    /// Figures of two methods: the rate at maximum load, and the CPU time. Hosts differ by 20 %, runs by 1 %.
    fn figures(self) -> Figures {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut figures = Figures {
            setups: vec![setup("recv"), setup("packet-v3")],
            values: vec!["6.1".into(), "6.2".into()],
            ..Figures::default()
        };
        for host in 0..self.hosts {
            let speed = normal(&mut random, 0.2).exp();
            let is_affected = (host as f64) < self.affected * self.hosts as f64;
            for kernel in 0..2 {
                let change = if is_affected && kernel == 1 { 1.0 - self.worse_by } else { 1.0 };
                for run in 0..self.runs {
                    figures.runs.push(DatasetRun {
                        id: format!("{host}-{kernel}-{run}"),
                        host: Some(format!("host{host}")),
                        started_us: (kernel * 1_000_000 + run) as i64,
                        trials: 4,
                        ..DatasetRun::default()
                    });
                    add_figures(&mut figures, kernel, speed * change, &mut random);
                }
            }
        }
        figures
    }

    fn compared(self) -> HostsCompared {
        of_figures(&self.figures(), COLUMN, None, Thresholds::for_hosts()).unwrap()
    }
}

/// Adds the rate and the CPU time of both methods in the last run, for a host and kernel of this speed.
fn add_figures(figures: &mut Figures, kernel: usize, speed: f64, random: &mut Xoshiro256PlusPlus) {
    for setup in 0..figures.setups.len() {
        let pps = 1e6 * speed * normal(random, 0.01).exp();
        let ns_per_packet = 500.0 / speed * normal(random, 0.01).exp();
        for (measure, value) in [(Measure::DeliveredRate, pps), (Measure::TotalCost, ns_per_packet)] {
            figures.all.push(Figure {
                run: figures.runs.len() - 1,
                setup,
                value_of: Some(kernel),
                measure,
                value,
                intended_pps: None,
                is_at_least: false,
            });
        }
    }
}

/// How many of these fleets without a difference are said to have one. They differ in their seed.
fn false_alarms(fleets: u64, fleet: Fleet) -> u64 {
    let mut alarms = 0;
    for seed in 1000..1000 + fleets {
        let comparison = Fleet { seed, ..fleet }.compared().comparison;
        let mut changes =
            comparison.judged(Judgement::Regression).chain(comparison.judged(Judgement::Improvement));
        alarms += u64::from(changes.next().is_some());
    }
    alarms
}

#[test]
fn equal_kernels_hardly_ever_differ() {
    let alarms = false_alarms(10, Fleet { hosts: 8, runs: 3, ..Fleet::default() });
    assert!(alarms <= 1, "{alarms} of 10");
}

#[test]
#[expect(clippy::disallowed_macros, reason = "the test says what it counted")]
fn lengthy_of_100_equal_datasets_up_to_5_are_said_to_differ() {
    let alarms = false_alarms(100, Fleet::default());
    println!("{alarms} of 100 datasets without a difference are said to have one");
    assert!(alarms <= 5, "{alarms} of 100");
}

#[test]
fn a_regression_of_3_percent_on_a_third_of_the_hosts_is_found() {
    let compared = Fleet { affected: 1.0 / 3.0, worse_by: 0.03, seed: 7, ..Fleet::default() }.compared();
    assert_eq!(compared.comparison.conclusion(), Conclusion::Regression);
    let single = compared.comparison.judged(Judgement::Regression).filter(|contrast| contrast.setups == 1);
    assert_eq!(single.count(), 4, "rate and CPU time of both methods: {:#?}", compared.comparison.contrasts);
    assert_eq!(compared.comparison.judged(Judgement::Improvement).count(), 0);
    // 24 hosts have 4 runs with each of 2 kernels.
    assert_eq!((compared.paired, compared.only, compared.runs), (24, [0, 0], 192));
    let mut rates: Vec<&HostChange> = compared
        .changes
        .iter()
        .filter(|change| {
            change.measure == Measure::DeliveredRate && change.setup.method == Some("recv".into())
        })
        .collect();
    rates.sort_by(|a, b| b.worse().total_cmp(&a.worse()));
    // The first third of the hosts is affected. A host's runs vary by 1 %, so chance can put another host among the worst.
    let affected: Vec<String> = (0..8).map(|host| format!("host{host}")).collect();
    let found = rates[..8].iter().filter(|change| affected.contains(&change.host)).count();
    assert!(found >= 6, "{found} of the 8 worst hosts are affected");
}

#[test]
fn one_run_of_each_host_is_a_pair_and_too_few_are_said_to_be() {
    let compared = Fleet { runs: 1, affected: 1.0, worse_by: 0.1, ..Fleet::default() }.compared();
    assert_eq!(compared.comparison.conclusion(), Conclusion::Regression);
    let few = Fleet { hosts: 3, runs: 1, affected: 1.0, worse_by: 0.1, ..Fleet::default() }.compared();
    assert_eq!(few.comparison.conclusion(), Conclusion::Inconclusive);
}

#[test]
fn only_hosts_with_both_values_are_compared_and_the_others_are_counted() {
    let mut figures = Fleet { hosts: 10, ..Fleet::default() }.figures();
    // Of ten hosts, the first has no figure with the first kernel, and the second none with the second. The third has no name.
    let runs = figures.runs.clone();
    figures.all.retain(|figure| match (runs[figure.run].host.as_deref(), figure.value_of) {
        (Some("host0"), Some(kernel)) => kernel != 0,
        (Some("host1"), Some(kernel)) => kernel != 1,
        _ => true,
    });
    for run in figures.runs.iter_mut().filter(|run| run.host.as_deref() == Some("host2")) {
        run.host = None;
    }
    let compared = of_figures(&figures, COLUMN, None, Thresholds::default()).unwrap();
    assert_eq!((compared.paired, compared.only), (7, [1, 1]));
    assert_eq!(compared.comparison.hosts, Some(7));
    let left_out = &compared.comparison.left_out[0];
    assert_eq!((&left_out.because, left_out.trials), (&NotCompared::UnknownHost, 8), "4 runs of each kernel");
}

/// Compares figures by the values with these names.
fn compared(figures: &Figures, values: Option<[&str; 2]>) -> Result<HostsCompared> {
    let values = values.map(|values| values.map(String::from));
    of_figures(figures, COLUMN, values, Thresholds::default())
}

fn refusal(figures: &Figures, values: Option<[&str; 2]>) -> String {
    compared(figures, values).unwrap_err().to_string()
}

#[test]
fn values_are_named_or_there_are_two_and_the_earlier_one_is_the_first() {
    let mut figures = Fleet { hosts: 4, ..Fleet::default() }.figures();
    // The runs with the first value began before those with the second.
    figures.values = vec!["b".into(), "a".into()];
    assert_eq!(compared(&figures, None).unwrap().comparison.then, "b");
    assert_eq!(compared(&figures, Some(["a", "b"])).unwrap().comparison.then, "a");
    assert!(refusal(&figures, Some(["a", "c"])).contains("no run has kernel_release c; there are b, a"));
    assert!(refusal(&figures, Some(["a", "a"])).contains("named twice"));
    figures.values.push("c".into());
    figures.all[0].value_of = Some(2);
    let three = "there are 3 values; name two of them with --values A,B: b, a, c";
    assert!(refusal(&figures, None).contains(three));
    assert_eq!(compared(&figures, Some(["a", "c"])).unwrap().comparison.hosts, Some(1));
    figures.all.iter_mut().for_each(|figure| figure.value_of = Some(0));
    assert!(refusal(&figures, None).contains("all runs that can be compared have b"));
}

#[test]
fn a_common_load_that_differs_is_not_compared() {
    let mut figures = Fleet { hosts: 6, ..Fleet::default() }.figures();
    for setup in &mut figures.setups {
        setup.load = Some(COMMON_LOAD.into());
    }
    // One of six hosts has a common load that is higher by a fifth with the second kernel.
    for figure in &mut figures.all {
        let is_unlike =
            figures.runs[figure.run].host.as_deref() == Some("host0") && figure.value_of == Some(1);
        figure.intended_pps = Some(if is_unlike { 1.2e5 } else { 1e5 });
    }
    let compared = of_figures(&figures, COLUMN, None, Thresholds::default()).unwrap();
    assert_eq!(compared.paired, 5);
    let left_out = &compared.comparison.left_out;
    assert_eq!(left_out[0].because, NotCompared::UnlikeCommonLoadsOfHost, "{left_out:?}");
}
