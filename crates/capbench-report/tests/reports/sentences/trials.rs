//! What is found in trials of any run, as facts. Their words: `sentences/trials/tests.rs` and `trials/loss.rs`.

use std::path::Path;

use capbench_judge::finding::Finding;
use capbench_judge::finding::loss_pattern::LossPatternFinding;
use capbench_judge::finding::trials::{
    Account, Attempt, LivelockedTrial, LostMeanwhile, ReportSums, StalledCpu, TrialFinding,
};
use capbench_judge::livelock;
use capbench_model::disturbance::{CpuDisturbance, Disturbance, Stall};
use capbench_model::ledger::Entry;
use capbench_model::loss_pattern::{
    Burst, FlowLoss, LossByFlow, LossPattern, MarkedLoss, Position, Spread, Window,
};
use capbench_model::noise::{Noise, NoiseOfAttempt};
use capbench_model::places::Place;
use capbench_model::trial::{
    Emptying, Generator, Guarding, Livelock, ProgramReport, Retried, SizeLabel, TrialResult, Verdict,
};

use capbench_report::formats::text::{self, Extent};
use capbench_report::report::report;
use capbench_results::read::Run;

use super::{find, run_of, trial};

const MS: u64 = 1_000_000;

/// A fact about trials, and their numbers.
type WithTrials = (TrialFinding, Vec<u32>);

fn facts(trials: &[TrialResult]) -> Vec<WithTrials> {
    let mut facts = Vec::new();
    for finding in find(trials) {
        if let Some(Finding::Trials(fact)) = finding.fact {
            facts.push((fact, finding.trials));
        }
    }
    facts
}

fn account(facts: &[WithTrials]) -> Option<&Account> {
    facts.iter().find_map(|(fact, _)| match fact {
        TrialFinding::AccountedFor(account) => Some(account),
        _ => None,
    })
}

#[test]
fn nothing_measured_nothing_found() {
    assert!(find(&[]).is_empty());
}

#[test]
fn an_unexplained_packet_is_never_called_accounted_for() {
    let facts = facts(&[TrialResult { unexplained: 1, ..trial(1, "recv", 1000, 990) }]);
    let unexplained = TrialFinding::Unexplained { trial: 1, method: "recv".into(), packets: 1 };
    assert!(facts.contains(&(unexplained, vec![1])), "{facts:?}");
    assert_eq!(account(&facts), None);
}

#[test]
fn the_account_has_all_lost_and_all_buffered_packets() {
    for delivered in [1000, 999, 990] {
        let facts = facts(&[trial(1, "recv", 1000, delivered)]);
        let account = account(&facts).unwrap();
        let lost: Vec<_> = account.lost.iter().map(|lost| (lost.place, lost.frames)).collect();
        let frames = u64::from(1000 - delivered);
        let expected = if frames == 0 { vec![] } else { vec![(Place::Ring, frames)] };
        assert_eq!((lost, account.sent_frames, account.buffered_frames), (expected, 1000, 0));
    }
    // It took a second more to read what waited.
    let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let facts = facts(&[TrialResult { emptying, sending_s: 1.0, ..trial(1, "recv", 1000, 1000) }]);
    assert_eq!(account(&facts).unwrap().buffered_frames, 500);
}

#[test]
fn counts_that_only_generators_have_are_no_account_of_capbench() {
    let unverified_because = Some("it is elsewhere".to_string());
    let generator = Generator { unverified_because, ..Generator::default() };
    let facts = facts(&[TrialResult { generators: vec![generator], ..trial(1, "recv", 10, 10) }]);
    assert!(account(&facts).unwrap().is_sent_unverified);
    let reason = "it is elsewhere".into();
    assert_eq!(facts[0], (TrialFinding::SentUnverified { reason }, vec![1]));
}

#[test]
fn what_programs_report_is_summed_if_each_trial_has_it() {
    let with = |number, report| TrialResult { report: Some(report), ..trial(number, "recv", 10, 9) };
    let whole = ProgramReport { captured: Some(9), received: Some(10), dropped: Some(1), in_file: Some(9) };
    let reported = |trials: &[TrialResult]| {
        facts(trials).into_iter().find_map(|(fact, trials)| match fact {
            TrialFinding::ProgramReports(sums) => Some((sums, trials)),
            _ => None,
        })
    };
    let sums = ReportSums {
        method: "recv".into(),
        trials: 1,
        captured: Some(9),
        received: Some(10),
        dropped: Some(1),
        in_files: Some(9),
        delivered: 9,
        sent: 10,
    };
    assert_eq!(reported(&[with(1, whole)]), Some((sums.clone(), vec![1])));
    let other = ProgramReport { received: None, in_file: Some(11), ..whole };
    let both = ReportSums {
        trials: 2,
        captured: Some(18),
        received: None,
        dropped: Some(2),
        in_files: Some(20),
        delivered: 18,
        sent: 20,
        ..sums
    };
    assert_eq!(reported(&[with(1, whole), with(2, other)]), Some((both, vec![1, 2])));
    assert_eq!(reported(&[trial(1, "recv", 10, 9), with(2, ProgramReport::default())]), None);
}

#[test]
fn invalid_and_discarded_trials_are_listed_with_their_reason() {
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some("11 frames were delivered of 10 sent (negative loss)".into()),
        ..trial(7, "recv", 10, 10)
    };
    let aside = Retried { trial: trial(1, "recv", 10, 10), because: attempt(Noise::Suspend) };
    let guarding = Guarding { attempt: 2, discarded: vec![aside], recovery: None };
    let facts =
        facts(&[invalid, TrialResult { guarding: Some(Box::new(guarding)), ..trial(8, "recv", 10, 10) }]);
    let invalid = TrialFinding::Invalid {
        reason: "11 frames were delivered of 10 sent (negative loss)".into(),
        invalid_trials: 1,
        all_trials: 2,
        methods: vec!["recv".into()],
    };
    let attempts = vec![Attempt { trial: 1, method: "recv".into() }];
    let retried = TrialFinding::Retried { noise: Noise::Suspend, attempts };
    assert_eq!(facts[0], (invalid, vec![7]));
    assert!(facts.contains(&(retried, vec![1])), "{facts:?}");
}

/// A discarded attempt, for one reason.
fn attempt(noise: Noise) -> NoiseOfAttempt {
    NoiseOfAttempt { words: Vec::new(), reasons: vec![noise] }
}

#[test]
fn reasons_of_noise_and_repeated_attempts_are_only_in_the_details() {
    let aside = Retried { trial: trial(1, "recv", 10, 10), because: attempt(Noise::ForeignLoad) };
    let guarding = Guarding { attempt: 2, discarded: vec![aside], recovery: None };
    let mut noisy = trial(2, "recv", 10, 10);
    noisy.noise.reasons = vec![Noise::ForeignLoad];
    noisy.guarding = Some(Box::new(guarding));
    (noisy.cpu.tracer_ns, noisy.cpu.tracer_ns_per_packet) = (Some(80), Some(8.0));
    let run = Run::new(run_of(vec![noisy]), Path::new("/nowhere"));
    let printed = |extent| text::text(&report(&run), extent);
    let (answer, details) = (printed(Extent::Answer), printed(Extent::Details));
    for beginning in ["- Noisy: ", "- Attempt 1 ", "- The tracer itself "] {
        assert!(!answer.contains(beginning) && details.contains(beginning), "{answer}{details}");
    }
    assert!(answer.contains("\n- Every packet is accounted for") && answer.contains("more with --details"));
    assert!(answer.contains("1 of 1 trial is noisy: other work ran on their CPUs."), "{answer}");
}

#[test]
fn livelock_is_found_in_the_worst_trial_against_the_best() {
    let mut trials = [trial(1, "recv", 1_000_000, 100_000), trial(2, "recv", 400_000, 400_000)];
    livelock::mark(&mut trials);
    let livelocked = LivelockedTrial {
        trial: 1,
        method: "recv".into(),
        frame_size: SizeLabel::Octets(64),
        placement: "same".into(),
        work: "none".into(),
        offered_pps: 1e6,
        delivered_pps: 1e5,
        best: Livelock { against: 2, offered_pps: 4e5, delivered_pps: 4e5 },
    };
    let facts = facts(&trials);
    assert!(facts.contains(&(TrialFinding::Livelock(livelocked), vec![2, 1])), "{facts:?}");
}

#[test]
fn the_largest_cost_of_the_tracer_is_found_with_its_trials() {
    let traced = |number, ns_per_packet: Option<f64>| {
        let mut trial = trial(number, "recv", 1000, 1000);
        trial.sending_s = 1e-3;
        trial.cpu.tracer_ns_per_packet = ns_per_packet;
        trial.cpu.tracer_ns = ns_per_packet.map(|ns| ns as u64 * 1000);
        trial
    };
    let cost = |trials: &[TrialResult]| {
        let mut facts = facts(trials);
        facts.retain(|(fact, _)| matches!(fact, TrialFinding::TracerCost { .. }));
        facts
    };
    let expected = TrialFinding::TracerCost { ns_per_packet: 80.0, cpu_ratio: 0.08 };
    let found = cost(&[traced(1, Some(50.0)), traced(2, None), traced(3, Some(80.0))]);
    assert_eq!(found, [(expected, vec![1, 3])]);
    assert_eq!(cost(&[traced(1, None)]), []);
}

/// Loss in bursts of these beginnings, in ms, and lengths, in frames.
fn lost_at(bursts: &[(u64, u64)]) -> LossPattern {
    let burst = |&(from_ms, frames): &(u64, u64)| Burst {
        first: 0,
        frames,
        from_ns: from_ms * MS,
        to_ns: (from_ms + 1) * MS,
        position: Position::Steady,
        marked: None,
    };
    let lost = bursts.iter().map(|(_, frames)| frames).sum();
    LossPattern {
        lost_steadily: 0,
        longest: bursts.iter().map(burst).collect(),
        ..LossPattern::in_windows(100_000, lost, 10, 2)
    }
}

#[test]
fn frames_lost_while_a_cpu_stood_still_are_told_from_others() {
    let lost_in = |place: Place| {
        let stall = Stall { until_ns: 500 * MS, at_least_ns: 3 * MS, at_most_ns: 5 * MS };
        let cpu = CpuDisturbance { cpu: 1, stalls: Some(vec![stall]), ..CpuDisturbance::default() };
        let facts = facts(&[TrialResult {
            disturbance: Disturbance { cpus: vec![cpu], ..Disturbance::default() },
            loss_pattern: Some(lost_at(&[(497, 700), (501, 200), (300, 100)])),
            ledger: vec![Entry { place, count: Some(1000), source: String::new() }],
            ..trial(1, "recv", 100_000, 99_000)
        }]);
        facts.into_iter().find_map(|(fact, trials)| match fact {
            TrialFinding::Stalled(cpu) => Some((cpu, trials)),
            _ => None,
        })
    };
    let stalled = StalledCpu {
        cpu: 1,
        stalls: 1,
        trials: 1,
        at_most_ns: 5 * MS,
        at_least_ns: 3 * MS,
        lost_meanwhile: Some(LostMeanwhile { lost_frames: 1000, while_stalled_frames: 700 }),
    };
    assert_eq!(lost_in(Place::Backlog), Some((stalled.clone(), vec![1])));
    let elsewhere = StalledCpu { lost_meanwhile: None, ..stalled };
    assert_eq!(lost_in(Place::Ring), Some((elsewhere, vec![1])));
}

fn shape() -> LossPattern {
    LossPattern {
        last_lost: Some(900_000),
        bursts: Spread { count: 12, total: 20_000, max: Some(9_000), ..Spread::default() },
        worst_window: Some(Window {
            from_ns: 420_000_000,
            length_ns: 100_000_000,
            sent: 50_000,
            lost: 20_000,
        }),
        ..LossPattern::in_windows(1_000_000, 20_000, 20, 2)
    }
}

fn of_shape(shape: LossPattern) -> Vec<LossPatternFinding> {
    let trial = TrialResult { loss_pattern: Some(shape), ..trial(3, "packet-v2", 1_000_000, 980_000) };
    let mut facts = Vec::new();
    for finding in find(&[trial]) {
        if let Some(Finding::LossPattern(fact)) = finding.fact {
            assert_eq!(finding.trials, [3]);
            facts.push(fact);
        }
    }
    facts
}

#[test]
fn a_burst_is_told_from_a_steady_loss() {
    let worst_window = LossPatternFinding::WorstWindow {
        trial: 3,
        method: "packet-v2".into(),
        from_ns: 420 * MS,
        loss_ratio: 0.4,
        trial_loss_ratio: 0.02,
        bursts: 12,
        longest_burst: 9_000,
    };
    assert_eq!(of_shape(shape()), [worst_window]);
    let worst = Window { lost: 1_500, ..shape().worst_window.unwrap() };
    assert!(of_shape(LossPattern { worst_window: Some(worst), ..shape() }).is_empty());
    assert!(of_shape(LossPattern { worst_window: None, lost: 0, ..shape() }).is_empty());
}

#[test]
fn loss_of_the_start_is_no_want_of_capacity() {
    let at_start =
        LossPatternFinding::AtStart { trial: 3, method: "packet-v2".into(), share: 1.0, lost: 20_000 };
    let early = LossPattern { lost_at_start: 20_000, lost_steadily: 0, ..shape() };
    assert_eq!(of_shape(early.clone()), [at_start]);
    let short = of_shape(LossPattern { windows: 2, ..early });
    assert!(
        matches!(short[0], LossPatternFinding::WorstWindow { .. }),
        "too short to have a start: {short:?}"
    );
}

#[test]
fn a_flow_that_loses_more_is_named() {
    let worst = vec![FlowLoss { flow: 7, sent: 1000, lost: 900 }];
    let flows = LossByFlow { flows: 1000, lossy_flows: 30, lost: Spread::default(), worst };
    let found = of_shape(LossPattern { flows: Some(flows), ..shape() });
    let worst_flow = LossPatternFinding::WorstFlow {
        trial: 3,
        method: "packet-v2".into(),
        flow: 7,
        loss_ratio: 0.9,
        trial_loss_ratio: 0.02,
        lossy_flows: 30,
        flows: 1000,
    };
    assert_eq!(found[1], worst_flow);
}

#[test]
fn marks_bear_the_counter_out_or_do_not() {
    let marks = MarkedLoss {
        blocks: None,
        marked_blocks: None,
        bursts: 12,
        frames: 20_000,
        cleared: 0,
        bursts_elsewhere: 0,
        frames_elsewhere: 0,
        readings: 3,
        ring_drops: Some(20_000),
        drops_without_mark: Some(0),
        frames_beyond_drops: Some(0),
    };
    let agreed = of_shape(LossPattern { marks: Some(marks), ..shape() });
    assert_eq!(agreed[1], LossPatternFinding::RingLossConfirmed { ring_drops: 20_000, bursts: 12 });
    let open = MarkedLoss { frames: 5_000, drops_without_mark: Some(15_000), ..marks };
    let open = of_shape(LossPattern { marks: Some(open), ..shape() });
    let unmarked = LossPatternFinding::UnmarkedLoss {
        trial: 3,
        method: "packet-v2".into(),
        ring_drops: 20_000,
        without_mark: 15_000,
    };
    assert_eq!(open[1], unmarked);
}
