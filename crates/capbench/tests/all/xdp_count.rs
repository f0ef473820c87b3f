//! `xdp-count` as users run it: every layout of frames, and an interface that is clean whatever happens to the program.
#![cfg(feature = "bpf")]

use crate::support::{Namespaces, Running, Scratch, capbench, eventually, privileges, run, test_bed};
use serde_json::Value;

const FRAMES: u64 = 5000;

fn has_program(spaces: &Namespaces) -> bool {
    spaces.right.ip("-d -o link show dev right").contains("prog/xdp")
}

/// A count at the right end that has begun.
fn counting(spaces: &Namespaces, arguments: &str) -> Running {
    let mut count =
        Running::start(&spaces.right, capbench("count -i right --json").args(arguments.split_whitespace()));
    count.wait_for("on right: XDP program");
    count
}

#[test]
fn root_frames_of_every_layout_are_counted_in_either_mode() {
    let Some(()) = privileges() else { return };
    let headers = ["", "--tcp --flows 100", "--ipv6", "--ipv6 --tcp --flows 7"];
    for method in ["xdp-count", "xdp-count+generic"] {
        for headers in
            headers.iter().flat_map(|headers| ["", " --vlan 4094"].map(|tag| format!("{headers}{tag}")))
        {
            let spaces = Namespaces::make();
            // Three frames of another trial come last.
            let all = FRAMES + 3;
            let count =
                counting(&spaces, &format!("--method {method} --verify 9 -c {all} --duration 30s {headers}"));
            for (trial, frames) in [(9, FRAMES), (8, 3)] {
                let mut send = capbench("");
                let what = format!("--trial {trial} -c {frames} --rate 50000 --size 100 {headers}");
                send.args(["send", "-i", "left", "--json"]).args(what.split_whitespace());
                assert_eq!(run(&spaces.left, &mut send).success().json()["sent"], frames);
            }
            let ended = count.end().success();
            let total: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
            let counted = &total["counted_in_kernel"];
            let found = ["delivered", "duplicates", "foreign"].map(|key| counted[key].as_u64());
            assert_eq!(found, [Some(FRAMES), Some(0), Some(3)], "{method} {headers}: {ended:#?}");
            // Nothing is claimed that was not looked at.
            assert_eq!(total["verified"], Value::Null);
        }
    }
}

#[test]
fn root_no_program_stays_on_the_interface_however_capbench_ends() {
    let Some((_, spaces)) = test_bed() else { return };
    for method in ["xdp-count", "xdp-count+generic"] {
        for signal in ["INT", "TERM", "KILL"] {
            let count = counting(&spaces, &format!("--method {method}"));
            assert!(has_program(&spaces), "{method}");
            count.signal(signal);
            let ended = count.end();
            assert_eq!(ended.signal.is_some(), signal == "KILL", "{ended:#?}");
            // The kernel frees what a killed process had a moment after it is gone.
            eventually("the program is off the interface", || !has_program(&spaces));
            let shown = spaces.right.ip("-j -d link show dev right");
            assert!(!shown.contains("\"xdp\""), "{shown}");
        }
    }
}

#[test]
fn root_a_driver_without_native_mode_and_a_user_without_privilege_are_told() {
    let Some((_, spaces)) = test_bed() else { return };
    spaces.right.ip("link set dev lo up");
    let mut native = capbench("");
    let ended = run(&spaces.right, native.args(["count", "-i", "lo", "--method", "xdp-count", "-c", "1"]));
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    assert!(ended.errors.contains("no native XDP") && ended.errors.lines().count() == 1, "{ended:#?}");

    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    let mut plain = folder.capbench_of_nobody(&home);
    let ended = run(&spaces.right, plain.args(["count", "-i", "right", "--method", "xdp-count", "-c", "1"]));
    assert_eq!(ended.code, Some(6), "{ended:#?}");
    assert!(ended.errors.contains("CAP_BPF") && ended.errors.lines().count() == 1, "{ended:#?}");
}
