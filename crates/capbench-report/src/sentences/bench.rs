//! The words of `BenchFinding`, facts about a bench: which method to use, what the other methods lack, what decides between them.
//! `verdict` has the words of the verdict, `turns` those of trials in turns.

#[cfg(test)]
mod tests;
mod turns;
mod verdict;

use capbench_judge::finding::bench::{
    BenchFinding, BetterElsewhere, ComparedTime, NsRange, OverloadLoss, PausedMethod, SetUp, UnknownBecause,
    UnknownProgram,
};
use capbench_model::figures::percent;
use capbench_model::saved::SavedMethod;

use crate::figures::number;
use crate::model::Unit;
use crate::naming::{self, command_line, list, many, rate};
use crate::sentences::{capitalised, places};

/// Up to this number of methods are named.
const NAMED_METHODS: usize = 4;
/// Up to this number of set-ups are named.
const NAMED_SET_UPS: usize = 2;

/// The text of a fact.
pub(super) fn words(fact: &BenchFinding) -> String {
    match fact {
        BenchFinding::Verdict(verdict) => verdict::words(verdict),
        BenchFinding::InTurns(turns) => turns::words(turns),
        BenchFinding::Settle { command, takes_s } => {
            let takes = match takes_s {
                Some(seconds) => format!(" (up to {seconds:.0} s)"),
                None => String::new(),
            };
            format!("To decide between them: `capbench {}`{takes}.", command_line(command))
        }
        BenchFinding::CannotSettle { methods, rounds } => format!(
            "Rounds like those of this run do not decide between {}: {rounds} of them would leave it open, too. Measure again \
             when the host is quiet.",
            first_methods(methods)
        ),
        BenchFinding::FindHighest { command } => {
            format!("To find the highest rate that they sustain: `capbench {}`.", command_line(command))
        }
        BenchFinding::ProgramsUnknown { programs } => {
            let parts: Vec<String> = programs.iter().map(unknown_program_words).collect();
            format!("{}.", parts.join("; "))
        }
        BenchFinding::Unknown { methods } => {
            let sustain = verb(methods, "sustains", "sustain");
            format!("These trials do not show what {} {sustain}.", first_methods(methods))
        }
        BenchFinding::Paused { methods } => {
            let parts: Vec<String> = methods.iter().map(paused_method_words).collect();
            format!(
                "At loads that they sustain, {} lost frames: in a single moment, as when the host stops the capture thread, while other \
                 programs used the CPUs, or not again in a second trial. capbench does not count these losses against a method.",
                list(&parts)
            )
        }
        BenchFinding::Worse { certainly_less, probably_less, costlier } => {
            worse_methods(certainly_less, probably_less, costlier)
        }
        BenchFinding::Overload { lossless, behind, least, most } => {
            at_maximum_load(lossless, behind, least.as_ref(), most)
        }
        BenchFinding::CostsEqual { time, at_pps } => capitalised(&format!(
            "{}the {} per packet of the methods cannot be distinguished.",
            at_load(*at_pps),
            compared_time_words(*time)
        )),
        BenchFinding::CostsDiffer {
            time,
            at_pps,
            cheapest,
            cheapest_time,
            undecided,
            dearest,
            dearest_time,
        } => {
            let (most, open) = match undecided.is_empty() {
                true => ("the most", String::new()),
                false => (
                    "more",
                    format!(
                        "; {} {} between them or above",
                        first_methods(undecided),
                        verb(undecided, "is", "are")
                    ),
                ),
            };
            format!(
                "{}{} {} the least {}, {} per packet; {dearest} needs {most}, {}{open}.",
                at_load(*at_pps),
                list(&method_names(cheapest)),
                verb(cheapest, "needs", "need"),
                compared_time_words(*time),
                range_in_ns(*cheapest_time),
                range_in_ns(*dearest_time)
            )
        }
        // `others` set-ups besides that of the verdict; in `alike` of them the method is best or equal.
        BenchFinding::OtherSetUps { set_up, method, others, alike, better } => {
            let other_set_ups = many((*others).into(), "other set-up", "other set-ups");
            let mut parts = vec![format!("{method} is or may be best in {alike} of {other_set_ups}")];
            for BetterElsewhere { method, set_up } in better.iter().take(NAMED_SET_UPS) {
                parts.push(format!("{method} is better with {}", set_up_words(set_up)));
            }
            format!("The verdict is for {}; {}.", set_up_words(set_up), parts.join("; "))
        }
    }
}

/// Why nothing is known of a program.
fn unknown_program_words(program: &UnknownProgram) -> String {
    let UnknownProgram { method, because } = program;
    let reason = match because {
        UnknownBecause::NotMeasured { text } => text.clone(),
        UnknownBecause::Invalid { text } => format!("its trials are invalid ({text})"),
        UnknownBecause::NotSent { sent_pps } => {
            format!("the generator sent it up to {}", rate(sent_pps.floor()))
        }
        UnknownBecause::Disturbed { disturbed, trials } => {
            let trials = many((*trials).into(), "trial", "trials");
            format!("it lost frames, and the host disturbed {disturbed} of its {trials}")
        }
    };
    format!("{method}: unknown, because {reason}")
}

/// In how many trials the host stopped a method.
fn paused_method_words(paused: &PausedMethod) -> String {
    let trials = many(paused.trials.into(), "trial", "trials");
    let up_to = if paused.lossy_trials > 1 { "up to " } else { "" };
    format!(
        "{} of {trials} of {} ({up_to}{} of the frames)",
        paused.lossy_trials,
        paused.method,
        percent(paused.largest_loss_ratio)
    )
}

/// Methods that sustain less than the one to use, or cost more.
fn worse_methods(
    certainly_less: &[SavedMethod],
    probably_less: &[SavedMethod],
    costlier: &[SavedMethod],
) -> String {
    let mut parts = Vec::new();
    if !certainly_less.is_empty() {
        let sustain = verb(certainly_less, "sustains", "sustain");
        parts.push(format!("{} certainly {sustain} less", first_methods(certainly_less)));
    }
    if !probably_less.is_empty() {
        let sustain = verb(probably_less, "sustains", "sustain");
        parts.push(format!("{} probably {sustain} less", first_methods(probably_less)));
    }
    if !costlier.is_empty() {
        let cost = verb(costlier, "costs", "cost");
        parts.push(format!("{} {cost} more at about the same rate", first_methods(costlier)));
    }
    format!("{}.", parts.join("; "))
}

/// What methods lose at maximum load.
fn at_maximum_load(
    lossless: &[SavedMethod],
    behind: &[SavedMethod],
    least: Option<&OverloadLoss>,
    most: &OverloadLoss,
) -> String {
    let mut parts = Vec::new();
    if !lossless.is_empty() {
        let lose = verb(lossless, "loses", "lose");
        parts.push(format!("{} {lose} nothing", list(&method_names(lossless))));
    }
    if !behind.is_empty() {
        let fall = verb(behind, "falls behind, with its", "fall behind, with their");
        parts.push(format!("{} {fall} frames still in buffers", list(&method_names(behind))));
    }
    parts.extend(least.map(loss_clause));
    parts.push(loss_clause(most));
    format!("At maximum load {}.", parts.join("; "))
}

/// What one method loses at maximum load.
fn loss_clause(loss: &OverloadLoss) -> String {
    let place = loss.place.map_or("at an unknown place", places::words);
    format!("{} loses {} of {} {place}", loss.method, percent(loss.loss_ratio), rate(loss.offered_pps))
}

/// How a sentence about costs at a load begins; empty if the methods were not measured at one load. A method's name may follow,
/// which begins in lower case.
fn at_load(pps: Option<f64>) -> String {
    match pps {
        Some(pps) => format!("At {} ", rate(pps)),
        None => String::new(),
    }
}

fn compared_time_words(time: ComparedTime) -> &'static str {
    match time {
        ComparedTime::Application => "application CPU time",
        ComparedTime::Total => "CPU time of application and kernel together",
    }
}

/// `60 ns`, or `60 to 62 ns`.
fn range_in_ns(range: NsRange) -> String {
    let NsRange { low_ns, high_ns } = range;
    let [low, high] = [low_ns, high_ns].map(|ns| number(ns.round(), Unit::NanosecondsPerPacket));
    if low == high { format!("{low} ns") } else { format!("{low} to {high} ns") }
}

fn set_up_words(set_up: &SetUp) -> String {
    let SetUp { frame_size, placement, work } = set_up;
    format!("{}, {}", naming::frames(frame_size), naming::placement_and_work(placement, work))
}

/// The verb for one method, or for several.
fn verb<T>(methods: &[T], one: &'static str, several: &'static str) -> &'static str {
    if methods.len() == 1 { one } else { several }
}

fn method_names(methods: &[SavedMethod]) -> Vec<String> {
    methods.iter().map(ToString::to_string).collect()
}

/// The first methods of a list, and how many more there are.
fn first_methods(methods: &[SavedMethod]) -> String {
    let methods = method_names(methods);
    if methods.len() <= NAMED_METHODS {
        return list(&methods);
    }
    format!("{} and {} more", methods[..NAMED_METHODS].join(", "), methods.len() - NAMED_METHODS)
}
