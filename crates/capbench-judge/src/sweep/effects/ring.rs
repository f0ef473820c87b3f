//! Whether a ring captures less than a socket's queue once packets are lost: whether the sustainable rate of a method without a
//! ring is above that of a method with one, at points at which one of them does not keep up.

use super::{
    AgainstSocket, ComparedRates, Effect, Excluded, RingAhead, RingAnswer, ShownEffect, SocketAnswer,
    SustainedPart,
};
use crate::sweep::contrasts::{Lead, LeadPoint, Leads, readings_at_common_points};
use crate::sweep::limits::{ComparedBlock, Limits};
use crate::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_model::method_spec::Delivery;
use capbench_model::saved::SavedMethod;
use capbench_statistics::shift::Groups;

/// The readings of a ring and of a socket at one point.
#[derive(Clone, Copy)]
struct RingAndSocket<'r> {
    ring: &'r Reading,
    socket: &'r Reading,
}

impl RingAndSocket<'_> {
    /// Whether one of the methods does not keep up.
    fn falls_short(&self) -> bool {
        self.ring.falls_short() || self.socket.falls_short()
    }

    /// By how much the ring sustains more, frames per second; negative if it sustains less.
    fn gap_pps(&self, swept: &Swept<'_>) -> f64 {
        swept.sustained_pps(self.ring) - swept.sustained_pps(self.socket)
    }
}

/// Whether the second effect appears with a method. `None` for methods that only count frames.
pub(super) fn ring_behind_socket<'r>(
    swept: &Swept<'r>,
    series: &'r Series,
    scene: &[&'r Series],
    leads: &Leads<'r>,
) -> Option<ShownEffect<'r>> {
    let mut sockets: Vec<&Series> = Vec::new();
    let answer = match delivery(&series.method)? {
        Delivery::Counted => return None,
        Delivery::Copied => RingAnswer::NoRing,
        Delivery::Ring => {
            sockets
                .extend(scene.iter().filter(|compared| delivery(&compared.method) == Some(Delivery::Copied)));
            against_all(swept, series, &sockets, leads)
        }
    };
    let compared = sockets.into_iter().chain([series]);
    let trials = numbers(compared.flat_map(|compared| &compared.readings));
    Some(ShownEffect { series, effect: Effect::RingBehindSocket { answer }, trials })
}

/// How a method delivers frames; `None` of programs, and of unknown methods.
fn delivery(method: &SavedMethod) -> Option<Delivery> {
    method.known()?.delivery()
}

/// The answers for a ring and each of these sockets.
fn against_all<'r>(
    swept: &Swept<'r>,
    ring: &'r Series,
    sockets: &[&'r Series],
    leads: &Leads<'r>,
) -> RingAnswer {
    if sockets.is_empty() {
        return RingAnswer::NoSocket;
    }
    let mut answers = Vec::new();
    for socket in sockets {
        let answer = against_one(swept, ring, socket, leads);
        answers.push(AgainstSocket { socket: socket.method.clone(), answer });
    }
    RingAnswer::Against { sockets: answers }
}

/// The answer for one ring and one socket.
fn against_one<'r>(
    swept: &Swept<'r>,
    ring: &'r Series,
    socket: &'r Series,
    leads: &Leads<'r>,
) -> SocketAnswer {
    let points = shared_points(ring, socket);
    let Some(worst) = worst_for_ring(swept, &points) else {
        let is_clean = ring.readings.iter().chain(&socket.readings).all(Reading::is_clean);
        return SocketAnswer::HardlyAnyLoss { is_clean };
    };
    if let Some(lead) = largest_lead(leads, socket, ring) {
        let rates = rates_of_lead(swept, lead, ring);
        return SocketAnswer::RingBehind { rates, evidence: lead.evidence };
    }
    let mut ring_ahead = None;
    if let Some(lead) = largest_lead(leads, ring, socket) {
        let rates = rates_of_lead(swept, lead, ring);
        ring_ahead = Some(RingAhead { rates, evidence: lead.evidence });
    }
    match (excluded_lead(swept, &points), ring_ahead) {
        (None, ring_ahead) => SocketAnswer::Undecided { visits: swept.outcome.repeats, ring_ahead },
        (Some(excluded), Some(ahead)) => SocketAnswer::RingAhead { ahead, excluded },
        (Some(excluded), None) => {
            SocketAnswer::Alike { worst: Some(compared_rates(swept, &[worst])), excluded }
        }
    }
}

/// The points that both methods have.
fn shared_points<'r>(ring: &'r Series, socket: &'r Series) -> Vec<RingAndSocket<'r>> {
    let mut points = Vec::new();
    for (ring, socket) in readings_at_common_points(ring, socket) {
        points.push(RingAndSocket { ring, socket });
    }
    points
}

/// The point at which the ring sustains least, compared with the socket, of those at which one of them does not keep up.
fn worst_for_ring<'r>(swept: &Swept<'_>, points: &[RingAndSocket<'r>]) -> Option<RingAndSocket<'r>> {
    let short = points.iter().filter(|point| point.falls_short());
    short.min_by(|a, b| a.gap_pps(swept).total_cmp(&b.gap_pps(swept))).copied()
}

/// The largest notable lead of one method over another, at points at which one of them does not keep up.
fn largest_lead<'s, 'r>(leads: &'s Leads<'r>, ahead: &Series, behind: &Series) -> Option<&'s Lead<'r>> {
    let mut largest: Option<&Lead<'r>> = None;
    for lead in &leads.proven {
        let is_of_both = std::ptr::eq(lead.ahead, ahead) && std::ptr::eq(lead.behind, behind);
        let is_where_one_falls_short =
            lead.points.iter().all(|at| at.ahead.falls_short() || at.behind.falls_short());
        if !is_of_both || !is_where_one_falls_short || !lead.is_notable() {
            continue;
        }
        if largest.is_none_or(|known| lead.gain.total_cmp(&known.gain).is_ge()) {
            largest = Some(lead);
        }
    }
    largest
}

/// The lead of the socket that the repeats exclude, at points at which one of both does not keep up.
fn excluded_lead(swept: &Swept<'_>, points: &[RingAndSocket<'_>]) -> Option<Excluded> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, points, width))?;
    Excluded::from_limits(&limits, |block| points[block].iter().all(RingAndSocket::falls_short))
}

/// Compares both methods, the ring first, in every block of `width` neighbouring points. Each point is a stratum.
fn compared_blocks(swept: &Swept<'_>, points: &[RingAndSocket<'_>], width: usize) -> Vec<ComparedBlock> {
    let mut rates: Vec<Groups> = Vec::new();
    for point in points {
        rates.push((swept.sustained(point.ring), swept.sustained(point.socket)));
    }
    let mut compared = Vec::new();
    for (first_point, block) in rates.windows(width).enumerate() {
        compared.push(ComparedBlock { first_point, strata: block.to_vec() });
    }
    compared
}

/// What both methods sustain at the points of a lead.
fn rates_of_lead<'r>(swept: &Swept<'r>, lead: &Lead<'r>, ring: &Series) -> ComparedRates {
    let is_ring_ahead = std::ptr::eq(lead.ahead, ring);
    let mut points = Vec::new();
    for &LeadPoint { ahead, behind } in &lead.points {
        points.push(match is_ring_ahead {
            true => RingAndSocket { ring: ahead, socket: behind },
            false => RingAndSocket { ring: behind, socket: ahead },
        });
    }
    compared_rates(swept, &points)
}

/// What both methods sustain at these points.
fn compared_rates<'r>(swept: &Swept<'r>, points: &[RingAndSocket<'r>]) -> ComparedRates {
    ComparedRates {
        ring: SustainedPart::new(swept, points.iter().map(|point| point.ring)),
        socket: SustainedPart::new(swept, points.iter().map(|point| point.socket)),
    }
}
