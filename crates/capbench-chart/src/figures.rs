//! Formats numbers for people: with separators and meaningful digits.

use capbench_model::figures::{separated, shortest};

use crate::chart::Unit;

/// Text of an unknown number.
pub const UNKNOWN: &str = "unknown";

impl Unit {
    /// The symbol after a number or in brackets after a heading; empty without a unit.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::None | Self::Count => "",
            Self::PacketsPerSecond => "packets/s",
            Self::BitsPerSecondL1 => "bit/s (L1)",
            Self::BitsPerSecondL2 => "bit/s (L2)",
            Self::Nanoseconds => "ns",
            Self::NanosecondsPerPacket => "ns/packet",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Ratio => "%",
            Self::Cores => "cores",
            Self::Iterations => "iterations",
            Self::PerSecond => "1/s",
        }
    }
}

/// A number in its unit, without the symbol: whole from 1,000 on, else with four significant digits and no trailing zeros.
/// Ratios are in percent. 0 and 100 percent are always exact.
pub fn number(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return UNKNOWN.into();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    match (value.abs(), unit) {
        (share, Unit::Ratio) => format!("{sign}{}", percent(share * 100.0)),
        (size, _) => format!("{sign}{}", rounded(size, 4)),
    }
}

/// A share in percent. 0 and 100 are always exact.
fn percent(value: f64) -> String {
    if value > 99.0 && value < 100.0 {
        let missing = significant(100.0 - value, 2);
        let decimals = missing.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        return format!("{value:.decimals$}");
    }
    rounded(value, 3)
}

/// Whole from 1,000 on, else with this number of significant digits.
pub fn rounded(value: f64, digits: i32) -> String {
    if value >= 1000.0 { separated(&format!("{value:.0}")) } else { significant(value, digits) }
}

/// With this number of significant digits and no trailing zeros.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.log10().floor() as i32;
    let decimals = usize::try_from(digits - 1 - magnitude).unwrap_or(0);
    if decimals > 9 {
        return format!("{value:.1e}");
    }
    shortest(value, decimals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_the_digits_that_they_deserve() {
        let rate = |value| number(value, Unit::PacketsPerSecond);
        assert_eq!(rate(1_234_567.8), "1,234,568");
        assert_eq!((rate(999.94), rate(0.5556), rate(12.0)), ("999.9".into(), "0.5556".into(), "12".into()));
        assert_eq!((rate(0.0), rate(-3.25)), ("0".into(), "-3.25".into()));
        assert_eq!(rate(f64::NAN), UNKNOWN);
        assert_eq!(rate(2e-12), "2.0e-12");
    }

    #[test]
    fn a_share_is_nothing_or_all_only_where_it_is() {
        let share = |value| number(value, Unit::Ratio);
        assert_eq!((share(0.0), share(1.0)), ("0".into(), "100".into()));
        assert_eq!(share(0.999_999_2), "99.99992");
        assert_eq!(share(0.000_000_2), "0.00002");
        assert_eq!((share(0.123_456), share(0.5)), ("12.3".into(), "50".into()));
        assert_eq!(share(-0.2), "-20");
    }

    proptest! {
        #[test]
        fn separators_and_rounding_keep_the_value(value in 0.001..1e12f64) {
            let read: f64 = number(value, Unit::Count).replace(',', "").parse().unwrap();
            prop_assert!((read - value).abs() <= value * 0.000_51, "{read} for {value}");
        }

        #[test]
        fn no_share_below_all_is_shown_as_all(missing in 1e-8..0.5f64) {
            let text = number(1.0 - missing, Unit::Ratio);
            prop_assert_ne!(&text, "100");
            prop_assert_ne!(number(missing, Unit::Ratio), "0");
        }
    }
}
