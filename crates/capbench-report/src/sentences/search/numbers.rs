//! The words of `SearchFinding::Numbers`: the highest load without any loss, NDR, PDR, and how often frames are lost below them.

use capbench_judge::finding::search::LowestLoad;
use capbench_judge::search::{Held, LossEvents};
use capbench_model::figures::grouped;
use capbench_statistics::LEVEL;

use crate::naming::{many, time};

/// The numbers of a search.
pub(super) struct Numbers<'f> {
    pub(super) strict_lossless: &'f Held,
    /// If no load is without a loss: the lowest one.
    pub(super) lowest_load: Option<LowestLoad>,
    pub(super) ndr: &'f Held,
    pub(super) pdr: &'f Held,
    /// `None` if it is unknown how often frames are lost.
    pub(super) loss_events: Option<&'f LossEvents>,
}

/// The numbers, a clause each.
pub(super) fn words(numbers: &Numbers<'_>) -> String {
    let mut parts = vec![lossless_load(numbers.strict_lossless, numbers.lowest_load)];
    if let Some(load) = sustained_load(numbers.ndr) {
        parts.push(format!("NDR {load}"));
    }
    if let Some(load) = sustained_load(numbers.pdr) {
        parts.push(format!("PDR {load}"));
    }
    parts.push(match numbers.loss_events {
        Some(events) => frequency_of_loss(events),
        None => "how often frames are lost is unknown".into(),
    });
    parts.join("; ")
}

/// The highest load up to which no trial lost a frame.
fn lossless_load(strict_lossless: &Held, lowest_load: Option<LowestLoad>) -> String {
    if let Some(LowestLoad { pps, trials, clean }) = lowest_load {
        let of_trials = many(trials.into(), "trial", "trials");
        let clean = if clean == 0 { "none".into() } else { clean.to_string() };
        return format!(
            "at {} packets/s, the lowest load, {clean} of {of_trials} sent and delivered every frame",
            grouped(pps.floor())
        );
    }
    match (strict_lossless.pps, strict_lossless.upper_pps) {
        (Some(pps), _) => format!(
            "no trial of the search lost frames up to {}{} packets/s ({} of trials)",
            at_least(strict_lossless.at_least),
            grouped(pps.floor()),
            time(strict_lossless.seconds)
        ),
        (None, Some(upper)) => format!(
            "at {} packets/s, the lowest load, some trial lost frames or has unsent ones",
            grouped(upper.floor())
        ),
        (None, None) => "no load without loss is known".into(),
    }
}

/// A sustained load, and its goal if that has another name than the number; `None` if the search had no such goal.
fn sustained_load(found: &Held) -> Option<String> {
    Some(match (found.pps, found.upper_pps) {
        (Some(pps), _) => {
            let goal = match found.by.as_str() {
                "ndr" | "pdr" => String::new(),
                name => format!(", goal {name}"),
            };
            format!(
                "{}{} packets/s ({} of trials{goal})",
                at_least(found.at_least),
                grouped(pps.floor()),
                time(found.seconds)
            )
        }
        (None, Some(upper)) => format!("below {} packets/s", grouped(upper.floor())),
        (None, None) => return None,
    })
}

/// The words before a lower bound; empty for other numbers.
fn at_least(is_at_least: bool) -> &'static str {
    if is_at_least { "at least " } else { "" }
}

/// How often trials below overload lost frames.
fn frequency_of_loss(events: &LossEvents) -> String {
    let at_least = at_least(events.at_least);
    let times = match events.events {
        0 => "no frame was lost".into(),
        1 => format!("frames were lost {at_least}once"),
        count => format!("frames were lost {at_least}{count} times"),
    };
    let rate = match events.per_second_limits {
        Some([_, most]) if events.events == 0 => {
            format!(", which is below {most:.3} times per second at {:.0} %", LEVEL * 100.0)
        }
        Some([least, most]) => {
            format!(", {:.3} times per second ({least:.3} to {most:.3})", events.per_second)
        }
        None => format!(", {:.3} times per second", events.per_second),
    };
    let discarded = match events.set_aside {
        0 => String::new(),
        attempts => format!(
            "; the host disturbed {attempts} of these trials, which the search repeated ({} of them lost frames)",
            events.set_aside_lossy
        ),
    };
    format!(
        "up to {} packets/s {times} in {} of trials{rate}{discarded}",
        grouped(events.up_to_pps.floor()),
        time(events.seconds)
    )
}
