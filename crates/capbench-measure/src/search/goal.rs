//! Search goals as data (RFC 9971 section 4.6): what a load must show to count as held, and how closely its bounds are
//! wanted.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::criteria::Criteria;
use super::ratio::Ratio;
use super::seconds;
use crate::error::{MeasureError, Result};

/// How loads are chosen for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Multiple loss ratio search (RFC 9971): short trials first, all goals from shared trials.
    Mlr,
    /// Plain binary search over the rate, each load until it is decided (RFC 2544 section 26.1; with more than one trial a
    /// load, binary search with loss verification, ETSI GS NFV-TST 009 section 12.3.3).
    Binary,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mlr => "mlr",
            Self::Binary => "binary",
        })
    }
}

/// How far apart the bounds of a regular result may be.
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
    pub(super) fn is_met(self, lower: f64, upper: f64, maximum: f64) -> bool {
        let whole = match self {
            Self::Relative(_) => upper,
            Self::OfMaximum(_) => maximum,
        };
        // Rounding of rates is no width.
        upper - lower <= self.ratio().get() * whole * (1.0 + 1e-9)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(ratio) => write!(f, "{ratio}"),
            Self::OfMaximum(ratio) => write!(f, "{ratio} of the maximum load"),
        }
    }
}

/// A search goal with all its attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Goal {
    /// What the user calls it.
    pub name: String,
    /// How loads are chosen.
    pub strategy: Strategy,
    /// Goal Loss Ratio: a trial that loses more is a high-loss trial.
    pub loss_ratio: Ratio,
    /// Goal Exceed Ratio: the share of the time that may be in high-loss trials.
    pub exceed_ratio: Ratio,
    /// Goal Width.
    pub width: Width,
    /// Goal Final Trial Duration.
    #[serde(rename = "final_trial_duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub final_duration: Duration,
    /// Goal Duration Sum: how much trial time at a load decides it at most.
    #[serde(rename = "duration_sum_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub duration_sum: Duration,
    /// Goal Initial Trial Duration: length of the first trials. Of no meaning to [`Strategy::Binary`].
    #[serde(rename = "initial_trial_duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub initial_duration: Duration,
    /// How many coarser targets come before the goal itself. Of no meaning to [`Strategy::Binary`].
    pub preceding_targets: u32,
}

impl Goal {
    /// Expansion of the step of an external search that has missed.
    pub(super) const EXPANSION: i64 = 2;
    /// Coarser targets at most: each doubles the width.
    const MOST_TARGETS: u32 = 8;
    /// Full-length trials that a load may take: more than any evidence needs, and no search comes to its end with them.
    const MOST_TRIALS: u128 = 10_000;
    /// Longer than any trial or load takes.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
    /// The clocks of two hosts are further apart.
    const LEAST_WIDTH: Ratio = Ratio::fixed(1e-6);

    /// Whether its attributes can be met together.
    ///
    /// # Errors
    /// [`MeasureError::Goal`] with what contradicts what.
    pub fn validate(&self) -> Result<()> {
        let refuse = |reason: String| Err(MeasureError::Goal { goal: self.name.clone(), reason });
        let (sum, last, first) = (self.duration_sum, self.final_duration, self.initial_duration);
        let is_name = self.name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_name {
            return refuse("a name has letters, digits, -, _ and . only".into());
        }
        if last.is_zero() || sum.is_zero() || first.is_zero() {
            return refuse("durations are above 0".into());
        }
        if last.max(sum).max(first) > Self::LONGEST {
            return refuse("duration, sum and initial are at most 30 days".into());
        }
        if sum < last {
            return refuse(format!(
                "sum={sum:?} is shorter than one trial of duration={last:?}; give at least that"
            ));
        }
        if first > last {
            return refuse(format!(
                "initial={first:?} is longer than duration={last:?}; first trials are the short ones"
            ));
        }
        if self.width.ratio() == Ratio::ZERO {
            return refuse("width=0 is never reached; 0.5% is usual".into());
        }
        if self.width.ratio() < Self::LEAST_WIDTH {
            return refuse(format!(
                "width={} is closer than rates can be told apart; give at least {}",
                self.width,
                Self::LEAST_WIDTH
            ));
        }
        if sum.as_nanos().div_ceil(last.as_nanos()) > Self::MOST_TRIALS {
            return refuse(format!(
                "sum={sum:?} asks for more than {} trials of duration={last:?} at a load; give a smaller sum or longer \
                 trials",
                Self::MOST_TRIALS
            ));
        }
        if self.width.ratio() < self.loss_ratio {
            return refuse(format!(
                "width={} is below loss={}: within the loss that it allows, a narrower interval says nothing \
                 (RFC 9971); give a width of at least {}",
                self.width, self.loss_ratio, self.loss_ratio
            ));
        }
        if self.strategy == Strategy::Mlr && matches!(self.width, Width::OfMaximum(_)) {
            return refuse("a width of the maximum load needs strategy=binary".into());
        }
        if self.preceding_targets > Self::MOST_TARGETS {
            return refuse(format!("targets={} is more than {}", self.preceding_targets, Self::MOST_TARGETS));
        }
        let coarsest = self.width.ratio().get() * 2f64.powi(self.preceding_targets as i32);
        if self.strategy == Strategy::Mlr && coarsest >= 1.0 {
            return refuse(format!(
                "width={} doubled {} times is the whole; give a smaller width or fewer targets",
                self.width, self.preceding_targets
            ));
        }
        Ok(())
    }

    /// What decides a load.
    pub fn criteria(&self) -> Criteria {
        Criteria {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            full_length: self.final_duration,
            duration_sum: self.duration_sum,
        }
    }

    /// What decides a load for each of its targets, the coarsest first, its own last: coarser ones decide by less trial
    /// time, and serve to come near. A goal of [`Strategy::Binary`] has no other than its own.
    pub(super) fn chain(&self) -> Vec<Criteria> {
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

    /// The shortest trial that it asks for.
    pub fn shortest_trial(&self) -> Duration {
        match self.strategy {
            Strategy::Mlr => self.initial_duration,
            Strategy::Binary => self.final_duration,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: loss at most {}, trials of {:?}, {:?} a load, exceed ratio {}, width {}, strategy {}",
            self.name,
            self.loss_ratio,
            self.final_duration,
            self.duration_sum,
            self.exceed_ratio,
            self.width,
            self.strategy
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Goal, Strategy, Width};
    use crate::search::presets;
    use crate::search::ratio::Ratio;

    fn ndr() -> Goal {
        presets::goals("ndr").unwrap().remove(0)
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
