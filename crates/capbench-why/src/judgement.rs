//! The cause of a loss, with what to change.

use crate::remedy::Remedy;

/// Why frames are lost, and what to change.
pub(crate) struct Judgement {
    pub(crate) cause: String,
    /// The change in words. The remedies are those that it means.
    pub(crate) change: String,
    pub(crate) remedies: Vec<Remedy>,
}

impl Judgement {
    /// One that no command mends.
    pub(crate) fn words(cause: impl Into<String>, change: impl Into<String>) -> Self {
        Self { cause: cause.into(), change: change.into(), remedies: Vec::new() }
    }
}
