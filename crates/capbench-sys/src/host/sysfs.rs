//! sysfs as the network namespace of the calling thread sees it.
//!
//! The `/sys` that a process finds mounted shows the interfaces of the namespace in which it was mounted, not of the one
//! a thread is in. So a second sysfs is made for the current namespace and never attached to a directory: it exists
//! only as a descriptor (fsopen(2), fsmount(2); Linux 5.2) and ends with it.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::check;
use crate::{Result, SysError};

// linux/mount.h; the libc crate does not have them.
const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
const MOUNT_ATTR_NOSUID_NODEV_NOEXEC: libc::c_uint = 0x2 | 0x4 | 0x8;

/// A private view of sysfs. Paths are relative to its root, for example `class/net/lo/mtu`.
#[derive(Debug)]
pub struct SysfsView {
    root: OwnedFd,
}

impl SysfsView {
    /// A view for the network namespace that the calling thread is in now; it stays with that namespace.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN over the mount and the network namespace, or in a container whose own `/sys` is
    /// partly hidden.
    pub fn of_current_namespace() -> Result<Self> {
        // SAFETY: fsopen(2) reads a NUL-terminated string, which the literal is, and takes flags.
        let context = unsafe { libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), FSOPEN_CLOEXEC) };
        let context = owned(context, "fsopen(sysfs)")?;
        let none = std::ptr::null::<libc::c_char>();
        // SAFETY: fsconfig(2) with FSCONFIG_CMD_CREATE wants no key, no value and 0, and `context` is open.
        let created = unsafe {
            libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0)
        };
        check(created as libc::c_int, || "fsconfig(sysfs, create)".into())?;
        // SAFETY: fsmount(2) takes a descriptor, which `context` keeps open, and two words of flags.
        let root = unsafe {
            libc::syscall(
                libc::SYS_fsmount,
                context.as_raw_fd(),
                FSMOUNT_CLOEXEC,
                MOUNT_ATTR_NOSUID_NODEV_NOEXEC,
            )
        };
        Ok(Self { root: owned(root, "fsmount(sysfs)")? })
    }

    /// The file `path`, open to be read again and again: each read from its beginning shows what is so then.
    ///
    /// # Errors
    /// `ENOENT` where there is no such file.
    pub fn file(&self, path: &str) -> Result<File> {
        self.open(path, libc::O_RDONLY)
    }

    /// The text of the file `path`, without the final line break.
    pub fn read(&self, path: &str) -> Result<String> {
        let mut text = String::new();
        self.open(path, libc::O_RDONLY)?
            .read_to_string(&mut text)
            .map_err(|source| SysError::Call { what: format!("read(sysfs {path})"), source })?;
        Ok(text.trim_end().to_owned())
    }

    /// Writes `text` to the file `path`, in one write as sysfs demands.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        self.open(path, libc::O_WRONLY)?
            .write_all(text.as_bytes())
            .map_err(|source| SysError::Call { what: format!("write(sysfs {path}, {text:?})"), source })
    }

    /// The names in the directory `path`, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<String>> {
        let directory = self.open(path, libc::O_RDONLY | libc::O_DIRECTORY)?;
        let failed = |source| SysError::Call { what: format!("readdir(sysfs {path})"), source };
        // The descriptor's link in procfs leads into the unattached mount, where no path of its own does.
        let entries =
            std::fs::read_dir(format!("/proc/thread-self/fd/{}", directory.as_raw_fd())).map_err(failed)?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn open(&self, path: &str, flags: libc::c_int) -> Result<File> {
        let what = || format!("open(sysfs {path})");
        if path.starts_with('/') {
            return Err(SysError::argument(what(), "the path must be relative to the root of sysfs"));
        }
        let text = CString::new(path).map_err(|_| SysError::argument(what(), "the path contains a NUL"))?;
        // SAFETY: openat(2) reads a NUL-terminated string, which `text` is; `self.root` is open. Without O_CREAT
        // there is no third argument.
        let code = unsafe { libc::openat(self.root.as_raw_fd(), text.as_ptr(), flags | libc::O_CLOEXEC) };
        owned(code.into(), &what()).map(File::from)
    }
}

impl AsFd for SysfsView {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

/// The descriptor that a system call returned, or its error.
fn owned(code: libc::c_long, what: &str) -> Result<OwnedFd> {
    let descriptor = check(code as libc::c_int, || what.to_owned())?;
    // SAFETY: the call has just returned this descriptor, so that it is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
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
