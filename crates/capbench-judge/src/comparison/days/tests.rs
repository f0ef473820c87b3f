//! Datasets whose days differ by a known change.

use std::collections::BTreeSet;

use super::{DaysCompared, DaysConclusion, day_by_day};
use crate::comparison::hosts::{DatasetRun, Figure, Figures};
use crate::comparison::{Judgement, Measure, Setup, Thresholds};

/// Runs of hosts, one a day.
#[derive(Clone, Copy)]
struct Dataset {
    hosts: usize,
    days: usize,
    /// From this day on the rate is another one.
    changes_on: usize,
    /// The factor of the change.
    factor: f64,
}

impl Dataset {
    /// The rate of each run, one a day and host.
    fn figures(self) -> Figures {
        let setup = Setup { method: Some("recv".into()), ..Setup::default() };
        let mut figures = Figures { setups: vec![setup], ..Figures::default() };
        for day in 0..self.days {
            figures.values.push(format!("day {day:02}"));
            for host in 0..self.hosts {
                figures.runs.push(DatasetRun { host: Some(format!("host{host}")), ..DatasetRun::default() });
                // One host is faster than the one before by a twentieth. Days of a host differ by up to 0.4 %, in a fixed order.
                let usual = (1.0 + 0.05 * host as f64) * (1.0 + 0.001 * ((3 * host + 2 * day) % 5) as f64);
                let factor = if day >= self.changes_on { self.factor } else { 1.0 };
                figures.all.push(Figure {
                    run: figures.runs.len() - 1,
                    setup: 0,
                    value_of: Some(day),
                    measure: Measure::DeliveredRate,
                    value: 1e6 * usual * factor,
                    intended_pps: None,
                    is_at_least: false,
                });
            }
        }
        figures
    }

    fn compared(self) -> DaysCompared {
        day_by_day(&self.figures(), Thresholds::for_hosts())
    }
}

/// Without a change: the factor is 1. With three days and twelve hosts on each side there are 36 runs, enough for a test.
const USUAL: Dataset = Dataset { hosts: 12, days: 8, changes_on: 4, factor: 1.0 };

#[test]
fn a_change_is_shown_once_since_its_day_and_names_its_hosts() {
    let compared = Dataset { factor: 0.9, ..USUAL }.compared();
    // The first of eight days has none before it.
    assert_eq!((compared.compared, compared.without, compared.all_days), (7, 0, 8));
    let [change] = &compared.changes[..] else { panic!("{:#?}", compared.changes) };
    assert_eq!((change.day.as_str(), change.hosts), ("day 04", 12));
    assert_eq!(change.contrast.judgement, Judgement::Regression);
    assert!((change.contrast.change.middle + 0.1).abs() < 0.01, "{:?}", change.contrast.change);
    assert_eq!(change.worse.as_ref().unwrap().worse.len(), 12);
    let days = BTreeSet::from(["day 04".to_string()]);
    assert_eq!(compared.conclusion, DaysConclusion::Regressions { changes: 1, days });
    // On each side are three days, with a run of each of twelve hosts.
    assert_eq!([&change.contrast.then, &change.contrast.now].map(|side| side.trials.len()), [36, 36]);
}

#[test]
fn an_improvement_is_no_regression() {
    let compared = Dataset { factor: 1.1, ..USUAL }.compared();
    let judgements: Vec<Judgement> =
        compared.changes.iter().map(|change| change.contrast.judgement).collect();
    assert_eq!(judgements, [Judgement::Improvement]);
    assert_eq!(compared.conclusion, DaysConclusion::NoRegressionShown);
    assert_eq!(USUAL.compared().conclusion, DaysConclusion::NoRegressionShown);
    assert!(USUAL.compared().changes.is_empty());
}

#[test]
fn a_host_is_named_from_a_change_of_a_fiftieth_on() {
    for (factor, named) in [(0.985, 0), (0.975, 12)] {
        let compared = Dataset { factor, ..USUAL }.compared();
        let worse = compared.changes[0].worse.as_ref().unwrap();
        assert_eq!((worse.hosts, worse.worse.len()), (12, named), "{factor}");
    }
}

#[test]
fn days_with_few_hosts_or_none_in_common_show_nothing() {
    let few = Dataset { hosts: 1, days: 3, factor: 0.5, ..USUAL }.compared();
    assert_eq!(few.conclusion, DaysConclusion::Inconclusive);
    let mut figures = USUAL.figures();
    for (nth, run) in figures.runs.iter_mut().enumerate() {
        run.host = Some(format!("host of run {nth}"));
    }
    let none = day_by_day(&figures, Thresholds::default());
    assert_eq!((none.conclusion, none.compared, none.without), (DaysConclusion::NothingInCommon, 0, 7));
}

#[test]
fn the_last_sixty_days_are_compared() {
    let compared = Dataset { hosts: 1, days: 62, ..USUAL }.compared();
    assert_eq!((compared.days.len(), compared.days[0].as_str(), compared.all_days), (60, "day 02", 62));
    assert_eq!(compared.compared, 59);
    // The compared days share the probability of a false alarm, 0.05.
    assert!((59.0 * compared.level - 0.05).abs() < 1e-12, "{}", compared.level);
}
