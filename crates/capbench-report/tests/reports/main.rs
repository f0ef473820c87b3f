//! Reports on runs of the simulated path, whose losses are known.

mod charts;
mod notebooks;
mod page;
mod published;
mod reading;
#[path = "../../../capbench/tests/all/support/results_file.rs"]
mod results_file;
mod results_schema;
mod runs;
mod sentences;

use std::collections::BTreeSet;
use std::path::Path;

use capbench_model::trial::{Phase, TrialResult, Verdict};
use capbench_plan::comparison::{Comparison, Conclusion, Judgement};
use capbench_report::formats::{self, csv, html, json, markdown, text};
use capbench_report::model::{Cell, Chart, Report, Role, Section, Table};
use capbench_report::read::Run;
use capbench_report::results::Results;
use capbench_report::{report, save};
use capbench_reproduce::outcome::Side;

fn run(results: Results) -> Run {
    Run { name: "a-run".into(), ..Run::new(results, Path::new("/nowhere")) }
}

/// The trials that a chart rests on.
fn rests_on(chart: &Chart) -> BTreeSet<u32> {
    let points = chart.series.iter().flat_map(|series| &series.points);
    points.flat_map(|point| point.trials.iter().copied()).collect()
}

#[test]
fn a_report_of_publications_has_their_tables_as_charts_and_mixes_no_trials() {
    let results = runs::reproduced::all();
    let numbers: BTreeSet<u32> = results.trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers.len(), results.trials.len(), "each trial has a number of its own");
    let report = report::report(&run(results.clone()));
    for own in &results.reproductions {
        let id = format!("reproduction-{}", own.key);
        let section = report.sections.iter().find(|section| section.id == id).unwrap();
        assert_eq!(section.tables.len(), own.tables.len(), "{id}");
        for table in &own.tables {
            let charts: Vec<&Chart> =
                section.charts.iter().filter(|chart| chart.title.starts_with(&table.caption)).collect();
            assert!((1..=3).contains(&charts.len()), "{}: {}", table.id, charts.len());
            let is_known = |side: Side| {
                let columns = table.columns.iter().enumerate().filter(|(_, column)| column.side == side);
                let mut fields = columns.flat_map(|(at, _)| table.rows.iter().map(move |row| &row.cells[at]));
                fields.any(|field| field.value.is_some())
            };
            // Of a card of 2008 nothing is measured here; of one publication only the rates and the words survive.
            let (is_published, is_measured) = (is_known(Side::Published), is_known(Side::Here));
            for chart in charts {
                let has = |role| chart.series.iter().any(|series| series.role == role);
                assert_eq!(
                    (has(Role::Published), has(Role::Method)),
                    (is_published, is_measured),
                    "{}",
                    chart.title
                );
                let trials = rests_on(chart);
                assert!(trials.iter().all(|number| own.trials.contains(number)), "{}", chart.title);
                assert_eq!(trials.is_empty(), !is_measured, "{}", chart.title);
            }
        }
    }
    let others = report.sections.iter().filter(|section| !section.id.starts_with("reproduction-"));
    let others: Vec<&Section> = others.filter(|section| !section.charts.is_empty()).collect();
    for section in &others {
        assert!(
            section.id.starts_with("sweep-")
                || ["cost-regimes", "cpu", "buffers"].contains(&section.id.as_str()),
            "{}: what publications are compared by are their tables",
            section.id
        );
        let said = section.text.iter().any(|sentence| sentence.text.contains("left out"));
        assert!(!said && section.charts.len() <= 16, "{}: {}", section.id, section.charts.len());
        for chart in &section.charts {
            let trials = rests_on(chart);
            let own: Vec<&str> = results
                .reproductions
                .iter()
                .filter(|one| one.trials.iter().any(|number| trials.contains(number)))
                .map(|one| one.key.as_str())
                .collect();
            assert_eq!(own.len(), 1, "{}: {own:?}", chart.title);
        }
    }
    let titles: Vec<String> = report
        .sections
        .iter()
        .flat_map(|section| {
            section.charts.iter().map(|chart| format!("{}: {}", section.heading, chart.title))
        })
        .collect();
    insta::assert_snapshot!("charts_of_publications", titles.join("\n"));
    let own: Vec<&String> = titles.iter().filter(|title| title.contains("published and here")).collect();
    assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), own.len(), "{own:#?}");
}

#[test]
fn the_page_begins_with_the_verdict_then_warnings_then_the_table_then_charts() {
    for (name, results) in runs::all() {
        let mut report = report::report(&run(results));
        report.warnings.push("Take care.".into());
        let page = html::html(&report);
        let places = ["verdict", "warnings", "summary", "section-", "environment", "trials"]
            .map(|id| page.find(&format!("<section id=\"{id}")));
        let known: Vec<usize> = places.into_iter().flatten().collect();
        assert!(places[0].is_some() && known.len() >= 4 && known.is_sorted(), "{name}: {places:?}");
    }
}

#[test]
fn a_page_of_a_thousand_measured_trials_is_small() {
    let results = runs::thousand();
    assert!(results.trials.len() >= 1000, "{}", results.trials.len());
    let page = html::html(&report::report(&run(results)));
    assert!(page.len() < 5_000_000, "{}", page.len());
}

/// The report as it is on every host, and without charts, which have tests of their own.
fn same_everywhere(results: Results) -> Report {
    let mut report = report::report(&run(results));
    report.environment.clear();
    for section in &mut report.sections {
        section.charts.clear();
    }
    report.sections.retain(|section| !section.tables.is_empty());
    report
}

#[test]
fn a_terminal_gets_verdict_and_summary_in_80_columns() {
    for (name, results) in runs::all() {
        let printed = text::text(&same_everywhere(results));
        for line in printed.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        insta::assert_snapshot!(format!("text_{name}"), printed);
    }
}

/// What `capbench compare` prints.
fn printed(comparison: &Comparison) -> String {
    let runs = [runs::small_bench(), runs::bench()];
    let [then, now] = runs.each_ref();
    text::text(&report::compared([(Path::new("then"), then), (Path::new("now"), now)], comparison))
}

#[test]
fn a_comparison_says_what_it_can_and_fits_80_columns() {
    let text = printed(&runs::compared::example());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("text_comparison", text);
}

#[test]
fn methods_that_took_turns_are_compared_in_a_section_and_in_the_verdict() {
    let paired = Comparison {
        then: "recv".into(),
        now: "packet-v3".into(),
        paired: true,
        notes: Vec::new(),
        differences: Vec::new(),
        ..runs::compared::example()
    };
    let report = same_everywhere(Results { comparisons: vec![paired], ..runs::bench() });
    let text = text::text(&report);
    assert!(report.verdict[0].text.starts_with("packet-v3 against recv: 2 regressions"), "{text}");
    assert!(text.contains("\npacket-v3 against recv, in pairs that ran side by side\n"), "{text}");
    assert!(text.contains("\nRegressions\n") && !text.contains("Two runs are"), "{text}");
}

#[test]
fn nothing_tested_is_inconclusive() {
    let example = runs::compared::example;
    let contrasts = example().contrasts.into_iter().filter(|one| one.judgement == Judgement::TooFewVisits);
    let none = Comparison { contrasts: contrasts.collect(), tested: 0, ..example() };
    for (comparison, words) in [
        (Comparison { disturbed: true, ..example() }, "Inconclusive: the host disturbed most"),
        (Comparison { damaged: true, ..example() }, "Inconclusive: the file of a run"),
        (none, "Inconclusive: there are too few trials to tell anything by.\n"),
    ] {
        let text = printed(&comparison);
        assert!(text.contains(words), "{text}");
        assert_eq!(comparison.conclusion(), Conclusion::Inconclusive);
    }
}

#[test]
fn a_run_says_what_ran_and_where_its_files_are() {
    let mut results = runs::bench();
    for trial in &mut results.trials {
        trial.engine = format!("library of {}, version 1.10.3 (with TPACKET_V3)", trial.profile.method);
    }
    let report = same_everywhere(results);
    let text = text::ended(&report, Path::new("a-folder"), &["results.json", "trials.csv"]);
    assert!(text.starts_with("At maximum load"), "the verdict comes first: {text}");
    let engine = "\npacket-v3  library of packet-v3, version 1.10.3 (with TPACKET_V3)\n";
    assert_eq!(text.matches(engine).count(), 1, "{text}");
    assert!(text.ends_with("\nSaved in a-folder: results.json, trials.csv\n"), "{text}");
}

#[test]
fn verdicts_have_at_most_three_sentences_and_name_their_trials() {
    for (name, results) in runs::all() {
        let numbers: BTreeSet<u32> = results.trials.iter().map(|trial| trial.number).collect();
        let report = same_everywhere(results);
        assert!((1..=3).contains(&report.verdict.len()), "{name}: {:?}", report.verdict);
        for sentence in &report.verdict {
            assert!(!sentence.trials.is_empty(), "{name}: {sentence:?}");
            assert!(sentence.trials.iter().all(|number| numbers.contains(number)), "{name}: {sentence:?}");
        }
    }
}

#[test]
fn visits_of_a_method_are_one_entry_with_its_median() {
    let mut results = runs::visited_bench();
    for (nth, trial) in results.trials.iter_mut().enumerate() {
        trial.offered_pps += nth as f64;
    }
    let own: Vec<u32> = results
        .trials
        .iter()
        .filter(|trial| trial.profile.method == "packet-v3" && trial.phase == Phase::BestEffort)
        .map(|trial| trial.number)
        .collect();
    assert_eq!(own.len(), 3);
    let report = same_everywhere(results);
    let summary = report.summary.unwrap();
    assert_eq!(summary.rows.len(), 3, "a row for each method");
    let offered = summary.columns.iter().position(|column| column.key == "offered_pps").unwrap();
    let row = summary.rows.iter().find(|row| row.cells.contains(&Cell::Text("packet-v3".into()))).unwrap();
    assert!(
        matches!(row.cells[offered], Cell::Interval { middle, low, high } if low < middle && middle < high),
        "{:?}",
        row.cells
    );
    assert!(own.iter().all(|number| row.trials.contains(number)), "{:?}", row.trials);
    let cheapest = report.verdict.iter().find(|sentence| sentence.text.contains("common load")).unwrap();
    assert!(cheapest.text.contains("packet-v3 costs least, 710 ns"), "{}", cheapest.text);
    assert!(cheapest.text.ends_with("recv most with 1,400 ns (medians of the visits)."), "{}", cheapest.text);
}

#[test]
fn one_method_is_not_compared_with_itself() {
    let mut results = runs::visited_bench();
    results.trials.retain(|trial| trial.profile.method == "packet-v3");
    let report = same_everywhere(results);
    assert!(report.verdict.iter().all(|sentence| !sentence.text.contains("common load")));
}

#[test]
fn of_several_set_ups_only_what_is_true_of_each_is_said() {
    let mut results = runs::large_bench();
    for trial in results.trials.iter_mut().filter(|trial| trial.profile.frame_size.to_string() == "512") {
        trial.offered_pps = 600_000.0;
        if trial.phase == Phase::BestEffort && trial.profile.method == "packet-v2" {
            trial.delivered = trial.sent;
            trial.verdict = Verdict::Lossless;
        }
    }
    let report = report::report(&run(results));
    let said = |part: &str| report.verdict.iter().any(|sentence| sentence.text.contains(part));
    assert!(said("packet-v3 (at 600,000 to 1,000,000 packets/s)"), "{:?}", report.verdict);
    assert!(said("in each set-up at least what it sent there is held"), "{:?}", report.verdict);
    assert!(said("packet-v2 lost up to 10 % in 2 of 4 set-ups"), "{:?}", report.verdict);
}

#[test]
fn claims_of_publications_are_counted_and_those_that_changed_are_named() {
    let report = same_everywhere(runs::reproduction());
    let texts: Vec<&str> = report.verdict.iter().map(|sentence| sentence.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Of 5 claims of a-paper, 2 still hold, 1 has changed, 1 cannot be told and \
             1 cannot be tested here.",
            "Has changed: The socket loses almost everything at maximum load (a-paper).",
            "Still holds: The ring loses less than the socket (a-paper); The ring costs less (a-paper).",
        ]
    );
    let summary = report.summary.unwrap();
    assert_eq!(summary.rows.len(), 5);
    assert_eq!(
        summary.rows[1].cells,
        [
            Cell::Text("a-paper".into()),
            Cell::Text("The socket loses almost everything at maximum load.".into()),
            Cell::Text("Has changed".into()),
            Cell::Count(1),
        ]
    );
}

#[test]
fn a_loss_in_some_visits_is_not_a_loss_in_none() {
    let mut results = runs::sweep();
    let outcome = &mut results.sweeps[0];
    let series = outcome.series.iter_mut().find(|series| series.method == "packet-v3").unwrap();
    // Two visits, no loss in either: as if a third had lost frames.
    series.readings.truncate(3);
    for reading in &mut series.readings {
        let again = reading.trials[0];
        reading.trials.push(again);
    }
    let report = same_everywhere(results);
    let text = &report.verdict[0].text;
    assert!(text.contains("loses nothing in most visits from work ns:0 to work ns:1000"), "{text}");
    assert!(text.contains("recv, placement same, 450,000 packets/s loses frames at every point"), "{text}");
    let most = &report.verdict[1].text;
    assert!(most.contains("and lost nothing in most visits (medians of 2 visits)"), "{most}");
    let notes = report.summary.unwrap().notes;
    assert_eq!(
        notes,
        ["With loss: points whose median visit lost frames; at 3 other points fewer visits did."]
    );
}

#[test]
fn a_report_for_an_issue() {
    for (name, results) in [("bench", runs::bench()), ("search", runs::search())] {
        let mut report = same_everywhere(results);
        report.trials.rows.truncate(2);
        insta::assert_snapshot!(format!("markdown_{name}"), markdown::markdown(&report, None));
    }
}

#[test]
fn a_report_as_data() {
    let mut report = same_everywhere(runs::small_bench());
    report.sections.truncate(1);
    report.trials.rows.clear();
    report.trials.columns.truncate(3);
    as_data(&report);
    insta::assert_snapshot!("json_bench", json::json(&report).unwrap());
}

/// The report of this, read as a reader of the schema would.
fn as_data(report: &Report) -> serde_json::Value {
    let data = serde_json::from_str(&json::json(report).unwrap()).unwrap();
    results_file::assert_valid_report(&data);
    data
}

#[test]
fn the_schema_of_reports_knows_every_field_and_refuses_others() {
    let mut report = same_everywhere(runs::small_bench());
    let cells = [
        Cell::Unknown,
        Cell::Empty,
        Cell::Text("words".into()),
        Cell::Count(u64::MAX),
        Cell::Signed(-1),
        Cell::Number(0.123),
        Cell::AtLeast(1e6),
        Cell::AtMost(0.5),
        Cell::Interval { middle: 2.0, low: 1.0, high: 3.0 },
    ];
    report.trials.rows[0].cells = cells.to_vec();
    let data = as_data(&report);
    assert_eq!(data["schema_version"], json::SCHEMA_VERSION);
    let written = data["trials"]["rows"][0]["cells"].as_array().unwrap();
    assert_eq!((&written[0], &written[8]["interval"]["low"]), (&"unknown".into(), &1.0.into()));
    let wrong: [fn(&mut serde_json::Value); 4] = [
        |data| data["schema_version"] = 0.into(),
        |data| data["later"] = 1.into(),
        |data| data["trials"]["rows"][0]["cells"][3]["count"] = (-1).into(),
        |data| drop(data.as_object_mut().unwrap().remove("verdict")),
    ];
    for change in wrong {
        let mut changed = data.clone();
        change(&mut changed);
        assert!(std::panic::catch_unwind(|| results_file::assert_valid_report(&changed)).is_err());
    }
}

#[test]
fn tidy_rows_for_notebooks() {
    insta::assert_snapshot!("tidy_bench", csv::tidy(&run(runs::small_bench())).unwrap());
}

#[test]
fn tidy_rows_sum_up_to_the_results() {
    for (name, results) in runs::all() {
        let expected = runs::totals(&results);
        let intended: i128 = results.trials.iter().map(|trial| i128::from(trial.intended)).sum();
        let written = csv::tidy(&run(results)).unwrap();
        let mut reader = ::csv::Reader::from_reader(written.as_bytes());
        let head = reader.headers().unwrap().clone();
        let column = |key: &str| head.iter().position(|name| name == key).unwrap();
        let (method, place, count, kept) =
            (column("method"), column("place"), column("count"), column("kept"));
        let mut found = runs::Totals::new();
        for record in reader.records() {
            let record = record.unwrap();
            if &record[kept] == "result" {
                let sum = found.entry((record[method].into(), record[place].into())).or_default();
                match record[count].parse::<i128>() {
                    Ok(frames) => sum.0 += frames,
                    Err(_) => sum.1 += 1,
                }
            }
        }
        assert_eq!(found, expected, "{name}");
        let frames: i128 = found.values().map(|(frames, _)| frames).sum();
        assert_eq!(frames, intended, "{name}: every intended frame is in one row");
    }
}

#[test]
fn every_table_is_whole_and_has_a_name_of_its_own() {
    for (name, results) in runs::all() {
        let numbers: BTreeSet<u32> = results.trials.iter().map(TrialResult::last_number).collect();
        let report = report::report(&run(results));
        let tables: Vec<&Table> = report.tables().collect();
        let ids: BTreeSet<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids.len(), tables.len(), "{name}: {ids:?}");
        let highest = numbers.last().copied().unwrap_or(0);
        for table in tables {
            let keys: BTreeSet<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
            assert_eq!(keys.len(), table.columns.len(), "{name}, {}: a column twice", table.id);
            assert!(table.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", table.id);
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.columns.len(), "{name}, {}", table.id);
                assert!(row.trials.iter().all(|number| *number <= highest), "{name}, {}", table.id);
            }
            let written = csv::table(table).unwrap();
            let mut reader = ::csv::Reader::from_reader(written.as_bytes());
            let records: Vec<_> = reader.records().map(Result::unwrap).collect();
            assert_eq!(records.len(), table.rows.len());
        }
    }
}

#[test]
fn the_trials_have_all_that_trials_csv_has() {
    let results = runs::bench();
    let written = capbench_report::results::trials_csv(&results.trials).unwrap();
    let head: Vec<String> =
        ::csv::Reader::from_reader(written.as_slice()).headers().unwrap().iter().map(String::from).collect();
    let report = report::report(&run(results));
    let keys: Vec<String> = report.trials.columns.iter().map(|column| column.key.clone()).collect();
    assert_eq!(keys[..head.len()], head);
    assert_eq!(report.trials.rows.len(), 6);
}

#[test]
fn a_run_that_was_interrupted_says_so_and_has_findings() {
    let mut results = runs::bench();
    results.complete = false;
    results.trials.truncate(2);
    results.findings.clear();
    let report = report::report(&run(results.clone()));
    assert!(
        report.warnings[0].contains("not complete") && report.warnings[0].contains("2 trials"),
        "{:?}",
        report.warnings
    );
    assert!(!report.findings.is_empty());
    results.trials.clear();
    let report = report::report(&run(results));
    assert_eq!(report.verdict[0].text, "No trial was finished, so nothing can be said.");
    assert_eq!(report.summary, None);
}

#[test]
fn a_slow_cpu_is_told_apart_from_what_the_host_disturbed() {
    use capbench_model::disturbance::{CoreSpeed, CpuDisturbance};

    let mut results = runs::small_bench();
    let core_speed = Some(CoreSpeed { before_ns: 0.5, after_ns: 0.4, fastest_ns: 0.4 });
    results.trials[0].disturbance.cpus =
        vec![CpuDisturbance { cpu: 1, core_speed, ..CpuDisturbance::default() }];
    let warnings = report::report(&run(results)).warnings;
    let begin = |words: &str| warnings.iter().filter(|warning| warning.starts_with(words)).count();
    assert_eq!(begin("Trials of which a CPU ran slower"), 1, "{warnings:?}");
    assert_eq!(begin("Trials that the host disturbed"), 0, "{warnings:?}");
}

#[test]
fn what_a_trial_contradicts_is_a_warning() {
    let mut results = runs::bench();
    results.trials[0].delivered += 1;
    results.trials[1].unexplained = 5;
    results.trials[1].sent += 5;
    let report = report::report(&run(results));
    let warned = |part: &str| report.warnings.iter().any(|warning| warning.contains(part));
    assert!(warned("The ledger of trial 1 does not sum up"), "{:?}", report.warnings);
    assert!(warned("Trials with frames that nothing explains"), "{:?}", report.warnings);
}

#[test]
fn every_format_of_every_run_can_be_made() {
    let all: Vec<_> = formats::FORMATS.iter().filter(|format| format.write.is_some()).collect();
    for (name, results) in runs::all() {
        let files = save::files(&run(results), &all).unwrap();
        let paths: BTreeSet<_> = files.iter().map(|file| &file.path).collect();
        assert_eq!(paths.len(), files.len(), "{name}");
        for file in ["report.html", "report.md", "tidy.csv", "report.json", "tables/trials.csv"] {
            assert!(paths.contains(&Path::new(file).to_path_buf()), "{name}: {file} of {paths:?}");
        }
        assert!(files.iter().all(|file| !file.content.is_empty()), "{name}");
        let json = files.iter().find(|file| file.path == Path::new("report.json")).unwrap();
        results_file::assert_valid_report(&serde_json::from_slice(&json.content).unwrap());
    }
}
