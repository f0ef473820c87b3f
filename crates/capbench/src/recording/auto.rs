//! `--method auto`: selects the method by the newest bench of this host.
//!
//! The author of these results decides what runs with the privileges of the recording. So results are read only if they and
//! every folder above them belong to root or the effective user and nobody else can write them. They are opened by descriptor,
//! and the descriptor is checked. A method that names code, such as a library path, is never chosen.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

use capbench_capture::methods;
use capbench_host::environment;
use capbench_model::method_spec::MethodSpec;
use capbench_model::statistics::median;
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;
use serde_json::Value;

/// The method without usable results.
const FALLBACK: &str = "packet-v3";

/// The default folder of runs.
const RESULTS: &str = "capbench-results";

/// Size limit of results in octets. A long bench has a few million.
const LONGEST: u64 = 32 << 20;

/// The method, and why it was chosen.
pub fn choose() -> (MethodSpec, String) {
    choose_below(Path::new("")).unwrap_or_else(|why| {
        (MethodSpec::plain(FALLBACK), format!("{why}; bench finds out what suits this host"))
    })
}

/// The method that the newest bench below a folder suggests, or why there is none.
fn choose_below(folder: &Path) -> Result<(MethodSpec, String), String> {
    let (file, text) = newest(folder)?;
    let results =
        serde_json::from_slice::<Value>(&text).map_err(|_| format!("{file} cannot be understood"))?;
    if !is_of_this_host(&results) {
        return Err(format!("{file} is of another host or kernel"));
    }
    let trials = standing(&results);
    let noisy = trials.iter().filter(|trial| is_noisy(trial)).count();
    if 2 * noisy >= trials.len() && noisy > 0 {
        let all = trials.len();
        return Err(format!("the host was busy during {noisy} of {all} trials at the common load of {file}"));
    }
    let costs = by_cost(&results);
    let (taken, passed_over) = choice(&costs);
    let reasons = passed_over.iter().map(|(method, why)| format!("; passed over {method}: {why}"));
    let reasons: String = reasons.collect();
    match taken {
        Some((method, ns)) => Ok((
            method,
            format!("nothing lost at the common load in {file}, at {ns:.0} ns a packet the least{reasons}"),
        )),
        None => {
            Err(format!("{file} shows no method to record by that lost nothing at a common load{reasons}"))
        }
    }
}

/// The method would cut the host off from its network.
const TAKES_FRAMES: &str = "the host would not get its frames";
/// A library's path must not come from results.
const NAMES_CODE: &str = "only --method can name a device or a library";

/// Methods that only `--method` can select, each with the reason.
type OnlyByName<'r> = Vec<(&'r str, &'static str)>;

/// The first method of `by_cost` that leaves the host its frames and names no code, with its CPU time per packet in ns. Then the
/// cheaper methods that only `--method` can select, each with the reason.
fn choice<'r>(by_cost: &[(&'r str, f64)]) -> (Option<(MethodSpec, f64)>, OnlyByName<'r>) {
    let mut passed_over = Vec::new();
    for &(text, ns) in by_cost {
        let Ok(spec) = super::method(text) else { continue };
        match methods::find(&spec) {
            Ok(_) if spec.names_code() => passed_over.push((text, NAMES_CODE)),
            Ok(method) if (method.takes_frames)(&spec) => passed_over.push((text, TAKES_FRAMES)),
            Ok(_) => return (Some((spec, ns)), passed_over),
            Err(_) => {}
        }
    }
    (None, passed_over)
}

/// Chooses by the results of any host, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(octets: &[u8]) {
    if let Ok(results) = serde_json::from_slice::<Value>(octets) {
        std::hint::black_box(choice(&by_cost(&results)));
    }
}

/// Reads the newest bench below a folder: its path, and its text. Or returns why it is not read. An empty folder name is the
/// working directory.
fn newest(folder: &Path) -> Result<(String, Vec<u8>), String> {
    let nothing = || format!("there is no bench in {RESULTS} that could say more");
    if folder.join(RESULTS).symlink_metadata().is_err() {
        return Err(nothing());
    }
    let trust = Trust::for_code();
    let distrusted = |error: io::Error| format!("{RESULTS} is not believed: {error}");
    let base = Folder::open(folder, &trust).map_err(distrusted)?;
    let runs = base.below(OsStr::new(RESULTS), &trust).map_err(distrusted)?;
    let names = runs.names().map_err(|error| format!("cannot read {RESULTS}: {error}"))?;
    let mut newest: Option<(SystemTime, OsString, File)> = None;
    let mut why_not = None;
    for name in names.into_iter().filter(|name| name.as_encoded_bytes().starts_with(b"bench-")) {
        match opened(&runs, &name, &trust) {
            Ok((time, file)) if newest.as_ref().is_none_or(|(found, ..)| *found < time) => {
                newest = Some((time, name, file));
            }
            Ok(_) => {}
            // A run that has not saved anything yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => why_not = Some(distrusted(error)),
        }
    }
    let Some((_, name, file)) = newest else {
        return Err(why_not.unwrap_or_else(nothing));
    };
    let path = format!("{RESULTS}/{}/results.json", name.to_string_lossy());
    let mut text = Vec::new();
    match file.take(LONGEST + 1).read_to_end(&mut text) {
        Ok(length) if length as u64 <= LONGEST => Ok((path, text)),
        Ok(_) => Err(format!("{path} is longer than {LONGEST} octets")),
        Err(error) => Err(format!("cannot read {path}: {error}")),
    }
}

/// Opens the results of a run below a folder and returns when they were written.
fn opened(runs: &Folder, name: &OsStr, trust: &Trust) -> io::Result<(SystemTime, File)> {
    let file = runs.below(name, trust)?.open_file(OsStr::new("results.json"), trust)?;
    Ok((file.metadata()?.modified()?, file))
}

/// Whether the trial reports noise of the host.
fn is_noisy(trial: &Value) -> bool {
    trial["noise"].as_array().is_some_and(|reasons| !reasons.is_empty())
}

/// Whether kernel, processor and memory are those of this host.
fn is_of_this_host(results: &Value) -> bool {
    let Ok(Ok(here)) = environment::read().map(serde_json::to_value) else { return false };
    let there = &results["environment"];
    ["kernel_release", "machine", "cpu_model", "cpus_online", "memory_bytes"]
        .iter()
        .all(|key| there[key] == here[key])
}

/// Methods with the median CPU time per packet in ns at the common load, cheapest first. Only methods that lost nothing in any
/// trial and ran in every set-up.
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
        Some((method, median(costs.collect::<Option<Vec<_>>>()?)?))
    };
    // Sorted by name; a stable sort keeps this order for equal costs.
    let methods: BTreeSet<&str> = trials.iter().filter_map(|trial| trial["method"].as_str()).collect();
    let mut costs: Vec<_> = methods.into_iter().filter_map(of_method).collect();
    costs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    costs
}

/// Valid trials at the common load of their set-up. That is the lowest load: the load is lowered when a method does not sustain
/// it, before the others are measured.
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

/// The key of trials that are compared with each other.
fn scene(trial: &Value) -> [&Value; 2] {
    [&trial["placement"], &trial["frame_size"]]
}

#[cfg(test)]
mod tests;
