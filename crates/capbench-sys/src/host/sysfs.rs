//! sysfs of the calling thread's network namespace.
//!
//! The mounted `/sys` shows the interfaces of the namespace in which it was mounted, not of a thread's current one. So this
//! module makes a second sysfs for the current namespace, which no directory shows. It exists only as a descriptor
//! (fsopen(2), fsmount(2); Linux 5.2) and ends with it.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::namespace::NetNamespace;
use crate::error::named;
use crate::{Result, SysError};

/// A private view of sysfs. Paths are relative to its root, for example `class/net/lo/mtu`.
#[derive(Debug)]
pub struct SysfsView {
    root: OwnedFd,
}

/// The view of a process that gives up CAP_SYS_ADMIN, and the inode of its namespace.
static KEPT: OnceLock<(u64, SysfsView)> = OnceLock::new();

impl SysfsView {
    /// Keeps a view of the calling thread's current network namespace until the process ends: from then on,
    /// [`SysfsView::of_current_namespace`] needs no privilege there.
    ///
    /// # Errors
    /// As for [`SysfsView::of_current_namespace`].
    pub fn keep_of_current_namespace() -> Result<&'static Self> {
        let namespace = NetNamespace::current()?;
        if KEPT.get().is_none() {
            let view = Self::of_current_namespace()?;
            // Another thread may have been faster.
            let _ = KEPT.set((namespace.inode(), view));
        }
        match KEPT.get() {
            Some((inode, view)) if *inode == namespace.inode() => Ok(view),
            _ => Err(SysError::argument("sysfs", "the process keeps a view of another network namespace")),
        }
    }

    /// A view of the calling thread's current network namespace; it stays with that namespace.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN over the mount and the network namespace, or in a container with a partly hidden `/sys`.
    pub fn of_current_namespace() -> Result<Self> {
        if let Some((inode, kept)) = KEPT.get()
            && NetNamespace::current()?.inode() == *inode
        {
            return Ok(Self { root: named(kept.root.try_clone(), || "dup(sysfs)".into())? });
        }
        let context = named(fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC), || "fsopen(sysfs)".into())?;
        named(fsconfig_create(&context), || "fsconfig(sysfs, create)".into())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes);
        Ok(Self { root: named(root, || "fsmount(sysfs)".into())? })
    }

    /// The file `path`, open for repeated reading: each read from its start returns the current content.
    pub fn file(&self, path: &str) -> Result<File> {
        self.open(path, OFlags::RDONLY)
    }

    /// The text of the file `path`, without the final line break.
    pub fn read(&self, path: &str) -> Result<String> {
        let text = std::io::read_to_string(self.file(path)?);
        Ok(named(text, || format!("read(sysfs {path})"))?.trim_end().to_owned())
    }

    /// Writes `text` to the file `path` in one write, as sysfs requires.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let written = self.open(path, OFlags::WRONLY)?.write_all(text.as_bytes());
        named(written, || format!("write(sysfs {path}, {text:?})"))
    }

    /// The names in the directory `path`, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<String>> {
        let directory = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let what = || format!("readdir(sysfs {path})");
        let mut names = Vec::new();
        for entry in named(Dir::new(directory), what)? {
            let name = named(entry, what)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn open(&self, path: &str, flags: OFlags) -> Result<File> {
        let what = || format!("open(sysfs {path})");
        if path.starts_with('/') {
            return Err(SysError::argument(what(), "the path must be relative to the root of sysfs"));
        }
        named(openat(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty()), what).map(File::from)
    }
}

impl AsFd for SysfsView {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::namespace;

    #[test]
    fn root_a_view_shows_the_namespace_of_its_thread() {
        std::thread::spawn(|| {
            if let Err(error) = namespace::unshare_net() {
                assert_eq!(error.errno(), Some(libc::EPERM), "{error}");
                return capbench_testing::missing(error);
            }
            let view = SysfsView::of_current_namespace().unwrap();
            assert_eq!(view.list("class/net").unwrap(), ["lo"]);
            assert_eq!(view.read("class/net/lo/ifindex").unwrap(), "1");
            assert!(
                view.read("class/net/eth0/ifindex")
                    .unwrap_err()
                    .to_string()
                    .contains("class/net/eth0/ifindex")
            );
            view.write("class/net/lo/tx_queue_len", "999").unwrap();
            assert_eq!(view.read("class/net/lo/tx_queue_len").unwrap(), "999");
            assert!(view.read("/class/net").is_err() && view.read("a\0b").is_err());
        })
        .join()
        .unwrap();
    }
}
