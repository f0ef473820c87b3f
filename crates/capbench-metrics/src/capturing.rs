//! The metrics of one capture of this process: `count`, `record`, `soak`. The counts are those that it keeps anyway.

use capbench_model::places::Place;

use crate::families::Family;
use crate::series::{Labels, Metrics};

/// The counts of a capture since it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Frames that reached it, lost ones included; absent if it does not count them.
    pub received: Option<u64>,
    /// Frames lost at each place; absent if not counted.
    pub lost: Vec<(Place, Option<u64>)>,
    /// Share of its ring in use; absent if it does not know.
    pub ring: Option<f64>,
}

/// The counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Frames written to files.
    pub frames: u64,
    /// Octets of the packets that were captured; absent if no code looks at each packet.
    pub octets: Option<u64>,
    /// Frames that are not whole in files, though the snap length allows more octets.
    pub cut: u64,
    /// Their octets that are in no file.
    pub cut_octets: u64,
    /// Frames that could not be written.
    pub refused: u64,
}

/// Turns the counts of an interface's capture into metrics.
#[derive(Debug)]
pub struct Capturing {
    metrics: Metrics,
    interface: String,
    last: Vec<(Place, u64)>,
    written: Option<u64>,
}

impl Capturing {
    /// Metrics of the capture on an interface.
    pub fn new(metrics: Metrics, interface: &str) -> Self {
        Self { metrics, interface: interface.into(), last: Vec::new(), written: None }
    }

    fn labels(&self) -> Labels {
        vec![("interface", self.interface.clone())]
    }

    /// Notes the counts at the end of a window of 100 ms.
    pub fn note_window(&mut self, totals: &Totals) {
        self.metrics.add(Family::Windows, self.labels(), 1);
        if let Some(share) = totals.ring {
            self.metrics.sample(Family::RingUsed, self.labels(), share);
        }
        let before = std::mem::take(&mut self.last);
        for (place, total) in self.note(totals) {
            let known = before.iter().find(|(known, _)| *known == place).map_or(0, |(_, total)| *total);
            self.metrics.add(Family::LossyWindows, self.at(place), u64::from(total > known));
            self.last.push((place, total));
        }
    }

    /// Notes counts without a window. Returns the known totals of places.
    pub fn note(&self, totals: &Totals) -> Vec<(Place, u64)> {
        if let Some(received) = totals.received {
            self.metrics.raise(Family::Received, self.labels(), received);
        }
        // Several counters of one place are one count.
        let mut places: Vec<(Place, Option<u64>)> = Vec::new();
        for (place, count) in &totals.lost {
            match places.iter_mut().find(|(known, _)| known == place) {
                Some((_, sum)) => *sum = sum.zip(*count).map(|(sum, more)| sum + more),
                None => places.push((*place, *count)),
            }
        }
        let mut known = Vec::new();
        for (place, count) in places {
            match count {
                Some(count) => {
                    self.metrics.remove(Family::PlaceUnknown, &self.at(place));
                    self.metrics.raise(Family::Lost, self.at(place), count);
                    known.push((place, count));
                }
                None => self.metrics.set(Family::PlaceUnknown, self.at(place), 1.0),
            }
        }
        known
    }

    /// Notes what a recording has written by now, in seconds since 1970.
    pub fn note_recorded(&mut self, recorded: Recorded, unix_s: f64) {
        self.metrics.raise(Family::Recorded, self.labels(), recorded.frames);
        if let Some(octets) = recorded.octets {
            self.metrics.raise(Family::RecordedBytes, self.labels(), octets);
        }
        self.metrics.raise(Family::Cut, self.labels(), recorded.cut);
        self.metrics.raise(Family::CutBytes, self.labels(), recorded.cut_octets);
        self.metrics.raise(Family::Refused, self.labels(), recorded.refused);
        if recorded.frames > self.written.unwrap_or(0) {
            self.written = Some(recorded.frames);
            self.metrics.set(Family::LastWrite, self.labels(), unix_s);
        }
    }

    fn at(&self, place: Place) -> Labels {
        vec![("interface", self.interface.clone()), ("place", place.key().into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    #[test]
    fn totals_become_counters_and_bursts_become_windows() {
        let metrics = Metrics::new("1");
        let mut capturing = Capturing::new(metrics.clone(), "eth0");
        for (received, ring, lost) in [(10, 0.2, 0), (30, 1.0, 5), (40, 0.9, 5)] {
            capturing.note_window(&Totals {
                received: Some(received),
                lost: vec![(Place::Ring, Some(lost)), (Place::Link, None), (Place::Ring, Some(1))],
                ring: Some(ring),
            });
        }
        let recorded = Recorded { frames: 34, octets: Some(2040), cut: 3, cut_octets: 90, refused: 1 };
        capturing.note_recorded(recorded, 1.5e9);
        capturing.note_recorded(recorded, 1.6e9);
        let text = metrics.text(Form::Prometheus);
        for line in [
            "capbench_received_frames_total{interface=\"eth0\"} 40",
            "capbench_lost_frames_total{interface=\"eth0\",place=\"ring\"} 6",
            "capbench_place_unknown{interface=\"eth0\",place=\"link\"} 1",
            "capbench_windows_total{interface=\"eth0\"} 3",
            "capbench_lossy_windows_total{interface=\"eth0\",place=\"ring\"} 2",
            "capbench_ring_used_ratio_bucket{le=\"0.25\",interface=\"eth0\"} 1",
            "capbench_ring_used_ratio_bucket{le=\"+Inf\",interface=\"eth0\"} 3",
            "capbench_ring_used_ratio_count{interface=\"eth0\"} 3",
            "capbench_recorded_frames_total{interface=\"eth0\"} 34",
            "capbench_cut_frames_total{interface=\"eth0\"} 3",
            "capbench_cut_bytes_total{interface=\"eth0\"} 90",
            "capbench_recorder_last_write_timestamp_seconds{interface=\"eth0\"} 1500000000",
        ] {
            assert!(text.lines().any(|known| known.starts_with(line)), "{line}: {text}");
        }
    }
}
