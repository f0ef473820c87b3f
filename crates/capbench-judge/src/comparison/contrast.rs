//! One figure on both sides of a comparison: its change, the probability that chance explains it, and the judgement. Single
//! set-ups are tested, and several together; the probabilities are corrected for all tests.

use serde::{Deserialize, Serialize};

use super::Thresholds;
use super::measure::{Better, Measure, Scale};
use super::setup::Setup;
use crate::thresholds::{COMPARISON_FALSE_ALARMS, COMPARISON_LEVEL, NEW_LOSS_TRIALS};
use capbench_statistics::holm::corrected;
use capbench_statistics::shift::Groups;
use capbench_statistics::{aligned, by_key, least_by_chance, median};

/// One side of a contrast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Side {
    /// The trials, in the order in which they ran.
    pub trials: Vec<u32>,
    /// Their median; absent if several set-ups are compared together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Trials that lost sent frames, if the figure is loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<u32>,
}

/// The change of a figure: relative to the earlier value; for shares, the difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// The change that makes both sides equal (Hodges and Lehmann), between the limits.
    pub middle: f64,
    /// Lower limit of the change, at the confidence level of comparisons; absent if there are too few trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper limit of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The figure became worse, by more than the threshold and than chance explains. Of a loss where none was, the size does not
    /// matter.
    Regression,
    /// The figure became better, under the same conditions.
    Improvement,
    /// The figure changed by less than the threshold.
    BelowThreshold,
    /// Chance explains the change.
    NotShown,
    /// There are too few trials for a test: chance could explain any values.
    TooFewVisits,
}

/// One figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Contrast {
    /// The compared set-up, or the common properties of several.
    pub setup: Setup,
    /// Number of set-ups.
    pub setups: u32,
    /// The figure.
    pub measure: Measure,
    /// The earlier side.
    pub then: Side,
    /// The current side.
    pub now: Side,
    /// The change.
    pub change: Change,
    /// The probability that chance alone distributes the figures over both sides at least this unevenly; absent if there are too few
    /// figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_chance: Option<f64>,
    /// This probability, corrected after Holm for all tests; absent if the figure could not be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<f64>,
    /// The judgement.
    pub judgement: Judgement,
}

/// Index of the earlier side where both sides are in an array.
pub(super) const THEN: usize = 0;
/// Index of the current side.
pub(super) const NOW: usize = 1;

/// The value of a figure in a trial.
#[derive(Clone, Copy, Debug)]
pub struct TrialValue {
    /// The value, in the figure's unit.
    pub value: f64,
    /// The number of the trial.
    pub trial: u32,
}

/// Values that are compared with each other: the earlier ones, then the present ones.
pub type Stratum = [Vec<TrialValue>; 2];

/// The values of one figure in one set-up. A stratum is a pair of trials that ran together, else trials of one pace of the CPUs, or
/// the runs of a host.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The set-up.
    pub setup: Setup,
    /// The figure.
    pub measure: Measure,
    /// The values.
    pub strata: Vec<Stratum>,
    /// How many values of each side may be higher: there the method lost nothing at the generator's maximum.
    pub at_least: [usize; 2],
}

impl Matched {
    pub(super) fn values(&self, side: usize) -> impl Iterator<Item = f64> {
        self.strata.iter().flat_map(move |stratum| &stratum[side]).map(|known| known.value)
    }

    pub(super) fn median(&self, side: usize) -> f64 {
        median(self.values(side)).unwrap_or_default()
    }

    pub(super) fn trials(&self) -> u32 {
        (self.values(THEN).count() + self.values(NOW).count()) as u32
    }
}

/// A contrast before it is judged together with the others.
#[derive(Debug)]
pub struct Tested {
    /// The contrast.
    pub contrast: Contrast,
    /// The lowest probability that is possible with its number of trials.
    least: f64,
    /// Whether all values are equal: no permutation proves anything, and nothing changed.
    is_constant: bool,
}

impl Tested {
    /// Tests the figures of one set-up, or of several together; `None` without values on both sides.
    fn from_matched(matched: &[&Matched]) -> Option<Self> {
        let measure = matched.first()?.measure;
        let setups: Vec<&Setup> = matched.iter().map(|matched| &matched.setup).collect();
        let mut groups: Vec<Groups> = Vec::new();
        for stratum in matched.iter().flat_map(|matched| &matched.strata) {
            groups.push((scaled(measure, &stratum[THEN]), scaled(measure, &stratum[NOW])));
        }
        let least = least_by_chance(groups.iter().map(|(then, now)| (then.len(), now.len())));
        let shift = aligned::shift(&groups, COMPARISON_LEVEL)?;
        let contrast = Contrast {
            setup: Setup::common(&setups),
            setups: matched.len() as u32,
            measure,
            then: Side::from_matched(measure, matched, THEN),
            now: Side::from_matched(measure, matched, NOW),
            change: Change {
                middle: measure.change(shift.middle),
                low: shift.ends.map(|(low, _)| measure.change(low)),
                high: shift.ends.map(|(_, high)| measure.change(high)),
            },
            // With a single value on each side every probability is 1.
            by_chance: (least < 1.0).then(|| aligned::test(&groups, 0.0).two_sided()),
            corrected: None,
            judgement: Judgement::TooFewVisits,
        };
        Some(Self { contrast, least, is_constant: aligned::is_constant(&groups) })
    }

    /// Whether it could be significant at this level, by its number of trials.
    fn is_testable(&self, level: f64) -> bool {
        !self.is_constant && self.least <= level
    }
}

/// The values on the scale on which differences are computed.
pub(super) fn scaled(measure: Measure, values: &[TrialValue]) -> Vec<f64> {
    values.iter().map(|known| measure.scaled(known.value)).collect()
}

impl Side {
    /// One side of these figures: [`THEN`] or [`NOW`].
    fn from_matched(measure: Measure, matched: &[&Matched], side: usize) -> Self {
        let mut trials = Vec::new();
        let mut values = Vec::new();
        for stratum in matched.iter().flat_map(|matched| &matched.strata) {
            for known in &stratum[side] {
                trials.push(known.trial);
                values.push(known.value);
            }
        }
        let lossy = values.iter().filter(|value| **value > 0.0).count() as u32;
        Self {
            trials,
            lossy: (measure == Measure::LossRatio).then_some(lossy),
            median: if matched.len() == 1 { median(values) } else { None },
        }
    }
}

impl Side {
    /// Whether so many of its trials lose frames that a loss is new on this side, if the other one has none.
    fn loses_frames(&self) -> bool {
        let lossy = f64::from(self.lossy.unwrap_or(0));
        lossy > NEW_LOSS_TRIALS * self.trials.len() as f64
    }
}

/// Every set-up separately, then all set-ups of a method together, then all of them. A group of one set-up is tested once.
pub fn tested(matched: &[Matched]) -> Vec<Tested> {
    let mut groups: Vec<Vec<&Matched>> = matched.iter().map(|matched| vec![matched]).collect();
    for (_, of_method) in by_key(matched, |matched| (matched.measure, &matched.setup.method)) {
        add_group(&mut groups, of_method);
    }
    for (_, of_measure) in by_key(matched, |matched| matched.measure) {
        add_group(&mut groups, of_measure);
    }
    groups.iter().filter_map(|group| Tested::from_matched(group)).collect()
}

/// Adds a group, unless there is one with the same members.
fn add_group<'m>(groups: &mut Vec<Vec<&'m Matched>>, group: Vec<&'m Matched>) {
    if !groups.iter().any(|known| are_same(known, &group)) {
        groups.push(group);
    }
}

fn are_same(one: &[&Matched], other: &[&Matched]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| std::ptr::eq(*a, *b))
}

/// For each contrast, whether it counts as a comparison (Tarone, 1990). The comparisons share the level, and a contrast counts only
/// if it could be significant at its share. So the smallest number of shares is chosen at which no more contrasts count than there
/// are shares. A contrast with too few trials for its share, or with equal values, is never significant, whichever values are on
/// which side.
fn testable(tested: &[Tested]) -> Vec<bool> {
    for sharing in 1..=tested.len() {
        let level = COMPARISON_FALSE_ALARMS / sharing as f64;
        let testable: Vec<bool> = tested.iter().map(|tested| tested.is_testable(level)).collect();
        if testable.iter().filter(|is_testable| **is_testable).count() <= sharing {
            return testable;
        }
    }
    Vec::new()
}

/// Judges all contrasts together, and counts those that could be tested.
pub(crate) fn judged(tested: Vec<Tested>, thresholds: Thresholds) -> (Vec<Contrast>, usize) {
    let testable = testable(&tested);
    let mut chances = Vec::new();
    for (tested, is_testable) in tested.iter().zip(&testable) {
        if *is_testable {
            chances.push(tested.contrast.by_chance.unwrap_or(1.0));
        }
    }
    let number_of_tests = chances.len();
    let mut corrected = corrected(&chances).into_iter();
    let mut contrasts = Vec::new();
    for (tested, is_testable) in tested.into_iter().zip(testable) {
        // Equal values on both sides are known not to differ, if there are enough of them for a test.
        let is_unchanged = tested.is_constant && tested.least <= COMPARISON_FALSE_ALARMS;
        let mut contrast = tested.contrast;
        contrast.corrected = if is_testable { corrected.next() } else { is_unchanged.then_some(1.0) };
        contrast.judgement = contrast.judge(thresholds);
        contrasts.push(contrast);
    }
    (contrasts, number_of_tests)
}

impl Contrast {
    /// The judgement by the corrected probability, and by the size of the change.
    fn judge(&self, thresholds: Thresholds) -> Judgement {
        let Some(corrected) = self.corrected else { return Judgement::TooFewVisits };
        if corrected > COMPARISON_FALSE_ALARMS {
            return Judgement::NotShown;
        }
        if let Some(judgement) = self.onset_of_loss() {
            return judgement;
        }
        let change = self.change.middle;
        let threshold = match self.measure.scale() {
            Scale::Ratio => thresholds.relative,
            Scale::Difference => thresholds.loss,
        };
        if change.abs() < threshold {
            return Judgement::BelowThreshold;
        }
        let is_better = match self.measure.better() {
            Better::Higher => change > 0.0,
            Better::Lower => change <= 0.0,
        };
        if is_better { Judgement::Improvement } else { Judgement::Regression }
    }

    /// The judgement of a loss that one side has in most trials, and the other in none. Its size does not matter. `None` of other
    /// figures.
    fn onset_of_loss(&self) -> Option<Judgement> {
        let then = self.then.lossy?;
        let now = self.now.lossy?;
        if then == 0 && self.now.loses_frames() {
            return Some(Judgement::Regression);
        }
        if now == 0 && self.then.loses_frames() {
            return Some(Judgement::Improvement);
        }
        None
    }

    /// The largest change for the worse that the interval does not exclude, 0 or more; `None` if there is no interval.
    pub fn worst_possible(&self) -> Option<f64> {
        let worst = match self.measure.better() {
            Better::Higher => self.change.low.map(|low| -low),
            Better::Lower => self.change.high,
        };
        worst.map(|worst| worst.max(0.0))
    }
}
