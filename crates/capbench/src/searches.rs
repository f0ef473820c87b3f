//! What a search prints. A pure function of results.

use std::fmt::Write;

use capbench_measure::figures::grouped;
use capbench_measure::search::presets::Listed;
use capbench_measure::search::{
    self, Bound, GoalResult, Held, LossNumbers, MaximumLoad, MaximumSource, SearchOutcome, Status,
};

use crate::summary::wrapped;
use crate::table::Table;

/// One search: its scene, its goals with their bounds, and the numbers that belong together.
pub fn search(search: &SearchOutcome) -> String {
    let mut text = String::new();
    let known = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".into());
    let size = search.frame_size.as_ref().map_or("?".into(), ToString::to_string);
    let nth = search.nth.map_or_else(String::new, |nth| format!(", search {nth}"));
    let title = format!(
        "{}, {size}-byte frames, placement {}, work {}{nth}",
        known(&search.method),
        known(&search.placement),
        known(&search.work)
    );
    wrapped(&mut text, "", "  ", &title);
    if let Some(maximum) = &search.maximum {
        wrapped(&mut text, "  ", "    ", &top(maximum));
    }
    let mut table =
        Table::new(&["  goal", "lower bound", "upper bound", "cond. throughput", "width", "result"]);
    for result in &search.goals {
        table.row(row(result));
    }
    let _ = write!(text, "{table}");
    for result in &search.goals {
        shown(&mut text, result);
    }
    numbers(&mut text, &search.numbers);
    let used = format!(
        "{} trials, {:.0} s of traffic, {:.0} s in all",
        search.trials.len(),
        search.sending_s,
        search.spent_s
    );
    wrapped(&mut text, "  ", "    ", &used);
    for warning in &search.warnings {
        wrapped(&mut text, "  note: ", "    ", warning);
    }
    text.push('\n');
    text
}

fn top(maximum: &MaximumLoad) -> String {
    let load = grouped(maximum.load_pps.get().floor());
    let source = match maximum.source {
        MaximumSource::Generator => "what the generator reaches with this method capturing",
        MaximumSource::GeneratorAndReceiver => "what generator and receiver reach together",
        MaximumSource::LineRate => "the line rate, which the generator reaches",
        MaximumSource::Given => "as asked for",
    };
    match &maximum.self_test {
        Some(test) => format!(
            "maximum load {load} packets/s, {source} (self-test: {} unpaced, {} by plan)",
            grouped(test.unpaced_pps),
            grouped(test.paced_pps)
        ),
        None => format!("maximum load {load} packets/s, {source}"),
    }
}

fn row(result: &GoalResult) -> Vec<String> {
    let rate = |bound: &Option<Bound>, of: fn(&Bound) -> f64| {
        bound.as_ref().map_or("-".into(), |bound| grouped(of(bound).floor()))
    };
    let status = match result.status {
        Status::Regular => "regular",
        Status::AtLeast => "at least",
        Status::Irregular => "irregular",
    };
    vec![
        format!("  {}", result.goal.name),
        rate(&result.lower, |bound| bound.achieved_pps),
        rate(&result.upper, |bound| bound.intended_pps),
        // What is held at least is no throughput.
        result
            .conditional_throughput_pps
            .filter(|_| result.status != Status::AtLeast)
            .map_or("-".into(), |pps| grouped(pps.floor())),
        result.relative_width.map_or("-".into(), |width| format!("{:.2} %", width * 100.0)),
        status.into(),
    ]
}

/// Why a goal's result is not regular and what is known instead; how far its bounds are to be believed; where frames were
/// lost at the upper one, and what limits.
fn shown(text: &mut String, result: &GoalResult) {
    let name = &result.goal.name;
    if let Some(reason) = &result.reason {
        wrapped(text, "  ", "    ", &format!("{name}: {reason}"));
    }
    if let Some(so_far) = &result.so_far {
        let line = format!(
            "{name}: by {:.1} s a load, {} to {} packets/s ({:.1} % apart)",
            so_far.duration_sum.as_secs_f64(),
            grouped(so_far.lower.achieved_pps.floor()),
            grouped(so_far.upper.intended_pps.floor()),
            so_far.relative_width * 100.0
        );
        wrapped(text, "  ", "    ", &line);
    }
    for said in [result.doubt(), result.loss(), result.stalls()].into_iter().flatten() {
        wrapped(text, "  ", "    ", &format!("{name}: {said}"));
    }
}

/// What searches show that none of them shows by itself: how far repeats lie apart, and methods against each other.
pub fn together(searches: &[SearchOutcome]) -> String {
    let found = search::findings::together(searches);
    if found.is_empty() {
        return String::new();
    }
    let mut text = String::from("Searches together\n");
    for finding in found {
        wrapped(&mut text, "  - ", "    ", &finding.text);
    }
    text.push('\n');
    text
}

/// Strict, NDR and PDR are never shown without each other: any one of them misleads on a noisy host.
fn numbers(text: &mut String, numbers: &LossNumbers) {
    let held = |held: &Held| match (held.pps, held.upper_pps) {
        (Some(pps), upper) => format!(
            "{}{}{} ({:.1} s at it, by {})",
            if held.at_least { "at least " } else { "" },
            grouped(pps.floor()),
            upper
                .filter(|_| !held.at_least)
                .map_or_else(String::new, |upper| format!(", below {}", grouped(upper.floor()))),
            held.seconds,
            held.by
        ),
        (None, Some(upper)) => format!("below {} (by {})", grouped(upper.floor()), held.by),
        (None, None) => format!("not decided (by {})", held.by),
    };
    let line = format!(
        "strict lossless {}; NDR {}; PDR {} packets/s",
        held(&numbers.strict_lossless),
        held(&numbers.ndr),
        held(&numbers.pdr)
    );
    wrapped(text, "  ", "    ", &line);
    let Some(events) = &numbers.loss_events else { return };
    let rate = match events.per_second_limits {
        Some([_, most]) if events.events == 0 => format!("below {most:.3} per second at 95 %"),
        Some([least, most]) => {
            format!("{:.3} per second ({least:.3} to {most:.3} at 95 %)", events.per_second)
        }
        None => format!("{:.3} per second", events.per_second),
    };
    let set_aside = match events.set_aside {
        0 => String::new(),
        aside => format!(
            ", among them {} of {aside} that the host disturbed and that were repeated",
            events.set_aside_lossy
        ),
    };
    let longest = events.longest.map_or_else(String::new, |longest| {
        format!(
            "; the longest {} frames or {:.1} ms",
            grouped(longest.frames as f64),
            longest.ns as f64 / 1e6
        )
    });
    let line = format!(
        "loss events up to {} packets/s: {}{} in {:.0} s, {rate}; {} of {} trials lost something{set_aside}{longest}",
        grouped(events.up_to_pps.floor()),
        if events.at_least { "at least " } else { "" },
        events.events,
        events.seconds,
        events.lossy_trials,
        events.trials
    );
    wrapped(text, "  ", "    ", &line);
}

/// The goals that have a name.
pub fn goals(list: &[Listed]) -> String {
    let mut text = String::new();
    for Listed { preset, source, goal } in list {
        let name =
            if *preset == goal.name { preset.to_string() } else { format!("{preset} ({})", goal.name) };
        wrapped(&mut text, "", "    ", &format!("{name}: {source}"));
        wrapped(&mut text, "    ", "    ", &goal.to_string());
    }
    text
}
