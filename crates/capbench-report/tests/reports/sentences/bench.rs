//! What a bench answers, as facts: which method to use, up to which rate, at what cost. Their words: `sentences/bench/tests.rs`.

use std::path::Path;

use capbench_judge::finding::Finding;
use capbench_judge::finding::bench::{
    self, BenchFinding, BenchVerdict, BetterElsewhere, ComparedTime, NoAnswerBecause, NsRange, OverloadLoss,
    PausedMethod, Rivals, SetUp, SustainedRate, TimeOfThread,
};
use capbench_judge::recommendation::{Certainty, recommend};
use capbench_model::disturbance::{CoreSpeed, CpuDisturbance, Disturbance};
use capbench_model::loss_pattern::{LossPattern, Spread};
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{CpuAccount, Emptying, Phase, SizeLabel, TrialResult, Verdict};
use capbench_report::model::Cell;
use capbench_report::report::report;
use capbench_results::Results;
use capbench_results::read::Run;

use super::{run_of, trial};

fn answers(trials: &[TrialResult]) -> Vec<BenchFinding> {
    answers_of(&run_of(trials.to_vec()))
}

fn answers_of(run: &Results) -> Vec<BenchFinding> {
    let recommendation = recommend(&run.trials, &run.searches);
    let mut facts = Vec::new();
    for found in bench::answers(recommendation.as_ref(), &run.facts()) {
        let Finding::Bench(fact) = found.fact else { panic!("{found:?}") };
        facts.push(fact);
    }
    facts
}

/// The verdict to use a method that certainly sustains this rate.
fn use_at_least(method: &str, pps: f64, app_ns: Option<f64>) -> BenchFinding {
    BenchFinding::Verdict(BenchVerdict::Use {
        method: method.into(),
        certainty: Certainty::Certain,
        sustains: SustainedRate::AtLeast { pps },
        without_pauses: false,
        app_time: app_ns.map(exactly),
        equal: Vec::new(),
    })
}

fn exactly(ns: f64) -> NsRange {
    NsRange { low_ns: ns, high_ns: ns }
}

fn methods<const N: usize>(names: [&str; N]) -> Vec<SavedMethod> {
    names.map(SavedMethod::from).to_vec()
}

fn costs(
    at_pps: f64,
    time: ComparedTime,
    cheapest: &[&str],
    cheapest_time: NsRange,
    dearest: &str,
    dearest_ns: f64,
) -> BenchFinding {
    BenchFinding::CostsDiffer {
        time,
        at_pps: Some(at_pps),
        cheapest: cheapest.iter().map(|method| SavedMethod::from(*method)).collect(),
        cheapest_time,
        dearest: dearest.into(),
        dearest_time: exactly(dearest_ns),
    }
}

fn is_cost(fact: &BenchFinding) -> bool {
    matches!(fact, BenchFinding::CostsDiffer { .. } | BenchFinding::CostsEqual { .. })
}

/// What a method loses at maximum load in its ring.
fn lost_in_ring(method: &str, loss_ratio: f64, offered_pps: f64) -> OverloadLoss {
    OverloadLoss { method: method.into(), loss_ratio, offered_pps, place: Some(Place::Ring) }
}

/// A trial at a common load of so many packets per second that costs so many nanoseconds each, by clocks of this resolution.
fn at_cost(
    method: &str,
    load: u32,
    total_ns: u64,
    resolution_ns: u64,
    app_ns: Option<[u64; 2]>,
) -> TrialResult {
    let frames = u64::from(load);
    let cpu = CpuAccount {
        total_ns_per_packet: Some(total_ns as f64),
        total_ns: Some(total_ns * frames),
        app_ns: app_ns.map(|[least, _]| least * frames),
        app_ns_per_packet: app_ns.map(|[least, _]| least as f64),
        app_ns_per_packet_at_most: app_ns.map(|[_, most]| most as f64),
        split_is_sampled: true,
        kernel_resolution_ns: Some(resolution_ns * frames),
        ..CpuAccount::default()
    };
    let (phase, intended_pps) = (Phase::CommonLoad, Some(f64::from(load)));
    TrialResult { cpu, phase, intended_pps, ..trial(1, method, load, load) }
}

#[test]
fn the_method_with_the_highest_sustained_rate_is_named_with_rate_and_cost() {
    let trials = [
        trial(1, "recv", 1_000_000, 280_000),
        trial(2, "packet-v3", 1_424_000, 1_424_000),
        at_cost("recv", 200_000, 1500, 0, Some([500, 500])),
        at_cost("packet-v3", 200_000, 700, 0, Some([60, 80])),
    ];
    assert_eq!(
        answers(&trials),
        [
            use_at_least("packet-v3", 1_424_000.0, Some(70.0)),
            BenchFinding::Overload {
                lossless: methods(["packet-v3"]),
                behind: Vec::new(),
                least: None,
                most: lost_in_ring("recv", 0.72, 1e6),
            },
            costs(200_000.0, ComparedTime::Application, &["packet-v3"], exactly(70.0), "recv", 500.0),
        ]
    );
}

#[test]
fn losses_in_pauses_of_the_host_are_part_of_the_answer() {
    let lost_at_once = LossPattern {
        bursts: Spread { count: 1, total: 4200, max: Some(4200), ..Spread::default() },
        ..LossPattern::in_windows(1_400_000, 4200, 10, 1)
    };
    let longer = TrialResult {
        phase: Phase::Confirmation,
        loss_pattern: Some(lost_at_once),
        ..trial(3, "packet-v3", 1_400_000, 1_395_800)
    };
    let trials = [trial(1, "recv", 1_000_000, 280_000), trial(2, "packet-v3", 1_424_000, 1_424_000), longer];
    let answers = answers(&trials);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, without_pauses, .. }) = &answers[0]
    else {
        panic!("{answers:?}")
    };
    assert_eq!((method, *sustains), (&"packet-v3".into(), SustainedRate::AtLeast { pps: 1_400_000.0 }));
    assert!(without_pauses);
    let paused = PausedMethod {
        method: "packet-v3".into(),
        trials: 1,
        lossy_trials: 1,
        largest_loss_ratio: 4200.0 / 1_400_000.0,
    };
    assert_eq!(answers[1], BenchFinding::Paused { methods: vec![paused] });
}

#[test]
fn equal_methods_are_named_and_the_cheaper_one_is_used() {
    let sustained = |method: &str, ns, app| {
        [at_cost(method, 95_000, ns, 0, Some([app, app])), trial(2, method, 100_000, 90_000)]
    };
    let cheaper = answers(&[sustained("libpcap", 900, 90), sustained("packet-v3", 700, 60)].concat());
    let limit = SustainedRate::Limit { pps: 95_000.0, precision_ratio: 0.05 };
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, app_time, equal, .. }) = &cheaper[0]
    else {
        panic!("{cheaper:?}");
    };
    assert_eq!((method, sustains, *app_time), (&"packet-v3".into(), &limit, Some(exactly(60.0))));
    assert!(equal.is_empty());
    let same = answers(&[sustained("libpcap", 700, 60), sustained("packet-v3", 700, 60)].concat());
    let BenchFinding::Verdict(BenchVerdict::Use { equal, .. }) = &same[0] else { panic!("{same:?}") };
    assert_eq!(equal.len(), 1);
}

#[test]
fn a_rate_that_is_known_less_precisely_is_only_a_lower_bound() {
    for (lower, expected) in [
        (80_000, SustainedRate::Limit { pps: 80_000.0, precision_ratio: 0.2 }),
        (70_000, SustainedRate::AtLeast { pps: 70_000.0 }),
    ] {
        let trials = [at_cost("recv", lower, 900, 0, None), trial(2, "recv", 100_000, 90_000)];
        let answers = answers(&trials);
        let BenchFinding::Verdict(BenchVerdict::Use { sustains, .. }) = &answers[0] else {
            panic!("{answers:?}")
        };
        assert_eq!(*sustains, expected);
    }
}

/// The trial on a CPU that ran at half of its speed.
fn noisy(trial: TrialResult) -> TrialResult {
    let core_speed = Some(CoreSpeed { before_ns: 1.25, after_ns: 1.25, fastest_ns: 1.0 });
    let cpus = vec![CpuDisturbance { core_speed, ..CpuDisturbance::default() }];
    TrialResult { disturbance: Disturbance { cpus, ..Disturbance::default() }, ..trial }
}

#[test]
fn where_noise_hides_the_limits_the_cheapest_method_is_named_with_those_that_may_be_better() {
    let trials_with = |method, clean, lossy, app| {
        let at = |number, pps: u32, lost| {
            let (phase, intended_pps) = (Phase::Search, Some(f64::from(pps)));
            TrialResult { phase, intended_pps, ..trial(number, method, pps, pps - lost) }
        };
        let top = noisy(trial(2, method, 900_000, 800_000));
        [at(3, clean, 0), noisy(at(4, lossy, 1000)), top, at_cost(method, 100_000, 900, 0, Some([app, app]))]
    };
    let all = answers(
        &[trials_with("packet-v3", 500_000, 550_000, 60), trials_with("recv", 520_000, 570_000, 500)]
            .concat(),
    );
    let meanwhile = BenchFinding::Verdict(BenchVerdict::UseMeanwhile {
        method: "packet-v3".into(),
        sustains: SustainedRate::AtLeast { pps: 500_000.0 },
        without_pauses: false,
        app_time: Some(exactly(60.0)),
        rivals: Rivals::Rate { may_sustain_more: methods(["recv"]) },
    });
    assert_eq!(all[0], meanwhile);
    let BenchFinding::Settle { command, takes_s } = &all[1] else { panic!("{all:?}") };
    let words = "search --goal quick --searches 6 --method recv,packet-v3 --size 64 --placement same";
    assert_eq!(command.join(" "), words);
    assert!(takes_s.is_some_and(|seconds| seconds > 240.0 && seconds <= 300.0), "{takes_s:?}");
}

#[test]
fn a_table_says_why_a_method_is_above_one_with_a_higher_rate() {
    let ranked = |method: &str, app_ns| {
        let cost = at_cost(method, 90_000, 10 * app_ns, 0, Some([app_ns, app_ns]));
        let load = if method == "recv" { 100_000 } else { 97_000 };
        let held = TrialResult {
            phase: Phase::Search,
            intended_pps: Some(load.into()),
            ..trial(2, method, load, load)
        };
        [cost, held, trial(3, method, 104_000, 94_000)]
    };
    let note = |app_ns| {
        let trials = [ranked("recv", 90), ranked("packet-v3", app_ns)].concat();
        let summary = report(&Run::new(run_of(trials), Path::new("/nowhere"))).summary.unwrap();
        (summary.rows[0].cells[0].clone(), summary.notes.concat())
    };
    let why = "A method above one with a higher rate may sustain more, or costs less at about the same rate.";
    let (first, notes) = note(60);
    assert_eq!(first, Cell::from("packet-v3"));
    assert!(notes.contains(why), "{notes}");
    let (first, notes) = note(900);
    assert_eq!(first, Cell::from("recv"));
    assert!(!notes.contains(why), "{notes}");
}

#[test]
fn the_only_method_is_used_whatever_the_noise() {
    let only = noisy(trial(1, "recv", 100_000, 100_000));
    assert_eq!(answers(std::slice::from_ref(&only))[0], use_at_least("recv", 100_000.0, None));
    let worse = noisy(trial(2, "packet-v1", 90_000, 20_000));
    let two = answers(&[only, worse]);
    let BenchFinding::Verdict(BenchVerdict::Use { method, certainty, .. }) = &two[0] else {
        panic!("{two:?}")
    };
    assert_eq!((method, *certainty), (&"recv".into(), Certainty::Likely));
}

#[test]
fn at_a_named_rate_a_method_whose_cost_is_unknown_may_cost_less() {
    let fixed = |method, app| {
        let cost = at_cost(method, 100_000, 900, 0, app);
        TrialResult { phase: Phase::FixedLoad, ..cost }
    };
    let unknown = TrialResult { cpu: CpuAccount::default(), ..fixed("recv", None) };
    let meanwhile = BenchFinding::Verdict(BenchVerdict::UseMeanwhile {
        method: "packet-v3".into(),
        sustains: SustainedRate::Asked { pps: 100_000.0 },
        without_pauses: false,
        app_time: Some(exactly(60.0)),
        rivals: Rivals::Cost { may_cost_less: methods(["recv"]), may_sustain_it: Vec::new() },
    });
    assert_eq!(answers(&[fixed("packet-v3", Some([60, 60])), unknown])[0], meanwhile);
}

#[test]
fn a_total_below_its_parts_or_its_error_is_unknown_and_nobody_is_cheapest() {
    // As files of older versions have it: ticks say 0, the traced parts 2,775 and 1,300.
    let ticks = |method: &str| {
        let trial = at_cost(method, 100_000, 0, 0, Some([2775, 2775]));
        let cpu = CpuAccount { kernel_ns: Some(1300 * 100_000), split_is_sampled: false, ..trial.cpu };
        TrialResult { cpu, ..trial }
    };
    assert_eq!(ticks("recv").total_ns_per_packet(), None);
    let below = at_cost("recv", 100_000, 1000, 0, Some([2775, 2775]));
    assert_eq!(below.total_ns_per_packet(), None);
    let within = at_cost("recv", 100_000, 1000, 600, Some([1010, 1010]));
    assert_eq!(within.total_ns_per_packet(), None, "an error of 1200 of 1000 ns");
    let fine = at_cost("recv", 100_000, 1000, 100, Some([1010, 1010]));
    assert_eq!(fine.total_ns_per_packet(), Some(1010.0));
    let top = |method| trial(2, method, 1_000_000, 1_000_000);
    let all = answers(&[ticks("recv"), ticks("packet-v3"), top("recv"), top("packet-v3")]);
    assert!(!all.iter().any(|fact| matches!(fact, BenchFinding::CostsDiffer { .. })), "{all:?}");
    let BenchFinding::Verdict(BenchVerdict::Use { app_time, .. }) = &all[0] else { panic!("{all:?}") };
    assert!(app_time.is_none_or(|time| time.low_ns > 0.0), "{all:?}");
}

#[test]
fn a_program_with_its_own_work_is_compared_with_the_methods() {
    let mut own = trial(1, "cmd:./mine", 900_000, 600_000);
    own.profile.work = "its own".into();
    let all = answers(&[trial(2, "packet-v3", 1_000_000, 1_000_000), own]);
    assert_eq!(all[0], use_at_least("packet-v3", 1e6, None));
    let overload = BenchFinding::Overload {
        lossless: methods(["packet-v3"]),
        behind: Vec::new(),
        least: None,
        most: lost_in_ring("cmd:./mine", 1.0 / 3.0, 900_000.0),
    };
    assert!(all.contains(&overload), "{all:?}");
    assert!(!all.iter().any(|fact| matches!(fact, BenchFinding::OtherSetUps { .. })), "{all:?}");
}

#[test]
fn a_method_that_only_buffers_the_maximum_load_falls_behind() {
    let behind = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let trials = [
        TrialResult { emptying: behind, ..trial(1, "recv", 700_000, 700_000) },
        trial(2, "packet-v3", 1_000_000, 1_000_000),
        trial(3, "packet-v1", 900_000, 600_000),
    ];
    let all = answers(&trials);
    let overload = BenchFinding::Overload {
        lossless: methods(["packet-v3"]),
        behind: methods(["recv"]),
        least: None,
        most: lost_in_ring("packet-v1", 1.0 / 3.0, 900_000.0),
    };
    assert!(all.contains(&overload), "{all:?}");
}

#[test]
fn only_the_same_set_up_is_compared() {
    let large = |method, sent, delivered| {
        let mut trial = trial(1, method, sent, delivered);
        trial.profile.frame_size = SizeLabel::Octets(1518);
        trial.profile.mean_frame_size = 1518.0;
        trial
    };
    let trials = [
        trial(1, "recv", 300_000, 300_000),
        trial(1, "packet-v3", 250_000, 240_000),
        trial(1, "packet-v3", 200_000, 200_000),
        large("packet-v3", 900_000, 900_000),
    ];
    let all = answers(&trials);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, .. }) = &all[0] else {
        panic!("{all:?}")
    };
    assert_eq!((method, *sustains), (&"recv".into(), SustainedRate::AtLeast { pps: 300_000.0 }));
    let set_up = |octets| SetUp {
        frame_size: SizeLabel::Octets(octets),
        placement: "same".into(),
        work: "none".into(),
    };
    let elsewhere = BenchFinding::OtherSetUps {
        set_up: set_up(64),
        method: "recv".into(),
        others: 1,
        alike: 0,
        better: vec![BetterElsewhere { method: "packet-v3".into(), set_up: set_up(1518) }],
    };
    assert_eq!(all.last(), Some(&elsewhere));
}

#[test]
fn without_a_lossless_load_the_limit_and_its_place_are_named() {
    let all = answers(&[trial(1, "recv", 100_000, 80_000), trial(2, "packet-v3", 100_000, 99_000)]);
    let none = BenchFinding::Verdict(BenchVerdict::NoneLossless {
        asked_pps: None,
        is_some_unknown: false,
        closest: None,
        place: Some(Place::Ring),
    });
    assert_eq!(all[0], none);
}

#[test]
fn at_a_named_rate_the_cheapest_that_sustains_it_is_named() {
    let fixed = |method: &str, ns: u64, delivered: u32| {
        let cost = at_cost(method, 100_000, ns, 0, Some([ns / 10, ns / 10]));
        let verdict = if delivered < 100_000 { Verdict::Lossy } else { Verdict::Lossless };
        let TrialResult { cpu, intended_pps, .. } = cost;
        TrialResult {
            phase: Phase::FixedLoad,
            cpu,
            intended_pps,
            verdict,
            ..trial(1, method, 100_000, delivered)
        }
    };
    let all = answers(&[
        fixed("recv", 900, 100_000),
        fixed("packet-v3", 700, 100_000),
        fixed("libpcap", 100, 90_000),
    ]);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, app_time, .. }) = &all[0] else {
        panic!("{all:?}")
    };
    assert_eq!((method, *app_time), (&"packet-v3".into(), Some(exactly(70.0))));
    assert_eq!(*sustains, SustainedRate::Asked { pps: 100_000.0 });
    let none = answers(&[fixed("libpcap", 100, 90_000)]);
    let BenchFinding::Verdict(BenchVerdict::NoneLossless { asked_pps, .. }) = none[0] else {
        panic!("{none:?}")
    };
    assert_eq!(asked_pps, Some(100_000.0));
}

/// A trial at a load of 200,000 packets/s of a method that reads so many of them.
fn at_200k(method: &str, work: &str, delivered: u32, app_ns: u64) -> TrialResult {
    let cost = at_cost(method, 200_000, 10 * app_ns, 0, Some([app_ns, app_ns]));
    let lossy = TrialResult {
        cpu: cost.cpu,
        intended_pps: cost.intended_pps,
        ..trial(1, method, 200_000, delivered)
    };
    let mut fixed = TrialResult { phase: Phase::FixedLoad, verdict: Verdict::Lossy, ..lossy };
    fixed.profile.work = work.into();
    fixed
}

#[test]
fn a_load_for_which_one_thread_has_no_time_is_no_matter_of_the_host() {
    let answers_with = |work: &str, app_ns| {
        let methods = ["recv", "packet-v3"].map(|method| noisy(at_200k(method, work, 45_000, app_ns)));
        answers(&methods)
    };
    let no_time = |time_of, ns_per_packet| {
        BenchFinding::Verdict(BenchVerdict::NoTime { asked_pps: 200_000.0, time_of, ns_per_packet })
    };
    assert_eq!(answers_with("ns:20000", 22_000)[0], no_time(TimeOfThread::Work, 20_000.0));
    assert_eq!(answers_with("loop:9000", 8000)[0], no_time(TimeOfThread::Application, 8000.0));
    let open = answers_with("loop:9000", 5500);
    assert!(!matches!(open[0], BenchFinding::Verdict(BenchVerdict::NoTime { .. })), "{open:?}");
}

#[test]
fn where_the_host_disturbed_each_loss_there_is_no_answer() {
    let mut disturbed = noisy(at_200k("recv", "none", 199_000, 500));
    disturbed.noise = vec!["one of its CPUs ran slower than its best".into()];
    let no_answer = |because| {
        BenchFinding::Verdict(BenchVerdict::NoAnswer {
            because,
            noisy_trials: 1,
            trials: 1,
            place: Some(Place::Ring),
        })
    };
    let not_sustained = NoAnswerBecause::NotSustained { asked_pps: 200_000.0 };
    assert_eq!(answers(std::slice::from_ref(&disturbed)), [no_answer(not_sustained)]);
    let slow = TrialResult { offered_pps: 180_000.0, ..disturbed };
    let not_sent = NoAnswerBecause::NotSent { asked_pps: 200_000.0, sent_pps: 180_000.0 };
    assert_eq!(answers(&[slow]), [no_answer(not_sent)]);
}

#[test]
fn where_no_method_sustains_the_load_the_next_step_is_the_same_command_without_it() {
    let answers_with = |delivered| {
        let mut run = run_of(vec![at_200k("recv", "none", delivered, 500)]);
        let words = "/bin/capbench bench --rate 200k --tx eth1 --max-loss=0 --out here --quick";
        run.command = words.split(' ').map(String::from).collect();
        answers_of(&run)
    };
    let command = ["bench", "--tx", "eth1", "--quick"].map(String::from).to_vec();
    assert_eq!(answers_with(120_000)[1], BenchFinding::FindHighest { command });
    let sustained = answers_with(200_000);
    assert!(!sustained.iter().any(|fact| matches!(fact, BenchFinding::FindHighest { .. })), "{sustained:?}");
}

#[test]
fn what_limits_a_rate_is_said_of_the_rate_that_is_shown() {
    let search = |number, method, pps, lost| {
        let (phase, intended_pps) = (Phase::Search, Some(f64::from(pps)));
        TrialResult { phase, intended_pps, ..trial(number, method, pps, pps - lost) }
    };
    let trials = [
        trial(1, "packet-v3", 900_000, 900_000),
        search(2, "recv", 500_000, 0),
        noisy(search(3, "recv", 550_000, 1000)),
        noisy(search(4, "recv", 550_000, 1000)),
        noisy(search(5, "packet-v1", 550_000, 1000)),
        search(6, "packet-v2", 300_000, 100_000),
        search(7, "libpcap", 300_000, 0),
        search(8, "libpcap", 400_000, 100_000),
    ];
    let summary = report(&Run::new(run_of(trials.to_vec()), Path::new("/nowhere"))).summary.unwrap();
    let at = summary.columns.iter().position(|column| column.key == "limit").unwrap();
    let limit = |method: &str| {
        let row = summary.rows.iter().find(|row| row.cells[0] == Cell::from(method)).unwrap();
        (row.cells[1].clone(), row.cells[at].clone())
    };
    assert_eq!(limit("packet-v3"), (Cell::AtLeast(900_000.0), Cell::from("generator")));
    assert_eq!(limit("recv"), (Cell::AtLeast(500_000.0), Cell::from("noise")));
    assert_eq!(limit("packet-v1"), (Cell::Unknown, Cell::Empty));
    assert_eq!(limit("packet-v2"), (Cell::from("none"), Cell::from("ring")));
    assert_eq!(limit("libpcap"), (Cell::Number(300_000.0), Cell::from("ring")));
    let notes = summary.notes.concat();
    assert!(notes.contains("none: it sustained none of the loads that were tried."), "{notes}");
}

#[test]
fn the_costs_of_the_cheapest_are_a_range() {
    let trial_with = |method, app_ns| at_cost(method, 95_000, 900, 0, Some([app_ns, app_ns]));
    let top = trial(2, "recv", 100_000, 90_000);
    let all =
        answers(&[trial_with("packet-v3", 60), trial_with("libpcap", 62), trial_with("recv", 500), top]);
    let range = NsRange { low_ns: 60.0, high_ns: 62.0 };
    let expected =
        costs(95_000.0, ComparedTime::Application, &["packet-v3", "libpcap"], range, "recv", 500.0);
    assert_eq!(all.iter().find(|fact| is_cost(fact)), Some(&expected));
}

#[test]
fn the_total_is_named_where_it_decides() {
    let trials_with = |method, total_ns| {
        [at_cost(method, 95_000, total_ns, 0, Some([60, 60])), trial(2, method, 100_000, 100_000)]
    };
    let all = answers(&[trials_with("libpcap", 900), trials_with("packet-v3", 700)].concat());
    let expected = costs(95_000.0, ComparedTime::Total, &["packet-v3"], exactly(700.0), "libpcap", 900.0);
    assert_eq!(all.iter().find(|fact| is_cost(fact)), Some(&expected));
}

#[test]
fn a_rate_that_the_generator_did_not_send_is_sustained_by_nobody() {
    let at = |method| {
        let trial = trial(1, method, 22_000, 22_000);
        TrialResult { phase: Phase::FixedLoad, intended_pps: Some(100_000.0), intended: 100_000, ..trial }
    };
    let not_sent = BenchFinding::Verdict(BenchVerdict::NotSent { asked_pps: 100_000.0, sent_pps: 22_000.0 });
    assert_eq!(answers(&[at("recv"), at("packet-v3")])[0], not_sent);
}

#[test]
fn invalid_trials_name_no_method() {
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some("11 frames were delivered of 10 sent".into()),
        ..trial(7, "recv", 10, 10)
    };
    let reason = "11 frames were delivered of 10 sent".into();
    assert_eq!(answers(&[invalid]), [BenchFinding::Verdict(BenchVerdict::EveryTrialInvalid { reason })]);
}
