//! Which answer about an effect the trials of a sweep give.

use crate::thresholds::EQUAL_RATES;

use super::super::contrasts::{Lead, Leads, Rise, Rises, common, middle};
use super::super::limits::Limits;
use super::super::outcome::{Reading, Series, Swept, numbers, sustained_pps};
use super::{
    AgainstSocket, ComparedRates, Effect, EffectAnswer, Excluded, FewLosses, MoreWorkShows, PointSpan,
    RateLead, RateRise, RingAgainstSocket, RingShows, SupportedEffect, SustainableRate,
};
use capbench_model::method_spec::Delivery;
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::shift::Groups;

/// For every method of a sweep of work: whether the effects appear. Empty if its points have no common unit.
pub fn effects(swept: &Swept<'_>) -> Vec<SupportedEffect> {
    let mut found = Vec::new();
    if swept.outcome.unit.is_none() {
        return found;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene);
        for series in scene.iter().copied().filter(|series| series.readings.len() > 1) {
            let first = EffectAnswer::MoreWorkMorePackets { shows: more_work(swept, series) };
            found.push(supported(series, first, numbers(&series.readings)));
            let Some(delivery) = delivery(&series.method) else { continue };
            let mut compared = vec![series];
            let shows = match delivery {
                Delivery::Counted => continue,
                Delivery::Copied => RingShows::NoRing,
                Delivery::Ring => {
                    let sockets = sockets(&scene);
                    compared.extend(&sockets);
                    behind_sockets(swept, series, &sockets, &leads)
                }
            };
            compared.rotate_left(1);
            let readings = compared.iter().flat_map(|series| &series.readings);
            found.push(supported(series, EffectAnswer::RingBehindSocket { shows }, numbers(readings)));
        }
    }
    found
}

fn supported(series: &Series, answer: EffectAnswer, trials: Vec<u32>) -> SupportedEffect {
    let effect = Effect { method: series.method.clone(), scene: series.placement_and_load(), answer };
    SupportedEffect { effect, trials }
}

fn more_work(swept: &Swept<'_>, series: &Series) -> MoreWorkShows {
    let readings = &series.readings;
    if !readings.iter().any(Reading::falls_short) {
        let last = readings.last().map_or("?", |reading| swept.label(reading));
        return MoreWorkShows::CannotAppear { losses: few_losses(readings), last: last.into() };
    }
    let rises = Rises::find(swept, readings, sustained_pps);
    if let Some(rise) = rises.largest(|rise| is_worth(swept, rise)) {
        return MoreWorkShows::Appears { rise: rate_rise(swept, rise) };
    }
    let limits = Limits::from_comparisons(|width| blocks(swept, readings, width));
    let Some(excluded) = limits.and_then(|limits| {
        excluded(&limits, |first| readings[first..first + limits.width].iter().all(Reading::falls_short))
    }) else {
        return MoreWorkShows::Inconclusive { visits: swept.outcome.repeats, points: readings.len() };
    };
    let seen = rises.all.iter().filter(|rise| loses(rise) && rise.gain > 0.0);
    let largest = seen.max_by(|a, b| a.gain.total_cmp(&b.gain)).map(|rise| rate_rise(swept, rise));
    MoreWorkShows::DoesNotAppear { largest, excluded }
}

/// Whether packets are lost at all points with the lower rate.
fn loses(rise: &Rise<'_>) -> bool {
    rise.low.iter().all(Reading::falls_short)
}

fn is_worth(swept: &Swept<'_>, rise: &Rise<'_>) -> bool {
    let low_pps = middle(rise.low.iter().map(|reading| swept.sustained_pps(reading)));
    loses(rise) && rise.gain > EQUAL_RATES * low_pps
}

fn rate_rise(swept: &Swept<'_>, rise: &Rise<'_>) -> RateRise {
    RateRise {
        from: span(swept, rise.low.iter()),
        from_rate: rate(swept, rise.low.iter()),
        to: span(swept, rise.high.iter()),
        to_rate: rate(swept, rise.high.iter()),
        evidence: rise.evidence,
    }
}

/// Blocks of `width` neighbouring points, each with every later block of the same length.
fn blocks(swept: &Swept<'_>, readings: &[Reading], width: usize) -> Vec<(usize, Vec<Groups>)> {
    let values: Vec<Vec<f64>> = readings.iter().map(|reading| swept.sustained(reading)).collect();
    let ends = (readings.len() + 1).saturating_sub(width);
    let mut blocks = Vec::new();
    for low in 0..readings.len() {
        for high in low + width..ends {
            blocks
                .push((low, vec![(values[low..low + width].concat(), values[high..high + width].concat())]));
        }
    }
    blocks
}

/// Blocks of `width` neighbouring points that both methods have, the ring's repeats first.
fn beside(swept: &Swept<'_>, points: &[(&Reading, &Reading)], width: usize) -> Vec<(usize, Vec<Groups>)> {
    let mut groups: Vec<Groups> = Vec::new();
    for (ring, socket) in points {
        groups.push((swept.sustained(ring), swept.sustained(socket)));
    }
    groups.windows(width).enumerate().map(|(first, block)| (first, block.to_vec())).collect()
}

/// The increase that is excluded of the comparisons whose first point is selected.
fn excluded(limits: &Limits, is_asked: impl Fn(usize) -> bool) -> Option<Excluded> {
    let above_ratio = limits.increase(is_asked)?;
    Some(Excluded { above_ratio, neighbouring_points: limits.width, comparisons: limits.comparisons })
}

/// The methods without a ring.
fn sockets<'r>(scene: &[&'r Series]) -> Vec<&'r Series> {
    let mut sockets = scene.to_vec();
    sockets.retain(|series| delivery(&series.method) == Some(Delivery::Copied));
    sockets
}

/// A ring next to methods without one.
fn behind_sockets(swept: &Swept<'_>, ring: &Series, sockets: &[&Series], leads: &Leads<'_>) -> RingShows {
    if sockets.is_empty() {
        return RingShows::NoSocket;
    }
    let mut all = Vec::new();
    for socket in sockets {
        let shows = against(swept, ring, socket, leads);
        all.push(AgainstSocket { socket: socket.method.clone(), shows });
    }
    RingShows::Against { sockets: all }
}

/// The answer for one ring and one socket.
fn against(swept: &Swept<'_>, ring: &Series, socket: &Series, leads: &Leads<'_>) -> RingAgainstSocket {
    let points = common(ring, socket);
    let mut lossy = points.clone();
    lossy.retain(one_falls_short);
    if lossy.is_empty() {
        let losses = few_losses(ring.readings.iter().chain(&socket.readings));
        return RingAgainstSocket::CannotAppear { losses };
    }
    if let Some(lead) = lead(leads, socket, ring) {
        let points: Vec<_> = lead.points.iter().map(|point| (point.behind, point.ahead)).collect();
        let lead = RateLead { rates: compared(swept, &points), evidence: lead.evidence };
        return RingAgainstSocket::Appears { lead };
    }
    let limits = Limits::from_comparisons(|width| beside(swept, &points, width));
    let excluded = limits.and_then(|limits| {
        excluded(&limits, |first| points[first..first + limits.width].iter().all(one_falls_short))
    });
    let mut ahead = None;
    if let Some(lead) = lead(leads, ring, socket) {
        let points: Vec<_> = lead.points.iter().map(|point| (point.ahead, point.behind)).collect();
        ahead = Some(RateLead { rates: compared(swept, &points), evidence: lead.evidence });
    }
    match (ahead, excluded) {
        (ahead, None) => RingAgainstSocket::Inconclusive { visits: swept.outcome.repeats, ahead },
        (Some(lead), Some(excluded)) => RingAgainstSocket::RingAhead { lead, excluded },
        (None, Some(excluded)) => {
            let worst = lossy.iter().min_by(|a, b| gap(swept, a).total_cmp(&gap(swept, b)));
            let worst = worst.map(|worst| compared(swept, &[*worst]));
            RingAgainstSocket::Alike { worst, excluded }
        }
    }
}

/// Whether one of two methods loses packets at a point.
fn one_falls_short(point: &(&Reading, &Reading)) -> bool {
    point.0.falls_short() || point.1.falls_short()
}

/// The largest lead of a method over another where packets are lost.
fn lead<'l, 'r>(leads: &'l Leads<'r>, ahead: &Series, behind: &Series) -> Option<&'l Lead<'r>> {
    let mut largest: Option<&Lead<'r>> = None;
    for lead in &leads.proven {
        let is_of_both = std::ptr::eq(lead.ahead, ahead) && std::ptr::eq(lead.behind, behind);
        let is_lossy =
            lead.points.iter().all(|point| point.ahead.falls_short() || point.behind.falls_short());
        if !is_of_both || !lead.is_notable() || !is_lossy {
            continue;
        }
        if largest.is_none_or(|known| lead.gain.total_cmp(&known.gain).is_ge()) {
            largest = Some(lead);
        }
    }
    largest
}

/// How much more the ring sustains than the socket.
fn gap(swept: &Swept<'_>, point: &(&Reading, &Reading)) -> f64 {
    swept.sustained_pps(point.0) - swept.sustained_pps(point.1)
}

/// The rates of a ring and of a socket, the ring's reading of each point first.
fn compared(swept: &Swept<'_>, points: &[(&Reading, &Reading)]) -> ComparedRates {
    ComparedRates {
        points: span(swept, points.iter().map(|point| point.0)),
        ring: rate(swept, points.iter().map(|point| point.0)),
        socket: rate(swept, points.iter().map(|point| point.1)),
    }
}

/// How few packets are lost if no point loses any in most of its trials.
fn few_losses<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> FewLosses {
    match readings.into_iter().all(Reading::is_clean) {
        true => FewLosses::None,
        false => FewLosses::NowAndThen,
    }
}

fn delivery(method: &SavedMethod) -> Option<Delivery> {
    method.known()?.delivery()
}

fn rate<'r>(swept: &Swept<'_>, readings: impl Iterator<Item = &'r Reading> + Clone) -> SustainableRate {
    let shares = readings.clone().map(|reading| swept.sustained_pps(reading) / reading.offered_pps.median);
    SustainableRate {
        of_offered_ratio: middle(shares),
        pps: middle(readings.map(|reading| swept.sustained_pps(reading))),
    }
}

fn span<'r>(swept: &Swept<'_>, mut readings: impl Iterator<Item = &'r Reading>) -> PointSpan {
    let first = readings.next().map_or("?", |reading| swept.label(reading)).to_string();
    PointSpan { first, last: readings.last().map(|last| swept.label(last).to_string()) }
}
