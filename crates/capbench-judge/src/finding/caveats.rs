//! What limits the value of a run: noisy trials, clocks of two hosts that do not agree, set-ups that could not be measured, and
//! what a bench left out to end in time.

use capbench_model::clocks::ClockClass;
use capbench_model::latency::Skew;
use capbench_model::not_measured::NotMeasured;
use capbench_model::statement::{LeftOutOfBench, PartOfBench, Statement};
use capbench_model::trial::TrialResult;
use capbench_statistics::by_key;
use serde::Serialize;

use super::disturbers::{self, DisturbersOfRun, FoundDisturbers};
use super::noise::NoiseCause;
use super::{Finding, Found};
use crate::disturbed::is_noisy;
use crate::run::RunFacts;
use crate::soak::record::SoakRecord;

/// A caveat of a run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Caveat {
    /// Trials are noisy.
    NoisyTrials {
        /// The most frequent cause.
        cause: NoiseCause,
        /// Noisy trials, for any cause.
        noisy_trials: u32,
        /// Those with that cause.
        with_cause: u32,
        /// Trials of the run.
        all_trials: u32,
        /// Whether rates can be higher without that cause.
        lowers_rates: bool,
    },
    /// Segments of a soak are noisy.
    NoisySegments {
        /// The most frequent cause.
        cause: NoiseCause,
        /// Segments that are noisy for it.
        noisy_segments: u64,
        /// Segments of the soak.
        all_segments: u64,
    },
    /// What used the CPUs of trials besides them.
    Disturbers(DisturbersOfRun),
    /// One-way times have an error.
    OneWayAbsolute {
        /// The largest error; absent if the hosts state none.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_ns: Option<u64>,
    },
    /// One-way times are known relative to the fastest frame only.
    OneWayRelative {
        /// The difference of the two clocks' rates; absent if the delays do not have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        skew: Option<KnownSkew>,
        /// Why more is not known, if a trial states it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// No one-way time is known.
    OneWayUnknown {
        /// Why, if a trial states it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Set-ups that could not be measured.
    NotMeasured {
        /// The set-ups, by reason.
        by_reason: Vec<NotMeasuredBecause>,
    },
    /// What a bench left out to end in time.
    LeftOut {
        /// One part of each set-up: the one that includes the others.
        parts: Vec<LeftOutOfBench>,
    },
}

/// The difference of two clocks' rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum KnownSkew {
    /// It was removed from the delays.
    Removed {
        /// The difference.
        ppm: f64,
        /// How uncertain it is.
        error_ppm: f64,
    },
    /// It was not removed: clocks do not differ that much.
    Implausible {
        /// The difference.
        ppm: f64,
    },
    /// It was not removed: it is within its uncertainty.
    Below {
        /// How uncertain it is.
        error_ppm: f64,
    },
    /// There are too few frames to know it.
    Unknown,
}

/// Set-ups that could not be measured, for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NotMeasuredBecause {
    /// The reason.
    pub reason: String,
    /// The set-ups.
    pub set_ups: Vec<NotMeasured>,
}

/// The caveats of a run.
pub fn find(run: &RunFacts<'_>, missing: &[NotMeasured]) -> Vec<Found> {
    let mut caveats = Vec::new();
    caveats.extend(noise(run));
    if let Some(FoundDisturbers { fact, trials }) = disturbers::find(run.trials) {
        caveats.push(found(Caveat::Disturbers(fact), trials));
    }
    caveats.extend(clocks(run.trials));
    caveats.extend(not_measured(missing));
    caveats.extend(left_out(run.statements));
    caveats
}

fn found(caveat: Caveat, trials: impl IntoIterator<Item = u32>) -> Found {
    Found::new(Finding::Caveat(caveat), trials)
}

/// How many trials, or segments of a soak, are noisy, and the most frequent cause; `None` if none is.
pub fn noise(run: &RunFacts<'_>) -> Option<Found> {
    match run.soak {
        Some(record) => noisy_segments(record),
        None => noisy_trials(run.trials),
    }
}

fn noisy_segments(record: &SoakRecord) -> Option<Found> {
    let most_frequent = record.noise.iter().max_by_key(|noisy| noisy.segments)?;
    let caveat = Caveat::NoisySegments {
        cause: NoiseCause::from(&most_frequent.noise),
        noisy_segments: most_frequent.segments,
        all_segments: record.whole.as_ref().map_or(0, |whole| whole.segments),
    };
    Some(found(caveat, []))
}

fn noisy_trials(trials: &[TrialResult]) -> Option<Found> {
    let noisy: Vec<&TrialResult> = trials.iter().filter(|trial| is_noisy(trial)).collect();
    let reasons = noisy.iter().flat_map(|trial| &trial.noise.reasons);
    let by_cause = by_key(reasons, |reason| NoiseCause::from(*reason));
    let (cause, reasons) = by_cause.into_iter().max_by_key(|(_, reasons)| reasons.len())?;
    let has_cause =
        |trial: &&&TrialResult| trial.noise.reasons.iter().any(|one| NoiseCause::from(one) == cause);
    let caveat = Caveat::NoisyTrials {
        lowers_rates: reasons.iter().all(|reason| reason.takes_cpu_time()),
        with_cause: noisy.iter().filter(has_cause).count() as u32,
        cause,
        noisy_trials: noisy.len() as u32,
        all_trials: trials.len() as u32,
    };
    Some(found(caveat, noisy.iter().map(|trial| trial.number)))
}

/// What the clocks of two hosts allowed to be known of one-way times: the class of most trials, and the first reason. `None` if sender
/// and receiver had one clock.
fn clocks(trials: &[TrialResult]) -> Option<Found> {
    let classified = trials.iter().filter(|trial| trial.clock_class.is_some());
    let by_class = by_key(classified, |trial| trial.clock_class);
    let (class, trials) = by_class.into_iter().max_by_key(|(_, trials)| trials.len())?;
    let reason = trials.iter().find_map(|trial| trial.latency.as_ref()?.absent_because.clone());
    let caveat = match class? {
        ClockClass::Absolute => {
            Caveat::OneWayAbsolute { error_ns: trials.iter().filter_map(|trial| trial.clock_error_ns).max() }
        }
        ClockClass::Relative => Caveat::OneWayRelative { skew: first_skew(&trials), reason },
        ClockClass::None => Caveat::OneWayUnknown { reason },
    };
    Some(found(caveat, trials.iter().map(|trial| trial.number)))
}

fn first_skew(trials: &[&TrialResult]) -> Option<KnownSkew> {
    let skew = trials.iter().find_map(|trial| trial.latency.as_ref()?.relative.as_ref()?.skew.first())?;
    Some(known_skew(skew))
}

fn known_skew(skew: &Skew) -> KnownSkew {
    let Some(error_ppm) = skew.error_ppm else { return KnownSkew::Unknown };
    if skew.removed {
        return KnownSkew::Removed { ppm: skew.ppm, error_ppm };
    }
    if skew.ppm.abs() > error_ppm {
        return KnownSkew::Implausible { ppm: skew.ppm };
    }
    KnownSkew::Below { error_ppm }
}

/// What could not be measured, by the reason.
fn not_measured(missing: &[NotMeasured]) -> Option<Found> {
    if missing.is_empty() {
        return None;
    }
    let mut by_reason = Vec::new();
    for (reason, set_ups) in by_key(missing, |set_up| set_up.reason.trim_end_matches('.').to_string()) {
        by_reason.push(NotMeasuredBecause { reason, set_ups: set_ups.into_iter().cloned().collect() });
    }
    Some(found(Caveat::NotMeasured { by_reason }, []))
}

/// What a bench left out to end in time. A set-up without trials has no searches either, so one of both statements is enough for it.
fn left_out(statements: &[Statement]) -> Option<Found> {
    let mut parts: Vec<LeftOutOfBench> = Vec::new();
    for statement in statements {
        let Statement::NotMeasured(left_out) = statement else { continue };
        let known_part = parts.iter_mut().find(|known| is_same_set_up(known, left_out));
        match known_part {
            Some(known) if left_out.part == PartOfBench::Trials => known.part = PartOfBench::Trials,
            Some(_) => {}
            None => parts.push(left_out.clone()),
        }
    }
    if parts.is_empty() {
        return None;
    }
    Some(found(Caveat::LeftOut { parts }, []))
}

fn is_same_set_up(one: &LeftOutOfBench, other: &LeftOutOfBench) -> bool {
    one.frame_size == other.frame_size && one.placement == other.placement
}

#[cfg(test)]
mod tests {
    use capbench_model::latency::Skew;
    use capbench_model::not_measured::NotMeasured;
    use capbench_model::statement::{LeftOutOfBench, PartOfBench, Statement};
    use capbench_model::trial::SizeLabel;

    use super::{Caveat, KnownSkew, found, known_skew, left_out, not_measured};
    use crate::finding::Finding;

    fn left_out_part(octets: u16, part: PartOfBench) -> LeftOutOfBench {
        LeftOutOfBench { frame_size: SizeLabel::Octets(octets), placement: "same".into(), part }
    }

    #[test]
    fn of_each_set_up_the_part_that_includes_the_others_is_left_out() {
        let statements = [
            Statement::NotMeasured(left_out_part(64, PartOfBench::Searches)),
            Statement::NotMeasured(left_out_part(64, PartOfBench::Trials)),
            Statement::NotMeasured(left_out_part(512, PartOfBench::Searches)),
            Statement::VirtualLink,
        ];
        let parts = vec![left_out_part(64, PartOfBench::Trials), left_out_part(512, PartOfBench::Searches)];
        assert_eq!(left_out(&statements), Some(found(Caveat::LeftOut { parts }, [])));
        assert_eq!(left_out(&[Statement::VirtualLink]), None);
    }

    #[test]
    fn a_skew_counts_only_beyond_its_uncertainty() {
        let plausible = Skew { stream: 0, ppm: 5.0, error_ppm: Some(1.0), removed: true };
        assert_eq!(known_skew(&plausible), KnownSkew::Removed { ppm: 5.0, error_ppm: 1.0 });
        let implausible = Skew { ppm: -5.0, removed: false, ..plausible };
        assert_eq!(known_skew(&implausible), KnownSkew::Implausible { ppm: -5.0 });
        let within_error = Skew { ppm: 0.5, removed: false, ..plausible };
        assert_eq!(known_skew(&within_error), KnownSkew::Below { error_ppm: 1.0 });
        let without_error = Skew { error_ppm: None, ..within_error };
        assert_eq!(known_skew(&without_error), KnownSkew::Unknown);
    }

    fn missing(method: &str, reason: &str) -> NotMeasured {
        NotMeasured::new(method.into(), None, reason.into())
    }

    #[test]
    fn a_reason_is_stated_once_with_its_set_ups() {
        let all =
            [missing("recv", "no time."), missing("af-xdp", "no driver"), missing("libpcap", "no time")];
        let found = not_measured(&all).unwrap();
        let Finding::Caveat(Caveat::NotMeasured { by_reason }) = found.fact else { panic!("{found:?}") };
        let reasons: Vec<_> = by_reason.iter().map(|one| (one.reason.as_str(), one.set_ups.len())).collect();
        assert_eq!(reasons, [("no time", 2), ("no driver", 1)]);
        assert_eq!(not_measured(&[]), None);
    }
}
