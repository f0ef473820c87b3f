//! Whether two effects appear that Dain published in 2004 and that nobody explained: more work per packet leads to more packets,
//! and a ring captures less than a socket's queue once packets are lost. Every method at every load gets an answer. If an effect
//! is not seen, the answer includes how large it may still be.
//!
//! The answers compare the rates that methods can sustain, not the delivered frames of trials: buffers of different depth change
//! the latter, which is not an effect of a method.

mod more_work;
mod ring;

use serde::{Deserialize, Serialize};

use super::contrasts::{Evidence, Leads, middle};
use super::limits::{LimitBasis, Limits};
use super::outcome::{Reading, Series, Swept};
use capbench_model::saved::SavedMethod;

/// Whether an effect appears, with one method of a sweep of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "which", rename_all = "snake_case")]
pub enum Effect {
    /// Dain's first effect: more work per packet, more packets.
    MoreWorkMorePackets {
        /// The answer.
        answer: RiseAnswer,
    },
    /// Dain's second effect: a ring captures less than a socket's queue once packets are lost.
    RingBehindSocket {
        /// The answer.
        answer: RingAnswer,
    },
}

/// Whether more work per packet leads to more packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum RiseAnswer {
    /// It cannot: hardly a packet is lost.
    HardlyAnyLoss {
        /// Whether none is.
        is_clean: bool,
        /// The last point.
        up_to: String,
    },
    /// It does.
    Appears {
        /// The largest rise.
        rise: LargestRise,
    },
    /// The visits do not decide it.
    Undecided {
        /// Visits of each point.
        visits: u32,
        /// Points.
        points: usize,
    },
    /// It does not, as far as the visits exclude it.
    DoesNotAppear {
        /// The largest rise, which chance explains; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest: Option<LargestRise>,
        /// What is excluded.
        excluded: Excluded,
    },
}

/// Whether a ring captures less than a socket's queue once packets are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum RingAnswer {
    /// The method has no ring.
    NoRing,
    /// No method without a ring was measured.
    NoSocket,
    /// Against methods without a ring.
    Against {
        /// An answer for each.
        sockets: Vec<AgainstSocket>,
    },
}

/// The answer for a ring and a method without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgainstSocket {
    /// The method without a ring.
    pub socket: SavedMethod,
    /// The answer.
    pub answer: SocketAnswer,
}

/// Whether a ring captures less than one method without a ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum SocketAnswer {
    /// It cannot: hardly a packet is lost with either.
    HardlyAnyLoss {
        /// Whether none is.
        is_clean: bool,
    },
    /// It does.
    RingBehind {
        /// What both sustain there.
        rates: ComparedRates,
        /// The evidence.
        evidence: Evidence,
    },
    /// The visits exclude nothing.
    Undecided {
        /// Visits of each point.
        visits: u32,
        /// Where the ring sustains more; absent if it nowhere does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ring_ahead: Option<RingAhead>,
    },
    /// It sustains more.
    RingAhead {
        /// Where.
        ahead: RingAhead,
        /// What is excluded.
        excluded: Excluded,
    },
    /// The two do not differ by more than chance explains.
    Alike {
        /// Where the ring is furthest behind.
        worst: Option<ComparedRates>,
        /// What is excluded.
        excluded: Excluded,
    },
}

/// Points at which a ring sustains more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RingAhead {
    /// What both sustain there.
    pub rates: ComparedRates,
    /// The evidence.
    pub evidence: Evidence,
}

/// Rates of a ring and a method without one at the same points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedRates {
    /// What the ring sustains.
    pub ring: SustainedPart,
    /// What the other method sustains.
    pub socket: SustainedPart,
}

/// A rise from some points to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LargestRise {
    /// What is sustained with less work.
    pub low: SustainedPart,
    /// What is sustained with more work.
    pub high: SustainedPart,
    /// The evidence.
    pub evidence: Evidence,
}

/// What a method sustains at neighbouring points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SustainedPart {
    /// Share of the offered load: the median over the points.
    pub ratio: f64,
    /// The rate: the median over the points.
    pub pps: f64,
    /// The first point.
    pub from: String,
    /// The last point; absent for a single point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What the visits exclude.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Excluded {
    /// An increase above this share of the smaller rate; 0 for any.
    pub above_ratio: f64,
    /// What that is based on.
    pub basis: LimitBasis,
}

impl Excluded {
    /// The limit over the blocks of points, by their first point and their length, that `is_selected` accepts. `None` if the
    /// repeats exclude nothing.
    fn from_limits(limits: &Limits, is_selected: impl Fn(usize, usize) -> bool) -> Option<Self> {
        let above_ratio = limits.increase(|first| is_selected(first, limits.width))?;
        Some(Self { above_ratio, basis: limits.basis() })
    }
}

impl SustainedPart {
    /// What is sustained at these points.
    fn new<'r>(swept: &Swept<'r>, readings: impl IntoIterator<Item = &'r Reading>) -> Self {
        let mut shares = Vec::new();
        let mut rates = Vec::new();
        let mut labels: Vec<&str> = Vec::new();
        for reading in readings {
            let sustained_pps = swept.sustained_pps(reading);
            shares.push(sustained_pps / reading.offered_pps.median);
            rates.push(sustained_pps);
            labels.push(swept.label(reading));
        }
        let (from, to) = match labels[..] {
            [] => ("?", None),
            [only] => (only, None),
            [first, .., last] => (first, Some(last)),
        };
        Self { ratio: middle(shares), pps: middle(rates), from: from.into(), to: to.map(String::from) }
    }
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
    /// The visits cannot decide it.
    Inconclusive,
}

impl Effect {
    /// Whether it appears.
    pub fn appearance(&self) -> Appearance {
        match self {
            Self::MoreWorkMorePackets { answer } => match answer {
                RiseAnswer::HardlyAnyLoss { .. } => Appearance::CannotAppear,
                RiseAnswer::Appears { .. } => Appearance::Appears,
                RiseAnswer::Undecided { .. } => Appearance::Inconclusive,
                RiseAnswer::DoesNotAppear { excluded, .. } => {
                    Appearance::DoesNotAppear { excluded_above: excluded.above_ratio }
                }
            },
            Self::RingBehindSocket { answer } => match answer {
                RingAnswer::NoRing => Appearance::CannotAppear,
                RingAnswer::NoSocket => Appearance::Inconclusive,
                RingAnswer::Against { sockets } => against_all(sockets),
            },
        }
    }
}

/// The effect appears if one socket is ahead of the ring. Else one undecided socket leaves it undecided, and sockets with hardly any
/// loss do not count. The limit against all of them is the limit against the worst.
fn against_all(sockets: &[AgainstSocket]) -> Appearance {
    let mut appearance = Appearance::CannotAppear;
    for socket in sockets {
        let excluded = match &socket.answer {
            SocketAnswer::RingBehind { .. } => return Appearance::Appears,
            SocketAnswer::Undecided { .. } => {
                appearance = Appearance::Inconclusive;
                continue;
            }
            SocketAnswer::HardlyAnyLoss { .. } => continue,
            SocketAnswer::RingAhead { excluded, .. } | SocketAnswer::Alike { excluded, .. } => excluded,
        };
        let excluded_above = match appearance {
            Appearance::Inconclusive => continue,
            Appearance::DoesNotAppear { excluded_above } => excluded_above.max(excluded.above_ratio),
            Appearance::CannotAppear | Appearance::Appears => excluded.above_ratio,
        };
        appearance = Appearance::DoesNotAppear { excluded_above };
    }
    appearance
}

/// An effect with the trials that show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownEffect<'r> {
    /// The method over the axis.
    pub series: &'r Series,
    /// The effect.
    pub effect: Effect,
    /// Trials that support it.
    pub trials: Vec<u32>,
}

/// For every method of a sweep of work: whether the effects appear. Empty if its points have no common unit.
pub fn effects<'r>(swept: &Swept<'r>) -> Vec<ShownEffect<'r>> {
    let mut found = Vec::new();
    if swept.outcome.has_named_points() {
        return found;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene);
        for &series in &scene {
            if series.readings.len() < 2 {
                continue;
            }
            found.push(more_work::more_packets(swept, series));
            found.extend(ring::ring_behind_socket(swept, series, &scene, &leads));
        }
    }
    found
}
