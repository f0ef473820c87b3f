//! The part of the Open Traffic Generator model that capbench has, as types.
//!
//! What the model has and capbench has not is either no field here, which serde refuses with its path, or a field of a type in
//! [`limits`] that takes the model's default and nothing else: clients send defaults.
//!
//! | file | content |
//! |---|---|
//! | [`choice`] | the model's choices: one of several members, named by `choice` |
//! | [`limits`] | values of which capbench has one |
//! | [`text`] | the text of a request, and a configuration as its client wrote it |
//! | [`config`] | the configuration: ports, layer 1, captures, options |
//! | [`flow`] | a flow: ends, size, rate, duration, what is measured |
//! | [`requests`] | what a client asks for |
//! | [`answers`] | what it gets |

#[macro_use]
mod choice;
pub mod answers;
pub mod config;
pub mod flow;
pub mod limits;
pub mod requests;
pub mod text;

use capbench_model::bounded_json::{Bounded, Budget};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::{OtgError, Result};
use text::Text;

/// Version of the model.
pub const VERSION: &str = "1.61.0";

/// The versions of clients that may use it, as `version_check` of snappi reads it. A client of another version may send members
/// that are refused, but none that are understood otherwise.
pub const COMPATIBLE: &str = "^1.58.0";

/// Memory that the types of a request may take, in octets.
const MOST_MEMORY: usize = 96 << 20;

/// Reads a request. An error has the path in the model.
///
/// # Errors
/// No JSON, something that capbench does not have, or more than fits into the memory for it.
pub fn read<T: DeserializeOwned>(octets: &[u8]) -> Result<(T, Text)> {
    let octets = if octets.is_empty() { b"{}" } else { octets };
    let text = text::without_nulls(octets)
        .map_err(|error| OtgError::invalid("", format!("the body is no JSON: {error}")))?;
    Ok((of_text(&text)?, text))
}

/// The same of a text without nulls.
///
/// # Errors
/// Something that capbench does not have, or more than fits into the memory for it.
pub fn of_text<T: DeserializeOwned>(text: &RawValue) -> Result<T> {
    let budget = Budget::new(MOST_MEMORY);
    let mut json = serde_json::Deserializer::from_str(text.get());
    serde_path_to_error::deserialize(Bounded::new(&mut json, &budget)).map_err(|error| {
        let (path, reason) = (error.path().to_string(), reason(error.inner()));
        match path.as_str() {
            // All of it.
            "." => OtgError::invalid("", reason.strip_prefix('.').unwrap_or(&reason)),
            // Headers and payloads are read as one value, and a choice knows what is missing in it: these errors continue its place.
            path if reason.starts_with(['[', '.']) => OtgError::invalid("", format!("{path}{reason}")),
            path => OtgError::invalid(path, reason),
        }
    })
}

/// An error without its line and column, which are those of a text that the client has not written so.
fn reason(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    reason.strip_suffix(&place).map(ToOwned::to_owned).unwrap_or(reason)
}

/// A part of a text whose types were read.
///
/// # Errors
/// Types that were read have every part.
pub fn part<T>(part: serde_json::Result<T>) -> Result<T> {
    part.map_err(|error| OtgError::invalid("", format!("the body cannot be taken apart: {error}")))
}

#[cfg(test)]
pub fn of_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T> {
    of_text(&text_of(value))
}

#[cfg(test)]
pub fn text_of(value: &serde_json::Value) -> Text {
    serde_json::value::to_raw_value(value).expect("a value is JSON")
}

#[cfg(test)]
mod tests;
