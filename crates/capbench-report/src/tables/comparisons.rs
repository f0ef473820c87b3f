//! The comparison of two runs or of methods that took turns: changes for the worse or better, and excluded changes; and claims
//! of publications.

use capbench_judge::comparison::{Comparison, Contrast, Judgement, LEVEL, Measure, Scale};
use capbench_judge::finding::comparison::trials_of;
use capbench_judge::reproduction::Judgement as ClaimJudgement;
use capbench_judge::reproduction::Reproduction;
use capbench_model::figures::{grouped, shortest};
use capbench_model::saved::SavedMethod;
use capbench_results::Results;

use super::shape::Columns;
use crate::figures::number;
use crate::model::{Cell, Column, Section, Sentence, Table, Unit};
use crate::naming::many;
use crate::sentences::comparison::{difference_words, note_words};
use crate::sentences::reproduction::answer_words;

/// Judgements of contrasts by importance: name for links, and heading.
pub(crate) const JUDGEMENTS: [(Judgement, &str, &str); 5] = [
    (Judgement::Regression, "worse", "Regressions"),
    (Judgement::Improvement, "better", "Improvements"),
    (Judgement::BelowThreshold, "small", "Changed, by less than the threshold"),
    (Judgement::NotShown, "alike", "No difference shown"),
    (Judgement::TooFewVisits, "undecided", "Too few trials to decide"),
];

/// The tables of a comparison.
pub(crate) fn section(id: &str, comparison: &Comparison) -> Section {
    let Comparison { then, now, .. } = comparison;
    let heading = match (comparison.hosts, comparison.paired) {
        (Some(hosts), _) => format!("{now} against {then}, on {}", many(hosts.into(), "host", "hosts")),
        (None, true) => format!("{now} against {then}, in pairs that ran side by side"),
        (None, false) => format!("{now} against {then}"),
    };
    let mut tables: Vec<Table> =
        JUDGEMENTS.iter().flat_map(|kind| judged(id, comparison, kind)).flatten().collect();
    let mut text: Vec<String> = comparison.note_facts.iter().map(note_words).collect();
    for difference in &comparison.difference_facts {
        text.push(format!("They differ: {}.", difference_words(difference)));
    }
    if comparison.difference_facts.is_empty() && !comparison.paired && comparison.hosts.is_none() {
        text.push("Differences between the runs: none that they report.".into());
    }
    let closing = remainder(comparison).chain(power(comparison));
    match tables.last_mut() {
        Some(last) => last.notes.extend(closing),
        None => text.extend(closing),
    }
    let text = text.into_iter().map(|text| Sentence { text, trials: Vec::new() }).collect();
    Section { id: id.into(), heading, text, charts: Vec::new(), tables }
}

/// The largest changes of a comparison, regressions first; `None` without any.
pub(crate) fn changes(comparison: &Comparison) -> Option<Table> {
    let kinds = [(Judgement::Regression, "worse"), (Judgement::Improvement, "better")];
    let rows = kinds.into_iter().flat_map(|(judgement, words)| {
        let mut own: Vec<(&str, &Contrast)> =
            comparison.judged(judgement).map(|contrast| (words, contrast)).collect();
        own.sort_by(|a, b| b.1.change.middle.abs().total_cmp(&a.1.change.middle.abs()));
        own
    });
    let columns = Columns::new()
        .words("judgement", "change", |(words, _): &(&str, &Contrast)| *words)
        .words("setup", "set-up", |(_, contrast)| contrast.setup.scene().to_string())
        .words("method", "method", |(_, contrast)| text_or(&contrast.setup.method, "all"))
        .words("measure", "figure", |(_, contrast)| contrast.measure.words())
        .words("then", "A", |(_, contrast)| figure(contrast.measure, contrast.then.median))
        .words("now", "B", |(_, contrast)| figure(contrast.measure, contrast.now.median))
        .with(Column::named("change_ratio", "by"), |(_, contrast)| change(contrast));
    let trials = |(_, contrast): &(&str, &Contrast)| trials_of(comparison, contrast);
    let table = columns.table("summary", "Changes beyond the threshold, from A to B", rows, trials);
    // Of hosts together there are no figures.
    table.map(|table| if comparison.hosts.is_some() { table.without_empty_columns() } else { table })
}

/// The contrasts with this judgement: single set-ups, and several together, which have no figures.
/// The method in words.
fn text_or(method: &Option<SavedMethod>, absent: &str) -> String {
    method.as_ref().map_or(absent.into(), ToString::to_string)
}

fn judged(
    id: &str,
    comparison: &Comparison,
    (judgement, name, heading): &(Judgement, &str, &str),
) -> [Option<Table>; 2] {
    let table = |id: String, caption: String, is_pooled: bool| {
        let own = comparison.judged(*judgement).filter(|contrast| (contrast.setups > 1) == is_pooled);
        let columns = Columns::new()
            .words("setup", "set-up", |contrast: &&Contrast| contrast.setup.scene().to_string())
            .words("method", "method", |contrast| text_or(&contrast.setup.method, "all methods"))
            .count("setups", "set-ups", move |contrast| match is_pooled {
                true => Cell::from(contrast.setups),
                false => Cell::Empty,
            })
            .words("measure", "figure", |contrast| {
                format!("{} {}", contrast.measure.words(), unit(contrast.measure)).trim_end().to_string()
            })
            .words("then", "then", |contrast| figure(contrast.measure, contrast.then.median))
            .words("now", "now", |contrast| figure(contrast.measure, contrast.now.median))
            .with(Column::named("change_ratio", "change (95 %)").whole(), |contrast| change(contrast))
            .with(Column::words("by_chance", "chance").detail(), |one| Cell::where_known(one.by_chance))
            .words("corrected", "p", |contrast| Cell::where_known(contrast.corrected));
        let trials = |contrast: &&Contrast| trials_of(comparison, contrast);
        Some(columns.table(&id, &caption, own, trials)?.without_empty_columns().main())
    };
    [
        table(format!("{id}-{name}"), (*heading).into(), false),
        table(format!("{id}-{name}-together"), format!("{heading}, several set-ups together"), true),
    ]
}

/// The unit of a figure: shares are in percent.
fn unit(measure: Measure) -> &'static str {
    match measure.scale() {
        Scale::Difference => "%",
        Scale::Ratio => measure.unit(),
    }
}

fn figure(measure: Measure, value: Option<f64>) -> Cell {
    Cell::words(value.map(|value| match measure.scale() {
        Scale::Difference => number(value, Unit::Ratio),
        Scale::Ratio => grouped(value),
    }))
}

fn change(contrast: &Contrast) -> Cell {
    let change = contrast.change;
    match change.low.zip(change.high) {
        Some((low, high)) => Cell::Interval { middle: change.middle, low, high },
        None => Cell::number(Some(change.middle)),
    }
}

fn remainder(comparison: &Comparison) -> impl Iterator<Item = String> {
    let only = |of: &str, setups: &[capbench_judge::comparison::Setup]| {
        let list: Vec<String> = setups.iter().map(ToString::to_string).collect();
        (!list.is_empty()).then(|| format!("Only in {of}: {}.", list.join("; ")))
    };
    let only_in =
        [only(&comparison.then, &comparison.only_then), only(&comparison.now, &comparison.only_now)];
    let left_out = comparison.left_out.iter().map(|out| {
        format!("Left out: {} of {}: {}.", many(out.trials.into(), "trial", "trials"), out.of, out.because)
    });
    only_in.into_iter().flatten().chain(left_out.collect::<Vec<_>>())
}

/// The differences that a comparison's trials can detect.
fn power(comparison: &Comparison) -> Vec<String> {
    let Comparison { thresholds, false_alarms, tested, contrasts, .. } = comparison;
    if contrasts.is_empty() {
        return vec!["Nothing could be compared: no figure is known on both sides.".into()];
    }
    let untold = comparison.judged(Judgement::TooFewVisits).count();
    let unchanged = match contrasts.len().saturating_sub(*tested + untold) {
        0 => String::new(),
        same => format!(", and {same} were the same in all trials"),
    };
    let mut lines = vec![
        format!(
            "{tested} of {} figures could be tested{unchanged}. p is the probability that chance alone gives such a difference, by permutation of the {}, corrected after Holm for all that were tested. Below {false_alarms}, up to one comparison in {:.0} names a change that is not there{}.",
            contrasts.len(),
            if comparison.hosts.is_some() { "runs of each host and set-up" } else { "trials of each set-up" },
            1.0 / false_alarms,
            if comparison.paired { "" } else { ", as far as nothing drifts between the runs" }
        ),
        format!(
            "A change of rates and times is named from {} % on, a change of loss from {} percentage points of the sent frames on. Loss in most trials where there was none in any is always named. An interval contains the true change with a probability of {:.0} %, each by itself.",
            shortest(thresholds.relative * 100.0, 3),
            shortest(thresholds.loss * 100.0, 3),
            LEVEL * 100.0
        ),
    ];
    if let Some(visits) = comparison.visits_needed {
        let how = match comparison.paired {
            true => format!("{visits} visits (bench --against METHOD --visits {visits})"),
            false => format!("{visits} visits in each run (bench --visits {visits})"),
        };
        lines.push(format!(
            "Some set-ups have too few trials to be judged by themselves. To judge each figure of each \
             set-up takes {how}; fewer set-ups need fewer. Several set-ups together need less."
        ));
    }
    if comparison.hosts.is_some() {
        lines.push(
            "A figure of a run is the median of its trials. Hosts are compared with themselves only.".into(),
        );
    } else if !comparison.paired {
        lines.push(
            "Two runs are two points in time: every figure includes what changed on the host between them. Trials that take turns exclude that: bench --against METHOD."
                .into(),
        );
    }
    lines
}

/// The table directly after the verdict of repeated experiments: one row per claim and its answer; `None` if no claim was judged.
pub(super) fn claims(results: &Results) -> Option<Table> {
    let rows: Vec<(&Reproduction, &ClaimJudgement)> =
        results.reproductions.iter().flat_map(|one| one.findings.iter().map(move |own| (one, own))).collect();
    let mut columns = Columns::new()
        .words("publication", "publication", |(publication, _): &(&Reproduction, &ClaimJudgement)| {
            publication.key.as_str()
        })
        .words("claim", "claim", |(_, judged)| judged.claim.as_str())
        .words("answer", "answer", |(_, judged)| answer_words(judged.answer))
        .count("trials", "trials", |(_, judged)| judged.trials.len());
    // Files of older versions do not have them.
    if rows.iter().any(|(_, judged)| judged.visits.is_some()) {
        columns = columns
            .count("visits", "visits each", |(_, judged)| judged.visits.map_or(Cell::Empty, Cell::from))
            .named("chance_ratio", "chance alone does it in", |(_, judged)| {
                judged.chance.map_or(Cell::Empty, Cell::Number)
            });
    }
    let notes = results.reproductions.iter().filter(|reproduction| !reproduction.complete);
    let notes = notes.map(|reproduction| {
        format!("{}: not complete; its answers rest on the trials that were finished.", reproduction.key)
    });
    let caption = "Claims of publications, and what has become of them on this host";
    Some(columns.table("summary", caption, rows, |(_, judged)| judged.trials.clone())?.with_notes(notes))
}
