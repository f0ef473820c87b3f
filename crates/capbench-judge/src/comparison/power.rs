//! How many visits decide the figures of a comparison that have too few trials. The same tests answer it, as if further trials repeated
//! those that ran: a difference that the noise of these trials hides is not decided by more of the same.

use capbench_statistics::shift::Groups;
use capbench_statistics::{aligned, least_by_chance};

use super::contrast::{Matched, NOW, Stratum, THEN, scaled};
use super::measure::{Better, Measure, Scale};
use super::{Comparison, Judgement, Thresholds};
use crate::thresholds::{COMPARISON_FALSE_ALARMS, COMPARISON_LEVEL, DECIDED_FIGURES, MOST_ADVISED_VISITS};

/// Visits per set-up and side that decide most of the figures of single set-ups with too few trials: whether they changed, or that they did
/// not become worse by more than the threshold. `None` if no figure has too few, and if [`MOST_ADVISED_VISITS`] do not decide most.
pub(super) fn visits_needed(comparison: &Comparison, matched: &[Matched]) -> Option<u32> {
    let Comparison { contrasts, paired, thresholds, .. } = comparison;
    let mut open: Vec<&Matched> = Vec::new();
    for contrast in comparison.judged(Judgement::TooFewVisits).filter(|contrast| contrast.setups == 1) {
        let is_compared =
            |matched: &&Matched| matched.measure == contrast.measure && matched.setup == contrast.setup;
        open.extend(matched.iter().find(is_compared));
    }
    if open.is_empty() {
        return None;
    }
    // Contrasts of several set-ups are judged together with them.
    let level = COMPARISON_FALSE_ALARMS / contrasts.len().max(1) as f64;
    let mut visits = 2;
    while least_with(visits, *paired) > level {
        visits += 1;
    }
    while visits <= MOST_ADVISED_VISITS {
        let mut decided = 0;
        for matched in &open {
            let repeated = repeated(matched, visits, *paired);
            decided += usize::from(decides(matched.measure, &repeated, level, *thresholds));
        }
        if decided as f64 > DECIDED_FIGURES * open.len() as f64 {
            return u32::try_from(visits).ok();
        }
        visits += visits.div_ceil(2);
    }
    None
}

/// The lowest probability of chance that is possible with this many visits.
fn least_with(visits: usize, paired: bool) -> f64 {
    match paired {
        true => least_by_chance(vec![(1, 1); visits]),
        false => least_by_chance([(visits, visits)]),
    }
}

/// The values as if the trials had been repeated until each side has this many visits. Pairs are repeated as pairs.
fn repeated(matched: &Matched, visits: usize, paired: bool) -> Vec<Groups> {
    let then = matched.values(THEN).count();
    let now = matched.values(NOW).count();
    let times = visits.div_ceil(then.min(now).max(1));
    let mut groups: Vec<Groups> = Vec::new();
    for stratum in &matched.strata {
        let (then, now) = groups_of(matched.measure, stratum);
        match paired {
            true => groups.extend(vec![(then, now); times]),
            false => groups.push((then.repeat(times), now.repeat(times))),
        }
    }
    groups
}

fn groups_of(measure: Measure, [then, now]: &Stratum) -> Groups {
    (scaled(measure, then), scaled(measure, now))
}

/// Whether values show a change at this level, or exclude that the figure became worse by more than the threshold.
fn decides(measure: Measure, groups: &[Groups], level: f64, thresholds: Thresholds) -> bool {
    if aligned::test_quickly(groups, 0.0).two_sided() <= level {
        return true;
    }
    let tail = (1.0 - COMPARISON_LEVEL) / 2.0;
    match (measure.scale(), measure.better()) {
        (Scale::Ratio, Better::Lower) => {
            aligned::test_quickly(groups, thresholds.relative.ln_1p()).as_low <= tail
        }
        (Scale::Ratio, Better::Higher) => {
            aligned::test_quickly(groups, (-thresholds.relative).ln_1p()).as_high <= tail
        }
        (Scale::Difference, Better::Lower) => aligned::test_quickly(groups, thresholds.loss).as_low <= tail,
        (Scale::Difference, Better::Higher) => {
            aligned::test_quickly(groups, -thresholds.loss).as_high <= tail
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Matched, Measure, Thresholds, visits_needed};
    use crate::comparison::contrast::TrialValue;
    use crate::comparison::{Inputs, Setup};

    /// The comparison of CPU times of one set-up in two runs, and the visits that it needs.
    fn needed(then: &[f64], now: &[f64]) -> Option<u32> {
        let mut trial = 0;
        let mut values = Vec::new();
        for side in [then, now] {
            let mut of_side = Vec::new();
            for value in side {
                trial += 1;
                of_side.push(TrialValue { value: *value, trial });
            }
            values.push(of_side);
        }
        let now = values.remove(1);
        let strata = vec![[values.remove(0), now]];
        let setup = Setup::default();
        visits(vec![Matched { setup, measure: Measure::TotalCost, strata, at_least: [0; 2] }])
    }

    fn visits(matched: Vec<Matched>) -> Option<u32> {
        let inputs = Inputs {
            paired: false,
            matched: &matched,
            thresholds: Thresholds::default(),
            left_out: Vec::new(),
        };
        visits_needed(&Comparison::new(["A".into(), "B".into()], inputs), &matched)
    }

    #[test]
    fn visits_are_named_that_decide_with_the_noise_of_those_so_far() {
        assert_eq!(needed(&[100.0], &[150.0]), Some(4), "one visit shows no noise: as few as a test needs");
        assert_eq!(needed(&[100.0, 101.0], &[150.0, 151.0]), Some(4), "far apart");
        let near = needed(&[100.0, 120.0, 110.0], &[107.0, 128.0, 118.0]);
        assert!(near.is_some_and(|visits| visits > 4), "{near:?}: visits overlap");
        assert_eq!(
            needed(&[100.0, 200.0, 150.0], &[190.0, 110.0, 145.0]),
            None,
            "no difference, and too much noise to exclude one"
        );
        assert_eq!(needed(&[100.0; 4], &[150.0; 4]), None, "four visits decide already");
    }

    /// The visits that five set-ups need, of which so many differ, and the others are too noisy for any number of visits.
    fn needed_of_five(different: usize) -> Option<u32> {
        let mut matched = Vec::new();
        for nth in 0..5 {
            let sides = match nth < different {
                true => [[100.0, 101.0, 102.0], [150.0, 151.0, 152.0]],
                false => [[100.0, 200.0, 150.0], [190.0, 110.0, 145.0]],
            };
            let stratum = sides.map(|values| values.map(|value| TrialValue { value, trial: 1 }).to_vec());
            let setup = Setup { method: Some(format!("method-{nth}").as_str().into()), ..Setup::default() };
            let strata = vec![stratum];
            matched.push(Matched { setup, measure: Measure::TotalCost, strata, at_least: [0; 2] });
        }
        visits(matched)
    }

    #[test]
    fn visits_are_named_that_decide_most_of_the_figures() {
        assert!(needed_of_five(3).is_some());
        assert_eq!(needed_of_five(2), None);
    }

    #[test]
    fn forty_eight_visits_are_asked_for_and_not_more() {
        // All differences are larger than the threshold. Chance explains as many contrary pairs of 32 visits in 7 of 100 cases, and of
        // 48 in 3.
        assert_eq!(needed(&[4.0], &[1.0, 2.0, 8.0, 16.0, 32.0]), Some(48));
        // These of 48 in 8, and of 72 in 3.
        assert_eq!(needed(&[1.0, 64.0], &[2.0, 4.0, 8.0, 16.0, 32.0, 128.0]), None);
    }
}
