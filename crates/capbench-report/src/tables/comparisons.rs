//! The comparison of two runs or of methods that took turns: changes for the worse or better, and excluded changes.

use capbench_judge::comparison::{Comparison, Contrast, Judgement, Measure, Scale, Setup};
use capbench_judge::finding::comparison::trials_of;
use capbench_judge::thresholds::COMPARISON_LEVEL;
use capbench_model::figures::{grouped, shortest};

use super::rows::{Fields, Rows};
use crate::figures::number;
use crate::model::{Cell, Column, Section, Sentence, Table, Unit};
use crate::naming::many;
use crate::sentences::comparison::{difference_words, note_words};

/// A judgement of contrasts, as the sections of a comparison show it.
pub(crate) struct JudgementWords {
    pub(crate) judgement: Judgement,
    /// Its name in links.
    pub(crate) name: &'static str,
    pub(crate) heading: &'static str,
}

/// All judgements, by importance.
#[rustfmt::skip]
pub(crate) const JUDGEMENTS: [JudgementWords; 5] = [
    JudgementWords { judgement: Judgement::Regression, name: "worse", heading: "Regressions" },
    JudgementWords { judgement: Judgement::Improvement, name: "better", heading: "Improvements" },
    JudgementWords { judgement: Judgement::BelowThreshold, name: "small", heading: "Changed, by less than the threshold" },
    JudgementWords { judgement: Judgement::NotShown, name: "alike", heading: "No difference shown" },
    JudgementWords { judgement: Judgement::TooFewVisits, name: "undecided", heading: "Too few trials to decide" },
];

/// The tables of a comparison.
pub(crate) fn section(id: &str, comparison: &Comparison) -> Section {
    let mut tables = Vec::new();
    for words in &JUDGEMENTS {
        tables.extend(judged_table(id, comparison, words, SetUps::Single));
        tables.extend(judged_table(id, comparison, words, SetUps::Together));
    }
    let mut text: Vec<String> = comparison.note_facts.iter().map(note_words).collect();
    for difference in &comparison.difference_facts {
        text.push(format!("They differ: {}.", difference_words(difference)));
    }
    if comparison.difference_facts.is_empty() && !comparison.paired && comparison.hosts.is_none() {
        text.push("Differences between the runs: none that they report.".into());
    }
    let mut closing = not_compared(comparison);
    closing.extend(power(comparison));
    match tables.last_mut() {
        Some(last) => last.notes.extend(closing),
        None => text.extend(closing),
    }
    let text = text.into_iter().map(|text| Sentence { text, trials: Vec::new() }).collect();
    Section { id: id.into(), heading: heading(comparison), text, charts: Vec::new(), tables }
}

/// The heading: what is compared with what.
fn heading(comparison: &Comparison) -> String {
    let Comparison { then, now, .. } = comparison;
    match (comparison.hosts, comparison.paired) {
        (Some(hosts), _) => format!("{now} against {then}, on {}", many(hosts.into(), "host", "hosts")),
        (None, true) => format!("{now} against {then}, in pairs that ran side by side"),
        (None, false) => format!("{now} against {then}"),
    }
}

/// Changes beyond the threshold: regressions first, each kind with the largest change first; `None` without any.
pub(crate) fn changes(comparison: &Comparison) -> Option<Table> {
    let mut rows = Rows::new();
    for (judgement, word) in [(Judgement::Regression, "worse"), (Judgement::Improvement, "better")] {
        let mut contrasts: Vec<&Contrast> = comparison.judged(judgement).collect();
        contrasts.sort_by(|a, b| b.change.middle.abs().total_cmp(&a.change.middle.abs()));
        for contrast in contrasts {
            let fields = Fields::new()
                .words("judgement", "change", word)
                .words("setup", "set-up", contrast.setup.scene().to_string())
                .words("method", "method", method_name(contrast).unwrap_or_else(|| "all".into()))
                .words("measure", "figure", contrast.measure.words())
                .words("then", "A", figure(contrast.measure, contrast.then.median))
                .words("now", "B", figure(contrast.measure, contrast.now.median))
                .figure("change_ratio", "by", change(contrast));
            rows.add(fields, trials_of(comparison, contrast));
        }
    }
    let table = rows.table("summary", "Changes beyond the threshold, from A to B")?;
    // A comparison of several hosts has changes only: the columns `A` and `B` are empty.
    if comparison.hosts.is_some() { Some(table.without_empty_columns()) } else { Some(table) }
}

/// The method of a contrast; `None` if it is about all methods.
fn method_name(contrast: &Contrast) -> Option<String> {
    contrast.setup.method.as_ref().map(ToString::to_string)
}

/// The set-ups of a table's contrasts.
#[derive(Clone, Copy, PartialEq)]
enum SetUps {
    /// One each.
    Single,
    /// Several together, which have no figures.
    Together,
}

/// The contrasts with a judgement, of single set-ups or of several together.
fn judged_table(id: &str, comparison: &Comparison, words: &JudgementWords, set_ups: SetUps) -> Option<Table> {
    let mut rows = Rows::new();
    for contrast in comparison.judged(words.judgement) {
        let is_together = contrast.setups > 1;
        if is_together != (set_ups == SetUps::Together) {
            continue;
        }
        let number_of_setups = if is_together { Cell::from(contrast.setups) } else { Cell::Empty };
        let measure = format!("{} {}", contrast.measure.words(), unit(contrast.measure));
        let fields = Fields::new()
            .words("setup", "set-up", contrast.setup.scene().to_string())
            .words("method", "method", method_name(contrast).unwrap_or_else(|| "all methods".into()))
            .count("setups", "set-ups", number_of_setups)
            .words("measure", "figure", measure.trim_end())
            .words("then", "then", figure(contrast.measure, contrast.then.median))
            .words("now", "now", figure(contrast.measure, contrast.now.median))
            .with(Column::figure("change_ratio", "change (95 %)").whole(), change(contrast))
            .with(Column::words("by_chance", "chance").detail(), Cell::number_or_empty(contrast.by_chance))
            .words("corrected", "p", Cell::number_or_empty(contrast.corrected));
        rows.add(fields, trials_of(comparison, contrast));
    }
    let JudgementWords { name, heading, .. } = words;
    let table = match set_ups {
        SetUps::Single => rows.table(&format!("{id}-{name}"), heading),
        SetUps::Together => {
            rows.table(&format!("{id}-{name}-together"), &format!("{heading}, several set-ups together"))
        }
    };
    Some(table?.without_empty_columns().main())
}

/// The unit of a figure: shares are in percent.
fn unit(measure: Measure) -> &'static str {
    match measure.scale() {
        Scale::Difference => "%",
        Scale::Ratio => measure.unit(),
    }
}

/// A figure of a run; empty if it is unknown.
fn figure(measure: Measure, value: Option<f64>) -> Cell {
    let Some(value) = value else { return Cell::Empty };
    Cell::text(match measure.scale() {
        Scale::Difference => number(value, Unit::Ratio),
        Scale::Ratio => grouped(value),
    })
}

/// A change, with its interval if it has one.
fn change(contrast: &Contrast) -> Cell {
    let change = contrast.change;
    match (change.low, change.high) {
        (Some(low), Some(high)) => Cell::Interval { middle: change.middle, low, high },
        _ => change.middle.into(),
    }
}

/// The set-ups and trials that were not compared.
fn not_compared(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let sides = [(&comparison.then, &comparison.only_then), (&comparison.now, &comparison.only_now)];
    for (name, setups) in sides {
        if !setups.is_empty() {
            let setups: Vec<String> = setups.iter().map(Setup::to_string).collect();
            notes.push(format!("Only in {name}: {}.", setups.join("; ")));
        }
    }
    for left_out in &comparison.left_out {
        let trials = many(left_out.trials.into(), "trial", "trials");
        notes.push(format!("Left out: {trials} of {}: {}.", left_out.subject, left_out.because));
    }
    notes
}

/// How many figures were tested, which changes count, and how many visits would judge the others.
fn power(comparison: &Comparison) -> Vec<String> {
    let Comparison { thresholds, false_alarms, tested, contrasts, .. } = comparison;
    if contrasts.is_empty() {
        return vec!["Nothing could be compared: no figure is known on both sides.".into()];
    }
    let undecided = comparison.judged(Judgement::TooFewVisits).count();
    let unchanged = match contrasts.len().saturating_sub(*tested + undecided) {
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
            "A change of rates and times is named from {} % on, a change of loss from {} percentage points of the sent frames on. An interval contains the true change with a probability of {:.0} %, each by itself.",
            shortest(thresholds.relative * 100.0, 3),
            shortest(thresholds.loss * 100.0, 3),
            COMPARISON_LEVEL * 100.0
        ),
    ];
    if let Some(visits) = comparison.visits_needed {
        let how = match comparison.paired {
            true => format!("{visits} visits (bench --against METHOD --visits {visits}) judge most of them"),
            false => format!("{visits} visits in each run (bench --visits {visits}) judge most of them"),
        };
        lines.push(format!(
            "Some set-ups have too few trials to be judged by themselves. {how}, as far as further trials are \
             like these; fewer set-ups need fewer. Several set-ups together need less."
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
