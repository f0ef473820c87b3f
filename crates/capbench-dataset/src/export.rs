//! Writes runs into a dataset.
//!
//! Each table of a run is one file, which never changes afterwards. It is written under a name that no reader takes for data, and
//! renamed in the same folder when it is complete. Nothing else is shared, so hosts export into one dataset without waiting for
//! each other. The same run always gives the same names and octets, so an export can be repeated.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use capbench_report::read::{self, Run};
use capbench_sys::host::folder::{FILE_MODE, Folder};
use capbench_sys::host::trust::Trust;

use crate::error::{DatasetError, Result};
use crate::layout::{self, Labels};
use crate::run_id;
use crate::tables::{ExportedRun, TABLES, saved_host_id, trials};

/// Runs whose files are renamed together, after one wait for the disk.
const BATCH: usize = 64;
/// The lock of exports: shared while files are written, exclusive while leftovers are removed.
const LOCK: &str = ".capbench-export.lock";
/// Files of results below a folder.
const RESULTS: &str = "results.json";

/// The runs in a folder and in those below it; a file or a run's directory is itself.
///
/// # Errors
/// A folder cannot be read, or there is no run.
pub fn runs_in(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if fs::metadata(path).map_err(|source| DatasetError::Unreadable(path.into(), source))?.is_dir() {
        below(path, &mut found)?;
    } else {
        found.push(path.into());
    }
    if found.is_empty() { Err(DatasetError::NoRuns(path.into())) } else { Ok(found) }
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join(RESULTS).is_file() {
        found.push(folder.into());
        return Ok(());
    }
    let unreadable = |source| DatasetError::Unreadable(folder.into(), source);
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A symbolic link can lead back up.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    folders.iter().try_for_each(|folder| below(folder, found))
}

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Runs.
    pub runs: usize,
    /// Trials that are results.
    pub trials: usize,
    /// Files of killed exports that were removed.
    pub leftovers: usize,
}

/// An export into a dataset.
#[derive(Debug)]
pub struct Export {
    dataset: PathBuf,
    labels: Labels,
    host_id: Option<String>,
    pending: Vec<PendingFile>,
    pending_runs: usize,
    done: Exported,
    /// Held until the export ends.
    _lock: File,
}

/// A file that is not written yet.
#[derive(Debug)]
struct PendingFile {
    partition: PathBuf,
    name: String,
    content: Vec<u8>,
    is_last_of_run: bool,
}

impl Export {
    /// Opens a dataset, or creates it, and removes what killed exports left. `host_id` replaces the saved identifier of hosts.
    ///
    /// # Errors
    /// The folder cannot be created or read. For root this includes a folder that another user controls.
    pub fn open(dataset: &Path, labels: Labels, host_id: Option<String>) -> Result<Self> {
        let unwritable = |source| DatasetError::Unwritable(dataset.into(), source);
        let folder = Folder::create(dataset, &Trust::for_output()).map_err(unwritable)?;
        let lock = folder.open_lock_file(OsStr::new(LOCK)).map_err(unwritable)?;
        let mut done = Exported::default();
        // Another export that runs now may own such files.
        if lock.try_lock().is_ok() {
            done.leftovers = remove_leftovers(dataset)?;
        }
        lock.lock_shared().map_err(unwritable)?;
        Ok(Self {
            dataset: dataset.into(),
            labels,
            host_id,
            pending: Vec::new(),
            pending_runs: 0,
            done,
            _lock: lock,
        })
    }

    /// Adds a saved run, and returns the problems of its file. It is in the dataset after [`Export::finish`].
    ///
    /// # Errors
    /// The run cannot be read or exported; others still can.
    pub fn add(&mut self, path: &Path) -> Result<Vec<String>> {
        let run = read::read(path)?;
        self.add_run(&run, path)?;
        Ok(run.warnings)
    }

    fn add_run(&mut self, run: &Run, path: &Path) -> Result<()> {
        let results = &run.results;
        let id = run_id::of(results).map_err(|saved| DatasetError::RunId(path.into(), saved))?;
        let date = layout::date(results.started_unix_s);
        self.refuse_other_campaign(path, &id, &date)?;
        let host_id = self.host_id.clone().or_else(|| saved_host_id(results));
        let exported = ExportedRun { id, host_id, results, labels: &self.labels.others };
        let mut files = Vec::new();
        for table in &TABLES {
            let is_last_of_run = table.name == trials::NAME;
            files.push(PendingFile {
                partition: layout::partition(table.name, &self.labels.campaign, &date),
                name: layout::file_name(&exported.id),
                content: (table.file)(&exported)?,
                is_last_of_run,
            });
        }
        self.pending.extend(files);
        self.pending_runs += 1;
        self.done.runs += 1;
        self.done.trials += results.trials.len();
        if self.pending_runs >= BATCH { self.publish() } else { Ok(()) }
    }

    /// The same run in two campaigns would count twice.
    fn refuse_other_campaign(&self, path: &Path, id: &str, date: &str) -> Result<()> {
        let campaigns = layout::campaigns(&self.dataset, trials::NAME)?;
        for campaign in campaigns.into_iter().filter(|campaign| *campaign != self.labels.campaign) {
            let partition = layout::partition(trials::NAME, &campaign, date);
            let file = self.dataset.join(partition).join(layout::file_name(id));
            if file.exists() {
                return Err(DatasetError::OtherCampaign(path.into(), campaign, file));
            }
        }
        Ok(())
    }

    /// Writes what is pending: all files, then one wait for the disk, then all names.
    fn publish(&mut self) -> Result<()> {
        self.pending_runs = 0;
        let files = std::mem::take(&mut self.pending);
        let trust = Trust::for_output();
        let mut folders: BTreeMap<&Path, Folder> = BTreeMap::new();
        for file in &files {
            if !folders.contains_key(file.partition.as_path()) {
                let path = self.dataset.join(&file.partition);
                let folder = Folder::create(&path, &trust);
                folders.insert(&file.partition, folder.map_err(|source| DatasetError::Unwritable(path, source))?);
            }
        }
        let failed = |file: &PendingFile, source: io::Error| {
            DatasetError::Unwritable(self.dataset.join(&file.partition).join(&file.name), source)
        };
        let mut written = Vec::new();
        for file in &files {
            let folder = &folders[file.partition.as_path()];
            let temporary = folder.temporary(FILE_MODE).and_then(|temporary| temporary.with(&file.content));
            written.push((file, temporary.map_err(|source| failed(file, source))?));
        }
        self.wait_for_disk()?;
        // With the file of its trials, the last one, a run is in the dataset.
        written.sort_by_key(|(file, _)| file.is_last_of_run);
        for (file, temporary) in written {
            temporary.name_synced(OsStr::new(&file.name)).map_err(|source| failed(file, source))?;
        }
        Ok(())
    }

    fn wait_for_disk(&self) -> Result<()> {
        let unwritable = |source| DatasetError::Unwritable(self.dataset.clone(), source);
        Folder::open(&self.dataset, &Trust::for_output()).and_then(|folder| folder.sync_file_system()).map_err(unwritable)
    }

    /// Writes the rest, waits until all names are on the disk, and returns what was exported.
    ///
    /// # Errors
    /// A file cannot be written; the runs before it may be in the dataset.
    pub fn finish(mut self) -> Result<Exported> {
        self.publish()?;
        self.wait_for_disk()?;
        Ok(self.done)
    }
}

/// Removes files that killed exports were writing.
fn remove_leftovers(dataset: &Path) -> Result<usize> {
    let mut removed = 0;
    for table in &TABLES {
        for (_, _, folder) in layout::partitions(dataset, table.name)? {
            let failed = |source| DatasetError::Unwritable(folder.clone(), source);
            let opened = Folder::open(&folder, &Trust::for_output()).map_err(failed)?;
            removed += opened.remove_temporaries().map_err(failed)?;
        }
    }
    Ok(removed)
}
