//! Builds a report: a pure function of saved results.

use std::path::Path;

use capbench_judge::comparison::Comparison;
use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::comparison;
use capbench_judge::search::End;
use capbench_results::{Finding, Results};

use crate::figures::utc;
use crate::model::{Report, Section, Sentence, Table};
use crate::naming::{self, command_line};
use crate::{links, sections, sentences, tables};
use capbench_results::Kind;
use capbench_results::read::Run;

/// Number of charts that show a verdict without a ranking.
const PICTURES: usize = 1;

/// The first sentence of the report of a run.
pub fn verdict(results: &Results) -> Sentence {
    sentences::answers(results).into_iter().next().unwrap_or_else(nothing)
}

fn nothing() -> Sentence {
    Sentence { text: "Nothing was measured.".into(), trials: Vec::new() }
}

/// The report of a run.
pub fn report(run: &Run) -> Report {
    let results = &run.results;
    let mut answers = sentences::answers(results).into_iter();
    let verdict = answers.next().unwrap_or_else(nothing);
    let found = sentences::find(results).into_iter();
    // The section of a publication shows the answers to its claims.
    let is_claim = |finding: &Finding| {
        let scene = finding.scene.as_deref();
        results.reproductions.iter().any(|reproduction| scene == Some(&reproduction.key))
    };
    let mut sections = together(sections::sections(results), tables::sections(results));
    let mut picture = sections::ranking::charts(results);
    if picture.is_empty() {
        let has_charts = |section: &Section| !section.charts.is_empty();
        let is_curve = |section: &Section| section.id == "loss-against-load" && has_charts(section);
        let curve = sections.iter().position(is_curve).filter(|_| results.kind() == Kind::Rfc2544);
        if let Some(at) = curve.or_else(|| sections.iter().position(has_charts)) {
            picture.extend(sections[at].charts.drain(..PICTURES));
        }
        sections.retain(|section| !section.charts.is_empty() || !section.tables.is_empty());
    }
    let mut findings: Vec<Sentence> = answers.collect();
    let mut details = Vec::new();
    for finding in found.filter(|finding| !is_claim(finding)) {
        if finding.fact.as_ref().is_some_and(Fact::is_detail) {
            details.push(findings.len());
        }
        findings.push(said(finding, &verdict.text));
    }
    let mut report = Report {
        title: format!("capbench {}", results.command_word().unwrap_or(results.kind().command())),
        subtitle: subtitle(run),
        verdict,
        warnings: warnings(run),
        picture,
        summary: tables::summary::table(results),
        findings,
        details,
        caveats: sentences::caveats::caveats(results),
        sections,
        environment: tables::environment::tables(results),
        statements: sentences::statements::all(results),
        trials: tables::trials::table(results),
    };
    links::name_once(&mut report);
    report
}

/// Damage of the files, and whether the run completed.
fn warnings(run: &Run) -> Vec<String> {
    let results = &run.results;
    let trials = naming::many(results.trials.len() as u64, "trial", "trials");
    let mut ends = results.searches.iter().rev().map(|search| &search.ended);
    let what = match ends.find(|end| **end != End::Complete) {
        Some(End::TimeUp) => "The time of the search was used up",
        Some(End::TrafficUp) => "The traffic of the search was used up",
        _ => "The run was stopped or interrupted",
    };
    let stopped = format!("{what} after {trials}.");
    run.warnings.iter().cloned().chain((!results.complete).then_some(stopped)).collect()
}

/// The report of a comparison, without what is known of its runs.
pub fn of_comparison(subtitle: String, comparison: &Comparison) -> Report {
    let mut section = sections::comparisons::section("comparison", comparison);
    Report {
        title: "capbench compare".into(),
        subtitle,
        verdict: sentences::in_words(comparison::of_runs(comparison)),
        warnings: Vec::new(),
        picture: section.charts.drain(..PICTURES.min(section.charts.len())).collect(),
        summary: tables::comparisons::changes(comparison),
        findings: comparison::circumstances(comparison).into_iter().map(sentences::in_words).collect(),
        details: Vec::new(),
        caveats: Vec::new(),
        sections: vec![section],
        environment: Vec::new(),
        statements: Vec::new(),
        trials: Table::default(),
    }
}

/// The comparison report of two runs, `A` and `B`, named by their paths.
pub fn compared(sides: [(&Path, &Results); 2], comparison: &Comparison) -> Report {
    let runs = [("A", sides[0].1), ("B", sides[1].1)];
    let run = |((name, results), (path, _)): ((&str, &Results), (&Path, _))| {
        let started = utc(results.started_unix_s as f64);
        format!("{name} is {}, {}, {started}", path.display(), command_line(&results.command))
    };
    let subtitle: Vec<String> = runs.into_iter().zip(sides).map(run).collect();
    let host = |(name, results): (&str, &Results)| {
        let named = |table: Table| Table {
            id: format!("{name}-{}", table.id),
            caption: format!("{name}: {}", table.caption),
            ..table
        };
        tables::environment::tables(results).into_iter().map(named).collect::<Vec<_>>()
    };
    let said = |(name, results): (&str, &Results)| {
        sentences::statements::all(results)
            .iter()
            .map(|statement| format!("{name}: {statement}"))
            .collect::<Vec<_>>()
    };
    let mut report = Report {
        caveats: sentences::caveats::noise_of_both_runs(runs).into_iter().collect(),
        environment: runs.into_iter().flat_map(host).collect(),
        statements: runs.into_iter().flat_map(said).collect(),
        trials: tables::trials::table_of_two_runs(runs),
        ..of_comparison(subtitle.join("; "), comparison)
    };
    links::name_once(&mut report);
    report
}

/// Command line, time and host.
fn subtitle(run: &Run) -> String {
    let results = &run.results;
    let environment = &results.environment;
    let kernel = environment.kernel_release.as_deref().unwrap_or("of an unknown release");
    let cpu = environment.cpu_model.as_deref().unwrap_or("CPU of an unknown model");
    let kind = match environment.virtual_machine {
        Some(true) => ", virtual machine",
        _ => "",
    };
    format!(
        "{} | {} | {} | Linux {kernel}, {cpu}, {}{kind} | capbench {}",
        run.name,
        command_line(&results.command),
        utc(results.started_unix_s as f64),
        naming::many(environment.cpus_online as u64, "CPU", "CPUs"),
        environment.capbench_version
    )
}

/// A finding with its scene, unless the verdict begins with that.
fn said(finding: Finding, verdict: &str) -> Sentence {
    let is_said = |scene: &String| verdict.starts_with(&format!("With {scene}: "));
    let text = match finding.scene.filter(|scene| !is_said(scene)) {
        Some(scene) => format!("{scene}: {}", finding.text),
        None => finding.text,
    };
    Sentence { text, trials: finding.trials }
}

/// Prefixes of section names in reading order: the run's question, where frames went, CPU cost, latency. Other sections follow.
const ORDER: [&str; 18] = [
    "set-ups",
    "reproduction",
    "comparison",
    "searches",
    "sweep",
    "rfc2544",
    "soak",
    "engines",
    "delivered-and-lost",
    "loss-against-load",
    "frame-sizes",
    "buffers",
    "ledger",
    "cost-regimes",
    "cpu",
    "latency",
    "loss",
    "guards",
];

/// Joins charts and tables of the same subject in one section.
fn together(charts: Vec<Section>, tables: Vec<Section>) -> Vec<Section> {
    let mut sections = charts;
    for own in tables {
        match sections.iter_mut().find(|section| section.id == own.id) {
            Some(section) => {
                let is_new = |sentence: &Sentence| !section.text.contains(sentence);
                let text: Vec<Sentence> = own.text.into_iter().filter(is_new).collect();
                section.text.extend(text);
                section.tables.extend(own.tables);
            }
            None => sections.push(own),
        }
    }
    sections.sort_by_key(|section| {
        ORDER.iter().position(|begin| section.id.starts_with(begin)).unwrap_or(ORDER.len())
    });
    sections
}
