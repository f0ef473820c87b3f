//! The only reader of saved results.
//!
//! | file | what |
//! |---|---|
//! | this | which file it is, and whether it can be read completely |
//! | `salvage` | reads what is left of a file that is cut off, damaged, or holds a trial that this version cannot parse |
//!
//! Only [`SCHEMA_VERSION`] is read. It is raised when a reader would misunderstand a file, so newer files are refused instead
//! of being read partly. Unknown members are ignored.

mod salvage;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::results::{Results, SCHEMA_VERSION, results_of};
use crate::segments;

use crate::error::{Result, ResultsError};

/// The name of the file in a run's directory.
const FILE: &str = "results.json";

/// Size limit of a file in octets, far above runs of days.
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
}

/// Reads a run from its directory or its results file.
///
/// # Errors
/// The file does not exist, holds no results of capbench, or has the layout of another version. A file that is cut off or
/// damaged is no error if the environment is there: complete trials are kept, and [`Run::warnings`] lists what is missing.
pub fn read(path: &Path) -> Result<Run> {
    let unreadable = |source| ResultsError::Unreadable(path.into(), source);
    let kind = fs::metadata(path).map_err(unreadable)?;
    let file = if kind.is_dir() { path.join(FILE) } else { path.to_path_buf() };
    if kind.is_dir() && !file.try_exists().map_err(unreadable)? {
        return Err(ResultsError::NoResults(path.into()));
    }
    let mut run = parse(&octets(&file)?, &file)?;
    if file.file_name().is_some_and(|name| name == FILE) {
        add_segments(&mut run)?;
    }
    Ok(run)
}

/// The content of a file.
fn octets(file: &Path) -> Result<Vec<u8>> {
    let unreadable = |source| ResultsError::Unreadable(file.into(), source);
    // A pipe would block, and a device may be endless.
    if !fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(ResultsError::NoFile(file.into()));
    }
    let mut text = Vec::new();
    fs::File::open(file)
        .and_then(|opened| opened.take(MOST_OCTETS + 1).read_to_end(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > MOST_OCTETS {
        return Err(ResultsError::TooLarge(file.into(), MOST_OCTETS));
    }
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
    run.results.trials.clone_from(&record.kept);
    let wrong = contradictions(&run.results).filter(|warning| !run.warnings.contains(warning));
    run.warnings.extend(wrong);
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

/// The name of the run of a file.
fn name(file: &Path) -> String {
    let own = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if file.file_name().is_some_and(|name| name != FILE) {
        return own;
    }
    // `.` and `..` have no name.
    let named = directory(file).canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned));
    named.map_or(own, |name| name.to_string_lossy().into_owned())
}

/// Trials with a ledger that does not add up: the file was changed after it was written.
fn contradictions(results: &Results) -> Option<String> {
    let wrong = results.trials.iter().filter(|trial| !trial.ledger_sums_up());
    let wrong: Vec<String> = wrong.map(|trial| trial.number.to_string()).collect();
    let (of, says) = match &wrong[..] {
        [] => return None,
        [one] => (format!("ledger of trial {one} does"), "it says"),
        many => (format!("ledgers of trials {} do", many.join(", ")), "they say"),
    };
    let changed = "the file was changed after it was written";
    Some(format!("The {of} not sum up to what {says} is unexplained: {changed}."))
}
