//! The files of a report.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use capbench_results::RunDirectory;
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;

use crate::error::{ReportError, Result};
use crate::formats::{Format, Source, Written, html};
use crate::model::Report;
use crate::report::report;
use capbench_results::read::Run;

/// The page in a run's directory.
pub const PAGE: &str = "report.html";

/// Writes the page of a run that just ended into its directory, and returns its path.
///
/// # Errors
/// The page cannot be written; the results are already saved.
pub fn page(report: &Report, directory: &RunDirectory) -> Result<PathBuf> {
    let path = directory.path().join(PAGE);
    let saved = directory.folder().replace(OsStr::new(PAGE), html::html(report).as_bytes());
    saved.map_err(|source| ReportError::Unwritable(path.clone(), source))?;
    Ok(path)
}

/// The files of a run's report in these formats. Nothing is written yet.
///
/// # Errors
/// One of them cannot be made.
pub fn files(run: &Run, formats: &[&Format]) -> Result<Vec<Written>> {
    files_of(&report(run), slice::from_ref(run), formats)
}

/// The files of a report on these runs.
///
/// # Errors
/// Like [`files`].
pub fn files_of(report: &Report, runs: &[Run], formats: &[&Format]) -> Result<Vec<Written>> {
    // Drawings take long, and no other format needs them before it is written.
    let with_charts = formats.iter().any(|format| format.name == "svg");
    let source = Source { runs, report, with_charts };
    let mut files = Vec::new();
    for format in formats {
        files.extend((format.write)(&source)?);
    }
    Ok(files)
}

/// Writes files into a folder, which is made for the first of them, and returns their paths. A reader sees an old or a new file, never a
/// part.
///
/// # Errors
/// A file cannot be written; the ones before it are written. For root this includes a folder that another user controls.
pub fn write(files: &[Written], folder: &Path) -> Result<Vec<PathBuf>> {
    let trust = Trust::for_output();
    let mut paths = Vec::new();
    for file in files {
        let path = folder.join(&file.path);
        match write_file(file, folder, &trust) {
            Ok(()) => paths.push(path),
            Err(source) => return Err(ReportError::Unwritable(path, source)),
        }
    }
    Ok(paths)
}

/// Writes a file below a folder, and makes the folders that its path names.
fn write_file(file: &Written, folder: &Path, trust: &Trust) -> io::Result<()> {
    let subfolder = file.path.parent().unwrap_or(Path::new(""));
    let name = file.path.file_name().unwrap_or_default();
    Folder::create(&folder.join(subfolder), trust)?.replace(name, &file.content)
}
