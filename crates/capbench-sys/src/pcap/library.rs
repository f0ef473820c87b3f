//! An open libpcap.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::functions::Functions;
use crate::error::Result;
use crate::library::Library;

/// A libpcap with the functions that capbench calls.
pub struct PcapLibrary {
    pub(super) functions: Functions,
    library: Library,
}

impl fmt::Debug for PcapLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PcapLibrary").field("library", &self.library).finish_non_exhaustive()
    }
}

impl PcapLibrary {
    /// Opens a libpcap by its path, or by its name where the system's linker looks for it. What is loaded runs in this
    /// process: whoever names a library vouches for it.
    ///
    /// # Errors
    /// [`crate::SysError::Library`]: it is not there, is no library, is one for another machine, or is not libpcap.
    pub fn open(name: &str) -> Result<Self> {
        // SAFETY: whoever names a libpcap vouches for what it does when it is loaded, as the documentation says.
        let library = unsafe { Library::open(name) }?;
        // SAFETY: the functions are used while the library beside them is open.
        let functions = unsafe { Functions::of(&library) }?;
        Ok(Self { functions, library })
    }

    /// What it was opened by.
    pub fn name(&self) -> &str {
        self.library.name()
    }

    /// What it says of itself (`pcap_lib_version`).
    pub fn version(&self) -> String {
        // SAFETY: no preconditions; the text is static.
        text(unsafe { (self.functions.pcap_lib_version)() }).unwrap_or_default()
    }

    /// The file that its functions were really loaded from (dladdr(3)).
    pub fn file(&self) -> Option<PathBuf> {
        let mut found = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        let address = self.functions.pcap_lib_version as *const c_void;
        // SAFETY: the address is only looked up, and the structure is live and writable.
        let code: c_int = unsafe { libc::dladdr(address, &raw mut found) };
        if code == 0 || found.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the text belongs to the loader and lives while the library is open, which it is until this returns.
        let name = unsafe { CStr::from_ptr(found.dli_fname) };
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
    }

    /// Whether it has a function beyond those that are called here, such as the extensions of patched builds.
    pub fn has(&self, function: &str) -> bool {
        // SAFETY: the symbol is not called, only looked for.
        unsafe { self.library.symbol::<unsafe extern "C" fn()>(function) }.is_ok()
    }
}

/// A copy of a C text of the library's; `None` for none or an empty one.
pub(super) fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: libpcap's texts end with a zero octet, and none is written while this thread reads it: the handle that
    // holds it is used by this thread only.
    let text = unsafe { CStr::from_ptr(pointer) }.to_string_lossy().trim().to_string();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::PcapLibrary;

    #[test]
    fn a_library_that_is_not_libpcap_is_refused_with_its_name() {
        let text = PcapLibrary::open("libc.so.6").unwrap_err().to_string();
        assert!(text.contains("libc.so.6") && text.contains("pcap_"), "{text}");
        let text = PcapLibrary::open("/nonexistent/libpcap.so").unwrap_err().to_string();
        assert!(text.contains("/nonexistent/libpcap.so") && text.contains("No such file"), "{text}");
    }
}
