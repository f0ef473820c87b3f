//! What a bench answers, as facts: which method to use, up to which rate, at what cost. Trials are made by `trial` (maximum load),
//! `search_trial`, and `Cost` (a common load). Their words: `sentences/bench/tests.rs`.

use std::path::Path;

use capbench_judge::finding::bench::{
    self, BenchFinding, BenchVerdict, BetterElsewhere, ComparedTime, NoAnswerBecause, NsRange, OverloadLoss,
    PausedMethod, Rivals, SetUp, SustainedRate, TimeOfThread, UnknownBecause, UnknownProgram,
};
use capbench_judge::finding::{Finding, whole_run};
use capbench_judge::recommendation::{Certainty, recommend};
use capbench_model::disturbance::{CoreSpeed, CpuDisturbance, Disturbance};
use capbench_model::loss_pattern::{LossPattern, Spread};
use capbench_model::noise::Noise;
use capbench_model::not_measured::NotMeasured;
use capbench_model::places::Place;
use capbench_model::saved::{Saved, SavedMethod};
use capbench_model::trial::{CpuAccount, Emptying, Phase, SizeLabel, TrialResult, Verdict};
use capbench_report::model::{Cell, Table};
use capbench_report::report::report;
use capbench_results::Results;
use capbench_results::read::Run;

use super::{run_of, trial};

/// The answers of a bench of these trials, the verdict first.
fn answers(trials: &[TrialResult]) -> Vec<BenchFinding> {
    answers_of_run(&run_of(trials.to_vec()))
}

/// The first answer of a bench of these trials.
fn verdict(trials: &[TrialResult]) -> BenchVerdict {
    let answers = answers(trials);
    let BenchFinding::Verdict(verdict) = &answers[0] else { panic!("{answers:?}") };
    verdict.clone()
}

/// The answers of a run, the verdict first.
fn answers_of_run(run: &Results) -> Vec<BenchFinding> {
    let recommendation = recommend(&run.trials, &run.searches);
    let mut facts = Vec::new();
    for found in bench::answers(recommendation.as_ref(), &run.facts(), &run.not_measured) {
        let Finding::Bench(fact) = found.fact else { panic!("{found:?}") };
        facts.push(fact);
    }
    facts
}

/// The verdict to use a method that certainly sustains at least this rate.
fn use_at_least(method: &str, pps: f64, app_ns: Option<f64>) -> BenchVerdict {
    BenchVerdict::Use {
        method: method.into(),
        certainty: Certainty::Certain,
        sustains: SustainedRate::AtLeast { pps },
        without_pauses: false,
        app_time: app_ns.map(exactly),
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    }
}

/// A time that is known exactly.
fn exactly(ns: f64) -> NsRange {
    NsRange { low_ns: ns, high_ns: ns }
}

fn methods<const N: usize>(names: [&str; N]) -> Vec<SavedMethod> {
    names.map(SavedMethod::from).to_vec()
}

/// The only fact about costs.
fn cost_fact(answers: &[BenchFinding]) -> &BenchFinding {
    let is_cost = |fact: &&BenchFinding| {
        matches!(fact, BenchFinding::CostsDiffer { .. } | BenchFinding::CostsEqual { .. })
    };
    answers.iter().find(is_cost).unwrap_or_else(|| panic!("{answers:?}"))
}

/// What a method loses at maximum load in its ring.
fn lost_in_ring(method: &str, loss_ratio: f64, offered_pps: f64) -> OverloadLoss {
    OverloadLoss { method: method.into(), loss_ratio, offered_pps, place: Some(Place::Ring) }
}

/// The CPU cost of a packet at a common load, which the method sustains.
#[derive(Clone, Copy)]
struct Cost {
    /// The common load.
    pps: u32,
    /// Application and kernel together.
    total_ns: u64,
    /// The application alone, in nanoseconds from the least to the most; `None` if unknown.
    app_ns: Option<[u64; 2]>,
    /// The resolution of the clock that measured the kernel, nanoseconds per packet.
    resolution_ns: u64,
}

impl Cost {
    /// Costs by exact clocks; the application's cost is known exactly, too.
    fn exact(pps: u32, total_ns: u64, app_ns: u64) -> Self {
        Self { pps, total_ns, app_ns: Some([app_ns, app_ns]), resolution_ns: 0 }
    }

    /// A trial of a second in which a packet cost this.
    fn trial(self, method: &str) -> TrialResult {
        let Self { pps, total_ns, app_ns, resolution_ns } = self;
        let frames = u64::from(pps);
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
        let trial = trial(1, method, pps, pps);
        TrialResult { cpu, phase: Phase::CommonLoad, intended_pps: Some(f64::from(pps)), ..trial }
    }
}

/// A trial of a search at this load, which lost this number of frames.
fn search_trial(number: u32, method: &str, pps: u32, lost: u32) -> TrialResult {
    let trial = trial(number, method, pps, pps - lost);
    TrialResult { phase: Phase::Search, intended_pps: Some(f64::from(pps)), ..trial }
}

#[test]
fn the_method_with_the_highest_sustained_rate_is_named_with_rate_and_cost() {
    let cost_of_v3 = Cost { app_ns: Some([60, 80]), ..Cost::exact(200_000, 700, 0) };
    let trials = [
        trial(1, "recv", 1_000_000, 280_000),
        trial(2, "packet-v3", 1_424_000, 1_424_000),
        Cost::exact(200_000, 1500, 500).trial("recv"),
        cost_of_v3.trial("packet-v3"),
    ];
    let expected = [
        BenchFinding::Verdict(use_at_least("packet-v3", 1_424_000.0, Some(70.0))),
        BenchFinding::Overload {
            lossless: methods(["packet-v3"]),
            behind: Vec::new(),
            least: None,
            // It delivered 280,000 of 1,000,000.
            most: lost_in_ring("recv", 0.72, 1e6),
        },
        BenchFinding::CostsDiffer {
            time: ComparedTime::Application,
            at_pps: Some(200_000.0),
            cheapest: methods(["packet-v3"]),
            // The middle of 60 and 80.
            cheapest_time: exactly(70.0),
            undecided: Vec::new(),
            dearest: "recv".into(),
            dearest_time: exactly(500.0),
        },
    ];
    assert_eq!(answers(&trials), expected);
}

#[test]
fn losses_in_pauses_of_the_host_are_part_of_the_answer() {
    // The confirmation lost 4,200 frames in a single burst.
    let one_burst = LossPattern {
        bursts: Spread { count: 1, total: 4200, max: Some(4200), ..Spread::default() },
        ..LossPattern::in_windows(1_400_000, 4200, 10, 1)
    };
    let confirmation = TrialResult {
        phase: Phase::Confirmation,
        loss_pattern: Some(one_burst),
        ..trial(3, "packet-v3", 1_400_000, 1_395_800)
    };
    let trials =
        [trial(1, "recv", 1_000_000, 280_000), trial(2, "packet-v3", 1_424_000, 1_424_000), confirmation];
    let answers = answers(&trials);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, without_pauses, .. }) = &answers[0]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(*method, "packet-v3");
    assert_eq!(*sustains, SustainedRate::AtLeast { pps: 1_424_000.0 });
    assert!(without_pauses);
    let paused = PausedMethod {
        method: "packet-v3".into(),
        trials: 2,
        lossy_trials: 1,
        largest_loss_ratio: 4200.0 / 1_400_000.0,
    };
    assert_eq!(answers[1], BenchFinding::Paused { methods: vec![paused] });
}

/// Two trials of a method that sustains 95,000 frames per second at this cost, and not 100,000.
fn sustains_95k(method: &str, total_ns: u64, app_ns: u64) -> [TrialResult; 2] {
    [Cost::exact(95_000, total_ns, app_ns).trial(method), trial(2, method, 100_000, 90_000)]
}

#[test]
fn of_methods_with_equal_rates_the_cheaper_one_is_used() {
    let trials = [sustains_95k("libpcap", 900, 90), sustains_95k("packet-v3", 700, 60)].concat();
    let verdict = verdict(&trials);
    let BenchVerdict::Use { method, sustains, app_time, equal, .. } = &verdict else { panic!("{verdict:?}") };
    assert_eq!(*method, "packet-v3");
    assert_eq!(*sustains, SustainedRate::Limit { pps: 95_000.0, precision_ratio: 0.05 });
    assert_eq!(*app_time, Some(exactly(60.0)));
    assert!(equal.is_empty());
}

#[test]
fn methods_with_equal_rates_and_costs_are_named() {
    let trials = [sustains_95k("libpcap", 700, 60), sustains_95k("packet-v3", 700, 60)].concat();
    let verdict = verdict(&trials);
    let BenchVerdict::Use { equal, .. } = &verdict else { panic!("{verdict:?}") };
    assert_eq!(equal.len(), 1);
}

#[test]
fn a_rate_that_is_known_less_precisely_is_only_a_lower_bound() {
    // 100,000 was not sustained. A limit is one that is known to 25 % (`LOWER_BOUND_PRECISION`).
    for (sustained_pps, expected) in [
        (80_000, SustainedRate::Limit { pps: 80_000.0, precision_ratio: 0.2 }),
        (70_000, SustainedRate::AtLeast { pps: 70_000.0 }),
    ] {
        let cost = Cost { app_ns: None, ..Cost::exact(sustained_pps, 900, 0) };
        let verdict = verdict(&[cost.trial("recv"), trial(2, "recv", 100_000, 90_000)]);
        let BenchVerdict::Use { sustains, .. } = &verdict else { panic!("{verdict:?}") };
        assert_eq!(*sustains, expected);
    }
}

/// The trial on a CPU that ran at half of its speed.
fn noisy(trial: TrialResult) -> TrialResult {
    let core_speed =
        Some(CoreSpeed { before_ns: 1.25, after_ns: 1.25, fastest_ns: 1.0, ..CoreSpeed::default() });
    let cpus = vec![CpuDisturbance { core_speed, ..CpuDisturbance::default() }];
    TrialResult { disturbance: Disturbance { cpus, ..Disturbance::default() }, ..trial }
}

/// Trials of a method that sustains `sustained_pps`. Its losses at `lossy_pps` and at maximum load may be those of a noisy host.
fn limit_hidden_by_noise(method: &str, sustained_pps: u32, lossy_pps: u32, app_ns: u64) -> [TrialResult; 4] {
    [
        search_trial(3, method, sustained_pps, 0),
        noisy(search_trial(4, method, lossy_pps, 1000)),
        noisy(trial(2, method, 900_000, 800_000)),
        Cost::exact(100_000, 900, app_ns).trial(method),
    ]
}

#[test]
fn where_noise_hides_the_limits_the_cheapest_method_is_named_with_those_that_may_be_better() {
    let trials = [
        limit_hidden_by_noise("packet-v3", 500_000, 550_000, 60),
        limit_hidden_by_noise("recv", 520_000, 570_000, 500),
    ]
    .concat();
    let answers = answers(&trials);
    let meanwhile = BenchVerdict::UseMeanwhile {
        method: "packet-v3".into(),
        sustains: SustainedRate::AtLeast { pps: 500_000.0 },
        without_pauses: false,
        app_time: Some(exactly(60.0)),
        rivals: Rivals::Rate { may_sustain_more: methods(["recv"]) },
        worse: Vec::new(),
    };
    assert_eq!(answers[0], BenchFinding::Verdict(meanwhile));
    let BenchFinding::Settle { command, takes_s } = &answers[1] else { panic!("{answers:?}") };
    assert_eq!(command.join(" "), "bench --method recv,packet-v3 --size 64 --placement same");
    // The time of a bench, which it keeps.
    assert_eq!(*takes_s, Some(82.0));
    assert!(!is_answered(&run_of(trials)));
}

/// Whether a bench answers its question.
fn is_answered(run: &Results) -> bool {
    let recommendation = recommend(&run.trials, &run.searches);
    bench::is_answered(recommendation.as_ref(), &run.facts(), &run.not_measured)
}

/// A round of trials in turns in which the two methods captured these numbers of 100,000 frames.
fn round(captured: [u32; 2]) -> Vec<TrialResult> {
    let mut trials = Vec::new();
    for (method, captured) in ["packet-v3", "recv"].into_iter().zip(captured) {
        let trial = trial(5, method, 100_000, captured);
        trials.push(TrialResult { phase: Phase::Turns, intended_pps: Some(100_000.0), ..trial });
    }
    trials
}

#[test]
fn a_command_that_would_decide_no_more_is_not_printed() {
    let mut trials = [
        limit_hidden_by_noise("packet-v3", 500_000, 550_000, 60),
        limit_hidden_by_noise("recv", 520_000, 570_000, 500),
    ]
    .concat();
    for captured in [[90_000, 50_000], [50_000, 90_000], [70_000, 40_000], [40_000, 70_000]] {
        trials.extend(round(captured));
    }
    let cannot_settle = BenchFinding::CannotSettle { methods: methods(["packet-v3", "recv"]), rounds: 4 };
    let undecided = answers(&trials);
    assert!(undecided.contains(&cannot_settle), "{undecided:?}");
    // Three rounds whose differences are alike are too few, and more of them decide.
    let mut few = trials[..8].to_vec();
    few.extend([[90_000, 50_000], [89_000, 50_000], [91_000, 51_000]].into_iter().flat_map(round));
    let mut run = run_of(few);
    run.command.push("--quick".into());
    let open = answers_of_run(&run);
    let settles = |fact: &BenchFinding| matches!(fact, BenchFinding::Settle { .. });
    assert!(open.iter().any(settles), "{open:?}");
}

#[test]
fn a_program_of_which_nothing_is_known_comes_first_with_the_reason() {
    let program = "cmd:./mine {interface}";
    let sustained = TrialResult { verdict: Verdict::Lossless, ..at_named_200k("recv", "none", 200_000, 500) };
    let mut run = run_of(vec![sustained]);
    let text = "it did not report how many frames it captured".to_string();
    let missing = NotMeasured::new(Saved::Known(program.parse().unwrap()), None, text.clone());
    run.not_measured.push(missing);
    let unknown = |because| BenchFinding::ProgramsUnknown {
        programs: vec![UnknownProgram { method: program.into(), because }],
    };
    let answers = answers_of_run(&run);
    assert_eq!(answers[0], unknown(UnknownBecause::NotMeasured { text }));
    assert!(matches!(answers[1], BenchFinding::Verdict(BenchVerdict::Use { .. })), "{answers:?}");
    // A trial of it that shows nothing.
    run.not_measured.clear();
    let mut trial = at_named_200k("recv", "none", 150_000, 500);
    trial.profile.method = program.into();
    trial.verdict = Verdict::Invalid;
    trial.invalid_because = Some("it counted more than was sent".into());
    run.trials.push(trial);
    let invalid = UnknownBecause::Invalid { text: "it counted more than was sent".into() };
    assert_eq!(answers_of_run(&run)[0], unknown(invalid));
}

#[test]
fn a_load_that_was_sent_in_part_is_sustained_as_it_was_sent_and_answers_the_question() {
    let mut trial = at_named_200k("recv", "none", 200_000, 500);
    trial.offered_pps = 197_860.0;
    trial.verdict = Verdict::GeneratorLimited;
    let run = run_of(vec![trial]);
    let answers = answers_of_run(&run);
    let BenchFinding::Verdict(BenchVerdict::Use { sustains, .. }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert_eq!(*sustains, SustainedRate::Sent { asked_pps: 200_000.0, sent_pps: 197_860.0 });
    assert!(is_answered(&run));
}

#[test]
fn a_bench_that_was_stopped_decides_nothing() {
    let mut run = run_of(vec![trial(1, "recv", 1_000_000, 280_000)]);
    assert!(is_answered(&run));
    run.complete = false;
    assert!(!is_answered(&run));
    let answers = whole_run::answers(&run.whole_run());
    let Finding::Unfinished(unfinished) = &answers[0].fact else { panic!("{answers:?}") };
    assert!(unfinished.is_stopped && unfinished.trials == 1, "{unfinished:?}");
}

/// Three trials of a method that sustains this load at this cost, and not 104,000 frames per second.
fn sustains(method: &str, sustained_pps: u32, app_ns: u64) -> [TrialResult; 3] {
    [
        Cost::exact(90_000, 10 * app_ns, app_ns).trial(method),
        search_trial(2, method, sustained_pps, 0),
        trial(3, method, 104_000, 94_000),
    ]
}

/// The table of a bench of these trials.
fn summary(trials: Vec<TrialResult>) -> Table {
    report(&Run::new(run_of(trials), Path::new("/nowhere"))).summary.unwrap()
}

#[test]
fn a_table_says_why_a_method_is_above_one_with_a_higher_rate() {
    let why = "A method above one with a higher rate may sustain more, or costs less at about the same rate.";
    // 97,000 and 100,000 are about the same rate, so the cost decides.
    let cheaper = summary([sustains("recv", 100_000, 90), sustains("packet-v3", 97_000, 60)].concat());
    assert_eq!(cheaper.rows[0].cells[0], Cell::from("packet-v3"));
    assert!(cheaper.notes.concat().contains(why), "{:?}", cheaper.notes);

    let dearer = summary([sustains("recv", 100_000, 90), sustains("packet-v3", 97_000, 900)].concat());
    assert_eq!(dearer.rows[0].cells[0], Cell::from("recv"));
    assert!(!dearer.notes.concat().contains(why), "{:?}", dearer.notes);
}

#[test]
fn the_only_method_is_used_whatever_the_noise() {
    let only = noisy(trial(1, "recv", 100_000, 100_000));
    assert_eq!(verdict(std::slice::from_ref(&only)), use_at_least("recv", 100_000.0, None));
}

#[test]
fn a_loss_that_noise_does_not_explain_decides_for_certain_on_a_noisy_host() {
    let better = noisy(trial(1, "recv", 100_000, 100_000));
    let worse = noisy(trial(2, "packet-v1", 90_000, 20_000));
    let verdict = verdict(&[better, worse]);
    let BenchVerdict::Use { method, certainty, .. } = &verdict else { panic!("{verdict:?}") };
    assert_eq!((method, *certainty), (&"recv".into(), Certainty::Certain));
}

#[test]
fn at_a_named_rate_a_method_whose_cost_is_unknown_may_cost_less() {
    let known = Cost::exact(100_000, 900, 60).trial("packet-v3");
    let known = TrialResult { phase: Phase::FixedLoad, ..known };
    let unknown = Cost::exact(100_000, 900, 60).trial("recv");
    let unknown = TrialResult { phase: Phase::FixedLoad, cpu: CpuAccount::default(), ..unknown };
    let meanwhile = BenchVerdict::UseMeanwhile {
        method: "packet-v3".into(),
        sustains: SustainedRate::Asked { pps: 100_000.0 },
        without_pauses: false,
        app_time: Some(exactly(60.0)),
        rivals: Rivals::Cost { may_cost_less: methods(["recv"]), may_sustain_it: Vec::new() },
        worse: Vec::new(),
    };
    assert_eq!(verdict(&[known, unknown]), meanwhile);
}

#[test]
fn a_total_below_its_parts_or_with_too_large_an_error_is_unknown() {
    let cost = Cost::exact(100_000, 1000, 2775);
    assert_eq!(cost.trial("recv").total_ns_per_packet(), None, "the application alone takes 2,775 ns");
    let coarse = Cost { resolution_ns: 600, ..Cost::exact(100_000, 1000, 1010) };
    assert_eq!(coarse.trial("recv").total_ns_per_packet(), None, "an error of 1,200 ns of 1,000 ns");
    let fine = Cost { resolution_ns: 100, ..coarse };
    assert_eq!(fine.trial("recv").total_ns_per_packet(), Some(1010.0));
}

/// A trial of an earlier version: its total, 0 ns, is in ticks, its parts of 2,775 and 1,300 ns were traced.
fn total_in_ticks(method: &str) -> TrialResult {
    let trial = Cost::exact(100_000, 0, 2775).trial(method);
    let cpu = CpuAccount { kernel_ns: Some(1300 * 100_000), split_is_sampled: false, ..trial.cpu };
    TrialResult { cpu, ..trial }
}

#[test]
fn where_no_total_is_known_no_method_is_the_cheapest() {
    assert_eq!(total_in_ticks("recv").total_ns_per_packet(), None);
    let answers = answers(&[
        total_in_ticks("recv"),
        total_in_ticks("packet-v3"),
        trial(2, "recv", 1_000_000, 1_000_000),
        trial(2, "packet-v3", 1_000_000, 1_000_000),
    ]);
    assert!(!answers.iter().any(|fact| matches!(fact, BenchFinding::CostsDiffer { .. })), "{answers:?}");
    let BenchFinding::Verdict(BenchVerdict::Use { app_time, .. }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert!(app_time.is_none_or(|time| time.low_ns > 0.0), "{answers:?}");
}

#[test]
fn a_program_with_its_own_work_is_compared_with_the_methods() {
    let mut of_program = trial(1, "cmd:./mine", 900_000, 600_000);
    of_program.profile.work = "its own".into();
    let answers = answers(&[trial(2, "packet-v3", 1_000_000, 1_000_000), of_program]);
    assert_eq!(answers[0], BenchFinding::Verdict(use_at_least("packet-v3", 1e6, None)));
    let overload = BenchFinding::Overload {
        lossless: methods(["packet-v3"]),
        behind: Vec::new(),
        least: None,
        most: lost_in_ring("cmd:./mine", 1.0 / 3.0, 900_000.0),
    };
    assert!(answers.contains(&overload), "{answers:?}");
    assert!(!answers.iter().any(|fact| matches!(fact, BenchFinding::OtherSetUps { .. })), "{answers:?}");
}

#[test]
fn a_method_that_only_buffers_the_maximum_load_falls_behind() {
    // It took a second more to read what was in buffers when sending ended.
    let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let answers = answers(&[
        TrialResult { emptying, ..trial(1, "recv", 700_000, 700_000) },
        trial(2, "packet-v3", 1_000_000, 1_000_000),
        trial(3, "packet-v1", 900_000, 600_000),
    ]);
    let overload = BenchFinding::Overload {
        lossless: methods(["packet-v3"]),
        behind: methods(["recv"]),
        least: None,
        most: lost_in_ring("packet-v1", 1.0 / 3.0, 900_000.0),
    };
    assert!(answers.contains(&overload), "{answers:?}");
}

#[test]
fn only_methods_of_the_same_set_up_are_compared() {
    let mut large_frames = trial(1, "packet-v3", 900_000, 900_000);
    large_frames.profile.frame_size = SizeLabel::Octets(1518);
    large_frames.profile.mean_frame_size = 1518.0;
    let answers = answers(&[
        trial(1, "recv", 300_000, 300_000),
        trial(1, "packet-v3", 250_000, 240_000),
        trial(1, "packet-v3", 200_000, 200_000),
        large_frames,
    ]);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, .. }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert_eq!(*method, "recv");
    assert_eq!(*sustains, SustainedRate::AtLeast { pps: 300_000.0 });
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
    assert_eq!(answers.get(1), Some(&elsewhere));
}

#[test]
fn without_a_lossless_load_the_place_of_most_losses_is_named() {
    let none = BenchVerdict::NoneLossless {
        asked_pps: None,
        sent: None,
        is_some_unknown: false,
        closest: None,
        place: Some(Place::Ring),
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(verdict(&[trial(1, "recv", 100_000, 80_000), trial(2, "packet-v3", 100_000, 99_000)]), none);
}

/// A trial at the load of 100,000 frames per second that the user named, of which this number was delivered.
fn at_named_100k(method: &str, total_ns: u64, delivered: u32) -> TrialResult {
    let cost = Cost::exact(100_000, total_ns, total_ns / 10).trial(method);
    TrialResult {
        phase: Phase::FixedLoad,
        cpu: cost.cpu,
        intended_pps: cost.intended_pps,
        verdict: if delivered < 100_000 { Verdict::Lossy } else { Verdict::Lossless },
        ..trial(1, method, 100_000, delivered)
    }
}

#[test]
fn at_a_named_rate_the_cheapest_that_sustains_it_is_named() {
    let verdict = verdict(&[
        at_named_100k("recv", 900, 100_000),
        at_named_100k("packet-v3", 700, 100_000),
        at_named_100k("libpcap", 100, 90_000),
    ]);
    let BenchVerdict::Use { method, sustains, app_time, .. } = &verdict else { panic!("{verdict:?}") };
    assert_eq!(*method, "packet-v3");
    assert_eq!(*app_time, Some(exactly(70.0)));
    assert_eq!(*sustains, SustainedRate::Asked { pps: 100_000.0 });
}

#[test]
fn where_no_method_sustains_the_named_rate_it_is_in_the_verdict() {
    let verdict = verdict(&[at_named_100k("libpcap", 100, 90_000)]);
    let BenchVerdict::NoneLossless { asked_pps, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(asked_pps, Some(100_000.0));
}

/// A trial with this work at the load of 200,000 frames per second that the user named, of which this number was delivered.
fn at_named_200k(method: &str, work: &str, delivered: u32, app_ns: u64) -> TrialResult {
    let cost = Cost::exact(200_000, 10 * app_ns, app_ns).trial(method);
    let mut named = TrialResult {
        phase: Phase::FixedLoad,
        verdict: Verdict::Lossy,
        cpu: cost.cpu,
        intended_pps: cost.intended_pps,
        ..trial(1, method, 200_000, delivered)
    };
    named.profile.work = work.into();
    named
}

#[test]
fn a_load_for_which_one_thread_has_no_time_is_not_blamed_on_the_host() {
    let verdict_with = |work: &str, app_ns| {
        verdict(&["recv", "packet-v3"].map(|method| noisy(at_named_200k(method, work, 45_000, app_ns))))
    };
    let no_time =
        |time_of, ns_per_packet| BenchVerdict::NoTime { asked_pps: 200_000.0, time_of, ns_per_packet };
    // At 200,000 frames per second a thread has 5,000 ns for each.
    assert_eq!(verdict_with("ns:20000", 22_000), no_time(TimeOfThread::Work, 20_000.0));
    assert_eq!(verdict_with("loop:9000", 8000), no_time(TimeOfThread::Application, 8000.0));
    // 5,500 ns measured on a noisy host may be too many.
    let undecided = verdict_with("loop:9000", 5500);
    assert!(!matches!(undecided, BenchVerdict::NoTime { .. }), "{undecided:?}");
}

#[test]
fn where_the_host_disturbed_each_lossy_trial_there_is_no_answer() {
    let mut disturbed = noisy(at_named_200k("recv", "none", 199_000, 500));
    disturbed.noise.reasons = vec![Noise::SlowCpu];
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
    let slow_generator = TrialResult { offered_pps: 180_000.0, ..disturbed };
    let not_sent = NoAnswerBecause::NotSent { asked_pps: 200_000.0, sent_pps: 180_000.0 };
    assert_eq!(answers(&[slow_generator]), [no_answer(not_sent)]);
}

#[test]
fn trials_in_turns_name_a_method_though_noise_hides_whether_it_sustains_the_load() {
    let disturbed = ["packet-v3", "recv"].map(|method| {
        let trial = noisy(at_named_100k(method, 0, 99_000));
        TrialResult { cpu: CpuAccount::default(), ..trial }
    });
    let rounds = |captured: [[u32; 2]; 4]| {
        run_of(disturbed.iter().cloned().chain(captured.into_iter().flat_map(round)).collect())
    };
    let run = rounds([[90_000, 50_000], [90_500, 50_000], [90_000, 50_500], [90_200, 50_100]]);
    let answers = answers_of_run(&run);
    let BenchFinding::Verdict(BenchVerdict::Use { method, sustains, worse, .. }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert_eq!((method, worse[0].method == "recv"), (&"packet-v3".into(), true));
    assert_eq!(*sustains, SustainedRate::UnknownAt { asked_pps: 100_000.0 });
    assert!(!is_answered(&run), "whether it sustains the load was asked, too");
    // Without an order there is no method to name, and what the rounds show is still said.
    let chance = [[90_000, 50_000], [50_000, 90_000], [70_000, 40_000], [40_000, 70_000]];
    let answers = answers_of_run(&rounds(chance));
    let is_no_answer = matches!(answers[0], BenchFinding::Verdict(BenchVerdict::NoAnswer { .. }));
    assert!(is_no_answer && matches!(answers[1], BenchFinding::InTurns(_)), "{answers:?}");
}

#[test]
fn where_no_method_sustains_the_load_the_next_step_is_the_same_command_without_it() {
    let answers_with = |delivered| {
        let mut run = run_of(vec![at_named_200k("recv", "none", delivered, 500)]);
        let command = "/bin/capbench bench --rate 200k --tx eth1 --max-loss=0 --out here --quick";
        run.command = command.split(' ').map(String::from).collect();
        answers_of_run(&run)
    };
    let command = ["bench", "--tx", "eth1", "--quick"].map(String::from).to_vec();
    assert_eq!(answers_with(120_000)[1], BenchFinding::FindHighest { command });
    let sustained = answers_with(200_000);
    assert!(!sustained.iter().any(|fact| matches!(fact, BenchFinding::FindHighest { .. })), "{sustained:?}");
}

#[test]
fn the_table_names_the_limit_of_each_rate() {
    let summary = summary(vec![
        trial(1, "packet-v3", 900_000, 900_000),
        search_trial(2, "recv", 500_000, 0),
        noisy(search_trial(3, "recv", 550_000, 1000)),
        noisy(search_trial(4, "recv", 550_000, 1000)),
        noisy(search_trial(5, "packet-v1", 550_000, 1000)),
        search_trial(6, "packet-v2", 300_000, 100_000),
        search_trial(7, "libpcap", 300_000, 0),
        search_trial(8, "libpcap", 400_000, 100_000),
    ]);
    let limit_column = summary.columns.iter().position(|column| column.key == "limit").unwrap();
    let rate_and_limit = |method: &str| {
        let row = summary.rows.iter().find(|row| row.cells[0] == Cell::from(method)).unwrap();
        (row.cells[1].clone(), row.cells[limit_column].clone())
    };
    assert_eq!(rate_and_limit("packet-v3"), (Cell::AtLeast(900_000.0), Cell::from("generator")));
    assert_eq!(rate_and_limit("recv"), (Cell::AtLeast(500_000.0), Cell::from("noise")));
    assert_eq!(rate_and_limit("packet-v1"), (Cell::Unknown, Cell::Empty));
    assert_eq!(rate_and_limit("packet-v2"), (Cell::from("none"), Cell::from("ring")));
    assert_eq!(rate_and_limit("libpcap"), (Cell::Number(300_000.0), Cell::from("ring")));
    let notes = summary.notes.concat();
    assert!(notes.contains("none: it sustained none of the loads that were tried."), "{notes}");
}

#[test]
fn the_costs_of_the_cheapest_are_a_range() {
    let answers = answers(&[
        Cost::exact(95_000, 900, 60).trial("packet-v3"),
        Cost::exact(95_000, 900, 62).trial("libpcap"),
        Cost::exact(95_000, 900, 500).trial("recv"),
        trial(2, "recv", 100_000, 90_000),
    ]);
    let expected = BenchFinding::CostsDiffer {
        time: ComparedTime::Application,
        at_pps: Some(95_000.0),
        // 60 and 62 ns cannot be distinguished.
        cheapest: methods(["packet-v3", "libpcap"]),
        cheapest_time: NsRange { low_ns: 60.0, high_ns: 62.0 },
        undecided: Vec::new(),
        dearest: "recv".into(),
        dearest_time: exactly(500.0),
    };
    assert_eq!(*cost_fact(&answers), expected);
}

#[test]
fn the_total_time_is_named_where_it_decides() {
    let answers = answers(&[
        Cost::exact(95_000, 900, 60).trial("libpcap"),
        trial(2, "libpcap", 100_000, 100_000),
        Cost::exact(95_000, 700, 60).trial("packet-v3"),
        trial(2, "packet-v3", 100_000, 100_000),
    ]);
    let expected = BenchFinding::CostsDiffer {
        time: ComparedTime::Total,
        at_pps: Some(95_000.0),
        cheapest: methods(["packet-v3"]),
        cheapest_time: exactly(700.0),
        undecided: Vec::new(),
        dearest: "libpcap".into(),
        dearest_time: exactly(900.0),
    };
    assert_eq!(*cost_fact(&answers), expected);
}

#[test]
fn a_rate_that_the_generator_did_not_send_is_not_tested() {
    let short_of_100k = |method| {
        let trial = trial(1, method, 22_000, 22_000);
        TrialResult { phase: Phase::FixedLoad, intended_pps: Some(100_000.0), intended: 100_000, ..trial }
    };
    let not_sent = BenchVerdict::NotSent { asked_pps: 100_000.0, sent_pps: 22_000.0 };
    assert_eq!(verdict(&[short_of_100k("recv"), short_of_100k("packet-v3")]), not_sent);
}

#[test]
fn invalid_trials_name_no_method() {
    let reason = "11 frames were delivered of 10 sent";
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some(reason.into()),
        ..trial(7, "recv", 10, 10)
    };
    let every_trial_invalid = BenchVerdict::EveryTrialInvalid { reason: reason.into() };
    assert_eq!(answers(&[invalid]), [BenchFinding::Verdict(every_trial_invalid)]);
}
