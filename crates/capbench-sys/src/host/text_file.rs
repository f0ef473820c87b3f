//! Files of users that are read as a whole: never more than a limit, whatever a path leads to.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Octets of a file that a user writes: settings, programs, goals, campaigns.
pub const LONGEST: u64 = 1 << 20;

/// The text of a file of up to so many octets.
///
/// # Errors
/// The kernel's reason; `InvalidData` if it is longer, or no text.
pub fn read(path: &Path, longest: u64) -> io::Result<String> {
    text(File::open(path)?, longest)
}

/// The same of an open file.
///
/// # Errors
/// The kernel's reason; `InvalidData` if it is longer, or no text.
pub fn text(file: File, longest: u64) -> io::Result<String> {
    let mut text = String::new();
    if file.take(longest + 1).read_to_string(&mut text)? as u64 > longest {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("it is longer than {longest} octets")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read(Path::new("/dev/zero"), LONGEST).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1048576 octets");
        assert!(read(Path::new("/proc/self/comm"), LONGEST).is_ok());
    }
}
