//! Fleets whose differences are known: hosts of different speed, runs that vary, and a change on some of the hosts.

use crate::comparison::{Conclusion, Judgement};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// How a fleet is made.
#[derive(Clone, Copy)]
struct Fleet {
    hosts: usize,
    /// Runs of each host with each kernel.
    runs: usize,
    /// Share of the hosts on which the second kernel is worse.
    affected: f64,
    /// How much worse it is there.
    by: f64,
    seed: u64,
}

impl Default for Fleet {
    fn default() -> Self {
        Self { hosts: 24, runs: 4, affected: 0.0, by: 0.0, seed: 1 }
    }
}

/// A normal number with this deviation, as the sum of twelve uniform ones.
fn normal(random: &mut Xoshiro256PlusPlus, deviation: f64) -> f64 {
    let uniform: f64 = (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum();
    (uniform - 6.0) * deviation
}

impl Fleet {
    /// Figures of two methods: the rate at maximum load, and the CPU time. Hosts differ by 20 %, runs by 1 %.
    fn figures(self) -> Figures {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let setup = |method: &str| Setup {
            method: Some(method.into()),
            frame_size: Some("64".into()),
            load: Some("maximum load".into()),
            ..Setup::default()
        };
        let mut figures = Figures {
            setups: vec![setup("recv"), setup("packet-v3")],
            values: vec!["6.1".into(), "6.2".into()],
            ..Figures::default()
        };
        for host in 0..self.hosts {
            let speed = normal(&mut random, 0.2).exp();
            let is_affected = (host as f64) < self.affected * self.hosts as f64;
            for (kernel, run) in (0..2).flat_map(|kernel| (0..self.runs).map(move |run| (kernel, run))) {
                let worse = if is_affected && kernel == 1 { 1.0 - self.by } else { 1.0 };
                figures.runs.push(DatasetRun {
                    id: format!("{host}-{kernel}-{run}"),
                    host: Some(format!("host{host}")),
                    started_us: (kernel * 1_000_000 + run) as i64,
                    trials: 4,
                    ..DatasetRun::default()
                });
                for setup in 0..2 {
                    let mut add = |measure, value| {
                        figures.all.push(Figure {
                            run: figures.runs.len() - 1,
                            setup,
                            value_of: Some(kernel),
                            measure,
                            value,
                            intended_pps: None,
                            is_at_least: false,
                        });
                    };
                    add(Measure::DeliveredRate, 1e6 * speed * worse * normal(&mut random, 0.01).exp());
                    add(Measure::TotalCost, 500.0 / speed / worse * normal(&mut random, 0.01).exp());
                }
            }
        }
        figures
    }

    fn compared(self) -> HostsCompared {
        let thresholds = Thresholds::for_hosts();
        of_figures(&self.figures(), "kernel_release", None, thresholds).unwrap()
    }
}

/// Fleets without a difference that are said to have one.
fn false_alarms(datasets: u64, fleet: Fleet) -> u64 {
    let is_alarm = |seed: &u64| {
        let compared = Fleet { seed: *seed, ..fleet }.compared();
        let judged = |judgement| compared.comparison.judged(judgement).count();
        judged(Judgement::Regression) + judged(Judgement::Improvement) > 0
    };
    (1000..1000 + datasets).filter(is_alarm).count() as u64
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
    let compared = Fleet { affected: 1.0 / 3.0, by: 0.03, seed: 7, ..Fleet::default() }.compared();
    assert_eq!(compared.comparison.conclusion(), Conclusion::Regression);
    let single = compared.comparison.judged(Judgement::Regression).filter(|contrast| contrast.setups == 1);
    assert_eq!(single.count(), 4, "rate and CPU time of both methods: {:#?}", compared.comparison.contrasts);
    assert_eq!(compared.comparison.judged(Judgement::Improvement).count(), 0);
    assert_eq!((compared.paired, compared.only, compared.runs), (24, [0, 0], 192));
    // The hosts on which it is are the worst ones.
    let mut rates: Vec<&HostChange> = compared
        .changes
        .iter()
        .filter(|change| {
            change.measure == Measure::DeliveredRate && change.setup.method == Some("recv".into())
        })
        .collect();
    rates.sort_by(|a, b| b.worse().total_cmp(&a.worse()));
    // A host's own runs vary by 1 %, so chance can put another host among them.
    let is_affected = |change: &&HostChange| (0..8).any(|host| change.host == format!("host{host}"));
    let found = rates.iter().take(8).filter(|change| is_affected(change)).count();
    assert!(found >= 6, "{found} of the 8 worst hosts are affected");
}

#[test]
fn one_run_of_each_host_is_a_pair_and_too_few_are_said_to_be() {
    let compared = Fleet { runs: 1, affected: 1.0, by: 0.1, ..Fleet::default() }.compared();
    assert_eq!(compared.comparison.conclusion(), Conclusion::Regression);
    let few = Fleet { hosts: 3, runs: 1, affected: 1.0, by: 0.1, ..Fleet::default() }.compared();
    assert_eq!(few.comparison.conclusion(), Conclusion::Inconclusive);
}

#[test]
fn only_hosts_with_both_values_are_compared_and_the_others_are_counted() {
    let mut figures = Fleet { hosts: 10, ..Fleet::default() }.figures();
    let is_gone = |figures: &Figures, figure: &Figure| {
        let host = figures.runs[figure.run].host.clone().unwrap();
        (host == "host0" && figure.value_of == Some(0)) || (host == "host1" && figure.value_of == Some(1))
    };
    let kept: Vec<Figure> = figures.all.iter().filter(|figure| !is_gone(&figures, figure)).copied().collect();
    figures.all = kept;
    for run in figures.runs.iter_mut().filter(|run| run.host.as_deref() == Some("host2")) {
        run.host = None;
    }
    let compared = of_figures(&figures, "kernel_release", None, Thresholds::default()).unwrap();
    assert_eq!((compared.paired, compared.only), (7, [1, 1]));
    assert_eq!(compared.comparison.hosts, Some(7));
    let out = &compared.comparison.left_out[0];
    assert!(out.because == NotCompared::UnknownHost && out.trials == 8, "{out:?}");
}

#[test]
fn values_are_named_or_there_are_two_and_the_earlier_one_is_the_first() {
    let mut figures = Fleet { hosts: 4, ..Fleet::default() }.figures();
    let refused = |figures: &Figures, values: Option<[&str; 2]>| {
        let values = values.map(|values| values.map(String::from));
        of_figures(figures, "kernel_release", values, Thresholds::default()).unwrap_err().to_string()
    };
    let compared = |figures: &Figures, values: Option<[&str; 2]>| {
        let values = values.map(|values| values.map(String::from));
        of_figures(figures, "kernel_release", values, Thresholds::default()).unwrap().comparison
    };
    figures.values = vec!["b".into(), "a".into()];
    assert_eq!(compared(&figures, None).then, "b");
    assert_eq!(compared(&figures, Some(["a", "b"])).then, "a");
    assert!(refused(&figures, Some(["a", "c"])).contains("no run has kernel_release c; there are b, a"));
    assert!(refused(&figures, Some(["a", "a"])).contains("named twice"));
    figures.values.push("c".into());
    figures.all[0].value_of = Some(2);
    assert!(
        refused(&figures, None).contains("there are 3 values; name two of them with --values A,B: b, a, c")
    );
    assert_eq!(compared(&figures, Some(["a", "c"])).hosts, Some(1));
    figures.all.iter_mut().for_each(|figure| figure.value_of = Some(0));
    assert!(refused(&figures, None).contains("all runs have b"));
}

#[test]
fn a_common_load_that_differs_is_not_compared() {
    let mut figures = Fleet { hosts: 6, ..Fleet::default() }.figures();
    for setup in &mut figures.setups {
        setup.load = Some(COMMON_LOAD.into());
    }
    for figure in &mut figures.all {
        let is_unlike =
            figures.runs[figure.run].host.as_deref() == Some("host0") && figure.value_of == Some(1);
        figure.intended_pps = Some(if is_unlike { 1.2e5 } else { 1e5 });
    }
    let compared = of_figures(&figures, "kernel_release", None, Thresholds::default()).unwrap();
    assert_eq!(compared.paired, 5);
    assert!(
        compared.comparison.left_out[0].because == NotCompared::UnlikeCommonLoadsOfHost,
        "{:?}",
        compared.comparison.left_out
    );
}
