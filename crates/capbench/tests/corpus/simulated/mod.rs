//! Plans on simulated hosts. Each is run again with the same seeds, and what it decides (trials and their order, outcomes,
//! recommendation) is held against the saved run.
//!
//! | file | content |
//! |---|---|
//! | `draws` | small plans on hosts with figures drawn at random |
//! | `hosts` | simulated hosts: quiet, noisy, disturbed, slow ... |
//! | `plans` | benches, searches, sweeps, tests of RFC 2544, soaks, and their results as saved |
//! | `special` | plans that need a host of their own: members, rings, publications |

mod draws;
mod hosts;
mod plans;
mod special;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::archive::{self, Entry};
use crate::imports::{Results, sentences};
use crate::members::Compared;
use hosts::Host;

/// Differing lines of a run that are kept.
const MOST_LINES: usize = 25;

/// A run that can be made again.
pub struct Definition {
    name: String,
    make: Box<dyn Fn() -> Results + Send + Sync>,
}

impl Definition {
    fn new(name: String, make: impl Fn() -> Results + Send + Sync + 'static) -> Self {
        Self { name, make: Box::new(make) }
    }
}

fn definitions() -> Vec<Definition> {
    let mut all = Vec::new();
    for &host in Host::ALL {
        for seed in host.seeds() {
            all.extend(plans::on(host, seed));
        }
    }
    all.extend(special::all());
    all.extend(draws::all());
    for (name, results) in crate::runs::all() {
        all.push(Definition::new(format!("example-{name}"), move || results.clone()));
    }
    all
}

/// Every run, made on two threads.
fn made() -> Vec<(String, Results)> {
    let definitions = definitions();
    // Runs of one kind are next to each other, so each thread makes every second one.
    let made_by = |thread: usize| {
        let mut made = Vec::new();
        for (nth, definition) in definitions.iter().enumerate() {
            if nth % 2 == thread {
                made.push((nth, definition.name.clone(), (definition.make)()));
            }
        }
        made
    };
    let mut made = std::thread::scope(|scope| {
        let second = scope.spawn(|| made_by(1));
        let mut made = made_by(0);
        made.extend(second.join().unwrap());
        made
    });
    made.sort_by_key(|(nth, ..)| *nth);
    made.into_iter().map(|(_, name, results)| (name, results)).collect()
}

/// Every run as it is saved.
pub fn saved() -> Vec<Entry> {
    let mut saved = Vec::new();
    for (name, mut results) in made() {
        sentences::saved::add_words(&mut results);
        saved.push(Entry { name, content: serde_json::to_vec(&results).unwrap() });
    }
    saved
}

/// Runs every plan again: the first lines in which a run differs from the saved one.
///
/// # Panics
/// When the plans are not those of the saved runs.
pub fn differences() -> BTreeMap<String, Vec<String>> {
    let mut earlier: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for Entry { name, content } in archive::read("simulated") {
        earlier.insert(name, content);
    }
    let compared = Compared::committed();
    let mut differences = BTreeMap::new();
    for (name, mut results) in made() {
        sentences::saved::add_words(&mut results);
        let content = earlier.remove(&name).unwrap_or_else(|| panic!("{name} is not saved"));
        let then: Value = serde_json::from_slice(&content).unwrap();
        let now = serde_json::to_value(&results).unwrap();
        let mut lines = Vec::new();
        compared.differences("", "", [&then, &now], MOST_LINES + 1, &mut lines);
        if lines.len() > MOST_LINES {
            lines.truncate(MOST_LINES);
            lines.push("(and more)".into());
        }
        if !lines.is_empty() {
            differences.insert(format!("simulated/{name} run again"), lines);
        }
    }
    assert!(earlier.is_empty(), "no plan makes these runs: {:?}", earlier.keys());
    differences
}
