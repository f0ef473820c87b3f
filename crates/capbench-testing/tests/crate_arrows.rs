//! The crates use each other one way: what happened, what it means, what is saved, what is said. Judgement needs facts only, and a
//! report needs no plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// By crate, the names of the dependencies of its program, without those of its tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (mut named, mut is_section) = (BTreeSet::new(), false);
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_section = line == "[dependencies]";
            } else if is_section && line.starts_with(|first: char| first.is_ascii_lowercase()) {
                named.extend(line.split(['.', ' ', '=']).next().map(String::from));
            }
        }
        all.insert(folder.file_name().unwrap().to_str().unwrap().to_string(), named);
    }
    all
}

/// The crates of this project that a crate needs, directly or not.
fn needed_by(name: &str, dependencies: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let mut open = vec![name.to_string()];
    while let Some(next) = open.pop() {
        for dependency in dependencies.get(&next).into_iter().flatten() {
            if dependencies.contains_key(dependency) && needed.insert(dependency.clone()) {
                open.push(dependency.clone());
            }
        }
    }
    needed
}

#[test]
fn judgement_needs_facts_only_and_no_chance() {
    let dependencies = dependencies();
    let needed = needed_by("capbench-judge", &dependencies);
    let facts = ["capbench-frames", "capbench-model", "capbench-sys"].map(String::from);
    assert_eq!(needed, BTreeSet::from(facts));
    let own = &dependencies["capbench-judge"];
    assert!(own.contains("serde"), "the manifest is read wrongly: {own:?}");
    let chance: Vec<&String> = own.iter().filter(|name| name.contains("rand")).collect();
    assert!(chance.is_empty(), "{chance:?}");
}

#[test]
fn saved_results_reports_and_datasets_need_no_plan() {
    let dependencies = dependencies();
    for name in ["capbench-results", "capbench-report", "capbench-dataset"] {
        let needed = needed_by(name, &dependencies);
        assert!(needed.contains("capbench-judge"), "{name}: {needed:?}");
        for above in ["capbench-plan", "capbench-reproduce", "capbench-lab"] {
            assert!(!needed.contains(above), "{name} needs {above}");
        }
    }
    assert!(!needed_by("capbench-results", &dependencies).contains("capbench-report"));
    assert!(!needed_by("capbench-plan", &dependencies).contains("capbench-results"));
}
