//! The rule that figures of the claim's first entry are above, below or like those of its other entries.

use serde::Deserialize;

use super::{Cases, Claim, Group, all_visits};
use crate::reproduction::judging::{Chance, RuleAnswer};
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::limit::Limit;
use crate::reproduction::measured::text::TextValues;
use crate::reproduction::measured::visits::{Order, PossibleOrders, Visits};
use crate::reproduction::testable::answer_without_loss;
use crate::reproduction::{Answer, ClaimEvidence, ClaimText, ClaimValue};

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
    /// The orders that the visits do not exclude.
    orders: PossibleOrders,
    /// The order of the typical values.
    order_of_typical: Order,
    /// Whether the order is as the claim has it; `None` if the visits do not show it.
    confirms: Option<bool>,
    /// Whether the generator did not reach the load.
    is_short: bool,
    /// Whether the load is out of the generator's reach, so that more visits change nothing.
    is_out_of_reach: bool,
    /// Whether visits of both overlap.
    overlap: bool,
}

impl Compared<'_> {
    /// The order that the text names: of the typical values, if the visits leave two.
    fn named_order(&self) -> Option<Order> {
        self.confirms?;
        Some(self.orders.only().unwrap_or(self.order_of_typical))
    }

    /// Whether a test decides, and not that all visits of one are on one side of those of the other.
    fn is_tested(&self) -> bool {
        self.confirms.is_some() && (self.overlap || self.orders.only().is_none())
    }
}

impl Compare {
    pub(super) fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> RuleAnswer<'m> {
        match self.ends_where {
            None => self.judge_groups(claim, groups),
            Some(limit) => match first_and_last(claim, groups, limit) {
                Ok(ends) => self.judge_groups(claim, &[ends]),
                Err(text) => RuleAnswer {
                    answer: answer_without_ends(groups, limit),
                    evidence: ClaimEvidence::Figures(text),
                    visits: all_visits(groups),
                    chance: Chance::Unknown,
                    noise_explains: false,
                },
            },
        }
    }

    fn judge_groups<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> RuleAnswer<'m> {
        let visits = all_visits(groups);
        let mut compared = Vec::new();
        let mut texts = Vec::new();
        let mut missing = None;
        for group in groups {
            let [first, others @ ..] = &group.visits[..] else { continue };
            if self.only_where.is_some_and(|limit| !first.meets(limit, Figure::Captured)) {
                continue;
            }
            let is_short = self.only_reached && group.visits.iter().any(Visits::fell_short);
            let is_out_of_reach = self.only_reached && group.visits.iter().any(Visits::is_out_of_reach);
            for other in others {
                let orders = if is_short { PossibleOrders::ANY } else { self.orders(first, other) };
                compared.push(Compared {
                    at: &group.label,
                    orders,
                    order_of_typical: self.order_of_typical(first, other),
                    confirms: orders.is_one_of(&self.holds),
                    is_short,
                    is_out_of_reach,
                    overlap: self.by.iter().any(|figure| first.overlap(other, *figure)),
                });
            }
            let mut values = TextValues::from_operands(&group.visits).with("at", group.label.as_str());
            texts.push(values.text(claim.says("each")));
            missing = missing.or(values.missing);
        }
        if compared.is_empty() {
            return RuleAnswer {
                answer: answer_without_loss(self.is_lossless(groups)),
                evidence: ClaimEvidence::Figures(ClaimText::plain(claim.says("none"))),
                visits,
                chance: Chance::Unknown,
                noise_explains: false,
            };
        }
        let answer = self.answer(&compared, &visits);
        let names: Vec<String> = groups.iter().flat_map(|group| &group.names).cloned().collect();
        let joined_by = if claim.says("joined_by").is_empty() { ", " } else { claim.says("joined_by") };
        let mut values = TextValues::from_operands(&visits)
            .with("each", ClaimValue::Texts { texts, joined_by: joined_by.into() })
            .with("first", names[0].as_str())
            .with("last", names[names.len() - 1].as_str());
        values.missing = missing;
        let text = claim.text("all", with_orders(claim, &compared, values), &names);
        RuleAnswer {
            answer,
            evidence: ClaimEvidence::Figures(text),
            chance: self.chance(answer, &compared),
            visits,
            noise_explains: false,
        }
    }

    /// The orders that one of the figures allows.
    fn orders(&self, first: &Visits<'_>, other: &Visits<'_>) -> PossibleOrders {
        let mut orders: Option<PossibleOrders> = None;
        for &figure in &self.by {
            let of_figure = first.against(other, figure, self.margin_of(first, other, figure));
            orders = Some(orders.map_or(of_figure, |known| known.or(of_figure)));
        }
        orders.unwrap_or(PossibleOrders::ANY)
    }

    /// Smaller differences of a figure count as none.
    fn margin_of(&self, first: &Visits<'_>, other: &Visits<'_>, figure: Figure) -> f64 {
        let first_value = first.typical(figure).unwrap_or_default();
        let other_value = other.typical(figure).unwrap_or_default();
        self.margin + self.part * first_value.max(other_value) + self.part_of_first * first_value
    }

    /// The order of the typical values of the first figure.
    fn order_of_typical(&self, first: &Visits<'_>, other: &Visits<'_>) -> Order {
        let Some(&figure) = self.by.first() else { return Order::Alike };
        let difference =
            first.typical(figure).unwrap_or_default() - other.typical(figure).unwrap_or_default();
        let margin = self.margin_of(first, other, figure);
        if difference > margin {
            Order::Above
        } else if difference < -margin {
            Order::Below
        } else {
            Order::Alike
        }
    }

    /// Whether only places with losses are compared, and no place has any: most visits of each show that.
    fn is_lossless(&self, groups: &[Group<'_>]) -> bool {
        let Some(Limit::Below(share)) = self.only_where else { return false };
        let mut places = groups.iter().filter_map(|group| group.visits.first());
        let is_whole = |first: &Visits<'_>| first.meets(Limit::AtLeast(share), Figure::Captured);
        !groups.is_empty() && places.all(is_whole)
    }

    fn answer(&self, compared: &[Compared<'_>], visits: &[Visits<'_>]) -> Answer {
        let mut cases = Cases { confirming: 0, contrary: 0, all: compared.len() };
        for place in compared {
            cases.confirming += usize::from(place.confirms == Some(true));
            cases.contrary += usize::from(place.confirms == Some(false));
        }
        let answer = cases.answer(self.exceptions, self.refuted_by);
        let out_of_reach = compared.iter().filter(|place| place.is_out_of_reach).count();
        if answer == Answer::Inconclusive && out_of_reach > self.exceptions {
            return Answer::NotTestable;
        }
        match &self.provided {
            Some(Provided { by, order })
                if answer == Answer::Holds
                    && visits[0].against(&visits[1], *by, 0.0).only() != Some(*order) =>
            {
                Answer::Inconclusive
            }
            _ => answer,
        }
    }

    fn chance(&self, answer: Answer, compared: &[Compared<'_>]) -> Chance {
        match self.chance {
            ChanceOf::Apart if compared.iter().any(|place| place.orders.only() == Some(Order::Alike)) => {
                Chance::Unknown
            }
            ChanceOf::Changed if answer != Answer::Changed => Chance::Unknown,
            _ if compared.iter().any(Compared::is_tested) => Chance::Tested,
            ChanceOf::Apart | ChanceOf::Every | ChanceOf::Changed => Chance::Apart,
        }
    }
}

/// Adds lists of the places by their order, and the claim's text for each order.
fn with_orders<'v, 'm>(
    claim: &Claim,
    compared: &[Compared<'_>],
    mut values: TextValues<'v, 'm>,
) -> TextValues<'v, 'm> {
    for (name, order) in [("above", Order::Above), ("below", Order::Below), ("alike", Order::Alike)] {
        values = values.with(name, places(compared, |place| place.named_order() == Some(order)));
    }
    values = values.with("short_at", places(compared, |place| place.is_short));
    let is_short = compared.iter().any(|place| place.is_short);
    let is_undecided = compared.iter().any(|place| place.confirms.is_none() && !place.is_short);
    let are_alike = compared.iter().any(|place| place.named_order() == Some(Order::Alike));
    let short =
        if is_short { ClaimValue::Text(values.text(claim.says("short"))) } else { ClaimValue::Nothing };
    values
        .with("short", short)
        .with("if_undecided", if is_undecided { claim.says("if_undecided") } else { "" })
        .with("if_alike", if are_alike { claim.says("if_alike") } else { "" })
}

/// The selected places.
fn places(compared: &[Compared<'_>], is_selected: impl Fn(&Compared<'_>) -> bool) -> ClaimValue {
    let mut labels = Vec::new();
    for place in compared {
        if is_selected(place) {
            labels.push(place.at.to_string());
        }
    }
    ClaimValue::Places { labels }
}

/// The answer where fewer than two places are known to meet the limit. If all places but one are known to miss it, there is nothing to compare.
fn answer_without_ends(groups: &[Group<'_>], limit: Limit) -> Answer {
    let mut open = 0;
    for group in groups {
        let misses = group.visits.iter().any(|visits| visits.meets(limit.contrary(), Figure::Captured));
        open += usize::from(!misses);
    }
    if !groups.is_empty() && open < 2 { Answer::NotTestable } else { Answer::Inconclusive }
}

/// The first and the last place at which the limit is met, as one group; the claim's text if there are fewer than two.
fn first_and_last<'m>(claim: &Claim, groups: &[Group<'m>], limit: Limit) -> Result<Group<'m>, ClaimText> {
    let mut meeting: Vec<&Group<'m>> = Vec::new();
    for group in groups {
        if group.visits.iter().all(|visits| visits.meets(limit, Figure::Captured)) {
            meeting.push(group);
        }
    }
    match meeting[..] {
        [] => Err(ClaimText::plain(claim.says("none"))),
        [only] => {
            let mut values = TextValues::from_operands(&only.visits).with("at", only.label.as_str());
            Err(values.text(claim.says("one")))
        }
        [first, .., last] => Ok(Group {
            label: String::new(),
            names: vec![first.label.clone(), last.label.clone()],
            visits: first.visits.iter().chain(&last.visits).cloned().collect(),
        }),
    }
}
