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

use capbench_judge::comparison::note::{ComparisonNote, RunSide};
use capbench_judge::comparison::{Comparison, Conclusion, Judgement};
use capbench_judge::finding::caveats::Caveat;
use capbench_judge::finding::comparison::{ComparisonFinding, ComparisonOutcome};
use capbench_judge::finding::noise::NoiseCause;
use capbench_judge::finding::reproduction::ReproductionAnswer;
use capbench_judge::finding::rfc2544::{Rfc2544Answer, TestFact};
use capbench_judge::finding::search::{FoundLoad, SearchAnswer, SearchFinding};
use capbench_judge::finding::sweep::SweepAnswer;
use capbench_judge::finding::sweep::answers::LossAtHighestRate;
use capbench_judge::finding::{self, Finding};
use capbench_judge::reproduction::{Answer, Side};
use capbench_judge::rfc2544::Found;
use capbench_judge::rfc2544::latency::{Across, Leg};
use capbench_judge::search::{End, Reason, Status};
use capbench_model::noise::Noise;
use capbench_model::running::CaptureFacts;
use capbench_model::trial::{Phase, TrialResult};
use capbench_report::formats::text::Extent;
use capbench_report::formats::{self, csv, html, json, markdown, text};
use capbench_report::model::{Cell, Chart, Report, Role, Section, Sentence, Table, Unit};
use capbench_report::{figures, report, save};
use capbench_results::Results;
use capbench_results::read::Run;

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
    for reproduction in &results.reproductions {
        let id = format!("reproduction-{}", reproduction.key);
        let mut section = report.sections.iter().find(|section| section.id == id).unwrap().clone();
        let of_own =
            |chart: &&Chart| reproduction.tables.iter().any(|table| chart.title.starts_with(&table.caption));
        section.charts.extend(report.picture.iter().filter(of_own).cloned());
        assert_eq!(section.tables.len(), reproduction.tables.len(), "{id}");
        for table in &reproduction.tables {
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
                assert!(trials.iter().all(|number| reproduction.trials.contains(number)), "{}", chart.title);
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
        let is_left_out = section.text.iter().any(|sentence| sentence.text.contains("left out"));
        assert!(!is_left_out && section.charts.len() <= 16, "{}: {}", section.id, section.charts.len());
        for chart in &section.charts {
            let trials = rests_on(chart);
            let keys: Vec<&str> = results
                .reproductions
                .iter()
                .filter(|one| one.trials.iter().any(|number| trials.contains(number)))
                .map(|one| one.key.as_str())
                .collect();
            assert_eq!(keys.len(), 1, "{}: {keys:?}", chart.title);
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
    let published: Vec<&String> =
        titles.iter().filter(|title| title.contains("published and here")).collect();
    assert_eq!(published.iter().collect::<BTreeSet<_>>().len(), published.len(), "{published:#?}");
}

#[test]
fn the_page_begins_with_the_verdict_then_its_picture_and_ends_with_the_evidence() {
    for (name, results) in runs::all() {
        let mut report = report::report(&run(results));
        report.warnings.push("A part is missing.".into());
        let page = html::html(&report);
        let places = [
            "id=\"verdict",
            "class=\"warning",
            "class=\"picture",
            "id=\"caveats",
            "id=\"summary",
            "id=\"evidence",
            "id=\"trials",
        ]
        .map(|mark| page.find(mark).unwrap_or_else(|| panic!("{name}: {mark}")));
        assert!(places.is_sorted(), "{name}: {places:?}");
    }
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
fn a_terminal_gets_the_verdict_first_and_45_lines_of_80_columns() {
    for (name, results) in runs::all() {
        let report = same_everywhere(results);
        let printed = text::text(&report, Extent::Answer);
        let details = text::text(&report, Extent::Details);
        for line in printed.lines().chain(details.lines()) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(
            printed.lines().count() <= text::LINES,
            "{name}: {} lines\n{printed}",
            printed.lines().count()
        );
        assert!(printed.replace('\n', " ").starts_with(&report.verdict.text), "{name}: {printed}");
        assert!(
            report.findings.iter().all(|one| details.replace("\n  ", " ").contains(&one.text)),
            "{name}: {details}"
        );
        insta::assert_snapshot!(format!("text_{name}"), printed);
    }
}

/// The report of `capbench compare`.
fn compared(comparison: &Comparison) -> Report {
    let runs = [runs::small_bench(), runs::bench()];
    let [then, now] = runs.each_ref();
    report::compared([(Path::new("then"), then), (Path::new("now"), now)], comparison)
}

/// What `capbench compare` prints.
fn printed(comparison: &Comparison, extent: Extent) -> String {
    text::text(&compared(comparison), extent)
}

#[test]
fn a_comparison_has_the_trials_of_both_runs_and_one_line_on_their_noise() {
    let mut runs = [runs::small_bench(), runs::bench()];
    runs[1].trials[0].noise.reasons = vec![Noise::ForeignLoad];
    let [then, now] = runs.each_ref();
    let note = ComparisonNote::Noisy { run: RunSide::B, noisy_trials: 1, all_trials: 6 };
    let comparison = Comparison { note_facts: vec![note], ..runs::compared::example() };
    let report = report::compared([(Path::new("then"), then), (Path::new("now"), now)], &comparison);
    let [noise] = &report.caveats[..] else { panic!("{:?}", report.caveats) };
    assert!(noise.text.starts_with("B: 1 of 6 trials is noisy: "), "{}", noise.text);
    assert_eq!(report.findings.len(), 1, "noise is no finding: {:?}", report.findings);
    assert_eq!(report.trials.rows.len(), then.trials.len() + now.trials.len());
    let runs: BTreeSet<String> =
        report.trials.rows.iter().map(|row| figures::cell(&row.cells[0], Unit::None)).collect();
    assert_eq!(runs.into_iter().collect::<String>(), "AB");
}

#[test]
fn every_format_of_a_comparison_can_be_made_and_tidy_rows_name_the_run() {
    let report = compared(&runs::compared::example());
    let runs = [("A", runs::small_bench()), ("B", runs::bench())];
    let runs = runs.map(|(name, results)| Run { name: name.into(), ..run(results) });
    let all: Vec<_> = formats::FORMATS.iter().collect();
    let files = save::files_of(&report, &runs, &all).unwrap();
    let content = |path: &str| {
        let file = files.iter().find(|file| file.path == Path::new(path));
        String::from_utf8_lossy(&file.unwrap_or_else(|| panic!("{path}")).content).into_owned()
    };
    let tidy = content("tidy.csv");
    assert!(tidy.contains("\nA,1,result") && tidy.contains("\nB,1,result"), "{tidy}");
    assert!(
        content("report.md").contains("(charts/changes.svg)")
            && content("charts/changes.svg").contains("+21 %")
    );
    assert!(content("report.html").contains("id=\"chart-changes\""));
    results_file::assert_valid_report(&serde_json::from_str(&content("report.json")).unwrap());
}

#[test]
fn a_comparison_says_what_it_can_and_fits_80_columns() {
    for (name, extent) in [("comparison", Extent::Answer), ("comparison_details", Extent::Details)] {
        let text = printed(&runs::compared::example(), extent);
        assert!(text.starts_with("2 regressions; 1 figure is better"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(format!("text_{name}"), text);
    }
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
    let text = text::text(&report, Extent::Details);
    assert!(report.verdict.text.starts_with("packet-v3 against recv: 2 regressions"), "{text}");
    assert!(text.contains("\npacket-v3 against recv, in pairs that ran side by side\n"), "{text}");
    assert!(text.contains("\nRegressions\n") && !text.contains("Two runs are"), "{text}");
}

#[test]
fn nothing_tested_is_inconclusive() {
    let example = runs::compared::example;
    let contrasts = example().contrasts.into_iter().filter(|one| one.judgement == Judgement::TooFewVisits);
    let none = Comparison { contrasts: contrasts.collect(), tested: 0, ..example() };
    for (comparison, outcome) in [
        (Comparison { disturbed: true, ..example() }, ComparisonOutcome::Disturbed),
        (Comparison { damaged: true, ..example() }, ComparisonOutcome::Damaged),
        (none, ComparisonOutcome::TooFewTrials),
    ] {
        let fact = finding::comparison::of_runs(&comparison).fact;
        assert_eq!(fact, Finding::Comparison(ComparisonFinding::OfRuns { outcome }));
        assert!(compared(&comparison).verdict.text.starts_with("Inconclusive: "));
        assert_eq!(comparison.conclusion(), Conclusion::Inconclusive);
    }
}

#[test]
fn what_compares_no_figure_says_only_that() {
    let nothing = Comparison { contrasts: Vec::new(), tested: 0, ..runs::compared::example() };
    let text = printed(&nothing, Extent::Details);
    assert!(text.contains("Nothing could be compared: no figure is known on both sides."), "{text}");
    assert!(!text.contains("figures could be tested") && !text.contains("p is the probability"), "{text}");
}

#[test]
fn a_run_says_what_ran_and_where_its_files_are() {
    let mut results = runs::bench();
    for trial in &mut results.trials {
        let engine = format!("library of {}, version 1.10.3 (with TPACKET_V3)", trial.profile.method);
        trial.capture = Some(CaptureFacts::from_texts(&engine, ""));
    }
    let report = same_everywhere(results);
    let text = text::ended(&report, Path::new("a-folder"), &["results.json", "trials.csv"], Extent::Details);
    assert!(text.starts_with("Probably best is packet-v3: "), "the verdict comes first: {text}");
    let engine = "\npacket-v3  library of packet-v3, version 1.10.3 (with TPACKET_V3)\n";
    assert_eq!(text.matches(engine).count(), 1, "{text}");
    assert!(text.ends_with("\nSaved in a-folder: results.json, trials.csv\n"), "{text}");
}

#[test]
fn a_loss_in_some_visits_is_not_a_loss_in_none() {
    let mut results = runs::sweep();
    let series = &mut results.sweeps[0].series;
    // Two visits, no loss in either: as if a third had lost frames.
    for reading in series.iter_mut().flat_map(|series| &mut series.readings) {
        reading.trials.push(reading.trials[0]);
    }
    let mut losses = Vec::new();
    for found in finding::sweep::answers(&results.sweeps, &results.trials) {
        if let Finding::SweepAnswer(answer) = found.fact
            && let SweepAnswer::HighestRate(highest) = *answer
        {
            losses.push(highest.loss);
        }
    }
    assert_eq!(losses, [LossAtHighestRate::NothingInMostVisits]);
}

#[test]
fn a_verdict_is_one_sentence_and_names_its_trials() {
    for (name, results) in runs::all() {
        let numbers: BTreeSet<u32> = results.trials.iter().map(|trial| trial.number).collect();
        let Sentence { text, trials } = same_everywhere(results).verdict;
        assert!(text.ends_with('.') && !text.trim_end_matches('.').contains(". "), "{name}: {text}");
        assert!(!trials.is_empty(), "{name}: {text}");
        assert!(trials.iter().all(|number| numbers.contains(number)), "{name}: {trials:?}");
    }
}

#[test]
fn visits_of_a_method_are_one_row() {
    let summary = same_everywhere(runs::visited_bench()).summary.unwrap();
    let methods: Vec<&Cell> = summary.rows.iter().map(|row| &row.cells[0]).collect();
    assert_eq!(methods, [&Cell::from("packet-v3"), &Cell::from("packet-v2"), &Cell::from("recv")]);
    assert_eq!(
        summary.rows[0].trials.len(),
        6,
        "three visits at the highest load, and three at the common one"
    );
}

#[test]
fn claims_of_publications_are_answered_and_those_that_changed_come_first() {
    let results = runs::reproduction();
    let mut answered = Vec::new();
    for found in finding::reproduction::answers(&results.reproductions, &results.trials) {
        let Finding::ReproductionAnswer(answer) = found.fact else { panic!("{found:?}") };
        match answer {
            ReproductionAnswer::Summary { claims, hold, changed, undecided, not_testable, .. } => {
                assert_eq!((claims, [hold, changed, undecided, not_testable]), (5, [2, 1, 1, 1]));
            }
            ReproductionAnswer::Claims { answer, claims } => answered.push((answer, claims.len())),
            other => panic!("{other:?}"),
        }
    }
    let expected =
        [(Answer::Changed, 1), (Answer::Holds, 2), (Answer::Inconclusive, 1), (Answer::NotTestable, 1)];
    assert_eq!(answered, expected);
    let report = same_everywhere(results);
    assert!(report.verdict.text.starts_with("2 of 5 claims of a-paper hold"), "{}", report.verdict.text);
    let summary = report.summary.unwrap();
    assert_eq!(summary.rows.len(), 5);
    assert_eq!(
        summary.rows[1].cells,
        [
            Cell::Text("a-paper".into()),
            Cell::Text("The socket loses almost everything at maximum load.".into()),
            Cell::Text("Does not hold here".into()),
            Cell::Count(1),
        ]
    );
}

#[test]
fn a_point_that_only_buffers_shows_the_rate_at_which_frames_were_read() {
    let mut results = runs::sweep();
    let series = results.sweeps[0].series.iter_mut().find(|series| series.method == "packet-v3").unwrap();
    let last = series.readings.last_mut().unwrap();
    // All 450,000 were delivered, but the application read 50,000 a second.
    last.delivered_pps = last.offered_pps;
    last.taken_pps.median = 50_000.0;
    last.sent_loss_ratio.median = 0.0;
    last.lossless = last.trials.len() as u32;
    last.lost.clear();
    let report = report::report(&run(results));
    assert!(
        report.verdict.text.contains("packet-v3 keeps up to work ns:1000; recv"),
        "{}",
        report.verdict.text
    );
    let table = report.tables().find(|table| table.id == "sweep-readings").unwrap();
    let at = table.columns.iter().position(|column| column.key == "read_pps").unwrap();
    let cell = &table.rows.last().unwrap().cells[at];
    assert!(matches!(cell, Cell::Interval { middle: 50_000.0, .. } | Cell::Number(50_000.0)), "{cell:?}");
}

#[test]
fn a_throughput_that_other_trials_contradict_is_not_repeatable() {
    let mut results = runs::rfc2544();
    let throughput = results.searches[0].goals[0].lower.as_ref().unwrap().achieved_pps;
    let is_below = |trial: &&mut TrialResult| {
        trial.phase == Phase::FrameLoss && trial.offered_pps < throughput && trial.lost() == 0
    };
    let below = results.trials.iter_mut().find(is_below).unwrap();
    below.delivered = below.sent / 2;
    let lossy = below.number;
    let verdict = report::report(&run(results.clone())).verdict;
    assert!(verdict.text.starts_with("Not repeatable: "), "{}", verdict.text);
    assert!(verdict.trials.contains(&lossy), "{:?}", verdict.trials);
    for tested in &mut results.rfc2544 {
        if let Found::Latency(latency) = &mut tested.found {
            latency.lossy = vec![lossy; latency.repetitions as usize];
            let across = Across { median_ns: 7_238_000, min_ns: 1, max_ns: 9_000_000 };
            latency.total = Some(Leg { mean_ns: 7e6, typical: across, worst: across, pdv: across });
        }
    }
    let text = text::text(&report::report(&run(results.clone())), Extent::Details).replace("\n  ", " ");
    assert!(text.contains("not repeatable: ") && !text.contains("(regular)"), "{text}");
    let times = finding::rfc2544::answers(&results.searches, &results.rfc2544, &results.trials);
    let Some(Finding::Rfc2544Answer(Rfc2544Answer::Time { tests: times })) =
        times.last().map(|found| &found.fact)
    else {
        panic!("{times:?}")
    };
    let TestFact::Latency { lossy_trials, trials, .. } = &times[0].fact else { panic!("{times:?}") };
    assert_eq!(*lossy_trials, *trials as usize);
    results.trials.retain(|trial| !matches!(trial.phase, Phase::FrameLoss | Phase::Latency));
    let verdict = report::report(&run(results)).verdict;
    assert!(verdict.text.starts_with("The throughput of packet-v3"), "{}", verdict.text);
}

#[test]
fn files_have_what_each_method_delivers_at_overload_and_a_terminal_has_the_room_for_the_rest() {
    let results = runs::visited_bench();
    let report = same_everywhere(results.clone());
    let summary = report.summary.as_ref().unwrap();
    let at = |key: &str| summary.columns.iter().position(|column| column.key == key).unwrap();
    let keys = ["overload_offered_pps", "overload_delivered_pps", "overload_lost_ratio"].map(at);
    for row in &summary.rows {
        let Cell::Text(method) = &row.cells[0] else { panic!("{row:?}") };
        let own = results.trials.iter();
        let own =
            own.filter(|trial| trial.phase == Phase::BestEffort && trial.profile.method == method.as_str());
        let most = own.max_by(|a, b| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio())).unwrap();
        let expected = [most.offered_pps.floor(), most.delivered_pps.floor(), most.sent_loss_ratio()];
        assert_eq!(keys.map(|at| row.cells[at].clone()), expected.map(Cell::Number), "{method}");
        assert!(row.trials.contains(&most.number), "{method}");
    }
    assert!(csv::table(summary).unwrap().contains("overload_offered_pps,overload_delivered_pps,"));
    assert!(html::html(&report).contains("at overload: lost"));
    for extent in [Extent::Answer, Extent::Details] {
        assert!(!text::text(&report, extent).contains("at overload"));
    }
}

#[test]
fn of_a_cost_that_is_known_as_a_range_no_end_is_shown_as_the_value() {
    let mut results = runs::bench();
    for trial in &mut results.trials {
        trial.cpu.app_ns_per_packet = Some(20.0);
        trial.cpu.app_ns_per_packet_at_most = Some(224.0);
        trial.cpu.split_is_sampled = true;
    }
    results.recommended = None;
    let report = report::report(&run(results.clone()));
    let costs = report.picture.iter().find(|chart| chart.id == "ranking-costs").unwrap();
    let known = costs.series[0].points.iter().find(|point| !point.trials.is_empty()).unwrap();
    assert_eq!(known.y, None, "{known:?}");
    assert!(known.interval.is_some_and(|[low, high]| low < high), "{known:?}");
    assert!(html::html(&report).contains(" to 2"), "the page says so");
    let at = |key: &str| report.trials.columns.iter().position(|column| column.key == key);
    let app = at("app_ns_per_packet").unwrap();
    assert_eq!(report.trials.rows[0].cells[app], Cell::Range { low: 20.0, high: 224.0 });
    assert_eq!(at("app_ns_per_packet_at_most"), None, "one cell has both");
}

#[test]
fn markdown_has_a_short_name() {
    assert_eq!(formats::named("md").map(|format| format.name), Some("markdown"));
    assert!(formats::named("doc").is_none());
}

#[test]
fn a_search_that_decided_nothing_has_its_reason() {
    let mut results = runs::search();
    for search in &mut results.searches {
        search.ended = End::TimeUp;
        for goal in &mut search.goals {
            (goal.lower, goal.upper, goal.so_far) = (None, None, None);
            goal.status = Status::Irregular;
            goal.reason = Some(Reason::Ended { end: End::TimeUp });
        }
    }
    results.complete = false;
    let time_up = Reason::Ended { end: End::TimeUp };
    let answers = finding::search::answers(&results.searches);
    assert_eq!(answers.len(), 1, "{answers:?}");
    let Finding::SearchAnswer(SearchAnswer::Sustained(loads)) = &answers[0].fact else {
        panic!("{answers:?}")
    };
    for (method, found) in ["packet-v2", "packet-v3"].into_iter().zip(&loads.methods) {
        assert_eq!(found.method, Some(method.into()));
        assert_eq!(found.load, FoundLoad::Undecided { reason: Some(time_up.clone()) });
    }
    let mut goals = 0;
    for found in finding::search::find(&results.searches) {
        if let Finding::Search(SearchFinding::NoBounds { reason, .. }) = found.fact {
            assert_eq!(reason, time_up);
            goals += 1;
        }
    }
    assert_eq!(goals, results.searches.iter().map(|search| search.goals.len()).sum::<usize>());
    let report = report::report(&run(results));
    assert!(report.warnings[0].starts_with("The time of the search was used up after "), "{report:#?}");
    let text = text::text(&report, Extent::Details);
    assert!(!text.contains("none packets/s") && !text.contains("sustained ?"), "{text}");
}

#[test]
fn the_most_that_is_read_is_one_figure_in_sentence_table_and_chart() {
    let mut results = runs::sweep();
    let series = results.sweeps[0].series.iter_mut().find(|series| series.method == "packet-v3").unwrap();
    // Lost 1 %, and delivered the most of all, because buffers took in what the application did not read.
    let last = series.readings.last_mut().unwrap();
    last.delivered_pps.median = 2e6;
    last.taken_pps.median = 70_000.0;
    last.sent_loss_ratio.median = 0.01;
    let report = report::report(&run(results));
    let most = report.findings.iter().find(|sentence| sentence.text.contains(" read most: ")).unwrap();
    assert!(!most.text.contains("ns:2000") && most.text.contains("lost nothing"), "{}", most.text);
    let summary = report.summary.as_ref().unwrap();
    let at = summary.columns.iter().position(|column| column.key == "read_pps").unwrap();
    let Cell::Number(pps) = summary.rows[0].cells[at] else { panic!("{summary:?}") };
    let rate = figures::number(pps, Unit::PacketsPerSecond);
    assert!(most.text.contains(&rate), "{rate} in {}", most.text);
    let chart = report.charts().find(|chart| chart.y.label == "Read").unwrap();
    let values = chart.series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    assert_eq!(values.fold(0.0, f64::max).floor(), pps);
}

#[test]
fn a_soak_without_loss_shows_what_it_delivered() {
    let mut results = runs::soak();
    assert_eq!(report::report(&run(results.clone())).picture[0].id, "soak-lost");
    let record = results.soak.as_mut().unwrap();
    for interval in record.intervals.iter_mut().chain(&mut record.whole).chain(&mut record.worst) {
        interval.counts.delivered = interval.counts.sent;
        interval.counts.unexplained = 0;
        interval.lost.clear();
    }
    let report = report::report(&run(results));
    assert_eq!(report.picture[0].id, "soak-delivered");
    assert!(report.charts().all(|chart| chart.id != "soak-lost"), "there is nothing to show");
}

#[test]
fn each_claim_is_a_plain_sentence_and_more_visits_have_their_time() {
    let mut results = runs::reproduced::all();
    for claim in results.reproductions.iter().flat_map(|one| &one.findings) {
        let words = &claim.claim;
        assert!(words.ends_with('.') && !words.trim_end_matches('.').contains(". "), "{words}");
    }
    results.reproductions.truncate(1);
    for claim in &mut results.reproductions[0].findings {
        claim.answer = Answer::Inconclusive;
        claim.visits = Some(4);
    }
    let trials_of_reproduction = &results.reproductions[0].trials;
    let (count, sending) = results
        .trials
        .iter()
        .filter(|trial| trials_of_reproduction.contains(&trial.number))
        .fold((0.0, 0.0), |(count, sending), trial| (count + 1.0, sending + trial.sending_s + trial.drain_s));
    let expected = (sending + 0.25 * count) * 1.5;
    let answers = finding::reproduction::answers(&results.reproductions, &results.trials);
    let Finding::ReproductionAnswer(ReproductionAnswer::MoreVisits { visits: 4, needed: 6, seconds }) =
        &answers[1].fact
    else {
        panic!("{answers:?}")
    };
    assert!((seconds - expected).abs() < 1e-6, "{seconds} s, not {expected}");
}

#[test]
fn a_range_is_a_range_in_every_format() {
    let mut report = same_everywhere(runs::bench());
    let summary = report.summary.as_mut().unwrap();
    let at = summary.columns.iter().position(|column| column.key == "app_ns_per_packet").unwrap();
    summary.rows[0].cells[at] = Cell::Range { low: 0.0, high: 227.0 };
    assert!(text::text(&report, Extent::Answer).contains(" 0 to 227 "));
    assert!(html::html(&report).contains(">0 to 227<"));
    assert!(markdown::markdown(&report, None).contains(" 0 to 227 "));
    let written = csv::table(report.summary.as_ref().unwrap()).unwrap();
    assert!(written.contains("app_ns_per_packet,app_ns_per_packet_low,app_ns_per_packet_high"), "{written}");
    assert!(written.contains(",,0,227,"), "{written}");
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
        Cell::Range { low: 1.0, high: 3.0 },
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
    insta::assert_snapshot!("tidy_bench", csv::tidy(&[run(runs::small_bench())]).unwrap());
}

#[test]
fn tidy_rows_sum_up_to_the_results() {
    for (name, results) in runs::all() {
        let expected = runs::totals(&results);
        let intended: i128 = results.trials.iter().map(|trial| i128::from(trial.intended)).sum();
        let written = csv::tidy(&[run(results)]).unwrap();
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
    let written = capbench_results::trials_csv(&results.trials).unwrap();
    let head: Vec<String> =
        ::csv::Reader::from_reader(written.as_slice()).headers().unwrap().iter().map(String::from).collect();
    // A range has both bounds in one cell.
    let head: Vec<String> = head.into_iter().filter(|key| key != "app_ns_per_packet_at_most").collect();
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
    assert_eq!(report.warnings, ["The run was stopped or interrupted after 2 trials."]);
    assert!(!report.findings.is_empty());
    results.trials.clear();
    let report = report::report(&run(results));
    assert!(report.verdict.text.starts_with("No trial was finished"), "{}", report.verdict.text);
    assert_eq!(report.summary, None);
}

#[test]
fn noise_is_one_line_about_its_most_frequent_cause() {
    let mut results = runs::bench();
    for trial in &mut results.trials[..4] {
        trial.noise.reasons = vec![Noise::SlowCpu];
    }
    results.trials[0].noise.reasons.push(Noise::ForeignLoad);
    let found = finding::caveats::find(&results.facts(), &results.not_measured);
    let [noise, missing] = &found[..] else { panic!("{found:?}") };
    let slow_cpu = Caveat::NoisyTrials {
        cause: NoiseCause::SlowCpu,
        noisy_trials: 4,
        all_trials: 6,
        lowers_rates: true,
    };
    assert_eq!((&noise.fact, noise.trials.len()), (&Finding::Caveat(slow_cpu), 4));
    let Finding::Caveat(Caveat::NotMeasured { by_reason }) = &missing.fact else { panic!("{missing:?}") };
    assert_eq!(by_reason[0].reason, "needs CAP_BPF; run as root");
    assert_eq!(report::report(&run(results)).caveats.len(), 2);
}

#[test]
fn what_a_trial_contradicts_is_a_warning() {
    let mut results = runs::bench();
    results.trials[0].delivered += 1;
    let report = report::report(&run(results));
    assert!(report.warnings[0].contains("The ledger of trial 1 does not sum up"), "{:?}", report.warnings);
}

#[test]
fn every_format_of_every_run_can_be_made() {
    let all: Vec<_> = formats::FORMATS.iter().collect();
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
