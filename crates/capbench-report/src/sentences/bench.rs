//! Which method to use, up to which rate, and what the others lack.

use std::cmp::Ordering;

use capbench_model::figures::percent;
use capbench_model::places::Place;
use capbench_model::trial::{OWN_WORK, Phase, TrialResult, Verdict};
use capbench_plan::recommendation::{
    Because, Certainty, Conclusion, Question, Ranked, Ranking, Recommendation, Sustained, SustainedStatus,
};

use super::sentence;
use crate::figures::number;
use crate::groups::grouped;
use crate::model::{Sentence, Unit};
use crate::naming::{self, Scene, list, many, rate};
use crate::results::Results;

/// A rate that is known less precisely is only a lower bound.
const COARSE: f64 = 0.25;
/// Share of a load that the generator must send to test it.
const SENT: f64 = 0.95;
/// Most methods that a sentence lists.
const NAMED: usize = 4;

/// Which method to use; then what else decides, the most important first.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let Some(recommendation) = naming::recommendation(results) else { return nothing(results) };
    let Some(main) = recommendation.headline() else { return nothing(results) };
    if main.conclusion == Conclusion::Nothing {
        let mut sentences = nothing(results);
        if sentences.is_empty() {
            sentences.extend(undecided(recommendation.question, main, results));
        }
        return sentences;
    }
    let pauses = Pauses::of(main, results);
    let verdict = Sentence { text: verdict(recommendation.question, main, &pauses), trials: rests_on(main) };
    let facts = [
        settle(main),
        unknown(main),
        pauses.fact(),
        worse(main),
        overload(main, results),
        cost(main),
        elsewhere(&recommendation),
    ];
    std::iter::once(verdict).chain(facts.into_iter().flatten()).collect()
}

/// Why no method can be named: the reason of the first invalid trial.
fn nothing(results: &Results) -> Vec<Sentence> {
    let invalid: Vec<_> = results.trials.iter().filter(|trial| trial.verdict == Verdict::Invalid).collect();
    let Some(first) = invalid.first() else { return Vec::new() };
    let text = format!("No method can be named: every trial is invalid ({}).", first.why_invalid());
    vec![sentence(text, invalid.iter().map(|trial| trial.number))]
}

/// What no trial shows because the host disturbed those with losses.
fn undecided(question: Question, ranking: &Ranking, results: &Results) -> Option<Sentence> {
    let trials: Vec<_> = results.trials.iter().filter(|trial| naming::is_sound(trial)).collect();
    let all = many(trials.len() as u64, "trial", "trials");
    let noisy = trials.iter().filter(|trial| !trial.noise.is_empty()).count();
    let sent = trials.iter().map(|trial| trial.offered_pps).fold(0.0, f64::max);
    let what = match question {
        Question::CheapestAt { pps } if sent < pps * SENT => {
            format!("the generator sent up to {} of {}", rate(sent), rate(pps))
        }
        Question::CheapestAt { pps } => format!("no method sustained {} without loss", rate(pps)),
        Question::HighestRate => "no method sustained any of the tried loads without loss".into(),
    };
    let places = naming::losses(trials.iter().copied());
    let place = places
        .first()
        .map_or_else(String::new, |(place, _)| format!(" Most frames were lost {}.", place.words()));
    let text = format!(
        "No answer: {what}, and the host disturbed {noisy} of {all}.{place} Stop other work and run it again."
    );
    (!trials.is_empty() && !ranking.methods.is_empty()).then(|| sentence(text, naming::numbers(trials)))
}

fn rests_on(ranking: &Ranking) -> Vec<u32> {
    let of = |ranked: &Ranked| {
        let cost = ranked.cost.iter().flat_map(|cost| &cost.trials);
        ranked
            .lossless
            .trials
            .iter()
            .chain(&ranked.nearly_lossless.trials)
            .chain(cost)
            .copied()
            .collect::<Vec<_>>()
    };
    sentence(String::new(), ranking.methods.iter().flat_map(of)).trials
}

/// Trials that lost frames although their method is said to sustain a load that is at least theirs, by method. The rules of the
/// ranking do not count a loss of one moment, and not one that a second trial does not repeat.
struct Pauses<'r>(Vec<Paused<'r>>);

struct Paused<'r> {
    method: &'r str,
    /// How many trials ran at such loads.
    trials: usize,
    /// Those that lost frames.
    lossy: Vec<&'r TrialResult>,
}

impl<'r> Pauses<'r> {
    fn of(ranking: &'r Ranking, results: &'r Results) -> Self {
        let own = scene(ranking);
        let paused = ranking.methods.iter().filter_map(|ranked| {
            let highest = ranked.lossless.lower_pps?;
            let is_its = |trial: &&TrialResult| {
                trial.profile.method == ranked.method
                    && is_in(&own, trial)
                    && naming::is_sound(trial)
                    && trial.offered_pps <= highest
            };
            let trials: Vec<_> = results.trials.iter().filter(is_its).collect();
            let lossy: Vec<_> = trials.iter().copied().filter(|trial| trial.lost() > 0).collect();
            (!lossy.is_empty()).then_some(Paused { method: &ranked.method, trials: trials.len(), lossy })
        });
        Self(paused.collect())
    }

    /// What limits the words "without loss" of a method.
    fn but_for(&self, method: &str) -> &'static str {
        let is_paused = self.0.iter().any(|paused| paused.method == method);
        if is_paused { " but for pauses of the host" } else { "" }
    }

    fn fact(&self) -> Option<Sentence> {
        let part = |paused: &Paused<'_>| {
            let most = paused.lossy.iter().map(|trial| trial.sent_loss_ratio()).fold(0.0, f64::max);
            let (count, trials) = (paused.lossy.len(), many(paused.trials as u64, "trial", "trials"));
            format!(
                "in {count} of {trials} of {}, which then lost up to {} of the frames",
                paused.method,
                percent(most)
            )
        };
        let parts: Vec<String> = self.0.iter().take(NAMED).map(part).collect();
        let more = match self.0.len().saturating_sub(NAMED) {
            0 => String::new(),
            rest => format!("; and in trials of {}", many(rest as u64, "more method", "more methods")),
        };
        let its = if self.0.len() == 1 { "its rate" } else { "their rates" };
        let text = format!("The host paused {}{more}. This does not lower {its}.", parts.join("; "));
        let trials = self.0.iter().flat_map(|paused| &paused.lossy).map(|trial| trial.number);
        (!self.0.is_empty()).then(|| sentence(text, trials))
    }
}

fn verdict(question: Question, ranking: &Ranking, pauses: &Pauses<'_>) -> String {
    let without_loss = |method: &str| format!("without loss{}", pauses.but_for(method));
    let sustains = |method: &str, pps: f64| format!("it sustains {} {}", rate(pps), without_loss(method));
    match (&ranking.conclusion, question) {
        (Conclusion::Use { method, because, certainty, equal }, _) => {
            let used = ranking.of(method);
            let what = match (question, used) {
                (Question::CheapestAt { pps }, _) => sustains(method, pps),
                (Question::HighestRate, Some(used)) => up_to(&used.lossless, &without_loss(method)),
                (Question::HighestRate, None) => "its rate is unknown".into(),
            };
            let head = match (certainty, because) {
                (Certainty::Certain, _) | (_, Because::OnlyOne) => "Use",
                (Certainty::Likely, _) => "Probably best is",
            };
            let verb = if equal.len() == 1 { "is" } else { "are" };
            let equal = match equal.len() {
                0 => String::new(),
                _ => format!("; {} {verb} equal within noise", some(equal)),
            };
            format!("{head} {method}: {what}{}{equal}.", used.map_or_else(String::new, cost_of))
        }
        (Conclusion::OneOf { best, methods, .. }, _) => {
            let Some(used) = ranking.of(best) else {
                return format!("Use one of {}: this run does not show which.", some(methods));
            };
            let others: Vec<String> = methods.iter().filter(|method| *method != best).cloned().collect();
            let is_sustained = |method: &String| {
                ranking.of(method).is_some_and(|own| own.lossless.status == SustainedStatus::AtLeast)
            };
            let (what, more) = match question {
                Question::CheapestAt { pps } if others.iter().all(is_sustained) => {
                    (sustains(best, pps), "cost less")
                }
                Question::CheapestAt { pps } => (sustains(best, pps), "sustain it, too"),
                Question::HighestRate => (up_to(&used.lossless, &without_loss(best)), "sustain more"),
            };
            format!("Use {best}: {what}{}; {} may {more}.", cost_of(used), some(&others))
        }
        (Conclusion::NoneLossless { best, place, .. }, _) => {
            let is_unknown = |ranked: &Ranked| ranked.lossless.status == SustainedStatus::Unknown;
            let verb =
                if ranking.methods.iter().any(is_unknown) { "is shown to sustain" } else { "sustains" };
            let head = match question {
                Question::CheapestAt { pps } => format!("No method {verb} {} without loss", rate(pps)),
                Question::HighestRate => format!("No method {verb} any of the tried loads without loss"),
            };
            let place = place.map_or("", Place::words);
            match best {
                Some(best) => format!("{head}: {best} comes closest and loses most {place}."),
                None if place.is_empty() => format!("{head}."),
                None => format!("{head}: most frames are lost {place}."),
            }
        }
        (Conclusion::NotSent { sent_pps }, Question::CheapestAt { pps }) => format!(
            "No method was tested at {}: the generator sent up to {}.",
            rate(pps),
            rate(sent_pps.floor())
        ),
        (Conclusion::NotSent { .. } | Conclusion::Nothing, _) => String::new(),
    }
}

/// The first methods of a list.
fn some(methods: &[String]) -> String {
    match methods.len() {
        all if all > NAMED => format!("{} and {} more", methods[..NAMED].join(", "), all - NAMED),
        _ => list(methods),
    }
}

/// A sustained rate in words, with its precision.
fn up_to(sustained: &Sustained, without_loss: &str) -> String {
    let Some(pps) = sustained.lower_pps else { return "no load without loss".into() };
    match sustained.precision {
        Some(share) if share <= COARSE && sustained.status == SustainedStatus::Between => {
            format!("{} {without_loss} (±{:.0} %)", short(pps), (share * 100.0).max(1.0))
        }
        _ => format!("at least {} {without_loss}", short(pps)),
    }
}

/// A rate with three digits, rounded down: `1.42 million packets/s`.
fn short(pps: f64) -> String {
    if pps >= 1e6 {
        return format!("{} million packets/s", (pps / 1e4).floor() / 100.0);
    }
    let digit = 10f64.powf((pps.max(1.0).log10().floor() - 2.0).max(0.0));
    rate((pps / digit).floor() * digit)
}

fn cost_of(ranked: &Ranked) -> String {
    let cost = ranked.cost.as_ref().and_then(|cost| cost.app_range());
    let ns = |ns: f64| number(ns.round(), Unit::NanosecondsPerPacket);
    match cost {
        None => String::new(),
        Some((low, high)) if low >= high => format!(", {} ns of application CPU per packet", ns(low)),
        Some((low, high)) => format!(", {} to {} ns of application CPU per packet", ns(low), ns(high)),
    }
}

/// The command that decides between the methods that the trials leave.
fn settle(ranking: &Ranking) -> Option<Sentence> {
    let Conclusion::OneOf { settle, .. } = &ranking.conclusion else { return None };
    Some(sentence(format!("To decide between them: `capbench {}`.", shell_words(settle)), []))
}

/// Words as a shell reads them.
fn shell_words(words: &[String]) -> String {
    let is_plain = |word: &str| !word.contains(|c: char| c.is_whitespace() || "{}'\"$&;|<>()*?".contains(c));
    let quoted = |word: &String| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Methods that are worse although the best one is not decided.
fn worse(ranking: &Ranking) -> Option<Sentence> {
    let Conclusion::OneOf { worse, .. } = &ranking.conclusion else { return None };
    let is_certain =
        |method: &&String| ranking.of(method).is_some_and(|own| own.below == Some(Certainty::Certain));
    let (certain, likely): (Vec<String>, Vec<String>) =
        worse.iter().cloned().partition(|one| is_certain(&one));
    let said = |methods: &[String], how: &str| {
        let verb = if methods.len() == 1 { "sustains" } else { "sustain" };
        (!methods.is_empty()).then(|| format!("{} {how} {verb} less", some(methods)))
    };
    let words: Vec<String> =
        said(&certain, "certainly").into_iter().chain(said(&likely, "probably")).collect();
    (!words.is_empty()).then(|| sentence(format!("{}.", words.join("; ")), rests_on(ranking)))
}

/// Methods of which no trial shows what they sustain.
fn unknown(ranking: &Ranking) -> Option<Sentence> {
    let is_unknown = |ranked: &&Ranked| ranked.lossless.status == SustainedStatus::Unknown;
    let methods: Vec<String> =
        ranking.methods.iter().filter(is_unknown).map(|ranked| ranked.method.clone()).collect();
    let verb = if methods.len() == 1 { "sustains" } else { "sustain" };
    let text = format!("These trials do not show what {} {verb}.", some(&methods));
    (!methods.is_empty()).then(|| sentence(text, rests_on(ranking)))
}

fn by_loss(a: &&TrialResult, b: &&TrialResult) -> Ordering {
    a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio())
}

/// The trial of each method at maximum load that lost the largest share, the smallest share first.
pub(crate) fn at_overload<'r>(ranking: &Ranking, results: &'r Results) -> Vec<&'r TrialResult> {
    let own = scene(ranking);
    let tops = results
        .trials
        .iter()
        .filter(|trial| trial.phase == Phase::BestEffort && naming::is_sound(trial) && is_in(&own, trial));
    let tops = grouped(tops, |trial| trial.profile.method.as_str()).into_iter();
    let mut worst: Vec<&TrialResult> = tops.filter_map(|(_, own)| own.into_iter().max_by(by_loss)).collect();
    worst.sort_by(by_loss);
    worst
}

/// The methods that lose least and most at maximum load, and where.
fn overload(ranking: &Ranking, results: &Results) -> Option<Sentence> {
    let worst = at_overload(ranking, results);
    let loses = |trial: &TrialResult| {
        let place = naming::losses([trial]);
        let place = place.first().map_or("at an unknown place", |(place, _)| place.words());
        let share = percent(trial.sent_loss_ratio());
        format!("{} loses {share} of {} {place}", trial.profile.method, rate(trial.offered_pps))
    };
    let without_loss = worst.iter().filter(|trial| trial.lost() == 0);
    let (behind, clean): (Vec<&TrialResult>, Vec<_>) =
        without_loss.copied().partition(|trial| trial.buffered_frames(1) > 0);
    let said = |trials: &[&TrialResult], one: &str, several: &str| {
        let methods: Vec<&str> = trials.iter().map(|trial| trial.profile.method.as_str()).collect();
        let verb = if methods.len() == 1 { one } else { several };
        (!methods.is_empty()).then(|| format!("{} {verb}", list(&methods)))
    };
    let most = worst.last().filter(|trial| trial.lost() > 0)?;
    let is_lossy = clean.is_empty() && behind.is_empty() && worst.len() > 1;
    let least = is_lossy.then(|| loses(worst[0]));
    let clean = said(&clean, "loses nothing", "lose nothing");
    let behind = said(
        &behind,
        "falls behind, with its frames still in buffers",
        "fall behind, with their frames still in buffers",
    );
    let words: Vec<String> = clean.into_iter().chain(behind).chain(least).chain([loses(most)]).collect();
    let text = format!("At maximum load {}.", words.join("; "));
    Some(sentence(text, worst.iter().map(|trial| trial.number)))
}

/// The methods with the least and the most CPU time at the load that all sustain.
fn cost(ranking: &Ranking) -> Option<Sentence> {
    let known = ranking.methods.iter().filter_map(|ranked| {
        let cost = ranked.cost.as_ref()?;
        Some((ranked.method.as_str(), cost.total_ns?, cost.total_error_ns, &cost.trials))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (&(_, least, error, _), &(dearest, most, ..)) = (known.first()?, known.last()?);
    if known.len() < 2 {
        return None;
    }
    let trials = known.iter().flat_map(|(.., trials)| trials.iter().copied());
    let is_same = |(_, ns, own, _): &&(&str, f64, f64, &Vec<u32>)| ns - own <= least + error;
    let same: Vec<&str> = known.iter().filter(is_same).map(|(method, ..)| *method).collect();
    let at = ranking.equal_load_pps.map_or_else(String::new, |pps| format!("At {} ", rate(pps)));
    if same.len() == known.len() {
        return Some(sentence(
            format!("{at}the CPU time per packet of the methods cannot be distinguished."),
            trials,
        ));
    }
    let ns = |ns: f64| number(ns.round(), Unit::NanosecondsPerPacket);
    let verb = if same.len() == 1 { "needs" } else { "need" };
    let text = format!(
        "{at}{} {verb} the least CPU time of application and kernel together, {} ns per packet; {dearest} needs the most, {} ns.",
        list(&same),
        ns(least),
        ns(most)
    );
    Some(sentence(text, trials))
}

/// Whether a trial is compared in this set-up: a program has its own work.
fn is_in(scene: &Scene, trial: &TrialResult) -> bool {
    let own = Scene::of(trial);
    own == *scene || own.work == OWN_WORK && Scene { work: scene.work.clone(), ..own } == *scene
}

fn scene(ranking: &Ranking) -> Scene {
    let Ranking { frame_size, placement, work, .. } = ranking;
    Scene { frame_size: frame_size.clone(), placement: placement.clone(), work: work.clone() }
}

/// Whether the same method is best in the other set-ups.
fn elsewhere(recommendation: &Recommendation) -> Option<Sentence> {
    let (main, others) = recommendation.rankings.split_first()?;
    let Conclusion::Use { method: best, .. } = &main.conclusion else { return None };
    let names = |ranking: &&Ranking| match &ranking.conclusion {
        Conclusion::Use { method, equal, .. } => method == best || equal.iter().any(|one| one == best),
        Conclusion::OneOf { methods, .. } => methods.iter().any(|one| one == best),
        Conclusion::NoneLossless { best: closest, .. } => closest.as_ref() == Some(best),
        Conclusion::NotSent { .. } | Conclusion::Nothing => false,
    };
    let (same, different): (Vec<&Ranking>, Vec<&Ranking>) = others.iter().partition(names);
    let all = many(others.len() as u64, "other set-up", "other set-ups");
    let mut words = vec![format!("{best} is best or equal in {} of {all}", same.len())];
    words.extend(different.iter().take(2).filter_map(|one| {
        Some(format!("{} is better with {}", one.methods.first()?.method, scene(one).words()))
    }));
    let text = format!("The verdict is for {}; {}.", scene(main).words(), words.join("; "));
    (!others.is_empty()).then(|| sentence(text, others.iter().flat_map(rests_on)))
}
