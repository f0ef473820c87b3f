//! The measurements of a reproduction, and their comparison.

pub mod figure;

use capbench_model::figures::percent;
use capbench_model::method_spec::MethodSpec;
use serde::Deserialize;

use self::figure::{Figure, buffered};
use crate::reproduction::{Cell, Quantity};
use crate::search::{SearchOutcome, Status};
use crate::sustained::is_published_load_sent;
use crate::sweep::SweepOutcome;
use crate::thresholds::BUFFERED_SHARE;
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::{SavedMethod, SavedPlacement};
use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::median;
use capbench_model::trial::{SizeLabel, TrialResult, Verdict};

/// The completed part of a step.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The step's name.
    pub name: String,
    /// Its trials.
    pub trials: Vec<TrialResult>,
    /// Its outcome as a sweep, if it was one.
    pub sweep: Option<SweepOutcome>,
    /// Its searches.
    pub searches: Vec<SearchOutcome>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

/// A method that is unavailable in a placement, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The method.
    pub method: MethodSpec,
    /// The placement.
    pub placement: PlacementChoice,
    /// Why, in one line.
    pub reason: String,
}

/// What a step of the experiment varies.
#[derive(Clone, Debug)]
pub struct StepFacts {
    /// The step's name.
    pub name: String,
    /// Its points, as published.
    pub points: Vec<u32>,
    /// Those that are measured at the scale of this run.
    pub points_here: Vec<u32>,
    /// Whether its points are searched.
    pub is_search: bool,
    /// Time of a loop on the publication's host, in nanoseconds.
    pub loop_ns: f64,
}

/// The steps of an experiment, and what was measured in each.
#[derive(Debug)]
pub struct MeasuredSteps<'m> {
    /// What each step varies.
    pub steps: &'m [StepFacts],
    /// What is completed of each step.
    pub done: &'m [Done],
    /// The methods that are unavailable.
    pub left_out: &'m [LeftOut],
}

/// Selects trials of a reproduction: those of one step that match every named property.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// The step; the first one if absent.
    pub step: Option<String>,
    /// The method.
    pub method: Option<SavedMethod>,
    /// The placement.
    pub placement: Option<SavedPlacement>,
    /// The point.
    pub at: Option<u32>,
    /// Whether the load was the generator's maximum.
    pub at_maximum: Option<bool>,
    /// Its name in texts.
    pub name: Option<String>,
}

/// Trials of one method at one point.
#[derive(Clone, Debug, Default)]
pub struct Seen<'t> {
    /// The trials.
    pub trials: Vec<&'t TrialResult>,
}

/// The order of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Each visit of the first is above each visit of the second by more than the margin.
    Above,
    /// The opposite.
    Below,
    /// All visits of both are within the margin.
    Alike,
    Unknown,
}

/// A limit that each visit must meet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// At least this value, and not only because the buffer had room until sending ended.
    AtLeast(f64),
    /// More than this value, under the same condition.
    Above(f64),
    /// This value or less.
    AtMost(f64),
    /// Less than this value.
    Below(f64),
}

impl Select {
    /// This selection, with properties of `other` where this one names none.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            step: self.step.clone().or_else(|| other.step.clone()),
            method: self.method.clone().or_else(|| other.method.clone()),
            placement: self.placement.clone().or_else(|| other.placement.clone()),
            at: self.at.or(other.at),
            at_maximum: self.at_maximum.or(other.at_maximum),
            name: self.name.clone().or_else(|| other.name.clone()),
        }
    }

    /// Its label in texts: its name, else its point, its placement or its method.
    pub fn label(&self) -> String {
        let at = self.at.map(|at| at.to_string());
        let placement = self.placement.as_ref().map(ToString::to_string);
        let method = self.method.as_ref().map(ToString::to_string);
        self.name.clone().or(at).or(placement).or(method).unwrap_or_default()
    }
}

impl<'m> MeasuredSteps<'m> {
    /// What the selected step varies.
    pub fn plan(&self, select: &Select) -> Option<&'m StepFacts> {
        match &select.step {
            Some(name) => self.steps.iter().find(|plan| plan.name == *name),
            None => self.steps.first(),
        }
    }

    /// A started step, with its plan.
    fn begun(&self, select: &Select) -> Option<(&'m StepFacts, &'m Done)> {
        let plan = self.plan(select)?;
        Some((plan, self.done.iter().find(|done| done.name == plan.name)?))
    }

    pub(crate) fn step(&self, select: &Select) -> Option<&'m Done> {
        self.begun(select).map(|(_, done)| done)
    }

    /// The selected trials.
    pub fn seen(&self, select: &Select) -> Seen<'m> {
        let Some((plan, done)) = self.begun(select) else { return Seen::default() };
        // A trial's profile does not contain the varied parameter of a sweep.
        let swept: Option<Vec<u32>> = done.sweep.as_ref().map(|sweep| {
            let readings = sweep
                .series
                .iter()
                .filter(|series| select.method.as_ref().is_none_or(|wanted| *wanted == series.method));
            let point = select.at.and_then(|at| plan.points.iter().position(|point| *point == at));
            let at_point =
                readings.flat_map(|series| &series.readings).filter(|one| point == Some(one.point));
            at_point.flat_map(|reading| reading.trials.iter().copied()).collect()
        });
        Seen::from_trials(done.trials.iter().filter(|trial| match &swept {
            Some(numbers) => numbers.contains(&trial.number),
            None => {
                select.method.as_ref().is_none_or(|wanted| *wanted == trial.profile.method)
                    && select.placement.as_ref().is_none_or(|wanted| *wanted == trial.profile.placement)
                    && select.at.is_none_or(|at| trial.profile.frame_size == SizeLabel::Octets(at as u16))
                    && select.at_maximum.is_none_or(|is| is == trial.intended_pps.is_none())
            }
        }))
    }

    /// The rate that the search found: "at least" if it found no lossy load, `None` without a search or a lossless load.
    pub fn found(&self, select: &Select) -> Option<Cell> {
        let search = self.step(select)?.searches.iter().find(|search| {
            search.method == select.method
                && search.placement == select.placement
                && search.frame_size == select.at.map(|at| SizeLabel::Octets(at as u16))
        })?;
        let goal = search.goals.first()?;
        let lower = goal.lower.as_ref()?;
        Some(Cell {
            value: Some(lower.achieved_pps),
            at_least: goal.status != Status::Regular,
            trials: lower.trials.clone(),
            ..Cell::default()
        })
    }

    /// Why a method is unavailable; `None` unless it was left out of all requested placements.
    pub fn why_left_out(&self, method: &SavedMethod) -> Option<&'m str> {
        let of_method = self.left_out.iter().find(|left| *method == left.method)?;
        let ran = self.done.iter().flat_map(|step| &step.trials).any(|trial| trial.profile.method == *method);
        (!ran).then_some(of_method.reason.as_str())
    }
}

impl<'t> Seen<'t> {
    /// Creates a selection without invalid trials.
    pub(crate) fn from_trials(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        Self { trials: trials.into_iter().filter(|trial| trial.verdict != Verdict::Invalid).collect() }
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.trials.iter().map(|trial| trial.number).collect()
    }

    /// The values of a figure for all trials; empty if one trial does not know it, since the rest would be a biased selection.
    pub(crate) fn values(&self, of: Figure) -> Vec<f64> {
        self.trials.iter().map(|trial| of.value_in(trial)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The median of a figure; `None` if a trial does not know it.
    pub(crate) fn median(&self, of: Figure) -> Option<f64> {
        median(self.values(of))
    }

    pub(crate) fn text(&self, of: Figure) -> Option<String> {
        self.median(of).map(|median| of.quantity().text(median))
    }

    /// A figure as a table cell, marked if the generator or buffers affect it, "at least" if the kernel only samples it.
    pub fn cell(&self, of: Figure) -> Cell {
        let Some(estimate) = Estimate::of(self.values(of)) else { return Cell::default() };
        let is_buffered = of.counts_buffered() && self.buffered_share() > BUFFERED_SHARE;
        let is_sampled = self.trials.iter().any(|trial| trial.cpu.split_is_sampled);
        Cell {
            value: Some(estimate.median),
            low: estimate.low,
            high: estimate.high,
            at_least: of == Figure::ApplicationLoad && is_sampled,
            mark: match (self.fell_short(), is_buffered) {
                (true, true) => Some('x'),
                (true, false) => Some('g'),
                (false, true) => Some('b'),
                (false, false) => None,
            },
            trials: self.numbers(),
        }
    }

    pub(crate) fn fell_short(&self) -> bool {
        self.trials.iter().any(|trial| !is_published_load_sent(trial))
    }

    /// The largest share of the sent frames that was still buffered when sending ended; 0 if unknown.
    fn buffered_share(&self) -> f64 {
        let share = |trial: &&TrialResult| buffered(trial).unwrap_or_default() / trial.sent.max(1) as f64;
        self.trials.iter().map(share).fold(0.0, f64::max)
    }

    /// Whether the condition is true for each of at least two visits: a single one may be disturbed.
    fn every(&self, of: Figure, is: impl Fn(f64) -> bool) -> bool {
        let values = self.values(of);
        values.len() > 1 && values.into_iter().all(is)
    }

    /// Whether a share meets a limit.
    pub(crate) fn meets(&self, limit: Limit, share: Figure) -> bool {
        match limit {
            Limit::AtLeast(least) => self.every(share.without_buffered(), |share| share >= least),
            Limit::Above(least) => self.every(share.without_buffered(), |share| share > least),
            Limit::AtMost(most) => self.every(share, |share| share <= most),
            Limit::Below(most) => self.every(share, |share| share < most),
        }
    }

    /// Why neither a limit nor its contrary is met.
    pub(crate) fn why_inconclusive(&self) -> &'static str {
        match self.trials.len() {
            0 => "it was not measured",
            1 => "one visit is not enough",
            _ if self.buffered_share() > BUFFERED_SHARE => {
                "buffers absorbed the excess until sending had ended, so it needs a longer trial (--scale)"
            }
            _ => "its visits do not agree",
        }
    }

    /// Compares a figure with that of other trials. Differences below `margin` count as none.
    pub(crate) fn against(&self, other: &Seen<'_>, of: Figure, margin: f64) -> Order {
        order(&self.values(of), &other.values(of), margin)
    }
}

/// A mark of numbers in a table of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The letter after a number.
    pub letter: char,
    /// What it means.
    pub meaning: String,
}

/// The marks: the generator did not reach the load, buffers increased the number, or both.
pub fn marks() -> [Mark; 3] {
    let few = percent(BUFFERED_SHARE);
    let short = "g: the generator sent less than the load of the publication; captured is the share of what it did send.";
    let buffered = format!(
        "b: more than {few} of what was sent was still in buffers when sending ended, and counts as captured; a longer trial \
         may lose as much in the same time."
    );
    let both = format!(
        "x: both: the generator sent less than the load, and buffers held more than {few} of what it sent."
    );
    [
        Mark { letter: 'g', meaning: short.into() },
        Mark { letter: 'b', meaning: buffered },
        Mark { letter: 'x', meaning: both },
    ]
}

/// A note if buffers contained more than a few of the sent frames when sending ended; else empty.
pub(crate) fn buffered_note(seen: &[Seen<'_>]) -> String {
    let most = seen.iter().map(Seen::buffered_share).fold(0.0, f64::max);
    if most > BUFFERED_SHARE {
        format!(
            " Up to {} % of what was sent was in buffers when sending ended.",
            Quantity::Captured.text(most)
        )
    } else {
        String::new()
    }
}

/// A note if the receiver slowed the generator; else empty.
pub(crate) fn slowed(seen: &[Seen<'_>]) -> &'static str {
    if seen.iter().flat_map(|seen| &seen.trials).any(|trial| !trial.profile.load_independent) {
        " The receiver's work slowed the generator in some of these trials."
    } else {
        ""
    }
}

/// Compares visits. One visit each proves nothing: the effect of chance is unknown then.
fn order(first: &[f64], second: &[f64], margin: f64) -> Order {
    if first.len() < 2 || second.len() < 2 {
        return Order::Unknown;
    }
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let whole = most(first).max(most(second)) - least(first).min(least(second));
    if least(first) > most(second) + margin {
        Order::Above
    } else if most(first) < least(second) - margin {
        Order::Below
    } else if whole <= margin {
        Order::Alike
    } else {
        Order::Unknown
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    use super::figure::Figure;
    use super::{Order, Seen, order};

    #[test]
    fn buffers_matter_from_a_thousandth_of_the_frames_on() {
        for (seconds, mark) in [(0.097, None), (0.103, Some('b'))] {
            let trial = measured(100_000, 100_000, 100_000, 0);
            let second = Duration::from_secs(1);
            let trial = trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second);
            // Of 100 s: 97 or 103 of 100,000 frames.
            let emptying = Some(Emptying { after_s: seconds, holds_s: 0.0 });
            let mut trial = TrialResult { emptying, sending_s: 100.0, ..trial };
            trial.cpu.batches = 100_000;
            assert_eq!(Seen::from_trials([&trial]).cell(Figure::Captured).mark, mark, "{seconds} s");
        }
    }

    #[test]
    fn visits_differ_only_if_all_of_them_differ() {
        assert_eq!(order(&[0.9, 0.92], &[0.5, 0.6], 0.02), Order::Above);
        assert_eq!(order(&[0.5, 0.6], &[0.9, 0.92], 0.02), Order::Below);
        assert_eq!(order(&[0.9, 0.91], &[0.905, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[0.9, 0.5], &[0.6, 0.4], 0.02), Order::Unknown);
        assert_eq!(order(&[0.905, 0.915], &[0.9, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[1.0], &[0.0], 0.02), Order::Unknown, "one visit shows nothing");
        assert_eq!(order(&[], &[], 0.02), Order::Unknown);
    }
}
