//! The file for node_exporter's textfile collector. It appears under its name only when it is whole.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;

use crate::error::{MetricsError, Result};
use crate::series::{Form, Metrics};

/// Everybody may read it: node_exporter runs as a user of its own.
const MODE: u32 = 0o644;

/// A file `capbench_COMMAND_INTERFACE.prom` in a folder that is open.
#[derive(Debug)]
pub struct Textfile {
    folder: Folder,
    path: PathBuf,
    name: OsString,
    /// The name while it is written. The collector reads only names that end with `.prom`.
    part: OsString,
    metrics: Metrics,
}

impl Textfile {
    /// Opens the folder. node_exporter refuses two files with the same series, so each one here has the labels `command` and
    /// `file`, the interface of the file's name.
    ///
    /// # Errors
    /// The folder is missing, or a file cannot be made in it.
    pub fn open(folder: &Path, command: &str, interface: &str, metrics: &Metrics) -> Result<Self> {
        let safe = |letter: char| {
            if letter.is_ascii_alphanumeric() || "-_.@".contains(letter) { letter } else { '-' }
        };
        let interface: String = interface.chars().map(safe).collect();
        let name = format!("capbench_{command}_{interface}.prom");
        let path = folder.join(&name);
        let failed = |source| MetricsError::Textfile { path: path.clone(), source };
        let common = vec![("command", command.into()), ("file", interface)];
        let textfile = Self {
            folder: Folder::open(folder, &Trust::everybody()).map_err(failed)?,
            part: format!(".{name}.part").into(),
            name: name.into(),
            path: path.clone(),
            metrics: metrics.with_common(common),
        };
        textfile.write()?;
        Ok(textfile)
    }

    /// Replaces the file. It is not synced: after a power loss nobody asks for it.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write(&self) -> Result<()> {
        self.replace().map_err(|source| MetricsError::Textfile { path: self.path.clone(), source })
    }

    fn replace(&self) -> io::Result<()> {
        // One of a process that was killed.
        missing_is_fine(self.folder.remove(&self.part))?;
        let mut file = self.folder.create_file(&self.part, MODE)?;
        // The umask may have taken rights away.
        file.set_permissions(Permissions::from_mode(MODE))?;
        file.write_all(self.metrics.text(Form::Prometheus).as_bytes())?;
        self.folder.rename(&self.part, &self.name)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The system's reason.
    pub fn remove(&self) -> Result<()> {
        missing_is_fine(self.folder.remove(&self.name))
            .map_err(|source| MetricsError::Textfile { path: self.path.clone(), source })
    }
}

fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Family;
    use capbench_testing::Scratch;

    #[test]
    fn the_file_is_whole_readable_and_gone_at_the_end() {
        let folder = Scratch::new();
        let metrics = Metrics::new("1.2.3");
        let file = Textfile::open(folder.path(), "why", "eth0/../x", &metrics).unwrap();
        let path = folder.file("capbench_why_eth0-..-x.prom");
        metrics.add(Family::Received, vec![("interface", "eth0".into())], 7);
        file.write().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(
                "capbench_received_frames_total{command=\"why\",file=\"eth0-..-x\",interface=\"eth0\"} 7\n"
            ),
            "{text}"
        );
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        file.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Textfile::open(Path::new("/no/such"), "why", "any", &Metrics::new("1")).unwrap_err();
        assert!(
            error.to_string().contains("--textfile: cannot write /no/such/capbench_why_any.prom"),
            "{error}"
        );
    }
}
