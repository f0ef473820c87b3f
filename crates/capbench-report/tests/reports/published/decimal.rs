//! Decimal numbers as they are written.

/// The mark behind a published rate that a note explains.
const MARK: char = '!';

/// A number without sign. It has no zeros at either end of its digits, so that equal numbers are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Empty for 0.
    digits: String,
    /// The power of ten of the last digit.
    exponent: i32,
}

impl Decimal {
    /// A number of digits and up to one decimal point, times a power of ten; `None` for other text.
    pub fn new(text: &str, power: i32) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all_digits = format!("{whole}{fraction}");
        if whole.is_empty() || !all_digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let without_end = all_digits.trim_end_matches('0');
        let zeros_at_end = all_digits.len() - without_end.len();
        let digits = without_end.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { digits, exponent: 0 });
        }
        let exponent = power - i32::try_from(fraction.len()).ok()? + i32::try_from(zeros_at_end).ok()?;
        Some(Self { digits, exponent })
    }

    /// A number as it is printed: with separators between groups of three digits, and perhaps a mark behind it.
    pub fn printed(text: &str) -> Option<Self> {
        let text = text.strip_suffix(MARK).unwrap_or(text);
        let whole = text.split('.').next()?;
        if let Some((first, others)) = whole.split_once(',') {
            let is_first_short = (1..=3).contains(&first.len());
            if !is_first_short || !others.split(',').all(|group| group.len() == 3) {
                return None;
            }
        }
        Self::new(&text.replace(',', ""), 0)
    }
}

#[test]
fn a_printed_number_is_that_of_the_file() {
    /// Checks that a printed number is the one in a file, times a power of ten.
    fn assert_equal(printed: &str, in_file: &str, power: i32) {
        assert_eq!(Decimal::printed(printed).unwrap(), Decimal::new(in_file, power).unwrap(), "{printed}");
    }
    assert_equal("98", "0.98", 2);
    assert_equal("100", "1", 2);
    assert_equal("0", "0.000", 5);
    assert_equal("1", "1.0", 0);
    assert_equal("757,000,000", "0.757", 9);
    assert_equal("93,359!", "93359", 0);
    assert_equal("0.2", "0.002", 2);
    assert_ne!(Decimal::printed("0.9990000000000001"), Decimal::new("99.9", -2));
    assert_ne!(Decimal::printed("93,358"), Decimal::new("93359", 0));
}

#[test]
fn other_text_is_no_number() {
    for text in ["", "-", "unknown", "1,23", "1234,567", ">=5", "<0.01", "1.2.3", ".5"] {
        assert_eq!(Decimal::printed(text), None, "{text}");
    }
}
