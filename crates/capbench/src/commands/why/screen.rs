//! A terminal on which one text replaces another. Control sequences are those of ECMA-48.

use std::io::IsTerminal;

use capbench_report::printable;
use console::Term;

/// Cursor to the first line.
const HOME: &str = "\x1b[H";
/// Clears the rest of the line.
const CLEAR_LINE: &str = "\x1b[K";
/// Clears everything below the cursor.
const CLEAR_BELOW: &str = "\x1b[J";
/// Bold on, bold off.
const BOLD: [&str; 2] = ["\x1b[1m", "\x1b[0m"];

/// Standard output, where it is a terminal.
#[derive(Debug)]
pub struct Screen {
    is_styled: bool,
    /// A fixed size, for tests.
    size: Option<(usize, usize)>,
}

impl Screen {
    /// `None` if the terminal cannot be redrawn.
    pub fn new() -> Option<Self> {
        let can_draw =
            std::io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        // console respects NO_COLOR.
        can_draw.then(|| Self { is_styled: console::colors_enabled(), size: None })
    }

    /// Lines and columns.
    fn size(&self) -> (usize, usize) {
        let now = || Term::stdout().size_checked().map(|(lines, columns)| (lines.into(), columns.into()));
        self.size.or_else(now).unwrap_or((24, 80))
    }

    /// A text that replaces the one before, cut to the terminal's size. This function makes it printable.
    pub fn drawn(&self, text: &str) -> String {
        let (lines, columns) = self.size();
        let text = printable::text(text);
        let all: Vec<_> = text.lines().collect();
        // The last line stays empty, so that nothing scrolls.
        let room = lines.saturating_sub(1).max(1);
        let hidden = if all.len() > room { all.len() - room + 1 } else { 0 };
        let mut drawn = String::from(HOME);
        for line in &all[..all.len() - hidden] {
            let line: String = line.chars().take(columns).collect();
            drawn.push_str(&self.styled(line));
            drawn.push_str(CLEAR_LINE);
            drawn.push('\n');
        }
        if hidden > 0 {
            drawn.push_str(&format!("({hidden} more lines){CLEAR_LINE}\n"));
        }
        drawn.push_str(CLEAR_BELOW);
        drawn
    }

    /// The last text, complete: it stays when the program ends.
    pub fn left(&self, text: &str) -> String {
        let text = printable::text(text);
        let lines = text.lines().map(|line| format!("{}{CLEAR_LINE}\n", self.styled(line.into())));
        format!("{HOME}{CLEAR_BELOW}{}", lines.collect::<String>())
    }

    /// Makes headings bold: lines that end with a colon.
    fn styled(&self, line: String) -> String {
        let [on, off] = BOLD;
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        if self.is_styled && is_heading { format!("{on}{line}{off}") } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    fn drawn(lines: usize, is_styled: bool, text: &str) -> String {
        Screen { is_styled, size: Some((lines, 10)) }.drawn(text)
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let text = drawn(4, false, "one\ntwo\nthree\nfour\nfive\n");
        assert_eq!(text, "\x1b[Hone\x1b[K\ntwo\x1b[K\n(3 more lines)\x1b[K\n\x1b[J");
        let text = drawn(4, false, "one\ntwo\n0123456789abc\n");
        assert_eq!(text, "\x1b[Hone\x1b[K\ntwo\x1b[K\n0123456789\x1b[K\n\x1b[J");
    }

    #[test]
    fn without_colours_nothing_is_bold() {
        assert!(drawn(9, true, "lost:\n").contains("\x1b[1mlost:\x1b[0m"));
        assert!(!drawn(9, false, "lost:\n").contains("\x1b[1m"));
    }
}
