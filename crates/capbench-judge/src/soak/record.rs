//! The record of a soak, which adds up its segments: the total, a series of intervals, the segment that lost most, the largest
//! bursts of loss and the reasons of noise. Its size is bounded for any duration: neighbouring intervals are merged, and only the
//! largest bursts are stored.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::noise::{self, NoisySegments};
use super::segment::Segment;
use crate::thresholds::CUT_SOAK_SHARE;
use capbench_model::ledger::Entry;
use capbench_model::loss_pattern::Burst;
use capbench_model::noise::Noise;
use capbench_model::places::Place;
use capbench_model::trial::{TrialResult, Verdict};

/// Maximum number of stored intervals; then neighbours are merged: three days in 10 s segments become intervals of 80 s.
pub const INTERVALS: usize = 4096;
/// Maximum number of stored bursts; the largest are kept.
pub const EVENTS: usize = 256;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)+) => {
        /// Counts that can be summed.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        pub struct Counts {
            $($(#[$doc])* pub $name: $type,)+
        }

        impl Counts {
            fn from_trial(trial: &TrialResult) -> Self {
                Self { $($name: trial.$name),+ }
            }

            fn add(&mut self, next: &Self) {
                $(self.$name += next.$name;)+
            }
        }
    };
}

counts! {
    /// Frames to send.
    intended: u64,
    /// Frames passed to the kernel.
    sent: u64,
    /// Distinct frames that the application received intact.
    delivered: u64,
    /// Duplicate frames.
    duplicates: u64,
    /// Frames that arrived after a later one.
    reordered: u64,
    /// Frames of other senders.
    foreign: u64,
    /// Frames cut short.
    truncated: u64,
    /// Frames damaged.
    corrupt: u64,
    /// Sent frames that no place in the ledger accounts for.
    unexplained: i64,
}

/// A part of a soak: one segment, or several in succession.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interval {
    /// Its start, in seconds of sending since the soak began.
    pub from_s: f64,
    /// The same as a time of day, seconds since the epoch.
    pub began_unix_s: f64,
    /// Time of sending.
    pub sending_s: f64,
    /// The following pause of the generator, until every frame was accounted for.
    pub drain_s: f64,
    /// Number of segments.
    pub segments: u64,
    /// Segments that lost frames.
    pub lossy: u64,
    /// Segments whose ledger contradicts itself.
    pub invalid: u64,
    /// Segments that the host disturbed.
    pub disturbed: u64,
    /// Segments at whose end the buffers contained more frames than batches explain.
    #[serde(default)]
    pub buffered: u64,
    /// Frames delivered only because the buffer had room until the generator paused. Without pauses they would be lost in the
    /// end.
    #[serde(rename = "untaken", default)]
    pub backlogged: u64,
    /// Longest time that the application was behind at the end of a segment, seconds.
    #[serde(default)]
    pub behind_s: f64,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Lost frames by place.
    pub lost: BTreeMap<Place, u64>,
    /// Most frames that were lost within 100 ms; absent if frames were not inspected one by one.
    pub worst_100ms_lost: Option<u64>,
    /// Mean CPU time of the application per frame; absent if unknown.
    pub app_ns_per_packet: Option<f64>,
    /// Maximum lateness of a frame of the generator, in nanoseconds.
    pub latest_ns: Option<u64>,
    /// Resident memory of the process at its end, in bytes; absent if the system does not report it.
    pub resident_bytes: Option<u64>,
}

/// Consecutive lost frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossEvent {
    /// Planned time of the first, in seconds of sending since the soak began.
    pub at_s: f64,
    /// The same as a time of day, seconds since the epoch.
    pub unix_s: f64,
    /// Time until the next received frame.
    pub length_s: f64,
    /// Number of frames.
    pub frames: u64,
}

/// A soak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SoakRecord {
    /// Intended load.
    pub intended_pps: f64,
    /// Planned time of sending.
    pub planned_s: f64,
    /// Intended length of a segment.
    pub segment_s: f64,
    /// Completed segments.
    pub segments: u64,
    /// The total of all segments.
    pub whole: Option<Interval>,
    /// The ledger of the total. A place that was unknown in one segment is unknown.
    pub ledger: Vec<Entry>,
    /// Intervals, earliest first, with equal numbers of segments except the last.
    pub intervals: Vec<Interval>,
    /// Number of segments per interval.
    pub segments_per_interval: u64,
    /// The segment that lost most; absent if no segment lost frames.
    pub worst: Option<Interval>,
    /// The largest bursts of loss, by time.
    pub events: Vec<LossEvent>,
    /// Number of bursts.
    pub bursts: u64,
    /// Noise reasons in words, with the number of segments that reported each, for readers of the file. The report makes the words
    /// when the record is saved.
    #[serde(rename = "noise")]
    pub noise_words: BTreeMap<String, u64>,
    /// Noise reasons in the order of reports, with the number of segments that reported each. Absent in files of versions that did
    /// not write it.
    #[serde(rename = "noise_facts", default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisySegments>,
    /// Number of reports of other reasons, after the maximum number was stored.
    #[serde(default)]
    pub further_noise: u64,
    /// The complete trials of the first segment and of the one that lost most.
    pub kept: Vec<TrialResult>,
}

impl SoakRecord {
    /// An empty record of a soak at this load, of this length, in segments of this length.
    pub fn new(rate: Pps, length: Duration, segment: Duration) -> Self {
        Self {
            intended_pps: rate.get(),
            planned_s: length.as_secs_f64(),
            segment_s: segment.as_secs_f64(),
            segments_per_interval: 1,
            ..Self::default()
        }
    }

    /// Adds the facts that a file of an earlier version states as texts.
    pub fn add_facts_of_texts(&mut self) {
        if self.noise.is_empty() {
            self.noise = noise::from_earlier(&self.noise_words);
        }
    }

    /// Adds the next segment, and returns it as an interval.
    pub fn add(&mut self, segment: Segment) -> Interval {
        let from_s = self.whole.as_ref().map_or(0.0, |whole| whole.sending_s);
        let interval = Interval::from_segment(&segment, from_s);
        let trial = segment.trial;
        self.segments += 1;
        if let Some(pattern) = &trial.loss_pattern {
            self.note_bursts(&pattern.longest, pattern.bursts.count, &interval);
        }
        self.note_noise(&trial.noise.reasons);
        add_up(&mut self.ledger, &trial.ledger);
        match &mut self.whole {
            Some(whole) => whole.append(&interval),
            None => self.whole = Some(interval.clone()),
        }
        self.append(interval.clone());
        let is_worst = interval.lost() > self.worst.as_ref().map_or(0, Interval::lost);
        if is_worst {
            self.worst = Some(interval.clone());
            // The first trial stays; the worst one until now goes.
            self.kept.truncate(1);
        }
        if is_worst || self.kept.is_empty() {
            self.kept.push(trial);
        }
        interval
    }

    /// Whether it ended before its planned time of sending: it was stopped or killed, or an error ended it.
    pub fn is_cut_short(&self) -> bool {
        let sending_s = self.whole.as_ref().map_or(0.0, |whole| whole.sending_s);
        sending_s < self.planned_s * (1.0 - CUT_SOAK_SHARE)
    }

    /// Share of the sent frames that was lost.
    pub fn loss_ratio(&self) -> f64 {
        self.whole.as_ref().map_or(0.0, |whole| share(whole.lost(), whole.counts.sent))
    }

    /// Share of the intended frames that was not sent.
    pub fn unsent_ratio(&self) -> f64 {
        let Some(whole) = &self.whole else { return 0.0 };
        let Counts { intended, sent, .. } = whole.counts;
        share(intended.saturating_sub(sent), intended)
    }

    /// Share of the sent frames that was delivered only because the generator paused.
    pub fn backlogged_ratio(&self) -> f64 {
        self.whole.as_ref().map_or(0.0, |whole| share(whole.backlogged, whole.counts.sent))
    }

    /// Adds a segment to the last interval, or as a new one. If there are too many intervals, every two neighbours are merged.
    fn append(&mut self, segment: Interval) {
        match self.intervals.last_mut() {
            Some(last) if last.segments < self.segments_per_interval => last.append(&segment),
            _ => self.intervals.push(segment),
        }
        let is_full = self.intervals.last().is_some_and(|last| last.segments == self.segments_per_interval);
        if self.intervals.len() >= INTERVALS && is_full {
            self.merge_neighbours();
        }
    }

    /// Merges every two neighbouring intervals.
    fn merge_neighbours(&mut self) {
        let mut merged = Vec::new();
        for pair in self.intervals.chunks(2) {
            let mut interval = pair[0].clone();
            for next in &pair[1..] {
                interval.append(next);
            }
            merged.push(interval);
        }
        self.intervals = merged;
        self.segments_per_interval *= 2;
    }

    /// Counts reasons of noise. New reasons after the maximum number are only counted together.
    fn note_noise(&mut self, reasons: &[Noise]) {
        for reason in reasons {
            if !noise::count_if_room(&mut self.noise, reason) {
                self.further_noise += 1;
            }
        }
    }

    /// Counts the bursts of a segment, and stores the longest if they are among the largest of the soak.
    fn note_bursts(&mut self, longest: &[Burst], count: u64, segment: &Interval) {
        self.bursts += count;
        for burst in longest {
            let from_s = burst.from_ns as f64 / 1e9;
            self.events.push(LossEvent {
                at_s: segment.from_s + from_s,
                unix_s: segment.began_unix_s + from_s,
                length_s: burst.to_ns.saturating_sub(burst.from_ns) as f64 / 1e9,
                frames: burst.frames,
            });
        }
        if self.events.len() > EVENTS {
            // Of bursts with equal length, the earliest remain: the sort is stable.
            self.events.sort_by_key(|event| std::cmp::Reverse(event.frames));
            self.events.truncate(EVENTS);
        }
        self.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }
}

impl Interval {
    /// A segment that begins at this time of sending.
    fn from_segment(segment: &Segment, from_s: f64) -> Self {
        let trial = &segment.trial;
        Self {
            from_s,
            began_unix_s: segment.began_unix_s,
            sending_s: trial.sending_s,
            drain_s: trial.drain_s,
            segments: 1,
            lossy: u64::from(trial.lost() > 0),
            invalid: u64::from(trial.verdict == Verdict::Invalid),
            disturbed: u64::from(!trial.disturbance.reasons().is_empty()),
            buffered: u64::from(trial.backlogged(1).unwrap_or(0) > 0),
            backlogged: trial.backlogged(1).unwrap_or(0),
            behind_s: trial.behind_s(1).unwrap_or(0.0),
            counts: Counts::from_trial(trial),
            lost: trial.losses().into_iter().collect(),
            worst_100ms_lost: worst_100ms_lost(trial),
            app_ns_per_packet: trial.cpu.app_ns_per_packet,
            latest_ns: trial.lateness.map(|lateness| lateness.max_ns),
            resident_bytes: segment.resident_bytes,
        }
    }

    /// Frames sent and not delivered.
    pub fn lost(&self) -> u64 {
        self.counts.sent.saturating_sub(self.counts.delivered)
    }

    /// Offered load in packets per second.
    pub fn offered_pps(&self) -> f64 {
        self.counts.sent as f64 / self.sending_s.max(1e-9)
    }

    /// Adds the following part.
    fn append(&mut self, next: &Self) {
        self.app_ns_per_packet = mean_ns_per_packet(self, next);
        self.sending_s += next.sending_s;
        self.drain_s += next.drain_s;
        self.segments += next.segments;
        self.lossy += next.lossy;
        self.invalid += next.invalid;
        self.disturbed += next.disturbed;
        self.buffered += next.buffered;
        self.backlogged += next.backlogged;
        self.behind_s = self.behind_s.max(next.behind_s);
        self.counts.add(&next.counts);
        for (place, count) in &next.lost {
            *self.lost.entry(*place).or_default() += count;
        }
        self.worst_100ms_lost = self.worst_100ms_lost.max(next.worst_100ms_lost);
        self.latest_ns = self.latest_ns.max(next.latest_ns);
        self.resident_bytes = next.resident_bytes;
    }
}

/// Most frames that a trial lost within 100 ms; `None` if frames were not inspected one by one.
fn worst_100ms_lost(trial: &TrialResult) -> Option<u64> {
    let pattern = trial.loss_pattern.as_ref()?;
    Some(pattern.worst_window.map_or(0, |window| window.lost))
}

/// The application's mean time over both parts, weighted by their frames; `None` if one does not know it.
fn mean_ns_per_packet(before: &Interval, after: &Interval) -> Option<f64> {
    let before_ns = before.app_ns_per_packet?;
    let after_ns = after.app_ns_per_packet?;
    let before_frames = before.counts.delivered as f64;
    let after_frames = after.counts.delivered as f64;
    Some((before_ns * before_frames + after_ns * after_frames) / (before_frames + after_frames).max(1.0))
}

/// Adds the ledger of a segment. A place that is unknown in one of both is unknown in the sum.
fn add_up(sum: &mut Vec<Entry>, segment: &[Entry]) {
    if sum.is_empty() {
        *sum = segment.to_vec();
        return;
    }
    for entry in sum {
        let added = segment.iter().find(|added| added.place == entry.place).and_then(|added| added.count);
        entry.count = match (entry.count, added) {
            (Some(count), Some(added)) => Some(count + added),
            _ => None,
        };
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::loss_pattern::{Burst, Position};
    use capbench_model::trial::{Load, Phase};

    use super::{EVENTS, Interval, Segment, SoakRecord};

    /// A segment of a second that begins so many seconds after the soak.
    fn interval(from_s: u32) -> Interval {
        let measured = measured(1000, 1000, 1000, 0);
        let second = Duration::from_secs(1);
        let trial = measured.result(1, Phase::Soak, &profile("recv"), Load::Maximum, second);
        let from_s = f64::from(from_s);
        let segment = Segment { number: 1, began_unix_s: 1e9 + from_s, resident_bytes: None, trial };
        Interval::from_segment(&segment, from_s)
    }

    #[test]
    fn the_largest_bursts_are_kept_with_their_time_and_all_are_counted() {
        let second = Duration::from_secs(1);
        let mut record = SoakRecord::new(Pps::new(1000.0).unwrap(), second, second);
        for number in 0..1000 {
            // One large burst, and others of 0 to 6 frames.
            let frames = if number == 500 { 9999 } else { u64::from(number) % 7 };
            let longest = Burst {
                first: 3,
                frames,
                from_ns: 250_000_000,
                to_ns: 750_000_000,
                position: Position::Steady,
                marked: None,
            };
            // Each segment has a second burst, which is shorter.
            record.note_bursts(&[longest], 2, &interval(number));
        }
        assert_eq!((record.events.len(), record.bursts), (EVENTS, 2000));
        let largest = record.events.iter().find(|event| event.frames == 9999).unwrap();
        assert_eq!((largest.at_s, largest.unix_s, largest.length_s), (500.25, 1_000_000_500.25, 0.5));
        assert!(record.events.is_sorted_by_key(|event| event.at_s));
        // More than 256 of 1000 bursts have 5 or 6 frames.
        assert!(record.events.iter().all(|event| event.frames >= 5), "smaller ones made room");
    }
}
