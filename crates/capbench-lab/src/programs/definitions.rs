//! Programs that a user defines in a TOML file; `examples/programs.toml` is one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use capbench_sys::host::process::Signal;
use capbench_sys::host::trust::{self, Trust};
use regex_lite::Regex;
use serde::Deserialize;

use super::program::{Absent, Count, Meaning, PATIENCE, Program, Ready};
use super::{arguments, presets};
use crate::{LabError, Result};
use capbench_host::HostError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    programs: BTreeMap<String, Definition>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    command: Vec<String>,
    summary: Option<String>,
    #[serde(default)]
    not_promiscuous: Vec<String>,
    ready: Option<String>,
    patience: Option<String>,
    holds: Option<String>,
    stop: Option<String>,
    #[serde(default)]
    counts: BTreeMap<String, String>,
    #[serde(default)]
    without: Vec<Absent>,
}

/// The programs that the file at `path` defines.
///
/// # Errors
/// A file that cannot be read or is under the control of others when root reads it ([`LabError::Host`]), or is not a valid
/// definition ([`LabError::Definition`]).
pub(super) fn read(path: &Path) -> Result<Vec<Program>> {
    let text = Trust::for_instructions().read_text(path, trust::LONGEST);
    let text = text.map_err(|source| HostError::reading(path, trust::advised(source)))?;
    parse(&text).map_err(|reason| LabError::Definition { path: path.into(), reason })
}

/// A program by its command line alone, with the words between spaces as arguments. capbench verifies the frames of its `{file}`,
/// else it prints the usual counts.
pub(super) fn of_command_line(line: &str) -> std::result::Result<Program, String> {
    // Quotes around all of it may have come through the shell.
    let unquoted = ['\'', '"'].into_iter().find_map(|quote| line.strip_prefix(quote)?.strip_suffix(quote));
    let (name, line) = (line, unquoted.unwrap_or(line));
    if line.contains(['\'', '"', '\\']) {
        return Err(
            "no shell reads it, so quotes have no meaning; a file of --programs can have such arguments"
                .into(),
        );
    }
    let mut command: Vec<String> = line.split_whitespace().map(String::from).collect();
    if !command.iter().any(|word| arguments::has(word, "interface")) {
        return Err("it has no {interface}, so that the program would not know where to capture".into());
    }
    // The program runs in a directory of the trial.
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        let path = std::path::absolute(&*program).map_err(|error| error.to_string())?;
        *program = path.display().to_string();
    }
    let has_file = command.iter().any(|word| arguments::has(word, "file"));
    let counts = if has_file { BTreeMap::new() } else { presets::usual_counts() };
    let definition = Definition { command, summary: Some(line.into()), counts, ..Definition::default() };
    Ok(Program { name: name.into(), ..program("command", definition)? })
}

pub(crate) fn parse(text: &str) -> std::result::Result<Vec<Program>, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        // The library shows the position in further lines.
        format!("line {line}: {}", error.message().lines().collect::<Vec<_>>().join(" "))
    })?;
    if file.programs.is_empty() {
        return Err("it defines no program; write [programs.NAME]".into());
    }
    file.programs
        .into_iter()
        .map(|(name, definition)| {
            program(&name, definition).map_err(|reason| format!("programs.{name}: {reason}"))
        })
        .collect()
}

fn program(name: &str, definition: Definition) -> std::result::Result<Program, String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_name {
        return Err("a name has letters, digits, -, _ and . only".into());
    }
    if definition.command.first().is_none_or(String::is_empty) {
        return Err("command: the first word is the program".into());
    }
    for argument in definition.command.iter().chain(&definition.not_promiscuous) {
        arguments::check(argument).map_err(|reason| format!("command: {reason}"))?;
    }
    let counts = definition
        .counts
        .iter()
        .map(|(name, pattern)| count(name, pattern).map_err(|reason| format!("counts.{name}: {reason}")))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let program = Program {
        name: name.into(),
        summary: definition.summary.unwrap_or_else(|| definition.command.join(" ")),
        command: definition.command,
        not_promiscuous: definition.not_promiscuous,
        ready: match definition.ready {
            Some(pattern) => Ready::Says(regex(&pattern).map_err(|reason| format!("ready: {reason}"))?),
            None => Ready::Socket,
        },
        patience: time("patience", definition.patience)?.unwrap_or(PATIENCE),
        holds: time("holds", definition.holds)?.unwrap_or_default(),
        stop: match definition.stop {
            Some(signal) => signal.parse().map_err(|reason| format!("stop: {reason}"))?,
            None => Signal::Interrupt,
        },
        version: None,
        counts,
        without: definition.without.iter().map(|absent| absent.place().0).collect(),
        source: None,
        only_root: None,
        untested: None,
        remark: None,
    };
    let counts = |meaning| program.counts.iter().any(|count| count.meaning == meaning);
    for counted in definition.without.iter().filter_map(|absent| absent.place().1) {
        if counts(counted) {
            return Err("without: a count already reports what is lost at this place".into());
        }
    }
    let tells = counts(Meaning::Captured) || (counts(Meaning::Received) && counts(Meaning::Dropped));
    if !program.writes_file() && !tells {
        return Err(
            "nothing would report what it captured: give it {file} to write to, or a pattern counts.captured"
                .into(),
        );
    }
    Ok(program)
}

fn count(name: &str, pattern: &str) -> std::result::Result<Count, String> {
    let pattern = regex(pattern)?;
    if pattern.captures_len() < 2 {
        return Err(
            r"the pattern has no group around the number; write for example '(\d+) packets captured'".into(),
        );
    }
    let meaning = match name {
        "received" => Meaning::Received,
        "dropped" => Meaning::Dropped,
        "captured" => Meaning::Captured,
        "queue_dropped" => Meaning::QueueDropped,
        _ => Meaning::Other,
    };
    Ok(Count { name: name.into(), meaning, pattern })
}

fn regex(pattern: &str) -> std::result::Result<Regex, String> {
    // The library draws the position in further lines; the last line is the error.
    Regex::new(pattern).map_err(|error| {
        let text = error.to_string();
        format!("{pattern:?} is no regular expression: {}", text.lines().last().unwrap_or_default().trim())
    })
}

fn time(key: &str, text: Option<String>) -> std::result::Result<Option<Duration>, String> {
    text.map(|text| {
        humantime::parse_duration(&text)
            .map_err(|_| format!("{key}: \"{text}\" is not a duration; write for example 500ms or 10s"))
    })
    .transpose()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::places::Place;
    use capbench_sys::host::process::Signal;

    use super::{of_command_line, parse, read};
    use crate::programs::{Meaning, Ready};

    #[test]
    fn a_command_line_is_a_program_with_the_usual_counts_or_a_file() {
        let counting = of_command_line("./prog -i {interface} -n").unwrap();
        let path = std::env::current_dir().unwrap().join("prog");
        assert_eq!(counting.command, [&*path.display().to_string(), "-i", "{interface}", "-n"]);
        let meanings: Vec<_> = counting.counts.iter().map(|count| count.meaning).collect();
        assert_eq!(meanings, [Meaning::Captured, Meaning::Dropped, Meaning::Received]);
        let writing = of_command_line("tcpdump -i {interface} -w {file}").unwrap();
        assert!(writing.writes_file() && writing.counts.is_empty() && writing.command[0] == "tcpdump");
        assert_eq!(writing.name, "tcpdump -i {interface} -w {file}");
        let quoted = of_command_line("'cat {interface}'").unwrap();
        assert_eq!(
            (quoted.command.join(" "), quoted.name),
            ("cat {interface}".into(), "'cat {interface}'".into())
        );
        for (line, reason) in [
            ("./prog eth0", "no {interface}"),
            ("sh -c 'x {interface}'", "quotes"),
            ("x {interface} {rin}", "placeholder"),
        ] {
            assert!(of_command_line(line).unwrap_err().contains(reason), "{line}");
        }
    }

    #[test]
    fn a_definition_is_read_and_defaults_are_filled_in() {
        let text = r#"
            [programs.mine]
            command = ["tcpdump", "-i", "{interface}", "-w", "{file}"]
            ready = "listening on"
            stop = "TERM"
            patience = "3s"
            holds = "250ms"
            [programs.mine.counts]
            captured = '(\d+) packets captured'
            'my own' = 'own (\d+)'
            [programs.other]
            command = ["cat"]
            counts = { received = '(\d+) in', dropped = '(\d+) out' }
            without = ["fill_ring", "method_queue"]
        "#;
        let programs = parse(text).unwrap();
        let [mine, other] = &programs[..] else { panic!("{programs:?}") };
        assert!(
            mine.writes_file() && matches!(&mine.ready, Ready::Says(_)) && mine.stop == Signal::Terminate
        );
        assert_eq!((mine.patience, mine.holds), (Duration::from_secs(3), Duration::from_millis(250)));
        let meanings: Vec<_> = mine.counts.iter().map(|count| count.meaning).collect();
        assert_eq!(meanings, [Meaning::Captured, Meaning::Other]);
        assert!(matches!(other.ready, Ready::Socket) && other.stop == Signal::Interrupt);
        assert_eq!(other.without, [Place::FillRing, Place::MethodQueue]);
        assert!(mine.without.is_empty(), "unknown, where a definition says nothing");
        assert_eq!((other.summary.as_str(), other.patience), ("cat", super::PATIENCE));
    }

    #[test]
    fn the_example_is_a_definition() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/programs.toml");
        assert!(!read(path.as_ref()).unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, expected) in [
            ("", "line 1: missing field `programs`"),
            ("programs = {}", "it defines no program"),
            ("[programs.a]\n", "missing field `command`"),
            ("[programs.a]\ncommand = 'ls'\n", "line 2: invalid type"),
            ("[programs.a]\ncommand = []\n", "programs.a: command: the first word"),
            ("[programs.a]\ncommand = ['x']\ncolour = 1\n", "unknown field `colour`"),
            ("[programs.a]\ncommand = ['x']\n", "programs.a: nothing would report what it captured"),
            ("[programs.a]\ncommand = ['x']\ncounts = { dropped = '(1)' }", "nothing would report"),
            ("[programs.a]\ncommand = ['x', '{iface}']\n", "no placeholder {iface}"),
            ("[programs.a]\ncommand = ['{file}']\nwithout = ['disk']", "unknown variant `disk`"),
            (
                "[programs.a]\ncommand = ['{file}']\nwithout = ['ring']\ncounts = { dropped = '(1)' }",
                "without: a count already reports",
            ),
            ("[programs.a]\ncommand = ['{file}']\nstop = 'STOP'\n", "stop: \"STOP\" is no signal"),
            ("[programs.a]\ncommand = ['{file}']\nholds = 'x'\n", "holds: \"x\" is not a duration"),
            ("[programs.a]\ncommand = ['{file}']\nready = '('\n", "ready: \"(\" is no regular expression"),
            (
                "[programs.a]\ncommand = ['x']\ncounts = { captured = '1' }",
                "counts.captured: the pattern has no",
            ),
            ("[programs.\"a b\"]\ncommand = ['{file}']\n", "a name has letters"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{text:?}: {error}");
        }
        let error = read("/no/such/programs.toml".as_ref()).unwrap_err().to_string();
        assert!(error.contains("cannot read /no/such/programs.toml"), "{error}");
    }

    #[test]
    fn root_definitions_and_programs_of_somebody_else_are_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown};
        if capbench_testing::network::privileges().is_none() {
            return;
        }
        let scratch = capbench_testing::Scratch::new();
        let (file, program) = (scratch.file("programs.toml"), scratch.file("program"));
        let text =
            format!("[programs.x]\ncommand = [\"{}\", \"{{interface}}\", \"{{file}}\"]\n", program.display());
        std::fs::write(&file, text).unwrap();
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let set = |path: &std::path::Path, owner, mode| {
            chown(path, Some(owner), None).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&program, 0, 0o755);
        let programs = read(&file).unwrap();
        assert_eq!(programs[0].executable().as_ref(), Ok(&program));
        for (owner, mode, expected) in [
            (1234, 0o600, "belongs to user 1234; as root, capbench runs only"),
            (0, 0o666, "may be written by everybody"),
        ] {
            set(&file, owner, mode);
            let error = read(&file).unwrap_err();
            let error = format!(
                "{error}: {}",
                std::error::Error::source(&error).map_or(String::new(), ToString::to_string)
            );
            assert!(error.contains(expected), "{error}");
            set(&program, owner, mode | 0o111);
            let error = programs[0].executable().unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        set(&program, 0, 0o755);
        // A script that the program of a command line reads is checked, too.
        set(&file, 1234, 0o600);
        let script = format!("sh {} {{interface}} {{file}}", file.display());
        let error = of_command_line(&script).unwrap().executable().unwrap_err();
        assert!(error.contains("belongs to user 1234"), "{error}");
    }
}
