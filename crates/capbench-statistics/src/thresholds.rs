//! The numbers that decide what statistics show, and the form of a table of such numbers. capbench-model has those that decide what one
//! trial is worth, capbench-judge those that decide what trials mean.
//!
//! A row: why, as its comment; name, type, value; unit; source. A source is a standard, a constant of the kernel, a
//! calculation, or what was measured (`docs/evidence`). "a choice" says what it weighs.

#[cfg(test)]
mod tests;

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
    /// The confidence level of each single interval of medians, shares, counts, and constants of the scalability law. Reports show them next
    /// to each other and state one level, so they agree. Each decision that needs a level has its own row in capbench-judge, which
    /// refers to this one.
    LEVEL: f64 = 0.95, "probability", "convention";
    /// Two methods in turns have more noise than all methods if its variance is larger by this factor. Their own noise then counts.
    UNLIKE_VARIANCE: f64 = 2.0, "times the variance of all", "a choice: of four rounds, chance exceeds it in a sixth of cases";
    /// The probability of any false finding among all comparisons of a question (family-wise error rate), for any number of comparisons.
    /// Only rows of capbench-judge read it: one for each question, which refers to this one and can be changed alone.
    FALSE_ALARMS: f64 = 0.05, "probability", "convention";
    /// Fewest different numbers of workers for a fit of the scalability law.
    SCALABILITY_NUMBERS: usize = 4, "numbers of workers", "a calculation: one more than the law has constants";
    /// Rates that differ from the scalability law by more than this share do not follow it.
    SCALABILITY_MISFIT: f64 = 0.15, "of the rate",
        "a choice: above what rounds on a busy host differ by (docs/evidence/recorders.md: 10 %)";
}
