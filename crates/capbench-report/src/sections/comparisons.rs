//! Changes between two runs, or between methods that took turns: forest plots of the largest ones.

use capbench_judge::comparison::{Comparison, Contrast, Field, LEVEL, Scale, Setup};
use capbench_judge::finding::comparison::trials_of;
use capbench_model::figures::{many, shortest};

use super::parts::{chart, linear, names, point, series};
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::tables::comparisons::{self as tables, JUDGEMENTS};
use capbench_results::Results;

/// Most rows of a chart.
const MOST: usize = 10;

/// The sections of methods that took turns, one per comparison.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    let several = results.comparisons.len() > 1;
    let id = |index: usize| if several { format!("comparison-{}", index + 1) } else { "comparison".into() };
    results.comparisons.iter().enumerate().map(|(index, one)| section(&id(index), one)).collect()
}

/// The charts and tables of a comparison. The first chart has the most important judgement.
pub(crate) fn section(id: &str, comparison: &Comparison) -> Section {
    // A change of loss is a difference and not a ratio, so it has another axis.
    let charts = [Scale::Ratio, Scale::Difference].into_iter().filter_map(|scale| changes(comparison, scale));
    let mut charts: Vec<Chart> = charts.collect();
    charts.sort_by_key(|chart| JUDGEMENTS.iter().position(|(.., heading)| chart.series[0].name == *heading));
    Section { charts, ..tables::section(id, comparison) }
}

/// The largest changes on this scale; `None` if nothing changed.
fn changes(comparison: &Comparison, scale: Scale) -> Option<Chart> {
    let (contrasts, more) = largest(comparison, scale)?;
    let Comparison { then, now, thresholds, .. } = comparison;
    let (id, what, threshold, of) = match scale {
        Scale::Ratio => ("changes", "Change", thresholds.relative, ""),
        Scale::Difference => ("changes-of-loss", "Change of loss", thresholds.loss, " of the sent frames"),
    };
    let common = common(&contrasts);
    let scene = if common == Setup::default() { String::new() } else { format!(": {common}") };
    let rows = contrasts.iter().map(|contrast| name(contrast, &contrasts, &common)).collect();
    let note = format!(
        "Grey: up to the threshold of ±{} %{of}. Lines: {:.0} % intervals.",
        shortest(threshold * 100.0, 3),
        LEVEL * 100.0
    );
    let more =
        (more > 0).then(|| format!("{} in the tables.", many(more, "more figure is", "more figures are")));
    let mark = |at: f64| Mark { label: "threshold".into(), at: Place::Y(at) };
    let title = format!("{what} from {then} to {now}{scene}");
    let (x, y) = (names("Figure", rows), linear("Change", Unit::Ratio));
    let chart = chart(id, title, Kind::Forest, x, y, lines(comparison, &contrasts));
    Some(chart.marking([-threshold, threshold].map(mark)).noting([note]).noting(more))
}

/// The contrasts of the first rows, by judgement and then by the size of the change, and the number of the others. `None` if
/// nothing changed.
fn largest(comparison: &Comparison, scale: Scale) -> Option<(Vec<&Contrast>, u64)> {
    let rank = |contrast: &Contrast| JUDGEMENTS.iter().position(|(own, ..)| *own == contrast.judgement);
    let size = |contrast: &Contrast| contrast.change.middle.abs();
    let mut own: Vec<&Contrast> =
        comparison.contrasts.iter().filter(|contrast| contrast.measure.scale() == scale).collect();
    own.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    let is_change = |contrast: &&Contrast| {
        let change = contrast.change;
        [Some(change.middle), change.low, change.high].into_iter().flatten().any(|end| end != 0.0)
    };
    if !own.iter().any(is_change) {
        return None;
    }
    let more = own.len().saturating_sub(MOST);
    own.truncate(MOST);
    Some((own, more as u64))
}

/// A series for each judgement.
fn lines(comparison: &Comparison, contrasts: &[&Contrast]) -> Vec<Series> {
    let row = |(row, contrast): (usize, &&Contrast)| {
        let change = contrast.change;
        let interval = change.low.zip(change.high).map(|(low, high)| [low, high]);
        Point { interval, ..point(row as f64, change.middle, trials_of(comparison, contrast)) }
    };
    let line = |(judgement, _, heading): (_, _, &str)| {
        let own = contrasts.iter().enumerate().filter(|(_, contrast)| contrast.judgement == judgement);
        series(heading, Role::Judgement, own.map(row).collect())
    };
    JUDGEMENTS.into_iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

/// What all single set-ups have in common. Tables name neither traffic nor transmit method, and nor does a chart.
fn common(contrasts: &[&Contrast]) -> Setup {
    let single = contrasts.iter().filter(|contrast| contrast.setups == 1);
    Setup::common(&single.map(|contrast| &contrast.setup).collect::<Vec<_>>())
        .across(&[Field::Traffic, Field::Transmit])
}

/// The figure and the part of its set-up that others do not have: `recv CPU time, 64 B`.
fn name(contrast: &Contrast, others: &[&Contrast], common: &Setup) -> String {
    let is_same = |other: &&&Contrast| other.measure == contrast.measure && other.setups == 1;
    let load = |other: &&Contrast| other.setup.load == contrast.setup.load;
    let mut known: Vec<Field> =
        Field::ALL.into_iter().filter(|field| common.value(*field).is_some()).collect();
    known.extend([Field::Traffic, Field::Transmit]);
    // A figure is mostly measured at one load.
    if others.iter().filter(is_same).all(load) {
        known.push(Field::Load);
    }
    let mut own = contrast.setup.across(&known);
    if own.capture == common.capture {
        own.capture = None;
    }
    let method = own.method.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut name = format!("{method} {}", contrast.measure.words());
    let scene = own.scene();
    if scene != Setup::default() {
        name.push_str(&format!(", {scene}"));
    }
    if contrast.setups > 1 {
        name.push_str(&format!(", {} set-ups together", contrast.setups));
    }
    name.trim_start().into()
}
