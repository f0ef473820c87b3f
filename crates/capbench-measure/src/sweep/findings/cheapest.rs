//! The cheapest method, and ring, that loses nothing.

use super::{Swept, numbers, time};
use crate::findings::Finding;
use crate::sweep::axis::AxisKind;
use crate::sweep::outcome::{Reading, Series};

/// A method at a point, with what it costs.
#[derive(Clone, Copy)]
struct Held<'r> {
    series: &'r Series,
    reading: &'r Reading,
    cost_ns: f64,
}

/// Costs that differ by less, as a part of them, are the same: the kernel's clock is coarser.
const SAME: f64 = 0.05;

pub(super) fn find(swept: &Swept<'_>, findings: &mut Vec<Finding>) {
    for scene in swept.scenes() {
        // A ring is chosen; whatever else is on the axis is given.
        if swept.outcome.axis == AxisKind::Ring {
            let all: Vec<_> = held(swept, &scene, |_| true);
            if let Some(text) =
                best(&all, |held| format!("{} with {}", held.series.method, swept.label(held.reading)))
            {
                push(&scene, text, &all, findings);
            }
            continue;
        }
        if scene.len() > 1 {
            by_point(swept, &scene, findings);
        }
    }
}

/// The cheapest at each point, said once for neighbours with the same one.
fn by_point(swept: &Swept<'_>, scene: &[&Series], findings: &mut Vec<Finding>) {
    let mut runs: Vec<(Option<&str>, Vec<usize>, Vec<Held<'_>>)> = Vec::new();
    for point in 0..swept.outcome.points.len() {
        let held = held(swept, scene, |reading| reading.point == point);
        if held.is_empty() {
            continue;
        }
        let winner = winner(&held).map(|held| held.series.method.as_str());
        match runs.last_mut().filter(|run| run.0 == winner) {
            Some(run) => {
                run.1.push(point);
                run.2.extend(held);
            }
            None => runs.push((winner, vec![point], held)),
        }
    }
    for (winner, points, held) in runs {
        let (Some(winner), [first, ..]) = (winner, points.as_slice()) else { continue };
        let last = points[points.len() - 1];
        let label = |point: usize| swept.outcome.points[point].label.as_str();
        let range =
            if *first == last { label(last).into() } else { format!("{} to {}", label(*first), label(last)) };
        let costs = held.iter().filter(|held| held.series.method == winner).map(|held| held.cost_ns);
        let (least, most) =
            costs.fold((f64::INFINITY, 0.0_f64), |(least, most), cost| (least.min(cost), most.max(cost)));
        let cost = if most - least < 1.0 { time(most) } else { format!("{} to {}", time(least), time(most)) };
        let text = format!(
            "{range}: of the methods that lose nothing, {winner} costs least, {cost} of CPU time per packet."
        );
        push(scene, text, &held, findings);
    }
}

/// Methods that held their load in every trial at these points, cheapest first.
fn held<'r>(swept: &Swept<'r>, scene: &[&'r Series], at: impl Fn(&Reading) -> bool) -> Vec<Held<'r>> {
    let mut held: Vec<Held<'r>> = scene
        .iter()
        .flat_map(|series| series.readings.iter().map(move |reading| (*series, reading)))
        .filter(|(_, reading)| at(reading) && !reading.trials.is_empty() && reading.back_to_back.is_none())
        .filter(|(_, reading)| {
            swept.of(reading).all(|trial| trial.held_load() && trial.intended_pps.is_some())
        })
        .filter_map(|(series, reading)| {
            Some(Held { series, reading, cost_ns: reading.total_ns_per_packet?.median })
        })
        .collect();
    held.sort_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns));
    held
}

/// The cheapest by method, unless another method costs as much as can be told.
fn winner<'h, 'r>(held: &'h [Held<'r>]) -> Option<&'h Held<'r>> {
    let first = held.first()?;
    let other = held.iter().find(|other| other.series.method != first.series.method);
    other.filter(|other| other.cost_ns - first.cost_ns > SAME * other.cost_ns).map(|_| first)
}

/// The cheapest of all rings and methods.
fn best(held: &[Held<'_>], name: impl Fn(&Held<'_>) -> String) -> Option<String> {
    let first = held.first()?;
    let alike = held.iter().filter(|other| other.cost_ns - first.cost_ns <= SAME * other.cost_ns);
    // Of rings that cost the same, the smallest.
    let choice = alike.min_by_key(|held| held.reading.point)?;
    Some(format!(
        "of {} that lose nothing, the cheapest is {}: {} of CPU time per packet.",
        if held.len() == 1 {
            "methods and rings".into()
        } else {
            format!("{} pairs of method and ring", held.len())
        },
        name(choice),
        time(choice.cost_ns)
    ))
}

fn push(scene: &[&Series], text: String, held: &[Held<'_>], findings: &mut Vec<Finding>) {
    let scene = scene.first().and_then(|series| series.scene());
    findings.push(Finding { scene, text, trials: numbers(held.iter().map(|held| held.reading)) });
}
