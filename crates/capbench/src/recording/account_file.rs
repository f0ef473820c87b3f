//! The account of a recording next to its classic pcap files, which have no room for it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use capbench_record::file::FileFormat;
use capbench_record::recording::Plan;
use capbench_record::writing::{CONFINED, WriteOptions};
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;

/// Where the account is written.
#[derive(Debug)]
pub struct AccountFile {
    /// Its name. `None` with a pattern of strftime(3): the account is then named after the first file, because the pattern may
    /// have added a number, and the account of an earlier recording must stay.
    path: Option<PathBuf>,
    /// Its folder, opened before privileges are dropped, so that nobody can replace it by a link. `None` if it does not exist yet,
    /// which the recording reports, or each time can have another folder.
    folder: Option<Folder>,
}

impl AccountFile {
    /// The file of a recording; `None` if it needs none, or writes to a pipe or a device.
    pub fn for_plan(plan: &Plan) -> Option<Self> {
        let WriteOptions { path, rotation, .. } = &plan.write;
        let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
        if plan.format != FileFormat::Pcap || plan.write.is_standard_output() || is_special {
            return None;
        }
        if rotation.seconds.is_some() {
            return Some(Self { path: None, folder: None });
        }
        let path = named_after(path);
        let folder = Folder::of_file(&path, &Trust::everybody()).ok().map(|(folder, _)| folder);
        Some(Self { path: Some(path), folder })
    }

    /// Writes the account, with the permissions of the captures. `first` is the first of these; without one a pattern has produced
    /// no file, and there is no account.
    pub fn write(&self, text: &str, first: Option<&Path>, options: &WriteOptions) -> Result<()> {
        let Some(path) = self.path.clone().or_else(|| first.map(named_after)) else { return Ok(()) };
        self.replace(&path, text, options).map_err(|error| {
            let hint =
                if error.kind() == ErrorKind::PermissionDenied { &["; ", CONFINED].concat() } else { "" };
            anyhow!("cannot write {}: {error}{hint}", path.display())
        })
    }

    fn replace(&self, path: &Path, text: &str, options: &WriteOptions) -> io::Result<()> {
        let opened;
        let (folder, name) = match &self.folder {
            Some(folder) => (folder, path.file_name().unwrap_or_default()),
            None => {
                opened = Folder::of_file(path, &Trust::everybody())?;
                (&opened.0, opened.1)
            }
        };
        let mut account = folder.temporary(0o600)?;
        options.equip(account.file())?;
        account.with(text.as_bytes())?.replace(name)
    }
}

/// The name of the account of a capture file.
fn named_after(file: &Path) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(".ledger.json");
    name.into()
}
