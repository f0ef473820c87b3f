//! Trials between agents: each end of the link in another network namespace, started by ip-netns(8) or by any command.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::support::{
    Ended, HOST, Management, Running, Scratch, add_namespace, capbench, eventually, ip, program,
    remove_namespace, results, run, scratch_of_root,
};

/// How long an agent and its controller wait for each other, where a connection stays silent: for an answer, for a drain, and
/// besides; in milliseconds.
pub const WAITS: &str = "6000,4500,3000";
pub const WAITS_NAME: &str = "CAPBENCH_TEST_WAITS";

/// Two network namespaces with names, and a veth pair between them whose ends are `g…` and `d…`. Both are removed on drop.
pub struct Hosts {
    id: String,
}

impl Hosts {
    pub fn make() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let id = format!("{}x{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let hosts = Self { id };
        let (g, d) = (hosts.name("gen"), hosts.name("dut"));
        [&g, &d].into_iter().for_each(|name| add_namespace(name));
        ip(&format!("-n {g} link add g{0} type veth peer name d{0} netns {d}", hosts.id));
        ip(&format!("-n {g} link set g{} arp off up", hosts.id));
        ip(&format!("-n {d} link set d{} arp off up", hosts.id));
        hosts
    }

    pub fn name(&self, which: &str) -> String {
        format!("capbench-{which}-{}", self.id)
    }

    pub fn interface(&self, which: &str) -> String {
        format!("{}{}", &which[..1], self.id)
    }

    /// `netns:NAME/IF`.
    pub fn location(&self, which: &str) -> String {
        format!("netns:{}/{}", self.name(which), self.interface(which))
    }

    /// `exec:COMMAND,IF` with an agent that has these arguments.
    pub fn exec(&self, which: &str, arguments: &str) -> String {
        let program = env!("CARGO_BIN_EXE_capbench");
        format!(
            "exec:ip netns exec {} {program} agent {arguments},{}",
            self.name(which),
            self.interface(which)
        )
    }

    /// The command that starts the agent of one end, with more arguments. It waits for its controller as [`WAITS`] says.
    pub fn agent(&self, which: &str, arguments: &str) -> String {
        let role = if which == "gen" { "send" } else { "receive" };
        let allowed = format!("--allow {role}:{} {arguments}", self.interface(which));
        format!("env {WAITS_NAME}={WAITS} {} agent {allowed}", env!("CARGO_BIN_EXE_capbench"))
    }

    /// A bench of one method at one rate between the two.
    pub fn bench(&self, out: &Scratch, arguments: &str) -> Command {
        let mut command = capbench("bench --method packet-v3 --placement same --repeats 0 --ring 4MiB");
        command.args(["--tx", &self.location("gen"), "--rx", &self.location("dut")]);
        command.args(arguments.split_whitespace()).arg("--out").arg(out.path().join("run"));
        command
    }

    /// Processes of agents that use this interface.
    pub fn agents(&self, which: &str) -> Vec<u32> {
        let end = format!(":{}\0", self.interface(which));
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_agent = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("\0agent\0") && line.contains(&end)
        };
        numbers.filter(is_agent).collect()
    }

    /// Frames that the receiving interface has counted.
    pub fn received(&self) -> u64 {
        let (name, interface) = (self.name("dut"), self.interface("dut"));
        let file = format!("/sys/class/net/{interface}/statistics/rx_packets");
        let output = program(&format!("ip netns exec {name} sh -c")).arg(format!("cat {file}")).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().parse().unwrap()
    }

    /// Waits until a trial sends: many more frames came than the 2,000 of the cable check.
    /// `before`: frames received before the run.
    pub fn wait_until_sending(&self, before: u64) {
        eventually("a trial sends", || self.received() > before + 3000);
    }

    /// Waits until no agent is left.
    pub fn wait_until_left(&self) {
        eventually("no agent is left", || self.agents("gen").is_empty() && self.agents("dut").is_empty());
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for which in ["gen", "dut"] {
            remove_namespace(&self.name(which));
        }
    }
}

/// A number of frames.
pub fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key}: {value:#}"))
}

/// What holds in every trial between agents, whatever was lost.
pub fn check(trial: &Value) {
    let generators = trial["generators"].as_array().unwrap_or_else(|| panic!("generators: {trial:#}"));
    assert_eq!(generators.len(), 1, "{trial:#}");
    for key in ["intended", "sent"] {
        assert_eq!(count(&generators[0], key), count(trial, key), "{key}: {trial:#}");
    }
    let places = trial["ledger"].as_array().unwrap().iter().filter(|entry| entry["place"] != "unsent");
    let lost: u64 = places.filter_map(|entry| entry["count"].as_u64()).sum();
    assert_eq!(count(trial, "sent"), count(trial, "delivered") + lost, "{trial:#}");
    assert_eq!(trial["unexplained"], 0, "{trial:#}");
    for key in ["duplicates", "foreign", "corrupt"] {
        assert_eq!(trial[key], 0, "{key}: {trial:#}");
    }
}

pub fn refused(command: &mut Command, code: i32, parts: &[&str]) -> Ended {
    let ended = run(HOST, command);
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    // What only a trial shows is a line of that trial, too.
    let lines: Vec<_> =
        ended.errors.trim_end().lines().filter(|line| !line.contains(": not measured: ")).collect();
    let [line] = lines[..] else { panic!("one line: {ended:#?}") };
    for part in parts {
        assert!(line.contains(part), "{part}: {ended:#?}");
    }
    ended
}

#[test]
fn root_two_namespaces_account_for_every_frame() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    // The user's login is no connection of these agents.
    let mut bench = hosts.bench(&out, "--rate 20k --duration 1s");
    let ended = run(HOST, bench.env("SSH_CONNECTION", "192.0.2.9 40000 192.0.2.250 22"));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    assert_eq!(results["complete"], true);
    let trials = results["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    trials.iter().for_each(check);
    assert!(trials.iter().any(|trial| trial["delivered"].as_u64() > Some(15_000)), "{trials:#?}");
    let of_hosts = results["environment"]["hosts"].as_array().unwrap();
    let locations: Vec<_> = of_hosts.iter().map(|host| host["location"].as_str().unwrap()).collect();
    assert_eq!(locations, [hosts.location("gen"), hosts.location("dut")]);
    assert_eq!(of_hosts[0]["host_id"], of_hosts[1]["host_id"], "one machine");
    let statements = results["statements"].to_string();
    for part in ["cable check: 2000 frames", "each counted by an agent there"] {
        assert!(statements.contains(part), "{part}: {statements}");
    }
    assert!(!statements.contains("controller's connection"), "{statements}");
    hosts.wait_until_left();
}

#[test]
fn root_the_cable_check_reports_foreign_frames() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let send = format!(
        "import socket, time\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\ns.bind(('{}', 0))\n\
         while True: s.send(bytes(12) + b'\\x88\\xb5' + bytes(46)); time.sleep(0.002)",
        hosts.interface("gen")
    );
    let mut other = program(&format!("ip netns exec {}", hosts.name("gen")));
    other.arg(program("python3").get_program()).args(["-c", &send]);
    let _other = Running::start(HOST, other);
    eventually("the other program sends", || hosts.received() > 0);
    let ended = run(HOST, hosts.bench(&out, "--rate 5k --duration 200ms --no-trace"));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let statements = results["statements"].to_string();
    let (_, found) = statements.split_once(" arrived once and intact, with ").expect(&statements);
    assert!(found.split(' ').next().unwrap().parse::<u64>().is_ok_and(|frames| frames > 0), "{statements}");
    assert!(found.contains(" foreign frame"), "{statements}");
}

#[test]
fn root_a_search_between_agents_accounts_for_every_frame() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut command =
        capbench("search --goal short:loss=0,duration=300ms,sum=900ms,width=20% --max-rate 40k");
    command.args(["--tx", &hosts.location("gen"), "--rx", &hosts.location("dut")]);
    let ended = run(HOST, command.arg("--out").arg(out.path().join("run")));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    results(&out.file("run")).unwrap()["trials"].as_array().unwrap().iter().for_each(check);
}

#[test]
fn root_agents_end_with_their_controller() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    for name in ["KILL", "INT"] {
        let before = hosts.received();
        let running = Running::start(HOST, hosts.bench(&out, "--rate 20k --duration 60s --no-trace"));
        hosts.wait_until_sending(before);
        running.signal(name);
        let ended = running.end();
        assert!(ended.code != Some(0), "{ended:#?}");
        hosts.wait_until_left();
        let _ = std::fs::remove_dir_all(out.path().join("run"));
    }
}

/// How often the threads of a process have waited for something, without those that send and receive.
fn wake_ups(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(Result::ok);
    let status = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let controls = |status: &String| {
        !["Name:\tcapbench-gen\n", "Name:\tcapbench-app\n"].iter().any(|name| status.starts_with(name))
    };
    status
        .filter(controls)
        .filter_map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        })
        .sum()
}

#[test]
fn root_no_control_thread_wakes_up_while_frames_are_sent() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let before = hosts.received();
    let running = Running::start(HOST, hosts.bench(&out, "--rate 5k --duration 6s --size 64"));
    hosts.wait_until_sending(before);
    let agents = ["gen", "dut"].into_iter().flat_map(|which| hosts.agents(which));
    let processes: Vec<_> = agents.chain([running.pid()]).collect();
    assert_eq!(processes.len(), 3, "{processes:?}");
    let woken = || processes.iter().map(|pid| wake_ups(*pid)).collect::<Vec<_>>();
    let (before, frames) = (woken(), hosts.received());
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(woken(), before);
    assert!(hosts.received() > frames, "it sends");
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
}

#[test]
fn root_a_local_run_and_agents_never_share_an_interface() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let place = crate::support::Place::with_pair();
    let local = |out: &Scratch, duration: &str| {
        let mut command =
            capbench("bench --method packet-v3 --rate 5k --size 64 --repeats 0 --no-trace --ring 4MiB");
        command.args(["--tx", "left", "--rx", "right", "--duration", duration]);
        command.arg("--out").arg(out.path().join("run"));
        command
    };
    let received = || {
        let output = place.output(&mut program("ip -j -s link show right"));
        let links: Value = serde_json::from_slice(&output.stdout).unwrap();
        count(&links[0]["stats64"]["rx"], "packets")
    };
    let first = Running::start(&place, local(&out, "6s"));
    eventually("the first run sends", || received() > 2000);
    let other = Scratch::new();
    let ended = run(&place, local(&other, "1s"));
    assert!(ended.code == Some(1) && ended.errors.contains("another controller uses it"), "{ended:#?}");
    let first = first.end();
    assert!(matches!(first.code, Some(0 | 4)), "{first:#?}");
    let both = hosts.location("gen");
    let mut command = capbench("bench --method packet-v3 --rate 5k");
    command.args(["--tx", &both, "--rx", &both]);
    refused(&mut command, 2, &["--tx and --rx: both name"]);
}

#[test]
fn root_what_an_agent_does_not_allow_is_refused_in_one_line() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let (g, d) = (hosts.interface("gen"), hosts.interface("dut"));
    let with = |tx: &str, rx: &str, arguments: &str| {
        let mut command = capbench("bench --method packet-v3 --placement same --repeats 0 --no-trace");
        command.args(["--tx", tx, "--rx", rx]).args(arguments.split_whitespace());
        command.arg("--out").arg(out.path().join("run"));
        command
    };
    let (sender, receiver) = (hosts.location("gen"), hosts.location("dut"));
    let other = hosts.exec("gen", "--allow send:other");
    refused(&mut with(&other, &receiver, "--rate 1k"), 6, &["does not allow send:", "--allow send:"]);
    let slow = hosts.exec("gen", &format!("--allow send:{g} --max-rate 1000"));
    refused(&mut with(&slow, &receiver, "--rate 5k --size 64"), 6, &["up to 1000 frames/s", "--max-rate"]);
    let receive_only = hosts.exec("dut", &format!("--allow receive:{d}"));
    refused(
        &mut with(&sender, &receive_only, "--rate 5k --method libpcap:/tmp/x.so"),
        6,
        &["does not allow libpcap:/tmp/x.so"],
    );
    refused(
        &mut with(&sender, &receive_only, "--rate 5k --method cmd:tcpdump"),
        6,
        &["does not allow program:tcpdump"],
    );
    refused(&mut with("netns:no-such-namespace/eth1", &receiver, ""), 1, &["no-such-namespace"]);
    refused(&mut with("exec:/no/such/program,eth1", &receiver, ""), 1, &["cannot start /no/such/program"]);
    refused(&mut with("exec:cat,eth1", &receiver, ""), 5, &["answer to hello is none of an agent"]);
    refused(&mut with("exec:echo hi,eth1", &receiver, ""), 1, &["exec:echo hi,eth1"]);
    refused(&mut with("ssh:-x/eth1", &receiver, ""), 2, &["begins with a dash"]);
    let absent = hosts.location("gen").replace(&g, "absent0");
    refused(&mut with(&absent, &receiver, ""), 2, &["absent0"]);
    hosts.wait_until_left();
}

#[test]
fn root_a_generator_behind_ssh_has_the_rights_of_its_key() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let agent = hosts.agent("gen", "--max-rate 1M");
    let management = Management::make(&hosts.name("ctl"), &[(hosts.name("gen"), agent)]);
    let bench = |interface: &str, arguments: &str| {
        let _ = std::fs::remove_dir_all(out.path().join("run"));
        let mut command = capbench(
            "bench --method packet-v3 --placement same --repeats 0 --size 64 --no-trace --ring 4MiB",
        );
        let tx = management.location(0, interface);
        command.args(["--tx", &tx, "--rx", &hosts.location("dut")]).args(arguments.split_whitespace());
        command.arg("--out").arg(out.path().join("run"));
        management.reached_by(command)
    };
    let g = hosts.interface("gen");
    let ended = run(HOST, bench(&g, "--rate 20k --duration 1s"));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    results(&out.file("run")).unwrap()["trials"].as_array().unwrap().iter().for_each(check);
    refused(&mut bench("other", "--rate 20k"), 6, &["does not allow send:other"]);
    refused(&mut bench(&g, "--rate 2M"), 6, &["up to 1000000 frames/s"]);
    management.forget_hosts();
    refused(&mut bench(&g, "--rate 20k"), 1, &["exit status: 255", "Host key verification failed"]);
    hosts.wait_until_left();
}

#[test]
fn root_a_dry_run_says_what_each_agent_can_do() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let ended = run(HOST, hosts.bench(&out, "--dry-run --rate 20k")).success();
    for part in [&hosts.location("gen"), &hosts.location("dut"), "veth", "MTU 1500", "one-way  "] {
        assert!(ended.out.contains(part), "{part}: {ended:#?}");
    }
    assert!(!out.path().join("run").exists());
    let words = |ended: &Ended| ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let (g, d) = (hosts.interface("gen"), hosts.interface("dut"));
    let sender = hosts.exec("gen", &format!("--allow send:{g} --max-rate 1M --max-duration 10s"));
    let receiver = hosts
        .exec("dut", &format!("--allow receive:{d} --allow program:tcpdump --isolated {d} --isolated x"));
    let mut command = capbench("bench --method packet-v3 --rate 20k --dry-run");
    let ended = run(HOST, command.args(["--tx", &sender, "--rx", &receiver])).success();
    for part in [
        "allows up to 1000000 frames/s",
        "allows trials up to 10s",
        "allows programs tcpdump",
        &format!("calls {d}, x isolated"),
    ] {
        assert!(words(&ended).contains(part), "{part}: {ended:#?}");
    }
    // Each end whose driver does not count.
    let [tx, rx] = ["gen", "dut"].map(|which| {
        let name = hosts.name(which);
        ip(&format!("-n {name} link add bridge9 type bridge"));
        ip(&format!("-n {name} link set bridge9 arp off up"));
        format!("netns:{name}/bridge9")
    });
    let mut command = capbench("bench --method packet-v3 --rate 20k --dry-run");
    let ended = run(HOST, command.args(["--tx", &tx, "--rx", &rx])).success();
    for location in [&tx, &rx] {
        let part = format!("bridge of {location} is not known to count each frame");
        assert!(words(&ended).contains(&part), "{part}: {ended:#?}");
    }
}

#[test]
fn root_the_controllers_cpus_decide_nothing_about_other_hosts() {
    let Some(_) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let [g, d] = ["gen", "dut"].map(|which| hosts.interface(which));
    let sender = hosts.exec("gen", &format!("--allow send:{g}"));
    let receiver = hosts.exec("dut", &format!("--allow receive:{d}"));
    let planned = |tx: &str, rx: &str| {
        let own = capbench("bench --method packet-v3 --rate 20k --dry-run");
        let mut command = program("taskset -c 0");
        command.arg(own.get_program()).args(own.get_args()).args(["--tx", tx, "--rx", rx]);
        run(HOST, command).success().out
    };
    let placements = |plan: &str| plan.lines().any(|line| line == "placements  same, other");
    let here = planned(&hosts.location("gen"), &hosts.location("dut"));
    assert!(!placements(&here) && here.contains("placement other is left out"), "{here}");
    for (tx, rx) in [(&sender, &receiver), (&sender, &hosts.location("dut"))] {
        let there = planned(tx, rx);
        assert!(placements(&there) && !there.contains("is left out"), "{there}");
    }
}

#[test]
fn root_an_interface_serves_one_controller_at_a_time() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let mut soak = capbench("soak --method packet-v3 --placement same --rate 20k --for 1h --interval 500ms");
    soak.args(["--tx", &hosts.location("gen"), "--rx", &hosts.location("dut")]);
    let mut first = Running::start(HOST, soak.arg("--out").arg(out.file("run")));
    // It measures for as long as the second controller needs to be refused, and accounts for every frame meanwhile.
    first.wait_for("500ms ");
    let second = Scratch::new();
    refused(&mut hosts.bench(&second, "--rate 1k --duration 1s"), 1, &["another controller uses it"]);
    first.signal("INT");
    let ended = first.end();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    results(&out.file("run")).unwrap()["trials"].as_array().unwrap().iter().for_each(check);
}
