//! Memory of the readers of foreign octets: each reads what takes most within the limit that docs/security.md states. A process
//! that needs more has none left, and ends by a signal.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;

use capbench_testing::http;
use serde_json::json;

use crate::support::{Ended, Running, Scratch, capbench, privileges, program, run};

/// What capbench takes without an input, in octets.
const BASE: u64 = 20 << 20;

/// A reader, as its row in docs/security.md has it.
struct Reader {
    name: &'static str,
    /// Peak memory as a multiple of the input.
    multiple: u64,
    way: Way,
    /// What takes most.
    inputs: Vec<Vec<u8>>,
}

/// How a reader gets its input.
enum Way {
    /// It is the file `$FILE`, in the folder `$FOLDER`, of a line of sh. `$CAPBENCH` is the program.
    File(&'static str),
    /// The engine of a port of `capbench otg` writes it.
    Engine,
    /// A server that `--tx otg:` asks answers it.
    Server,
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

/// The same with a number in each element, at `#`.
fn numbered(octets: usize, begin: &str, element: &str, end: &str) -> Vec<u8> {
    let mut text = begin.to_string();
    for number in 0.. {
        if text.len() + element.len() + end.len() + 16 > octets {
            break;
        }
        text += &element.replace('#', &format!("{number:x}"));
    }
    [text.trim_end_matches(','), end].concat().into_bytes()
}

fn message(begin: &str, element: &str, end: &str) -> Vec<u8> {
    let body = filled(PART, begin, element, end);
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
}

/// Tables in a list, which take most as TOML, and more of this element.
fn toml(begin: &str, element: &str, end: &str) -> Vec<Vec<u8>> {
    vec![filled(MIB, "x=[", "{a=0},", "]"), filled(MIB, begin, element, end)]
}

const RESULTS: &str = r#"{"schema_version":1,"command":["bench"],"started_unix_s":1,"environment":{},"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2,"trace":false,"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"#;
const PLAN: &str = r#"{"id":1,"request":{"Plan":{"memory_elsewhere":0,"flows":["#;
const ENGINE: &str = r#"{"id":1,"answer":{"Ok":{"#;
const STATE: &str = r#"{"version":1,"identity":{"interface":"lo"},"boot":"x","phase":"applied","#;

/// It is read before the certificates.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

/// `convert` has buffers of 64 MiB for any input.
const CONVERT: &str = "ulimit -S -d $((LIMIT + 65536)) && exec $CAPBENCH convert $FILE /dev/null";

/// A soak that was killed after its last saving of results.
const KILLED_SOAK: &str = r#"
    mv $FILE segments.jsonl
    echo '{
        "schema_version":1,"capbench_version":"1","command":["soak"],"started_unix_s":1,"trials":[],
        "environment":{"capbench_version":"1","machine":"x","cpus_online":1,"cpus_allowed":1,"irq_accounting":{},
            "memory_bytes":0,"uid":0,"in_user_namespace":false,"missing_capabilities":[]},
        "soak":{"intended_pps":1,"planned_s":1,"segment_s":1,"segments":0,"whole":null,"ledger":[],"intervals":[],
            "segments_per_interval":1,"worst":null,"events":[],"bursts":0,"noise":{},"kept":[]}
    }' > results.json
    exec $CAPBENCH report .
"#;

/// Each reader that a user without privileges can run.
fn readers() -> Vec<Reader> {
    vec![
        Reader {
            name: "`results.json`",
            multiple: 10,
            way: Way::File("exec $CAPBENCH report $FILE"),
            inputs: vec![
                filled(PART, &format!("{RESULTS}\"statements\":["), "\"\",", "]}"),
                filled(PART, &format!("{RESULTS}\"trials\":["), "{\"\":0},", "]}"),
                filled(PART, &format!("{RESULTS}\"notes\":["), "{},", "]}"),
            ],
        },
        Reader {
            name: "segments of a soak",
            multiple: 10,
            way: Way::File(KILLED_SOAK),
            inputs: vec![
                filled(PART, r#"{"number":1,"trial":{"x":["#, "0,", "]}}\n"),
                filled(PART, r#"{"number":1,"trial":{"noise":["#, "\"\",", "]}}\n"),
                filled(PART, r#"{"number":1,"trial":{"#, "\"\":0,", "}}\n"),
            ],
        },
        Reader {
            name: "a recommendation",
            multiple: 10,
            way: Way::File(
                "mkdir -p state/capbench && mv $FILE state/capbench/recommended.json && XDG_STATE_HOME=$FOLDER/state exec $CAPBENCH record -i none -w x",
            ),
            inputs: vec![
                filled(PART, r#"{"recommended":{"question":{"x":["#, "0,", "]}}}"),
                filled(PART, r#"{"recommended":{"question":{"#, "\"\":0,", "}}}"),
            ],
        },
        Reader {
            name: "calls to an agent",
            multiple: 4,
            way: Way::File("exec $CAPBENCH agent --allow send:lo < $FILE"),
            inputs: vec![
                message(&format!("{CALL}\"x\":["), "{\"\":0},", "]}}"),
                message(CALL, "\"x\":0,", "}}"),
                message("[", "[],", "]"),
            ],
        },
        Reader {
            name: "answers of an agent",
            multiple: 7,
            way: Way::File(
                r#"exec $CAPBENCH bench --quick --tx "exec:cat $FILE,lo" --rx "exec:cat $FILE,lo2""#,
            ),
            inputs: vec![
                message(&format!("{ANSWER}\"x\":["), "{\"\":0},", "]}}"),
                message(&format!("{ANSWER}\"cpus\":["), "1,", "]}}"),
                message(&format!("{ANSWER}\"programs\":["), "\"\",", "]}}"),
            ],
        },
        Reader {
            name: "requests to an engine of `otg`",
            multiple: 6,
            way: Way::File("exec $CAPBENCH otg --agent --isolated --port lo < $FILE"),
            inputs: vec![
                message(
                    &format!("{PLAN}{{\"number\":0,\"stream\":0,\"path\":\"\",\"flow\":["),
                    "{\"\":0},",
                    "]}]}}}",
                ),
                message(PLAN, r#"{"number":0,"stream":0,"path":"","flow":0},"#, "]}}}"),
                message(r#"{"id":1,"request":{"Prepare":{"trial":1,"flows":["#, "1,", "]}}}"),
            ],
        },
        Reader {
            name: "answers of an engine of `otg`",
            multiple: 8,
            way: Way::Engine,
            inputs: vec![
                message(&format!("{ENGINE}\"NotSent\":["), "0,", "]}}}"),
                message(&format!("{ENGINE}\"Reading\":{{\"warnings\":["), "\"\",", "]}}}}"),
                message(&format!("{ENGINE}\"Opened\":{{\"clock\":\""), "\\n", "\"}}}}"),
            ],
        },
        Reader {
            name: "answers of a server that `--tx otg:` asks",
            multiple: 12,
            way: Way::Server,
            inputs: vec![
                filled(PART, r#"{"warnings":["#, "\"\",", "]}"),
                filled(PART, r#"{"warnings":["#, "\"aaaaaa\",", "]}"),
                filled(PART, r#"{"port_metrics":["#, "{},", "]}"),
                filled(PART, r#"{"app_version":""#, "\\n", "\"}"),
            ],
        },
        Reader {
            name: "packet files",
            multiple: 260,
            way: Way::File("exec $CAPBENCH send --isolated -i lo --duration 1s --packet $FILE"),
            inputs: toml("", "[[flow]]\n", ""),
        },
        Reader {
            name: "campaign files",
            multiple: 260,
            way: Way::File("exec $CAPBENCH campaign $FILE --dry-run"),
            inputs: toml("", "[[run]]\n", ""),
        },
        Reader {
            name: "files of `--programs`",
            multiple: 260,
            way: Way::File(
                "exec $CAPBENCH bench --isolated --tx lo --rx lo --quick --programs $FILE --method cmd:a",
            ),
            inputs: toml("[programs.a]\nready=[", "\"\",", "]"),
        },
        Reader {
            name: "files of goals",
            multiple: 260,
            way: Way::File("exec $CAPBENCH search --goals $FILE --dry-run"),
            inputs: toml("[goals.a]\nloss=[", "0,", "]"),
        },
        Reader {
            name: "files with flags",
            multiple: 260,
            way: Way::File(
                "mkdir -p config/capbench && mv $FILE config/capbench/a.toml && XDG_CONFIG_HOME=$FOLDER/config exec $CAPBENCH config show",
            ),
            inputs: toml("[record]\ninterface=[", "\"\",", "]"),
        },
        Reader {
            name: "capture files",
            multiple: 4,
            way: Way::File(CONVERT),
            inputs: vec![interfaces(PART)],
        },
        Reader {
            name: "captures that `verify` reads",
            multiple: 24,
            way: Way::File("exec $CAPBENCH verify $FILE"),
            inputs: vec![interfaces(PART)],
        },
        Reader {
            name: "files of `--web-config`",
            multiple: 40,
            way: Way::File(
                "exec $CAPBENCH count -i lo --duration 1s --metrics 127.0.0.1:0 --web-config $FILE",
            ),
            inputs: vec![
                numbered(MIB, "basic_auth_users:\n", " #: a\n", ""),
                numbered(MIB, "basic_auth_users: {", "#: a,", "}\n"),
                numbered(
                    MIB,
                    "basic_auth_users:\n",
                    "  #: $2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u\n",
                    "",
                ),
                filled(MIB, "", "- a\n", ""),
                filled(MIB, "basic_auth_users:\n  a: ", "x", "\n"),
            ],
        },
        Reader {
            name: "files of `--http-config`",
            multiple: 40,
            way: Way::File(
                "exec $CAPBENCH bench --quick --tx otg:https://127.0.0.1:1,p1 --rx lo --http-config $FILE",
            ),
            inputs: vec![
                filled(MIB, "tls_config:\n  ca_file: ", "x", "\n"),
                filled(MIB, "tls_config:\n  ca_file: [", "{a: 0},", "]\n"),
                filled(MIB, "", "- a\n", ""),
            ],
        },
        Reader {
            name: "a state of `tune`",
            multiple: 14,
            way: Way::File("exec $CAPBENCH tune restore -i lo --state $FOLDER"),
            inputs: vec![
                filled(PART - MIB, &format!("{STATE}\"saved\":["), "{\"\":0},", "]}"),
                filled(PART - MIB, &format!("{STATE}\"x\":["), "\"\",", "]}"),
            ],
        },
        Reader {
            name: "certificates (PEM)",
            multiple: 8,
            way: Way::File("exec $CAPBENCH otg --port lo --tls-cert $FILE --tls-key $FILE"),
            inputs: vec![
                filled(MIB, KEY, CERTIFICATE, ""),
                filled(
                    MIB,
                    &format!("{KEY}-----BEGIN CERTIFICATE-----\n"),
                    "AAAAAAAA\n",
                    "-----END CERTIFICATE-----\n",
                ),
            ],
        },
        Reader {
            name: "private keys (PEM)",
            multiple: 2,
            way: Way::File(
                "cp $FILE certificate && exec $CAPBENCH otg --port lo --tls-cert certificate --tls-key $FILE",
            ),
            inputs: vec![
                filled(MIB, CERTIFICATE, "-----BEGIN X-----\nAAAA\n-----END X-----\n", ""),
                filled(
                    MIB,
                    &format!("{CERTIFICATE}-----BEGIN PRIVATE KEY-----\n"),
                    "AAAAAAAA\n",
                    "-----END PRIVATE KEY-----\n",
                ),
            ],
        },
    ]
}

/// An agent of root looks for reports in a folder of the host: here in one that only this process has.
const LATER_AGENT: &str = r#"
    say() { printf 'Content-Length: %d\r\n\r\n%s' ${#1} "$1"; }
    {
        say '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2,"session":"a","trace":false}}'
        say '{"jsonrpc":"2.0","id":2,"method":"report","params":{"trial":1,"interface":"lo","patience":{"secs":1,"nanos":0}}}'
    } > calls
    name=$(printf 'capbench session a' | sha256sum | cut -c-32)
    export name
    exec unshare -m sh -c '
        mount -t tmpfs capbench-test /run && mkdir -m 700 /run/capbench && mv $FILE /run/capbench/$name &&
        exec $CAPBENCH agent --allow receive:lo < calls'
"#;

/// The reader that needs root.
fn readers_of_root() -> Vec<Reader> {
    vec![Reader {
        name: "a report of an agent",
        multiple: 12,
        way: Way::File(LATER_AGENT),
        inputs: vec![
            filled(PART, r#"{"trial":1,"half":{"receive":{"x":["#, "0,", "]}}}"),
            numbered(PART, r#"{"trial":1,"half":{"transmit":{"driver_counters":{"#, "\"#\":0,", "}}}}"),
        ],
    }]
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

/// Runs a reader with no more memory than this.
fn read_within(reader: &Reader, octets: u64, file: &Path) -> Ended {
    let folder = file.parent().unwrap();
    let limit = BASE + reader.multiple * octets;
    match reader.way {
        Way::File(line) => run(None, &mut limited(line, limit, file)),
        Way::Engine => {
            let location = format!("exec:cat {},lo", file.display());
            let line = format!("exec $CAPBENCH otg --isolated --listen 127.0.0.1:0 --port '{location}'");
            let mut server = Running::start(None, &mut limited(&line, limit, file));
            let address = server.word_after("OTG at http://").parse().unwrap();
            let config = json!({"ports": [{"name": "a", "location": location}]}).to_string();
            let answer = http::exchange(http::connect(address), "POST", "/config", &config);
            server.signal("INT");
            let mut ended = server.end();
            ended.errors += &String::from_utf8_lossy(&answer.body);
            ended
        }
        Way::Server => {
            let address = answer_everything(std::fs::read(file).unwrap());
            let line = format!(
                "exec $CAPBENCH bench --quick --isolated --tx otg:http://{address},p1 --rx exec:true,lo --out {}/out",
                folder.display()
            );
            run(None, &mut limited(&line, limit, file))
        }
    }
}

fn limited(line: &str, limit: u64, file: &Path) -> Command {
    let folder = file.parent().unwrap();
    let mut shell = program("sh -c");
    shell
        .arg(format!("ulimit -S -d $LIMIT\n{line}"))
        .env("LIMIT", (limit / 1024).to_string())
        .env("CAPBENCH", capbench("").get_program())
        .env("FILE", file)
        .env("FOLDER", folder)
        .current_dir(folder);
    shell
}

/// A server of HTTP that has one answer to every request.
fn answer_everything(body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that leaves ends its own connection only.
            let _ = answer_one(stream.unwrap(), &body);
        }
    });
    address
}

fn answer_one(mut stream: TcpStream, body: &[u8]) -> std::io::Result<()> {
    let mut request = BufReader::new(&stream);
    let (mut line, mut length) = (String::new(), 0);
    while request.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    request.read_exact(&mut vec![0; length])?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
    stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())?;
    stream.write_all(body)
}

/// Reads each input with the memory that the reader's row allows.
fn check(readers: &[Reader]) {
    for reader in readers {
        for (number, octets) in reader.inputs.iter().enumerate() {
            // A state of `tune` has this name, and a file with a key is its owner's.
            let folder = Scratch::new();
            let file = folder.file("lo.json");
            std::fs::write(&file, octets).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            let ended = read_within(reader, octets.len() as u64, &file);
            assert_eq!(ended.signal, None, "{}, input {number}: {ended:#?}", reader.name);
            // Room for a whole file is asked for at once, and its lack is an error of reading.
            let said = ended.errors.to_lowercase();
            assert!(!said.contains("out of memory"), "{}, input {number}: {ended:#?}", reader.name);
            assert!(!said.contains("allocate memory"), "{}, input {number}: {ended:#?}", reader.name);
        }
    }
}

#[test]
fn readers_of_foreign_octets_take_no_more_memory_than_the_documentation_states() {
    check(&readers());
}

#[test]
fn root_a_report_of_an_agent_takes_no_more_memory_than_the_documentation_states() {
    let Some(()) = privileges() else { return };
    check(&readers_of_root());
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
    let mut measured = BTreeMap::new();
    for reader in readers().into_iter().chain(readers_of_root()) {
        measured.insert(reader.name.to_string(), reader.multiple);
    }
    assert_eq!(documented, measured);
}
