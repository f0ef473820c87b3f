use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use capbench_host::environment;
use capbench_judge::recommendation::{Certainty, Conclusion, Recommendation, SustainedStatus, recommend};
use capbench_model::disturbance::CpuDisturbance;
use capbench_model::method_spec::MethodSpec;
use capbench_plan::for_tests::{Collected, searching_bench_plan};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_results::Results;
use capbench_testing::Scratch;

use super::{NAMES_CODE, TAKES_FRAMES, choice, choose_from};
use crate::recommended;

/// A bench of methods, the first of which sustains most, the second half of that, and so on.
fn bench(methods: &[&str]) -> Results {
    let simulated = |(nth, name): (usize, &&str)| SimulatedMethod::new(name, 1e6 / f64::from(1 << nth));
    let methods_of_path = methods.iter().enumerate().map(simulated).collect();
    let mut path = SimulatedLaboratory::new(2e6, methods_of_path);
    let environment = environment::read().unwrap();
    let outcome = searching_bench_plan(methods).run(&mut path, &mut Collected::default()).unwrap();
    Results { environment, ..capbench_results::for_tests::bench(outcome.trials, outcome.searches) }
}

fn recommendation(methods: &[&str]) -> Recommendation {
    bench(methods).recommended.unwrap()
}

fn chosen(recommended: &Recommendation) -> (Option<String>, Vec<(String, &'static str)>) {
    let (taken, passed_over) = choice(recommended);
    let owned = |(method, why): (&MethodSpec, &'static str)| (method.to_string(), why);
    (taken.map(|method| method.to_string()), passed_over.into_iter().map(owned).collect())
}

#[test]
fn the_recommended_method_is_taken_unless_only_the_user_can_name_it() {
    assert_eq!(chosen(&recommendation(&["packet-v2", "recv"])), (Some("packet-v2".into()), vec![]));
    for taker in ["af-xdp", "af-xdp+generic", "nfb"] {
        let expected = (Some("recv".into()), vec![(taker.to_string(), TAKES_FRAMES)]);
        assert_eq!(chosen(&recommendation(&[taker, "recv"])), expected);
    }
    for method in ["libpcap:/srv/own.so", "dpdk+devargs=xdp_prog=/srv/own.o", "pf-ring+library=/srv/own.so"] {
        let expected = (Some("recv".into()), vec![(method.to_string(), NAMES_CODE)]);
        assert_eq!(chosen(&recommendation(&[method, "recv"])), expected);
    }
    for method in ["cmd:tcpdump", "of-another-version", "xdp-count"] {
        assert_eq!(chosen(&recommendation(&[method, "recv"])).0.as_deref(), Some("recv"), "{method}");
    }
}

#[test]
fn a_method_that_lost_frames_at_every_load_is_not_taken() {
    let mut recommended = recommendation(&["packet-v2", "recv"]);
    for ranked in &mut recommended.rankings[0].methods {
        ranked.lossless.lower_pps = None;
        ranked.lossless.status = SustainedStatus::NotReached;
    }
    assert_eq!(chosen(&recommended), (None, vec![]));
}

/// A folder with the recommendation of a bench of this host, and whether it was saved.
fn saved(results: &Results) -> (Scratch, bool) {
    let scratch = Scratch::new();
    let is_saved = recommended::save(&scratch.path().join("capbench"), results).unwrap();
    for path in ["", "capbench", "capbench/recommended.json"].iter().take(if is_saved { 3 } else { 1 }) {
        set_mode(&scratch.path().join(path), 0o700);
    }
    (scratch, is_saved)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refusal(scratch: &Scratch) -> String {
    choose_from(&scratch.path().join("capbench")).unwrap_err()
}

#[test]
fn a_bench_is_remembered_in_the_folder_of_its_user() {
    let (scratch, is_saved) = saved(&bench(&["packet-v2", "recv"]));
    assert!(is_saved);
    let (method, why) = choose_from(&scratch.path().join("capbench")).unwrap();
    assert_eq!(method.to_string(), "packet-v2");
    assert!(why.starts_with("recommended by the bench of 2023-11-14T22:13:20Z"), "{why}");
    let empty = Scratch::new();
    let folder = empty.path().join("capbench");
    let why = format!("no bench with a certain answer is saved in {}", folder.display());
    assert_eq!(refusal(&empty), why);
}

#[test]
fn an_inconclusive_bench_is_not_remembered() {
    let mut results = bench(&["packet-v2", "recv"]);
    let ranking = &mut results.recommended.as_mut().unwrap().rankings[0];
    if let Conclusion::Use { certainty, .. } = &mut ranking.conclusion {
        *certainty = Certainty::Likely;
    }
    assert!(!saved(&results).1);
    results.recommended = None;
    assert!(!saved(&results).1);
    let mut results = bench(&["packet-v2", "recv"]);
    let busy = CpuDisturbance { foreign_ns: 1 << 40, ..CpuDisturbance::default() };
    for trial in &mut results.trials {
        trial.disturbance.cpus = vec![busy.clone()];
    }
    results.recommended = recommend(&results.trials, &results.searches);
    assert!(results.recommended.as_ref().is_some_and(|recommended| recommended.method.is_some()));
    assert!(!saved(&results).1, "the host disturbed every trial");
}

#[test]
fn a_bench_of_another_kernel_is_not_used() {
    let mut results = bench(&["packet-v2", "recv"]);
    results.environment.kernel_release = Some("1.0".into());
    let (scratch, _) = saved(&results);
    assert_eq!(refusal(&scratch), "the last conclusive bench was on another host or kernel");
}

#[test]
fn a_recommendation_that_others_can_write_or_link_to_is_not_used() {
    let (scratch, _) = saved(&bench(&["packet-v2", "recv"]));
    for path in ["", "capbench", "capbench/recommended.json"] {
        let path = scratch.path().join(path);
        for mode in [0o777, 0o770] {
            set_mode(&path, mode);
            assert!(refusal(&scratch).contains("may be written by "), "{path:?}");
        }
        set_mode(&path, 0o700);
    }
    let file = scratch.path().join("capbench/recommended.json");
    fs::rename(&file, scratch.path().join("elsewhere")).unwrap();
    symlink(scratch.path().join("elsewhere"), &file).unwrap();
    assert!(refusal(&scratch).contains("is not used: "));
}

#[test]
fn root_recommendations_of_somebody_else_are_not_used() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    for path in ["", "capbench", "capbench/recommended.json"] {
        let (scratch, _) = saved(&bench(&["packet-v2", "recv"]));
        let path = scratch.path().join(path);
        chown(&path, Some(4711), None).unwrap();
        assert!(refusal(&scratch).contains("belongs to user 4711"), "{path:?}");
    }
}

#[test]
fn a_file_without_end_is_not_read() {
    let (scratch, _) = saved(&bench(&["packet-v2", "recv"]));
    let file =
        fs::OpenOptions::new().write(true).open(scratch.path().join("capbench/recommended.json")).unwrap();
    file.set_len(1 << 30).unwrap();
    assert!(refusal(&scratch).contains("is longer than 4194304 octets"));
}
