//! Agents that are lost: killed, or behind a connection that is cut, that delays, or that is silent for ever.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::agents::{Hosts, WAITS, WAITS_NAME, check, count, refused};
use crate::support::{
    Ended, HOST, Place, Running, Scratch, capbench, eventually, program, python, results, run,
    scratch_of_root, signal,
};

/// A program between a controller and an agent that harms their connection, once or several times.
pub struct Link {
    folder: Scratch,
}

impl Link {
    pub fn make() -> Self {
        let link = Self { folder: Scratch::new() };
        std::fs::write(link.file("link.py"), include_str!("support/link.py")).unwrap();
        link
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The location of an interface whose agent this command starts, behind it.
    pub fn location(&self, command: &str, interface: &str, how: &str, when: &str) -> String {
        let [program, mark] = ["link.py", "mark"].map(|name| self.file(name));
        format!("exec:{} {program} {mark} {how} {when} {command},{interface}", python())
    }

    /// The locations of both ends, one of them behind it.
    fn ends(&self, hosts: &Hosts, which: &str, how: &str, when: &str) -> [String; 2] {
        let behind = |end: &str| end == which;
        ["gen", "dut"].map(|end| match behind(end) {
            true => {
                let agent = format!("ip netns exec {} {}", hosts.name(end), hosts.agent(end, ""));
                self.location(&agent, &hosts.interface(end), how, when)
            }
            false => hosts.location(end),
        })
    }

    /// How often it has done harm.
    fn harms(&self) -> u64 {
        std::fs::metadata(self.file("mark")).map_or(0, |file| file.len())
    }

    /// Whether it has done harm.
    pub fn has_harmed(&self) -> bool {
        self.harms() > 0
    }
}

/// A bench of one trial between two locations, whose ends wait for each other as [`WAITS`] says.
pub fn bench(out: &Scratch, [tx, rx]: &[String; 2], arguments: &str) -> Command {
    let _ = std::fs::remove_dir_all(out.path().join("run"));
    // What holds of a lost agent does not depend on a tracer.
    let mut command =
        capbench("bench --method packet-v3 --placement same --size 64 --rate 5k --no-trace --ring 4MiB");
    command.args(["--tx", tx, "--rx", rx]).args(arguments.split_whitespace());
    command.arg("--out").arg(out.path().join("run")).env(WAITS_NAME, WAITS);
    command
}

/// Both ends without anything in between.
fn ends(hosts: &Hosts) -> [String; 2] {
    ["gen", "dut"].map(|which| hosts.location(which))
}

/// The only trial of a run, which accounts for every frame.
fn trial(out: &Scratch, ended: &Ended) -> Value {
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    let trials = results["trials"].as_array().unwrap();
    let [trial] = &trials[..] else { panic!("one trial: {trials:#?}") };
    check(trial);
    assert_ne!(trial["verdict"], "invalid", "{trial:#}");
    trial.clone()
}

/// Frames that the generator did not pass to the kernel.
fn unsent(trial: &Value) -> u64 {
    let places = trial["ledger"].as_array().unwrap();
    count(places.iter().find(|entry| entry["place"] == "unsent").unwrap(), "count")
}

fn has_noise(trial: &Value, part: &str) -> bool {
    trial["noise"].as_array().unwrap().iter().any(|noise| noise.as_str().unwrap().contains(part))
}

#[test]
fn root_a_trial_stands_whose_agent_is_lost_when_sending_is_over() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    // The first of each is the cable check's.
    for (which, when, delays_receiver) in
        [("gen", "go:2", true), ("gen", "finish:2", false), ("dut", "finish:2", false)]
    {
        let link = Link::make();
        let ended =
            run(HOST, bench(&out, &link.ends(&hosts, which, "cut", when), "--repeats 0 --duration 1s"));
        let trial = trial(&out, &ended);
        assert!(link.has_harmed(), "{which} {when}");
        assert_eq!(trial["number"], 1, "{which} {when}: {trial:#}");
        // It sent for the whole second; how many of its frames, the host decides.
        assert_eq!(count(&trial, "intended"), count(&trial, "sent") + unsent(&trial), "{trial:#}");
        let sending_ns = count(&trial["disturbance"], "sending_ns");
        assert!(count(&trial, "intended") == 5000 && sending_ns > 900_000_000, "{which} {when}: {trial:#}");
        assert_eq!(has_noise(&trial, "lost after sending"), delays_receiver, "{which} {when}: {trial:#}");
        assert!(!has_noise(&trial, "repeated"), "{which} {when}: {trial:#}");
        hosts.wait_until_left();
    }
}

#[test]
fn root_lengthy_a_report_that_is_lost_too_costs_its_trial_and_nothing_else() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    // The agent that read the report was lost with it; nobody could be asked; nobody could be asked for the next trial, either.
    for (which, reports, is_back) in [("dut", 1, true), ("gen", 3, true), ("dut", 6, false)] {
        let link = Link::make();
        let how = format!("cut{}", "/cut".repeat(reports));
        let when = format!("finish:2{}", "/report:1".repeat(reports));
        let ends = link.ends(&hosts, which, &how, &when);
        let ended = run(HOST, bench(&out, &ends, "--repeats 0 --duration 300ms --method recv"));
        assert_eq!(link.harms(), 1 + reports as u64, "{ended:#?}");
        assert!(matches!((is_back, ended.code), (true, Some(0 | 4)) | (false, Some(1))), "{ended:#?}");
        let results = results(&out.file("run")).unwrap();
        let [lost, rest @ ..] = &results["trials"].as_array().unwrap()[..] else { panic!("{results:#}") };
        assert_eq!((&lost["verdict"], &lost["sent"]), (&"invalid".into(), &0.into()), "{lost:#}");
        let because = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let lost = because(&lost["invalid_because"]);
        for part in ["lost, and so nothing is counted", &hosts.interface(which), "before it answered finish"]
        {
            assert!(lost.contains(part), "{part}: {lost}");
        }
        let not_measured = because(&results["not_measured"][0]["reason"]);
        if is_back {
            rest.iter().for_each(check);
            assert!(rest.len() == 1 && rest[0]["verdict"] != "invalid", "{rest:#?}");
        } else {
            assert!(rest.is_empty() && not_measured.contains("before it answered report"), "{not_measured}");
        }
        hosts.wait_until_left();
    }
}

#[test]
fn root_a_user_who_stops_while_a_report_is_awaited_keeps_the_trials_before() {
    let Some(out) = scratch_of_root() else { return };
    let (hosts, link) = (Hosts::make(), Link::make());
    // The connection is cut at the end of the second trial, and the one to the next agent falls silent.
    let ends = link.ends(&hosts, "dut", "cut/hang", "finish:3/report:1");
    let mut command = bench(&out, &ends, "--repeats 0 --duration 300ms --method recv");
    // The controller alone would wait for minutes.
    command.env_remove(WAITS_NAME);
    let running = Running::start(HOST, command);
    eventually("the report is awaited", || link.harms() == 2);
    let stopped = Instant::now();
    running.signal("INT");
    let ended = running.end();
    assert!(stopped.elapsed() < Duration::from_secs(60), "{ended:#?}");
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    assert_eq!(results["complete"], false);
    let [trial] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {results:#}") };
    check(trial);
    assert_ne!(trial["verdict"], "invalid", "{trial:#}");
    // Also the one behind the silent connection.
    hosts.wait_until_left();
}

#[test]
fn root_a_user_who_stops_waits_only_seconds_for_an_agent_that_hangs() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let before = hosts.received();
    let mut command = bench(&out, &ends(&hosts), "--repeats 0 --duration 600s");
    // The controller would wait for minutes.
    command.env_remove(WAITS_NAME);
    let running = Running::start(HOST, command);
    hosts.wait_until_sending(before);
    hosts.agents("dut").into_iter().for_each(|pid| signal(pid, "STOP"));
    let stopped = Instant::now();
    running.signal("INT");
    let ended = running.end();
    // 5 s for the answer and 1 s for the end of the agent.
    assert!(stopped.elapsed() < Duration::from_secs(25), "{:?}: {ended:#?}", stopped.elapsed());
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    hosts.wait_until_left();
}

#[test]
fn root_a_trial_whose_sender_is_cut_off_while_it_sends_is_invalid() {
    let Some(out) = scratch_of_root() else { return };
    let (hosts, link) = (Hosts::make(), Link::make());
    let ends = link.ends(&hosts, "gen", "cut", "go:2+0.4");
    let ended = run(HOST, bench(&out, &ends, "--repeats 2 --duration 1s"));
    let trial = trial(&out, &ended);
    let because = |trial: &Value| trial["invalid_because"].as_str().unwrap_or_default().to_string();
    let attempts = trial["guarding"]["set_aside"].as_array().cloned().unwrap_or_default();
    let mut attempts = attempts.into_iter().map(|attempt| attempt["trial"].clone());
    let cut = attempts.find(|attempt| because(attempt).contains("lost while frames were sent"));
    let cut = cut.unwrap_or_else(|| panic!("{trial:#}"));
    check(&cut);
    assert_eq!(cut["verdict"], "invalid");
    // A location is printed with one space between the words of its command.
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert!(words(&because(&cut)).contains(&words(&ends[0])), "{cut:#}\n{}", ends[0]);
    assert!(cut["sent"].as_u64() < Some(4000), "it stopped with the connection: {cut:#}");
    hosts.wait_until_left();
}

#[test]
fn root_an_agent_that_is_lost_before_it_sends_is_started_again() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    for which in ["gen", "dut"] {
        let link = Link::make();
        let ends = link.ends(&hosts, which, "cut", "arm:2");
        let trial = trial(&out, &run(HOST, bench(&out, &ends, "--repeats 0 --duration 500ms")));
        assert!(link.has_harmed() && !has_noise(&trial, "repeated"), "{trial:#}");
        assert_eq!(trial["number"], 1, "{trial:#}");
    }
    hosts.wait_until_left();
}

#[test]
fn root_an_agent_that_is_killed_costs_an_attempt_and_nothing_else() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    for (which, repeats) in [("dut", 0), ("gen", 2)] {
        let before = hosts.received();
        let arguments = format!("--repeats {repeats} --duration 1500ms");
        let running = Running::start(HOST, bench(&out, &ends(&hosts), &arguments));
        hosts.wait_until_sending(before);
        hosts.agents(which).into_iter().for_each(|pid| signal(pid, "KILL"));
        let ended = running.end();
        let results = results(&out.file("run")).unwrap_or_else(|| panic!("{ended:#?}"));
        let [trial] = &results["trials"].as_array().unwrap()[..] else { panic!("one trial: {results:#}") };
        let attempts = trial["guarding"]["set_aside"].as_array().cloned().unwrap_or_default();
        let lost = if repeats == 0 { trial.clone() } else { attempts[0]["trial"].clone() };
        // The user decides whether it is repeated, and the lost attempt is kept.
        assert_eq!(attempts.is_empty(), repeats == 0, "{trial:#}");
        assert_eq!((&lost["verdict"], &lost["sent"]), (&"invalid".into(), &0.into()), "{lost:#}");
        let reason = lost["invalid_because"].as_str().unwrap();
        assert!(reason.contains(&format!("lost, and so nothing is counted: {}", hosts.location(which))));
        if repeats > 0 {
            check(trial);
            assert_ne!(trial["verdict"], "invalid", "{trial:#}");
        }
        hosts.wait_until_left();
    }
}

#[test]
fn root_lengthy_an_agent_that_cannot_be_started_again_is_named() {
    let Some(out) = scratch_of_root() else { return };
    let (hosts, folder) = (Hosts::make(), Scratch::new());
    // Started once, its command is gone.
    let script = folder.path().join("once");
    let agent = hosts.exec("dut", &format!("--allow receive:{}", hosts.interface("dut")));
    let (agent, interface) = agent.strip_prefix("exec:").unwrap().rsplit_once(',').unwrap();
    std::fs::write(&script, format!("rm \"$0\"\nexec {agent}\n")).unwrap();
    let sh = program("sh").get_program().to_string_lossy().into_owned();
    let rx = format!("exec:{sh} {},{interface}", script.display());
    let ends = [hosts.location("gen"), rx.clone()];
    let before = hosts.received();
    // The first method's trial is lost, and the second's has no agent.
    let running = Running::start(HOST, bench(&out, &ends, "--repeats 0 --duration 3s --method recv"));
    hosts.wait_until_sending(before);
    hosts.agents("dut").into_iter().for_each(|pid| signal(pid, "KILL"));
    let ended = running.end();
    assert!(!matches!(ended.code, Some(0) | None), "{ended:#?}");
    let results = results(&out.file("run")).unwrap();
    assert_eq!(results["trials"][0]["verdict"], "invalid", "{results:#}");
    for reason in [&results["trials"][0]["invalid_because"], &results["not_measured"][0]["reason"]] {
        assert!(reason.as_str().unwrap().contains(&rx), "{results:#}");
    }
    hosts.wait_until_left();
}

#[test]
fn root_lengthy_a_connection_that_falls_silent_ends_with_its_lease() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    for (which, when) in [("gen", "go:2+0.2"), ("dut", "arm:2+0.4")] {
        let link = Link::make();
        let ends = link.ends(&hosts, which, "hang", when);
        trial(&out, &run(HOST, bench(&out, &ends, "--repeats 0 --duration 1s")));
        assert!(link.has_harmed());
        // The lost one, too.
        hosts.wait_until_left();
    }
}

/// Whether generic receive offload is on, by ethtool(8) as it is started here.
pub fn is_gro_on(output: &std::process::Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("generic-receive-offload: on")
}

#[test]
fn root_settings_are_restored_after_a_kill() {
    let Some(out) = scratch_of_root() else { return };
    let hosts = Hosts::make();
    let (name, interface) = (hosts.name("dut"), hosts.interface("dut"));
    let is_on =
        || is_gro_on(&program(&format!("ip netns exec {name} ethtool -k {interface}")).output().unwrap());
    assert!(!is_on());
    let arguments = "--repeats 0 --transmit xdp-live --duration 20s";
    let running = Running::start(HOST, bench(&out, &ends(&hosts), arguments));
    eventually("the receiver's end is set up for the generator", is_on);
    // Its controller lives, so that it does not end by itself: nobody but the guardian restores the setting.
    let is_guardian = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.contains("guard"))
    };
    let agents = || hosts.agents("dut").into_iter().filter(|pid| !is_guardian(pid)).collect::<Vec<_>>();
    // The guardian gets its name when it first runs.
    eventually("one of the two has the name of a guardian", || agents().len() == 1);
    agents().into_iter().for_each(|pid| signal(pid, "KILL"));
    // Before the controller starts another agent, which sets it again.
    eventually("the setting is restored", || !is_on());
    running.signal("KILL");
    running.end();
    eventually("the setting is restored again", || !is_on());
    hosts.wait_until_left();
    // A run that is not killed restores it, too.
    let ended = run(HOST, bench(&out, &ends(&hosts), "--repeats 0 --transmit xdp-live --duration 300ms"));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(!is_on());
}

#[test]
fn root_a_local_run_that_is_killed_restores_settings() {
    let Some(out) = scratch_of_root() else { return };
    let place = Place::with_pair();
    let is_on = || is_gro_on(&place.output(&mut program("ethtool -k right")));
    assert!(!is_on());
    let ends = ["left", "right"].map(String::from);
    let running = Running::start(&place, bench(&out, &ends, "--duration 20s --transmit xdp-live"));
    eventually("the receiving end is set up for the generator", is_on);
    running.signal("KILL");
    running.end();
    eventually("the setting is restored", || !is_on());
}

#[test]
fn root_what_is_no_agent_of_this_version_is_refused_in_one_line() {
    let Some(out) = scratch_of_root() else { return };
    let (hosts, folder) = (Hosts::make(), Scratch::new());
    let sh = program("sh").get_program().to_string_lossy().into_owned();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("exec:{sh} {},eth1", path.display())
    };
    let refusal = r#"{"message":"capbench 9.0 speaks version 9","kind":"unsupported"}"#;
    let error = format!(r#"{{"code":-32000,"message":"capbench 9.0 speaks version 9","data":{refusal}}}"#);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
    let other = format!("printf 'Content-Length: {}\\r\\n\\r\\n%s' '{answer}'\nread -r _\n", answer.len());
    let cases = [
        (script("other", &other), 5, "speaks version 9"),
        (
            script("huge", "printf 'Content-Length: 1073741824\\r\\n\\r\\n'\nread -r _\n"),
            1,
            "1073741824 octets",
        ),
        (script("absent", "echo 'sh: 1: capbench: not found' >&2\nexit 127\n"), 1, "exit status: 127"),
        ("ssh:no-such-host.invalid/eth1".into(), 1, "no-such-host.invalid"),
    ];
    for (tx, code, part) in cases {
        refused(&mut bench(&out, &[tx, hosts.location("dut")], "--repeats 0"), code, &[part]);
    }
    let short = format!("--allow send:{} --max-duration 500ms", hosts.interface("gen"));
    let ends = [hosts.exec("gen", &short), hosts.location("dut")];
    let parts = ["trials of up to 500ms", "--max-duration"];
    refused(&mut bench(&out, &ends, "--repeats 0 --duration 1s"), 6, &parts);
    hosts.wait_until_left();
}
