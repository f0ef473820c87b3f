//! A program's version, read before its trial.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::output::Output;
use super::process::{Process, TICK};
use super::program::Program;

/// Time limit for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Version and path of a program; only the path if it reports no version.
pub(super) fn ask(program: &Program, executable: &Path, directory: &Path) -> String {
    let path = executable.display().to_string();
    match answer(program, executable, directory) {
        Some(version) => format!("{version} ({path})"),
        None => path,
    }
}

fn answer(program: &Program, executable: &Path, directory: &Path) -> Option<String> {
    let version = program.version.as_ref()?;
    let output = Output::new(directory, "version");
    let mut process = Process::start(executable, &version.arguments, directory, &output).ok()?;
    let begun = Instant::now();
    while process.status().ok()?.is_none() {
        if begun.elapsed() >= PATIENCE {
            return None;
        }
        thread::sleep(TICK);
    }
    let text = output.text();
    // An answer may contain line breaks anywhere.
    let words = |found: &str| found.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<_> =
        version.pattern.find_iter(text.trim_start()).map(|found| words(found.as_str())).collect();
    (!found.is_empty()).then(|| found.join(", "))
}
