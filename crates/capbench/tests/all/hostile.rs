//! Names of others with control sequences in them, through every command: what they print moves no cursor, sets no title and
//! hides nothing.

use crate::runs;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use crate::support::{Ended, HOST, Place, Running, Scratch, capbench, program, run, scratch_of_root};
use capbench_model::not_measured::NotMeasured;
use capbench_model::running::CaptureFacts;
use capbench_model::units::SnapLength;
use capbench_record::file::{Encoder, HashAlgorithm, InterfaceDescription, SectionDescription};
use capbench_results::{Results, RunDirectory};

/// Sets the title, clears the screen, colours, deletes, returns, and turns the direction of text; in C0, DEL, C1 and Unicode.
const HOSTILE: &str = "evil\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{7f}\r\u{202e}\u{2066}";

/// The same for a name of 15 octets.
const SHORT: &str = "evil\u{1b}[2J\u{7}";

fn assert_printable(what: &str, text: &str) {
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(acts), "{what}: {text:?}");
}

/// Looks that a command repeated a hostile name, and that nothing of it reaches a terminal.
fn assert_harmless(what: &str, ended: &Ended) {
    assert_printable(what, &ended.out);
    assert_printable(what, &ended.errors);
    let all = format!("{}{}", ended.out, ended.errors);
    assert!(all.contains("evil"), "{what} does not show the name: {ended:#?}");
    assert!(!ended.errors.contains("panicked"), "{what}: {ended:#?}");
}

/// A pcapng file without packets whose interface has a hostile name.
fn pcapng() -> Vec<u8> {
    let interface =
        InterfaceDescription { name: Some(format!("{HOSTILE}\nforged line")), ..Default::default() };
    let section = SectionDescription::default();
    let encoder =
        Encoder::pcapng(&section, &[interface], SnapLength::EVERYTHING, HashAlgorithm::default()).unwrap();
    encoder.header()
}

/// A run of others.
fn results() -> Results {
    let mut results = runs::bench();
    results.command.push(HOSTILE.into());
    results.statements.push(HOSTILE.into());
    results.not_measured.push(NotMeasured {
        method: HOSTILE.into(),
        test: None,
        placement: Some(HOSTILE.into()),
        frame_size: None,
        load: None,
        reason: HOSTILE.into(),
    });
    for trial in &mut results.trials {
        trial.profile.method = format!("{}{HOSTILE}", trial.profile.method).into();
        trial.capture = Some(CaptureFacts::from_texts(HOSTILE, HOSTILE));
        trial.profile.placement = format!("{}{HOSTILE}", trial.profile.placement).into();
    }
    for finding in &mut results.findings {
        finding.text.push_str(HOSTILE);
    }
    results
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(|word| word.replace('%', HOSTILE).into()).collect()
}

/// What each command is called with; % is the hostile name.
const COMMANDS: [&str; 36] = [
    "%",
    "--%",
    "bench --method % --dry-run",
    "bench --against % --dry-run",
    "bench --programs programs.toml --dry-run",
    "bench --size % --dry-run",
    "bench --work % --dry-run",
    "search --goal % --dry-run",
    "search --goals %",
    "search --resume %",
    "sweep %",
    "sweep work --points % --dry-run",
    "reproduce %",
    "rfc2544 --test % --dry-run",
    "rfc2544 --method % --dry-run",
    "soak --rate % --for 1s",
    "soak --rate 1k --for 1s --method %",
    "send -i % --duration 1s --rate 1k",
    "send -i lo --size %",
    "count -i %",
    "count -i lo --method %",
    "record -i % -w out.pcapng",
    "record -i lo -w %/out.pcapng",
    "record -i lo -d %",
    "convert % out.pcapng",
    "convert evil.pcapng %/out.pcapng",
    "verify %",
    "verify evil.pcapng",
    "verify --json evil.pcapng",
    "why -i % --once",
    "methods --programs %",
    "methods --programs programs.toml",
    "report %",
    "report run",
    "compare run other",
    "compare --json run other",
];

#[test]
fn hostile_names_reach_no_terminal() {
    let folder = Scratch::new();
    fs::write(folder.file("evil.pcapng"), pcapng()).unwrap();
    for (started_unix_s, name) in [(1_700_000_000, "run"), (1_700_001_000, "other")] {
        let results = Results { started_unix_s, ..results() };
        RunDirectory::create(&folder.file(name)).unwrap().save(&results).unwrap();
    }
    let escaped = "evil\\u001b[2J\\u009b31m\\u007f\\u202e";
    fs::write(folder.file("programs.toml"), format!("[\"{escaped}\"]\ncommand = [\"{escaped}\"]\n")).unwrap();
    for line in COMMANDS {
        let ended = run(HOST, capbench("").args(words(line)).current_dir(folder.path()));
        assert_harmless(line, &ended);
    }
}

#[test]
fn a_forged_line_of_a_file_is_no_line() {
    let folder = Scratch::new();
    fs::write(folder.file("evil.pcapng"), pcapng()).unwrap();
    let ended = run(HOST, capbench("verify evil.pcapng").current_dir(folder.path()));
    assert!(ended.out.contains("forged") && !ended.out.contains("\nforged"), "{ended:#?}");
}

#[test]
fn a_report_as_csv_keeps_every_octet_in_a_pipe_and_is_printable_on_a_terminal() {
    let folder = Scratch::new();
    RunDirectory::create(&folder.file("run")).unwrap().save(&results()).unwrap();
    let command = ["report", "run", "--format", "csv", "--stdout"];
    let piped = run(HOST, capbench("").args(command).current_dir(folder.path())).success();
    assert!(piped.out.contains(HOSTILE), "{piped:#?}");
    let line = format!("{} {}", capbench("").get_program().to_string_lossy(), command.join(" "));
    let shown =
        run(HOST, program("script").args(["-qec", &line, "/dev/null"]).current_dir(folder.path())).success();
    assert!(shown.out.contains("evil"), "{shown:#?}");
    // A terminal's driver ends each line by CR LF.
    assert_printable("on a terminal", &shown.out.replace("\r\n", "\n"));
}

#[test]
fn a_method_of_others_is_no_formula_in_a_spreadsheet() {
    let folder = Scratch::new();
    let mut results = runs::bench();
    results.trials.iter_mut().for_each(|trial| trial.profile.method = "=HYPERLINK(A1)".into());
    RunDirectory::create(&folder.file("run")).unwrap().save(&results).unwrap();
    run(HOST, capbench("report run --format csv").current_dir(folder.path())).success();
    for file in ["run/trials.csv", "run/tidy.csv", "run/tables/trials.csv"] {
        let text = fs::read_to_string(folder.file(file)).unwrap();
        assert!(text.contains(",'=HYPERLINK(A1)") && !text.contains(",=HYPERLINK"), "{file}: {text}");
    }
}

#[test]
fn a_histogram_that_claims_more_than_there_is_takes_no_memory() {
    let folder = Scratch::new();
    RunDirectory::create(&folder.file("run")).unwrap().save(&runs::bench()).unwrap();
    let file = folder.file("run/results.json");
    let mut results: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    // A deflated header that claims 2,000,000,000 octets of counts.
    let bomb = "HISTFAAAACF4nJNpmSxcbjqFAQqYoTQjkOlmsGMBg/0HiAATAH9pBY0=";
    let delays = serde_json::json!({
        "frames": 1, "min_ns": 1, "mean_ns": 1.0, "p50_ns": 1, "p90_ns": 1, "p99_ns": 1, "p99_9_ns": 1, "max_ns": 1,
        "pdv_ns": 0, "below_zero": 0, "histogram": bomb,
    });
    results["trials"][0]["latency"]["total"] = delays;
    fs::write(&file, results.to_string()).unwrap();
    // Twice what it takes to read the other trials.
    let ended = run(
        HOST,
        program("prlimit --as=600000000")
            .arg(capbench("").get_program())
            .args(["report", "run"])
            .current_dir(folder.path()),
    )
    .success();
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("claims 2000000000 octets of counts"), "{ended:#?}");
}

#[test]
fn root_names_of_interfaces_and_processes_reach_no_terminal() {
    let Some(folder) = scratch_of_root() else { return };
    let place = Place::with_pair();
    place.ip(&format!("link add name {SHORT} type veth peer name peer"));
    for name in [SHORT, "peer"] {
        place.ip(&format!("link set dev {name} arp off up"));
    }
    // A process is called as the file of its program.
    let named = folder.copy_of_capbench(SHORT);
    let mut owner = Running::start(&place, Command::new(&named).args(["count", "-i", SHORT]));
    owner.wait_for(" on evil");

    let here = |line: &str| {
        let words = line.split(' ').map(|word| word.replace('%', SHORT));
        run(&place, capbench("").args(words).current_dir(folder.path()))
    };
    let why = here("why -i % --once --for 200ms");
    assert!(why.out.matches("evil").count() >= 2, "interface and process: {why:#?}");
    let naming = [
        "why -i % --once --for 200ms",
        "why -i % --once --for 200ms --json",
        "why -i % --for 1200ms",
        "count -i % --duration 200ms",
        "record -D",
        "record -i % -L",
        "record -i % -w out.pcapng --duration 200ms",
        "verify out.pcapng",
    ];
    for line in naming {
        assert_harmless(line, &here(line));
    }
    for line in [
        "send -i % --isolated --duration 10ms --rate 1k",
        "bench --tx peer --rx % --isolated --method recv --rate 1k --duration 100ms --quiet 50ms --out bench",
    ] {
        let ended = here(line);
        assert_printable(line, &ended.out);
        assert_printable(line, &ended.errors);
    }
    let extcap = run(&place, capbench("extcap --extcap-interfaces")).success();
    assert_printable("extcap", &extcap.out);
    assert!(!extcap.out.contains("evil") && extcap.out.contains("capbench-peer"), "{extcap:#?}");
    owner.signal("INT");
    assert_harmless("count until it is stopped", &owner.end());
}
