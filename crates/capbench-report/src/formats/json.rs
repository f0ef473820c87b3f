//! The report as data: the model itself. `docs/report.schema.json` is its schema.

use serde::Serialize;

use crate::error::{ReportError, Result};
use crate::model::Report;

/// Version of `report.json`. It is raised when a reader of older files would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 2;

/// The written form of a report.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Document<'r> {
    /// Version of the file's structure.
    schema_version: u32,
    #[serde(flatten)]
    report: &'r Report,
}

/// One document, indented.
///
/// # Errors
/// There is not enough memory.
pub fn json(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(&Document { schema_version: SCHEMA_VERSION, report })
        .map_err(|error| ReportError::Format { format: "json", reason: error.to_string() })?;
    text.push('\n');
    Ok(text)
}
