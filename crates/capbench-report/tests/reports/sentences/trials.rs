//! What trials of any run show, as facts. Their words: `sentences/trials/tests.rs` and `trials/loss.rs`.

use std::path::Path;

use capbench_judge::finding::Finding;
use capbench_judge::finding::loss_pattern::LossPatternFinding;
use capbench_judge::finding::trials::{
    Account, Attempt, LivelockedTrial, LostMeanwhile, ReportSums, StalledCpu, TrialFinding,
};
use capbench_judge::livelock;
use capbench_model::disturbance::{CpuDisturbance, Disturbance, Stall};
use capbench_model::disturbers::{CpuUser, Disturbers};
use capbench_model::ledger::{Entry, LostAt};
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
use capbench_report::sentences;
use capbench_results::read::Run;

use super::{find, run_of, trial};

const MS: u64 = 1_000_000;

/// A fact about trials, and their numbers.
type FactAndTrials = (TrialFinding, Vec<u32>);

/// What these trials show, as facts about trials.
fn facts(trials: &[TrialResult]) -> Vec<FactAndTrials> {
    let mut facts = Vec::new();
    for finding in find(trials) {
        if let Some(Finding::Trials(fact)) = finding.fact {
            facts.push((fact, finding.trials));
        }
    }
    facts
}

/// The account of packets, if there is one.
fn account(facts: &[FactAndTrials]) -> Option<&Account> {
    for (fact, _) in facts {
        if let TrialFinding::AccountedFor(account) = fact {
            return Some(account);
        }
    }
    None
}

#[test]
fn no_trials_show_nothing() {
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
fn the_account_has_all_lost_packets() {
    for (delivered, lost) in [
        (1000, vec![]),
        (999, vec![LostAt { place: Place::Ring, frames: 1 }]),
        (990, vec![LostAt { place: Place::Ring, frames: 10 }]),
    ] {
        let facts = facts(&[trial(1, "recv", 1000, delivered)]);
        let account = account(&facts).unwrap();
        assert_eq!(account.lost, lost);
        assert_eq!(account.sent_frames, 1000);
        assert_eq!(account.buffered_frames, 0);
    }
}

#[test]
fn the_account_has_all_buffered_packets() {
    // It took a second of sending, and a second more to read what was in buffers: half of the frames.
    let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let facts = facts(&[TrialResult { emptying, sending_s: 1.0, ..trial(1, "recv", 1000, 1000) }]);
    assert_eq!(account(&facts).unwrap().buffered_frames, 500);
}

#[test]
fn counts_of_generators_are_unverified() {
    let unverified_because = Some("it is elsewhere".to_string());
    let generator = Generator { unverified_because, ..Generator::default() };
    let facts = facts(&[TrialResult { generators: vec![generator], ..trial(1, "recv", 10, 10) }]);
    assert!(account(&facts).unwrap().is_sent_unverified);
    let reason = "it is elsewhere".into();
    assert_eq!(facts[0], (TrialFinding::SentUnverified { reason }, vec![1]));
}

/// A trial that delivered 9 of 10 frames, with the report of a program.
fn reported(number: u32, report: ProgramReport) -> TrialResult {
    TrialResult { report: Some(report), ..trial(number, "recv", 10, 9) }
}

/// The sums of what programs report in these trials, with their numbers.
fn report_sums(trials: &[TrialResult]) -> Option<(ReportSums, Vec<u32>)> {
    for (fact, trials) in facts(trials) {
        if let TrialFinding::ProgramReports(sums) = fact {
            return Some((sums, trials));
        }
    }
    None
}

#[test]
fn counts_that_programs_report_are_summed_if_each_trial_has_them() {
    let whole = ProgramReport { captured: Some(9), received: Some(10), dropped: Some(1), in_file: Some(9) };
    let of_one = ReportSums {
        method: "recv".into(),
        trials: 1,
        captured: Some(9),
        received: Some(10),
        dropped: Some(1),
        in_files: Some(9),
        delivered: 9,
        sent: 10,
    };
    assert_eq!(report_sums(&[reported(1, whole)]), Some((of_one.clone(), vec![1])));

    let without_received = ProgramReport { received: None, in_file: Some(11), ..whole };
    let of_both = ReportSums {
        trials: 2,
        captured: Some(18),
        received: None,
        dropped: Some(2),
        in_files: Some(20),
        delivered: 18,
        sent: 20,
        ..of_one
    };
    let sums = report_sums(&[reported(1, whole), reported(2, without_received)]);
    assert_eq!(sums, Some((of_both, vec![1, 2])));

    let without_counts = reported(2, ProgramReport::default());
    assert_eq!(report_sums(&[trial(1, "recv", 10, 9), without_counts]), None);
}

#[test]
fn invalid_trials_are_listed_with_their_reason() {
    let reason = "11 frames were delivered of 10 sent (negative loss)";
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some(reason.into()),
        ..trial(7, "recv", 10, 10)
    };
    let facts = facts(&[invalid, trial(8, "recv", 10, 10)]);
    let expected = TrialFinding::Invalid {
        reason: reason.into(),
        invalid_trials: 1,
        all_trials: 2,
        methods: vec!["recv".into()],
    };
    assert_eq!(facts[0], (expected, vec![7]));
}

#[test]
fn discarded_attempts_are_listed_with_their_reason() {
    let facts = facts(&[with_discarded_attempt(trial(8, "recv", 10, 10), Noise::Suspend)]);
    let attempts = vec![Attempt { trial: 1, method: "recv".into() }];
    let retried = TrialFinding::Retried { noise: Noise::Suspend, attempts };
    assert!(facts.contains(&(retried, vec![1])), "{facts:?}");
}

/// The trial, whose first attempt, number 1, was discarded for this reason.
fn with_discarded_attempt(trial_that_counts: TrialResult, noise: Noise) -> TrialResult {
    let because = NoiseOfAttempt { words: Vec::new(), reasons: vec![noise] };
    let discarded = Retried { trial: trial(1, "recv", 10, 10), because };
    let guarding = Guarding { attempt: 2, discarded: vec![discarded], recovery: None };
    TrialResult { guarding: Some(Box::new(guarding)), ..trial_that_counts }
}

/// A noisy trial of a second in which a process of this name used most of CPU 1.
fn disturbed_by(comm: &str) -> TrialResult {
    let process = CpuUser { pid: 20403, comm: comm.into(), cpu: 1, run_ns: 834 * MS, ..CpuUser::default() };
    let disturbers = Disturbers { window_ns: 1000 * MS, processes: vec![process], ..Disturbers::default() };
    let mut noisy = trial(2, "recv", 10, 10);
    noisy.noise.reasons = vec![Noise::SlowCpu];
    noisy.disturbance.disturbers = Some(disturbers);
    noisy
}

#[test]
fn what_disturbed_a_noisy_run_is_named_after_the_first_sentence() {
    let mut results = run_of(vec![disturbed_by("\u{1b}]0;ok\u{7}")]);
    sentences::conclude(&mut results);
    let report = report(&Run::new(results, Path::new("/nowhere")));
    let named = "\"\\u001b]0;ok\\u0007\" (pid 20403) used 83 % of CPU 1.";
    let answer = text::text(&report, Extent::Answer);
    let verdict_lines = report.verdict.text.len() / 80 + 1;
    let line = answer.lines().position(|line| line.starts_with(named)).expect("it is named");
    assert!(line <= verdict_lines, "{answer}");
    assert_eq!(answer.matches(named).count(), 1, "{answer}");
    assert!(!answer.contains(['\u{1b}', '\u{7}']), "{answer}");
    let caveat = report.disturbers.map(|disturbers| &report.caveats[disturbers]);
    assert!(caveat.is_some_and(|caveat| caveat.trials == [2]), "{:?}", report.caveats);
}

#[test]
fn details_of_noise_are_not_in_the_answer() {
    let mut noisy = with_discarded_attempt(trial(2, "recv", 10, 10), Noise::ForeignLoad);
    noisy.noise.reasons = vec![Noise::ForeignLoad];
    noisy.intended += 1;
    noisy.cpu.tracer_ns = Some(80);
    noisy.cpu.tracer_ns_per_packet = Some(8.0);
    let report = report(&Run::new(run_of(vec![noisy]), Path::new("/nowhere")));
    let answer = text::text(&report, Extent::Answer);
    let details = text::text(&report, Extent::Details);
    for beginning in ["- Noisy: ", "- Attempt 1 ", "- The tracer itself "] {
        assert!(!answer.contains(beginning), "{answer}");
        assert!(details.contains(beginning), "{details}");
    }
    assert!(answer.contains("\n- Every packet is accounted for"), "{answer}");
    assert!(answer.contains("more with --details"), "{answer}");
    assert!(
        answer.contains("Noise may have changed 1 of 1 trial: other work ran on their CPUs."),
        "{answer}"
    );
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

/// A trial of 1,000 frames in a millisecond, with the cost of the tracer if it was traced.
fn traced(number: u32, ns_per_packet: Option<f64>) -> TrialResult {
    let mut trial = trial(number, "recv", 1000, 1000);
    trial.sending_s = 1e-3;
    trial.cpu.tracer_ns_per_packet = ns_per_packet;
    trial.cpu.tracer_ns = ns_per_packet.map(|ns| ns as u64 * 1000);
    trial
}

/// The facts about the cost of the tracer.
fn tracer_costs(trials: &[TrialResult]) -> Vec<FactAndTrials> {
    let mut facts = facts(trials);
    facts.retain(|(fact, _)| matches!(fact, TrialFinding::TracerCost { .. }));
    facts
}

#[test]
fn the_largest_cost_of_the_tracer_is_found_with_its_trials() {
    let found = tracer_costs(&[traced(1, Some(50.0)), traced(2, None), traced(3, Some(80.0))]);
    // 1,000 frames of 80 ns in a millisecond.
    let largest = TrialFinding::TracerCost { ns_per_packet: 80.0, cpu_ratio: 0.08 };
    assert_eq!(found, [(largest, vec![1, 3])]);
    assert_eq!(tracer_costs(&[traced(1, None)]), []);
}

/// Loss in bursts of 1 ms, given by their beginning in ms and their frames.
fn lost_in_bursts(bursts: &[(u64, u64)]) -> LossPattern {
    let mut longest = Vec::new();
    let mut lost = 0;
    for &(from_ms, frames) in bursts {
        lost += frames;
        longest.push(Burst {
            first: 0,
            frames,
            from_ns: from_ms * MS,
            to_ns: (from_ms + 1) * MS,
            position: Position::Steady,
            marked: None,
        });
    }
    LossPattern { lost_steadily: 0, longest, ..LossPattern::in_windows(100_000, lost, 10, 2) }
}

/// The stall of a CPU in a trial that lost 1,000 frames at this place. The CPU stalled until 500 ms, for 3 to 5 ms: 700 frames were
/// lost in that time, 200 after it and 100 before it.
fn stalled_cpu(place: Place) -> Option<(StalledCpu, Vec<u32>)> {
    let stall = Stall { until_ns: 500 * MS, at_least_ns: 3 * MS, at_most_ns: 5 * MS };
    let cpu = CpuDisturbance { cpu: 1, stalls: Some(vec![stall]), ..CpuDisturbance::default() };
    let facts = facts(&[TrialResult {
        disturbance: Disturbance { cpus: vec![cpu], ..Disturbance::default() },
        loss_pattern: Some(lost_in_bursts(&[(497, 700), (501, 200), (300, 100)])),
        ledger: vec![Entry { place, count: Some(1000), source: String::new(), source_fact: None }],
        ..trial(1, "recv", 100_000, 99_000)
    }]);
    for (fact, trials) in facts {
        if let TrialFinding::Stalled(cpu) = fact {
            return Some((cpu, trials));
        }
    }
    None
}

#[test]
fn frames_lost_in_the_backlog_while_a_cpu_stalled_are_counted() {
    let stalled = StalledCpu {
        cpu: 1,
        stalls: 1,
        trials: 1,
        at_most_ns: 5 * MS,
        at_least_ns: 3 * MS,
        lost_meanwhile: Some(LostMeanwhile { lost_frames: 1000, while_stalled_frames: 700 }),
    };
    assert_eq!(stalled_cpu(Place::Backlog), Some((stalled.clone(), vec![1])));
    // A stall explains no losses of the ring.
    let without_losses = StalledCpu { lost_meanwhile: None, ..stalled };
    assert_eq!(stalled_cpu(Place::Ring), Some((without_losses, vec![1])));
}

/// A loss of 2 % in a second. 12 bursts, of up to 9,000 frames, are all within the 100 ms from 420 ms on: 40 % of their frames.
fn lost_in_one_window() -> LossPattern {
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

/// What trial 3 shows with this pattern of its losses.
fn pattern_facts(pattern: LossPattern) -> Vec<LossPatternFinding> {
    let trial = TrialResult { loss_pattern: Some(pattern), ..trial(3, "packet-v2", 1_000_000, 980_000) };
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
fn a_loss_in_one_window_is_distinguished_from_a_steady_loss() {
    let worst_window = LossPatternFinding::WorstWindow {
        trial: 3,
        method: "packet-v2".into(),
        from_ns: 420 * MS,
        loss_ratio: 0.4,
        trial_loss_ratio: 0.02,
        bursts: 12,
        longest_burst: 9_000,
    };
    assert_eq!(pattern_facts(lost_in_one_window()), [worst_window]);
    // 3 % of a window are hardly more than 2 % of the trial.
    let window = Window { lost: 1_500, ..lost_in_one_window().worst_window.unwrap() };
    let steady = LossPattern { worst_window: Some(window), ..lost_in_one_window() };
    assert!(pattern_facts(steady).is_empty());
}

#[test]
fn no_loss_has_no_pattern() {
    let no_loss = LossPattern { worst_window: None, lost: 0, ..lost_in_one_window() };
    assert!(pattern_facts(no_loss).is_empty());
}

#[test]
fn loss_at_the_start_is_distinguished_from_too_little_capacity() {
    let at_start =
        LossPatternFinding::AtStart { trial: 3, method: "packet-v2".into(), share: 1.0, lost: 20_000 };
    let early = LossPattern { lost_at_start: 20_000, lost_steadily: 0, ..lost_in_one_window() };
    assert_eq!(pattern_facts(early.clone()), [at_start]);
    // A trial of two windows is too short to have a start.
    let short = pattern_facts(LossPattern { windows: 2, ..early });
    assert!(matches!(short[0], LossPatternFinding::WorstWindow { .. }), "{short:?}");
}

#[test]
fn a_flow_that_loses_more_than_others_is_named() {
    let worst = vec![FlowLoss { flow: 7, sent: 1000, lost: 900 }];
    let flows = LossByFlow { flows: 1000, lossy_flows: 30, lost: Spread::default(), worst };
    let facts = pattern_facts(LossPattern { flows: Some(flows), ..lost_in_one_window() });
    let worst_flow = LossPatternFinding::WorstFlow {
        trial: 3,
        method: "packet-v2".into(),
        flow: 7,
        loss_ratio: 0.9,
        trial_loss_ratio: 0.02,
        lossy_flows: 30,
        flows: 1000,
    };
    assert_eq!(facts[1], worst_flow);
}

#[test]
fn marks_of_the_ring_confirm_its_counter_or_do_not() {
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
    let confirmed = pattern_facts(LossPattern { marks: Some(marks), ..lost_in_one_window() });
    assert_eq!(confirmed[1], LossPatternFinding::RingLossConfirmed { ring_drops: 20_000, bursts: 12 });

    let few_marks = MarkedLoss { frames: 5_000, drops_without_mark: Some(15_000), ..marks };
    let unmarked = LossPatternFinding::UnmarkedLoss {
        trial: 3,
        method: "packet-v2".into(),
        ring_drops: 20_000,
        without_mark: 15_000,
    };
    assert_eq!(pattern_facts(LossPattern { marks: Some(few_marks), ..lost_in_one_window() })[1], unmarked);
}
