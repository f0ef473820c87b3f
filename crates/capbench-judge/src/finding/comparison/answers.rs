//! The answers of a comparison to the questions of every user: is it cheaper, does it lose less, and does it deliver more? Each is one
//! figure over all its set-ups and has its own certainty: none waits for another.

use serde::Serialize;

use crate::comparison::{Change, Comparison, Contrast, Judgement, Measure, Scale, Thresholds};

/// The figures that answer the questions, in the order of the sentence.
const ASKED: [Measure; 4] =
    [Measure::TotalCost, Measure::LossRatio, Measure::DeliveredRate, Measure::Throughput];

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FigureAnswer {
    /// The figure.
    pub measure: Measure,
    /// What is known of its change.
    pub known: KnownChange,
    /// The change with its interval, over all set-ups of the figure.
    pub change: Change,
}

/// What is known of the change of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum KnownChange {
    /// It became worse.
    Worse,
    /// It became better.
    Better,
    /// It changed in some set-ups, and not in the same way over all of them.
    InSome {
        /// In how many it became worse.
        worse: u32,
        /// In how many it became better.
        better: u32,
    },
    /// At the loads that both have, no trial of either side lost a frame.
    Lossless,
    /// A change as large as the threshold is excluded, in both directions.
    Equal,
    /// No change is shown, and one as large as the threshold is not excluded.
    NotShown,
    /// There are too few trials.
    TooFewTrials,
}

/// The answers that a comparison has a figure for.
pub(super) fn answers(comparison: &Comparison) -> Vec<FigureAnswer> {
    let mut answers = Vec::new();
    for measure in ASKED {
        let contrasts = comparison.contrasts.iter().filter(|contrast| contrast.measure == measure);
        // One contrast is over all set-ups.
        let Some(widest) = contrasts.max_by_key(|contrast| contrast.setups) else { continue };
        let known = known_change(comparison, widest);
        answers.push(FigureAnswer { measure, known, change: widest.change });
    }
    // What is known comes first.
    answers.sort_by_key(|answer| match answer.known {
        KnownChange::Worse | KnownChange::Better | KnownChange::InSome { .. } => 0,
        KnownChange::Lossless | KnownChange::Equal => 1,
        KnownChange::NotShown | KnownChange::TooFewTrials => 2,
    });
    answers
}

/// What is known of the change of a figure, by the contrast over all its set-ups and by those of single ones.
fn known_change(comparison: &Comparison, widest: &Contrast) -> KnownChange {
    let worse = number_of(comparison, widest.measure, Judgement::Regression);
    let better = number_of(comparison, widest.measure, Judgement::Improvement);
    match widest.judgement {
        Judgement::Regression if better == 0 => return KnownChange::Worse,
        Judgement::Improvement if worse == 0 => return KnownChange::Better,
        _ if worse + better > 0 => return KnownChange::InSome { worse, better },
        _ => {}
    }
    if widest.then.lossy == Some(0) && widest.now.lossy == Some(0) {
        return KnownChange::Lossless;
    }
    match widest.judgement {
        Judgement::TooFewVisits => KnownChange::TooFewTrials,
        _ if is_within(comparison.thresholds, widest) => KnownChange::Equal,
        _ => KnownChange::NotShown,
    }
}

/// How many single set-ups have this judgement.
fn number_of(comparison: &Comparison, measure: Measure, judgement: Judgement) -> u32 {
    let single = comparison.judged(judgement).filter(|contrast| contrast.setups == 1);
    single.filter(|contrast| contrast.measure == measure).count() as u32
}

/// Whether the interval of a change is within the threshold.
fn is_within(thresholds: Thresholds, contrast: &Contrast) -> bool {
    let threshold = match contrast.measure.scale() {
        Scale::Ratio => thresholds.relative,
        Scale::Difference => thresholds.loss,
    };
    let Some((low, high)) = contrast.change.low.zip(contrast.change.high) else { return false };
    low >= -threshold && high <= threshold
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{FigureAnswer, KnownChange, answers};
    use crate::comparison::{Comparison, Measure, Pair, Thresholds, of_pairs};
    use crate::finding::Finding;
    use crate::finding::comparison::{ComparisonFinding, ComparisonOutcome, of_runs};

    /// A trial at a load of 100,000 packets/s: the lost frames, and the CPU time of a packet.
    fn trial(number: u32, method: &str, lost: u64, ns_per_packet: f64) -> TrialResult {
        let second = Duration::from_secs(1);
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(100_000, 100_000, 100_000 - lost, lost);
        let mut trial = measured.result(number, Phase::CommonLoad, &profile(method), load, second);
        trial.cpu.total_ns_per_packet = Some(ns_per_packet);
        trial.cpu.total_ns = Some((ns_per_packet * trial.delivered as f64) as u64);
        trial
    }

    /// Pairs with these losses and costs of the second method; the first one loses nothing and needs 1,000 ns.
    fn compared(pairs: u32, lost: [u64; 2], ns: [f64; 2]) -> Comparison {
        let mut trials = Vec::new();
        let mut known = Vec::new();
        for nth in 0..pairs {
            let turn = nth as usize % 2;
            let noise = f64::from(nth);
            trials.push(trial(2 * nth + 1, "recv", 0, 1000.0 + noise));
            trials.push(trial(2 * nth + 2, "packet-v3", lost[turn], ns[turn] + noise / 2.0));
            known.push(Pair { then: 2 * nth + 1, now: 2 * nth + 2 });
        }
        of_pairs(&trials, &known, Thresholds::default()).remove(0)
    }

    fn answered(pairs: u32, lost: [u64; 2], ns: [f64; 2]) -> Vec<FigureAnswer> {
        answers(&compared(pairs, lost, ns))
    }

    fn known(answers: &[FigureAnswer], measure: Measure) -> Option<KnownChange> {
        answers.iter().find(|answer| answer.measure == measure).map(|answer| answer.known)
    }

    #[test]
    fn each_question_has_its_own_certainty() {
        let cheaper = answered(12, [0, 0], [600.0, 620.0]);
        assert_eq!(known(&cheaper, Measure::LossRatio), Some(KnownChange::Lossless));
        assert_eq!(known(&cheaper, Measure::TotalCost), Some(KnownChange::Better));
        assert_eq!(known(&cheaper, Measure::DeliveredRate), None, "no trial was at maximum load");
        let change = cheaper.iter().find(|answer| answer.measure == Measure::TotalCost).unwrap().change;
        assert!(change.low.unwrap() < -0.38 && change.high.unwrap() > -0.42, "{change:?}");
        // The loss is open, and the cost is not.
        let open = answered(6, [0, 300], [1400.0, 1380.0]);
        assert_eq!(known(&open, Measure::LossRatio), Some(KnownChange::NotShown));
        let equal = answered(12, [0, 0], [1000.0, 1000.5]);
        assert_eq!(known(&equal, Measure::TotalCost), Some(KnownChange::Equal));
        let unclear = answered(12, [0, 0], [600.0, 1600.0]);
        assert_eq!(known(&unclear, Measure::TotalCost), Some(KnownChange::NotShown));
        let few = answered(2, [300, 400], [600.0, 620.0]);
        assert_eq!(known(&few, Measure::LossRatio), Some(KnownChange::TooFewTrials));
    }

    #[test]
    fn a_disturbed_host_leaves_the_cause_of_a_difference_open_and_not_the_difference() {
        let disturbed = Comparison { disturbed: true, ..compared(12, [0, 0], [600.0, 620.0]) };
        let Finding::Comparison(ComparisonFinding::OfRuns { outcome, answers }) = of_runs(&disturbed).fact
        else {
            panic!()
        };
        assert_eq!(outcome, ComparisonOutcome::Disturbed);
        assert_eq!(known(&answers, Measure::TotalCost), Some(KnownChange::Better));
    }
}
