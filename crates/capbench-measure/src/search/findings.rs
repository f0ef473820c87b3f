//! What searches have shown, in sentences with the trials that they rest on.

use super::maximum::MaximumSource;
use super::numbers::{Held, LossEvents};
use super::outcome::{Bound, GoalResult, SearchOutcome, Status};
use super::runner::End;
use crate::findings::Finding;

impl SearchOutcome {
    /// A sentence for each goal, one with the numbers that belong together, and what limits them.
    pub fn findings(&self) -> Vec<Finding> {
        let scene = self.frame_size.as_ref().zip(self.placement.as_ref());
        let scene = scene.map(|(size, placement)| format!("{size}-byte frames, placement {placement}"));
        let who = self.method.as_deref().unwrap_or("the search");
        let finding = |text: String, trials: Vec<u32>| Finding { scene: scene.clone(), text, trials };
        let mut findings: Vec<_> = self
            .goals
            .iter()
            .map(|goal| finding(format!("{who}, goal {goal}{}.", forwarded(goal)), evidence(goal)))
            .collect();
        let numbers = &self.numbers;
        let of = [&numbers.strict_lossless, &numbers.ndr, &numbers.pdr];
        if of.iter().any(|held| held.pps.is_some()) {
            let trials = of.iter().flat_map(|held| held.trials.iter().copied());
            findings.push(finding(
                format!(
                    "{who}: highest load without a loss in any trial {}, NDR {}, PDR {}{}.",
                    pps(of[0]),
                    pps(of[1]),
                    pps(of[2]),
                    numbers.loss_events.as_ref().map_or_else(String::new, events)
                ),
                sorted(trials.collect()),
            ));
        }
        if let Some((maximum, test)) =
            self.maximum.as_ref().and_then(|max| Some((max, max.self_test.as_ref()?)))
        {
            let limit = match maximum.source {
                MaximumSource::LineRate => ", the line rate",
                _ if test.held => "",
                _ => ", though it did not keep to any rate that was tried",
            };
            findings.push(finding(
                format!(
                    "maximum load of the search: {:.0} packets/s{limit}; the generator sent {:.0} without a plan.",
                    maximum.load_pps.get(),
                    test.unpaced_pps.floor()
                ),
                test.trials.clone(),
            ));
        }
        if self.ended != End::Complete {
            findings.push(finding(
                format!("{who}: the search is incomplete: {}.", self.ended),
                self.trials.clone(),
            ));
        }
        findings
    }
}

/// The conditional throughput, where it says more than the lower bound.
fn forwarded(goal: &GoalResult) -> String {
    match (goal.conditional_throughput_pps, &goal.lower) {
        (Some(forwarded), Some(lower))
            if goal.status != Status::AtLeast && forwarded < lower.achieved_pps =>
        {
            format!(", conditional throughput {:.0} packets/s", forwarded.floor())
        }
        _ => String::new(),
    }
}

fn evidence(goal: &GoalResult) -> Vec<u32> {
    let of = |bound: &Option<Bound>| bound.as_ref().map_or_else(Vec::new, |bound| bound.trials.clone());
    sorted([of(&goal.lower), of(&goal.upper)].concat())
}

fn sorted(mut trials: Vec<u32>) -> Vec<u32> {
    trials.sort_unstable();
    trials.dedup();
    trials
}

fn pps(held: &Held) -> String {
    let at_least = if held.at_least { "at least " } else { "" };
    held.pps.map_or_else(
        || "none".into(),
        |pps| format!("{at_least}{:.0} packets/s (in {:.0} s)", pps.floor(), held.seconds),
    )
}

fn events(events: &LossEvents) -> String {
    let at_least = if events.at_least { "at least " } else { "" };
    let count = match events.events {
        0 => "nothing was lost".into(),
        1 => format!("something was lost {at_least}once, {:.3} a second", events.per_second),
        count => format!("something was lost {at_least}{count} times, {:.3} a second", events.per_second),
    };
    format!("; up to {:.0} packets/s, {count} in {:.0} s", events.up_to_pps.floor(), events.seconds)
}
