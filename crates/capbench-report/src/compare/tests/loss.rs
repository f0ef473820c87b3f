//! Loss where there was none before, and loss by chance.

use super::*;
use capbench_plan::simulated::LossBursts;

const RATE: f64 = 200_000.0;

/// A run at a load that all methods hold, but for bursts of so many frames in as many seconds.
fn at_rate(visits: u32, bursts: LossBursts, seed: u64) -> Results {
    let plan = BenchPlan { rate: Some(Pps::new(RATE).unwrap()), ..plan(visits, 0) };
    run(&plan, &mut path(seed).bursts(seed, bursts), seed)
}

fn bursts(per_second: f64, frames: u64) -> LossBursts {
    LossBursts { per_second, frames }
}

/// Every set-up by itself.
fn loss(comparison: &Comparison) -> Vec<&Contrast> {
    let is_it = |one: &&Contrast| one.measure == Measure::LossRatio && one.setups == 1;
    comparison.contrasts.iter().filter(is_it).collect()
}

#[test]
fn loss_where_there_was_none_is_a_regression_whatever_its_size() {
    let clean = at_rate(6, bursts(0.0, 0), 1);
    // 0.9 % of the frames, and 4 of 200,000.
    for frames in [1800, 4] {
        let lossy = at_rate(6, bursts(1.0, frames), 2);
        for thresholds in [Thresholds::default(), Thresholds { loss: 0.5, ..Thresholds::default() }] {
            let comparison = of_runs(&clean, &lossy, &[], thresholds).unwrap();
            let all = loss(&comparison);
            assert_eq!(all.len(), 2);
            assert!(all.iter().all(|one| one.judgement == Judgement::Regression), "{frames}: {all:#?}");
            assert_eq!((all[0].then.lossy, all[0].now.lossy), (Some(0), Some(6)));
            assert_eq!(comparison.conclusion(), Conclusion::Regression);
            let back = of_runs(&lossy, &clean, &[], thresholds).unwrap();
            assert!(loss(&back).iter().all(|one| one.judgement == Judgement::Improvement));
        }
    }
}

#[test]
fn a_little_more_of_a_loss_is_below_the_threshold() {
    let [then, now] = [(600, 1), (700, 2)].map(|(frames, seed)| at_rate(6, bursts(1.0, frames), seed));
    let all = compared(&then, &now);
    assert!(loss(&all).iter().all(|one| one.judgement == Judgement::BelowThreshold), "{all:#?}");
}

#[test]
fn a_few_frames_of_one_visit_in_many_are_no_regression() {
    let clean = at_rate(8, bursts(0.0, 0), 1);
    let mut once = at_rate(8, bursts(0.0, 0), 2);
    let donor = at_rate(8, bursts(1.0, 40), 3);
    once.trials[5] = TrialResult { number: once.trials[5].number, ..donor.trials[5].clone() };
    let comparison = compared(&clean, &once);
    assert_eq!(loss(&comparison).iter().filter_map(|one| one.now.lossy).sum::<u32>(), 1);
    assert_eq!(count(&comparison, Judgement::Regression), 0, "{comparison:#?}");
    assert_eq!(comparison.conclusion(), Conclusion::NoRegressionShown);
}

#[test]
fn lengthy_bursts_that_come_by_chance_hardly_ever_make_a_regression() {
    const PAIRS: u64 = 40;
    for likely in [0.1, 0.5] {
        let run_with = |seed| at_rate(8, bursts(likely, 40), seed);
        let alarms = (0..PAIRS).filter(|pair| {
            let comparison = compared(&run_with(2 * pair + 1), &run_with(2 * pair + 2));
            count(&comparison, Judgement::Regression) + count(&comparison, Judgement::Improvement) > 0
        });
        let alarms = alarms.count();
        assert!(alarms <= PAIRS as usize / 20, "{alarms} of {PAIRS} where bursts have {likely}");
    }
}
