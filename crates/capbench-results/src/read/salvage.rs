//! Reads an incomplete file: everything up to its end or damage, and every complete entry of its lists. Also finds out what a run
//! measured whose version did not save it.
//!
//! Members and entries stay texts until they are parsed as their types: a tree of values takes many times the memory of the texts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::results::{Results, SCHEMA_VERSION, memory, results_of, within_memory};
use capbench_judge::recommendation::Recommendation;
use capbench_judge::run::Kind;
use capbench_judge::soak::record::SoakRecord;
use capbench_model::bounded_json::Bounded;
use capbench_model::not_measured::NotMeasured;
use capbench_model::statement::Statement;
use capbench_model::trial::Phase;
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

use crate::error::{Result, ResultsError};

/// A value of the file, not yet parsed.
type Text = Box<RawValue>;

/// A member that is a list with independent entries.
struct List {
    name: &'static str,
    /// Whether a file of a run without entries has no such list.
    is_optional: bool,
    /// Whether this version can parse an entry.
    check: fn(&RawValue) -> serde_json::Result<()>,
}

#[rustfmt::skip]
const LISTS: [List; 9] = [
    List { name: "trials", is_optional: false, check: parse_as::<capbench_model::trial::TrialResult> },
    List { name: "sweeps", is_optional: true, check: parse_as::<capbench_judge::sweep::SweepOutcome> },
    List { name: "searches", is_optional: true, check: parse_as::<capbench_judge::search::SearchOutcome> },
    List { name: "rfc2544", is_optional: true, check: parse_as::<capbench_judge::rfc2544::Tested> },
    List { name: "comparisons", is_optional: true, check: parse_as::<capbench_judge::comparison::Comparison> },
    List { name: "reproductions", is_optional: true, check: parse_as::<capbench_judge::reproduction::Reproduction> },
    List { name: "not_measured", is_optional: true, check: parse_as::<NotMeasured> },
    List { name: "statements", is_optional: false, check: parse_as::<String> },
    List { name: "statement_facts", is_optional: true, check: parse_as::<Statement> },
];

/// Whether a text can be parsed as this type.
fn parse_as<T: DeserializeOwned>(text: &RawValue) -> serde_json::Result<()> {
    within_memory::<T>(text.get().as_bytes()).map(drop)
}

/// Members that all others depend on: a file that is cut off before them holds nothing.
const NEEDED: [&str; 4] = ["schema_version", "command", "started_unix_s", "environment"];

/// Members that every whole file has. One of them can be missing where a file is cut off.
const IN_WHOLE_FILES: [&str; 3] = ["command", "environment", "trials"];

/// The members that were read before the end; of a list that was started, its complete entries.
#[derive(Default)]
struct Found {
    members: BTreeMap<String, Text>,
    lists: BTreeMap<String, Vec<Text>>,
}

impl Found {
    /// Whether a member was read, or a list begun.
    fn has(&self, name: &str) -> bool {
        self.members.contains_key(name) || self.lists.contains_key(name)
    }

    /// Whether a member can be parsed as this type, or is absent.
    fn is_parsable<T: DeserializeOwned>(&self, name: &str) -> bool {
        match self.members.get(name) {
            Some(text) => parse_as::<T>(text).is_ok(),
            None => true,
        }
    }

    /// All members and lists as one text, which can be parsed as results.
    fn text(&self) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Part<'f> {
            Member(&'f RawValue),
            List(&'f [Text]),
        }
        let mut parts = BTreeMap::new();
        for (name, text) in &self.members {
            parts.insert(name, Part::Member(text));
        }
        for (name, entries) in &self.lists {
            parts.insert(name, Part::List(entries));
        }
        serde_json::to_vec(&parts)
    }
}

impl Results {
    /// What the run measured: as saved, or in files of older versions by what they contain.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or_else(|| guessed_kind(self))
    }
}

/// What a run measured whose version did not save it: by the outcomes that it has, else by its command, else by the purpose of its
/// trials.
fn guessed_kind(results: &Results) -> Kind {
    let by_command = Kind::ALL.into_iter().find(|kind| results.command_word() == Some(kind.command()));
    // Sweeps and searches of a reproduction only serve its tables.
    if !results.reproductions.is_empty() || by_command == Some(Kind::Reproduce) {
        return Kind::Reproduce;
    }
    if results.soak.is_some() {
        return Kind::Soak;
    }
    if !results.rfc2544.is_empty() {
        return Kind::Rfc2544;
    }
    if !results.sweeps.is_empty() {
        return Kind::Sweep;
    }
    by_command.unwrap_or_else(|| kind_of_trials(results))
}

/// What a run measured whose command is unknown.
fn kind_of_trials(results: &Results) -> Kind {
    if results.recommended.is_some() {
        return Kind::Bench;
    }
    if !results.searches.is_empty() {
        return Kind::Search;
    }
    // A sweep may also search, and so may the tests of RFC 2544: the first of these kinds that has a trial counts.
    for kind in [Kind::Soak, Kind::Sweep, Kind::Rfc2544, Kind::Search] {
        if results.trials.iter().any(|trial| kind_of_phase(trial.phase) == Some(kind)) {
            return kind;
        }
    }
    Kind::Bench
}

/// The kind of run that a trial shows; `None` if runs of several kinds have such trials.
fn kind_of_phase(phase: Phase) -> Option<Kind> {
    match phase {
        Phase::Soak => Some(Kind::Soak),
        Phase::Sweep => Some(Kind::Sweep),
        Phase::Latency | Phase::FrameLoss | Phase::BackToBack | Phase::Recovery => Some(Kind::Rfc2544),
        Phase::Search | Phase::SelfTest => Some(Kind::Search),
        _ => None,
    }
}

/// Results, and warnings of what is missing of them.
///
/// # Errors
/// The file is no results file, has another version, or holds no readable measurement.
pub(super) fn read(text: &[u8], file: &Path) -> Result<(Results, Vec<String>)> {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let budget = memory(text);
    // The error at the end or the damage of the file; `None` if all of it is JSON.
    let mut ended =
        (&mut found).deserialize(Bounded::new(&mut json, &budget)).and_then(|()| json.end()).err();
    identify(&found, &mut ended, file)?;
    if let Some(member) = NEEDED.into_iter().find(|member| !found.has(member)) {
        return Err(match ended {
            Some(source) => ResultsError::Cut(file.into(), source),
            None => ResultsError::Foreign(file.into(), member),
        });
    }
    results(found, ended.as_ref()).map_err(|source| ResultsError::Member(file.into(), source))
}

/// Refuses a file that is no results file of the known version. Takes the error of the file's end if the refusal names it.
fn identify(found: &Found, ended: &mut Option<Error>, file: &Path) -> Result<()> {
    let path = file.to_path_buf();
    let Some(version) = found.members.get("schema_version") else {
        // capbench writes the version first: other members before the end are those of another program. Whole JSON without it, and
        // JSON that is no object (an error of the data), are foreign, too.
        let has_other_members = !found.members.is_empty();
        return Err(match ended.take() {
            Some(source) if !has_other_members && source.is_eof() => ResultsError::Cut(path, source),
            Some(source) if !has_other_members && !source.is_data() => ResultsError::NoJson(path, source),
            _ => ResultsError::Foreign(path, "schema_version"),
        });
    };
    // Files of other programs may have a version, too.
    if ended.is_none()
        && let Some(missing) = IN_WHOLE_FILES.into_iter().find(|key| !found.has(key))
    {
        return Err(ResultsError::Foreign(path, missing));
    }
    if version.get().parse() != Ok(SCHEMA_VERSION) {
        return Err(ResultsError::Version(path, version.get().into(), SCHEMA_VERSION));
    }
    Ok(())
}

/// Builds results without the parts that cannot be parsed. A missing member has the value of a run that has just started.
fn results(mut found: Found, ended: Option<&Error>) -> serde_json::Result<(Results, Vec<String>)> {
    let mut warnings = Vec::new();
    if let Some(error) = ended {
        warnings.push(broken_file_words(error, &found));
    }
    if ended.is_some() {
        warnings.extend(absent_lists_words(&found));
    }
    found.members.entry("complete".into()).or_insert(RawValue::FALSE.to_owned());
    // The trials of a soak are kept even if its record is unreadable.
    if !found.is_parsable::<Option<SoakRecord>>("soak") {
        found.members.remove("soak");
        warnings.push("The record of the soak is not as capbench writes it, and left out.".into());
    }
    // A report computes the recommendation from the trials again.
    if !found.is_parsable::<Option<Recommendation>>("recommended") {
        found.members.remove("recommended");
        warnings.push("The recommendation is not as capbench writes it, and left out.".into());
    }
    for list in LISTS {
        let entries = found.lists.entry(list.name.into()).or_default();
        warnings.extend(list.keep_known(entries));
    }
    let results = results_of(&found.text()?);
    // Line and column of the error are those of this new text, which the user does not have.
    let mut results = results.map_err(|error| Error::custom(without_position(&error)))?;
    results.complete &= ended.is_none();
    Ok((results, warnings))
}

/// Says which lists that every file has are missing; `None` if all are there.
fn absent_lists_words(found: &Found) -> Option<String> {
    let mut absent = Vec::new();
    for list in &LISTS {
        if !list.is_optional && !found.has(list.name) {
            absent.push(list.name);
        }
    }
    if absent.is_empty() {
        return None;
    }
    Some(format!("Nothing is left of: {}.", absent.join(", ")))
}

/// Says where the file ends or is damaged, and how many trials were read before that.
fn broken_file_words(error: &Error, found: &Found) -> String {
    let trials = found.lists.get("trials").map_or(0, Vec::len);
    let how = if error.is_eof() { "ends in the middle of itself" } else { "is damaged" };
    let whole = match trials {
        1 => "1 whole trial before that is reported".to_string(),
        many => format!("{many} whole trials before that are reported"),
    };
    format!("The file {how} (line {}, column {}): {whole}.", error.line(), error.column())
}

impl List {
    /// Removes the entries that cannot be parsed, and warns of them: their number and the first error.
    fn keep_known(&self, entries: &mut Vec<Text>) -> Option<String> {
        let all = entries.len();
        let mut first_error = None;
        let mut known = Vec::new();
        for (index, entry) in entries.drain(..).enumerate() {
            match (self.check)(&entry) {
                Ok(()) => known.push(entry),
                Err(error) if first_error.is_none() => first_error = Some((index + 1, error)),
                Err(_) => {}
            }
        }
        *entries = known;
        let (position, error) = first_error?;
        Some(format!(
            "{} of {all} {} are not as capbench writes them, and left out (the first is entry {position}: {}).",
            all - entries.len(),
            self.name,
            without_position(&error)
        ))
    }
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
            if LISTS.iter().any(|list| list.name == key) {
                let entries = self.lists.entry(key).or_default();
                entries.clear();
                map.next_value_seed(Entries(entries))?;
            } else {
                let text = map.next_value()?;
                self.members.insert(key, text);
            }
        }
        Ok(())
    }
}

/// Collects the entries of a list one by one.
struct Entries<'e>(&'e mut Vec<Text>);

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

/// An error without its line and column, which are those within a part of the file.
fn without_position(error: &Error) -> String {
    let reason = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match reason.strip_suffix(&position) {
        Some(reason) => reason.into(),
        None => reason,
    }
}

#[cfg(test)]
mod tests {
    use crate::for_tests::{bench, results};
    use crate::results::Results;
    use capbench_judge::run::Kind;

    #[test]
    fn a_saved_kind_is_what_a_run_measured_whatever_its_command_says() {
        let saved = Results { kind: Some(Kind::Soak), ..bench(Vec::new(), Vec::new()) };
        let read: Results = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
        assert_eq!(read.kind(), Kind::Soak);
    }

    #[test]
    fn the_kind_of_a_run_that_did_not_save_it_is_that_of_its_command() {
        let earlier = bench(Vec::new(), Vec::new());
        assert_eq!(earlier.kind, None);
        assert_eq!(earlier.kind(), Kind::Bench);
        let command = ["capbench", "sweep"].map(String::from).to_vec();
        assert_eq!(Results { command, ..results(Vec::new()) }.kind(), Kind::Sweep);
    }
}
