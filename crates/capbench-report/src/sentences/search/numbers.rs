//! The words of the numbers of a search that belong together: the load without loss, NDR, PDR, loss events.

use capbench_judge::search::{Held, LossEvents};
use capbench_model::figures::grouped;

use crate::naming::time;

/// The numbers in clauses.
pub(super) fn words(strict: &Held, ndr: &Held, pdr: &Held, loss_events: Option<&LossEvents>) -> String {
    let mut parts = vec![lossless(strict)];
    parts.extend(by_goal(ndr).map(|load| format!("NDR {load}")));
    parts.extend(by_goal(pdr).map(|load| format!("PDR {load}")));
    parts.push(loss_events.map_or_else(|| "how often frames are lost is unknown".into(), events));
    parts.join("; ")
}

/// The highest load up to which no trial lost a frame.
fn lossless(strict: &Held) -> String {
    match (strict.pps, strict.upper_pps) {
        (Some(pps), _) => format!(
            "no trial of the search lost frames up to {}{} packets/s ({} of trials)",
            at_least(strict.at_least),
            grouped(pps.floor()),
            time(strict.seconds)
        ),
        (None, Some(upper)) => format!(
            "no trial sent and delivered every frame, not even at {} packets/s",
            grouped(upper.floor())
        ),
        (None, None) => "no load without loss is known".into(),
    }
}

/// The load that a goal's search found, and the goal if it has another name than the number; `None` without such a goal.
fn by_goal(found: &Held) -> Option<String> {
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

fn at_least(is_at_least: bool) -> &'static str {
    if is_at_least { "at least " } else { "" }
}

fn events(events: &LossEvents) -> String {
    let at_least = at_least(events.at_least);
    let times = match events.events {
        0 => "no frame was lost".into(),
        1 => format!("frames were lost {at_least}once"),
        count => format!("frames were lost {at_least}{count} times"),
    };
    let rate = match events.per_second_limits {
        Some([_, most]) if events.events == 0 => {
            format!(", which is below {most:.3} times per second at 95 %")
        }
        Some([least, most]) => {
            format!(", {:.3} times per second ({least:.3} to {most:.3})", events.per_second)
        }
        None => format!(", {:.3} times per second", events.per_second),
    };
    let discarded = match events.set_aside {
        0 => String::new(),
        repeated => format!(
            "; the host disturbed {repeated} of these trials, which the search repeated ({} of them lost frames)",
            events.set_aside_lossy
        ),
    };
    format!(
        "up to {} packets/s {times} in {} of trials{rate}{discarded}",
        grouped(events.up_to_pps.floor()),
        time(events.seconds)
    )
}
