//! The report as data: the model, as it is.

use crate::error::{ReportError, Result};
use crate::model::Report;

/// One document, indented.
///
/// # Errors
/// When it cannot be made for want of memory.
pub fn json(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report)
        .map_err(|error| ReportError::Format { format: "json", reason: error.to_string() })?;
    text.push('\n');
    Ok(text)
}
