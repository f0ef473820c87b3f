//! Random mixes of losses, and of what is no loss although counters count it: whatever happens, `capbench why` says of each
//! place how many frames it lost, to the frame, or that it does not know; never more. Its metrics count no frame twice, and the
//! packaged alerts fire exactly where a loss passes their threshold.
//!
//! The number of lost frames is known from the test's own senders and from what the programs report at their end.
//!
//! `CAPBENCH_MIXES` is the number of mixes and `CAPBENCH_MIXES_SEED` the seed, which is printed. Each mix is drawn from the seed
//! and its own number only: `CAPBENCH_MIXES_ONLY=N` runs the N-th again.

mod alerts;
mod bed;
mod mix;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::support::scrape::{PORT, Scrape};
use crate::support::why::socket_of;
use crate::support::{Running, Scratch, capbench, lossy, privileges};
use alerts::Series;
use bed::{Bed, Capturing, Report};
use capbench_testing::{HostLimit, cannot_have, other_step};
use mix::{Kind, Mix, OF_XDP, Step};

/// Mixes where nobody asks for more.
const FEW: u64 = 3;

/// What is known of a mix without `why`.
#[derive(Debug, Default)]
struct Known {
    /// Frames that were sent to the interface.
    sent: u64,
    /// Those of the EtherType that the XDP program drops.
    of_xdp: u64,
    /// Those that the kernel refused to take, as it reported to the sender.
    refused: u64,
}

/// What `why` and its metrics said about a mix.
struct Said {
    known: Known,
    look: Value,
    scrapes: Vec<Scrape>,
    reports: Vec<Report>,
}

#[test]
fn root_alone_whatever_is_mixed_a_loss_is_said_once_where_it_is() {
    let Some(()) = privileges() else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return cannot_have(HostLimit::Cpus, "a backlog is filled by one and emptied by another");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number_of("CAPBENCH_MIXES_SEED").unwrap_or(now);
    let count = number_of("CAPBENCH_MIXES").unwrap_or(FEW);
    let only = number_of("CAPBENCH_MIXES_ONLY");
    println!("CAPBENCH_MIXES_SEED={seed}");
    let mut figures: BTreeMap<String, u64> = BTreeMap::new();
    let mut tests = String::new();
    for number in (0..count).filter(|number| only.is_none_or(|only| only == *number)) {
        let mix = Mix::draw(seed, number);
        println!("CAPBENCH_MIXES_ONLY={number}: {mix:?}");
        let said = watch(&mix);
        check(&said, &mut figures);
        let series = Series::new(&said.scrapes);
        series.assert_only_grow();
        *figures.entry("mixes".into()).or_default() += 1;
        match series.expected() {
            Some(alerts) => {
                *figures.entry("alerts".into()).or_default() += alerts.len() as u64;
                tests.push_str(&series.test(&alerts));
            }
            None => *figures.entry("mixes too near to the alerts' threshold".into()).or_default() += 1,
        }
    }
    println!("{figures:?}");
    check_alerts(&tests);
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect(variable))
}

/// Runs a mix.
fn watch(mix: &Mix) -> Said {
    let bed = Bed::make(mix);
    let right = &bed.spaces.right;
    let mut programs = Capturing::start(right, mix, 0);
    let mut why = Running::start(right, capbench("why -i right --once --for 10m --json --metrics").arg(PORT));
    why.wait_for("metrics at");
    let mut scrapes = vec![Scrape::settled(right)];
    let mut known = Known::default();
    for (nth, step) in mix.steps.iter().enumerate() {
        if nth > 0 {
            programs.extend(Capturing::start(right, mix, nth));
        }
        match *step {
            Step::DownUp => bed.down_and_up(),
            Step::Burst { ethertype, frames, crowded } => {
                known.sent += frames;
                known.of_xdp += if ethertype == OF_XDP && mix.has_xdp { frames } else { 0 };
                known.refused += bed.send(ethertype, frames, crowded);
            }
        }
        scrapes.push(Scrape::settled(right));
    }
    why.signal("INT");
    let look = why.end().ended_with(130).json();
    let reports = programs.into_iter().map(Capturing::end).collect();
    Said { known, look, scrapes, reports }
}

/// Compares what `why` and the metrics say with what is known.
fn check(said: &Said, figures: &mut BTreeMap<String, u64>) {
    let Said { known, look, scrapes, reports } = said;
    let all = format!("{known:?} {reports:?} {look:#}");
    let first = reports.iter().find(|report| report.program.starts_at == 0).unwrap();
    let missing = known.sent - first.received;
    for report in reports.iter().filter(|report| report.program.starts_at == 0) {
        assert_eq!(report.received, first.received, "each program sees the same frames: {all}");
    }
    let dropped_by_xdp = missing - known.refused;
    assert!(dropped_by_xdp <= known.of_xdp, "{all}");
    let (mut ring, mut is_certain) = (0, true);
    for report in reports {
        let socket = &socket_of(look, "here", report.pid)["dropped"];
        let lost = socket.as_u64().unwrap_or_else(|| panic!("{all}"));
        ring += lost;
        // A program that reads its own counters resets them, between two readings of `why` too.
        let resets = report.program.kind != Kind::Tcpdump && !report.program.is_stopped;
        assert!(lost == report.dropped || resets && lost < report.dropped, "{report:?} lost {lost}: {all}");
        is_certain &= !resets || report.dropped == 0;
    }
    let reported = reports.iter().map(|report| report.dropped).sum();
    let last = scrapes.last().unwrap();
    for place in look["lost"].as_array().unwrap() {
        let key = place["place"].as_str().unwrap();
        let labels = ["interface=\"right\"".to_string(), format!("place=\"{key}\"")];
        let labels = labels.each_ref().map(String::as_str);
        let counted = last.sum("capbench_lost_frames_total", &labels);
        let frames = match key {
            "ring" => ring,
            "backlog" => known.refused,
            "xdp" => dropped_by_xdp,
            _ => 0,
        };
        match place["frames"].as_u64() {
            Some(lost) if key == "ring" && !is_certain => {
                assert!(lost == ring && counted <= reported, "{counted}: {all}\n{}", last.0);
                *figures.entry("ring lower limit".into()).or_default() += 1;
            }
            Some(lost) => {
                assert_eq!((lost, counted), (frames, frames), "{key}: {all}\n{}", last.0);
                *figures.entry(format!("{key} lost")).or_default() += lost;
            }
            None => {
                assert!(counted <= frames, "{key}: {counted} of {frames}: {all}");
                *figures.entry(format!("{key} unknown")).or_default() += 1;
            }
        }
    }
}

/// Checks by promtool that the alerts fire where they have to, and nowhere else.
fn check_alerts(tests: &str) {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus/capbench.rules.yml");
    let folder = Scratch::new();
    let file = folder.file("mixes.test.yml");
    let head = format!("rule_files: [{rules}]\nevaluation_interval: 15s\ntests:\n");
    std::fs::write(&file, head + tests).unwrap();
    match std::process::Command::new("promtool").args(["test", "rules"]).arg(&file).output() {
        Ok(output) => assert!(output.status.success(), "{}{}", lossy(&output.stdout), lossy(&output.stderr)),
        Err(error) => {
            println!("promtool: {error}: the package prometheus has it");
            other_step("monitoring");
        }
    }
}
