//! The trial that confirms the answer of a bench.

use capbench_frames::rates::Pps;
use capbench_judge::limit::Limit;
use capbench_judge::recommendation::recommend;
use capbench_judge::sustained::is_as_high;
use capbench_judge::thresholds::{CONFIRMATION_LENGTH, CONFIRMATION_TRIALS, NEXT_CONFIRMATION_LOAD};
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, Phase};

use super::time::Clock;
use super::{BenchPlan, Stretch};
use crate::Result;
use crate::session::Session;

impl BenchPlan {
    /// Runs the method that the trials name once more, at the load that it sustained in the first set-up and as long as the time
    /// that is left allows: a short trial hides a small excess in buffers, and seldom meets a pause of the host. If the load is not
    /// sustained, what the trials name then is tried.
    pub(super) fn confirm(&self, first: &Stretch, session: &mut Session<'_>) -> Result<()> {
        let Some(searching) = &self.searching else { return Ok(()) };
        let Some(mut claim) = named(first, session) else { return Ok(()) };
        for _ in 0..CONFIRMATION_TRIALS {
            let clock = Clock::from_trials(searching, session);
            let Some(time) = clock.for_trials(clock.left(), self.duration) else { break };
            let time = time.min(CONFIRMATION_LENGTH * self.duration);
            let Some(trial) = session.trial(&claim.setup, claim.load, time, Phase::Confirmation)? else {
                break;
            };
            let Some(next) = named(first, session) else { break };
            if next.setup.method != claim.setup.method {
                claim = next;
                continue;
            }
            if is_tried(next.load, claim.load) {
                break;
            }
            // The rate at which it read frames is the better guess than the next load that a search tried.
            let Ok(rate) = Pps::new(trial.read_pps() * NEXT_CONFIRMATION_LOAD) else { break };
            claim.load = Load::Rate(rate);
        }
        Ok(())
    }
}

/// A method, and the load that it is said to sustain.
struct Claim {
    setup: Setup,
    load: Load,
}

/// Whether a load is the one that was tried, or a higher one.
fn is_tried(load: Load, tried: Load) -> bool {
    match (load.pps(), tried.pps()) {
        (Some(load), Some(tried)) => is_as_high(load, tried),
        (load, tried) => load == tried,
    }
}

/// The method that the trials name, and the load that it sustains.
fn named(first: &Stretch, session: &Session<'_>) -> Option<Claim> {
    let known = recommend(&session.trials, &session.searches)?;
    let (method, ranking) = known.method.as_ref().zip(known.headline())?;
    let setup = first.setups.iter().find(|setup| *method == setup.method)?;
    let ranked = ranking.find(&setup.method)?;
    let load = match ranked.limited_by {
        Some(Limit::Generator) => Load::Maximum,
        _ => Load::Rate(Pps::new(ranked.lossless.lower_pps?).ok()?),
    };
    Some(Claim { setup: setup.clone(), load })
}
