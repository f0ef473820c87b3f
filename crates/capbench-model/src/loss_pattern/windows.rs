//! When frames were lost: the worst 100 ms, and beginning, middle and end of a trial.

use serde::{Deserialize, Serialize};

use crate::thresholds::LOSS_WINDOW;

use super::in_time::{LossInTime, Stretches};

/// Steps per window. Windows begin at multiples of a step.
const STEPS: u64 = 10;

/// The length of a step in nanoseconds.
#[inline]
fn step_ns() -> u64 {
    LOSS_WINDOW.as_nanos() as u64 / STEPS
}

/// How many windows begin in a second.
pub fn windows_per_second() -> f64 {
    LOSS_WINDOW.as_secs_f64().recip()
}

/// How many windows begin in a trial of so many seconds: at least one.
pub fn windows_in(seconds: f64) -> u64 {
    (seconds * windows_per_second()).ceil().max(1.0) as u64
}

/// An interval of time and its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Window {
    /// Its beginning, nanoseconds since the trial started.
    pub from_ns: u64,
    /// Its length: 100 ms, or the whole of a shorter trial in steps of 10 ms.
    pub length_ns: u64,
    /// Frames sent in it.
    pub sent: u64,
    /// Frames sent in it that were lost.
    pub lost: u64,
}

impl Window {
    /// Share of its sent frames that was lost.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

/// Frames over time. They arrive in order, and only the last 100 ms are remembered.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// The current step, in which frames are counted.
    step: u64,
    steps: [Window; STEPS as usize],
    worst: Window,
    lost_at_start: u64,
    /// Start of the last 100 ms window with loss, and the number of such windows.
    lossy: (Option<u64>, u64),
    stretches: Stretches,
}

/// The final result of [`Windows`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InTime {
    pub(super) worst: Option<Window>,
    pub(super) windows: u64,
    pub(super) lossy_windows: u64,
    pub(super) lost_at_start: u64,
    pub(super) lost_at_end: u64,
    pub(super) stretches: LossInTime,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            step: 0,
            steps: [Window::default(); STEPS as usize],
            worst: Window::default(),
            lost_at_start: 0,
            lossy: (None, 0),
            stretches: Stretches::new(STEPS),
        }
    }
}

impl Windows {
    /// The step of a time.
    #[inline]
    pub(super) fn step_of(time_ns: u64) -> u64 {
        time_ns / step_ns()
    }

    /// When a step begins.
    pub(super) fn begin_of(step: u64) -> u64 {
        step * step_ns()
    }

    /// Whether a time is within 100 ms of the beginning.
    pub(super) fn is_start(time_ns: u64) -> bool {
        Self::step_of(time_ns) < STEPS
    }

    /// Whether a time is within 100 ms, in whole steps, of the last frame counted so far.
    pub(super) fn is_end(&self, time_ns: u64) -> bool {
        Self::step_of(time_ns) + STEPS > self.step
    }

    /// Counts frames of one step. An earlier step, possible only with a disordered plan, counts as the last one.
    pub(super) fn add(&mut self, step: u64, frames: u64, is_lost: bool) {
        if step > self.step {
            self.go_to(step);
        }
        let lost = if is_lost { frames } else { 0 };
        let current = &mut self.steps[(self.step % STEPS) as usize];
        current.sent += frames;
        current.lost += lost;
        if lost == 0 {
            return;
        }
        self.stretches.add(self.step, lost);
        if self.step < STEPS {
            self.lost_at_start += lost;
        }
        let window = self.step / STEPS;
        if self.lossy.0 != Some(window) {
            self.lossy = (Some(window), self.lossy.1 + 1);
        }
    }

    pub(super) fn finish(mut self) -> InTime {
        self.judge();
        let is_late = |age: u64| self.step >= STEPS + age;
        let late = (0..STEPS).filter(|age| is_late(*age)).map(|age| (self.step - age) % STEPS);
        InTime {
            worst: (self.worst.lost > 0).then_some(self.worst),
            windows: self.step / STEPS + 1,
            lossy_windows: self.lossy.1,
            lost_at_start: self.lost_at_start,
            lost_at_end: late.map(|slot| self.steps[slot as usize].lost).sum(),
            stretches: self.stretches.finish(self.step, step_ns()),
        }
    }

    fn go_to(&mut self, step: u64) {
        for _ in 0..STEPS.min(step - self.step) {
            if self.step + 1 >= STEPS {
                self.judge();
            }
            self.step += 1;
            self.steps[(self.step % STEPS) as usize] = Window::default();
        }
        // All steps in between are empty.
        self.step = step;
    }

    /// Compares the window that ends with the current step.
    fn judge(&mut self) {
        let lost = self.steps.iter().map(|step| step.lost).sum();
        if lost > self.worst.lost {
            let first = (self.step + 1).saturating_sub(STEPS);
            self.worst = Window {
                from_ns: first * step_ns(),
                length_ns: (self.step + 1 - first) * step_ns(),
                sent: self.steps.iter().map(|step| step.sent).sum(),
                lost,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InTime, LossInTime, Window, Windows};

    #[test]
    fn the_worst_window_is_found_wherever_it_begins() {
        let mut windows = Windows::default();
        for step in 0..100 {
            windows.add(step, 90, false);
            windows.add(step, 10, true);
        }
        // 250 ms to 260 ms and 320 ms to 330 ms: nearer than 100 ms, in different windows of a fixed grid.
        let mut shifted = Windows::default();
        for step in 0..100 {
            shifted.add(step, 100, step == 25 || step == 32);
        }
        let found = shifted.finish();
        let worst = Window { from_ns: 230_000_000, length_ns: 100_000_000, sent: 1000, lost: 200 };
        assert_eq!(found.worst, Some(worst));
        assert_eq!((found.windows, found.lossy_windows), (10, 2));
        assert_eq!((found.lost_at_start, found.lost_at_end), (0, 0));
        let even = windows.finish();
        assert_eq!(even.worst.map(|worst| worst.loss_ratio()), Some(0.1));
        assert_eq!((even.lossy_windows, even.lost_at_start, even.lost_at_end), (10, 100, 100));
    }

    #[test]
    fn a_short_trial_is_one_window_and_nothing_is_both_start_and_end() {
        let mut windows = Windows::default();
        windows.add(0, 5, false);
        windows.add(3, 5, true);
        let worst = Window { from_ns: 0, length_ns: 40_000_000, sent: 10, lost: 5 };
        let expected = InTime {
            worst: Some(worst),
            windows: 1,
            lossy_windows: 1,
            lost_at_start: 5,
            lost_at_end: 0,
            stretches: LossInTime { length_ns: 100_000_000, lost: vec![5] },
        };
        assert_eq!(windows.finish(), expected);
    }

    #[test]
    fn an_idle_hour_is_no_window_of_loss() {
        let mut windows = Windows::default();
        windows.add(0, 7, true);
        windows.add(360_000, 7, false);
        let found = windows.finish();
        assert_eq!((found.worst.map(|worst| worst.lost), found.lost_at_end), (Some(7), 0));
    }
}
