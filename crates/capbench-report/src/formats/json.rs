//! The report as data: the model, as it is. `docs/report.schema.json` is its schema.

use serde::Serialize;

use crate::error::{ReportError, Result};
use crate::model::Report;

/// Of `report.json`; raised when a reader of older files would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 1;

/// A report as it is written.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Document<'r> {
    /// Which version of the file's structure this is.
    schema_version: u32,
    #[serde(flatten)]
    report: &'r Report,
}

/// One document, indented.
///
/// # Errors
/// When it cannot be made for want of memory.
pub fn json(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(&Document { schema_version: SCHEMA_VERSION, report })
        .map_err(|error| ReportError::Format { format: "json", reason: error.to_string() })?;
    text.push('\n');
    Ok(text)
}
