//! Libraries opened at run time (dlopen(3)), so that capbench links to none of them.
//!
//! No library is ever unloaded: a library may leave a thread, a handler of atexit(3) or thread-local data whose code would be
//! gone. The cost is its memory until the process ends.
//!
//! A program with file privileges runs no code of its caller: it opens only libraries that the system finds by name and only
//! root controls.

pub(crate) mod elf;
mod identity;
mod search;

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

use crate::error::{Result, SysError};
use crate::host::folder::Folder;
use crate::host::identity::is_elevated;
use crate::host::trust::{self, Trust};

pub(crate) use identity::file_of;

/// An open library. Its symbols have a private scope (`RTLD_LOCAL`), so that two builds of one library can be open at once.
/// Dropping this does not close the library.
#[derive(Debug)]
pub(crate) struct Library {
    library: ManuallyDrop<libloading::os::unix::Library>,
    name: String,
    /// The file that was opened, where it was not left to the loader to find it.
    file: Option<PathBuf>,
}

impl Library {
    /// Opens a library by its path, or by a name that the system's linker finds.
    ///
    /// A name means the system's file. While another library of the same name is open, dlopen(3) would return that one. Then
    /// this function searches for the file and opens it by its path.
    ///
    /// # Errors
    /// [`SysError::Library`]: the file is missing, is no library, is for another machine, or lacks a dependency. Also if
    /// another library of its name is open and the system's file is not found. In a program with file privileges also a path,
    /// or a library that a user other than root controls.
    ///
    /// # Safety
    /// The library's initialisation and termination functions run in this process and must do no harm. Users answer for the
    /// libraries that they name.
    pub(crate) unsafe fn open(name: &str) -> Result<Self> {
        // The set of open libraries must not change between the look at it and the call.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let file = if is_elevated() {
            Some(of_root(name).map_err(|reason| SysError::Library { library: name.into(), reason })?)
        } else if name.contains('/') {
            // Absolute, so that what the loader remembers of it stays true. Symbolic links stay: a library may look for
            // others next to the path that it is opened by.
            let file = std::path::absolute(name).unwrap_or_else(|_| name.into());
            // A file that is missing is the loader's to name.
            if file.exists() {
                let checked = Trust::for_instructions().check(&file).map_err(trust::advised);
                checked
                    .map_err(|error| SysError::Library { library: name.into(), reason: error.to_string() })?;
            }
            Some(file)
        } else if is_open(name) {
            Some(search::find(name).ok_or_else(|| {
                SysError::Library {
                    library: name.into(),
                    reason:
                        "one of this name is open already and the system's own was not found; give its path"
                            .into(),
                }
            })?)
        } else {
            None
        };
        let asked = file.as_deref().unwrap_or(Path::new(name));
        // SAFETY: the caller vouches for the library's initialisation functions.
        match unsafe { libloading::os::unix::Library::open(Some(asked), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok(Self { library: ManuallyDrop::new(library), name: name.into(), file }),
            Err(error) => Err(Self::unusable(name, file.as_deref(), &error)),
        }
    }

    /// Refuses a library that is not the requested file. The loader may return another open library, and functions may be
    /// those of a dependency. `function` is one of the functions to check.
    pub(crate) fn check_file(&self, function: *const c_void) -> Result<()> {
        let Some(asked) = &self.file else { return Ok(()) };
        identity::check(asked, function)
            .map_err(|reason| SysError::Library { library: self.name.clone(), reason })
    }

    /// The name or path that was opened.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A symbol; its library stays open for ever.
    ///
    /// # Safety
    /// `T` must be the type of that symbol in every library that has it: a function pointer with its C signature, or a pointer.
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: the caller vouches for the type.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|_| SysError::Library {
            library: self.name.clone(),
            reason: format!(
                "it has no function {name}: it is not the library that was expected, or too old a version of it"
            ),
        })
    }

    fn unusable(name: &str, file: Option<&Path>, error: &libloading::Error) -> SysError {
        let reason = match file.and_then(elf::fault) {
            Some(reason) => reason,
            None => {
                // "libx.so.1: cannot open shared object file: ..." begins with the name that the message has already.
                let text =
                    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
                let asked = file.map_or(name.into(), |file| file.display().to_string());
                text.strip_prefix(&format!("{asked}: ")).unwrap_or(&text).to_string()
            }
        };
        SysError::Library { library: name.into(), reason }
    }
}

/// The system's file of a name, where nobody but root controls it.
fn of_root(name: &str) -> std::result::Result<PathBuf, String> {
    if name.contains('/') {
        return Err(
            "this program's file grants privileges (setcap, set-user-id), so its caller cannot name a \
                    library's file; run it with sudo"
                .into(),
        );
    }
    let file = search::find(name).ok_or("the system has no library of this name")?;
    check_of_root(&file).map_err(|error| format!("{}: {error}; run it with sudo", file.display()))
}

/// The file that a path leads to; or why others than root control either.
fn check_of_root(path: &Path) -> std::io::Result<PathBuf> {
    let trust = Trust::root();
    Folder::of_file(path, &trust)?;
    let file = path.canonicalize()?;
    let (folder, name) = Folder::of_file(&file, &trust)?;
    folder.open_file(name, &trust)?;
    Ok(file)
}

/// Whether the process has a library open that dlopen(3) would give for a name without a look for its file.
fn is_open(name: &str) -> bool {
    // SAFETY: with RTLD_NOLOAD nothing is loaded, so no initialisation function runs; what is open stays open.
    unsafe { libloading::os::unix::Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.is_ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::process::Command;

    use capbench_testing::{Scratch, scratch_file};

    use super::{Library, check_of_root, file_of, of_root};

    fn refusal(name: &str) -> String {
        // SAFETY: none of these can be opened.
        unsafe { Library::open(name) }.unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_fault_of_a_library() {
        assert!(
            refusal("libno-such-thing.so.9").contains("cannot open"),
            "{}",
            refusal("libno-such-thing.so.9")
        );
        assert!(refusal("/nonexistent/libx.so").contains("No such file"));
        let text = scratch_file(b"this is not a library, it is only text");
        assert!(refusal(text.path().to_str().unwrap()).contains("no ELF header"));
        let short = scratch_file(b"\x7fELF");
        assert!(refusal(short.path().to_str().unwrap()).contains("too short"));
        let mut foreign = std::fs::read("/proc/self/exe").unwrap();
        foreign.truncate(4096);
        foreign[18] = if foreign[18] == 0xb7 { 0x3e } else { 0xb7 };
        let foreign = scratch_file(&foreign);
        assert!(refusal(foreign.path().to_str().unwrap()).contains("this machine is"));
    }

    #[test]
    fn a_library_stays_open_for_what_it_has_left_behind() {
        let scratch = Scratch::new();
        let (source, file) = (scratch.path().join("stay.c"), scratch.path().join("libstay.so"));
        std::fs::write(&source, "int stays(void) { return 1; }").unwrap();
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&file, &source]).status().unwrap();
        assert!(built.success());
        // SAFETY: it has no initialisation function.
        let library = unsafe { Library::open(file.to_str().unwrap()) }.unwrap();
        // SAFETY: the function has this signature.
        let function = unsafe { library.symbol::<unsafe extern "C" fn() -> i32>("stays") }.unwrap();
        drop(library);
        assert_eq!(file_of(function as *const c_void).as_deref(), Some(file.as_path()));
    }

    #[test]
    fn root_a_privileged_program_opens_libraries_of_root_alone() {
        let Some(()) = capbench_testing::network::privileges() else { return };
        assert!(of_root("./libc.so.6").unwrap_err().contains("run it with sudo"));
        assert!(of_root("libno-such-thing.so.9").is_err());
        let system = of_root("libc.so.6").unwrap();
        let scratch = Scratch::new();
        let (own, link) = (scratch.path().join("libown.so"), scratch.path().join("libown.so.1"));
        std::fs::copy(system, &own).unwrap();
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o644)).unwrap();
        symlink(&own, &link).unwrap();
        assert_eq!(check_of_root(&link).unwrap(), own);
        chown(&own, Some(4711), None).unwrap();
        assert!(check_of_root(&link).unwrap_err().to_string().ends_with("libown.so belongs to user 4711"));
        // Without file capabilities, too, root opens by a path only what nobody else controls.
        let text = refusal(link.to_str().unwrap());
        assert!(text.contains("libown.so belongs to user 4711; as root, capbench runs only"), "{text}");
        chown(&own, Some(0), None).unwrap();
        chown(scratch.path(), Some(4711), None).unwrap();
        assert!(check_of_root(&link).is_err());
    }

    #[test]
    fn symbols_are_found_or_named() {
        // SAFETY: the C library is open already.
        let library = unsafe { Library::open("libc.so.6") }.unwrap();
        // SAFETY: getpid(2) has this signature.
        let getpid = unsafe { library.symbol::<unsafe extern "C" fn() -> i32>("getpid") }.unwrap();
        // SAFETY: it has no preconditions.
        assert_eq!(unsafe { getpid() }, std::process::id() as i32);
        // SAFETY: never called.
        let error = unsafe { library.symbol::<unsafe extern "C" fn()>("no_such_function") }.unwrap_err();
        assert!(error.to_string().contains("no_such_function"));
    }
}
