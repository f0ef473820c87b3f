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
use capbench_judge::reproduction::{self, Answer, Side};
use capbench_judge::rfc2544::Found;
use capbench_judge::rfc2544::latency::{Across, Leg};
use capbench_judge::search::{End, Reason, Status};
use capbench_model::disturbers::{CpuUser, Disturbers};
use capbench_model::noise::Noise;
use capbench_model::running::CaptureFacts;
use capbench_model::trial::{Phase, TrialResult};
use capbench_report::formats::text::Extent;
use capbench_report::formats::{self, csv, html, json, markdown, text};
use capbench_report::model::{Cell, Chart, Report, Role, Sentence, Table, Unit};
use capbench_report::sentences::saved;
use capbench_report::{figures, report, save};
use capbench_results::Results;
use capbench_results::read::Run;

/// The run of these results, without a folder.
fn run(results: Results) -> Run {
    Run { name: "a-run".into(), ..Run::new(results, Path::new("/nowhere")) }
}

/// The position of the column with this key.
fn column(table: &Table, key: &str) -> usize {
    table
        .columns
        .iter()
        .position(|column| column.key == key)
        .unwrap_or_else(|| panic!("{key} of {}", table.id))
}

/// The trials that the points of a chart name.
fn trials_of_chart(chart: &Chart) -> BTreeSet<u32> {
    let points = chart.series.iter().flat_map(|series| &series.points);
    points.flat_map(|point| point.trials.iter().copied()).collect()
}

/// Whether a table of a publication has a known figure of this side.
fn has_figure(table: &reproduction::Comparison, side: Side) -> bool {
    for (index, column) in table.columns.iter().enumerate() {
        if column.side == side && table.rows.iter().any(|row| row.cells[index].value.is_some()) {
            return true;
        }
    }
    false
}

fn has_role(chart: &Chart, role: Role) -> bool {
    chart.series.iter().any(|series| series.role == role)
}

#[test]
fn each_table_of_a_publication_has_charts_of_its_trials() {
    let results = runs::reproduced::all();
    let numbers: BTreeSet<u32> = results.trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers.len(), results.trials.len(), "each trial has another number");
    let report = report::report(&run(results.clone()));
    for publication in &results.reproductions {
        let id = format!("reproduction-{}", publication.key);
        let section = report.sections.iter().find(|section| section.id == id).unwrap();
        assert_eq!(section.tables.len(), publication.tables.len(), "{id}");
        // One chart of the first section is the picture of the report.
        let charts: Vec<&Chart> = section.charts.iter().chain(&report.picture).collect();
        for table in &publication.tables {
            let mut charts = charts.clone();
            charts.retain(|chart| chart.title.starts_with(&table.caption));
            assert!((1..=3).contains(&charts.len()), "{}: {}", table.id, charts.len());
            // Of a card of 2008 nothing is measured here. Of one publication no figure is published, only rates and words.
            let is_published = has_figure(table, Side::Published);
            let is_measured = has_figure(table, Side::Here);
            for chart in charts {
                assert_eq!(has_role(chart, Role::Published), is_published, "{}", chart.title);
                assert_eq!(has_role(chart, Role::Method), is_measured, "{}", chart.title);
                let trials = trials_of_chart(chart);
                assert_eq!(trials.is_empty(), !is_measured, "{}", chart.title);
                assert!(trials.iter().all(|number| publication.trials.contains(number)), "{}", chart.title);
            }
        }
    }
}

#[test]
fn charts_outside_the_sections_of_publications_mix_no_publications() {
    let results = runs::reproduced::all();
    let report = report::report(&run(results.clone()));
    for section in &report.sections {
        if section.id.starts_with("reproduction-") || section.charts.is_empty() {
            continue;
        }
        assert!(
            section.id.starts_with("sweep-")
                || ["cost-regimes", "cpu", "buffers"].contains(&section.id.as_str()),
            "{}: the tables of publications compare methods",
            section.id
        );
        let omits_charts = section.text.iter().any(|sentence| sentence.text.contains("left out"));
        assert!(!omits_charts && section.charts.len() <= 16, "{}: {}", section.id, section.charts.len());
        for chart in &section.charts {
            let trials = trials_of_chart(chart);
            let mut publications = Vec::new();
            for publication in &results.reproductions {
                if publication.trials.iter().any(|number| trials.contains(number)) {
                    publications.push(&publication.key);
                }
            }
            assert_eq!(publications.len(), 1, "{}: {publications:?}", chart.title);
        }
    }
}

#[test]
fn charts_of_publications_have_titles_that_distinguish_them() {
    let report = report::report(&run(runs::reproduced::all()));
    let mut titles = Vec::new();
    for section in &report.sections {
        for chart in &section.charts {
            titles.push(format!("{}: {}", section.heading, chart.title));
        }
    }
    insta::assert_snapshot!("charts_of_publications", titles.join("\n"));
    titles.retain(|title| title.contains("published and here"));
    let different: BTreeSet<&String> = titles.iter().collect();
    assert_eq!(different.len(), titles.len(), "{titles:#?}");
}

#[test]
fn the_page_begins_with_the_verdict_then_its_picture_and_ends_with_the_evidence() {
    for (name, results) in runs::all() {
        let mut report = report::report(&run(results));
        report.warnings.push("A part is missing.".into());
        let page = html::html(&report);
        let positions = [
            "id=\"verdict",
            "class=\"warning",
            "class=\"picture",
            "id=\"caveats",
            "id=\"summary",
            "id=\"evidence",
            "id=\"trials",
        ]
        .map(|mark| page.find(mark).unwrap_or_else(|| panic!("{name}: {mark}")));
        assert!(positions.is_sorted(), "{name}: {positions:?}");
    }
}

/// The report without what differs from host to host, and without charts, which have other tests.
fn report_without_host_and_charts(results: Results) -> Report {
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
        let report = report_without_host_and_charts(results);
        let answer = text::text(&report, Extent::Answer);
        let details = text::text(&report, Extent::Details);
        for line in answer.lines().chain(details.lines()) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        let lines = answer.lines().count();
        assert!(lines <= text::LINES, "{name}: {lines} lines\n{answer}");
        assert!(answer.replace('\n', " ").starts_with(&report.verdict.text), "{name}: {answer}");
        let details_in_one_line = details.replace("\n  ", " ");
        for finding in &report.findings {
            assert!(details_in_one_line.contains(&finding.text), "{name}: {}\n{details}", finding.text);
        }
        insta::assert_snapshot!(format!("text_{name}"), answer);
    }
}

/// The report of `capbench compare` for these two runs, `A` and `B`.
fn report_of_two_runs(runs: &[Results; 2], comparison: &Comparison) -> Report {
    let [then, now] = runs;
    report::compared([(Path::new("then"), then), (Path::new("now"), now)], comparison)
}

/// The report of `capbench compare` with this comparison, as if it were of two small runs.
fn compared(comparison: &Comparison) -> Report {
    report_of_two_runs(&[runs::small_bench(), runs::bench()], comparison)
}

/// What `capbench compare` prints.
fn printed(comparison: &Comparison, extent: Extent) -> String {
    text::text(&compared(comparison), extent)
}

#[test]
fn a_comparison_has_the_trials_of_both_runs_and_one_line_on_their_noise() {
    let mut runs = [runs::small_bench(), runs::bench()];
    runs[1].trials[0].noise.reasons = vec![Noise::ForeignLoad];
    // Noise matters where it may have kept the generator from its load.
    runs[1].trials[0].intended += 1000;
    let python = CpuUser { pid: 7, comm: "python3".into(), run_ns: 500_000_000, ..CpuUser::default() };
    runs[1].trials[0].disturbance.disturbers =
        Some(Disturbers { window_ns: 1_000_000_000, processes: vec![python], ..Disturbers::default() });
    let noisy = ComparisonNote::Noisy { run: RunSide::B, noisy_trials: 1, all_trials: 6 };
    let comparison = Comparison { note_facts: vec![noisy], ..runs::compared::example() };
    let report = report_of_two_runs(&runs, &comparison);
    let [noise] = &report.caveats[..] else { panic!("{:?}", report.caveats) };
    assert!(noise.text.starts_with("B: Noise may have changed 1 of 6 trials: "), "{}", noise.text);
    assert!(noise.text.contains("python3 (pid 7) used 50 % of CPU 0"), "{}", noise.text);
    assert_eq!(report.findings.len(), 1, "noise is no finding: {:?}", report.findings);
    assert_eq!(report.trials.rows.len(), runs[0].trials.len() + runs[1].trials.len());
    let names: BTreeSet<String> =
        report.trials.rows.iter().map(|row| figures::cell(&row.cells[0], Unit::None)).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn every_format_of_a_comparison_can_be_made_and_tidy_rows_name_the_run() {
    let report = compared(&runs::compared::example());
    let runs = [("A", runs::small_bench()), ("B", runs::bench())]
        .map(|(name, results)| Run { name: name.into(), ..run(results) });
    let formats: Vec<_> = formats::FORMATS.iter().collect();
    let files = save::files_of(&report, &runs, &formats).unwrap();
    let content = |path: &str| {
        let file = files.iter().find(|file| file.path == Path::new(path));
        String::from_utf8_lossy(&file.unwrap_or_else(|| panic!("{path}")).content).into_owned()
    };
    let tidy = content("tidy.csv");
    assert!(tidy.contains("\nA,1,result") && tidy.contains("\nB,1,result"), "{tidy}");
    assert!(content("report.md").contains("(charts/changes.svg)"));
    assert!(content("charts/changes.svg").contains("+21 %"));
    assert!(content("report.html").contains("id=\"chart-changes\""));
    results_file::assert_valid_report(&serde_json::from_str(&content("report.json")).unwrap());
}

#[test]
fn a_comparison_begins_with_what_is_worse_and_fits_80_columns() {
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
    let results = Results { comparisons: vec![paired], ..runs::bench() };
    let report = report_without_host_and_charts(results);
    let text = text::text(&report, Extent::Details);
    assert!(report.verdict.text.starts_with("packet-v3 against recv: 2 regressions"), "{text}");
    assert!(text.contains("\npacket-v3 against recv, in pairs that ran side by side\n"), "{text}");
    assert!(text.contains("\nRegressions\n") && !text.contains("Two runs are"), "{text}");
}

#[test]
fn a_comparison_without_a_test_is_inconclusive() {
    let mut without_tests = Comparison { tested: 0, ..runs::compared::example() };
    without_tests.contrasts.retain(|contrast| contrast.judgement == Judgement::TooFewVisits);
    let disturbed = Comparison { disturbed: true, ..runs::compared::example() };
    let damaged = Comparison { damaged: true, ..runs::compared::example() };
    let left_out = without_tests.left_out.iter().map(|left_out| left_out.trials).sum();
    for (comparison, expected, has_answers) in [
        (disturbed, ComparisonOutcome::Disturbed, true),
        (damaged, ComparisonOutcome::Damaged, false),
        (without_tests, ComparisonOutcome::TooFewTrials { visits: Some(9), left_out }, false),
    ] {
        let Finding::Comparison(ComparisonFinding::OfRuns { outcome, answers }) =
            finding::comparison::of_runs(&comparison).fact
        else {
            panic!("{comparison:?}")
        };
        assert_eq!((outcome, !answers.is_empty()), (expected, has_answers));
        assert!(compared(&comparison).verdict.text.starts_with("Inconclusive: "));
        assert_eq!(comparison.conclusion(), Conclusion::Inconclusive);
    }
}

#[test]
fn a_comparison_of_no_figure_says_only_that() {
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
    let report = report_without_host_and_charts(results);
    let text = text::ended(&report, Path::new("a-folder"), &["results.json", "trials.csv"], Extent::Details);
    assert!(text.starts_with("Probably best is packet-v3: "), "the verdict comes first: {text}");
    let engine = "\npacket-v3  library of packet-v3, version 1.10.3 (with TPACKET_V3)\n";
    assert_eq!(text.matches(engine).count(), 1, "{text}");
    assert!(text.ends_with("\nSaved in a-folder: results.json, trials.csv\n"), "{text}");
}

#[test]
fn loss_in_few_visits_is_reported_as_no_loss_in_most() {
    let mut results = runs::sweep();
    let series = &mut results.sweeps[0].series;
    // Two visits of each point were without loss. A third one makes it two of three.
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
        let Sentence { text, trials } = report_without_host_and_charts(results).verdict;
        assert!(text.ends_with('.') && !text.trim_end_matches('.').contains(". "), "{name}: {text}");
        assert!(!trials.is_empty(), "{name}: {text}");
        assert!(trials.iter().all(|number| numbers.contains(number)), "{name}: {trials:?}");
    }
}

#[test]
fn visits_of_a_method_are_one_row() {
    let summary = report_without_host_and_charts(runs::visited_bench()).summary.unwrap();
    let methods: Vec<&Cell> = summary.rows.iter().map(|row| &row.cells[0]).collect();
    assert_eq!(methods, [&Cell::from("packet-v3"), &Cell::from("packet-v2"), &Cell::from("recv")]);
    // Three visits at the highest load, and three at the common one.
    assert_eq!(summary.rows[0].trials.len(), 6);
}

#[test]
fn claims_are_answered_and_those_that_changed_come_first() {
    let results = runs::reproduction();
    let mut listed = Vec::new();
    for found in finding::reproduction::answers(&results.reproductions, &results.trials) {
        let Finding::ReproductionAnswer(answer) = found.fact else { panic!("{found:?}") };
        match answer {
            ReproductionAnswer::Summary { publications, claims, hold, changed, undecided, not_testable } => {
                assert_eq!(publications, ["a-paper"]);
                assert_eq!(claims, 5);
                assert_eq!([hold, changed, undecided, not_testable], [2, 1, 1, 1]);
            }
            ReproductionAnswer::Claims { answer, claims } => listed.push((answer, claims.len())),
            other => panic!("{other:?}"),
        }
    }
    let expected =
        [(Answer::Changed, 1), (Answer::Holds, 2), (Answer::Inconclusive, 1), (Answer::NotTestable, 1)];
    assert_eq!(listed, expected);
}

#[test]
fn the_table_of_a_reproduction_has_a_row_for_each_claim() {
    let report = report_without_host_and_charts(runs::reproduction());
    assert!(report.verdict.text.starts_with("2 of 5 claims of a-paper hold"), "{}", report.verdict.text);
    let summary = report.summary.unwrap();
    assert_eq!(summary.rows.len(), 5);
    let second_claim = [
        Cell::from("a-paper"),
        Cell::from("The socket loses almost everything at maximum load."),
        Cell::from("Does not hold here"),
        Cell::Count(1),
    ];
    assert_eq!(summary.rows[1].cells, second_claim);
}

#[test]
fn a_point_that_only_buffers_shows_the_rate_at_which_frames_were_read() {
    let mut results = runs::sweep();
    let series = results.sweeps[0].series.iter_mut().find(|series| series.method == "packet-v3").unwrap();
    let last = series.readings.last_mut().unwrap();
    // All 450,000 frames were delivered in the end, but the application read only 50,000 a second.
    last.delivered_pps = last.offered_pps;
    last.taken_pps.median = 50_000.0;
    last.sent_loss_ratio.median = 0.0;
    last.lossless = last.trials.len() as u32;
    last.lost.clear();
    let report = report::report(&run(results));
    let verdict = &report.verdict.text;
    assert!(verdict.contains("packet-v3 keeps up to work ns:1000; recv"), "{verdict}");
    let table = report.tables().find(|table| table.id == "sweep-readings").unwrap();
    let cell = &table.rows.last().unwrap().cells[column(table, "read_pps")];
    assert!(matches!(cell, Cell::Interval { middle: 50_000.0, .. } | Cell::Number(50_000.0)), "{cell:?}");
}

/// A run of all tests of RFC 2544 in which a trial below the throughput lost half of its frames, and the number of that trial.
fn run_that_contradicts_its_throughput() -> (Results, u32) {
    let mut results = runs::rfc2544();
    let throughput_pps = results.searches[0].goals[0].lower.as_ref().unwrap().achieved_pps;
    for trial in &mut results.trials {
        let is_below = trial.offered_pps < throughput_pps;
        if trial.phase == Phase::FrameLoss && is_below && trial.lost() == 0 {
            trial.delivered = trial.sent / 2;
            let number = trial.number;
            return (results, number);
        }
    }
    panic!("no trial of frame loss is below {throughput_pps}");
}

#[test]
fn a_throughput_that_another_trial_contradicts_is_not_repeatable() {
    let (mut results, lossy_trial) = run_that_contradicts_its_throughput();
    let report = report::report(&run(results.clone()));
    assert!(report.verdict.text.starts_with("Not repeatable: "), "{}", report.verdict.text);
    assert!(report.verdict.trials.contains(&lossy_trial), "{:?}", report.verdict.trials);
    let text = text::text(&report, Extent::Details).replace("\n  ", " ");
    assert!(text.contains("not repeatable: ") && !text.contains("(regular)"), "{text}");
    // Without the trials of other tests nothing contradicts it.
    results.trials.retain(|trial| !matches!(trial.phase, Phase::FrameLoss | Phase::Latency));
    let verdict = report::report(&run(results)).verdict;
    assert!(verdict.text.starts_with("The throughput of packet-v3"), "{}", verdict.text);
}

#[test]
fn latency_whose_trials_lost_frames_is_reported_with_their_number() {
    let (mut results, lossy_trial) = run_that_contradicts_its_throughput();
    for tested in &mut results.rfc2544 {
        if let Found::Latency(latency) = &mut tested.found {
            latency.lossy = vec![lossy_trial; latency.repetitions as usize];
            let across = Across { median_ns: 7_238_000, min_ns: 1, max_ns: 9_000_000 };
            latency.total = Some(Leg { mean_ns: 7e6, typical: across, worst: across, pdv: across });
        }
    }
    let answers = finding::rfc2544::answers(&results.searches, &results.rfc2544, &results.trials);
    let Some(Finding::Rfc2544Answer(Rfc2544Answer::Time { tests })) = answers.last().map(|found| &found.fact)
    else {
        panic!("{answers:?}")
    };
    let TestFact::Latency { lossy_trials, trials, .. } = &tests[0].fact else { panic!("{tests:?}") };
    assert_eq!(*lossy_trials, *trials as usize);
}

/// The trial at maximum load in which a method lost the largest share.
fn worst_at_overload<'r>(results: &'r Results, method: &str) -> &'r TrialResult {
    let mut worst: Option<&TrialResult> = None;
    for trial in &results.trials {
        let is_at_overload = trial.phase == Phase::BestEffort && trial.profile.method == method;
        if is_at_overload && worst.is_none_or(|worst| trial.sent_loss_ratio() >= worst.sent_loss_ratio()) {
            worst = Some(trial);
        }
    }
    worst.unwrap()
}

#[test]
fn figures_at_overload_are_in_files_and_pages_only() {
    let results = runs::visited_bench();
    let report = report_without_host_and_charts(results.clone());
    let summary = report.summary.as_ref().unwrap();
    let offered = column(summary, "overload_offered_pps");
    let delivered = column(summary, "overload_delivered_pps");
    let lost = column(summary, "overload_lost_ratio");
    for row in &summary.rows {
        let Cell::Text(method) = &row.cells[0] else { panic!("{row:?}") };
        let worst = worst_at_overload(&results, method);
        assert_eq!(row.cells[offered], Cell::Number(worst.offered_pps.floor()), "{method}");
        assert_eq!(row.cells[delivered], Cell::Number(worst.delivered_pps.floor()), "{method}");
        assert_eq!(row.cells[lost], Cell::Number(worst.sent_loss_ratio()), "{method}");
        assert!(row.trials.contains(&worst.number), "{method}");
    }
    assert!(csv::table(summary).unwrap().contains("overload_offered_pps,overload_delivered_pps,"));
    assert!(html::html(&report).contains("at overload: lost"));
    for extent in [Extent::Answer, Extent::Details] {
        assert!(!text::text(&report, extent).contains("at overload"));
    }
}

#[test]
fn a_cost_that_is_known_as_a_range_is_shown_as_a_range() {
    let mut results = runs::bench();
    for trial in &mut results.trials {
        trial.cpu.app_ns_per_packet = Some(20.0);
        trial.cpu.app_ns_per_packet_at_most = Some(224.0);
        trial.cpu.split_is_sampled = true;
    }
    // The report recommends by the trials again.
    results.recommended = None;
    let report = report::report(&run(results));
    let costs = report.picture.iter().find(|chart| chart.id == "ranking-costs").unwrap();
    let measured = costs.series[0].points.iter().find(|point| !point.trials.is_empty()).unwrap();
    assert_eq!(measured.y, None, "neither end is the value: {measured:?}");
    assert!(measured.interval.is_some_and(|[low, high]| low < high), "{measured:?}");
    assert!(html::html(&report).contains(" to 2"), "the page has the range");
    let app = column(&report.trials, "app_ns_per_packet");
    assert_eq!(report.trials.rows[0].cells[app], Cell::Range { low: 20.0, high: 224.0 });
    let has_upper_bound =
        report.trials.columns.iter().any(|column| column.key == "app_ns_per_packet_at_most");
    assert!(!has_upper_bound, "the cell of the lower bound has both");
}

#[test]
fn markdown_has_a_short_name() {
    assert_eq!(formats::named("md").map(|format| format.name), Some("markdown"));
    assert!(formats::named("doc").is_none());
}

/// A search whose time was used up before it decided a goal.
fn undecided_search() -> Results {
    let mut results = runs::search();
    results.complete = false;
    for search in &mut results.searches {
        search.ended = End::TimeUp;
        for goal in &mut search.goals {
            goal.lower = None;
            goal.upper = None;
            goal.so_far = None;
            goal.status = Status::Irregular;
            goal.reason = Some(Reason::Ended { end: End::TimeUp });
        }
        search.numbers.strict_lossless.pps = None;
    }
    results
}

#[test]
fn an_undecided_search_has_facts_with_the_reason() {
    let results = undecided_search();
    let time_up = Reason::Ended { end: End::TimeUp };
    let answers = finding::search::answers(&results.searches, &results.trials);
    assert_eq!(answers.len(), 1, "{answers:?}");
    let Finding::SearchAnswer(SearchAnswer::Sustained(loads)) = &answers[0].fact else {
        panic!("{answers:?}")
    };
    for (method, found) in ["packet-v2", "packet-v3"].into_iter().zip(&loads.methods) {
        assert_eq!(found.method, Some(method.into()));
        assert_eq!(found.load, FoundLoad::Undecided { reason: Some(time_up.clone()) });
    }
    let mut undecided_goals = 0;
    for found in finding::search::find(&results.searches, &results.trials) {
        if let Finding::Search(SearchFinding::NoBounds { reason, .. }) = found.fact {
            assert_eq!(reason, time_up);
            undecided_goals += 1;
        }
    }
    let all_goals: usize = results.searches.iter().map(|search| search.goals.len()).sum();
    assert_eq!(undecided_goals, all_goals);
}

#[test]
fn the_report_of_an_undecided_search_warns_and_shows_no_absent_bound() {
    let report = report::report(&run(undecided_search()));
    assert!(report.warnings[0].starts_with("The time of the search was used up after "), "{report:#?}");
    let text = text::text(&report, Extent::Details);
    assert!(!text.contains("none packets/s") && !text.contains("sustained ?"), "{text}");
}

#[test]
fn the_highest_rate_is_the_same_in_sentence_table_and_chart() {
    let mut results = runs::sweep();
    let series = results.sweeps[0].series.iter_mut().find(|series| series.method == "packet-v3").unwrap();
    // The last point lost 1 %. It delivered most of all, because buffers held what the application did not read.
    let last = series.readings.last_mut().unwrap();
    last.delivered_pps.median = 2e6;
    last.taken_pps.median = 70_000.0;
    last.sent_loss_ratio.median = 0.01;
    let report = report::report(&run(results));
    let highest =
        &report.findings.iter().find(|sentence| sentence.text.contains(" read most: ")).unwrap().text;
    assert!(!highest.contains("ns:2000") && highest.contains("lost nothing"), "{highest}");
    let summary = report.summary.as_ref().unwrap();
    let Cell::Number(pps) = summary.rows[0].cells[column(summary, "read_pps")] else { panic!("{summary:?}") };
    let rate = figures::number(pps, Unit::PacketsPerSecond);
    assert!(highest.contains(&rate), "{rate} in {highest}");
    let chart = report.charts().find(|chart| chart.y.label == "Read").unwrap();
    let rates = chart.series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    assert_eq!(rates.fold(0.0, f64::max).floor(), pps);
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
fn each_claim_is_one_sentence() {
    let results = runs::reproduced::all();
    for judged in results.reproductions.iter().flat_map(|publication| &publication.findings) {
        let claim = &judged.claim;
        assert!(claim.ends_with('.') && !claim.trim_end_matches('.').contains(". "), "{claim}");
    }
}

#[test]
fn more_visits_that_would_decide_claims_are_named_with_their_time() {
    let mut results = runs::reproduced::all();
    results.reproductions.truncate(1);
    let publication = &mut results.reproductions[0];
    for judged in &mut publication.findings {
        judged.answer = Answer::Inconclusive;
        judged.visits = Some(4);
    }
    let mut trials_s = 0.0;
    for trial in results.trials.iter().filter(|trial| publication.trials.contains(&trial.number)) {
        // A trial takes 0.3 s besides its traffic.
        trials_s += trial.spent_s() + 0.3;
    }
    // Six visits take three times as long as the two that were asked for: what has more of them then has more of them again.
    let expected_s = trials_s * 3.0;
    let answers = finding::reproduction::answers(&results.reproductions, &results.trials);
    let Finding::ReproductionAnswer(ReproductionAnswer::MoreVisits { visits: 4, needed: 6, seconds }) =
        &answers[1].fact
    else {
        panic!("{answers:?}")
    };
    assert!((seconds - expected_s).abs() < 1e-6, "{seconds} s, not {expected_s}");
}

#[test]
fn a_range_is_a_range_in_every_format() {
    let mut report = report_without_host_and_charts(runs::bench());
    let summary = report.summary.as_mut().unwrap();
    let app = column(summary, "app_ns_per_packet");
    summary.rows[0].cells[app] = Cell::Range { low: 0.0, high: 227.0 };
    assert!(text::text(&report, Extent::Answer).contains(" 0 to 227 "));
    assert!(html::html(&report).contains(">0 to 227<"));
    assert!(markdown::markdown(&report, None).contains(" 0 to 227 "));
    let table = csv::table(report.summary.as_ref().unwrap()).unwrap();
    assert!(table.contains("app_ns_per_packet,app_ns_per_packet_low,app_ns_per_packet_high"), "{table}");
    assert!(table.contains(",,0,227,"), "the value is empty, its ends are not: {table}");
}

#[test]
fn a_report_in_markdown() {
    for (name, results) in [("bench", runs::bench()), ("search", runs::search())] {
        let mut report = report_without_host_and_charts(results);
        report.trials.rows.truncate(2);
        insta::assert_snapshot!(format!("markdown_{name}"), markdown::markdown(&report, None));
    }
}

#[test]
fn a_report_as_data() {
    let mut report = report_without_host_and_charts(runs::small_bench());
    report.sections.truncate(1);
    report.trials.rows.clear();
    report.trials.columns.truncate(3);
    valid_json(&report);
    insta::assert_snapshot!("json_bench", json::json(&report).unwrap());
}

/// `report.json` of a report, which is valid by its schema.
fn valid_json(report: &Report) -> serde_json::Value {
    let data = serde_json::from_str(&json::json(report).unwrap()).unwrap();
    results_file::assert_valid_report(&data);
    data
}

#[test]
fn the_schema_of_reports_accepts_every_cell_and_refuses_other_data() {
    let mut report = report_without_host_and_charts(runs::small_bench());
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
    let data = valid_json(&report);
    assert_eq!(data["schema_version"], json::SCHEMA_VERSION);
    let written = &data["trials"]["rows"][0]["cells"];
    assert_eq!(written[0], "unknown");
    assert_eq!(written[8]["interval"]["low"], 1.0);
    let mistakes: [fn(&mut serde_json::Value); 4] = [
        |data| data["schema_version"] = 0.into(),
        |data| data["later"] = 1.into(),
        |data| data["trials"]["rows"][0]["cells"][3]["count"] = (-1).into(),
        |data| drop(data.as_object_mut().unwrap().remove("verdict")),
    ];
    for make_mistake in mistakes {
        let mut wrong = data.clone();
        make_mistake(&mut wrong);
        assert!(std::panic::catch_unwind(|| results_file::assert_valid_report(&wrong)).is_err());
    }
}

#[test]
fn tidy_rows_for_notebooks() {
    let mut bench = runs::small_bench();
    // As it is saved: rows have the words of the file.
    saved::add_words(&mut bench);
    insta::assert_snapshot!("tidy_bench", csv::tidy_rows(&[run(bench)]).unwrap());
}

#[test]
fn tidy_rows_sum_up_to_the_results() {
    for (name, results) in runs::all() {
        let expected = runs::totals(&results);
        let intended: i128 = results.trials.iter().map(|trial| i128::from(trial.intended)).sum();
        let tidy = csv::tidy_rows(&[run(results)]).unwrap();
        let mut reader = ::csv::Reader::from_reader(tidy.as_bytes());
        let head = reader.headers().unwrap().clone();
        let index_of = |key: &str| head.iter().position(|name| name == key).unwrap();
        let (method, place) = (index_of("method"), index_of("place"));
        let (count, kept) = (index_of("count"), index_of("kept"));
        let mut found = runs::Totals::new();
        for record in reader.records() {
            let record = record.unwrap();
            if &record[kept] != "result" {
                continue;
            }
            let total = found.entry((record[method].into(), record[place].into())).or_default();
            match record[count].parse::<i128>() {
                Ok(frames) => total.frames += frames,
                Err(_) => total.unknown_trials += 1,
            }
        }
        assert_eq!(found, expected, "{name}");
        let frames: i128 = found.values().map(|total| total.frames).sum();
        assert_eq!(frames, intended, "{name}: every intended frame is in one row");
    }
}

#[test]
fn tables_are_complete_and_their_names_differ() {
    for (name, results) in runs::all() {
        let highest_number = results.trials.iter().map(TrialResult::last_number).max().unwrap_or(0);
        let report = report::report(&run(results));
        let tables: Vec<&Table> = report.tables().collect();
        let ids: BTreeSet<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids.len(), tables.len(), "{name}: {ids:?}");
        for table in tables {
            let keys: BTreeSet<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
            assert_eq!(keys.len(), table.columns.len(), "{name}, {}: a column twice", table.id);
            assert!(table.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", table.id);
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.columns.len(), "{name}, {}", table.id);
                assert!(row.trials.iter().all(|number| *number <= highest_number), "{name}, {}", table.id);
            }
            let written = csv::table(table).unwrap();
            let mut reader = ::csv::Reader::from_reader(written.as_bytes());
            let records: Vec<_> = reader.records().map(Result::unwrap).collect();
            assert_eq!(records.len(), table.rows.len());
        }
    }
}

#[test]
fn the_table_of_trials_has_the_columns_of_trials_csv() {
    let results = runs::bench();
    let written = capbench_results::trials_csv(&results.trials).unwrap();
    let mut reader = ::csv::Reader::from_reader(written.as_slice());
    let mut names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    // A report has both bounds of the application's time in one cell.
    names.retain(|name| name != "app_ns_per_packet_at_most");
    let report = report::report(&run(results));
    let keys: Vec<String> = report.trials.columns.iter().map(|column| column.key.clone()).collect();
    assert_eq!(keys[..names.len()], names);
    assert_eq!(report.trials.rows.len(), 6);
}

#[test]
fn a_run_that_was_interrupted_has_a_warning_and_findings() {
    let mut results = runs::bench();
    results.complete = false;
    results.trials.truncate(2);
    results.findings.clear();
    let report = report::report(&run(results));
    assert_eq!(report.warnings, ["The run was stopped or interrupted after 2 trials."]);
    assert!(!report.findings.is_empty());
}

#[test]
fn a_run_without_trials_has_no_summary() {
    let results = Results { complete: false, trials: Vec::new(), findings: Vec::new(), ..runs::bench() };
    let report = report::report(&run(results));
    assert!(report.verdict.text.starts_with("No trial was finished"), "{}", report.verdict.text);
    assert_eq!(report.summary, None);
}

#[test]
fn noise_is_one_line_about_its_most_frequent_cause() {
    let mut results = runs::bench();
    for trial in &mut results.trials[..4] {
        trial.noise.reasons = vec![Noise::SlowCpu];
        trial.intended += 1000;
    }
    // It sent and captured all.
    results.trials[4].noise.reasons = vec![Noise::SlowCpu];
    results.trials[0].noise.reasons.push(Noise::ForeignLoad);
    let caveats = finding::caveats::find(&results.facts(), &results.not_measured);
    let [noise, missing] = &caveats[..] else { panic!("{caveats:?}") };
    let slow_cpu = Caveat::NoisyTrials {
        cause: NoiseCause::SlowCpu,
        noisy_trials: 4,
        with_cause: 4,
        all_trials: 6,
        lowers_rates: true,
    };
    assert_eq!(noise.fact, Finding::Caveat(slow_cpu));
    assert_eq!(noise.trials.len(), 4);
    let Finding::Caveat(Caveat::NotMeasured { by_reason }) = &missing.fact else { panic!("{missing:?}") };
    assert_eq!(by_reason[0].reason, "needs CAP_BPF; run as root");
    assert_eq!(report::report(&run(results)).caveats.len(), 2);
}

#[test]
fn a_ledger_that_does_not_sum_up_is_a_warning() {
    let mut results = runs::bench();
    results.trials[0].delivered += 1;
    let report = report::report(&run(results));
    assert!(report.warnings[0].contains("The ledger of trial 1 does not sum up"), "{:?}", report.warnings);
}

#[test]
fn every_format_of_every_run_can_be_made() {
    let formats: Vec<_> = formats::FORMATS.iter().collect();
    for (name, results) in runs::all() {
        let files = save::files(&run(results), &formats).unwrap();
        let paths: BTreeSet<_> = files.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(paths.len(), files.len(), "{name}");
        for path in ["report.html", "report.md", "tidy.csv", "report.json", "tables/trials.csv"] {
            assert!(paths.contains(Path::new(path)), "{name}: {path} of {paths:?}");
        }
        assert!(files.iter().all(|file| !file.content.is_empty()), "{name}");
        let json = files.iter().find(|file| file.path == Path::new("report.json")).unwrap();
        results_file::assert_valid_report(&serde_json::from_slice(&json.content).unwrap());
    }
}
