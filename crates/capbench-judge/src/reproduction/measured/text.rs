//! Texts of claims: templates with names in braces, for which the values of the compared visits are filled in.

use super::figure::Figure;
use super::visits::Visits;
use crate::reproduction::Quantity;
use crate::thresholds::BUFFERED_SHARE;

/// Replaces each `{NAME}` that has a value.
pub fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut unread = template;
    while let Some((before, from_name)) = unread.split_once('{') {
        let Some((name, after)) = from_name.split_once('}') else { break };
        text.push_str(before);
        text.push_str(&value(name).unwrap_or_else(|| format!("{{{name}}}")));
        unread = after;
    }
    text + unread
}

/// The values that a text can name: `{0.captured}`, a median of the first operand; `{buffered}` and `{slowed}`; those of the rule.
pub(crate) struct TextValues<'v, 'm> {
    operands: &'v [Visits<'m>],
    of_rule: Vec<(&'static str, String)>,
    /// The first operand of which a named figure is unknown.
    pub(crate) missing: Option<usize>,
}

impl<'v, 'm> TextValues<'v, 'm> {
    pub(crate) fn from_operands(operands: &'v [Visits<'m>]) -> Self {
        Self { operands, of_rule: Vec::new(), missing: None }
    }

    /// Adds a value that texts can name.
    pub(crate) fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.of_rule.push((name, text.into()));
        self
    }

    /// The text with the values of its names. A figure that is unknown is `-`, and its operand is missing.
    pub(crate) fn fill(&mut self, template: &str) -> String {
        fill(template, |name| self.value(name))
    }

    fn value(&mut self, name: &str) -> Option<String> {
        if let Some((_, text)) = self.of_rule.iter().find(|(known, _)| *known == name) {
            return Some(text.clone());
        }
        match name {
            "buffered" => return Some(buffered_note(self.operands)),
            "slowed" => return Some(slowed_note(self.operands).into()),
            _ => {}
        }
        let (operand, figure) = name.split_once('.')?;
        let operand: usize = operand.parse().ok()?;
        let figure = Figure::named(figure)?;
        let text = self.operands.get(operand).and_then(|visits| visits.text(figure));
        if text.is_none() {
            self.missing.get_or_insert(operand);
        }
        Some(text.unwrap_or_else(|| "-".into()))
    }
}

/// A note if buffers contained more than a few of the sent frames when sending ended; else empty.
pub(crate) fn buffered_note(operands: &[Visits<'_>]) -> String {
    let most = operands.iter().map(Visits::buffered_share).fold(0.0, f64::max);
    if most <= BUFFERED_SHARE {
        return String::new();
    }
    format!(" Up to {} % of what was sent was in buffers when sending ended.", Quantity::Captured.text(most))
}

/// A note if the receiver slowed the generator; else empty.
fn slowed_note(operands: &[Visits<'_>]) -> &'static str {
    if operands.iter().flat_map(|visits| &visits.trials).any(|trial| !trial.profile.load_independent) {
        " The receiver's work slowed the generator in some of these trials."
    } else {
        ""
    }
}
