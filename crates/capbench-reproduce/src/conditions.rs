//! The conditions of all trials of a reproduction.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use capbench_model::laboratory::Setup;

/// Length of trials, as a share of the published length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// As published.
    pub const PUBLISHED: Self = Self(1.0);
    /// The default: all publications in less than a quarter of an hour.
    pub const DEFAULT: Self = Self(0.005);
    const LEAST: f64 = 1e-6;
    const MOST: f64 = 10.0;
    /// Shorter trials are weak evidence: the kernel counts CPU time in ticks of 10 ms, and a ring must be filled often.
    pub const LEAST_TRIAL: Duration = Duration::from_millis(300);
    /// Below this scale, trials only check the tool.
    pub const LEAST_EVIDENCE: f64 = Self::DEFAULT.0 / 2.0;
    /// The shortest trial that checks the tool.
    pub const LEAST_CHECK: Duration = Duration::from_millis(50);
    /// From this scale, nothing is made coarser to save time.
    const FULL: f64 = 0.1;

    /// Creates a scale. Fails for a share that no trial can have.
    pub fn new(part: f64) -> Result<Self, String> {
        if (Self::LEAST..=Self::MOST).contains(&part) {
            Ok(Self(part))
        } else {
            Err(format!(
                "a scale is a part of the published lengths from {} to {}, 1 is as published; {part} is none",
                Self::LEAST,
                Self::MOST
            ))
        }
    }

    /// The part.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The scaled length of a trial, at least a minimum unless the scale is so small that it can only check the tool.
    pub fn of(self, published: Duration) -> Duration {
        self.of_at_least(published, Self::LEAST_TRIAL)
    }

    /// The same with this minimum, below which trials are no evidence.
    pub fn of_at_least(self, published: Duration, least: Duration) -> Duration {
        let least = if self.0 < Self::LEAST_EVIDENCE { Self::LEAST_CHECK } else { least };
        // Durations of whole milliseconds are easy to read.
        let scaled = Duration::from_millis((published.as_secs_f64() * self.0 * 1e3).round() as u64);
        scaled.max(least.min(published))
    }

    /// Whether nothing is made coarser or left out to save time.
    pub fn is_full(self) -> bool {
        self.0 >= Self::FULL
    }

    /// The width of a search's bounds, as a share of the upper one.
    pub fn width(self) -> f64 {
        if self.is_full() { 0.005 } else { 0.05 }
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text.parse::<f64>().map_err(|_| format!("\"{text}\" is no number; 1 is as published"))?;
        Self::new(part)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The conditions of all trials of a reproduction.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Properties of a trial that publications leave open: how to send, how long to wait for missing frames.
    pub base: Setup,
    /// Scale of the length of trials.
    pub scale: Scale,
    /// Number of visits per point.
    pub visits: u32,
    /// Seed of the order of the points.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_that_are_none_are_refused() {
        for text in ["0", "-1", "11", "1e9", "NaN", "inf", "fast", "", "1e-7"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
        assert_eq!("1".parse(), Ok(Scale::PUBLISHED));
        assert_eq!("0.5".parse::<Scale>().unwrap().to_string(), "0.5");
    }

    #[test]
    fn trials_are_scaled_and_have_a_least_length() {
        let minute = Duration::from_secs(60);
        assert_eq!(Scale::PUBLISHED.of(minute), minute);
        assert_eq!(Scale::DEFAULT.of(2 * minute), Duration::from_millis(600));
        assert_eq!(Scale::DEFAULT.of(Duration::from_secs(3)), Duration::from_millis(300));
        assert_eq!(Scale::new(1e-6).unwrap().of(minute), Duration::from_millis(50));
        let second = Duration::from_secs(1);
        assert_eq!(Scale::DEFAULT.of_at_least(minute, second), second);
        assert_eq!(Scale::new(1e-6).unwrap().of_at_least(minute, second), Duration::from_millis(50));
        assert_eq!(Scale::new(10.0).unwrap().of(minute), 10 * minute);
    }
}
