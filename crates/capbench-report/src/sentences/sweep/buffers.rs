//! The words of facts about how long buffers last, by ring size, and what limits their growth.

use capbench_judge::bursts::BurstEnd;
use capbench_judge::finding::sweep::buffers::{
    BufferGrowth, BurstAtPoint, EndedSearches, FullResource, LongestBursts, Resource,
};

use crate::sentences::{percent, time};

/// The longest bursts without loss.
pub(super) fn longest_bursts(fact: &LongestBursts) -> String {
    let bursts = match (&fact.first, &fact.last) {
        (None, _) => "no longest burst was found.".to_string(),
        (Some(only), None) => {
            format!("the longest burst without loss is {} at {}.", burst(only), only.point.label)
        }
        (Some(first), Some(last)) => format!(
            "the longest burst without loss grows from {} at {} to {} at {}.",
            burst(first),
            first.point.label,
            burst(last),
            last.point.label
        ),
    };
    let growth = fact.growth.as_ref().map_or_else(String::new, growth);
    let ends: String = fact.without_burst.iter().map(ended).collect();
    format!("{}: {bursts}{growth}{ends}", fact.series.method)
}

fn burst(there: &BurstAtPoint) -> String {
    let mut text = format!("{:.0}", there.mean_frames);
    if let Some(deviation) = there.deviation_frames {
        text.push_str(&format!(" ± {deviation:.0}"));
    }
    text.push_str(" frames");
    if let Some(seconds) = there.drain_corrected_buffer_s {
        text.push_str(&format!(" (drain-corrected buffer time {})", time(seconds * 1e9)));
    }
    text
}

fn growth(growth: &BufferGrowth) -> String {
    match growth {
        BufferGrowth::AtEveryStep => " It grows with the ring at every step.".into(),
        BufferGrowth::Stops { from, full } => format!(
            " From {} on it does not grow with the ring any more: the limit is {}.",
            from.label,
            full.as_ref().map_or_else(|| "a place that no counter here reports".into(), resource)
        ),
    }
}

fn resource(full: &FullResource) -> String {
    let what = match full.resource {
        Resource::Link => "the link, the NIC or its driver",
        Resource::KernelReceiveWork => "the kernel's receive work, which is behind before the ring is full",
        Resource::ApplicationQueue => "the application's queue, which is full before the ring",
        Resource::RoomInRing => "the room that the ring has for frames, which grows less than its memory",
        Resource::Unexplained => "a place that no sweep explains",
    };
    format!("{what}; of what longer bursts lose, {} is lost {}", percent(full.share), full.place.words())
}

fn ended(ended: &EndedSearches) -> String {
    let words = match ended.end {
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
    let points: Vec<&str> = ended.points.iter().map(|point| point.label.as_str()).collect();
    let because = ended.because.as_ref().map_or_else(String::new, |because| format!(" ({because})"));
    format!(" At {}: {words}{because}.", points.join(", "))
}
