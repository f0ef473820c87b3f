//! The part of the Open Traffic Generator model that capbench has, as types.
//!
//! What the model has and capbench has not is either no field here, which serde refuses with its path, or a field of a type in
//! [`limits`] that takes the model's default and nothing else: clients send defaults.
//!
//! | file | content |
//! |---|---|
//! | [`choice`] | the model's choices: one of several members, named by `choice` |
//! | [`limits`] | values of which capbench has one |
//! | [`objects`] | JSON in which an array is no object |
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
mod objects;
pub mod requests;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{OtgError, Result};

/// Version of the model.
pub const VERSION: &str = "1.61.0";

/// The versions of clients that may use it, as `version_check` of snappi reads it. A client of another version may send members
/// that are refused, but none that are understood otherwise.
pub const COMPATIBLE: &str = "^1.58.0";

/// Reads a request. An error has the path in the model.
///
/// # Errors
/// No JSON, or something that capbench does not have.
pub fn read<T: DeserializeOwned>(octets: &[u8]) -> Result<(T, Value)> {
    let octets = if octets.is_empty() { b"{}" } else { octets };
    let mut value: Value = serde_json::from_slice(octets)
        .map_err(|error| OtgError::invalid("", format!("the body is no JSON: {error}")))?;
    strip_nulls(&mut value);
    Ok((of_value(&value)?, value))
}

/// The same from a value without nulls.
///
/// # Errors
/// Something that capbench does not have.
pub fn of_value<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_path_to_error::deserialize(objects::Objects(value)).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner().to_string());
        match path.as_str() {
            // All of it.
            "." => OtgError::invalid("", reason.strip_prefix('.').unwrap_or(&reason)),
            // Headers and payloads are read as one value, and a choice knows what is missing in it: these errors continue its place.
            path if reason.starts_with(['[', '.']) => OtgError::invalid("", format!("{path}{reason}")),
            path => OtgError::invalid(path, reason),
        }
    })
}

/// Removes members that are null: in the model they are the same as absent ones.
pub fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(strip_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
