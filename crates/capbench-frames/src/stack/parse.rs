//! Reads a stack of headers from a value of any self-describing format.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::pattern::{chosen, unknown};
use super::protocols::{CHECKSUM_PRESENT, CUSTOM, Field, PROTOCOLS, Protocol};
use super::{Header, HeaderStack, Pattern, for_serde};
use crate::{FrameError, Result};

/// A list that clients send along; capbench has none of its elements.
const OPTIONS: &str = "options";

/// The protocol of a header that names none.
const DEFAULT: &str = "ethernet";

impl HeaderStack {
    /// The stack of a list of headers.
    ///
    /// A header is a table with the member `choice`, which names the protocol, and a member of that name with the fields.
    /// `choice` may be left out.
    ///
    /// # Errors
    /// A member, protocol, pattern or value that is not supported. The error has its place in the list.
    pub fn from_value(value: &Value) -> Result<Self> {
        let Value::Array(headers) = value else {
            return Err(FrameError::at("", "must be a list of headers"));
        };
        if headers.is_empty() {
            return Err(FrameError::at("", "has no header; state one or more"));
        }
        let header = |(index, value)| header(value).map_err(|error| error.inside(&format!("[{index}]")));
        Ok(Self {
            headers: headers.iter().enumerate().map(header).collect::<Result<_>>()?,
            has_inner_fcs: false,
        })
    }
}

/// Any self-describing format: JSON, TOML. The message of an error continues the place of the list: `[1].ipv4.src: …`.
impl<'de> Deserialize<'de> for HeaderStack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(for_serde)
    }
}

fn header(value: &Value) -> Result<Header> {
    let Value::Object(members) = value else { return Err(FrameError::at("", "must be a table")) };
    let (name, body) = chosen(members)?.unwrap_or((DEFAULT, None));
    header_of(name, body).map_err(|error| error.inside(name))
}

fn header_of(name: &str, body: Option<&Value>) -> Result<Header> {
    let Some(protocol) = Protocol::find(name) else {
        let known: Vec<_> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
        let reason = format!("this protocol is not supported; there are: {}", known.join(", "));
        return Err(FrameError::at("", reason));
    };
    let none = Map::new();
    let members = match body {
        None => &none,
        Some(Value::Object(members)) => members,
        Some(_) => return Err(FrameError::at("", "must be a table of fields")),
    };
    let mut header = Header { protocol, patterns: Vec::new(), octets: Box::default() };
    if protocol.name == CUSTOM {
        header.octets = octets(members)?;
        return Ok(header);
    }
    group(&mut header, "", members)?;
    check(&header)?;
    Ok(header)
}

/// Reads the members of a header, or of a group of its fields with the prefix `group.`.
fn group(header: &mut Header, prefix: &str, members: &Map<String, Value>) -> Result<()> {
    let fields = header.protocol.fields;
    // A table with `choice` has one of its groups.
    let members: Vec<(&str, &Value)> = if members.contains_key("choice") {
        let Some((choice, body)) = chosen(members)? else { return Ok(()) };
        let group = format!("{prefix}{choice}");
        if !fields.iter().any(|field| field.name == group || is_inside(field, &group)) {
            return Err(unknown(choice, &names(fields, prefix)));
        }
        body.map(|body| (choice, body)).into_iter().collect()
    } else {
        members.iter().map(|(name, value)| (name.as_str(), value)).collect()
    };
    for (name, value) in members {
        let full = format!("{prefix}{name}");
        if let Some(field) = fields.iter().find(|field| field.name == full) {
            let pattern = Pattern::parse(field, value).map_err(|error| error.inside(name))?;
            header.patterns.extend(pattern.map(|pattern| (field, pattern)));
        } else if let (true, Value::Object(inner)) =
            (fields.iter().any(|field| is_inside(field, &full)), value)
        {
            group(header, &format!("{full}."), inner).map_err(|error| error.inside(name))?;
        } else if name != OPTIONS || value.as_array().is_none_or(|list| !list.is_empty()) {
            return Err(unknown(name, &names(fields, prefix)));
        }
    }
    Ok(())
}

fn is_inside(field: &Field, group: &str) -> bool {
    field.name.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// The names of fields and groups directly inside a group.
fn names(fields: &'static [Field], prefix: &str) -> Vec<&'static str> {
    let inside = fields.iter().filter_map(|field| field.name.strip_prefix(prefix));
    let mut names: Vec<_> = inside.filter_map(|rest| rest.split('.').next()).collect();
    names.dedup();
    names
}

/// Checks what no field alone can show.
fn check(header: &Header) -> Result<()> {
    let stated = &header.patterns;
    for (index, (field, pattern)) in stated.iter().enumerate() {
        let overlaps = |(other, _): &&(&Field, _)| {
            other.range().start < field.range().end && field.range().start < other.range().end
        };
        if let Some((other, _)) = stated[..index].iter().find(overlaps) {
            let reason = format!("has bits that {} has, too; state one of them", other.name);
            return Err(FrameError::at(field.name, reason));
        }
        let has_length = matches!(field.name, CHECKSUM_PRESENT | "header_length");
        if has_length && !matches!(pattern, Pattern::Value(_) | Pattern::Auto) {
            return Err(FrameError::at(field.name, "must be one value: it says how long the header is"));
        }
        if field.range().end > 8 * header.octets() {
            let reason = format!("is in the header only with {CHECKSUM_PRESENT} 1");
            return Err(FrameError::at(field.name, reason));
        }
    }
    Ok(())
}

/// The octets of a `custom` header.
fn octets(members: &Map<String, Value>) -> Result<Box<[u8]>> {
    const WANTED: &str = "must be octets in hexadecimal, such as \"0a 0b 0c\"";
    let body = chosen(members)?;
    let Some(("bytes", Some(Value::String(text)))) = body else {
        return Err(match body {
            Some((name, _)) if name != "bytes" => unknown(name, &["bytes"]),
            _ => FrameError::at("bytes", WANTED),
        });
    };
    let octets = hexadecimal(text).filter(|octets| !octets.is_empty());
    octets.map(Vec::into_boxed_slice).ok_or_else(|| FrameError::at("bytes", WANTED))
}

/// Octets in hexadecimal. Spaces and colons do not matter.
pub(super) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let bare = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits = bare.chars().filter(|character| !matches!(character, ' ' | ':'));
    let digits =
        digits.map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<Vec<_>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
