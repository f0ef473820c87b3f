//! `capbench count --members`: several threads count every packet once, and each says what it had.

use std::fs;

use crate::support::results_file::assert_valid_output;
use crate::support::{
    Namespaces, Running, capbench, eventually, privileges, program, run, send, send_and_count, test_bed,
};
use serde_json::Value;

const MEMBERS: usize = 4;

/// A count of several members at the right end that is ready.
fn count(spaces: &Namespaces, method: &str, arguments: &str) -> Running {
    let command = format!("count -i right --json --method {method} --members {MEMBERS} {arguments}");
    let mut count = Running::start(&spaces.right, capbench(&command));
    count.wait_for(" on right: ");
    count
}

/// The documents of a count, each valid.
fn documents(out: &str) -> Vec<Value> {
    let all: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    all.iter().for_each(|document| assert_valid_output("count", document));
    all
}

fn sum<'v>(of: impl IntoIterator<Item = &'v Value>, key: &str) -> u64 {
    of.into_iter().map(|one| one[key].as_u64().unwrap_or_else(|| panic!("{key}: {one:#}"))).sum()
}

/// Asserts that lines and members add up to the totals, which it returns.
fn totals(out: &str) -> Value {
    let mut lines = documents(out);
    let total = lines.pop().unwrap();
    let members = |of: &Value| of["members"].as_array().unwrap().clone();
    assert_eq!(members(&total).len(), MEMBERS, "{total:#}");
    for key in ["packets", "octets", "dropped", "accepted"] {
        assert_eq!(sum(&members(&total), key), total[key], "{key}: {total:#}");
    }
    for key in ["packets", "octets", "dropped"] {
        assert_eq!(sum(&lines, key), total[key], "the lines' {key}: {out}");
        for (nth, member) in members(&total).iter().enumerate() {
            let lines: Vec<Value> = lines.iter().map(|line| line["members"][nth].clone()).collect();
            assert_eq!(sum(&lines, key), member[key], "{key} of member {nth}: {out}");
        }
    }
    total
}

#[test]
fn root_members_count_each_packet_once_and_exactly_as_many_as_asked_for() {
    const FRAMES: u64 = 20_000;
    let Some(()) = privileges() else { return };
    for (method, mode) in [
        ("packet-v3", "hash"),
        ("packet-v3", "cpu"),
        ("packet-v2", "lb"),
        ("packet-v1", "queue"),
        ("recvmmsg", "hash"),
        ("recv", "lb"),
        ("packet-v3", "bpf"),
    ] {
        let spaces = Namespaces::make();
        // More arrive than are to be counted, also where a busy host loses some. A veth receives on the CPU that sends.
        let counting =
            count(&spaces, method, &format!("--fanout {mode} -c {FRAMES} --each udp --ring 64MiB"));
        let more = FRAMES + 5_000;
        let sent = send(&spaces, &format!("-c {more} --cpu 0 --rate 100000 --flows 97 --size 100"));
        assert_eq!(sent["unsent"], 0, "{sent:#}");
        let total = totals(&counting.end().success().out);
        let counted = (&total["packets"], &total["octets"], &total["each"][0]["packets"]);
        assert_eq!(counted, (&FRAMES.into(), &(FRAMES * 96).into(), &FRAMES.into()), "{method}, {mode}");
        let busy =
            total["members"].as_array().unwrap().iter().filter(|member| member["packets"] != 0).count();
        match mode {
            "cpu" | "queue" => assert_eq!(busy, 1, "one CPU and one queue receive: {total:#}"),
            _ => assert_eq!(busy, MEMBERS, "{method}, {mode}: {total:#}"),
        }
    }
}

#[test]
fn root_what_members_lose_at_overload_is_counted_by_each() {
    const FRAMES: u64 = 100_000;
    let Some(()) = privileges() else { return };
    let block = "--block 64KiB";
    for (method, mode, is_shared) in [
        (format!("packet-v3 {block}"), "hash", true),
        (format!("packet-v2 {block}"), "lb", true),
        ("recvmmsg".into(), "queue", false),
        (format!("packet-v3 {block}"), "cpu", false),
    ] {
        let spaces = Namespaces::make();
        let mut counting = count(&spaces, &method, &format!("--fanout {mode} --ring 1MiB"));
        // Nobody reads while frames arrive, however fast the host is.
        counting.signal("STOP");
        let arrived = send_and_count(&spaces, &format!("-c {FRAMES} --rate 100000 --flows 97"));
        counting.signal("CONT");
        eventually("every frame is counted or lost", || {
            let lines = documents(counting.out());
            sum(&lines, "packets") + sum(&lines, "dropped") == arrived
        });
        counting.signal("INT");
        let total = totals(&counting.end().success().out);
        assert_eq!(total["accepted"], arrived, "{method}, {mode}: {total:#}");
        for member in total["members"].as_array().unwrap() {
            let [accepted, packets, lost] =
                ["accepted", "packets", "dropped"].map(|key| member[key].as_u64().unwrap());
            assert_eq!(accepted, packets + lost, "{method}, {mode}: {total:#}");
            // Where one CPU or queue receives, the others have nothing, or little after the sender changed its CPU.
            assert!((lost > 0 && packets > 0) || !is_shared, "{method}, {mode}: {total:#}");
        }
        assert!(total["dropped"].as_u64() > Some(0), "{method}, {mode}: {total:#}");
    }
}

#[test]
fn root_members_by_queue_and_what_cannot_have_members() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let refused = |arguments: &str, code| {
        let ended = run(&spaces.right, capbench(&format!("count -i right --members 2 {arguments}")));
        ended.ended_with(code).errors
    };
    // The link has one queue.
    let errors = refused("--method af-xdp", 5);
    assert!(errors.contains("queue"), "{errors}");
    let errors = refused("--method libpcap", 5);
    assert!(errors.contains("fanout") && errors.contains("packet-v3"), "{errors}");
    let errors = refused("--method xdp-count", 5);
    assert!(errors.contains("fanout"), "{errors}");
    // Text has a line for each member.
    let mut counting =
        Running::start(&spaces.right, capbench("count -i right --members 2 --fanout lb -c 1000 --cpu 0"));
    counting.wait_for("packet-v3 on right");
    send(&spaces, "-c 1000 --rate 10000");
    let out = counting.end().success().out;
    for member in ["member 0\n", "member 1\n"] {
        let last =
            out.lines().rfind(|line| line.ends_with(member.trim_end())).unwrap_or_else(|| panic!("{out}"));
        assert!(last.contains(" 500 packets") && last.contains(" 0 dropped"), "{out}");
    }
    assert!(out.contains("\n1000 packets captured\n") || out.starts_with("1000 packets captured\n"), "{out}");
}

/// Loads a program that returns the length of a packet, pins it at the path in its argument, and starts capbench.
const PIN: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
BPF = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
def bpf(command, attributes):
    code = libc.syscall(BPF, command, ctypes.byref(attributes), len(attributes))
    if code < 0: sys.exit('bpf: ' + os.strerror(ctypes.get_errno()))
    return code
buffer = ctypes.create_string_buffer
code, license, path = buffer(bytes.fromhex('6110000000000000' '9500000000000000')), buffer(b'GPL'), buffer(sys.argv[1].encode())
SOCKET_FILTER, LOAD, PIN = 1, 5, 6
program = bpf(LOAD, buffer(struct.pack('IIQQ32x', SOCKET_FILTER, 2, ctypes.addressof(code), ctypes.addressof(license)), 56))
bpf(PIN, buffer(struct.pack('QII', ctypes.addressof(path), program, 0), 16))
os.execv(sys.argv[2], sys.argv[2:])
";

#[test]
fn root_a_program_of_the_user_chooses_the_member() {
    let Some((folder, spaces)) = test_bed() else { return };
    let (file, mount) = (folder.file("length.bpf"), folder.file("bpf"));
    // The length into the accumulator, which is returned.
    fs::write(&file, "# the length\n2\n128 0 0 0\n22 0 0 0\n").unwrap();
    fs::create_dir(&mount).unwrap();
    let classic = capbench("");
    // In a mount namespace of its own, which ends with it.
    let mut pinned = program("unshare");
    pinned.args(["-m", "sh", "-e", "-c", "mount -t bpf bpf \"$1\"; shift; exec \"$@\"", "sh"]).arg(&mount);
    pinned.arg(program("python3").get_program()).args(["-c", PIN]).arg(mount.join("length"));
    pinned.arg(classic.get_program());
    let choices = [format!("bpf:{}", file.display()), format!("ebpf:{}", mount.join("length").display())];
    for (mut command, fanout) in [classic, pinned].into_iter().zip(&choices) {
        let arguments = format!("count -i right --json --members {MEMBERS} -c 1000 --fanout {fanout}");
        let mut counting = Running::start(&spaces.right, command.args(arguments.split(' ')));
        counting.wait_for("packet-v3 on right");
        // 18 octets of each size are Ethernet header and FCS: 46 octets are left of the first, and 2 when divided by 4.
        for (size, frames) in [(64, 100), (65, 200), (66, 300), (67, 400)] {
            assert_eq!(send(&spaces, &format!("-c {frames} --size {size}"))["sent"], frames);
        }
        let total = totals(&counting.end().success().out);
        let each: Vec<_> =
            total["members"].as_array().unwrap().iter().map(|member| &member["packets"]).collect();
        assert_eq!(each, [300, 400, 100, 200], "{fanout}");
    }
    for (fanout, words) in [
        ("bpf:/no/such", "No such file"),
        ("bpf:/dev/null", "tcpdump -ddd"),
        ("ebpf:/no/such", "has to be pinned there"),
        ("ebpf:/dev/null", "has to be pinned there"),
        ("dice:1", "no way to fan out"),
    ] {
        let ended = run(&spaces.right, capbench(&format!("count -i right --members 2 --fanout {fanout}")));
        let ended = ended.ended_with(2);
        assert!(ended.errors.contains("--fanout") && ended.errors.contains(words), "{ended:?}");
    }
}
