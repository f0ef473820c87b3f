//! Every change that `capbench why` prints as a command is run as it is printed, against a loss of its kind, and the loss ends.
//! docs/why.md lists the exceptions.

#![cfg(feature = "bpf")]

use capbench_testing::{HostLimit, cannot_have};
use capbench_why::remedy::ELSEWHERE;
use capbench_why::{Remedy, RemedyKind};
use serde_json::Value;

use crate::support::why::{Watching, look};
use crate::support::{
    Namespaces, Place, Running, Setting, capbench, eventually, lossy, privileges, program, run, send,
    test_bed,
};

/// The file and the test that run each kind.
fn test_of(kind: RemedyKind) -> (&'static str, &'static str) {
    const HERE: &str = include_str!("why_remedies.rs");
    const XDP: &str = include_str!("../../../capbench-why/tests/why.rs");
    match kind {
        RemedyKind::Continue => (HERE, "root_a_stopped_reader_continues"),
        RemedyKind::DetachXdp => {
            (XDP, "root_a_program_that_a_tool_attached_is_taken_away_by_the_command_of_its_mode")
        }
        RemedyKind::EndHolder => (HERE, "root_a_program_that_a_process_holds_ends_with_it"),
        RemedyKind::LongerBacklog | RemedyKind::SpreadReceiveWork => {
            (HERE, "root_alone_a_longer_backlog_takes_the_burst")
        }
        RemedyKind::PollByThreads | RemedyKind::MoveThread => {
            (HERE, "root_alone_a_thread_polls_the_veth_on_a_cpu_that_nobody_blocks")
        }
        RemedyKind::RaiseMtu => {
            (HERE, "root_frames_longer_than_the_mtu_are_named_by_both_ends_and_the_mtu_is_raised")
        }
        RemedyKind::SetUp => (HERE, "root_an_interface_that_is_down_is_set_up"),
        RemedyKind::MoveProgram | RemedyKind::Priority => (HERE, "root_alone_a_starved_reader_gets_its_cpu"),
        RemedyKind::LargerBuffer => (HERE, "root_alone_a_larger_buffer_lasts_for_the_pause"),
        RemedyKind::LongerRing | RemedyKind::LargerBudget => {
            (HERE, "root_alone_commands_for_a_card_are_understood")
        }
    }
}

#[test]
fn every_kind_of_remedy_has_a_test() {
    for kind in RemedyKind::ALL {
        let (file, test) = test_of(kind);
        assert!(file.contains(&format!("fn {test}()")), "{kind:?}: {test}");
    }
}

/// One of each kind that no test shows to end a loss, as docs/why.md prints it.
fn exceptions() -> [(Remedy, &'static str); 5] {
    let interface = || "IF".to_owned();
    [
        (Remedy::LongerRing { interface: interface(), descriptors: 1 }, "ethtool -G IF rx N"),
        (Remedy::LargerBudget { packets: 1, elsewhere: false }, "sysctl -w net.core.netdev_budget=N"),
        (Remedy::SpreadReceiveWork { interface: interface(), cpus: vec![0] }, "for file in …/rps_cpus; do …"),
        (Remedy::PollByThreads { interface: interface() }, "echo 1 > …/threaded"),
        (Remedy::Priority { pid: 1 }, "chrt -a -f -p 1 PID"),
    ]
}

#[test]
fn the_documentation_lists_the_commands_that_no_test_shows_to_end_a_loss() {
    let page = include_str!("../../../../docs/why.md");
    let (_, table) =
        page.split_once("| command | what the test shows | why no loss ends |\n|---|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let documented: Vec<_> = table.lines().filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(documented, exceptions().map(|(_, printed)| printed));
    for (remedy, printed) in exceptions() {
        let command = remedy.command().unwrap();
        let mut parts = printed.split(['…', 'N']).map(|part| part.trim_end_matches("PID"));
        assert!(parts.all(|part| command.contains(part)), "{command}: {printed}");
    }
}

/// Runs a command as it is printed, by a shell of root in the namespace, whose sysfs shows its interfaces.
fn apply(place: &Place, command: &str) {
    let script = "mount -t sysfs sysfs /sys && exec sh -e -c \"$0\"";
    let output = if command.ends_with(ELSEWHERE) {
        program("sh -e -c").arg(command).output().unwrap()
    } else {
        place.output(program("unshare -m sh -e -c").args([script, command]))
    };
    assert!(output.status.success(), "{command}: {}", lossy(&output.stderr));
}

/// The looks of `capbench why` at the right end while something happens.
struct Looks(Vec<Value>);

fn seen<T>(spaces: &Namespaces, traffic: impl FnOnce() -> T) -> Looks {
    let mut why = Running::start(&spaces.right, capbench("why -i right --json"));
    why.wait_for("verdict");
    traffic();
    why.signal("INT");
    let out = why.end().success().out;
    Looks(out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn lost_in(look: &Value, place: &str) -> u64 {
    let rows = look["lost"].as_array().unwrap().iter();
    rows.filter(|row| row["place"] == place).filter_map(|row| row["frames"].as_u64()).sum()
}

impl Looks {
    fn lost_at(&self, place: &str) -> u64 {
        self.0.iter().map(|look| lost_in(look, place)).sum()
    }

    /// The advice of the look in which this place lost most; its first one is about the place.
    fn advice(&self, place: &str) -> &Value {
        let look = self.0.iter().max_by_key(|look| lost_in(look, place)).unwrap();
        let first = &look["advice"][0];
        assert_eq!(first["place"], place, "{self:#?}");
        first
    }

    /// The commands of that advice.
    fn commands(&self, place: &str) -> Vec<String> {
        let commands = self.advice(place)["remedies"].as_array().unwrap().iter();
        commands.map(|command| command.as_str().unwrap().to_owned()).collect()
    }
}

impl std::fmt::Debug for Looks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|look| {
            writeln!(formatter, "{} {:#}\n{:#}", look["verdict"], look["advice"], look["lost"])
        })
    }
}

fn tcpdump(spaces: &Namespaces, flags: &str) -> Running {
    let line = format!("tcpdump -Z root -i right -w /dev/null {flags}");
    let mut tcpdump = Running::start(&spaces.right, program(&line));
    tcpdump.wait_for("listening on right");
    tcpdump
}

#[test]
fn root_a_stopped_reader_continues() {
    let Some((_, spaces)) = test_bed() else { return };
    let tcpdump = tcpdump(&spaces, "-B 4096");
    tcpdump.signal("STOP");
    let looks = seen(&spaces, || send(&spaces, "-c 100000"));
    let commands = looks.commands("ring");
    assert_eq!(commands, [format!("kill -CONT {}", tcpdump.pid())]);
    apply(&spaces.right, &commands[0]);
    let looks = seen(&spaces, || send(&spaces, "--rate 10k -c 2000"));
    assert_eq!(looks.lost_at("ring"), 0, "{looks:#?}");
}

#[test]
fn root_a_program_that_a_process_holds_ends_with_it() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right --method xdp-count --verify 1"));
    count.wait_for("xdp-count on right");
    let looks = seen(&spaces, || send(&spaces, "--rate 10k -c 1000"));
    assert!(looks.lost_at("xdp") >= 1000, "{looks:#?}");
    let commands = looks.commands("xdp");
    assert_eq!(commands, [format!("kill {}", count.pid())]);
    apply(&spaces.right, &commands[0]);
    eventually("it has ended", || count.has_ended());
    let looks = seen(&spaces, || send(&spaces, "--rate 10k -c 1000"));
    assert_eq!(looks.lost_at("xdp"), 0, "{looks:#?}");
}

#[test]
fn root_alone_a_longer_backlog_takes_the_burst() {
    const FILE: &str = "/proc/sys/net/core/netdev_max_backlog";
    let Some(()) = privileges() else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return cannot_have(HostLimit::Cpus, "a backlog is filled by one and emptied by another");
    }
    let spaces = Namespaces::make();
    spaces.right.set("queues/rx-0/rps_cpus", "2");
    let _restored = Setting::change(FILE, "2");
    let burst = || send(&spaces, "--rate 10k --burst 256 -c 5120 --cpu 0");
    let looks = seen(&spaces, burst);
    assert!(looks.lost_at("backlog") > 0, "{looks:#?}");
    let commands = looks.commands("backlog");
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert!(commands[0].starts_with("sysctl -w net.core.netdev_max_backlog="), "{commands:?}");
    apply(&spaces.right, &commands[0]);
    let looks = seen(&spaces, burst);
    assert_eq!(looks.lost_at("backlog"), 0, "{looks:#?}");
    // All CPUs take part.
    apply(&spaces.right, &commands[1]);
    let mask = spaces.right.inside(|| {
        let view = capbench_sys::host::SysfsView::of_current_namespace().unwrap();
        view.read("class/net/right/queues/rx-0/rps_cpus").unwrap()
    });
    let bits = u64::from_str_radix(mask.rsplit(',').next().unwrap(), 16).unwrap().count_ones();
    assert!(bits as usize >= std::thread::available_parallelism().unwrap().get().min(32), "{mask}");
}

/// Sends from a thread that never yields CPU 0.
fn blocking_cpu_0(spaces: &Namespaces, arguments: &str) {
    let mut command = program("chrt -f 1");
    command.arg(env!("CARGO_BIN_EXE_capbench")).args("send -i left --cpu 0".split(' '));
    let sent = run(&spaces.left, command.args(arguments.split(' ')));
    // Frames that nobody has polled yet can stay in the ring of the sender, which is code 4.
    assert!(matches!(sent.code, Some(0 | 4)), "{sent:#?}");
}

#[test]
fn root_alone_a_thread_polls_the_veth_on_a_cpu_that_nobody_blocks() {
    let Some(()) = privileges() else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return cannot_have(HostLimit::Cpus, "one is blocked, and another polls");
    }
    let spaces = Namespaces::make();
    // Frames of a sender that could segment skip NAPI.
    spaces.left.run("ethtool", "-K left tso off");
    spaces.right.run("ethtool", "-K right gro on");
    let poll = Remedy::PollByThreads { interface: "right".into() };
    apply(&spaces.right, &poll.command().unwrap());
    eventually("threads poll the veth", || !polling().is_empty());
    // A thread that may run only where the sender never yields.
    for thread in polling() {
        run(&spaces.right, program(&format!("taskset -pc 0 {thread}"))).success();
    }
    let slow = || blocking_cpu_0(&spaces, "--duration 300ms --rate 5k");
    let looks = seen(&spaces, slow);
    assert!(looks.lost_at("link_queue") > 0, "{looks:#?}");
    let moved = looks.commands("link_queue");
    assert!(moved.len() == 1 && moved[0].starts_with("taskset -pc "), "{moved:?}");
    apply(&spaces.right, &moved[0]);
    let looks = seen(&spaces, slow);
    assert_eq!(looks.lost_at("link_queue"), 0, "{looks:#?}");
}

/// The kernel's threads that poll interfaces with the name of this test's.
fn polling() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_its = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.starts_with("napi/right-"))
    };
    pids.filter(is_its).collect()
}

#[test]
fn root_frames_longer_than_the_mtu_are_named_by_both_ends_and_the_mtu_is_raised() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.left.ip("link set dev left mtu 9000");
    let long = |method: &str| {
        let line = format!("send -i left --size 2000 --rate 10k -c 1000 --transmit {method}");
        run(&spaces.left, capbench(&line))
    };
    let looks = seen(&spaces, || {
        for method in ["packet-tx", "sendmmsg", "sendto"] {
            let ended = long(method).ended_with(1);
            assert_eq!(ended.errors.lines().count(), 1, "{method}: {ended:#?}");
            let expected =
                "frames of 1996 octets are longer than the MTU 1500 of right, the other end of left";
            assert!(ended.errors.contains(expected) && ended.errors.contains("--size 1518"), "{ended:#?}");
        }
    });
    assert!(looks.lost_at("stack") > 0, "{looks:#?}");
    let cause = looks.advice("stack")["cause"].as_str().unwrap();
    assert!(
        cause.starts_with("frames are longer than right's MTU 1500: its peer sends up to 9000"),
        "{cause}"
    );
    let commands = looks.commands("stack");
    assert_eq!(commands, ["ip link set dev right mtu 9000"]);
    apply(&spaces.right, &commands[0]);
    let looks = seen(&spaces, || drop(long("packet-tx").success()));
    assert_eq!(looks.lost_at("stack"), 0, "{looks:#?}");
}

#[test]
fn root_an_interface_that_is_down_is_set_up() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.right.ip("link set dev right down");
    let verdict = look(&spaces.right)["verdict"].as_str().unwrap().to_owned();
    let command = verdict.split('`').nth(1).unwrap();
    assert_eq!(command, "ip link set dev right up", "{verdict}");
    apply(&spaces.right, command);
    assert_eq!(look(&spaces.right)["up"], true);
}

/// A reader of some 9 microseconds of CPU time for each packet, 27 on a slow host, whose buffer takes 2,700 packets: with a sixteenth of a
/// CPU it reads too few of 12,000 packets/s, and with half of one it reads them all.
const SLOW_READER: &str = r#"
import socket
RCVBUFFORCE = 33
reader = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
reader.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 20)
reader.bind(("right", 0))
print("reads", flush=True)
while True:
    reader.recv(2048)
    for _ in range(600):
        pass
"#;

#[test]
fn root_alone_a_starved_reader_gets_its_cpu() {
    let Some((_, spaces)) = test_bed() else { return };
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let on_last = |line: &str| program(&format!("taskset -c {last} {line}"));
    let mut reader = Running::start(&spaces.right, on_last("python3 -u -c").arg(SLOW_READER));
    reader.wait_for("reads");
    let busy = || Running::start(&spaces.right, on_last("sh -c").arg("while :; do :; done"));
    let _loops: Vec<Running> = (0..15).map(|_| busy()).collect();
    // A busy host may keep the sender from some frames, which is code 4.
    let load = || {
        let sent = run(&spaces.left, capbench("send -i left --rate 12k --duration 1500ms --cpu 0"));
        assert!(matches!(sent.code, Some(0 | 4)), "{sent:#?}");
    };
    let looks = seen(&spaces, load);
    assert!(looks.lost_at("ring") > 0, "{looks:#?}");
    let cause = looks.advice("ring")["cause"].as_str().unwrap();
    // On a busy host others than the loops can be the busiest.
    let waited = format!("% of the time for CPU {last}, which ");
    assert!(cause.contains(&waited) && cause.contains(" more used; it ran "), "{cause}");
    // On a host where even that is too slow no command helps, and none is printed.
    let Some(command) = looks.commands("ring").first().cloned() else {
        assert!(cause.contains("even alone it processes"), "{cause}");
        return capbench_testing::busy(format!("a reader that keeps up alone: {cause}"));
    };
    apply(&spaces.right, &command);
    let looks = seen(&spaces, load);
    if looks.lost_at("ring") > 0 {
        // The sender and what else is on the host have the other CPU.
        let cause = looks.advice("ring")["cause"].as_str().unwrap();
        assert!(cause.contains(" waited ") && !cause.contains(&waited), "{command}: {looks:#?}");
        return capbench_testing::busy(format!("half of a CPU for a reader: {cause}"));
    }
    // The other command, on a program that only sleeps.
    let sleeper = Running::start(&spaces.right, program("python3 -c").arg("import time; time.sleep(60)"));
    for remedy in
        [Remedy::MoveProgram { pid: sleeper.pid(), cpu: 0 }, Remedy::Priority { pid: sleeper.pid() }]
    {
        apply(&spaces.right, &remedy.command().unwrap());
    }
    let policy = run(&spaces.right, program(&format!("chrt -p {}", sleeper.pid()))).success().out;
    let cpus = run(&spaces.right, program(&format!("taskset -pc {}", sleeper.pid()))).success().out;
    assert!(policy.contains("SCHED_FIFO") && cpus.trim_end().ends_with(": 0"), "{policy}{cpus}");
}

#[test]
fn root_alone_a_larger_buffer_lasts_for_the_pause() {
    let Some((_, spaces)) = test_bed() else { return };
    // Frames for 75 ms come while it is stopped, more than its smallest ring takes.
    let pause = |tcpdump: &Running| {
        tcpdump.signal("STOP");
        send(&spaces, "--rate 40k -c 3000");
        tcpdump.signal("CONT");
        send(&spaces, "--rate 40k -c 20000");
    };
    let small = tcpdump(&spaces, "-B 64");
    let looks = seen(&spaces, || pause(&small));
    assert!(looks.lost_at("ring") > 0, "{looks:#?}");
    let [cause, change] = ["cause", "change"].map(|key| looks.advice("ring")[key].as_str().unwrap());
    let Some((_, rest)) = change.split_once("start tcpdump with `") else {
        assert!(cause.contains("% of the time for a CPU"), "{looks:#?}");
        return capbench_testing::busy(format!("tcpdump did not get its CPU when it went on: {cause}"));
    };
    let (flag, _) = rest.split_once('`').unwrap();
    drop(small);
    let large = tcpdump(&spaces, flag);
    let looks = seen(&spaces, || pause(&large));
    assert_eq!(looks.lost_at("ring"), 0, "{flag}: {looks:#?}");
}

#[test]
fn root_alone_commands_for_a_card_are_understood() {
    const FILE: &str = "/proc/sys/net/core/netdev_budget";
    let Some((_, spaces)) = test_bed() else { return };
    let _restored = Setting::change(FILE, "300");
    apply(&spaces.right, &Remedy::LargerBudget { packets: 600, elsewhere: true }.command().unwrap());
    assert_eq!(std::fs::read_to_string(FILE).unwrap().trim(), "600");
    let ring = Remedy::LongerRing { interface: "right".into(), descriptors: 512 }.command().unwrap();
    let refused = run(&spaces.right, program("sh -c").arg(&ring));
    assert!(refused.errors.contains("not supported") && !refused.errors.contains("bad"), "{refused:#?}");
}

#[test]
fn root_commands_of_the_notes_end_what_the_notes_say() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.right.run("ethtool", "-K right gro on");
    let commands = |look: &Value| -> Vec<String> {
        let notes = look["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        notes.filter_map(|note| note.split('`').nth(1)).map(str::to_owned).collect()
    };
    let printed = commands(&look(&spaces.right));
    assert!(printed.iter().any(|command| command == "ethtool -K right gro off"), "{printed:?}");
    for command in &printed {
        apply(&spaces.right, command);
    }
    assert_eq!(commands(&look(&spaces.right)), [""; 0], "{printed:?}");
}

#[test]
fn root_the_text_has_each_command_in_a_line() {
    let Some((_, spaces)) = test_bed() else { return };
    let tcpdump = tcpdump(&spaces, "-B 64");
    tcpdump.signal("STOP");
    let mut why = Watching::start(&spaces.right);
    send(&spaces, "-c 20000");
    why.wait_for("of tcpdump");
    let said = why.end();
    assert!(said.contains(&format!("do: kill -CONT {}", tcpdump.pid())), "{said}");
}
