//! The words of `LongestBursts`: the longest bursts without loss of the first and the last point, and what limits them where they stop to
//! grow with the ring.

use crate::sentences::places;
use capbench_judge::bursts::BurstEnd;
use capbench_judge::finding::sweep::buffers::{
    BufferGrowth, BurstAtPoint, EndedSearches, FullResource, LongestBursts, Resource,
};
use capbench_judge::sweep::back_to_back::InvalidTrial;
use capbench_model::figures::percent;

use super::time_words;

/// The longest bursts without loss.
pub(super) fn longest_bursts(fact: &LongestBursts) -> String {
    let bursts = match (&fact.first, &fact.last) {
        (None, _) => "no longest burst was found.".to_string(),
        (Some(only), None) => {
            format!("the longest burst without loss is {} at {}.", length_words(only), only.point.label)
        }
        (Some(first), Some(last)) => format!(
            "the longest burst without loss is {} at {} and {} at {}.",
            length_words(first),
            first.point.label,
            length_words(last),
            last.point.label
        ),
    };
    let growth = match &fact.growth {
        Some(growth) => growth_sentence(growth),
        None => String::new(),
    };
    let ends: String = fact.without_burst.iter().map(ended_searches).collect();
    format!("{}: {bursts}{growth}{ends}", fact.series.method)
}

/// The length of a burst, in frames and time.
fn length_words(burst: &BurstAtPoint) -> String {
    let mut text = format!("{:.0}", burst.mean_frames);
    if let Some(deviation) = burst.deviation_frames {
        text.push_str(&format!(" ± {deviation:.0}"));
    }
    text.push_str(" frames");
    if let Some(seconds) = burst.drain_corrected_buffer_s {
        text.push_str(&format!(" (drain-corrected buffer time {})", time_words(seconds * 1e9)));
    }
    text
}

/// Whether the longest burst grows with the ring.
fn growth_sentence(growth: &BufferGrowth) -> String {
    match growth {
        BufferGrowth::AtEveryStep => " It grows with the ring at every step.".into(),
        BufferGrowth::Stops { from, full } => {
            let limit = match full {
                Some(full) => full_resource(full),
                None => "a place that no counter here reports".into(),
            };
            format!(" From {} on it does not grow with the ring any more: the limit is {limit}.", from.label)
        }
    }
}

/// What is full, and the share of the loss that shows it.
fn full_resource(full: &FullResource) -> String {
    let resource = match full.resource {
        Resource::Link => "the link, the NIC or its driver",
        Resource::KernelReceiveWork => "the kernel's receive work, which is behind before the ring is full",
        Resource::ApplicationQueue => "the application's queue, which is full before the ring",
        Resource::RoomInRing => "the room that the ring has for frames, which grows less than its memory",
        Resource::Unexplained => "a place that no sweep explains",
    };
    format!(
        "{resource}; of what longer bursts lose, {} is lost {}",
        percent(full.share),
        places::words(full.place)
    )
}

/// Why searches at some points found no longest burst.
fn ended_searches(searches: &EndedSearches) -> String {
    let end = match searches.end {
        // No fact has these searches: they found a burst.
        BurstEnd::Found => "the longest burst is known",
        BurstEnd::NoneHeld => "even the shortest burst loses frames",
        BurstEnd::NeverFills => {
            "the application reads frames as fast as they come, so the buffer never fills and its length is unknown: the limit is the load"
        }
        BurstEnd::AtLimit => "the burst is longer than the search went: the ring is no limit there",
        BurstEnd::GeneratorLimited => "the generator is the limit: it did not send at the rate of the burst",
        BurstEnd::Invalid => "an invalid trial ended a search",
        BurstEnd::NotRun => "a burst could not be run",
    };
    let points: Vec<&str> = searches.points.iter().map(|point| point.label.as_str()).collect();
    let because = match &searches.invalid {
        Some(invalid) => format!(" ({})", invalid_trial(invalid)),
        None => String::new(),
    };
    format!(" At {}: {end}{because}.", points.join(", "))
}

/// An invalid trial, and why it is invalid.
pub(crate) fn invalid_trial(invalid: &InvalidTrial) -> String {
    match invalid.trial {
        Some(trial) => format!("trial {trial}: {}", invalid.because),
        None => invalid.because.clone(),
    }
}
