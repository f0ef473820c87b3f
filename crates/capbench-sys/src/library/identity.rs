//! The file from which a function of this process was loaded.

use std::ffi::{CStr, OsStr, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::host::proc_file;

/// The file that the loader mapped at an address (dladdr(3)), by the path that it was opened by.
pub(crate) fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is only looked up, and the structure is live and writable.
    let code = unsafe { libc::dladdr(address, &raw mut found) };
    if code == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the text belongs to the loader and lives while the library is open, and the caller's address is in it.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Fails with the reason if the address was not loaded from this file.
pub(super) fn check(asked: &Path, address: *const c_void) -> Result<(), String> {
    let Some(found) = file_of(address) else {
        return Err("its functions are from an unknown file".into());
    };
    if !is_same(asked, &found) {
        return Err(format!(
            "its functions are not those of {} but of {}, which is open in this process too: name that one, or measure \
             this one in a separate run",
            asked.display(),
            found.display()
        ));
    }
    // The loader recognises an open file by its path, even if another file has that path now.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if is_deleted(&maps, address as u64) {
        return Err(format!("this process has the former file of {} open: start it again", asked.display()));
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let (one_identity, other_identity) = (identity(one), identity(other));
    canonical(one).is_some_and(|path| Some(path) == canonical(other))
        || (one_identity.is_some() && one_identity == other_identity)
}

/// Whether a file that has no name any more is mapped at an address, by /proc/PID/maps (proc(5)).
fn is_deleted(maps: &str, address: u64) -> bool {
    let mut mapped = proc_file::mappings(maps);
    mapped.any(|(range, rest)| range.contains(&address) && rest.ends_with(" (deleted)"))
}

#[cfg(test)]
mod tests {
    use super::{check, file_of, is_deleted};
    use std::path::Path;

    #[test]
    fn functions_are_known_by_their_file() {
        let own = functions_are_known_by_their_file as *const std::ffi::c_void;
        let file = file_of(own).unwrap();
        assert_eq!(file.canonicalize().unwrap(), std::env::current_exe().unwrap().canonicalize().unwrap());
        assert_eq!(check(Path::new("/proc/self/exe"), own), Ok(()));
        let text = check(Path::new("/dev/null"), own).unwrap_err();
        assert!(text.contains("/dev/null") && text.contains(file.to_str().unwrap()), "{text}");
        assert!(check(Path::new("/dev/null"), std::ptr::null()).unwrap_err().contains("unknown file"));
    }

    #[test]
    fn files_without_a_name_are_known() {
        let maps = "7f0000000000-7f0000001000 r-xp 00000000 08:01 12      /opt/libx.so\n\
                    7f0000001000-7f0000002000 r-xp 00000000 08:01 13      /opt/liby.so (deleted)\n";
        assert!(!is_deleted(maps, 0x7f00_0000_0fff) && is_deleted(maps, 0x7f00_0000_1000));
        assert!(!is_deleted(maps, 0x1000));
    }
}
