//! The common load of a bench: the load at which all methods but much slower ones are compared by their CPU time. Where methods take
//! turns, these compare them.

use capbench_frames::rates::Pps;
use capbench_judge::sustained::is_sustained;
use capbench_judge::sustained::moments::has_small_loss;
use capbench_judge::thresholds::{
    COMMON_LOAD_ROUNDS, COMMON_LOAD_SLOWEST, FIRST_COMMON_LOAD, LOWERED_COMMON_LOAD, LOWEST_COMMON_LOAD,
    LOWEST_COMMON_LOAD_PPS,
};
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, Phase};

use super::progress::Progress;
use super::{BenchPlan, Measured, Stretch};
use crate::Result;
use crate::session::Session;

impl BenchPlan {
    /// Measures all methods but the slowest at one load that they sustain. `None` if there is no such load.
    pub(super) fn common_load(
        &self,
        measured: &[Measured],
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<Option<Stretch>> {
        let fastest = measured.iter().filter_map(Measured::pps).fold(0.0, f64::max);
        let least = (fastest * LOWEST_COMMON_LOAD).max(LOWEST_COMMON_LOAD_PPS).round();
        let mut compared: Vec<&Measured> = measured.iter().collect();
        compared.retain(|one| one.pps().is_none_or(|pps| pps >= fastest * COMMON_LOAD_SLOWEST));
        let slowest = compared.iter().filter_map(|one| one.pps()).fold(f64::INFINITY, f64::min);
        if !slowest.is_finite() {
            return Ok(None);
        }
        let setups: Vec<_> = compared.iter().map(|one| one.setup.clone()).collect();
        let mut rate = slowest * FIRST_COMMON_LOAD;
        for round in 1..=COMMON_LOAD_ROUNDS {
            rate = rate.max(least).round();
            let Ok(pps) = Pps::new(rate) else { return Ok(None) };
            let is_last = round == COMMON_LOAD_ROUNDS
                || rate <= least
                || !progress.has_time(2 * setups.len(), self.duration, session);
            if self.round(&setups, pps, is_last, progress, session)? || session.stopped || is_last {
                return Ok(Some(Stretch { setups, load: Load::Rate(pps), phase: Phase::CommonLoad }));
            }
            rate *= LOWERED_COMMON_LOAD;
        }
        Ok(None)
    }

    /// Measures all methods at one load, until one does not sustain it; the last round measures all. Returns whether all did.
    fn round(
        &self,
        setups: &[Setup],
        rate: Pps,
        is_last: bool,
        progress: &mut Progress,
        session: &mut Session<'_>,
    ) -> Result<bool> {
        let mut held = true;
        for setup in setups {
            if !progress.fits(setup, self.duration, session) {
                return Ok(held);
            }
            let result = session.trial(setup, Load::Rate(rate), self.duration, Phase::CommonLoad)?;
            if session.stopped {
                return Ok(false);
            }
            let mut is_held = result.as_ref().is_none_or(is_sustained);
            let is_small = result.as_ref().is_some_and(has_small_loss);
            if !is_held && is_small && progress.fits(setup, self.duration, session) {
                let again = session.trial(setup, Load::Rate(rate), self.duration, Phase::CommonLoad)?;
                is_held = again.as_ref().is_none_or(is_sustained);
            }
            held &= is_held;
            if session.stopped || (!held && !is_last) {
                return Ok(false);
            }
        }
        Ok(held)
    }
}
