//! The values that a field takes from frame to frame, and how they are written.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::protocols::{Auto, Field, Kind};
use crate::{FrameError, MacAddress, Result};

/// The values of a field. Each field counts its frames alone: frame `i` has element `i mod count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// One value.
    Value(u128),
    /// These values.
    Values(Arc<[u128]>),
    /// Values at equal distances, modulo the width of the field.
    Counter {
        /// The first value.
        start: u128,
        /// The distance.
        step: u128,
        /// How many there are.
        count: u64,
        /// Whether they decrease.
        down: bool,
    },
    /// Uniformly distributed values, drawn by xoshiro256++.
    Random {
        /// The smallest value.
        min: u128,
        /// The largest value.
        max: u128,
        /// How many there are.
        count: u64,
        /// The same seed gives the same values on every host. 0: other values in each run.
        seed: u64,
    },
    /// As the protocol computes it.
    Auto,
    /// A checksum that is wrong in each frame.
    WrongChecksum,
}

/// The names of the patterns in the model.
const CHOICES: [&str; 8] =
    ["value", "values", "increment", "decrement", "random", "auto", "generated", "custom"];

impl Pattern {
    /// Parses the pattern of a field; `None` if it states nothing.
    ///
    /// The short forms are a value, and a list of values.
    pub(super) fn parse(field: &Field, value: &Value) -> Result<Option<Self>> {
        let is_checksum = matches!(field.auto, Some(Auto::Checksum(_)));
        let Value::Object(members) = value else {
            return match (value, is_checksum) {
                (Value::String(text), true) => generated(text).map(Some),
                (Value::Array(_), false) => Self::choice(field, "values", Some(value)).map(Some),
                _ => Self::choice(field, if is_checksum { "custom" } else { "value" }, Some(value)).map(Some),
            };
        };
        let Some((choice, body)) = chosen(members)? else { return Ok(None) };
        let known = match choice {
            "generated" | "custom" => is_checksum,
            "auto" => !is_checksum && field.auto.is_some(),
            "random" => !is_checksum && field.kind != Kind::Ipv6,
            _ => !is_checksum && CHOICES.contains(&choice),
        };
        if !known {
            return Err(FrameError::at(choice, "this field has no such pattern"));
        }
        Self::choice(field, choice, body).map(Some).map_err(|error| error.inside(choice))
    }

    /// The pattern of this name, which the field has.
    fn choice(field: &Field, choice: &str, body: Option<&Value>) -> Result<Self> {
        let whole = |value: &Value| parse_value(field, value);
        match choice {
            "custom" if body.is_none() => Err(FrameError::at("", "has no value; state one")),
            "value" | "custom" => Ok(Self::Value(body.map_or(Ok(field.default), whole)?)),
            "values" => match body {
                None => Ok(Self::Values([field.default].into())),
                Some(Value::Array(values)) if !values.is_empty() => {
                    let element =
                        |(index, value)| whole(value).map_err(|error| error.inside(&format!("[{index}]")));
                    values.iter().enumerate().map(element).collect::<Result<_>>().map(Self::Values)
                }
                Some(_) => Err(FrameError::at("", "must be a list of one value or more")),
            },
            // Clients send the default along.
            "auto" if body.is_none_or(|body| whole(body).is_ok_and(|value| value == field.default)) => {
                Ok(Self::Auto)
            }
            "auto" => Err(FrameError::at("", "capbench computes it; state it as value")),
            "generated" => match body {
                None => Ok(Self::Auto),
                Some(Value::String(text)) => generated(text),
                Some(_) => Err(FrameError::at("", GENERATED)),
            },
            _ => {
                let none = Map::new();
                let members = match body {
                    None => &none,
                    Some(Value::Object(members)) => members,
                    Some(_) => return Err(FrameError::at("", "must be a table")),
                };
                let is_random = choice == "random";
                let names: &[&str] =
                    if is_random { &["min", "max", "count", "seed"] } else { &["start", "step", "count"] };
                if let Some(name) = members.keys().find(|name| !names.contains(&name.as_str())) {
                    return Err(unknown(name, names));
                }
                let member = |name: &str, default: u128| {
                    members.get(name).map_or(Ok(default), whole).map_err(|error| error.inside(name))
                };
                let integer = |name: &str, least: u64| match members.get(name) {
                    None => Ok(1),
                    Some(value) => value
                        .as_u64()
                        .filter(|number| (least..=u64::from(u32::MAX)).contains(number))
                        .ok_or_else(|| {
                            FrameError::at(name, format!("must be a number from {least} to 4294967295"))
                        }),
                };
                let count = integer("count", 1)?;
                if is_random {
                    let (min, max) = (member("min", 0)?, member("max", field.most())?);
                    if min > max {
                        return Err(FrameError::at("min", "must not exceed max"));
                    }
                    return Ok(Self::Random { min, max, count, seed: integer("seed", 0)? });
                }
                let (start, step) = (member("start", field.default)?, member("step", 1)?);
                Ok(Self::Counter { start, step, count, down: choice == "decrement" })
            }
        }
    }
}

const GENERATED: &str = "must be good or bad";

fn generated(text: &str) -> Result<Pattern> {
    match text {
        "good" => Ok(Pattern::Auto),
        "bad" => Ok(Pattern::WrongChecksum),
        _ => Err(FrameError::at("", GENERATED)),
    }
}

/// The one member that a table with the member `choice` chooses, and its content. Without `choice` it is the only member.
pub(super) fn chosen(members: &Map<String, Value>) -> Result<Option<(&str, Option<&Value>)>> {
    const TAGS: &str = "metric_tags";
    let has_tags = |tags: &Value| tags.as_array().is_none_or(|tags| !tags.is_empty());
    if members.get(TAGS).is_some_and(has_tags) {
        return Err(FrameError::at(TAGS, "is not supported"));
    }
    let others = || members.keys().map(String::as_str).filter(|name| *name != "choice" && *name != TAGS);
    let choice = match members.get("choice") {
        Some(Value::String(choice)) => Some(choice.as_str()),
        Some(_) => return Err(FrameError::at("choice", "must be a name")),
        None => others().next(),
    };
    let Some(choice) = choice else { return Ok(None) };
    match others().find(|other| *other != choice) {
        Some(other) => Err(FrameError::at(other, format!("is set next to {choice}; state one of them"))),
        None => Ok(Some((choice, members.get(choice)))),
    }
}

/// A name that is none of these.
pub(super) fn unknown(name: &str, known: &[&str]) -> FrameError {
    FrameError::at(name, format!("is not supported here; there are: {}", known.join(", ")))
}

/// A value of the field.
fn parse_value(field: &Field, value: &Value) -> Result<u128> {
    let parsed = match (value, field.kind) {
        (Value::Number(number), _) => number.as_u64().map(u128::from),
        (Value::Bool(bit), Kind::Number) => Some(u128::from(*bit)),
        (Value::String(text), Kind::Mac) => text
            .parse()
            .ok()
            .map(|MacAddress([a, b, c, d, e, f])| u128::from(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))),
        (Value::String(text), Kind::Ipv4) => {
            text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into())
        }
        (Value::String(text), Kind::Ipv6) => text.parse::<Ipv6Addr>().ok().map(u128::from),
        _ => None,
    };
    let wanted = match field.kind {
        Kind::Number => "a number",
        Kind::Mac => "an Ethernet address, such as 02:63:61:70:00:02",
        Kind::Ipv4 => "an IPv4 address, such as 198.18.0.1",
        Kind::Ipv6 => "an IPv6 address, such as 2001:2::1",
    };
    let parsed = parsed.ok_or_else(|| FrameError::at("", format!("{value} is not {wanted}")))?;
    if parsed > field.most() {
        return Err(FrameError::at(
            "",
            format!("{value} does not fit into {} bits: at most {}", field.bits, field.most()),
        ));
    }
    Ok(parsed)
}
