//! Several generators to one receiver: each in a network namespace, behind a bridge.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::agents::count;
use crate::agents_lost::Link;
use crate::support::{
    Ended, HOST, Running, Scratch, add_namespace, capbench, eventually, ip, program, remove_namespace,
    results, run, scratch_of_root, signal,
};

/// A bridge in a namespace `sw`; generators in `g0`, `g1` and so on, and a receiver in `dut`, each with a veth to a port of it.
/// The interfaces have the names of their namespaces, with a suffix that no other run has. All is removed on drop.
pub struct Switch {
    id: String,
    generators: usize,
}

impl Switch {
    pub fn make(generators: usize) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let id = format!("{}y{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let switch = Self { id, generators };
        let sw = switch.name("sw");
        switch.spaces().iter().for_each(|name| add_namespace(&switch.name(name)));
        ip(&format!("-n {sw} link add bridge type bridge mcast_snooping 0"));
        ip(&format!("-n {sw} link set bridge up"));
        for name in switch.ends() {
            let (space, own, port) = (switch.name(&name), switch.interface(&name), switch.port(&name));
            // Each of the two ends of the path has the number of the other one's peer, as if they were one pair.
            let [number, peer] = match name.as_str() {
                "g0" => ["index 100", "index 200"],
                "dut" => ["index 200", "index 100"],
                _ => [""; 2],
            };
            ip(&format!("-n {space} link add {own} {number} type veth peer name {port} {peer} netns {sw}"));
            ip(&format!("-n {sw} link set {port} master bridge arp off up"));
            ip(&format!("-n {space} link set {own} arp off up"));
        }
        // The receiver sends nothing from which the bridge could learn its port: without this it floods all frames.
        switch
            .in_switch(&format!("bridge fdb add 02:63:61:70:00:02 dev {} master static", switch.port("dut")));
        switch
    }

    fn ends(&self) -> Vec<String> {
        (0..self.generators).map(|number| format!("g{number}")).chain(["dut".into()]).collect()
    }

    fn spaces(&self) -> Vec<String> {
        self.ends().into_iter().chain(["sw".into()]).collect()
    }

    fn name(&self, which: &str) -> String {
        format!("capbench-{which}-{}", self.id)
    }

    fn interface(&self, which: &str) -> String {
        format!("{which}{}", self.id)
    }

    fn port(&self, which: &str) -> String {
        format!("p{which}{}", self.id)
    }

    fn location(&self, which: &str) -> String {
        format!("netns:{}/{}", self.name(which), self.interface(which))
    }

    /// `--tx` of all generators.
    pub fn generators(&self) -> String {
        (0..self.generators).map(|number| self.location(&format!("g{number}"))).collect::<Vec<_>>().join(",")
    }

    fn in_switch(&self, command: &str) {
        let output = program(&format!("ip netns exec {} {command}", self.name("sw"))).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }

    /// Drops the frames of a generator at its port of the bridge whose number is [`FIRST_LOST`] or above and a multiple of 64.
    fn lose_some_of(&self, which: &str) {
        // The lower 16 bits of the sequence number are at octet 48 of an IPv4 frame with UDP.
        let code = format!("40 0 0 48,53 0 3 {FIRST_LOST},84 0 0 63,21 0 1 0,6 0 0 2,6 0 0 4294967295");
        self.lose(which, &code);
    }

    /// Loses the frames of a generator that sends more than [`LIMIT`], by their number and planned time only. The first 134 ms of a
    /// trial pass, and with them the check before the first trial.
    pub fn limit(&self, which: &str) {
        // The sequence number is at octet 46, the planned time in units of 65,536 ns at octet 50.
        let code =
            "32 0 0 50,53 0 6 2048,116 0 0 3,4 0 0 4,7 0 0 0,32 0 0 46,45 0 1 0,6 0 0 2,6 0 0 4294967295";
        self.lose(which, code);
    }

    /// Drops the frames of a generator at its port for which a program of classic BPF returns 2 (TC_ACT_SHOT).
    fn lose(&self, which: &str, code: &str) {
        let port = self.port(which);
        self.in_switch(&format!("tc qdisc add dev {port} clsact"));
        let add = format!("tc filter add dev {port} ingress bpf da bytecode");
        let code = format!("{},{code}", code.split(',').count());
        let output = program(&format!("ip netns exec {} {add}", self.name("sw"))).arg(code).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Frames that a generator has sent into its port of the bridge.
    fn sent(&self, which: &str) -> u64 {
        let file = format!("/sys/class/net/{}/statistics/rx_packets", self.port(which));
        let output =
            program(&format!("ip netns exec {} sh -c", self.name("sw"))).arg(format!("cat {file}")).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().parse().unwrap()
    }

    pub fn command(&self, out: &Scratch, arguments: &str, generators: &str) -> Command {
        let mut command = capbench(arguments);
        command.args(["--tx", generators, "--rx", &self.location("dut"), "--repeats", "0", "--ring", "4MiB"]);
        command.arg("--out").arg(out.path().join("run"));
        command
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for name in self.spaces() {
            remove_namespace(&self.name(&name));
        }
    }
}

/// Above the numbers of the cable check.
const FIRST_LOST: u64 = 512;

/// Frames per second: one in eight units of 65,536 ns.
pub const LIMIT: f64 = 1e9 / (8.0 * 65_536.0);

/// How many of a stream's frames the fault loses.
fn lost_of(sent: u64) -> u64 {
    (FIRST_LOST..sent).filter(|number| number % 64 == 0).count() as u64
}

/// What holds in every valid trial of several generators: the sums are the trial's, and every frame has its place.
fn check(trial: &Value, generators: usize) {
    let of_each = trial["generators"].as_array().unwrap();
    assert_eq!(of_each.len(), generators, "{trial:#}");
    for key in ["intended", "sent", "delivered", "duplicates", "reordered"] {
        let sum: u64 = of_each.iter().map(|generator| count(generator, key)).sum();
        assert_eq!(sum, count(trial, key), "{key}: {trial:#}");
    }
    for generator in of_each {
        assert_eq!(count(generator, "sent"), count(generator, "delivered") + count(generator, "lost"));
        assert_eq!(count(&generator["loss_shape"], "lost"), count(generator, "lost"), "{generator:#}");
        assert!(generator["failure"].is_null(), "{generator:#}");
    }
    let places = trial["ledger"].as_array().unwrap().iter().filter(|entry| entry["place"] != "unsent");
    let lost: u64 = places.filter_map(|entry| entry["count"].as_u64()).sum();
    assert_eq!(count(trial, "sent"), count(trial, "delivered") + lost, "{trial:#}");
    assert_eq!(trial["unexplained"], 0, "{trial:#}");
    for key in ["duplicates", "foreign", "corrupt"] {
        assert_eq!(trial[key], 0, "{key}: {trial:#}");
    }
}

fn lost(generator: &Value) -> u64 {
    count(generator, "lost")
}

#[test]
fn root_eight_generators_are_counted_each_and_losses_of_a_leg_are_its_own() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(8);
    switch.lose_some_of("g3");
    let arguments = "bench --method packet-v3 --rate 8k --duration 1s --size 64";
    let ended = run(HOST, switch.command(&out, arguments, &switch.generators()));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let trials = results["trials"].as_array().unwrap();
    assert!(!trials.is_empty(), "{ended:#?}");
    for trial in trials {
        check(trial, 8);
        for (number, generator) in trial["generators"].as_array().unwrap().iter().enumerate() {
            assert_eq!(generator["stream"], number);
            assert_eq!(generator["location"], switch.location(&format!("g{number}")));
            assert_eq!(count(generator, "intended"), 1000);
            let expected = if number == 3 { lost_of(count(generator, "sent")) } else { 0 };
            assert_eq!(lost(generator), expected, "generator {number}: {trial:#}");
        }
        let path = trial["ledger"].as_array().unwrap().iter().find(|entry| entry["place"] == "path").unwrap();
        assert_eq!(count(path, "count"), lost(&trial["generators"][3]), "{trial:#}");
        let starts = trial["generators"].as_array().unwrap().iter().map(|one| count(one, "start_ns"));
        let spread = starts.clone().max().unwrap();
        assert_eq!(starts.min(), Some(0), "{trial:#}");
        // They are started one after the other, by messages.
        assert!((1_000..500_000_000).contains(&spread), "{trial:#}");
        assert_eq!(count(&trial["disturbance"], "start_spread_ns"), spread);
        let is_marked = trial["noise"].to_string().contains("began more than 1 % of its time apart");
        let sending_ns = count(&trial["disturbance"], "sending_ns");
        assert_eq!(is_marked, spread * 100 > sending_ns, "{trial:#}");
    }
    assert!(trials.iter().any(|trial| lost(&trial["generators"][3]) > 0), "the fault hit frames");
    assert_eq!(results["environment"]["hosts"].as_array().unwrap().len(), 9);
    let statements = results["statements"].to_string();
    assert!(statements.contains("cable check: 2000 frames were sent by 8 generators"), "{statements}");
    assert!(results["findings"].to_string().contains("8 generators sent together."), "{results:#}");
}

#[test]
fn root_a_bridge_between_veths_with_equal_numbers_is_a_path_that_loses_frames() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(1);
    switch.limit("g0");
    let ended = run(
        HOST,
        switch.command(
            &out,
            "bench --method packet-v3 --rate 4k --duration 1s --size 64",
            &switch.generators(),
        ),
    );
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let [trial] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {ended:#?}") };
    crate::agents::check(trial);
    let path = trial["ledger"].as_array().unwrap().iter().find(|entry| entry["place"] == "path").unwrap();
    assert!(count(path, "count") > 100, "{trial:#}");
}

#[test]
fn root_weights_split_the_load() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(2);
    let arguments = "bench --method packet-v3 --rate 4k --duration 1s --weights 3,1 --size 64 --no-trace";
    let ended = run(HOST, switch.command(&out, arguments, &switch.generators()));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    for trial in results(&out.file("run")).unwrap()["trials"].as_array().unwrap() {
        check(trial, 2);
        let intended: Vec<_> = (0..2).map(|at| count(&trial["generators"][at], "intended")).collect();
        assert_eq!(intended, [3000, 1000]);
    }
}

/// An agent that starts once.
fn once(switch: &Switch, out: &Scratch, which: &str) -> String {
    let (script, started) = (out.path().join("agent"), out.path().join("started"));
    let text = format!(
        "#!/bin/sh\nset -C\n: > {} || exit 1\nexec {} netns exec {} {} agent --allow send:{}\n",
        started.display(),
        program("ip").get_program().display(),
        switch.name(which),
        env!("CARGO_BIN_EXE_capbench"),
        switch.interface(which)
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    format!("exec:{},{}", script.display(), switch.interface(which))
}

/// An agent whose command starts once, and then never answers.
fn silent_later(switch: &Switch, out: &Scratch, which: &str) -> String {
    let location = once(switch, out, which);
    let script = out.path().join("agent");
    let text = std::fs::read_to_string(&script).unwrap();
    // The shell stays the first process.
    let text = text.replace("exit 1", "exec sleep 600").replace("\nexec ", "\n");
    std::fs::write(&script, text).unwrap();
    location
}

/// An agent that says its interface has this speed, in four characters. Virtual interfaces have none.
fn with_speed(switch: &Switch, out: &Scratch, role: &str, which: &str, bits_per_second: &str) -> String {
    let (script, interface) =
        (out.path().join(format!("{which}-{bits_per_second}")), switch.interface(which));
    // The number has as many octets as "null", so the length in the message's head stays right.
    let edit = format!(r#"s/"bits_per_second":null/"bits_per_second":{bits_per_second}/"#);
    let text = format!(
        "#!/bin/sh\n{} netns exec {} {} agent --allow {role}:{interface} | perl -pe 'BEGIN {{ $/ = \"}}\"; $| = 1 }} {edit}'\n",
        program("ip").get_program().display(),
        switch.name(which),
        env!("CARGO_BIN_EXE_capbench"),
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    format!("exec:{},{interface}", script.display())
}

#[test]
fn root_a_share_of_the_line_is_that_of_the_slowest_of_the_agents_interfaces() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(2);
    let command = |senders: [(&str, &str); 2], generators: usize, receiver: &str, arguments: &str| {
        let mut command = capbench(&format!(
            "bench --method packet-v3 --placement same --rate 50% --size 64 --no-trace {arguments}"
        ));
        for (which, speed) in &senders[..generators] {
            command.args(["--tx", &with_speed(&switch, &out, "send", which, speed)]);
        }
        command.args(["--rx", &with_speed(&switch, &out, "receive", "dut", receiver), "--repeats", "0"]);
        command.arg("--out").arg(out.path().join("run"));
        command
    };
    // A frame of 64 octets has 84 on the wire: a gigabit carries 1,488,095 a second.
    for (senders, generators, receiver, arguments, load) in [
        ([("g0", "1e09"), ("g1", "1e09")], 1, "1e10", "", "744,048"),
        ([("g0", "1e10"), ("g1", "1e10")], 1, "1e09", "", "744,048"),
        ([("g0", "1e09"), ("g1", "1e09")], 2, "1e10", "", "1,488,095"),
        ([("g0", "1e09"), ("g1", "1e09")], 2, "1e10", "--weights 3,1", "992,063"),
    ] {
        let ended = run(HOST, command(senders, generators, receiver, &format!("--dry-run {arguments}")));
        assert!(
            ended.code == Some(0) && ended.out.contains(&format!("load        {load} ")),
            "{load}: {ended:#?}"
        );
        for end in [" capbench ", " Mbit/s"] {
            assert_eq!(ended.out.matches(end).count(), generators + 1, "a line each: {ended:#?}");
        }
    }
    let ended = run(HOST, command([("g0", "1e06"), ("g1", "1e06")], 1, "1e10", "--duration 1s"));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    for trial in results["trials"].as_array().unwrap() {
        crate::agents::check(trial);
        assert_eq!(count(trial, "intended"), 744, "{trial:#}");
    }
    assert_eq!(results["trials"].as_array().unwrap().len(), 1);
}

/// The agent that sends on this interface.
fn agent(interface: &str) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let end = format!("send:{interface}\0");
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("\0agent\0") && line.contains(&end)
    })
}

/// Frames of the check before the first trial.
const CHECK: u64 = 2000;

/// A run of two trials; the last of three generators is killed while it sends in the first.
fn with_a_killed_one(switch: &Switch, out: &Scratch, arguments: &str) -> Ended {
    let last = once(switch, out, "g2");
    let generators = [switch.location("g0"), switch.location("g1"), last].join(",");
    let running = Running::start(HOST, switch.command(out, arguments, &generators));
    eventually("the first trial sends", || switch.sent("g2") > CHECK / 3 + 200);
    signal(agent(&switch.interface("g2")).unwrap(), "KILL");
    running.end()
}

#[test]
fn root_a_generator_that_dies_among_others_spoils_its_trial_and_a_tolerant_run_goes_on() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(3);
    let arguments =
        "bench --method packet-v3,recv --rate 3k --visits 1 --duration 2s --size 64 --tolerate 1 --no-trace";
    let ended = with_a_killed_one(&switch, &out, arguments);
    let results = results(&out.file("run")).unwrap();
    let trials = results["trials"].as_array().unwrap();
    let [spoilt, after] = &trials[..] else { panic!("two trials: {ended:#?}") };
    assert_eq!(spoilt["verdict"], "invalid", "{spoilt:#}");
    let reason = spoilt["invalid_because"].as_str().unwrap();
    assert!(
        reason.contains("a generator ended while it sent: exec:") && reason.contains("/agent,"),
        "{reason}"
    );
    let of_each = spoilt["generators"].as_array().unwrap();
    assert_eq!(of_each.len(), 3);
    assert!(of_each[2]["sent"].is_null() && of_each[2]["failure"].is_string(), "{spoilt:#}");
    assert!(count(&of_each[2], "delivered") > 0, "it had sent until then: {spoilt:#}");
    for survivor in &of_each[..2] {
        assert_eq!(count(survivor, "intended"), 2000);
        assert_eq!(lost(survivor), 0, "{spoilt:#}");
    }
    check(after, 2);
    assert!(after["verdict"] != "invalid", "{after:#}");
    assert_eq!(count(after, "intended"), 6000, "two send all of the load: {after:#}");
    let noise = after["noise"].to_string();
    assert!(noise.contains("1 of 3 generators took no part, as --tolerate allows: exec:"), "{noise}");
    let statements = results["statements"].to_string();
    assert!(statements.contains("the run went on without a generator: exec:"), "{statements}");
}

/// Statements and trials of a run with two methods.
fn two_trials(out: &Scratch, ended: &Ended) -> (String, [Value; 2]) {
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let trials = results["trials"].as_array().unwrap().clone();
    let trials = trials.try_into().unwrap_or_else(|trials| panic!("two trials: {trials:#?}"));
    (results["statements"].to_string(), trials)
}

#[test]
fn root_a_tolerant_run_goes_on_without_a_generator_that_ends_between_two_set_ups() {
    let Some(out) = scratch_of_root() else { return };
    let (switch, link) = (Switch::make(3), Link::make());
    let last = once(&switch, &out, "g2");
    let (command, interface) = last.strip_prefix("exec:").unwrap().rsplit_once(',').unwrap();
    // Those before prepare the check, test both methods, and prepare the first one's trial.
    let last = link.location(command, interface, "cut", "prepare:5");
    let arguments = "bench --method packet-v3,recv --placement same --rate 3k --visits 1 --duration 300ms --size 64 --tolerate 1 --no-trace";
    let mut command = switch.command(&out, arguments, &switch.location("g0"));
    command.args(["--tx", &switch.location("g1"), "--tx", &last]);
    let (statements, [before, after]) = two_trials(&out, &run(HOST, command));
    assert!(link.has_harmed());
    check(&before, 3);
    check(&after, 2);
    let noise = after["noise"].to_string();
    assert!(noise.contains("1 of 3 generators took no part, as --tolerate allows: exec:"), "{noise}");
    assert!(statements.contains("2000 frames were sent by 3 generators"), "{statements}");
}

#[test]
fn root_the_cable_check_is_repeated_when_a_generator_is_lost_during_it() {
    let Some(out) = scratch_of_root() else { return };
    let (switch, link) = (Switch::make(2), Link::make());
    let interface = switch.interface("g1");
    let agent = format!(
        "ip netns exec {} {} agent --allow send:{interface}",
        switch.name("g1"),
        env!("CARGO_BIN_EXE_capbench")
    );
    // What the lost agent sent is lost, too.
    let last = link.location(&agent, &interface, "cut/cut", "go:1/report:1");
    let arguments = "bench --method packet-v3,recv --placement same --rate 2k --visits 1 --duration 300ms --size 64 --no-trace";
    let mut command = switch.command(&out, arguments, &switch.location("g0"));
    command.args(["--tx", &last]);
    let (statements, trials) = two_trials(&out, &run(HOST, command));
    assert!(link.has_harmed());
    trials.iter().for_each(|trial| check(trial, 2));
    assert!(statements.contains("cable check: 2000 frames were sent by 2 generators"), "{statements}");
}

#[test]
fn root_lengthy_a_generator_that_falls_silent_for_ever_costs_no_other_account() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(2);
    let last = silent_later(&switch, &out, "g1");
    let generators = [switch.location("g0"), last].join(",");
    let arguments = "bench --method packet-v3 --rate 3k --duration 4s --size 64 --tolerate 1";
    let mut command = switch.command(&out, arguments, &generators);
    let running = Running::start(HOST, command.env(crate::agents::WAITS_NAME, "4000,12000,12000"));
    eventually("the trial sends", || switch.sent("g1") > CHECK / 2 + 200);
    signal(agent(&switch.interface("g1")).unwrap(), "STOP");
    let ended = running.end();
    let results = results(&out.file("run")).unwrap();
    let [spoilt] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {ended:#?}") };
    assert_eq!(spoilt["verdict"], "invalid", "{spoilt:#}");
    let of_each = spoilt["generators"].as_array().unwrap();
    assert!(of_each[1]["failure"].is_string(), "{spoilt:#}");
    assert!(of_each[0]["failure"].is_null() && lost(&of_each[0]) == 0, "{spoilt:#}");
    assert!(count(&of_each[0], "delivered") > 4000, "{spoilt:#}");
    // It ends with its command, which did not end by itself.
    eventually("the silent agent is gone", || agent(&switch.interface("g1")).is_none());
}

#[test]
fn root_lengthy_without_tolerance_a_generator_that_cannot_be_reached_again_ends_the_trials() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(3);
    let ended = with_a_killed_one(
        &switch,
        &out,
        "bench --method packet-v3,recv --rate 3k --visits 1 --duration 4s --size 64",
    );
    assert!(!matches!(ended.code, Some(0) | None), "{ended:#?}");
    assert!(ended.errors.contains("/agent,"), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let [spoilt] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {ended:#?}") };
    assert_eq!(spoilt["verdict"], "invalid");
}

#[test]
fn root_lengthy_a_sweep_and_rfc2544_take_several_generators() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(2);
    for arguments in [
        "sweep load --points 1k,2k --method packet-v3,recv --duration 300ms --visits 1 --refine 0",
        "rfc2544 --quick --test frame-loss --method packet-v3 --size 64 --throughput 4k --max-rate 4k --duration 300ms --repetitions 1",
    ] {
        let ended = run(HOST, switch.command(&out, arguments, &switch.generators()));
        assert!(matches!(ended.code, Some(0 | 3 | 4)), "{arguments}: {ended:#?}");
        let results = results(&out.file("run")).unwrap();
        let trials = results["trials"].as_array().unwrap();
        assert!(!trials.is_empty(), "{arguments}: {ended:#?}");
        trials.iter().for_each(|trial| check(trial, 2));
        std::fs::remove_dir_all(out.path().join("run")).unwrap();
    }
}

#[test]
fn root_a_tolerant_run_begins_without_a_generator_that_is_out_of_reach() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(1);
    let generators = format!("{},netns:no-such-namespace/eth1", switch.location("g0"));
    let bench = |arguments: &str| {
        let arguments =
            format!("bench --method packet-v3 --rate 2k --duration 1s --size 64 --no-trace {arguments}");
        run(HOST, switch.command(&out, &arguments, &generators))
    };
    let ended = bench("--dry-run --tolerate 1");
    assert!(ended.code == Some(0) && ended.out.contains("absent      netns:no-such-namespace"), "{ended:#?}");
    let ended = bench("");
    assert!(ended.code == Some(1) && ended.errors.contains("no-such-namespace"), "{ended:#?}");
    let ended = bench("--tolerate 1");
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let trial = &results["trials"][0];
    check(trial, 1);
    assert_eq!((count(trial, "intended"), &trial["generators"][0]["stream"]), (2000, &0.into()));
    assert!(trial["noise"].to_string().contains("1 of 2 generators took no part"), "{trial:#}");
    assert!(results["statements"].to_string().contains("went on without a generator: netns:no-such"));
}

#[test]
fn root_mistakes_about_generators_are_named() {
    let Some(out) = scratch_of_root() else { return };
    let switch = Switch::make(2);
    let two = switch.generators();
    for (arguments, generators, part) in [
        ("--weights 1", &two, "--weights: 1 for 2 generators; name one for each"),
        ("--tolerate 2", &two, "--tolerate 2: of 2 generators one must be left"),
        ("", &format!("{0},{0}", switch.location("g0")), "is named twice"),
        ("--rate 50% --size 64", &two, "speed"),
    ] {
        let arguments = format!("bench --method packet-v3 --duration 1s {arguments}");
        let ended = run(HOST, switch.command(&out, &arguments, generators));
        assert!(ended.code == Some(2) && ended.errors.contains(part), "{part}: {ended:#?}");
    }
}
