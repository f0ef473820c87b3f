//! Claims of publications, as their files define them: each has a rule, the trials that the rule compares, and texts for each
//! case that the rule can find. This file selects the measurements and asks the rule.
//!
//! A rule gives an answer and a case: a word such as `holds`, `changed` or `unmeasured`. In the file of the publication, the claim's table
//! `says` has a text for each case. The text names values in braces, which the rule and the measurements have (`TextValues`).
//!
//! | file | the rule |
//! |---|---|
//! | `share` | shares meet limits |
//! | `compare` | figures are above, below, or alike |
//! | `onset` | loss begins at a point |
//! | `search` | the throughput that searches find is below what best effort captures |
//! | `uncounted` | lost frames are counted nowhere |
//! | `effect` | one of Dain's effects appears |
//!
//! `testable` decides when a claim cannot be tested here.

mod compare;
mod effect;
mod onset;
mod search;
mod share;
mod uncounted;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::compare::Compare;
use self::effect::EffectRule;
use self::onset::Onset;
use self::search::Search;
use self::share::Share;
use crate::reproduction::judging::{Chance, JudgedClaim, RuleAnswer, judgement, judgement_at_any_load};
use crate::reproduction::measured::text::TextValues;
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::measured::{MeasuredSteps, Select};
use crate::reproduction::testable::without_method;
use crate::reproduction::{Answer, ClaimText};
use capbench_model::saved::SavedMethod;

/// A claim of a publication, and the rule that judges it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    claim: String,
    /// The trials that it concerns: each of these, over each of `over`.
    #[serde(default = "everything")]
    of: Vec<Select>,
    #[serde(default = "everything")]
    over: Vec<Select>,
    /// Whether it is over every point of the step instead.
    #[serde(default)]
    over_points: bool,
    /// The method required to test it.
    needs: Option<SavedMethod>,
    /// Answers that remain valid if a load was not reached: what is lost at a lower load is lost.
    #[serde(default)]
    at_what_was_sent: Vec<Answer>,
    /// Whether it is about more packets than a method takes. Then the visits with the highest loads decide, as other work on the host lowers the
    /// generator's maximum.
    #[serde(default)]
    at_highest_loads: bool,
    rule: Rule,
    /// Texts by case.
    #[serde(default)]
    says: BTreeMap<String, String>,
}

fn everything() -> Vec<Select> {
    vec![Select::default()]
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    Share(Share),
    Compare(Compare),
    Onset(Onset),
    Search(Search),
    Uncounted,
    Regimes(EffectRule),
}

/// The measurements at one of the places that a claim is `over`.
struct Group<'m> {
    label: String,
    /// The name of each of the claim's `of`.
    names: Vec<String>,
    /// The visits of each of them.
    visits: Vec<Visits<'m>>,
}

impl Claim {
    /// The answer. For Dain's effects, one answer for all methods with the same result.
    pub fn judge(&self, measured: &MeasuredSteps<'_>) -> Vec<JudgedClaim> {
        let without_method = self.needs.as_ref().and_then(|method| without_method(method, measured));
        if let Some(evidence) = without_method {
            let untestable = RuleAnswer {
                answer: Answer::NotTestable,
                evidence,
                visits: Vec::new(),
                chance: Chance::Unknown,
                noise_explains: false,
            };
            return vec![judgement_at_any_load(&self.claim, untestable)];
        }
        let groups = self.groups(measured);
        let answer = match &self.rule {
            Rule::Share(rule) => rule.judge(self, &groups),
            Rule::Compare(rule) => rule.judge(self, &groups),
            Rule::Onset(rule) => rule.judge(self, &groups, measured.step_facts(&self.of[0])),
            Rule::Search(rule) => return vec![rule.judge(self, measured)],
            Rule::Uncounted => uncounted::judge(self, &groups),
            Rule::Regimes(rule) => return rule.judge(&self.claim, &self.of[0], measured),
        };
        vec![self.judgement(answer)]
    }

    fn judgement(&self, answer: RuleAnswer<'_>) -> JudgedClaim {
        // That a claim cannot be tested does not depend on the load that was sent.
        if answer.answer == Answer::NotTestable || self.at_what_was_sent.contains(&answer.answer) {
            judgement_at_any_load(&self.claim, answer)
        } else {
            judgement(&self.claim, answer)
        }
    }

    /// The measurements, without methods of `over` that cannot run here.
    fn groups<'m>(&self, measured: &MeasuredSteps<'m>) -> Vec<Group<'m>> {
        let mut groups = Vec::new();
        if self.over_points {
            let points = measured.step_facts(&self.of[0]).map_or(&[][..], |step| &step.points);
            for at in points {
                groups.push(self.group(measured, &Select { at: Some(*at), ..Select::default() }));
            }
            return groups;
        }
        for over in &self.over {
            if over.method.as_ref().is_none_or(|method| measured.why_left_out(method).is_none()) {
                groups.push(self.group(measured, over));
            }
        }
        groups
    }

    fn group<'m>(&self, measured: &MeasuredSteps<'m>, over: &Select) -> Group<'m> {
        let mut names = Vec::new();
        let mut visits = Vec::new();
        for of in &self.of {
            let select = of.or(over);
            names.push(select.label());
            let all = measured.visits(&select);
            visits.push(match self.rule {
                // Losses count at any load.
                Rule::Uncounted => all.undisturbed(),
                _ if self.at_highest_loads => all.undisturbed().of_highest_loads(),
                _ => all.decisive(!self.at_what_was_sent.is_empty()),
            });
        }
        Group { label: over.label(), names, visits }
    }

    /// The claim's text of a case, as its file has it; empty if it has none.
    fn says(&self, case: &str) -> &str {
        self.says.get(case).map_or("", String::as_str)
    }

    /// The text of a case with its values. If a figure that the text names is missing, the text of the case `unmeasured` instead, if the
    /// claim has one. `names` are the names of the operands, for rules whose text `unmeasured` says which one is missing.
    fn text(&self, case: &str, mut values: TextValues<'_, '_>, names: &[String]) -> ClaimText {
        let text = values.text(self.says(case));
        let Some(missing) = values.missing.filter(|_| self.says.contains_key("unmeasured")) else {
            return text;
        };
        let name = names.get(missing).cloned().unwrap_or_default();
        values.with("missing", name).text(self.says("unmeasured"))
    }

    /// The text of a case with its values, for rules whose operands have no names.
    fn text_without_names(&self, case: &str, values: TextValues<'_, '_>) -> ClaimText {
        self.text(case, values, &[])
    }
}

/// The visits of all groups.
fn all_visits<'m>(groups: &[Group<'m>]) -> Vec<Visits<'m>> {
    groups.iter().flat_map(|group| &group.visits).cloned().collect()
}

/// How many of the compared cases confirm a claim, and how many contradict it. The others are undecided.
#[derive(Clone, Copy)]
struct Cases {
    confirming: usize,
    contrary: usize,
    all: usize,
}

impl Cases {
    /// Holds if all cases but `exceptions` confirm the claim. Changed if at least `refuting` contradict it: by default as many as would
    /// confirm it.
    fn answer(self, exceptions: usize, refuting: Option<usize>) -> Answer {
        if self.all <= exceptions {
            Answer::Inconclusive
        } else if self.confirming + exceptions >= self.all {
            Answer::Holds
        } else if self.contrary >= refuting.unwrap_or(self.all - exceptions) {
            Answer::Changed
        } else {
            Answer::Inconclusive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Cases};

    #[test]
    fn a_claim_holds_with_up_to_one_exception() {
        for (confirming, decided, all, expected) in [
            (6, 6, 6, Answer::Holds),
            (5, 5, 6, Answer::Holds),
            (4, 6, 6, Answer::Inconclusive),
            (2, 6, 6, Answer::Inconclusive),
            (1, 6, 6, Answer::Changed),
            (0, 5, 6, Answer::Changed),
            (0, 4, 6, Answer::Inconclusive),
            (0, 0, 0, Answer::Inconclusive),
        ] {
            let cases = Cases { confirming, contrary: decided - confirming, all };
            assert_eq!(cases.answer(1, None), expected, "{confirming} of {decided} of {all}");
        }
    }
}
