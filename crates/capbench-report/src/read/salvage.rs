//! Reads an incomplete file: everything up to its end or damage, and every complete entry of its lists.

use std::fmt;
use std::path::Path;

use crate::results::{Finding, Results, SCHEMA_VERSION};
use capbench_plan::recommendation::Recommendation;
use capbench_plan::session::NotMeasured;
use capbench_plan::soak::record::SoakRecord;
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Value};

use crate::error::{ReportError, Result};

/// Whether an entry of a list can be parsed.
type Check = fn(&Value) -> serde_json::Result<()>;

fn is<T: DeserializeOwned>(value: &Value) -> serde_json::Result<()> {
    T::deserialize(value).map(drop)
}

/// Members that are lists with independent entries; whether a run without entries leaves the list out.
const LISTS: [(&str, bool, Check); 9] = [
    ("trials", false, is::<capbench_model::trial::TrialResult>),
    ("sweeps", true, is::<capbench_plan::sweep::SweepOutcome>),
    ("searches", true, is::<capbench_plan::search::SearchOutcome>),
    ("rfc2544", true, is::<capbench_plan::rfc2544::Tested>),
    ("comparisons", true, is::<capbench_plan::comparison::Comparison>),
    ("reproductions", true, is::<capbench_reproduce::Reproduction>),
    ("not_measured", true, is::<NotMeasured>),
    ("findings", false, is::<Finding>),
    ("statements", false, is::<String>),
];

/// Members that all others depend on.
const NEEDED: [&str; 4] = ["schema_version", "command", "started_unix_s", "environment"];

/// The members that were read before the end; of a list that was started, its complete entries.
#[derive(Default)]
struct Found(Map<String, Value>);

/// Results, and what is missing of them.
///
/// # Errors
/// The file is no results file, has another version, or holds no readable measurement.
pub(super) fn read(text: &[u8], file: &Path) -> Result<(Results, Vec<String>)> {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let mut ended = (&mut found).deserialize(&mut json).and_then(|()| json.end()).err();
    let Found(members) = found;
    identify(&members, &mut ended, file)?;
    if let Some(member) = NEEDED.into_iter().find(|member| !members.contains_key(*member)) {
        return Err(match ended {
            Some(source) => ReportError::Cut(file.into(), source),
            None => ReportError::Foreign(file.into(), member),
        });
    }
    results(members, ended.as_ref()).map_err(|source| ReportError::Member(file.into(), source))
}

/// Whether this is a results file of the known version.
fn identify(members: &Map<String, Value>, ended: &mut Option<Error>, file: &Path) -> Result<()> {
    let path = file.to_path_buf();
    let Some(version) = members.get("schema_version") else {
        // No object, or members without the first one of results: a foreign file.
        let is_list = |key: &String| LISTS.iter().any(|(list, ..)| list == key);
        let is_foreign = !members.keys().all(is_list) || ended.as_ref().is_none_or(Error::is_data);
        return Err(match ended.take().filter(|_| !is_foreign) {
            Some(source) if source.is_eof() => ReportError::Cut(path, source),
            Some(source) => ReportError::NoJson(path, source),
            None => ReportError::Foreign(path, "schema_version"),
        });
    };
    // Other programs have versions, too.
    let missing = ["command", "environment", "trials"].into_iter().find(|key| !members.contains_key(*key));
    if let Some(missing) = missing.filter(|_| ended.is_none()) {
        return Err(ReportError::Foreign(path, missing));
    }
    if version.as_u64() != Some(SCHEMA_VERSION.into()) {
        return Err(ReportError::Version(path, version.to_string(), SCHEMA_VERSION));
    }
    Ok(())
}

/// Builds results without what cannot be parsed. A missing required member has the value of a run that has just started.
fn results(
    mut members: Map<String, Value>,
    ended: Option<&Error>,
) -> serde_json::Result<(Results, Vec<String>)> {
    let mut warnings: Vec<String> = ended.map(|error| broken(error, &members)).into_iter().collect();
    let is_absent =
        |(list, is_optional, _): &&(&str, bool, Check)| !is_optional && !members.contains_key(*list);
    let absent: Vec<&str> = LISTS.iter().filter(is_absent).map(|(list, ..)| *list).collect();
    if !absent.is_empty() && ended.is_some() {
        warnings.push(format!("Nothing is left of: {}.", absent.join(", ")));
    }
    members.entry("complete").or_insert(Value::Bool(false));
    // An unreadable soak must not drop its trials.
    if members.get("soak").is_some_and(|soak| is::<Option<SoakRecord>>(soak).is_err()) {
        members.remove("soak");
        warnings.push("The record of the soak is not as capbench writes it, and left out.".into());
    }
    // It is computed from the trials again.
    if members.get("recommended").is_some_and(|known| is::<Option<Recommendation>>(known).is_err()) {
        members.remove("recommended");
        warnings.push("The recommendation is not as capbench writes it, and left out.".into());
    }
    for (list, _, check) in LISTS {
        let entries = members.entry(list).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(entries) = entries {
            warnings.extend(keep_known(list, entries, check));
        }
    }
    // By reference, as the entries before: the parser of all types exists once less.
    let mut results = Results::deserialize(&Value::Object(members))?;
    results.complete &= ended.is_none();
    Ok((results, warnings))
}

/// Where the file ends or is damaged, and what was read by then.
fn broken(error: &Error, members: &Map<String, Value>) -> String {
    let trials = members.get("trials").and_then(Value::as_array).map_or(0, Vec::len);
    let how = if error.is_eof() { "ends in the middle of itself" } else { "is damaged" };
    let whole = match trials {
        1 => "1 whole trial before that is reported".to_string(),
        many => format!("{many} whole trials before that are reported"),
    };
    format!("The file {how} (line {}, column {}): {whole}.", error.line(), error.column())
}

/// Removes the entries that cannot be parsed: a warning with their number and the first error.
fn keep_known(list: &str, entries: &mut Vec<Value>, check: Check) -> Option<String> {
    let all = entries.len();
    let mut first = None;
    let mut position = 0;
    entries.retain(|entry| {
        position += 1;
        let error = check(entry).err();
        let is_known = error.is_none();
        if let (None, Some(error)) = (&first, error) {
            first = Some(format!("the first is entry {position}: {error}"));
        }
        is_known
    });
    let unknown = all - entries.len();
    first.map(|first| {
        format!("{unknown} of {all} {list} are not as capbench writes them, and left out ({first}).")
    })
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
            if LISTS.iter().any(|(list, ..)| *list == key) {
                self.0.insert(key.clone(), Value::Array(Vec::new()));
                let entries = self.0[&key].as_array_mut().expect("it was just inserted");
                map.next_value_seed(Entries(entries))?;
            } else {
                let value = map.next_value()?;
                self.0.insert(key, value);
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
