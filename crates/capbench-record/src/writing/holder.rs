//! Finds the process that has locked a file: `/proc/locks` (proc_locks(5)).

use std::fs::{self, File};

use rustix::fs::{Stat, fstat, major, minor};

use super::failure::Refused;

/// The error for a file that another process has locked.
pub(super) fn refusal(file: &File) -> Refused {
    let holder = fstat(file).ok().and_then(|found| of(&found));
    let reason = format!("{} writes it", holder.as_deref().unwrap_or("another process"));
    Refused { reason, next: "end that recording first, or choose another name with -w" }
}

/// Number and name of the process that has locked a file by flock(2); `None` if this process cannot see it.
fn of(file: &Stat) -> Option<String> {
    let process = process_in(&fs::read_to_string("/proc/locks").ok()?, file)?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok();
    // A process chooses its name, and this goes to a terminal: control characters are replaced.
    let name = name.map(|name| name.trim_end().replace(char::is_control, "?"));
    Some(match name {
        Some(name) => format!("process {process} ({name})"),
        None => format!("process {process}"),
    })
}

/// `1: FLOCK  ADVISORY  WRITE 1234 fd:01:131090 0 EOF`: device numbers are hexadecimal.
fn process_in(locks: &str, file: &Stat) -> Option<u32> {
    let wanted = format!("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
    locks.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (kind, _, _) = (fields.next()?, fields.next()?, fields.next()?);
        let (process, place) = (fields.next()?, fields.next()?);
        // 0 is a process of another namespace.
        (kind == "FLOCK" && place == wanted)
            .then(|| process.parse().ok())
            .flatten()
            .filter(|process| *process > 0)
    })
}
