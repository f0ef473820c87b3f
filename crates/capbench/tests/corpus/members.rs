//! JSON values as lines `PATH = VALUE`. A member that no earlier answer has is left out: it was added later.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

/// Marks a line that is a member of a value.
const MARK: &str = " = ";

/// A value as lines, one for each member that is no object; a list of numbers or texts is one line.
pub fn lines(path: &str, value: &impl Serialize) -> Vec<String> {
    let mut lines = Vec::new();
    add(path, &serde_json::to_value(value).expect("it is saved as JSON"), &mut lines);
    lines
}

fn add(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                add(&format!("{path}.{name}"), member, lines);
            }
        }
        Value::Array(entries) if entries.iter().any(|entry| entry.is_object() || entry.is_array()) => {
            for (nth, entry) in entries.iter().enumerate() {
                add(&format!("{path}[{nth}]"), entry, lines);
            }
        }
        plain => lines.push(format!("{path}{MARK}{plain}")),
    }
}

/// The paths of members in earlier answers, without the places in lists.
pub struct KnownMembers(BTreeSet<String>);

impl KnownMembers {
    pub fn of<'l>(lines: impl Iterator<Item = &'l String>) -> Self {
        Self(lines.filter_map(|line| member(line)).collect())
    }

    /// The lines without those of members that are new.
    pub fn without_new(&self, lines: Vec<String>) -> Vec<String> {
        let is_known = |line: &String| member(line).is_none_or(|member| self.0.contains(&member));
        lines.into_iter().filter(is_known).collect()
    }
}

/// The path of a member without places in lists; `None` for a line that is no member.
fn member(line: &str) -> Option<String> {
    let (path, _) = line.split_once(MARK)?;
    if path.contains(' ') {
        return None;
    }
    let mut member = String::new();
    let mut is_place = false;
    for letter in path.chars() {
        match letter {
            '[' => is_place = true,
            ']' => is_place = false,
            _ if !is_place => member.push(letter),
            _ => {}
        }
    }
    Some(member)
}

/// Removes from a value what an earlier one does not have: members that were added later.
pub fn as_in(earlier: &Value, now: &Value) -> Value {
    match (earlier, now) {
        (Value::Object(then), Value::Object(members)) => {
            let mut kept = serde_json::Map::new();
            for (name, member) in members {
                if let Some(then) = then.get(name) {
                    kept.insert(name.clone(), as_in(then, member));
                }
            }
            Value::Object(kept)
        }
        (Value::Array(then), Value::Array(entries)) if then.len() == entries.len() => {
            Value::Array(then.iter().zip(entries).map(|(then, now)| as_in(then, now)).collect())
        }
        _ => now.clone(),
    }
}
