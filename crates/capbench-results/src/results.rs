//! Saved results: one directory per run, rewritten after every trial, so that an interrupted run loses no results. A soak
//! appends its segments to a separate file in that directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use capbench_sys::host::folder::{FILE_MODE, Folder};
use capbench_sys::host::trust::Trust;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Result, ResultsError};
use crate::segments;
use crate::trial_columns::{columns, lost_by_place, place_names};
use capbench_judge::comparison::Comparison;
use capbench_judge::finding::Finding as Fact;
use capbench_judge::recommendation::Recommendation;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::rfc2544::Tested;
use capbench_judge::run::RunFacts;
use capbench_judge::search::SearchOutcome;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::soak::segment::Segment;
use capbench_judge::sweep::SweepOutcome;
use capbench_model::bounded_json::{self, Budget};
use capbench_model::csv_text::CsvText;
use capbench_model::environment::Environment;
use capbench_model::not_measured::NotMeasured;
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;

/// Version of the layout of `results.json`. It rises when a reader of older files would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 1;

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Which method captures every packet, up to which rate.
    Bench,
    /// The highest load that a set-up sustains.
    Search,
    /// What a parameter changes.
    Sweep,
    /// The tests of RFC 2544.
    Rfc2544,
    /// One load for hours.
    Soak,
    /// An experiment of a publication.
    Reproduce,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Bench, Self::Search, Self::Sweep, Self::Rfc2544, Self::Soak, Self::Reproduce];

    /// Its command.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Bench => "bench",
            Self::Search => "search",
            Self::Sweep => "sweep",
            Self::Rfc2544 => "rfc2544",
            Self::Soak => "soak",
            Self::Reproduce => "reproduce",
        }
    }
}

/// All data that a run saves. Reports use this data only.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Results {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What the run measured; absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The command, word by word.
    pub command: Vec<String>,
    /// When the run started, seconds since the epoch.
    pub started_unix_s: u64,
    /// Identifies the run: a UUID of version 7. Absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Identifies the host of `environment`: a keyed hash of its machine-id(5). Absent if it has none, or as `run_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// Whether the run completed.
    pub complete: bool,
    /// The exit code of the command, once it ended; 128 + N when signal N stopped it. Absent while it runs, for a run that was
    /// killed, and for runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The host.
    pub environment: Environment,
    /// Statements of the run about itself: how the test bed was made, and which durations are shorter than the standards
    /// require. In words, for readers of the file: the report makes them when the run is saved.
    pub statements: Vec<String>,
    /// The same as facts. Absent in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statement_facts: Vec<Statement>,
    /// The trials, in the order in which they ran.
    pub trials: Vec<TrialResult>,
    /// The record of a soak, instead of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<SoakRecord>,
    /// One sweep per varied parameter. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepOutcome>,
    /// Set-ups that the user requested and that could not be measured.
    #[serde(default)]
    pub not_measured: Vec<NotMeasured>,
    /// Outcomes of searches. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchOutcome>,
    /// Outcomes of RFC 2544 tests other than throughput. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rfc2544: Vec<Tested>,
    /// Comparisons of methods with the reference method that alternated with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// Repeated experiments of publications, with the published tables next to the measured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reproductions: Vec<Reproduction>,
    /// Which method to use, by the trials and searches of a bench. Absent for other runs, for benches of earlier versions, and for
    /// a bench whose trials show nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<Recommendation>,
    /// Findings from these results.
    pub findings: Vec<Finding>,
}

impl Results {
    /// The command of the run, if its command line names one.
    pub fn command_word(&self) -> Option<&str> {
        self.command.get(1).map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// Adds the facts that a file of an earlier version states as texts.
    fn add_facts_of_texts(&mut self) {
        if self.statement_facts.is_empty() {
            self.statement_facts = self.statements.iter().map(|text| Statement::from_earlier(text)).collect();
        }
        if let Some(record) = &mut self.soak {
            record.add_facts_of_texts();
        }
    }

    /// The facts that judgement needs.
    pub fn facts(&self) -> RunFacts<'_> {
        RunFacts {
            command: &self.command,
            started_unix_s: self.started_unix_s,
            complete: self.complete,
            environment: &self.environment,
            statements: &self.statement_facts,
            trials: &self.trials,
            searches: &self.searches,
            sweeps: &self.sweeps,
            soak: self.soak.as_ref(),
        }
    }
}

/// A sentence and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// Frame size and placement that it concerns, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// The sentence.
    pub text: String,
    /// What it says, as data. Absent in files of versions that did not write it, and of a fact that this version does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_fact")]
    pub fact: Option<Fact>,
    /// Numbers of the trials that support it.
    pub trials: Vec<u32>,
}

/// A fact, unless a later version knows it alone.
fn known_fact<'d, D: Deserializer<'d>>(source: D) -> std::result::Result<Option<Fact>, D::Error> {
    let fact = serde_json::Value::deserialize(source)?;
    Ok(serde_json::from_value(fact).ok())
}

/// File name of the results in a run's directory.
const RESULTS: &str = "results.json";
/// File name of the table of trials in a run's directory.
const TRIALS: &str = "trials.csv";

/// A run's directory. It remains the same directory even if its path later points elsewhere.
#[derive(Debug)]
pub struct RunDirectory {
    folder: Folder,
    /// Octets of `results.json`, once this run has written it.
    results: Option<u64>,
    /// Segments of a soak since the last save.
    segments: Option<Segments>,
}

/// The open file of segments, and its octets.
#[derive(Debug)]
struct Segments {
    file: File,
    octets: u64,
}

/// The results are rewritten when the new segments exceed both this size and the size of the results. So all writes together are
/// up to twice the size of the segments.
const SEGMENT_OCTETS: u64 = 1 << 20;

impl RunDirectory {
    /// Creates the directory with its parents. An existing directory must be empty.
    ///
    /// # Errors
    /// When the directory cannot be created or written, or is not empty. As root, also when another user controls it.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Folder::create(path, &Trust::for_output())
            .map_err(|source| ResultsError::writing(path, source))?;
        let names = folder.names().map_err(|source| ResultsError::reading(path, source))?;
        if !names.is_empty() {
            let source = io::Error::new(io::ErrorKind::DirectoryNotEmpty, "the directory is not empty");
            return Err(ResultsError::writing(path, source));
        }
        // Reports an unwritable directory now, not after the first trial. The temporary file is removed again.
        let temporary = folder.temporary(FILE_MODE).map_err(|source| ResultsError::writing(path, source))?;
        drop(temporary);
        Ok(Self { folder, results: None, segments: None })
    }

    /// Opens the directory of a run to resume, and reads its results.
    ///
    /// # Errors
    /// When it contains no `results.json` of this version's layout.
    pub fn resume(path: &Path) -> Result<(Self, Results)> {
        Self::resume_folder(path).map_err(|source| ResultsError::reading(path.join(RESULTS), source))
    }

    fn resume_folder(path: &Path) -> io::Result<(Self, Results)> {
        let trust = Trust::for_output();
        let folder = Folder::open(path, &trust)?;
        let mut text = Vec::new();
        folder.open_file(OsStr::new(RESULTS), &trust)?.read_to_end(&mut text)?;
        let results = results_of(&text)?;
        if results.schema_version != SCHEMA_VERSION {
            let reason = format!(
                "its schema_version is {}, and this version of capbench writes {SCHEMA_VERSION}",
                results.schema_version
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok((Self { folder, results: Some(text.len() as u64), segments: None }, results))
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder itself.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Writes `results.json` and `trials.csv`. A reader sees the old or the new file, never a part of one. If two runs begin in
    /// one directory, the first to save owns it.
    ///
    /// # Errors
    /// When the disk is full or the directory is gone; when another run has meanwhile saved its results there.
    pub fn save(&mut self, results: &Results) -> Result<()> {
        let written = self.save_results(results);
        written.map_err(|source| ResultsError::writing(self.path().join(RESULTS), source))?;
        let written = self.save_table(&results.trials);
        written.map_err(|source| ResultsError::writing(self.path().join(TRIALS), source))?;
        if self.segments.take().is_none() {
            return Ok(());
        }
        // The results now contain these segments. Readers would skip them by their numbers if the file stayed.
        let removed = self.folder.remove(OsStr::new(segments::FILE));
        removed.map_err(|source| ResultsError::writing(self.path().join(segments::FILE), source))
    }

    fn save_results(&mut self, results: &Results) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(results)?;
        text.push(b'\n');
        self.save_text(&text)
    }

    fn save_table(&self, trials: &[TrialResult]) -> io::Result<()> {
        self.folder.replace(OsStr::new(TRIALS), &trials_csv(trials)?)
    }

    /// Appends a segment of a soak to `segments.jsonl` and waits until it is on the disk. Returns whether the caller must save
    /// the results again, which restarts that file.
    ///
    /// # Errors
    /// When the disk is full or the directory is gone.
    pub fn append(&mut self, segment: &Segment) -> Result<bool> {
        let appended = self.append_line(segment);
        appended.map_err(|source| ResultsError::writing(self.path().join(segments::FILE), source))
    }

    fn append_line(&mut self, segment: &Segment) -> io::Result<bool> {
        let mut line = serde_json::to_vec(segment)?;
        line.push(b'\n');
        let segments = match &mut self.segments {
            Some(segments) => segments,
            none => {
                let file = self.folder.create_file(OsStr::new(segments::FILE), FILE_MODE)?;
                self.folder.sync()?;
                none.insert(Segments { file, octets: 0 })
            }
        };
        segments.file.write_all(&line)?;
        segments.file.sync_data()?;
        segments.octets += line.len() as u64;
        Ok(segments.octets >= self.results.unwrap_or(0).max(SEGMENT_OCTETS))
    }

    /// Replaces the results that this run wrote before, or is the first to write some here.
    fn save_text(&mut self, text: &[u8]) -> io::Result<()> {
        let name = OsStr::new(RESULTS);
        let octets = Some(text.len() as u64);
        if self.results.is_some() {
            self.results = octets;
            return self.folder.replace(name, text);
        }
        match self.folder.temporary(FILE_MODE)?.with(text)?.publish_new(name) {
            Ok(()) => {
                self.results = octets;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(io::Error::new(
                error.kind(),
                "another run saves its results in this directory; give it another --out",
            )),
            Err(error) => Err(error),
        }
    }
}

/// The table of trials: one row per trial, names as in `results.json`, units in the names, unknown values empty.
///
/// # Errors
/// Only when memory is exhausted.
pub fn trials_csv(trials: &[TrialResult]) -> io::Result<Vec<u8>> {
    let columns = columns();
    let mut names = Vec::new();
    for column in &columns {
        names.push(column.name.to_string());
    }
    names.extend(place_names());
    let mut table = CsvText::new(names)?;
    for trial in trials {
        let mut fields = Vec::new();
        for column in &columns {
            fields.push(column.csv_field(trial));
        }
        for count in lost_by_place(trial) {
            fields.push(match count {
                Some(count) => count.to_string(),
                None => String::new(),
            });
        }
        table.row(fields)?;
    }
    Ok(table.into_octets()?)
}

/// Memory of what is read of a text, as a multiple of its length.
const MEMORY: usize = 12;

/// What reading this text may take.
pub(crate) fn memory(text: &[u8]) -> Budget {
    Budget::times(MEMORY, text)
}

/// Reads results.
pub(crate) fn results_of(text: &[u8]) -> serde_json::Result<Results> {
    let mut results: Results = within_memory(text)?;
    results.add_facts_of_texts();
    Ok(results)
}

/// Reads a text, unless it takes more memory than results of its length do.
pub(crate) fn within_memory<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    bounded_json::within(text, &memory(text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_testing::Scratch;

    use super::{RunDirectory, trials_csv};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::places;
    use capbench_model::trial::{Load, Phase, TrialResult};

    fn trial() -> TrialResult {
        measured(1000, 1000, 700, 300).result(
            1,
            Phase::BestEffort,
            &profile("packet-v3"),
            Load::Maximum,
            Duration::from_secs(1),
        )
    }

    #[test]
    fn rows_have_a_field_for_every_column_and_unknown_is_empty() {
        let text = String::from_utf8(trials_csv(&[trial()]).unwrap()).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0].len(), lines[1].len());
        let value = |name: &str| lines[1][lines[0].iter().position(|&head| head == name).unwrap()];
        assert_eq!((value("delivered"), value("lost_ring"), value("unexplained")), ("700", "300", "0"));
        assert_eq!((value("lost_stack"), value("intended_pps")), ("", ""));
        assert_eq!(places::ALL.len(), trial().ledger.len());
    }

    #[test]
    fn a_trial_survives_json() {
        let text = serde_json::to_string(&trial()).unwrap();
        assert_eq!(serde_json::from_str::<TrialResult>(&text).unwrap(), trial());
        for key in [
            "\"method\":\"packet-v3\"",
            "\"frame_size\":64",
            "\"verdict\":\"lossy\"",
            "\"placement\":\"same\"",
        ] {
            assert!(text.contains(key), "{key} in {text}");
        }
    }

    #[test]
    fn a_directory_with_something_in_it_is_refused() {
        let folder = Scratch::new();
        let path = folder.file("run");
        RunDirectory::create(&path).unwrap();
        std::fs::write(path.join("mine"), "x").unwrap();
        let text = RunDirectory::create(&path).unwrap_err().to_string();
        assert!(text.contains("not empty"), "{text}");
        assert!(RunDirectory::create(std::path::Path::new("/proc/nothing")).is_err());
    }

    #[test]
    fn of_two_runs_in_one_directory_one_saves() {
        let scratch = Scratch::new();
        let [mut one, mut other] = [(); 2].map(|()| RunDirectory::create(scratch.path()).unwrap());
        one.save_text(b"one").unwrap();
        let text = other.save_text(b"other").unwrap_err().to_string();
        assert!(text.contains("another run saves"), "{text}");
        one.save_text(b"one again").unwrap();
        assert_eq!(std::fs::read(scratch.path().join("results.json")).unwrap(), b"one again");
        assert_eq!(one.folder().names().unwrap(), ["results.json"]);
    }

    #[test]
    fn results_follow_no_link_that_takes_the_place_of_their_directory() {
        let scratch = Scratch::new();
        let [run, moved, theirs, victim] =
            ["run", "moved", "theirs", "victim"].map(|name| scratch.path().join(name));
        let mut directory = RunDirectory::create(&run).unwrap();
        std::fs::write(&victim, "secret").unwrap();
        std::fs::create_dir(&theirs).unwrap();
        for part in ["results.part", "results.json"] {
            std::os::unix::fs::symlink(&victim, theirs.join(part)).unwrap();
        }
        std::fs::rename(&run, &moved).unwrap();
        std::os::unix::fs::symlink(&theirs, &run).unwrap();
        directory.save_text(b"{}").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"secret");
        assert_eq!(std::fs::read(moved.join("results.json")).unwrap(), b"{}");
    }
}
