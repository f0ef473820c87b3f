//! Comparisons: of two runs, and of the runs of a dataset.

use std::path::Path;

use capbench_testing::Scratch;

use crate::answers::{entry, of_report, results_of, texts_of};
use crate::archive::Entry;
use crate::imports::{
    Comparison, Export, Found, Labels, REPORTED_CHANGE_OF_HOSTS, Results, Thresholds, comparison, datasets,
    exit, of_runs, page, report, sentences,
};
use crate::members;

/// Two runs that are compared.
#[rustfmt::skip]
const PAIRS: [[&str; 2]; 24] = [
    ["measured/08-bench", "measured/09-bench"],
    ["measured/09-bench", "measured/10-bench"],
    ["measured/10-bench", "measured/12-bench"],
    ["measured/13-bench", "measured/43-bench"],
    ["measured/19-bench", "measured/20-bench"],
    ["measured/25-search", "measured/27-search"],
    ["measured/30-sweep", "measured/31-sweep"],
    ["measured/32-bench", "measured/34-bench"],
    ["measured/36-bench", "measured/37-bench"],
    ["measured/39-bench", "measured/40-bench"],
    ["measured/44-bench", "measured/45-bench"],
    ["measured/45-bench", "measured/46-bench"],
    ["simulated/bench-rate-alike-1", "simulated/bench-rate-alike-2"],
    ["simulated/bench-rate-noisy-1", "simulated/bench-rate-very-noisy-2"],
    ["simulated/bench-rate-quiet-1", "simulated/bench-rate-disturbed-1"],
    ["simulated/bench-against-quiet-1", "simulated/bench-against-shared-1"],
    ["simulated/bench-against-noisy-1", "simulated/bench-against-noisy-2"],
    ["simulated/bench-searching-alike-1", "simulated/bench-searching-alike-3"],
    ["simulated/bench-searching-quiet-1", "simulated/bench-searching-backlog-1"],
    ["simulated/search-repeated-noisy-1", "simulated/search-repeated-very-noisy-1"],
    ["simulated/search-repeated-quiet-1", "simulated/search-repeated-alike-1"],
    ["simulated/sweep-load-quiet-1", "simulated/sweep-load-noisy-2"],
    ["simulated/sweep-work-noisy-1", "simulated/sweep-work-shared-1"],
    ["simulated/soak-lossy", "simulated/soak-clean"],
];

/// Runs of the dataset, each as of two kernels.
const OF_DATASET: [&str; 8] = [
    "simulated/bench-rate-noisy-1",
    "simulated/bench-rate-noisy-2",
    "simulated/bench-rate-noisy-3",
    "simulated/bench-rate-alike-1",
    "simulated/bench-rate-alike-2",
    "simulated/bench-rate-alike-3",
    "simulated/bench-rate-very-noisy-1",
    "simulated/bench-rate-very-noisy-2",
];

/// The answers about all pairs and about the dataset.
pub fn answers() -> Vec<Entry> {
    let mut answers = Vec::new();
    for pair in PAIRS {
        answers.extend(of_pair(pair, pair.map(results_of)));
    }
    answers.extend(of_dataset());
    answers
}

fn of_pair(names: [&str; 2], runs: [Results; 2]) -> Vec<Entry> {
    let name = format!("compare {} {}", names[0], names[1]);
    let compared = match of_runs(&runs[0].facts(), &runs[1].facts(), &[], Thresholds::default()) {
        Ok(compared) => compared,
        Err(refusal) => return vec![entry(name, &[format!("refused: {refusal}")])],
    };
    let sides = [(Path::new(names[0]), &runs[0]), (Path::new(names[1]), &runs[1])];
    let texts = texts_of(&name, &of_report(&report::compared(sides, &compared)));
    vec![entry(name, &of_comparison(&compared)), texts]
}

fn of_comparison(compared: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("exit: {}", exit::of_comparison(compared.conclusion()).number())];
    let mut facts = vec![comparison::of_runs(compared)];
    facts.extend(comparison::circumstances(compared));
    for (nth, Found { fact, .. }) in facts.iter().enumerate() {
        lines.extend(members::lines(&format!("facts[{nth}]"), fact));
    }
    let mut saved = compared.clone();
    sentences::saved::add_words_to_comparison(&mut saved);
    lines.extend(members::lines("comparison", &saved));
    lines
}

/// What a dataset of some runs says: its report, and the comparison of two kernels.
fn of_dataset() -> [Entry; 2] {
    let scratch = Scratch::new();
    let dataset = scratch.file("dataset");
    let host = Some("a-host".to_string());
    let mut export = Export::open(&dataset, Labels::parse(&[]).unwrap(), host).unwrap();
    for (nth, name) in OF_DATASET.into_iter().enumerate() {
        for (kernel, days) in [("6.1.0", 0), ("6.12.1", 30)] {
            let mut results = results_of(name);
            results.started_unix_s += (nth as u64 + days) * 86_400;
            results.environment.kernel_release = Some(kernel.into());
            if days > 0 {
                // The later kernel runs the trials of another seed.
                let other = OF_DATASET[(nth + 4) % OF_DATASET.len()];
                results.trials = results_of(other).trials;
            }
            let folder = scratch.file(&format!("{nth}-{days}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("results.json"), serde_json::to_vec(&results).unwrap()).unwrap();
            export.add(&folder).unwrap();
        }
    }
    export.finish().unwrap();
    let thresholds = Thresholds { relative: REPORTED_CHANGE_OF_HOSTS, ..Thresholds::default() };
    let compared = datasets::of_dataset(&dataset, "kernel_release", None, thresholds).unwrap();
    let mut texts = of_report(&page::of_comparison(&dataset, "kernel_release", &compared));
    texts.extend(of_report(&page::of_dataset(&dataset, thresholds).unwrap()));
    let path = scratch.path().display().to_string();
    let mut facts = of_comparison(&compared.comparison);
    for line in facts.iter_mut().chain(&mut texts) {
        *line = line.replace(&path, "");
    }
    [entry("dataset".into(), &facts), texts_of("dataset", &texts)]
}
