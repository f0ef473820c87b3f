//! The corpus of saved runs: what every run says, what it decides, and how it ends, held against the answers of an earlier
//! binary.
//!
//! | file | content |
//! |---|---|
//! | `archive` | reads and writes the committed archives |
//! | `answers` | the facts of one run, a member a line, and its texts |
//! | `contradictions` | facts of a run that its own trials contradict |
//! | `decisions` | decisions that follow from the trials of a run, made again |
//! | `pairs` | comparisons of two runs, and of the runs of a dataset |
//! | `simulated` | plans on simulated hosts, run again with the same seeds |
//! | `accepted` | the committed list of accepted differences |
//! | `members` | JSON values as lines; members that no earlier answer has are left out |
//! | `imports` | the types of capbench that the corpus needs |
//!
//! `data/README.md` says where the runs come from and how the files are made again.

mod accepted;
mod answers;
mod archive;
mod contradictions;
mod decisions;
mod imports;
mod members;
mod pairs;
#[path = "../../../capbench-report/tests/reports/runs/mod.rs"]
mod runs;
mod simulated;

use std::collections::BTreeMap;

use answers::ReadRun;
use archive::Entry;
use imports::sentences;
use members::KnownMembers;

/// Number of runs that the corpus must have.
const LEAST_RUNS: usize = 300;
/// Adds runs and answers that are not there yet for `new`; the files of `FOLDER` for `add=FOLDER`.
const WRITE: &str = "CAPBENCH_WRITE_CORPUS";
/// The line of a run that lost more than no frame.
const LOSS_OVER_LIMIT: &str = "exit without an allowed loss: 3";
/// Accepts all differences with the reason that is its value.
const ACCEPT: &str = "CAPBENCH_ACCEPT_CORPUS";

#[test]
fn every_saved_run_says_and_decides_what_it_did() {
    match std::env::var(WRITE).ok().as_deref() {
        Some("new") => {
            archive::add_new("simulated", simulated::saved());
            return archive::add_new(archive::ANSWERS, answers::of_corpus());
        }
        Some(add) => return archive::add(add.strip_prefix("add=").expect("add=FOLDER")),
        None => {}
    }
    let runs = answers::runs().len();
    assert!(runs >= LEAST_RUNS, "the corpus has {runs} runs");
    let earlier = archive::answers();
    let known = KnownMembers::of(earlier.values().flatten());
    let mut differences = BTreeMap::new();
    let mut lossy_soaks = 0;
    for Entry { name, content } in answers::of_corpus() {
        let now: Vec<String> = String::from_utf8(content).unwrap().lines().map(String::from).collect();
        let is_lossy_soak = name.contains("soak") && now.iter().any(|line| line == LOSS_OVER_LIMIT);
        lossy_soaks += usize::from(is_lossy_soak);
        let then = earlier.get(&name).map(Vec::as_slice).unwrap_or_default();
        let changed = accepted::difference(then, &known.without_new(now));
        if !changed.is_empty() {
            differences.insert(name, changed);
        }
    }
    assert!(lossy_soaks > 0, "no soak ends with the code of a loss over its limit");
    differences.extend(simulated::differences());
    accepted::check(differences, std::env::var(ACCEPT).ok().filter(|reason| !reason.is_empty()));
}

/// As saved, and as this version judges: an earlier version saved its own recommendation.
#[test]
fn no_fact_of_a_run_is_contradicted_by_its_trials() {
    let mut contradictions = Vec::new();
    for ReadRun { name, read } in answers::runs() {
        let Ok(run) = read else { continue };
        let mut results = run.results.clone();
        let mut found = Vec::new();
        sentences::conclude(&mut results);
        found.extend(contradictions::in_run(&results));
        if results.recommended.is_some() {
            results.recommended = None;
            sentences::conclude(&mut results);
            found.extend(contradictions::in_run(&results));
        }
        for contradiction in found {
            contradictions.push(format!("{name}: {contradiction}"));
        }
    }
    assert!(
        contradictions.is_empty(),
        "{} contradictions:\n{}",
        contradictions.len(),
        contradictions.join("\n")
    );
}
