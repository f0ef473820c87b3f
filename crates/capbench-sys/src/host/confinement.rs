//! Restricts which files the process can open: Landlock (landlock(7), Linux 5.13), in every thread and permanently. Open files
//! stay usable. Rules apply to the files and folders that the paths name now, not to the paths.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, make_bitflags,
};

use rustix::io::Errno;

use super::every_thread::on_every_thread;
use super::sysfs::SysfsView;
use crate::{Result, SysError};

/// The newest rights that are denied: opening, creating, removing, cutting and ioctl(2) of devices. Older kernels deny those of
/// them that they know.
const RIGHTS: ABI = ABI::V5;

/// `PIPEFS_MAGIC` of linux/magic.h.
const PIPEFS: i128 = 0x5049_5045;

/// Whether the kernel has Landlock, from the kernel's answer alone. Tests use it, so that a failure of [`Confinement`] does not
/// look like a kernel without Landlock.
pub fn kernel_has_landlock() -> bool {
    /// `LANDLOCK_CREATE_RULESET_VERSION` of linux/landlock.h: asks for the version, makes no rules.
    const ASK_VERSION: libc::c_uint = 1;
    const NO_RULES: *const libc::c_void = std::ptr::null();
    const NO_SIZE: libc::size_t = 0;
    // SAFETY: with this flag the system call wants a null pointer and reads no memory.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, NO_RULES, NO_SIZE, ASK_VERSION) > 0 }
}

/// Files that a process may still open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Folders in which it may create, read, write, rename and remove files, at any depth.
    pub folders: Vec<PathBuf>,
    /// The same, and it may create and remove folders and sockets there.
    pub trees: Vec<PathBuf>,
    /// Files that it may read and write: pipes, devices, and existing files.
    pub files: Vec<PathBuf>,
    /// Folders and files that it may read; missing ones are ignored.
    pub read: Vec<PathBuf>,
    /// Folders and files that it may read, and start as programs; missing ones are ignored.
    pub programs: Vec<PathBuf>,
}

/// Rules ready to be enforced.
#[derive(Debug)]
pub struct Confinement(OwnedFd);

impl Confinement {
    /// Builds the rules; `None` if the kernel has no Landlock or it is disabled. `sysfs` is readable, too, if it is there: it has no
    /// path.
    pub fn new(allowed: &Allowed, sysfs: Option<&SysfsView>) -> Result<Option<Self>> {
        let failed = |error: landlock::RulesetError| SysError::argument("Landlock", error.to_string());
        let mut rules = Ruleset::default()
            .handle_access(AccessFs::from_all(RIGHTS))
            .and_then(Ruleset::create)
            .map_err(failed)?;
        let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
        let write = read | make_bitflags!(AccessFs::{WriteFile | Truncate | MakeReg | RemoveFile | Refer});
        for folder in &allowed.folders {
            rules = rules.add_rule(PathBeneath::new(open(folder)?, write)).map_err(failed)?;
        }
        let make = write | make_bitflags!(AccessFs::{MakeDir | RemoveDir | MakeSock});
        for folder in &allowed.trees {
            rules = rules.add_rule(PathBeneath::new(open(folder)?, make)).map_err(failed)?;
        }
        for file in &allowed.files {
            let rights = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});
            let place = open(file)?;
            // A pipe without a name is in no folder: the kernel restricts nobody who opens it, and refuses a rule.
            if rustix::fs::fstatfs(place.as_fd()).is_ok_and(|about| i128::from(about.f_type) == PIPEFS) {
                continue;
            }
            rules = rules.add_rule(PathBeneath::new(place, rights)).map_err(failed)?;
        }
        let start = [(&allowed.read, read), (&allowed.programs, read | AccessFs::Execute)];
        let readable =
            start.into_iter().flat_map(|(paths, rights)| paths.iter().map(move |path| (path, rights)));
        for (path, rights) in readable.filter(|(path, _)| path.exists()) {
            let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(RIGHTS) };
            rules = rules.add_rule(PathBeneath::new(open(path)?, rights)).map_err(failed)?;
        }
        if let Some(view) = sysfs {
            rules = rules.add_rule(PathBeneath::new(view, read)).map_err(failed)?;
        }
        Ok(Option::<OwnedFd>::from(rules).map(Self))
    }

    /// Enforces the rules in every thread. Each needs `no_new_privs`, or CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// The kernel's refusal: some thread is then not confined, and the process should do nothing more.
    pub fn put_in_force(self) -> Result<()> {
        let rules = self.0.as_raw_fd();
        // SAFETY: landlock_restrict_self(2) takes two numbers; `self` keeps the descriptor open. That files cannot be opened
        // from here on is what is wanted.
        unsafe { on_every_thread("Landlock", Box::new(move || restrict(rules))) }
    }
}

fn open(path: &std::path::Path) -> Result<PathFd> {
    PathFd::new(path)
        .map_err(|error| SysError::argument(format!("Landlock, {}", path.display()), error.to_string()))
}

fn restrict(rules: i32) -> rustix::io::Result<()> {
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: the system call takes two numbers and touches no memory of ours.
    let code = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, NO_FLAGS) };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the address is that of the calling thread's own number.
    Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::ErrorKind::PermissionDenied;
    use std::path::Path;

    /// Confines a thread to `inside`, and does `work` there; nothing where the kernel has no Landlock.
    fn confined(allowed: &Allowed, work: impl FnOnce() + Send) {
        let rules = Confinement::new(allowed, None).unwrap();
        if !kernel_has_landlock() {
            assert!(rules.is_none());
            return capbench_testing::cannot_have(capbench_testing::HostLimit::Kernel, "it has no Landlock");
        }
        let rules = rules.expect("the kernel has Landlock");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                rustix::thread::set_no_new_privs(true).unwrap();
                restrict(rules.0.as_raw_fd()).unwrap();
                work();
            });
        });
    }

    #[test]
    fn a_confined_thread_opens_nothing_elsewhere() {
        let folder = capbench_testing::Scratch::new();
        let (inside, outside) = (folder.join("inside"), folder.join("outside"));
        for made in [&inside, &inside.join("deep"), &outside, &outside.join("tree")] {
            fs::create_dir(made).unwrap();
        }
        fs::write(outside.join("secret"), "x").unwrap();
        fs::write(outside.join("pipe"), "x").unwrap();
        let allowed = Allowed {
            folders: vec![inside.clone()],
            files: vec![outside.join("pipe")],
            trees: vec![outside.join("tree")],
            read: vec!["/proc".into(), "/no/such/folder".into()],
            programs: ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"].map(Into::into).to_vec(),
        };
        let refused = |done: std::io::Result<()>| done.is_err_and(|error| error.kind() == PermissionDenied);
        confined(&allowed, || {
            let part = inside.join("a.part");
            fs::write(&part, "packets").unwrap();
            fs::rename(&part, inside.join("a")).unwrap();
            fs::write(inside.join("deep/b"), "packets").unwrap();
            fs::remove_file(inside.join("deep/b")).unwrap();
            assert_eq!(fs::read_dir(&inside).unwrap().count(), 2);
            fs::write(outside.join("pipe"), "packets").unwrap();
            assert!(fs::read_to_string("/proc/self/status").is_ok());
            assert!(refused(File::open(outside.join("secret")).map(drop)));
            assert!(refused(File::create(outside.join("new")).map(drop)));
            assert!(refused(fs::remove_file(outside.join("secret"))));
            assert!(refused(fs::rename(inside.join("a"), outside.join("a"))));
            assert!(refused(fs::create_dir(inside.join("folder"))));
            fs::create_dir(outside.join("tree/folder")).unwrap();
            fs::write(outside.join("tree/folder/a"), "packets").unwrap();
            fs::remove_dir_all(outside.join("tree/folder")).unwrap();
            assert!(std::process::Command::new("true").status().unwrap().success());
            assert!(refused(File::open("/etc/passwd").map(drop)));
        });
        assert!(fs::read(outside.join("secret")).is_ok(), "other threads are not confined");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let allowed = Allowed { folders: vec![Path::new("/no/such/folder").into()], ..Allowed::default() };
        let error = Confinement::new(&allowed, None).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder"), "{error}");
    }
}
