//! Text of a report as HTML: parts between backticks are commands, and names do not break after a hyphen.

use minijinja::{HtmlEscape, Value};

/// Up to this number of characters a text is kept in one line.
pub(super) const BRIEF: usize = 32;

/// Text whose parts between backticks are commands.
pub(super) fn with_code(text: &str) -> Value {
    let parts: Vec<&str> = text.split('`').collect();
    // The number of backticks is odd, so one has no partner: all of them are text.
    if parts.len().is_multiple_of(2) {
        return Value::from(text);
    }
    let mut html = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        let escaped = HtmlEscape(part).to_string();
        html += &if index % 2 == 0 { unbroken(&escaped) } else { code(&escaped) };
    }
    Value::from_safe_string(html)
}

/// A command, in which lines break between words, and not after the hyphens of a flag.
fn code(command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(|word| format!("<span>{word}</span>")).collect();
    format!("<code>{}</code>", words.join(" "))
}

/// Text in which no line breaks after a hyphen of a short word, such as the name of a method.
fn unbroken(words: &str) -> String {
    let mut html = String::new();
    for word in words.split_inclusive(' ') {
        if word.contains('-') && word.trim_end().chars().count() <= BRIEF {
            html += &format!("<span class=\"brief\">{word}</span>");
        } else {
            html += word;
        }
    }
    html
}

/// Several texts.
pub(super) fn all_with_code(texts: &[String]) -> Value {
    texts.iter().map(|text| with_code(text)).collect()
}
