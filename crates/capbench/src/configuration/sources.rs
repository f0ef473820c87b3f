//! The files and variables that have settings.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::{self, Trust};

use super::settable::PREFIX;
use crate::exit::Usage;

/// The host's settings.
const HOST: &str = "/etc/capbench";

/// Where settings are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Folders with files `*.toml`; later ones win.
    pub folders: Vec<PathBuf>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl Sources {
    /// The host's folder, the user's folder (XDG Base Directory Specification), and this process's environment.
    pub fn of_process() -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let user = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        let folders = std::iter::once(HOST.into()).chain(user.map(|folder| folder.join("capbench")));
        Self { folders: folders.collect(), environment: std::env::vars_os().collect() }
    }

    /// The files in their order, with their text.
    ///
    /// # Errors
    /// A file that cannot be read, is too long, or is under the control of others when root reads it.
    pub(super) fn files(&self) -> Result<Vec<(String, String)>, Usage> {
        let mut files = Vec::new();
        for folder in &self.folders {
            for path in names(folder).map_err(|error| refusal(folder, &error))? {
                let text = Trust::for_settings()
                    .read_text(&path, trust::LONGEST)
                    .map_err(|error| refusal(&path, &error))?;
                files.push((path.display().to_string(), text));
            }
        }
        Ok(files)
    }

    /// The variables that begin as settings do, by name.
    pub(super) fn variables(&self) -> Vec<(String, OsString)> {
        let own = self.environment.iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| name.starts_with(PREFIX))?;
            Some((name.to_string(), value.clone()))
        });
        let mut variables: Vec<_> = own.collect();
        variables.sort();
        variables
    }
}

/// The files of a folder in the order of their names. None if there is no such folder, or this user may not look for it.
fn names(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::metadata(folder) {
        // A home of somebody else: HOME is kept by some ways to become another user.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        found => found?,
    };
    let trust = Trust::for_settings();
    let opened = Folder::open(folder, &trust)?;
    // In a shared folder, any user could stop root's commands by a file of theirs.
    opened.check_not_shared(&trust)?;
    let mut names = opened.names()?;
    let is_setting = |name: &OsString| {
        Path::new(name).extension() == Some(OsStr::new("toml")) && !name.to_string_lossy().starts_with('.')
    };
    names.retain(is_setting);
    names.sort();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn refusal(path: &Path, error: &io::Error) -> Usage {
    use capbench_sys::host::trust::Untrusted;
    let is_untrusted = error.get_ref().is_some_and(|inner| inner.is::<Untrusted>());
    let next = if is_untrusted {
        "; as root, capbench uses only settings that root alone can write: change its owner and mode, or XDG_CONFIG_HOME"
    } else {
        ""
    };
    Usage(format!("cannot use the settings of {}: {error}{next}", path.display()))
}
