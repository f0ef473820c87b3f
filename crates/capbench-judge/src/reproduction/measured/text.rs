//! The values that texts of claims name: typical figures of the compared visits, notes about them, and what a rule found.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::visits::Visits;
use crate::reproduction::claim_text::names_in;
use crate::reproduction::{ClaimText, ClaimValue};
use crate::thresholds::BUFFERED_SHARE;

/// The values that a text can name: `{0.captured}`, a typical figure of the first operand; `{buffered}` and `{slowed}`; those of the rule.
pub(crate) struct TextValues<'v, 'm> {
    operands: &'v [Visits<'m>],
    of_rule: BTreeMap<&'static str, ClaimValue>,
    /// The first operand of which a named figure is unknown.
    pub(crate) missing: Option<usize>,
}

impl<'v, 'm> TextValues<'v, 'm> {
    pub(crate) fn from_operands(operands: &'v [Visits<'m>]) -> Self {
        Self { operands, of_rule: BTreeMap::new(), missing: None }
    }

    /// Adds a value that texts can name.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<ClaimValue>) -> Self {
        self.of_rule.insert(name, value.into());
        self
    }

    /// The text with the values that these words name. The operand of an unknown figure is missing.
    pub(crate) fn text(&mut self, words: &str) -> ClaimText {
        let mut values = BTreeMap::new();
        for name in names_in(words) {
            if let Some(value) = self.value(name) {
                values.insert(name.to_string(), value);
            }
        }
        ClaimText { text: words.into(), values }
    }

    fn value(&mut self, name: &str) -> Option<ClaimValue> {
        if let Some(value) = self.of_rule.get(name) {
            return Some(value.clone());
        }
        match name {
            "buffered" => return Some(self.buffered_note()),
            "slowed" => return Some(self.slowed_note()),
            _ => {}
        }
        let (operand, figure) = name.split_once('.')?;
        let operand: usize = operand.parse().ok()?;
        let figure = Figure::named(figure)?;
        match self.operands.get(operand).and_then(|visits| visits.typical(figure)) {
            Some(value) => Some(ClaimValue::Figure { quantity: figure.quantity(), value }),
            None => {
                self.missing.get_or_insert(operand);
                Some(ClaimValue::Unmeasured)
            }
        }
    }

    fn buffered_note(&self) -> ClaimValue {
        buffered_share(self.operands).map_or(ClaimValue::Nothing, |share| ClaimValue::Buffered { share })
    }

    fn slowed_note(&self) -> ClaimValue {
        let mut trials = self.operands.iter().flat_map(|visits| &visits.trials);
        let is_slowed = trials.any(|trial| !trial.profile.load_independent);
        if is_slowed { ClaimValue::GeneratorSlowed } else { ClaimValue::Nothing }
    }
}

/// The largest share of the sent frames that was in buffers when sending ended; `None` if those are only a few.
pub(crate) fn buffered_share(operands: &[Visits<'_>]) -> Option<f64> {
    let most = operands.iter().map(Visits::buffered_share).fold(0.0, f64::max);
    (most > BUFFERED_SHARE).then_some(most)
}
