//! Escapes foreign text for a terminal. Names in files, of processes and of interfaces may contain control sequences, which
//! would move the cursor, set the title or hide text. A control character is written as `\u001b`, JSON's escape: readers see
//! it, and a JSON document keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal interprets a character instead of showing it: C0, DEL and C1, and direction controls (U+202A to U+202E,
/// U+2066 to U+2069).
fn is_interpreted(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether text of several lines has a character escaped: it keeps line feeds and tabs.
fn is_escaped(letter: char) -> bool {
    is_interpreted(letter) && letter != '\n' && letter != '\t'
}

/// Text of several lines, with control characters escaped.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 5);
    for letter in text.chars() {
        if is_escaped(letter) {
            // Writing to a string does not fail. All escaped characters have four digits.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped.into()
}

/// A part of one line, such as a name: line feeds and tabs become blanks, so that a name cannot fake a line.
pub fn line(name: &str) -> String {
    text(name).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{line, text};

    #[test]
    fn characters_that_a_terminal_interprets_are_shown() {
        let title = "\u{1b}]0;title\u{7}\u{9b}31mred\u{7f}\r";
        assert_eq!(text(title), "\\u001b]0;title\\u0007\\u009b31mred\\u007f\\u000d");
        assert_eq!(text("\u{202e}gnp.exe\u{2066}"), "\\u202egnp.exe\\u2066");
        assert_eq!(text("one\n\ttwo é ≥ 日本"), "one\n\ttwo é ≥ 日本");
        assert_eq!(line("eth0\nall is well\t\u{1b}"), "eth0 all is well \\u001b");
    }

    proptest! {
        #[test]
        fn escaped_json_is_the_same_document(name in any::<String>()) {
            let document = serde_json::to_string_pretty(&serde_json::json!({ "name": name })).unwrap();
            let escaped = text(&document);
            prop_assert!(!escaped.contains(|c: char| c.is_control() && c != '\n'));
            let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
            prop_assert_eq!(read["name"].as_str(), Some(name.as_str()));
        }
    }
}
