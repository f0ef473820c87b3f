//! What cannot be, and interfaces and processes that go away.

use std::fs::{self, DirEntry};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;

use capbench_capture::backends::af_xdp::AfXdp;
use capbench_capture::{Capture, Interface};
use capbench_model::method_spec::MethodSpec;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use super::{
    counters_after, frame, is_attached, losses, once_the_queue_is_free, open_as, options, refusal,
    with_each_mode,
};
use crate::wire::{OTHER_MAC, Wire, take};
use capbench_testing::network::{Namespaces, PATIENCE, eventually, lossy, privileges, program};

#[test]
fn root_impossible_requests_are_refused_without_fallback() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let right = &spaces.right;
    for (method, mtu, words) in [
        ("af-xdp+zero-copy", 1500, &["af-xdp+zero-copy on right: ", "no zero-copy", "+copy"][..]),
        ("af-xdp+queue=1", 1500, &["no receive queue 1"]),
        ("af-xdp", 9000, &["right", "9000", "3822"]),
    ] {
        let text = refusal(right, method, mtu);
        assert!(words.iter().all(|word| text.contains(word)) && text.lines().count() == 1, "{text}");
        assert!(!is_attached(right), "{method}");
    }
    // Two on one queue: the socket's place is occupied before the program is.
    right.inside(|| {
        let first = open_as("af-xdp", 1500, &options()).unwrap();
        let text = open_as("af-xdp+generic", 1500, &options()).unwrap_err().to_string();
        assert!(text.contains("another AF_XDP socket"), "{text}");
        drop(first);
        once_the_queue_is_free(|| open_as("af-xdp+generic", 1500, &options())).unwrap();
    });
    // A native program takes no more than a page; the peer decides.
    spaces.left.ip("link set dev left mtu 3800");
    let text = refusal(right, "af-xdp", 1500);
    assert!(text.contains("MTU") && text.contains("3500") && text.lines().count() == 1, "{text}");
    right
        .inside(|| once_the_queue_is_free(|| open_as("af-xdp+generic", 1500, &options())).map(drop).unwrap());
    // The loopback interface's driver has no native mode.
    right.inside(|| {
        let lo = Interface::of_name("lo", 1500).unwrap();
        spaces.right.ip("link set dev lo up");
        let text = AfXdp::open(&MethodSpec::plain("af-xdp"), &lo, &options()).unwrap_err().to_string();
        assert!(text.contains("native") && text.contains("af-xdp+generic"), "{text}");
    });
    right.ip("link set dev right down");
    let text = refusal(right, "af-xdp+generic", 1500);
    assert!(text.starts_with("af-xdp on right: ") && text.contains("down"), "{text}");
}

/// Copies of the links of this process, as its children have them from their fork until they execute a program.
fn copies_of_links() -> Vec<OwnedFd> {
    let process = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let is_link = |entry: &DirEntry| {
        fs::read_link(entry.path()).is_ok_and(|what| what.to_string_lossy().contains("bpf_link"))
    };
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten().filter(is_link);
    let numbers = links.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap());
    // Captures of other tests may have ended meanwhile.
    numbers.filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()).collect()
}

#[test]
fn root_a_program_leaves_with_its_capture_though_somebody_has_a_copy_of_its_link() {
    with_each_mode("root_a_program_leaves_with_its_capture", |method, spaces| {
        let place = &spaces.right;
        let capture = place.inside(|| open_as(method, 1500, &options()).unwrap());
        let copies = copies_of_links();
        assert!(is_attached(place) && !copies.is_empty(), "{method}");
        drop(capture);
        assert!(!is_attached(place), "{method}: {} copies of links", copies.len());
    });
}

#[test]
fn root_busy_polling_is_reported_as_found() {
    with_each_mode("root_busy_polling_is_reported_as_found", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+busy-poll=20us"), 1500, &options()).unwrap();
            let engine = capture.running().engine.to_string();
            assert!(engine.contains("busy polling (asked) for 20µs with a budget of 64"), "{engine}");
            (0..300).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
            assert_eq!(take(&mut capture, 300).len(), 300);
            let counters = counters_after(&mut capture, 300);
            assert_eq!((counters.accepted, losses(&counters)), (Some(300), [Some(0); 3]));
            // Whether a veth has a NAPI instance that sockets know depends on the kernel; what is said fits.
            let running = capture.running();
            assert_eq!(
                running.engine.to_string().contains("not busy-polled (asked for 20µs"),
                !running.shortfalls.is_empty(),
                "{running:?}"
            );
            assert!(
                !running.shortfalls.is_empty()
                    || running.engine.to_string().contains("busy polling for 20µs"),
                "{running:?}"
            );
            eprintln!("{method}: {}; {:?}", running.engine, running.shortfalls);
        });
    });
}

/// What the child of another test does.
const TASK: &str = "CAPBENCH_TEST_TASK";

/// This program once more, to do the task in a separate process.
fn child(task: &str, through: Option<&mut Command>) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = match through {
        Some(through) => {
            let mut command = Command::new(through.get_program());
            command.args(through.get_args()).arg(this);
            command
        }
        None => Command::new(this),
    };
    command
        .args(["--exact", "af_xdp::refusals::the_task_of_a_child", "--nocapture", "--test-threads=1"])
        .env(TASK, task);
    command
}

#[test]
fn the_task_of_a_child() {
    let Ok(method) = std::env::var(TASK) else { return };
    match open_as(&method, 1500, &options()) {
        Ok(_capture) => {
            println!("open");
            thread::sleep(PATIENCE);
        }
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn root_a_killed_process_leaves_no_program_behind() {
    with_each_mode("root_a_killed_process_leaves_no_program_behind", |method, spaces| {
        let mut process = spaces.right.spawn(child(method, None).stdout(Stdio::piped()));
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("open")), "{method}");
        assert!(is_attached(&spaces.right), "{method}");
        process.kill().unwrap();
        process.wait().unwrap();
        eventually("the program is gone", || !is_attached(&spaces.right));
        spaces.right.inside(|| open_as(method, 1500, &options()).map(drop).unwrap());
    });
}

#[test]
fn root_without_privilege_it_says_which_one_is_missing() {
    with_each_mode("root_without_privilege_it_says_which_one_is_missing", |method, spaces| {
        for (kept, wanted) in [("-all", "CAP_BPF"), ("-all,+bpf,+net_admin,+perfmon", "CAP_NET_RAW")] {
            let mut setpriv = program("setpriv");
            setpriv.args(["--bounding-set", kept, "--inh-caps", "-all"]);
            let output = spaces.right.output(&mut child(method, Some(&mut setpriv)));
            let text = lossy(&output.stdout);
            let line = text.lines().find_map(|line| line.split_once("error: ")).map(|(_, error)| error);
            let line = line.unwrap_or_else(|| panic!("{text} {}", lossy(&output.stderr)));
            assert!(line.contains("right") && line.contains(wanted), "{method} {kept}: {line}");
            assert!(!is_attached(&spaces.right), "{method}");
        }
    });
}
