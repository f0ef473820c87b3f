//! Capture programs of others in trials: those that capbench knows, for real, and small scripts that do everything wrong.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use capbench_frames::Pps;
use capbench_lab::LabError;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_lab::programs::Programs;
use capbench_model::TrialError;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::noise::{Noise, ProgramNote};
use capbench_model::places::Place;
use capbench_model::running::RingGeometry;
use capbench_model::trial::{Load, TrialResult};
use capbench_testing::Scratch;
use capbench_testing::network::{privileges, program};

mod unread;

fn laboratory(programs: Programs) -> LiveLaboratory {
    live(virtual_link()).with_programs(programs)
}

fn setup(method: &str) -> Setup {
    live_setup(method, 16 << 20, Duration::from_millis(300))
}

/// So long that a generator on a busy host gets its CPU meanwhile.
const SENDING: Duration = Duration::from_millis(200);

/// A trial of 800 frames, of which a generator on a busy host may not send all: fewer than the kernel's backlog holds
/// (net.core.netdev_max_backlog, 1000), so that none is lost before it can be captured.
fn run(laboratory: &mut LiveLaboratory, method: &str) -> capbench_model::Result<TrialResult> {
    let rate = Load::Rate(Pps::new(4_000.0).unwrap());
    laboratory.prepare(&setup(method))?.run(rate, SENDING)
}

fn count(trial: &TrialResult, place: Place) -> Option<u64> {
    trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count)
}

fn reported(trial: &TrialResult, name: &str) -> u64 {
    trial.counters[&format!("method.reported {name}")]
}

/// Programs made of a shell script each, with further lines of their definition.
fn scripts<'t>(scripts: impl IntoIterator<Item = (&'t str, &'t str, &'t str)>) -> Programs {
    let mut text = String::new();
    for (name, script, further) in scripts {
        let command =
            format!("command = ['sh', '-c', '''{script}''', 'sh', '{{interface}}', '{{directory}}']");
        text += &format!("[programs.{name}]\n{command}\n{further}\n");
    }
    defined(&text)
}

fn defined(text: &str) -> Programs {
    let folder = Scratch::new();
    let file = folder.file("programs.toml");
    std::fs::write(&file, text).unwrap();
    Programs::with_file(Some(&file)).unwrap()
}

/// The turn of a test: it would take programs of another one that runs for some that its own left. `None` where the test cannot run.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    privileges().map(|()| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Directories of trials of this process that are still there.
fn left_directories() -> Vec<PathBuf> {
    let prefix = format!("capbench-{}-", std::process::id());
    ["/dev/shm".into(), std::env::temp_dir()]
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// A trial of 80 frames, next to others: together they are fewer than the kernel's backlog holds, too.
fn run_with_few(laboratory: &mut LiveLaboratory, method: &str) -> capbench_model::Result<TrialResult> {
    let rate = Load::Rate(Pps::new(400.0).unwrap());
    laboratory.prepare(&setup(method))?.run(rate, SENDING)
}

/// Checks all cases at the same time, each in a laboratory of its own: programs wait most of the time. Nothing is left of any.
fn check_at_once<C: Sync>(programs: &Programs, cases: &[C], check: fn(&mut LiveLaboratory, &C)) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(&mut laboratory(programs.clone()), case));
        }
    });
    assert_nothing_left();
}

/// Processes that a trial of this process started and that still run.
fn left_processes() -> Vec<String> {
    let mark = format!("CAPBENCH_PROGRAM_OF={}.", std::process::id());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|octet| *octet == 0).any(|text| text.starts_with(mark.as_bytes()))
        })
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok())
        .collect()
}

fn assert_nothing_left() {
    assert_eq!((left_processes(), left_directories()), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn root_a_file_has_every_frame_that_was_sent_and_its_program_says_so() {
    let Some(_turn) = turn() else { return };
    let mut laboratory = laboratory(Programs::default());
    for (name, captured) in
        [("tcpdump", "captured"), ("dumpcap", "captured"), ("netsniff-ng", "passed filter")]
    {
        // Says which package has it where it is missing.
        let _ = program(name);
        let trial = run(&mut laboratory, &format!("cmd:{name}")).unwrap();
        assert_eq!((trial.delivered, trial.unexplained), (trial.sent, 0), "{trial:#?}");
        assert_eq!((trial.duplicates, trial.foreign, trial.corrupt, trial.truncated), (0, 0, 0, 0), "{name}");
        assert_eq!((reported(&trial, captured), count(&trial, Place::Ring)), (trial.sent, Some(0)), "{name}");
        assert_eq!(
            (trial.counters["method.accepted"], count(&trial, Place::Unread)),
            (trial.sent, Some(0)),
            "{name}"
        );
        assert_eq!(trial.report.unwrap().in_file, Some(trial.sent), "{name}");
        let of_program = |noise: &Noise| matches!(noise, Noise::Program { .. });
        assert!(!trial.noise.reasons.iter().any(of_program), "{:?}", trial.noise);
        assert!(trial.unverified_because.is_none() && trial.engine().contains(name), "{}", trial.engine());
        let ring = &trial.capture.as_ref().unwrap().ring;
        let has_file = matches!(ring, RingGeometry::Program { file: Some(_), .. });
        assert!(has_file && ring.to_string().contains("every frame verified"), "{ring:?}");
        // Start and end of the program are no part of it; 100 us a frame are far more than any of them takes.
        let cpu_ns = trial.cpu.app_charged_ns.unwrap();
        assert!((1..300_000_000).contains(&cpu_ns), "{name}: {cpu_ns} ns");
        assert_eq!((&trial.profile.work, trial.cpu.verify_ns_per_packet), (&"its own".into(), 0.0));
        assert_nothing_left();
    }
}

#[test]
fn root_counts_without_a_file_are_taken_on_trust() {
    let Some(_turn) = turn() else { return };
    let _ = program("tracestats");
    let mut laboratory = laboratory(Programs::default());
    for name in ["tracestats-ring", "tracestats-int"] {
        let trial = run(&mut laboratory, &format!("cmd:{name}")).unwrap();
        // Its buffers are small, so that a busy host loses some: they stand in the ledger.
        assert_eq!(trial.counters["method.accepted"], trial.sent, "{trial:#?}");
        assert_eq!(trial.delivered + count(&trial, Place::Ring).unwrap(), trial.sent, "{trial:#?}");
        assert_eq!(trial.unexplained, 0, "{name}");
        assert_eq!(trial.report.unwrap().captured, Some(trial.delivered), "{name}");
        assert!(trial.unverified_because.is_some() && trial.engine().contains("libtrace"), "{trial:#?}");
        assert_nothing_left();
    }
}

#[test]
fn root_cut_frames_are_verified_as_cut() {
    let Some(_turn) = turn() else { return };
    let mut laboratory = laboratory(Programs::default());
    for method in ["cmd:tcpdump", "cmd:netsniff-ng"] {
        let mut setup = Setup { method: method.parse().unwrap(), ..setup(method) };
        setup.sizes = capbench_model::for_tests::setup(512).sizes;
        setup.capture.snap_length = capbench_model::units::SnapLength::new(96);
        let rate = Load::Rate(Pps::new(20_000.0).unwrap());
        let trial = laboratory.prepare(&setup).unwrap().run(rate, Duration::from_millis(40)).unwrap();
        assert_eq!((trial.delivered, trial.truncated), (trial.sent, 0), "{trial:#?}");
        let note = ProgramNote::IgnoresOption { flag: "--snaplen".into() };
        let is_ignored =
            trial.noise.reasons.contains(&Noise::Program { program: "netsniff-ng".into(), note });
        assert_eq!(is_ignored, method == "cmd:netsniff-ng", "{:?}", trial.noise);
    }
}

/// Waits for a signal, without any other process.
const WAIT: &str = "while :; do sleep 0.02; done";

/// A program that does something wrong, and what is said of it.
struct Mistake<'t> {
    name: &'t str,
    script: &'t str,
    /// Further lines of its definition.
    definition: &'t str,
    error: &'t str,
}

#[test]
fn root_what_programs_do_wrong_is_told_in_one_line_and_others_are_still_measured() {
    let Some(_turn) = turn() else { return };
    let counts = "counts = { captured = '(\\d+) captured' }";
    let ready = format!("ready = 'ready'\n{counts}");
    let hasty = format!("ready = 'ready'\npatience = '1s'\n{counts}");
    let never = format!("patience = '300ms'\n{counts}");
    let deaf = format!("trap '' INT TERM; echo ready; {WAIT}");
    let dying = format!("echo ready; (sleep 0.01; kill -SEGV $$) & {WAIT}");
    let silent = format!("trap 'exit 0' INT; echo ready; {WAIT}");
    let fileless = format!("{silent} # {{file}}");
    let broken = format!("echo this is no capture > {{file}}; {silent}");
    let cases = [
        Mistake {
            name: "early",
            script: "echo no such luck >&2; exit 3",
            definition: counts,
            error: "it ended before it could receive, with exit status 3; it said last: \"no such luck\"",
        },
        Mistake {
            name: "background",
            script: "setsid sleep 1000 & exit 0",
            definition: counts,
            error: "exit status 0 (a program must stay in the foreground); it said nothing",
        },
        Mistake {
            name: "hangs",
            script: "exec sleep 1000",
            definition: &never,
            error: "was not ready within 300ms: it has no packet socket on cbr",
        },
        Mistake {
            name: "mumbles",
            script: "echo nearly; exec sleep 1000",
            definition: &hasty,
            error: "was not ready within 1s: it did not say \"ready\"; it said last: \"nearly\"",
        },
        Mistake {
            name: "deaf",
            script: &deaf,
            definition: &hasty,
            error: "did not stop: SIGINT and SIGTERM did not end it, so it was killed",
        },
        Mistake {
            name: "dying",
            script: &dying,
            definition: &ready,
            error: "with signal 11; it said last: \"ready\"",
        },
        Mistake {
            name: "silent",
            script: &silent,
            definition: &ready,
            error: "it did not report how many frames it captured when it was ended with SIGINT, as \"99 packets captured\" \
                    does; it said last: \"ready\"",
        },
        Mistake {
            name: "fileless",
            script: &fileless,
            definition: "ready = 'ready'",
            error: "its capture file was not written",
        },
        Mistake {
            name: "broken",
            script: &broken,
            definition: "ready = 'ready'",
            error: "its capture file is neither pcap nor pcapng",
        },
    ];
    let programs = scripts(cases.each_ref().map(|case| (case.name, case.script, case.definition)));
    check_at_once(&programs, &cases, |laboratory, case| {
        let error = run_with_few(laboratory, &format!("cmd:{}", case.name)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(LabError::inside(&error), Some(LabError::Program { .. })), "{text}");
        assert!(text.starts_with(&format!("cmd:{}: ", case.name)) && text.contains(case.error), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let next = run_with_few(laboratory, "packet-v3").unwrap();
        assert_eq!((next.delivered, next.unexplained), (next.sent, 0), "after {}", case.name);
    });
}

#[test]
fn root_a_program_that_is_not_installed_is_left_out_with_the_reason() {
    let Some(_turn) = turn() else { return };
    let text = "[programs.none]\ncommand = ['no-such-program', '{file}']\n[programs.path]\ncommand = ['/no/such', '{file}']\n\
                [programs.text]\ncommand = ['/proc/version', '{file}']";
    let mut laboratory = laboratory(defined(text));
    for (method, expected) in [
        ("cmd:none", "no program no-such-program on the PATH"),
        ("cmd:path", "there is no file /no/such"),
        ("cmd:text", "/proc/version may not be executed: Permission denied"),
    ] {
        let error = run(&mut laboratory, method).unwrap_err();
        let TrialError::Unsupported { what, reason } = &error else { panic!("{error}") };
        assert!(what == method && reason.contains(expected), "{error}");
    }
    assert_nothing_left();
}

/// A program whose words and file do not agree, or which does not end as it is asked to.
struct Doubtful<'t> {
    name: &'t str,
    /// Frames that its file lacks.
    missing: u64,
    note: &'t str,
}

#[test]
fn root_what_a_program_says_is_set_against_what_its_file_has() {
    let Some(_turn) = turn() else { return };
    let _ = program("tcpdump");
    let tcpdump = "trap : INT; tcpdump -n -Z root -i \"$1\" -w {file}";
    let counts = "ready = 'listening on'\nholds = '1s'\ncounts = { captured = '(\\d+) packets captured' }";
    let boasts = format!("{tcpdump}; echo 99000 packets captured >&2");
    let cuts = format!("{tcpdump}; truncate -s -1 {{file}}");
    let fails = format!("{tcpdump}; exit 7");
    let orphans = format!("setsid sleep 1000 & {tcpdump}");
    let quiet = format!("{tcpdump} 2>&1 | grep --line-buffered listening");
    let late = format!(
        "trap 'kill -INT $child' TERM; trap '' INT; setsid {} & child=$!; wait; wait",
        &tcpdump[12..]
    );
    let late_definition = format!("{counts}\npatience = '2s'");
    let programs = scripts([
        ("boasts", boasts.as_str(), counts),
        ("cuts", &cuts, counts),
        ("fails", &fails, counts),
        ("orphans", &orphans, counts),
        ("quiet", &quiet, counts),
        ("late", &late, &late_definition),
    ]);
    let cases = [
        Doubtful { name: "boasts", missing: 0, note: "CapturedUnlikeFile { captured: 99000, in_file: " },
        Doubtful { name: "cuts", missing: 1, note: "LastRecordCut" },
        Doubtful { name: "fails", missing: 0, note: "UnusualEnd { status: \"exit status 7\" }" },
        Doubtful { name: "orphans", missing: 0, note: "LeftProcesses { processes: 1 }" },
        Doubtful {
            name: "quiet",
            missing: 0,
            note: "NotReported { counts: [\"captured\"], output: \"it said last: \\\"tcpdump: listening",
        },
        Doubtful {
            name: "late",
            missing: 0,
            note: "StoppedLate { signal: \"SIGINT\", waited_ns: 2000000000 }",
        },
    ];
    check_at_once(&programs, &cases, |laboratory, case| {
        let trial = run_with_few(laboratory, &format!("cmd:{}", case.name)).unwrap();
        assert_eq!(trial.delivered + case.missing, trial.sent, "{} {trial:#?}", case.name);
        let expected = format!("Program {{ program: {:?}, note: {}", case.name, case.note);
        assert!(format!("{:?}", trial.noise).contains(&expected), "{}: {:?}", case.name, trial.noise);
    });
}

#[test]
fn root_a_missing_end_hints_at_the_time_that_a_program_holds_frames_back() {
    let Some(_turn) = turn() else { return };
    let _ = program("tcpdump");
    let script = format!(
        "trap 'exit 0' INT; tcpdump -n -Z root -i \"$1\" -c 100 --immediate-mode -w {{file}}; {WAIT}"
    );
    let counts = "ready = 'listening on'\ncounts = { captured = '(\\d+) packets captured' }";
    let mut laboratory = laboratory(scripts([("forgets", script.as_str(), counts)]));
    let trial = run(&mut laboratory, "cmd:forgets").unwrap();
    // Fewer where the host is busy.
    assert!((1..=100).contains(&trial.delivered), "{trial:#?}");
    // How many depends on whether the host lost some of those before.
    let is_missing = |noise: &Noise| {
        matches!(noise, Noise::Program { note: ProgramNote::MissingAtEnd { in_file: true, .. }, .. })
    };
    assert!(trial.noise.reasons.iter().any(is_missing), "{:?}", trial.noise);
    assert_nothing_left();
}
