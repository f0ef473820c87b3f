//! JSON of others, read directly into its type within a budget of memory.
//!
//! A limit of octets does not bound memory: `{"":0}` is 6 octets, and takes hundreds as a map. Here each value counts with the
//! size of the type that it is read into, before it is read. A text that would take more than the budget is refused there.
//!
//! What counts: each value once, and once more as an element of a list or map, because these grow by doubling; a map with the node
//! that its first entry allocates; a text with the smallest piece that an allocator returns. The octets of texts are those of the
//! input. A type inside another one counts in both. So the budget is above what is allocated.
//!
//! Structures are read from objects only. Those that serde derives could also be read from an array of their members.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

/// The smallest budget: small messages need no care.
const SMALLEST: usize = 1 << 20;

/// Entries for which a map allocates room with its first one, and one more for the rest of the node (`BTreeMap`).
const NODE: usize = 12;

/// The smallest piece of memory that an allocator returns.
const PIECE: usize = 32;

/// What is left of a budget in octets.
#[derive(Debug)]
pub struct Budget {
    left: Cell<usize>,
    most: usize,
}

impl Budget {
    /// This many octets of memory.
    pub fn new(octets: usize) -> Self {
        Self { left: Cell::new(octets), most: octets }
    }

    /// So many times the input, and at least 1 MiB.
    pub fn times(multiple: usize, input: &[u8]) -> Self {
        Self::new(input.len().saturating_mul(multiple).max(SMALLEST))
    }

    /// What was used of it.
    pub fn used(&self) -> usize {
        self.most - self.left.get()
    }

    fn charge<E: Error>(&self, octets: usize) -> Result<(), E> {
        match self.left.get().checked_sub(octets) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(format_args!(
                "it would take more than {} MiB of memory, the most for a text of its length",
                self.most >> 20
            ))),
        }
    }
}

/// Reads JSON that takes up to `multiple` times its length of memory, and at least 1 MiB.
///
/// # Errors
/// No JSON, not this type, or more memory.
pub fn from_slice<'de, T: Deserialize<'de>>(octets: &'de [u8], multiple: usize) -> serde_json::Result<T> {
    within(octets, &Budget::times(multiple, octets))
}

/// The same within a budget.
///
/// # Errors
/// No JSON, not this type, or more memory.
pub fn within<'de, T: Deserialize<'de>>(octets: &'de [u8], budget: &Budget) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_slice(octets);
    let value = T::deserialize(Bounded::new(&mut json, budget))?;
    json.end()?;
    Ok(value)
}

/// A part of serde's interface whose values count.
#[derive(Debug)]
pub struct Bounded<'b, T> {
    inner: T,
    budget: &'b Budget,
    /// What the value is read into.
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Structure,
    /// It may be a map, which allocates.
    Other,
}

impl<'b, T> Bounded<'b, T> {
    /// Values of this deserializer count.
    pub fn new(inner: T, budget: &'b Budget) -> Self {
        Self { inner, budget, target: Target::Other }
    }
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*) $target:ident;)+) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.budget.charge(size_of::<V::Value>())?;
            let visitor = Bounded { inner: visitor, budget: self.budget, target: Target::$target };
            self.inner.$method($($argument,)* visitor)
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any() Other;
        deserialize_bool() Other;
        deserialize_i8() Other;
        deserialize_i16() Other;
        deserialize_i32() Other;
        deserialize_i64() Other;
        deserialize_i128() Other;
        deserialize_u8() Other;
        deserialize_u16() Other;
        deserialize_u32() Other;
        deserialize_u64() Other;
        deserialize_u128() Other;
        deserialize_f32() Other;
        deserialize_f64() Other;
        deserialize_char() Other;
        deserialize_str() Other;
        deserialize_string() Other;
        deserialize_bytes() Other;
        deserialize_byte_buf() Other;
        deserialize_option() Other;
        deserialize_unit() Other;
        deserialize_unit_struct(name: &'static str) Other;
        deserialize_newtype_struct(name: &'static str) Other;
        deserialize_seq() Other;
        deserialize_tuple(length: usize) Other;
        deserialize_tuple_struct(name: &'static str, length: usize) Other;
        deserialize_map() Other;
        deserialize_struct(name: &'static str, members: &'static [&'static str]) Structure;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) Other;
        deserialize_identifier() Other;
        deserialize_ignored_any() Other;
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($type:ty);)+) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })+
    };
}

impl<V> Bounded<'_, V> {
    /// Charges the piece of memory of a text, if the value has room for one.
    fn charge_text<'de, E: Error>(&self) -> Result<(), E>
    where
        V: Visitor<'de>,
    {
        self.budget.charge(if size_of::<V::Value>() < size_of::<String>() { 0 } else { PIECE })
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool);
        visit_i8(i8);
        visit_i16(i16);
        visit_i32(i32);
        visit_i64(i64);
        visit_i128(i128);
        visit_u8(u8);
        visit_u16(u16);
        visit_u32(u32);
        visit_u64(u64);
        visit_u128(u128);
        visit_f32(f32);
        visit_f64(f64);
        visit_char(char);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.charge_text()?;
        self.inner.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.charge_text()?;
        self.inner.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.charge_text()?;
        self.inner.visit_string(text)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Bounded::new(deserializer, self.budget))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Bounded::new(deserializer, self.budget))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        if self.target == Target::Structure {
            return Err(A::Error::invalid_type(Unexpected::Seq, &"an object"));
        }
        let Self { inner, budget, target } = self;
        inner.visit_seq(Bounded { inner: seq, budget, target })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let Self { inner, budget, target } = self;
        let entries = Entries { map, key_size: 0, is_first: true };
        inner.visit_map(Bounded { inner: entries, budget, target })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        let Self { inner, budget, target } = self;
        inner.visit_enum(Bounded { inner: data, budget, target })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Bounded::new(deserializer, self.budget))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let element = self.inner.next_element_seed(Bounded::new(seed, self.budget))?;
        self.budget.charge(if element.is_some() { size_of::<T::Value>() } else { 0 })?;
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The entries of a map or the members of a structure.
#[derive(Debug)]
struct Entries<A> {
    map: A,
    key_size: usize,
    is_first: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, Entries<A>> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.inner.key_size = size_of::<K::Value>();
        self.inner.map.next_key_seed(Bounded::new(seed, self.budget))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        if self.target == Target::Other {
            let entries = if std::mem::take(&mut self.inner.is_first) { NODE } else { 1 };
            self.budget.charge(entries * (self.inner.key_size + size_of::<T::Value>()))?;
        }
        self.inner.map.next_value_seed(Bounded::new(seed, self.budget))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.map.size_hint()
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'b, A> {
    type Error = A::Error;
    type Variant = Bounded<'b, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), A::Error> {
        let Self { inner, budget, .. } = self;
        let (value, variant) = inner.variant_seed(Bounded::new(seed, budget))?;
        Ok((value, Bounded::new(variant, budget)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.inner.newtype_variant_seed(Bounded::new(seed, self.budget))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.budget.charge(size_of::<V::Value>())?;
        self.inner.tuple_variant(length, Bounded::new(visitor, self.budget))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.budget.charge(size_of::<V::Value>())?;
        let visitor = Bounded { inner: visitor, budget: self.budget, target: Target::Structure };
        self.inner.struct_variant(members, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::{Value, value::RawValue};

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        #[serde(default)]
        name: String,
        #[serde(default)]
        numbers: Vec<u64>,
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    enum Kind {
        #[default]
        Plain,
        Named(String),
        Placed {
            x: i32,
        },
    }

    #[test]
    fn a_text_is_read_as_serde_json_reads_it() {
        let text = br#"{"name":"a\n","numbers":[1,2,18446744073709551615],"kind":{"Placed":{"x":-4}}}"#;
        assert_eq!(from_slice::<Row>(text, 1).unwrap(), serde_json::from_slice::<Row>(text).unwrap());
        for text in [&br#"[{"a":[null,true,1.5,"x",{}]},-3]"#[..], b"1e300", b"null"] {
            assert_eq!(from_slice::<Value>(text, 1).unwrap(), serde_json::from_slice::<Value>(text).unwrap());
            assert_eq!(from_slice::<Box<RawValue>>(text, 1).unwrap().get().as_bytes(), text);
            assert_eq!(from_slice::<&RawValue>(text, 1).unwrap().get().as_bytes(), text);
        }
        assert_eq!(from_slice::<Kind>(b"\"Plain\"", 1).unwrap(), Kind::Plain);
        assert_eq!(from_slice::<Kind>(br#"{"Named":"n"}"#, 1).unwrap(), Kind::Named("n".into()));
        for wrong in [&b"[1] 2"[..], b"[1", b"{\"a\":}", b""] {
            assert!(from_slice::<Value>(wrong, 1).is_err());
        }
    }

    #[test]
    fn a_structure_is_no_array() {
        for text in [&br#"["a",[],"Plain"]"#[..], br#"{"kind":{"Placed":[3]}}"#] {
            assert!(serde_json::from_slice::<Row>(text).is_ok());
            let error = from_slice::<Row>(text, 1).unwrap_err().to_string();
            assert!(error.starts_with("invalid type: sequence, expected an object"), "{error}");
        }
    }

    #[test]
    fn what_takes_more_than_the_budget_is_refused_while_it_is_read() {
        let maps = format!("[{}{{}}]", r#"{"":0},"#.repeat(100_000));
        let rows = format!("[{}{{}}]", "{},".repeat(100_000));
        let texts = format!("[{}\"\"]", r#""","#.repeat(100_000));
        let error = from_slice::<Value>(maps.as_bytes(), 4).unwrap_err().to_string();
        assert!(error.starts_with("it would take more than 2 MiB of memory"), "{error}");
        assert!(from_slice::<BTreeMap<String, Value>>(maps.as_bytes(), 4).is_err(), "it is no map");
        assert!(from_slice::<Vec<Row>>(rows.as_bytes(), 4).is_err());
        assert!(from_slice::<Vec<String>>(texts.as_bytes(), 4).is_err());
        // Where it is refused, most of it is unread.
        let budget = Budget::new(1000);
        let error = within::<Vec<Row>>(rows.as_bytes(), &budget).unwrap_err();
        assert!((error.line(), error.column()) < (1, 100), "{error}");
        assert!(budget.used() <= 1000);
        // What is ignored takes none.
        assert!(from_slice::<serde::de::IgnoredAny>(maps.as_bytes(), 1).is_ok());
    }
}
