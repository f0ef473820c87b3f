//! The directory of a run. Its results are rewritten after every trial, so that an interrupted run loses none, or up to a second of
//! short ones. A soak appends its segments to a separate file in that directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use capbench_judge::soak::segment::Segment;
use capbench_model::trial::TrialResult;
use capbench_sys::host::folder::{FILE_MODE, Folder};
use capbench_sys::host::trust::Trust;

use crate::error::{Result, ResultsError};
use crate::results::{Results, SCHEMA_VERSION, results_of};
use crate::segments;
use crate::trial_columns::trials_csv;

/// File name of the results in a run's directory.
const RESULTS: &str = "results.json";
/// File name of the table of trials in a run's directory.
const TRIALS: &str = "trials.csv";

/// A run's directory. It remains the same directory even if its path later points elsewhere.
#[derive(Debug)]
pub struct RunDirectory {
    folder: Folder,
    /// Octets of `results.json`, once this run has written it.
    results_octets: Option<u64>,
    /// The segments of a soak since the last save; `None` if there are none.
    segments: Option<Segments>,
}

/// The open file of segments.
#[derive(Debug)]
struct Segments {
    file: File,
    /// Its length.
    octets: u64,
}

/// The results are rewritten when the new segments exceed both this size and the size of the results. So all writes together are
/// up to twice the size of the segments.
const LEAST_OCTETS_OF_SEGMENTS: u64 = 1 << 20;

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
        Ok(Self { folder, results_octets: None, segments: None })
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
        Ok((Self { folder, results_octets: Some(text.len() as u64), segments: None }, results))
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
        // The results now contain these segments. A kill before this removal does no harm: readers skip them by their numbers.
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

    /// Appends the segment; returns what [`RunDirectory::append`] does.
    fn append_line(&mut self, segment: &Segment) -> io::Result<bool> {
        let mut line = serde_json::to_vec(segment)?;
        line.push(b'\n');
        let segments = match &mut self.segments {
            Some(segments) => segments,
            absent => {
                let file = self.folder.create_file(OsStr::new(segments::FILE), FILE_MODE)?;
                // The new name is on the disk, too.
                self.folder.sync()?;
                absent.insert(Segments { file, octets: 0 })
            }
        };
        segments.file.write_all(&line)?;
        segments.file.sync_data()?;
        segments.octets += line.len() as u64;
        Ok(segments.octets >= self.results_octets.unwrap_or(0).max(LEAST_OCTETS_OF_SEGMENTS))
    }

    /// Writes the results. This run replaces those that it wrote before; if it wrote none, there must not be any.
    fn save_text(&mut self, text: &[u8]) -> io::Result<()> {
        let name = OsStr::new(RESULTS);
        let octets = Some(text.len() as u64);
        if self.results_octets.is_some() {
            self.results_octets = octets;
            return self.folder.replace(name, text);
        }
        match self.folder.temporary(FILE_MODE)?.with(text)?.publish_new(name) {
            Ok(()) => {
                self.results_octets = octets;
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use capbench_testing::Scratch;

    use super::RunDirectory;

    #[test]
    fn a_directory_with_a_file_is_refused() {
        let scratch = Scratch::new();
        let path = scratch.file("run");
        RunDirectory::create(&path).unwrap();
        fs::write(path.join("mine"), "x").unwrap();
        let text = RunDirectory::create(&path).unwrap_err().to_string();
        assert!(text.contains("not empty"), "{text}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_refused() {
        assert!(RunDirectory::create(Path::new("/proc/nothing")).is_err());
    }

    #[test]
    fn of_two_runs_in_one_directory_the_first_to_save_owns_it() {
        let scratch = Scratch::new();
        let mut first = RunDirectory::create(scratch.path()).unwrap();
        let mut second = RunDirectory::create(scratch.path()).unwrap();
        first.save_text(b"first").unwrap();
        let text = second.save_text(b"second").unwrap_err().to_string();
        assert!(text.contains("another run saves"), "{text}");
        first.save_text(b"first again").unwrap();
        assert_eq!(fs::read(scratch.path().join("results.json")).unwrap(), b"first again");
        assert_eq!(first.folder().names().unwrap(), ["results.json"], "the second left no file behind");
    }

    #[test]
    fn results_follow_no_link_that_takes_the_place_of_their_directory() {
        let scratch = Scratch::new();
        let [run, moved, attacker, victim] =
            ["run", "moved", "attacker", "victim"].map(|name| scratch.path().join(name));
        let mut directory = RunDirectory::create(&run).unwrap();
        fs::write(&victim, "secret").unwrap();
        fs::create_dir(&attacker).unwrap();
        for file in ["results.part", "results.json"] {
            symlink(&victim, attacker.join(file)).unwrap();
        }
        fs::rename(&run, &moved).unwrap();
        symlink(&attacker, &run).unwrap();
        directory.save_text(b"{}").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"secret");
        assert_eq!(fs::read(moved.join("results.json")).unwrap(), b"{}");
    }
}
