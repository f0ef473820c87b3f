//! Tests for two effects that Dain published in 2004 and that nobody explained: more work per packet leads to more packets, and
//! a ring captures less than a socket's queue once packets are lost. Every method at every load gets an answer. If an effect is
//! not seen, the answer includes how large it may still be. The comparison uses the rates that methods can sustain, not the
//! delivered frames of trials: buffers of different depth change the latter, which is not an effect of a method.

use crate::thresholds::EQUAL_RATES;

use capbench_model::method_spec::Delivery;

use super::contrasts::{Lead, Leads, Rise, Rises, common, middle};
use super::limits::Limits;
use super::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use capbench_model::figures::{grouped, percent};
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::shift::Groups;

const FIRST: &str = "Dain's first effect (more work per packet, more packets)";
const SECOND: &str =
    "Dain's second effect (a ring captures less than a socket's queue once packets are lost)";

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

/// For every method of a sweep of work: whether the effects appear, with its series. Empty if its points have no common unit.
pub fn effects<'r>(swept: &Swept<'r>) -> Vec<(&'r Series, Effect)> {
    let mut found = Vec::new();
    if swept.outcome.unit.is_none() {
        return found;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene);
        for series in scene.iter().copied().filter(|series| series.readings.len() > 1) {
            let effect = |kind, (appearance, text): (Appearance, String), trials| {
                let method = series.method.clone();
                (series, Effect { kind, method, appearance, text, trials })
            };
            let trials = numbers(&series.readings);
            found.push(effect(EffectKind::MoreWorkMorePackets, first(swept, series), trials));
            if let Some((answer, against)) = second(swept, series, &scene, &leads) {
                let readings = against.iter().copied().chain([series]).flat_map(|series| &series.readings);
                found.push(effect(EffectKind::RingBehindSocket, answer, numbers(readings)));
            }
        }
    }
    found
}

fn first(swept: &Swept<'_>, series: &Series) -> (Appearance, String) {
    let readings = &series.readings;
    if !readings.iter().any(Reading::falls_short) {
        let last = labels(swept, readings.iter().rev().take(1));
        let text =
            format!("{FIRST} cannot appear: {} up to {last}, so there are none to win.", lossless(readings));
        return (Appearance::CannotAppear, text);
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    let loses = |rise: &Rise<'_>| rise.low.iter().all(Reading::falls_short);
    let is_worth = |rise: &Rise<'_>| {
        loses(rise)
            && rise.gain > EQUAL_RATES * middle(rise.low.iter().map(|reading| swept.sustained_pps(reading)))
    };
    let words = |rise: &Rise<'_>| {
        format!(
            "{} at {}, {} at {} ({})",
            share(swept, rise.low.iter()),
            labels(swept, rise.low.iter()),
            share(swept, rise.high.iter()),
            labels(swept, rise.high.iter()),
            rise.evidence
        )
    };
    if let Some(rise) = rises.largest(is_worth) {
        return (Appearance::Appears, format!("{FIRST} appears: {}.", words(rise)));
    }
    let limits = Limits::from_comparisons(|width| blocks(swept, readings, width));
    let from_loss =
        |first: usize, width: usize| readings[first..first + width].iter().all(Reading::falls_short);
    let excluded = limits
        .as_ref()
        .and_then(|limits| Some((limits, limits.increase(|first| from_loss(first, limits.width))?)));
    let Some((limits, most)) = excluded else {
        let text = format!(
            "{FIRST} cannot be decided: {} visits of {} points are no evidence of any rise, nor do they exclude one; give more \
             --visits.",
            swept.outcome.repeats,
            readings.len()
        );
        return (Appearance::Inconclusive, text);
    };
    let seen = rises.all.iter().filter(|rise| loses(rise) && rise.gain > 0.0);
    let largest = seen
        .max_by(|a, b| a.gain.total_cmp(&b.gain))
        .map_or("at no point are more captured than at one with less work".into(), |rise| {
            format!("the largest rise is {}", words(rise))
        });
    let text = format!(
        "{FIRST} does not appear: {largest}. {} ({}).",
        excluded_above("A rise", most),
        limits.basis()
    );
    (Appearance::DoesNotAppear { excluded_above: most }, text)
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

/// The excluded increase, as a share of the smaller rate.
fn excluded_above(what: &str, increase: f64) -> String {
    if increase == 0.0 {
        format!("{what} is excluded")
    } else {
        format!("{what} above {:.2} % is excluded", increase * 100.0)
    }
}

/// The result for a ring, and the methods without a ring that it was compared with. `None` for other methods.
fn second<'r>(
    swept: &Swept<'_>,
    series: &'r Series,
    scene: &[&'r Series],
    leads: &Leads<'r>,
) -> Option<((Appearance, String), Vec<&'r Series>)> {
    match delivery(&series.method)? {
        Delivery::Counted => None,
        Delivery::Copied => {
            let text = format!("{SECOND} is one of rings, and this method has none.");
            Some(((Appearance::CannotAppear, text), Vec::new()))
        }
        Delivery::Ring => {
            let sockets: Vec<&Series> = scene
                .iter()
                .copied()
                .filter(|other| delivery(&other.method) == Some(Delivery::Copied))
                .collect();
            if sockets.is_empty() {
                let text = format!(
                    "{SECOND} cannot be decided: no method without a ring was measured next to it; add recv to --method."
                );
                return Some(((Appearance::Inconclusive, text), sockets));
            }
            let (appearances, answers): (Vec<_>, Vec<_>) =
                sockets.iter().map(|socket| against(swept, series, socket, leads)).unzip();
            let text = format!("{SECOND} {}.", answers.join("; it "));
            Some(((together(&appearances), text), sockets))
        }
    }
}

/// One socket that is ahead of the ring is enough. The limit against all of them is the limit against the worst.
fn together(appearances: &[Appearance]) -> Appearance {
    if let Some(told) = [Appearance::Appears, Appearance::Inconclusive]
        .into_iter()
        .find(|appearance| appearances.contains(appearance))
    {
        return told;
    }
    let excluded = appearances.iter().filter_map(|appearance| match appearance {
        Appearance::DoesNotAppear { excluded_above } => Some(*excluded_above),
        _ => None,
    });
    excluded
        .reduce(f64::max)
        .map_or(Appearance::CannotAppear, |excluded_above| Appearance::DoesNotAppear { excluded_above })
}

/// The answer for one ring and one socket.
fn against(swept: &Swept<'_>, ring: &Series, socket: &Series, leads: &Leads<'_>) -> (Appearance, String) {
    let name = &socket.method;
    let lossy: Vec<_> =
        common(ring, socket).into_iter().filter(|(a, b)| a.falls_short() || b.falls_short()).collect();
    if lossy.is_empty() {
        let readings = ring.readings.iter().chain(&socket.readings);
        let text = format!("cannot appear against {name}: {} with either", lossless(readings));
        return (Appearance::CannotAppear, text);
    }
    let lead = |ahead: &Series, behind: &Series| {
        let of_both = |lead: &&Lead<'_>| {
            std::ptr::eq(lead.ahead, ahead)
                && std::ptr::eq(lead.behind, behind)
                && lead.is_notable()
                && lead.points.iter().all(|(one, other)| one.falls_short() || other.falls_short())
        };
        leads.told.iter().filter(of_both).max_by(|a, b| a.gain.total_cmp(&b.gain))
    };
    let compared = |points: &[(&Reading, &Reading)], evidence: String| {
        format!(
            "{} are kept up with against {} at {}{evidence}",
            share(swept, points.iter().map(|(of_ring, _)| *of_ring)),
            share(swept, points.iter().map(|(_, of_socket)| *of_socket)),
            labels(swept, points.iter().map(|(of_ring, _)| *of_ring))
        )
    };
    if let Some(behind) = lead(socket, ring) {
        let points: Vec<_> = behind.points.iter().map(|&(of_socket, of_ring)| (of_ring, of_socket)).collect();
        let text =
            format!("appears against {name}: {}", compared(&points, format!(" ({})", behind.evidence)));
        return (Appearance::Appears, text);
    }
    let points = common(ring, socket);
    let limits = Limits::from_comparisons(|width| beside(swept, &points, width));
    let lossy_at = |first: usize, width: usize| {
        points[first..first + width].iter().all(|(one, other)| one.falls_short() || other.falls_short())
    };
    let most = limits
        .as_ref()
        .and_then(|limits| Some((limits, limits.increase(|first| lossy_at(first, limits.width))?)));
    let excluded = most.as_ref().map(|(limits, most)| {
        format!("{} ({})", excluded_above("a lead of the socket", *most), limits.basis())
    });
    let does_not = Appearance::DoesNotAppear { excluded_above: most.map_or(f64::INFINITY, |(_, most)| most) };
    let ahead = lead(ring, socket);
    let Some(excluded) = excluded else {
        let most = ahead.map_or(String::new(), |ahead| {
            format!(": {}", compared(&ahead.points, format!(" ({})", ahead.evidence)))
        });
        let text = format!(
            "cannot be decided against {name} with {} visits, which exclude nothing{most}; give more --visits",
            swept.outcome.repeats
        );
        return (Appearance::Inconclusive, text);
    };
    if let Some(ahead) = ahead {
        let most = compared(&ahead.points, format!(" ({})", ahead.evidence));
        let text = format!(
            "does not appear against {name}: {most}, and nowhere less that chance does not explain; {excluded}"
        );
        return (does_not, text);
    }
    let gap = |(of_ring, of_socket): &(&Reading, &Reading)| {
        swept.sustained_pps(of_ring) - swept.sustained_pps(of_socket)
    };
    let worst = lossy.iter().min_by(|a, b| gap(a).total_cmp(&gap(b)));
    let worst =
        worst.map_or(String::new(), |worst| format!(": {} at worst", compared(&[*worst], String::new())));
    let text = format!(
        "does not appear against {name}: the two do not differ by more than chance explains{worst}; {excluded}"
    );
    (does_not, text)
}

/// A description of how few packets are lost if no point loses any in most of its trials.
fn lossless<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> &'static str {
    if readings.into_iter().all(Reading::is_clean) {
        "no packets are lost"
    } else {
        "packets are lost now and then only"
    }
}

fn delivery(method: &SavedMethod) -> Option<Delivery> {
    method.known()?.delivery()
}

/// The sustained rate, as a share of the offered load and as a rate.
fn share<'r>(swept: &Swept<'_>, readings: impl Iterator<Item = &'r Reading> + Clone) -> String {
    let part = |reading: &Reading| swept.sustained_pps(reading) / reading.offered_pps.median;
    format!(
        "{} ({} packets/s)",
        percent(middle(readings.clone().map(part))),
        grouped(middle(readings.map(|reading| swept.sustained_pps(reading))))
    )
}

fn labels<'r>(swept: &Swept<'r>, mut readings: impl Iterator<Item = &'r Reading>) -> String {
    let first = readings.next().map_or("?", |reading| swept.label(reading));
    match readings.last() {
        Some(last) => format!("{first} to {}", swept.label(last)),
        None => first.into(),
    }
}
