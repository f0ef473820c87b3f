//! Two hosts with clocks of their own, as far as one kernel can have them: a CLOCK_MONOTONIC a day ahead in a time namespace, a
//! CLOCK_REALTIME that a library shifts, and stand-ins for the programs of time services.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::Value;

use crate::agents::{Hosts, check};
use crate::support::{
    Ended, HOST, Management, Scratch, capbench, eventually, ip, privileges, program, results, run,
    scratch_of_root, signal,
};

/// Programs of time services, in a folder that comes first in PATH.
struct Services {
    folder: Scratch,
}

impl Services {
    /// None follows a clock.
    fn free() -> Self {
        let services = Self { folder: Scratch::new() };
        services.add("pmc", "exit 1");
        services.add("chronyc", "echo 506 Cannot talk to daemon; exit 1");
        services
    }

    /// chrony states an error of 14 us.
    fn synchronised() -> Self {
        let services = Self::free();
        let fields = "C0000201,192.0.2.1,2,1795000000.5,-0.000001,0.0,0.0,0.1,0.0,0.1,0.000020,0.000003,16.0";
        services.add("chronyc", &format!("echo {fields},Normal"));
        services
    }

    fn add(&self, name: &str, script: &str) {
        write_script(&self.folder.path().join(name), script);
    }

    fn found_by(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().display()));
    }
}

fn write_script(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// The receiver's agent, a day ahead of the generator's.
fn a_day_ahead(hosts: &Hosts) -> String {
    behind(hosts, "unshare --time --monotonic 86400 --fork")
}

/// The receiver's agent, started by this command.
fn behind(hosts: &Hosts, starter: &str) -> String {
    let plain = hosts.exec("dut", &format!("--allow receive:{}", hosts.interface("dut")));
    plain.replacen("exec:", &format!("exec:{starter} "), 1)
}

/// Latency trials of 2 s at 5,000 packets/s.
fn latency(hosts: &Hosts, out: &Scratch, rx: &str, services: &Services, more: &str) -> Ended {
    let _ = std::fs::remove_dir_all(out.path().join("run"));
    let mut command = capbench(
        "rfc2544 --test latency --quick --repetitions 1 --throughput 5k --size 64 --method recv --repeats 0",
    );
    command.args(["--tx", &hosts.location("gen"), "--rx", rx]).args(more.split_whitespace());
    services.found_by(&mut command);
    let ended = run(HOST, command.arg("--out").arg(out.path().join("run")));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    ended
}

fn only_trial(out: &Scratch) -> Value {
    let results = results(&out.path().join("run")).unwrap();
    let [trial] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {results:#}") };
    check(trial);
    trial.clone()
}

/// Whether the kernel's own clock is steered, so that no service is needed for absolute times.
fn is_steered() -> bool {
    capbench_sys::host::clock::kernel_clock().unwrap().is_synchronised
}

#[test]
fn root_clocks_a_day_apart_allow_relative_delays_only() {
    let Some(out) = scratch_of_root() else { return };
    if is_steered() {
        return;
    }
    let hosts = Hosts::make();
    let ended = latency(&hosts, &out, &a_day_ahead(&hosts), &Services::free(), "");
    let trial = only_trial(&out);
    assert_eq!((&trial["clock_class"], &trial["clock_error_ns"]), (&"relative".into(), &Value::Null));
    let latency = &trial["latency"];
    assert_eq!((&latency["to_kernel"], &latency["total"]), (&Value::Null, &Value::Null), "{latency:#}");
    let reason = latency["absent_because"].as_str().unwrap();
    assert!(reason.contains("not synchronised") && reason.contains("STA_UNSYNC"), "{reason}");
    for leg in [&latency["to_application"], &latency["relative"]["to_kernel"], &latency["relative"]["total"]]
    {
        // Those of the second half that were sent; all, unless the host is busy.
        assert_eq!(leg["frames"], latency["to_application"]["frames"], "{latency:#}");
        assert!((1..=5000).contains(&leg["frames"].as_u64().unwrap()), "{latency:#}");
        assert!(leg["max_ns"].as_u64() < Some(10_000_000_000), "less than the trial, not a day: {latency:#}");
    }
    assert_eq!(latency["relative"]["to_kernel"]["min_ns"], 0);
    // One oscillator. On a busy host the shortest delays differ by some microseconds.
    let ppm = latency["relative"]["skew"][0]["ppm"].as_f64().unwrap();
    assert!(ppm.abs() < 500.0, "{ppm}");
    for part in ["clock class relative", "STA_UNSYNC"] {
        let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{part}: {ended:#?}");
    }
    hosts.wait_until_left();
}

#[test]
fn root_a_stated_error_allows_absolute_times_and_the_user_may_accept_a_larger_one() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let services = Services::synchronised();
    latency(&hosts, &out, &a_day_ahead(&hosts), &services, "--clock-error 1ms");
    let trial = only_trial(&out);
    assert_eq!(trial["clock_class"], "absolute", "{:#}", trial["latency"]);
    let error_ns = trial["clock_error_ns"].as_u64().unwrap();
    assert!((28_000..1_000_000).contains(&error_ns), "14 us of each: {error_ns}");
    assert_eq!(trial["latency"]["total"]["frames"], trial["latency"]["to_application"]["frames"]);
    // Both namespaces have one CLOCK_REALTIME: what arrives before it was sent shows an error of capbench.
    assert!(trial["latency"]["to_kernel"]["min_ns"].as_i64() > Some(-100_000), "{trial:#}");
    latency(&hosts, &out, &a_day_ahead(&hosts), &services, "--clock-error 10us");
    let trial = only_trial(&out);
    assert_eq!(trial["clock_class"], "relative");
    let reason = trial["latency"]["absent_because"].as_str().unwrap();
    assert!(reason.contains("--clock-error"), "{reason}");
}

#[test]
fn root_namespaces_of_one_kernel_have_one_clock() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    latency(&hosts, &out, &hosts.location("dut"), &Services::free(), "");
    let trial = only_trial(&out);
    // Without a service: what is left is the error of reading it.
    assert_eq!(trial["clock_class"], "absolute", "{:#}", trial["latency"]);
    assert_eq!(trial["latency"]["total"]["frames"], trial["latency"]["to_application"]["frames"]);
    assert!(trial["clock_error_ns"].as_u64() < Some(1_000_000));
}

/// A library that shifts CLOCK_REALTIME by 50 ms.
const SHIFTED: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int failed = syscall(SYS_clock_gettime, clock, time);
	if (clock == CLOCK_REALTIME) {
		time->tv_nsec += 50000000;
		if (time->tv_nsec >= 1000000000) {
			time->tv_nsec -= 1000000000;
			time->tv_sec++;
		}
	}
	return failed;
}
";

#[test]
fn root_a_host_that_states_a_wrong_error_is_found_by_the_exchanges() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let (source, library) = (out.path().join("shifted.c"), out.path().join("shifted.so"));
    std::fs::write(&source, SHIFTED).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
    assert!(made.success());
    // The day makes them two clocks.
    let starter = format!("unshare --time --monotonic 86400 --fork env LD_PRELOAD={}", library.display());
    latency(&hosts, &out, &behind(&hosts, &starter), &Services::synchronised(), "--clock-error 1ms");
    let trial = only_trial(&out);
    assert_eq!((&trial["clock_class"], &trial["latency"]["total"]), (&"relative".into(), &Value::Null));
    let reason = trial["latency"]["absent_because"].as_str().unwrap();
    assert!(reason.contains("a stated error is wrong"), "{reason}");
}

#[test]
fn root_lengthy_a_search_and_a_bench_from_a_third_namespace_balance_over_two_clocks() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let third = format!("capbench-third-{}", std::process::id());
    ip(&format!("netns add {third}"));
    let commands = [
        "search --method packet-v3 --goal quick --max-rate 40k --time 20s --repeats 0",
        "bench --method packet-v3,recv --rate 20k --duration 1s --repeats 0",
    ];
    for arguments in commands {
        let _ = std::fs::remove_dir_all(out.path().join("run"));
        let own = capbench(arguments);
        let mut command = program(&format!("ip netns exec {third}"));
        command.arg(own.get_program()).args(own.get_args()).args(["--size", "64"]);
        command.args(["--tx", &hosts.location("gen"), "--rx", &a_day_ahead(&hosts)]);
        let ended = run(HOST, command.arg("--out").arg(out.path().join("run")));
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let results = results(&out.path().join("run")).unwrap();
        let trials = results["trials"].as_array().unwrap();
        assert!(!trials.is_empty());
        for trial in trials {
            check(trial);
            assert_eq!(trial["clock_class"], "none", "no one-way time was recorded");
        }
    }
    hosts.wait_until_left();
    ip(&format!("netns del {third}"));
}

/// tcpdump(8) on an interface of a namespace, without the frames themselves.
struct Dump {
    process: Child,
    folder: Scratch,
}

impl Dump {
    fn start(space: &str, interface: &str) -> Self {
        let folder = Scratch::new();
        let file = |name: &str| std::fs::File::create(folder.path().join(name)).unwrap();
        let [ip, tcpdump] = ["ip", "tcpdump"].map(|name| program(name).get_program().to_owned());
        let process = Command::new(ip)
            .args(["netns", "exec", space])
            .arg(tcpdump)
            .args(["-i", interface, "-tt", "-n", "-q", "-s", "64", "-B", "16384"])
            .stdout(file("packets"))
            .stderr(file("state"))
            .spawn()
            .unwrap();
        let dump = Self { process, folder };
        eventually("tcpdump listens", || dump.text("state").contains("listening on"));
        dump
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// When the packets came, in seconds, and what they are.
    fn end(mut self) -> Vec<(f64, String)> {
        signal(self.process.id(), "INT");
        self.process.wait().unwrap();
        assert!(self.text("state").contains("\n0 packets dropped by kernel"), "{}", self.text("state"));
        let packets = self.text("packets");
        let packet = |line: &str| {
            let (at, what) = line.split_once(' ')?;
            Some((at.parse().ok()?, what.to_string()))
        };
        packets.lines().filter_map(packet).collect()
    }
}

/// From the first to the last frame of each phase in which frames were sent: the cable check and all trials.
fn phases(frames: &[(f64, String)]) -> Vec<(f64, f64)> {
    const PAUSE: f64 = 0.15;
    let parts = frames.chunk_by(|one, next| next.0 - one.0 < PAUSE).filter(|part| part.len() > 500);
    parts.map(|part| (part[0].0, part[part.len() - 1].0)).collect()
}

/// How long before the first frame no message is sent any more, in seconds: the least head start of a connection over TCP.
const HEAD_START: f64 = 0.06;

#[test]
fn root_the_management_interface_of_the_receivers_host_is_silent_while_frames_are_sent() {
    let Some(()) = privileges() else { return };
    // The agent that ssh starts is the receiver's. Or it is the generator's, and the controller is on the receiver's host.
    std::thread::scope(|scope| {
        for over_ssh in ["dut", "gen"] {
            scope.spawn(|| management_is_silent_while_frames_are_sent(over_ssh));
        }
    });
}

/// Three kinds of runs between two hosts, with ssh to the one that is named.
fn management_is_silent_while_frames_are_sent(over_ssh: &str) {
    let out = Scratch::new();
    let hosts = Hosts::make();
    let controller = format!("{}s", hosts.name("ctl"));
    let management = Management::make(&controller, &[(hosts.name(over_ssh), hosts.agent(over_ssh, ""))]);
    let location = |which| match which == over_ssh {
        true => management.location(0, &hosts.interface(which)),
        false => hosts.location(which),
    };
    let on_receivers_host = match over_ssh {
        "dut" => (hosts.name("dut"), Management::INTERFACE),
        _ => (controller.clone(), "m0"),
    };
    for arguments in [
        "rfc2544 --test latency --quick --repetitions 2 --duration 500ms --throughput 5k --method recv --repeats 0 \
         --size 64 --no-trace",
        "bench --method packet-v3 --placement same --rate 5k --duration 500ms --repeats 0 --size 64",
        "search --method packet-v3 --goal short:loss=0,duration=300ms,sum=600ms,width=20% --min-rate 5k --max-rate 10k \
         --size 64 --no-trace",
    ] {
        let _ = std::fs::remove_dir_all(out.path().join("run"));
        let mut command = management.reached_by(capbench(arguments));
        command.args(["--tx", &location("gen"), "--rx", &location("dut")]);
        command.arg("--out").arg(out.path().join("run"));
        let data = Dump::start(&hosts.name("dut"), &hosts.interface("dut"));
        let calls = Dump::start(&on_receivers_host.0, on_receivers_host.1);
        let ended = run(HOST, command);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let (frames, calls) = (data.end(), calls.end());
        let results = results(&out.path().join("run")).unwrap();
        let trials = results["trials"].as_array().unwrap();
        trials.iter().for_each(check);
        let phases = phases(&frames);
        assert!(phases.len() > trials.len(), "{arguments}: {} phases of {}", phases.len(), trials.len());
        assert!(calls.len() > 20, "{over_ssh}, {arguments}: {} packets reached the agent", calls.len());
        for (first, last) in phases {
            // TCP acknowledges the last message, without data, before the first frame.
            let is_late = |(at, what): &&(f64, String)| {
                let silent = if what.ends_with(" tcp 0") { first } else { first - HEAD_START };
                (silent..=last).contains(at)
            };
            let late = calls.iter().filter(is_late).map(|(at, what)| (at - first, what));
            let late: Vec<_> = late.collect();
            assert!(late.is_empty(), "{over_ssh}, {arguments}: in {} s: {late:?}", last - first);
        }
    }
}
