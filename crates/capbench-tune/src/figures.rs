//! What settings cost, where it was measured: by capbench on another host, or in a run. Nothing is derived from these figures: a
//! setting without one is "not measured".

use std::borrow::Cow;

use capbench_model::figures::{count, many};
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use schemars::JsonSchema;
use serde::Serialize;

use crate::items::ItemName;

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figure {
    /// What was measured, with its unit and its conditions.
    pub figure: Cow<'static, str>,
    /// Where it is documented or recorded.
    pub source: &'static str,
}

/// The figures, one for each item that has one.
const FIGURES: &[(ItemName, Figure)] = &[(
    ItemName::Backlog,
    Figure {
        figure: Cow::Borrowed(
            "at 434,000 packets/s a backlog of 1000 packets overflows 2.3 ms after its CPU stalls",
        ),
        source: "docs/guards.md",
    },
)];

/// The figure of an item; `None` if nothing was measured.
pub(crate) fn of(item: ItemName) -> Option<Figure> {
    FIGURES.iter().find(|(known, _)| *known == item).map(|(_, figure)| figure.clone())
}

/// What an item cost in the trials of a run: the frames lost where it decides how many have room, or the trials that it disturbed.
/// `None` if they did not measure it.
pub(crate) fn in_run(item: ItemName, trials: &[&TrialResult]) -> Option<Figure> {
    match item {
        ItemName::Rings => lost_at(Place::Link, "on the link or in the NIC", trials),
        ItemName::Backlog => lost_at(Place::Backlog, "in the softirq backlog", trials),
        ItemName::Governor => {
            let measured = |trial: &TrialResult| {
                let mut cpus = trial.disturbance.cpus.iter();
                cpus.any(|cpu| cpu.core_speed.is_some()).then(|| trial.disturbance.is_slow())
            };
            disturbed("a CPU ran slower than its best", trials, measured)
        }
        ItemName::Irqbalance => {
            let measured = |trial: &TrialResult| Some(trial.kernel_work_share? < 1.0);
            disturbed(
                "some of the kernel's receive work ran on another CPU than the chosen one",
                trials,
                measured,
            )
        }
        _ => None,
    }
}

fn lost_at(place: Place, words: &str, trials: &[&TrialResult]) -> Option<Figure> {
    let counted = trials.iter().filter_map(|trial| {
        let entry = trial.ledger.iter().find(|entry| entry.place == place)?;
        Some((trial.sent, entry.count?))
    });
    let (trials, sent, lost) =
        counted.fold((0, 0, 0), |(trials, all, at), (sent, lost)| (trials + 1, all + sent, at + lost));
    let trials = (trials > 0).then(|| many(trials, "trial", "trials"))?;
    let (sent, lost) = (count(sent), count(lost));
    Some(Figure {
        figure: format!("{lost} of {sent} sent frames were lost {words} in {trials}").into(),
        source: "the ledger of the run",
    })
}

fn disturbed(
    what: &str,
    trials: &[&TrialResult],
    is_disturbed: impl Fn(&TrialResult) -> Option<bool>,
) -> Option<Figure> {
    let measured: Vec<bool> = trials.iter().filter_map(|trial| is_disturbed(trial)).collect();
    let disturbed = measured.iter().filter(|is_so| **is_so).count() as u64;
    let trials = (!measured.is_empty()).then(|| many(measured.len() as u64, "trial", "trials"))?;
    Some(Figure {
        figure: format!("in {} of {trials} {what}", count(disturbed)).into(),
        source: "the trials of the run",
    })
}
