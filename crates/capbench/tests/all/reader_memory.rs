//! Memory of the readers of foreign octets: each reads what takes most within the limit that docs/security.md states. A process
//! that needs more has none left, and ends by a signal.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, capbench, program, run};

/// What capbench takes without an input, in octets.
const BASE: u64 = 80 << 20;

/// A reader, as its row in docs/security.md has it.
struct Reader {
    name: &'static str,
    /// Peak memory as a multiple of the input.
    multiple: u64,
    /// What takes most.
    inputs: &'static [fn() -> Vec<u8>],
    /// The command line that reads the file `FILE`, in the folder `FOLDER`.
    command: &'static str,
    /// Whether it reads the file as its standard input.
    is_stdin: bool,
}

const MIB: usize = 1 << 20;

/// Octets of most inputs: a part of what is allowed shows the same multiple.
const PART: usize = 4 * MIB;

/// As many elements as fit into so many octets.
fn filled(octets: usize, begin: &str, element: &str, end: &str) -> Vec<u8> {
    let count = (octets - begin.len() - end.len() - 64) / element.len();
    let all = element.repeat(count);
    [begin, all.trim_end_matches(','), end].concat().into_bytes()
}

fn message(begin: &str, element: &str, end: &str) -> Vec<u8> {
    let body = filled(PART, begin, element, end);
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
}

const RESULTS: &str = r#"{"schema_version":1,"command":["bench"],"started_unix_s":1,"environment":{},"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2,"trace":false,"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"#;
const PLAN: &str = r#"{"id":1,"request":{"Plan":{"memory_elsewhere":0,"flows":["#;

/// It is read before the certificates.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
const STATE: &str = r#"{"version":1,"identity":{"interface":"lo"},"boot":"x","phase":"applied","#;

const READERS: [Reader; 14] = [
    Reader {
        name: "`results.json`",
        multiple: 10,
        inputs: &[
            || filled(PART, &format!("{RESULTS}\"statements\":["), "\"\",", "]}"),
            || filled(PART, &format!("{RESULTS}\"trials\":["), "{\"\":0},", "]}"),
            || filled(PART, &format!("{RESULTS}\"notes\":["), "{},", "]}"),
        ],
        command: "report FILE",
        is_stdin: false,
    },
    Reader {
        name: "calls to an agent",
        multiple: 4,
        inputs: &[
            || message(&format!("{CALL}\"x\":["), "{\"\":0},", "]}}"),
            || message(CALL, "\"x\":0,", "}}"),
            || message("[", "[],", "]"),
        ],
        command: "agent --allow send:lo",
        is_stdin: true,
    },
    Reader {
        name: "answers of an agent",
        multiple: 7,
        inputs: &[
            || message(&format!("{ANSWER}\"x\":["), "{\"\":0},", "]}}"),
            || message(&format!("{ANSWER}\"cpus\":["), "1,", "]}}"),
            || message(&format!("{ANSWER}\"programs\":["), "\"\",", "]}}"),
        ],
        command: "bench --quick --tx exec:cat\u{a0}FILE,lo --rx exec:cat\u{a0}FILE,lo2",
        is_stdin: false,
    },
    Reader {
        name: "requests to an engine of `otg`",
        multiple: 6,
        inputs: &[
            || {
                message(
                    &format!("{PLAN}{{\"number\":0,\"stream\":0,\"path\":\"\",\"flow\":["),
                    "{\"\":0},",
                    "]}]}}}",
                )
            },
            || message(PLAN, r#"{"number":0,"stream":0,"path":"","flow":0},"#, "]}}}"),
            || message(r#"{"id":1,"request":{"Prepare":{"trial":1,"flows":["#, "1,", "]}}}"),
        ],
        command: "otg --agent --isolated --port lo",
        is_stdin: true,
    },
    Reader {
        name: "packet files",
        multiple: 300,
        inputs: &[|| filled(MIB / 2, "", "[[flow]]\n", ""), || filled(MIB / 2, "x=[", "{a=0},", "]")],
        command: "send --isolated -i lo --duration 1s --packet FILE",
        is_stdin: false,
    },
    Reader {
        name: "campaign files",
        multiple: 300,
        inputs: &[|| filled(MIB / 2, "x=[", "{a=0},", "]"), || filled(MIB / 2, "", "[[run]]\n", "")],
        command: "campaign FILE --dry-run",
        is_stdin: false,
    },
    Reader {
        name: "capture files",
        multiple: 4,
        inputs: &[|| interfaces(PART)],
        command: "convert FILE /dev/null",
        is_stdin: false,
    },
    Reader {
        name: "captures that `verify` reads",
        multiple: 4,
        inputs: &[|| interfaces(PART)],
        command: "verify FILE",
        is_stdin: false,
    },
    Reader {
        name: "files of `--programs`",
        multiple: 300,
        inputs: &[
            || filled(MIB / 2, "x=[", "{a=0},", "]"),
            || filled(MIB / 2, "[programs.a]\nready=[", "\"\",", "]"),
        ],
        command: "bench --isolated --tx lo --rx lo --quick --programs FILE --method cmd:a",
        is_stdin: false,
    },
    Reader {
        name: "files of goals",
        multiple: 300,
        inputs: &[
            || filled(MIB / 2, "x=[", "{a=0},", "]"),
            || filled(MIB / 2, "[goals.a]\nloss=[", "0,", "]"),
        ],
        command: "search --goals FILE --dry-run",
        is_stdin: false,
    },
    Reader {
        name: "files of `--web-config`",
        multiple: 300,
        inputs: &[users, || filled(MIB / 2, "basic_auth_users:\n  a: ", "x", "\n")],
        command: "count -i lo --duration 1s --metrics 127.0.0.1:0 --web-config FILE",
        is_stdin: false,
    },
    Reader {
        name: "files of `--http-config`",
        multiple: 300,
        inputs: &[
            || filled(MIB / 2, "tls_config:\n  ca_file: ", "x", "\n"),
            || filled(MIB / 2, "tls_config:\n  ca_file: [", "{a: 0},", "]\n"),
        ],
        command: "bench --quick --tx otg:https://127.0.0.1:1,p1 --rx lo --http-config FILE",
        is_stdin: false,
    },
    Reader {
        name: "a state of `tune`",
        multiple: 14,
        inputs: &[
            || filled(PART - MIB, &format!("{STATE}\"saved\":["), "{\"\":0},", "]}"),
            || filled(PART - MIB, &format!("{STATE}\"x\":["), "\"\",", "]}"),
        ],
        command: "tune restore -i lo --state FOLDER",
        is_stdin: false,
    },
    Reader {
        name: "certificates (PEM)",
        multiple: 8,
        inputs: &[
            || filled(MIB / 2, KEY, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
            || {
                let begin = format!("{KEY}-----BEGIN CERTIFICATE-----\n");
                filled(MIB / 2, &begin, "AAAAAAAA\n", "-----END CERTIFICATE-----\n")
            },
        ],
        command: "otg --port lo --tls-cert FILE --tls-key FILE",
        is_stdin: false,
    },
];

/// A web configuration of many users.
fn users() -> Vec<u8> {
    let hash = "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u";
    let users: String = (0..MIB / 2 / 80).map(|number| format!("  {number:06}u: {hash}\n")).collect();
    format!("basic_auth_users:\n{users}").into_bytes()
}

/// A pcapng file of interface descriptions.
fn interfaces(octets: usize) -> Vec<u8> {
    let section = [
        &0x0a0d_0d0a_u32.to_le_bytes()[..],
        &28_u32.to_le_bytes(),
        &0x1a2b_3c4d_u32.to_le_bytes(),
        &[1, 0, 0, 0],
        &[0xff; 8],
        &28_u32.to_le_bytes(),
    ];
    let interface =
        [&1_u32.to_le_bytes()[..], &20_u32.to_le_bytes(), &[1, 0, 0, 0], &[0; 4], &20_u32.to_le_bytes()];
    let interface = interface.concat();
    [section.concat(), interface.repeat(octets / interface.len())].concat()
}

fn command(reader: &Reader, file: &Path, octets: u64) -> Command {
    let limit = (BASE + reader.multiple * octets) / 1024;
    let from = if reader.is_stdin { format!(" < '{}'", file.display()) } else { String::new() };
    let mut shell = program("sh");
    shell
        .args(["-c", &format!("ulimit -d {limit} && exec \"$@\"{from}"), "sh"])
        .arg(capbench("").get_program());
    let folder = file.parent().unwrap().display().to_string();
    let file = file.display().to_string();
    for word in reader.command.split(' ') {
        shell.arg(word.replace("FILE", &file).replace("FOLDER", &folder).replace('\u{a0}', " "));
    }
    shell
}

#[test]
fn readers_of_foreign_octets_take_no_more_memory_than_the_documentation_states() {
    let folder = Scratch::new();
    for reader in &READERS {
        for (number, input) in reader.inputs.iter().enumerate() {
            // A state of `tune` has this name, and a file with a key is its owner's.
            let (file, octets) = (folder.file("lo.json"), input());
            std::fs::write(&file, &octets).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            let ended = run(None, command(reader, &file, octets.len() as u64));
            assert_eq!(ended.signal, None, "{}, input {number}: {ended:#?}", reader.name);
        }
    }
}

/// The table lists each reader with a multiple, and nothing else has one.
#[test]
fn the_documentation_states_the_memory_of_every_reader() {
    let page = include_str!("../../../../docs/security.md");
    let (_, section) = page.split_once("## Memory of readers").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut documented = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        if let Some(multiple) = cells[2].strip_suffix(" times").and_then(|number| number.parse::<u64>().ok())
        {
            documented.insert(cells[0].to_string(), multiple);
        }
    }
    let measured: BTreeMap<_, _> =
        READERS.iter().map(|reader| (reader.name.to_string(), reader.multiple)).collect();
    assert_eq!(documented, measured);
}
