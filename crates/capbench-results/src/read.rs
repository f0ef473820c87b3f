//! The only reader of saved results.
//!
//! | file | what |
//! |---|---|
//! | this | finds the file, and reads a complete one |
//! | `salvage` | reads what is left of a file that is cut off, damaged, or has a trial that this version cannot parse |
//!
//! Only [`SCHEMA_VERSION`] is read. It is raised when a reader would misunderstand a file, so newer files are refused instead
//! of being read partly. Unknown members are ignored.

mod salvage;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::results::{Results, SCHEMA_VERSION, results_of};
use crate::segments;

use crate::error::{Result, ResultsError};
use capbench_judge::run::RunFacts;

/// The name of the file in a run's directory.
const FILE: &str = "results.json";

/// Size limit of a file in octets. Runs of days are far smaller.
const MOST_OCTETS: u64 = 1 << 30;

/// Saved results, and problems found while reading them.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the run saved.
    pub results: Results,
    /// The name of the run: its directory, or its file if that is not called `results.json`.
    pub name: String,
    /// The directory of the file.
    pub directory: PathBuf,
    /// Unreadable parts and contradictions; empty for a complete file.
    pub warnings: Vec<String>,
}

impl Run {
    /// A run from results in memory, for example when it ends.
    pub fn new(results: Results, directory: &Path) -> Self {
        let name = name(&directory.join(FILE));
        Self {
            warnings: contradictions(&results).into_iter().collect(),
            results,
            name,
            directory: directory.into(),
        }
    }

    /// What it saved, without what was made of it, and what is wrong with its file.
    pub fn facts(&self) -> RunFacts<'_> {
        RunFacts { file_warnings: &self.warnings, ..self.results.facts() }
    }
}

/// Reads a run from its directory or its results file.
///
/// # Errors
/// The file does not exist, holds no results of capbench, or has the layout of another version. A file that is cut off or
/// damaged is no error if the environment is there: complete trials are kept, and [`Run::warnings`] lists what is missing.
pub fn read(path: &Path) -> Result<Run> {
    let file = results_file(path)?;
    let mut run = parse(&octets(&file)?, &file)?;
    if file.file_name().is_some_and(|name| name == FILE) {
        add_segments(&mut run)?;
    }
    Ok(run)
}

/// The results file of a path: the file in a directory, or the path itself if it is none.
fn results_file(path: &Path) -> Result<PathBuf> {
    let kind = fs::metadata(path).map_err(|source| ResultsError::Unreadable(path.into(), source))?;
    if !kind.is_dir() {
        return Ok(path.into());
    }
    let file = path.join(FILE);
    match file.try_exists() {
        Ok(true) => Ok(file),
        Ok(false) => Err(ResultsError::NoResults(path.into())),
        Err(source) => Err(ResultsError::Unreadable(path.into(), source)),
    }
}

/// The content of a file.
fn octets(file: &Path) -> Result<Vec<u8>> {
    let kind = fs::metadata(file).map_err(|source| ResultsError::Unreadable(file.into(), source))?;
    // A pipe would block, and a device may be endless.
    if !kind.is_file() {
        return Err(ResultsError::NoFile(file.into()));
    }
    let text = first_octets(file).map_err(|source| ResultsError::Unreadable(file.into(), source))?;
    if text.len() as u64 > MOST_OCTETS {
        return Err(ResultsError::TooLarge(file.into(), MOST_OCTETS));
    }
    Ok(text)
}

/// The content of a file up to one octet above the limit.
fn first_octets(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(file)?.take(MOST_OCTETS + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Adds the segments that a killed soak finished after it last saved its results.
fn add_segments(run: &mut Run) -> Result<()> {
    let file = run.directory.join(segments::FILE);
    let Some(record) = &mut run.results.soak else { return Ok(()) };
    if !file.try_exists().map_err(|source| ResultsError::Unreadable(file.clone(), source))? {
        return Ok(());
    }
    run.warnings.extend(segments::add_lines(record, &octets(&file)?));
    // The trials of a soak are those that its record keeps.
    run.results.trials.clone_from(&record.kept);
    if let Some(contradiction) = contradictions(&run.results)
        && !run.warnings.contains(&contradiction)
    {
        run.warnings.push(contradiction);
    }
    Ok(())
}

/// Parses the content of a file; `file` is its name in messages.
///
/// # Errors
/// Like [`read`].
pub fn parse(text: &[u8], file: &Path) -> Result<Run> {
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(ResultsError::Empty(file.into()));
    }
    let (results, mut warnings) = match results_of(text) {
        Ok(results) if results.schema_version == SCHEMA_VERSION => (results, Vec::new()),
        // A second pass finds out which of many reasons it is.
        _ => salvage::read(text, file)?,
    };
    warnings.extend(contradictions(&results));
    Ok(Run { results, name: name(file), directory: directory(file), warnings })
}

/// The directory of a file.
fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent.into(),
        _ => PathBuf::from("."),
    }
}

/// The name of the run of a file: its directory's name if the file has the usual name.
fn name(file: &Path) -> String {
    if file.file_name().is_some_and(|name| name == FILE)
        && let Some(name) = directory_name(file)
    {
        return name;
    }
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of a file's directory. `.` and `..` have none until they are resolved.
fn directory_name(file: &Path) -> Option<String> {
    let directory = directory(file).canonicalize().ok()?;
    Some(directory.file_name()?.to_string_lossy().into_owned())
}

/// A warning that names the trials whose ledger does not add up; `None` if all do. Such a file was changed after it was written:
/// a trial whose ledger contradicts itself while it runs says so in its `unexplained`.
fn contradictions(results: &Results) -> Option<String> {
    let mut numbers = Vec::new();
    for trial in &results.trials {
        if !trial.ledger_sums_up() {
            numbers.push(trial.number.to_string());
        }
    }
    let changed = "the file was changed after it was written";
    match &numbers[..] {
        [] => None,
        [number] => Some(format!(
            "The ledger of trial {number} does not sum up to what it says is unexplained: {changed}."
        )),
        numbers => Some(format!(
            "The ledgers of trials {} do not sum up to what they say is unexplained: {changed}.",
            numbers.join(", ")
        )),
    }
}
