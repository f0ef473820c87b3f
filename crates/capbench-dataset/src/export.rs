//! Writes runs into a dataset.
//!
//! Each table of a run is one file, which never changes afterwards. It is written in a folder next to the tables, where no reader
//! looks for data. When all files of the export are on the disk, each is moved to its partition. Nothing else is shared, so hosts export into one
//! dataset without waiting for each other. The same run always gives the same names and octets, so an export can be repeated.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use capbench_results::read::{self, Run};
use capbench_sys::host::folder::{FILE_MODE, Folder};
use capbench_sys::host::trust::Trust;

use crate::error::{DatasetError, Result};
use crate::layout::{self, Labels};
use crate::replaced;
use crate::run_id;
use crate::tables::{ExportedRun, TABLES, saved_host_id, trials};

/// The lock of exports: shared while files are written, exclusive while leftovers are removed.
const LOCK: &str = ".capbench-export.lock";
/// The folder of files that are not complete.
const UNFINISHED: &str = ".unfinished";
/// Files of results below a folder.
const RESULTS: &str = "results.json";
/// Where a campaign keeps the attempts of its runs that it repeated: they are no results.
const REPEATED: &str = "earlier";

/// What a search for runs found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The directories of runs, or files.
    pub runs: Vec<PathBuf>,
    /// Folders of attempts that a campaign repeated, which are left out.
    pub repeated: Vec<PathBuf>,
}

/// The runs in a folder and in those below it; a file or a run's directory is itself.
///
/// # Errors
/// A folder cannot be read, or there is no run.
pub fn runs_in(path: &Path) -> Result<Found> {
    let mut found = Found::default();
    if fs::metadata(path).map_err(|source| DatasetError::Unreadable(path.into(), source))?.is_dir() {
        below(path, &mut found)?;
    } else {
        found.runs.push(path.into());
    }
    if found.runs.is_empty() { Err(DatasetError::NoRuns(path.into())) } else { Ok(found) }
}

fn below(folder: &Path, found: &mut Found) -> Result<()> {
    if folder.join(RESULTS).is_file() {
        found.runs.push(folder.into());
        return Ok(());
    }
    let unreadable = |source| DatasetError::Unreadable(folder.into(), source);
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A symbolic link can lead back up.
        if !entry.file_type().map_err(unreadable)?.is_dir() {
            continue;
        }
        if entry.file_name() == REPEATED {
            found.repeated.push(entry.path());
        } else {
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

/// An export into a dataset. Dropping it before [`Export::finish`] removes what it wrote.
#[derive(Debug)]
pub struct Export {
    dataset: PathBuf,
    /// The dataset. In it no symbolic link is followed: others may have put it there.
    folder: Folder,
    labels: Labels,
    host_id: Option<String>,
    /// Where files are written.
    unfinished: Folder,
    unnamed: Vec<UnnamedFile>,
    /// Where each run was read, by its identifier: a second run of the same name would replace the first.
    added: BTreeMap<String, PathBuf>,
    done: Exported,
    /// Locked until the export ends.
    lock: File,
}

/// A file that is written and not in its partition.
#[derive(Debug)]
struct UnnamedFile {
    partition: PathBuf,
    temporary: OsString,
    name: String,
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
        let unfinished =
            folder.make_below(OsStr::new(UNFINISHED), &Trust::for_output()).map_err(unwritable)?;
        let mut done = Exported::default();
        // Another export that runs now may own such files.
        if lock.try_lock().is_ok() {
            done.leftovers = unfinished.remove_temporaries().map_err(unwritable)?;
        }
        lock.lock_shared().map_err(unwritable)?;
        Ok(Self {
            dataset: dataset.into(),
            folder,
            labels,
            host_id,
            unfinished,
            unnamed: Vec::new(),
            added: BTreeMap::new(),
            done,
            lock,
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
        if let Some(trial) = results.trials.iter().find(|trial| !trial.ledger_sums_up()) {
            return Err(DatasetError::Changed(path.into(), trial.number));
        }
        let id = run_id::of(results).map_err(|saved| DatasetError::RunId(path.into(), saved))?;
        let date = layout::date(results.started_unix_s);
        self.refuse_other_campaign(path, &id, &date)?;
        let source =
            fs::canonicalize(path).map_err(|source| DatasetError::Unreadable(path.into(), source))?;
        match self.added.get(&id) {
            // It was named twice.
            Some(added) if *added == source => return Ok(()),
            Some(added) => return Err(DatasetError::SameRun(path.into(), added.clone())),
            None => {}
        }
        let host_id = self.host_id.clone().or_else(|| saved_host_id(results));
        let exported = ExportedRun { id: id.clone(), host_id, results, labels: &self.labels.others };
        let name = layout::file_name(&id);
        let partition = layout::partition(trials::NAME, &self.labels.campaign, &date);
        replaced::check(path, &self.dataset.join(partition).join(&name), &exported)?;
        // All tables are made before one is written.
        let made = TABLES.iter().map(|table| Ok((table.name, (table.file)(&exported)?)));
        let made = made.collect::<Result<Vec<_>>>()?;
        for (table, content) in made {
            let partition = layout::partition(table, &self.labels.campaign, &date);
            self.write(partition, name.clone(), &content)?;
        }
        self.added.insert(id, source);
        self.done.runs += 1;
        self.done.trials += results.trials.len();
        Ok(())
    }

    /// Writes a file that is not yet in its partition.
    fn write(&mut self, partition: PathBuf, name: String, content: &[u8]) -> Result<()> {
        let unwritable = |source| DatasetError::Unwritable(self.dataset.join(&partition).join(&name), source);
        let written = self.unfinished.temporary(FILE_MODE).and_then(|temporary| temporary.with(content));
        let temporary = written.map_err(unwritable)?.keep();
        self.unnamed.push(UnnamedFile { partition, temporary, name });
        Ok(())
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

    fn wait_for_disk(&self) -> Result<()> {
        self.folder
            .sync_file_system()
            .map_err(|source| DatasetError::Unwritable(self.dataset.clone(), source))
    }

    fn make_partition(&self, partition: &Path) -> io::Result<Folder> {
        let trust = Trust::for_output();
        let mut names = partition.components().map(Component::as_os_str);
        let table = names.next().unwrap_or(partition.as_os_str());
        names.try_fold(self.folder.make_below(table, &trust)?, |folder, name| folder.make_below(name, &trust))
    }

    /// The folders of the files.
    fn partitions(&self) -> Result<BTreeMap<PathBuf, Folder>> {
        let mut folders = BTreeMap::new();
        for partition in self.unnamed.iter().map(|file| &file.partition) {
            if !folders.contains_key(partition) {
                let folder = self.make_partition(partition);
                let unwritable = |source| DatasetError::Unwritable(self.dataset.join(partition), source);
                folders.insert(partition.clone(), folder.map_err(unwritable)?);
            }
        }
        Ok(folders)
    }

    /// Waits until all files are on the disk, moves them to their partitions, and waits until they are there. With the file of its trials, named
    /// last, a run is in the dataset.
    ///
    /// # Errors
    /// A file cannot be named; those before it are in the dataset.
    pub fn finish(mut self) -> Result<Exported> {
        self.wait_for_disk()?;
        let is_of_trials = |file: &UnnamedFile| file.partition.starts_with(trials::NAME);
        // The next one is taken from the end.
        self.unnamed.sort_by_key(|file| !is_of_trials(file));
        let folders = self.partitions()?;
        while let Some(UnnamedFile { partition, temporary, name }) = self.unnamed.last() {
            let unwritable =
                |source| DatasetError::Unwritable(self.dataset.join(partition).join(name), source);
            let moved = self.unfinished.move_to(temporary, &folders[partition], OsStr::new(name));
            moved.map_err(unwritable)?;
            self.unnamed.pop();
        }
        self.wait_for_disk()?;
        Ok(self.done)
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        for file in &self.unnamed {
            // What stays is no data for any reader, and the next export removes it.
            let _ = self.unfinished.remove(&file.temporary);
        }
        // A process that another thread begins has the descriptor, too, until it runs its program: closing it unlocks nothing.
        let _ = self.lock.unlock();
    }
}
