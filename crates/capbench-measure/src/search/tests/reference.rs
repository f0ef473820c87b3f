//! Our search beside the reference library (PyPI MLRsearch 1.2.1) on the same paths: both reach the same bounds, and ours
//! needs no more trials. The library runs in a process of its own and asks this one for its trials.
//!
//! `tools/compare/search` makes the virtual environment and prints the table.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::paths::{Path, Random, bounds, plan, run};

/// Random paths; the standard has at least 50.
const PATHS: u64 = 60;
const GOALS: [&str; 2] = ["ndr", "pdr"];
/// The goals' width.
const WIDTH: f64 = 0.005;

/// Where the virtual environment is, by the variable that the tool sets or as it makes it beside our own output.
fn python() -> PathBuf {
    let made = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/mlrsearch/bin/python");
    std::env::var_os("CAPBENCH_MLRSEARCH_PYTHON").map_or_else(made, PathBuf::from)
}

/// The library at work.
struct Reference {
    child: Child,
    requests: Lines<BufReader<ChildStdout>>,
    answers: ChildStdin,
}

/// Bounds of each goal, and trials.
struct Found {
    bounds: Vec<(Option<f64>, Option<f64>)>,
    trials: usize,
}

impl Reference {
    /// The library, or why it cannot be had.
    fn start() -> Result<Self, String> {
        let python = python();
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/compare/mlrsearch.py");
        if !python.exists() {
            return Err(format!("{} is not there; tools/compare/search makes it", python.display()));
        }
        let mut child = Command::new(&python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let (answers, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut requests = BufReader::new(output).lines();
        match requests.next() {
            Some(Ok(line)) if line == "MLRsearch 1.2.1" => Ok(Self { child, requests, answers }),
            Some(Ok(line)) => Err(line),
            _ => Err("it ended at once".into()),
        }
    }

    /// A search on a path.
    fn search(&mut self, path: &Path) -> Found {
        let mut path = path.clone();
        writeln!(self.answers, "search {} {}", 1000.0, 1_488_095.0).unwrap();
        let mut found = Found { bounds: Vec::new(), trials: 0 };
        for line in &mut self.requests {
            let line = line.unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |position: usize| words[position].parse::<f64>().ok();
            match words[0] {
                "measure" => {
                    found.trials += 1;
                    let duration = Duration::from_secs_f64(number(1).unwrap());
                    let (intended, sent, delivered, _) = path.counts(number(2), duration);
                    writeln!(self.answers, "{intended} {sent} {delivered}").unwrap();
                }
                "bounds" => found.bounds.push((number(1), number(2))),
                "done" => return found,
                _ => panic!("the library says {line}"),
            }
        }
        panic!("the library ended in the middle of a search");
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Capacities over three decades. Of four paths one is quiet, one varies, one varies and loses bursts, and one delivers less
/// the more is sent above its capacity.
fn path(seed: u64) -> Path {
    let mut random = Random(seed);
    let capacity = 2000.0 * 1000f64.powf(random.share());
    let quiet = Path { seed, burst: (capacity / 2000.0) as u64 + 1, ..Path::new(capacity) };
    let noise = 0.002 * random.share();
    match seed % 4 {
        0 => quiet,
        1 => Path { noise, ..quiet },
        2 => Path { noise, bursts_per_s: 0.1 * random.share(), ..quiet },
        _ => Path { livelock: 1.5 * random.share(), ..quiet },
    }
}

#[test]
fn the_reference_library_reaches_the_same_bounds_with_no_fewer_trials() {
    let mut reference = match Reference::start() {
        Ok(reference) => reference,
        Err(reason) => {
            println!("skipped: MLRsearch 1.2.1 cannot be had: {reason}");
            return;
        }
    };
    let plan = plan("ndr,pdr");
    let (mut ours, mut theirs) = (0, 0);
    let mut apart = Vec::new();
    println!(
        "seed  noise %  bursts/s  livelock   capacity   goal  lower (ours)  lower (theirs)  apart %   trials (ours, theirs)"
    );
    for seed in 0..PATHS {
        let path = path(seed);
        let (own, other) = (run(&plan, &path), reference.search(&path));
        ours += own.trials.len();
        theirs += other.trials;
        for (goal, other_bounds) in GOALS.into_iter().zip(&other.bounds) {
            let own_bounds = bounds(&own, goal);
            let distance = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() / a.max(b),
                (None, None) => 0.0,
                _ => 1.0,
            };
            let distance = distance(own_bounds.0, other_bounds.0).max(distance(own_bounds.1, other_bounds.1));
            println!(
                "{seed:>4}  {:>7.3}  {:>8.3}  {:>8.2}  {:>9.0}   {goal}   {:>12.0}  {:>14.0}  {:>7.3}   {}, {}",
                path.noise * 100.0,
                path.bursts_per_s,
                path.livelock,
                path.capacity,
                own_bounds.0.unwrap_or(f64::NAN),
                other_bounds.0.unwrap_or(f64::NAN),
                distance * 100.0,
                own.trials.len(),
                other.trials
            );
            if distance > WIDTH {
                apart.push((seed, goal, distance));
            }
        }
    }
    println!(
        "{PATHS} paths: {ours} trials of ours, {theirs} of theirs; more than one width apart: {apart:?}"
    );
    assert!(apart.is_empty(), "more than one width apart: {apart:?}");
    assert!(ours <= theirs, "{ours} trials of ours, {theirs} of theirs");
}
