//! Findings about the loss pattern, in sentences.
use capbench_model::figures::count;
use capbench_model::loss_pattern::LossPattern;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_results::Finding;

use super::about;
use crate::sentences::{finding, percent};

/// The worst 100 ms and the worst flow get a sentence if they lost this many times the mean share.
const NOTABLE: f64 = 3.0;
/// They must also have lost this many frames: among few frames, some flow is always unlucky.
const LEAST: u64 = 100;
/// In trials shorter than this many times 100 ms the start cannot be distinguished from the rest.
const WINDOWS: u64 = 5;

/// All findings about the loss patterns of trials.
pub(super) fn find(trials: &[TrialResult]) -> impl Iterator<Item = Finding> {
    let lossy = trials.iter().filter(|trial| trial.verdict == Verdict::Lossy);
    let of_each = lossy.filter_map(|trial| Some((trial, trial.loss_pattern.as_ref()?)));
    let of_each = of_each.flat_map(|(trial, shape)| {
        // Where the run searches for loss, each loss is expected.
        let course = [at_start(shape).or_else(|| in_bursts(shape)), in_flows(shape)];
        let course = course.into_iter().filter(|_| !trial.phase.looks_for_loss());
        let texts = course.chain([contradiction(shape)]).flatten();
        texts.map(|text| about(trial, &format!(": {text}")))
    });
    of_each.chain(agreement(trials))
}

/// Loss at the start, which looks like a lack of capacity but is not.
fn at_start(shape: &LossPattern) -> Option<String> {
    let share = shape.lost_at_start as f64 / shape.lost as f64;
    (shape.windows >= WINDOWS && shape.lost >= LEAST && share >= 0.9).then(|| {
        format!(
            "{} of its {} lost frames were lost in the first 100 ms: the method loses them when it starts, not because it is too slow.",
            percent(share),
            shape.lost
        )
    })
}

fn in_bursts(shape: &LossPattern) -> Option<String> {
    let worst = shape.worst_window.filter(|worst| worst.lost >= LEAST)?;
    (worst.loss_ratio() >= NOTABLE * shape.loss_ratio()).then(|| {
        format!(
            "the worst 100 ms, from {:.2} s on, lost {} of their frames, the whole trial {}. {} {} frames in a row.",
            worst.from_ns as f64 / 1e9,
            percent(worst.loss_ratio()),
            percent(shape.loss_ratio()),
            match shape.bursts.count {
                1 => "The only burst lost".into(),
                several => format!("The longest of {} bursts lost", count(several)),
            },
            count(shape.bursts.max.unwrap_or_default()),
        )
    })
}

fn in_flows(shape: &LossPattern) -> Option<String> {
    let flows = shape.flows.as_ref()?;
    let worst = flows.worst.first().filter(|worst| worst.lost >= LEAST && worst.sent > 0)?;
    let share = worst.lost as f64 / worst.sent as f64;
    (share >= NOTABLE * shape.loss_ratio()).then(|| {
        format!(
            "flow {} lost {} of its frames, all flows together {}; {} of {} flows lost frames.",
            worst.flow,
            percent(share),
            percent(shape.loss_ratio()),
            flows.lossy_flows,
            flows.flows
        )
    })
}

fn contradiction(shape: &LossPattern) -> Option<String> {
    let marks = shape.marks?;
    let without = marks.drops_without_mark.filter(|without| *without > 0)?;
    Some(format!(
        "of {} frames that the ring counted as lost, {without} are missing at places that the ring did not mark.",
        marks.ring_drops?
    ))
}

/// Trials in which ring marks and counters agree with the frame numbers.
fn agreement(trials: &[TrialResult]) -> Option<Finding> {
    let agreeing = || {
        let marked =
            trials.iter().filter_map(|trial| Some((trial.number, trial.loss_pattern.as_ref()?.marks?)));
        marked.filter(|(_, marks)| {
            marks.ring_drops.is_some_and(|drops| drops > 0) && marks.drops_without_mark == Some(0)
        })
    };
    let drops: u64 = agreeing().filter_map(|(_, marks)| marks.ring_drops).sum();
    let bursts: u64 = agreeing().map(|(_, marks)| marks.bursts).sum();
    (drops > 0).then(|| {
        finding(
            format!(
                "Loss in rings is confirmed by the sequence numbers: all {drops} frames that rings counted as lost are \
                 missing at the {bursts} places that they marked, or at a trial's end."
            ),
            agreeing().map(|(number, _)| number),
        )
    })
}
