//! Which method to use, up to which rate, and what the others lack.

use std::cmp::Ordering;

use capbench_judge::durations::QUICK_SEARCH;
use capbench_judge::limit::Limit;
use capbench_judge::recommendation::{
    Because, Certainty, Conclusion, Cost, Question, ROUNDING, Ranked, Ranking, Recommendation, Sustained,
    SustainedStatus,
};
use capbench_model::figures::percent;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult, Verdict};
use capbench_model::work::Work;

use super::{sentence, sorted};
use crate::figures::number;
use crate::groups::grouped;
use crate::model::{Sentence, Unit};
use crate::naming::{self, Scene, command_line, list, many, rate};
use capbench_results::Results;

/// A rate that is known less precisely is only a lower bound.
const COARSE: f64 = 0.25;
/// Share of a load that the generator must send to test it.
const SENT: f64 = 0.95;
/// Most methods that a sentence lists.
const NAMED: usize = 4;
/// A measured application time that fills a CPU by this factor leaves no doubt: noise of the host is part of it.
const CLEARLY: f64 = 1.2;

/// Which method to use; then what else decides, the most important first.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let Some(recommendation) = naming::recommendation(results) else { return nothing(results) };
    let Some(main) = recommendation.headline() else { return nothing(results) };
    let excess = excess(recommendation.question, main, results);
    if main.conclusion == Conclusion::Nothing && excess.is_none() {
        let mut sentences = nothing(results);
        if sentences.is_empty() {
            sentences.extend(undecided(recommendation.question, main, results));
        }
        return sentences;
    }
    let paused = paused(main, results);
    let is_open = excess.is_none();
    let text = excess.unwrap_or_else(|| verdict(recommendation.question, main, &paused));
    let verdict = Sentence { text, trials: rests_on(main) };
    let facts = [
        settle(main, results),
        highest(main, results),
        unknown(main).filter(|_| is_open),
        pauses(&paused),
        worse(main),
        overload(main, results, &paused),
        cost(main).filter(|_| is_open),
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

/// That no method sustains the load because one thread has no time for it, by the work per packet or by what was measured.
fn excess(question: Question, ranking: &Ranking, results: &Results) -> Option<String> {
    let Question::CheapestAt { pps } = question else { return None };
    let is_none = matches!(ranking.conclusion, Conclusion::Nothing | Conclusion::NoneLossless { .. });
    let own = Scene::of_ranking(ranking);
    let trials = results.trials.iter().filter(|trial| naming::is_sound(trial) && is_in(&own, trial));
    let costs: Option<Vec<f64>> = trials.map(|trial| trial.cpu.app_ns_per_packet).collect();
    let is_behind = ranking.methods.iter().all(|one| one.limited_by == Some(Limit::Application));
    let measured = costs.filter(|_| is_behind).and_then(|costs| costs.into_iter().reduce(f64::min));
    let work = ranking.work.known().and_then(|work| work.nanoseconds());
    let known = [(work, 1.0, "the work takes"), (measured, CLEARLY, "the application needs at least")];
    let mut known = known.into_iter().filter_map(|(ns, factor, needs)| Some((ns?, factor, needs)));
    let (ns, _, needs) = known.find(|(ns, factor, _)| is_none && ns * pps > factor * 1e9)?;
    Some(format!(
        "No method sustains {} without loss: {needs} {} of CPU time per packet, so one thread processes up to {}.",
        rate(pps),
        naming::time(ns / 1e9),
        short(1e9 / ns)
    ))
}

fn rests_on(ranking: &Ranking) -> Vec<u32> {
    sorted(ranking.methods.iter().flat_map(trials_of).collect())
}

/// The trials behind the figures of a method.
pub(crate) fn trials_of(ranked: &Ranked) -> Vec<u32> {
    let Ranked { lossless, nearly_lossless, cost, .. } = ranked;
    let cost = cost.iter().flat_map(|cost| &cost.trials);
    lossless.trials.iter().chain(&nearly_lossless.trials).chain(cost).copied().collect()
}

/// A method, how many trials ran at loads up to the highest that it is said to sustain, and those of them that lost frames. The
/// rules of the ranking do not count a loss of one moment, and not one that a second trial does not repeat.
type Paused<'r> = (&'r SavedMethod, usize, Vec<&'r TrialResult>);

fn paused<'r>(ranking: &'r Ranking, results: &'r Results) -> Vec<Paused<'r>> {
    let own = Scene::of_ranking(ranking);
    let paused = ranking.methods.iter().filter_map(|ranked| {
        let highest = ranked.lossless.lower_pps?;
        let is_its = |trial: &&TrialResult| {
            trial.profile.method == ranked.method
                && is_in(&own, trial)
                && naming::is_sound(trial)
                && trial.offered_pps <= highest * (1.0 + ROUNDING)
        };
        let trials: Vec<_> = results.trials.iter().filter(is_its).collect();
        let lossy: Vec<_> = trials.iter().copied().filter(|trial| trial.lost() > 0).collect();
        (!lossy.is_empty()).then_some((&ranked.method, trials.len(), lossy))
    });
    paused.collect()
}

fn pauses(paused: &[Paused<'_>]) -> Option<Sentence> {
    let part = |(method, all, lossy): &Paused<'_>| {
        let most = lossy.iter().map(|trial| trial.sent_loss_ratio()).fold(0.0, f64::max);
        let (trials, up_to) =
            (many(*all as u64, "trial", "trials"), if lossy.len() > 1 { "up to " } else { "" });
        format!("{} of {trials} of {method} ({up_to}{} of the frames lost)", lossy.len(), percent(most))
    };
    let text = format!(
        "In {} the host stopped the capture thread for a moment. capbench does not count these losses against a method.",
        list(&paused.iter().map(part).collect::<Vec<_>>())
    );
    let trials = paused.iter().flat_map(|(.., lossy)| lossy).map(|trial| trial.number);
    (!paused.is_empty()).then(|| sentence(text, trials))
}

fn verdict(question: Question, ranking: &Ranking, paused: &[Paused<'_>]) -> String {
    let without_loss = |method: &SavedMethod| match paused.iter().any(|(own, ..)| *own == method) {
        true => "without loss (pauses of the host not counted)",
        false => "without loss",
    };
    let sustains =
        |method: &SavedMethod, pps: f64| format!("it sustains {} {}", rate(pps), without_loss(method));
    match (&ranking.conclusion, question) {
        (Conclusion::Use { method, because, certainty, equal }, _) => {
            let used = ranking.of(method);
            let what = match (question, used) {
                (Question::CheapestAt { pps }, _) => sustains(method, pps),
                (Question::HighestRate, Some(used)) => up_to(&used.lossless, without_loss(method)),
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
            let Some(used) = best.as_ref().and_then(|best| ranking.of(best)) else {
                return format!("Not decided: one of {}.", some(methods));
            };
            let best = &used.method;
            let others: Vec<SavedMethod> = methods.iter().filter(|method| *method != best).cloned().collect();
            let is_sustained = |method: &SavedMethod| {
                ranking.of(method).is_some_and(|own| own.lossless.status == SustainedStatus::AtLeast)
            };
            let (known, unknown): (Vec<_>, Vec<_>) = others.iter().cloned().partition(is_sustained);
            let (what, more) = match question {
                Question::CheapestAt { pps } => (
                    sustains(best, pps),
                    match (known.is_empty(), unknown.is_empty()) {
                        (_, true) => format!("{} may cost less", some(&known)),
                        (true, false) => format!("{} may sustain it, too", some(&unknown)),
                        (false, false) => {
                            format!(
                                "{} may cost less, and {} may sustain it, too",
                                some(&known),
                                some(&unknown)
                            )
                        }
                    },
                ),
                Question::HighestRate => {
                    (up_to(&used.lossless, without_loss(best)), format!("{} may sustain more", some(&others)))
                }
            };
            format!("Not decided; use {best} meanwhile: {what}{}; {more}.", cost_of(used))
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
fn some(methods: &[SavedMethod]) -> String {
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    match methods.len() {
        all if all > NAMED => format!("{} and {} more", methods[..NAMED].join(", "), all - NAMED),
        _ => list(&methods),
    }
}

/// A sustained rate in words, with its precision.
fn up_to(sustained: &Sustained, without_loss: &str) -> String {
    let Some(pps) = sustained.lower_pps else { return "no load without loss".into() };
    match sustained.precision {
        Some(share) if share <= COARSE && sustained.status == SustainedStatus::Between => {
            format!("{} (±{:.0} %) {without_loss}", short(pps), (share * 100.0).max(1.0))
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
    cost.map_or_else(String::new, |range| format!(", {} of application CPU per packet", in_ns(range)))
}

fn in_ns((low, high): (f64, f64)) -> String {
    let ns = |ns: f64| number(ns.round(), Unit::NanosecondsPerPacket);
    if low >= high { format!("{} ns", ns(low)) } else { format!("{} to {} ns", ns(low), ns(high)) }
}

/// The command that decides between the methods that the trials leave.
fn settle(ranking: &Ranking, results: &Results) -> Option<Sentence> {
    let Conclusion::OneOf { settle, methods, .. } = &ranking.conclusion else { return None };
    let takes = seconds(settle, methods.len() as u32, results)
        .map_or_else(String::new, |seconds| format!(" (about {:.0} min)", (seconds / 60.0).ceil()));
    Some(sentence(format!("To decide between them: `capbench {}`{takes}.", command_line(settle)), []))
}

/// The time of that command: of its searches without noise, or of as many trials as those of this run.
fn seconds(words: &[String], methods: u32, results: &Results) -> Option<f64> {
    let value = |flag: &str| words.iter().skip_while(|word| *word != flag).nth(1);
    let times = methods * value("--searches").or(value("--visits"))?.parse::<u32>().ok()?;
    match value("--goal").map(String::as_str) {
        Some("quick") => Some(QUICK_SEARCH.saturating_mul(times).as_secs_f64()),
        Some(_) => None,
        None => {
            let all: f64 = results.trials.iter().map(TrialResult::spent_s).sum();
            Some(all / results.trials.len() as f64 * f64::from(times))
        }
    }
}

/// The same command without its load, if no method sustains that: it finds what they sustain. Not into the directory of this run.
fn highest(ranking: &Ranking, results: &Results) -> Option<Sentence> {
    let is_none = !matches!(ranking.conclusion, Conclusion::Use { .. } | Conclusion::OneOf { .. });
    let line = &results.command;
    let is_load = |nth: usize| line[nth].starts_with("--rate") || line[nth].starts_with("--max-loss");
    let is_left_out = |nth: usize| is_load(nth) || line[nth].starts_with("--out");
    let is_value = |nth: usize| nth > 0 && is_left_out(nth - 1) && !line[nth - 1].contains('=');
    let kept = (0..line.len()).filter(|&nth| !is_left_out(nth) && !is_value(nth));
    let words: Vec<String> = kept.map(|nth| line[nth].clone()).collect();
    let text = format!("To find the highest rate that they sustain: `{}`.", command_line(&words));
    (is_none && (0..line.len()).any(is_load)).then(|| sentence(text, []))
}

/// Methods that are worse although the best one is not decided.
fn worse(ranking: &Ranking) -> Option<Sentence> {
    let Conclusion::OneOf { worse, .. } = &ranking.conclusion else { return None };
    let said = |below: Option<Certainty>, one: &str, several: &str| {
        let is_so = |method: &&SavedMethod| ranking.of(*method).is_some_and(|own| own.below == below);
        let methods: Vec<SavedMethod> = worse.iter().filter(is_so).cloned().collect();
        let verb = if methods.len() == 1 { one } else { several };
        (!methods.is_empty()).then(|| format!("{} {verb}", some(&methods)))
    };
    let all = [
        said(Some(Certainty::Certain), "certainly sustains less", "certainly sustain less"),
        said(Some(Certainty::Likely), "probably sustains less", "probably sustain less"),
        said(None, "costs more at about the same rate", "cost more at about the same rate"),
    ];
    let words: Vec<String> = all.into_iter().flatten().collect();
    (!words.is_empty()).then(|| sentence(format!("{}.", words.join("; ")), rests_on(ranking)))
}

/// Methods of which no trial shows what they sustain.
fn unknown(ranking: &Ranking) -> Option<Sentence> {
    let is_unknown = |ranked: &&Ranked| ranked.lossless.status == SustainedStatus::Unknown;
    let methods: Vec<SavedMethod> =
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
    let own = Scene::of_ranking(ranking);
    let tops = results
        .trials
        .iter()
        .filter(|trial| trial.phase == Phase::BestEffort && naming::is_sound(trial) && is_in(&own, trial));
    let tops = grouped(tops, |trial| &trial.profile.method).into_iter();
    let mut worst: Vec<&TrialResult> = tops.filter_map(|(_, own)| own.into_iter().max_by(by_loss)).collect();
    worst.sort_by(by_loss);
    worst
}

/// The methods that lose least and most at maximum load, and where.
fn overload(ranking: &Ranking, results: &Results, paused: &[Paused<'_>]) -> Option<Sentence> {
    let is_paused = |trial: &TrialResult| {
        paused.iter().flat_map(|(.., lossy)| lossy).any(|other| other.number == trial.number)
    };
    let mut worst = at_overload(ranking, results);
    worst.retain(|trial| !is_paused(trial));
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
        let methods: Vec<String> = trials.iter().map(|trial| trial.profile.method.to_string()).collect();
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

/// The methods with the least and the most CPU time at the load that all sustain: of the application, unless the sum decided.
fn cost(ranking: &Ranking) -> Option<Sentence> {
    type Figure = fn(&Cost) -> Option<(f64, f64, (f64, f64))>;
    let (what, of): (&str, Figure) = match ranking.conclusion {
        Conclusion::Use { because: Because::TotalTime, .. } => {
            ("CPU time of application and kernel together", |cost| {
                cost.total_ns.map(|ns| (ns, cost.total_error_ns, (ns, ns)))
            })
        }
        _ => ("application CPU time", |cost| Some((cost.app_ns?, cost.app_error_ns, cost.app_range()?))),
    };
    let known = ranking.methods.iter().filter_map(|ranked| {
        let cost = ranked.cost.as_ref()?;
        Some((&ranked.method, of(cost)?, &cost.trials))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_by(|(_, one, _), (_, other, _)| one.0.total_cmp(&other.0));
    let (&(_, (least, error, _), _), &(dearest, (.., highest), _)) = (known.first()?, known.last()?);
    let is_same = |(_, (ns, own, _), _): &&(_, (f64, f64, _), _)| ns - own <= least + error;
    let (same, bounds): (Vec<String>, Vec<(f64, f64)>) =
        known.iter().filter(is_same).map(|(method, (.., bounds), _)| (method.to_string(), *bounds)).unzip();
    let lowest = bounds.into_iter().reduce(|(low, high), (least, most)| (low.min(least), high.max(most)))?;
    let at = ranking.equal_load_pps.map_or_else(String::new, |pps| format!("At {} ", rate(pps)));
    let verb = if same.len() == 1 { "needs" } else { "need" };
    let text = match same.len() {
        all if all == known.len() => {
            format!("{at}the {what} per packet of the methods cannot be distinguished.")
        }
        _ => format!(
            "{at}{} {verb} the least {what}, {} per packet; {dearest} needs the most, {}.",
            list(&same),
            in_ns(lowest),
            in_ns(highest)
        ),
    };
    (known.len() > 1).then(|| sentence(text, known.iter().flat_map(|(.., trials)| trials.iter().copied())))
}

/// Whether a trial is compared in this set-up: a program has its own work.
fn is_in(scene: &Scene, trial: &TrialResult) -> bool {
    let own = Scene::of(trial);
    own == *scene || own.work == Work::OfProgram && Scene { work: scene.work.clone(), ..own } == *scene
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
        Some(format!("{} is better with {}", one.methods.first()?.method, Scene::of_ranking(one).words()))
    }));
    let text = format!("The verdict is for {}; {}.", Scene::of_ranking(main).words(), words.join("; "));
    (!others.is_empty()).then(|| sentence(text, others.iter().flat_map(rests_on)))
}
