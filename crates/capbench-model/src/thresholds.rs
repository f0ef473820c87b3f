//! The numbers that decide what one trial is worth, and what statistics show. capbench-judge has those that decide what trials
//! mean, in a table of the same form.
//!
//! A row: why, as its comment; name, type, value; unit; source. "chosen" is a source: no evidence for that very number is recorded.

#[cfg(test)]
mod tests;

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

    // What disturbs a trial.
    /// Steal above this share of a CPU's time spoils a trial.
    SPOILING_STEAL: f64 = 0.01, "of the sending time", "chosen";
    /// Steal spoils a trial from this number of ticks on: one tick is a large share of a short trial and proves nothing.
    SPOILING_STEAL_TICKS: u64 = 2, "ticks", "chosen";
    /// Other work above this share of a CPU's time spoils a trial.
    SPOILING_FOREIGN_WORK: f64 = 0.05, "of the sending time", "chosen";
    /// Other work spoils a trial from this number of ticks on: most of its inputs are counted in ticks, which can be off by one at
    /// each end and for each thread of the trial.
    SPOILING_FOREIGN_TICKS: u64 = 4, "ticks", "ends and threads of a trial";
    /// A step of CLOCK_REALTIME, or a suspend. It is far above the error of reading the clocks one by one (microseconds), and far
    /// below any real step (chrony and ntpd slew below about 100 ms).
    CLOCK_STEP_NS: u64 = 1_000_000, "ns", "chosen";
    /// NTP slews by up to this rate. More means that the clock that paces the trial is being adjusted, and rates are off by as much.
    CLOCK_SLEW_PPM: f64 = 500.0, "ppm", "adjtimex(2)";
    /// Upper bound of the error of reading two clocks in turn. Over a short trial this looks like a slew.
    CLOCK_READING_NS: f64 = 50_000.0, "ns", "chosen";
    /// A CPU whose loop takes longer than this shares its core for a part of the time, or its clock was lowered. Turbo clocks differ
    /// by less with the number of busy cores.
    SHARED_CORE: f64 = 1.15, "times its minimum", "loops on shared cores";
    /// Generators that begin further apart than this share of the sending time spoil a trial: its load is not the planned one at
    /// both ends.
    START_SPREAD: f64 = 0.01, "of the sending time", "chosen";

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
