//! One figure on both sides: its change, the probability of chance, and the judgement.

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
        self.strata.iter().flat_map(move |hands| &hands[side]).map(|(value, _)| *value)
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
pub fn without_those_of_generator(matched: &mut Vec<Matched>, of: &str) -> Option<LeftOut> {
    let trials = matched.iter().filter(|one| one.is_of_generator()).map(Matched::trials).sum();
    matched.retain(|one| !one.is_of_generator());
    (trials > 0).then(|| LeftOut { of: of.into(), because: NotCompared::RateOfGenerator, trials })
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
    fn from_matched(matched: &[&Matched]) -> Option<Self> {
        let measure = matched.first()?.measure;
        let setups: Vec<&Setup> = matched.iter().map(|matched| &matched.setup).collect();
        let strata: Vec<&[Vec<(f64, u32)>; 2]> = matched.iter().flat_map(|matched| &matched.strata).collect();
        let values =
            |hand: &[(f64, u32)]| hand.iter().map(|(value, _)| measure.scaled(*value)).collect::<Vec<_>>();
        let hands: Vec<Groups> = strata.iter().map(|[then, now]| (values(then), values(now))).collect();
        let side = |nth: usize| {
            let figures = || strata.iter().flat_map(move |hands| &hands[nth]);
            let values = || figures().map(|(value, _)| *value);
            Side {
                trials: figures().map(|(_, trial)| *trial).collect(),
                median: median(values()).filter(|_| matched.len() == 1),
                lossy: (measure == Measure::LossRatio)
                    .then(|| values().filter(|value| *value > 0.0).count() as u32),
            }
        };
        let least = least_by_chance(hands.iter().map(|(then, now)| (then.len(), now.len())));
        let shift = aligned::shift(&hands, LEVEL)?;
        let change = |difference: f64| measure.change(difference);
        let contrast = Contrast {
            setup: Setup::common(&setups),
            setups: matched.len() as u32,
            measure,
            then: side(0),
            now: side(1),
            change: Change {
                middle: change(shift.middle),
                low: shift.ends.map(|(low, _)| change(low)),
                high: shift.ends.map(|(_, high)| change(high)),
            },
            by_chance: (least < 1.0).then(|| aligned::test(&hands, 0.0).two_sided()),
            corrected: None,
            judgement: Judgement::TooFewVisits,
        };
        Some(Self { contrast, least, is_constant: aligned::is_constant(&hands) })
    }
}

/// Every set-up separately, then all set-ups of a method together, then all of them.
pub fn all(matched: &[Matched]) -> Vec<Tested> {
    let mut groups: Vec<Vec<&Matched>> = matched.iter().map(|matched| vec![matched]).collect();
    let by_method = by_key(matched, |one| (one.measure, &one.setup.method));
    let together = by_method.into_iter().map(|(_, group)| group);
    let by_measure = by_key(matched, |one| one.measure).into_iter().map(|(_, group)| group);
    for group in together.chain(by_measure) {
        let is_group = |known: &Vec<&Matched>| {
            known.len() == group.len() && known.iter().zip(&group).all(|(a, b)| std::ptr::eq(*a, *b))
        };
        if !groups.iter().any(is_group) {
            groups.push(group);
        }
    }
    groups.iter().filter_map(|group| Tested::from_matched(group)).collect()
}

/// Judges all contrasts together, and counts those that could be tested. A contrast with too few trials for the level, or with
/// equal values, is never significant and counts as no comparison (Tarone, 1990). The assignment to sides does not matter for
/// that.
pub(crate) fn judged(tested: Vec<Tested>, thresholds: Thresholds) -> (Vec<Contrast>, usize) {
    let within = |part: usize| {
        let level = FALSE_ALARMS / part as f64;
        tested.iter().map(move |tested| !tested.is_constant && tested.least <= level).collect::<Vec<bool>>()
    };
    let count = |family: &[bool]| family.iter().filter(|is_in| **is_in).count();
    let family = (1..=tested.len()).map(within).zip(1..).find(|(family, part)| count(family) <= *part);
    let family = family.map(|(family, _)| family).unwrap_or_default();
    let chances: Vec<f64> = tested
        .iter()
        .zip(&family)
        .filter(|(_, is_in)| **is_in)
        .map(|(tested, _)| tested.contrast.by_chance.unwrap_or(1.0))
        .collect();
    let number = chances.len();
    let mut corrected = corrected(&chances).into_iter();
    let mut contrasts = Vec::new();
    for (tested, is_in) in tested.into_iter().zip(family) {
        let mut contrast = tested.contrast;
        let is_unchanged = tested.is_constant && tested.least <= FALSE_ALARMS;
        contrast.corrected = if is_in { corrected.next() } else { is_unchanged.then_some(1.0) };
        contrast.judgement = contrast.judge(thresholds);
        contrasts.push(contrast);
    }
    (contrasts, number)
}

/// Visits per set-up and side with which each contrast of one set-up could be significant; `None` if each could already.
pub(crate) fn visits_needed(contrasts: &[Contrast], paired: bool) -> Option<u32> {
    let single = || contrasts.iter().filter(|contrast| contrast.setups == 1);
    let is_short = single().any(|contrast| contrast.judgement == Judgement::TooFewVisits);
    // Contrasts of several set-ups are judged in the same family.
    let level = FALSE_ALARMS / contrasts.len().max(1) as f64;
    let least = |visits: usize| match paired {
        true => least_by_chance(vec![(1, 1); visits]),
        false => least_by_chance([(visits, visits)]),
    };
    if !is_short {
        return None;
    }
    let mut visits = 2;
    while least(visits) > level {
        visits += 1;
    }
    u32::try_from(visits).ok()
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
        let (then, now) = self.then.lossy.zip(self.now.lossy)?;
        let is_most = |lossy: u32, side: &Side| 2 * lossy as usize > side.trials.len();
        match (then, now) {
            (0, now) if is_most(now, &self.now) => Some(Judgement::Regression),
            (then, 0) if is_most(then, &self.then) => Some(Judgement::Improvement),
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
