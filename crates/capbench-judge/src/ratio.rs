//! A share that a user gives, as of frames that may be lost.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A ratio from 0 to below 1. Written as `0.005` or `0.5%`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "f64", into = "f64")]
pub struct Ratio(f64);

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0.0);

    /// Creates a ratio. Fails when it is not from 0 to below 1.
    pub fn new(value: f64) -> std::result::Result<Self, String> {
        if (0.0..1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is no ratio from 0 to below 1 (0 % to below 100 %)"))
        }
    }

    /// A ratio that is constant in the source code.
    pub const fn fixed(value: f64) -> Self {
        assert!(value >= 0.0 && value < 1.0);
        Self(value)
    }

    /// The ratio as a number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (digits, whole) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        let value: f64 =
            digits.trim().parse().map_err(|_| format!("\"{text}\" is no ratio; 0.005 and 0.5% are"))?;
        Self::new(value / whole)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounding removes the error of binary fractions: 0.1 % is stored as 0.001, not as 0.00099....
        let percent = (self.0 * 100.0 * 1e9).round() / 1e9;
        write!(f, "{percent} %")
    }
}

impl TryFrom<f64> for Ratio {
    type Error = String;

    fn try_from(value: f64) -> std::result::Result<Self, String> {
        Self::new(value)
    }
}

impl From<Ratio> for f64 {
    fn from(ratio: Ratio) -> Self {
        ratio.0
    }
}

#[cfg(test)]
mod tests {
    use super::Ratio;

    #[test]
    fn ratios_are_read_in_both_notations_and_written_in_percent() {
        for (text, value, shown) in [
            ("0", 0.0, "0 %"),
            ("0.5%", 0.005, "0.5 %"),
            ("0.005", 0.005, "0.5 %"),
            ("0.001%", 1e-5, "0.001 %"),
            ("50 %", 0.5, "50 %"),
        ] {
            let ratio: Ratio = text.parse().unwrap();
            assert_eq!((ratio.get(), ratio.to_string().as_str()), (value, shown));
        }
    }

    #[test]
    fn the_whole_less_than_nothing_and_no_number_are_refused() {
        for text in ["1", "100%", "-0.1", "NaN", "inf", "half", "%", ""] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
        assert!("1".parse::<Ratio>().unwrap_err().contains("below 1"));
    }
}
