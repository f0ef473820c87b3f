//! What a search is to do.

use std::time::Duration;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::binary::Binary;
use super::goal::{Goal, Strategy};
use super::grid::Grid;
use super::maximum::MaximumLoad;
use super::mlr::Mlr;
use super::request::Strategist;
use super::{estimate, seconds};
use crate::error::{MeasureError, Result};
use crate::figures::grouped;

/// Length of the trials that find out what the generator can do.
pub const SELF_TEST: Duration = Duration::from_secs(1);
/// The least load of a search, frames per second.
pub const LEAST_LOAD: f64 = 1000.0;

/// A search: its goals and its limits. Everything else about its trials is constant, and no part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchPlan {
    /// The goals, which share one set of trials.
    pub goals: Vec<Goal>,
    /// The least load that is looked at.
    pub least_pps: Pps,
    /// The highest load that is looked at; what the generator can do by its self-test where absent.
    pub maximum_pps: Option<Pps>,
    /// What the link can carry at most, where it has a speed.
    pub line_rate_pps: Option<Pps>,
    /// Length of the self-test's trials.
    #[serde(rename = "self_test_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub self_test: Duration,
    /// Time that trials may take, drains included. A trial is not begun when its sending alone would take more than is left.
    #[serde(rename = "time_allowed_s", with = "seconds::optional")]
    #[schemars(with = "Option<f64>")]
    pub time_allowed: Option<Duration>,
    /// Time that trials may send, without drains and whatever else they take; likewise.
    #[serde(
        rename = "traffic_allowed_s",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub traffic_allowed: Option<Duration>,
    /// Frames that the traffic sends at once; 1 where it is evenly spaced.
    pub burst_frames: u32,
    /// How long a trial waits for frames that are missing, as its set-up has it: only the estimate asks.
    #[serde(rename = "quiet_s", with = "seconds", default)]
    #[schemars(with = "f64")]
    pub quiet: Duration,
}

impl SearchPlan {
    /// A search for these goals with limits as they are where nothing else is asked for.
    pub fn new(goals: Vec<Goal>) -> Self {
        Self {
            goals,
            least_pps: Pps::new(LEAST_LOAD).expect("a legal rate"),
            maximum_pps: None,
            line_rate_pps: None,
            self_test: SELF_TEST,
            time_allowed: None,
            traffic_allowed: None,
            burst_frames: 1,
            quiet: Duration::ZERO,
        }
    }

    /// The same on a link that carries so many frames per second at most; `None` where it has no speed.
    #[must_use]
    pub fn on_link(&self, line_rate: Option<Pps>) -> Self {
        Self { line_rate_pps: line_rate, ..self.clone() }
    }

    /// Whether it can be run as it is. What is doubtful but can be run comes back as warnings.
    ///
    /// # Errors
    /// [`MeasureError::Goal`] and [`MeasureError::Search`] with what contradicts what, and when the time allowed cannot
    /// suffice.
    pub fn validate(&self) -> Result<Vec<String>> {
        let refuse = |reason: String| Err(MeasureError::Search { reason });
        if self.goals.is_empty() {
            return refuse("there is no goal; give one, for example ndr".into());
        }
        for (position, goal) in self.goals.iter().enumerate() {
            goal.validate()?;
            if self.goals[..position].iter().any(|other| other.name == goal.name) {
                return refuse(format!("two goals are called {}; give one of them another name", goal.name));
            }
            let frames = self.least_pps.get() * goal.shortest_trial().as_secs_f64();
            if frames < f64::from(self.burst_frames.max(1)) {
                let (short, change) = match self.burst_frames {
                    0 | 1 => ("less than a frame".into(), ""),
                    burst => (
                        format!("{frames:.0} frames, which is shorter than a burst of {burst}"),
                        " or smaller bursts",
                    ),
                };
                return Err(MeasureError::Goal {
                    goal: goal.name.clone(),
                    reason: format!(
                        "a trial of {:?} at the least load, {} packets/s, is {short}; give a longer duration, a higher least \
                         load{change}",
                        goal.shortest_trial(),
                        grouped(self.least_pps.get()),
                    ),
                });
            }
        }
        if self.self_test.is_zero() {
            return refuse("the self-test of the generator needs a duration above 0".into());
        }
        if let Some(line) = self.line_rate_pps.filter(|line| self.least_pps >= *line) {
            return refuse(format!(
                "the least load, {} packets/s, is not below the line rate, {} packets/s of this size",
                grouped(self.least_pps.get()),
                grouped(line.get().floor())
            ));
        }
        if let Some(maximum) = self.maximum_pps {
            if maximum <= self.least_pps {
                return refuse(format!(
                    "the maximum load, {} packets/s, is not above the least, {} packets/s",
                    grouped(maximum.get()),
                    grouped(self.least_pps.get())
                ));
            }
            if let Some(line) = self.line_rate_pps.filter(|line| maximum > *line) {
                return refuse(format!(
                    "the maximum load, {} packets/s, is above the line rate, {} packets/s of this size; give \
                     at most that, or no maximum load",
                    grouped(maximum.get()),
                    grouped(line.get().floor())
                ));
            }
        }
        let mut warnings = self.doubts();
        warnings.extend(estimate::enough(self)?);
        Ok(warnings)
    }

    /// What can be run and is worth a word.
    fn doubts(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mlr = || self.goals.iter().filter(|goal| goal.strategy == Strategy::Mlr);
        let most_loss = mlr().map(|goal| goal.loss_ratio).reduce(|a, b| if b > a { b } else { a });
        for goal in mlr() {
            if let Some(loss) = most_loss.filter(|loss| goal.width.ratio() < *loss) {
                warnings.push(format!(
                    "goal {}: its width {} is below the loss ratio {loss} of another goal, which RFC 9971 advises against",
                    goal.name, goal.width
                ));
            }
        }
        if mlr().any(|goal| Some(goal.final_duration) != mlr().next().map(|first| first.final_duration)) {
            warnings.push(
                "goals have different trial durations: they share fewer trials than they could (RFC 9971)"
                    .into(),
            );
        }
        for goal in self.goals.iter().filter(|goal| goal.final_duration < Duration::from_secs(60)) {
            warnings.push(format!(
                "goal {}: trials of {:?}; RFC 2544 section 24 asks for 60 s at least",
                goal.name, goal.final_duration
            ));
        }
        warnings
    }

    /// What will choose the trials: the goals of the multiple loss ratio search together, every other one by itself. The
    /// short trials come first: what they show is there for the others.
    pub(super) fn strategists(&self, maximum: Pps) -> Result<Vec<Box<dyn Strategist>>> {
        let (mlr, others): (Vec<Goal>, Vec<Goal>) =
            self.goals.iter().cloned().partition(|goal| goal.strategy == Strategy::Mlr);
        let mut strategists: Vec<Box<dyn Strategist>> = Vec::new();
        if !mlr.is_empty() {
            let widths: Vec<_> = mlr.iter().map(|goal| goal.width.ratio()).collect();
            let grid = Grid::new(self.least_pps, maximum, &widths)?;
            strategists.push(Box::new(Mlr::new(&mlr, grid)));
        }
        for goal in others {
            strategists.push(Box::new(Binary::new(goal, self.least_pps, maximum)));
        }
        Ok(strategists)
    }

    /// The maximum load where no self-test is needed for it.
    pub(super) fn given_maximum(&self) -> Option<MaximumLoad> {
        self.maximum_pps.map(MaximumLoad::given)
    }
}
