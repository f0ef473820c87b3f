use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use capbench_plan::for_tests::{Collected, bench_plan};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_results::for_tests;
use capbench_testing::Scratch;
use capbench_testing::network::eventually;
use clap::CommandFactory;

use super::account::{Account, End, Outcome};
use super::child::Children;
use super::file::{self, Campaign};
use super::{LOCK, Runner};
use crate::configuration::Configuration;
use crate::exit::{self, Exit};
use crate::{Cli, help};

fn campaign(text: &str) -> Result<Campaign, String> {
    let scratch = Scratch::new();
    let path = scratch.file("lab.toml");
    fs::write(&path, text).unwrap();
    let read = || -> anyhow::Result<Campaign> {
        let campaign = file::read(&path)?;
        campaign.check(&help::equipped(Cli::command()), &Configuration::default())?;
        Ok(campaign)
    };
    read().map_err(|error| error.to_string().replace(&format!("{}/", scratch.path().display()), ""))
}

#[test]
fn the_first_axis_of_a_matrix_changes_slowest() {
    let text = r#"
name = "kernel-6.18"
labels = { kernel = "6.18", lab = 3 }
[[run]]
command = "bench"
flags = { duration = "50ms", details = true, ring = "8MiB" }
[run.matrix]
size = [64, "imix", [128, 1518]]
method = ["recv", "cmd:./prog {interface}"]
[[run]]
command = "sweep"
name = "axes"
matrix = { axis = ["work", "size"] }
[[run]]
command = "soak"
flags = { rate = "100k", for = "10s" }
"#;
    let campaign = campaign(text).unwrap();
    let shown: Vec<_> = campaign.runs.iter().map(|run| format!("{}: {}", run.name, run.shown())).collect();
    let fixed = "capbench bench --duration=50ms --details --ring=8MiB";
    assert_eq!(
        shown,
        [
            format!("bench-64-recv: {fixed} --size=64 --method=recv"),
            format!("bench-64-cmd_._prog__interface_: {fixed} --size=64 '--method=cmd:./prog {{interface}}'"),
            format!("bench-imix-recv: {fixed} --size=imix --method=recv"),
            format!(
                "bench-imix-cmd_._prog__interface_: {fixed} --size=imix '--method=cmd:./prog {{interface}}'"
            ),
            format!("bench-128+1518-recv: {fixed} --size=128 --size=1518 --method=recv"),
            format!(
                "bench-128+1518-cmd_._prog__interface_: {fixed} --size=128 --size=1518 '--method=cmd:./prog {{interface}}'"
            ),
            "axes-work: capbench sweep work".into(),
            "axes-size: capbench sweep size".into(),
            "soak: capbench soak --rate=100k --for=10s".into(),
        ]
    );
    assert_eq!(campaign.name, "kernel-6.18");
    assert_eq!(campaign.labels, [("kernel".into(), "6.18".into()), ("lab".into(), "3".into())]);
}

#[test]
fn mistakes_name_the_line_the_key_and_what_may_be_there() {
    let run = "[[run]]\ncommand = \"bench\"\n";
    for (text, expected) in [
        ("", "lab.toml: it has no run; begin each with [[run]]"),
        (
            "nmae = \"x\"\n",
            "lab.toml:1: nmae: no key of this name; name, labels, run are possible; did you mean name?",
        ),
        ("name = \"a/b\"\n", "lab.toml:1: name: a name has letters, digits"),
        (
            "[[run]]\nflags = {}\n",
            "lab.toml:1: the run has no command; bench, search, sweep, rfc2544, soak are possible",
        ),
        (
            "[[run]]\ncommand = \"serach\"\n",
            "lab.toml:2: command: a campaign runs bench, search, sweep, rfc2544, soak, not serach; did you mean search?",
        ),
        ("[[run]]\ncommand = \"record\"\n", "lab.toml:2: command: a campaign runs"),
        (
            &format!("{run}flags = {{ siez = 64 }}\n"),
            "lab.toml:3: siez: capbench bench has no flag --siez; did you mean size?",
        ),
        (&format!("{run}flags = {{ out = \"x\" }}\n"), "lab.toml:3: out: the campaign gives it to its runs"),
        (
            &format!("{run}matrix = {{ size = 64 }}\n"),
            "lab.toml:3: size: it is a list: one entry for each run",
        ),
        (&format!("{run}matrix = {{ size = [] }}\n"), "lab.toml:3: size: the list is empty"),
        (
            &format!("{run}flags = {{ size = \"6x\" }}\n"),
            "lab.toml:1: run bench: invalid value '6x' for '--size <LIST>'",
        ),
        (
            &format!("{run}flags = {{ tx = \"a\" }}\n"),
            "lab.toml:1: run bench: the following required arguments were not provided: --rx",
        ),
        (&format!("{run}{run}"), "lab.toml:3: a second run has the name bench, the first one is of line 1"),
        (
            &format!("{run}[run.matrix]\nsize = [{0}]\nrate = [{0}]\n", "64,".repeat(1000)),
            "lab.toml:1: the matrix has 1000000 runs; a campaign has up to 10000",
        ),
        ("run = 3\n", "lab.toml:1: run: write each run as a table [[run]]"),
        ("labels = { a = [1] }\n", "lab.toml:1: a: a label is a string or a number"),
        ("name = \n", "lab.toml:1: no TOML: "),
    ] {
        let said = campaign(text).unwrap_err();
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

/// A folder in which runs are done by a script in place of this program. By its method a run is done, fails, or is killed when
/// it has some trials.
struct Bed {
    scratch: Scratch,
    campaign: Campaign,
    retry_inconclusive: bool,
}

const SCRIPT: &str = r#"#!/bin/sh
echo "$@" >>"$0.calls"
[ "$2" = --resume ] && { sed -i 's/"complete": false/"complete": true,"exit_code": 0/' "$3/results.json"; exit 0; }
mkdir -p "$3"
words='"capbench"'
for word in "$@"; do words="$words, \"$word\""; done
save() { sed -e "s|\"@COMMAND@\"|$words|" -e "s|\"complete\": true|\"complete\": $1|" "$0.json" >"$3/results.json"; }
case "$*" in
*bad*) echo "capbench: bad does not run here" >&2; exit 5 ;;
*cut*) save false "$2" "$3"; [ -e "$0.whole" ] || kill -9 $$ ;;
*open*) save 'true,"exit_code": 4' "$2" "$3"; exit 4 ;;
*lost*) save 'true,"exit_code": 3' "$2" "$3"; exit 3 ;;
esac
save 'true,"exit_code": 0' "$2" "$3"
"#;

impl Bed {
    fn new(command: &str, methods: &str) -> Self {
        let scratch = Scratch::new();
        let path = scratch.file("capbench");
        fs::write(&path, SCRIPT).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 2e5)]);
        let outcome = bench_plan(&["recv"]).run(&mut path, &mut Collected::default()).unwrap();
        let mut results = for_tests::bench(outcome.trials, outcome.searches);
        results.command = vec!["@COMMAND@".into()];
        fs::write(scratch.file("capbench.json"), serde_json::to_string_pretty(&results).unwrap()).unwrap();
        let text = format!(
            "name = \"lab\"\nlabels = {{ kernel = \"a b\" }}\n[[run]]\ncommand = \"{command}\"\nmatrix = {{ method = [{methods}] }}\n"
        );
        fs::write(scratch.file("lab.toml"), text).unwrap();
        let campaign = file::read(&scratch.file("lab.toml")).unwrap();
        Self { scratch, campaign, retry_inconclusive: false }
    }

    fn out(&self) -> PathBuf {
        self.scratch.file("out")
    }

    fn runner(&self) -> anyhow::Result<Runner> {
        Runner::open(&self.out(), Children::of(self.scratch.file("capbench")), self.retry_inconclusive)
    }

    /// The lock of a runner that has ended is open in each process that another test begins, until it runs its program.
    fn runner_when_free(&self) -> Runner {
        let mut runner = None;
        eventually("the directory is free", || {
            runner = self.runner().ok();
            runner.is_some()
        });
        runner.unwrap()
    }

    /// Runs the campaign once: the state of each run, the closing text, and the command lines that were started.
    fn call(&self) -> (Vec<End>, String, Exit, Vec<String>) {
        let calls = self.scratch.file("capbench.calls");
        let _ = fs::remove_file(&calls);
        let mut account = Account::new(&self.campaign, "out".as_ref(), "lab.toml".as_ref());
        let runner = self.runner_when_free();
        let outcomes: Vec<Outcome> =
            self.campaign.runs.iter().map(|run| runner.complete(run).unwrap()).collect();
        for (run, outcome) in self.campaign.runs.iter().zip(&outcomes) {
            let line = account.add(run, outcome.clone());
            assert!(line.starts_with(&run.name) && line.lines().count() == 1, "{line}");
        }
        let ends = outcomes.iter().map(|outcome| outcome.end).collect();
        let calls = fs::read_to_string(calls).unwrap_or_default();
        let calls = calls.replace(&format!("{}/", self.out().display()), "");
        let exit = exit::of_campaign(account.codes(), None);
        (ends, account.closing_text(), exit, calls.lines().map(String::from).collect())
    }
}

const DONE: End = End::Done { before: false };
const WAS_DONE: End = End::Done { before: true };

#[test]
fn root_a_campaign_of_somebody_else_is_not_run() {
    if capbench_testing::network::privileges().is_none() {
        return;
    }
    let bed = Bed::new("bench", "\"recv\"");
    let file = bed.scratch.file("lab.toml");
    for (owner, mode, expected) in [
        (1234, 0o600, "lab.toml belongs to user 1234; as root, capbench runs only what"),
        (0, 0o666, "lab.toml may be written by everybody; as root"),
    ] {
        std::os::unix::fs::chown(&file, Some(owner), None).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let error = format!("{:#}", file::read(&file).unwrap_err());
        assert!(error.starts_with("cannot read ") && error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_done_is_skipped_and_what_failed_is_tried_again() {
    let bed = Bed::new("bench", "\"recv\", \"bad\", \"lost\"");
    let (ends, text, exit, calls) = bed.call();
    assert_eq!(ends, [DONE, End::Failed, DONE]);
    assert_eq!(exit, Exit::Partly(5), "a run that could not be measured is worse than loss");
    assert_eq!(
        text,
        "\n2 of 3 runs done: 1 failed (bench-bad: bad does not run here).\n\
         What is missing: capbench campaign lab.toml --out out\n\
         Into a dataset: capbench export out/*/results.json --to DATASET --label campaign=lab --label 'kernel=a b'\n"
    );
    assert_eq!(
        calls,
        [
            "bench --out bench-recv --method=recv",
            "bench --out bench-bad --method=bad",
            "bench --out bench-lost --method=lost"
        ]
    );
    let (ends, text, _, calls) = bed.call();
    assert_eq!(ends, [WAS_DONE, End::Failed, WAS_DONE]);
    assert!(text.contains("2 of 3 runs done (2 before this call): 1 failed"), "{text}");
    assert_eq!(calls, ["bench --out bench-bad --method=bad"]);
    fs::write(bed.out().join("bench-bad/results.json"), "{").unwrap();
    bed.call();
    assert!(bed.out().join("earlier/bench-bad.1/results.json").exists(), "nothing is lost");
}

#[test]
fn what_is_inconclusive_is_said_and_is_run_again_only_on_request() {
    let mut bed = Bed::new("bench", "\"recv\", \"open\"");
    let (ends, text, exit, _) = bed.call();
    assert_eq!((ends, exit), (vec![DONE, DONE], Exit::Inconclusive));
    assert!(text.starts_with("\n2 of 2 runs done: 1 inconclusive.\n"), "{text}");
    let again =
        "What is inconclusive, once more: capbench campaign lab.toml --out out --retry-inconclusive\n";
    assert!(text.contains(again), "{text}");
    let (ends, _, exit, calls) = bed.call();
    assert_eq!((ends, exit, calls.len()), (vec![WAS_DONE, WAS_DONE], Exit::Inconclusive, 0));
    bed.retry_inconclusive = true;
    let (ends, _, _, calls) = bed.call();
    assert_eq!(
        (ends, calls),
        (vec![WAS_DONE, DONE], vec!["bench --out bench-open --method=open".to_string()])
    );
    assert!(bed.out().join("earlier/bench-open.1/results.json").exists(), "nothing is lost");
}

#[test]
fn an_interrupted_search_is_resumed_and_another_command_repeated_elsewhere() {
    let search = Bed::new("search", "\"cut\"");
    assert_eq!(search.call().0, [End::Interrupted]);
    let (ends, text, exit, calls) = search.call();
    assert_eq!((ends, exit), (vec![DONE], Exit::Done), "{text}");
    assert_eq!(calls, ["search --resume search-cut"]);

    let bench = Bed::new("bench", "\"cut\"");
    let (ends, text, exit, _) = bench.call();
    assert_eq!((ends, exit), (vec![End::Interrupted], Exit::Partly(137)), "{text}");
    assert!(text.contains("0 of 1 runs done: 1 interrupted."), "{text}");
    fs::write(bench.scratch.file("capbench.whole"), "").unwrap();
    let (ends, _, _, calls) = bench.call();
    assert_eq!(ends, [DONE]);
    assert_eq!(calls, ["bench --out bench-cut --method=cut"]);
    assert!(bench.out().join("earlier/bench-cut.1/results.json").exists(), "nothing is lost");
}

#[test]
fn other_flags_under_the_same_name_are_measured_anew() {
    let mut bed = Bed::new("bench", "\"recv\"");
    assert_eq!(bed.call().0, [DONE]);
    bed.campaign.runs[0].words.push("--visits=3".into());
    assert_eq!(bed.call().0, [DONE]);
    assert_eq!(bed.call().0, [WAS_DONE]);
    assert!(bed.out().join("earlier/bench-recv.1/results.json").exists());
    // Settings of the host are in front of the directory, and no words of the campaign.
    let saved = bed.out().join("bench-recv/results.json");
    let text = fs::read_to_string(&saved).unwrap();
    fs::write(&saved, text.replace("\"--out\"", "\"--ring=8MiB\", \"--out\"")).unwrap();
    assert_eq!(bed.call().0, [WAS_DONE]);
}

#[test]
fn a_directory_has_one_campaign_at_a_time() {
    let bed = Bed::new("bench", "\"recv\"");
    let first = bed.runner().unwrap();
    let refused = bed.runner().err().unwrap().to_string();
    assert!(refused.contains("is at work in") && refused.contains("--out"), "{refused}");
    // A run that outlives its campaign keeps the lock.
    let child = first.lock.try_clone().unwrap();
    drop(first);
    assert!(bed.runner().is_err());
    drop(child);
    bed.runner_when_free();
    assert!(bed.out().join(LOCK).exists());
}

#[test]
fn the_worst_run_decides_the_exit_code() {
    let of = |codes: &[u8]| exit::of_campaign(codes.iter().copied(), None).number();
    for (codes, expected) in [
        (&[][..], 0),
        (&[0, 0], 0),
        (&[0, 4, 0], 4),
        (&[4, 3, 0], 3),
        (&[3, 5, 4], 5),
        (&[5, 6], 6),
        (&[2, 7, 1], 1),
        (&[1, 137], 137),
    ] {
        assert_eq!(of(codes), expected, "{codes:?}");
    }
    assert_eq!(exit::of_campaign([1].into_iter(), Some(2)).number(), 130);
}
