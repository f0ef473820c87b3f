//! How the rate of a method grows with its members: what limits each number of them, after which number more bring too little, and
//! the fewest that a load needs.

use super::contrasts::median_or_zero;
use super::keeps_up::keeps_up_without_a_loss;
use super::outcome::{Reading, sustained_pps};
use super::scaling::{Needed, Scaling, Stop};
use crate::limit::Limit;
use crate::sustained::is_rate_sent;
use crate::thresholds::USEFUL_MEMBERS_GAIN;
use capbench_model::members::MOST_MEMBERS;
use capbench_model::trial::{Load, TrialResult};
use capbench_statistics::scalability::{Law, ScalabilityFit};

/// A number of members, its reading, and the trials that count.
pub struct MembersStep<'r> {
    /// The number.
    pub members: f64,
    /// Its reading.
    pub reading: &'r Reading,
    /// The trials of the reading.
    pub trials: Vec<&'r TrialResult>,
}

impl MembersStep<'_> {
    /// The sustainable rate that each of its trials shows.
    fn rates(&self) -> Vec<f64> {
        self.trials.iter().map(|trial| sustained_pps(trial)).collect()
    }

    /// Whether its rate is worth its members, in comparison with fewer of them.
    fn is_worth(&self, fewer: &Self) -> bool {
        let members_gain = self.members / fewer.members - 1.0;
        let rate_gain = median_or_zero(self.rates()) / median_or_zero(fewer.rates()) - 1.0;
        rate_gain >= USEFUL_MEMBERS_GAIN * members_gain
    }

    /// Whether it read the whole load in every trial.
    fn reads_whole(&self, load_pps: f64) -> bool {
        let is_sent = is_rate_sent(self.reading.offered_pps.median, load_pps);
        is_sent && keeps_up_without_a_loss(self.reading)
    }
}

impl Scaling {
    /// How the rate grows over the steps, by rising number of members.
    pub fn from_steps(steps: &[MembersStep<'_>], load: Load) -> Self {
        let limits: Vec<Limit> = steps.iter().map(|step| Limit::of_members(&step.trials)).collect();
        let mut rates = Vec::new();
        for (step, limit) in steps.iter().zip(&limits) {
            if *limit == Limit::Members {
                rates.push((step.members, step.rates()));
            }
        }
        let fit = ScalabilityFit::of(&rates);
        let highest_offered_pps =
            steps.iter().map(|step| step.reading.offered_pps.median).fold(0.0, f64::max);
        let load_pps = load.pps().unwrap_or(highest_offered_pps);
        let law = fit.ok();
        let no_law_because = fit.err();
        let mut stop = None;
        if let Some(last) = last_worth(steps)
            && let Some(next) = steps.get(last + 1)
        {
            // At maximum load there is no load that could be read as a whole.
            let is_load_read = load.pps().is_some() && next.reads_whole(load_pps);
            stop = Some(Stop {
                after: steps[last].members as u32,
                next: next.members as u32,
                cause: Limit::of_more_members(&next.trials, is_load_read, law.as_ref(), next.members),
            });
        }
        let needed = members_needed(steps, load_pps, law.as_ref());
        Self { limits, law, no_law_because, stop, load_pps, needed }
    }
}

/// How many members a load needs: the first number that reads all of it, else the number by the law.
fn members_needed(steps: &[MembersStep<'_>], load_pps: f64, law: Option<&ScalabilityFit>) -> Needed {
    if let Some(step) = steps.iter().find(|step| step.reads_whole(load_pps)) {
        return Needed::Measured { members: step.members as u32 };
    }
    match law {
        Some(fit) => by_law(&fit.law(), load_pps),
        None => Needed::Unknown,
    }
}

/// The index of the first step after which no later one is worth its members; `None` without a step.
fn last_worth(steps: &[MembersStep<'_>]) -> Option<usize> {
    for (nth, step) in steps.iter().enumerate() {
        let is_later_worth = steps[nth + 1..].iter().any(|more| more.is_worth(step));
        if !is_later_worth {
            return Some(nth);
        }
    }
    None
}

/// The fewest members whose rate by the law is at least the load, of those that a fanout group can have.
fn by_law(law: &Law, load_pps: f64) -> Needed {
    // Beyond the peak of the law, more members read less.
    let most = law.peak().unwrap_or(f64::INFINITY).ceil().min(MOST_MEMBERS as f64);
    let mut most_pps: f64 = 0.0;
    for members in 1..=most as u32 {
        let rate = law.rate(members.into());
        if rate >= load_pps {
            return Needed::ByLaw { members };
        }
        most_pps = most_pps.max(rate);
    }
    Needed::NoNumber { most_pps }
}
