//! Loss where there was none before, and loss by chance. The runs have the same work, so a comparison across work is that of equal
//! set-ups.

use capbench_frames::rates::Pps;
use capbench_judge::comparison::{Comparison, Conclusion, Contrast, Judgement, Measure, Thresholds};
use capbench_model::trial::TrialResult;
use capbench_plan::bench::BenchPlan;
use capbench_plan::simulated::LossBursts;
use capbench_results::Results;

use super::{Field, METHODS, compared_across_work, count, of_runs, path, plan, run};

/// Work per frame.
const NO_WORK_NS: u32 = 0;

/// A run at 200,000 frames per second, which all methods sustain except for these bursts. A trial lasts 1 s.
fn run_with_bursts(visits: u32, bursts: LossBursts, seed: u64) -> Results {
    let plan = BenchPlan { rate: Some(Pps::new(200_000.0).unwrap()), ..plan(visits, NO_WORK_NS) };
    run(&plan, &mut path(seed).bursts(seed, bursts), seed)
}

/// Members of a set-up in which the compared runs may differ: none.
const SAME_SET_UPS: [Field; 0] = [];

const NO_BURSTS: LossBursts = LossBursts { per_second: 0.0, frames: 0 };

/// One burst per second, so that each trial loses this number of frames.
fn each_second(frames: u64) -> LossBursts {
    LossBursts { per_second: 1.0, frames }
}

/// The compared loss of each method. Contrasts of several set-ups together are left out.
fn losses(comparison: &Comparison) -> Vec<&Contrast> {
    let mut losses = Vec::new();
    for contrast in &comparison.contrasts {
        if contrast.measure == Measure::LossRatio && contrast.setups == 1 {
            losses.push(contrast);
        }
    }
    losses
}

#[test]
fn loss_where_there_was_none_is_a_regression_whatever_its_size() {
    let clean = run_with_bursts(6, NO_BURSTS, 1);
    // 0.9 % of the frames, and 4 of 200,000.
    for frames in [1800, 4] {
        let lossy = run_with_bursts(6, each_second(frames), 2);
        // Even if only a change of 50 percentage points counts.
        for thresholds in [Thresholds::default(), Thresholds { loss: 0.5, ..Thresholds::default() }] {
            let comparison = of_runs(&clean, &lossy, &SAME_SET_UPS, thresholds).unwrap();
            let losses_of_methods = losses(&comparison);
            assert_eq!(losses_of_methods.len(), METHODS.len());
            for contrast in losses_of_methods {
                assert_eq!(contrast.judgement, Judgement::Regression, "{frames}: {contrast:#?}");
                assert_eq!(contrast.then.lossy, Some(0));
                assert_eq!(contrast.now.lossy, Some(6));
            }
            assert_eq!(comparison.conclusion(), Conclusion::Regression);
            let back = of_runs(&lossy, &clean, &SAME_SET_UPS, thresholds).unwrap();
            assert!(losses(&back).iter().all(|one| one.judgement == Judgement::Improvement));
        }
    }
}

#[test]
fn a_little_more_of_a_loss_is_below_the_threshold() {
    let (then, now) = (run_with_bursts(6, each_second(600), 1), run_with_bursts(6, each_second(700), 2));
    let comparison = compared_across_work(&then, &now);
    for contrast in losses(&comparison) {
        assert_eq!(contrast.judgement, Judgement::BelowThreshold, "{contrast:#?}");
    }
}

#[test]
fn a_few_lost_frames_of_one_visit_in_eight_are_no_regression() {
    let clean = run_with_bursts(8, NO_BURSTS, 1);
    let mut lossy_once = run_with_bursts(8, NO_BURSTS, 2);
    let lossy_trial = &run_with_bursts(8, each_second(40), 3).trials[5];
    lossy_once.trials[5] = TrialResult { number: lossy_once.trials[5].number, ..lossy_trial.clone() };
    let comparison = compared_across_work(&clean, &lossy_once);
    let lossy_trials: u32 = losses(&comparison).iter().filter_map(|contrast| contrast.now.lossy).sum();
    assert_eq!(lossy_trials, 1);
    assert_eq!(count(&comparison, Judgement::Regression), 0, "{comparison:#?}");
    assert_eq!(comparison.conclusion(), Conclusion::NoRegressionShown);
}

#[test]
fn lengthy_bursts_that_come_by_chance_hardly_ever_make_a_regression() {
    const PAIRS: u64 = 40;
    for per_second in [0.1, 0.5] {
        let bursts = LossBursts { per_second, frames: 40 };
        let mut alarms = 0;
        for pair in 0..PAIRS {
            let then = run_with_bursts(8, bursts, 2 * pair + 1);
            let now = run_with_bursts(8, bursts, 2 * pair + 2);
            let comparison = compared_across_work(&then, &now);
            let changes =
                count(&comparison, Judgement::Regression) + count(&comparison, Judgement::Improvement);
            alarms += u64::from(changes > 0);
        }
        // A comparison raises a false alarm with a probability of up to 5 %.
        assert!(alarms <= PAIRS / 20, "{alarms} of {PAIRS} with {per_second} bursts per second");
    }
}
