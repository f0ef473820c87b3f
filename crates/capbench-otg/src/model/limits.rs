//! Values of which capbench has one: the model's default. Clients send defaults, so they are taken; any other value is refused.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A part of the model that capbench does not have. Only an empty list or object is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent;

const ABSENT: &str = "capbench does not support this";

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Empty;
        impl<'de> Visitor<'de> for Empty {
            type Value = Absent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "nothing: {ABSENT}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Absent, A::Error> {
                match seq.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Absent),
                    Some(_) => Err(A::Error::custom(ABSENT)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Absent, A::Error> {
                match map.next_key::<String>()? {
                    None => Ok(Absent),
                    Some(_) => Err(A::Error::custom(ABSENT)),
                }
            }
        }
        deserializer.deserialize_any(Empty)
    }
}

/// A switch that has one position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Only<const VALUE: bool>;

impl<'de, const VALUE: bool> Deserialize<'de> for Only<VALUE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? == VALUE {
            return Ok(Self);
        }
        Err(D::Error::custom(format!("capbench supports only {VALUE}")))
    }
}

/// A number that has one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnlyNumber<const VALUE: u64>;

impl<'de, const VALUE: u64> Deserialize<'de> for OnlyNumber<VALUE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if Count::deserialize(deserializer)?.0 == VALUE {
            return Ok(Self);
        }
        Err(D::Error::custom(format!("capbench supports only {VALUE}")))
    }
}

/// A number of up to 64 bits. Clients write those of 64 bits as text, as JSON of protobuf has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, not negative")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Count, E> {
                Ok(Count(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Count, E> {
                let is_number = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
                let number = text.parse().ok().filter(|_| is_number);
                number.map(Count).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Number)
    }
}
