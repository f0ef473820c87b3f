//! The octets after the headers.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::for_serde;
use super::parse::hexadecimal;
use super::pattern::{chosen, unknown};
use crate::{FrameError, Result};

/// The octets after the headers, as in the Open Traffic Generator model. The default is zeros. Copies share the octets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// These octets, and zeros behind them, or the same octets again.
    Fixed {
        /// The octets.
        octets: Arc<[u8]>,
        /// Whether they are repeated.
        repeat: bool,
    },
    /// 00 01 02 and so on, in units of 1 or 2 octets; or from ff downwards.
    Counting {
        /// Octets of a unit.
        unit: usize,
        /// Whether they decrease.
        down: bool,
    },
}

impl Default for Payload {
    fn default() -> Self {
        Self::Fixed { octets: Arc::default(), repeat: false }
    }
}

impl Payload {
    /// Reads the form of the model; a string is a repeated pattern.
    ///
    /// # Errors
    /// A member or value that is not supported. The error has its place.
    pub fn from_value(value: &Value) -> Result<Self> {
        let fixed = |place, text: &Value, repeat| {
            let octets = text.as_str().and_then(hexadecimal).filter(|octets| !octets.is_empty());
            let wanted = "must be octets in hexadecimal, such as \"0a0b\"";
            let octets = octets.ok_or_else(|| FrameError::at(place, wanted))?.into();
            Ok(Self::Fixed { octets, repeat })
        };
        let members = match value {
            Value::Object(members) => members,
            text => return fixed("", text, true),
        };
        let counting = |unit, down| Ok(Self::Counting { unit, down });
        match chosen(members)? {
            None | Some(("fixed", None)) => Ok(Self::default()),
            Some(("fixed", Some(Value::Object(body)))) => {
                if let Some(name) = body.keys().find(|name| !matches!(name.as_str(), "pattern" | "repeat")) {
                    return Err(unknown(name, &["pattern", "repeat"]).inside("fixed"));
                }
                let repeat = body.get("repeat").map_or(Some(true), Value::as_bool);
                let repeat = repeat.ok_or_else(|| FrameError::at("fixed.repeat", "must be true or false"))?;
                body.get("pattern").map_or(Ok(Self::default()), |text| fixed("fixed.pattern", text, repeat))
            }
            Some(("increment_byte", None)) => counting(1, false),
            Some(("decrement_byte", None)) => counting(1, true),
            Some(("increment_word", None)) => counting(2, false),
            Some(("decrement_word", None)) => counting(2, true),
            Some((name, _)) => Err(unknown(
                name,
                &["fixed", "increment_byte", "decrement_byte", "increment_word", "decrement_word"],
            )),
        }
    }

    /// The first octets.
    pub(super) fn octets(&self, count: usize) -> Box<[u8]> {
        let octet = |at: usize| match self {
            Self::Fixed { octets, repeat } => {
                let at = if *repeat { at.checked_rem(octets.len()) } else { Some(at) };
                at.and_then(|at| octets.get(at)).copied().unwrap_or(0)
            }
            Self::Counting { unit, down } => {
                let number = (at / unit) as u64;
                let octet = (number >> (8 * (unit - 1 - at % unit))) as u8;
                if *down { !octet } else { octet }
            }
        };
        (0..count).map(octet).collect()
    }
}

/// Any self-describing format: JSON, TOML. The message of an error continues the place of the payload: `.fixed.pattern: …`.
impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(for_serde)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn the_patterns_of_the_model() {
        for (value, expected) in [
            (json!({}), [0, 0, 0, 0, 0]),
            (json!("0a0b"), [10, 11, 10, 11, 10]),
            (json!({"choice": "fixed", "fixed": {"pattern": "0a0b", "repeat": false}}), [10, 11, 0, 0, 0]),
            (json!({"choice": "increment_byte"}), [0, 1, 2, 3, 4]),
            (json!({"choice": "decrement_byte"}), [255, 254, 253, 252, 251]),
            (json!({"choice": "increment_word"}), [0, 0, 0, 1, 0]),
            (json!({"choice": "decrement_word"}), [255, 255, 255, 254, 255]),
        ] {
            assert_eq!(*from_value::<Payload>(value).unwrap().octets(5), expected);
        }
        let word = Payload::Counting { unit: 2, down: false }.octets(0x1_0000 * 2 + 2);
        assert_eq!((&word[0x1ff..0x202], &word[0x1_fffe..]), (&[255, 1, 0][..], &[255, 255, 0, 0][..]));
        for (value, expected) in [
            (json!({"choice": "random"}), ".random: is not supported here; there are: fixed, increment_byte"),
            (json!({"fixed": {"text": 1}}), ".fixed.text: is not supported here; there are: pattern, repeat"),
            (json!("abc"), "must be octets in hexadecimal"),
        ] {
            let error = from_value::<Payload>(value).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
