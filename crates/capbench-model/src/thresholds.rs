//! The numbers that decide what one trial is worth, and what statistics show. capbench-judge has those that decide what trials
//! mean, in a table of the same form.
//!
//! A row: why, as its comment; name, type, value; unit; source. "chosen" is a source: no evidence for that very number is recorded.

use std::time::Duration;

/// A row of a table, to print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// What it decides.
    pub name: &'static str,
    /// Its value as in the source.
    pub value: &'static str,
    /// What the value counts, or what it is a share of.
    pub unit: &'static str,
    /// Why there is such a number.
    pub why: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

/// Makes the constants of a table, and `ALL` of them.
#[macro_export]
macro_rules! thresholds {
    ($($(#[doc = $why:literal])+ $name:ident: $kind:ty = $value:expr, $unit:literal, $source:literal;)+) => {
        $($(#[doc = $why])+ pub const $name: $kind = $value;)+

        /// All rows of the table.
        pub const ALL: &[$crate::thresholds::Threshold] = &[$($crate::thresholds::Threshold {
            name: stringify!($name),
            value: stringify!($value),
            unit: $unit,
            why: concat!($($why),+),
            source: $source,
        }),+];
    };
}

thresholds! {
    // What a trial is worth.
    /// Unsent frames worth up to this much time are rounding of the clock, not a weak generator.
    UNSENT_ROUNDING: Duration = Duration::from_micros(10), "time at the intended rate", "CSIT";
    /// Parts of a CPU's time may exceed their sum by this factor, because their windows begin and end at other moments.
    CPU_PARTS_EXCESS: f64 = 1.05, "times the sum", "chosen";

    // Clocks of two hosts.
    /// A distribution of delays is stated if its median is at least this many times the clocks' error.
    MEDIAN_OVER_CLOCK_ERROR: i64 = 10, "times the error", "chosen";
    /// Rates of two clocks that differ by more are no property of clocks.
    CLOCK_RATES_DIFFERENCE_PPM: f64 = 1000.0, "ppm", "crystals: 100 ppm each; adjtimex(2): NTP slews by up to 500 ppm";

    // Hosts.
    /// The memory of a host may differ by this share and still be the same: kernels reserve more or less of it at boot.
    EQUAL_MEMORY: f64 = 0.01, "of the memory", "chosen";

    // Statistics.
    /// The confidence level of each single interval.
    LEVEL: f64 = 0.95, "probability", "convention";
    /// The probability of any false finding among all comparisons (family-wise error rate), for any number of comparisons.
    FALSE_ALARMS: f64 = 0.05, "probability", "convention";
    /// Fewest different numbers of workers for a fit of the scalability law.
    SCALABILITY_NUMBERS: usize = 4, "numbers of workers", "one more than the law has constants";
    /// Rates that differ from the scalability law by more than this share do not follow it.
    SCALABILITY_MISFIT: f64 = 0.15, "of the rate", "chosen";
}
