//! The report over a dataset: how rates, costs and losses changed over the days, from which day on the same hosts were
//! worse, and every run. It is the same page as that of a run.
//!
//! | file | what |
//! |---|---|
//! | `days` | the changes that days show, in words |
//! | `hosts` | which hosts became worse, in words |
//! | `trends` | charts over the days |
//! | `runs` | the table of runs |

mod days;
mod hosts;
mod runs;
mod trends;

use std::collections::BTreeSet;
use std::path::Path;

use capbench_judge::comparison::days::day_by_day;
use capbench_judge::comparison::hosts::{Figures, HostsCompared};
use capbench_judge::comparison::{Comparison, Judgement, Thresholds};
use capbench_model::figures::many;
use capbench_report::model::{Cell, Chart, Column, Narrow, Report, Row, Section, Sentence, Unit};
use capbench_report::report as reports;

use self::hosts::{table_of_hosts, worse_words};
use self::runs::table_of_runs;
use self::trends::trends;
use crate::error::Result;
use crate::figures::{self, By};

/// Charts.
const MOST_CHARTS: usize = 24;

/// The report over a dataset.
///
/// # Errors
/// There is no dataset, or a file cannot be read.
pub fn of_dataset(dataset: &Path, thresholds: Thresholds) -> Result<Report> {
    let figures = figures::read(dataset, &By::Date)?;
    let compared = day_by_day(&figures, thresholds);
    let runs = figures.of_runs();
    let mut charts = trends(&figures, &runs, &compared);
    // What changed is never left out.
    charts.sort_by_key(|chart| chart.marks.is_empty());
    let more_charts = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    let hosts: BTreeSet<&str> = figures.runs.iter().filter_map(|run| run.host.as_deref()).collect();
    let extent = format!(
        "{} of {} on {}",
        many(figures.runs.len() as u64, "run", "runs"),
        many(hosts.len() as u64, "host", "hosts"),
        many(compared.all_days as u64, "day", "days")
    );
    let mut text = vec![sentence(
        "Each point is the median over the runs of a day, with an interval that contains the true median. Hosts that are not measured each \
         day change it, too. In a chart of changes each run is compared with the median of its host over all days, so that hosts of unlike \
         speed hide no change.",
    )];
    if more_charts > 0 {
        text.push(sentence(&format!(
            "{more_charts} further charts are left out here; examples/sql has the questions as SQL."
        )));
    }
    if compared.all_days > compared.days.len() {
        text.push(sentence(&format!(
            "Charts and comparisons have the last {} of {} days.",
            compared.days.len(),
            compared.all_days
        )));
    }
    let picture: Vec<Chart> = if charts.is_empty() { Vec::new() } else { vec![charts.remove(0)] };
    let mut sections =
        vec![Section { id: "trends".into(), heading: "Trends".into(), text, charts, tables: Vec::new() }];
    sections.extend(days::section(&compared));
    Ok(Report {
        title: "capbench dataset".into(),
        subtitle: format!("{} | {extent}", dataset.display()),
        verdict: sentence(&days::verdict(&compared, &extent)),
        warnings: Vec::new(),
        picture,
        summary: days::summary(&compared),
        findings: days::findings(&compared),
        details: Vec::new(),
        caveats: noisy(&figures).into_iter().collect(),
        disturbers: None,
        sections,
        environment: Vec::new(),
        statements: Vec::new(),
        trials: table_of_runs(&figures),
    })
}

/// The report of a comparison over hosts: that of two runs, with the hosts.
pub fn of_comparison(dataset: &Path, by: &str, compared: &HostsCompared) -> Report {
    let Comparison { then, now, .. } = &compared.comparison;
    let paired = many(compared.paired as u64, "host", "hosts");
    let subtitle = format!(
        "{}: A is {by} {then}, B is {by} {now}; {} of {paired} with both values; with {then} only: {}, with {now} only: {}",
        dataset.display(),
        many(compared.runs as u64, "run", "runs"),
        many(compared.only[0] as u64, "host", "hosts"),
        many(compared.only[1] as u64, "host", "hosts"),
    );
    let mut report = reports::of_comparison(subtitle, &compared.comparison);
    if !compared.comparison.is_inconclusive() {
        report.verdict.text = format!("{by} {now} against {then} on {paired}: {}", report.verdict.text);
    }
    report.findings.splice(
        0..0,
        compared.comparison.judged(Judgement::Regression).filter_map(|one| {
            let hosts = worse_words(&compared.worse_hosts(one)?);
            Some(sentence(&format!("{}, {}: {hosts}", one.measure.words(), one.setup)))
        }),
    );
    if let Some(section) = report.sections.first_mut() {
        section.tables.extend(table_of_hosts(compared));
    }
    report
}

fn noisy(figures: &Figures) -> Option<Sentence> {
    let (noisy, all) =
        figures.runs.iter().fold((0, 0), |(noisy, all), run| (noisy + run.noisy, all + run.trials));
    (noisy > 0).then(|| {
        sentence(&format!("{noisy} of {all} trials are noisy; the column `noise` of `trials` says why."))
    })
}

fn column(key: &str, heading: &str, unit: Unit) -> Column {
    Column { key: key.into(), heading: heading.into(), unit, narrow: Narrow::Middle }
}

fn row<const N: usize>(cells: [Cell; N]) -> Row {
    Row { cells: cells.into(), trials: Vec::new() }
}

fn sentence(text: &str) -> Sentence {
    Sentence { text: text.into(), trials: Vec::new() }
}
