//! Formats cells and times for people; numbers: [`capbench_chart::figures`].

use std::time::{Duration, UNIX_EPOCH};

pub use capbench_chart::figures::{UNKNOWN, number, rounded, significant};
pub use capbench_model::figures::{count, many};

use crate::model::{Cell, Unit};

/// A cell in the unit of its column, without the unit's symbol.
pub fn cell(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Unknown => UNKNOWN.into(),
        Cell::Empty => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Count(value) => count(*value),
        Cell::Signed(value) if *value < 0 => format!("-{}", count(value.unsigned_abs())),
        Cell::Signed(value) => count(value.unsigned_abs()),
        Cell::Number(value) => number(*value, unit),
        Cell::AtLeast(value) => format!("≥ {}", number(*value, unit)),
        Cell::AtMost(value) => format!("≤ {}", number(*value, unit)),
        Cell::Range { low, high } => format!("{} to {}", number(*low, unit), number(*high, unit)),
        Cell::Interval { middle, low, high } => {
            format!("{} ({} to {})", number(*middle, unit), number(*low, unit), number(*high, unit))
        }
    }
}

/// The last second that has a date of four digits.
const LAST_DATE: f64 = 253_402_300_799.0;

/// A UTC time; a time beyond the calendar is written in seconds.
pub(crate) fn utc(unix_s: f64) -> String {
    if !(0.0..=LAST_DATE).contains(&unix_s) {
        return format!("{unix_s} s since 1970");
    }
    let time = UNIX_EPOCH + Duration::from_secs(unix_s as u64);
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Cell, Unit, cell, utc};

    #[test]
    fn each_kind_of_cell_has_its_text() {
        let rate = |value| cell(&value, Unit::PacketsPerSecond);
        assert_eq!(rate(Cell::Unknown), "unknown");
        assert_eq!(rate(Cell::Empty), "");
        assert_eq!(rate(Cell::Count(1000)), "1,000");
        assert_eq!(rate(Cell::Signed(-1000)), "-1,000");
        assert_eq!(rate(Cell::AtLeast(2e6)), "≥ 2,000,000");
        assert_eq!(rate(Cell::Interval { middle: 2.0, low: 1.5, high: 2.25 }), "2 (1.5 to 2.25)");
    }

    #[test]
    fn times_that_no_clock_shows_are_no_dates() {
        assert_eq!(utc(1_700_000_000.0), "2023-11-14T22:13:20Z");
        assert_eq!(utc(1e19), "10000000000000000000 s since 1970");
        assert_eq!(utc(-1.0), "-1 s since 1970");
    }
}
