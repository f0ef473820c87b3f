//! Text in lines that fit on a terminal.

use crate::printable;

/// Width of a line in columns.
pub const COLUMNS: usize = 80;

/// Appends `words` to `text` in lines that fit. The first line begins with `first_indent`, the others with `next_indent`. A word
/// longer than a line gets a line.
pub fn wrapped(text: &mut String, first_indent: &str, next_indent: &str, words: &str) {
    let mut line = String::from(first_indent);
    let mut separator = "";
    for word in printable::line(words).split(' ') {
        if word.is_empty() {
            continue;
        }
        if !separator.is_empty() && width(&line) + 1 + width(word) > COLUMNS {
            end_line(text, &line);
            line = next_indent.into();
            separator = "";
        }
        line.push_str(separator);
        line.push_str(word);
        separator = " ";
    }
    end_line(text, &line);
}

fn end_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}
