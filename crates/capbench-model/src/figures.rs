//! Formats counts and rates for people.

/// Rounds to a whole number with thousands separators: `1,234,567`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    digits.strip_prefix('-').map_or_else(|| separated(&digits), |digits| format!("-{}", separated(digits)))
}

/// Decimal digits with thousands separators.
pub fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent, with enough digits to distinguish it from 0.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share >= 10.0 => format!("{share:.0} %"),
        share if share >= 0.1 => format!("{share:.1} %"),
        share => format!("{share:.4} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(999.6), "1,000");
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(
            (grouped(12.0), grouped(-100.0), grouped(-1234.0)),
            ("12".into(), "-100".into(), "-1,234".into())
        );
    }
}
