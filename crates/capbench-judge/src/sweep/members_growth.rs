//! How the rate of a method grows with its members: what limits each number of them, after which number more bring too little, and
//! the fewest that a load needs.

use super::contrasts::middle;
use super::outcome::{Reading, sustained_pps};
use super::scaling::{Needed, Scaling, Stop};
use crate::limit::Limit;
use crate::sustained::is_rate_sent;
use crate::thresholds::USEFUL_MEMBERS_GAIN;
use capbench_model::members::MOST_MEMBERS;
use capbench_model::statistics::by_key;
use capbench_model::statistics::scalability::{Law, ScalabilityFit};
use capbench_model::trial::{Load, TrialResult};

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
    fn rates(&self) -> Vec<f64> {
        self.trials.iter().map(|trial| sustained_pps(trial)).collect()
    }

    /// What limited most of its trials.
    fn limit(&self) -> Limit {
        for (limit, trials) in by_key(&self.trials, |trial| Limit::of_members(trial)) {
            if 2 * trials.len() > self.trials.len() {
                return limit;
            }
        }
        Limit::Unknown
    }

    /// Whether its rate is worth its members, in comparison with fewer of them.
    fn is_worth(&self, fewer: &Self) -> bool {
        let members_gain = self.members / fewer.members - 1.0;
        let rate_gain = middle(self.rates()) / middle(fewer.rates()) - 1.0;
        rate_gain >= USEFUL_MEMBERS_GAIN * members_gain
    }

    /// Whether it read the whole load in every trial.
    fn holds(&self, load_pps: f64) -> bool {
        let is_sent = is_rate_sent(self.reading.offered_pps.median, load_pps);
        is_sent && self.reading.is_clean() && !self.reading.falls_short()
    }
}

impl Scaling {
    /// How the rate grows over the steps, by rising number of members.
    pub fn from_steps(steps: &[MembersStep<'_>], load: Load) -> Self {
        let limits: Vec<Limit> = steps.iter().map(MembersStep::limit).collect();
        let mut rates = Vec::new();
        for (step, limit) in steps.iter().zip(&limits) {
            if *limit == Limit::Members {
                rates.push((step.members, step.rates()));
            }
        }
        let fit = ScalabilityFit::of(&rates);
        let offered = steps.iter().map(|step| step.reading.offered_pps.median).fold(0.0, f64::max);
        let load_pps = load.pps().unwrap_or(offered);
        let law = fit.ok();
        let no_law_because = fit.err();
        let mut stop = None;
        if let Some(last) = last_worth(steps)
            && let Some(next) = steps.get(last + 1)
        {
            let is_load_read = load.pps().is_some() && next.holds(load_pps);
            stop = Some(Stop {
                after: steps[last].members as u32,
                next: next.members as u32,
                cause: limits[last + 1].of_more_members(is_load_read, law.as_ref(), next.members),
            });
        }
        let held = steps.iter().find(|step| step.holds(load_pps));
        let needed = match (held, law) {
            (Some(step), _) => Needed::Measured { members: step.members as u32 },
            (None, Some(fit)) => by_law(&fit.law(), load_pps),
            (None, None) => Needed::Unknown,
        };
        Self { limits, law, no_law_because, stop, load_pps, needed }
    }
}

/// The first step after which no later one brings enough.
fn last_worth(steps: &[MembersStep<'_>]) -> Option<usize> {
    (0..steps.len()).find(|&nth| {
        let later = &steps[nth + 1..];
        !later.iter().any(|more| more.is_worth(&steps[nth]))
    })
}

/// The fewest members whose rate by the law is at least the load, of those that a fanout group can have.
fn by_law(law: &Law, load_pps: f64) -> Needed {
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
