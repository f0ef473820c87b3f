//! The self-test of the generator: which rates it tries, and how often, until the highest load of a search is known. That load is the
//! rate that the generator reaches while the search's method captures. A search must not mistake the generator's limit for that of a
//! capture method (RFC 9971 section 4.2: benchmark the tester first). The method captures as in every trial. So on a path where the load
//! depends on the receiver, the maximum is a limit of both.

use capbench_frames::rates::Pps;

use super::runner::{Halt, Runner};
use crate::guards::line_rate;
use capbench_judge::search::maximum::{Rate, most, rates};
use capbench_judge::search::{End, MaximumLoad, MaximumSource, Overload, SearchPlan, SelfTest, Try};
use capbench_judge::thresholds::{
    EQUAL_GENERATOR_TRIES, EQUAL_TRIES, GENERATOR_RATE_TRIES, LOWERED_RATE, MAXIMUM_RATE_PRECISION,
    MAXIMUM_RATE_TRIALS, UNPACED_TRIALS,
};
use capbench_model::trial::{Load, Phase, TrialResult};

/// The generator's limit in a trial at maximum load, up to the line rate.
pub(super) fn maximum_of_overload(plan: &SearchPlan, overload: Overload) -> MaximumLoad {
    let Overload { offered_pps, load_depends, .. } = overload;
    let line = plan.line_rate_pps.filter(|line| line_rate::is_reached(*line, offered_pps.get()));
    let source = source(line.is_some(), load_depends);
    let load_pps = line.filter(|line| *line < offered_pps).unwrap_or(offered_pps);
    MaximumLoad { load_pps, source, self_test: None }
}

/// What a maximum load is a limit of.
fn source(is_line_rate: bool, load_depends: bool) -> MaximumSource {
    if is_line_rate {
        MaximumSource::LineRate
    } else if load_depends {
        MaximumSource::GeneratorAndReceiver
    } else {
        MaximumSource::Generator
    }
}

/// Trials of a self-test in which the generator follows its plan at once.
pub(super) fn fewest_trials() -> u32 {
    UNPACED_TRIALS + 1
}

/// Measures the generator at full speed, then at that rate by plan, and then in the middle between the highest sustained and
/// the lowest unsustained rate.
pub(super) fn maximum_load(plan: &SearchPlan, runner: &mut Runner<'_>) -> Result<MaximumLoad, Halt> {
    let duration = plan.self_test_trial();
    let mut tries: Vec<Try> = Vec::new();
    for _ in 0..UNPACED_TRIALS {
        let unpaced = runner.measure(Load::Maximum, duration, Phase::SelfTest)?;
        let TrialResult { number: trial, offered_pps, .. } = unpaced;
        tries.push(Try { trial, asked_pps: None, offered_pps, held: true });
    }
    let unpaced_pps = most(tries.iter().map(|unpaced| unpaced.offered_pps));
    // A ring accepts frames faster than the link carries them.
    let top = plan.line_rate_pps.map_or(unpaced_pps, |line| unpaced_pps.min(line.get())).floor();
    while tries.len() < MAXIMUM_RATE_TRIALS
        && let Some(rate) = next(top, &rates(&tries))
    {
        let load = legal(rate, plan)?;
        let paced = runner.measure(Load::Rate(load), duration, Phase::SelfTest)?;
        tries.push(Try {
            trial: paced.number,
            asked_pps: Some(rate),
            offered_pps: paced.offered_pps.min(rate),
            held: paced.shortfall() == 0,
        });
    }
    let rates = rates(&tries);
    let highest = rates.iter().filter(|rate| rate.held).max_by(|a, b| a.pps.total_cmp(&b.pps));
    let (load_pps, paced_pps) = match highest {
        Some(rate) => (rate.pps, rate.best()),
        None => (most(rates.iter().map(Rate::best)).floor(), most(rates.iter().map(Rate::best))),
    };
    let load_pps = legal(load_pps, plan)?;
    let at_line = plan.line_rate_pps.is_some_and(|line| line_rate::is_reached(line, load_pps.get()));
    let depends = runner.trials.iter().any(|trial| trial.profile.load_depends().is_some());
    let source = source(at_line, depends);
    let held = highest.is_some();
    Ok(MaximumLoad { load_pps, source, self_test: Some(SelfTest { unpaced_pps, paced_pps, held, tries }) })
}

/// Whether a rate is known to be sustained, or to be unsustained.
fn is_decided(rate: &Rate) -> bool {
    rate.held
        || rate.offered.len() >= GENERATOR_RATE_TRIES
        || (rate.offered.len() >= EQUAL_GENERATOR_TRIES && rate.spread() <= EQUAL_TRIES)
}

/// The rate of the next try; `None` if the highest sustained rate is known.
fn next(top: f64, rates: &[Rate]) -> Option<f64> {
    let Some(last) = rates.last() else { return Some(top) };
    if !is_decided(last) {
        return Some(last.pps);
    }
    let held = rates.iter().filter(|rate| rate.held).map(|rate| rate.pps).max_by(f64::total_cmp);
    let failed: Vec<&Rate> = rates.iter().filter(|rate| !rate.held).collect();
    let lowest = failed.iter().map(|rate| rate.pps).min_by(f64::total_cmp)?;
    let Some(held) = held else {
        return Some(most(rates.iter().map(Rate::best)).min(lowest * LOWERED_RATE).floor());
    };
    // Two higher rates at which the generator sends no more show its limit.
    let at_limit = failed.iter().filter(|rate| rate.best() <= held * (1.0 + EQUAL_TRIES)).count();
    let is_known = lowest <= held * (1.0 + MAXIMUM_RATE_PRECISION) || at_limit > 1;
    (!is_known).then(|| held.midpoint(lowest).floor())
}

fn legal(rate: f64, plan: &SearchPlan) -> Result<Pps, Halt> {
    Pps::new(rate).ok().filter(|load| *load > plan.least_pps).ok_or_else(|| {
        Halt::Ended(End::Failed {
            reason: format!(
                "the generator reaches {rate:.0} packets/s only, which is not above the least load of the search, {} \
                 packets/s",
                plan.least_pps
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Rate, Try, next, rates};

    fn tried(asked_pps: Option<f64>, offered_pps: f64) -> Try {
        Try { trial: 1, asked_pps, offered_pps, held: asked_pps.is_none_or(|asked| asked <= offered_pps) }
    }

    /// The rates that are asked for when tries send these shares of them, in turn.
    fn asked(shares: &[f64]) -> Vec<f64> {
        let mut tries = Vec::new();
        let mut asked = Vec::new();
        for share in shares {
            let Some(rate) = next(1000.0, &rates(&tries)) else { break };
            asked.push(rate);
            tries.push(tried(Some(rate), rate * share));
        }
        asked.extend(next(1000.0, &rates(&tries)));
        asked
    }

    #[test]
    fn a_rate_that_is_held_at_once_or_after_a_miss_is_the_highest() {
        assert_eq!(asked(&[1.0]), [1000.0]);
        assert_eq!(asked(&[0.69, 0.9, 1.0]), [1000.0; 3]);
    }

    #[test]
    fn three_tries_that_differ_or_two_that_do_not_lower_the_rate() {
        assert_eq!(asked(&[0.985, 0.69, 0.7]), [1000.0, 1000.0, 1000.0, 970.0]);
        assert_eq!(asked(&[0.985, 0.69, 0.7, 1.0]), [1000.0, 1000.0, 1000.0, 970.0], "near enough");
        assert_eq!(asked(&[0.9, 0.9]), [1000.0, 1000.0, 900.0]);
    }

    #[test]
    fn between_a_rate_that_is_held_and_one_that_is_not_the_middle_is_tried() {
        // Stalls that look alike: the middle is held, and the next one, too.
        assert_eq!(asked(&[0.6, 0.6, 1.0, 1.0, 1.0]), [1000.0, 1000.0, 600.0, 800.0, 900.0, 950.0]);
        // A generator that sends 600 and no more, whatever it is asked for.
        assert_eq!(asked(&[0.6, 0.6, 1.0, 0.75, 0.75]), [1000.0, 1000.0, 600.0, 800.0, 800.0]);
    }

    fn rate(pps: f64, offered: &[f64], held: bool) -> Rate {
        Rate { pps, offered: offered.to_vec(), held }
    }

    #[test]
    fn a_rate_is_tried_again_until_its_tries_are_equal_or_three() {
        let after = |offered: &[f64]| next(1000.0, &[rate(1000.0, offered, false)]);
        assert_eq!(after(&[900.0, 908.0]), Some(908.0));
        assert_eq!(after(&[900.0, 912.5]), Some(1000.0));
        assert_eq!(after(&[900.0, 912.5, 925.0]), Some(925.0));
        assert_eq!(after(&[990.0, 990.0]), Some(970.0), "a try came close");
    }

    #[test]
    fn the_highest_rate_is_known_within_a_twenty_fifth() {
        let sustained = || rate(1000.0, &[1000.0], true);
        assert_eq!(next(2000.0, &[rate(1032.0, &[1020.0, 1020.0], false), sustained()]), None);
        assert_eq!(next(2000.0, &[rate(1050.0, &[1040.0, 1040.0], false), sustained()]), Some(1025.0));
    }
}
