//! Formats counts, numbers and shares for people.

/// Rounds to a whole number with thousands separators: `1,234,567`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    digits.strip_prefix('-').map_or_else(|| separated(&digits), |digits| format!("-{}", separated(digits)))
}

/// A count with separators: `1,234,567`.
pub fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A number of things: `1 trial`, `1,234 trials`.
pub fn many(number: u64, one: &str, more: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {more}", count(number)),
    }
}

/// Up to this number of decimals, without trailing zeros.
pub fn shortest(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if short == "-0" { "0".into() } else { short.into() }
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
    use super::{grouped, shortest};

    #[test]
    fn zeros_at_the_end_are_left_out() {
        let texts = [(1.5, 3), (2.0, 2), (100.0, 0), (0.0, 2), (-0.001, 2), (-1.25, 1)];
        assert_eq!(
            texts.map(|(value, decimals)| shortest(value, decimals)),
            ["1.5", "2", "100", "0", "0", "-1.2"]
        );
    }

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
