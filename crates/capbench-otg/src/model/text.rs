//! The text of a request, without what the model counts as absent; and a configuration as the client wrote it, in parts.
//!
//! A tree of values takes up to a hundred times the memory of its text, so capbench keeps texts.

use std::collections::BTreeMap;
use std::fmt;

use capbench_http::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The text of a request.
pub type Text = Box<RawValue>;

/// The same JSON without members that are null: in the model they are the same as absent ones.
pub fn without_nulls(octets: &[u8]) -> serde_json::Result<Text> {
    let mut text = Vec::with_capacity(octets.len());
    let mut json = serde_json::Deserializer::from_slice(octets);
    Copy(&mut text).deserialize(&mut json)?;
    json.end()?;
    // What was read as text was written as text.
    String::from_utf8(text).map_err(Error::custom).and_then(RawValue::from_string)
}

/// Appends a value. Returns whether it is null.
struct Copy<'t>(&'t mut Vec<u8>);

impl Copy<'_> {
    fn write<E: Error>(self, value: impl Serialize) -> Result<bool, E> {
        serde_json::to_writer(self.0, &value).map_err(E::custom)?;
        Ok(false)
    }
}

impl<'de> DeserializeSeed<'de> for Copy<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copy<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.0.extend(b"null");
        Ok(true)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        self.write(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<bool, E> {
        self.write(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<bool, E> {
        self.write(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<bool, E> {
        self.write(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        self.write(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        self.0.push(b'[');
        let begin = self.0.len();
        let mut end = begin;
        loop {
            if end > begin {
                self.0.push(b',');
            }
            if seq.next_element_seed(Copy(&mut *self.0))?.is_none() {
                break;
            }
            end = self.0.len();
        }
        self.0.truncate(end);
        self.0.push(b']');
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        self.0.push(b'{');
        let begin = self.0.len();
        let mut end = begin;
        loop {
            if end > begin {
                self.0.push(b',');
            }
            if map.next_key_seed(Copy(&mut *self.0))?.is_none() {
                break;
            }
            self.0.push(b':');
            let is_null = map.next_value_seed(Copy(&mut *self.0))?;
            if is_null {
                self.0.truncate(end);
            } else {
                end = self.0.len();
            }
        }
        self.0.truncate(end);
        self.0.push(b'}');
        Ok(false)
    }
}

/// The members of an object, each as text.
type Members = BTreeMap<String, Text>;

/// A configuration as the client wrote it. Its types were read before, so each list has as many elements as they have.
#[derive(Clone, Debug, Default)]
pub struct ConfigText {
    flows: Vec<Text>,
    /// All but flows.
    others: Members,
    /// All of it, as clients get it.
    octets: Bytes,
}

impl ConfigText {
    /// Takes a configuration apart. Rates are numbers in it: clients write those of 64 bits as text.
    pub fn new(text: &RawValue) -> serde_json::Result<Self> {
        let mut others: Members = serde_json::from_str(text.get())?;
        let flows: Vec<Text> = others.remove("flows").map_or(Ok(Vec::new()), |list| elements(&list))?;
        let flows = flows.iter().map(|flow| with_numbers(flow)).collect::<serde_json::Result<_>>()?;
        let mut config = Self { flows, others, octets: Bytes::new() };
        config.encode()?;
        Ok(config)
    }

    fn encode(&mut self) -> serde_json::Result<()> {
        #[derive(Serialize)]
        struct Whole<'c> {
            #[serde(skip_serializing_if = "<[Text]>::is_empty")]
            flows: &'c [Text],
            #[serde(flatten)]
            others: &'c Members,
        }
        self.octets = serde_json::to_vec(&Whole { flows: &self.flows, others: &self.others })?.into();
        Ok(())
    }

    /// All of it. Copies share its memory.
    pub fn octets(&self) -> Bytes {
        if self.octets.is_empty() { Bytes::from_static(b"{}") } else { self.octets.clone() }
    }

    /// A flow.
    pub fn flow(&self, number: usize) -> Option<&Text> {
        self.flows.get(number)
    }

    /// The elements of another list.
    pub fn list(&self, name: &str) -> serde_json::Result<Vec<Text>> {
        self.others.get(name).map_or(Ok(Vec::new()), |list| elements(list))
    }

    /// Puts flows in the place of others.
    pub fn replace(&mut self, flows: impl IntoIterator<Item = (usize, Text)>) -> serde_json::Result<()> {
        for (number, flow) in flows {
            if let Some(place) = self.flows.get_mut(number) {
                *place = with_numbers(&flow)?;
            }
        }
        self.encode()
    }
}

fn elements(list: &RawValue) -> serde_json::Result<Vec<Text>> {
    serde_json::from_str(list.get())
}

/// A flow whose rate is a number.
fn with_numbers(flow: &RawValue) -> serde_json::Result<Text> {
    let mut members: Members = serde_json::from_str(flow.get())?;
    let Some(rate) = members.get_mut("rate") else { return Ok(flow.to_owned()) };
    let mut values: BTreeMap<String, Value> = serde_json::from_str(rate.get())?;
    for (_, value) in values.iter_mut().filter(|(name, _)| *name != "choice") {
        if let Some(number) = value.as_str().and_then(|text| text.parse::<u64>().ok()) {
            *value = number.into();
        }
    }
    *rate = to_raw_value(&values)?;
    to_raw_value(&members)
}

/// A flow with these members of another one, also those that it leaves out.
pub fn with_members<'n>(
    flow: &RawValue,
    other: &RawValue,
    names: impl IntoIterator<Item = &'n str>,
) -> serde_json::Result<Text> {
    let mut members: Members = serde_json::from_str(flow.get())?;
    let others: Members = serde_json::from_str(other.get())?;
    for name in names {
        match others.get(name) {
            Some(value) => drop(members.insert(name.into(), value.clone())),
            // A member that is absent has the model's default.
            None => drop(members.remove(name)),
        }
    }
    to_raw_value(&members)
}

/// The flows of an update.
pub fn flows_of_update(update: &RawValue) -> serde_json::Result<Vec<Text>> {
    #[derive(Deserialize)]
    struct Update {
        flows: Flows,
    }
    #[derive(Deserialize)]
    struct Flows {
        flows: Vec<Text>,
    }
    let update: Update = serde_json::from_str(update.get())?;
    Ok(update.flows.flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Text {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn members_that_are_null_are_left_out_and_nothing_else_is_changed() {
        for (text, expected) in [
            (
                r#"{"a":null,"b":{"c":null},"d":[null,{"e":null,"f":1}],"g":null}"#,
                r#"{"b":{},"d":[null,{"f":1}]}"#,
            ),
            (r#" { "a" : "\u0041\n" , "b" : [ ] , "c" : -1.5e3 } "#, r#"{"a":"A\n","b":[],"c":-1500.0}"#),
            ("null", "null"),
            ("[[],[1,true,null]]", "[[],[1,true,null]]"),
        ] {
            assert_eq!(without_nulls(text.as_bytes()).unwrap().get(), expected);
        }
        let deep = "[".repeat(1000);
        for wrong in ["", "{", "{\"a\":1,}", "[1] 2", "\"\u{1}\"", deep.as_str()] {
            assert!(without_nulls(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_of_a_configuration_are_those_of_its_text() {
        let text = r#"{"ports":[1,2],"flows":[{"name":"f","rate":{"choice":"pps","pps":"50"},"size":{"fixed":64}},{"name":"g"}]}"#;
        let mut config = ConfigText::new(&raw(text)).unwrap();
        let flow = r#"{"name":"f","rate":{"choice":"pps","pps":50},"size":{"fixed":64}}"#;
        assert_eq!((config.flow(0).unwrap().get(), config.flow(1).unwrap().get()), (flow, r#"{"name":"g"}"#));
        assert!(config.flow(2).is_none() && config.list("layer1").unwrap().is_empty());
        assert_eq!(config.list("ports").unwrap()[1].get(), "2");
        let update =
            r#"{"choice":"flows","flows":{"flows":[{"name":"f","size":{"fixed":65},"rate":{"pps":"7"}}]}}"#;
        let update = flows_of_update(&raw(update)).unwrap();
        let changed = with_members(config.flow(0).unwrap(), &update[0], ["rate", "size", "payload"]).unwrap();
        config.replace([(0, changed)]).unwrap();
        let without = with_members(config.flow(0).unwrap(), &raw("{}"), ["size"]).unwrap();
        assert_eq!(without.get(), r#"{"name":"f","rate":{"pps":7}}"#);
        assert_eq!(
            config.octets(),
            r#"{"flows":[{"name":"f","rate":{"pps":7},"size":{"fixed":65}},{"name":"g"}],"ports":[1,2]}"#
        );
        assert_eq!(ConfigText::default().octets(), "{}");
    }
}
