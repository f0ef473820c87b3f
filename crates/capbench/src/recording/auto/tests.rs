use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use capbench_host::environment;
use capbench_judge::recommendation::turns::{BelowBy, InTurns, Multiple, RelationToFirst, Turns};
use capbench_judge::recommendation::{
    Certainty, Conclusion, Question, Recommendation, SustainedStatus, recommend,
};
use capbench_model::disturbance::CpuDisturbance;
use capbench_plan::for_tests::{Collected, searching_bench_plan};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_results::Results;
use capbench_statistics::interval::Estimate;
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
    let choice = choice(recommended, &recommended.certain_choice().unwrap());
    let passed_over = choice.passed_over.iter().map(|over| (over.method.to_string(), over.why));
    (choice.method.as_ref().map(ToString::to_string), passed_over.collect())
}

const OPEN: RelationToFirst = RelationToFirst::Open { may_be_better: true };
const BELOW: RelationToFirst =
    RelationToFirst::Below { by: BelowBy::Loss, factor: Multiple { middle: 1.5, low: None, high: None } };

/// The bench of [`bench`] if its methods had taken turns with these relations: no load was lossless, and the first one is named.
fn bench_in_turns(methods: &[(&str, RelationToFirst)]) -> Results {
    let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
    let mut results = bench(&names);
    let ranking = &mut results.recommended.as_mut().unwrap().rankings[0];
    let mut in_turns = Vec::new();
    for (name, relation) in methods {
        in_turns.push(InTurns {
            method: (*name).into(),
            rounds: 6,
            captured: Estimate::of([0.9; 6]).unwrap(),
            relative_captured: None,
            relative_cost: None,
            relative_cost_at_limit: None,
            relation: *relation,
            is_decided: None,
        });
    }
    for ranked in &mut ranking.methods {
        ranked.lossless.lower_pps = None;
    }
    ranking.turns = Some(Turns {
        load_pps: 1e5,
        cost_load_pps: None,
        sent: None,
        rounds: 6,
        judged_rounds: 6,
        methods: in_turns,
    });
    ranking.conclusion =
        Conclusion::OneOf { best: Some(names[0].into()), methods: Vec::new(), worse: Vec::new() };
    results
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

#[test]
fn methods_in_turns_are_taken_in_their_order_without_a_lossless_load() {
    let first = ("packet-v3", RelationToFirst::First);
    let open = bench_in_turns(&[first, ("libpcap", OPEN), ("recv", BELOW)]);
    assert_eq!(chosen(open.recommended.as_ref().unwrap()), (Some("packet-v3".into()), vec![]));
    let taker = bench_in_turns(&[("af-xdp", RelationToFirst::First), ("recv", BELOW), ("packet-v2", OPEN)]);
    let passed_over = vec![("af-xdp".to_string(), TAKES_FRAMES)];
    assert_eq!(chosen(taker.recommended.as_ref().unwrap()), (Some("packet-v2".into()), passed_over));
}

#[test]
fn a_bench_that_leaves_methods_open_replaces_a_decided_one_only_if_it_contradicts_that() {
    let open = bench_in_turns(&[("packet-v3", RelationToFirst::First), ("libpcap", OPEN), ("recv", BELOW)]);
    let (scratch, is_saved) = saved(&open);
    assert!(is_saved);
    let (method, why) = choose_from(&scratch.path().join("capbench")).unwrap();
    assert_eq!(method.to_string(), "packet-v3");
    let expected =
        "one of packet-v3, libpcap: the bench of 2023-11-14T22:13:20Z shows that the other methods are worse";
    assert_eq!(why, expected);
    for (methods, is_replaced) in [(["libpcap", "packet-v2"], false), (["recv", "packet-v2"], true)] {
        let (scratch, _) = saved(&bench(&methods));
        assert_eq!(save_in(&scratch, &open), is_replaced, "{methods:?}");
        let (method, _) = choose_from(&scratch.path().join("capbench")).unwrap();
        assert_eq!(method.to_string(), if is_replaced { "packet-v3" } else { "libpcap" });
    }
    // The method is none of those that may be best: these are named with the reason.
    let taken = bench_in_turns(&[("af-xdp", RelationToFirst::First), ("nfb", OPEN), ("recv", BELOW)]);
    let (method, why) = choose_from(&saved(&taken).0.path().join("capbench")).unwrap();
    assert_eq!(method.to_string(), "recv");
    assert!(
        why.starts_with("recommended by the bench of 2023-11-14T22:13:20Z; passed over af-xdp: "),
        "{why}"
    );
    let mut elsewhere = bench(&["libpcap", "packet-v2"]);
    elsewhere.environment.kernel_release = Some("1.0".into());
    assert!(save_in(&saved(&elsewhere).0, &open), "the decided one is about another kernel");
}

/// A folder with the recommendation of a bench of this host, and whether it was saved.
fn saved(results: &Results) -> (Scratch, bool) {
    let scratch = Scratch::new();
    let is_saved = save_in(&scratch, results);
    (scratch, is_saved)
}

/// Saves the recommendation of a bench; returns whether it was saved.
fn save_in(scratch: &Scratch, results: &Results) -> bool {
    let is_saved = recommended::save(&scratch.path().join("capbench"), results).unwrap();
    for path in ["", "capbench", "capbench/recommended.json"].iter().take(if is_saved { 3 } else { 1 }) {
        set_mode(&scratch.path().join(path), 0o700);
    }
    is_saved
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
    let mut at_load = bench(&["packet-v2", "recv"]);
    at_load.recommended.as_mut().unwrap().question = Question::CheapestAt { pps: 20_000.0 };
    save_in(&scratch, &at_load);
    let (_, why) = choose_from(&scratch.path().join("capbench")).unwrap();
    assert!(why.ends_with("T22:13:20Z at 20,000 packets/s"), "{why}");
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
    assert_eq!(refusal(&scratch), "the last bench with a certain answer was on another host or kernel");
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
