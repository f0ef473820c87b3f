//! Which rates are the generator's and not the method's: they are left out of comparisons.

use super::contrast::{Matched, NOW, THEN};
use super::left_out::{LeftOut, NotCompared};
use crate::thresholds::GENERATOR_RATE_VALUES;

/// Whether a rate is the generator's and not the method's, where so many of these values may be higher.
pub(super) fn is_rate_of_generator(at_least: usize, values: usize) -> bool {
    at_least as f64 > GENERATOR_RATE_VALUES * values as f64
}

/// Whether the generator made the lower side lower, and not the method: most values of that side may be higher.
fn compares_generators(matched: &Matched) -> bool {
    let lower = if matched.median(NOW) < matched.median(THEN) { NOW } else { THEN };
    is_rate_of_generator(matched.at_least[lower], matched.values(lower).count())
}

/// Removes the figures in which the generators are compared instead of the methods, and counts their trials. `subject` names what
/// the trials are of.
pub(super) fn remove_those_of_generator(matched: &mut Vec<Matched>, subject: &str) -> Option<LeftOut> {
    let trials = matched.iter().filter(|matched| compares_generators(matched)).map(Matched::trials).sum();
    matched.retain(|matched| !compares_generators(matched));
    (trials > 0).then(|| LeftOut { subject: subject.into(), because: NotCompared::RateOfGenerator, trials })
}
