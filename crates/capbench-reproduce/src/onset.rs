//! Claims about the point at which packet loss begins.

use serde::Deserialize;

use super::claim::{Claim, Group, Said};
use super::figure::Figure;
use super::judging::Chance;
use super::measured::{Limit, Seen};
use super::outcome::{Answer, Quantity};
use super::plan::StepPlan;
use super::words::Words;

/// Packet loss begins at one of the points that the claim is `over`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Onset {
    /// The first point at which the publication lost packets.
    then: u32,
    /// Captured shares below this are a loss.
    limit: f64,
    /// Whether only the first point with incomplete capture decides, including a point whose load the generator did not reach.
    /// Otherwise losses at later points decide, too.
    #[serde(default)]
    next_only: bool,
}

impl Onset {
    pub(super) fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>], plan: Option<&StepPlan>) -> Said<'m> {
        let mut seen: Vec<Seen<'_>> = groups.iter().flat_map(|group| &group.seen).cloned().collect();
        let label = |at: usize| groups.get(at).map_or("", |group| group.label.as_str());
        let is_whole = |seen: &Seen<'_>| seen.meets(Limit::AtLeast(self.limit), Figure::Captured);
        let is_clean = |seen: &&Seen<'_>| is_whole(seen) && !(self.next_only && seen.fell_short());
        // Points before this one lose no packets, and points from `lost` on lose packets. The points between them are undecided.
        let clean = seen.iter().take_while(is_clean).count();
        let lost = seen.iter().position(|seen| seen.meets(Limit::Below(self.limit), Figure::Captured));
        let then = groups.iter().position(|group| group.label == self.then.to_string());
        let then = then.unwrap_or(groups.len());
        let (answer, case) = match lost {
            _ if clean == seen.len() => (Answer::Changed, "never"),
            Some(lost) if lost == clean && clean == then => (Answer::Holds, "holds"),
            Some(lost) if lost == clean => (Answer::Changed, "changed"),
            Some(lost) if !self.next_only && (lost < then || clean > then) => (Answer::Changed, "changed"),
            _ if self.next_only && clean > then => (Answer::Changed, "open"),
            _ => (Answer::Inconclusive, "open"),
        };
        let at = if case == "open" { clean } else { lost.unwrap_or(clean) };
        let point = seen.get(at).cloned().unwrap_or_default();
        let loops: f64 = label(at).parse().unwrap_or_default();
        let us = loops * plan.map_or(0.0, |plan| plan.loop_ns) / 1e3;
        let is_short = self.next_only && point.fell_short();
        let why = if is_short && is_whole(&point) {
            "the generator does not reach the wire's rate"
        } else {
            point.why_untold()
        };
        let last_clean = clean.checked_sub(1).map_or("", label);
        let from = claim.says(if last_clean.is_empty() { "nowhere" } else { "from" });
        let captured = Quantity::Captured.text(point.median(Figure::Captured).unwrap_or_default());
        seen.truncate(if self.next_only { clean + 1 } else { lost.map_or(seen.len(), |lost| lost + 1) });
        let mut words = Words::of(&seen).and("clean", last_clean);
        let from = words.fill(from);
        let words = words
            .and("from", from)
            .and("at", label(at))
            .and("us", format!("{us:.2}"))
            .and("captured", captured)
            .and("why", why)
            .and("short", if is_short { claim.says("short") } else { "" });
        let text = claim.text(case, words, &[]);
        Said { answer, text, seen, chance: Chance::Limit }
    }
}
