//! JSON values as lines `PATH = VALUE`. A member that no earlier answer has is left out: it was added later.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use crate::archive;

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

/// The members of a run made again that are compared: the committed list, a line `PARENT TAB MEMBER` each. What a later version
/// saves in addition is not in it, nor what it no longer saves.
pub struct Compared(BTreeSet<(String, String)>);

impl Compared {
    pub fn committed() -> &'static Self {
        static COMMITTED: LazyLock<Compared> = LazyLock::new(Compared::read);
        &COMMITTED
    }

    fn read() -> Self {
        let text = fs::read_to_string(archive::folder().join("members.txt")).expect("the list is committed");
        let mut members = BTreeSet::new();
        for line in text.lines() {
            let (parent, member) = line.split_once('\t').unwrap_or_else(|| panic!("no parent: {line}"));
            members.insert((parent.to_string(), member.to_string()));
        }
        Self(members)
    }

    /// The value with these members only.
    pub fn only(&self, parent: &str, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut kept = serde_json::Map::new();
                for (name, member) in members {
                    if self.0.contains(&(parent.to_string(), name.clone())) {
                        kept.insert(name.clone(), self.only(name, member));
                    }
                }
                Value::Object(kept)
            }
            Value::Array(entries) => entries.iter().map(|entry| self.only(parent, entry)).collect(),
            plain => plain.clone(),
        }
    }
}
