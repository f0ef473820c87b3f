//! `xdp-live` against what captures its frames: exact counts in every layout, losses that stand in a counter, and an
//! interface that is left as it was found.
#![cfg(feature = "bpf")]

use crate::support::{
    HOST, Namespaces, Running, capbench, eventually, privileges, program, results, run, scratch_of_root,
    test_bed,
};
use capbench_sys::host::affinity;
use capbench_sys::host::ethtool::{Offload, set_offload};
use serde_json::Value;

const FRAMES: u64 = 20_000;

fn send(spaces: &Namespaces, arguments: &str) -> Value {
    run(&spaces.left, capbench("send -i left --transmit xdp-live --json").args(arguments.split_whitespace()))
        .success()
        .json()
}

/// Gives a veth NAPI.
fn set_gro(interface: &str) {
    set_offload(interface, Offload::Gro, true).unwrap();
}

/// The flags of this many threads, on one CPU where there are no more.
fn threads(count: usize) -> String {
    let cpus = affinity::allowed_cpus().unwrap();
    let list: Vec<_> = cpus.iter().cycle().take(count).map(ToString::to_string).collect();
    format!("--threads {count} --cpu {}", list.join(","))
}

fn has_program(spaces: &Namespaces) -> bool {
    spaces.left.ip("-d -o link show dev left").contains("prog/xdp")
}

#[test]
fn root_every_frame_arrives_whole_at_the_stack_and_at_a_program() {
    let Some(()) = privileges() else { return };
    let layouts = ["", "--tcp --flows 100 --vlan 7", "--ipv6", "--ipv6 --tcp --flows 7"];
    for (method, key) in [("packet-v3", "verified"), ("xdp-count", "counted_in_kernel")] {
        for (number, (headers, size)) in layouts.iter().zip(["64", "imix", "100,1514", "200"]).enumerate() {
            let spaces = Namespaces::make();
            if method == "packet-v3" {
                // A program at the far end would do the same.
                spaces.right.inside(|| set_gro("right"));
            }
            let mut command = capbench("");
            let what = format!("--method {method} --verify 9 -c {FRAMES} --duration 30s {headers}");
            command.args(["count", "-i", "right", "--json"]).args(what.split_whitespace());
            let mut count = Running::start(&spaces.right, &mut command);
            count.wait_for("on right: ");
            let threads = threads(number + 1);
            let report = send(
                &spaces,
                &format!("--trial 9 -c {FRAMES} --rate 50000 --size {size} {headers} {threads}"),
            );
            assert_eq!((&report["sent"], &report["unsent"]), (&FRAMES.into(), &0.into()), "{report}");
            // The veth's queue of 256 frames may overflow while its CPU is away, and it counts what it drops then.
            let dropped = spaces.left.dropped_on_transmit();
            assert_eq!(spaces.left.sent() + dropped, FRAMES, "{method} {headers}");
            if dropped > 0 {
                eventually("the queue is empty", || spaces.right.received() + dropped == FRAMES);
                count.signal("INT");
            }
            let ended = count.end().ended_with(if dropped > 0 { 130 } else { 0 });
            let total: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
            for (name, expected) in [("delivered", FRAMES - dropped), ("duplicates", 0), ("foreign", 0)] {
                assert_eq!(
                    total[key][name], expected,
                    "{method} {headers} {size}, {dropped} dropped: {total}"
                );
            }
            assert!(!has_program(&spaces));
        }
    }
}

#[test]
fn root_a_far_end_that_takes_nothing_is_an_error_and_a_full_queue_is_counted() {
    let Some((_, spaces)) = test_bed() else { return };
    // Neither a program nor NAPI is there, and no counter moves.
    let ended = run(&spaces.left, capbench("send -i left --transmit xdp-live -c 1000 --rate 50000"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.errors.contains("gro on") && ended.errors.lines().count() == 1, "{ended:#?}");

    // What is sent at once without end finds the queue of 256 full now and then: whatever it loses is counted.
    spaces.right.inside(|| set_gro("right"));
    for round in [1, 2] {
        let report = send(&spaces, &format!("-c 300000 {}", threads(round)));
        assert_eq!(report["sent"], 300_000, "{report}");
        let shown: Value = serde_json::from_str(&spaces.left.ip("-j -s link show dev left")).unwrap();
        let [packets, dropped] =
            ["packets", "dropped"].map(|name| shown[0]["stats64"]["tx"][name].as_u64().unwrap());
        assert_eq!(packets + dropped, 300_000 * round as u64, "{shown}");
    }
}

#[test]
fn root_no_program_stays_when_the_generator_is_killed() {
    let Some((_, spaces)) = test_bed() else { return };
    for signal in ["INT", "KILL"] {
        let generator = Running::start(
            &spaces.left,
            capbench("send -i left --transmit xdp-live --rate 1000 --duration 60s"),
        );
        eventually("the program is on the interface", || has_program(&spaces));
        generator.signal(signal);
        generator.end();
        eventually("the program is off the interface", || !has_program(&spaces));
    }
}

#[test]
fn root_a_bench_with_it_accounts_for_every_frame() {
    let Some(folder) = scratch_of_root() else { return };
    // A load that every method can take, and more than the generator of a busy host sends.
    for (transmit, rate) in [("xdp-live", "20k"), ("xdp-live", "1M"), ("packet-tx", "1M")] {
        let out = folder.file(&format!("{transmit}-{rate}"));
        let arguments = "bench --method xdp-count,xdp-count+generic,packet-v3 --placement same --size 64 --visits 1 --duration 100ms";
        // What is checked holds in noisy trials, too.
        let flags =
            ["--ring", "8MiB", "--quiet", "100ms", "--repeats", "0", "--transmit", transmit, "--rate", rate];
        let ended = run(HOST, capbench(arguments).args(flags).arg("--out").arg(&out));
        // A busy host may keep the generator from its rate.
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let results = results(&out).unwrap();
        let trials = results["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 3, "{ended:#?}");
        let mut delivered = 0;
        for trial in trials {
            assert_eq!(trial["unexplained"], 0, "{trial:#}");
            delivered += trial["delivered"].as_u64().unwrap();
        }
        assert!(delivered > 0, "{transmit} {rate}: {trials:#?}");
    }
}

#[test]
fn root_what_it_cannot_do_is_refused() {
    let Some((_, spaces)) = test_bed() else { return };
    let refusal = |arguments: &str| {
        let ended =
            run(&spaces.left, capbench("send --transmit xdp-live -c 1").args(arguments.split_whitespace()));
        assert!(ended.code.is_some_and(|code| code != 0) && ended.errors.lines().count() == 1, "{ended:#?}");
        ended.errors
    };
    for end in ["left", "right"] {
        let spaces = if end == "left" { &spaces.left } else { &spaces.right };
        spaces.ip(&format!("link set dev {end} mtu 9000"));
    }
    let text = refusal("-i left --size 5000");
    assert!(text.contains("3220 octets"), "{text}");
    let text = refusal(&format!("-i left --size 3220 {}", threads(2)));
    assert!(text.contains("one less for each thread"), "{text}");
    spaces.left.ip("link add name fake type bridge");
    spaces.left.ip("link set dev fake up");
    let text = refusal("-i fake");
    assert!(text.contains("no native XDP"), "{text}");
    let mut unprivileged = program("setpriv --bounding-set -all --inh-caps -all");
    unprivileged.arg(capbench("").get_program());
    unprivileged.args(["send", "--transmit", "xdp-live", "-c", "1", "-i", "left"]);
    let ended = run(&spaces.left, &mut unprivileged);
    assert!(ended.code == Some(6) && ended.errors.contains("CAP_BPF and CAP_NET_ADMIN"), "{ended:#?}");
}
