use super::{NAMES_CODE, TAKES_FRAMES, by_cost, choice, choose_below, environment, is_noisy};
use capbench_testing::Scratch;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

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

/// The method with its cost per packet, and the ones that were left out, each with the reason.
type ChosenAndLeftOut = (Option<(String, f64)>, Vec<(String, &'static str)>);

/// What is taken of a bench with these trials, at what cost, and what is passed over.
fn chosen(trials: &[Value]) -> ChosenAndLeftOut {
    let results = json!({"trials": trials});
    let costs = by_cost(&results);
    let (taken, passed_over) = choice(&costs);
    let taken = taken.map(|(method, ns)| (method.to_string(), ns));
    (taken, passed_over.into_iter().map(|(method, why)| (method.into(), why)).collect())
}

fn plainly(method: &str, ns: f64) -> ChosenAndLeftOut {
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
    let takers = ["af-xdp", "af-xdp+generic", "nfb"];
    let mut trials: Vec<_> = takers.iter().map(|method| trial(method, 64, "lossless", 100.0)).collect();
    let (taken, passed_over) = chosen(&trials);
    assert_eq!((taken, passed_over.len()), (None, takers.len()));
    trials.truncate(1);
    trials.extend([trial("packet-v3", 64, "lossless", 300.0), trial("szedata2", 64, "lossless", 400.0)]);
    let expected = (Some(("packet-v3".into(), 300.0)), vec![("af-xdp".into(), TAKES_FRAMES)]);
    assert_eq!(chosen(&trials), expected);
    for method in ["af-xdp+pass", "dpdk", "pf-ring", "libpcap", "recv+busy-poll=50us"] {
        assert_eq!(chosen(&[trial(method, 64, "lossless", 100.0)]), plainly(method, 100.0));
    }
}

#[test]
fn no_device_and_no_library_is_taken_from_a_file() {
    for method in [
        "libpcap:/srv/own.so",
        "libpcap:own.so+next",
        "dpdk:net_af_packet",
        "dpdk+devargs=xdp_prog=/srv/own.o",
        "pf-ring:eth1@2",
        "pf-ring+library=/srv/own.so",
        "nfb:0+library=/srv/own.so",
    ] {
        let trials = [trial(method, 64, "lossless", 1.0), trial("recv", 64, "lossless", 900.0)];
        let expected = (Some(("recv".into(), 900.0)), vec![(method.into(), NAMES_CODE)]);
        assert_eq!(chosen(&trials), expected, "{method}");
    }
}

/// A folder with the results of a bench of this host in which `recv` was cheapest.
fn saved(noise: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    let mut trials = [trial("recv", 64, "lossless", 100.0), trial("packet-v2", 64, "lossless", 200.0)];
    for trial in &mut trials {
        trial["noise"] = json!(noise);
    }
    let environment = serde_json::to_value(environment::read().unwrap()).unwrap();
    let run = scratch.path().join("capbench-results/bench-1");
    fs::create_dir_all(&run).unwrap();
    let results = json!({"environment": environment, "trials": trials});
    fs::write(run.join("results.json"), results.to_string()).unwrap();
    for path in ["", "capbench-results", "capbench-results/bench-1", "capbench-results/bench-1/results.json"]
    {
        set_mode(&scratch.path().join(path), 0o700);
    }
    scratch
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refusal(folder: &Path) -> String {
    choose_below(folder).unwrap_err()
}

#[test]
fn the_results_of_one_s_own_bench_are_believed() {
    let scratch = saved(&[]);
    let (method, why) = choose_below(scratch.path()).unwrap();
    assert_eq!(method.to_string(), "recv");
    assert!(
        why.contains("nothing lost at the common load in capbench-results/bench-1/results.json"),
        "{why}"
    );
    let nothing = Scratch::new();
    assert!(refusal(nothing.path()).contains("there is no bench"));
}

#[test]
fn results_that_others_can_write_or_link_to_are_not_believed() {
    let scratch = saved(&[]);
    let base = scratch.path();
    for path in ["", "capbench-results", "capbench-results/bench-1", "capbench-results/bench-1/results.json"]
    {
        let path = base.join(path);
        for mode in [0o777, 0o770] {
            set_mode(&path, mode);
            let why = refusal(base);
            assert!(why.starts_with("capbench-results is not believed: "), "{path:?}: {why}");
            assert!(why.contains("may be written by "), "{path:?}: {why}");
        }
        set_mode(&path, 0o700);
    }
    let linked = Scratch::new();
    symlink(base.join("capbench-results"), linked.path().join("capbench-results")).unwrap();
    assert!(refusal(linked.path()).starts_with("capbench-results is not believed: "));
    let file = base.join("capbench-results/bench-1/results.json");
    fs::rename(&file, base.join("elsewhere")).unwrap();
    symlink(base.join("elsewhere"), &file).unwrap();
    assert!(refusal(base).starts_with("capbench-results is not believed: "));
}

#[test]
fn root_results_of_somebody_else_are_not_believed() {
    if !capbench_testing::is_root() {
        return;
    }
    for path in ["", "capbench-results", "capbench-results/bench-1", "capbench-results/bench-1/results.json"]
    {
        let scratch = saved(&[]);
        let path = scratch.path().join(path);
        chown(&path, Some(4711), None).unwrap();
        let why = refusal(scratch.path());
        let path = path.display().to_string();
        assert!(why.contains(&format!("{} belongs to user 4711", path.trim_end_matches('/'))), "{why}");
    }
}

#[test]
fn a_bench_that_the_host_disturbed_is_not_believed() {
    let why = refusal(saved(&["a CPU ran slower than it can"]).path());
    assert!(why.starts_with("the host was busy during 2 of 2 trials at the common load of "), "{why}");
    assert!(!is_noisy(&trial("recv", 64, "lossless", 1.0)));
}

#[test]
fn results_without_end_are_not_read() {
    let scratch = saved(&[]);
    let file = fs::OpenOptions::new()
        .write(true)
        .open(scratch.path().join("capbench-results/bench-1/results.json"))
        .unwrap();
    file.set_len(1 << 30).unwrap();
    assert!(refusal(scratch.path()).contains("is longer than 33554432 octets"));
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
    let higher = |method, verdict, ns| with(trial(method, 64, verdict, ns), "intended_pps", json!(2000.0));
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
