//! Changes between two runs, or between methods that took turns: forest plots of the largest ones.

use std::cmp::Ordering;

use capbench_judge::comparison::{Comparison, Contrast, Field, Judgement, Scale, Setup};
use capbench_judge::finding::comparison::trials_of;
use capbench_judge::thresholds::COMPARISON_LEVEL;
use capbench_model::figures::{many, shortest};
use capbench_results::Results;

use super::parts::{chart, linear, names, point, series};
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::tables::comparisons::{self as tables, JUDGEMENTS};

/// Most rows of a chart.
const MOST_ROWS: usize = 10;

/// The sections of methods that took turns, one per comparison.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    if let [comparison] = &results.comparisons[..] {
        return vec![section("comparison", comparison)];
    }
    let mut sections = Vec::new();
    for (index, comparison) in results.comparisons.iter().enumerate() {
        sections.push(section(&format!("comparison-{}", index + 1), comparison));
    }
    sections
}

/// The charts and tables of a comparison. The first chart has the most important judgement.
pub(crate) fn section(id: &str, comparison: &Comparison) -> Section {
    // A change of loss is a difference and not a ratio, so it has another axis.
    let mut charts = Vec::new();
    charts.extend(changes(comparison, Scale::Ratio));
    charts.extend(changes(comparison, Scale::Difference));
    charts.sort_by_key(|chart| JUDGEMENTS.iter().position(|words| chart.series[0].name == words.heading));
    Section { charts, ..tables::section(id, comparison) }
}

/// The most important contrasts on this scale; `None` if nothing changed.
fn changes(comparison: &Comparison, scale: Scale) -> Option<Chart> {
    let mut contrasts = by_importance(comparison, scale);
    if !contrasts.iter().any(|contrast| is_change(contrast)) {
        return None;
    }
    let omitted = contrasts.len().saturating_sub(MOST_ROWS) as u64;
    contrasts.truncate(MOST_ROWS);
    let common = common_setup(&contrasts);
    let rows = contrasts.iter().map(|contrast| name(contrast, &contrasts, &common)).collect();
    let scene = if common == Setup::default() { String::new() } else { format!(": {common}") };
    let Comparison { then, now, thresholds, .. } = comparison;
    let words = match scale {
        Scale::Ratio => {
            ScaleWords { id: "changes", title: "Change", threshold: thresholds.relative, of_what: "" }
        }
        Scale::Difference => ScaleWords {
            id: "changes-of-loss",
            title: "Change of loss",
            threshold: thresholds.loss,
            of_what: " of the sent frames",
        },
    };
    let mut notes = vec![format!(
        "Grey: up to the threshold of ±{} %{}. Lines: {:.0} % intervals.",
        shortest(words.threshold * 100.0, 3),
        words.of_what,
        COMPARISON_LEVEL * 100.0
    )];
    if omitted > 0 {
        notes.push(format!("{} in the tables.", many(omitted, "more figure is", "more figures are")));
    }
    let title = format!("{} from {then} to {now}{scene}", words.title);
    let x = names("Figure", rows);
    let y = linear("Change", Unit::Ratio);
    let chart = chart(words.id, title, Kind::Forest, x, y, lines(comparison, &contrasts));
    let marks = [-words.threshold, words.threshold]
        .map(|threshold| Mark { label: "threshold".into(), at: Place::Y(threshold) });
    Some(chart.marking(marks).noting(notes))
}

/// What a chart of changes on a scale is called.
struct ScaleWords {
    /// Its name in links.
    id: &'static str,
    /// The beginning of its title.
    title: &'static str,
    /// Changes up to this one do not count.
    threshold: f64,
    /// Of what the threshold is a share, with a blank before it; empty for a ratio of two figures.
    of_what: &'static str,
}

/// The contrasts on this scale, by judgement and then by the size of the change.
fn by_importance(comparison: &Comparison, scale: Scale) -> Vec<&Contrast> {
    let mut contrasts: Vec<&Contrast> = Vec::new();
    for contrast in &comparison.contrasts {
        if contrast.measure.scale() == scale {
            contrasts.push(contrast);
        }
    }
    contrasts.sort_by(|a, b| compare_importance(a, b));
    contrasts
}

/// The judgement decides first, then the size of the change: the largest first.
fn compare_importance(a: &Contrast, b: &Contrast) -> Ordering {
    let by_judgement = rank(a.judgement).cmp(&rank(b.judgement));
    by_judgement.then(b.change.middle.abs().total_cmp(&a.change.middle.abs()))
}

/// The position of a judgement by importance.
fn rank(judgement: Judgement) -> Option<usize> {
    JUDGEMENTS.iter().position(|words| words.judgement == judgement)
}

/// Whether the change or an end of its interval is not 0.
fn is_change(contrast: &Contrast) -> bool {
    let change = contrast.change;
    change.middle != 0.0
        || change.low.is_some_and(|end| end != 0.0)
        || change.high.is_some_and(|end| end != 0.0)
}

/// A series for each judgement; the position of a contrast is its row.
fn lines(comparison: &Comparison, contrasts: &[&Contrast]) -> Vec<Series> {
    let mut lines = Vec::new();
    for words in &JUDGEMENTS {
        let mut points = Vec::new();
        for (row, contrast) in contrasts.iter().enumerate() {
            if contrast.judgement != words.judgement {
                continue;
            }
            let change = contrast.change;
            let interval = change.low.zip(change.high).map(|(low, high)| [low, high]);
            let trials = trials_of(comparison, contrast);
            points.push(Point { interval, ..point(row as f64, change.middle, trials) });
        }
        if !points.is_empty() {
            lines.push(series(words.heading, Role::Judgement, points));
        }
    }
    lines
}

/// What all single set-ups have in common, without traffic and transmit method: the tables do not name them, either.
fn common_setup(contrasts: &[&Contrast]) -> Setup {
    let mut setups = Vec::new();
    for contrast in contrasts {
        if contrast.setups == 1 {
            setups.push(&contrast.setup);
        }
    }
    Setup::common(&setups).across(&[Field::Traffic, Field::Transmit])
}

/// A contrast's figure, with the part of its set-up that not all contrasts of the chart share: `recv CPU time, 64 B`.
fn name(contrast: &Contrast, contrasts: &[&Contrast], common: &Setup) -> String {
    let mut known: Vec<Field> =
        Field::ALL.into_iter().filter(|field| common.value(*field).is_some()).collect();
    known.extend([Field::Traffic, Field::Transmit]);
    if is_at_one_load(contrast, contrasts) {
        known.push(Field::Load);
    }
    let mut setup = contrast.setup.across(&known);
    if setup.capture == common.capture {
        setup.capture = None;
    }
    let mut name = contrast.measure.words().to_string();
    if let Some(method) = &setup.method {
        name = format!("{method} {name}");
    }
    let scene = setup.scene();
    if scene != Setup::default() {
        name += &format!(", {scene}");
    }
    if contrast.setups > 1 {
        name += &format!(", {} set-ups together", contrast.setups);
    }
    name
}

/// Whether all single set-ups of this figure have the same load: then its name need not say which.
fn is_at_one_load(contrast: &Contrast, contrasts: &[&Contrast]) -> bool {
    for compared in contrasts {
        let is_same_figure = compared.measure == contrast.measure && compared.setups == 1;
        if is_same_figure && compared.setup.load != contrast.setup.load {
            return false;
        }
    }
    true
}
