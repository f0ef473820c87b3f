//! Builds a report: a pure function of saved results.

use std::path::Path;

use capbench_judge::comparison::Comparison;
use capbench_judge::finding::caveats::Caveat;
use capbench_judge::finding::{Finding as Fact, Found, Subject, comparison, whole_run};
use capbench_judge::search::End;
use capbench_results::Results;

use crate::figures::utc;
use crate::model::{Chart, Report, Section, Sentence, Table};
use crate::naming::{self, command_line};
use crate::{links, sections, sentences, tables};
use capbench_results::Kind;
use capbench_results::read::Run;

/// Number of charts that show the verdict of a run without a ranking.
const CHARTS_OF_PICTURE: usize = 1;

/// The first sentence of the report of a run.
pub fn verdict(results: &Results) -> Sentence {
    sentences::answers(results).into_iter().next().unwrap_or_else(verdict_of_nothing)
}

/// The verdict of a run without an answer.
fn verdict_of_nothing() -> Sentence {
    Sentence { text: "Nothing was measured.".into(), trials: Vec::new() }
}

/// The report of a run.
pub fn report(run: &Run) -> Report {
    let results = &run.results;
    let whole_run = results.whole_run();
    let mut answers = whole_run::answers(&whole_run).into_iter();
    let first_answer = answers.next();
    let subject_of_verdict = first_answer.as_ref().and_then(|answer| answer.subject.clone());
    let verdict = first_answer.map_or_else(verdict_of_nothing, sentences::in_words);
    let mut findings: Vec<Sentence> = answers.map(sentences::in_words).collect();
    let mut details = Vec::new();
    for found in whole_run::find(&whole_run) {
        // Answers to claims are in the section of their publication.
        if matches!(found.subject, Some(Subject::Publication { .. })) {
            continue;
        }
        if found.fact.is_detail() {
            details.push(findings.len());
        }
        findings.push(with_subject(&found, subject_of_verdict.as_ref()));
    }
    let mut sections = join_sections(sections::sections(results), tables::sections(results));
    let mut picture = sections::ranking::charts(results);
    if picture.is_empty() {
        picture = take_picture(results, &mut sections);
    }
    let caveats = whole_run::caveats(&whole_run);
    let is_disturbers = |found: &Found| matches!(found.fact, Fact::Caveat(Caveat::Disturbers(_)));
    let disturbers = caveats.iter().position(is_disturbers);
    let mut report = Report {
        title: format!("capbench {}", results.command_word().unwrap_or(results.kind().command())),
        subtitle: subtitle(run),
        verdict,
        warnings: warnings(run),
        picture,
        summary: tables::summary::table(results),
        findings,
        details,
        caveats: caveats.into_iter().map(sentences::in_words).collect(),
        disturbers,
        sections,
        environment: tables::environment::tables(results),
        statements: sentences::statements::of_run(results),
        trials: tables::trials::table(results),
    };
    links::make_names_unique(&mut report);
    report
}

/// Takes the first charts of the section that shows the verdict, which is left out if it becomes empty.
fn take_picture(results: &Results, sections: &mut Vec<Section>) -> Vec<Chart> {
    let mut picture = Vec::new();
    if let Some(index) = section_of_verdict(results, sections) {
        let section = &mut sections[index];
        picture.extend(section.charts.drain(..CHARTS_OF_PICTURE));
        if section.charts.is_empty() && section.tables.is_empty() {
            sections.remove(index);
        }
    }
    picture
}

/// The position of the section that shows the verdict: for tests of RFC 2544 the losses against the load, else the first with
/// charts.
fn section_of_verdict(results: &Results, sections: &[Section]) -> Option<usize> {
    let mut first = None;
    for (index, section) in sections.iter().enumerate() {
        if section.charts.is_empty() {
            continue;
        }
        if results.kind() == Kind::Rfc2544 && section.id == "loss-against-load" {
            return Some(index);
        }
        first = first.or(Some(index));
    }
    first
}

/// Damage of the files, and whether the run completed.
fn warnings(run: &Run) -> Vec<String> {
    let results = &run.results;
    let mut warnings = run.warnings.clone();
    if !results.complete {
        let unfinished = results.searches.iter().rev().find(|search| search.ended != End::Complete);
        let what = match unfinished.map(|search| &search.ended) {
            Some(End::TimeUp) => "The time of the search was used up",
            Some(End::TrafficUp) => "The traffic of the search was used up",
            Some(End::Invalid { .. } | End::AboveLineRate { .. } | End::Failed { .. }) => "The search ended",
            _ => "The run was stopped or interrupted",
        };
        let trials = naming::many(results.trials.len() as u64, "trial", "trials");
        warnings.push(format!("{what} after {trials}."));
    }
    warnings
}

/// The report of a comparison alone: no trials and no environment of its runs.
pub fn of_comparison(subtitle: String, comparison: &Comparison) -> Report {
    let mut section = sections::comparisons::section("comparison", comparison);
    Report {
        title: "capbench compare".into(),
        subtitle,
        verdict: sentences::in_words(comparison::of_runs(comparison)),
        warnings: Vec::new(),
        picture: section.charts.drain(..CHARTS_OF_PICTURE.min(section.charts.len())).collect(),
        summary: tables::comparisons::changes(comparison),
        findings: comparison::circumstances(comparison).into_iter().map(sentences::in_words).collect(),
        details: Vec::new(),
        caveats: Vec::new(),
        disturbers: None,
        sections: vec![section],
        environment: Vec::new(),
        statements: Vec::new(),
        trials: Table::default(),
    }
}

/// The comparison report of two runs, `A` and `B`, named by their paths.
pub fn compared(sides: [(&Path, &Results); 2], comparison: &Comparison) -> Report {
    let runs = [("A", sides[0].1), ("B", sides[1].1)];
    let mut subtitle = Vec::new();
    let mut environment = Vec::new();
    let mut statements = Vec::new();
    for ((name, results), (path, _)) in runs.into_iter().zip(sides) {
        let started = utc(results.started_unix_s as f64);
        let command = command_line(&results.command);
        subtitle.push(format!("{name} is {}, {command}, {started}", path.display()));
        for table in tables::environment::tables(results) {
            let id = format!("{name}-{}", table.id);
            let caption = format!("{name}: {}", table.caption);
            environment.push(Table { id, caption, ..table });
        }
        for statement in sentences::statements::of_run(results) {
            statements.push(format!("{name}: {statement}"));
        }
    }
    let mut report = Report {
        caveats: sentences::caveats::noise_of_both_runs(runs).into_iter().collect(),
        environment,
        statements,
        trials: tables::trials::table_of_two_runs(runs),
        ..of_comparison(subtitle.join("; "), comparison)
    };
    links::make_names_unique(&mut report);
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

/// A fact in words. Its subject is before it, unless the verdict has the same subject.
fn with_subject(found: &Found, subject_of_verdict: Option<&Subject>) -> Sentence {
    let Sentence { text, trials } = sentences::text_and_trials(found);
    let subject = found.subject.as_ref().filter(|subject| Some(*subject) != subject_of_verdict);
    let text = match subject.and_then(sentences::subject_words) {
        Some(subject) => format!("{subject}: {text}"),
        None => text,
    };
    Sentence { text, trials }
}

/// The names of sections, or their beginnings, in reading order: the run's question, where frames went, CPU cost, latency. Other
/// sections follow.
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

/// Joins sections with charts and sections with tables: those of the same name become one. Puts them in reading order.
fn join_sections(charts: Vec<Section>, tables: Vec<Section>) -> Vec<Section> {
    let mut sections = charts;
    for added in tables {
        let Some(section) = sections.iter_mut().find(|section| section.id == added.id) else {
            sections.push(added);
            continue;
        };
        for sentence in added.text {
            if !section.text.contains(&sentence) {
                section.text.push(sentence);
            }
        }
        section.tables.extend(added.tables);
    }
    sections.sort_by_key(|section| position_in_order(&section.id));
    sections
}

/// The position of a section in the reading order.
fn position_in_order(id: &str) -> usize {
    ORDER.iter().position(|prefix| id.starts_with(prefix)).unwrap_or(ORDER.len())
}
