//! Builds a report: a pure function of saved results.

use std::path::Path;

use crate::results::{Finding, Results};
use capbench_plan::comparison::Comparison;

use crate::figures::utc;
use crate::model::{Report, Section, Sentence, Table};
use crate::naming::{self, Kind};
use crate::read::Run;
use crate::{links, sections, sentences, tables, warnings};

/// The report of a run.
pub fn report(run: &Run) -> Report {
    let results = &run.results;
    let mut warnings = warnings::warnings(run);
    let mut findings = findings_of(results, &mut warnings);
    // The section of a publication shows the answers to its claims.
    let is_claim = |finding: &Finding| {
        let scene = finding.scene.as_deref();
        results.reproductions.iter().any(|reproduction| scene == Some(&reproduction.key))
    };
    findings.retain(|finding| !is_claim(finding));
    let mut report = Report {
        title: format!("capbench {}", naming::command(results).unwrap_or(Kind::of(results).command())),
        subtitle: subtitle(run),
        verdict: sentences::verdict(results),
        warnings,
        summary: tables::summary::table(results),
        sections: together(sections::sections(results), tables::sections(results)),
        findings: findings.into_iter().map(said).collect(),
        environment: tables::environment::tables(results),
        statements: results.statements.clone(),
        trials: tables::trials::table(results),
    };
    links::name_once(&mut report);
    report
}

/// The comparison report of two runs, `A` and `B`, named by their paths.
pub fn compared(sides: [(&Path, &Results); 2], comparison: &Comparison) -> Report {
    let run = |(name, (path, results)): (&str, (&Path, &Results))| {
        let started = utc(results.started_unix_s as f64);
        format!("{name} is {}, {}, {started}", path.display(), command_line(&results.command))
    };
    let runs: Vec<String> = ["A", "B"].into_iter().zip(sides).map(run).collect();
    Report {
        title: "capbench compare".into(),
        subtitle: runs.join("; "),
        verdict: vec![sentences::comparison::of(comparison)],
        warnings: Vec::new(),
        summary: None,
        sections: vec![tables::comparisons::section("comparison", comparison)],
        findings: Vec::new(),
        environment: Vec::new(),
        statements: Vec::new(),
        trials: Table::default(),
    }
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

/// The command as it can be typed again, without the program's folder.
pub fn command_line(command: &[String]) -> String {
    let words = command.iter().enumerate().map(|(place, word)| match place {
        0 => word.rsplit('/').next().unwrap_or(word).to_string(),
        _ if !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=+.,:/%@".contains(c)) =>
        {
            word.clone()
        }
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The findings of the run. An interrupted run saved none; they are computed from its trials.
fn findings_of(results: &Results, warnings: &mut Vec<String>) -> Vec<Finding> {
    if results.complete || !results.findings.is_empty() || results.trials.is_empty() {
        return results.findings.clone();
    }
    warnings.push("Findings are worked out from the trials that were finished.".into());
    sentences::find(results)
}

fn said(finding: Finding) -> Sentence {
    let text = match finding.scene {
        Some(scene) => format!("{scene}: {}", finding.text),
        None => finding.text,
    };
    Sentence { text, trials: finding.trials }
}

/// Prefixes of section names in reading order: the run's question, where frames went, CPU cost, latency. Other sections follow.
const ORDER: [&str; 17] = [
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = ["/opt/bin/capbench", "bench", "--work", "ns:500+queue=2", "--out", "my run", "it's"];
        let line = command_line(&words.map(String::from));
        assert_eq!(line, "capbench bench --work ns:500+queue=2 --out 'my run' 'it'\\''s'");
    }
}
