//! Reads an incomplete file: everything up to its end or damage, and every complete entry of its lists.

use std::fmt;
use std::path::Path;

use crate::results::{Results, SCHEMA_VERSION};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{ReportError, Result};

/// Members that are lists with independent entries.
const LISTS: [&str; 9] = [
    "trials",
    "sweeps",
    "searches",
    "rfc2544",
    "comparisons",
    "reproductions",
    "not_measured",
    "findings",
    "statements",
];

/// Members that all others depend on.
const NEEDED: [&str; 4] = ["schema_version", "command", "started_unix_s", "environment"];

/// What was read before the end.
#[derive(Default)]
struct Found {
    members: Map<String, Value>,
    /// Lists that were started, with their complete entries.
    lists: Vec<(String, Vec<Value>)>,
}

/// Results, and what is missing of them.
///
/// # Errors
/// The file is no results file, has another version, or holds no readable measurement.
pub(super) fn read(text: &[u8], file: &Path) -> Result<(Results, Vec<String>)> {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let mut ended = (&mut found).deserialize(&mut json).and_then(|()| json.end()).err();
    identify(&found, &mut ended, file)?;
    if let Some(member) = NEEDED.into_iter().find(|member| !found.members.contains_key(*member)) {
        return Err(match ended {
            Some(source) => ReportError::Cut { path: file.into(), source },
            None => ReportError::Foreign { path: file.into(), missing: member },
        });
    }
    let mut warnings = Vec::new();
    if let Some(error) = &ended {
        warnings.push(broken(error, &found));
    }
    let results = results(found, ended.is_some(), file, &mut warnings)?;
    Ok((results, warnings))
}

/// Whether this is a results file of the known version.
fn identify(found: &Found, ended: &mut Option<serde_json::Error>, file: &Path) -> Result<()> {
    let path = file.to_path_buf();
    let has = |member: &str| {
        found.members.contains_key(member) || found.lists.iter().any(|(name, _)| name == member)
    };
    let Some(version) = found.members.get("schema_version") else {
        // No object, or members without the first one of results: a foreign file.
        let is_foreign = !found.members.is_empty() || ended.as_ref().is_none_or(serde_json::Error::is_data);
        return Err(match ended.take().filter(|_| !is_foreign) {
            Some(source) if source.is_eof() => ReportError::Cut { path, source },
            Some(source) => ReportError::NoJson { path, source },
            None => ReportError::Foreign { path, missing: "schema_version" },
        });
    };
    // Other programs have versions, too.
    let missing = ["command", "environment", "trials"].into_iter().find(|member| !has(member));
    if let Some(missing) = missing.filter(|_| ended.is_none()) {
        return Err(ReportError::Foreign { path, missing });
    }
    if version.as_u64() != Some(SCHEMA_VERSION.into()) {
        return Err(ReportError::Version { path, found: version.to_string(), known: SCHEMA_VERSION });
    }
    Ok(())
}

/// Where the file ends or is damaged, and what was read by then.
fn broken(error: &serde_json::Error, found: &Found) -> String {
    let trials = found.lists.iter().find(|(name, _)| name == "trials").map_or(0, |(_, list)| list.len());
    let how = if error.is_eof() { "ends in the middle of itself" } else { "is damaged" };
    let whole = match trials {
        1 => "1 whole trial before that is reported".to_string(),
        many => format!("{many} whole trials before that are reported"),
    };
    format!("The file {how} (line {}, column {}): {whole}.", error.line(), error.column())
}

/// Builds results. A missing required member has the value of a run that has just started.
fn results(found: Found, is_broken: bool, file: &Path, warnings: &mut Vec<String>) -> Result<Results> {
    let Found { mut members, lists } = found;
    let mut absent: Vec<&str> = Vec::new();
    for list in LISTS {
        if is_broken && !lists.iter().any(|(name, _)| name == list) && !is_optional(list) {
            absent.push(list);
        }
        members.insert(list.into(), Value::Array(Vec::new()));
    }
    members.entry("complete").or_insert(Value::Bool(false));
    if !absent.is_empty() && is_broken {
        warnings.push(format!("Nothing is left of: {}.", absent.join(", ")));
    }
    // An unreadable soak must not drop its trials.
    if members
        .get("soak")
        .is_some_and(|soak| !is_understood::<Option<capbench_plan::soak::record::SoakRecord>>(soak))
    {
        members.remove("soak");
        warnings.push("The record of the soak is not as capbench writes it, and left out.".into());
    }
    let mut results: Results = member("the file", Value::Object(members), file)?;
    results.complete &= !is_broken;
    for (name, entries) in lists {
        match name.as_str() {
            "trials" => results.trials = entries_of(&name, entries, warnings),
            "sweeps" => results.sweeps = entries_of(&name, entries, warnings),
            "searches" => results.searches = entries_of(&name, entries, warnings),
            "rfc2544" => results.rfc2544 = entries_of(&name, entries, warnings),
            "comparisons" => results.comparisons = entries_of(&name, entries, warnings),
            "reproductions" => results.reproductions = entries_of(&name, entries, warnings),
            "not_measured" => results.not_measured = entries_of(&name, entries, warnings),
            "findings" => results.findings = entries_of(&name, entries, warnings),
            "statements" => results.statements = entries_of(&name, entries, warnings),
            _ => {}
        }
    }
    Ok(results)
}

/// Lists that are absent if the run has none.
fn is_optional(list: &str) -> bool {
    matches!(list, "sweeps" | "searches" | "rfc2544" | "comparisons" | "reproductions" | "not_measured")
}

fn is_understood<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

fn member<T: DeserializeOwned>(member: &str, value: Value, file: &Path) -> Result<T> {
    serde_json::from_value(value).map_err(|source| ReportError::Member {
        path: file.into(),
        member: member.into(),
        source,
    })
}

/// The readable entries; the number of the others, and the first error.
fn entries_of<T: DeserializeOwned>(name: &str, entries: Vec<Value>, warnings: &mut Vec<String>) -> Vec<T> {
    let (mut known, mut unknown, mut reason) = (Vec::new(), 0, String::new());
    let all = entries.len();
    for (position, entry) in entries.into_iter().enumerate() {
        match serde_json::from_value(entry) {
            Ok(entry) => known.push(entry),
            Err(error) => {
                if unknown == 0 {
                    reason = format!("the first is entry {}: {error}", position + 1);
                }
                unknown += 1;
            }
        }
    }
    if unknown > 0 {
        warnings.push(format!(
            "{unknown} of {all} {name} are not as capbench writes them, and left out ({reason})."
        ));
    }
    known
}

impl<'de> DeserializeSeed<'de> for &mut Found {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Found {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the results of a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if LISTS.contains(&key.as_str()) {
                self.lists.push((key, Vec::new()));
                let (_, entries) = self.lists.last_mut().expect("it was just pushed");
                map.next_value_seed(Entries(entries))?;
            } else {
                let value = map.next_value()?;
                self.members.insert(key, value);
            }
        }
        Ok(())
    }
}

/// Collects the entries of a list one by one.
struct Entries<'e>(&'e mut Vec<Value>);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while let Some(entry) = list.next_element()? {
            self.0.push(entry);
        }
        Ok(())
    }
}
