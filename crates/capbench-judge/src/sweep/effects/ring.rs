//! Whether a ring captures less than a socket's queue once packets are lost: whether the sustainable rate of a method without a
//! ring is above that of a method with one, at points at which one of them does not keep up.

use super::words::{self, SECOND};
use super::{Appearance, Effect, EffectAnswer, EffectKind, ExcludedIncrease};
use crate::sweep::contrasts::{Lead, LeadPoint, Leads, common};
use crate::sweep::limits::Limits;
use crate::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_model::method_spec::Delivery;
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::shift::Groups;

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
pub(super) fn ring_behind_socket(
    swept: &Swept<'_>,
    series: &Series,
    scene: &[&Series],
    leads: &Leads<'_>,
) -> Option<Effect> {
    let mut sockets: Vec<&Series> = Vec::new();
    let answer = match delivery(&series.method)? {
        Delivery::Counted => return None,
        Delivery::Copied => {
            let text = format!("{SECOND} is one of rings, and this method has none.");
            EffectAnswer { appearance: Appearance::CannotAppear, text }
        }
        Delivery::Ring => {
            sockets
                .extend(scene.iter().filter(|compared| delivery(&compared.method) == Some(Delivery::Copied)));
            against_all(swept, series, &sockets, leads)
        }
    };
    let compared = sockets.into_iter().chain([series]);
    Some(Effect {
        kind: EffectKind::RingBehindSocket,
        method: series.method.clone(),
        appearance: answer.appearance,
        text: answer.text,
        trials: numbers(compared.flat_map(|compared| &compared.readings)),
    })
}

fn delivery(method: &SavedMethod) -> Option<Delivery> {
    method.known()?.delivery()
}

fn against_all(swept: &Swept<'_>, ring: &Series, sockets: &[&Series], leads: &Leads<'_>) -> EffectAnswer {
    if sockets.is_empty() {
        let text = format!(
            "{SECOND} cannot be decided: no method without a ring was measured next to it; add recv to --method."
        );
        return EffectAnswer { appearance: Appearance::Inconclusive, text };
    }
    let mut appearances = Vec::new();
    let mut texts = Vec::new();
    for socket in sockets {
        let answer = against_one(swept, ring, socket, leads);
        appearances.push(answer.appearance);
        texts.push(answer.text);
    }
    EffectAnswer { appearance: combined(&appearances), text: format!("{SECOND} {}.", texts.join("; it ")) }
}

/// One socket that is ahead of the ring is enough. The limit against all of them is the limit against the worst.
fn combined(appearances: &[Appearance]) -> Appearance {
    for decisive in [Appearance::Appears, Appearance::Inconclusive] {
        if appearances.contains(&decisive) {
            return decisive;
        }
    }
    let mut worst: Option<f64> = None;
    for appearance in appearances {
        if let Appearance::DoesNotAppear { excluded_above } = *appearance {
            worst = Some(worst.map_or(excluded_above, |known| known.max(excluded_above)));
        }
    }
    match worst {
        Some(excluded_above) => Appearance::DoesNotAppear { excluded_above },
        None => Appearance::CannotAppear,
    }
}

/// The answer for one ring and one socket.
fn against_one(swept: &Swept<'_>, ring: &Series, socket: &Series, leads: &Leads<'_>) -> EffectAnswer {
    let name = &socket.method;
    let points = shared_points(ring, socket);
    let Some(worst) = worst_for_ring(swept, &points) else {
        let lossless = words::lossless(ring.readings.iter().chain(&socket.readings));
        let text = format!("cannot appear against {name}: {lossless} with either");
        return EffectAnswer { appearance: Appearance::CannotAppear, text };
    };
    if let Some(lead) = largest_lead(leads, socket, ring) {
        let text = format!("appears against {name}: {}", lead_in_words(swept, lead, ring));
        return EffectAnswer { appearance: Appearance::Appears, text };
    }
    let lead_of_ring = largest_lead(leads, ring, socket).map(|lead| lead_in_words(swept, lead, ring));
    let Some(excluded) = excluded_lead(swept, &points) else {
        let seen = lead_of_ring.map_or_else(String::new, |lead| format!(": {lead}"));
        let text = format!(
            "cannot be decided against {name} with {} visits, which exclude nothing{seen}; give more --visits",
            swept.outcome.repeats
        );
        return EffectAnswer { appearance: Appearance::Inconclusive, text };
    };
    let limit = words::excluded_above("a lead of the socket", excluded.above);
    let limit = format!("{limit} ({})", excluded.basis);
    let text = match lead_of_ring {
        Some(lead) => format!(
            "does not appear against {name}: {lead}, and nowhere less that chance does not explain; {limit}"
        ),
        None => format!(
            "does not appear against {name}: the two do not differ by more than chance explains: {} at worst; {limit}",
            compared_in_words(swept, &[worst])
        ),
    };
    EffectAnswer { appearance: Appearance::DoesNotAppear { excluded_above: excluded.above }, text }
}

/// The points that both methods have.
fn shared_points<'r>(ring: &'r Series, socket: &'r Series) -> Vec<RingAndSocket<'r>> {
    common(ring, socket).into_iter().map(|(ring, socket)| RingAndSocket { ring, socket }).collect()
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
        let is_short = lead.points.iter().all(|at| at.ahead.falls_short() || at.behind.falls_short());
        if !is_of_both || !is_short || !lead.is_notable() {
            continue;
        }
        if largest.is_none_or(|known| lead.gain.total_cmp(&known.gain).is_ge()) {
            largest = Some(lead);
        }
    }
    largest
}

/// The lead of the socket that the repeats exclude, at points at which one of both does not keep up.
fn excluded_lead(swept: &Swept<'_>, points: &[RingAndSocket<'_>]) -> Option<ExcludedIncrease> {
    let limits = Limits::from_comparisons(|width| compared_blocks(swept, points, width))?;
    ExcludedIncrease::from_limits(&limits, |first, width| {
        points[first..first + width].iter().all(RingAndSocket::falls_short)
    })
}

/// The rates of both methods in every block of `width` neighbouring points, the ring's first, by the first point.
fn compared_blocks(
    swept: &Swept<'_>,
    points: &[RingAndSocket<'_>],
    width: usize,
) -> Vec<(usize, Vec<Groups>)> {
    let mut rates: Vec<Groups> = Vec::new();
    for point in points {
        rates.push((swept.sustained(point.ring), swept.sustained(point.socket)));
    }
    rates.windows(width).enumerate().map(|(first, block)| (first, block.to_vec())).collect()
}

/// What both methods sustain at the points of a lead, and its evidence.
fn lead_in_words(swept: &Swept<'_>, lead: &Lead<'_>, ring: &Series) -> String {
    let is_of_ring = std::ptr::eq(lead.ahead, ring);
    let mut points = Vec::new();
    for &LeadPoint { ahead, behind } in &lead.points {
        points.push(match is_of_ring {
            true => RingAndSocket { ring: ahead, socket: behind },
            false => RingAndSocket { ring: behind, socket: ahead },
        });
    }
    format!("{} ({})", compared_in_words(swept, &points), lead.evidence)
}

fn compared_in_words(swept: &Swept<'_>, points: &[RingAndSocket<'_>]) -> String {
    format!(
        "{} are kept up with against {} at {}",
        words::sustained_share(swept, points.iter().map(|point| point.ring)),
        words::sustained_share(swept, points.iter().map(|point| point.socket)),
        words::labels(swept, points.iter().map(|point| point.ring))
    )
}
