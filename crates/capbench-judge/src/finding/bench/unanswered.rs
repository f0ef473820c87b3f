//! Why no method can be named: one thread has no time for the load, all trials are invalid, or the host disturbed those with
//! losses. They are asked in this order; the last one is what is left where a ranking concludes nothing.

use crate::thresholds::CLEARLY_BUSY_FACTOR;
use capbench_model::ledger::LostAt;
use capbench_model::trial::TrialResult;

use super::verdict::{BenchVerdict, NoAnswerBecause, TimeOfThread, is_unknown};
use super::{BenchFinding, SetUp, found, is_sound};
use crate::disturbed::is_noisy;
use crate::finding::Found;
use crate::limit::Limit;
use crate::recommendation::{Conclusion, Question, Ranking};
use crate::run::RunFacts;
use crate::sustained::is_rate_sent;

/// That every trial is invalid; `None` if one is sound, or if there is no trial.
pub(super) fn every_trial_invalid(run: &RunFacts<'_>) -> Option<Found> {
    if run.trials.iter().any(is_sound) {
        return None;
    }
    let reason = run.trials.first()?.why_invalid();
    let fact = BenchFinding::Verdict(BenchVerdict::EveryTrialInvalid { reason });
    Some(found(fact, run.trials.iter().map(|trial| trial.number)))
}

/// What the sound trials leave open where the ranking concludes nothing ([`Conclusion::Nothing`], which the caller knows): of no
/// method it is known whether it sustains a load. Then the host disturbed all trials with losses, or the generator did not send
/// the load. `None` without a sound trial of a method.
pub(super) fn no_answer(question: Question, ranking: &Ranking, run: &RunFacts<'_>) -> Option<Found> {
    let set_up = SetUp::of_ranking(ranking);
    let mut trials: Vec<&TrialResult> = run.trials.iter().collect();
    trials.retain(|trial| is_sound(trial) && set_up.includes(trial));
    if trials.is_empty() || ranking.methods.is_empty() {
        return None;
    }
    let sent_pps = trials.iter().map(|trial| trial.offered_pps).fold(0.0, f64::max);
    let because = match question {
        Question::CheapestAt { pps } if !is_rate_sent(sent_pps, pps) => {
            NoAnswerBecause::NotSent { asked_pps: pps, sent_pps }
        }
        Question::CheapestAt { pps } => NoAnswerBecause::NotSustained { asked_pps: pps },
        Question::HighestRate => NoAnswerBecause::NoneSustained,
    };
    // The place with most lost frames is the first one.
    let lost_by_place = LostAt::sum(trials.iter().flat_map(|trial| trial.losses()));
    let fact = BenchFinding::Verdict(BenchVerdict::NoAnswer {
        because,
        noisy_trials: trials.iter().filter(|trial| is_noisy(trial)).count() as u32,
        trials: trials.len() as u32,
        place: lost_by_place.first().map(|lost| lost.place),
    });
    Some(found(fact, trials.iter().map(|trial| trial.number)))
}

/// The verdict that no method sustains the load because one thread has no time for it, by the work per packet or by the measured
/// time. `None` if a method is shown to sustain it, which has the time, or may. The caller puts it before the other answers, so it is no
/// [`Found`] yet.
pub(super) fn no_time(question: Question, ranking: &Ranking, run: &RunFacts<'_>) -> Option<BenchVerdict> {
    let Question::CheapestAt { pps } = question else { return None };
    let is_open = match &ranking.conclusion {
        Conclusion::Nothing | Conclusion::NoneLossless { .. } => true,
        // Trials in turns name a method although none is shown to sustain the load.
        Conclusion::Use { method, .. } => ranking.find(method).is_some_and(is_unknown),
        Conclusion::OneOf { .. } | Conclusion::NotSent { .. } => false,
    };
    if !is_open {
        return None;
    }
    let work_ns = ranking.work.known().and_then(|work| work.nanoseconds());
    if let Some(ns_per_packet) = work_ns.filter(|ns| ns * pps > 1e9) {
        return Some(BenchVerdict::NoTime { asked_pps: pps, time_of: TimeOfThread::Work, ns_per_packet });
    }
    let ns_per_packet =
        least_application_ns(ranking, run).filter(|ns| ns * pps > CLEARLY_BUSY_FACTOR * 1e9)?;
    Some(BenchVerdict::NoTime { asked_pps: pps, time_of: TimeOfThread::Application, ns_per_packet })
}

/// The least time of the application per packet. `None` if it is unknown of a trial, or if something else limited a method.
fn least_application_ns(ranking: &Ranking, run: &RunFacts<'_>) -> Option<f64> {
    if ranking.methods.iter().any(|ranked| ranked.limited_by != Some(Limit::Application)) {
        return None;
    }
    let set_up = SetUp::of_ranking(ranking);
    let mut least_ns: Option<f64> = None;
    for trial in run.trials.iter().filter(|trial| is_sound(trial) && set_up.includes(trial)) {
        let ns = trial.cpu.app_ns_per_packet?;
        least_ns = Some(least_ns.map_or(ns, |known| known.min(ns)));
    }
    least_ns
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

    use super::every_trial_invalid;
    use crate::run::RunFacts;

    /// The numbers of the trials of the fact that every trial is invalid.
    fn invalid_trials(trials: &[TrialResult]) -> Option<Vec<u32>> {
        let run = RunFacts::of_trials(trials);
        every_trial_invalid(&run).map(|found| found.trials)
    }

    #[test]
    fn one_invalid_trial_does_not_make_every_trial_invalid() {
        let second = Duration::from_secs(1);
        let sound =
            measured(10, 10, 10, 0).result(1, Phase::BestEffort, &profile("recv"), Load::Maximum, second);
        let invalid = TrialResult { number: 2, verdict: Verdict::Invalid, ..sound.clone() };
        assert_eq!(invalid_trials(&[sound, invalid.clone()]), None);
        assert_eq!(invalid_trials(&[invalid]), Some(vec![2]));
        assert_eq!(invalid_trials(&[]), None);
    }
}
