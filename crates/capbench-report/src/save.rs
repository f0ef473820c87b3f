//! The files of a report.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use capbench_measure::results::Results;

use crate::error::{ReportError, Result};
use crate::formats::{Format, Source, Written, html};
use crate::read::Run;
use crate::report::report;

/// The page that a run has in its directory.
pub const PAGE: &str = "report.html";

/// Writes the page of a run that has just ended into its directory, and returns its path.
///
/// # Errors
/// When it cannot be made or written; the results are saved by then.
pub fn page(results: &Results, directory: &Path) -> Result<PathBuf> {
    let report = report(&Run::new(results.clone(), directory))?;
    let path = directory.join(PAGE);
    replace(&path, html::html(&report).as_bytes())?;
    Ok(path)
}

/// The files of a run's report in these formats; nothing is written yet.
///
/// # Errors
/// When one of them cannot be made, or this build does not have it.
pub fn files(run: &Run, formats: &[&Format]) -> Result<Vec<Written>> {
    let report = report(run)?;
    let with_charts = formats.iter().any(|format| format.name == "svg");
    let source = Source { run, report: &report, with_charts };
    let mut files = Vec::new();
    for format in formats {
        let Some(write) = format.write else {
            return Err(ReportError::Format {
                format: format.name,
                reason: format!("this capbench was built without the feature {}", format.name),
            });
        };
        files.extend(write(&source)?);
    }
    Ok(files)
}

/// Writes files below a folder, which is made, and returns their paths. A reader sees an old or a new file, never a part.
///
/// # Errors
/// When one cannot be written; those before it are.
pub fn write(files: &[Written], folder: &Path) -> Result<Vec<PathBuf>> {
    files
        .iter()
        .map(|file| {
            let path = folder.join(&file.path);
            replace(&path, &file.content)?;
            Ok(path)
        })
        .collect()
}

fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create(&part)?;
        file.write_all(content)?;
        drop(file);
        fs::rename(&part, path)
    };
    write().map_err(|source| ReportError::Unwritable { path: path.into(), source })
}
