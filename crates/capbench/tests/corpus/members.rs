//! JSON values as lines `PATH = VALUE`. A member that no earlier answer has is left out: it was added later.

use std::collections::{BTreeMap, BTreeSet};
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

/// The members of a run made again that are compared, by the members that have them: the committed list, a line `PARENT TAB MEMBER`
/// each. What a later version saves in addition is not in it, nor what it no longer saves.
pub struct Compared(BTreeMap<String, BTreeSet<String>>);

impl Compared {
    pub fn committed() -> &'static Self {
        static COMMITTED: LazyLock<Compared> = LazyLock::new(Compared::read);
        &COMMITTED
    }

    fn read() -> Self {
        let text = fs::read_to_string(archive::folder().join("members.txt")).expect("the list is committed");
        let mut compared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in text.lines() {
            let (parent, member) = line.split_once('\t').unwrap_or_else(|| panic!("no parent: {line}"));
            compared.entry(parent.into()).or_default().insert(member.into());
        }
        Self(compared)
    }

    /// Adds the lines in which these members of two values differ, up to this number of lines. `parent` is the name of the last member of
    /// their path.
    pub fn differences(
        &self,
        path: &str,
        parent: &str,
        values: [&Value; 2],
        most: usize,
        lines: &mut Vec<String>,
    ) {
        if lines.len() >= most {
            return;
        }
        match values {
            [then, now] if then.is_object() || now.is_object() => {
                for name in self.0.get(parent).into_iter().flatten() {
                    let values = [then, now].map(|members| members.get(name).unwrap_or(&Value::Null));
                    self.differences(&format!("{path}.{name}"), name, values, most, lines);
                }
            }
            [Value::Array(then), Value::Array(now)] if then.iter().chain(now).any(Value::is_object) => {
                for nth in 0..then.len().max(now.len()) {
                    let values = [then, now].map(|entries| entries.get(nth).unwrap_or(&Value::Null));
                    self.differences(&format!("{path}[{nth}]"), parent, values, most, lines);
                }
            }
            [then, now] if then != now => {
                for (sign, value) in [('-', then), ('+', now)] {
                    if !value.is_null() {
                        lines.extend(self::lines(path, value).iter().map(|line| format!("{sign} {line}")));
                    }
                }
            }
            _ => {}
        }
    }
}
