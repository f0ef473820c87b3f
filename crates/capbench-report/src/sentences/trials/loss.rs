//! The words of facts about the loss pattern of trials.

use capbench_judge::finding::loss_pattern::LossPatternFinding;
use capbench_model::figures::count;

use super::of_trial;
use crate::sentences::percent;

/// The sentence of a fact.
pub(in crate::sentences) fn words(fact: &LossPatternFinding) -> String {
    match fact {
        LossPatternFinding::AtStart { trial, method, share, lost } => format!(
            "{}: {} of its {lost} lost frames were lost in the first 100 ms: the method loses them when it starts, not because \
             it is too slow.",
            of_trial(*trial, method),
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
            of_trial(*trial, method),
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
            of_trial(*trial, method),
            percent(*loss_ratio),
            percent(*trial_loss_ratio)
        ),
        LossPatternFinding::UnmarkedLoss { trial, method, ring_drops, without_mark } => format!(
            "{}: of {ring_drops} frames that the ring counted as lost, {without_mark} are missing at places that the ring did \
             not mark.",
            of_trial(*trial, method)
        ),
        LossPatternFinding::RingLossConfirmed { ring_drops, bursts } => format!(
            "Loss in rings is confirmed by the sequence numbers: all {ring_drops} frames that rings counted as lost are missing \
             at the {bursts} places that they marked, or at a trial's end."
        ),
    }
}
