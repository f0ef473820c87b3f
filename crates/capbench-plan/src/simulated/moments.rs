//! When a simulated trial lost frames. A fluid has no single frames, so bursts are unknown: only the 100 ms windows with loss are
//! known.

use std::time::Duration;

use capbench_model::loss_shape::LossShape;

/// Windows of 100 ms per second.
const PER_SECOND: f64 = 10.0;

/// Times with loss, in seconds from the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments(Vec<(f64, f64)>);

impl Moments {
    /// Frames were lost continuously between these times.
    pub(super) fn between(&mut self, from: f64, to: f64) {
        self.0.push((from, to.max(from)));
    }

    /// Frames were lost at one moment.
    pub(super) fn at(&mut self, at: f64) {
        self.between(at, at);
    }

    /// Number of 100 ms windows with loss among the first `windows`.
    fn lossy_windows(mut self, windows: u64) -> u64 {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut lossy, mut next) = (0, 0);
        for (from, to) in self.0 {
            let first = ((from * PER_SECOND) as u64).max(next);
            let after = ((to * PER_SECOND).ceil() as u64).max((from * PER_SECOND) as u64 + 1).min(windows);
            lossy += after.saturating_sub(first);
            next = next.max(after);
        }
        lossy
    }

    /// The loss shape in results, for a trial that lost frames.
    pub(super) fn shape(self, sent: u64, lost: u64, sending: Duration) -> LossShape {
        let windows = ((sending.as_secs_f64() * PER_SECOND).ceil() as u64).max(1);
        LossShape::in_windows(sent, lost, windows, self.lossy_windows(windows).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;

    #[test]
    fn each_time_of_100_ms_counts_once() {
        let mut moments = Moments::default();
        moments.between(0.65, 1.0);
        moments.between(0.68, 0.72);
        moments.at(0.25);
        assert_eq!(moments.clone().lossy_windows(10), 5, "the third, and those from the seventh on");
        moments.between(0.0, 1.0);
        assert_eq!(moments.lossy_windows(10), 10);
        assert_eq!(Moments::default().lossy_windows(10), 0);
    }
}
