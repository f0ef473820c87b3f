//! Error messages of filter expressions, with the place marked.

use std::fmt;
use std::ops::Range;

/// The place of an error in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionPlace {
    /// The token, as a range of octets. Empty at the end of the expression, where more is expected.
    pub token: Range<usize>,
    /// Whether the token itself is wrong. Otherwise it is the last token read before the error.
    pub is_exact: bool,
}

/// The message of an expression's error: libpcap's text, and the line with the place marked below it.
pub(crate) struct MarkedExpression<'a> {
    /// The expression. Empty if the user passed a program.
    pub(crate) expression: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) place: Option<&'a ExpressionPlace>,
}

impl fmt::Display for MarkedExpression<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expression, reason, place } = self;
        write!(f, "filter: {reason}")?;
        let Some(place) = place else {
            return if expression.is_empty() {
                Ok(())
            } else {
                write!(f, ", in \"{}\"", shown(&short(expression)))
            };
        };
        let token = &expression[place.token.clone()];
        let named = shown(&short(token));
        match (token, place.is_exact) {
            ("", _) => f.write_str(", it ends where more is expected")?,
            (_, true) => write!(f, ", at \"{named}\"")?,
            (_, false) => write!(f, ", at or before \"{named}\"")?,
        }
        let (before, after) = line_around(expression, place.token.start);
        let width = token.chars().count().clamp(1, WIDTH);
        let pad = before.chars().count();
        write!(f, "\n    {}{}\n    {:pad$}{:^<width$}", shown(&before), shown(&after), "", "")
    }
}

/// Characters of a line shown on either side of a place.
const WIDTH: usize = 60;

/// The line around the octet `at`: the text before it, and the text from it on. `...` replaces what is too long.
fn line_around(text: &str, at: usize) -> (String, String) {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let (before, after) = (&text[start..at], &text[at..end]);
    let skipped = before.chars().count().saturating_sub(WIDTH);
    let before: String = before.chars().skip(skipped).collect();
    let before = if skipped > 0 { format!("...{before}") } else { before };
    (before, short(after))
}

/// A text with `...` in place of what is too long.
fn short(text: &str) -> String {
    let mut kept: String = text.chars().take(WIDTH).collect();
    if kept.len() < text.len() {
        kept += "...";
    }
    kept
}

/// A text without characters that move the cursor.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{ExpressionPlace, MarkedExpression};

    #[test]
    fn an_error_is_printed_with_its_line_and_a_caret() {
        let shown = |expression: &str, token, is_exact| {
            let place = ExpressionPlace { token, is_exact };
            MarkedExpression { expression, reason: "syntax error", place: Some(&place) }.to_string()
        };
        assert_eq!(
            shown("udp\nor tcp prot 80\nor ip", 11..15, true),
            "filter: syntax error, at \"prot\"\n    or tcp prot 80\n           ^^^^"
        );
        assert_eq!(
            shown("tcp port", 8..8, true),
            "filter: syntax error, it ends where more is expected\n    tcp port\n            ^"
        );
        let long = format!("{}x{}", "a and ".repeat(50), " and a".repeat(50));
        let text = shown(&long, 300..301, false);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1].chars().nth(lines[2].find('^').unwrap()), Some('x'), "{text}");
        assert!(lines[1].len() < 140 && lines[0].ends_with("at or before \"x\""), "{text}");
        let bare = MarkedExpression { expression: "a\u{1b}b", reason: "no", place: None };
        assert_eq!(bare.to_string(), "filter: no, in \"a b\"");
    }
}
