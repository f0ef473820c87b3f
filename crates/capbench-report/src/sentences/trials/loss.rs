//! The words of `LossPatternFinding`: when, and in which flows, a trial lost frames; whether the ring marked its losses.

use capbench_judge::finding::loss_pattern::LossPatternFinding;
use capbench_model::figures::{count, percent};

use super::trial_and_method;

/// The text of a fact.
pub(in crate::sentences) fn words(fact: &LossPatternFinding) -> String {
    match fact {
        LossPatternFinding::AtStart { trial, method, share, lost } => format!(
            "{}: {} of its {lost} lost frames were lost in the first 100 ms: the method loses them when it starts, not because \
             it is too slow.",
            trial_and_method(*trial, method),
            percent(*share)
        ),
        LossPatternFinding::WorstWindow {
            trial,
            method,
            from_ns,
            loss_ratio,
            trial_loss_ratio,
            bursts,
            longest_burst,
        } => format!(
            "{}: the worst 100 ms, from {:.2} s on, lost {} of their frames, the whole trial {}. {} {} frames in a row.",
            trial_and_method(*trial, method),
            *from_ns as f64 / 1e9,
            percent(*loss_ratio),
            percent(*trial_loss_ratio),
            match bursts {
                1 => "The only burst lost".into(),
                several => format!("The longest of {} bursts lost", count(*several)),
            },
            count(*longest_burst)
        ),
        LossPatternFinding::WorstFlow {
            trial,
            method,
            flow,
            loss_ratio,
            trial_loss_ratio,
            lossy_flows,
            flows,
        } => format!(
            "{}: flow {flow} lost {} of its frames, all flows together {}; {lossy_flows} of {flows} flows lost frames.",
            trial_and_method(*trial, method),
            percent(*loss_ratio),
            percent(*trial_loss_ratio)
        ),
        LossPatternFinding::UnmarkedLoss { trial, method, ring_drops, without_mark } => format!(
            "{}: of {ring_drops} frames that the ring counted as lost, {without_mark} are missing at places that the ring did \
             not mark.",
            trial_and_method(*trial, method)
        ),
        LossPatternFinding::RingLossConfirmed { ring_drops, bursts } => format!(
            "Loss in rings is confirmed by the sequence numbers: all {ring_drops} frames that rings counted as lost are missing \
             at the {bursts} places that they marked, or at a trial's end."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{LossPatternFinding, words};

    #[test]
    fn each_pattern_is_said() {
        let window = |bursts| LossPatternFinding::WorstWindow {
            trial: 3,
            method: "recv".into(),
            from_ns: 420_000_000,
            loss_ratio: 0.4,
            trial_loss_ratio: 0.02,
            bursts,
            longest_burst: 9_000,
        };
        assert_eq!(
            words(&window(12)),
            "Trial 3 (recv): the worst 100 ms, from 0.42 s on, lost 40 % of their frames, the whole trial 2.0 %. The longest of 12 \
             bursts lost 9,000 frames in a row."
        );
        assert!(words(&window(1)).ends_with(" 2.0 %. The only burst lost 9,000 frames in a row."));
        let at_start =
            LossPatternFinding::AtStart { trial: 3, method: "recv".into(), share: 1.0, lost: 20_000 };
        assert_eq!(
            words(&at_start),
            "Trial 3 (recv): 100 % of its 20000 lost frames were lost in the first 100 ms: the method loses them when it starts, \
             not because it is too slow."
        );
        let worst_flow = LossPatternFinding::WorstFlow {
            trial: 3,
            method: "recv".into(),
            flow: 7,
            loss_ratio: 0.9,
            trial_loss_ratio: 0.02,
            lossy_flows: 30,
            flows: 1000,
        };
        assert_eq!(
            words(&worst_flow),
            "Trial 3 (recv): flow 7 lost 90 % of its frames, all flows together 2.0 %; 30 of 1000 flows lost frames."
        );
    }

    #[test]
    fn the_agreement_of_marks_and_counters_is_said() {
        assert_eq!(
            words(&LossPatternFinding::RingLossConfirmed { ring_drops: 20_000, bursts: 12 }),
            "Loss in rings is confirmed by the sequence numbers: all 20000 frames that rings counted as lost are missing at the 12 \
             places that they marked, or at a trial's end."
        );
        let unmarked = LossPatternFinding::UnmarkedLoss {
            trial: 3,
            method: "recv".into(),
            ring_drops: 20_000,
            without_mark: 15_000,
        };
        assert_eq!(
            words(&unmarked),
            "Trial 3 (recv): of 20000 frames that the ring counted as lost, 15000 are missing at places that the ring did not mark."
        );
    }
}
