//! What the shape of loss shows, in sentences.

use super::LossShape;
use crate::findings::{Finding, percent};
use crate::trial::{TrialResult, Verdict};

/// The worst 100 ms, and the worst flow, are worth a sentence when they lost so many times the mean share.
const NOTABLE: f64 = 3.0;
/// And when they lost at least so many frames: of a few, some are always unlucky.
const LEAST: u64 = 100;
/// Trials of fewer times 100 ms have no start that could be told from the rest.
const WINDOWS: u64 = 5;

/// Everything that the shapes of trials show.
pub(crate) fn find(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    for trial in trials.iter().filter(|trial| trial.verdict == Verdict::Lossy) {
        let Some(shape) = &trial.loss_shape else { continue };
        // Where loss is looked for, each loss is no news.
        let course = [at_start(shape).or_else(|| in_bursts(shape)), in_flows(shape)];
        let course = course.into_iter().filter(|_| !trial.phase.looks_for_loss());
        let texts = course.chain([contradiction(shape)]);
        for text in texts.flatten() {
            findings.push(Finding {
                scene: None,
                text: format!("Trial {} ({}): {text}", trial.number, trial.profile.method),
                trials: vec![trial.number],
            });
        }
    }
    agreement(trials, findings);
}

/// Loss of the start, which looks like want of capacity and is none.
fn at_start(shape: &LossShape) -> Option<String> {
    let share = shape.lost_at_start as f64 / shape.lost as f64;
    (shape.windows >= WINDOWS && shape.lost >= LEAST && share >= 0.9).then(|| {
        format!(
            "{} of its {} lost frames were lost in the first 100 ms: a matter of its start more than of capacity.",
            percent(share),
            shape.lost
        )
    })
}

fn in_bursts(shape: &LossShape) -> Option<String> {
    let worst = shape.worst_window.filter(|worst| worst.lost >= LEAST)?;
    (worst.loss_ratio() >= NOTABLE * shape.loss_ratio()).then(|| {
        format!(
            "the worst 100 ms, from {:.2} s on, lost {} while the mean is {}; {} frames were lost one after the other \
             in the longest of {} burst{}.",
            worst.from_ns as f64 / 1e9,
            percent(worst.loss_ratio()),
            percent(shape.loss_ratio()),
            shape.bursts.max.unwrap_or_default(),
            shape.bursts.count,
            if shape.bursts.count == 1 { "" } else { "s" },
        )
    })
}

fn in_flows(shape: &LossShape) -> Option<String> {
    let flows = shape.flows.as_ref()?;
    let worst = flows.worst.first().filter(|worst| worst.lost >= LEAST && worst.sent > 0)?;
    let share = worst.lost as f64 / worst.sent as f64;
    (share >= NOTABLE * shape.loss_ratio()).then(|| {
        format!(
            "flow {} lost {} while the mean is {}; {} of {} flows lost something.",
            worst.flow,
            percent(share),
            percent(shape.loss_ratio()),
            flows.lossy_flows,
            flows.flows
        )
    })
}

fn contradiction(shape: &LossShape) -> Option<String> {
    let marks = shape.marks?;
    let without = marks.drops_without_mark.filter(|without| *without > 0)?;
    Some(format!(
        "of {} frames that the ring counted as lost, {without} are missing at no place that it marked.",
        marks.ring_drops?
    ))
}

/// Where marks and counters of the rings, and the numbers of the frames, say the same.
fn agreement(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let marks = |trial: &TrialResult| {
        let marks = trial.loss_shape.as_ref()?.marks?;
        (marks.ring_drops? > 0 && marks.drops_without_mark == Some(0)).then_some(marks)
    };
    let agreeing: Vec<_> =
        trials.iter().filter_map(|trial| marks(trial).map(|marks| (trial.number, marks))).collect();
    if agreeing.is_empty() {
        return;
    }
    let drops: u64 = agreeing.iter().filter_map(|(_, marks)| marks.ring_drops).sum();
    let bursts: u64 = agreeing.iter().map(|(_, marks)| marks.bursts).sum();
    findings.push(Finding {
                scene: None,
        text: format!(
            "Loss in rings is confirmed by the sequence numbers: all {drops} frames that rings counted as lost are \
             missing at the {bursts} places that they marked, or at a trial's end."
        ),
        trials: agreeing.into_iter().map(|(number, _)| number).collect(),
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{FlowLoss, LossByFlow, LossShape, MarkedLoss, Spread, Window};
    use super::find;
    use crate::trial::tests::{measured, profile};
    use crate::trial::{Load, Measured, Phase};

    fn shape() -> LossShape {
        LossShape {
            last_lost: Some(900_000),
            bursts: Spread { count: 12, total: 20_000, max: Some(9_000), ..Spread::default() },
            worst_window: Some(Window {
                from_ns: 420_000_000,
                length_ns: 100_000_000,
                sent: 50_000,
                lost: 20_000,
            }),
            ..LossShape::in_windows(1_000_000, 20_000, 20, 2)
        }
    }

    fn texts(shape: LossShape) -> Vec<String> {
        let measured =
            Measured { loss_shape: Some(shape), ..measured(1_000_000, 1_000_000, 980_000, 20_000) };
        let trial = measured.result(
            3,
            Phase::BestEffort,
            &profile("packet-v2"),
            Load::Maximum,
            Duration::from_secs(2),
        );
        let mut findings = Vec::new();
        find(&[trial], &mut findings);
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_burst_is_told_from_a_steady_loss() {
        let expected = "Trial 3 (packet-v2): the worst 100 ms, from 0.42 s on, lost 40 % while the mean is 2.0 %; 9000 \
                        frames were lost one after the other in the longest of 12 bursts.";
        assert_eq!(texts(shape()), [expected]);
        let worst = Window { lost: 1_500, ..shape().worst_window.unwrap() };
        assert!(texts(LossShape { worst_window: Some(worst), ..shape() }).is_empty());
        assert!(texts(LossShape { worst_window: None, lost: 0, ..shape() }).is_empty());
    }

    #[test]
    fn loss_of_the_start_is_no_want_of_capacity() {
        let expected = "Trial 3 (packet-v2): 100 % of its 20000 lost frames were lost in the first 100 ms: a matter of \
                        its start more than of capacity.";
        let early = LossShape { lost_at_start: 20_000, lost_steadily: 0, ..shape() };
        assert_eq!(texts(early.clone()), [expected]);
        assert!(!texts(LossShape { windows: 2, ..early })[0].contains("start"), "too short to have one");
    }

    #[test]
    fn a_flow_that_loses_more_is_named() {
        let worst = vec![FlowLoss { flow: 7, sent: 1000, lost: 900 }];
        let flows = LossByFlow { flows: 1000, lossy_flows: 30, lost: Spread::default(), worst };
        let found = texts(LossShape { flows: Some(flows), ..shape() });
        let expected =
            "Trial 3 (packet-v2): flow 7 lost 90 % while the mean is 2.0 %; 30 of 1000 flows lost something.";
        assert_eq!(found[1], expected);
    }

    #[test]
    fn marks_bear_the_counter_out_or_do_not() {
        let marks = MarkedLoss {
            blocks: None,
            marked_blocks: None,
            bursts: 12,
            frames: 20_000,
            cleared: 0,
            bursts_elsewhere: 0,
            frames_elsewhere: 0,
            readings: 3,
            ring_drops: Some(20_000),
            drops_without_mark: Some(0),
            frames_beyond_drops: Some(0),
        };
        let agreed = texts(LossShape { marks: Some(marks), ..shape() });
        assert_eq!(
            agreed[1],
            "Loss in rings is confirmed by the sequence numbers: all 20000 frames that rings counted as lost are missing \
             at the 12 places that they marked, or at a trial's end."
        );
        let open = MarkedLoss { frames: 5_000, drops_without_mark: Some(15_000), ..marks };
        let open = texts(LossShape { marks: Some(open), ..shape() });
        assert_eq!(
            open[1],
            "Trial 3 (packet-v2): of 20000 frames that the ring counted as lost, 15000 are missing at no place that it \
             marked."
        );
    }
}
