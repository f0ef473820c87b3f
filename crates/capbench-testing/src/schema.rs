//! Schemas of documents: made of the types, held against the files in `docs/`.
//!
//! `CAPBENCH_WRITE_SCHEMA=1 cargo test schemas_are` writes the files anew when a type has changed.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Units and null, which every schema says.
pub const ABSENT: &str = "Null, or absent where that is allowed, is unknown; it is not 0. Units are in the names of members, or in \
                          their descriptions.";
/// How versions change, which every schema says.
pub const LATER: &str = "`schema_version` is raised when a reader of older documents would misunderstand newer ones; a later \
                         version of capbench can add members without that, and brings its own schema.";

/// The closed schema of a type. `version` is the only value of `schema_version`.
pub fn of<T: JsonSchema>(title: &str, description: &str, version: u32) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    let definitions = schema["$defs"].clone();
    strict(&mut schema, &definitions, false);
    remove_unused(&mut schema);
    // A type of the standard library, whose members serde names.
    if let Some(duration) = schema["$defs"].get_mut("Duration") {
        duration["properties"]["secs"]["description"] = "Whole seconds.".into();
        duration["properties"]["nanos"]["description"] = "Nanoseconds besides, below a billion.".into();
    }
    schema["title"] = title.into();
    schema["description"] = description.into();
    state_version(&mut schema, version);
    schema
}

/// Removes definitions that nothing names: their members were added to objects that named them.
fn remove_unused(schema: &mut Value) {
    loop {
        let text = schema.to_string();
        let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) else { return };
        let before = definitions.len();
        definitions.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
        if definitions.len() == before {
            return;
        }
    }
}

/// Says in each object with a `schema_version` which one it is.
fn state_version(value: &mut Value, version: u32) {
    if let Some(member) = value.get_mut("properties").and_then(|members| members.get_mut("schema_version")) {
        member["const"] = version.into();
    }
    if let Some(definitions) = value.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.values_mut().for_each(|definition| state_version(definition, version));
    }
}

/// Adds what early versions called a member of a definition.
pub fn add_earlier_name(schema: &mut Value, definition: &str, member: &str, earlier: &str) {
    let Some(object) = schema["$defs"].get_mut(definition) else { return };
    let mut renamed = object["properties"][member].clone();
    renamed["description"] = format!("What early versions called `{member}`.").into();
    renamed["deprecated"] = true.into();
    object["properties"][earlier] = renamed;
    object["required"].as_array_mut().unwrap().retain(|required| required != member);
}

/// Looks that each file `docs/NAME.schema.json` is the schema of its type, or writes it.
///
/// # Panics
/// Where one is not.
pub fn assert_are_files(schemas: &[(&str, Value)]) {
    for (name, schema) in schemas {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{name}.schema.json"));
        let text = format!("{:#}\n", sorted(schema.clone()));
        if std::env::var_os("CAPBENCH_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let saved = std::fs::read_to_string(&file).unwrap_or_default();
        let difference = text.lines().zip(saved.lines()).find(|(made, saved)| made != saved);
        assert!(
            text == saved,
            "docs/{name}.schema.json is not that of the types; write it anew with CAPBENCH_WRITE_SCHEMA=1. First line that \
             differs: {difference:?}"
        );
    }
}

/// Looks that every object is closed and every member described.
///
/// # Panics
/// With the faults.
pub fn assert_are_complete(schemas: &[(&str, Value)]) {
    let mut faults = Vec::new();
    schemas.iter().for_each(|(name, schema)| look(name, schema, false, &mut faults));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Says of each object that it has no other members, that what early versions did not write can be absent, and that what is
/// left out where there is none is never null. Parts of an object are the variants of a member whose members are among its own.
fn strict(schema: &mut Value, definitions: &Value, is_part: bool) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(|one| strict(one, definitions, is_part)),
        Value::Object(object) => {
            let is_object =
                object.get("properties").is_some_and(Value::is_object) && object.contains_key("type");
            if is_object {
                inline(object, definitions);
                note_members(object);
            }
            let has_parts = is_object && object.contains_key("oneOf");
            if is_object && !is_part {
                let closed = if has_parts { "unevaluatedProperties" } else { "additionalProperties" };
                object.insert(closed.into(), false.into());
            }
            // Names of Rust's numbers are no formats of JSON Schema.
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if let Some(text) = object.get_mut("description") {
                *text = plain(text.as_str().unwrap()).into();
            }
            for (name, value) in object.iter_mut() {
                strict(value, definitions, has_parts && name == "oneOf");
            }
        }
        _ => {}
    }
}

/// Adds the members of the type that an object names for some of its own, or its alternatives.
fn inline(object: &mut Map<String, Value>, definitions: &Value) {
    let Some(path) = object.get("$ref").and_then(Value::as_str) else { return };
    let inner = definitions[path.rsplit('/').next().unwrap()].clone();
    object.remove("$ref");
    if let Some(alternatives) = inner.get("oneOf") {
        object.insert("oneOf".into(), alternatives.clone());
        return;
    }
    members(object).extend(inner["properties"].as_object().unwrap().clone());
    required(object).extend(inner["required"].as_array().into_iter().flatten().cloned());
}

/// Notes which members are always there.
fn note_members(object: &mut Map<String, Value>) {
    let always = required(object).clone();
    let mut sometimes = Vec::new();
    for (name, member) in members(object) {
        let is_new = member.as_object_mut().is_some_and(|member| member.remove("default").is_some());
        if is_new {
            sometimes.push(Value::from(name.as_str()));
        } else if !always.contains(&name.as_str().into()) {
            never_null(member);
        }
    }
    required(object).retain(|name| !sometimes.contains(name));
}

fn members(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    object["properties"].as_object_mut().unwrap()
}

fn required(object: &mut Map<String, Value>) -> &mut Vec<Value> {
    object.entry("required").or_insert_with(|| json!([])).as_array_mut().unwrap()
}

fn never_null(member: &mut Value) {
    if let Some([kind, _]) = member["type"].as_array().map(Vec::as_slice) {
        member["type"] = kind.clone();
    } else if let Some(either) = member.get("anyOf").and_then(Value::as_array) {
        let reference = either[0]["$ref"].clone();
        let member = member.as_object_mut().unwrap();
        member.remove("anyOf");
        member.insert("$ref".into(), reference);
    }
}

/// Documentation as running text. Links within it lead nowhere outside the source and become names.
fn plain(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`").replace("`Self::", "`");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With the members of every object in the order of their names, whatever order the map of this build keeps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn look(path: &str, value: &Value, is_part: bool, faults: &mut Vec<String>) {
    // A map of members may have one that is called `properties`.
    let is_object = value["type"] == "object";
    if let Some(members) = value.get("properties").filter(|_| is_object).and_then(Value::as_object) {
        let is_closed =
            ["additionalProperties", "unevaluatedProperties"].iter().any(|key| value[key] == false);
        if !is_closed && !is_part {
            faults.push(format!("{path} is open"));
        }
        // A variant with content is described as a whole; it may have a constant tag.
        let contents = members.values().filter(|member| member.get("const").is_none()).count();
        let is_variant = path.ends_with("/oneOf") && contents == 1 && value["description"].is_string();
        for (name, member) in members {
            if member.get("description").is_none() && member.get("const").is_none() && !is_variant {
                faults.push(format!("{path}.{name} is not described"));
            }
        }
    }
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let has_parts = is_part || value["unevaluatedProperties"] == false;
                let is_part = name == "oneOf" && has_parts;
                look(&format!("{path}/{name}"), inner, is_part, faults);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| look(path, one, is_part, faults)),
        _ => {}
    }
}
