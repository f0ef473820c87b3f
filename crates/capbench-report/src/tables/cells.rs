//! Cells of tables from values that may be unknown.

use capbench_statistics::interval::Estimate;

use crate::model::Cell;

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Text; `None` is empty.
    pub(crate) fn text_or_empty(text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => Self::Text(text.into()),
            None => Self::Empty,
        }
    }

    /// A count; `None` is unknown.
    pub(crate) fn count_or_unknown(count: Option<u64>) -> Self {
        count.map_or(Self::Unknown, Self::Count)
    }

    /// A number; `None` is unknown, and so is one that is not finite.
    pub(crate) fn number_or_unknown(number: Option<f64>) -> Self {
        match number {
            Some(number) if number.is_finite() => Self::Number(number),
            _ => Self::Unknown,
        }
    }

    /// A number; `None` is empty, and so is one that is not finite.
    pub(crate) fn number_or_empty(number: Option<f64>) -> Self {
        match number {
            Some(number) if number.is_finite() => Self::Number(number),
            _ => Self::Empty,
        }
    }

    /// A rate, rounded down to whole packets per second; `None` is unknown.
    pub(crate) fn whole_rate_or_unknown(pps: Option<f64>) -> Self {
        Self::number_or_unknown(pps.map(f64::floor))
    }

    /// A rate, rounded down to whole packets per second; `None` is empty.
    pub(crate) fn whole_rate_or_empty(pps: Option<f64>) -> Self {
        Self::number_or_empty(pps.map(f64::floor))
    }

    /// Repeats: their median, with its interval if it has one; `None` is unknown.
    pub(crate) fn estimate_or_unknown(estimate: Option<&Estimate>) -> Self {
        match estimate {
            None => Self::Unknown,
            Some(Estimate { median, low: Some(low), high: Some(high), .. }) => {
                Self::Interval { middle: *median, low: *low, high: *high }
            }
            Some(estimate) => Self::number_or_unknown(Some(estimate.median)),
        }
    }

    /// The median of numbers with its interval; unknown if one number is unknown.
    pub(crate) fn median(numbers: impl IntoIterator<Item = Option<f64>>) -> Self {
        let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
        Self::estimate_or_unknown(numbers.and_then(Estimate::of).as_ref())
    }
}

/// Text; `None` is empty.
impl<T: Into<String>> From<Option<T>> for Cell {
    fn from(text: Option<T>) -> Self {
        Self::text_or_empty(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<i64> for Cell {
    fn from(count: i64) -> Self {
        Self::Signed(count)
    }
}

/// Unknown if not finite.
impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::number_or_unknown(Some(number))
    }
}

impl From<&Estimate> for Cell {
    fn from(estimate: &Estimate) -> Self {
        Self::estimate_or_unknown(Some(estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn the_median_of_unknown_numbers_is_unknown() {
        assert_eq!(Cell::median([Some(1.0), None]), Cell::Unknown);
        assert_eq!(Cell::median([Some(1.0)]), Cell::Number(1.0));
        assert_eq!(Cell::median([Some(1.0), Some(3.0)]), Cell::Interval { middle: 2.0, low: 1.0, high: 3.0 });
    }
}
