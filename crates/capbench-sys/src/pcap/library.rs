//! An open libpcap.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;

use super::functions::Functions;
use crate::error::{Result, SysError};
use crate::library::{Library, file_of};

/// Names of the system's libpcap: Debian's, and that of everybody else.
const SYSTEM: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];

/// A libpcap with the functions that capbench calls.
#[derive(Debug)]
pub struct PcapLibrary {
    pub(super) functions: Functions,
    library: Library,
}

impl PcapLibrary {
    /// Opens a libpcap by its path, or by a name that the system's linker finds. The loaded code runs in this process: users
    /// who name a library must trust it.
    ///
    /// Other builds of libpcap may already be open: the result is the requested one, or an error.
    ///
    /// # Errors
    /// [`crate::SysError::Library`]: the file is missing, is no library, is for another machine, is not libpcap or older than
    /// 1.0, or its functions come from another file.
    pub fn open(name: &str) -> Result<Self> {
        // SAFETY: the user who names a libpcap answers for what it does when it is loaded, as the documentation says.
        let library = unsafe { Library::open(name) }?;
        let functions = Functions::of(&library).map_err(|error| too_old(&library, error))?;
        // Every frame comes through it.
        library.check_file(functions.pcap_dispatch as *const c_void)?;
        library.check_file(functions.pcap_lib_version as *const c_void)?;
        Ok(Self { functions, library })
    }

    /// Opens the system's libpcap.
    ///
    /// # Errors
    /// Like [`PcapLibrary::open`], with the package that contains it.
    pub fn of_system() -> Result<Self> {
        match Self::open(SYSTEM[0]) {
            Err(SysError::Library { reason, .. }) => Self::open(SYSTEM[1]).map_err(|_| SysError::Library {
                library: SYSTEM.join(" or "),
                reason: format!("{reason}; Debian has it in the package libpcap0.8"),
            }),
            outcome => outcome,
        }
    }

    /// The name or path that was opened.
    pub fn name(&self) -> &str {
        self.library.name()
    }

    /// The library's version text (`pcap_lib_version`).
    pub fn version(&self) -> String {
        // SAFETY: no preconditions; the text is static.
        text(unsafe { (self.functions.pcap_lib_version)() }).unwrap_or_default()
    }

    /// The file from which its functions were loaded (dladdr(3)).
    pub fn file(&self) -> Option<PathBuf> {
        file_of(self.functions.pcap_lib_version as *const c_void)
    }

    /// Whether it has a function that is not called here, such as the extensions of patched builds.
    pub fn has(&self, function: &str) -> bool {
        // SAFETY: the symbol is not called, only looked for.
        unsafe { self.library.symbol::<unsafe extern "C" fn()>(function) }.is_ok()
    }
}

/// Why a libpcap lacks a function, where it is one: pcap_open_live is in all of them.
fn too_old(library: &Library, error: SysError) -> SysError {
    // SAFETY: the symbol is not called, only looked for.
    let is_libpcap = unsafe { library.symbol::<unsafe extern "C" fn()>("pcap_open_live") }.is_ok();
    match error {
        SysError::Library { library, reason } if is_libpcap => {
            let lack = reason.split(':').next().unwrap_or_default();
            let reason = format!("{lack}: it may be too old, libpcap 1.0 or newer is needed");
            SysError::Library { library, reason }
        }
        error => error,
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
