//! Claims as defined in the file of a publication, and their judge.

mod rules;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::rules::Compare;
use self::rules::Onset;
use self::rules::Regimes;
use crate::reproduction::judging::{Chance, at_what_was_sent, judgement};
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::figure::Words;
use crate::reproduction::measured::{Limit, MeasuredSteps, Seen, Select};
use crate::reproduction::{Answer, ClaimEvidence, Judgement, Quantity};
use crate::thresholds::UNCOUNTED_LOSS_SHARE;
use capbench_model::ledger::LostAt;
use capbench_model::saved::SavedMethod;

/// A claim of a publication, and the rule that judges it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    claim: String,
    /// The trials that it concerns: each of these, over each of `over`.
    #[serde(default = "everything")]
    pub(crate) of: Vec<Select>,
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
    Regimes(Regimes),
}

/// The measurements at one of the places that a claim is `over`.
pub(crate) struct Group<'m> {
    pub(crate) label: String,
    /// The name and the measurements of each of the claim's `of`.
    pub(crate) names: Vec<String>,
    pub(crate) seen: Vec<Seen<'m>>,
}

pub(crate) struct Said<'m> {
    pub(crate) answer: Answer,
    pub(crate) text: String,
    pub(crate) seen: Vec<Seen<'m>>,
    pub(crate) chance: Chance,
}

impl Claim {
    /// The answer. For Dain's effects, one answer for all methods with the same result.
    pub fn judge(&self, measured: &MeasuredSteps<'_>) -> Vec<Judgement> {
        if let Some((method, reason)) =
            self.needs.as_ref().and_then(|method| Some((method, measured.why_left_out(method)?)))
        {
            let why = ClaimEvidence::Figures { text: format!("{method} cannot run here: {reason}") };
            return vec![at_what_was_sent(&self.claim, (Answer::NotTestable, why), &[], Chance::Unknown)];
        }
        let groups = self.groups(measured);
        let said = match &self.rule {
            Rule::Share(rule) => rule.judge(self, &groups),
            Rule::Compare(rule) => rule.judge(self, &groups),
            Rule::Onset(rule) => rule.judge(self, &groups, measured.plan(&self.of[0])),
            Rule::Search(rule) => return vec![rule.judge(self, measured)],
            Rule::Uncounted => self.uncounted(groups),
            Rule::Regimes(rule) => return rule.judge(&self.claim, &self.of[0], measured),
        };
        vec![self.judgement(said)]
    }

    fn judgement(&self, Said { answer, text, seen, chance }: Said<'_>) -> Judgement {
        let figures = ClaimEvidence::Figures { text };
        if self.at_what_was_sent.contains(&answer) {
            at_what_was_sent(&self.claim, (answer, figures), &seen, chance)
        } else {
            judgement(&self.claim, (answer, figures), &seen, chance)
        }
    }

    /// The measurements, without methods of `over` that cannot run here.
    fn groups<'m>(&self, measured: &MeasuredSteps<'m>) -> Vec<Group<'m>> {
        let runs = |over: &&Select| {
            over.method.as_ref().is_none_or(|method| measured.why_left_out(method).is_none())
        };
        let group = |over: &Select| {
            let selects: Vec<Select> = self.of.iter().map(|of| of.or(over)).collect();
            Group {
                label: over.label(),
                names: selects.iter().map(Select::label).collect(),
                seen: selects.iter().map(|select| measured.seen(select)).collect(),
            }
        };
        if self.over_points {
            let points = measured.plan(&self.of[0]).map_or(&[][..], |plan| &plan.points);
            return points.iter().map(|at| group(&Select { at: Some(*at), ..Select::default() })).collect();
        }
        self.over.iter().filter(runs).map(group).collect()
    }

    pub(crate) fn says(&self, case: &str) -> &str {
        self.says.get(case).map_or("", String::as_str)
    }

    /// The text of a case, filled in. If a named figure is missing, the text of `unmeasured`, if there is one.
    pub(crate) fn text(&self, case: &str, mut words: Words<'_, '_>, names: &[String]) -> String {
        let text = words.fill(self.says(case));
        let Some(missing) = words.missing.filter(|_| self.says.contains_key("unmeasured")) else {
            return text;
        };
        words.and("missing", names.get(missing).cloned().unwrap_or_default()).fill(self.says("unmeasured"))
    }

    fn uncounted<'m>(&self, groups: Vec<Group<'m>>) -> Said<'m> {
        let seen: Vec<Seen<'_>> = groups.into_iter().flat_map(|group| group.seen).collect();
        let trials = || seen.iter().flat_map(|seen| seen.trials.iter().copied());
        let lost: u64 = trials().map(|trial| trial.lost()).sum();
        // If counters show more than was lost, they are wrong, which is not an uncounted loss.
        let uncounted: u64 = trials().map(|trial| trial.unexplained.max(0).unsigned_abs()).sum();
        let count = |frames: u64| Quantity::Count.text(frames as f64);
        let places = LostAt::sum(trials().flat_map(|trial| trial.losses()));
        let places: Vec<_> =
            places.iter().map(|lost| format!("{} in {}", count(lost.frames), lost.place.key())).collect();
        let buffered = super::measured::buffered_note(&seen);
        let (answer, case) = if seen.iter().any(|seen| seen.trials.is_empty()) {
            (Answer::Inconclusive, "unmeasured")
        } else if trials().any(|trial| trial.unexplained < 0) {
            (Answer::Inconclusive, "overcounted")
        } else if uncounted > 0 {
            let is_few = (uncounted as f64) < UNCOUNTED_LOSS_SHARE * lost as f64;
            (if is_few { Answer::Inconclusive } else { Answer::Holds }, "uncounted")
        } else if lost == 0 {
            (if buffered.is_empty() { Answer::Changed } else { Answer::Inconclusive }, "lossless")
        } else {
            (Answer::Changed, "counted")
        };
        let words = Words::from_operands(&seen).and("lost", count(lost)).and("uncounted", count(uncounted));
        let text = self.text(case, words.and("places", places.join(", ")), &[]);
        Said { answer, text, seen, chance: Chance::Unknown }
    }
}

/// A claim that shares meet limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    #[serde(default = "captured")]
    share: Figure,
    /// One per entry of the claim's `of`; further entries use the last one.
    limits: Vec<Limits>,
    /// If this is met, the text includes that of `most`.
    most: Option<Limit>,
}

/// The limits that confirm or refute the claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    holds: Limit,
    changed: Limit,
    /// The text if the claim does not hold.
    #[serde(default)]
    because: String,
}

fn captured() -> Figure {
    Figure::Captured
}

impl Share {
    /// Holds if every share meets its limit; changed if one meets the contrary. Names the last such share, or the first
    /// undecided.
    fn judge<'m>(&self, claim: &Claim, groups: &[Group<'m>]) -> Said<'m> {
        let mut parts = Vec::new();
        for group in groups {
            for ((nth, name), seen) in group.names.iter().enumerate().zip(&group.seen) {
                let limits = self.limits.get(nth).or(self.limits.last());
                parts.extend(limits.map(|limits| (name, seen, limits)));
            }
        }
        let changed = parts.iter().rfind(|(_, seen, limits)| seen.meets(limits.changed, self.share));
        let undecided = parts.iter().find(|(_, seen, limits)| !seen.meets(limits.holds, self.share));
        let (answer, case) = match (changed, undecided) {
            (Some(_), _) => (Answer::Changed, "changed"),
            (None, None) if !parts.is_empty() => (Answer::Holds, "holds"),
            _ => (Answer::Inconclusive, "inconclusive"),
        };
        let seen: Vec<Seen<'_>> = parts.iter().map(|(_, seen, _)| (*seen).clone()).collect();
        let names: Vec<String> = parts.iter().map(|(name, ..)| (*name).clone()).collect();
        let least = seen.iter().flat_map(|seen| seen.values(Figure::Captured)).reduce(f64::min);
        let mut words = Words::from_operands(&seen);
        words.missing = least.is_none().then_some(0);
        if let Some((name, seen, limits)) = changed.or(undecided) {
            let captured = seen.text(Figure::Captured).unwrap_or_else(|| Quantity::Captured.text(0.0));
            words = words.and("which", *name).and("captured", captured);
            words = words.and("why", seen.why_inconclusive()).and("because", &limits.because);
        }
        let least = least.map_or(String::new(), |least| {
            format!("{}{}", if least < 1.0 { "at least " } else { "" }, Quantity::Captured.text(least))
        });
        let is_most = self.most.is_some_and(|limit| seen.iter().all(|seen| seen.meets(limit, self.share)));
        let most = if is_most { claim.says("most") } else { "" };
        let over: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
        words = words.and("least", least).and("most", most).and("over", over.join(", "));
        let text = claim.text(case, words, &names);
        Said { answer, text, seen, chance: Chance::Limit }
    }
}

/// A claim that throughput by searches is below what best effort captures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    of: Select,
    /// Differences below this share count as none.
    part: f64,
}

impl Search {
    /// The claim holds if it is true at all points but one.
    fn judge(&self, claim: &Claim, measured: &MeasuredSteps<'_>) -> Judgement {
        let points = measured.plan(&self.of).map_or(&[][..], |plan| &plan.points_here[..]);
        let searched: Vec<&Select> =
            claim.over.iter().filter(|over| over.at.is_some_and(|at| points.contains(&at))).collect();
        let (mut below, mut decided) = (0, 0);
        let mut seen = Vec::new();
        let mut searches: Vec<u32> = Vec::new();
        for over in &searched {
            let effort = measured.seen(&claim.of[0].or(over));
            let Some(found) = measured.found(&self.of.or(&claim.of[0]).or(over)) else { continue };
            let Some(found_pps) = found.value else { continue };
            searches.extend(found.trials);
            let is_below = |of| effort.median(of).map(|pps| found_pps < (1.0 - self.part) * pps);
            // Buffers, and loads below the wire rate, are not best effort.
            let is_below =
                is_below(Figure::CapturedPps).filter(|decided| is_below(Figure::ReadPps) == Some(*decided));
            match is_below.filter(|_| !effort.fell_short()) {
                // An "at least" result may be as high as the best effort.
                Some(true) if found.at_least => {}
                Some(is_below) => {
                    decided += 1;
                    below += usize::from(is_below);
                }
                None => {}
            }
            seen.push(effort);
        }
        let answer = counted(below, decided - below, searched.len(), 1, None);
        let words =
            Words::from_operands(&seen).and("below", below.to_string()).and("decided", decided.to_string());
        let text = claim.text("all", words.and("searched", searched.len().to_string()), &[]);
        let mut judgement = claim.judgement(Said { answer, text, seen, chance: Chance::Unknown });
        judgement.trials.extend(searches);
        judgement.visits = (!judgement.trials.is_empty()).then_some(1);
        judgement
    }
}

/// Holds if `so` is at least `of` less `exceptions`; changed if `otherwise` is at least `refuting`, by default the same.
pub(crate) fn counted(
    so: usize,
    otherwise: usize,
    of: usize,
    exceptions: usize,
    refuting: Option<usize>,
) -> Answer {
    if of <= exceptions {
        Answer::Inconclusive
    } else if so + exceptions >= of {
        Answer::Holds
    } else if otherwise >= refuting.unwrap_or(of - exceptions) {
        Answer::Changed
    } else {
        Answer::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{Answer, Claim, Group, Seen, counted};

    #[test]
    fn losses_are_uncounted_from_a_hundredth_of_them_on() {
        let claim: Claim =
            serde_json::from_value(serde_json::json!({"claim": "some", "rule": "uncounted"})).unwrap();
        for (unexplained, answer) in [(95, Answer::Inconclusive), (105, Answer::Holds)] {
            let trial = measured(100_000, 100_000, 90_000, 10_000);
            let second = Duration::from_secs(1);
            let trial = trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second);
            let trial = TrialResult { unexplained, ..trial };
            let seen = vec![Seen::from_trials([&trial])];
            let group = Group { label: String::new(), names: Vec::new(), seen };
            assert_eq!(claim.uncounted(vec![group]).answer, answer, "{unexplained} of 10,000");
        }
    }

    #[test]
    fn a_claim_holds_with_up_to_one_exception() {
        let answer = |below, decided, of| counted(below, decided - below, of, 1, None);
        assert_eq!(answer(6, 6, 6), Answer::Holds);
        assert_eq!(answer(5, 5, 6), Answer::Holds);
        assert_eq!(answer(4, 6, 6), Answer::Inconclusive);
        assert_eq!(answer(2, 6, 6), Answer::Inconclusive);
        assert_eq!(answer(1, 6, 6), Answer::Changed);
        assert_eq!(answer(0, 5, 6), Answer::Changed);
        assert_eq!(answer(0, 4, 6), Answer::Inconclusive);
        assert_eq!(answer(0, 0, 0), Answer::Inconclusive);
    }
}
