//! The words of `Caveat`: how noisy the trials are, how exact one-way times are, and what could not be measured. One line each.

use capbench_judge::finding::caveats::{self, Caveat, KnownSkew, NotMeasuredBecause};
use capbench_judge::finding::noise::NoiseCause;
use capbench_model::not_measured::NotMeasured;
use capbench_results::Results;

use super::statements::left_out_words;
use super::{disturbers, in_words, noise, with_trials};
use crate::model::Sentence;
use crate::naming::{frames, list, many, planned_load_words, time};

/// How noisy the trials of two runs are, and which processes used their CPUs, in one line.
pub(crate) fn noise_of_both_runs(runs: [(&str, &Results); 2]) -> Option<Sentence> {
    let mut parts = Vec::new();
    for (name, run) in runs {
        if let Some(noise) = caveats::noise(&run.facts()) {
            parts.push(format!("{name}: {}", in_words(noise).text));
            if let Some(used) = capbench_judge::finding::disturbers::find(&run.trials) {
                parts.push(disturbers::words(&used.fact));
            }
        }
    }
    if parts.is_empty() {
        return None;
    }
    // The sentence names no trials: both runs have trials with the same numbers.
    Some(with_trials(parts.join(" "), []))
}

/// Begins the line about noisy trials. Other work ran in more of them, maybe, and explains nothing there.
const MAY_HAVE_CHANGED: &str = "Noise may have changed";

/// The text of a caveat.
pub(super) fn words(caveat: &Caveat) -> String {
    match caveat {
        Caveat::NoisyTrials { cause, noisy_trials, with_cause, all_trials, lowers_rates } => {
            let trials = many((*all_trials).into(), "trial", "trials");
            let of_them = match with_cause == noisy_trials {
                true => String::new(),
                false => format!("in {with_cause} of them "),
            };
            let advice = if *lowers_rates { " On a quiet host, rates can be higher." } else { "" };
            format!("{MAY_HAVE_CHANGED} {noisy_trials} of {trials}: {of_them}{}.{advice}", cause_words(cause))
        }
        Caveat::NoisySegments { cause, noisy_segments, all_segments } => {
            let segments = many(*all_segments, "segment", "segments");
            format!("{MAY_HAVE_CHANGED} {noisy_segments} of {segments}: {}.", cause_words(cause))
        }
        Caveat::Disturbers(fact) => disturbers::words(fact),
        Caveat::OneWayAbsolute { error_ns } => format!(
            "One-way times have an error of up to ±{} (clock class absolute).",
            time(error_ns.unwrap_or(0) as f64 / 1e9)
        ),
        Caveat::OneWayRelative { skew, reason } => format!(
            "One-way times are known relative to the fastest frame only (clock class relative{}){}.",
            skew.map_or_else(String::new, skew_words),
            after_colon(reason.as_deref())
        ),
        Caveat::OneWayUnknown { reason: None } => "No one-way time was recorded (clock class none).".into(),
        Caveat::OneWayUnknown { reason } => {
            format!("One-way times are unknown (clock class none){}.", after_colon(reason.as_deref()))
        }
        Caveat::NotMeasured { by_reason } => {
            let parts: Vec<String> = by_reason.iter().map(not_measured_words).collect();
            format!("Not measured: {}.", parts.join("; "))
        }
        Caveat::LeftOut { parts } => {
            let parts: Vec<String> = parts.iter().map(left_out_words).collect();
            format!("Not measured: {}.", parts.join("; "))
        }
    }
}

/// What made trials noisy, as a clause.
fn cause_words(cause: &NoiseCause) -> String {
    let words = match cause {
        NoiseCause::SlowCpu => "a CPU ran slower than its best (shared core or lowered clock)",
        NoiseCause::SharedCore => {
            "a CPU ran slower than its best, as another guest or hardware thread used its core"
        }
        NoiseCause::LoweredClock => "a CPU ran slower than its best, as its clock was lowered",
        NoiseCause::MissedByTracer => {
            "the tracer missed some receive work of the kernel, so the kernel's CPU time is too low"
        }
        NoiseCause::Steal => "the hypervisor took CPU time away",
        NoiseCause::Throttled => "the CPU quota of its control group stopped capbench",
        NoiseCause::ForeignLoad => "other work ran on their CPUs",
        NoiseCause::Stall => "a CPU stalled",
        NoiseCause::Clock => "the host's clock was changed",
        NoiseCause::Suspend => "the host was suspended",
        NoiseCause::KernelElsewhere => "the kernel's receive work ran on another CPU than the chosen one",
        NoiseCause::Other { noise } => return noise::words(noise),
    };
    words.into()
}

/// The difference of the two clocks' rates, and whether the delays are without it.
fn skew_words(skew: KnownSkew) -> String {
    match skew {
        KnownSkew::Removed { ppm, error_ppm } => format!(", skew {ppm:.1} ± {error_ppm:.1} ppm removed"),
        KnownSkew::Implausible { ppm } => {
            format!(", skew {ppm:.1} ppm not removed: clocks do not differ that much")
        }
        KnownSkew::Below { error_ppm } => format!(", skew below {error_ppm:.1} ppm not removed"),
        KnownSkew::Unknown => ", skew unknown".into(),
    }
}

/// `: no PTP`; empty without a reason.
fn after_colon(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!(": {reason}"),
        None => String::new(),
    }
}

/// Set-ups that could not be measured, with their common reason.
fn not_measured_words(missing: &NotMeasuredBecause) -> String {
    let set_ups: Vec<String> = missing.set_ups.iter().map(set_up_words).collect();
    format!("{} ({})", list(&set_ups), missing.reason)
}

/// A set-up that could not be measured, as far as it is named.
fn set_up_words(missing: &NotMeasured) -> String {
    let mut parts = vec![missing.method.to_string()];
    if let Some(test) = &missing.test {
        parts.push(format!("test {test}"));
    }
    if let Some(size) = &missing.frame_size {
        parts.push(frames(size));
    }
    if let Some(placement) = &missing.placement {
        parts.push(format!("placement {placement}"));
    }
    if let Some(load) = missing.load {
        parts.push(format!("at {}", planned_load_words(load)));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Caveat, KnownSkew, NoiseCause, NotMeasured, NotMeasuredBecause, words};
    use capbench_model::noise::Noise;
    use capbench_model::statement::{LeftOutOfBench, PartOfBench};
    use capbench_model::trial::{Load, SizeLabel};

    /// The line about this number of noisy trials among 42, whose noise does not lower rates.
    fn noisy_trials(noisy_trials: u32, cause: NoiseCause) -> String {
        let with_cause = noisy_trials;
        words(&Caveat::NoisyTrials { cause, noisy_trials, with_cause, all_trials: 42, lowers_rates: false })
    }

    #[test]
    fn noise_is_said_with_its_cause() {
        let slow = Caveat::NoisyTrials {
            cause: NoiseCause::SlowCpu,
            noisy_trials: 25,
            with_cause: 20,
            all_trials: 42,
            lowers_rates: true,
        };
        assert_eq!(
            words(&slow),
            "Noise may have changed 25 of 42 trials: in 20 of them a CPU ran slower than its best (shared core or lowered clock). On a quiet host, rates can \
             be higher."
        );
        assert_eq!(
            noisy_trials(1, NoiseCause::Clock),
            "Noise may have changed 1 of 42 trials: the host's clock was changed."
        );
        for (cause, words) in [
            (
                NoiseCause::MissedByTracer,
                "the tracer missed some receive work of the kernel, so the kernel's CPU time is too low",
            ),
            (NoiseCause::Steal, "the hypervisor took CPU time away"),
            (NoiseCause::ForeignLoad, "other work ran on their CPUs"),
            (NoiseCause::Stall, "a CPU stalled"),
            (NoiseCause::Suspend, "the host was suspended"),
            (NoiseCause::KernelElsewhere, "the kernel's receive work ran on another CPU than the chosen one"),
        ] {
            assert_eq!(noisy_trials(2, cause), format!("Noise may have changed 2 of 42 trials: {words}."));
        }
        let other = NoiseCause::Other { noise: Noise::from_earlier("the moon") };
        assert_eq!(
            words(&Caveat::NoisySegments { cause: other, noisy_segments: 2, all_segments: 9 }),
            "Noise may have changed 2 of 9 segments: the moon."
        );
    }

    #[test]
    fn what_was_not_measured_is_said_with_the_reason() {
        let missing = NotMeasured {
            method: "recv".into(),
            test: Some("latency".into()),
            placement: Some("same".into()),
            frame_size: Some(SizeLabel::Octets(64)),
            load: Some(Load::Maximum),
            reason: "no driver".into(),
        };
        let by_reason = vec![NotMeasuredBecause { reason: "no driver".into(), set_ups: vec![missing] }];
        assert_eq!(
            words(&Caveat::NotMeasured { by_reason }),
            "Not measured: recv test latency 64-byte frames placement same at maximum load (no driver)."
        );
        let part = |octets, part| LeftOutOfBench {
            frame_size: SizeLabel::Octets(octets),
            placement: "same".into(),
            part,
        };
        let parts = vec![part(64, PartOfBench::Trials), part(512, PartOfBench::Everything)];
        assert_eq!(
            words(&Caveat::LeftOut { parts }),
            "Not measured: 64 B, placement same: some of its trials, to end in time; 512 B, placement same: no time was left."
        );
    }

    #[test]
    fn what_is_known_of_one_way_times_is_said() {
        assert_eq!(
            words(&Caveat::OneWayAbsolute { error_ns: Some(1500) }),
            "One-way times have an error of up to ±1.5 µs (clock class absolute)."
        );
        let relative = |skew| words(&Caveat::OneWayRelative { skew, reason: Some("no PTP".into()) });
        assert_eq!(
            relative(Some(KnownSkew::Removed { ppm: 5.0, error_ppm: 0.5 })),
            "One-way times are known relative to the fastest frame only (clock class relative, skew 5.0 ± 0.5 ppm removed): no \
             PTP."
        );
        let implausible = relative(Some(KnownSkew::Implausible { ppm: 900.0 }));
        assert!(implausible.contains(", skew 900.0 ppm not removed: clocks do not differ that much)"));
        let below = relative(Some(KnownSkew::Below { error_ppm: 0.5 }));
        assert!(below.contains("relative, skew below 0.5 ppm not removed)"), "{below}");
        assert!(relative(Some(KnownSkew::Unknown)).contains(", skew unknown)"));
        assert!(relative(None).contains("(clock class relative): no PTP."));
        assert_eq!(
            words(&Caveat::OneWayUnknown { reason: None }),
            "No one-way time was recorded (clock class none)."
        );
        assert_eq!(
            words(&Caveat::OneWayUnknown { reason: Some("no stamps".into()) }),
            "One-way times are unknown (clock class none): no stamps."
        );
    }
}
