//! The recommendation of the user's last bench with a certain answer, in one file per user: `capbench bench` writes it, and `capbench
//! record --method auto` reads it, from any directory.
//!
//! The file is in `$XDG_STATE_HOME/capbench`, by default `~/.local/state/capbench`. Its author decides what runs with the
//! privileges of a recording. So it is read only if it and every folder above it belong to root or the effective user and nobody
//! else can write them. It is opened by descriptor, and the descriptor is checked.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use capbench_judge::recommendation::Recommendation;
use capbench_model::bounded_json;
use capbench_model::environment::Host;
use capbench_results::Results;
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;
use serde::{Deserialize, Serialize};

/// The file's name.
const FILE: &str = "recommended.json";

/// Size limit of the file in octets. A recommendation with many set-ups has some ten thousand.
const LONGEST: u64 = 4 << 20;

/// The saved recommendation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Saved {
    /// When its bench started, seconds since the epoch.
    pub started_unix_s: u64,
    /// The host of the bench.
    pub host: Host,
    /// What the bench recommends.
    pub recommended: Recommendation,
}

/// The user's folder for state (XDG Base Directory Specification). `None` without a home.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("capbench"))
}

/// Saves the recommendation of a finished bench below a folder, if it is certain of a method. One that leaves several methods open
/// replaces no certain answer about this host, unless it shows that the method of that answer is worse than another one. Returns whether
/// it was saved.
///
/// # Errors
/// When the folder cannot be made or written, or when others control it.
pub fn save(folder: &Path, results: &Results) -> io::Result<bool> {
    let Some(recommended) = results.recommended.clone() else { return Ok(false) };
    let Some(choice) = recommended.certain_choice() else { return Ok(false) };
    let host = results.environment.host();
    if !choice.is_decided() && has_better_answer(folder, &host, &recommended) {
        return Ok(false);
    }
    let saved = Saved { started_unix_s: results.started_unix_s, host, recommended };
    let mut text = serde_json::to_vec_pretty(&saved)?;
    text.push(b'\n');
    Folder::create(folder, &Trust::for_output())?.replace(OsStr::new(FILE), &text)?;
    Ok(true)
}

/// Whether a saved answer about this host is decided, and nothing in this recommendation speaks against it. What cannot be read is no
/// answer.
fn has_better_answer(folder: &Path, host: &Host, recommended: &Recommendation) -> bool {
    let Ok(Some(saved)) = read(folder) else { return false };
    let Some(choice) = saved.recommended.certain_choice() else { return false };
    saved.host == *host && choice.is_decided() && !recommended.rules_out(choice.method)
}

/// Memory of a recommendation, as a multiple of its length.
const MEMORY: usize = 12;

/// Reads a recommendation, unless it takes more memory than one of its length.
pub fn within_memory(text: &[u8]) -> serde_json::Result<Saved> {
    bounded_json::from_slice(text, MEMORY)
}

/// Reads the recommendation from a folder. `None` if there is none.
///
/// # Errors
/// When others control the file, or it is none of this version.
pub fn read(folder: &Path) -> io::Result<Option<Saved>> {
    let trust = Trust::for_code();
    let file =
        match Folder::open(folder, &trust).and_then(|folder| folder.open_file(OsStr::new(FILE), &trust)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
    let mut text = Vec::new();
    if file.take(LONGEST + 1).read_to_end(&mut text)? as u64 > LONGEST {
        let reason = format!("it is longer than {LONGEST} octets");
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    Ok(Some(within_memory(&text)?))
}
