//! One figure on both sides of a comparison: its change, the probability that chance explains it, and the judgement. Single
//! set-ups are tested, and several together; the probabilities are corrected for all tests.

use serde::{Deserialize, Serialize};

use super::left_out::{LeftOut, NotCompared};
use super::measure::{Better, Measure, Scale};
use super::setup::Setup;
use super::{LEVEL, Thresholds};
use capbench_model::statistics::holm::corrected;
use capbench_model::statistics::shift::Groups;
use capbench_model::statistics::{FALSE_ALARMS, aligned, by_key, least_by_chance, median};

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
    /// The change that makes both sides equal (Hodges and Lehmann).
    pub middle: f64,
    /// Lower limit of the change, at the level of [`LEVEL`]; absent if there are too few trials.
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
    /// It became worse, by more than the threshold and than chance explains. Of a loss where none was, the size does not
    /// matter.
    Regression,
    /// It became better, under the same conditions.
    Improvement,
    /// It changed by less than the threshold.
    BelowThreshold,
    /// Chance explains it.
    NotShown,
    /// Too few trials to reach the level with any values.
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
    /// The probability that chance distributes the figures this unevenly or more; absent if there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_chance: Option<f64>,
    /// The same, corrected after Holm for all tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<f64>,
    /// The judgement.
    pub judgement: Judgement,
}

/// Figures of one set-up with their trials. A stratum is a pair that ran together, else trials of one pace of the CPUs.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The set-up.
    pub setup: Setup,
    /// The figure.
    pub measure: Measure,
    /// Values with their trials, of both sides, by stratum.
    pub strata: Vec<[Vec<(f64, u32)>; 2]>,
    /// Number of "at least" figures on each side.
    pub at_least: [usize; 2],
}

impl Matched {
    fn values(&self, side: usize) -> impl Iterator<Item = f64> {
        self.strata.iter().flat_map(move |sides| &sides[side]).map(|(value, _)| *value)
    }

    /// Whether the lower value is what the generator sent, and not a limit of the method.
    pub(crate) fn is_of_generator(&self) -> bool {
        let medians = [0, 1].map(|side| median(self.values(side)).unwrap_or_default());
        let lower = usize::from(medians[1] < medians[0]);
        2 * self.at_least[lower] > self.values(lower).count()
    }

    pub(crate) fn trials(&self) -> u32 {
        (self.values(0).count() + self.values(1).count()) as u32
    }
}

/// Removes comparisons of generators.
pub fn without_those_of_generator(matched: &mut Vec<Matched>, subject: &str) -> Option<LeftOut> {
    let trials = matched.iter().filter(|matched| matched.is_of_generator()).map(Matched::trials).sum();
    matched.retain(|matched| !matched.is_of_generator());
    (trials > 0).then(|| LeftOut { subject: subject.into(), because: NotCompared::RateOfGenerator, trials })
}

/// A contrast, and the lowest probability possible with its number of trials.
#[derive(Debug)]
pub struct Tested {
    /// The contrast.
    pub contrast: Contrast,
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
        for [then, now] in matched.iter().flat_map(|matched| &matched.strata) {
            groups.push((scaled(measure, then), scaled(measure, now)));
        }
        let least = least_by_chance(groups.iter().map(|(then, now)| (then.len(), now.len())));
        let shift = aligned::shift(&groups, LEVEL)?;
        let contrast = Contrast {
            setup: Setup::common(&setups),
            setups: matched.len() as u32,
            measure,
            then: Side::from_matched(measure, matched, 0),
            now: Side::from_matched(measure, matched, 1),
            change: Change {
                middle: measure.change(shift.middle),
                low: shift.ends.map(|(low, _)| measure.change(low)),
                high: shift.ends.map(|(_, high)| measure.change(high)),
            },
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
fn scaled(measure: Measure, values: &[(f64, u32)]) -> Vec<f64> {
    values.iter().map(|(value, _)| measure.scaled(*value)).collect()
}

impl Side {
    /// The earlier side (0) or the current one (1) of these figures.
    fn from_matched(measure: Measure, matched: &[&Matched], side: usize) -> Self {
        let mut trials = Vec::new();
        let mut values = Vec::new();
        for (value, trial) in
            matched.iter().flat_map(|matched| &matched.strata).flat_map(|sides| &sides[side])
        {
            trials.push(*trial);
            values.push(*value);
        }
        let lossy = values.iter().filter(|value| **value > 0.0).count() as u32;
        Self {
            trials,
            lossy: (measure == Measure::LossRatio).then_some(lossy),
            median: if matched.len() == 1 { median(values) } else { None },
        }
    }
}

/// Every set-up separately, then all set-ups of a method together, then all of them.
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

/// Adds a group, unless it is known.
fn add_group<'m>(groups: &mut Vec<Vec<&'m Matched>>, group: Vec<&'m Matched>) {
    for known in groups.iter() {
        let is_same = known.iter().zip(&group).all(|(a, b)| std::ptr::eq(*a, *b));
        if known.len() == group.len() && is_same {
            return;
        }
    }
    groups.push(group);
}

/// The contrasts that count as comparisons (Tarone, 1990): as many share the level as could be significant then. A contrast with
/// too few trials for the level, or with equal values, is never significant. The assignment to sides does not matter for that.
fn testable(tested: &[Tested]) -> Vec<bool> {
    for sharing in 1..=tested.len() {
        let level = FALSE_ALARMS / sharing as f64;
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
    let number = chances.len();
    let mut corrected = corrected(&chances).into_iter();
    let mut contrasts = Vec::new();
    for (tested, is_testable) in tested.into_iter().zip(testable) {
        let is_unchanged = tested.is_constant && tested.least <= FALSE_ALARMS;
        let mut contrast = tested.contrast;
        contrast.corrected = if is_testable { corrected.next() } else { is_unchanged.then_some(1.0) };
        contrast.judgement = contrast.judge(thresholds);
        contrasts.push(contrast);
    }
    (contrasts, number)
}

/// Visits per set-up and side with which each contrast of one set-up could be significant; `None` if each could already.
pub(crate) fn visits_needed(contrasts: &[Contrast], paired: bool) -> Option<u32> {
    let mut single = contrasts.iter().filter(|contrast| contrast.setups == 1);
    if !single.any(|contrast| contrast.judgement == Judgement::TooFewVisits) {
        return None;
    }
    // Contrasts of several set-ups are judged together with them.
    let level = FALSE_ALARMS / contrasts.len().max(1) as f64;
    let mut visits = 2;
    while least_with(visits, paired) > level {
        visits += 1;
    }
    u32::try_from(visits).ok()
}

/// The lowest probability of chance that is possible with this many visits.
fn least_with(visits: usize, paired: bool) -> f64 {
    match paired {
        true => least_by_chance(vec![(1, 1); visits]),
        false => least_by_chance([(visits, visits)]),
    }
}

impl Contrast {
    fn judge(&self, thresholds: Thresholds) -> Judgement {
        let Some(corrected) = self.corrected else { return Judgement::TooFewVisits };
        if corrected > FALSE_ALARMS {
            return Judgement::NotShown;
        }
        if let Some(judgement) = self.onset() {
            return judgement;
        }
        let middle = self.change.middle;
        let threshold = match self.measure.scale() {
            Scale::Ratio => thresholds.relative,
            Scale::Difference => thresholds.loss,
        };
        match (middle.abs() >= threshold, (middle > 0.0) == (self.measure.better() == Better::Higher)) {
            (false, _) => Judgement::BelowThreshold,
            (true, true) => Judgement::Improvement,
            (true, false) => Judgement::Regression,
        }
    }

    /// Loss on one side only: one delivered every frame in all trials, and the other lost some in most, of any size.
    fn onset(&self) -> Option<Judgement> {
        let then = self.then.lossy? as usize;
        let now = self.now.lossy? as usize;
        match (then, now) {
            (0, now) if 2 * now > self.now.trials.len() => Some(Judgement::Regression),
            (then, 0) if 2 * then > self.then.trials.len() => Some(Judgement::Improvement),
            _ => None,
        }
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
