//! The method that nobody named: what the newest bench of this host found.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use capbench_capture::methods;
use capbench_capture::{Delivery, MethodSpec};
use capbench_measure::environment::Environment;
use serde_json::Value;

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
    match cheapest(&results) {
        Some((method, ns)) => {
            let why = format!("lossless at the common load at {ns:.0} ns a packet, the least in {file}");
            (method, why)
        }
        None => fallback(&format!("{file} shows no lossless method at a common load")),
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

/// The method that cost least per packet, in ns, of those that lost nothing at the load that all were given.
fn cheapest(results: &Value) -> Option<(MethodSpec, f64)> {
    let trials = results["trials"].as_array()?;
    let of_trial = |trial: &Value| -> Option<(MethodSpec, f64)> {
        let is_lossless = trial["verdict"] == "lossless" && trial["phase"] == "common-load";
        let text = trial["method"].as_str().filter(|_| is_lossless)?;
        let method: MethodSpec = text.parse().ok()?;
        let known = methods::find(&method).ok()?;
        (known.delivery != Delivery::Counted).then_some(())?;
        Some((method, trial["cpu"]["total_ns_per_packet"].as_f64()?))
    };
    trials.iter().filter_map(of_trial).min_by(|(_, one), (_, other)| one.total_cmp(other))
}

#[cfg(test)]
mod tests {
    use super::cheapest;
    use serde_json::json;

    #[test]
    fn the_cheapest_method_without_loss_is_taken() {
        let trial = |method: &str, phase: &str, verdict: &str, ns: f64| json!({"method": method, "phase": phase, "verdict": verdict, "cpu": {"total_ns_per_packet": ns}});
        let results = json!({"trials": [
            trial("recv", "common-load", "lossless", 900.0),
            trial("packet-v2", "common-load", "lossless", 500.0),
            trial("packet-v3", "common-load", "lossy", 300.0),
            trial("packet-v1", "best-effort", "lossless", 200.0),
            trial("xdp-count", "common-load", "lossless", 100.0),
            trial("cmd:tcpdump", "common-load", "lossless", 50.0),
        ]});
        let (method, ns) = cheapest(&results).unwrap();
        assert_eq!((method.to_string(), ns), ("packet-v2".into(), 500.0));
        assert!(cheapest(&json!({"trials": []})).is_none() && cheapest(&json!({})).is_none());
    }
}
