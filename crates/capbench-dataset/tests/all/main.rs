//! Runs on the simulated path, exported and read back.

mod bombs;
#[path = "../../examples/fleet/made.rs"]
mod fleet;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capbench_dataset::export::{Export, Exported, runs_in};
use capbench_dataset::figures::{self, By};
use capbench_dataset::layout::{self, Labels};
use capbench_dataset::reader::{self, Record};
use capbench_dataset::tables::TABLES;
use capbench_dataset::{Result, compare, page, tidy};
use capbench_judge::comparison::{Conclusion, Thresholds};
use capbench_judge::thresholds::{EQUAL_LOADS, QUERY_DEVIATIONS};
use capbench_model::environment::Environment;
use capbench_model::ledger::Ledger;
use capbench_model::noise::Noise;
use capbench_model::trial::{Phase, TrialResult, Verdict};
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, searching_bench_plan};
use capbench_plan::simulated::{Noise as PathNoise, SimulatedLaboratory, SimulatedMethod};
use capbench_report::model::{Place as At, Point};
use capbench_results::Results;
use capbench_results::read::Run;
use capbench_results::tidy as rows;
use capbench_testing::Scratch;
use fleet::{Made, run, save};
use proptest::prelude::*;

const FIRST: Made = Made { host: 0, kernel: "6.1.0", capacity: 500_000.0, started: fleet::START, seed: 1 };

fn export(runs: &Path, dataset: &Path, labels: &[&str]) -> Result<Exported> {
    let labels = Labels::parse(&labels.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let mut export = Export::open(dataset, labels, None)?;
    for run in runs_in(runs)?.runs {
        export.add(&run)?;
    }
    export.finish()
}

/// Every data file with its content.
fn contents(dataset: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = TABLES.iter().flat_map(|table| layout::files(dataset, table.name).unwrap());
    files.map(|file| (file.path.clone(), fs::read(&file.path).unwrap())).collect()
}

fn read(dataset: &Path, table: &str) -> Vec<Record> {
    let columns = TABLES.iter().find(|known| known.name == table).unwrap().columns;
    let names: Vec<&str> = columns().iter().map(|[name, ..]| *name).collect();
    let files = layout::files(dataset, table).unwrap();
    files.iter().flat_map(|file| reader::rows(&file.path, &names).unwrap()).collect()
}

/// Sums of the frames of a run by place, and how often a place is unknown.
fn sums_of(results: &Results) -> BTreeMap<String, (i128, u32)> {
    let mut sums: BTreeMap<String, (i128, u32)> = BTreeMap::new();
    for trial in &results.trials {
        for booked in rows::booked(trial) {
            let sum = sums.entry(booked.place).or_default();
            sum.0 += i128::from(booked.count.unwrap_or(0));
            sum.1 += u32::from(booked.count.is_none());
        }
        for (name, count) in
            [("intended", trial.intended), ("sent", trial.sent), ("received", trial.delivered)]
        {
            sums.entry(name.into()).or_default().0 += i128::from(count);
        }
    }
    sums
}

/// The same from a dataset.
fn sums_in(dataset: &Path) -> BTreeMap<String, (i128, u32)> {
    let mut sums: BTreeMap<String, (i128, u32)> = BTreeMap::new();
    for row in read(dataset, "ledger") {
        let sum = sums.entry(row.text("place").unwrap().into()).or_default();
        sum.0 += i128::from(row.whole("count").unwrap_or(0));
        sum.1 += u32::from(row.whole("count").is_none());
    }
    for row in read(dataset, "trials") {
        for (name, column) in [("intended", "intended"), ("sent", "sent"), ("received", "delivered")] {
            sums.entry(name.into()).or_default().0 += i128::from(row.whole(column).unwrap());
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn what_is_read_back_has_the_sums_of_the_results(
        counts in prop::collection::vec((0..1_u64 << 62, prop::option::of(0..1_u64 << 40)), 1..12),
    ) {
        let scratch = Scratch::new();
        let mut results = run(FIRST);
        for ((intended, lost), trial) in counts.into_iter().zip(&mut results.trials) {
            trial.intended = intended;
            trial.ledger.last_mut().unwrap().count = lost;
            trial.unexplained = Ledger::balance(trial.sent, trial.delivered, trial.ledger.clone()).unexplained;
        }
        save(&results, &scratch.file("run"));
        export(&scratch.file("run"), &scratch.file("dataset"), &[]).unwrap();
        prop_assert_eq!(sums_in(&scratch.file("dataset")), sums_of(&results));
    }
}

#[test]
fn unknown_is_null_and_labels_are_a_map() {
    let scratch = Scratch::new();
    let mut results = run(FIRST);
    results.trials[0].cpu.app_ns_per_packet = Some(100.0);
    results.trials[0].cpu.app_ns_per_packet_at_most = Some(300.0);
    results.trials[0].cpu.split_is_sampled = true;
    results.trials[1].cpu.app_ns_per_packet = Some(200.0);
    results.trials[1].cpu.app_ns_per_packet_at_most = Some(200.0);
    results.trials[1].cpu.split_is_sampled = false;
    results.trials[1].noise.reasons = ["a", "b"].map(Noise::from_earlier).to_vec();
    save(&results, &scratch.file("run"));
    let dataset = scratch.file("dataset");
    export(&scratch.file("run"), &dataset, &["site=a", "campaign=w47"]).unwrap();
    let trials = read(&dataset, "trials");
    assert_eq!(trials.len(), results.trials.len());
    let first = &trials[0];
    assert_eq!(
        (first.whole("number"), first.text("method")),
        (Some(1), Some(results.trials[0].profile.method.to_string().as_str()))
    );
    assert_eq!(first.whole("started_at"), Some(1_700_000_000_000_000));
    assert_eq!(
        (first.text("cpu_model"), first.text("firmware"), first.number("app_ns_per_packet")),
        (None, None, None)
    );
    assert_eq!((first.text("host_id"), first.text("command")), (Some("host0"), Some("bench")));
    assert_eq!((first.entry("labels", "site"), first.entry("labels", "campaign")), (Some("a"), None));
    assert_eq!(
        (first.length("noise"), trials[1].length("noise")),
        (Some(results.trials[0].noise.reasons.len()), Some(2))
    );
    assert_eq!(trials[1].number("app_ns_per_packet"), Some(200.0));
    let range =
        |row: &Record| ["app_ns_per_packet_at_least", "app_ns_per_packet_at_most"].map(|end| row.number(end));
    assert_eq!((range(first), range(&trials[1])), ([Some(100.0), Some(300.0)], [Some(200.0); 2]));
    let is_maximum = |row: &&Record| row.number("intended_pps").is_none();
    assert_eq!(
        trials.iter().filter(is_maximum).count(),
        results.trials.iter().filter(|trial| trial.intended_pps.is_none()).count()
    );
    assert_eq!(read(&dataset, "searches").len(), 0);
    let hosts = read(&dataset, "hosts");
    assert_eq!(
        (hosts.len(), hosts[0].text("role"), hosts[0].text("kernel_release")),
        (1, Some("both"), Some("6.1.0"))
    );
    let environment: Environment = serde_json::from_str(hosts[0].text("environment").unwrap()).unwrap();
    assert_eq!(environment, results.environment);
}

/// A bench on the simulated path whose methods took turns if `turns` is some time.
fn ranked(turns: Option<Duration>) -> Results {
    let methods = vec![
        SimulatedMethod::new("packet-v3", 900_000.0).cost(100, 600),
        SimulatedMethod::new("recv", 300_000.0).cost(1000, 600),
        SimulatedMethod::new("xdp-count", 900_000.0).cost(50, 600),
    ];
    let noise = PathNoise { per_trial: 0.01, per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(2e6, methods).noise(1, noise);
    let plan = BenchPlan { turns, ..searching_bench_plan(&["recv", "packet-v3", "xdp-count"]) };
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    capbench_results::for_tests::bench(outcome.trials, outcome.searches)
}

#[test]
fn a_ranking_has_a_row_for_each_method_with_what_turns_show_of_it() {
    let scratch = Scratch::new();
    let results = ranked(Some(Duration::from_secs(60)));
    save(&results, &scratch.file("run"));
    export(&scratch.file("run"), &scratch.file("dataset"), &[]).unwrap();
    let rows = read(&scratch.file("dataset"), "rankings");
    let methods: Vec<_> =
        rows.iter().map(|row| (row.whole("place").unwrap(), row.text("method").unwrap())).collect();
    assert_eq!(methods, [(1, "packet-v3"), (2, "recv"), (3, "xdp-count")]);
    let [first, recv, count] = &rows[..] else { panic!("{rows:?}") };
    for (column, word) in [
        ("answer", "use"),
        ("certainty", "certain"),
        ("frame_size", "64"),
        ("placement", "same"),
        ("work", "none"),
    ] {
        assert!(rows.iter().all(|row| row.text(column) == Some(word)), "{column}: {rows:?}");
    }
    assert_eq!((first.flag("is_named"), recv.flag("is_named")), (Some(true), Some(false)));
    assert_eq!((first.text("relation"), first.flag("is_decided")), (Some("first"), Some(true)));
    assert_eq!((first.number("relative_cost"), first.number("relative_captured")), (None, None));
    assert_eq!((recv.text("relation"), recv.text("below_by")), (Some("below"), Some("cost")));
    assert_eq!((recv.flag("is_decided"), recv.text("below")), (Some(true), Some("certain")));
    assert_eq!((recv.flag("may_be_better"), recv.number("asked_pps")), (None, None));
    let turns = results.recommended.as_ref().unwrap().rankings[0].turns.as_ref().unwrap();
    assert_eq!(first.number("turns_load_pps"), Some(turns.load_pps));
    for (row, in_turns) in rows.iter().zip(&turns.methods) {
        let figures = [
            ("captured_ratio", Some(in_turns.captured.median)),
            ("captured_ratio_low", in_turns.captured.low),
            ("relative_captured", in_turns.relative_captured.map(|multiple| multiple.middle)),
            ("relative_captured_high", in_turns.relative_captured.and_then(|multiple| multiple.high)),
            ("relative_cost", in_turns.relative_cost.map(|multiple| multiple.middle)),
            ("relative_cost_low", in_turns.relative_cost.and_then(|multiple| multiple.low)),
        ];
        for (column, value) in figures {
            assert_eq!(row.number(column), value, "{column} of {}", in_turns.method);
        }
    }
    assert!(recv.number("relative_captured_high").unwrap() < 0.5, "{recv:?}");
    assert!(recv.number("relative_cost_low").unwrap() > 2.0, "{recv:?}");
    // It only counts, and takes no turns.
    assert_eq!((count.flag("is_decided"), count.number("captured_ratio")), (None, None));
}

#[test]
fn a_ranking_without_turns_has_its_order_and_nothing_of_turns() {
    let scratch = Scratch::new();
    save(&ranked(None), &scratch.file("run"));
    save(&run(FIRST), &scratch.file("without"));
    for run in ["run", "without"] {
        export(&scratch.file(run), &scratch.file("dataset"), &[]).unwrap();
    }
    let rows = read(&scratch.file("dataset"), "rankings");
    assert_eq!(rows.len(), 3, "the other run has no recommendation");
    assert_eq!((rows[0].text("method"), rows[0].flag("is_named")), (Some("packet-v3"), Some(true)));
    assert!(rows[0].number("lossless_lower_pps").is_some());
    for row in &rows {
        for column in ["relation", "below_by"] {
            assert_eq!(row.text(column), None, "{column}");
        }
        assert_eq!((row.flag("is_decided"), row.whole("turns_rounds")), (None, None));
    }
}

#[test]
fn exporting_twice_changes_nothing_and_folders_of_runs_are_searched() {
    let scratch = Scratch::new();
    let dataset = scratch.file("dataset");
    for (nth, name) in ["runs/a", "runs/deep/er/b"].into_iter().enumerate() {
        fs::create_dir_all(scratch.file(name)).unwrap();
        save(
            &run(Made { started: FIRST.started + nth as u64, seed: nth as u64, ..FIRST }),
            &scratch.file(name),
        );
    }
    let exported = export(&scratch.file("runs"), &dataset, &[]).unwrap();
    assert_eq!((exported.runs, exported.trials), (2, 2 * run(FIRST).trials.len()));
    let first = contents(&dataset);
    assert_eq!(first.len(), 2 * TABLES.len());
    assert!(first.keys().all(|path| path.to_string_lossy().contains("/v=1/campaign=none/date=2023-11-14/")));
    export(&scratch.file("runs"), &dataset, &[]).unwrap();
    assert_eq!(contents(&dataset), first);
    // A second campaign would count the same frames twice.
    let error = export(&scratch.file("runs"), &dataset, &["campaign=other"]).unwrap_err().to_string();
    assert!(error.contains("already in campaign=none"), "{error}");
    assert_eq!(contents(&dataset), first);
    let empty = scratch.file("empty");
    fs::create_dir(&empty).unwrap();
    assert!(runs_in(&empty).unwrap_err().to_string().contains("no results.json"));
}

/// The error of an export into a dataset, which is then as it was.
fn refused(runs: &Path, dataset: &Path, labels: &[&str], host_id: Option<&str>) -> String {
    let before = contents(dataset);
    let labels = Labels::parse(&labels.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    let mut export = Export::open(dataset, labels, host_id.map(String::from)).unwrap();
    let error = export.add(runs).unwrap_err().to_string();
    export.finish().unwrap();
    assert_eq!(contents(dataset), before);
    error
}

#[test]
fn a_run_of_the_dataset_is_not_replaced_by_one_of_another_host_or_with_other_labels_or_trials() {
    let scratch = Scratch::new();
    let (first, dataset) = (scratch.file("first"), scratch.file("dataset"));
    let results = run(FIRST);
    save(&results, &first);
    export(&first, &dataset, &["site=ams"]).unwrap();
    let error = refused(&first, &dataset, &[], None);
    assert!(
        error.contains("has the run with --label site=ams, not with no label; give the same labels"),
        "{error}"
    );
    let error = refused(&first, &dataset, &["site=ams"], Some("sensorB"));
    assert!(error.contains("has the run of host host0, not sensorB"), "{error}");
    let mut changed = results.clone();
    changed.trials[1].intended += 1;
    let second = scratch.file("second");
    save(&changed, &second);
    let error = refused(&second, &dataset, &["site=ams"], None);
    assert!(error.contains("has other counts of trial 2 of this run"), "{error}");
    changed.trials[1].delivered -= 1;
    let third = scratch.file("third");
    save(&changed, &third);
    let error = refused(&third, &scratch.file("new"), &[], None);
    assert!(error.contains("the ledger of trial 2 does not add up"), "{error}");
    // A run that was resumed has more trials.
    let mut longer = results.clone();
    let number = longer.trials.len() as u32 + 1;
    longer.trials.push(TrialResult { number, ..longer.trials[0].clone() });
    let fourth = scratch.file("fourth");
    save(&longer, &fourth);
    export(&fourth, &dataset, &["site=ams"]).unwrap();
    assert!(read(&dataset, "trials").len() > results.trials.len());
}

#[test]
fn attempts_that_a_campaign_repeated_are_left_out() {
    let scratch = Scratch::new();
    let campaign = scratch.file("campaign");
    save(&run(FIRST), &campaign.join("bench-64"));
    save(&run(Made { seed: 2, ..FIRST }), &campaign.join("earlier/bench-64.1"));
    let found = runs_in(&campaign).unwrap();
    assert_eq!(
        (found.runs, found.repeated),
        (vec![campaign.join("bench-64")], vec![campaign.join("earlier")])
    );
    // Who names the folder wants it.
    assert_eq!(runs_in(&campaign.join("earlier")).unwrap().runs.len(), 1);
}

#[test]
fn links_in_a_dataset_are_not_followed() {
    let scratch = Scratch::new();
    save(&run(FIRST), &scratch.file("run"));
    for link in ["trials", "hosts/v=1", ".unfinished"] {
        let (dataset, target) = (scratch.file("dataset"), scratch.file("target"));
        fs::create_dir_all(&target).unwrap();
        fs::create_dir_all(dataset.join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&target, dataset.join(link)).unwrap();
        let error = export(&scratch.file("run"), &dataset, &[]).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("Not a directory"), "{link}: {error}");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "{link}");
        fs::remove_dir_all(&dataset).unwrap();
    }
}

#[test]
fn an_export_that_fails_midway_leaves_no_data_and_the_next_one_removes_the_rest() {
    let scratch = Scratch::new();
    let dataset = scratch.file("dataset");
    save(&run(FIRST), &scratch.file("run"));
    // The folder of the last table's files cannot be made.
    let place = dataset.join("trials/v=1/campaign=none");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("date=2023-11-14"), "").unwrap();
    let error = export(&scratch.file("run"), &dataset, &[]).unwrap_err();
    assert!(error.is_of_dataset(), "{error}");
    assert_eq!(contents(&dataset), BTreeMap::new());
    fs::remove_file(place.join("date=2023-11-14")).unwrap();
    // What an export leaves that is killed while it writes.
    let partition = dataset.join("ledger/v=1/campaign=none/date=2023-11-14");
    fs::create_dir_all(&partition).unwrap();
    let leftover = dataset.join(".unfinished/.capbench-0123456789abcdef.part");
    fs::write(&leftover, "PAR1").unwrap();
    assert_eq!(layout::files(&dataset, "ledger").unwrap(), []);
    // While another export runs, nobody knows whose the file is.
    let labels = || Labels::parse(&[]).unwrap();
    let other = Export::open(&scratch.file("elsewhere"), labels(), None).unwrap();
    drop(other);
    let running = Export::open(&dataset, labels(), None).unwrap();
    fs::write(&leftover, "PAR1").unwrap();
    assert_eq!(export(&scratch.file("run"), &dataset, &[]).unwrap().leftovers, 0);
    assert!(leftover.exists());
    drop(running);
    assert_eq!(export(&scratch.file("run"), &dataset, &[]).unwrap().leftovers, 1);
    assert!(!leftover.exists());
    assert_eq!(sums_in(&dataset), sums_of(&run(FIRST)));
}

#[test]
fn a_run_that_cannot_be_exported_is_named() {
    let scratch = Scratch::new();
    let mut results = run(FIRST);
    results.run_id = Some("../../x".into());
    save(&results, &scratch.file("run"));
    let error = export(&scratch.file("run"), &scratch.file("dataset"), &[]).unwrap_err().to_string();
    assert!(error.contains("run_id \"../../x\" is no UUID"), "{error}");
    results.run_id = None;
    results.trials[0].intended = u64::MAX;
    save(&results, &scratch.file("other"));
    let error = export(&scratch.file("other"), &scratch.file("dataset"), &[]).unwrap_err().to_string();
    assert!(error.contains("intended is 18446744073709551615"), "{error}");
}

#[test]
fn no_run_of_an_export_replaces_another() {
    let scratch = Scratch::new();
    let other = Made { seed: 2, ..FIRST };
    let saved = Some("018bcfe5-6800-7000-8000-000000000001".to_string());
    for (name, made) in [("a", FIRST), ("b", other)] {
        save(&Results { run_id: saved.clone(), ..run(made) }, &scratch.file(name));
    }
    let dataset = scratch.file("dataset");
    let mut export = Export::open(&dataset, Labels::parse(&[]).unwrap(), None).unwrap();
    export.add(&scratch.file("a")).unwrap();
    // Named twice, it is one run.
    export.add(&scratch.file("a")).unwrap();
    let refused = export.add(&scratch.file("b")).unwrap_err().to_string();
    assert!(refused.contains("/b: it has the run_id of ") && refused.contains("/a, which"), "{refused}");
    assert_eq!(export.finish().unwrap().runs, 1);
    assert_eq!(contents(&dataset).len(), TABLES.len());
}

#[test]
fn a_slower_kernel_on_a_third_of_the_hosts_is_found_in_files() {
    let scratch = Scratch::new();
    let dataset = scratch.file("dataset");
    fleet::save_all(&scratch.file("runs"), 12, 4);
    export(&scratch.file("runs"), &dataset, &[]).unwrap();
    let thresholds = Thresholds::for_hosts();
    let compared = compare::of_dataset(&dataset, "kernel_release", None, thresholds).unwrap();
    assert_eq!(compared.comparison.conclusion(), Conclusion::Regression, "{:#?}", compared.comparison);
    assert_eq!((compared.comparison.then.as_str(), compared.comparison.now.as_str()), ("6.1.0", "6.2.0"));
    assert_eq!((compared.paired, compared.only, compared.runs), (12, [0, 0], 96));
    let report = page::of_comparison(&dataset, "kernel_release", &compared);
    assert!(
        report.verdict.text.starts_with("kernel_release 6.2.0 against 6.1.0 on 12 hosts: "),
        "{}",
        report.verdict.text
    );
    assert!(report.verdict.text.contains("regression"), "{}", report.verdict.text);
    let error = compare::of_dataset(&dataset, "kernel", None, thresholds).unwrap_err().to_string();
    assert!(error.contains("--by kernel: name a column of trials: campaign, date, labels.NAME"), "{error}");
    let error =
        compare::of_dataset(&scratch.file("runs"), "campaign", None, thresholds).unwrap_err().to_string();
    assert!(error.contains("there is no dataset here"), "{error}");
    // The same runs over the days.
    let report = page::of_dataset(&dataset, thresholds).unwrap();
    assert!(report.verdict.text.contains("7 days were compared"), "{}", report.verdict.text);
    // The second kernel came on the fifth day.
    let since = "2023-11-18";
    assert!(report.verdict.text.contains(&format!("since {since}: ")), "{}", report.verdict.text);
    assert!(
        report.findings[0].text.contains(" of 12 hosts became worse by 2.0 % or more: "),
        "{:?}",
        report.findings
    );
    let chart = &report.picture[0];
    assert!(chart.title.starts_with("Delivered by day, each host against its own median"), "{}", chart.title);
    let marks: Vec<&str> = chart.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!((marks, &chart.marks[0].at), (vec!["worse"], &At::X(3.5)));
    // Hosts differ by more than the change, which the chart shows nevertheless.
    let points = &chart.series[0].points;
    let mean = |of: &[Point]| of.iter().filter_map(|point| point.y).sum::<f64>() / of.len() as f64;
    let (before, after) = (mean(&points[..4]), mean(&points[4..]));
    assert!(before - after > 0.003 && before - after < 0.03, "{before} {after}");
    assert_eq!(report.trials.rows.len(), 96);
    let ids: Vec<&str> = report.charts().map(|chart| chart.id.as_str()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

#[test]
fn columns_say_which_trials_are_compared_and_by_what() {
    let mut results = run(FIRST);
    let common = results.trials.iter().find(|trial| trial.phase == Phase::CommonLoad).unwrap().clone();
    let lowered = TrialResult { intended_pps: common.intended_pps.map(|pps| 2.0 * pps), ..common.clone() };
    let short = TrialResult { intended: common.intended * 2, phase: Phase::FixedLoad, ..common.clone() };
    let others = [
        lowered,
        TrialResult { phase: Phase::Search, ..common.clone() },
        TrialResult { phase: Phase::Sweep, ..common.clone() },
        TrialResult { verdict: Verdict::Invalid, ..common.clone() },
        TrialResult { phase: Phase::FixedLoad, ..common.clone() },
        short,
    ];
    let first = results.trials.len();
    for trial in others {
        let number = results.trials.len() as u32 + 1;
        results.trials.push(TrialResult { number, ..trial });
    }
    let scratch = Scratch::new();
    let dataset = scratch.file("dataset");
    save(&results, &scratch.file("run"));
    export(&scratch.file("run"), &dataset, &[]).unwrap();
    let rows = read(&dataset, "trials");
    let flag = |row: &Record, column: &str| row.flag(column).unwrap();
    let compared: Vec<bool> = rows[first..].iter().map(|row| flag(row, "is_compared")).collect();
    assert_eq!(compared, [false, false, false, false, true, false]);
    let delivered: Vec<bool> = rows[first..].iter().map(|row| flag(row, "is_load_delivered")).collect();
    assert_eq!(delivered, [true, true, true, false, true, false]);
    let maximum = rows.iter().find(|row| row.number("intended_pps").is_none()).unwrap();
    assert!(!flag(maximum, "is_rate_at_least"), "it lost frames: {maximum:?}");
    assert!(flag(&rows[first], "is_rate_at_least"));
    // `compare --dataset` leaves out the same trials.
    let left_out = rows.iter().filter(|row| !flag(row, "is_compared")).count() as u64;
    assert_eq!(figures::read(&dataset, &By::Date).unwrap().left_out, left_out);
}

#[test]
fn the_query_of_regressions_has_the_numbers_of_the_comparison() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sql/regressions.sql");
    let query = fs::read_to_string(path).unwrap();
    let equal_loads = format!("<= {EQUAL_LOADS} * GREATEST(pps_then, pps_now)");
    let worse = format!("tested.z * tested.direction <= -{QUERY_DEVIATIONS} THEN 'worse'");
    let better = format!("tested.z * tested.direction >= {QUERY_DEVIATIONS} THEN 'better'");
    let explained = format!("Below -{QUERY_DEVIATIONS} or above {QUERY_DEVIATIONS} this query says");
    for decision in [equal_loads, worse, better, explained] {
        assert!(query.contains(&decision), "{decision}");
    }
    for column in ["is_compared", "is_load_delivered", "is_rate_at_least"] {
        assert!(query.contains(column), "{column}");
    }
    for decided_again in ["verdict", "* 20", "MIN(intended_pps)"] {
        assert!(!query.contains(decided_again), "{decided_again}");
    }
}

#[test]
fn tidy_rows_have_types_and_the_same_sums() {
    let results = run(FIRST);
    let scratch = Scratch::new();
    let octets = tidy::tidy(&[Run::new(results.clone(), Path::new("/nowhere"))]).unwrap();
    let file = scratch.file("tidy.parquet");
    fs::write(&file, octets).unwrap();
    let found = reader::rows(&file, &["place", "count", "kept", "sent", "load_independent"]).unwrap();
    let sum: i64 = found.iter().filter_map(|row| row.whole("count")).sum();
    assert_eq!(sum, results.trials.iter().map(|trial| trial.intended as i64).sum::<i64>());
    assert!(
        found.iter().all(|row| row.text("kept") == Some("result") && row.flag("load_independent").is_some())
    );
}

/// `tools/compare/notebooks` makes the virtual environment and names it; else this is skipped.
#[test]
fn engines_read_the_sums_of_the_results() {
    let Some(python) = std::env::var_os("CAPBENCH_NOTEBOOKS_PYTHON") else {
        return capbench_testing::other_step("peers");
    };
    let scratch = Scratch::new();
    fleet::save_all(&scratch.file("runs"), 3, 2);
    export(&scratch.file("runs"), &scratch.file("dataset"), &["site=a"]).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sql/engines.py");
    let mut command = std::process::Command::new(python);
    command.arg(script).arg(scratch.file("dataset")).arg("--results").arg(scratch.file("runs"));
    let output = command
        .args(["--engine", "duckdb", "--engine", "datafusion", "--engine", "polars"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("4 answers are the same"), "{printed}");
    println!("{printed}");
}

/// The tables of columns in docs/dataset.md. `CAPBENCH_WRITE_SCHEMA=1` writes them anew.
#[test]
fn the_documentation_has_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dataset.md");
    let mut text = fs::read_to_string(&path).unwrap();
    for table in &TABLES {
        let [begin, end] = ["columns", "end"].map(|word| format!("<!-- {word} of {} -->\n", table.name));
        let from = text.find(&begin).unwrap_or_else(|| panic!("{begin}")) + begin.len();
        let to = text.find(&end).unwrap_or_else(|| panic!("{end}"));
        let rows = (table.columns)()
            .into_iter()
            .map(|[name, kind, from]| format!("| `{name}` | {kind} | {from} |\n"));
        let expected =
            format!("| column | type | from results.json |\n|---|---|---|\n{}", rows.collect::<String>());
        if std::env::var_os("CAPBENCH_WRITE_SCHEMA").is_some() {
            text.replace_range(from..to, &expected);
        } else {
            assert_eq!(text[from..to], expected, "CAPBENCH_WRITE_SCHEMA=1 writes it anew");
        }
    }
    if std::env::var_os("CAPBENCH_WRITE_SCHEMA").is_some() {
        fs::write(&path, text).unwrap();
    }
}
