//! Tests for two effects that Dain published in 2004 and that nobody explained: more work per packet leads to more packets, and
//! a ring captures less than a socket's queue once packets are lost. Every method at every load gets an answer. If an effect is
//! not seen, the answer includes how large it may still be. The comparison uses the rates that methods can sustain, not the
//! delivered frames of trials: buffers of different depth change the latter, which is not an effect of a method.

use serde::{Deserialize, Serialize};

use crate::thresholds::EQUAL_RATES;

use capbench_model::method_spec::Delivery;

use super::contrasts::{Evidence, Lead, Leads, Rise, Rises, common, middle};
use super::limits::{LimitBasis, Limits};
use super::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::shift::Groups;

/// Whether an effect appears, with one method of a sweep of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
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
        #[serde(flatten)]
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

/// One socket that is ahead of the ring is enough. The limit against all of them is the limit against the worst.
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
            _ => excluded.above_ratio,
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
    if swept.outcome.unit.is_none() {
        return found;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene);
        for series in scene.iter().copied().filter(|series| series.readings.len() > 1) {
            let effect = Effect::MoreWorkMorePackets { answer: rise(swept, series) };
            found.push(ShownEffect { series, effect, trials: numbers(&series.readings) });
            let Some(delivery) = delivery(&series.method) else { continue };
            let mut readings: Vec<&Reading> = Vec::new();
            let answer = match delivery {
                Delivery::Counted => continue,
                Delivery::Copied => RingAnswer::NoRing,
                Delivery::Ring => {
                    let sockets: Vec<&Series> = sockets(&scene);
                    readings.extend(sockets.iter().flat_map(|socket| &socket.readings));
                    against_sockets(swept, series, &sockets, &leads)
                }
            };
            readings.extend(&series.readings);
            let effect = Effect::RingBehindSocket { answer };
            found.push(ShownEffect { series, effect, trials: numbers(readings) });
        }
    }
    found
}

/// The methods of a scene that copy packets from a socket's queue.
fn sockets<'r>(scene: &[&'r Series]) -> Vec<&'r Series> {
    let copies = scene.iter().filter(|series| delivery(&series.method) == Some(Delivery::Copied));
    copies.copied().collect()
}

fn rise(swept: &Swept<'_>, series: &Series) -> RiseAnswer {
    let readings = &series.readings;
    if !readings.iter().any(Reading::falls_short) {
        let up_to = readings.last().map_or("?", |last| swept.label(last)).into();
        return RiseAnswer::HardlyAnyLoss { is_clean: readings.iter().all(Reading::is_clean), up_to };
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    let is_worth = |rise: &Rise<'_>| {
        loses(rise)
            && rise.gain > EQUAL_RATES * middle(rise.low.iter().map(|reading| swept.sustained_pps(reading)))
    };
    if let Some(rise) = rises.largest(is_worth) {
        return RiseAnswer::Appears { rise: largest_rise(swept, rise) };
    }
    let limits = Limits::from_comparisons(|width| blocks(swept, readings, width));
    let from_loss =
        |first: usize, width: usize| readings[first..first + width].iter().all(Reading::falls_short);
    let Some(excluded) = limits.and_then(|limits| excluded(&limits, from_loss)) else {
        return RiseAnswer::Undecided { visits: swept.outcome.repeats, points: readings.len() };
    };
    let seen = rises.all.iter().filter(|rise| loses(rise) && rise.gain > 0.0);
    let largest = seen.max_by(|a, b| a.gain.total_cmp(&b.gain));
    RiseAnswer::DoesNotAppear { largest: largest.map(|rise| largest_rise(swept, rise)), excluded }
}

/// Whether packets are lost at all points with less work.
fn loses(rise: &Rise<'_>) -> bool {
    rise.low.iter().all(Reading::falls_short)
}

fn largest_rise(swept: &Swept<'_>, rise: &Rise<'_>) -> LargestRise {
    LargestRise {
        low: sustained_part(swept, rise.low.iter()),
        high: sustained_part(swept, rise.high.iter()),
        evidence: rise.evidence,
    }
}

/// What the comparisons from points with losses on exclude.
fn excluded(limits: &Limits, is_asked: impl Fn(usize, usize) -> bool) -> Option<Excluded> {
    let above_ratio = limits.increase(|first| is_asked(first, limits.width))?;
    Some(Excluded { above_ratio, basis: limits.basis() })
}

/// Blocks of `width` neighbouring points, each with every later block of the same length.
fn blocks(swept: &Swept<'_>, readings: &[Reading], width: usize) -> Vec<(usize, Vec<Groups>)> {
    let values: Vec<Vec<f64>> = readings.iter().map(|reading| swept.sustained(reading)).collect();
    let block = |first: usize| values[first..first + width].concat();
    let ends = (readings.len() + 1).saturating_sub(width);
    (0..readings.len())
        .flat_map(|low| (low + width..ends).map(move |high| (low, high)))
        .map(|(low, high)| (low, vec![(block(low), block(high))]))
        .collect()
}

/// Blocks of `width` neighbouring points that both methods have, the ring's repeats first.
fn beside(swept: &Swept<'_>, points: &[(&Reading, &Reading)], width: usize) -> Vec<(usize, Vec<Groups>)> {
    let rates = |reading| swept.sustained(reading);
    let hands = points.iter().map(|(ring, socket)| (rates(ring), rates(socket))).collect::<Vec<Groups>>();
    hands.windows(width).enumerate().map(|(first, block)| (first, block.to_vec())).collect()
}

fn against_sockets(swept: &Swept<'_>, ring: &Series, sockets: &[&Series], leads: &Leads<'_>) -> RingAnswer {
    if sockets.is_empty() {
        return RingAnswer::NoSocket;
    }
    let mut answers = Vec::new();
    for socket in sockets {
        let answer = against(swept, ring, socket, leads);
        answers.push(AgainstSocket { socket: socket.method.clone(), answer });
    }
    RingAnswer::Against { sockets: answers }
}

/// The answer for one ring and one socket.
fn against(swept: &Swept<'_>, ring: &Series, socket: &Series, leads: &Leads<'_>) -> SocketAnswer {
    let points = common(ring, socket);
    let lossy: Vec<_> = points.iter().copied().filter(|point| is_lossy(*point)).collect();
    if lossy.is_empty() {
        let mut readings = ring.readings.iter().chain(&socket.readings);
        return SocketAnswer::HardlyAnyLoss { is_clean: readings.all(Reading::is_clean) };
    }
    if let Some(lead) = largest_lead(leads, socket, ring) {
        let points: Vec<_> = lead.points.iter().map(|&(of_socket, of_ring)| (of_ring, of_socket)).collect();
        return SocketAnswer::RingBehind { rates: compared(swept, &points), evidence: lead.evidence };
    }
    let ring_ahead = largest_lead(leads, ring, socket)
        .map(|lead| RingAhead { rates: compared(swept, &lead.points), evidence: lead.evidence });
    let limits = Limits::from_comparisons(|width| beside(swept, &points, width));
    let lossy_at =
        |first: usize, width: usize| points[first..first + width].iter().all(|point| is_lossy(*point));
    let Some(excluded) = limits.and_then(|limits| excluded(&limits, lossy_at)) else {
        return SocketAnswer::Undecided { visits: swept.outcome.repeats, ring_ahead };
    };
    if let Some(ahead) = ring_ahead {
        return SocketAnswer::RingAhead { ahead, excluded };
    }
    let worst = lossy.into_iter().min_by(|a, b| gap(swept, *a).total_cmp(&gap(swept, *b)));
    SocketAnswer::Alike { worst: worst.map(|point| compared(swept, &[point])), excluded }
}

/// Readings of a ring and of a method without one at the same point.
type Point<'r> = (&'r Reading, &'r Reading);

fn is_lossy((one, other): Point<'_>) -> bool {
    one.falls_short() || other.falls_short()
}

/// By how much the ring sustains more.
fn gap(swept: &Swept<'_>, (of_ring, of_socket): Point<'_>) -> f64 {
    swept.sustained_pps(of_ring) - swept.sustained_pps(of_socket)
}

/// The largest notable lead of one method over another, where packets are lost.
fn largest_lead<'l, 'r>(leads: &'l Leads<'r>, ahead: &Series, behind: &Series) -> Option<&'l Lead<'r>> {
    let of_both = leads.told.iter().filter(|lead| {
        std::ptr::eq(lead.ahead, ahead)
            && std::ptr::eq(lead.behind, behind)
            && lead.is_notable()
            && lead.points.iter().all(|point| is_lossy(*point))
    });
    of_both.max_by(|a, b| a.gain.total_cmp(&b.gain))
}

fn compared(swept: &Swept<'_>, points: &[Point<'_>]) -> ComparedRates {
    ComparedRates {
        ring: sustained_part(swept, points.iter().map(|(of_ring, _)| *of_ring)),
        socket: sustained_part(swept, points.iter().map(|(_, of_socket)| *of_socket)),
    }
}

fn delivery(method: &SavedMethod) -> Option<Delivery> {
    method.known()?.delivery()
}

/// The sustained rate, as a share of the offered load and as a rate.
fn sustained_part<'r>(
    swept: &Swept<'_>,
    readings: impl Iterator<Item = &'r Reading> + Clone,
) -> SustainedPart {
    let part = |reading: &Reading| swept.sustained_pps(reading) / reading.offered_pps.median;
    let mut labels = readings.clone().map(|reading| swept.label(reading).to_string());
    SustainedPart {
        ratio: middle(readings.clone().map(part)),
        pps: middle(readings.map(|reading| swept.sustained_pps(reading))),
        from: labels.next().unwrap_or_else(|| "?".into()),
        to: labels.last(),
    }
}
