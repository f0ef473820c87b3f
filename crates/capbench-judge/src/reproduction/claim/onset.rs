//! The rule that packet loss begins at a certain point.

use serde::Deserialize;

use super::{Claim, Group, all_visits};
use crate::reproduction::judging::{Chance, RuleAnswer};
use crate::reproduction::measured::StepFacts;
use crate::reproduction::measured::figure::Figure;
use crate::reproduction::measured::limit::Limit;
use crate::reproduction::measured::text::TextValues;
use crate::reproduction::measured::visits::Visits;
use crate::reproduction::testable::answer_without_load;
use crate::reproduction::{Answer, ClaimEvidence, ClaimValue, Quantity, Undecided};

/// Packet loss begins at one of the points that the claim is `over`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Onset {
    /// The first point at which the publication lost packets.
    then: u32,
    /// Captured shares below this are a loss.
    limit: f64,
    /// Whether a point counts as lossless only if the generator reached its load.
    #[serde(default)]
    only_reached: bool,
}

/// Where loss begins, by the indices of the points. Points between both are undecided.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Begins {
    /// No point before this one loses packets.
    clean_before: usize,
    /// The first point that loses packets.
    lossy_from: Option<usize>,
}

/// A case of the claim's text. The file of the publication has its words, by these names.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// No point loses packets.
    Never,
    /// Loss begins where it did in the publication.
    Holds,
    /// It begins at another point.
    Changed,
    /// It is open at which point it begins: the text names the first that is not clean.
    Open,
}

impl Case {
    fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Holds => "holds",
            Self::Changed => "changed",
            Self::Open => "open",
        }
    }
}

impl Onset {
    pub(super) fn judge<'m>(
        &self,
        claim: &Claim,
        groups: &[Group<'m>],
        step: Option<&StepFacts>,
    ) -> RuleAnswer<'m> {
        let mut visits = all_visits(groups);
        let published = self.published(groups);
        let begins = self.begins(&visits, published);
        let Begins { clean_before, lossy_from } = begins;
        let (mut answer, case) = self.answer(published, begins, visits.len());
        // The point that the text names.
        let point = match lossy_from {
            Some(lossy) if case != Case::Open => lossy,
            _ => clean_before,
        };
        let visits_there = visits.get(point).cloned().unwrap_or_default();
        let is_lossy = Limit::Below(self.limit);
        let lossy_visits = lossy_from.and_then(|lossy| visits.get(lossy));
        // Losses up to the published point can be of a disturbed host. That nothing is lost there cannot be.
        let noise_explains = answer != Answer::Inconclusive
            && clean_before <= published
            && lossy_visits.is_some_and(|visits| visits.are_explained_by_noise(is_lossy, Figure::Captured));
        let last = if self.only_reached && case == Case::Open { Some(clean_before) } else { lossy_from };
        if let Some(last) = last {
            visits.truncate(last + 1);
        }
        let last_clean = clean_before.checked_sub(1).map_or("", |last| label(groups, last));
        let mut values = TextValues::from_operands(&visits).with("clean", last_clean);
        let from = values.text(claim.says(if last_clean.is_empty() { "nowhere" } else { "from" }));
        let is_short = self.only_reached && visits_there.fell_short();
        let why = self.why_undecided(&visits_there);
        if answer == Answer::Inconclusive && why == Undecided::LoadNotReached {
            answer = answer_without_load(std::slice::from_ref(&visits_there));
        }
        let captured = visits_there.median(Figure::Captured).unwrap_or_default();
        let loops: f64 = label(groups, point).parse().unwrap_or_default();
        let values = values
            .with("from", ClaimValue::Text(from))
            .with("at", label(groups, point))
            .with("us", ClaimValue::WorkTime { ns: loops * step.map_or(0.0, |step| step.loop_ns) })
            .with("captured", ClaimValue::Figure { quantity: Quantity::Captured, value: captured })
            .with("why", ClaimValue::Undecided { why })
            .with("short", if is_short { claim.says("short") } else { "" });
        let evidence = ClaimEvidence::Figures(claim.text_without_names(case.name(), values));
        let decided_by_test = visits.iter().any(|point| point.are_on_both_sides(is_lossy, Figure::Captured));
        let chance = if decided_by_test { Chance::Tested } else { Chance::Limit };
        RuleAnswer { answer, evidence, visits, chance, noise_explains }
    }

    /// Where loss begins at these points. A point is easier than the next one: if the published point had its load and loses nothing, losses before
    /// it are of a disturbed host.
    fn begins(&self, visits: &[Visits<'_>], published: usize) -> Begins {
        let is_lossy = Limit::Below(self.limit);
        let is_sure = |point: &Visits<'_>| self.is_clean(point) && !point.fell_short();
        let clean = if visits.get(published).is_some_and(is_sure) { published } else { 0 };
        let rest = &visits[clean..];
        let lossy = rest.iter().position(|point| point.meets(is_lossy, Figure::Captured));
        Begins {
            clean_before: clean + rest.iter().take_while(|point| self.is_clean(point)).count(),
            lossy_from: lossy.map(|lossy| clean + lossy),
        }
    }

    /// Whether a point loses no packets, and decides that.
    fn is_clean(&self, visits: &Visits<'_>) -> bool {
        self.is_whole(visits) && !(self.only_reached && visits.fell_short())
    }

    /// Whether no packet is lost at a point.
    fn is_whole(&self, visits: &Visits<'_>) -> bool {
        visits.meets(Limit::AtLeast(self.limit), Figure::Captured)
    }

    /// The answer, and the case of the claim's text.
    fn answer(&self, published: usize, begins: Begins, points: usize) -> (Answer, Case) {
        let Begins { clean_before, lossy_from } = begins;
        match lossy_from {
            _ if clean_before == points => (Answer::Changed, Case::Never),
            Some(lossy) if lossy == clean_before && clean_before == published => (Answer::Holds, Case::Holds),
            Some(lossy) if lossy == clean_before => (Answer::Changed, Case::Changed),
            // A point before the published one loses, or the published one loses nothing. Points in between may be open.
            Some(lossy) if lossy < published || clean_before > published => (Answer::Changed, Case::Changed),
            _ if self.only_reached && clean_before > published => (Answer::Changed, Case::Open),
            _ => (Answer::Inconclusive, Case::Open),
        }
    }

    /// The index of the first point at which the publication lost packets; that of none if it is not here.
    fn published(&self, groups: &[Group<'_>]) -> usize {
        let label = self.then.to_string();
        groups.iter().position(|group| group.label == label).unwrap_or(groups.len())
    }

    /// Why a point does not show whether packets are lost.
    fn why_undecided(&self, visits: &Visits<'_>) -> Undecided {
        if self.only_reached && visits.fell_short() && self.is_whole(visits) {
            return Undecided::LoadNotReached;
        }
        visits.why_undecided()
    }
}

/// The label of a point.
fn label<'g>(groups: &'g [Group<'_>], point: usize) -> &'g str {
    groups.get(point).map_or("", |group| group.label.as_str())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    use super::{Answer, Begins, Case, Onset, Visits};

    const ONSET: Onset = Onset { then: 256, limit: 0.999, only_reached: true };

    #[test]
    fn a_loss_where_nothing_was_lost_then_decides_also_if_it_is_open_where_it_begins() {
        use Answer::{Changed, Holds, Inconclusive};
        for (begins, expected) in [
            (Begins { clean_before: 2, lossy_from: Some(2) }, (Holds, Case::Holds)),
            (Begins { clean_before: 1, lossy_from: Some(1) }, (Changed, Case::Changed)),
            (Begins { clean_before: 0, lossy_from: Some(1) }, (Changed, Case::Changed)),
            (Begins { clean_before: 1, lossy_from: Some(2) }, (Inconclusive, Case::Open)),
            (Begins { clean_before: 1, lossy_from: None }, (Inconclusive, Case::Open)),
            (Begins { clean_before: 3, lossy_from: None }, (Changed, Case::Open)),
            (Begins { clean_before: 4, lossy_from: None }, (Changed, Case::Never)),
        ] {
            assert_eq!(ONSET.answer(2, begins, 4), expected, "{begins:?}");
        }
    }

    /// Nine visits of a point: of this many frames the first `lossy` lose a tenth.
    fn visits_of_point(sent: u64, lossy: u32) -> Vec<TrialResult> {
        let mut trials = Vec::new();
        for number in 1..=9 {
            let lost = if number <= lossy { sent / 10 } else { 0 };
            let trial = measured(1000, sent, sent - lost, 0);
            let second = Duration::from_secs(1);
            let mut trial = trial.result(number, Phase::Sweep, &profile("recv"), Load::Maximum, second);
            // No buffer held frames when sending ended.
            trial.emptying = Some(Emptying { after_s: 0.0, holds_s: 0.0 });
            trials.push(trial);
        }
        trials
    }

    /// Where loss begins, if so many of nine visits of each point lose, and those of the third point sent so many of 1000 frames.
    fn begins(sent: u64, lossy: [u32; 4]) -> Begins {
        let mut trials = lossy.map(|lossy| visits_of_point(1000, lossy));
        trials[2] = visits_of_point(sent, lossy[2]);
        ONSET.begins(&trials.each_ref().map(Visits::from_trials), 2)
    }

    #[test]
    fn where_the_published_point_loses_nothing_losses_before_it_are_of_a_disturbed_host() {
        assert_eq!(begins(1000, [3, 9, 0, 9]), Begins { clean_before: 3, lossy_from: Some(3) });
        assert_eq!(begins(1000, [3, 9, 3, 9]), Begins { clean_before: 0, lossy_from: Some(1) });
        assert_eq!(
            begins(900, [3, 9, 0, 9]),
            Begins { clean_before: 0, lossy_from: Some(1) },
            "at a lower load"
        );
    }
}
