//! Our search compared with the reference library (PyPI MLRsearch 1.2.1) on the same paths: both reach the same bounds, and ours
//! needs no more trials. The library runs in a separate process and requests its trials from this one.
//!
//! `tools/compare/search` makes the virtual environment and prints the table.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::paths::{Path, Random, bounds, plan, run};

/// Random paths; the standard has at least 50.
const PATHS: u64 = 60;
/// Paths with noise.
const NOISY_PATHS: u64 = 200;
const GOALS: [&str; 2] = ["ndr", "pdr"];
/// The goals' width.
const WIDTH: f64 = 0.005;

/// The interpreter that has the library; `tools/compare/search` and `./check peers` name it.
const PYTHON: &str = "CAPBENCH_MLRSEARCH_PYTHON";

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
    /// # Panics
    /// When it is not what that interpreter has.
    fn start(python: OsString) -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/compare/mlrsearch.py");
        let mut command = Command::new(python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (answers, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut requests = BufReader::new(output).lines();
        assert_eq!(requests.next().and_then(Result::ok).as_deref(), Some("MLRsearch 1.2.1"));
        Self { child, requests, answers }
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

/// What both found on one path for one goal.
struct Compared {
    seed: u64,
    goal: &'static str,
    /// Lower and upper bound of ours by those of theirs, less 1; absent where neither has one.
    apart: [Option<f64>; 2],
}

impl Compared {
    /// The larger of the two distances.
    fn distance(&self) -> f64 {
        self.apart.iter().flatten().fold(0.0, |most, apart| apart.abs().max(most))
    }
}

/// Every path searched by both, with a line for each, and the trials of both on each path.
fn compare(
    reference: &mut Reference,
    paths: impl Iterator<Item = Path>,
) -> (Vec<Compared>, Vec<(usize, usize)>) {
    let plan = plan("ndr,pdr");
    let (mut compared, mut trials) = (Vec::new(), Vec::new());
    println!(
        "seed  noise %  bursts/s  livelock   capacity   goal  lower (ours)  lower (theirs)  apart %   trials (ours, theirs)"
    );
    for path in paths {
        let (finished, other) = (run(&plan, &path), reference.search(&path));
        trials.push((finished.trials.len(), other.trials));
        for (goal, theirs) in GOALS.into_iter().zip(&other.bounds) {
            let ours = bounds(&finished, goal);
            // One that only one of them has is as far away as can be.
            let apart = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
                (Some(ours), Some(theirs)) => Some(ours / theirs - 1.0),
                (None, None) => None,
                _ => Some(1.0),
            };
            let apart = [apart(ours.0, theirs.0), apart(ours.1, theirs.1)];
            let one = Compared { seed: path.seed, goal, apart };
            println!(
                "{:>4}  {:>7.3}  {:>8.3}  {:>8.2}  {:>9.0}   {goal}   {:>12.0}  {:>14.0}  {:>7.3}   {}, {}",
                path.seed,
                path.noise * 100.0,
                path.bursts_per_s,
                path.livelock,
                path.capacity,
                ours.0.unwrap_or(f64::NAN),
                theirs.0.unwrap_or(f64::NAN),
                one.distance() * 100.0,
                finished.trials.len(),
                other.trials
            );
            compared.push(one);
        }
    }
    (compared, trials)
}

fn sums(trials: &[(usize, usize)]) -> (usize, usize) {
    trials.iter().fold((0, 0), |(ours, theirs), trials| (ours + trials.0, theirs + trials.1))
}

/// The library, unless nothing names it, which is said.
fn reference() -> Option<Reference> {
    let python = std::env::var_os(PYTHON);
    if python.is_none() {
        capbench_testing::other_step("peers");
    }
    python.map(Reference::start)
}

#[test]
fn the_reference_library_reaches_the_same_bounds_with_no_fewer_trials() {
    let Some(mut reference) = reference() else { return };
    let (compared, trials) = compare(&mut reference, (0..PATHS).map(path));
    let apart: Vec<_> = compared
        .iter()
        .filter(|one| one.distance() > WIDTH)
        .map(|one| (one.seed, one.goal, one.distance()))
        .collect();
    let (ours, theirs) = sums(&trials);
    println!(
        "{PATHS} paths: {ours} trials of ours, {theirs} of theirs; more than one width apart: {apart:?}"
    );
    assert!(apart.is_empty(), "more than one width apart: {apart:?}");
    assert!(ours <= theirs, "{ours} trials of ours, {theirs} of theirs");
}

/// A path whose capacity varies by about 1 % from trial to trial, which is two widths; half of them lose bursts besides.
fn noisy_path(seed: u64) -> Path {
    let mut random = Random(seed);
    let quiet = Path { noise: 0.0, bursts_per_s: 0.0, livelock: 0.0, ..path(seed) };
    let noise = 0.005 + 0.01 * random.share();
    let bursts_per_s = if seed.is_multiple_of(2) { 0.0 } else { 0.1 * random.share() };
    // Below the maximum load, so that there are two bounds to be found.
    Path { noise, bursts_per_s, capacity: quiet.capacity.min(1.3e6), ..quiet }
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

#[test]
fn with_noise_the_reference_library_reaches_like_bounds_with_no_fewer_trials() {
    let Some(mut reference) = reference() else { return };
    let (compared, trials) = compare(&mut reference, (0..NOISY_PATHS).map(|nth| noisy_path(1000 + nth)));
    let mut distances: Vec<f64> = compared.iter().map(Compared::distance).collect();
    distances.sort_by(f64::total_cmp);
    let at = |share: f64| distances[((distances.len() - 1) as f64 * share) as usize];
    let within = |widths: f64| {
        distances.iter().filter(|distance| **distance <= widths * WIDTH).count() as f64
            / distances.len() as f64
    };
    for (name, bound) in [("lower", 0), ("upper", 1)] {
        let (apart, error) = mean(&compared.iter().filter_map(|one| one.apart[bound]).collect::<Vec<_>>());
        println!("{name} bounds: ours by theirs, mean {:+.4} % +- {:.4} %", apart * 100.0, error * 100.0);
    }
    println!(
        "apart: median {:.3} %, nine of ten at most {:.3} %, all at most {:.3} %; within one width {:.0} %, two {:.0} %",
        at(0.5) * 100.0,
        at(0.9) * 100.0,
        at(1.0) * 100.0,
        within(1.0) * 100.0,
        within(2.0) * 100.0
    );
    // What other noise on the same paths would have made of it.
    let plan = plan("ndr,pdr");
    let mut by_noise: Vec<f64> = (0..NOISY_PATHS)
        .filter_map(|nth| {
            let path = noisy_path(1000 + nth);
            let other = Path { seed: !path.seed, ..path.clone() };
            let lower = |path| bounds(&run(&plan, path), "ndr").0;
            Some((lower(&path)? / lower(&other)? - 1.0).abs())
        })
        .collect();
    by_noise.sort_by(f64::total_cmp);
    println!(
        "for comparison, ndr of ours with other noise on the same paths: median {:.3} %, all at most {:.3} % apart",
        by_noise[by_noise.len() / 2] * 100.0,
        by_noise[by_noise.len() - 1] * 100.0
    );
    let (ours, theirs) = sums(&trials);
    let fewer = trials.iter().filter(|(ours, theirs)| ours < theirs).count();
    let more = trials.iter().filter(|(ours, theirs)| ours > theirs).count();
    println!(
        "{NOISY_PATHS} paths: {ours} trials of ours, {theirs} of theirs; ours fewer on {fewer}, as many on {}, more on {more}",
        trials.len() - fewer - more
    );
    // Where both ask for the same trials they see the same losses. Once they part, noise alone sets them apart by widths, so
    // that a few may be anywhere; but neither may be higher than the other as a rule.
    assert!(at(0.5) <= WIDTH && within(1.0) >= 0.95, "{}", within(1.0));
    for bound in [0, 1] {
        let (apart, error) = mean(&compared.iter().filter_map(|one| one.apart[bound]).collect::<Vec<_>>());
        assert!(apart.abs() <= (2.0 * error).max(WIDTH / 10.0), "{apart} +- {error}");
    }
    assert!(ours <= theirs, "{ours} trials of ours, {theirs} of theirs");
}
