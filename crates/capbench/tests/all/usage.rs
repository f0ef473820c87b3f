//! What a user gets for mistakes: one clear line, the right exit code, and nothing made. And what help says.

use crate::support::{Ended, HOST, Namespaces, Running, Scratch, capbench, privileges, run, test_bed};

const FAILED: i32 = 1;
const USAGE: i32 = 2;
#[cfg(not(feature = "dpdk"))]
const UNSUPPORTED: i32 = 5;
const PRIVILEGE: i32 = 6;

/// Runs `capbench` in an empty folder, which has to stay empty.
fn outcome(arguments: &str) -> Ended {
    let folder = Scratch::new();
    let mut command = capbench(arguments);
    // The width of help does not follow the terminal of the user who runs the tests.
    let ended = run(HOST, command.current_dir(folder.path()).env_remove("COLUMNS"));
    assert_eq!(folder.entries(), [] as [String; 0], "`capbench {arguments}` made something");
    ended
}

/// Asserts that a command line is refused in one line that has these parts.
fn refused(code: i32, arguments: &str, parts: &[&str]) {
    let ended = outcome(arguments);
    assert_refusal(&format!("capbench {arguments}"), code, ended.code, &ended.errors, parts);
    assert_eq!(ended.out, "", "`capbench {arguments}` prints no result");
}

fn assert_refusal(what: &str, expected: i32, code: Option<i32>, errors: &str, parts: &[&str]) {
    assert_eq!(code, Some(expected), "`{what}`: {errors}");
    assert_eq!(errors.lines().count(), 1, "`{what}` says one line: {errors}");
    assert!(errors.starts_with("capbench: "), "`{what}`: {errors}");
    for part in parts {
        assert!(errors.contains(part), "`{what}` says {part:?}: {errors}");
    }
}

/// What `capbench` prints where nothing is wrong.
fn printed(arguments: &str) -> String {
    let ended = outcome(arguments);
    assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""), "capbench {arguments}");
    ended.out
}

#[test]
fn command_lines_are_refused_or_accepted_as_the_table_says() {
    let mut heading = "";
    for line in include_str!("command_lines.txt").lines().filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("# ") {
            heading = text;
            continue;
        }
        let (code, rest) = line.split_once("  ").unwrap_or_else(|| panic!("{heading}: {line}"));
        let (arguments, parts) = rest.split_once("  => ").unwrap_or((rest, ""));
        let parts: Vec<&str> = parts.split(" | ").collect();
        if code == "0" {
            let said = printed(arguments);
            assert!(parts.iter().all(|part| said.contains(part)), "{heading} {line}: {said}");
        } else {
            refused(code.parse().unwrap(), arguments, &parts);
        }
    }
}

#[test]
fn of_several_methods_those_that_do_not_use_a_flag_are_named() {
    let several = outcome("bench --dry-run --ring 1MiB --method packet-v3,pf-ring,xdp-count");
    let errors = &several.errors;
    assert_eq!(several.code, Some(0), "{errors}");
    assert!(errors.contains("capbench: --ring has no effect on pf-ring, xdp-count"), "{errors}");
    assert!(!printed("sweep work --method recv --time 30d --dry-run").contains("suffice"));
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn a_transmit_method_that_was_not_built_is_unsupported() {
    let reason = "dpdk-tx: built without the feature dpdk; it needs libdpdk-dev: cargo build --features dpdk";
    refused(UNSUPPORTED, "send -i lo --isolated --transmit dpdk-tx -c 1", &[reason]);
}

#[test]
fn no_command_prints_the_commands_in_their_groups() {
    let ended = outcome("");
    let errors = &ended.errors;
    assert_eq!((ended.code, ended.out.as_str()), (Some(USAGE), ""), "{errors}");
    assert_eq!(*errors, printed("--help"));
    assert!(errors.contains("Compare:\n  bench ") && errors.contains("Find a loss:\n  why "), "{errors}");
}

#[test]
fn help_of_everything() {
    let commands = [
        "",
        "bench",
        "search",
        "sweep",
        "reproduce",
        "rfc2544",
        "soak",
        "compare",
        "export",
        "report",
        "send",
        "count",
        "verify",
        "why",
        "methods",
        "campaign",
        "config",
        "tune",
    ];
    for command in commands {
        let name = format!("help {command}");
        insta::assert_snapshot!(name.trim().replace(' ', "_"), printed(&format!("{command} --help")));
    }
}

#[test]
fn the_version_is_the_packages() {
    let expected = concat!("capbench ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed("--version"), expected);
    assert_eq!(printed("-V"), expected);
}

#[test]
fn plans_are_printed_and_nothing_is_run() {
    insta::assert_snapshot!("plan_bench", printed("bench --dry-run --duration 1s --placement same,other"));
    insta::assert_snapshot!(
        "plan_bench_of_one_load",
        printed(
            "bench --dry-run --method recv,packet-v3 --size imix,64 --work ns:500 --rate 1.5Mpps --duration 2s --placement same"
        )
    );
    insta::assert_snapshot!(
        "plan_bench_against",
        printed("bench --dry-run --method packet-v3 --against recv --size 64 --placement same")
    );
    insta::assert_snapshot!("plan_search", printed("search --dry-run --method packet-v2,packet-v3"));
    insta::assert_snapshot!(
        "plan_sweep",
        printed("sweep ring --dry-run --method packet-v2 --rate 100k --bursts")
    );
    insta::assert_snapshot!("plan_reproduce", printed("reproduce all --dry-run --seed 1"));
    insta::assert_snapshot!(
        "plan_reproduce_one",
        printed("reproduce dain-2004 --dry-run --scale 1 --visits 6 --seed 1")
    );
    insta::assert_snapshot!("plan_rfc2544", printed("rfc2544 --dry-run --quick"));
    insta::assert_snapshot!("list_of_goals", printed("search --list-goals"));
    insta::assert_snapshot!(
        "plan_send",
        printed("send -i lo --isolated --dry-run --rate 100k -c 500000 --ipv6 --tcp --vlan 7 --size 128")
    );
}

#[test]
fn a_bench_takes_no_longer_than_its_plan_may_say() {
    for (arguments, limit) in [("bench --dry-run", 90), ("bench --quick --dry-run", 21)] {
        let plan = printed(arguments);
        let seconds = plan.lines().find_map(|line| line.strip_prefix("time")?.trim().strip_prefix("up to "));
        let seconds: u32 = seconds.unwrap().strip_suffix(" s").unwrap().parse().unwrap();
        assert!((1..limit).contains(&seconds), "{arguments}: {plan}");
    }
}

#[test]
fn root_a_ring_or_a_folder_that_cannot_be_ends_a_bench_before_it_begins() {
    let Some(()) = privileges() else { return };
    refused(USAGE, "bench --quick --ring 9999GiB", &["--ring 9999GiB", "memory"]);
    refused(USAGE, "bench --quick --method packet-v3 --block 1000", &["--block", "page"]);
    refused(FAILED, "bench --quick --out /proc/x", &["/proc/x", "--out"]);
    refused(FAILED, "bench --quick --out /dev/null/x", &["/dev/null/x", "--out"]);
    let taken = Scratch::new();
    std::fs::write(taken.file("mine"), "x").unwrap();
    refused(FAILED, &format!("bench --quick --out {}", taken.path().display()), &["not empty", "--out"]);
    assert_eq!(taken.entries(), ["mine"]);
}

#[test]
fn root_interfaces_in_use_or_down_are_refused() {
    let Some((_, spaces)) = test_bed() else { return };
    let refused_there = |code: i32, arguments: &str, parts: &[&str]| {
        let folder = Scratch::new();
        let mut command = capbench("");
        let ended = run(&spaces.left, command.args(arguments.split(' ')).current_dir(folder.path()));
        assert_refusal(&format!("capbench {arguments}"), code, ended.code, &ended.errors, parts);
        assert_eq!((ended.out.as_str(), folder.entries()), ("", vec![]), "capbench {arguments}");
    };
    let send = "send -i left -c 3 --json";
    // The interface that sends is looked at first.
    let bench = "bench --quick --tx left --rx lo";
    assert_eq!(run(&spaces.left, capbench("").args(send.split(' '))).success().json()["sent"], 3);

    spaces.left.ip("address add 198.18.0.1/24 dev left");
    for command in [send, bench] {
        refused_there(USAGE, command, &["interface left", "198.18.0.1", "RFC 6815", "--isolated"]);
    }
    spaces.left.ip("route add default dev left");
    for command in [send, bench] {
        refused_there(USAGE, command, &["interface left", "default route", "RFC 6815", "--isolated"]);
    }
    // A route alone says the same; and the user's word is taken.
    spaces.left.ip("address flush dev left");
    spaces.left.ip("route add default dev left");
    refused_there(USAGE, send, &["default route", "--isolated"]);
    run(&spaces.left, capbench("").args(format!("{send} --isolated").split(' '))).success();

    spaces.left.ip("link set dev left down");
    for command in [send, bench, "count -i left"] {
        refused_there(FAILED, command, &["interface left", "is down", "ip link set left up"]);
        if command != "count -i left" {
            refused_there(FAILED, &format!("{command} --isolated"), &["is down"]);
        }
    }
    spaces.left.ip("link set dev left up");
    spaces.right.ip("link set dev right down");
    refused_there(FAILED, &format!("{send} --isolated"), &["interface left", "no carrier"]);
}

#[test]
fn root_an_interface_that_goes_down_ends_a_count() {
    let Some(()) = privileges() else { return };
    for method in ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3"] {
        let spaces = Namespaces::make();
        let mut count = Running::start(&spaces.right, capbench(&format!("count -i right --method {method}")));
        count.wait_for(&format!("{method} on right"));
        spaces.right.ip("link set dev right down");
        let ended = count.end();
        assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
        let last = ended.errors.lines().last().unwrap();
        assert!(last.contains("right") && last.contains("down"), "{ended:#?}");
    }
}

#[test]
fn root_a_missing_capability_is_named() {
    let Some(()) = privileges() else { return };
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    for arguments in ["count -i lo", "count -i lo --method recv", "send -i lo --isolated -c 1"] {
        let ended = run(HOST, folder.capbench_of_nobody(&home).args(arguments.split(' ')));
        let what = format!("capbench {arguments}, as nobody");
        assert_refusal(&what, PRIVILEGE, ended.code, &ended.errors, &["CAP_NET_RAW", "run as root"]);
    }
    let ended = run(HOST, folder.capbench_of_nobody(&home).arg("methods")).success();
    assert!(ended.out.contains("packet-v3") && ended.out.contains("CAP_NET_RAW"), "{}", ended.out);
    assert_eq!(home.entries(), [] as [String; 0]);
}
