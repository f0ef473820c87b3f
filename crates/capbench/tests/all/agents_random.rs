//! Runs whose agents, connection or controller are lost at a random moment: every trial accounts for its frames, is invalid or is
//! not measured, and nothing is left behind.
//!
//! `CAPBENCH_LOSSES` is the number of runs and `CAPBENCH_LOSSES_SEED` the seed, which is printed. Each run is drawn from the seed
//! and its number only.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::agents::{Hosts, Server, check};
use crate::agents_lost::{Link, bench, ends};
use crate::support::{Ended, HOST, Running, Scratch, eventually, program, scratch_of_root};

/// Runs where nobody asks for more.
const FEW: u64 = 6;

/// Where agents of root leave reports.
const SPOOL: &str = "/run/capbench";

/// Frames of the cable check, and of one attempt of the trial.
const FRAMES: u64 = 2000;
const ATTEMPT: u64 = 4000;
/// The trial, and how often it can run: each of its guard's attempts is repeated once if an agent is lost.
const ARGUMENTS: &str = "--repeats 1 --duration 800ms";
const MOST_ATTEMPTS: u64 = 4;

/// What is lost in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// An agent is killed.
    Agent(&'static str),
    /// The controller is killed.
    Controller,
    /// The session of the server of ssh is killed.
    Server,
    /// The connection to an agent is harmed.
    Connection(&'static str, &'static str),
}

const LOSSES: [Loss; 10] = [
    Loss::Agent("gen"),
    Loss::Agent("dut"),
    Loss::Controller,
    Loss::Server,
    Loss::Connection("gen", "cut"),
    Loss::Connection("dut", "cut"),
    Loss::Connection("gen", "hang"),
    Loss::Connection("dut", "hang"),
    Loss::Connection("gen", "delay"),
    Loss::Connection("dut", "delay"),
];

/// A number from 0 to `below`, exclusive, for the `nth` choice of a run.
fn drawn(seed: u64, run: u64, nth: u64, below: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014), once.
    let mut mixed = seed.wrapping_add((run * 8 + nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % below
}

/// A variable of the environment that is a number.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Loses something in a run; how the run ended.
fn lose(loss: Loss, hosts: &Hosts, server: &Server, out: &Scratch, moment: Duration) -> Ended {
    match loss {
        Loss::Connection(which, how) => {
            let link = Link::make();
            // From the cable check on: arming and draining take part of the time.
            let when = format!("prepare:1+{:.3}", moment.as_secs_f64());
            Running::start(HOST, bench(out, &link.ends(hosts, which, how, &when), ARGUMENTS)).end()
        }
        Loss::Server => {
            let tx = format!("ssh:root@{}/{}", Server::ADDRESS, hosts.interface("gen"));
            let command = bench(out, &[tx, hosts.location("dut")], ARGUMENTS);
            let running = Running::start(HOST, server.reached_by(command));
            eventually("an agent runs", || !hosts.agents("gen").is_empty());
            std::thread::sleep(moment);
            server.sessions().into_iter().for_each(kill);
            running.end()
        }
        Loss::Agent(which) => {
            let running = Running::start(HOST, bench(out, &ends(hosts), ARGUMENTS));
            eventually("the agent runs", || !hosts.agents(which).is_empty());
            std::thread::sleep(moment);
            hosts.agents(which).into_iter().for_each(kill);
            running.end()
        }
        Loss::Controller => {
            let running = Running::start(HOST, bench(out, &ends(hosts), ARGUMENTS));
            eventually("the agents run", || !hosts.agents("dut").is_empty());
            std::thread::sleep(moment);
            running.signal("KILL");
            running.end()
        }
    }
}

/// Kills a process that may have ended.
fn kill(pid: u32) {
    let _ = program("sh -c").arg(format!("kill -KILL {pid} 2>/dev/null")).status();
}

/// What the saved trials are: how many account for every frame, and how many are invalid. `None`: the run saved nothing, and so
/// claims nothing.
fn judged(out: &Scratch) -> Option<(usize, usize)> {
    let octets = std::fs::read(out.path().join("run/results.json")).ok()?;
    let results: Value = serde_json::from_slice(&octets).expect("results are whole at any moment");
    let mut counts = (0, 0);
    for trial in results["trials"].as_array().unwrap() {
        let attempts = trial["guarding"]["set_aside"].as_array().cloned().unwrap_or_default();
        let attempts: Vec<Value> = attempts.into_iter().map(|attempt| attempt["trial"].clone()).collect();
        for trial in attempts.iter().chain([trial]) {
            if trial["verdict"] == "invalid" {
                assert!(trial["invalid_because"].is_string(), "{trial:#}");
                counts.1 += 1;
            } else {
                check(trial);
                assert_eq!(trial["intended"], ATTEMPT, "{trial:#}");
                counts.0 += 1;
            }
        }
    }
    let missing = results["not_measured"].as_array().unwrap();
    assert!(missing.iter().all(|missing| missing["reason"].as_str().unwrap().contains(':')), "{missing:#?}");
    Some(counts)
}

/// Removes the reports that were left; their number.
fn spooled() -> usize {
    let Ok(files) = std::fs::read_dir(SPOOL) else { return 0 };
    files.map(|file| std::fs::remove_file(file.unwrap().path()).unwrap()).count()
}

#[test]
fn root_lengthy_what_is_lost_at_random_makes_no_wrong_number_and_leaves_nothing() {
    let Some(out) = scratch_of_root() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number("CAPBENCH_LOSSES_SEED").unwrap_or(now);
    let runs = number("CAPBENCH_LOSSES").unwrap_or(FEW);
    println!("CAPBENCH_LOSSES_SEED={seed}");
    let hosts = Hosts::make();
    let server = Server::start(&hosts);
    let (mut whole, mut invalid, mut silent, mut left) = (0, 0, 0, 0);
    spooled();
    for run in 0..runs {
        let loss = LOSSES[drawn(seed, run, 0, LOSSES.len() as u64) as usize];
        let moment = Duration::from_millis(drawn(seed, run, 1, 3500));
        let before = hosts.received();
        let ended = lose(loss, &hosts, &server, &out, moment);
        assert!(loss == Loss::Controller || ended.code.is_some(), "run {run}: {loss:?}: {ended:#?}");
        match judged(&out) {
            Some((these, those)) => (whole, invalid) = (whole + these, invalid + those),
            None => silent += 1,
        }
        hosts.wait_until_left();
        let received = hosts.received();
        let most = FRAMES * 2 + ATTEMPT * MOST_ATTEMPTS;
        assert!(received - before <= most, "run {run}: {loss:?}: {} frames", received - before);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(hosts.received(), received, "run {run}: {loss:?}: frames after the end");
        // Only a controller that does not come back leaves reports, and each agent up to one.
        let reports = spooled();
        let is_left = matches!(loss, Loss::Controller | Loss::Connection(_, "hang"));
        assert!(
            reports <= if is_left { 2 } else { 0 },
            "run {run}: {loss:?} at {moment:?}: {reports} reports"
        );
        left += reports;
        println!("run {run}: {loss:?} at {moment:?}: {:?}", ended.code);
    }
    // The interfaces are free, and a run counts its own frames only.
    let ended = Running::start(HOST, bench(&out, &ends(&hosts), ARGUMENTS)).end();
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    assert!(judged(&out).is_some_and(|(whole, _)| whole > 0));
    println!(
        "{runs} runs: {whole} trials account for every frame, {invalid} are invalid, {silent} runs saved nothing, \
         {left} reports were left by lost controllers"
    );
}
