//! The only reader of saved results.
//!
//! | file | what |
//! |---|---|
//! | this | which file it is, and whether it can be read whole |
//! | `salvage` | what can be read of one that is cut off, damaged, or holds a trial that is not understood |
//!
//! Only [`SCHEMA_VERSION`] is read: it is raised when a reader would misunderstand what it reads, so that a newer file is
//! refused and not read as far as its keys look familiar. Members that are not known are passed over.

mod salvage;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use capbench_measure::results::{Results, SCHEMA_VERSION};
use capbench_measure::soak::segment;

use crate::error::{ReportError, Result};

/// The name of the file in a run's directory.
const FILE: &str = "results.json";

/// A file may be so large: far above what runs of days save. What is read takes up to some 20 times as much memory.
const MOST_OCTETS: u64 = 1 << 30;

/// Saved results, and what is to be known about how they could be read.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the run saved.
    pub results: Results,
    /// What people call the run: the name of its directory, or of its file where that has another name than in a run's.
    pub name: String,
    /// The directory that the file lies in.
    pub directory: PathBuf,
    /// What could not be read, and what contradicts itself; empty for a whole file.
    pub warnings: Vec<String>,
}

impl Run {
    /// A run whose results are at hand, as they are when it ends.
    pub fn new(results: Results, directory: &Path) -> Self {
        let name = name(&directory.join(FILE));
        Self { warnings: contradictions(&results), results, name, directory: directory.into() }
    }
}

/// Reads a run: its directory, or its results file.
///
/// # Errors
/// When there is no such file, it holds no results of capbench, or was written by a version whose layout is another one.
/// What is cut off or damaged is no error as long as the environment is there: whole trials are kept, and
/// [`Run::warnings`] says what is missing.
pub fn read(path: &Path) -> Result<Run> {
    let unreadable = |source| ReportError::Unreadable { path: path.into(), source };
    let kind = fs::metadata(path).map_err(unreadable)?;
    let file = if kind.is_dir() { path.join(FILE) } else { path.to_path_buf() };
    if kind.is_dir() && !file.try_exists().map_err(unreadable)? {
        return Err(ReportError::NoResults { path: path.into() });
    }
    let mut run = parse(&octets(&file)?, &file)?;
    if file.file_name().is_some_and(|name| name == FILE) {
        add_segments(&mut run)?;
    }
    Ok(run)
}

/// The content of a file.
fn octets(file: &Path) -> Result<Vec<u8>> {
    let unreadable = |source| ReportError::Unreadable { path: file.into(), source };
    // A pipe would be waited for, and a device may have no end.
    if !fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(ReportError::NoFile { path: file.into() });
    }
    let mut text = Vec::new();
    fs::File::open(file)
        .and_then(|opened| opened.take(MOST_OCTETS + 1).read_to_end(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > MOST_OCTETS {
        return Err(ReportError::TooLarge { path: file.into(), most: MOST_OCTETS });
    }
    Ok(text)
}

/// A soak that was killed has segments next to its results that ended after those were saved.
fn add_segments(run: &mut Run) -> Result<()> {
    let file = run.directory.join(segment::FILE);
    let Some(record) = &mut run.results.soak else { return Ok(()) };
    if !file.try_exists().map_err(|source| ReportError::Unreadable { path: file.clone(), source })? {
        return Ok(());
    }
    run.warnings.extend(segment::add_lines(record, &octets(&file)?));
    run.results.trials.clone_from(&record.kept);
    let wrong = contradictions(&run.results);
    run.warnings
        .extend(wrong.into_iter().filter(|warning| !run.warnings.contains(warning)).collect::<Vec<_>>());
    Ok(())
}

/// Reads what was the content of a file; `file` is what messages call it.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &[u8], file: &Path) -> Result<Run> {
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(ReportError::Empty { path: file.into() });
    }
    let (results, mut warnings) = match serde_json::from_slice::<Results>(text) {
        Ok(results) if results.schema_version == SCHEMA_VERSION => (results, Vec::new()),
        // Which of many reasons it is, is found out by going through it once more.
        _ => salvage::read(text, file)?,
    };
    warnings.extend(contradictions(&results));
    Ok(Run { results, name: name(file), directory: directory(file), warnings })
}

/// The directory that a file lies in.
fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent.into(),
        _ => PathBuf::from("."),
    }
}

/// What people call the run of a file.
fn name(file: &Path) -> String {
    let own = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if file.file_name().is_some_and(|name| name != FILE) {
        return own;
    }
    // `.` and `..` have no name of their own.
    let named = directory(file).canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned));
    named.map_or(own, |name| name.to_string_lossy().into_owned())
}

/// Trials whose ledger no longer sums up: the file was changed after it was written.
fn contradictions(results: &Results) -> Vec<String> {
    let wrong: Vec<String> = results
        .trials
        .iter()
        .filter(|trial| !trial.ledger_sums_up())
        .map(|trial| trial.number.to_string())
        .collect();
    match &wrong[..] {
        [] => Vec::new(),
        [one] => vec![format!(
            "The ledger of trial {one} does not sum up to what it says is unexplained: the file was changed after it was written."
        )],
        many => vec![format!(
            "The ledgers of trials {} do not sum up to what they say is unexplained: the file was changed after it was written.",
            many.join(", ")
        )],
    }
}
