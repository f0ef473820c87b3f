//! The rule that shares, as that of the captured frames, meet limits.

use serde::Deserialize;

use super::{Claim, Group};
use crate::reproduction::judging::{Chance, RuleAnswer};
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::limit::Limit;
use crate::reproduction::measured::text::TextValues;
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::{Answer, ClaimEvidence, ClaimValue, Quantity};

/// A claim that shares meet limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Share {
    #[serde(default = "captured")]
    share: Figure,
    /// One per entry of the claim's `of`; further entries use the last one.
    limits: Vec<Limits>,
    /// If all visits meet this, the text includes the claim's words `most`.
    most: Option<Limit>,
}

/// The limits that confirm or refute the claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    /// A share that meets it confirms the claim.
    holds: Limit,
    /// A share that meets it refutes the claim.
    changed: Limit,
    /// The text if the claim does not hold.
    #[serde(default)]
    because: String,
}

fn captured() -> Figure {
    Figure::Captured
}

/// Visits with the limits that their share must meet.
struct LimitedVisits<'g, 'm> {
    name: &'g str,
    visits: &'g Visits<'m>,
    limits: &'g Limits,
}

impl Share {
    /// Holds if every share meets its limit; changed if one meets the contrary. Names the last such share, or the first
    /// undecided.
    pub(super) fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> RuleAnswer<'m> {
        let limited = self.limited_visits(groups);
        let changed = limited.iter().rfind(|entry| entry.visits.meets(entry.limits.changed, self.share));
        let undecided = limited.iter().find(|entry| !entry.visits.meets(entry.limits.holds, self.share));
        let (answer, case) = match (changed, undecided) {
            (Some(_), _) => (Answer::Changed, "changed"),
            (None, None) if !limited.is_empty() => (Answer::Holds, "holds"),
            _ => (Answer::Inconclusive, "inconclusive"),
        };
        let visits: Vec<Visits<'_>> = limited.iter().map(|entry| entry.visits.clone()).collect();
        let names: Vec<String> = limited.iter().map(|entry| entry.name.to_string()).collect();
        // Whatever share decides, the texts name the captured one.
        let least = visits.iter().flat_map(|visits| visits.values(Figure::Captured)).reduce(f64::min);
        let mut values = TextValues::from_operands(&visits);
        // Without a trial the text says that the first operand was not measured.
        values.missing = least.is_none().then_some(0);
        if let Some(named) = changed.or(undecided) {
            let captured = named.visits.median(Figure::Captured).unwrap_or_default();
            values = values
                .with("which", named.name)
                .with("captured", ClaimValue::Figure { quantity: Quantity::Captured, value: captured })
                .with("why", ClaimValue::Undecided { why: named.visits.why_undecided() })
                .with("because", named.limits.because.as_str());
        }
        let are_most =
            self.most.is_some_and(|limit| visits.iter().all(|entry| entry.meets(limit, self.share)));
        let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
        values = values
            .with("least", least.map_or(ClaimValue::Nothing, |share| ClaimValue::LeastShare { share }))
            .with("most", if are_most { claim.says("most") } else { "" })
            .with("over", labels.join(", "));
        let evidence = ClaimEvidence::Figures(claim.text(case, values, &names));
        let decided_by_test = match changed {
            Some(entry) => entry.visits.are_on_both_sides(entry.limits.changed, self.share),
            None => {
                limited.iter().any(|entry| entry.visits.are_on_both_sides(entry.limits.holds, self.share))
            }
        };
        let chance = if decided_by_test { Chance::Tested } else { Chance::Limit };
        let noise_explains = match changed {
            Some(entry) => entry.visits.are_explained_by_noise(entry.limits.changed, self.share),
            None => limited
                .iter()
                .any(|entry| entry.visits.are_explained_by_noise(entry.limits.holds, self.share)),
        };
        RuleAnswer { answer, evidence, visits, chance, noise_explains }
    }

    fn limited_visits<'g, 'm>(&'g self, groups: &'g [Group<'m>]) -> Vec<LimitedVisits<'g, 'm>> {
        let mut limited = Vec::new();
        for group in groups {
            for (nth, (name, visits)) in group.names.iter().zip(&group.visits).enumerate() {
                if let Some(limits) = self.limits.get(nth).or(self.limits.last()) {
                    limited.push(LimitedVisits { name, visits, limits });
                }
            }
        }
        limited
    }
}
