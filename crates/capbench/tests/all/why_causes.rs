//! Causes of loss that are really there, one after the other, and what `capbench why` says of each.

#![cfg(feature = "bpf")]

use crate::support::why::{Watching, look, number_before, socket_of};
use crate::support::{
    HOST, Namespaces, Running, Scratch, Setting, capbench, eventually, privileges, program, run, send,
    test_bed,
};
use capbench_testing::{HostLimit, cannot_have};

/// A tcpdump at the right end that has begun to capture.
fn tcpdump(spaces: &Namespaces, arguments: &str) -> Running {
    let mut tcpdump = Running::start(
        &spaces.right,
        program("tcpdump -Z root -i right -w /dev/null").args(arguments.split_whitespace()),
    );
    tcpdump.wait_for("listening on right");
    tcpdump
}

#[test]
fn root_alone_a_backlog_that_overflows_is_named_with_its_setting_and_rps() {
    let Some(()) = privileges() else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return cannot_have(HostLimit::Cpus, "a backlog is filled by one and emptied by another");
    }
    let spaces = Namespaces::make();
    // CPU 1 does the receive work of what CPU 0 sends.
    spaces.right.set("queues/rx-0/rps_cpus", "2");
    let mut why = Watching::start(&spaces.right);
    let setting = Setting::change("/proc/sys/net/core/netdev_max_backlog", "2");
    let begin = spaces.right.dropped();
    send(&spaces, "--duration 300ms --cpu 0");
    drop(setting);
    let dropped = spaces.right.dropped() - begin;
    why.wait_for("backlog (");
    let said = why.end();
    assert!(dropped > 0, "{said}");
    assert!(said.contains(&format!("({dropped} in ")), "{dropped}: {said}");
    assert!(said.contains("frames came faster than a CPU took them off its backlog"), "{said}");
    assert!(said.contains("CPU 1 refused "), "{said}");
    assert!(said.contains("raise net.core.netdev_max_backlog") && said.contains("rps_cpus"), "{said}");
    assert!(!said.contains("stack ("), "booked once: {said}");
}

#[test]
fn root_alone_a_veths_queue_that_overflows_is_named_with_its_peers_number() {
    let Some((_, spaces)) = test_bed() else { return };
    // Frames of a sender that could segment skip NAPI.
    spaces.left.run("ethtool", "-K left tso off");
    spaces.right.run("ethtool", "-K right gro on");
    spaces.right.set("threaded", "1");
    let threads = || threads_named("napi/right");
    eventually("threads poll the veth", || !threads().is_empty());
    for thread in threads() {
        run(HOST, program(&format!("taskset -pc 0 {thread}"))).success();
    }
    let mut why = Watching::start(&spaces.right);
    // A sender that never yields keeps the thread on its CPU from polling.
    let mut command = program("chrt -f 1");
    command.arg(env!("CARGO_BIN_EXE_capbench"));
    command.args("send -i left --duration 100ms --cpu 0".split(' '));
    // Frames that the thread has not polled yet can stay in the ring of the sender, which is code 4.
    let sent = run(&spaces.left, &mut command);
    assert!(matches!(sent.code, Some(0 | 4)), "{sent:#?}");
    let refused = spaces.left.dropped_on_transmit();
    why.wait_for("link_queue (");
    let said = why.end();
    assert!(refused > 0 && said.contains(&format!("({refused} in ")), "{refused}: {said}");
    assert!(said.contains("NAPI poll (256 frames) was full") && said.contains("do: taskset -pc "), "{said}");
}

/// Threads of the kernel whose name begins so.
fn threads_named(name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.starts_with(name))
    })
    .collect()
}

#[test]
fn root_an_af_xdp_reader_that_was_away_is_named() {
    let Some((_, spaces)) = test_bed() else { return };
    let arguments = ["count", "-i", "right", "--method", "af-xdp", "--ring", "256KiB"];
    let mut count = Running::start(&spaces.right, capbench("").args(arguments));
    count.wait_for("af-xdp on right");
    let why = Watching::start(&spaces.right);
    count.signal("STOP");
    send(&spaces, "--rate 50000 -c 20000");
    count.signal("CONT");
    let told = socket_of(&look(&spaces.right), "here", count.pid())["dropped_in_all"].as_u64().unwrap();
    let said = why.end();
    count.signal("INT");
    let report = count.end().success().out;
    assert_eq!(told, number_before(&report, "packets dropped by kernel"), "{report}");
    assert!(told > 0 && said.contains(&format!("({told} in ")), "{told}: {said}");
    // On a busy host the reader that goes on is kept from its CPU, too.
    let is_short_of_cpu =
        said.contains("% of the time for a CPU") && said.contains("let it run before the others");
    assert!(
        said.contains("fill ring was empty")
            || said.contains("for longer than its buffer lasts")
            || is_short_of_cpu,
        "{said}"
    );
    assert!(
        said.contains("give buffers back sooner")
            || said.contains("a longer receive ring")
            || is_short_of_cpu,
        "{said}"
    );
}

#[test]
fn root_frames_that_a_snaplen_cuts_are_told() {
    let Some((_, spaces)) = test_bed() else { return };
    let tcpdump = tcpdump(&spaces, "-s 96");
    let mut dumpcap = Running::start(&spaces.right, program("dumpcap -q -s 120 -i right -w /dev/null"));
    dumpcap.wait_for("File: /dev/null");
    let seen = look(&spaces.right);
    for (pid, octets) in [(tcpdump.pid(), 96), (dumpcap.pid(), 120)] {
        assert_eq!(socket_of(&seen, "here", pid)["cut_to"], octets, "{seen:#}");
    }
    let notes = seen["notes"].to_string();
    assert!(notes.contains("cuts frames to 96 octets; the MTU of 1500 allows 1518"), "{notes}");
    let gro = |setting: &str| spaces.right.run("ethtool", &format!("-K right gro {setting}"));
    // The pair of the tests has no joined frames.
    spaces.right.ip("link set right gro_max_size 65536");
    gro("on");
    let joined = look(&spaces.right)["notes"].to_string();
    assert!(joined.contains("allows 1518, and joined ones"), "{joined}");
    gro("off");
    let single = look(&spaces.right)["notes"].to_string();
    assert!(!single.contains("joined ones"), "{single}");
    assert!(notes.contains("captures both directions"), "{notes}");
}

#[test]
fn root_the_slow_member_of_a_fanout_group_is_told_from_the_others() {
    let Some((_, spaces)) = test_bed() else { return };
    let member = || {
        Running::start(
            &spaces.right,
            program("netsniff-ng").args(
                "--in right --out /dev/null --fanout-group 7 --fanout-type lb --ring-size 1MiB -s".split(' '),
            ),
        )
    };
    let (slow, _other) = (member(), member());
    eventually("both are in the group", || {
        let seen = look(&spaces.right);
        let sockets = seen["sockets"]["here"].as_array().unwrap();
        sockets.iter().filter(|socket| socket["fanout"]["members"] == 2).count() == 2
    });
    let mut why = Watching::start(&spaces.right);
    slow.signal("STOP");
    send(&spaces, "--rate 50000 -c 50000");
    why.wait_for(&format!("of netsniff-ng {} loses", slow.pid()));
    slow.signal("CONT");
    let said = why.end();
    assert!(said.contains("fanout 7 lb of 2"), "{said}");
    assert!(said.contains("other members of its fanout group 7 (lb) lose nothing"), "{said}");
}

#[test]
fn root_of_several_losers_the_one_that_loses_most_comes_first() {
    let Some((_, spaces)) = test_bed() else { return };
    let (small, large) = (tcpdump(&spaces, "-B 64"), tcpdump(&spaces, "-B 4096"));
    small.signal("STOP");
    large.signal("STOP");
    let mut why = Watching::start(&spaces.right);
    send(&spaces, "--rate 50000 -c 50000");
    why.wait_for(&format!("of tcpdump {} loses", small.pid()));
    let said = why.end();
    let at = |of: &Running| said.find(&format!("why: the TPACKET_V3 ring of tcpdump {}", of.pid()));
    assert!(said.contains("1 other place loses too"), "{said}");
    assert!(at(&small).unwrap() < at(&large).unwrap(), "{said}");
}

#[test]
fn root_what_a_socket_on_all_interfaces_lost_of_another_is_not_booked_to_this_one() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.right.ip("link add idle type veth peer name idle-peer");
    spaces.right.ip("link set dev idle up");
    spaces.right.ip("link set dev idle-peer up");
    let mut tcpdump = Running::start(&spaces.right, program("tcpdump -Z root -B 64 -i any -w /dev/null"));
    tcpdump.wait_for("listening on any");
    tcpdump.signal("STOP");
    let mut why = Running::start(&spaces.right, capbench("why -i idle --json"));
    why.wait_for("arrive");
    send(&spaces, "--rate 50000 -c 20000");
    why.wait_for(&format!("ring of tcpdump {} loses", tcpdump.pid()));
    why.signal("INT");
    let out = why.end().success().out;
    let looks = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let blamed = looks.filter(|look| !look["advice"].as_array().unwrap().is_empty()).collect::<Vec<_>>();
    assert!(!blamed.is_empty(), "{out}");
    for look in &blamed {
        assert_eq!(look["advice"][0]["at_most"], true, "{look:#}");
        let places = look["lost"].as_array().unwrap();
        let sockets = places.iter().find(|place| place["place"] == "ring").unwrap();
        assert_eq!(sockets["frames"], 0, "{look:#}");
        assert!(sockets["source"].as_str().unwrap().contains("sockets on all interfaces"), "{look:#}");
        assert!(look["verdict"].as_str().unwrap().contains("up to that many of idle"), "{look:#}");
    }
}

#[test]
fn root_sockets_in_other_namespaces_are_listed_with_what_they_lost() {
    let Some(()) = privileges() else { return };
    let (spaces, other) = (Namespaces::make(), Namespaces::make());
    let tcpdump = tcpdump(&spaces, "-B 64");
    tcpdump.signal("STOP");
    send(&spaces, "--rate 50000 -c 20000");
    let seen = look(&other.left);
    let socket = socket_of(&seen, "elsewhere", tcpdump.pid());
    let lost = socket["dropped_in_all"].as_u64().unwrap();
    assert_eq!((&socket["interface"], &seen["sockets"]["scope"]), (&"right".into(), &"host".into()));
    assert_ne!(socket["namespace"], seen["namespace"]);
    let text = run(&other.left, capbench("why -i left --once --for 50ms"));
    let text = text.success().out;
    assert!(
        text.contains("other capture sockets:") && text.contains(&format!("tcpdump {}", tcpdump.pid())),
        "{text}"
    );
    tcpdump.signal("CONT");
    tcpdump.signal("INT");
    assert_eq!(lost, number_before(&tcpdump.end().errors, "packets dropped by kernel"));
}

#[test]
fn root_in_a_container_processes_have_the_containers_numbers_and_the_rest_is_said_to_be_missing() {
    let Some((_, spaces)) = test_bed() else { return };
    let outside = tcpdump(&spaces, "");
    let script = format!(
        "tcpdump -Z root -i right -w /dev/null 2> {0}/said & \
         until grep -q listening {0}/said; do :; done; \
         {1} why -i right --once --for 100ms --json; echo $! > {0}/pid; kill %1",
        "$SCRATCH",
        env!("CARGO_BIN_EXE_capbench")
    );
    let scratch = Scratch::new();
    let seen = run(
        &spaces.right,
        program("unshare --pid --fork --mount-proc sh -c").arg(&script).env("SCRATCH", scratch.path()),
    )
    .json();
    let inside: u32 = std::fs::read_to_string(scratch.file("pid")).unwrap().trim().parse().unwrap();
    assert_eq!(socket_of(&seen, "here", inside)["processes"][0]["name"], "tcpdump", "{seen:#}");
    assert_eq!(seen["sockets"]["scope"], "pid-namespace");
    let sockets = seen["sockets"]["here"].as_array().unwrap();
    let strangers = sockets.iter().filter(|socket| socket["processes"].as_array().unwrap().is_empty());
    assert_eq!(strangers.count(), 1, "the one of {} outside: {seen:#}", outside.pid());
    let unknown = seen["sockets"]["unknown"].as_str().unwrap();
    assert!(
        unknown.contains("run it on the host") && unknown.contains("no process that can be seen"),
        "{unknown}"
    );
}

#[test]
fn root_what_a_socket_lost_is_kept_when_its_owner_resets_its_counters_and_when_it_closes() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right --ring 256KiB"));
    count.wait_for("packet-v3 on right");
    count.signal("STOP");
    let mut why = Watching::start(&spaces.right);
    send(&spaces, "--rate 50000 -c 20000");
    why.wait_for(&format!("of capbench {} loses", count.pid()));
    let lost = socket_of(&look(&spaces.right), "here", count.pid())["dropped_in_all"].as_u64().unwrap();
    // It reads its counters, which resets them, and goes.
    count.signal("CONT");
    count.signal("INT");
    let pid = count.pid();
    assert_eq!(lost, number_before(&count.end().success().out, "packets dropped by kernel"));
    eventually("its socket is gone", || {
        look(&spaces.right)["sockets"]["here"].as_array().unwrap().is_empty()
    });
    why.wait_for("nothing arrives");
    let said = why.end();
    assert!(said.contains(&format!("({lost} in ")), "{lost}: {said}");
    assert!(said.contains(&format!("capbench {pid} closed")), "{said}");
}
