//! What is said of trials of any run.

use std::path::Path;

use capbench_judge::livelock;
use capbench_model::disturbance::{CpuDisturbance, Disturbance, Stall};
use capbench_model::ledger::Entry;
use capbench_model::loss_pattern::{
    Burst, FlowLoss, LossByFlow, LossPattern, MarkedLoss, Position, Spread, Window,
};
use capbench_model::places::Place;
use capbench_model::trial::{Emptying, Guarding, Retried};
use capbench_model::trial::{ProgramReport, TrialResult, Verdict};

use capbench_report::formats::text::{self, Extent};
use capbench_report::report::report;
use capbench_results::read::Run;

use super::{find, run_of, texts, trial};

const MS: u64 = 1_000_000;

#[test]
fn nothing_measured_nothing_found() {
    assert!(find(&[]).is_empty());
}

#[test]
fn an_unexplained_packet_is_never_called_accounted_for() {
    let text = texts(&[TrialResult { unexplained: 1, ..trial(1, "recv", 1000, 990) }]);
    assert!(text.contains("Trial 1 (recv): 1 packets are not explained by any counter. [1]"), "{text}");
    assert!(!text.contains("accounted for"), "{text}");
}

#[test]
fn the_account_says_how_many_packets_were_lost_and_where() {
    for (delivered, lost) in [
        (1000, "none was lost."),
        (999, "1 was lost in the ring or socket queue."),
        (990, "10 were lost in the ring or socket queue."),
    ] {
        let text = texts(&[trial(1, "recv", 1000, delivered)]);
        let expected = format!("Every packet is accounted for: of 1,000 sent in 1 trial, {lost} [1]");
        assert!(text.contains(&expected), "{text}");
    }
    // It took a second more to read what waited.
    let emptying = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let text = texts(&[TrialResult { emptying, sending_s: 1.0, ..trial(1, "recv", 1000, 1000) }]);
    assert!(text.contains("none was lost yet: 500 waited in buffers when sending ended"), "{text}");
}

#[test]
fn what_programs_report_is_said_beside_what_was_found() {
    let with = |number, report| TrialResult { report: Some(report), ..trial(number, "cmd:x", 10, 9) };
    let whole = ProgramReport { captured: Some(9), received: Some(10), dropped: Some(1), in_file: Some(9) };
    let said = |trials: &[TrialResult]| {
        let found = find(trials).into_iter().filter(|finding| finding.text.starts_with("cmd:x reports"));
        found.map(|finding| (finding.text, finding.trials)).collect::<Vec<_>>()
    };
    let text =
        "cmd:x reports 9 captured, 10 received, 1 dropped; its file has 9 frames of the trial; 10 were sent.";
    assert_eq!(said(&[with(1, whole)]), [(text.to_string(), vec![1])]);
    let other = ProgramReport { received: None, in_file: Some(11), ..whole };
    let text = "cmd:x reports 18 captured, 2 dropped; its files have 20 frames, 18 of them intact and of the 2 \
                trials; 20 were sent.";
    assert_eq!(said(&[with(1, whole), with(2, other)]), [(text.to_string(), vec![1, 2])]);
    assert!(said(&[trial(1, "cmd:x", 10, 9), with(2, ProgramReport::default())]).is_empty());
}

#[test]
fn invalid_and_discarded_trials_are_listed_with_their_reason() {
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some("11 frames were delivered of 10 sent (negative loss)".into()),
        ..trial(7, "recv", 10, 10)
    };
    let aside = Retried { trial: trial(1, "recv", 10, 10), because: vec!["a host slept".into()] };
    let guarding = Guarding { attempt: 2, discarded: vec![aside], recovery: None };
    let text =
        texts(&[invalid, TrialResult { guarding: Some(Box::new(guarding)), ..trial(8, "recv", 10, 10) }]);
    for expected in [
        "1 of 2 trials is invalid (recv): 11 frames were delivered of 10 sent (negative loss). [7]",
        "Attempt 1 (recv) discarded and repeated: a host slept. [1]",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn reasons_of_noise_and_repeated_attempts_are_only_in_the_details() {
    let reason = "other work ran on its CPUs (foreign load)";
    let aside = Retried { trial: trial(1, "recv", 10, 10), because: vec![reason.into()] };
    let guarding = Guarding { attempt: 2, discarded: vec![aside], recovery: None };
    let mut noisy = trial(2, "recv", 10, 10);
    noisy.noise = vec![reason.into()];
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
fn livelock_is_said_of_the_worst_trial_against_the_best() {
    let mut trials = [trial(1, "recv", 1_000_000, 100_000), trial(2, "recv", 400_000, 400_000)];
    livelock::mark(&mut trials);
    let text = texts(&trials);
    let expected = "Livelock: recv delivered 100,000 packets/s of 1,000,000 packets/s (trial 1), but 400,000 \
                    packets/s of only 400,000 packets/s (trial 2; 64-byte frames, placement same, work none). [2, 1]";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_cost_of_the_tracer_is_told_with_its_trials() {
    let traced = |number, ns_per_packet: Option<f64>| {
        let mut trial = trial(number, "recv", 1000, 1000);
        trial.sending_s = 1e-3;
        trial.cpu.tracer_ns_per_packet = ns_per_packet;
        trial.cpu.tracer_ns = ns_per_packet.map(|ns| ns as u64 * 1000);
        trial
    };
    let text = texts(&[traced(1, Some(50.0)), traced(2, None), traced(3, Some(80.0))]);
    let expected = "The tracer itself took up to 80 ns per packet, and up to 8.0 % of the time of the CPU that does the \
                    kernel's receive work. [1, 3]";
    assert!(text.contains(expected), "{text}");
    assert!(!texts(&[traced(1, None)]).contains("tracer"));
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
        texts(&[TrialResult {
            disturbance: Disturbance { cpus: vec![cpu], ..Disturbance::default() },
            loss_pattern: Some(lost_at(&[(497, 700), (501, 200), (300, 100)])),
            ledger: vec![Entry { place, count: Some(1000), source: String::new() }],
            ..trial(1, "recv", 100_000, 99_000)
        }])
    };
    let stood = "CPU 1 stalled once in 1 trial, for up to 5.0 ms (at least 3.0 ms, by its timer tick): the hypervisor ran \
                 something else, or interrupts were off.";
    let meanwhile =
        "Of 1000 frames lost in them, most in the softirq backlog, at least 700 were sent in those moments.";
    let found = lost_in(Place::Backlog);
    assert!(found.contains(&format!("{stood} {meanwhile} [1]")), "{found}");
    let found = lost_in(Place::Ring);
    assert!(found.contains(&format!("{stood} [1]")), "{found}");
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

fn of_shape(shape: LossPattern) -> Vec<String> {
    let trial = TrialResult { loss_pattern: Some(shape), ..trial(3, "packet-v2", 1_000_000, 980_000) };
    let found = find(&[trial]).into_iter().map(|finding| finding.text);
    found.filter(|text| text.starts_with("Trial 3 ") || text.starts_with("Loss in rings")).collect()
}

#[test]
fn a_burst_is_told_from_a_steady_loss() {
    let expected = "Trial 3 (packet-v2): the worst 100 ms, from 0.42 s on, lost 40 % of their frames, the whole trial 2.0 %. The longest of 12 bursts lost 9,000 frames in a row.";
    assert_eq!(of_shape(shape()), [expected]);
    let worst = Window { lost: 1_500, ..shape().worst_window.unwrap() };
    assert!(of_shape(LossPattern { worst_window: Some(worst), ..shape() }).is_empty());
    assert!(of_shape(LossPattern { worst_window: None, lost: 0, ..shape() }).is_empty());
}

#[test]
fn loss_of_the_start_is_no_want_of_capacity() {
    let expected = "Trial 3 (packet-v2): 100 % of its 20000 lost frames were lost in the first 100 ms: the method loses them when it starts, not because it is too slow.";
    let early = LossPattern { lost_at_start: 20_000, lost_steadily: 0, ..shape() };
    assert_eq!(of_shape(early.clone()), [expected]);
    assert!(!of_shape(LossPattern { windows: 2, ..early })[0].contains("start"), "too short to have one");
}

#[test]
fn a_flow_that_loses_more_is_named() {
    let worst = vec![FlowLoss { flow: 7, sent: 1000, lost: 900 }];
    let flows = LossByFlow { flows: 1000, lossy_flows: 30, lost: Spread::default(), worst };
    let found = of_shape(LossPattern { flows: Some(flows), ..shape() });
    let expected = "Trial 3 (packet-v2): flow 7 lost 90 % of its frames, all flows together 2.0 %; 30 of 1000 flows lost frames.";
    assert_eq!(found[1], expected);
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
    assert_eq!(
        agreed[1],
        "Loss in rings is confirmed by the sequence numbers: all 20000 frames that rings counted as lost are missing \
         at the 12 places that they marked, or at a trial's end."
    );
    let open = MarkedLoss { frames: 5_000, drops_without_mark: Some(15_000), ..marks };
    let open = of_shape(LossPattern { marks: Some(open), ..shape() });
    assert_eq!(
        open[1],
        "Trial 3 (packet-v2): of 20000 frames that the ring counted as lost, 15000 are missing at places that the \
         ring did not mark."
    );
}
