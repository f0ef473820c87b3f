//! The words of `MethodsInTurns`: how the other methods compare with the first one at one load.

use capbench_judge::finding::bench::{CostByLoad, MethodBelow, MethodNotBelow, MethodsInTurns, MostMissed};
use capbench_judge::recommendation::turns::{BelowBy, SentShares};
use capbench_model::figures::percent;

use super::verb;
use crate::naming::{list, many, rate};
use crate::sentences::places;

/// The text.
pub(super) fn words(fact: &MethodsInTurns) -> String {
    let rounds = many(fact.rounds.into(), "round", "rounds");
    let fewest = fact.fewest_rounds.map_or_else(String::new, |fewest| format!("{fewest} to "));
    let mut text = format!(
        "In {fewest}{rounds} at {}{} {} captured {} of {}",
        rate(fact.load_pps),
        sent_words(fact.sent),
        fact.first,
        percent(fact.captured_ratio),
        if fact.is_of_sent { "what it was sent" } else { "the frames" }
    );
    if !fact.below.is_empty() {
        let below: Vec<String> = fact.below.iter().map(|below| below_words(below, fact)).collect();
        text.push_str(&format!(", {}", list(&below)));
    }
    for (methods, are) in [
        (&fact.equal, verb(&fact.equal, "is equal to it", "are equal to it")),
        (&fact.may_be_as_good, "may be as good"),
        (&fact.may_be_better, "may be better"),
    ] {
        push_group(&mut text, methods, are);
    }
    if let Some(pps) = fact.cost_load_pps {
        text.push_str(&format!(". CPU times are those at {}", rate(pps)));
    }
    text.push('.');
    for by_load in &fact.costs_by_load {
        text.push_str(&format!(" {}", by_load_words(by_load, fact)));
    }
    text
}

/// That it depends on the load which of two methods costs less.
fn by_load_words(by_load: &CostByLoad, fact: &MethodsInTurns) -> String {
    let CostByLoad { method, relative_cost, relative_cost_at_limit } = by_load;
    let at_costs = fact.cost_load_pps.unwrap_or(fact.load_pps);
    format!(
        "At {} {method} takes {} the CPU time of {}, at {} {}. Which one is better depends on the load: `--rate` compares them at one.",
        rate(at_costs),
        times(relative_cost.middle),
        fact.first,
        rate(fact.load_pps),
        times(relative_cost_at_limit.middle),
    )
}

/// How much of the load the methods got; empty if all of it.
fn sent_words(sent: Option<SentShares>) -> String {
    sent.map_or_else(String::new, |sent| format!(", of which {} was sent,", share_range(&sent)))
}

/// `41 to 54 %`.
pub(super) fn share_range(sent: &SentShares) -> String {
    format!("{:.0} to {}", 100.0 * sent.least, percent(sent.most))
}

fn push_group(text: &mut String, methods: &[MethodNotBelow], are: &str) {
    let mut captured = Vec::new();
    for MethodNotBelow { method, captured_ratio } in methods {
        captured.push(format!("{method} ({})", percent(*captured_ratio)));
    }
    if !captured.is_empty() {
        text.push_str(&format!("; {} {are}", list(&captured)));
    }
}

/// `recv 66 % (missed 20 times as many, lost most in the ring or socket queue, 8.4 times the CPU time per packet)`. Only what the rounds
/// show is said: the figure that puts the method below, where it lost frames if the share shows a loss, and a cost whose interval does not
/// contain that of the first.
fn below_words(below: &MethodBelow, fact: &MethodsInTurns) -> String {
    let mut factors = Vec::new();
    let [first_missed, missed] = [fact.captured_ratio, below.captured_ratio].map(|captured| 1.0 - captured);
    if below.by == BelowBy::Loss && first_missed > 0.0 {
        factors.push(format!("missed {} as many", times(missed / first_missed)));
    }
    let captured = percent(below.captured_ratio);
    match below.most_missed.filter(|_| captured != percent(1.0)) {
        Some(MostMissed::Lost { place }) => factors.push(format!("lost most {}", places::words(place))),
        Some(MostMissed::Buffered) => factors.push("left most in its buffers".into()),
        None => {}
    }
    if let Some(cost) = below.relative_cost.filter(|cost| below.by != BelowBy::Loss || cost.excludes_one()) {
        let whose = if below.by == BelowBy::ApplicationCost { "application " } else { "" };
        let ratio = below.cost_ratio.unwrap_or(cost.middle);
        factors.push(format!("{} the {whose}CPU time per packet", times(ratio)));
    }
    let factors = match factors.is_empty() {
        true => String::new(),
        false => format!(" ({})", factors.join(", ")),
    };
    format!("{} {captured}{factors}", below.method)
}

/// `8.4 times`, or from ten on `21 times`.
pub(super) fn times(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1} times") } else { format!("{factor:.0} times") }
}
