//! Decimal numbers as they are written.

/// Marks of published rates that a note explains.
const MARK: char = '!';

/// A number without sign: its digits without zeros at either end, and the power of ten of the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// A number of digits and at most one point, times a power of ten; `None` where it is none.
    pub fn new(text: &str, shift: i32) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("{whole}{part}");
        if whole.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let kept = all.trim_end_matches('0');
        let exponent =
            shift - i32::try_from(part.len()).ok()? + i32::try_from(all.len() - kept.len()).ok()?;
        let digits = kept.trim_start_matches('0').to_owned();
        Some(Self { exponent: if digits.is_empty() { 0 } else { exponent }, digits })
    }

    /// One that was printed: with separators, and a mark where it has one.
    pub fn printed(text: &str) -> Option<Self> {
        let text = text.strip_suffix(MARK).unwrap_or(text);
        let mut groups = text.split('.').next()?.split(',');
        let first = groups.next()?;
        let is_grouped = (1..=3).contains(&first.len()) || !text.contains(',');
        if !is_grouped || !groups.all(|group| group.len() == 3) {
            return None;
        }
        Self::new(&text.replace(',', ""), 0)
    }
}

#[test]
fn numbers_are_equal_where_their_digits_are() {
    let equal = |printed: &str, file: &str, shift| {
        assert_eq!(Decimal::printed(printed).unwrap(), Decimal::new(file, shift).unwrap(), "{printed}");
    };
    equal("98", "0.98", 2);
    equal("100", "1", 2);
    equal("0", "0.000", 5);
    equal("1", "1.0", 0);
    equal("757,000,000", "0.757", 9);
    equal("93,359!", "93359", 0);
    equal("0.2", "0.002", 2);
    assert_ne!(Decimal::printed("0.9990000000000001"), Decimal::new("99.9", -2));
    assert_ne!(Decimal::printed("93,358"), Decimal::new("93359", 0));
    for text in ["", "-", "unknown", "1,23", "1234,567", ">=5", "<0.01", "1.2.3", ".5"] {
        assert_eq!(Decimal::printed(text), None, "{text}");
    }
}
