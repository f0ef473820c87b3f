//! What comparisons print: in what the runs differ, what became worse or better, and what is excluded where nothing is shown.
//! A pure function of a comparison.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use capbench_measure::comparison::{Comparison, Contrast, Judgement, LEVEL, Measure, Scale, Setup};
use capbench_measure::figures::grouped;
use capbench_measure::results::Results;

use crate::summary::{COLUMNS, wrapped};
use crate::table::Table;

/// The sections, in the order in which they matter.
const SECTIONS: [(Judgement, &str); 5] = [
    (Judgement::Regression, "Regressions"),
    (Judgement::Improvement, "Improvements"),
    (Judgement::BelowThreshold, "Changed, by less than the threshold"),
    (Judgement::NotShown, "No difference shown"),
    (Judgement::TooFewVisits, "Too few trials to tell"),
];

/// Which runs are compared.
pub fn runs(sides: [(&Path, &Results); 2]) -> String {
    let mut text = String::new();
    for (name, (path, results)) in ["A", "B"].iter().zip(sides) {
        wrapped(&mut text, &format!("{name}  "), "   ", &path.display().to_string());
        let started = UNIX_EPOCH + Duration::from_secs(results.started_unix_s);
        let mut command = results.command.clone();
        if let Some(program) = command.first_mut() {
            *program = "capbench".into();
        }
        let started = humantime::format_rfc3339_seconds(started);
        wrapped(&mut text, "   ", "     ", &format!("{started}: {}", command.join(" ")));
    }
    text.push('\n');
    text
}

/// In what the runs differ, and what is to be known of them.
pub fn circumstances(comparison: &Comparison) -> String {
    let mut text = String::from("Differences between the runs\n");
    if comparison.differences.is_empty() {
        text.push_str("  none that they tell of\n");
    }
    for difference in &comparison.differences {
        wrapped(&mut text, "  - ", "    ", difference);
    }
    text.push('\n');
    if !comparison.notes.is_empty() {
        text.push_str("To be known first\n");
        comparison.notes.iter().for_each(|note| wrapped(&mut text, "  - ", "    ", note));
        text.push('\n');
    }
    text
}

/// What was found, what was not, and what these trials can show.
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    if comparison.paired {
        let Comparison { then, now, .. } = comparison;
        let title = format!("{now} against {then}, in pairs that ran side by side");
        wrapped(&mut text, "", "  ", &title);
        text.push('\n');
    }
    for (judgement, title) in SECTIONS {
        section(&mut text, comparison, judgement, title);
    }
    list(
        &mut text,
        &format!("Only in {}", comparison.then),
        comparison.only_then.iter().map(ToString::to_string),
    );
    list(
        &mut text,
        &format!("Only in {}", comparison.now),
        comparison.only_now.iter().map(ToString::to_string),
    );
    let left_out = comparison.left_out.iter().map(|out| {
        let trials = if out.trials == 1 { "1 trial".into() } else { format!("{} trials", out.trials) };
        format!("{trials} of {}: {}", out.of, out.because)
    });
    list(&mut text, "Left out", left_out);
    list(&mut text, "What this can show", power(comparison).into_iter());
    wrapped(&mut text, "", "  ", &conclusion(comparison));
    text
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    text.push_str(title);
    text.push('\n');
    items.iter().for_each(|item| wrapped(text, "  - ", "    ", item));
    text.push('\n');
}

fn section(text: &mut String, comparison: &Comparison, judgement: Judgement, title: &str) {
    let mut scenes: Vec<(Setup, bool)> = Vec::new();
    for contrast in comparison.judged(judgement) {
        let scene = scene(contrast);
        if !scenes.contains(&scene) {
            scenes.push(scene);
        }
    }
    if scenes.is_empty() {
        return;
    }
    text.push_str(title);
    text.push('\n');
    for place in scenes {
        let (setup, is_pooled) = &place;
        let own = comparison.judged(judgement).filter(|contrast| scene(contrast) == place);
        let title = match is_pooled {
            true => format!("several set-ups together: {setup}"),
            false => setup.to_string(),
        };
        wrapped(text, "  ", "    ", &title);
        text.push_str(&table(own, *is_pooled));
    }
    text.push('\n');
}

/// What a table is of: a set-up without its method, or several of them.
fn scene(contrast: &Contrast) -> (Setup, bool) {
    (contrast.setup.scene(), contrast.setups > 1)
}

fn table<'c>(contrasts: impl Iterator<Item = &'c Contrast>, is_pooled: bool) -> String {
    let mut table = match is_pooled {
        true => Table::new(&["    method", "figure", "set-ups", "change", "interval", "p"]),
        false => Table::new(&["    method", "figure", "then", "now", "change", "interval", "p"]),
    };
    for contrast in contrasts {
        let method = contrast.setup.method.as_deref().unwrap_or("all methods");
        let value = |side: Option<f64>| side.map_or("-".into(), |value| figure(contrast.measure, value));
        let mut row = vec![format!("    {method}"), contrast.measure.words().to_string()];
        match is_pooled {
            true => row.push(contrast.setups.to_string()),
            false => row.extend([value(contrast.then.median), value(contrast.now.median)]),
        }
        row.extend([
            change(contrast.measure, contrast.change.middle),
            interval(contrast),
            contrast.corrected.map_or("-".into(), probability),
        ]);
        table.row(row);
    }
    table.within(COLUMNS).to_string()
}

/// A value in its unit. Shares come in percent, and as "0" only where nothing is meant.
fn figure(measure: Measure, value: f64) -> String {
    match measure.scale() {
        Scale::Difference if value == 0.0 => "0".into(),
        Scale::Difference => format!("{} %", digits(value * 100.0)),
        Scale::Ratio => grouped(value),
    }
}

/// A change with its sign: percent of what it was, or points of shares.
fn change(measure: Measure, change: f64) -> String {
    format!("{} {}", signed(change), unit(measure))
}

fn unit(measure: Measure) -> &'static str {
    match measure.scale() {
        Scale::Ratio => "%",
        Scale::Difference => "points",
    }
}

fn interval(contrast: &Contrast) -> String {
    match contrast.change.low.zip(contrast.change.high) {
        Some((low, high)) => format!("{} to {}", signed(low), signed(high)),
        None => "-".into(),
    }
}

fn signed(share: f64) -> String {
    let percent = share * 100.0;
    let text = digits(percent);
    if percent > 0.0 && text != "0" { format!("+{text}") } else { text }
}

/// As many digits as a figure in percent deserves. What rounds to nothing is 0, without a sign.
fn digits(percent: f64) -> String {
    let text = match percent.abs() {
        10.0.. => grouped_signed(percent),
        0.1.. => format!("{percent:.1}"),
        _ => format!("{percent:.2}"),
    };
    match text.trim_matches(['-', '0', '.']) {
        "" => "0".into(),
        _ => text,
    }
}

/// A number as it was given.
fn plain(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn grouped_signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs()))
}

fn probability(p: f64) -> String {
    match p {
        ..0.0001 => "<0.0001".into(),
        ..0.1 => format!("{p:.4}"),
        _ => format!("{p:.2}"),
    }
}

/// What the trials of a comparison are good for.
fn power(comparison: &Comparison) -> Vec<String> {
    let Comparison { thresholds, false_alarms, tested, contrasts, .. } = comparison;
    let untold = comparison.judged(Judgement::TooFewVisits).count();
    let unchanged = match contrasts.len().saturating_sub(*tested + untold) {
        0 => String::new(),
        same => format!(", and {same} were the same in all trials"),
    };
    let mut lines = vec![format!(
        "{tested} of {} figures could be tested{unchanged}. p is the probability that chance deals them so, by permutation of the trials \
         of each set-up, corrected after Holm for all that were tested: what is named below {false_alarms} is false in one \
         comparison of {:.0} at most{}.",
        contrasts.len(),
        1.0 / false_alarms,
        if comparison.paired { "" } else { ", as far as nothing drifts between the runs" }
    )];
    lines.push(format!(
        "Named is a change of at least {} % of rates and times, and of loss by {} % of the sent frames; loss in most trials where \
         there was none in any is named whatever its size. An interval holds the true change with a \
         probability of {:.0} %, each by itself: larger changes are excluded.",
        plain(thresholds.relative * 100.0),
        plain(thresholds.loss * 100.0),
        LEVEL * 100.0
    ));
    if let Some(visits) = comparison.visits_needed {
        let how = match comparison.paired {
            true => format!("from {visits} visits on (bench --against METHOD --visits {visits})"),
            false => format!("from {visits} visits in each run on (bench --visits {visits})"),
        };
        lines.push(format!(
            "Some set-ups have too few trials to be told by themselves, whatever these say. Each figure of each set-up could \
             be told {how}; fewer set-ups need fewer. Several set-ups together need less."
        ));
    }
    if !comparison.paired {
        lines.push(
            "Two runs are two points in time: what changed on the host between them is in every figure. Trials that take \
             turns are free of that: bench --against METHOD."
                .into(),
        );
    }
    lines
}

/// The last line.
fn conclusion(comparison: &Comparison) -> String {
    let count = |judgement| comparison.judged(judgement).count();
    let [regressions, improvements, small, alike, untold] = SECTIONS.map(|(judgement, _)| count(judgement));
    let named = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    if comparison.disturbed {
        return "Inconclusive: the host disturbed most trials of a run, so what is named above may be its doing. Measure again \
                while nothing else runs."
            .into();
    }
    if comparison.damaged {
        return "Inconclusive: the file of a run is not as it was written, and what is missing or changed could be what became \
                worse. Measure again."
            .into();
    }
    if comparison.is_inconclusive() {
        return "Inconclusive: there are too few trials to tell anything by.".into();
    }
    let is_excluded = |contrast: &&Contrast| {
        let threshold = match contrast.measure.scale() {
            Scale::Ratio => comparison.thresholds.relative,
            Scale::Difference => comparison.thresholds.loss,
        };
        contrast.worst_possible().is_some_and(|worst| worst <= threshold)
    };
    let excluded = comparison.judged(Judgement::NotShown).filter(is_excluded).count();
    let open = match alike {
        0 => String::new(),
        _ => format!(
            "; no difference shown in {}, with a regression over the threshold excluded in {excluded}",
            named(alike, "figure", "figures")
        ),
    };
    let small = if small > 0 { format!("; {small} changed by less") } else { String::new() };
    let untold = if untold > 0 { format!("; {untold} with too few trials to tell") } else { String::new() };
    format!(
        "{}, {}{small}{open}{untold}.",
        match regressions {
            0 => "No regression shown".into(),
            count => named(count, "regression", "regressions"),
        },
        named(improvements, "improvement", "improvements"),
    )
}

#[cfg(test)]
mod tests {
    use capbench_measure::comparison::{
        Change, Comparison, Conclusion, Contrast, Judgement, LeftOut, Measure, Setup, Side, Thresholds,
    };

    use super::{circumstances, comparison, digits, plain, signed};

    fn setup(method: &str, load: &str) -> Setup {
        Setup {
            method: Some(method.into()),
            placement: Some("same".into()),
            frame_size: Some("64".into()),
            work: Some("none".into()),
            load: Some(load.into()),
            ..Setup::default()
        }
    }

    fn contrast(
        method: &str,
        measure: Measure,
        medians: [f64; 2],
        change: [f64; 3],
        judgement: Judgement,
    ) -> Contrast {
        let side = |median: f64| Side { trials: vec![1, 2], median: Some(median), lossy: None };
        Contrast {
            setup: setup(method, "maximum load"),
            setups: 1,
            measure,
            then: side(medians[0]),
            now: side(medians[1]),
            change: Change { middle: change[0], low: Some(change[1]), high: Some(change[2]) },
            by_chance: Some(0.0002),
            corrected: Some(if judgement == Judgement::NotShown { 0.4 } else { 0.0021 }),
            judgement,
        }
    }

    fn example() -> Comparison {
        let pooled = Contrast {
            setup: Setup { placement: Some("same".into()), ..Setup::default() },
            setups: 14,
            then: Side { trials: vec![1], ..Side::default() },
            now: Side { trials: vec![1], ..Side::default() },
            ..contrast("", Measure::TotalCost, [0.0; 2], [0.21, 0.17, 0.26], Judgement::Regression)
        };
        let single = Contrast {
            change: Change { middle: 0.034, low: None, high: None },
            corrected: None,
            by_chance: None,
            ..contrast(
                "libpcap",
                Measure::WorstLatency,
                [10_100.0, 10_443.0],
                [0.0; 3],
                Judgement::TooFewVisits,
            )
        };
        Comparison {
            then: "A".into(),
            now: "B".into(),
            paired: false,
            disturbed: false,
            damaged: false,
            thresholds: Thresholds::default(),
            false_alarms: 0.05,
            differences: vec!["kernel release: 6.1.0 then, 6.12.1 now".into()],
            notes: vec!["B is not complete: it has the trials that were finished".into()],
            contrasts: vec![
                contrast(
                    "packet-v3",
                    Measure::DeliveredRate,
                    [1_234_567.0, 1_012_345.0],
                    [-0.18, -0.2244, -0.1312],
                    Judgement::Regression,
                ),
                contrast(
                    "recv",
                    Measure::TotalCost,
                    [2100.0, 1700.0],
                    [-0.19, -0.25, -0.11],
                    Judgement::Improvement,
                ),
                contrast(
                    "recv",
                    Measure::LossRatio,
                    [0.0, 0.0002],
                    [0.0002, 0.0, 0.0004],
                    Judgement::NotShown,
                ),
                contrast(
                    "packet-v2",
                    Measure::DeliveredRate,
                    [900_000.0; 2],
                    [0.001, -0.02, 0.031],
                    Judgement::NotShown,
                ),
                single,
                pooled,
            ],
            tested: 5,
            visits_needed: Some(9),
            only_then: vec![setup("recvmmsg", "maximum load")],
            only_now: Vec::new(),
            left_out: vec![LeftOut { of: "A".into(), because: "they show nothing".into(), trials: 1 }],
        }
    }

    #[test]
    fn a_comparison_says_what_it_can_and_fits_80_columns() {
        let text = format!("{}{}", circumstances(&example()), comparison(&example()));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn methods_that_took_turns_are_named() {
        let paired = Comparison { then: "recv".into(), now: "packet-v3".into(), paired: true, ..example() };
        let text = comparison(&paired);
        assert!(text.starts_with("packet-v3 against recv, in pairs that ran side by side\n"), "{text}");
        assert!(!text.contains("Two runs are"), "{text}");
    }

    #[test]
    fn nothing_tested_is_inconclusive() {
        let contrasts =
            example().contrasts.into_iter().filter(|one| one.judgement == Judgement::TooFewVisits);
        let none = Comparison { contrasts: contrasts.collect(), tested: 0, ..example() };
        let busy = Comparison { disturbed: true, ..example() };
        let text = comparison(&busy);
        assert!(
            text.contains("Inconclusive: the host disturbed most")
                && busy.conclusion() == Conclusion::Inconclusive,
            "{text}"
        );
        let damaged = Comparison { damaged: true, ..example() };
        assert!(comparison(&damaged).contains("Inconclusive: the file of a run"));
        assert_eq!(damaged.conclusion(), Conclusion::Inconclusive);
        assert!(comparison(&none).ends_with("Inconclusive: there are too few trials to tell anything by.\n"));
    }

    #[test]
    fn changes_have_a_sign_unless_they_are_none() {
        assert_eq!(
            [0.1234, -0.051, 0.0004, 0.0, -0.000_001, 25.0].map(signed),
            ["+12", "-5.1", "+0.04", "0", "0", "+2,500"]
        );
        assert_eq!([digits(5.0), plain(5.0), plain(0.25), plain(10.0)], ["5.0", "5", "0.25", "10"]);
    }
}
