//! A controller that asks an agent for more than it may: no frame beyond the limits, no memory or time beyond what a trial needs.

use capbench_frames::TransmitSpec;
use std::io::{BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use capbench_agent::framing;
use capbench_lab::live::messages::{HostCpus, PrepareReceiving, PrepareSending};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_sys::host::{CpuId, ThreadId, affinity};
use serde_json::{Value, json};

use crate::agents::{Hosts, WAITS_NAME};
use crate::agents_lost::bench;
use crate::support::{
    HOST, NOBODY, PATIENCE, Running, Scratch, capbench, eventually, program, python, run, scratch_of_root,
    signal,
};

/// An agent, and the connection to it.
struct Agent {
    process: Child,
    calls: Option<ChildStdin>,
    answers: Receiver<Value>,
}

impl Agent {
    /// Starts an agent whose answers are read.
    fn start(command: &mut Command) -> Self {
        let mut process = Self::spawn(command);
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            while let Ok(Some(octets)) = framing::read(&mut output) {
                let _ = sender.send(serde_json::from_slice(&octets).unwrap());
            }
        });
        Self { calls: process.stdin.take(), process, answers }
    }

    fn spawn(command: &mut Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Its answer: the result, or the message of the refusal.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let mut answer =
            self.answers.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
        match answer["error"]["message"].take() {
            Value::String(message) => Err(message),
            _ => Ok(answer["result"].take()),
        }
    }

    fn send(&mut self, message: &Value) {
        framing::write(self.calls.as_mut().unwrap(), message.to_string().as_bytes()).unwrap();
    }

    fn greet(&mut self) -> Value {
        self.call("hello", json!({"protocol": 2, "trace": false, "session": "of a test"})).unwrap()
    }

    /// Its process: ip-netns(8) and env(1) have replaced themselves by it.
    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// Cuts the connection, and waits until the agent has ended.
    fn cut(mut self) {
        self.calls = None;
        eventually("the agent ends", || self.has_ended());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The agent of one end, in its namespace.
fn command(hosts: &Hosts, which: &str, arguments: &str) -> Command {
    let mut command = program("ip netns exec");
    command.arg(hosts.name(which)).args(hosts.agent(which, arguments).split_whitespace());
    command
}

fn start(hosts: &Hosts, which: &str, arguments: &str) -> Agent {
    let mut agent = Agent::start(&mut command(hosts, which, arguments));
    agent.greet();
    agent
}

fn sending(hosts: &Hosts) -> Value {
    sending_on(&hosts.interface("gen"))
}

fn sending_on(interface: &str) -> Value {
    let Setup { layout, sizes, .. } = setup(64);
    let (stream, mtu, cpu) = (serde_json::from_value(json!(0)), serde_json::from_value(json!(1500)), cpu());
    let (stream, mtu, transmit) = (stream.unwrap(), mtu.unwrap(), TransmitSpec::plain("sendmmsg"));
    let asked = PrepareSending { stream, transmit, layout, sizes, mtu, cpus: vec![cpu], is_virtual: false };
    json!({"interface": interface, "side": {"transmit": asked}})
}

fn receiving(hosts: &Hosts, streams: u16, quiet: Duration) -> Value {
    let asked = PrepareReceiving {
        setup: Setup { quiet, transmit: TransmitSpec::plain("sendmmsg"), ..setup(64) },
        streams,
        untimed: Vec::new(),
        mtu: serde_json::from_value(json!(1500)).unwrap(),
        cpus: HostCpus { generators: Vec::new(), kernels: vec![cpu()], application: cpu() },
        is_virtual: false,
        polls_by_thread: false,
    };
    json!({"interface": hosts.interface("dut"), "side": {"receive": asked}})
}

fn cpu<T: serde::de::DeserializeOwned>() -> T {
    serde_json::from_value(json!(0)).unwrap()
}

fn arm(trial: u16, load: Value, milliseconds: u64) -> Value {
    json!({
        "trial": trial, "load": load, "burst": null, "duration": Duration::from_millis(milliseconds),
        "is_first": false, "stays_open": false,
    })
}

fn go(trial: u16) -> Value {
    json!({ "trial": trial })
}

#[test]
fn root_a_repeated_go_gets_the_same_answer_and_sends_nothing() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "gen", "--max-rate 1000");
    agent.call("prepare", sending(&hosts)).unwrap();
    let refused = agent.call("go", go(7)).unwrap_err();
    assert!(refused.contains("go: trial 7 is not armed"), "{refused}");
    let finish = json!({"transmit": {"trial": 7, "delivered": 0}});
    let before = hosts.received();
    agent.call("arm", arm(7, json!({"rate": 1000.0}), 500)).unwrap();
    let refused = agent.call("finish", finish.clone()).unwrap_err();
    assert!(refused.contains("finish: trial 7 is not armed"), "nothing was sent: {refused}");
    let sent = agent.call("go", go(7)).unwrap();
    let frames = sent[0]["frames"].as_u64().unwrap();
    for _ in 0..20 {
        assert_eq!(agent.call("go", go(7)).as_ref(), Ok(&sent));
    }
    agent.call("arm", arm(7, json!({"rate": 1000.0}), 500)).unwrap();
    assert_eq!(agent.call("go", go(7)).as_ref(), Ok(&sent));
    let half = agent.call("finish", finish.clone()).unwrap();
    assert_eq!(agent.call("finish", finish), Ok(half));
    assert_eq!(agent.call("go", go(7)), Ok(sent));
    assert!(hosts.received() - before <= frames && frames <= 500, "{frames}");
    // A trial that was not finished is given up for the next one.
    for trial in 8..11 {
        agent.call("arm", arm(trial, json!({"rate": 1000.0}), 100)).unwrap();
        agent.call("go", go(trial)).unwrap();
    }
    assert!(agent.call("go", go(7)).is_err());
    agent.cut();
    hosts.wait_until_left();
}

#[test]
fn root_a_burst_lasts_no_longer_and_is_no_larger_than_the_agent_allows() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "gen", "--max-rate 1000 --max-duration 1s");
    agent.call("prepare", sending(&hosts)).unwrap();
    let before = hosts.received();
    let burst = |frames: u64| json!({"burst": {"frames": frames, "rate": 1000.0}});
    let at_once = |frames: u64| {
        let mut arm = arm(3, json!({"rate": 1000.0}), 500);
        arm["burst"] = frames.into();
        arm
    };
    let refusals = [
        (arm(1, burst(20_000), 1), "trials of up to 1s, not 20s (--max-duration)"),
        (arm(2, burst(u64::MAX), 1), "a trial of over 78 hours"),
        (at_once(3000), "up to 1000 frames/s, not 3000 frames at once (--max-rate)"),
    ];
    for (arm, why) in refusals {
        let refused = agent.call("arm", arm.clone()).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        agent.call("go", json!({"trial": arm["trial"]})).unwrap_err();
    }
    assert_eq!(hosts.received(), before);
    agent.call("arm", at_once(1000)).unwrap();
    agent.call("arm", arm(4, burst(500), 1)).unwrap();
    assert_eq!(agent.call("go", go(4)).unwrap()[0]["frames"], 500);
    agent.cut();
}

#[test]
fn root_trials_in_a_row_send_no_more_than_the_agent_allows() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "gen", "--max-rate 1000");
    let at_once = |trial| {
        let mut arm = arm(trial, json!({"rate": 1000.0}), 300);
        arm["burst"] = 1000.into();
        arm
    };
    let begun = Instant::now();
    for trial in 1..4 {
        agent.call("prepare", sending(&hosts)).unwrap();
        agent.call("arm", at_once(trial)).unwrap();
        assert_eq!(agent.call("go", go(trial)).unwrap()[0]["frames"], 300);
        let least = Duration::from_millis(300) * u32::from(trial);
        assert!(begun.elapsed() >= least, "{trial} in {:?}", begun.elapsed());
    }
    // Nor does the next agent.
    let (begun, before) = (Instant::now(), hosts.received());
    agent.call("arm", at_once(4)).unwrap();
    agent.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "go", "params": go(4)}));
    eventually("the frames are sent", || hosts.received() >= before + 300);
    agent.cut();
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
}

#[test]
fn root_a_sender_among_others_answers_when_they_have_ended_too() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "gen", "");
    agent.call("prepare", sending(&hosts)).unwrap();
    // The last of the ten frames leaves 100 ms before the end.
    agent.call("arm", arm(1, json!({"rate": 10.0}), 1000)).unwrap();
    let begun = Instant::now();
    agent.call("go", json!({"trial": 1, "with_others": true})).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(1010), "{:?}", begun.elapsed());
}

#[test]
fn root_an_agent_gets_no_interface_whose_setting_is_yet_to_be_restored() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut asked = receiving(&hosts, 1, Duration::from_millis(150));
    asked["side"]["receive"]["is_virtual"] = true.into();
    asked["side"]["receive"]["setup"]["transmit"] = "xdp-live".into();
    let mut killed = start(&hosts, "dut", "");
    killed.call("prepare", asked.clone()).unwrap();
    let guardians: Vec<_> = hosts.agents("dut").into_iter().filter(|pid| *pid != killed.pid()).collect();
    assert_eq!(guardians.len(), 1);
    signal(guardians[0], "STOP");
    drop(killed);
    let mut next = start(&hosts, "dut", "");
    let refused = next.call("prepare", asked.clone()).unwrap_err();
    assert!(refused.contains("another controller uses it"), "{refused}");
    signal(guardians[0], "CONT");
    eventually("the setting is restored", || next.call("prepare", asked.clone()).is_ok());
    next.cut();
}

#[test]
fn root_numbers_of_a_controller_make_no_agent_wait_or_fill_the_memory() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "dut", "");
    let quiet = Duration::from_millis(150);
    for streams in [0, 257, u16::MAX] {
        let refused = agent.call("prepare", receiving(&hosts, streams, quiet)).unwrap_err();
        assert!(refused.contains("there are 1 to 256"), "{refused}");
    }
    let refused = agent.call("prepare", receiving(&hosts, 1, Duration::MAX)).unwrap_err();
    assert!(refused.contains("600s is the longest"), "{refused}");
    let report = json!({"trial": 1, "interface": hosts.interface("dut"), "patience": Duration::MAX});
    assert_eq!(agent.call("report", report), Ok(Value::Null));
    agent.call("prepare", receiving(&hosts, 1, quiet)).unwrap();
    agent.call("arm", arm(1, json!({"rate": 1000.0}), 100)).unwrap();
    let finish = |sent: Value| json!({"receive": {"trial": 1, "sent": sent}});
    let sent =
        |stream: u8, frames: u64, end_ns: u64| json!({"stream": stream, "frames": frames, "end_ns": end_ns});
    let refusals = [
        (json!([sent(0, 10, u64::MAX)]), "later than its plan"),
        (json!([sent(0, u64::MAX, 100)]), "more than its plan"),
        (json!([sent(0, 102, 100)]), "more than its plan"),
        (json!([sent(1, 10, 100)]), "stream 1 of 1"),
        (json!([sent(0, 10, 100), sent(0, 10, 100)]), "2 streams of a trial with 1"),
    ];
    for (sent, why) in refusals {
        let refused = agent.call("finish", finish(sent)).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let half = agent.call("finish", finish(json!([sent(0, 100, 100_000_000)]))).unwrap();
    assert_eq!(half["receive"]["received"]["arrivals"]["delivered"], 0, "{half}");
    // Another trial while one is armed: that one is given up.
    for trial in 2..5 {
        agent.call("arm", arm(trial, json!({"rate": 1000.0}), 100)).unwrap();
    }
    agent.cut();
}

#[test]
fn root_an_agent_whose_answers_nobody_reads_ends_with_its_lease() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut command = command(&hosts, "dut", "");
    // The program reads the last one that is set.
    let waits = format!("{WAITS_NAME}=500,500,500");
    let all: Vec<_> = command.get_args().map(|word| word.to_owned()).collect();
    let mut short = program("ip netns exec");
    short.args(all.into_iter().skip(2).map(|word| match word.to_str() {
        Some(word) if word.starts_with(WAITS_NAME) => waits.clone().into(),
        _ => word,
    }));
    command = short;
    let mut process = Agent::spawn(&mut command);
    let mut calls = process.stdin.take().unwrap();
    let _unread: ChildStdout = process.stdout.take().unwrap();
    let hello =
        json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 2, "trace": false}});
    // More than the pipe of its answers takes. The agent, and this thread with it, would wait for ever.
    std::thread::spawn(move || {
        while framing::write(&mut calls, hello.to_string().as_bytes()).is_ok() {}
        calls.flush()
    });
    let mut ended = None;
    eventually("the agent ends", || {
        ended = process.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().signal(), Some(9), "{ended:?}");
    hosts.wait_until_left();
}

#[test]
fn root_an_agent_keeps_its_own_threads_off_the_cpus_that_are_measured() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut agent = start(&hosts, "gen", "");
    let pid = agent.pid();
    let all = cpus_of_threads(pid);
    let allowed = all[0].1.clone();
    assert!(all.len() >= 3 && all.iter().all(|(_, cpus)| *cpus == allowed), "{all:?}");
    let mut prepare = |measured: &[u32]| {
        let mut asked = sending(&hosts);
        asked["measured_cpus"] = json!(measured);
        let prepared = agent.call("prepare", asked).unwrap();
        agent.call("arm", arm(1, json!({"burst": {"frames": 10, "rate": 1000.0}}), 10)).unwrap();
        let threads = cpus_of_threads(pid);
        agent.call("release", Value::Null).unwrap();
        assert!(cpus_of_threads(pid).iter().all(|(_, cpus)| *cpus == allowed));
        (prepared["notes"].to_string(), threads)
    };
    let (notes, threads) = prepare(&allowed);
    assert_eq!(notes, r#"[{"what":"agent_threads_on_measured_cpus"}]"#);
    assert!(threads.iter().any(|(name, cpus)| name == "capbench-calls" && *cpus == allowed), "{threads:?}");
    let [_, others @ ..] = &allowed[..] else { unreachable!() };
    if others.is_empty() {
        return;
    }
    let (notes, threads) = prepare(&allowed[..1]);
    assert_eq!(notes, "[]");
    // The generator's thread is on the measured CPU, and all others are not.
    let (on_it, off_it): (Vec<_>, Vec<_>) = threads.into_iter().partition(|(_, cpus)| *cpus == allowed[..1]);
    let names: Vec<_> = on_it.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["capbench-gen"], "{off_it:?}");
    assert!(off_it.len() >= 3 && off_it.iter().all(|(_, cpus)| cpus == others), "{off_it:?}");
    agent.cut();
}

/// An interface of this host with interrupts, and its address.
fn with_interrupts() -> Option<(String, String)> {
    let output = program("ip -j -4 addr").output().unwrap();
    let links: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    links.iter().find_map(|link| {
        let name = link["ifname"].as_str()?;
        let device = format!("/sys/class/net/{name}/device");
        let has_interrupts =
            ["msi_irqs", "../msi_irqs"].iter().any(|folder| Path::new(&device).join(folder).exists());
        has_interrupts.then(|| Some((name.into(), link["addr_info"][0]["local"].as_str()?.into())))?
    })
}

#[test]
fn root_alone_an_agent_names_measured_cpus_that_its_connection_may_interrupt() {
    let Some(_out) = scratch_of_root() else { return };
    let (place, home) = (Scratch::new(), Scratch::of_nobody());
    drop(place.capbench_of_nobody(&home));
    run(HOST, program("setcap cap_net_raw,cap_net_admin=ep").arg(place.file("capbench"))).success();
    let arguments = ["agent", "--allow", "send:lo", "--isolated", "lo"];
    let notes = |mut command: Command, address: &str| {
        let connection = format!("192.0.2.9 40000 {address} 22");
        let mut agent = Agent::start(command.args(arguments).env("SSH_CONNECTION", connection));
        let cpus = agent.greet()["cpus"].take();
        [cpus, json!([])].map(|measured| {
            let mut asked = sending_on("lo");
            asked["measured_cpus"] = measured;
            agent.call("prepare", asked).unwrap()["notes"].to_string()
        })
    };
    let mut cases = Vec::new();
    for (address, why) in
        [("127.0.0.1", "lo has no"), ("127.0.0.1%lo", "lo has no"), ("192.0.2.250", "no interface")]
    {
        cases.push((address.to_string(), "connection_interrupts_unknown", why.to_string()));
    }
    if let Some((name, address)) = with_interrupts() {
        cases.push((address, "connection_interrupts_on_measured_cpus", name));
    }
    for (address, kind, expected) in cases {
        // The second program has file capabilities, as in docs/two-hosts.md.
        for command in [capbench(""), place.capbench_of_nobody(&home)] {
            let [found, of_nothing] = notes(command, &address);
            assert!(found.contains(kind) && found.contains(&expected), "{address}: {found}");
            assert_eq!(of_nothing, "[]", "nothing is measured");
        }
    }
}

/// The names of a process's threads, and the CPUs where each may run.
fn cpus_of_threads(pid: u32) -> Vec<(String, Vec<u32>)> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(Result::ok);
    let of = |thread: std::fs::DirEntry| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(thread.path().join("comm")).ok()?;
        let cpus = affinity::affinity_of(ThreadId::new(number)?).ok()?;
        Some((name.trim_end().into(), cpus.into_iter().map(CpuId::number).collect()))
    };
    threads.filter_map(of).collect()
}

#[test]
fn root_answers_that_nobody_asked_for_fill_no_memory_and_end_with_the_wait() {
    let Some(out) = scratch_of_root() else { return };
    let (hosts, folder) = (Hosts::make(), Scratch::new());
    let [script, count] = ["flood.py", "count"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&script, include_str!("support/flood.py")).unwrap();
    let tx = format!("exec:{} {script} {count},eth1", python());
    let sent = || std::fs::metadata(&count).map_or(0, |file| file.len());
    // A user who stops the run does not wait for as long as for an answer.
    for (waits, is_stopped) in [("5000,500,500", false), ("500000,500,500", true)] {
        let _ = std::fs::remove_file(&count);
        let mut command = bench(&out, &[tx.clone(), hosts.location("dut")], "--repeats 0");
        command.env(WAITS_NAME, waits);
        let mut running = Running::start(HOST, command);
        // On a busy host 5 s may be too short for that; the second time there is no such end.
        eventually("many answers have come", || sent() > 100 || (!is_stopped && running.has_ended()));
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        assert!(most.is_some() || !is_stopped, "{status}");
        if let Some(most) = most {
            let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(most < 80 << 10, "{most} KiB of {} MiB", sent());
        }
        if is_stopped {
            running.signal("INT");
        }
        let ended = running.end();
        let why = if is_stopped { "the user wants to stop" } else { "no answer to hello within 5s" };
        assert!(!matches!(ended.code, Some(0) | None) && ended.errors.contains(why), "{ended:#?}");
    }
}

/// The runtime directory of nobody, unless there is one. Removed on drop.
struct RuntimeFolder(String);

impl RuntimeFolder {
    fn of_nobody() -> Self {
        let folder = format!("/run/user/{NOBODY}");
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        let folder = Self(folder);
        folder.set_mode(0o700);
        folder
    }

    fn set_mode(&self, mode: u32) {
        std::fs::set_permissions(&self.0, PermissionsExt::from_mode(mode)).unwrap();
    }
}

impl Drop for RuntimeFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn root_an_agent_with_file_capabilities_leaves_its_report() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let (place, home, runtime) = (Scratch::new(), Scratch::of_nobody(), RuntimeFolder::of_nobody());
    let as_nobody = place.capbench_of_nobody(&home);
    run(HOST, program("setcap cap_net_raw,cap_net_admin=ep").arg(place.file("capbench"))).success();
    let start = || {
        let mut command = program("ip netns exec");
        command.arg(hosts.name("gen")).arg(as_nobody.get_program()).args(as_nobody.get_args());
        command.args(["agent", "--allow"]).arg(format!("send:{}", hosts.interface("gen")));
        Agent::start(&mut command)
    };
    let mut agent = start();
    let hello = agent.greet();
    assert_eq!(hello["no_report_because"], Value::Null, "{hello}");
    agent.call("prepare", sending(&hosts)).unwrap();
    agent.call("arm", arm(5, json!({"burst": {"frames": 100, "rate": 1000.0}}), 100)).unwrap();
    assert_eq!(agent.call("go", go(5)).unwrap()[0]["frames"], 100);
    agent.cut();
    let mut next = start();
    next.greet();
    let report = json!({"trial": 5, "interface": hosts.interface("gen"), "patience": Duration::from_secs(5)});
    assert_eq!(next.call("report", report).unwrap()["sent"][0]["frames"], 100);
    next.cut();
    runtime.set_mode(0o750);
    let hello = start().greet();
    assert!(hello["no_report_because"].as_str().unwrap().contains("no folder of user 65534"), "{hello}");
}

/// Alone: frames of other tests can fill the backlog of its CPU, and an account without all frames is not left.
#[test]
fn root_alone_a_receiver_that_is_cut_off_while_frames_are_sent_leaves_a_whole_account() {
    let Some(_out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut sender = start(&hosts, "gen", "");
    sender.call("prepare", sending(&hosts)).unwrap();
    let report = json!({"trial": 9, "interface": hosts.interface("dut"), "patience": Duration::from_secs(5)});
    for (sent, expected) in [(500, true), (400, false)] {
        let mut receiver = start(&hosts, "dut", "");
        receiver.call("prepare", receiving(&hosts, 1, Duration::from_secs(2))).unwrap();
        let load = |frames: u64| json!({"burst": {"frames": frames, "rate": 1000.0}});
        sender.call("arm", arm(9, load(sent), sent)).unwrap();
        receiver.call("arm", arm(9, load(500), 500)).unwrap();
        receiver.calls = None;
        assert_eq!(sender.call("go", go(9)).unwrap()[0]["frames"], sent);
        sender.call("finish", json!({"transmit": {"trial": 9, "delivered": sent}})).unwrap();
        eventually("the receiver ends", || receiver.has_ended());
        let reported = start(&hosts, "dut", "").call("report", report.clone()).unwrap();
        let delivered = &reported["half"]["receive"]["received"]["arrivals"]["delivered"];
        assert_eq!(delivered.as_u64(), expected.then_some(500), "{reported}");
    }
}
