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

/// An object with this many facts or more has a separate table.
const MANY: usize = 8;

/// The facts of such an object, by name; `None` for another object.
fn separate_table(key: &str, members: &Map<String, Value>) -> Option<Table> {
    if members.len() < MANY || members.values().any(Value::is_object) {
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

/// The name of the table of a member.
fn id_of(key: &str) -> String {
    format!("environment-{}", key.replace(['.', '_'], "-"))
}

/// Adds the facts of an object and of nested ones; `path` is its position.
fn walk(path: &str, members: &Map<String, Value>, facts: &mut Vec<Row>, tables: &mut Vec<Table>) {
    for (name, value) in members {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Object(inner) => match separate_table(&key, inner) {
                Some(table) => tables.push(table),
                None => walk(&key, inner, facts, tables),
            },
            Value::Array(entries) if !entries.is_empty() && entries.iter().all(Value::is_object) => {
                tables.extend(list(&key, entries));
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
                (None, number) => (Cell::number(number), symbol),
            }
        }
        other => (cell(other), String::new()),
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Unknown,
        Value::Bool(is) => Cell::text(if *is { "yes" } else { "no" }),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(count), _) => Cell::Count(count),
            (None, Some(signed)) => Cell::Signed(signed),
            (None, None) => Cell::number(number.as_f64()),
        },
        Value::String(text) if text.is_empty() => Cell::text("none"),
        Value::String(text) => Cell::text(text.as_str()),
        Value::Array(entries) if entries.is_empty() => Cell::text("none"),
        Value::Array(entries) => Cell::text(entries.iter().map(words).collect::<Vec<_>>().join(", ")),
        object @ Value::Object(_) => Cell::text(words(object)),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => figures::UNKNOWN.into(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Object(members) => {
            let mut each = Vec::new();
            for (key, value) in members {
                each.push(format!("{key} {}", words(value)));
            }
            each.join(", ")
        }
        other => other.to_string(),
    }
}

/// A list of objects: one row each, one column per member of any of them.
fn list(key: &str, entries: &[Value]) -> Option<Table> {
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

    use super::*;

    fn texts(table: &Table) -> Vec<Vec<String>> {
        let cells = |row: &Row| {
            row.cells
                .iter()
                .zip(&table.columns)
                .map(|(cell, column)| figures::cell(cell, column.unit))
                .collect()
        };
        table.rows.iter().map(cells).collect()
    }

    #[test]
    fn many_facts_of_one_thing_have_a_table() {
        let many: Map<String, Value> =
            (0..9).map(|nth| (format!("option_{nth}"), json!(nth.to_string()))).collect();
        let Value::Object(members) = json!({ "kernel": { "options": many, "clock": "" } }) else {
            unreachable!()
        };
        let tables = tables_of_members(&members);
        assert_eq!(texts(&tables[0]), [["kernel.clock", "kernel, clock", "none", ""]]);
        assert_eq!(
            (tables[1].id.as_str(), tables[1].caption.as_str()),
            ("environment-kernel-options", "kernel, options")
        );
        assert_eq!(
            (tables[1].rows.len(), texts(&tables[1])[8].clone()),
            (9, vec!["option_8".into(), "8".into(), String::new()])
        );
    }

    #[test]
    fn members_of_any_shape_are_shown() {
        let Value::Object(members) = json!({
            "kernel_release": "6.18.0",
            "virtual_machine": null,
            "memory_bytes": 8_000_000_000_u64,
            "missing_capabilities": [],
            "irq": { "hz": 250, "inner": { "cpus": [0, 1] } },
            "interfaces": [ { "name": "eth0", "speed_bps": 10 }, { "name": "eth1", "driver": null, "rings": { "rx": 512 } } ],
        }) else {
            unreachable!()
        };
        let tables = tables_of_members(&members);
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
        assert_eq!((tables[1].id.as_str(), tables.len()), ("environment-interfaces", 2));
        assert_eq!(texts(&tables[1])[0], ["eth0", "10", "", ""]);
        assert_eq!(texts(&tables[1])[1], ["eth1", "", "unknown", "rx 512"]);
    }
}
