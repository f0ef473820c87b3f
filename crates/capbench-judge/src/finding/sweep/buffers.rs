//! The longest bursts without loss of a method over the axis, whether they grow with the ring, and which resource is full if they
//! do not, by the searches for bursts at each point.

use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use serde::Serialize;

use super::point::{SweepPoint, SweepSeries};
use super::{SweepFinding, found};
use crate::bursts::BurstEnd;
use crate::finding::Found;
use crate::sweep::Analysis;
use crate::sweep::back_to_back::{BackToBack, InvalidTrial, SweptBurst};
use crate::sweep::outcome::{Reading, Series, Swept};
use crate::thresholds::BUFFER_FOLLOWS_RING;

/// The longest bursts without loss over the axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LongestBursts {
    /// The method.
    pub series: SweepSeries,
    /// At the first point at which a burst was found; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<BurstAtPoint>,
    /// At the last such point; absent if it is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<BurstAtPoint>,
    /// Whether they grow with the ring; absent if the points are no rings, or do not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<BufferGrowth>,
    /// Searches that ended without a longest burst.
    pub without_burst: Vec<EndedSearches>,
}

/// The longest burst without loss at a point.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BurstAtPoint {
    /// The point.
    pub point: SweepPoint,
    /// Its mean length over the searches, in frames.
    pub mean_frames: f64,
    /// The standard deviation, in frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation_frames: Option<f64>,
    /// How long the buffer lasts, less what was delivered meanwhile, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_corrected_buffer_s: Option<f64>,
}

/// Whether the buffer grows with the ring.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BufferGrowth {
    /// At every step.
    AtEveryStep,
    /// From a ring on it does not, in all repeats.
    Stops {
        /// The ring.
        from: SweepPoint,
        /// What is full; absent if no counter reports it.
        #[serde(skip_serializing_if = "Option::is_none")]
        full: Option<FullResource>,
    },
}

/// What is full before the ring is.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FullResource {
    /// The resource.
    pub resource: Resource,
    /// Where the shortest lossy bursts lost most frames.
    pub place: Place,
    /// Share of the lost frames that was lost there.
    pub share: f64,
}

/// A resource that limits bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The link, the NIC or its driver.
    Link,
    /// The kernel's receive work.
    KernelReceiveWork,
    /// The application's queue.
    ApplicationQueue,
    /// The room for frames in the ring, which grows less than its memory.
    RoomInRing,
    /// A place that no sweep explains.
    Unexplained,
}

/// Searches for a burst with the same end.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EndedSearches {
    /// How they ended.
    pub end: BurstEnd,
    /// The points with such a search.
    pub points: Vec<SweepPoint>,
    /// The invalid trial that ended the first of them, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<InvalidTrial>,
}

/// The searches of a method at one point.
#[derive(Clone, Copy)]
struct Measured<'r> {
    reading: &'r Reading,
    test: &'r BackToBack,
}

/// The longest bursts without loss of a method.
pub(super) fn longest_bursts(swept: &Swept<'_>, series: &Series) -> Found {
    let mut measured = Vec::new();
    let mut with_burst = Vec::new();
    for reading in &series.readings {
        let Some(test) = &reading.back_to_back else { continue };
        measured.push(Measured { reading, test });
        if test.mean_frames.is_some() {
            with_burst.push(Measured { reading, test });
        }
    }
    let last = with_burst.last().filter(|_| with_burst.len() > 1);
    let fact = LongestBursts {
        series: SweepSeries::new(series),
        first: with_burst.first().map(|first| burst_at_point(swept, first)),
        last: last.map(|last| burst_at_point(swept, last)),
        growth: growth(swept, &with_burst),
        without_burst: without_burst(swept, &measured),
    };
    let searches = measured.iter().flat_map(|measured| &measured.test.searches);
    let trials = searches.flat_map(|search| search.trials.iter().copied()).collect();
    found(SweepFinding::LongestBursts(fact), trials)
}

fn burst_at_point(swept: &Swept<'_>, measured: &Measured<'_>) -> BurstAtPoint {
    BurstAtPoint {
        point: SweepPoint::of_reading(swept.outcome, measured.reading),
        mean_frames: measured.test.mean_frames.unwrap_or_default(),
        deviation_frames: measured.test.deviation_frames,
        drain_corrected_buffer_s: measured.test.drain_corrected_buffer_s,
    }
}

/// Searches without a longest burst, by their ends.
fn without_burst(swept: &Swept<'_>, measured: &[Measured<'_>]) -> Vec<EndedSearches> {
    let mut all = Vec::new();
    // In the order of reports.
    for end in [
        BurstEnd::NoneHeld,
        BurstEnd::NeverFills,
        BurstEnd::AtLimit,
        BurstEnd::GeneratorLimited,
        BurstEnd::Invalid,
        BurstEnd::NotRun,
    ] {
        let mut points = Vec::new();
        let mut invalid = None;
        for Measured { reading, test } in measured {
            let mut ended = test.searches.iter().filter(|search| search.end == end).peekable();
            if ended.peek().is_none() {
                continue;
            }
            points.push(SweepPoint::of_reading(swept.outcome, reading));
            invalid = invalid.or_else(|| ended.find_map(SweptBurst::invalid_trial));
        }
        if !points.is_empty() {
            all.push(EndedSearches { end, points, invalid });
        }
    }
    all
}

/// Up to which ring size the buffer grows with the ring, and what is full beyond. `None` if the points are no rings, with fewer than
/// two of them, or if the buffer does not grow at a step and either the repeats disagree on that or it grows again later.
fn growth(swept: &Swept<'_>, with_burst: &[Measured<'_>]) -> Option<BufferGrowth> {
    if !swept.outcome.axis.shows(Analysis::Buffers) {
        return None;
    }
    let mut grows_at_every_step = true;
    let mut stops = None;
    // In the order of the points: each ring is larger than the one before.
    for step in with_burst.windows(2) {
        let [before, after] = step else { continue };
        let smaller_ring = ring_size(swept, before)?;
        let larger_ring = ring_size(swept, after)?;
        // The factor by which the bursts must grow.
        let least_growth = 1.0 + BUFFER_FOLLOWS_RING * (larger_ring / smaller_ring - 1.0);
        let frames_before = before.test.mean_frames.unwrap_or_default();
        let frames_after = after.test.mean_frames.unwrap_or_default();
        if frames_after >= frames_before * least_growth {
            stops = None;
            continue;
        }
        grows_at_every_step = false;
        if stops.is_none() && all_repeats_agree(before.test, after.test, least_growth) {
            let from = SweepPoint::of_reading(swept.outcome, after.reading);
            stops = Some(BufferGrowth::Stops { from, full: full_resource(after.test) });
        }
    }
    if grows_at_every_step && with_burst.len() > 1 { Some(BufferGrowth::AtEveryStep) } else { stops }
}

/// The coordinate of a point of rings.
fn ring_size(swept: &Swept<'_>, measured: &Measured<'_>) -> Option<f64> {
    swept.outcome.points.get(measured.reading.point)?.at
}

/// The full resource if a larger ring allows no longer burst: where the shortest lossy bursts lost their frames.
fn full_resource(test: &BackToBack) -> Option<FullResource> {
    let losses = test.searches.iter().flat_map(|search| &search.lost);
    let lost = LostAt::sum(losses.map(|lost| (lost.place, lost.frames)));
    // The place that lost most is the first.
    let most = lost.first()?;
    let resource = match most.place {
        Place::Transmit | Place::Path | Place::Link | Place::Driver => Resource::Link,
        Place::LinkQueue | Place::Backlog => Resource::KernelReceiveWork,
        Place::ApplicationQueue => Resource::ApplicationQueue,
        place if place.holds_frames_for_application() => Resource::RoomInRing,
        _ => Resource::Unexplained,
    };
    let all_lost: u64 = lost.iter().map(|lost| lost.frames).sum();
    Some(FullResource { resource, place: most.place, share: most.frames as f64 / all_lost as f64 })
}

/// Whether all repeats agree that it did not grow: the longest burst after the step is shorter than the shortest before it
/// times the expected growth. A single repeat at a point does not decide.
fn all_repeats_agree(before: &BackToBack, after: &BackToBack, least_growth: f64) -> bool {
    let Some(least_before) = before.least_frames else { return false };
    let Some(most_after) = after.most_frames else { return false };
    let is_shorter = (most_after as f64) < least_before as f64 * least_growth;
    is_shorter && repeats(before) > 1 && repeats(after) > 1
}

/// The searches that found a burst.
fn repeats(test: &BackToBack) -> usize {
    test.searches.iter().filter(|search| search.frames.is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::{BufferGrowth, Measured, growth};
    use crate::bursts::BurstEnd;
    use crate::sweep::AxisKind;
    use crate::sweep::back_to_back::{BackToBack, SweptBurst};
    use crate::sweep::for_tests::{LoadTrial, reading_of_each, series, sweep_of_loads};
    use crate::sweep::outcome::Swept;

    /// Searches of which only the mean of their longest bursts is known.
    fn with_mean(mean_frames: f64) -> BackToBack {
        BackToBack {
            searches: Vec::new(),
            mean_frames: Some(mean_frames),
            least_frames: None,
            most_frames: None,
            deviation_frames: None,
            implied_buffer_s: None,
            drain_corrected_buffer_s: None,
        }
    }

    /// Two searches that found a burst of this length.
    fn found_twice(frames: u64) -> BackToBack {
        let search = SweptBurst {
            end: BurstEnd::Found,
            because: None,
            because_fact: None,
            frames: Some(frames),
            burst_pps: 1e6,
            drained_pps: 5e5,
            trials: Vec::new(),
            lost: Vec::new(),
        };
        BackToBack {
            searches: vec![search.clone(), search],
            least_frames: Some(frames),
            most_frames: Some(frames),
            ..with_mean(frames as f64)
        }
    }

    #[test]
    fn growth_stops_where_no_larger_ring_brings_more() {
        for (frames, stops_at) in
            [([100, 200, 201], Some(32.0)), ([100, 101, 102], Some(16.0)), ([100, 101, 200], None)]
        {
            let trials = [1, 2, 3].map(|number| LoadTrial::lossless(number).result());
            let mut sweep =
                sweep_of_loads(&[8.0, 16.0, 32.0], vec![series("recv", reading_of_each(&trials))]);
            sweep.axis = AxisKind::Ring;
            let tests = frames.map(found_twice);
            let mut measured = Vec::new();
            for (reading, test) in sweep.series[0].readings.iter().zip(&tests) {
                measured.push(Measured { reading, test });
            }
            let found = match growth(&Swept::new(&sweep, &trials), &measured) {
                Some(BufferGrowth::Stops { from, .. }) => from.at,
                Some(BufferGrowth::AtEveryStep) => panic!("{frames:?}"),
                None => None,
            };
            assert_eq!(found, stops_at, "{frames:?}");
        }
    }

    #[test]
    fn a_buffer_follows_the_ring_if_it_grows_by_half_as_much() {
        // The second ring is twice the first, so a burst of 100 frames must grow by half, to 150.
        for (frames, grows) in [(148.0, false), (152.0, true)] {
            let trials = [LoadTrial::lossless(1).result(), LoadTrial::lossless(2).result()];
            let mut sweep = sweep_of_loads(&[8.0, 16.0], vec![series("recv", reading_of_each(&trials))]);
            sweep.axis = AxisKind::Ring;
            let tests = [with_mean(100.0), with_mean(frames)];
            let mut measured = Vec::new();
            for (reading, test) in sweep.series[0].readings.iter().zip(&tests) {
                measured.push(Measured { reading, test });
            }
            let growth = growth(&Swept::new(&sweep, &trials), &measured);
            assert_eq!(growth.is_some(), grows, "100 and {frames} frames with a ring of twice the size");
        }
    }
}
