//! Two effects that Dain published in 2004 and that nobody explained: more work per packet leads to more packets, and a ring
//! captures less than a socket's queue once packets are lost. Every method at every load gets an answer. If an effect is not
//! seen, the answer includes how large it may still be. The comparison uses the rates that methods can sustain, not the
//! delivered frames of trials: buffers of different depth change the latter, which is not an effect of a method.
//!
//! | file | what |
//! |---|---|
//! | this one | the answers as facts, and their words, which answers to claims of publications store |
//! | `decide` | which answer the trials give |

mod decide;

use std::fmt;

use capbench_model::figures::{grouped, percent};
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::FALSE_ALARMS;
use serde::{Deserialize, Serialize};

use super::contrasts::Evidence;
use super::outcome::SweepScene;

pub use decide::effects;

const FIRST: &str = "Dain's first effect (more work per packet, more packets)";
const SECOND: &str =
    "Dain's second effect (a ring captures less than a socket's queue once packets are lost)";

const SOCKET_LEAD: &str = "; a lead of the socket";

/// The answer of a sweep of work about an effect, with one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Effect {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load.
    pub scene: SweepScene,
    /// Which effect, and whether it appears.
    pub answer: EffectAnswer,
}

/// An answer, with the trials that support it.
#[derive(Clone, Debug, PartialEq)]
pub struct SupportedEffect {
    /// The answer.
    pub effect: Effect,
    /// Numbers of the trials.
    pub trials: Vec<u32>,
}

/// Which effect, and whether it appears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum EffectAnswer {
    /// More work per packet, more packets.
    MoreWorkMorePackets {
        /// Whether it appears.
        shows: MoreWorkShows,
    },
    /// A ring captures less than a socket's queue once packets are lost.
    RingBehindSocket {
        /// Whether it appears.
        shows: RingShows,
    },
}

/// Whether more work per packet leads to more packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum MoreWorkShows {
    /// It cannot appear: hardly any packet is lost.
    CannotAppear {
        /// How many are.
        losses: FewLosses,
        /// The name of the last point.
        last: String,
    },
    /// It appears.
    Appears {
        /// The largest rise.
        rise: RateRise,
    },
    /// The repeats cannot decide it.
    Inconclusive {
        /// Visits of each point.
        visits: u32,
        /// Number of points.
        points: usize,
    },
    /// It does not appear.
    DoesNotAppear {
        /// The largest rise; absent if no rate is higher than one with less work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest: Option<RateRise>,
        /// The rise that is excluded.
        excluded: Excluded,
    },
}

/// Whether a ring captures less than a socket's queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum RingShows {
    /// It cannot appear: the method has no ring.
    NoRing,
    /// It cannot be decided: no method without a ring was measured next to it.
    NoSocket,
    /// Against each method without a ring.
    Against {
        /// The methods.
        sockets: Vec<AgainstSocket>,
    },
}

/// A ring next to a method without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgainstSocket {
    /// The method without a ring.
    pub socket: SavedMethod,
    /// Whether the effect appears.
    pub shows: RingAgainstSocket,
}

/// Whether the effect appears against a method without a ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum RingAgainstSocket {
    /// It cannot appear: hardly any packet is lost.
    CannotAppear {
        /// How many are.
        losses: FewLosses,
    },
    /// It appears.
    Appears {
        /// Where the socket is ahead.
        lead: RateLead,
    },
    /// The repeats cannot decide it.
    Inconclusive {
        /// Visits of each point.
        visits: u32,
        /// Where the ring is ahead; absent if it is nowhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ahead: Option<RateLead>,
    },
    /// It does not appear: the ring is ahead.
    RingAhead {
        /// Where it is.
        lead: RateLead,
        /// The lead of the socket that is excluded.
        excluded: Excluded,
    },
    /// It does not appear: the two do not differ by more than chance explains.
    Alike {
        /// The point at which the ring is furthest behind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worst: Option<ComparedRates>,
        /// The lead of the socket that is excluded.
        excluded: Excluded,
    },
}

/// How few packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FewLosses {
    /// None.
    None,
    /// At no point in most of its trials.
    NowAndThen,
}

/// Neighbouring points, by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PointSpan {
    /// The first.
    pub first: String,
    /// The last; absent if it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// A rate that a method can sustain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SustainableRate {
    /// As a share of the offered load.
    pub of_offered_ratio: f64,
    /// In packets per second.
    pub pps: f64,
}

/// A rise of a rate along the axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RateRise {
    /// The points with the lower rate.
    pub from: PointSpan,
    /// That rate.
    pub from_rate: SustainableRate,
    /// The points with the higher rate.
    pub to: PointSpan,
    /// That rate.
    pub to_rate: SustainableRate,
    /// Its evidence.
    pub evidence: Evidence,
}

/// The rates of a ring and of a socket at the same points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedRates {
    /// The points.
    pub points: PointSpan,
    /// The rate of the ring.
    pub ring: SustainableRate,
    /// The rate of the socket.
    pub socket: SustainableRate,
}

/// Rates that differ by more than chance explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RateLead {
    /// The rates.
    pub rates: ComparedRates,
    /// The evidence.
    pub evidence: Evidence,
}

/// A difference that the repeats exclude.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Excluded {
    /// Differences above this share of the smaller rate are excluded.
    pub above_ratio: f64,
    /// Neighbouring points of a block that was compared.
    pub neighbouring_points: usize,
    /// Number of comparisons.
    pub comparisons: usize,
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

impl EffectAnswer {
    /// Whether the effect appears.
    pub fn appearance(&self) -> Appearance {
        match self {
            Self::MoreWorkMorePackets { shows } => match shows {
                MoreWorkShows::CannotAppear { .. } => Appearance::CannotAppear,
                MoreWorkShows::Appears { .. } => Appearance::Appears,
                MoreWorkShows::Inconclusive { .. } => Appearance::Inconclusive,
                MoreWorkShows::DoesNotAppear { excluded, .. } => {
                    Appearance::DoesNotAppear { excluded_above: excluded.above_ratio }
                }
            },
            Self::RingBehindSocket { shows } => match shows {
                RingShows::NoRing => Appearance::CannotAppear,
                RingShows::NoSocket => Appearance::Inconclusive,
                RingShows::Against { sockets } => against_all(sockets),
            },
        }
    }
}

/// One socket that is ahead of the ring is enough. The limit against all of them is the limit against the worst.
fn against_all(sockets: &[AgainstSocket]) -> Appearance {
    let mut together = Appearance::CannotAppear;
    for AgainstSocket { shows, .. } in sockets {
        together = match (shows, together) {
            (RingAgainstSocket::Appears { .. }, _) | (_, Appearance::Appears) => Appearance::Appears,
            (RingAgainstSocket::Inconclusive { .. }, _) | (_, Appearance::Inconclusive) => {
                Appearance::Inconclusive
            }
            (RingAgainstSocket::CannotAppear { .. }, known) => known,
            (
                RingAgainstSocket::RingAhead { excluded, .. } | RingAgainstSocket::Alike { excluded, .. },
                known,
            ) => {
                let above = excluded.above_ratio;
                let excluded_above = match known {
                    Appearance::DoesNotAppear { excluded_above } => excluded_above.max(above),
                    _ => above,
                };
                Appearance::DoesNotAppear { excluded_above }
            }
        };
    }
    together
}

impl fmt::Display for EffectAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreWorkMorePackets { shows } => write!(f, "{FIRST} {shows}."),
            Self::RingBehindSocket { shows: RingShows::NoRing } => {
                write!(f, "{SECOND} is one of rings, and this method has none.")
            }
            Self::RingBehindSocket { shows: RingShows::NoSocket } => write!(
                f,
                "{SECOND} cannot be decided: no method without a ring was measured next to it; add recv to --method."
            ),
            Self::RingBehindSocket { shows: RingShows::Against { sockets } } => {
                let answers: Vec<String> = sockets.iter().map(AgainstSocket::to_string).collect();
                write!(f, "{SECOND} {}.", answers.join("; it "))
            }
        }
    }
}

impl fmt::Display for MoreWorkShows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotAppear { losses, last } => {
                write!(f, "cannot appear: {losses} up to {last}, so there are none to win")
            }
            Self::Appears { rise } => write!(f, "appears: {rise}"),
            Self::Inconclusive { visits, points } => write!(
                f,
                "cannot be decided: {visits} visits of {points} points are no evidence of any rise, nor do they exclude one; give \
                 more --visits"
            ),
            Self::DoesNotAppear { largest, excluded } => {
                f.write_str("does not appear: ")?;
                match largest {
                    Some(rise) => write!(f, "the largest rise is {rise}")?,
                    None => f.write_str("at no point are more captured than at one with less work")?,
                }
                write!(f, ". A rise {excluded}")
            }
        }
    }
}

impl fmt::Display for AgainstSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.socket;
        match &self.shows {
            RingAgainstSocket::CannotAppear { losses } => {
                write!(f, "cannot appear against {name}: {losses} with either")
            }
            RingAgainstSocket::Appears { lead } => write!(f, "appears against {name}: {lead}"),
            RingAgainstSocket::Inconclusive { visits, ahead } => {
                write!(f, "cannot be decided against {name} with {visits} visits, which exclude nothing")?;
                if let Some(lead) = ahead {
                    write!(f, ": {lead}")?;
                }
                write!(f, "; give more --visits")
            }
            RingAgainstSocket::RingAhead { lead, excluded } => write!(
                f,
                "does not appear against {name}: {lead}, and nowhere less that chance does not explain{SOCKET_LEAD} {excluded}"
            ),
            RingAgainstSocket::Alike { worst, excluded } => {
                write!(
                    f,
                    "does not appear against {name}: the two do not differ by more than chance explains"
                )?;
                if let Some(worst) = worst {
                    write!(f, ": {worst} at worst")?;
                }
                write!(f, "{SOCKET_LEAD} {excluded}")
            }
        }
    }
}

impl fmt::Display for FewLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no packets are lost",
            Self::NowAndThen => "packets are lost now and then only",
        })
    }
}

impl fmt::Display for PointSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first)?;
        self.last.as_ref().map_or(Ok(()), |last| write!(f, " to {last}"))
    }
}

impl fmt::Display for SustainableRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} packets/s)", percent(self.of_offered_ratio), grouped(self.pps))
    }
}

impl fmt::Display for RateRise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, from_rate, to, to_rate, evidence } = self;
        write!(f, "{from_rate} at {from}, {to_rate} at {to} ({evidence})")
    }
}

impl fmt::Display for ComparedRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} are kept up with against {} at {}", self.ring, self.socket, self.points)
    }
}

impl fmt::Display for RateLead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.rates, self.evidence)
    }
}

/// As the end of a clause: `above 3.00 % is excluded (at single points, …)`.
impl fmt::Display for Excluded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.above_ratio != 0.0 {
            write!(f, "above {:.2} % ", self.above_ratio * 100.0)?;
        }
        f.write_str("is excluded (")?;
        match self.neighbouring_points {
            1 => f.write_str("at single points")?,
            width => write!(f, "over {width} neighbouring points")?,
        }
        let level = (1.0 - FALSE_ALARMS) * 100.0;
        write!(f, ", at {level:.0} % for all {} comparisons together)", self.comparisons)
    }
}
