//! `docs/results.schema.json` and `docs/report.schema.json`: made from the types that are saved and written, and held against
//! what is saved. Tests of reports hold them against the latter.
//!
//! | file | what |
//! |---|---|
//! | `source.rs` | the types as they stand in the source, with their documentation |
//! | `attributes.rs` | what serde is told about them |
//! | `shapes.rs` | their schema |
//! | `runs.rs` | runs of every kind on the simulated path, saved and held against it |
//! | `support/results_file.rs` of capbench's tests | the comparison itself, for every test that saves results |
//!
//! A member that is added to a type is in the schema when that is written anew: `CAPBENCH_WRITE_SCHEMA=1 cargo test -p
//! capbench-measure --test schema`.

mod attributes;
#[path = "../../../capbench/tests/support/results_file.rs"]
mod results_file;
mod runs;
mod shapes;
mod source;

use std::path::PathBuf;

use serde_json::{Map, Value};

const WRITE: &str = "CAPBENCH_WRITE_SCHEMA";

/// Makes a schema.
type Make = fn(&source::Source) -> Value;

/// The files, and what is in each.
const FILES: [(&str, Make); 2] = [
    ("docs/results.schema.json", shapes::schema_of_results),
    ("docs/report.schema.json", shapes::schema_of_reports),
];

fn place(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// With the members of every object in the order of their names, whatever order the map of this build keeps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[test]
fn the_schema_is_that_of_the_types() {
    let source = source::Source::read();
    for (file, schema_of) in FILES {
        let mut text = serde_json::to_string_pretty(&sorted(schema_of(&source))).unwrap();
        text.push('\n');
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(place(file), &text).unwrap();
        }
        let saved = std::fs::read_to_string(place(file)).unwrap_or_default();
        let difference = text.lines().zip(saved.lines()).find(|(made, saved)| made != saved);
        assert!(
            text == saved,
            "{file} is not that of the types that are written; write it anew with {WRITE}=1. First line that differs: \
             {difference:?}"
        );
    }
}

#[test]
fn every_object_is_closed_and_every_member_described() {
    fn look(path: &str, value: &Value, faults: &mut Vec<String>) {
        if let Some(members) = value.get("properties").and_then(Value::as_object) {
            if value["additionalProperties"] != false {
                faults.push(format!("{path} is open"));
            }
            for (name, member) in members {
                let is_described = member.get("description").is_some() || member.get("const").is_some();
                if !is_described {
                    faults.push(format!("{path}.{name} is not described"));
                }
            }
        }
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| look(&format!("{path}/{name}"), value, faults));
            }
            Value::Array(list) => list.iter().for_each(|value| look(path, value, faults)),
            _ => {}
        }
    }
    let (source, mut faults) = (source::Source::read(), Vec::new());
    FILES.iter().for_each(|(file, schema_of)| look(file, &schema_of(&source), &mut faults));
    assert!(faults.is_empty(), "{faults:#?}");
}
