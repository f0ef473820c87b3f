//! The words of the answers of a bench: which method to use, up to which rate, and what the others lack.

#[cfg(test)]
mod tests;
mod verdict;

use capbench_judge::finding::bench::{
    BenchFinding, BetterElsewhere, ComparedTime, NsRange, OverloadLoss, PausedMethod, SetUp,
};
use capbench_model::figures::percent;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;

use crate::figures::number;
use crate::model::Unit;
use crate::naming::{self, command_line, list, many, rate};

/// Most methods that a sentence lists.
const NAMED: usize = 4;
/// Most set-ups that a sentence names.
const NAMED_SET_UPS: usize = 2;

/// The sentence of a fact.
pub(super) fn words(fact: &BenchFinding) -> String {
    match fact {
        BenchFinding::Verdict(verdict) => verdict::words(verdict),
        BenchFinding::Settle { command, takes_s } => {
            let takes = match takes_s {
                Some(seconds) => format!(" (about {:.0} min)", (seconds / 60.0).ceil()),
                None => String::new(),
            };
            format!("To decide between them: `capbench {}`{takes}.", command_line(command))
        }
        BenchFinding::FindHighest { command } => {
            format!("To find the highest rate that they sustain: `capbench {}`.", command_line(command))
        }
        BenchFinding::Unknown { methods } => {
            let sustain = verb(methods, "sustains", "sustain");
            format!("These trials do not show what {} {sustain}.", some(methods))
        }
        BenchFinding::Paused { methods } => {
            let parts: Vec<String> = methods.iter().map(paused).collect();
            format!(
                "In {} the host stopped the capture thread for a moment. capbench does not count these losses against a method.",
                list(&parts)
            )
        }
        BenchFinding::Worse { certainly_less, probably_less, costlier } => {
            worse(certainly_less, probably_less, costlier)
        }
        BenchFinding::Overload { lossless, behind, least, most } => {
            overload(lossless, behind, least.as_ref(), most)
        }
        BenchFinding::CostsEqual { time, at_pps } => format!(
            "{}the {} per packet of the methods cannot be distinguished.",
            at_load(*at_pps),
            of_time(*time)
        ),
        BenchFinding::CostsDiffer { time, at_pps, cheapest, cheapest_time, dearest, dearest_time } => {
            format!(
                "{}{} {} the least {}, {} per packet; {dearest} needs the most, {}.",
                at_load(*at_pps),
                list(&texts(cheapest)),
                verb(cheapest, "needs", "need"),
                of_time(*time),
                in_ns(*cheapest_time),
                in_ns(*dearest_time)
            )
        }
        BenchFinding::OtherSetUps { set_up, method, others, alike, better } => {
            let others = many((*others).into(), "other set-up", "other set-ups");
            let mut parts = vec![format!("{method} is best or equal in {alike} of {others}")];
            for BetterElsewhere { method, set_up } in better.iter().take(NAMED_SET_UPS) {
                parts.push(format!("{method} is better with {}", scene(set_up)));
            }
            format!("The verdict is for {}; {}.", scene(set_up), parts.join("; "))
        }
    }
}

fn paused(paused: &PausedMethod) -> String {
    let trials = many(paused.trials.into(), "trial", "trials");
    let up_to = if paused.lossy_trials > 1 { "up to " } else { "" };
    format!(
        "{} of {trials} of {} ({up_to}{} of the frames lost)",
        paused.lossy_trials,
        paused.method,
        percent(paused.largest_loss_ratio)
    )
}

fn worse(certainly_less: &[SavedMethod], probably_less: &[SavedMethod], costlier: &[SavedMethod]) -> String {
    let mut parts = Vec::new();
    if !certainly_less.is_empty() {
        let sustain = verb(certainly_less, "sustains", "sustain");
        parts.push(format!("{} certainly {sustain} less", some(certainly_less)));
    }
    if !probably_less.is_empty() {
        let sustain = verb(probably_less, "sustains", "sustain");
        parts.push(format!("{} probably {sustain} less", some(probably_less)));
    }
    if !costlier.is_empty() {
        let cost = verb(costlier, "costs", "cost");
        parts.push(format!("{} {cost} more at about the same rate", some(costlier)));
    }
    format!("{}.", parts.join("; "))
}

fn overload(
    lossless: &[SavedMethod],
    behind: &[SavedMethod],
    least: Option<&OverloadLoss>,
    most: &OverloadLoss,
) -> String {
    let mut parts = Vec::new();
    if !lossless.is_empty() {
        let lose = verb(lossless, "loses", "lose");
        parts.push(format!("{} {lose} nothing", list(&texts(lossless))));
    }
    if !behind.is_empty() {
        let fall = verb(behind, "falls behind, with its", "fall behind, with their");
        parts.push(format!("{} {fall} frames still in buffers", list(&texts(behind))));
    }
    parts.extend(least.map(loss));
    parts.push(loss(most));
    format!("At maximum load {}.", parts.join("; "))
}

fn loss(loss: &OverloadLoss) -> String {
    let place = loss.place.map_or("at an unknown place", Place::words);
    format!("{} loses {} of {} {place}", loss.method, percent(loss.loss_ratio), rate(loss.offered_pps))
}

fn at_load(pps: Option<f64>) -> String {
    pps.map_or_else(String::new, |pps| format!("At {} ", rate(pps)))
}

fn of_time(time: ComparedTime) -> &'static str {
    match time {
        ComparedTime::Application => "application CPU time",
        ComparedTime::Total => "CPU time of application and kernel together",
    }
}

fn in_ns(NsRange { low_ns, high_ns }: NsRange) -> String {
    let low = number(low_ns.round(), Unit::NanosecondsPerPacket);
    if low_ns >= high_ns {
        return format!("{low} ns");
    }
    format!("{low} to {} ns", number(high_ns.round(), Unit::NanosecondsPerPacket))
}

fn scene(set_up: &SetUp) -> String {
    let SetUp { frame_size, placement, work } = set_up;
    format!("{}, {}", naming::frames(frame_size), naming::place(placement, work))
}

/// The verb for one method, or for several.
fn verb(methods: &[SavedMethod], one: &'static str, several: &'static str) -> &'static str {
    if methods.len() == 1 { one } else { several }
}

fn texts(methods: &[SavedMethod]) -> Vec<String> {
    methods.iter().map(ToString::to_string).collect()
}

/// The first methods of a list.
fn some(methods: &[SavedMethod]) -> String {
    let methods = texts(methods);
    match methods.len() {
        all if all > NAMED => format!("{} and {} more", methods[..NAMED].join(", "), all - NAMED),
        _ => list(&methods),
    }
}
