//! Claims that one figure is above, below or equal to another.

use serde::Deserialize;

use super::claim::{Claim, Group, Said, counted};
use super::figure::Figure;
use super::judging::Chance;
use super::measured::{Limit, Order, Seen};
use super::outcome::Answer;
use super::words::Words;

/// Compares the first entry of the claim's `of` with each other entry, over each of `over`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Compare {
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
    pub(super) fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> Said<'m> {
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
        let mut words = Words::of(&seen);
        for group in groups {
            let [first, others @ ..] = &group.seen[..] else { continue };
            if self.only_where.is_some_and(|limit| !first.meets(limit, Figure::Captured)) {
                continue;
            }
            let is_short = self.only_reached && group.seen.iter().any(Seen::fell_short);
            compared.extend(others.iter().map(|other| Compared {
                at: &group.label,
                order: if is_short { Order::Untold } else { self.order(first, other) },
                is_short,
            }));
            let mut of_group = Words::of(&group.seen).and("at", group.label.as_str());
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
        let order = orders.next().unwrap_or(Order::Untold);
        if orders.all(|other| other == order) { order } else { Order::Untold }
    }

    fn answer(&self, compared: &[Compared<'_>], seen: &[Seen<'_>]) -> Answer {
        let so = compared.iter().filter(|one| self.holds.contains(&one.order)).count();
        let untold = compared.iter().filter(|one| one.order == Order::Untold).count();
        let otherwise = compared.len() - so - untold;
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
    let is_untold = compared.iter().any(|one| one.order == Order::Untold && !one.is_short);
    let are_alike = compared.iter().any(|one| one.order == Order::Alike);
    let short = words.fill(&said("short", is_short));
    words
        .and("short", short)
        .and("if_untold", said("if_untold", is_untold))
        .and("if_alike", said("if_alike", are_alike))
}

/// The first and the last place at which the limit is met; the answer if there are fewer than two.
fn ends<'m>(claim: &Claim, groups: &[Group<'m>], limit: Limit) -> Result<Group<'m>, Said<'m>> {
    let such = |group: &&Group<'_>| group.seen.iter().all(|seen| seen.meets(limit, Figure::Captured));
    let such: Vec<&Group<'_>> = groups.iter().filter(such).collect();
    let untold = |text: String| {
        let seen = groups.iter().flat_map(|group| &group.seen).cloned().collect();
        Said { answer: Answer::Inconclusive, text, seen, chance: Chance::Unknown }
    };
    match such[..] {
        [] => Err(untold(claim.says("none").into())),
        [one] => Err(untold(Words::of(&one.seen).and("at", one.label.as_str()).fill(claim.says("one")))),
        [first, .., last] => Ok(Group {
            label: String::new(),
            names: vec![first.label.clone(), last.label.clone()],
            seen: [first, last].into_iter().flat_map(|group| &group.seen).cloned().collect(),
        }),
    }
}
