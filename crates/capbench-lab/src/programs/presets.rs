//! The programs that capbench knows, one row each. Arguments set each program's memory to `--ring` and its snapshot length if it
//! has such an option. They turn name look-ups and printing of frames off. Everything else is as its users run it.

use std::time::Duration;

use capbench_model::places::Place;
use capbench_sys::host::process::Signal;
use regex::Regex;

use super::program::{Count, Meaning, Program, Ready, Version};

/// A row. [`Program`] documents the fields.
struct Row {
    name: &'static str,
    summary: &'static str,
    command: &'static [&'static str],
    not_promiscuous: &'static [&'static str],
    /// Text that shows readiness; absent: its packet socket shows it.
    says: Option<&'static str>,
    patience_s: u64,
    holds_ms: u64,
    /// An argument, and a pattern for the shown part of the answer.
    version: (&'static str, &'static str),
    counts: &'static [(&'static str, Meaning, &'static str)],
    without: &'static [Place],
    source: &'static str,
    only_root: Option<&'static str>,
    untested: Option<&'static str>,
    remark: Option<&'static str>,
}

const UNTRIED: Option<&str> = Some("untested: written after its documentation");

/// They receive by packet sockets, which have no fill ring.
const NO_FILL_RING: &[Place] = &[Place::FillRing];

/// The same, without a queue between ring and file in which frames could be lost.
const ONE_RING: &[Place] = &[Place::FillRing, Place::MethodQueue];

/// Common values of most rows.
const USUAL: Row = Row {
    name: "",
    summary: "",
    command: &[],
    not_promiscuous: &[],
    says: None,
    patience_s: 10,
    holds_ms: 0,
    version: ("--version", ""),
    counts: &[],
    without: NO_FILL_RING,
    source: "",
    only_root: None,
    untested: None,
    remark: None,
};

/// tracestats of libtrace, for any input.
const TRACESTATS: Row = Row {
    version: ("-H", r"^libtrace \S+"),
    counts: LIBTRACE_COUNTS,
    without: ONE_RING,
    source: "Debian has it in the package libtrace-tools",
    ..USUAL
};

const ROWS: [Row; 7] = [
    // "received by filter" includes dropped frames (pcap_stats(3PCAP) on Linux: tp_packets). -Z keeps the user: Debian's build
    // would change to a user who may not write to the trial's directory. libpcap's ring retires a block after the read timeout,
    // which is 1 s here.
    Row {
        name: "tcpdump",
        summary: "tcpdump writing a pcap file (libpcap: PACKET_RX_RING V3)",
        command: &[
            "tcpdump",
            "-i",
            "{interface}",
            "-n",
            "-s",
            "{snaplen}",
            "-B",
            "{ring_kib}",
            "-Z",
            "root",
            "-w",
            "{file}",
        ],
        not_promiscuous: &["-p"],
        says: Some("listening on"),
        holds_ms: 1000,
        version: ("--version", r"(?m)^(?:tcpdump|libpcap) version .*$"),
        counts: &[
            ("captured", Meaning::Captured, r"(\d+) packets? captured"),
            ("received by filter", Meaning::Received, r"(\d+) packets? received by filter"),
            ("dropped by kernel", Meaning::Dropped, r"(\d+) packets? dropped by kernel"),
            ("dropped by interface", Meaning::Other, r"(\d+) packets? dropped by interface"),
        ],
        without: ONE_RING,
        source: "Debian has it in the package tcpdump",
        only_root: Some("tcpdump sets its user when it starts, which a user namespace refuses"),
        ..USUAL
    },
    // The first number counts frames that dumpcap read, without the drops in brackets.
    Row {
        name: "dumpcap",
        summary: "dumpcap of Wireshark writing a pcapng file (libpcap: PACKET_RX_RING V3)",
        command: &[
            "dumpcap",
            "-q",
            "-i",
            "{interface}",
            "-s",
            "{snaplen}",
            "-B",
            "{ring_mib}",
            "-w",
            "{file}",
        ],
        not_promiscuous: &["-p"],
        holds_ms: 250,
        version: ("--version", r"^Dumpcap \(Wireshark\) \S+|libpcap\s+\d[0-9.]*"),
        counts: &[
            ("captured", Meaning::Other, r"Packets captured: (\d+)"),
            ("received", Meaning::Captured, r"Packets received/dropped on interface '.*': (\d+)/"),
            ("dropped", Meaning::Other, r"Packets received/dropped on interface '.*': \d+/(\d+)"),
            ("dropped: pcap", Meaning::Dropped, r"\(pcap:(\d+)"),
            ("dropped: dumpcap", Meaning::QueueDropped, r"/dumpcap:(\d+)"),
            ("dropped: flushed", Meaning::Other, r"/flushed:(\d+)"),
            ("dropped: ps_ifdrop", Meaning::Other, r"/ps_ifdrop:(\d+)"),
        ],
        source: "Debian has it in the package wireshark-common",
        ..USUAL
    },
    Row {
        name: "tracestats-ring",
        summary: "tracestats of libtrace over ring: (PACKET_RX_RING V2), counts only",
        command: &["tracestats", "ring:{interface}"],
        remark: Some("its ring cannot be set (libtrace 3.0.22: 256 frames at MTU 1500)"),
        ..TRACESTATS
    },
    Row {
        name: "tracestats-int",
        summary: "tracestats of libtrace over int: (a packet socket), counts only",
        command: &["tracestats", "int:{interface}"],
        remark: Some("its socket has the host's default buffer (net.core.rmem_default), which cannot be set"),
        ..TRACESTATS
    },
    // -A and -Q: it would otherwise set the host's socket memory and interrupt affinities.
    Row {
        name: "netsniff-ng",
        summary: "netsniff-ng writing a pcap file (PACKET_RX_RING V3)",
        command: &[
            "netsniff-ng",
            "--in",
            "{interface}",
            "--out",
            "{file}",
            "--silent",
            "--ring-size",
            "{ring_kib}KiB",
            "--no-sock-mem",
            "--notouch-irq",
        ],
        not_promiscuous: &["--no-promisc"],
        holds_ms: 100,
        version: ("--version", r"^netsniff-ng [0-9.]+"),
        counts: &[
            ("incoming", Meaning::Received, r"(\d+)\s+packets incoming"),
            ("unread on exit", Meaning::Other, r"packets incoming \((\d+) unread on exit\)"),
            ("passed filter", Meaning::Other, r"(\d+)\s+packets passed filter"),
            ("out of space", Meaning::Dropped, r"(\d+)\s+packets failed filter \(out of space\)"),
        ],
        without: ONE_RING,
        source: "Debian has it in the package netsniff-ng",
        only_root: Some("netsniff-ng locks its memory, which a user namespace refuses"),
        ..USUAL
    },
    // Releases up to 6 print "pkts" and "drop", later ones "packets" and "drops". Both sum tp_packets, which includes dropped
    // frames. An empty file replaces the host's rules.
    Row {
        name: "suricata",
        summary: "Suricata over AF_PACKET with the host's suricata.yaml and no rules, counts only",
        command: &[
            "suricata",
            "--af-packet={interface}",
            "-S",
            "/dev/null",
            "-l",
            "{directory}",
            "--pidfile",
            "{directory}/suricata.pid",
        ],
        says: Some("(?i)engine started"),
        patience_s: 60,
        holds_ms: 100,
        version: ("-V", r"Suricata version \S+"),
        counts: &[
            ("packets", Meaning::Received, r"(?:pkts|packets): (\d+), drops?: \d+"),
            ("drops", Meaning::Dropped, r"(?:pkts|packets): \d+, drops?: (\d+)"),
            ("invalid checksum", Meaning::Other, r"invalid chksum: (\d+)"),
        ],
        source: "Debian has it in the package suricata",
        untested: UNTRIED,
        remark: Some("ring and threads are those of suricata.yaml"),
        ..USUAL
    },
    // "received" counts frames that Zeek read from its packet source, without dropped ones.
    Row {
        name: "zeek",
        summary: "Zeek with its default scripts, counts only",
        command: &["zeek", "-C", "-i", "{interface}", "Pcap::bufsize={ring_mib}", "Pcap::snaplen={snaplen}"],
        says: Some("listening on"),
        patience_s: 60,
        holds_ms: 100,
        version: ("--version", r"zeek version \S+"),
        counts: &[
            ("received", Meaning::Captured, r"(\d+) packets received on interface"),
            ("dropped", Meaning::Dropped, r"packets received on interface .*?, (\d+) (?:\([^)]*\) )?dropped"),
            ("not processed", Meaning::Other, r"(\d+) (?:\([^)]*\) )?not processed"),
        ],
        source: "the Zeek project has packages of it",
        untested: UNTRIED,
        ..USUAL
    },
];

/// libtrace's "accepted" are packets that it read; "dropped" are packets that the socket dropped.
const LIBTRACE_COUNTS: &[(&str, Meaning, &str)] = &[
    ("total", Meaning::Other, r"(?m)^\s*Total:\s+(\d+)"),
    ("accepted", Meaning::Captured, r"Accepted Packets:\s+(\d+)"),
    ("dropped", Meaning::Dropped, r"Dropped packets:\s+(\d+)"),
];

/// All rows.
pub(super) fn all() -> Vec<Program> {
    ROWS.iter().map(program).collect()
}

fn program(row: &Row) -> Program {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    let pattern = |text| Regex::new(text).expect("the patterns of the table are tested");
    Program {
        name: row.name.into(),
        summary: row.summary.into(),
        command: words(row.command),
        not_promiscuous: words(row.not_promiscuous),
        ready: row.says.map_or(Ready::Socket, |text| Ready::Says(pattern(text))),
        patience: Duration::from_secs(row.patience_s),
        holds: Duration::from_millis(row.holds_ms),
        stop: Signal::Interrupt,
        version: Some(Version { arguments: words(&[row.version.0]), pattern: pattern(row.version.1) }),
        counts: row
            .counts
            .iter()
            .map(|&(name, meaning, text)| Count { name: name.into(), meaning, pattern: pattern(text) })
            .collect(),
        without: row.without.to_vec(),
        source: Some(row.source),
        only_root: row.only_root,
        untested: row.untested,
        remark: row.remark,
    }
}
