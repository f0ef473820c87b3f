//! The method that nobody named: what the newest bench of this host found.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use capbench_capture::MethodSpec;
use capbench_capture::methods;
use capbench_measure::environment::Environment;
use capbench_measure::statistics::interval::Estimate;
use serde_json::Value;

use crate::commands::recording;

/// What is taken when nothing is known.
const FALLBACK: &str = "packet-v3";

/// Where runs are saved unless told otherwise.
const RESULTS: &str = "capbench-results";

/// A method, and why this one.
pub fn choose() -> (MethodSpec, String) {
    let fallback =
        |why: &str| (MethodSpec::plain(FALLBACK), format!("{why}; bench finds out what suits this host"));
    let Some((file, text)) = newest() else {
        return fallback("there is no bench in capbench-results that could say more");
    };
    let Ok(results) = serde_json::from_str::<Value>(&text) else {
        return fallback("the newest bench cannot be read");
    };
    let file = file.display();
    if !is_of_this_host(&results) {
        return fallback(&format!("{file} is of another host or kernel"));
    }
    let Choice { taken, passed_over } = Choice::of(&by_cost(&results));
    let passed_over = if passed_over.is_empty() {
        String::new()
    } else {
        format!("; passed over, since the host would not get its frames: {}", passed_over.join(", "))
    };
    match taken {
        Some((method, ns)) => {
            let why = format!(
                "nothing lost at the common load in {file}, at {ns:.0} ns a packet the least{passed_over}"
            );
            (method, why)
        }
        None => fallback(&format!(
            "{file} shows no method to record by that lost nothing at a common load{passed_over}"
        )),
    }
}

/// What is taken of the methods that a bench shows.
#[derive(Debug, PartialEq)]
struct Choice<'r> {
    /// With CPU time per packet in ns.
    taken: Option<(MethodSpec, f64)>,
    /// Cheaper ones that would cut the host off from its network, which is for the user to decide.
    passed_over: Vec<&'r str>,
}

impl<'r> Choice<'r> {
    /// The first of `by_cost` that could be named, and leaves the host its frames.
    fn of(by_cost: &[(&'r str, f64)]) -> Self {
        let mut passed_over = Vec::new();
        for &(text, ns) in by_cost {
            let Ok(spec) = recording::method(text) else { continue };
            match methods::find(&spec) {
                Ok(method) if (method.takes_frames)(&spec) => passed_over.push(text),
                Ok(_) => return Self { taken: Some((spec, ns)), passed_over },
                Err(_) => {}
            }
        }
        Self { taken: None, passed_over }
    }
}

/// The newest results of a bench, with their text.
fn newest() -> Option<(PathBuf, String)> {
    let of_entry = |entry: fs::DirEntry| -> Option<(SystemTime, PathBuf)> {
        entry.file_name().to_str().filter(|name| name.starts_with("bench-"))?;
        let file = entry.path().join("results.json");
        Some((file.metadata().ok()?.modified().ok()?, file))
    };
    let entries = fs::read_dir(RESULTS).ok()?;
    let (_, file) = entries.filter_map(|entry| of_entry(entry.ok()?)).max()?;
    let text = fs::read_to_string(&file).ok()?;
    Some((file, text))
}

/// Whether kernel, processor and memory are those of the host that runs this.
fn is_of_this_host(results: &Value) -> bool {
    let Ok(Ok(here)) = Environment::read().map(serde_json::to_value) else { return false };
    let there = &results["environment"];
    ["kernel_release", "machine", "cpu_model", "cpus_online", "memory_bytes"]
        .iter()
        .all(|key| there[key] == here[key])
}

/// Methods with the median of CPU time per packet in ns, cheapest first, at the load that all were given: those that lost
/// nothing in any trial, and ran wherever others did.
fn by_cost(results: &Value) -> Vec<(&str, f64)> {
    let trials = standing(results);
    let is_lossless = |trial: &Value| trial["verdict"] == "lossless";
    let shown: Vec<_> = trials.iter().filter(|trial| is_lossless(trial)).map(|trial| scene(trial)).collect();
    let of_method = |method| {
        let own: Vec<&Value> = trials.iter().copied().filter(|trial| trial["method"] == method).collect();
        let is_comparable = shown.iter().all(|shown| own.iter().any(|trial| scene(trial) == *shown));
        let costs = own.iter().map(|trial| {
            trial["cpu"]["total_ns_per_packet"].as_f64().filter(|_| is_comparable && is_lossless(trial))
        });
        Some((method, Estimate::of(costs.collect::<Option<Vec<_>>>()?)?.median))
    };
    // In the order of names, which sorting keeps where costs are the same.
    let methods: BTreeSet<&str> = trials.iter().filter_map(|trial| trial["method"].as_str()).collect();
    let mut costs: Vec<_> = methods.into_iter().filter_map(of_method).collect();
    costs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    costs
}

/// Trials that say something of a method at the common load of their set-up: the lowest, since a load that one method did
/// not hold was lowered before the others had to hold it.
fn standing(results: &Value) -> Vec<&Value> {
    let trials = results["trials"].as_array().map_or(&[][..], Vec::as_slice);
    let common: Vec<&Value> = trials.iter().filter(|trial| trial["phase"] == "common-load").collect();
    let load = |trial: &Value| trial["intended_pps"].as_f64();
    let stands = |trial: &&Value| {
        let is_lowered = common.iter().any(|other| scene(other) == scene(trial) && load(other) < load(trial));
        !is_lowered && trial["verdict"] != "invalid" && trial["verdict"] != "generator_limited"
    };
    common.iter().copied().filter(stands).collect()
}

/// What all methods that are compared have in common.
fn scene(trial: &Value) -> [&Value; 2] {
    [&trial["placement"], &trial["frame_size"]]
}

#[cfg(test)]
mod tests {
    use super::{Choice, by_cost};
    use serde_json::{Value, json};

    fn trial(method: &str, size: u32, verdict: &str, ns: f64) -> Value {
        json!({
            "method": method, "phase": "common-load", "placement": "same", "frame_size": size,
            "intended_pps": 1000.0, "verdict": verdict, "cpu": {"total_ns_per_packet": ns},
        })
    }

    fn with(mut trial: Value, key: &str, value: Value) -> Value {
        trial[key] = value;
        trial
    }

    /// What is taken of a bench with these trials, at what cost, and what is passed over.
    fn chosen(trials: &[Value]) -> (Option<(String, f64)>, Vec<String>) {
        let results = json!({"trials": trials});
        let Choice { taken, passed_over } = Choice::of(&by_cost(&results));
        let taken = taken.map(|(method, ns)| (method.to_string(), ns));
        (taken, passed_over.into_iter().map(String::from).collect())
    }

    fn plainly(method: &str, ns: f64) -> (Option<(String, f64)>, Vec<String>) {
        (Some((method.into(), ns)), Vec::new())
    }

    #[test]
    fn the_cheapest_method_that_can_be_named_is_taken() {
        let trials = [
            trial("recv", 64, "lossless", 900.0),
            trial("packet-v2", 64, "lossless", 500.0),
            trial("packet-v3", 64, "lossy", 300.0),
            with(trial("packet-v1", 64, "lossless", 200.0), "phase", json!("best-effort")),
            trial("packet-v3+napi-defer", 64, "lossless", 150.0),
            trial("xdp-count", 64, "lossless", 100.0),
            trial("cmd:tcpdump", 64, "lossless", 50.0),
            trial("of-another-version", 64, "lossless", 40.0),
        ];
        assert_eq!(chosen(&trials), plainly("packet-v2", 500.0));
        assert_eq!(chosen(&trials[2..]), (None, vec![]));
        assert!(by_cost(&json!({"trials": []})).is_empty() && by_cost(&json!({})).is_empty());
    }

    #[test]
    fn no_method_that_keeps_frames_from_the_host_is_taken_unasked() {
        let takers =
            ["af-xdp", "af-xdp+generic", "dpdk:net_af_xdp", "dpdk:0000:03:00.0", "pf-ring:zc:eth1", "nfb"];
        let mut trials: Vec<_> = takers.iter().map(|method| trial(method, 64, "lossless", 100.0)).collect();
        let (taken, passed_over) = chosen(&trials);
        assert_eq!((taken, passed_over.len()), (None, takers.len()));
        trials.truncate(1);
        trials.extend([trial("packet-v3", 64, "lossless", 300.0), trial("szedata2", 64, "lossless", 400.0)]);
        assert_eq!(chosen(&trials), (Some(("packet-v3".into(), 300.0)), vec!["af-xdp".into()]));
        for method in ["af-xdp+pass", "dpdk", "dpdk:net_af_packet", "pf-ring", "pf-ring:eth1@2", "libpcap"] {
            assert_eq!(chosen(&[trial(method, 64, "lossless", 100.0)]), plainly(method, 100.0));
        }
    }

    #[test]
    fn every_trial_counts_and_medians_are_compared() {
        let of = |method, costs: [f64; 3]| costs.map(|ns| trial(method, 64, "lossless", ns));
        let steady = of("recvmmsg", [500.0, 510.0, 490.0]);
        let lucky = of("packet-v2", [600.0, 100.0, 610.0]);
        assert_eq!(chosen(&[steady.clone(), lucky].concat()), plainly("recvmmsg", 500.0));

        let mut lossy_once = of("packet-v3", [300.0, 310.0, 320.0]).to_vec();
        lossy_once.push(trial("packet-v3", 64, "lossy", 300.0));
        assert_eq!(chosen(&[lossy_once, steady.to_vec()].concat()), plainly("recvmmsg", 500.0));

        let same = [of("recv", [500.0; 3]), of("packet-v1", [500.0; 3]), steady].concat();
        assert_eq!(chosen(&same), plainly("packet-v1", 500.0));
    }

    #[test]
    fn a_method_is_compared_only_where_all_set_ups_show_it() {
        let large = trial("recv", 1518, "lossless", 900.0);
        let both = [trial("recv", 64, "lossless", 500.0), large, trial("packet-v3", 64, "lossless", 100.0)];
        assert_eq!(chosen(&both), plainly("recv", 700.0));
        let lost = [&both[..], &[trial("packet-v3", 1518, "lossy", 100.0)]].concat();
        assert_eq!(chosen(&lost), plainly("recv", 700.0));
        let held = [&both[..], &[trial("packet-v3", 1518, "lossless", 300.0)]].concat();
        assert_eq!(chosen(&held), plainly("packet-v3", 200.0));
        let cost_unknown = with(trial("packet-v3", 1518, "lossless", 0.0), "cpu", json!({}));
        assert_eq!(chosen(&[&both[..], &[cost_unknown]].concat()), plainly("recv", 700.0));
    }

    #[test]
    fn trials_that_show_nothing_or_were_lowered_do_not_stand() {
        let higher =
            |method, verdict, ns| with(trial(method, 64, verdict, ns), "intended_pps", json!(2000.0));
        let trials = [
            higher("packet-v3", "lossy", 50.0),
            higher("recv", "lossless", 60.0),
            trial("packet-v3", 64, "lossless", 300.0),
            trial("packet-v3", 64, "invalid", 10.0),
            trial("packet-v3", 64, "generator_limited", 10.0),
            trial("recv", 64, "lossless", 400.0),
        ];
        assert_eq!(chosen(&trials), plainly("packet-v3", 300.0));
    }
}
