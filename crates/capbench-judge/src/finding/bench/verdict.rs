//! Which method to use, up to which rate, and how certain that is: the verdict of a bench, by the conclusion of its ranking.

use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use serde::Serialize;

use super::costs::{NsRange, app_time};
use super::pauses::Paused;
use super::{Ranked, Ranking};
use crate::recommendation::turns::{BelowBy, InTurns, RelationToFirst, SentShares, Turns};
use crate::recommendation::{Because, Certainty, Conclusion, Question, Sustained, SustainedStatus};
use crate::sustained::is_as_high;
use crate::thresholds::TURNS_EQUAL;

/// Which method to use, or why none can be named.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum BenchVerdict {
    /// No method can be named, because every trial is invalid.
    EveryTrialInvalid {
        /// Why the first one is.
        reason: String,
    },
    /// The sound trials do not show that a method sustains a load: the host disturbed those with losses, or the generator did not send
    /// the load.
    NoAnswer {
        /// What the trials do not show.
        because: NoAnswerBecause,
        /// How many trials the host disturbed.
        noisy_trials: u32,
        /// Trials that are not invalid.
        trials: u32,
        /// Where most frames were lost; absent if none was.
        #[serde(skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
    },
    /// No method sustains the load, because one thread has no time for it.
    NoTime {
        /// The load in packets per second.
        asked_pps: f64,
        /// What takes the time.
        time_of: TimeOfThread,
        /// CPU time per packet.
        ns_per_packet: f64,
    },
    /// Use this method.
    Use {
        /// The method.
        method: SavedMethod,
        /// How certain it is that none is better. The only method is certain.
        certainty: Certainty,
        /// What it sustains.
        sustains: SustainedRate,
        /// Whether losses in pauses of the host are not counted.
        without_pauses: bool,
        /// Application time per packet; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        app_time: Option<NsRange>,
        /// Methods that are equal.
        equal: Vec<SavedMethod>,
        /// By how much their figures differ at most, as trials in turns show; absent if these did not compare each of them with the method.
        #[serde(skip_serializing_if = "Option::is_none")]
        equal_within_ratio: Option<f64>,
        /// Methods that trials in turns do not show to be equal or worse. None is better by enough to matter.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        may_be_as_good: Vec<SavedMethod>,
        /// Methods that trials in turns show to be worse, best first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        worse: Vec<WorseMethod>,
    },
    /// The trials leave several methods, and show of none what it sustains.
    OneOf {
        /// The methods.
        methods: Vec<SavedMethod>,
    },
    /// The trials leave several methods; use this one meanwhile.
    UseMeanwhile {
        /// The method.
        method: SavedMethod,
        /// What it sustains.
        sustains: SustainedRate,
        /// Whether losses in pauses of the host are not counted.
        without_pauses: bool,
        /// Application time per packet; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        app_time: Option<NsRange>,
        /// The others.
        rivals: Rivals,
        /// Methods that trials in turns show to be worse, best first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        worse: Vec<WorseMethod>,
    },
    /// No method sustains the load, or any.
    NoneLossless {
        /// The load in packets per second; absent if any load was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked_pps: Option<f64>,
        /// How much of the load was sent; absent if all of it, if it is not known, and in older files.
        #[serde(skip_serializing_if = "Option::is_none")]
        sent: Option<SentShares>,
        /// Whether of some method no trial shows what it sustains.
        is_some_unknown: bool,
        /// The method that comes closest; absent if no trial shows one.
        #[serde(skip_serializing_if = "Option::is_none")]
        closest: Option<SavedMethod>,
        /// Where it loses most frames.
        #[serde(skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// Methods that are equal to that one in trials in turns.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        equal: Vec<SavedMethod>,
        /// By how much their figures differ at most; absent if rounds did not compare each of them with the closest one.
        #[serde(skip_serializing_if = "Option::is_none")]
        equal_within_ratio: Option<f64>,
        /// Methods that trials in turns do not show to be equal or worse.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        may_be_as_good: Vec<SavedMethod>,
        /// Methods that trials in turns show to be worse than that one, best first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        worse: Vec<WorseMethod>,
    },
    /// The generator did not send the load.
    NotSent {
        /// The load in packets per second.
        asked_pps: f64,
        /// What it sent, in packets per second.
        sent_pps: f64,
    },
}

/// A method that is worse than the one to use.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct WorseMethod {
    /// The method.
    pub method: SavedMethod,
    /// The figure that shows it.
    pub by: BelowBy,
    /// How much better the method to use is in this figure, as a multiple.
    pub factor: f64,
    /// The load at which it captures less, in packets per second; absent if a cost shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_pps: Option<f64>,
}

/// What a method sustains without loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum SustainedRate {
    /// The load that was asked for.
    Asked {
        /// The load in packets per second.
        pps: f64,
    },
    /// A little less than the load that was asked for: all that the generator sent of it.
    Sent {
        /// The load in packets per second.
        asked_pps: f64,
        /// What was sent of it, in packets per second.
        sent_pps: f64,
    },
    /// A rate, and none that is much higher.
    Limit {
        /// The rate in packets per second.
        pps: f64,
        /// Distance of its bounds as a share of the upper one.
        precision_ratio: f64,
    },
    /// A rate, and perhaps a higher one.
    AtLeast {
        /// The rate in packets per second.
        pps: f64,
    },
    /// No load.
    None,
    /// No trial shows it, or its trials are not in the ranking.
    Unknown,
    /// No trial shows whether it sustains the load that was asked for.
    UnknownAt {
        /// The load in packets per second.
        asked_pps: f64,
    },
}

/// Methods that may be better than the one to use meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Rivals {
    /// At the load that was asked for.
    Cost {
        /// Methods that sustain it, and may cost less.
        may_cost_less: Vec<SavedMethod>,
        /// Methods that may sustain it.
        may_sustain_it: Vec<SavedMethod>,
    },
    /// Where the highest rate was asked for.
    Rate {
        /// Methods that may sustain more.
        may_sustain_more: Vec<SavedMethod>,
    },
    /// Where the methods took turns.
    Turns {
        /// Methods that may be better.
        may_be_better: Vec<SavedMethod>,
        /// Methods that may be as good, and are not better by enough to matter.
        may_be_as_good: Vec<SavedMethod>,
    },
}

/// What disturbed trials do not show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum NoAnswerBecause {
    /// The generator sent less than the load.
    NotSent {
        /// The load in packets per second.
        asked_pps: f64,
        /// What it sent, in packets per second.
        sent_pps: f64,
    },
    /// No method sustained the load.
    NotSustained {
        /// The load in packets per second.
        asked_pps: f64,
    },
    /// No method sustained any of the tried loads.
    NoneSustained,
}

/// What takes the time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeOfThread {
    /// The work per packet, as asked for.
    Work,
    /// The application, as measured: a lower bound.
    Application,
}

impl BenchVerdict {
    /// Whether it answers the question of a bench: it names a method, which sustains the load that was asked for, or says that no method
    /// does. A run without an answer is inconclusive.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Use { sustains, .. } => !matches!(sustains, SustainedRate::UnknownAt { .. }),
            Self::NoTime { .. } => true,
            Self::NoneLossless { is_some_unknown, .. } => !is_some_unknown,
            Self::EveryTrialInvalid { .. }
            | Self::NoAnswer { .. }
            | Self::OneOf { .. }
            | Self::UseMeanwhile { .. }
            | Self::NotSent { .. } => false,
        }
    }
}

/// The verdict of a ranking with a conclusion; `None` without one about its question. `unanswered` makes the verdicts that need none: no
/// time, no valid trial, no answer.
pub(super) fn verdict(question: Question, ranking: &Ranking, paused: &[Paused<'_>]) -> Option<BenchVerdict> {
    let asked_pps = match question {
        Question::CheapestAt { pps } => Some(pps),
        Question::HighestRate => None,
    };
    match &ranking.conclusion {
        Conclusion::Use { method, because, certainty, equal } => {
            let ranked = ranking.find(method);
            let (may_be_as_good, equal): (_, Vec<_>) =
                equal.iter().cloned().partition(|one| is_open(ranking, one));
            Some(BenchVerdict::Use {
                method: method.clone(),
                // Without another method, none can be better.
                certainty: if *because == Because::OnlyOne { Certainty::Certain } else { *certainty },
                sustains: sustained(question, ranked),
                without_pauses: is_paused(method, paused),
                app_time: ranked.and_then(app_time),
                equal_within_ratio: equal_within(ranking, method, &equal),
                equal,
                may_be_as_good,
                worse: worse_than(ranking, method),
            })
        }
        Conclusion::OneOf { best, methods, .. } => {
            Some(one_of(question, ranking, best.as_ref(), methods, paused))
        }
        Conclusion::NoneLossless { best, place, .. } => {
            let closest = best.as_ref();
            let (may_be_as_good, equal): (_, Vec<_>) = closest
                .map_or_else(Vec::new, |closest| as_good_as(ranking, closest))
                .into_iter()
                .partition(|one| is_open(ranking, one));
            Some(BenchVerdict::NoneLossless {
                asked_pps,
                sent: ranking.turns.as_ref().filter(|_| asked_pps.is_some()).and_then(Turns::sent_in_part),
                is_some_unknown: ranking.methods.iter().any(is_unknown),
                closest: closest.cloned(),
                place: *place,
                equal_within_ratio: closest.and_then(|closest| equal_within(ranking, closest, &equal)),
                equal,
                may_be_as_good,
                worse: closest.map_or_else(Vec::new, |closest| worse_than(ranking, closest)),
            })
        }
        Conclusion::NotSent { sent_pps } => {
            Some(BenchVerdict::NotSent { asked_pps: asked_pps?, sent_pps: *sent_pps })
        }
        Conclusion::Nothing => None,
    }
}

/// By how much the figures of this method and of those that are equal differ at most, as trials in turns show. Rounds compare each method with
/// the first.
fn equal_within(ranking: &Ranking, named: &SavedMethod, equal: &[SavedMethod]) -> Option<f64> {
    let turns = ranking.turns.as_ref().filter(|turns| turns.judged_rounds > 0 && !equal.is_empty())?;
    let relation = |method| turns.find(method).map(|one| one.relation);
    let of_first = [RelationToFirst::First, RelationToFirst::Equal].map(Some);
    let is_compared = |a, b| [relation(a), relation(b)] == of_first;
    equal.iter().all(|one| is_compared(named, one) || is_compared(one, named)).then_some(TURNS_EQUAL)
}

/// The method to use until others are measured.
fn one_of(
    question: Question,
    ranking: &Ranking,
    best: Option<&SavedMethod>,
    methods: &[SavedMethod],
    paused: &[Paused<'_>],
) -> BenchVerdict {
    let Some(ranked) = best.and_then(|best| ranking.find(best)) else {
        return BenchVerdict::OneOf { methods: methods.to_vec() };
    };
    BenchVerdict::UseMeanwhile {
        method: ranked.method.clone(),
        sustains: sustained(question, Some(ranked)),
        without_pauses: is_paused(&ranked.method, paused),
        app_time: app_time(ranked),
        rivals: rivals(question, ranking, &ranked.method, methods),
        worse: worse_than(ranking, &ranked.method),
    }
}

/// The methods that trials in turns show to be worse than this one.
pub(super) fn worse_than(ranking: &Ranking, named: &SavedMethod) -> Vec<WorseMethod> {
    let mut worse = Vec::new();
    for in_turns in in_turns_with(ranking, named) {
        if let RelationToFirst::Below { by, factor } = in_turns.relation {
            let method = in_turns.method.clone();
            // The ratio of the costs that the table shows, so that both agree.
            let cost = ranking.cost_ratio(&method).filter(|_| by == BelowBy::Cost);
            let load_pps = ranking.turns.as_ref().map(|turns| turns.load_pps);
            worse.push(WorseMethod {
                method,
                by,
                factor: cost.unwrap_or(factor.middle),
                at_pps: load_pps.filter(|_| by == BelowBy::Loss),
            });
        }
    }
    worse
}

/// The methods that trials in turns do not show to be worse than this one.
fn as_good_as(ranking: &Ranking, named: &SavedMethod) -> Vec<SavedMethod> {
    let all = in_turns_with(ranking, named).iter();
    let as_good = all.filter(|one| !matches!(one.relation, RelationToFirst::Below { .. }));
    as_good.map(|one| one.method.clone()).filter(|method| method != named).collect()
}

/// The methods that took turns with this one, and itself, if it was first in them, or is equal to that. Else none: what is known of
/// the others is known in relation to the first.
fn in_turns_with<'r>(ranking: &'r Ranking, named: &SavedMethod) -> &'r [InTurns] {
    let is_best = |one: &InTurns| matches!(one.relation, RelationToFirst::First | RelationToFirst::Equal);
    let turns = ranking.turns.as_ref().filter(|turns| turns.find(named).is_some_and(is_best));
    turns.map_or(&[], |turns| &turns.methods)
}

/// The methods that may be better than `best`, of those that the trials leave.
fn rivals(question: Question, ranking: &Ranking, best: &SavedMethod, methods: &[SavedMethod]) -> Rivals {
    let rivals = methods.iter().filter(|method| *method != best).cloned();
    match question {
        Question::HighestRate if ranking.turns.as_ref().is_some_and(|turns| turns.judged_rounds > 0) => {
            let is_better = |method: &SavedMethod| may_be_better(ranking, method);
            let (may_be_better, may_be_as_good) = rivals.partition(is_better);
            Rivals::Turns { may_be_better, may_be_as_good }
        }
        Question::HighestRate => Rivals::Rate { may_sustain_more: rivals.collect() },
        Question::CheapestAt { .. } => {
            let (may_cost_less, may_sustain_it) = rivals.partition(|method| sustains_load(ranking, method));
            Rivals::Cost { may_cost_less, may_sustain_it }
        }
    }
}

/// Whether trials in turns leave it open whether a method is as good as the first, or worse.
fn is_open(ranking: &Ranking, method: &SavedMethod) -> bool {
    let in_turns = ranking.turns.as_ref().and_then(|turns| turns.find(method));
    in_turns.is_some_and(|known| matches!(known.relation, RelationToFirst::Open { .. }))
}

/// Whether trials in turns leave it open whether a method is better than the first.
fn may_be_better(ranking: &Ranking, method: &SavedMethod) -> bool {
    let in_turns = ranking.turns.as_ref().and_then(|turns| turns.find(method));
    in_turns.is_none_or(|known| known.relation == RelationToFirst::Open { may_be_better: true })
}

/// Whether a method sustains the load that was asked for: no higher one was sent, so its limit is not known.
fn sustains_load(ranking: &Ranking, method: &SavedMethod) -> bool {
    ranking.find(method).is_some_and(|ranked| ranked.lossless.status == SustainedStatus::AtLeast)
}

/// What a method of the ranking sustains without loss.
fn sustained(question: Question, ranked: Option<&Ranked>) -> SustainedRate {
    match (question, ranked.filter(|ranked| !is_unknown(ranked))) {
        (Question::CheapestAt { pps }, Some(ranked)) => at_load(&ranked.lossless, pps),
        (Question::CheapestAt { pps }, None) => SustainedRate::UnknownAt { asked_pps: pps },
        (Question::HighestRate, Some(ranked)) => highest(&ranked.lossless),
        (Question::HighestRate, None) => SustainedRate::Unknown,
    }
}

/// What is sustained of the load that was asked for: no more than the generator sent of it.
fn at_load(sustained: &Sustained, asked_pps: f64) -> SustainedRate {
    match sustained.lower_pps {
        Some(sent_pps) if is_as_high(sent_pps, asked_pps) => SustainedRate::Asked { pps: asked_pps },
        Some(sent_pps) => SustainedRate::Sent { asked_pps, sent_pps },
        None => SustainedRate::None,
    }
}

/// The highest rate that is sustained.
fn highest(sustained: &Sustained) -> SustainedRate {
    let Some(pps) = sustained.lower_pps else { return SustainedRate::None };
    match sustained.precision.filter(|_| !sustained.is_lower_bound()) {
        Some(precision_ratio) => SustainedRate::Limit { pps, precision_ratio },
        None => SustainedRate::AtLeast { pps },
    }
}

/// Whether losses of a method are not counted, because the host stopped its capture thread for a moment.
fn is_paused(method: &SavedMethod, paused: &[Paused<'_>]) -> bool {
    paused.iter().any(|paused| paused.method == method)
}

/// Whether no trial shows what a method sustains.
pub(super) fn is_unknown(ranked: &Ranked) -> bool {
    ranked.lossless.status == SustainedStatus::Unknown
}

#[cfg(test)]
mod tests {
    use super::{Question, SustainedRate, at_load, highest, sustained};
    use crate::recommendation::{Ranked, Sustained, SustainedStatus};

    /// What is known of a method: a status, and the lower bound.
    fn known(status: SustainedStatus, lower_pps: Option<f64>) -> Sustained {
        Sustained {
            status,
            lower_pps,
            upper_pps: None,
            at_most_pps: None,
            precision: None,
            searched_to: None,
            trials: Vec::new(),
        }
    }

    #[test]
    fn a_method_that_took_turns_without_a_searched_rate_has_an_unknown_one() {
        let unknown_at = SustainedRate::UnknownAt { asked_pps: 1000.0 };
        for (status, expected) in [
            (SustainedStatus::Unknown, [SustainedRate::Unknown, unknown_at]),
            (SustainedStatus::NotReached, [SustainedRate::None; 2]),
        ] {
            let lossless = known(status, None);
            let ranked = Ranked {
                method: "recv".into(),
                rank: 1,
                below: None,
                nearly_lossless: lossless.clone(),
                lossless,
                cost: None,
                limited_by: None,
                lost_at: None,
                trials: 6,
                disturbed: 0,
            };
            let questions = [Question::HighestRate, Question::CheapestAt { pps: 1000.0 }];
            let rates = questions.map(|question| sustained(question, Some(&ranked)));
            assert_eq!(rates, expected, "{status:?}");
        }
    }

    #[test]
    fn of_a_load_that_was_not_sent_in_full_what_was_sent_is_sustained() {
        let at_least = SustainedStatus::AtLeast;
        let sent = SustainedRate::Sent { asked_pps: 20e3, sent_pps: 19_786.0 };
        assert_eq!(at_load(&known(at_least, Some(19_786.0)), 20e3), sent);
        assert_eq!(at_load(&known(at_least, Some(20e3)), 20e3), SustainedRate::Asked { pps: 20e3 });
        assert_eq!(at_load(&known(at_least, None), 20e3), SustainedRate::None);
    }

    #[test]
    fn a_rate_is_a_limit_if_it_is_known_to_a_quarter() {
        for (precision, is_limit) in [(0.24, true), (0.26, false)] {
            let sustained = Sustained {
                status: SustainedStatus::Between,
                lower_pps: Some(1e6),
                upper_pps: Some(1e6 / (1.0 - precision)),
                at_most_pps: None,
                precision: Some(precision),
                searched_to: None,
                trials: Vec::new(),
            };
            assert_eq!(matches!(highest(&sustained), SustainedRate::Limit { .. }), is_limit, "{precision}");
        }
    }
}
