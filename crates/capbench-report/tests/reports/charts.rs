//! Charts of runs whose every count is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use capbench_judge::comparison::{Change, Comparison, Judgement, Measure};
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};
use capbench_model::trial::{Phase, TrialResult};
use capbench_report::model::{Chart, Kind, Place, Point, Role, Scale, Section, Series};
use capbench_report::{figures, formats, report, save};
use capbench_results::Results;
use capbench_results::for_tests::results;

#[path = "runs/charted.rs"]
mod runs;

/// The sections, with the picture of the verdict back in its own.
fn sections(results: &Results) -> Vec<Section> {
    const CHARTED: [&str; 6] = ["reproduction", "searches", "sweep", "soak", "delivered-and-lost", "buffers"];
    let mut report = report::report(&super::run(results.clone()));
    let is_moved = report.picture.iter().all(|chart| !chart.kind.has_rows());
    let is_own = |section: &&mut Section| {
        section.id != "sweep-points" && CHARTED.iter().any(|id| section.id.starts_with(id))
    };
    let section = report.sections.iter_mut().find(is_own);
    if let Some(section) = section.filter(|_| is_moved) {
        section.charts.splice(0..0, report.picture);
    }
    report.sections
}

/// The drawing of each chart by its name.
fn drawings(results: &Results) -> BTreeMap<String, String> {
    let files = save::files(&super::run(results.clone()), &[formats::named("svg").unwrap()]).unwrap();
    let drawing = |file: formats::Written| {
        let name = file.path.file_stem().unwrap().to_str().unwrap().into();
        (name, String::from_utf8(file.content).unwrap())
    };
    files.into_iter().map(drawing).collect()
}

fn charts(results: &Results) -> Vec<Chart> {
    sections(results).into_iter().flat_map(|section| section.charts).collect()
}

fn of_section(results: &Results, id: &str) -> Section {
    let all = sections(results);
    let ids: Vec<String> = all.iter().map(|section| section.id.clone()).collect();
    all.into_iter().find(|section| section.id == id).unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
}

fn line<'c>(chart: &'c Chart, name: &str) -> &'c Series {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    chart
        .series
        .iter()
        .find(|series| series.name == name)
        .unwrap_or_else(|| panic!("{name} is not in {names:?}"))
}

/// A chart in lines: what it is, and every point.
fn sketch(chart: &Chart) -> String {
    let number = |value: f64| figures::number(value, chart.y.unit);
    let shown = |point: &Point| {
        let y = point.y.map_or_else(|| figures::UNKNOWN.into(), number);
        let ends = point
            .interval
            .map_or_else(String::new, |[low, high]| format!(" ({} to {})", number(low), number(high)));
        let trials: Vec<String> = point.trials.iter().map(u32::to_string).collect();
        let x = match &chart.x.scale {
            Scale::Names(names) => names[point.x.round() as usize].clone(),
            Scale::Linear | Scale::Logarithmic => figures::number(point.x, chart.x.unit),
        };
        format!("{x}: {y}{ends} [{}]", trials.join(" "))
    };
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
        let points: Vec<String> = series.points.iter().map(shown).collect();
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

/// Of every place of the axis: what its layers sum up to, and the trials that they rest on.
fn sums(chart: &Chart) -> Vec<(f64, Vec<u32>)> {
    chart.series[0]
        .points
        .iter()
        .map(|point| {
            let layers = chart.series.iter().filter(|series| series.role != Role::Total);
            let points_there = layers.flat_map(|series| &series.points).filter(|other| other.x == point.x);
            (points_there.filter_map(|other| other.y).sum(), point.trials.clone())
        })
        .collect()
}

/// The layers of a chart sum up to what was to be sent in the trials that they name.
fn check_layers(results: &Results, chart: &Chart) {
    for (rate, numbers) in sums(chart) {
        let trials_of_point = || results.trials.iter().filter(|trial| numbers.contains(&trial.number));
        assert_eq!(trials_of_point().count(), numbers.len(), "{}", chart.title);
        let seconds: f64 = trials_of_point().map(|trial| trial.sending_s).sum();
        let intended: u64 = trials_of_point().map(|trial: &TrialResult| trial.intended).sum();
        assert!(
            (rate * seconds - intended as f64).abs() < 1e-3,
            "{}: {} of {intended}",
            chart.title,
            rate * seconds
        );
    }
}

#[test]
fn results_without_trials_have_no_sections() {
    assert_eq!(sections(&results(Vec::new())), []);
}

#[test]
fn charts_of_every_run_have_units_trials_and_names_of_their_own_and_can_be_drawn() {
    for (name, results) in runs::all() {
        let (all, drawings) = (sections(&results), drawings(&results));
        assert!(!all.is_empty(), "{name}");
        let mut ids = BTreeSet::new();
        for section in &all {
            let link = format!("section-{}", section.id);
            assert!(ids.insert(link) && !section.text.is_empty(), "{name}: {}", section.id);
            for table in &section.tables {
                assert!(
                    table.rows.iter().all(|row| row.cells.len() == table.columns.len()),
                    "{name}: {}",
                    table.id
                );
            }
        }
        for chart in all.iter().flat_map(|section| &section.charts) {
            let at = format!("{name}: {}", chart.title);
            assert!(ids.insert(chart.id.clone()), "{at}: {} is there twice", chart.id);
            assert!(chart.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{at}: {}", chart.id);
            assert!(!chart.x.label.is_empty() && !chart.y.label.is_empty(), "{at}");
            let names: BTreeSet<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
            assert_eq!(names.len(), chart.series.len(), "{at}: {names:?}");
            for point in chart.series.iter().flat_map(|series| &series.points) {
                assert!(point.x.is_finite() && point.y.is_none_or(f64::is_finite), "{at}: {point:?}");
                if let Scale::Names(names) = &chart.x.scale {
                    assert!(point.x > -0.5 && point.x < names.len() as f64 - 0.5, "{at}: {point:?}");
                }
                // Segments of a soak are not stored one by one.
                assert!(name == "soak" || point.y.is_none() || !point.trials.is_empty(), "{at}: {point:?}");
                if let Some([low, high]) = point.interval {
                    assert!(low <= high, "{at}: {point:?}");
                }
            }
            for series in &chart.series {
                assert!(series.points.is_sorted_by(|a, b| a.x <= b.x), "{at}: {}", series.name);
            }
            let drawn = &drawings[&chart.id];
            assert!(drawn.starts_with("<svg") && !drawn.contains("NaN"), "{at}");
        }
    }
}

#[test]
fn layers_sum_up_to_what_was_to_be_sent() {
    let mut checked = 0;
    for (name, results) in runs::all() {
        for chart in charts(&results) {
            if chart.y.label == "Delivered and lost" && name != "soak" {
                check_layers(&results, &chart);
                checked += 1;
            }
        }
    }
    assert!(checked >= 12, "{checked}");
}

#[test]
fn a_bench_has_bars_by_method_with_every_place_that_lost() {
    let section = of_section(&runs::bench(&[64]), "delivered-and-lost");
    assert_eq!(section.charts.len(), 1, "the common load lost nothing");
    insta::assert_snapshot!(sketch(&section.charts[0]));
}

#[test]
fn a_bench_of_many_sizes_has_a_chart_for_each_method_and_the_line_rate() {
    let results = runs::bench(&[64, 128, 512, 1024, 1518]);
    let section = of_section(&results, "delivered-and-lost");
    assert_eq!(section.charts.len(), 3);
    let rates = of_section(&results, "frame-sizes");
    let chart = &rates.charts[0];
    assert_eq!((chart.kind, chart.series.len()), (Kind::Lines, 3));
    assert!(
        matches!(&chart.marks[0].at, Place::Curve(curve) if curve.len() == 5 && curve[0] == [64.0, 1_488_095.0])
    );
    // 400,000 less half of the 550,000 that come on top of them.
    let recv = line(chart, "recv");
    assert!(recv.points.iter().all(|point| point.y == Some(125_000.0)), "{recv:?}");
}

#[test]
fn a_comparison_has_its_largest_changes_first_and_each_judgement_looks_different() {
    let report = super::compared(&crate::runs::compared::example());
    let drawings: Vec<String> = report.charts().map(sketch).collect();
    assert_eq!((report.picture.len(), drawings.len()), (1, 2), "the change of loss is below");
    insta::assert_snapshot!(drawings.join("\n"));
    let mut looks = BTreeSet::new();
    let page = formats::html::html(&report);
    for sample in page.split("<li><svg").skip(1).filter_map(|rest| rest.split_once("</svg>")) {
        looks.insert(sample.0.to_string());
    }
    assert_eq!(looks.len(), 4, "{looks:?}");
}

#[test]
fn the_chart_with_a_regression_comes_first_and_nothing_changed_is_no_chart() {
    let mut lossy = crate::runs::compared::example();
    for contrast in lossy.contrasts.iter_mut().filter(|contrast| contrast.measure == Measure::LossRatio) {
        contrast.judgement = Judgement::Regression;
    }
    lossy.contrasts.retain(|contrast| {
        contrast.measure == Measure::LossRatio || contrast.judgement != Judgement::Regression
    });
    assert_eq!(super::compared(&lossy).picture[0].id, "changes-of-loss", "the regression is seen first");
    let mut same = crate::runs::compared::example();
    for contrast in &mut same.contrasts {
        contrast.change = Change { middle: 0.0, low: Some(0.0), high: None };
    }
    assert_eq!(super::compared(&same).charts().count(), 0);
}

#[test]
fn methods_that_took_turns_have_their_changes_in_a_section() {
    let paired = Comparison { paired: true, ..crate::runs::compared::example() };
    let results = Results { comparisons: vec![paired], ..crate::runs::bench() };
    let report = report::report(&super::run(results));
    let section = report.sections.iter().find(|section| section.id == "comparison").unwrap();
    assert_eq!(section.charts.len(), 2, "of loss, too");
    assert!(
        section.charts[0].series.iter().all(|line| line.points.iter().all(|point| !point.trials.is_empty()))
    );
    assert!(!section.tables.is_empty() && section.heading.ends_with("side by side"), "{}", section.heading);
    let nothing = Comparison { paired: true, contrasts: Vec::new(), ..crate::runs::compared::example() };
    let report = report::report(&super::run(Results { comparisons: vec![nothing], ..crate::runs::bench() }));
    let is_said =
        report.sections.iter().any(|section| section.id == "comparison" && !section.text.is_empty());
    assert!(is_said, "that nothing could be compared is said, too");
}

#[test]
fn costs_of_methods_are_those_at_the_common_load() {
    insta::assert_snapshot!(sketch(&of_section(&runs::bench(&[64]), "cpu").charts[0]));
}

#[test]
fn repeated_visits_have_intervals_and_the_sums_of_their_bars_too() {
    let mut results = runs::visited(&[64, 128, 512, 1024], 4);
    for (nth, trial) in results.trials.iter_mut().enumerate() {
        // What chance would do.
        trial.delivered -= nth as u64;
        trial.unexplained += nth as i64;
        trial.delivered_pps -= nth as f64;
        trial.cpu.kernel_ns_per_packet = trial.cpu.kernel_ns_per_packet.map(|ns| ns + nth as f64);
        trial.cpu.total_ns_per_packet = trial.cpu.total_ns_per_packet.map(|ns| ns + nth as f64);
    }
    let spread = |series: &Series| {
        series.points.iter().all(|point| {
            let [low, high] = point.interval.unwrap();
            low < high && point.trials.len() == 4 && point.y.is_some_and(|y| (low..=high).contains(&y))
        })
    };
    for chart in of_section(&results, "frame-sizes").charts {
        assert!(chart.series.iter().all(spread), "{}", sketch(&chart));
    }
    for chart in of_section(&results, "delivered-and-lost").charts {
        assert!(spread(line(&chart, "delivered")), "{}", sketch(&chart));
        assert!(chart.notes.iter().any(|note| note.contains("whiskers")), "{:?}", chart.notes);
        check_layers(&results, &chart);
    }
    let drawings = drawings(&results);
    for chart in of_section(&results, "cpu").charts {
        let total = chart.series.iter().find(|series| series.role == Role::Total).unwrap();
        assert!(spread(total), "{}", sketch(&chart));
        for (point, (sum, _)) in total.points.iter().zip(sums(&chart)) {
            assert!((point.y.unwrap() - sum).abs() < 1e-6, "bars end at the median: {}", sketch(&chart));
        }
        assert!(drawings[&chart.id].contains("sum, median of repeats"));
    }
    let once = of_section(&runs::bench(&[64]), "cpu");
    assert!(once.charts[0].series.iter().all(|series| series.role != Role::Total), "one visit has no spread");
}

#[test]
fn sizes_with_a_load_each_share_a_chart_and_loads_of_one_size_do_not() {
    let mut results = runs::bench(&[64, 128, 512, 1024, 1518]);
    results.trials.retain(|trial| trial.phase == Phase::BestEffort);
    for trial in &mut results.trials {
        trial.phase = Phase::FixedLoad;
        trial.intended_pps = Some(1e8 / trial.profile.mean_frame_size);
    }
    let section = of_section(&results, "delivered-and-lost");
    assert_eq!(section.charts.len(), 3, "a chart for each method");
    for chart in &section.charts {
        assert!(
            chart.title.starts_with("Delivered and lost at the load of each frame size: "),
            "{}",
            chart.title
        );
        assert!(
            matches!(&chart.x.scale, Scale::Names(names) if names.len() == 5 && names[0].starts_with("64, "))
        );
    }
    // A second load of the same sizes is no part of these bars, nor of the costs beside them.
    let mut others = results.trials.clone();
    for (nth, trial) in others.iter_mut().enumerate() {
        trial.number += 1000 + nth as u32;
        trial.intended_pps = Some(80_000.0);
    }
    results.trials.extend(others);
    for id in ["delivered-and-lost", "cpu"] {
        for chart in of_section(&results, id).charts {
            for point in chart.series.iter().flat_map(|series| &series.points) {
                let trials = results.trials.iter().filter(|trial| point.trials.contains(&trial.number));
                let mut loads: Vec<u64> = trials.map(|trial| trial.intended_pps.unwrap().to_bits()).collect();
                loads.dedup();
                assert!(loads.len() <= 1, "{}", chart.title);
            }
        }
    }
    let titles: Vec<String> =
        of_section(&results, "cpu").charts.into_iter().map(|chart| chart.title).collect();
    assert_eq!(titles.iter().filter(|title| title.contains("at 80,000 packets/s")).count(), 5, "{titles:?}");
}

#[test]
fn searches_have_their_bounds_and_their_trials() {
    let results = runs::searches();
    let section = of_section(&results, "searches");
    let goals: Vec<&Chart> = section.charts.iter().filter(|chart| chart.id.starts_with("bounds-")).collect();
    assert_eq!(goals.len(), 2, "quick has two goals");
    for chart in &goals {
        assert_eq!(line(chart, "recv").points.len(), 2, "two searches");
        for series in &chart.series {
            let capacity = if series.name == "recv" { 400_000.0 } else { 900_000.0 };
            for point in &series.points {
                let [low, high] = point.interval.unwrap();
                assert!(low < capacity * 1.04 && high > capacity * 0.96, "{}: {point:?}", series.name);
            }
        }
    }
    let trials: usize = section
        .charts
        .iter()
        .filter(|chart| chart.id.starts_with("search-"))
        .flat_map(|chart| &chart.series)
        .map(|series| series.points.len())
        .sum();
    let of_searches: usize = results.searches.iter().map(|search| search.trials.len()).sum();
    assert_eq!(trials, of_searches, "each trial is a point");
    let alone = section.charts.iter().find(|chart| chart.id == "search-packet-v2").unwrap();
    assert_eq!(alone.marks.len(), 4, "two bounds of two goals");
}

#[test]
fn the_two_regimes_of_dain_are_drawn_where_they_are() {
    let section = of_section(&runs::work(), "cost-regimes");
    let chart = &section.charts[0];
    let fits: Vec<&Series> = chart.series.iter().filter(|series| series.role == Role::Fit).collect();
    assert_eq!(fits.len(), 2, "{}", sketch(chart));
    for (fit, cost) in fits.iter().zip([17_300.0, 4600.0]) {
        let found = fit.points[0].y.unwrap();
        assert!((found / cost - 1.0).abs() < 0.02, "{found} for {cost}");
    }
    assert!(chart.series[0].points.iter().all(|point| point.interval.is_some()), "{}", sketch(chart));
}

#[test]
fn a_sweep_has_medians_with_their_intervals() {
    let section = of_section(&runs::sizes(), "sweep-size");
    let rate = &section.charts[0];
    assert_eq!((rate.kind, rate.series.len(), rate.marks.len()), (Kind::Lines, 2, 1));
    let point = &rate.series[0].points[0];
    assert_eq!((point.trials.len(), point.interval.is_some()), (6, true), "{point:?}");
    insta::assert_snapshot!(sketch(&of_section(&runs::placements(), "sweep-placement").charts[0]));
}

#[test]
fn a_point_that_was_not_measured_is_unknown_and_not_zero() {
    let mut results = runs::sizes();
    let readings = &mut results.sweeps[0].series[0].readings;
    readings.remove(1);
    let section = of_section(&results, "sweep-size");
    let line = &section.charts[0].series[0];
    assert_eq!(line.points.iter().map(|point| point.y.is_some()).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn a_place_that_nobody_can_tell_of_is_unknown_and_said() {
    let mut results = runs::bench(&[64]);
    for entry in results
        .trials
        .iter_mut()
        .filter(|trial| trial.profile.method == "recv")
        .flat_map(|trial| &mut trial.ledger)
    {
        if entry.source == "simulated" {
            entry.count = None;
        }
    }
    let section = of_section(&results, "delivered-and-lost");
    let ring = line(&section.charts[0], "in the ring or socket queue");
    assert_eq!((ring.points[0].y, ring.points[1].y.is_some()), (None, true));
    assert!(section.charts[0].notes[0].contains("in the network stack"), "{:?}", section.charts[0].notes);
}

#[test]
fn buffers_grow_with_the_ring_by_its_frames_where_trials_say_them() {
    let slots = |slots| {
        let ring = RingGeometry::Slots { slots, slot_bytes: 2048, bytes: 2048 * u64::from(slots) };
        Running::new("packet-v2", Engine::default(), ring, TimeSource::None).into()
    };
    let mut results = runs::rings();
    let section = of_section(&results, "buffers");
    assert_eq!(section.charts[0].x.label, "Ring");
    for trial in &mut results.trials {
        trial.capture = Some(slots(trial.number));
    }
    // Each point has its own overload, which says how large the ring is.
    for (nth, reading) in results.sweeps[0].series[0].readings.iter().enumerate() {
        let number = reading.trials[0];
        let trial = results.trials.iter_mut().find(|trial| trial.number == number).unwrap();
        trial.capture = Some(slots(8 << nth));
    }
    let section = of_section(&results, "buffers");
    let (bursts, times) = (&section.charts[0], &section.charts[1]);
    assert_eq!(
        (bursts.x.label.as_str(), &bursts.x.scale, &bursts.y.scale),
        ("Ring (frames)", &Scale::Logarithmic, &Scale::Logarithmic)
    );
    for point in &bursts.series[0].points {
        // Of 4 frames 3 are taken meanwhile.
        let found = point.y.unwrap();
        assert!(found <= 4.0 * point.x + 2.0 && found >= 4.0 * point.x / 1.03 - 2.0, "{point:?}");
    }
    let (implied, corrected) = (&times.series[0], &times.series[1]);
    assert!(implied.name.ends_with("implied") && corrected.name.ends_with("drain-corrected"));
    for (implied, corrected) in implied.points.iter().zip(&corrected.points) {
        assert!((corrected.y.unwrap() / implied.y.unwrap() - 0.25).abs() < 0.01);
    }
}

#[test]
fn percentiles_are_those_of_the_histograms() {
    let results = runs::latency();
    let section = of_section(&results, "latency");
    assert_eq!(section.charts.len(), 1, "a simulated path knows the whole way only");
    let chart = &section.charts[0];
    let line = line(chart, "packet-v3");
    let delays = results
        .trials
        .iter()
        .find(|trial| trial.profile.method == "packet-v3")
        .and_then(|trial| trial.latency.as_ref()?.total.as_ref())
        .unwrap();
    let at =
        |one_in: f64| line.points.iter().find(|point| point.x == one_in).and_then(|point| point.y).unwrap();
    assert_eq!(
        (at(2.0), at(10.0), at(1000.0)),
        (delays.p50_ns as f64, delays.p90_ns as f64, delays.p99_9_ns as f64)
    );
    let last = line.points.last().unwrap();
    assert_eq!((last.x, last.y), (delays.frames as f64, Some(delays.max_ns as f64)));
}

#[test]
fn latency_follows_what_a_sweep_varied() {
    let section = of_section(&runs::coalesce(), "latency");
    let chart = &section.charts[0];
    let longest = line(chart, "packet-v2, placement same, 100,000 packets/s, largest");
    let found: Vec<_> = longest.points.iter().map(|point| (point.x, point.y.unwrap())).collect();
    assert_eq!(found, [(1e4, 1e4), (5e4, 5e4), (1e5, 1e5), (4e5, 4e5)]);
    assert!(longest.points.iter().all(|point| point.trials.len() == 6));
}

#[test]
fn losses_in_time_sum_up_to_what_was_lost() {
    let results = runs::moments();
    let section = of_section(&results, "loss-in-time");
    let (in_time, parts, bursts) = (&section.charts[0], &section.charts[1], &section.charts[2]);
    for series in &in_time.series {
        let number = series.points[0].trials[0];
        let trial = results.trials.iter().find(|trial| trial.number == number).unwrap();
        let lost: f64 = series.points.iter().filter_map(|point| point.y).map(|rate| rate * 0.1).sum();
        assert_eq!((lost.round() as u64, series.points.len()), (trial.lost(), 10), "{}", series.name);
    }
    assert_eq!(in_time.marks.len(), 2, "the worst window");
    for (lost, numbers) in sums(parts) {
        let trial = results.trials.iter().find(|trial| trial.number == numbers[0]).unwrap();
        assert_eq!(lost as u64, trial.lost());
    }
    let marks: Vec<&str> = bursts.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!(marks, ["start", "end of sending", "worst 100 ms: recv", "its end"]);
    assert!(section.tables.iter().any(|table| table.id == "worst-windows"));
}

#[test]
fn a_soak_has_what_each_interval_lost() {
    let results = crate::runs::soak();
    let record = results.soak.as_ref().unwrap();
    let section = of_section(&results, "soak");
    let lost = &section.charts[0];
    let ring = line(lost, "in the ring or socket queue");
    let frames: f64 = ring
        .points
        .iter()
        .zip(&record.intervals)
        .map(|(point, interval)| point.y.unwrap() * interval.sending_s)
        .sum();
    assert!((frames - record.whole.as_ref().unwrap().lost() as f64).abs() < 0.5, "{frames}");
}
