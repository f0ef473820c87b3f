//! The answers of one run, one fact a line. Its facts: what reading it finds, exit codes, answers, findings and caveats with
//! their trials, the recommendation, what is decided again. Apart from them its texts: each sentence, what `capbench report
//! --details` prints, and a digest of each chart and table of the page.

use std::path::Path;
use std::sync::LazyLock;

use serde::Serialize;

use crate::archive::{self, Entry};
use crate::imports::{Extent, Finding, Report, Results, Run, Sentence, read, report, sentences, text};
use crate::{decisions, members, pairs};

/// A run of the corpus, or why it is refused.
pub struct ReadRun {
    pub name: String,
    pub read: Result<Run, String>,
}

/// All runs. The tests share them, because they take long to read.
pub fn runs() -> &'static [ReadRun] {
    static RUNS: LazyLock<Vec<ReadRun>> = LazyLock::new(|| {
        on_two_threads(&archive::runs(), |Entry { name, content }| {
            vec![ReadRun { name: name.clone(), read: read_run(name, content) }]
        })
    });
    &RUNS
}

/// What a function makes of each value, in their order.
fn on_two_threads<V: Sync, M: Send>(values: &[V], make: impl Fn(&V) -> Vec<M> + Sync) -> Vec<M> {
    let (first, second) = values.split_at(values.len() / 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| second.iter().flat_map(&make).collect::<Vec<_>>());
        let mut made: Vec<M> = first.iter().flat_map(&make).collect();
        made.extend(second.join().unwrap());
        made
    })
}

/// The answers of all runs, and of all pairs of them.
pub fn of_corpus() -> Vec<Entry> {
    let mut entries = on_two_threads(runs(), of_run);
    entries.extend(pairs::answers());
    entries
}

fn of_run(ReadRun { name, read }: &ReadRun) -> Vec<Entry> {
    match read {
        Ok(run) => {
            let mut results = run.results.clone();
            sentences::conclude(&mut results);
            let facts = facts(&run.warnings, &results, name.starts_with("simulated/"));
            vec![entry(name.clone(), &facts), texts_of(name, &texts(run, &results))]
        }
        Err(refusal) => vec![entry(name.clone(), &[format!("refused: {refusal}")])],
    }
}

/// An entry of these lines.
pub fn entry(name: String, lines: &[String]) -> Entry {
    Entry { name, content: (lines.join("\n") + "\n").into_bytes() }
}

/// The entry of the texts of a run, or of a comparison.
pub fn texts_of(name: &str, lines: &[String]) -> Entry {
    entry(format!("texts of {name}"), lines)
}

/// Reads a run of the corpus as a file of its name.
fn read_run(name: &str, content: &[u8]) -> Result<Run, String> {
    let file = Path::new("/corpus").join(format!("{name}.json"));
    read::parse(content, &file).map_err(|error| error.to_string())
}

fn facts(warnings: &[String], results: &Results, is_simulated: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in warnings {
        lines.push(format!("warning: {warning}"));
    }
    lines.extend(decisions::exits(results));
    lines.extend(of_findings("answers", &results.answers));
    lines.extend(of_findings("findings", &results.findings));
    lines.extend(of_findings("caveats", &results.caveats));
    lines.extend(decisions::of_run(results));
    // The plan of a simulated run is run again as a whole.
    if !is_simulated {
        lines.extend(decisions::searches_again(results));
    }
    lines
}

/// What findings concern, their facts and trials.
fn of_findings(list: &str, findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    for (nth, finding) in findings.iter().enumerate() {
        let path = format!("{list}[{nth}]");
        let saved = serde_json::to_value(finding).unwrap();
        if finding.subject.is_some() {
            lines.extend(members::lines(&format!("{path}.subject"), &saved["subject"]));
        }
        lines.extend(members::lines(&format!("{path}.fact"), &saved["fact"]));
        lines.push(format!("{path}.trials = \"{}\"", numbers(&finding.trials)));
    }
    lines
}

fn texts(run: &Run, results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for sentence in sentences::answers(results) {
        lines.push(of_sentence("answer", &sentence));
    }
    for finding in &results.findings {
        let scene = finding.scene.as_deref().unwrap_or_default();
        lines.push(format!("finding {} [{scene}]: {}", numbers(&finding.trials), finding.text));
    }
    lines.extend(of_report(&report::report(run)));
    lines
}

fn of_sentence(kind: &str, Sentence { text, trials }: &Sentence) -> String {
    format!("{kind} {}: {text}", numbers(trials))
}

/// The lines of a report: its text, then digests of what only its page has.
pub fn of_report(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for caveat in &report.caveats {
        lines.push(of_sentence("caveat", caveat));
    }
    for line in text::text(report, Extent::Details).lines() {
        lines.push(format!("text: {line}"));
    }
    for chart in &report.picture {
        lines.push(format!("picture {}: {}", chart.id, digest(chart)));
    }
    for section in &report.sections {
        for sentence in &section.text {
            lines.push(of_sentence(&format!("section {}", section.id), sentence));
        }
        for chart in &section.charts {
            lines.push(format!("chart {}/{}: {}", section.id, chart.id, digest(chart)));
        }
        for table in &section.tables {
            lines.push(format!("table {}/{}: {}", section.id, table.id, digest(table)));
        }
    }
    lines.push(format!("table of trials: {}", digest(&report.trials)));
    lines
}

/// Numbers of trials: `1-4,7`.
fn numbers(trials: &[u32]) -> String {
    let mut parts: Vec<[u32; 2]> = Vec::new();
    for &number in trials {
        match parts.last_mut() {
            Some(part) if part[1].checked_add(1) == Some(number) => part[1] = number,
            _ => parts.push([number; 2]),
        }
    }
    let words = parts.iter().map(|[first, last]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

/// A digest of what is written as JSON: of words of eight octets, because a loop over octets is slow without optimisation.
fn digest(value: &impl Serialize) -> String {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let octets = serde_json::to_vec(value).expect("it is written as JSON");
    let mut digest = octets.len() as u64;
    for part in octets.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        digest = (digest ^ u64::from_le_bytes(word)).wrapping_mul(ODD).rotate_left(29);
    }
    format!("{digest:016x}")
}

/// Results that can be compared: those of a run that can be read.
pub fn results_of(name: &str) -> Results {
    let run = runs().iter().find(|run| run.name == name);
    let ReadRun { read, .. } = run.unwrap_or_else(|| panic!("{name} is not in the corpus"));
    read.as_ref().unwrap().results.clone()
}
