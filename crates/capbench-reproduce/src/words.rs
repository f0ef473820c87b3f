//! Texts of the publications' files, in which `{NAME}` is replaced.

use super::figure::Figure;
use super::measured::{Seen, held, slowed};

/// Replaces each `{NAME}` that has a value.
pub(super) fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        text.push_str(before);
        text.push_str(&value(name).unwrap_or_else(|| format!("{{{name}}}")));
        rest = after;
    }
    text + rest
}

/// The names that a text can use: `{0.captured}`, the median of a figure of the first operand; `{held}` and `{slowed}`, notes
/// that are empty unless they apply; and words of the rule.
pub(super) struct Words<'w, 't> {
    operands: &'w [Seen<'t>],
    more: Vec<(&'static str, String)>,
    /// The first operand that does not know a named figure.
    pub(super) missing: Option<usize>,
}

impl<'w, 't> Words<'w, 't> {
    pub(super) fn of(operands: &'w [Seen<'t>]) -> Self {
        Self { operands, more: Vec::new(), missing: None }
    }

    /// Adds a name that texts can use.
    pub(super) fn and(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.more.push((name, text.into()));
        self
    }

    /// The text with all names replaced; `-` for unknown values.
    pub(super) fn fill(&mut self, template: &str) -> String {
        fill(template, |name| {
            if let Some((_, text)) = self.more.iter().find(|(known, _)| *known == name) {
                return Some(text.clone());
            }
            match name {
                "held" => return Some(held(self.operands)),
                "slowed" => return Some(slowed(self.operands).into()),
                _ => {}
            }
            let (operand, figure) = name.split_once('.')?;
            let operand: usize = operand.parse().ok()?;
            let figure = Figure::named(figure)?;
            let text = self.operands.get(operand).and_then(|seen| seen.text(figure));
            if text.is_none() {
                self.missing.get_or_insert(operand);
            }
            Some(text.unwrap_or_else(|| "-".into()))
        })
    }
}
