//! Whether two effects appear that Dain published in 2004 and that nobody explained: more work per packet leads to more packets,
//! and a ring captures less than a socket's queue once packets are lost. Every method at every load gets an answer. If an effect
//! is not seen, the answer includes how large it may still be.
//!
//! The answers compare the rates that methods can sustain, not the delivered frames of trials: buffers of different depth change
//! the latter, which is not an effect of a method.

mod more_work;
mod ring;
mod words;

use super::contrasts::Leads;
use super::limits::Limits;
use super::outcome::{Series, Swept};
use capbench_model::saved::SavedMethod;

/// Which of the two effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// More work per packet, more packets.
    MoreWorkMorePackets,
    /// A ring captures less than a socket's queue once packets are lost.
    RingBehindSocket,
}

/// Whether an effect appears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Appearance {
    /// It appears.
    Appears,
    /// It does not appear, within the stated limit.
    DoesNotAppear {
        /// The test excludes a rise, or a lead, above this share.
        excluded_above: f64,
    },
    /// It cannot appear: nothing is lost, or the method has no ring.
    CannotAppear,
    /// The repeats cannot decide it.
    Inconclusive,
}

/// The result of a sweep of work for an effect, with one method.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Which one.
    pub kind: EffectKind,
    /// The method.
    pub method: SavedMethod,
    /// Whether it appears.
    pub appearance: Appearance,
    /// A sentence about it.
    pub text: String,
    /// Trials that support it.
    pub trials: Vec<u32>,
}

/// Whether an effect appears, and its words.
struct EffectAnswer {
    appearance: Appearance,
    text: String,
}

/// The largest increase that the repeats do not exclude.
struct ExcludedIncrease {
    /// As a share of the smaller rate.
    above: f64,
    /// What the figure rests on, in words.
    basis: String,
}

impl ExcludedIncrease {
    /// The limit over the blocks of points, by their first point and their length, that `is_selected` accepts. `None` if the
    /// repeats exclude nothing.
    fn from_limits(limits: &Limits, is_selected: impl Fn(usize, usize) -> bool) -> Option<Self> {
        let above = limits.increase(|first| is_selected(first, limits.width))?;
        Some(Self { above, basis: limits.basis() })
    }
}

/// For every method of a sweep of work: whether the effects appear, with its series. Empty if its points have no common unit.
pub fn effects<'r>(swept: &Swept<'r>) -> Vec<(&'r Series, Effect)> {
    let mut found = Vec::new();
    if swept.outcome.unit.is_none() {
        return found;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene);
        for &series in &scene {
            if series.readings.len() < 2 {
                continue;
            }
            found.push((series, more_work::more_packets(swept, series)));
            if let Some(effect) = ring::ring_behind_socket(swept, series, &scene, &leads) {
                found.push((series, effect));
            }
        }
    }
    found
}
