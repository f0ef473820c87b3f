//! Charts of runs of the simulated path, whose counts are known. `runs` are those of `runs/charted.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use capbench_judge::comparison::{Change, Comparison, Judgement, Measure};
use capbench_model::running::{CaptureFacts, Engine, RingGeometry, Running, TimeSource};
use capbench_model::trial::{Phase, TrialResult};
use capbench_report::model::{Chart, Kind, Place, Point, Report, Role, Scale, Section, Series};
use capbench_report::{figures, formats, report, save};
use capbench_results::Results;
use capbench_results::for_tests::results;

use crate::runs::compared;

#[path = "runs/charted.rs"]
mod runs;

/// The sections of a report, with the picture of the verdict back in the section that it was taken from. The picture of a bench or
/// a search is in no section.
fn sections(results: &Results) -> Vec<Section> {
    const SECTIONS_OF_PICTURES: [&str; 6] =
        ["reproduction", "searches", "sweep", "soak", "delivered-and-lost", "buffers"];
    let mut report = report::report(&super::run(results.clone()));
    if report.picture.iter().any(|chart| chart.kind.has_rows()) {
        return report.sections;
    }
    for section in &mut report.sections {
        // `sweep-points` has tables only.
        if section.id != "sweep-points" && SECTIONS_OF_PICTURES.iter().any(|id| section.id.starts_with(id)) {
            section.charts.splice(0..0, report.picture);
            break;
        }
    }
    report.sections
}

/// The drawing of each chart by its name.
fn drawings(results: &Results) -> BTreeMap<String, String> {
    let files = save::files(&super::run(results.clone()), &[formats::named("svg").unwrap()]).unwrap();
    let mut drawings = BTreeMap::new();
    for file in files {
        let name = file.path.file_stem().unwrap().to_str().unwrap();
        drawings.insert(name.into(), String::from_utf8(file.content).unwrap());
    }
    drawings
}

/// All charts of a report.
fn charts(results: &Results) -> Vec<Chart> {
    sections(results).into_iter().flat_map(|section| section.charts).collect()
}

/// The section with this name.
fn section(results: &Results, id: &str) -> Section {
    let all = sections(results);
    let ids: Vec<String> = all.iter().map(|section| section.id.clone()).collect();
    all.into_iter().find(|section| section.id == id).unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
}

/// The series with this name.
fn line<'c>(chart: &'c Chart, name: &str) -> &'c Series {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let found = chart.series.iter().find(|series| series.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in {names:?}"))
}

/// A point as text: `64: 1,000 (900 to 1,100) [1 2]`, with its interval and its trials.
fn sketch_of_point(chart: &Chart, point: &Point) -> String {
    let x = match &chart.x.scale {
        Scale::Names(names) => names[point.x.round() as usize].clone(),
        Scale::Linear | Scale::Logarithmic => figures::number(point.x, chart.x.unit),
    };
    let y = match point.y {
        Some(y) => figures::number(y, chart.y.unit),
        None => figures::UNKNOWN.into(),
    };
    let interval = match point.interval {
        Some([low, high]) => {
            format!(" ({} to {})", figures::number(low, chart.y.unit), figures::number(high, chart.y.unit))
        }
        None => String::new(),
    };
    let trials: Vec<String> = point.trials.iter().map(u32::to_string).collect();
    format!("{x}: {y}{interval} [{}]", trials.join(" "))
}

/// A chart as text: title, axes, a line for each series with all its points, marks and notes.
fn sketch(chart: &Chart) -> String {
    let mut text = format!(
        "{} ({:?})\nx: {} [{}], y: {} [{}]\n",
        chart.title,
        chart.kind,
        chart.x.label,
        chart.x.unit.symbol(),
        chart.y.label,
        chart.y.unit.symbol()
    );
    for series in &chart.series {
        let points: Vec<String> = series.points.iter().map(|point| sketch_of_point(chart, point)).collect();
        let _ = writeln!(text, "{} ({:?}): {}", series.name, series.role, points.join("; "));
    }
    for mark in &chart.marks {
        let _ = writeln!(text, "mark: {}", mark.label);
    }
    for note in &chart.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The layers of a chart at one position.
struct Stack {
    /// What the layers sum up to.
    sum: f64,
    trials: Vec<u32>,
}

/// The layers at each position of the first series. The median of sums is no layer.
fn stacks(chart: &Chart) -> Vec<Stack> {
    let mut stacks = Vec::new();
    for first in &chart.series[0].points {
        let mut sum = 0.0;
        for layer in chart.series.iter().filter(|series| series.role != Role::Total) {
            for point in layer.points.iter().filter(|point| point.x == first.x) {
                sum += point.y.unwrap_or(0.0);
            }
        }
        stacks.push(Stack { sum, trials: first.trials.clone() });
    }
    stacks
}

/// Checks that the layers of a chart sum up to the intended frames of their trials.
fn check_layers(results: &Results, chart: &Chart) {
    for Stack { sum, trials: numbers } in stacks(chart) {
        let mut trials: Vec<&TrialResult> = results.trials.iter().collect();
        trials.retain(|trial| numbers.contains(&trial.number));
        assert_eq!(trials.len(), numbers.len(), "{}", chart.title);
        let seconds: f64 = trials.iter().map(|trial| trial.sending_s).sum();
        let intended: u64 = trials.iter().map(|trial| trial.intended).sum();
        let frames = sum * seconds;
        // The layers are rates: rounding stays far below a frame.
        assert!((frames - intended as f64).abs() < 1e-3, "{}: {frames} of {intended}", chart.title);
    }
}

#[test]
fn results_without_trials_have_no_sections() {
    assert_eq!(sections(&results(Vec::new())), []);
}

#[test]
fn sections_of_every_run_have_a_text_and_complete_tables() {
    for (name, results) in runs::all() {
        let sections = sections(&results);
        assert!(!sections.is_empty(), "{name}");
        let ids: BTreeSet<&str> = sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids.len(), sections.len(), "{name}: {ids:?}");
        for section in &sections {
            assert!(!section.text.is_empty(), "{name}: {}", section.id);
            for table in &section.tables {
                let is_complete = table.rows.iter().all(|row| row.cells.len() == table.columns.len());
                assert!(is_complete, "{name}: {}", table.id);
            }
        }
    }
}

/// Checks that a chart has labels, that its series have different names, and that its points are in order.
fn check_series(context: &str, chart: &Chart) {
    assert!(!chart.x.label.is_empty() && !chart.y.label.is_empty(), "{context}");
    let names: BTreeSet<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names.len(), chart.series.len(), "{context}: {names:?}");
    for series in &chart.series {
        assert!(series.points.is_sorted_by(|a, b| a.x <= b.x), "{context}: {}", series.name);
    }
}

/// Checks that the positions and values of points can be drawn.
fn check_points(context: &str, chart: &Chart) {
    for point in chart.series.iter().flat_map(|series| &series.points) {
        assert!(point.x.is_finite() && point.y.is_none_or(f64::is_finite), "{context}: {point:?}");
        // Points of one name are drawn side by side, within half a name's width.
        if let Scale::Names(names) = &chart.x.scale {
            assert!(point.x > -0.5 && point.x < names.len() as f64 - 0.5, "{context}: {point:?}");
        }
        if let Some([low, high]) = point.interval {
            assert!(low <= high, "{context}: {point:?}");
        }
    }
}

#[test]
fn charts_of_every_run_are_complete_and_can_be_drawn() {
    for (name, results) in runs::all() {
        let drawings = drawings(&results);
        let mut ids = BTreeSet::new();
        for chart in charts(&results) {
            let context = format!("{name}: {}", chart.title);
            assert!(ids.insert(chart.id.clone()), "{context}: {} is there twice", chart.id);
            let is_name = chart.id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
            assert!(is_name, "{context}: {}", chart.id);
            check_series(&context, &chart);
            check_points(&context, &chart);
            for point in chart.series.iter().flat_map(|series| &series.points) {
                // A soak does not keep the trials of its segments.
                let has_trials = name == "soak" || !point.trials.is_empty();
                assert!(has_trials || point.y.is_none(), "{context}: {point:?}");
            }
            let drawing = &drawings[&chart.id];
            assert!(drawing.starts_with("<svg") && !drawing.contains("NaN"), "{context}");
        }
    }
}

#[test]
fn layers_sum_up_to_the_intended_frames() {
    let mut checked = 0;
    for (name, results) in runs::all() {
        for chart in charts(&results) {
            if chart.y.label == "Delivered and lost" && name != "soak" {
                check_layers(&results, &chart);
                checked += 1;
            }
        }
    }
    // Benches, searches and sweeps together have more such charts than this.
    assert!(checked >= 12, "{checked}");
}

#[test]
fn a_bench_has_bars_by_method_with_every_place_that_lost() {
    let section = section(&runs::bench(&[64]), "delivered-and-lost");
    assert_eq!(section.charts.len(), 1, "the common load lost nothing");
    insta::assert_snapshot!(sketch(&section.charts[0]));
}

#[test]
fn a_bench_of_many_sizes_has_a_chart_for_each_method_and_the_line_rate() {
    let results = runs::bench(&[64, 128, 512, 1024, 1518]);
    assert_eq!(section(&results, "delivered-and-lost").charts.len(), 3);
    let chart = &section(&results, "frame-sizes").charts[0];
    assert_eq!(chart.kind, Kind::Lines);
    assert_eq!(chart.series.len(), 3);
    let Place::Curve(line_rate) = &chart.marks[0].at else { panic!("{:?}", chart.marks) };
    assert_eq!(line_rate.len(), 5);
    assert_eq!(line_rate[0], [64.0, 1_488_095.0]);
    // `recv` livelocks: it delivers 400,000, less half of the 550,000 that reach it beyond that.
    let recv = line(chart, "recv");
    assert!(recv.points.iter().all(|point| point.y == Some(125_000.0)), "{recv:?}");
}

#[test]
fn a_comparison_has_its_largest_changes_in_the_picture() {
    let report = super::compared(&compared::example());
    let sketches: Vec<String> = report.charts().map(sketch).collect();
    assert_eq!(report.picture.len(), 1);
    assert_eq!(sketches.len(), 2, "the change of loss has another chart");
    insta::assert_snapshot!(sketches.join("\n"));
}

#[test]
fn each_judgement_looks_different() {
    let page = formats::html::html(&super::compared(&compared::example()));
    let mut looks = BTreeSet::new();
    for (look, _) in page.split("<li><svg").skip(1).filter_map(|sample| sample.split_once("</svg>")) {
        looks.insert(look);
    }
    // The example has four of the five judgements.
    assert_eq!(looks.len(), 4, "{looks:?}");
}

#[test]
fn the_chart_with_a_regression_comes_first() {
    let mut only_loss_is_worse = compared::example();
    only_loss_is_worse.contrasts.retain(|contrast| contrast.judgement != Judgement::Regression);
    for contrast in &mut only_loss_is_worse.contrasts {
        if contrast.measure == Measure::LossRatio {
            contrast.judgement = Judgement::Regression;
        }
    }
    assert_eq!(super::compared(&only_loss_is_worse).picture[0].id, "changes-of-loss");
}

#[test]
fn a_comparison_without_a_change_has_no_chart() {
    let mut unchanged = compared::example();
    for contrast in &mut unchanged.contrasts {
        contrast.change = Change { middle: 0.0, low: Some(0.0), high: None };
    }
    assert_eq!(super::compared(&unchanged).charts().count(), 0);
}

/// The report of a bench whose methods took turns, with this comparison.
fn report_of_turns(comparison: Comparison) -> Report {
    let comparisons = vec![Comparison { paired: true, ..comparison }];
    report::report(&super::run(Results { comparisons, ..crate::runs::bench() }))
}

#[test]
fn methods_that_took_turns_have_their_changes_in_a_section() {
    let report = report_of_turns(compared::example());
    let section = report.sections.iter().find(|section| section.id == "comparison").unwrap();
    assert_eq!(section.charts.len(), 2, "rates and costs, and loss");
    for point in section.charts[0].series.iter().flat_map(|series| &series.points) {
        assert!(!point.trials.is_empty(), "{point:?}");
    }
    assert!(!section.tables.is_empty());
    assert!(section.heading.ends_with("side by side"), "{}", section.heading);
}

#[test]
fn a_section_says_that_nothing_could_be_compared() {
    let report = report_of_turns(Comparison { contrasts: Vec::new(), ..compared::example() });
    let section = report.sections.iter().find(|section| section.id == "comparison").unwrap();
    assert!(!section.text.is_empty());
}

#[test]
fn costs_of_methods_are_those_at_the_common_load() {
    insta::assert_snapshot!(sketch(&section(&runs::bench(&[64]), "cpu").charts[0]));
}

/// A bench with four visits of each method, whose numbers differ a little from trial to trial.
fn four_different_visits() -> Results {
    let mut results = runs::visited(&[64, 128, 512, 1024], 4);
    for (nth, trial) in results.trials.iter_mut().enumerate() {
        let difference = nth as f64;
        trial.delivered -= nth as u64;
        trial.unexplained += nth as i64;
        trial.delivered_pps -= difference;
        for ns in
            [&mut trial.cpu.kernel_ns_per_packet, &mut trial.cpu.total_ns_per_packet].into_iter().flatten()
        {
            *ns += difference;
        }
    }
    results
}

/// Checks that each point of a series has four trials, and an interval around its value.
fn check_intervals(chart: &Chart, series: &Series) {
    for point in &series.points {
        let [low, high] = point.interval.unwrap();
        assert!(low < high && (low..=high).contains(&point.y.unwrap()), "{}", sketch(chart));
        assert_eq!(point.trials.len(), 4, "{}", sketch(chart));
    }
}

#[test]
fn repeated_visits_have_intervals() {
    let results = four_different_visits();
    for chart in section(&results, "frame-sizes").charts {
        for series in &chart.series {
            check_intervals(&chart, series);
        }
    }
    for chart in section(&results, "delivered-and-lost").charts {
        check_intervals(&chart, line(&chart, "delivered"));
        assert!(chart.notes.iter().any(|note| note.contains("whiskers")), "{:?}", chart.notes);
        check_layers(&results, &chart);
    }
}

#[test]
fn the_sums_of_cost_bars_have_intervals_if_methods_were_visited_several_times() {
    let results = four_different_visits();
    let drawings = drawings(&results);
    for chart in section(&results, "cpu").charts {
        let total = chart.series.iter().find(|series| series.role == Role::Total).unwrap();
        check_intervals(&chart, total);
        for (point, stack) in total.points.iter().zip(stacks(&chart)) {
            let median = point.y.unwrap();
            assert!((median - stack.sum).abs() < 1e-6, "bars end at the median: {}", sketch(&chart));
        }
        assert!(drawings[&chart.id].contains("sum, median of repeats"));
    }
    let visited_once = section(&runs::bench(&[64]), "cpu");
    assert!(visited_once.charts[0].series.iter().all(|series| series.role != Role::Total));
}

/// A bench of five frame sizes, each at one load: 100 million octets per second.
fn sizes_at_one_load_each() -> Results {
    let mut results = runs::bench(&[64, 128, 512, 1024, 1518]);
    results.trials.retain(|trial| trial.phase == Phase::BestEffort);
    for trial in &mut results.trials {
        trial.phase = Phase::FixedLoad;
        trial.intended_pps = Some(1e8 / trial.profile.mean_frame_size);
    }
    results
}

#[test]
fn sizes_with_a_load_each_share_a_chart() {
    let section = section(&sizes_at_one_load_each(), "delivered-and-lost");
    assert_eq!(section.charts.len(), 3, "a chart for each method");
    for chart in &section.charts {
        let title = &chart.title;
        assert!(title.starts_with("Delivered and lost at the load of each frame size: "), "{title}");
        let Scale::Names(names) = &chart.x.scale else { panic!("{title}") };
        assert_eq!(names.len(), 5, "{title}");
        assert!(names[0].starts_with("64, "), "the size and its load: {names:?}");
    }
}

#[test]
fn a_point_of_a_bench_has_trials_of_one_load_only() {
    let mut results = sizes_at_one_load_each();
    let mut at_another_load = results.trials.clone();
    for trial in &mut at_another_load {
        trial.number += 1000;
        trial.intended_pps = Some(80_000.0);
    }
    results.trials.extend(at_another_load);
    for id in ["delivered-and-lost", "cpu"] {
        for chart in section(&results, id).charts {
            for point in chart.series.iter().flat_map(|series| &series.points) {
                let mut loads = BTreeSet::new();
                for trial in results.trials.iter().filter(|trial| point.trials.contains(&trial.number)) {
                    loads.insert(trial.intended_pps.unwrap().to_bits());
                }
                assert!(loads.len() <= 1, "{}", chart.title);
            }
        }
    }
    let mut titles: Vec<String> =
        section(&results, "cpu").charts.into_iter().map(|chart| chart.title).collect();
    titles.retain(|title| title.contains("at 80,000 packets/s"));
    assert_eq!(titles.len(), 5, "one for each size: {titles:?}");
}

#[test]
fn searches_have_their_bounds() {
    let section = section(&runs::searches(), "searches");
    let charts: Vec<&Chart> = section.charts.iter().filter(|chart| chart.id.starts_with("bounds-")).collect();
    assert_eq!(charts.len(), 2, "the preset `quick` has two goals");
    for chart in charts {
        assert_eq!(line(chart, "recv").points.len(), 2, "it was searched twice");
        for series in &chart.series {
            let capacity_pps = if series.name == "recv" { 400_000.0 } else { 900_000.0 };
            for point in &series.points {
                // Noise of 1 % per trial moves bounds away from the capacity by less than 4 %.
                let [low, high] = point.interval.unwrap();
                assert!(
                    low < capacity_pps * 1.04 && high > capacity_pps * 0.96,
                    "{}: {point:?}",
                    series.name
                );
            }
        }
    }
    let once = section.charts.iter().find(|chart| chart.id == "search-packet-v2").unwrap();
    assert_eq!(once.marks.len(), 4, "a single search has marks: two bounds of two goals");
}

#[test]
fn each_trial_of_a_search_is_a_point() {
    let results = runs::searches();
    let mut points = 0;
    for chart in section(&results, "searches").charts {
        if chart.id.starts_with("search-") {
            points += chart.series.iter().map(|series| series.points.len()).sum::<usize>();
        }
    }
    let trials: usize = results.searches.iter().map(|search| search.trials.len()).sum();
    assert_eq!(points, trials);
}

#[test]
fn the_two_cost_regimes_of_a_path_are_drawn_at_their_costs() {
    let section = section(&runs::work(), "cost-regimes");
    let chart = &section.charts[0];
    let regimes: Vec<&Series> = chart.series.iter().filter(|series| series.role == Role::Fit).collect();
    assert_eq!(regimes.len(), 2, "{}", sketch(chart));
    // The costs of `capbench_plan::for_tests::dain`, asleep and busy.
    for (regime, built_in_ns) in regimes.iter().zip([17_300.0, 4600.0]) {
        let found_ns = regime.points[0].y.unwrap();
        assert!((found_ns / built_in_ns - 1.0).abs() < 0.02, "{found_ns} for {built_in_ns}");
    }
    assert!(chart.series[0].points.iter().all(|point| point.interval.is_some()), "{}", sketch(chart));
}

#[test]
fn a_sweep_has_medians_with_their_intervals() {
    let section_of_sizes = section(&runs::sizes(), "sweep-size");
    let rates = &section_of_sizes.charts[0];
    assert_eq!(rates.kind, Kind::Lines);
    assert_eq!(rates.series.len(), 2);
    assert_eq!(rates.marks.len(), 1, "the line rate");
    let point = &rates.series[0].points[0];
    assert_eq!(point.trials.len(), 6);
    assert!(point.interval.is_some());
    insta::assert_snapshot!(sketch(&section(&runs::placements(), "sweep-placement").charts[0]));
}

#[test]
fn a_point_that_was_not_measured_is_unknown_and_not_zero() {
    let mut results = runs::sizes();
    results.sweeps[0].series[0].readings.remove(1);
    let section = section(&results, "sweep-size");
    let points = &section.charts[0].series[0].points;
    let is_known: Vec<bool> = points.iter().map(|point| point.y.is_some()).collect();
    assert_eq!(is_known, [true, false, true]);
}

#[test]
fn a_place_without_a_count_is_unknown_and_named() {
    let mut results = runs::bench(&[64]);
    for trial in results.trials.iter_mut().filter(|trial| trial.profile.method == "recv") {
        for entry in &mut trial.ledger {
            if entry.place == capbench_model::places::Place::Ring {
                entry.count = None;
            }
        }
    }
    let section = section(&results, "delivered-and-lost");
    let chart = &section.charts[0];
    let ring = line(chart, "in the ring or socket queue");
    assert_eq!(ring.points[0].y, None, "recv");
    assert!(ring.points[1].y.is_some(), "packet-v2");
    assert!(chart.notes[0].contains("in the network stack"), "{:?}", chart.notes);
}

/// A capture with a ring of this number of slots.
fn captured_with_slots(slots: u32) -> CaptureFacts {
    let ring = RingGeometry::Slots { slots, slot_bytes: 2048, bytes: 2048 * u64::from(slots) };
    Running::new("packet-v2", Engine::default(), ring, TimeSource::None).into()
}

/// A sweep of rings whose trials report the number of slots: 8 at the first point, twice as many at each further one.
fn rings_with_slots() -> Results {
    let mut results = runs::rings();
    for trial in &mut results.trials {
        trial.capture = Some(captured_with_slots(trial.number));
    }
    // The overload of each point, its first trial, decides.
    for (nth, reading) in results.sweeps[0].series[0].readings.iter().enumerate() {
        let overload = reading.trials[0];
        let trial = results.trials.iter_mut().find(|trial| trial.number == overload).unwrap();
        trial.capture = Some(captured_with_slots(8 << nth));
    }
    results
}

#[test]
fn rings_are_measured_in_frames_if_trials_report_their_slots() {
    assert_eq!(section(&runs::rings(), "buffers").charts[0].x.label, "Ring");
    let section = section(&rings_with_slots(), "buffers");
    let bursts = &section.charts[0];
    assert_eq!(bursts.x.label, "Ring (frames)");
    assert_eq!(bursts.x.scale, Scale::Logarithmic);
    assert_eq!(bursts.y.scale, Scale::Logarithmic);
    for point in &bursts.series[0].points {
        // At 1,000,000 frames per second, 750,000 are read: of 4 frames one stays in the ring. A search may miss up to 3 %.
        let slots = point.x;
        let frames = point.y.unwrap();
        assert!(frames <= 4.0 * slots + 2.0 && frames >= 4.0 * slots / 1.03 - 2.0, "{point:?}");
    }
}

#[test]
fn buffer_times_are_implied_and_drain_corrected() {
    let section = section(&rings_with_slots(), "buffers");
    let [implied, corrected] = &section.charts[1].series[..] else { panic!("{:?}", section.charts[1]) };
    assert!(implied.name.ends_with("implied") && corrected.name.ends_with("drain-corrected"));
    for (implied, corrected) in implied.points.iter().zip(&corrected.points) {
        // A quarter of the frames was not read meanwhile.
        assert!((corrected.y.unwrap() / implied.y.unwrap() - 0.25).abs() < 0.01);
    }
}

#[test]
fn percentiles_are_those_of_the_histograms() {
    let results = runs::latency();
    let section = section(&results, "latency");
    assert_eq!(section.charts.len(), 1, "a simulated path knows the whole way only");
    let line = line(&section.charts[0], "packet-v3");
    let trial = results.trials.iter().find(|trial| trial.profile.method == "packet-v3").unwrap();
    let delays = trial.latency.as_ref().unwrap().total.as_ref().unwrap();
    for (one_in, quantile_ns) in [(2.0, delays.p50_ns), (10.0, delays.p90_ns), (1000.0, delays.p99_9_ns)] {
        let point = line.points.iter().find(|point| point.x == one_in).unwrap();
        assert_eq!(point.y, Some(quantile_ns as f64), "one frame in {one_in}");
    }
    let last = line.points.last().unwrap();
    assert_eq!(last.x, delays.frames as f64);
    assert_eq!(last.y, Some(delays.max_ns as f64));
}

#[test]
fn latency_grows_with_the_delay_of_interrupts() {
    let section = section(&runs::coalesce(), "latency");
    let largest = line(&section.charts[0], "packet-v2, placement same, 100,000 packets/s, largest");
    for (point, delay_ns) in largest.points.iter().zip([10_000.0, 50_000.0, 100_000.0, 400_000.0]) {
        assert_eq!(point.x, delay_ns);
        assert_eq!(point.y, Some(delay_ns));
        assert_eq!(point.trials.len(), 6);
    }
    assert_eq!(largest.points.len(), 4);
}

#[test]
fn losses_in_time_sum_up_to_the_lost_frames() {
    let results = runs::moments();
    let section = section(&results, "loss-in-time");
    let in_time = &section.charts[0];
    assert_eq!(in_time.marks.len(), 2, "begin and end of the worst 100 ms");
    for series in &in_time.series {
        let number = series.points[0].trials[0];
        let trial = results.trials.iter().find(|trial| trial.number == number).unwrap();
        // A trial of a second has ten intervals of 0.1 s.
        assert_eq!(series.points.len(), 10, "{}", series.name);
        let lost: f64 = series.points.iter().map(|point| point.y.unwrap() * 0.1).sum();
        assert_eq!(lost.round() as u64, trial.lost(), "{}", series.name);
    }
    let parts_of_trials = &section.charts[1];
    for stack in stacks(parts_of_trials) {
        let trial = results.trials.iter().find(|trial| trial.number == stack.trials[0]).unwrap();
        assert_eq!(stack.sum as u64, trial.lost());
    }
    let bursts = &section.charts[2];
    let marks: Vec<&str> = bursts.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!(marks, ["start", "end of sending", "worst 100 ms: recv", "its end"]);
    assert!(section.tables.iter().any(|table| table.id == "worst-windows"));
}

#[test]
fn losses_of_a_soak_over_time_sum_up_to_all_of_them() {
    let results = crate::runs::soak();
    let record = results.soak.as_ref().unwrap();
    let section = section(&results, "soak");
    let ring = line(&section.charts[0], "in the ring or socket queue");
    let mut frames = 0.0;
    for (point, interval) in ring.points.iter().zip(&record.intervals) {
        frames += point.y.unwrap() * interval.sending_s;
    }
    assert!((frames - record.whole.as_ref().unwrap().lost() as f64).abs() < 0.5, "{frames}");
}
