//! What a program under test saves.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::process::{Ended, HOST, capbench, run};
use super::results_file::assert_valid;

/// Runs a measuring command that ends by itself, and saves into `folder`. On a host that does other things meanwhile, the
/// generator may be the limit (4).
pub fn measured(arguments: &str, folder: &Path) -> (Ended, Value) {
    let mut command = capbench("");
    let ended = run(HOST, command.args(arguments.split_whitespace()).arg("--out").arg(folder));
    assert!(matches!(ended.code, Some(0 | 4)), "{arguments}: {ended:#?}");
    let saved = results(folder).unwrap();
    (ended, saved)
}

/// The results of a folder, whole whenever they are read; `None` while there are none.
pub fn results(folder: &Path) -> Option<Value> {
    let text = std::fs::read(folder.join("results.json")).ok()?;
    Some(serde_json::from_slice(&text).unwrap_or_else(|error| panic!("results.json is no JSON: {error}")))
}

/// How many trials a folder has.
pub fn saved_trials(folder: &Path) -> usize {
    results(folder).map_or(0, |results| results["trials"].as_array().unwrap().len())
}

/// The numbers of a trial, of its discarded attempts, and of its probes.
pub fn numbers(trial: &Value) -> Vec<u64> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let guarding = &trial["guarding"];
    let attempts = list(&guarding["set_aside"]).into_iter().map(|attempt| attempt["trial"].clone());
    let kept = attempts.chain(list(&guarding["recovery"]["probes"]));
    kept.chain([trial.clone()]).map(|trial| trial["number"].as_u64().unwrap()).collect()
}

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
