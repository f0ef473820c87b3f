//! Network and user namespaces: namespaces(7), network_namespaces(7), user_namespaces(7).
//!
//! A namespace exists as long as a thread is in it, or a descriptor of it or a socket made in it is open. This module gives no
//! namespace a name in the file system, so all of them end with the process.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::{identity, proc_file};
use crate::error::named;
use crate::{Result, SysError};

/// A network namespace, kept alive by a descriptor.
#[derive(Debug)]
pub struct NetNamespace {
    descriptor: OwnedFd,
    inode: u64,
}

/// `/proc/self` would show the namespace of the process's first thread instead of the calling thread's.
const OWN_NETWORK: &str = "/proc/thread-self/ns/net";

/// The inode of the initial user namespace on every Linux since 3.8 (PROC_USER_INIT_INO, linux/proc_ns.h; part of the
/// user interface since Linux 6.18 as USER_NS_INIT_INO in linux/nsfs.h).
const INITIAL_USER_NAMESPACE: u64 = 0xEFFF_FFFD;

/// The inode of the initial PID namespace on every Linux since 3.8 (PROC_PID_INIT_INO; PID_NS_INIT_INO of linux/nsfs.h
/// since Linux 6.18).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

impl NetNamespace {
    /// The calling thread's namespace.
    pub fn current() -> Result<Self> {
        Self::open(OWN_NETWORK)
    }

    /// The namespace of the process's first thread.
    pub fn of_process() -> Result<Self> {
        Self::open("/proc/self/ns/net")
    }

    /// The namespaces that this process can see, each once: those with a name (ip-netns(8)), and those of processes that it may
    /// look at.
    pub fn visible() -> Vec<Self> {
        let entries =
            |folder| std::fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok);
        let named = entries("/run/netns").map(|entry| entry.path());
        let of_processes = entries("/proc").map(|entry| entry.path().join("ns/net"));
        let mut all: Vec<Self> = Vec::new();
        for path in named.chain(of_processes) {
            let Ok(data) = std::fs::metadata(&path) else { continue };
            if !all.iter().any(|known| known.inode == data.ino()) {
                all.extend(path.to_str().and_then(|path| Self::open(path).ok()));
            }
        }
        all
    }

    fn open(path: &str) -> Result<Self> {
        let file = named(File::open(path), || format!("open({path})"))?;
        let inode = named(file.metadata(), || format!("stat({path})"))?.ino();
        Ok(Self { descriptor: file.into(), inode })
    }

    /// Moves the calling thread into this namespace (setns(2)). If it is already there, does nothing and needs no privilege.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN in the thread's user namespace and in the one that owns this namespace.
    pub fn enter(&self) -> Result<()> {
        if Self::current()?.inode == self.inode {
            return Ok(());
        }
        let moved = move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network));
        named(moved, || "setns(network namespace)".into())
    }

    /// The number that identifies this namespace among all existing ones (namespaces(7)).
    pub const fn inode(&self) -> u64 {
        self.inode
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Moves the calling thread into a new, empty network namespace (unshare(2)).
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `ENOSPC` if `user.max_net_namespaces` is reached.
pub fn unshare_net() -> Result<NetNamespace> {
    unshare(UnshareFlags::NEWNET, "network namespace")?;
    NetNamespace::current()
}

/// Moves the process into a new user namespace, in which its user is root with all capabilities over the namespaces made there.
/// Mounting requires a new mount namespace, too.
///
/// Outside, the process keeps its user: files keep their owner, and it has no power over the host. The network namespace does
/// not change.
///
/// # Errors
/// An argument error if the process has more than one thread (unshare(2) allows only one). `EPERM`, `ENOSPC` or `EACCES` if the
/// host forbids user namespaces or removes the capabilities in them. The error names the step: after a failure to write the
/// maps, the user namespace is useless and the process should end.
pub fn enter_user_namespace() -> Result<()> {
    let status = proc_file::read("/proc/self/status")?;
    let threads = proc_file::field(&status, "Threads");
    if threads != Some("1") {
        let count = threads.unwrap_or("an unknown number of");
        let reason = format!("must be called before threads are started; there are {count}");
        return Err(SysError::argument("unshare(user namespace)", reason));
    }
    let user = identity::effective();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS, "user namespace")?;
    // An unprivileged process may map groups only after it has disabled setgroups(2) (user_namespaces(7)).
    proc_file::write("/proc/self/setgroups", "deny")?;
    proc_file::write("/proc/self/uid_map", &format!("0 {} 1\n", user.uid))?;
    proc_file::write("/proc/self/gid_map", &format!("0 {} 1\n", user.gid))
}

/// Whether the calling thread is in the host's initial user namespace, where capabilities reach the whole host.
pub fn in_initial_user_namespace() -> Result<bool> {
    Ok(inode("/proc/thread-self/ns/user")? == INITIAL_USER_NAMESPACE)
}

/// Whether the process is in the host's initial PID namespace, where every process of the host has a number.
pub fn in_initial_pid_namespace() -> Result<bool> {
    Ok(inode("/proc/self/ns/pid")? == INITIAL_PID_NAMESPACE)
}

fn inode(file: &str) -> Result<u64> {
    named(std::fs::metadata(file), || format!("stat({file})")).map(|data| data.ino())
}

fn unshare(flags: UnshareFlags, what: &str) -> Result<()> {
    // SAFETY: the flags used here change what the calling thread sees of the network, of mounts and of users, not its
    // descriptors.
    named(unsafe { unshare_unsafe(flags) }, || format!("unshare({what})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entering_the_own_namespace_needs_no_privilege() {
        NetNamespace::current().unwrap().enter().unwrap();
    }

    #[test]
    fn a_process_with_threads_gets_an_error_that_says_so() {
        let error = std::thread::spawn(|| enter_user_namespace().unwrap_err().to_string()).join().unwrap();
        assert!(error.contains("before threads are started"), "{error}");
    }

    #[test]
    fn root_a_new_namespace_is_another_one_and_can_be_left() {
        let outside = NetNamespace::current().unwrap();
        std::thread::spawn(move || {
            let inside = match unshare_net() {
                Ok(inside) => inside,
                // As root it must work: only a missing privilege is a reason to skip.
                Err(error) if error.errno() == Some(libc::EPERM) => return capbench_testing::missing(error),
                Err(error) => panic!("{error}"),
            };
            assert_ne!(inside.inode(), outside.inode());
            assert!(crate::host::interface::index_of("lo").is_ok());
            let visible = NetNamespace::visible();
            let found = visible.iter().filter(|namespace| namespace.inode() == outside.inode());
            assert_eq!(found.count(), 1);
            outside.enter().unwrap();
            assert_eq!(NetNamespace::current().unwrap().inode(), outside.inode());
            inside.enter().unwrap();
            assert_eq!(NetNamespace::current().unwrap().inode(), inside.inode());
        })
        .join()
        .unwrap();
    }
}
