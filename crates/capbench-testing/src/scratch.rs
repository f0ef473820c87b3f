//! Folders that tests write into. Nobody else can look into them or guess their names.

use std::fs::{self, Permissions};
use std::io::Write;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

/// An empty folder with mode 0700, removed with what is in it when it is dropped.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// A folder below that of temporary files.
    ///
    /// # Panics
    /// Where it cannot be made.
    #[allow(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// A folder below another one.
    ///
    /// # Panics
    /// Where it cannot be made.
    pub fn below(folder: &Path) -> Self {
        let only_of_user = Permissions::from_mode(0o700);
        Self(Builder::new().prefix("capbench-test-").permissions(only_of_user).tempdir_in(folder).unwrap())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it, which need not exist.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Names of what is in it, sorted.
    ///
    /// # Panics
    /// Where it cannot be read.
    pub fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.path()
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

/// A file with these octets in it, removed when it is dropped.
///
/// # Panics
/// Where it cannot be made.
pub fn scratch_file(octets: &[u8]) -> NamedTempFile {
    let mut file = Builder::new().prefix("capbench-test-").tempfile().unwrap();
    file.write_all(octets).unwrap();
    file
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::Scratch;

    #[test]
    fn a_folder_is_its_users_alone_and_gone_afterwards() {
        let folder = Scratch::new();
        assert_eq!(folder.metadata().unwrap().mode() & 0o7777, 0o700);
        std::fs::write(folder.file("kept"), "").unwrap();
        let inner = Scratch::below(&folder);
        assert_eq!((folder.entries().len(), inner.entries().len()), (2, 0));
        let path = folder.path().to_owned();
        drop((inner, folder));
        assert!(!path.exists());
    }
}
