//! Text in a drawing: its width, its line breaks, and escaping.

/// DejaVu Sans replaces Helvetica and Arial on systems without them and is wider by this factor.
const WIDEST_FONT: f64 = 1.13;

/// Upper bound of a text's width in pixels at this size: close enough to keep labels apart in any of the fonts.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | 'I' => 0.25,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '/' | '-' | '[' | ']' => 0.33,
        'm' | 'w' | '%' | '@' => 0.86,
        'M' | 'W' => 0.9,
        c if c.is_ascii_uppercase() => 0.69,
        c if c.is_ascii() => 0.556,
        _ => 0.6,
    };
    text.chars().map(of).sum::<f64>() * size * WIDEST_FONT
}

/// Wraps at spaces to lines of up to this width; a longer word gets its own line.
pub(super) fn wrapped(text: &str, size: f64, widest: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= widest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Escaped for an element or an attribute. Characters outside XML 1.0 are replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c < ' ' || ('\u{7f}'..='\u{9f}').contains(&c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}
