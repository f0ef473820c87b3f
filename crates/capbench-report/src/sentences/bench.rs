//! Which method to use, up to which rate, and what the others lack.

use capbench_model::figures::percent;
use capbench_model::trial::{Phase, TrialResult};

use super::sentence;
use crate::figures::number;
use crate::model::{Sentence, Unit};
use crate::naming::{self, list, many, rate};
use crate::ranking::{self, Ranked, Ranking, Sustained};
use crate::results::Results;

/// A rate that is known less precisely is only a lower bound.
const COARSE: f64 = 0.2;

/// Which method to use; then what else decides, the most important first.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let rankings = ranking::of(results);
    let Some(main) = rankings.first() else { return nothing(results) };
    let answer = match main.asked_pps {
        Some(asked) => at_rate(main, asked),
        None => best(main),
    };
    let all = [Some(answer), undecided(main), overload(main), cost(main), elsewhere(&rankings)];
    all.into_iter().flatten().collect()
}

fn nothing(results: &Results) -> Vec<Sentence> {
    let of = |(reason, trials)| sentence(format!("No method can be named: every trial is invalid ({reason})."), trials);
    ranking::invalid(results).map(of).into_iter().collect()
}

fn rests_on<'a>(rows: impl IntoIterator<Item = &'a Ranked<'a>>) -> Vec<u32> {
    rows.into_iter().flat_map(Ranked::numbers).collect()
}

/// Which method sustains the highest load.
fn best(ranking: &Ranking<'_>) -> Sentence {
    let best = ranking.best();
    let Some(lossless) = best.lossless else { return none_lossless(ranking) };
    let equals: Vec<&str> = ranking.equals().map(|row| row.method).collect();
    let equals = match equals.len() {
        0 => String::new(),
        1 => format!("; {} is equal within noise", equals[0]),
        _ => format!("; {} are equal within noise", list(&equals)),
    };
    let text = format!("Use {}: {}{}{equals}.", best.method, up_to(lossless), cost_of(best));
    sentence(text, rests_on([best].into_iter().chain(ranking.equals())))
}

/// No load was sustained: the least loss, and its place.
fn none_lossless(ranking: &Ranking<'_>) -> Sentence {
    let best = ranking.best();
    let lowest = best.trials.iter().min_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
    let at = lowest.map_or_else(String::new, |trial| format!(", even at {}", rate(trial.offered_pps)));
    let least = lowest.map_or_else(String::new, |trial| format!(": {} lost least, {}", best.method, loss(trial)));
    sentence(format!("No method is lossless{at}{least}."), rests_on(&ranking.rows))
}

/// Which method is cheapest of those that sustain the load that the user named.
fn at_rate(ranking: &Ranking<'_>, asked: f64) -> Sentence {
    let holds = |row: &&Ranked<'_>| {
        let fixed = row.trials.iter().filter(|trial| trial.phase == Phase::FixedLoad);
        fixed.clone().count() > 0 && fixed.clone().all(|trial| trial.held_load())
    };
    let sustain: Vec<&Ranked<'_>> = ranking.rows.iter().filter(holds).collect();
    let asked = rate(asked);
    let Some(best) = sustain.first() else {
        let best = ranking.best();
        let worst = best.trials.iter().max_by(|a, b| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio()));
        let text = match worst.filter(|trial| trial.lost() > 0) {
            Some(trial) => {
                format!("No method sustains {asked}: {} loses least, {}.", best.method, loss(trial))
            }
            None => format!("Nothing is known about {asked}: the generator did not reach it."),
        };
        return sentence(text, rests_on(&ranking.rows));
    };
    let others: Vec<&str> = sustain.iter().skip(1).map(|row| row.method).collect();
    let others = match (others.len(), sustain[1..].iter().all(|row| row.costs_as(best))) {
        (0, _) => "; no other method does".into(),
        (1, true) => format!("; {} costs the same within noise", others[0]),
        (_, true) => format!("; {} cost the same within noise", list(&others)),
        (1, false) => format!("; {} sustains it at more CPU time", others[0]),
        (_, false) => format!("; {} sustain it at more CPU time", list(&others)),
    };
    sentence(
        format!("Use {}: it sustains {asked} without loss{}{others}.", best.method, cost_of(best)),
        rests_on(sustain.iter().copied()),
    )
}

/// A sustained rate in words, with its precision.
fn up_to(rate: Sustained) -> String {
    let words = short(rate.pps);
    match rate.precision() {
        Some(share) if share <= COARSE => format!("{words} without loss (±{:.0} %)", (share * 100.0).max(1.0)),
        _ => format!("at least {words} without loss"),
    }
}

/// A rate with three digits, rounded down: `1.42 million packets/s`.
pub(super) fn short(pps: f64) -> String {
    if pps >= 1e6 {
        return format!("{} million packets/s", (pps / 1e4).floor() / 100.0);
    }
    let digit = 10f64.powf((pps.max(1.0).log10().floor() - 2.0).max(0.0));
    rate((pps / digit).floor() * digit)
}

fn cost_of(row: &Ranked<'_>) -> String {
    let ns = |ns: f64| number(ns.round(), Unit::NanosecondsPerPacket);
    match row.app_ns {
        None => String::new(),
        Some([low, high]) if high - low < 1.0 => format!(", {} ns of application CPU per packet", ns(low)),
        Some([low, high]) => format!(", {} to {} ns of application CPU per packet", ns(low), ns(high)),
    }
}

/// The loss of a trial and its place.
fn loss(trial: &TrialResult) -> String {
    let place = naming::losses([trial]);
    let place = place.first().map_or_else(|| "at an unknown place".into(), |(place, _)| place.words().to_string());
    format!("{} {place}", percent(trial.sent_loss_ratio()))
}

/// How to find out which of several equal methods sustains most.
fn undecided(ranking: &Ranking<'_>) -> Option<Sentence> {
    let is_coarse = |row: &&Ranked<'_>| row.lossless.and_then(Sustained::precision).is_some_and(|share| share > COARSE);
    let best = ranking.best();
    if ranking.asked_pps.is_some() || !is_coarse(&best) {
        return None;
    }
    let (low, high) = best.lossless.and_then(|own| Some((own.pps, own.below?)))?;
    let methods: Vec<&str> = std::iter::once(best).chain(ranking.equals()).map(|row| row.method).take(3).collect();
    let text = format!(
        "No load between {} and {} was tried; `capbench search --method {}` finds the limits.",
        naming::whole(low),
        rate(high),
        methods.join(",")
    );
    Some(sentence(text, best.numbers()))
}

/// What each method loses at the highest load.
fn overload(ranking: &Ranking<'_>) -> Option<Sentence> {
    let tops = ranking.rows.iter().map(|row| (row.method, row.overload()));
    let worst = tops.filter_map(|(method, trials)| {
        Some((method, trials.into_iter().max_by(|a, b| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio()))?))
    });
    let worst: Vec<(&str, &TrialResult)> = worst.collect();
    let lossy: Vec<&(&str, &TrialResult)> = worst.iter().filter(|(_, trial)| trial.lost() > 0).collect();
    let clean: Vec<&str> = worst.iter().filter(|(_, trial)| trial.lost() == 0).map(|(method, _)| *method).collect();
    let mut words: Vec<String> = lossy
        .iter()
        .map(|(method, trial)| format!("{method} loses {} of {}", loss(trial), naming::whole(trial.offered_pps)))
        .collect();
    if !clean.is_empty() {
        let verb = if clean.len() == 1 { "loses" } else { "lose" };
        words.push(format!("{} {verb} nothing", list(&clean)));
    }
    let text = format!("At maximum load (packets/s) {}.", words.join(", "));
    (!lossy.is_empty()).then(|| sentence(text, worst.iter().map(|(_, trial)| trial.number)))
}

/// Which methods are cheapest at the load that all sustain.
fn cost(ranking: &Ranking<'_>) -> Option<Sentence> {
    let mut known: Vec<&Ranked<'_>> = ranking.rows.iter().filter(|row| row.total_ns.is_some()).collect();
    let median = |row: &Ranked<'_>| row.total_ns.map_or(f64::INFINITY, |total| total.median);
    known.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let (least, most) = (*known.first()?, *known.last()?);
    if known.len() < 2 {
        return None;
    }
    let trials = rests_on(known.iter().copied());
    if most.costs_as(least) {
        let text = "The CPU time per packet of the methods cannot be distinguished.";
        return Some(sentence(text.into(), trials));
    }
    let same: Vec<&str> = known.iter().filter(|row| row.costs_as(least)).map(|row| row.method).collect();
    let verb = if same.len() == 1 { "needs" } else { "need" };
    let ns = |row| number(median(row), Unit::NanosecondsPerPacket);
    let text = format!(
        "{} {verb} least CPU time, {} ns per packet with the kernel's part; {} needs most, {} ns.",
        list(&same),
        ns(least),
        most.method,
        ns(most)
    );
    Some(sentence(text, trials))
}

/// Whether the same method is best in the other set-ups.
fn elsewhere(rankings: &[Ranking<'_>]) -> Option<Sentence> {
    let (main, others) = rankings.split_first()?;
    let best = main.best().method;
    let is_best = |one: &&Ranking<'_>| one.best().method == best || one.equals().any(|row| row.method == best);
    let (same, different): (Vec<&Ranking<'_>>, Vec<&Ranking<'_>>) = others.iter().partition(is_best);
    let mut words = Vec::new();
    if !same.is_empty() {
        let of = many(others.len() as u64, "other set-up", "other set-ups");
        words.push(format!("{best} is best or equal to the best in {} of {of}", same.len()));
    }
    words.extend(different.iter().take(2).map(|one| format!("{} is best with {}", one.best().method, one.scene.words())));
    (!others.is_empty()).then(|| {
        let trials = others.iter().flat_map(|one| one.best().numbers());
        sentence(format!("This verdict is for {}; {}.", main.scene.words(), words.join("; ")), trials)
    })
}
