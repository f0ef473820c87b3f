//! Comparisons by the command line: of runs that were saved, and of methods that took turns.

use std::fs;
use std::path::Path;

use crate::support::results_file::assert_valid_output;
use crate::support::{Ended, HOST, Scratch, capbench, run, saved, scratch_of_root};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, bench_plan};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_results::for_tests::results;
use capbench_results::{Results, RunDirectory};
use capbench_testing::{HostLoad, busy};
use serde_json::{Value, json};

/// Saves a run like this one, in which so much of what was delivered was, on a host that did nothing else.
fn copied(from: &Path, to: &Path, started: u64, factor: f64) {
    let mut results = saved::results(from).unwrap();
    results["started_unix_s"] = json!(started);
    for trial in results["trials"].as_array_mut().unwrap() {
        let rate = trial["delivered_pps"].as_f64().unwrap();
        trial["delivered_pps"] = json!(rate * factor);
        trial.as_object_mut().unwrap().remove("disturbance");
        // What is taken off has no place in the ledger.
        let delivered = trial["delivered"].as_u64().unwrap();
        let left = (delivered as f64 * factor) as u64;
        trial["delivered"] = json!(left);
        trial["unexplained"] = json!(trial["unexplained"].as_i64().unwrap() + (delivered - left) as i64);
    }
    fs::create_dir(to).unwrap();
    fs::write(to.join("results.json"), results.to_string()).unwrap();
}

fn compare(one: &Path, other: &Path, more: &[&str]) -> Ended {
    run(HOST, capbench("compare").arg(one).arg(other).args(more))
}

/// Saves a run of a simulated path with so much work for each frame, and names its file.
fn simulated(folder: &Path, work_ns: u32, seed: u64) -> std::path::PathBuf {
    let work = WorkModel::Nanoseconds(work_ns).into();
    let plan =
        BenchPlan { sizes: vec![Setup { work, ..setup(64) }], visits: 7, ..bench_plan(&["packet-v3"]) };
    let methods = vec![SimulatedMethod::new("packet-v3", 1e7).cost(100, 300)];
    let noise = Noise { per_trial: 0.03, per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(1e6, methods).noise(seed, noise);
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    let results = Results {
        command: vec!["capbench".into(), "bench".into()],
        started_unix_s: seed,
        ..results(outcome.trials)
    };
    RunDirectory::create(folder).unwrap().save(&results).unwrap();
    folder.join("results.json")
}

fn notes(document: &Value) -> String {
    document["comparison"]["notes"].to_string()
}

#[test]
fn the_document_is_as_its_schema_says() {
    let folder = Scratch::new();
    let [base, same, slower] = [("base", 2000, 1), ("same", 2000, 2), ("slower", 2400, 3)]
        .map(|(name, work, seed)| simulated(&folder.file(name), work, seed));
    for (other, code, verdict) in [(&same, 0, "no_regression_shown"), (&slower, 3, "regression")] {
        let ended = compare(&base, other, &["--json", "--across", "work"]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        let document = ended.json();
        assert_valid_output("compare", &document);
        assert_eq!(document["verdict"], verdict);
        assert_eq!((&document["comparison"]["damaged"], ended.errors.as_str()), (&json!(false), ""));
    }
    let refused = |change: fn(&mut Value)| {
        let mut document = compare(&base, &same, &["--json"]).json();
        change(&mut document);
        assert!(
            std::panic::catch_unwind(|| assert_valid_output("compare", &document)).is_err(),
            "it was taken"
        );
    };
    refused(|document| document["later"] = 1.into());
    refused(|document| document["verdict"] = "good".into());
    refused(|document| document["comparison"]["contrasts"][0]["then"]["trials"] = 1.into());
}

#[test]
fn a_file_that_is_cut_off_is_compared_as_far_as_it_goes_and_proves_nothing() {
    let folder = Scratch::new();
    let [base, other] = [1, 2].map(|seed| simulated(&folder.file(&seed.to_string()), 2000, seed));
    let text = fs::read_to_string(&other).unwrap();
    // In the middle of the last trial, and before the first.
    fs::write(&other, &text[..text.rfind("\"phase\"").unwrap()]).unwrap();
    for (one, another, side) in [(&base, &other, "B"), (&other, &base, "A")] {
        let ended = compare(one, another, &["--json"]);
        assert_eq!(ended.code, Some(4), "{ended:#?}");
        let document = ended.json();
        assert_valid_output("compare", &document);
        assert_eq!(
            (&document["verdict"], &document["comparison"]["damaged"]),
            (&json!("inconclusive"), &json!(true))
        );
        assert!(
            notes(&document).contains(&format!("{side}: The file ends in the middle of itself")),
            "{document}"
        );
        let ended = compare(one, another, &[]);
        assert_eq!(ended.code, Some(4), "{ended:#?}");
        assert!(ended.out.contains("The file ends in the middle of itself"), "{}", ended.out);
        assert!(
            ended.out.contains("Inconclusive: the file of a run was damaged or changed"),
            "{}",
            ended.out
        );
    }
    fs::write(&other, &text[..text.find("\"number\"").unwrap()]).unwrap();
    let ended = compare(&base, &other, &["--json"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:#?}");
    assert!(ended.errors.contains("ends in the middle") && ended.errors.contains("no set-up"), "{ended:#?}");
}

#[test]
fn a_comparison_has_a_page_and_files_as_a_report_has() {
    let folder = Scratch::new();
    let [base, slower] = [("base", 2000, 1), ("slower", 2400, 2)]
        .map(|(name, work, seed)| simulated(&folder.file(name), work, seed));
    let out = folder.file("out");
    let to = out.to_str().unwrap();
    let files = ["--across", "work", "--format", "html,markdown,csv,json,svg", "--out", to];
    let ended = compare(&base, &slower, &files);
    assert_eq!((ended.code, ended.out.as_str()), (Some(3), ""), "{ended:#?}");
    assert!(ended.errors.starts_with("capbench: wrote "), "{ended:#?}");
    for file in
        ["report.html", "report.md", "tidy.csv", "tables/summary.csv", "report.json", "charts/changes.svg"]
    {
        assert!(out.join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("id=\"chart-changes\"") && page.contains("<div id=\"verdict\">"), "{page}");

    let page_alone = folder.file("page");
    let ended = compare(&base, &slower, &["--across", "work", "--out", page_alone.to_str().unwrap()]);
    assert_eq!((ended.code, page_alone.join("report.html").is_file()), (Some(3), true), "{ended:#?}");
    let ended = compare(&base, &slower, &["--across", "work", "--format", "markdown", "--stdout"]);
    assert!(ended.out.starts_with("# capbench compare\n"), "{ended:#?}");
    for (flags, why) in [
        (&["--format", "html"][..], "name a directory for the files with --out"),
        (&["--format", "svg", "--stdout"], "charts are several files"),
        (&["--json", "--out", to], "cannot be used with"),
    ] {
        let ended = compare(&base, &slower, &[&["--across", "work"], flags].concat());
        assert!(ended.code == Some(2) && ended.errors.contains(why), "{ended:#?}");
    }
}

fn is_narrow(text: &str) -> bool {
    // Paths and commands are not cut.
    text.lines().all(|line| line.chars().count() <= 80 || line.contains("capbench-test-"))
}

#[test]
fn root_alone_methods_that_take_turns_are_compared_and_runs_with_each_other() {
    let Some(folder) = scratch_of_root() else { return };
    let load = HostLoad::watch();
    let first = folder.file("first");
    let command = "bench --details --method packet-v3 --against recv --visits 7 --size 64 --placement same --duration 40ms --quiet 40ms \
                   --repeats 0 --seed 5 --no-trace";
    let ended = run(HOST, capbench("").args(command.split_whitespace()).arg("--out").arg(&first));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(ended.out.contains("packet-v3 against recv, in pairs that ran side by side"), "{}", ended.out);
    assert!(is_narrow(&ended.out), "{}", ended.out);
    let results: Results = serde_json::from_value(saved::results(&first).unwrap()).unwrap();
    let comparison = &results.comparisons[0];
    assert_eq!(
        (comparison.then.as_str(), comparison.now.as_str(), comparison.paired),
        ("recv", "packet-v3", true)
    );
    assert!(
        results.statements.iter().any(|statement| statement.contains("seed 5")),
        "{:?}",
        results.statements
    );
    for contrast in &comparison.contrasts {
        // Several set-ups together are in a table that names none of them.
        let is_printed = contrast.setups > 1 || ended.out.contains(&contrast.setup.scene().to_string());
        assert!(is_printed, "{contrast:?} {}", ended.out);
        assert_eq!(contrast.then.trials.len(), contrast.now.trials.len());
        for (then, now) in contrast.then.trials.iter().zip(&contrast.now.trials) {
            let of = |number: u32| results.trials.iter().find(|trial| trial.number == number).unwrap();
            assert_eq!(
                (&of(*then).profile.method, &of(*now).profile.method),
                (&"recv".into(), &"packet-v3".into())
            );
        }
    }

    let [base, same, slower] = ["base", "same", "slower"].map(|name| folder.file(name));
    copied(&first, &base, 3, 1.0);
    copied(&first, &same, 1, 1.0);
    copied(&first, &slower, 2, 0.5);
    let ended = compare(&base, &same, &["--details"]);
    // A generator that others keep from its CPU leaves too few trials that reached their load.
    if let Some(others) = load.others()
        && ended.code == Some(4)
    {
        return busy(format_args!("the comparison is inconclusive; {others}"));
    }
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.out.contains("none that they report"), "{}", ended.out);
    let ended = compare(&base, &slower, &[]);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(ended.out.contains("Changes beyond the threshold") && is_narrow(&ended.out), "{}", ended.out);
    let ended = compare(&base, &same, &["--json"]);
    assert_eq!(ended.json()["verdict"], "no_regression_shown");
    let ended = compare(&slower.join("results.json"), &base, &["--json"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let document = ended.json();
    assert_eq!(
        (&document["schema_version"], &document["verdict"]),
        (&json!(1), &json!("no_regression_shown"))
    );
    assert!(
        document["comparison"]["contrasts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["judgement"] == "improvement")
    );

    for (other, part) in [(&first, "named twice"), (&folder.file("nothing"), "no run that can be compared")] {
        let ended = compare(&first, other, &[]);
        assert!(matches!(ended.code, Some(1 | 2)) && ended.errors.contains(part), "{ended:#?}");
        assert_eq!((ended.errors.lines().count(), ended.out.as_str()), (1, ""), "{ended:#?}");
    }
    let twin = folder.file("twin");
    copied(&base, &twin, 3, 1.0);
    let ended = compare(&base, &twin, &[]);
    assert!(ended.code == Some(2) && ended.errors.contains("one run, or copies of it"), "{ended:#?}");
}

#[test]
fn root_visits_come_in_an_order_that_a_seed_names() {
    let Some(folder) = scratch_of_root() else { return };
    let command = "bench --method packet-v2,packet-v3 --visits 2 --rate 20k --size 64,512 --placement same --duration 50ms \
                   --quiet 50ms --repeats 0 --seed 9 --ring 8MiB --no-trace";
    let order = |name: &str| {
        let out = folder.file(name);
        let ended = run(HOST, capbench("").args(command.split_whitespace()).arg("--out").arg(&out));
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let results: Results = serde_json::from_value(saved::results(&out).unwrap()).unwrap();
        let of = |trial: &capbench_model::trial::TrialResult| {
            (trial.profile.method.clone(), trial.profile.frame_size.to_string())
        };
        results.trials.iter().map(of).collect::<Vec<_>>()
    };
    let first = order("first");
    assert_eq!(first.len(), 8);
    assert_eq!(first, order("second"));
}
