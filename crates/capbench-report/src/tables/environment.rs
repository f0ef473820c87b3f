//! The saved host: all members of the environment, nested ones and lists included.

use capbench_results::Results;
use serde_json::{Map, Value};

use crate::figures;
use crate::model::{Cell, Column, Row, Table, Unit};

use super::columns::{unit_of, words_of};
use super::rows::{Fields, Rows};

/// A table of facts, and one per list of objects.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    match serde_json::to_value(&results.environment) {
        Ok(Value::Object(members)) => tables_of_members(&members),
        _ => Vec::new(),
    }
}

/// The table of all single facts, and then the separate tables.
fn tables_of_members(members: &Map<String, Value>) -> Vec<Table> {
    let mut facts = Vec::new();
    let mut separate = Vec::new();
    walk("", members, &mut facts, &mut separate);
    let columns = ["key", "fact", "value", "unit"].map(|name| Column::words(name, name)).to_vec();
    let mut tables = Vec::new();
    tables.extend(Table::with_rows("environment", "The host and the process", columns, facts));
    tables.extend(separate);
    tables
}

/// An object with this many members or more has a separate table, if none of them is an object.
const MEMBERS_OF_SEPARATE_TABLE: usize = 8;

/// The separate table of an object; `None` if its members are few or nested.
fn separate_table(key: &str, members: &Map<String, Value>) -> Option<Table> {
    if members.len() < MEMBERS_OF_SEPARATE_TABLE || members.values().any(Value::is_object) {
        return None;
    }
    let mut rows = Rows::new();
    for (name, value) in members {
        let (value, unit) = fact(name, value);
        let fields = Fields::new()
            .words("key", "key", name.as_str())
            .words("value", "value", value)
            .words("unit", "unit", unit);
        rows.add(fields, Vec::new());
    }
    let caption = key.replace('.', ", ").replace('_', " ");
    rows.table(&id_of(key), &caption)
}

/// The name of a table for the member with this key.
fn id_of(key: &str) -> String {
    format!("environment-{}", key.replace(['.', '_'], "-"))
}

/// Adds the members of an object and of nested ones: each to `facts`, or its table to `tables`. `path` is the object's key, such
/// as `kernel.options`; empty for the environment itself.
fn walk(path: &str, members: &Map<String, Value>, facts: &mut Vec<Row>, tables: &mut Vec<Table>) {
    for (name, value) in members {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Object(inner) => match separate_table(&key, inner) {
                Some(table) => tables.push(table),
                None => walk(&key, inner, facts, tables),
            },
            Value::Array(entries) if !entries.is_empty() && entries.iter().all(Value::is_object) => {
                tables.extend(table_of_list(&key, entries));
            }
            _ => {
                let (value, unit) = fact(name, value);
                let words = key.split('.').map(words_of).collect::<Vec<_>>().join(", ");
                facts.push(Row::new(vec![key.into(), words.into(), value, unit.into()], Vec::new()));
            }
        }
    }
}

/// A value with its unit in words, because one column has values of many units.
fn fact(name: &str, value: &Value) -> (Cell, String) {
    let unit = unit_of(name);
    match value {
        Value::Number(number) => {
            let symbol = unit.symbol().to_string();
            match (number.as_u64(), number.as_f64()) {
                // Only figures of this unit are written in percent.
                (_, Some(share)) if unit == Unit::Ratio => (Cell::text(figures::number(share, unit)), symbol),
                (Some(count), _) => (Cell::Count(count), symbol),
                (None, float) => (Cell::number_or_unknown(float), symbol),
            }
        }
        _ => (cell(value), String::new()),
    }
}

/// A value without its unit.
fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Unknown,
        Value::Bool(true) => Cell::text("yes"),
        Value::Bool(false) => Cell::text("no"),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(count), _) => Cell::Count(count),
            (None, Some(signed)) => Cell::Signed(signed),
            (None, None) => Cell::number_or_unknown(number.as_f64()),
        },
        Value::String(text) if text.is_empty() => Cell::text("none"),
        Value::String(text) => Cell::text(text.as_str()),
        Value::Array(entries) if entries.is_empty() => Cell::text("none"),
        Value::Array(entries) => Cell::text(entries.iter().map(words).collect::<Vec<_>>().join(", ")),
        Value::Object(_) => Cell::text(words(value)),
    }
}

/// A value within a list or an object, in words.
fn words(value: &Value) -> String {
    match value {
        Value::Null => figures::UNKNOWN.into(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Object(members) => {
            let mut parts = Vec::new();
            for (key, value) in members {
                parts.push(format!("{key} {}", words(value)));
            }
            parts.join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The table of a list of objects: one row each, one column per member of any of them.
fn table_of_list(key: &str, entries: &[Value]) -> Option<Table> {
    let objects: Vec<&Map<String, Value>> = entries.iter().filter_map(Value::as_object).collect();
    let mut names: Vec<&String> = Vec::new();
    for name in objects.iter().flat_map(|members| members.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Rows::new();
    for members in objects {
        let mut fields = Fields::new();
        for name in &names {
            // A member that an object lacks is empty; null is unknown.
            let cell = members.get(*name).map_or(Cell::Empty, cell);
            fields = fields.figure(name, &words_of(name), cell);
        }
        rows.add(fields, Vec::new());
    }
    rows.table(&id_of(key), &words_of(&key.replace('.', ", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MEMBERS_OF_SEPARATE_TABLE, Map, Table, Value, figures, tables_of_members};

    /// The cells of a table as a report shows them, row by row.
    fn texts(table: &Table) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut texts = Vec::new();
            for (cell, column) in row.cells.iter().zip(&table.columns) {
                texts.push(figures::cell(cell, column.unit));
            }
            rows.push(texts);
        }
        rows
    }

    /// The tables of an environment with these members.
    fn tables_of(environment: Value) -> Vec<Table> {
        let Value::Object(members) = environment else { panic!("{environment} is no object") };
        tables_of_members(&members)
    }

    #[test]
    fn an_object_with_many_members_has_a_table() {
        let mut options = Map::new();
        for nth in 0..MEMBERS_OF_SEPARATE_TABLE {
            options.insert(format!("option_{nth}"), json!(format!("value {nth}")));
        }
        let tables = tables_of(json!({ "kernel": { "options": options, "clock": "" } }));
        assert_eq!(texts(&tables[0]), [["kernel.clock", "kernel, clock", "none", ""]]);
        assert_eq!(tables[1].id, "environment-kernel-options");
        assert_eq!(tables[1].caption, "kernel, options");
        assert_eq!(tables[1].rows.len(), MEMBERS_OF_SEPARATE_TABLE);
        assert_eq!(texts(&tables[1])[7], ["option_7", "value 7", ""]);
    }

    #[test]
    fn members_of_any_shape_are_shown() {
        let tables = tables_of(json!({
            "kernel_release": "6.18.0",
            "virtual_machine": null,
            "memory_bytes": 8_000_000_000_u64,
            "missing_capabilities": [],
            "irq": { "hz": 250, "inner": { "cpus": [0, 1] } },
            "interfaces": [ { "name": "eth0", "speed_bps": 10 }, { "name": "eth1", "driver": null, "rings": { "rx": 512 } } ],
        }));
        assert_eq!(
            texts(&tables[0]),
            [
                ["irq.hz", "irq, hz", "250", ""],
                ["irq.inner.cpus", "irq, inner, cpus", "0, 1", ""],
                ["kernel_release", "kernel release", "6.18.0", ""],
                ["memory_bytes", "memory", "8,000,000,000", "bytes"],
                ["missing_capabilities", "missing capabilities", "none", ""],
                ["virtual_machine", "virtual machine", "unknown", ""],
            ]
        );
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[1].id, "environment-interfaces");
        // The first interface lacks members of the second one, whose driver is unknown.
        assert_eq!(texts(&tables[1])[0], ["eth0", "10", "", ""]);
        assert_eq!(texts(&tables[1])[1], ["eth1", "", "unknown", "rx 512"]);
    }
}
