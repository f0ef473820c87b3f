//! Wireshark's questions, answered by lines and nothing else; and tshark, which captures through us.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::File as Recorded;
use crate::support::results_file::assert_valid_output;
use crate::support::{
    Ended, HOST, Namespaces, Place, Running, Scratch, capbench, eventually, lossy, privileges, program, run,
    send, test_bed,
};

/// The program under the name by which Wireshark knows it.
fn linked(folder: &Scratch) -> Command {
    let link = folder.file("capbench-extcap");
    if !link.exists() {
        symlink(env!("CARGO_BIN_EXE_capbench"), &link).unwrap();
    }
    Command::new(link)
}

fn asked(arguments: &[&str]) -> Ended {
    run(HOST, linked(&Scratch::new()).args(arguments))
}

/// The answer to a question: standard output, with nothing beside it.
fn answer(arguments: &[&str]) -> String {
    let ended = asked(arguments).success();
    assert_eq!(ended.errors, "", "{arguments:?}");
    ended.out
}

/// What a sentence says of something.
fn said<'l>(line: &'l str, what: &str) -> &'l str {
    let (_, rest) = line.split_once(&format!("{{{what}=")).unwrap_or_else(|| panic!("{what}: {line}"));
    rest.split_once('}').unwrap().0
}

#[test]
fn interfaces_are_listed_as_sentences() {
    let version = env!("CARGO_PKG_VERSION");
    let lines = answer(&["--extcap-interfaces", "--extcap-version=4.0"]);
    let mut lines = lines.lines();
    assert_eq!(
        lines.next(),
        Some(&*format!("extcap {{version={version}}}{{display=capbench, a choice of capture methods}}"))
    );
    let interfaces: Vec<_> = lines.collect();
    assert!(interfaces.contains(&"interface {value=capbench-lo}{display=capbench: lo}"), "{interfaces:?}");
    for line in &interfaces {
        let name = said(line, "value").strip_prefix("capbench-").unwrap();
        assert_eq!(*line, format!("interface {{value=capbench-{name}}}{{display=capbench: {name}}}"));
    }
    assert_eq!(answer(&["--extcap-interfaces"]).lines().count(), interfaces.len() + 1);
    assert_eq!(answer(&["--extcap-version=4.4"]).lines().count(), 1);
}

#[test]
fn frames_are_ethernet() {
    let expected = "dlt {number=1}{name=EN10MB}{display=Ethernet}\n";
    assert_eq!(answer(&["--extcap-dlts", "--extcap-interface", "capbench-lo"]), expected);
    assert_eq!(answer(&["--extcap-interface", "capbench-lo", "--extcap-dlts"]), expected);
}

#[test]
fn what_can_be_set_is_told_with_the_methods_that_run_here() {
    let lines = answer(&["--extcap-config", "--extcap-interface", "capbench-lo"]);
    let lines: Vec<_> = lines.lines().collect();
    let of =
        |start: &str| -> Vec<&str> { lines.iter().filter(|line| line.starts_with(start)).copied().collect() };
    assert_eq!(
        of("arg {number=0}"),
        ["arg {number=0}{call=--method}{display=Capture method}{type=selector}\
          {tooltip=capbench methods describes each}"]
    );
    assert_eq!(
        of("arg {number=1}"),
        ["arg {number=1}{call=--ring}{display=Ring}{type=string}{default=64MiB}\
          {validation=^[0-9]+(B|KiB|MiB|GiB)?$}{tooltip=Memory for frames until they are read, such as 64MiB}"]
    );
    assert_eq!(
        of("arg {number=2}"),
        ["arg {number=2}{call=--snaplen}{display=Octets of each frame}{type=unsigned}{range=0,262144}\
          {default=262144}{tooltip=0 for all}"]
    );
    assert_eq!(
        of("arg {number=4}"),
        ["arg {number=4}{call=--no-promiscuous}{display=Only frames for this host}{type=boolflag}\
          {default=false}{tooltip=Leave the interface out of promiscuous mode}"]
    );
    let values: Vec<_> = of("value {arg=3}").iter().map(|line| said(line, "value")).collect();
    assert_eq!(values, ["inout", "in", "out"]);
    let listed = run(HOST, capbench("methods --json")).success().json();
    assert_valid_output("methods", &listed);
    let runs = |name: &str| {
        listed["methods"].as_array().unwrap().iter().any(|m| m["method"] == name && m["runs_here"] == true)
    };
    let methods = of("value {arg=0}");
    assert_eq!(methods.iter().filter(|line| said(line, "default") == "true").count(), 1);
    for line in &methods {
        let name = said(line, "value");
        assert!(name != "xdp-count" && (runs(name) || line.contains("not here: ")), "{line}");
    }
    assert_eq!(of("value {arg=0}").len() + 3 + 5, lines.len(), "{lines:?}");
}

#[test]
fn what_wireshark_would_not_ask_is_refused_on_standard_error() {
    let folder = Scratch::new();
    let fifo = folder.file("fifo");
    let fifo = fifo.to_str().unwrap();
    let capture = ["--capture", "--fifo", fifo, "--extcap-interface"];
    let refusals: [(&[&str], &str); 7] = [
        (&[], "--install"),
        (&["--extcap-interface", "capbench-lo"], "--extcap-dlts"),
        (&["--extcap-dlts", "--extcap-interface", "lo"], "--extcap-interfaces lists them"),
        (&["--capture", "--extcap-interface", "capbench-lo"], "--fifo"),
        (&[&capture[..], &["capbench-no-such-if"]].concat(), "no-such-if"),
        (&[&capture[..], &["capbench-lo", "--method", "packet-v9"]].concat(), "packet-v9"),
        (&[&capture[..], &["capbench-lo", "--method", "xdp-count"]].concat(), "xdp-count"),
    ];
    for (arguments, what) in refusals {
        let ended = asked(arguments);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        assert!(ended.errors.contains(what) && ended.errors.lines().count() == 1, "{ended:?}");
    }
    assert!(!Path::new(fifo).exists());
}

#[test]
fn the_link_is_made_once_and_takes_no_place_of_a_file() {
    let folder = Scratch::new();
    let place = folder.file("new/extcap");
    let install = || run(HOST, capbench("extcap --install").arg(&place));
    let link = place.join("capbench-extcap");
    let made = install().success().out;
    assert!(made.contains(&*link.display().to_string()) && made.contains("(new)"), "{made}");
    assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(env!("CARGO_BIN_EXE_capbench")).unwrap());
    assert!(install().success().out.contains("was there already"));
    let answered = run(HOST, Command::new(&link).arg("--extcap-interfaces")).success();
    assert!(answered.out.contains("capbench-lo"), "{answered:?}");
    fs::remove_file(&link).unwrap();
    symlink("/nonexistent/capbench", &link).unwrap();
    assert!(install().success().out.contains("led to /nonexistent/capbench before"));
    fs::remove_file(&link).unwrap();
    fs::write(&link, "mine").unwrap();
    let refused = install();
    assert!(refused.code == Some(1) && refused.errors.contains("is not a link"), "{refused:?}");
    assert_eq!(fs::read_to_string(&link).unwrap(), "mine");
}

#[test]
fn a_user_gets_the_link_where_each_version_of_wireshark_looks() {
    let home = Scratch::new();
    let install = |settings: Option<PathBuf>| {
        let mut command = capbench("extcap --install");
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
        if let Some(folder) = settings {
            command.env("XDG_CONFIG_HOME", folder);
        }
        run(HOST, &mut command).success();
    };
    install(None);
    install(Some(home.file("settings")));
    for folder in [".local/lib", ".config", "settings"] {
        let link = home.file(folder).join("wireshark/extcap/capbench-extcap");
        assert!(fs::read_link(&link).is_ok(), "{}", link.display());
    }
}

#[test]
fn root_a_filter_is_right_when_nothing_is_said_of_it() {
    let Some(()) = privileges() else { return };
    let verify =
        |filter: &str| asked(&["--extcap-capture-filter", filter, "--extcap-interface", "capbench-lo"]);
    for right in ["", "udp", "vlan 5 and (tcp port 80 or host 192.0.2.1)", "1,6 0 0 262144"] {
        assert_eq!(verify(right).success().out, "", "{right}");
    }
    for (wrong, part) in
        [("udp and", "syntax error"), ("port http-", "at \"http-\""), ("2,6 0 0 0", "says 2")]
    {
        let said = verify(wrong).success().out;
        assert!(said.contains(part) && said.lines().count() == 1, "{wrong}: {said}");
    }
}

/// How many packet sockets receive in a namespace (packet_seq_show of net/packet/af_packet.c: the column R).
fn packet_sockets(place: &Place) -> usize {
    let text = place.inside(|| fs::read_to_string("/proc/thread-self/net/packet")).unwrap();
    text.lines().skip(1).filter(|line| line.split_whitespace().nth(5) == Some("1")).count()
}

/// Whether a process started in a namespace to capture for Wireshark has its pipe open, which it opens behind the interface.
fn writes(place: &Place) -> bool {
    let namespace = |of: PathBuf| fs::metadata(of).map(|data| data.ino()).ok();
    let own = namespace(place.path().into());
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut captures =
        processes.filter(|process| namespace(process.join("ns/net")) == own).filter_map(|process| {
            let line = fs::read(process.join("cmdline")).ok()?;
            let line = lossy(&line);
            let mut words = line.split('\0').skip_while(|word| *word != "--fifo");
            Some((process, PathBuf::from(words.nth(1)?)))
        });
    captures.any(|(process, fifo)| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        open.flat_map(|entry| fs::read_link(entry.path())).any(|target| target == fifo)
    })
}

/// tshark as an ordinary user with nothing but these capabilities, which finds programs for captures in a folder of the test.
fn tshark_of_nobody(home: &Scratch, capabilities: &str) -> Command {
    // Copies the program, and makes that copy executable for everybody.
    drop(home.capbench_of_nobody(home));
    let extcap = home.file("extcap");
    if !extcap.exists() {
        fs::create_dir(&extcap).unwrap();
        symlink(home.file("capbench"), extcap.join("capbench-extcap")).unwrap();
    }
    let mut command = program(&format!(
        "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps {capabilities} --ambient-caps {capabilities}"
    ));
    command.arg(program("tshark").get_program()).args(["-n", "-l"]);
    command.env("WIRESHARK_EXTCAP_DIR", extcap).env("HOME", home.path()).current_dir(home.path());
    command
}

/// The length of each frame in a file, and how much of it is there, by tshark.
fn lengths(file: &Path) -> Vec<(u32, u32)> {
    let output = program("tshark -n -T fields -e frame.len -e frame.cap_len -r").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    let both = |line: &str| {
        let (whole, kept) = line.split_once('\t').unwrap();
        (whole.parse().unwrap(), kept.parse().unwrap())
    };
    lossy(&output.stdout).lines().map(both).collect()
}

/// A capture by tshark: the method, where one is chosen; the filter; other options, as preferences of tshark; what the file
/// says of the interface.
struct Case {
    method: Option<&'static str>,
    filter: Option<&'static str>,
    options: &'static [&'static str],
    says: &'static [&'static str],
}

const CASES: [Case; 7] = [
    Case { method: None, filter: None, options: &[], says: &["captured by packet-v3", "64 blocks of 1MiB"] },
    Case {
        method: Some("packet-v3"),
        filter: Some("udp and not port 53"),
        options: &["ring:32MiB", "snaplen:60"],
        says: &["32 blocks of 1MiB", "udp and not port 53"],
    },
    Case {
        method: Some("recv"),
        filter: None,
        options: &["nopromiscuous:true"],
        says: &["captured by recv ("],
    },
    Case {
        method: Some("recvmmsg"),
        filter: Some("udp"),
        options: &["direction:in"],
        says: &["captured by recvmmsg"],
    },
    Case {
        method: Some("packet-v1"),
        filter: None,
        // The peer of the veth cannot be read without CAP_NET_ADMIN: without a snap length slots have 64 KiB.
        options: &["ring:8MiB", "snaplen:1900"],
        says: &["captured by packet-v1", "(8MiB)"],
    },
    Case {
        method: Some("packet-v2"),
        filter: Some("udp"),
        options: &["snaplen:0", "ring:128MiB"],
        says: &["captured by packet-v2"],
    },
    Case { method: Some("libpcap"), filter: Some("udp"), options: &[], says: &["captured by libpcap"] },
];

/// Frames of a trial.
const FRAMES: u64 = 1000;

/// tshark records what is sent, through us; nothing else is in the file, and nothing is missing.
fn tshark_records(case: &Case, capabilities: &str) {
    let Case { method, filter, options, says } = case;
    let (spaces, home) = (Namespaces::make(), Scratch::of_nobody());
    let file = home.file("frames.pcapng");
    let mut command = tshark_of_nobody(&home, capabilities);
    // One frame more than the trial has: that one ends it.
    command.args(["-i", "capbench-right", "-c", &(FRAMES + 1).to_string(), "-w"]).arg(&file);
    let method = method.map(|method| format!("method:{method}"));
    for option in options.iter().copied().chain(method.as_deref()) {
        command.arg("-o").arg(format!("extcap.capbench_right.{option}"));
    }
    if let Some(filter) = filter {
        command.args(["-f", filter]);
    }
    let what = format!("{command:?}");
    let tshark = Running::start(&spaces.right, &mut command);
    eventually("the capture writes", || writes(&spaces.right));
    let is_promiscuous = spaces.right.ip("-d link show dev right").contains("promiscuity 1 ");
    assert_eq!(is_promiscuous, !options.contains(&"nopromiscuous:true"), "{what}");
    // What the filter leaves out.
    if filter.is_some() {
        send(&spaces, "-c 100 --rate 50k --tcp --size 200");
    }
    send(&spaces, &format!("-c {FRAMES} --rate 50k --size 128 --trial 7"));
    send(&spaces, "-c 1 --size 777 --trial 9");
    let ended = tshark.end().success();
    assert!(ended.errors.contains(&format!("{} packets captured", FRAMES + 1)), "{what}: {ended:?}");
    eventually("nobody captures any more", || packet_sockets(&spaces.right) == 0);
    let snap = options.contains(&"snaplen:60").then_some(60);
    let cut = |whole: u32| (whole, snap.unwrap_or(whole));
    let mut expected = vec![cut(124); FRAMES as usize];
    expected.push(cut(773));
    assert_eq!(lengths(&file), expected, "{what}");
    // By the stamps: each frame once, in order, whole.
    if snap.is_none() {
        let sequences = Recorded::read(&file, 7, None, None).sequences();
        assert!(sequences.into_iter().eq(0..FRAMES), "{what}");
    }
    let said = fs::read(&file).unwrap();
    let said = String::from_utf8_lossy(&said);
    for part in *says {
        assert!(said.contains(part), "{what}: {part}");
    }
}

#[test]
fn root_tshark_records_through_us_and_has_every_frame() {
    let Some(()) = privileges() else { return };
    CASES.iter().for_each(|case| tshark_records(case, "+net_raw"));
}

/// A method without a filter of its own: capbench runs it.
#[cfg(feature = "bpf")]
#[test]
fn root_tshark_records_by_xdp_with_the_filter_run_by_us() {
    let Some(()) = privileges() else { return };
    let case =
        Case { method: Some("af-xdp"), filter: Some("udp"), options: &[], says: &["captured by af-xdp"] };
    tshark_records(&case, "+net_raw,+net_admin,+bpf,+perfmon,+ipc_lock");
}

#[test]
fn root_what_keeps_a_capture_from_starting_is_shown_by_tshark() {
    let Some(()) = privileges() else { return };
    let (spaces, home) = (Namespaces::make(), Scratch::of_nobody());
    let mut command = tshark_of_nobody(&home, "+net_raw");
    command.args(["-i", "capbench-right", "-c", "1", "-w"]).arg(home.file("frames.pcapng"));
    command.args(["-o", "extcap.capbench_right.ring:1KiB"]);
    let ended = run(&spaces.right, &mut command);
    assert!(ended.code != Some(0) && ended.errors.contains("--ring"), "{ended:?}");
}

/// A pipe, and a capture into it.
fn capture_into(folder: &Scratch, spaces: &Namespaces) -> (PathBuf, Running) {
    let fifo = folder.file("fifo");
    assert!(program("mkfifo").arg(&fifo).status().unwrap().success());
    let mut command = linked(folder);
    command.args(["--capture", "--extcap-interface", "capbench-right", "--fifo"]).arg(&fifo);
    (fifo, Running::start(&spaces.right, &mut command))
}

#[test]
fn root_a_capture_ends_when_nobody_reads_it_any_more() {
    let Some((folder, spaces)) = test_bed() else { return };
    let (fifo, capture) = capture_into(&folder, &spaces);
    let mut begin = [0; 4];
    // No frame comes.
    File::open(&fifo).unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(begin, [0x0a, 0x0d, 0x0d, 0x0a]);
    let ended = capture.end().success();
    assert_eq!((ended.out.as_str(), ended.errors.as_str()), ("", ""));
}

#[test]
fn root_term_ends_a_capture_with_all_that_came_and_one_without_a_reader() {
    let Some((folder, spaces)) = test_bed() else { return };
    let (fifo, capture) = capture_into(&folder, &spaces);
    eventually("a socket receives", || packet_sockets(&spaces.right) > 0);
    capture.signal("TERM");
    let ended = capture.end().success();
    assert_eq!((ended.out.as_str(), ended.errors.as_str()), ("", ""));
    fs::remove_file(&fifo).unwrap();

    let (fifo, capture) = capture_into(&folder, &spaces);
    eventually("a socket receives", || packet_sockets(&spaces.right) > 0);
    let mut pipe = File::open(&fifo).unwrap();
    let mut bytes = vec![0; 4];
    pipe.read_exact(&mut bytes).unwrap();
    send(&spaces, "-c 500 --rate 50k --size 128");
    capture.signal("TERM");
    pipe.read_to_end(&mut bytes).unwrap();
    capture.end().success();
    let file = folder.file("read.pcapng");
    fs::write(&file, bytes).unwrap();
    assert_eq!(lengths(&file), vec![(124, 124); 500]);
}
