//! The rules of claims: figures that compare, the point at which loss begins, and Dain's two effects in a sweep of work.

use capbench_model::saved::SavedMethod;
use serde::Deserialize;

use crate::reproduction::claim::{Claim, Group, Said, counted};
use crate::reproduction::judging::{Chance, judgement};
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::figure::Words;
use crate::reproduction::measured::{Limit, MeasuredSteps, Order, Seen, Select, StepFacts};
use crate::reproduction::{Answer, ClaimEvidence, EffectOfMethod, Judgement, Quantity};
use crate::sweep::effects::{Appearance, Effect, ShownEffect, effects};
use crate::sweep::outcome::Swept;
use crate::thresholds::ABSENT_EFFECT;

/// Compares the first entry of the claim's `of` with each other entry, over each of `over`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Compare {
    /// The figures, which must all compare in the same way: a difference in only one of them is no evidence.
    by: Vec<Figure>,
    /// Smaller differences count as none: an amount, a share of the larger value, or a share of the first.
    margin: f64,
    part: f64,
    part_of_first: f64,
    /// How the first entry compares if the claim holds.
    holds: Vec<Order>,
    /// Number of exceptions with which the claim still holds.
    exceptions: usize,
    /// Number of failures that refute the claim; absent if it equals the number of cases that confirm it.
    refuted_by: Option<usize>,
    /// An additional condition of the claim.
    provided: Option<Provided>,
    /// Compares only places where the first entry meets this limit.
    only_where: Option<Limit>,
    /// Compares only places where the generator reached the load.
    only_reached: bool,
    /// Compares the first and the last place at which this limit is met.
    ends_where: Option<Limit>,
    chance: ChanceOf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provided {
    by: Figure,
    order: Order,
}

/// The answers for which the probability of chance is that all visits of one method are on one side.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChanceOf {
    /// All, unless some were equal.
    #[default]
    Apart,
    /// All.
    Every,
    /// Only that the claim does not hold.
    Changed,
}

/// How the first entry of a group compares with another one.
struct Compared<'g> {
    at: &'g str,
    order: Order,
    is_short: bool,
}

impl Compare {
    pub(crate) fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> Said<'m> {
        let ends = match self.ends_where.map(|limit| ends(claim, groups, limit)) {
            Some(Err(said)) => return said,
            Some(Ok(ends)) => Some([ends]),
            None => None,
        };
        let groups = ends.as_ref().map_or(groups, |ends| &ends[..]);
        let seen: Vec<Seen<'_>> = groups.iter().flat_map(|group| &group.seen).cloned().collect();
        let names: Vec<String> = groups.iter().flat_map(|group| &group.names).cloned().collect();
        let mut compared = Vec::new();
        let mut each = Vec::new();
        let mut words = Words::from_operands(&seen);
        for group in groups {
            let [first, others @ ..] = &group.seen[..] else { continue };
            if self.only_where.is_some_and(|limit| !first.meets(limit, Figure::Captured)) {
                continue;
            }
            let is_short = self.only_reached && group.seen.iter().any(Seen::fell_short);
            compared.extend(others.iter().map(|other| Compared {
                at: &group.label,
                order: if is_short { Order::Unknown } else { self.order(first, other) },
                is_short,
            }));
            let mut of_group = Words::from_operands(&group.seen).and("at", group.label.as_str());
            each.push(of_group.fill(claim.says("each")));
            words.missing = words.missing.or(of_group.missing);
        }
        if compared.is_empty() {
            let text = claim.says("none").to_string();
            return Said { answer: Answer::Inconclusive, text, seen, chance: Chance::Unknown };
        }
        let answer = self.answer(&compared, &seen);
        let chance = match self.chance {
            ChanceOf::Apart if compared.iter().any(|one| one.order == Order::Alike) => Chance::Unknown,
            ChanceOf::Changed if answer != Answer::Changed => Chance::Unknown,
            _ => Chance::Apart,
        };
        let joined_by = if claim.says("joined_by").is_empty() { ", " } else { claim.says("joined_by") };
        words = words.and("each", each.join(joined_by)).and("first", names[0].as_str());
        words = words.and("last", names[names.len() - 1].as_str());
        let text = claim.text("all", orders(claim, &compared, words), &names);
        Said { answer, text, seen, chance }
    }

    fn order(&self, first: &Seen<'_>, other: &Seen<'_>) -> Order {
        let by = |of: Figure| {
            let [a, b] = [first, other].map(|seen| seen.median(of).unwrap_or_default());
            first.against(other, of, self.margin + self.part * a.max(b) + self.part_of_first * a)
        };
        let mut orders = self.by.iter().map(|of| by(*of));
        let order = orders.next().unwrap_or(Order::Unknown);
        if orders.all(|other| other == order) { order } else { Order::Unknown }
    }

    fn answer(&self, compared: &[Compared<'_>], seen: &[Seen<'_>]) -> Answer {
        let so = compared.iter().filter(|one| self.holds.contains(&one.order)).count();
        let undecided = compared.iter().filter(|one| one.order == Order::Unknown).count();
        let otherwise = compared.len() - so - undecided;
        let answer = counted(so, otherwise, compared.len(), self.exceptions, self.refuted_by);
        let is_provided = |Provided { by, order }: &Provided| seen[0].against(&seen[1], *by, 0.0) == *order;
        if answer == Answer::Holds && !self.provided.as_ref().is_none_or(is_provided) {
            return Answer::Inconclusive;
        }
        answer
    }
}

/// Lists of the places by their order, and the claim's text for each order.
fn orders<'w, 't>(claim: &Claim, compared: &[Compared<'_>], mut words: Words<'w, 't>) -> Words<'w, 't> {
    let list = |is: &dyn Fn(&Compared<'_>) -> bool| -> String {
        let such: Vec<&str> = compared.iter().filter(|one| is(one)).map(|one| one.at).collect();
        if such.is_empty() { "none".into() } else { such.join(", ") }
    };
    for (name, order) in [("above", Order::Above), ("below", Order::Below), ("alike", Order::Alike)] {
        words = words.and(name, list(&|one| one.order == order));
    }
    words = words.and("short_at", list(&|one| one.is_short));
    let said = |case: &str, is: bool| if is { claim.says(case).to_string() } else { String::new() };
    let is_short = compared.iter().any(|one| one.is_short);
    let is_undecided = compared.iter().any(|one| one.order == Order::Unknown && !one.is_short);
    let are_alike = compared.iter().any(|one| one.order == Order::Alike);
    let short = words.fill(&said("short", is_short));
    words
        .and("short", short)
        .and("if_undecided", said("if_undecided", is_undecided))
        .and("if_alike", said("if_alike", are_alike))
}

/// The first and the last place at which the limit is met; the answer if there are fewer than two.
fn ends<'m>(claim: &Claim, groups: &[Group<'m>], limit: Limit) -> Result<Group<'m>, Said<'m>> {
    let such = |group: &&Group<'_>| group.seen.iter().all(|seen| seen.meets(limit, Figure::Captured));
    let such: Vec<&Group<'_>> = groups.iter().filter(such).collect();
    let undecided = |text: String| {
        let seen = groups.iter().flat_map(|group| &group.seen).cloned().collect();
        Said { answer: Answer::Inconclusive, text, seen, chance: Chance::Unknown }
    };
    match such[..] {
        [] => Err(undecided(claim.says("none").into())),
        [one] => Err(undecided(
            Words::from_operands(&one.seen).and("at", one.label.as_str()).fill(claim.says("one")),
        )),
        [first, .., last] => Ok(Group {
            label: String::new(),
            names: vec![first.label.clone(), last.label.clone()],
            seen: [first, last].into_iter().flat_map(|group| &group.seen).cloned().collect(),
        }),
    }
}

/// Packet loss begins at one of the points that the claim is `over`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Onset {
    /// The first point at which the publication lost packets.
    then: u32,
    /// Captured shares below this are a loss.
    limit: f64,
    /// Whether only the first point decides that captured less, or did not reach the load; otherwise later points count, too.
    #[serde(default)]
    next_only: bool,
}

impl Onset {
    pub(crate) fn judge<'m>(
        &self,
        claim: &Claim,
        groups: &[Group<'m>],
        plan: Option<&StepFacts>,
    ) -> Said<'m> {
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
            point.why_inconclusive()
        };
        let last_clean = clean.checked_sub(1).map_or("", label);
        let from = claim.says(if last_clean.is_empty() { "nowhere" } else { "from" });
        let captured = Quantity::Captured.text(point.median(Figure::Captured).unwrap_or_default());
        seen.truncate(if self.next_only { clean + 1 } else { lost.map_or(seen.len(), |lost| lost + 1) });
        let mut words = Words::from_operands(&seen).and("clean", last_clean);
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

/// One of the effects, with these methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Regimes {
    effect: Kind,
    methods: Vec<SavedMethod>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MoreWorkMorePackets,
    RingBehindSocket,
}

impl Kind {
    fn is_that_of(self, effect: &Effect) -> bool {
        match self {
            Self::MoreWorkMorePackets => matches!(effect, Effect::MoreWorkMorePackets { .. }),
            Self::RingBehindSocket => matches!(effect, Effect::RingBehindSocket { .. }),
        }
    }
}

impl Regimes {
    /// The answers, one for all methods with the same answer.
    pub(crate) fn judge(&self, claim: &str, of: &Select, measured: &MeasuredSteps<'_>) -> Vec<Judgement> {
        let Some((outcome, done)) = measured.step(of).and_then(|done| Some((done.sweep.as_ref()?, done)))
        else {
            return Vec::new();
        };
        let mut found: Vec<Judgement> = Vec::new();
        let swept = Swept::new(outcome, &done.trials);
        for ShownEffect { series, effect, trials } in effects(&swept) {
            if !self.effect.is_that_of(&effect) || !self.methods.contains(&series.method) {
                continue;
            }
            let seen = Seen::from_trials(done.trials.iter().filter(|trial| trials.contains(&trial.number)));
            let answer = answer(effect.appearance());
            let method = series.method.clone();
            let said = (answer, ClaimEvidence::Effect(EffectOfMethod { method, effect }));
            let mut judged = judgement(claim, said, &[seen], Chance::Unknown);
            judged.visits = Some(outcome.repeats);
            match found.iter_mut().find(|known| known.answer == judged.answer) {
                Some(known) => {
                    known.evidence.extend(judged.evidence);
                    known.trials.extend(judged.trials);
                }
                None => found.push(judged),
            }
        }
        found
    }
}

fn answer(appearance: Appearance) -> Answer {
    match appearance {
        Appearance::Appears => Answer::Holds,
        Appearance::DoesNotAppear { excluded_above } if excluded_above <= ABSENT_EFFECT => Answer::Changed,
        // A sweep without losses cannot show the effect, so it gives no answer about lossy loads.
        Appearance::DoesNotAppear { .. } | Appearance::CannotAppear | Appearance::Inconclusive => {
            Answer::Inconclusive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_absent_if_a_tenth_is_excluded() {
        for (excluded_above, expected) in [(0.08, Answer::Changed), (0.125, Answer::Inconclusive)] {
            assert_eq!(answer(Appearance::DoesNotAppear { excluded_above }), expected, "{excluded_above}");
        }
    }
}
