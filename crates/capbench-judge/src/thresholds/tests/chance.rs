//! What chance explains: each question has its own row, all of them next to 0.05 or 0.95.

use capbench_model::trial::TrialResult;

use super::comparisons::compared_runs;
use super::trial;
use crate::comparison::{Contrast, Judgement, Measure};
use crate::search::BoundsDistinction;
use crate::sweep::contrasts::Evidence;

#[test]
fn a_difference_of_a_sweep_is_shown_from_a_twentieth_on() {
    for (by_chance, is_shown) in [(0.048, true), (0.052, false)] {
        assert_eq!(Evidence { by_chance, comparisons: 1 }.excludes_chance(), is_shown, "{by_chance}");
    }
}

#[test]
fn bounds_are_distinguished_from_a_twentieth_on() {
    for (by_chance, is_significant) in [(0.048, true), (0.052, false)] {
        let bounds = BoundsDistinction { by_chance, nearest: None };
        assert_eq!(bounds.is_significant(), is_significant, "{by_chance}");
    }
}

/// The contrast of the losses of two runs, of which the second one lost more frames in each trial.
fn contrast_of_losses(trials_then: u64, trials_now: u64) -> Contrast {
    let mut then: Vec<TrialResult> = Vec::new();
    for nth in 0..trials_then {
        then.push(TrialResult { number: nth as u32 + 1, ..trial(100_000, 1000 + nth) });
    }
    let mut now: Vec<TrialResult> = Vec::new();
    for nth in 0..trials_now {
        now.push(TrialResult { number: nth as u32 + 1, ..trial(100_000, 5000 + nth) });
    }
    let compared = compared_runs(&then, &now);
    let mut contrasts = compared.contrasts.into_iter();
    contrasts.find(|contrast| contrast.measure == Measure::LossRatio).expect("it is compared")
}

#[test]
fn a_change_of_a_comparison_is_shown_and_has_limits_from_a_twentieth_on() {
    // The first of 45 ways to divide ten trials is 1 of 45 on each side: 0.044.
    let shown = contrast_of_losses(2, 8);
    assert_eq!(shown.judgement, Judgement::Regression, "{shown:?}");
    assert!(shown.change.low.is_some() && shown.change.high.is_some(), "{shown:?}");
    // The same for 35 ways to divide seven trials: 0.057.
    let undecided = contrast_of_losses(3, 4);
    assert_eq!(undecided.judgement, Judgement::TooFewVisits, "{undecided:?}");
    assert!(undecided.change.low.is_none() && undecided.change.high.is_none(), "{undecided:?}");
}
