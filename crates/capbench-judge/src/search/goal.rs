//! Search goals as data (RFC 9971 section 4.6): the criteria for a sustained load, and the required distance of its bounds.

mod fault;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::fault::GoalFault;
use crate::ratio::Ratio;
use crate::sustained::Criteria;
use crate::{JudgeError, Result};

/// Durations as seconds in files, for keys that end in `_s`.
pub(super) mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }

    pub(crate) mod optional {
        use super::{Deserialize, Deserializer, Duration, Error, Serialize, Serializer};

        pub(crate) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
            time.map(|time| time.as_secs_f64()).serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
            let seconds = Option::<f64>::deserialize(from)?;
            seconds.map(Duration::try_from_secs_f64).transpose().map_err(D::Error::custom)
        }
    }
}

/// How loads are chosen for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Multiple loss ratio search (RFC 9971): short trials first, all goals from shared trials.
    Mlr,
    /// Plain binary search over the rate. Each load is tried until it is decided (RFC 2544 section 26.1; with more than one
    /// trial per load, binary search with loss verification, ETSI GS NFV-TST 009 section 12.3.3).
    Binary,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Suffix of widths relative to the maximum load. Without it, widths are relative to the upper bound.
const OF_MAXIMUM: &str = "max";

/// The maximum distance between the bounds of a regular result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// As a share of the upper bound.
    Relative(Ratio),
    /// As a share of the maximum load of the search. Only for [`Strategy::Binary`].
    OfMaximum(Ratio),
}

impl Width {
    /// The share.
    pub fn ratio(self) -> Ratio {
        let (Self::Relative(ratio) | Self::OfMaximum(ratio)) = self;
        ratio
    }

    /// Whether bounds are close enough; rates in frames per second.
    pub fn is_met(self, lower: f64, upper: f64, maximum: f64) -> bool {
        let whole = match self {
            Self::Relative(_) => upper,
            Self::OfMaximum(_) => maximum,
        };
        // A difference due to rounding is not a width.
        upper - lower <= self.ratio().get() * whole * (1.0 + 1e-9)
    }
}

/// As users write it: `0.5 %` of the upper bound, `0.1 %max` of the maximum load.
impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(ratio) => write!(f, "{ratio}"),
            Self::OfMaximum(ratio) => write!(f, "{ratio}{OF_MAXIMUM}"),
        }
    }
}

impl FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.strip_suffix(OF_MAXIMUM) {
            Some(share) => Ok(Self::OfMaximum(share.parse()?)),
            None => Ok(Self::Relative(text.parse()?)),
        }
    }
}

/// A search goal with all its attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Goal {
    /// The user's name for it.
    pub name: String,
    /// How loads are chosen.
    pub strategy: Strategy,
    /// Goal Loss Ratio: a trial that loses more is a high-loss trial.
    pub loss_ratio: Ratio,
    /// Goal Exceed Ratio: the allowed share of the time in high-loss trials.
    pub exceed_ratio: Ratio,
    /// Goal Width.
    pub width: Width,
    /// Goal Final Trial Duration.
    #[serde(rename = "final_trial_duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub final_duration: Duration,
    /// Goal Duration Sum: the maximum trial time that decides a load.
    #[serde(rename = "duration_sum_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub duration_sum: Duration,
    /// Goal Initial Trial Duration: length of the first trials. [`Strategy::Binary`] ignores it.
    #[serde(rename = "initial_trial_duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub initial_duration: Duration,
    /// Number of coarser targets before the goal itself. [`Strategy::Binary`] ignores it.
    pub preceding_targets: u32,
}

impl Goal {
    /// Factor by which the step of an external search grows after a miss.
    pub const EXPANSION: i64 = 2;
    /// Maximum number of coarser targets: each doubles the width.
    const MOST_TARGETS: u32 = 8;
    /// Maximum number of full-length trials per load. No evidence requires more, and no search with more would end.
    const MOST_TRIALS: u128 = 10_000;
    /// Longer than any trial or load.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
    /// The clocks of two hosts differ by more than this.
    const LEAST_WIDTH: Ratio = Ratio::fixed(1e-6);

    /// Checks that its attributes are consistent. Fails with the contradiction.
    pub fn validate(&self) -> Result<()> {
        let (sum, last, first) = (self.duration_sum, self.final_duration, self.initial_duration);
        let (width, share, targets) = (self.width, self.width.ratio(), self.preceding_targets);
        let is_name = self.name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let is_mlr = self.strategy == Strategy::Mlr;
        let coarsest = share.get() * 2f64.powi(targets as i32);
        let refusals = [
            (!is_name, GoalFault::Name),
            (last.is_zero() || sum.is_zero() || first.is_zero(), GoalFault::ZeroDuration),
            (last.max(sum).max(first) > Self::LONGEST, GoalFault::TooLong),
            (sum < last, GoalFault::SumBelowTrial { sum, last }),
            (first > last, GoalFault::LongInitial { first, last }),
            (share == Ratio::ZERO, GoalFault::ZeroWidth),
            (share < Self::LEAST_WIDTH, GoalFault::TooNarrow { width, least: Self::LEAST_WIDTH }),
            (
                sum.as_nanos().div_ceil(last.as_nanos().max(1)) > Self::MOST_TRIALS,
                GoalFault::TooManyTrials { sum, last, most: Self::MOST_TRIALS },
            ),
            (share < self.loss_ratio, GoalFault::WidthBelowLoss { width, loss: self.loss_ratio }),
            (is_mlr && matches!(width, Width::OfMaximum(_)), GoalFault::WidthOfMaximum),
            (targets > Self::MOST_TARGETS, GoalFault::TooManyTargets { targets, most: Self::MOST_TARGETS }),
            (is_mlr && coarsest >= 1.0, GoalFault::WholeWidth { width, targets }),
        ];
        match refusals.into_iter().find(|(is_refused, _)| *is_refused) {
            Some((_, fault)) => Err(JudgeError::Goal { goal: self.name.clone(), reason: fault.to_string() }),
            None => Ok(()),
        }
    }

    /// The criteria that decide a load.
    pub fn criteria(&self) -> Criteria {
        Criteria {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            full_length: self.final_duration,
            duration_sum: self.duration_sum,
        }
    }

    /// The criteria of its targets, coarsest first, the goal last. Coarser ones narrow the range with less trial time.
    pub fn chain(&self) -> Vec<Criteria> {
        let preceding = match self.strategy {
            Strategy::Mlr => self.preceding_targets,
            Strategy::Binary => 0,
        };
        let whole = self.duration_sum.as_secs_f64();
        let factor = (self.initial_duration.as_secs_f64() / whole).powf(1.0 / f64::from(preceding.max(1)));
        (0..=preceding)
            .rev()
            .map(|coarser| {
                let duration_sum = match coarser {
                    0 => self.duration_sum,
                    last if last == preceding => self.initial_duration,
                    between => Duration::from_secs_f64(whole * factor.powi(between as i32)),
                };
                let full_length = self.final_duration.min(duration_sum);
                Criteria { full_length, duration_sum, ..self.criteria() }
            })
            .collect()
    }

    /// The shortest trial that it requires.
    pub fn shortest_trial(&self) -> Duration {
        match self.strategy {
            Strategy::Mlr => self.initial_duration,
            Strategy::Binary => self.final_duration,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Goal, Ratio, Strategy, Width};
    use crate::search::preset::goals_of_preset;

    fn ndr() -> Goal {
        goals_of_preset("ndr").unwrap().remove(0)
    }

    #[test]
    fn contradictions_are_named_with_what_to_give_instead() {
        let ratio = |value| Ratio::new(value).unwrap();
        let second = Duration::from_secs(1);
        let cases = [
            (Goal { width: Width::Relative(Ratio::ZERO), ..ndr() }, "width=0"),
            (Goal { loss_ratio: ratio(0.01), ..ndr() }, "width=0.5 % is below loss=1 %"),
            (
                Goal { duration_sum: second / 2, initial_duration: second / 4, ..ndr() },
                "shorter than one trial",
            ),
            (Goal { initial_duration: second * 2, ..ndr() }, "is longer than duration=1s"),
            (Goal { final_duration: Duration::ZERO, ..ndr() }, "above 0"),
            (Goal { width: Width::OfMaximum(ratio(0.001)), ..ndr() }, "strategy=binary"),
            (Goal { width: Width::Relative(ratio(0.3)), ..ndr() }, "the whole"),
            (Goal { preceding_targets: 99, ..ndr() }, "more than 8"),
            (Goal { name: "a b".into(), ..ndr() }, "letters"),
            (Goal { width: Width::Relative(ratio(1e-17)), ..ndr() }, "give at least 0.0001 %"),
            (Goal { final_duration: Duration::MAX, duration_sum: Duration::MAX, ..ndr() }, "at most 30 days"),
            (Goal { duration_sum: second * 10_001, ..ndr() }, "more than 10000 trials"),
        ];
        for (goal, expected) in cases {
            let text = goal.validate().unwrap_err().to_string();
            assert!(text.contains(expected) && text.starts_with("goal "), "{text}");
        }
        assert!(
            Goal { strategy: Strategy::Binary, width: Width::OfMaximum(ratio(0.001)), ..ndr() }
                .validate()
                .is_ok()
        );
    }

    #[test]
    fn a_goal_survives_json_with_its_units_in_the_keys() {
        let text = serde_json::to_string(&ndr()).unwrap();
        assert_eq!(serde_json::from_str::<Goal>(&text).unwrap(), ndr());
        for key in
            ["\"final_trial_duration_s\":1.0", "\"duration_sum_s\":21.0", "\"width\":{\"relative\":0.005}"]
        {
            assert!(text.contains(key), "{key} in {text}");
        }
    }
}
