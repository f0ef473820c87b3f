//! `capbench why` at interfaces and on hosts where there is little to see, and the ways in which it ends.

#[cfg(feature = "bpf")]
use crate::support::results_file::assert_valid_output;
use crate::support::why::look;
use crate::support::{
    Ended, Namespaces, Running, Scratch, capbench, eventually, privileges, program, run, send, test_bed,
};
use serde_json::Value;

/// One look, as text in one line.
fn said(spaces: &Namespaces, arguments: &str) -> String {
    let text = run(&spaces.right, capbench("why --once --for 50ms").args(arguments.split_whitespace()))
        .success()
        .out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn root_why_on_interfaces_where_nothing_can_come() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.left.ip("link set dev left down");
    let alone = said(&spaces, "-i right");
    assert!(alone.contains("nothing arrives on right (it has no carrier) and nothing is lost"), "{alone}");
    spaces.right.ip("link set dev right down");
    let down = said(&spaces, "-i right");
    assert!(down.contains("right is down: nothing arrives; `ip link set dev right up` sets it up"), "{down}");
}

#[test]
fn root_why_on_loopback_says_that_frames_are_seen_twice() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.right.ip("link set dev lo up");
    let lo = said(&spaces, "-i lo");
    assert!(
        lo.contains("sees every frame twice") && !lo.contains("GRO") && !lo.contains("promiscuous"),
        "{lo}"
    );
}

#[test]
fn root_an_interface_that_goes_takes_nothing_with_it_that_was_seen() {
    let Some((_, spaces)) = test_bed() else { return };
    let start = |flags: &[&str]| Running::start(&spaces.right, capbench("why -i right").args(flags));
    let (document, mut lines) = (start(&["--once", "--for", "1h", "--json"]), start(&["--json"]));
    lines.wait_for("nothing arrives");
    send(&spaces, "--rate 1000 -c 500");
    lines.wait_for("packets/s arrive");
    // The next second is one in which both have looked again.
    lines.wait_for("\"time_s\":4.");
    spaces.right.ip("link del dev right");
    let gone = |ended: &Ended| {
        assert_eq!((ended.code, ended.errors.lines().count()), (Some(1), 1), "{ended:#?}");
        assert!(ended.errors.contains("right: has gone after"), "{ended:#?}");
    };
    let (document, lines) = (document.end(), lines.end());
    gone(&document);
    gone(&lines);
    let seen = document.json();
    assert!(seen["seconds"].as_f64().unwrap() > 1.0 && seen["received"].as_u64() > Some(0), "{seen:#}");
    let all = lines.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(all.map(|look| look["received"].as_u64().unwrap()).sum::<u64>(), 500);
}

/// Whether a process has set up how it answers SIGINT (the second bit of SigCgt in proc_pid_status(5)).
fn answers_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}

#[test]
fn root_an_interface_that_goes_in_the_first_second_leaves_a_document() {
    let Some(()) = privileges() else { return };
    for flags in [&["--once", "--json"][..], &["--json"], &["--once"]] {
        let spaces = Namespaces::make();
        let why = Running::start(&spaces.right, capbench("").args(["why", "-i", "right"]).args(flags));
        eventually("it watches", || answers_interrupts(why.pid()));
        spaces.right.ip("link del dev right");
        let ended = why.end();
        assert_eq!(ended.code, Some(1), "{flags:?}: {ended:#?}");
        assert!(ended.errors.contains("right: has gone after"), "{flags:?}: {ended:#?}");
        if flags.contains(&"--json") {
            assert_eq!(ended.json()["interface"], "right", "{flags:?}");
        } else {
            assert!(ended.out.contains("places:"), "{ended:#?}");
        }
    }
}

#[test]
fn root_an_interface_that_gets_another_name_is_followed() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut why = Running::start(&spaces.right, capbench("why -i right --json"));
    why.wait_for("nothing arrives");
    spaces.right.ip("link set dev right down");
    spaces.right.ip("link set dev right name other");
    // Another interface takes the name: none of its counters may be taken for the first one's.
    spaces.right.ip("link add right type veth peer name its-peer");
    spaces.right.ip("link set dev other up");
    why.wait_for("\"interface\":\"other\"");
    // At once, so that one look has them all: the end has no look of its own.
    send(&spaces, "--rate 1M -c 100");
    why.wait_for("packets/s arrive on other");
    why.signal("INT");
    let out = why.end().success().out;
    let looks = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let received = looks.iter().map(|look| look["received"].as_u64().unwrap()).sum::<u64>();
    let by_driver =
        looks.iter().filter_map(|look| look["driver_counters"]["rx_queue_0_xdp_packets"].as_u64());
    assert!(received >= 100 && by_driver.sum::<u64>() <= received, "{out}");
}

#[test]
fn root_an_interrupt_ends_a_watch_with_what_it_has() {
    let Some((_, spaces)) = test_bed() else { return };
    let interrupted = |signal: &str, arguments: &str| {
        let mut why =
            Running::start(&spaces.right, capbench("why -i right").args(arguments.split_whitespace()));
        why.wait_for("nothing arrives");
        why.signal(signal);
        why.end()
    };
    // Without a limit it is how a watch ends; with one it is not.
    for (signal, arguments, code) in [
        ("INT", "", 0),
        ("INT", "--for 300d", 130),
        ("TERM", "--for 1h", 143),
        ("INT", "--json --for 1h", 130),
    ] {
        let ended = interrupted(signal, arguments);
        assert_eq!((ended.code, ended.errors.as_str()), (Some(code), ""), "{arguments}: {ended:#?}");
        let is_whole = ended.out.contains("places:") || arguments.contains("--json");
        assert!(is_whole, "{arguments}: {ended:#?}");
    }
}

#[test]
fn root_a_kernel_without_btf_says_what_is_unknown_and_shows_the_rest() {
    let Some(()) = privileges() else { return };
    let (spaces, empty) = (Namespaces::make(), Scratch::new());
    let mut count = Running::start(&spaces.right, capbench("count -i right"));
    count.wait_for("packet-v3 on right");
    let mut command = program("unshare");
    let script = "mount --bind \"$1\" /sys/kernel/btf && exec \"$2\" why -i right --once --for 50ms --json";
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(empty.path()).arg(env!("CARGO_BIN_EXE_capbench"));
    let seen = run(&spaces.right, &mut command).success().json();
    let unknown = seen["sockets"]["unknown"].as_str().unwrap();
    assert!(
        unknown.contains("CONFIG_DEBUG_INFO_BTF") && unknown.contains("other network namespaces"),
        "{unknown}"
    );
    let socket = &seen["sockets"]["here"][0];
    assert_eq!(socket["processes"][0]["pid"], count.pid(), "{seen:#}");
    assert_eq!((&socket["dropped"], &seen["sockets"]["scope"]), (&Value::Null, &"net-namespace".into()));
}

#[test]
fn root_a_terminal_gets_a_view_that_is_drawn_anew() {
    let Some((_, spaces)) = test_bed() else { return };
    // script(1) gives it a terminal.
    let on_terminal = |environment: &[(&str, &str)]| {
        let mut command = program("script");
        let why = format!("{} why -i right --for 1200ms", env!("CARGO_BIN_EXE_capbench"));
        command.args(["-q", "-e", "-c", &why, "/dev/null"]).envs(environment.iter().copied());
        run(&spaces.right, &mut command).success().out
    };
    let coloured = on_terminal(&[("TERM", "xterm"), ("NO_COLOR", "")]);
    assert_eq!(coloured.matches("\x1b[H").count(), 3, "two looks and the whole: {coloured:?}");
    let plain = on_terminal(&[("TERM", "xterm"), ("NO_COLOR", "1")]);
    assert!(plain.contains("\x1b[H") && !plain.contains("\x1b[1m"), "{plain:?}");
    let dumb = on_terminal(&[("TERM", "dumb")]);
    assert!(!dumb.contains('\x1b') && dumb.contains("places:"), "{dumb:?}");
    let piped = run(&spaces.right, capbench("why -i right --for 100ms").env("TERM", "xterm"));
    assert!(!piped.success().out.contains('\x1b'));
}

#[test]
#[cfg(feature = "bpf")]
fn root_the_json_is_as_documented() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut running = Vec::new();
    for method in ["recv", "packet-v2", "packet-v3", "af-xdp"] {
        let mut count = Running::start(
            &spaces.right,
            capbench(&format!("count -i right --ring 256KiB --method {method}")),
        );
        count.wait_for(&format!("{method} on right"));
        running.push(count);
    }
    let mut why = Running::start(&spaces.right, capbench("why -i right --json"));
    why.wait_for("nothing arrives");
    running.iter().for_each(|count| count.signal("STOP"));
    send(&spaces, "--rate 50000 -c 20000");
    why.wait_for("loses");
    why.signal("INT");
    for line in why.end().success().out.lines() {
        assert_valid_output("why", &serde_json::from_str(line).unwrap());
    }
    assert_valid_output("why", &look(&spaces.left));
}
