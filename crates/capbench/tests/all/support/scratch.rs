//! Folders that tests write into.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::HOST;
use capbench_testing::network::program;

/// The user nobody, an ordinary user on every host.
pub const NOBODY: u32 = 65_534;

/// An empty folder of the tests' user alone, removed with what is in it when it is dropped.
pub struct Scratch(capbench_testing::Scratch);

impl Scratch {
    /// A folder of the tests' user.
    pub fn new() -> Self {
        Self(capbench_testing::Scratch::new())
    }

    /// A folder that belongs to nobody.
    pub fn of_nobody() -> Self {
        let folder = Self::new();
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        folder
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.file(name)
    }

    /// Names of what is in it.
    pub fn entries(&self) -> Vec<String> {
        self.0.entries()
    }

    /// A copy of the program. Another process makes it: a child that a test of another thread starts meanwhile would inherit the
    /// file open for writing, and then nobody can execute it (`ETXTBSY`).
    pub fn copy_of_capbench(&self, name: &str) -> PathBuf {
        let copy = self.file(name);
        let source = env!("CARGO_BIN_EXE_capbench");
        super::run(HOST, program("install -m 755").args([source.as_ref(), copy.as_os_str()])).success();
        copy
    }

    /// `capbench` as nobody without any capability, started in `home`. This folder holds a copy of the program, since
    /// nobody may not look into every build folder.
    pub fn capbench_of_nobody(&self, home: &Self) -> Command {
        let mut copy = self.file("capbench");
        if !copy.exists() {
            copy = self.copy_of_capbench("capbench");
            fs::set_permissions(self.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = program("setpriv --reuid 65534 --regid 65534 --clear-groups");
        command.arg(copy).current_dir(home.path()).env("HOME", home.path());
        command
    }
}

/// A file system of its own, in memory, taken away when the test ends.
pub struct Tmpfs(pub Scratch);

impl Tmpfs {
    /// Of a size as mount(8) understands it.
    pub fn new(size: &str) -> Self {
        let folder = Scratch::new();
        super::run(
            HOST,
            program("mount")
                .args(["-t", "tmpfs", "-o", &format!("size={size}"), "capbench-test"])
                .arg(folder.path()),
        )
        .success();
        Self(folder)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}
