//! The crates use each other one way: what happened, what it means, what is saved, what is said. Judgement needs facts only, and a
//! report needs no plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// By crate, the names of the dependencies of its program, on any target and with any feature, without those of its tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"]);
    let done = command.arg(workspace).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metadata: Value = serde_json::from_slice(&done.stdout).unwrap();
    let mut all = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let mut needed = BTreeSet::new();
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["kind"].is_null() {
                needed.insert(dependency["name"].as_str().unwrap().to_string());
            }
        }
        all.insert(package["name"].as_str().unwrap().to_string(), needed);
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
    // Facts, and what derives their schemas.
    let facts = [
        "capbench-frames",
        "capbench-model",
        "capbench-no-schema",
        "capbench-schema",
        "capbench-statistics",
        "capbench-sys",
    ];
    assert_eq!(needed, BTreeSet::from(facts.map(String::from)));
    let own = &dependencies["capbench-judge"];
    assert!(own.contains("serde"), "the manifest is read wrongly: {own:?}");
    let chance: Vec<&String> = own.iter().filter(|name| name.contains("rand")).collect();
    assert!(chance.is_empty(), "{chance:?}");
}

/// The crates of which each one needs only those after it, directly or not: the arrows of ARCHITECTURE.md.
const DOWNWARDS: [&str; 22] = [
    "capbench",
    "capbench-otg",
    "capbench-agent",
    "capbench-dataset",
    "capbench-report",
    "capbench-chart",
    "capbench-results",
    "capbench-reproduce",
    "capbench-plan",
    "capbench-judge",
    "capbench-metrics",
    "capbench-http",
    "capbench-tune",
    "capbench-why",
    "capbench-lab",
    "capbench-record",
    "capbench-host",
    "capbench-capture",
    "capbench-traffic",
    "capbench-model",
    "capbench-frames",
    "capbench-statistics",
];

#[test]
fn arrows_point_downwards() {
    let dependencies = dependencies();
    for (place, name) in DOWNWARDS.iter().enumerate() {
        let own = dependencies.get(*name).unwrap_or_else(|| panic!("there is no {name}"));
        for above in &DOWNWARDS[..place] {
            assert!(!own.contains(*above), "{name} needs {above}, which is above it in ARCHITECTURE.md");
        }
    }
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
