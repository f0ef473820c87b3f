//! Times as text in file names: localtime_r(3) and strftime(3).

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::{Result, SysError};

/// Expands the strftime(3) conversions of `pattern` for a time in seconds since 1970-01-01 UTC, in the environment's time zone
/// (`TZ`, tzset(3)) and with English names.
///
/// # Errors
/// A pattern with a NUL, a result longer than `PATH_MAX` bytes, or a time without a year.
pub fn format_local(pattern: &OsStr, seconds: i64) -> Result<OsString> {
    let what = || format!("strftime({})", pattern.to_string_lossy());
    // strftime(3) returns 0 for an empty result and for one that is too long (BUGS there).
    if pattern.is_empty() {
        return Ok(OsString::new());
    }
    let text = CString::new(pattern.as_bytes())
        .map_err(|_| SysError::argument(what(), "the pattern contains a NUL"))?;
    // SAFETY: `tm` is integers and a pointer, for all of which zeros are valid.
    let mut fields: libc::tm = unsafe { std::mem::zeroed() };
    let time: libc::time_t = seconds;
    // SAFETY: localtime_r(3) reads one time_t and writes one tm, both ours and alive. It reads the environment, which no
    // thread of a safe program changes meanwhile: std::env::set_var is unsafe for that reason.
    if unsafe { libc::localtime_r(&raw const time, &raw mut fields) }.is_null() {
        return Err(SysError::last(|| format!("localtime_r({seconds})")));
    }
    let mut room = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: strftime(3) reads a NUL-terminated string and one tm that localtime_r filled, and writes at most
    // `room.len()` bytes; all are ours and alive.
    let length =
        unsafe { libc::strftime(room.as_mut_ptr().cast(), room.len(), text.as_ptr(), &raw const fields) };
    if length == 0 {
        let reason = format!("gives nothing, or more than {} bytes", libc::PATH_MAX);
        return Err(SysError::argument(what(), reason));
    }
    room.truncate(length);
    Ok(OsString::from_vec(room))
}

#[cfg(test)]
mod tests {
    use super::format_local;
    use std::ffi::OsStr;

    #[test]
    fn conversions_are_those_of_the_date_program() {
        for seconds in [0, 1_700_000_000, 4_102_444_800] {
            let pattern = "trace-%Y%m%d-%H:%M:%S-%Z-%%-%j.pcap";
            let said = std::process::Command::new("date")
                .env("LC_ALL", "C")
                .args(["-d", &format!("@{seconds}"), &format!("+{pattern}")])
                .output()
                .unwrap();
            let ours = format_local(OsStr::new(pattern), seconds).unwrap();
            assert_eq!(ours.to_str().unwrap(), String::from_utf8(said.stdout).unwrap().trim());
        }
    }

    #[test]
    fn values_without_conversion_stay_and_long_ones_are_refused() {
        assert_eq!(format_local(OsStr::new("a.pcap"), 5).unwrap(), "a.pcap");
        assert_eq!(format_local(OsStr::new(""), 5).unwrap(), "");
        assert!(format_local(OsStr::new(&"%c".repeat(2000)), 5).is_err());
        assert!(format_local(OsStr::new("%Y"), i64::MAX).is_err());
    }
}
