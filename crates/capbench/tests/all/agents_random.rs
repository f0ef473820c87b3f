//! Runs between two hosts over ssh in which something fails at a random moment: every trial accounts for its frames, is invalid or
//! is not measured, no frame comes after the planned end, and nothing is left behind. Each frame is recorded by another program,
//! with whose counts those of the trials are compared.
//!
//! `CAPBENCH_LOSSES` is the number of runs and `CAPBENCH_LOSSES_SEED` the seed, which is printed. Each run is drawn from the seed
//! and its number only. Of [`RUNS_PER_SEARCH`] runs, one more is a search that is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_dir;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use capbench_frames::stamp::{STAMP_OCTETS, Stamp};
use capbench_record::file::{CaptureReader, Record};
use capbench_testing::HostLoad;
use capbench_traffic::transmission::MOST_BATCH;
use serde_json::Value;

use crate::agents::{Hosts, check, count};
use crate::agents_lost::{Link, bench, is_gro_on};
use crate::generators::{LIMIT, Switch};
use crate::support::management::End;
use crate::support::{
    Ended, HOST, Management, Recording, Running, Scratch, capbench, eventually, processes_in, program,
    results, run, saved_trials, scratch_of_root,
};

/// Runs where nobody asks for more.
const FEW: u64 = 30;
const RUNS_PER_SEARCH: u64 = 20;

/// Frames of the cable check, and of one attempt of the trial.
const CHECK: u64 = 2000;
const ATTEMPT: u64 = 2000;
const DURATION: Duration = Duration::from_millis(400);
/// The trial, at the rate of [`bench`].
const ARGUMENTS: &str = "--repeats 1 --duration 400ms";

/// How long a busy host may keep a sender from finishing the batch that it began before the planned end.
const SLACK: Duration = Duration::from_secs(1);

/// The hosts, as [`Hosts`] and [`Management`] name them.
const HOSTS: [&str; 2] = ["gen", "dut"];

/// What fails in a run, at one of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// The agent is killed.
    Agent(usize),
    /// The session of the server of ssh is killed.
    Session(usize),
    /// The controller is killed.
    Controller,
    /// The link to a host is cut.
    Cut(usize),
    /// Nothing that this end of the link to a host sends arrives.
    HalfOpen(usize, End),
    /// Each message takes a while. (By a program: not every kernel has netem.)
    Delay(usize),
}

const FAULTS: [Fault; 13] = [
    Fault::Agent(0),
    Fault::Agent(1),
    Fault::Session(0),
    Fault::Session(1),
    Fault::Controller,
    Fault::Cut(0),
    Fault::Cut(1),
    Fault::HalfOpen(0, End::Client),
    Fault::HalfOpen(0, End::Host),
    Fault::HalfOpen(1, End::Client),
    Fault::HalfOpen(1, End::Host),
    Fault::Delay(0),
    Fault::Delay(1),
];

/// Random choices of one run.
struct Draw(u64);

impl Draw {
    fn of_run(seed: u64, run: u64) -> Self {
        Self(mixed(seed ^ mixed(run)))
    }

    /// A number from 0 to `below`, exclusive.
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0) % below
    }

    fn milliseconds(&mut self, below: u64) -> Duration {
        Duration::from_millis(self.below(below))
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), once.
fn mixed(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A run as it is drawn.
#[derive(Clone, Copy, Debug)]
struct Plan {
    fault: Fault,
    /// It fails when so many frames came,
    frames: u64,
    /// and so much later.
    pause: Duration,
    /// How long a link is broken; `None`: until no agent is left.
    outage: Option<Duration>,
    /// Whether the run changes a setting of the receiver's interface.
    changes_setting: bool,
}

impl Plan {
    fn of_run(seed: u64, run: u64) -> Self {
        let mut draw = Draw::of_run(seed, run);
        Self {
            fault: FAULTS[draw.below(FAULTS.len() as u64) as usize],
            frames: match draw.below(8) {
                0 => 0,
                1 => CHECK + ATTEMPT,
                _ => draw.below(CHECK + ATTEMPT),
            },
            pause: draw.milliseconds(300),
            outage: (draw.below(10) > 0).then(|| draw.milliseconds(5000)),
            changes_setting: draw.below(4) == 0,
        }
    }

    fn arguments(&self) -> String {
        let setting = if self.changes_setting { "--transmit xdp-live" } else { "" };
        format!("{ARGUMENTS} {setting}")
    }
}

/// Two hosts and what connects them.
struct Network {
    hosts: Hosts,
    management: Management,
}

impl Network {
    fn make() -> Self {
        let hosts = Hosts::make();
        let reached = HOSTS.map(|host| (hosts.name(host), hosts.agent(host, "")));
        let management = Management::make(&hosts.name("ctl"), &reached);
        Self { hosts, management }
    }

    fn locations(&self) -> [String; 2] {
        [0, 1].map(|nth| self.management.location(nth, &self.hosts.interface(HOSTS[nth])))
    }

    /// Frames that the receiver's interface has counted.
    fn received(&self) -> u64 {
        let interface = format!("{}:", self.hosts.interface("dut"));
        let file = format!("/proc/{}/net/dev", self.management.server(1));
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&interface)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The agents of a host: neither their guardians, nor those who started them.
    fn agents(&self, nth: usize) -> Vec<u32> {
        let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        self.hosts.agents(HOSTS[nth]).into_iter().filter(|pid| name(pid) == "capbench\n").collect()
    }

    /// Runs a bench in which this fails; how it ended.
    fn run(&self, plan: Plan, out: &Scratch) -> Ended {
        let Plan { fault, frames, pause, outage, .. } = plan;
        let (mut locations, link) = (self.locations(), Link::make());
        if let Fault::Delay(nth) = fault {
            let interface = self.hosts.interface(HOSTS[nth]);
            let when = format!("prepare:1+{:.3}", pause.as_secs_f64() * 5.0);
            locations[nth] = link.location(&self.management.agent(nth), &interface, "delay", &when);
        }
        let before = self.received();
        let command = bench(out, &locations, &plan.arguments());
        let mut running = Running::start(HOST, self.management.reached_by(command));
        // On a busy host a run may end before, because an agent does not answer in time.
        seldom("both agents run", || running.has_ended() || (0..2).all(|nth| !self.agents(nth).is_empty()));
        eventually("frames come", || running.has_ended() || self.received() >= before + frames);
        sleep(pause);
        match fault {
            Fault::Agent(nth) => self.agents(nth).into_iter().for_each(kill),
            Fault::Session(nth) => self.management.sessions(nth).into_iter().for_each(kill),
            Fault::Controller => kill(running.pid()),
            Fault::Cut(nth) => self.management.cut(nth),
            Fault::HalfOpen(nth, end) => self.management.mute(nth, end),
            Fault::Delay(_) => {}
        }
        let broken = match fault {
            Fault::Cut(nth) | Fault::HalfOpen(nth, _) => Some(nth),
            _ => None,
        };
        if let (Some(nth), Some(outage)) = (broken, outage) {
            sleep(outage);
            self.management.repair(nth);
        }
        let ended = running.end();
        seldom("no agent is left", || HOSTS.iter().all(|host| self.hosts.agents(host).is_empty()));
        if let Some(nth) = broken {
            self.management.repair(nth);
        }
        ended
    }

    /// Asserts that no process of capbench or of the controller's ssh is left, and that settings are as before.
    fn assert_nothing_is_left(&self) {
        let client = self.management.space();
        seldom("no ssh is left", || processes_in(client).is_empty());
        for host in HOSTS {
            let left = || processes_in(&self.hosts.name(host)).into_iter().find(|name| !is_server(name));
            seldom("nothing but servers is left", || left().is_none());
        }
        let (name, interface) = (self.hosts.name("dut"), self.hosts.interface("dut"));
        let features = program(&format!("ip netns exec {name} ethtool -k {interface}")).output().unwrap();
        assert!(!is_gro_on(&features), "the setting is restored");
    }

    /// Removes the reports that were left on both hosts; their number.
    fn take_reports(&self) -> u64 {
        let files = [0, 1].into_iter().flat_map(|nth| read_dir(self.management.reports(nth)).unwrap());
        files.map(|file| std::fs::remove_file(file.unwrap().path()).unwrap()).count() as u64
    }

    /// Records all frames that the receiver's interface receives.
    fn record(&self, file: &Path) -> Recording {
        let own = capbench("record --json --method packet-v3 -w");
        let mut command = program(&format!("ip netns exec {}", self.hosts.name("dut")));
        command.arg(own.get_program()).args(own.get_args()).arg(file);
        command.args(["-i", &self.hosts.interface("dut")]);
        let mut running = Running::start(HOST, command);
        running.wait_for("listening on");
        Recording { running, file: file.into() }
    }
}

/// Waits for something that is expensive to look at.
fn seldom(what: &str, mut condition: impl FnMut() -> bool) {
    eventually(what, || {
        sleep(Duration::from_millis(100));
        condition()
    });
}

fn is_server(name: &str) -> bool {
    name.starts_with("sshd")
}

/// A variable of the environment that is a number.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number("CAPBENCH_LOSSES_SEED").unwrap_or(now);
    println!("CAPBENCH_LOSSES_SEED={seed}");
    seed
}

/// Kills a process that may have ended.
fn kill(pid: u32) {
    let _ = program("sh -c").arg(format!("kill -KILL {pid} 2>/dev/null")).status();
}

/// How many reports can be left that nobody reads: the agent of a host leaves up to one, and a killed one none.
fn most_reports(fault: Fault) -> u64 {
    if matches!(fault, Fault::Agent(_)) { 1 } else { 2 }
}

/// The frames of one trial id as they arrived.
#[derive(Default)]
struct Arrived {
    frames: u64,
    numbers: BTreeSet<u64>,
    /// When each was planned since the trial's start, and when it arrived.
    times: Vec<[Duration; 2]>,
}

/// The frames of a file by trial: the number of a trial is that of its id after the first, which is the check's.
fn arrived(file: &Path) -> BTreeMap<u16, Arrived> {
    let octets = std::fs::read(file).unwrap();
    let (mut reader, mut first, mut all) =
        (CaptureReader::new(&octets[..]).unwrap(), None, BTreeMap::<u16, Arrived>::new());
    while let Some(record) = reader.next_record().unwrap() {
        let Record::Packet(packet) = record else { continue };
        // Behind the headers of Ethernet, IPv4 and UDP.
        let stamp: [u8; STAMP_OCTETS] = packet.data[42..42 + STAMP_OCTETS].try_into().unwrap();
        let stamp = Stamp::from_bytes(stamp);
        let number = stamp.trial.0.wrapping_sub(*first.get_or_insert(stamp.trial.0));
        let trial = all.entry(number).or_default();
        trial.frames += 1;
        trial.numbers.insert(stamp.sequence);
        trial.times.push([stamp.planned_ns, packet.time_ns.unwrap()].map(Duration::from_nanos));
    }
    all
}

/// What the trials of all runs are.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    /// Trials that account for every frame.
    whole: u64,
    invalid: u64,
    not_measured: u64,
    /// Runs that saved nothing, and so claim nothing.
    silent: u64,
    /// Reports that nobody read.
    reports: u64,
}

/// Asserts that what a run saved is true, and counts it.
fn judge(out: &Scratch, ended: &Ended, arrived: &BTreeMap<u16, Arrived>, tally: &mut Tally) {
    tally.runs += 1;
    let Some(results) = results(&out.file("run")) else {
        assert!(!matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        tally.silent += 1;
        return;
    };
    let trials = results["trials"].as_array().unwrap();
    for trial in trials {
        let attempts = trial["guarding"]["set_aside"].as_array().cloned().unwrap_or_default();
        let attempts: Vec<Value> = attempts.into_iter().map(|attempt| attempt["trial"].clone()).collect();
        for trial in attempts.iter().chain([trial]) {
            if trial["verdict"] == "invalid" {
                assert!(trial["invalid_because"].is_string(), "{trial:#}");
                tally.invalid += 1;
                continue;
            }
            check(trial);
            assert_eq!(trial["intended"], ATTEMPT, "{trial:#}");
            let there = arrived.get(&(count(trial, "number") as u16)).map_or(0, |trial| trial.frames);
            let possible = count(trial, "delivered")..=count(trial, "sent");
            assert!(possible.contains(&there), "{there} frames arrived: {trial:#}");
            tally.whole += 1;
        }
    }
    let missing = results["not_measured"].as_array().unwrap();
    assert!(missing.iter().all(|missing| missing["reason"].as_str().unwrap().contains(':')), "{missing:#?}");
    tally.not_measured += missing.len() as u64;
    let is_done = ended.code.is_none() || !trials.is_empty() || !missing.is_empty();
    assert!(is_done, "a run that ended by itself says what became of its trial: {ended:#?}");
}

/// Asserts that no frame was sent after the planned end, and none twice.
fn assert_ends_as_planned(arrived: &BTreeMap<u16, Arrived>) {
    for (number, trial) in arrived.iter().filter(|(number, _)| **number > 0) {
        assert_eq!(trial.numbers.len() as u64, trial.frames, "trial {number}: a frame was sent twice");
        assert!(trial.numbers.last() < Some(&ATTEMPT), "trial {number}: {:?}", trial.numbers.last());
        assert!(trial.times.iter().all(|[planned, _]| *planned < DURATION), "trial {number}");
        // That of the most punctual frame: the others were sent or arrived later than planned.
        let start = trial.times.iter().map(|[planned, arrived]| *arrived - *planned).min().unwrap();
        let end = start + DURATION;
        let late = trial.times.iter().filter_map(|[_, arrived]| arrived.checked_sub(end)).collect::<Vec<_>>();
        let latest = late.iter().max().copied().unwrap_or_default();
        println!("trial {number}: {} frames after the planned end, the last {latest:?} after it", late.len());
        assert!(late.len() <= MOST_BATCH && latest < SLACK, "trial {number}: {late:?}");
    }
}

#[test]
fn root_lengthy_what_fails_at_random_makes_no_wrong_number_and_leaves_nothing() {
    let Some(out) = scratch_of_root() else { return };
    let (seed, runs) = (seed(), number("CAPBENCH_LOSSES").unwrap_or(FEW));
    let network = Network::make();
    let mut tallies = BTreeMap::<Fault, Tally>::new();
    for run in 0..runs {
        let plan = Plan::of_run(seed, run);
        println!("run {run}: {plan:?}");
        let recording = network.record(&out.file("frames"));
        let ended = network.run(plan, &out);
        assert!(plan.fault == Fault::Controller || ended.code.is_some(), "{ended:#?}");
        let received = network.received();
        // For a frame that comes when all is over.
        sleep(Duration::from_millis(20));
        assert_eq!(network.received(), received, "frames after the end");
        let file = recording.file.clone();
        let (_, document) = recording.interrupt();
        assert_eq!(document["interfaces"][0]["unexplained"], 0, "{document:#}");
        network.assert_nothing_is_left();
        let arrived = arrived(&file);
        assert_ends_as_planned(&arrived);
        let tally = tallies.entry(plan.fault).or_default();
        judge(&out, &ended, &arrived, tally);
        let reports = network.take_reports();
        assert!(reports <= most_reports(plan.fault), "{reports} reports: {ended:#?}");
        tally.reports += reports;
        println!("run {run}: {:?}, {:?}: {tally:?}", ended.code, plan.fault);
    }
    // The interfaces are free.
    let ended = run(HOST, network.management.reached_by(bench(&out, &network.locations(), ARGUMENTS)));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
}

/// The bounds of a search between agents in packets per second, if it found both.
fn bounds(folder: &Path) -> Option<[f64; 2]> {
    let results = results(folder).unwrap();
    let goal = &results["searches"][0]["goals"][0];
    Some([goal["lower"]["intended_pps"].as_f64()?, goal["upper"]["intended_pps"].as_f64()?])
}

/// Asserts that a search found these bounds, unless others keep the CPUs busy: then a generator may not send what it shall.
fn are_found(found: Option<[f64; 2]>, expected: [f64; 2], load: &HostLoad) -> bool {
    let is_near = |(found, expected): (f64, f64)| (found - expected).abs() <= 0.05 * expected;
    let are_near = found.is_some_and(|found| found.into_iter().zip(expected).all(is_near));
    if let Some(others) = load.others().filter(|_| !are_near) {
        capbench_testing::busy(format_args!("{found:?} instead of {expected:?}: {others}"));
        return false;
    }
    assert!(are_near, "{found:?} instead of {expected:?}");
    true
}

#[test]
fn root_lengthy_a_search_that_is_killed_at_random_comes_to_the_same_bounds() {
    let Some(out) = scratch_of_root() else { return };
    let (seed, runs) = (seed(), number("CAPBENCH_LOSSES").unwrap_or(FEW));
    let switch = Switch::make(1);
    switch.limit("g0");
    let goal = "limit:loss=0.5%,exceed=0,width=5%,duration=500ms,sum=500ms";
    let arguments = format!("search --method packet-v3 --size 64 --max-rate 8k --time 60s --goal {goal}");
    let search = || switch.command(&out, &arguments, &switch.generators());
    let (folder, load) = (out.file("run"), HostLoad::watch());
    let ended = run(HOST, search());
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let whole = bounds(&folder);
    if !are_found(whole, [LIMIT; 2], &load) {
        return;
    }
    for run_number in 0..runs.div_ceil(RUNS_PER_SEARCH) {
        let mut draw = Draw::of_run(seed, run_number);
        let (trials, pause) = (1 + draw.below(4) as usize, draw.milliseconds(1500));
        std::fs::remove_dir_all(&folder).unwrap();
        let load = HostLoad::watch();
        let mut running = Running::start(HOST, search());
        eventually("trials are saved", || running.has_ended() || saved_trials(&folder) >= trials);
        sleep(pause);
        kill(running.pid());
        running.end();
        let saved = saved_trials(&folder);
        assert!(saved >= trials, "whole to the last trial: {saved} trials");
        let ended = run(HOST, capbench("search --resume").arg(&folder));
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
        let resumed = bounds(&folder);
        println!("{saved} trials saved, resumed: {resumed:?}, undisturbed: {whole:?}");
        results(&folder).unwrap()["trials"].as_array().unwrap().iter().for_each(check);
        if !are_found(resumed, whole.unwrap(), &load) {
            return;
        }
    }
}
