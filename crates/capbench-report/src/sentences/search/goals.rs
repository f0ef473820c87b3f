//! The words of what goals of a search have in common: their limit, the doubts about their bounds.

use capbench_judge::finding::search::{BoundsByChance, GoalFact, GoalLosses};
use capbench_judge::search::{HighLoss, Losses};
use capbench_model::figures::{count, grouped};

/// What goals show, in a clause.
pub(super) fn words(fact: &GoalFact) -> String {
    match fact {
        GoalFact::Losses(losses) => limit(losses),
        GoalFact::Doubts { by_chance, disturbed } => {
            let mut parts = Vec::new();
            parts.extend(by_chance.as_ref().map(chance));
            parts.extend(disturbed.map(|trials| {
                format!(
                    "the host disturbed {} of the {} trials that decide the bounds",
                    trials.disturbed, trials.trials
                )
            }));
            parts.join("; ")
        }
        GoalFact::Stalls { lossy_windows, windows } => format!(
            "only {lossy_windows} of the {windows} intervals of 100 ms at that load lost frames: the host stalls now and then; \
             the load itself is not too high"
        ),
    }
}

/// Where frames were lost at the upper bound, and the limit.
fn limit(fact: &GoalLosses) -> String {
    let mut parts = Vec::new();
    parts.extend(fact.losses.as_ref().map(|losses| format!("lost {}", places(losses))));
    parts.extend(fact.backlogged.map(|backlogged| {
        format!(
            "{} of {} frames that count as lost were in buffers when sending ended",
            count(backlogged.frames),
            count(backlogged.of)
        )
    }));
    parts.extend(fact.limit.map(|limit| format!("the limit is {}", limit.words())));
    format!("at {} packets/s {}", grouped(fact.at_pps.floor()), parts.join("; "))
}

/// Where frames were lost, and in which burst lengths.
fn places(losses: &Losses) -> String {
    let all: u64 = losses.lost.iter().map(|lost| lost.frames).sum();
    let mut places = Vec::new();
    for lost in &losses.lost {
        let percent = lost.frames as f64 * 100.0 / all as f64;
        places.push(format!("{} ({percent:.0} %)", lost.place.words()));
    }
    let places = match places.is_empty() {
        true => "at a place that no counter here reports".into(),
        false => places.join(", "),
    };
    match losses.moments.filter(|moments| moments.longest_frames > 0) {
        Some(moments) => format!(
            "{places}, up to {} frames or {:.1} ms in a row",
            moments.longest_frames,
            moments.longest_ns as f64 / 1e6
        ),
        None => places,
    }
}

fn chance(bounds: &BoundsByChance) -> String {
    let nearest = match bounds.nearest_pps {
        Some([from, to]) => format!(
            "the nearest loads that are distinguished are {} and {} packets/s",
            grouped(from),
            grouped(to)
        ),
        None => "no loads that were tried around them are distinguished".into(),
    };
    format!(
        "{} of full length lost frames at the lower bound, {} at the upper: the bounds can differ by chance (p = {:.2}); \
         {nearest}",
        share(&bounds.lower),
        share(&bounds.upper),
        bounds.probability
    )
}

/// The number of lossy trials, with the compatible shares of loss.
fn share(high: &HighLoss) -> String {
    format!(
        "{} of {} trials ({:.0} to {:.0} %)",
        high.trials,
        high.of,
        (high.low * 100.0).floor(),
        (high.high * 100.0).ceil()
    )
}
