//! Calls of libraries opened at run time: looks their functions up once, and converts their failures to this crate's errors.

use std::ffi::CString;
use std::io;
use std::time::Duration;

use crate::error::{Result, SysError};

/// A device that returns the packets of one call at a time; they stay valid until the next call.
pub trait Fetch {
    /// Releases the current packets and fetches the next ones. Returns whether there are any. Does not wait.
    ///
    /// # Errors
    /// The library reports one, or gives what it cannot have ([`SysError::Library`]).
    fn fetch(&mut self) -> Result<bool>;

    /// The same, waiting at most about `timeout`. Returns early, and without any, on a signal.
    ///
    /// # Errors
    /// As [`Self::fetch`], and where waiting fails or the device reports an error.
    fn fetch_within(&mut self, timeout: Duration) -> Result<bool>;
}

/// Declares the functions that a module takes from a library, by their own names. `required` ones make the library what
/// it is; `optional` ones are missing from some of its versions.
macro_rules! function_table {
    (
        $(#[$doc:meta])*
        struct $table:ident;
        required { $($required:ident: $required_type:ty,)* }
        optional { $($optional:ident: $optional_type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $table {
            $(pub(super) $required: $required_type,)*
            $(pub(super) $optional: Option<$optional_type>,)*
        }

        impl $table {
            /// Looks the functions up; the library stays open for ever.
            pub(super) fn of(library: &$crate::library::Library) -> $crate::Result<Self> {
                Ok(Self {
                    // SAFETY: the type is that of the function in the header that the table cites.
                    $($required: unsafe { library.symbol::<$required_type>(stringify!($required)) }?,)*
                    // SAFETY: as above.
                    $($optional: unsafe { library.symbol::<$optional_type>(stringify!($optional)) }.ok(),)*
                })
            }
        }
    };
}
pub(crate) use function_table;

pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| SysError::argument(what, "it has a zero octet"))
}

/// Forgets an earlier `errno`, for functions that set it on some of their failures only.
pub(crate) fn forget_errno() {
    // SAFETY: errno(3) is this thread's own, and always there.
    unsafe { *libc::__errno_location() = 0 };
}

/// The reason of a failed function that reports it by `errno`. Call this directly after the function.
pub(crate) fn by_errno(library: &str, call: impl FnOnce() -> String) -> SysError {
    let source = io::Error::last_os_error();
    match source.raw_os_error() {
        None | Some(0) => broken(library, &call(), "it gives no reason; it may have printed one"),
        Some(_) => SysError::Call { what: call(), source },
    }
}

/// A call that did not keep what its header promises, or failed with its own reason.
pub(crate) fn broken(library: &str, call: &str, reason: &str) -> SysError {
    SysError::Library { library: library.into(), reason: format!("{call}: {reason}") }
}

#[cfg(test)]
mod tests {
    use super::{by_errno, c_string, forget_errno};
    use crate::error::by_code;

    #[test]
    fn every_way_in_which_a_library_reports_a_reason_is_understood() {
        for code in [2, -2] {
            assert!(by_code("open".into(), code).to_string().contains("No such file"));
        }
        forget_errno();
        assert!(by_errno("libx.so", || "open".into()).to_string().contains("no reason"));
        assert!(c_string("a path", "a\0b").is_err());
    }
}
