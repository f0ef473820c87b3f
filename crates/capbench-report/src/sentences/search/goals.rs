//! The words of `GoalFact`, what one or several goals of a search show: the limit, the doubts about bounds, stalls of the host.

use crate::naming::many;
use crate::sentences::{limits, places};
use capbench_judge::finding::search::{BoundsByChance, DisturbedTrials, GoalFact, GoalLosses};
use capbench_judge::search::{HighLoss, Losses, Moments};
use capbench_model::figures::{count, grouped};

/// The clause of a fact.
pub(super) fn words(fact: &GoalFact) -> String {
    match fact {
        GoalFact::Losses(losses) => losses_and_limit(losses),
        GoalFact::Doubts { by_chance, disturbed } => {
            let mut parts = Vec::new();
            if let Some(bounds) = by_chance {
                parts.push(differ_by_chance(bounds));
            }
            if let Some(DisturbedTrials { disturbed, trials }) = disturbed {
                parts.push(format!(
                    "the host disturbed {disturbed} of the {trials} trials that decide the bounds"
                ));
            }
            parts.join("; ")
        }
        GoalFact::Stalls { lossy_windows, windows } => format!(
            "only {lossy_windows} of the {windows} intervals of 100 ms at that load lost frames: the host stalls now and then; \
             the load itself is not too high"
        ),
    }
}

/// Where frames were lost at the upper bound, and the limit.
fn losses_and_limit(fact: &GoalLosses) -> String {
    let mut parts = Vec::new();
    if let Some(losses) = &fact.losses {
        parts.push(format!("lost {}", places_and_bursts(losses)));
    }
    if let Some(backlogged) = fact.backlogged {
        parts.push(format!(
            "{} of {} frames that count as lost were in buffers when sending ended",
            count(backlogged.frames),
            count(backlogged.all_frames)
        ));
    }
    if let Some(limit) = fact.limit {
        parts.push(format!("the limit is {}", limits::words(limit)));
    }
    format!("at {} packets/s: {}", grouped(fact.at_pps.floor()), parts.join("; "))
}

/// Where frames were lost, and how many in a row.
fn places_and_bursts(losses: &Losses) -> String {
    let lost_frames: u64 = losses.lost.iter().map(|lost| lost.frames).sum();
    let mut places = Vec::new();
    for lost in &losses.lost {
        let percent = lost.frames as f64 * 100.0 / lost_frames as f64;
        places.push(format!("{} ({percent:.0} %)", places::words(lost.place)));
    }
    let places = match places.is_empty() {
        true => "at a place that no counter here reports".into(),
        false => places.join(", "),
    };
    match losses.moments {
        Some(Moments { longest_frames, longest_ns, .. }) if longest_frames > 0 => {
            let longest = many(longest_frames, "frame", "frames");
            format!("{places}, up to {longest} or {:.1} ms in a row", longest_ns as f64 / 1e6)
        }
        _ => places,
    }
}

/// Says that chance can explain the difference of the bounds.
fn differ_by_chance(bounds: &BoundsByChance) -> String {
    let nearest = match bounds.nearest_pps {
        Some([lower_pps, upper_pps]) => format!(
            "the nearest loads that are distinguished are {} and {} packets/s",
            grouped(lower_pps),
            grouped(upper_pps)
        ),
        None => "no loads that were tried around them are distinguished".into(),
    };
    format!(
        "{} of full length lost too many frames at the lower bound, {} at the upper: the bounds can differ by chance (p = {:.2}); \
         {nearest}",
        high_loss_trials(&bounds.lower),
        high_loss_trials(&bounds.upper),
        bounds.probability
    )
}

/// How many trials lost too many frames, and the interval of the share of such trials.
fn high_loss_trials(high: &HighLoss) -> String {
    format!(
        "{} of {} trials ({:.0} to {:.0} %)",
        high.trials,
        high.all_trials,
        (high.low * 100.0).floor(),
        (high.high * 100.0).ceil()
    )
}
