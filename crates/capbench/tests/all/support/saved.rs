//! What a program under test saves.

use std::path::PathBuf;
use std::process::Command;

use super::results_file::assert_valid;

/// Results files that a command names by `--out` or `--resume`, with what they held before it ran.
pub struct Saved(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Saved {
    /// To be made before it runs.
    pub fn by(command: &Command) -> Self {
        let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let folders = words.iter().enumerate().filter_map(|(position, word)| match word.split_once('=') {
            Some(("--out" | "--resume", folder)) => Some(folder.to_owned()),
            None if word == "--out" || word == "--resume" => words.get(position + 1).cloned(),
            _ => None,
        });
        let home = command.get_current_dir().map_or_else(PathBuf::new, PathBuf::from);
        let files = folders.map(|folder| home.join(folder).join("results.json"));
        Self(files.map(|file| (file.clone(), std::fs::read(file).ok())).collect())
    }

    /// To be called when it has ended, however it did: what it wrote is a whole results file.
    ///
    /// # Panics
    /// Where it is not.
    pub fn check(&self) {
        for (file, before) in &self.0 {
            let now = std::fs::read(file).ok().filter(|now| Some(now) != before.as_ref());
            if let Some(text) = now {
                let results = serde_json::from_slice(&text);
                let results = results.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                assert_valid(&results);
            }
        }
    }
}
