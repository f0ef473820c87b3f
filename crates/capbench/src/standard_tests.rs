//! What the tests of RFC 2544 beside throughput print. A pure function of results.

use std::fmt::Write;

use capbench_measure::figures::grouped;
use capbench_measure::rfc2544::latency::Leg;
use capbench_measure::rfc2544::recovery::Recovery;
use capbench_measure::rfc2544::{
    BackToBackOutcome, Ended, Found, FrameLossOutcome, LatencyOutcome, RecoveryOutcome, Tested,
};
use capbench_measure::search::Status;

use crate::cli::rfc2544::Test;
use crate::summary::wrapped;
use crate::table::Table;

/// What reports call a test.
pub fn name(test: Test) -> &'static str {
    match test {
        Test::Throughput => "throughput",
        Test::Latency => "latency",
        Test::FrameLoss => "frame loss rate",
        Test::BackToBack => "back-to-back frames",
        Test::Recovery => "system recovery",
    }
}

/// One test with its set-up.
pub fn tested(tested: &Tested) -> String {
    let (test, ended, body) = match &tested.found {
        Found::Latency(outcome) => {
            (Test::Latency, &outcome.ended, latency(outcome, tested.throughput_status))
        }
        Found::FrameLoss(outcome) => (Test::FrameLoss, &outcome.ended, frame_loss(outcome)),
        Found::BackToBack(outcome) => (Test::BackToBack, &outcome.ended, back_to_back(outcome)),
        Found::Recovery(outcome) => (Test::Recovery, &outcome.ended, recovery(outcome)),
    };
    let mut text = String::new();
    let Tested { method, frame_size, placement, work, .. } = tested;
    let title =
        format!("{}: {method}, {frame_size}-byte frames, placement {placement}, work {work}", name(test));
    wrapped(&mut text, "", "  ", &title);
    text.push_str(&body);
    let incomplete = match ended {
        Ended::Complete => None,
        Ended::Stopped => Some("the user stopped it".to_string()),
        Ended::NotRun => Some("a trial could not be run".into()),
        Ended::Invalid { trials, because } => Some(format!("trial {trials:?} shows nothing: {because}")),
    };
    if let Some(why) = incomplete {
        wrapped(&mut text, "  ", "    ", &format!("incomplete: {why}"));
    }
    text.push('\n');
    text
}

fn latency(outcome: &LatencyOutcome, throughput: Option<Status>) -> String {
    let mut text = String::new();
    let worth = match throughput {
        Some(Status::AtLeast) => ", where the throughput is at least that",
        _ => "",
    };
    let line = format!(
        "at {} packets/s{worth}; {} trials of {} s, frames from {} s on; microseconds",
        grouped(outcome.rate_pps.get().floor()),
        outcome.repetitions,
        outcome.duration_s,
        outcome.from_s
    );
    wrapped(&mut text, "  ", "    ", &line);
    let mut table = Table::new(&["  leg", "mean", "median", "p99.9", "PDV"]);
    let legs = [
        ("planned to kernel", &outcome.to_kernel),
        ("kernel to application", &outcome.to_application),
        ("planned to application", &outcome.total),
    ];
    for (leg, spread) in legs {
        let us =
            |ns: fn(&Leg) -> f64| spread.as_ref().map_or("-".into(), |leg| format!("{:.1}", ns(leg) / 1e3));
        table.row(vec![
            format!("  {leg}"),
            us(|leg| leg.mean_ns),
            us(|leg| leg.typical.median_ns as f64),
            us(|leg| leg.worst.median_ns as f64),
            us(|leg| leg.pdv.median_ns as f64),
        ]);
    }
    let _ = write!(text, "{}", table.within(80));
    if !outcome.lossy.is_empty() {
        let line = format!(
            "trials {:?} lost frames: the rate was above the throughput then, and latency is that of full buffers",
            outcome.lossy
        );
        wrapped(&mut text, "  ", "    ", &line);
    }
    text
}

fn frame_loss(outcome: &FrameLossOutcome) -> String {
    let mut text = format!("  100 %: {}\n", outcome.maximum);
    let mut table = Table::new(&["  load %", "offered %", "sent", "delivered", "loss %"]);
    for point in &outcome.points {
        table.row(vec![
            format!("  {}", point.load_percent),
            format!("{}{:.1}", if point.generator_limited { "*" } else { "" }, point.offered_percent),
            grouped(point.sent as f64),
            grouped(point.delivered as f64),
            format!("{:.4}", point.loss_percent),
        ]);
    }
    let _ = write!(text, "{}", table.within(80));
    if outcome.points.iter().any(|point| point.generator_limited) {
        let line = "* generator-limited: the load was not reached; loss is that of what was sent, and no loss shows nothing of \
                    that load";
        wrapped(&mut text, "  ", "    ", line);
    }
    if !outcome.ends_without_loss {
        text.push_str("  the last two trials did not both send everything and lose nothing\n");
    }
    text
}

fn back_to_back(outcome: &BackToBackOutcome) -> String {
    let mut text = String::new();
    let line = format!(
        "bursts at {}; throughput {} packets/s",
        outcome.maximum,
        grouped(outcome.throughput_pps.get().floor())
    );
    wrapped(&mut text, "  ", "    ", &line);
    if let Some(benchmark) = &outcome.benchmark {
        let spread = benchmark.stdev_frames.map_or(String::new(), |stdev| format!(", deviation {stdev:.1}"));
        let line = format!(
            "longest burst without loss: {:.1} frames on average, {} to {}{spread}, of {} searches",
            benchmark.average_frames,
            benchmark.min_frames,
            benchmark.max_frames,
            outcome.searches.len()
        );
        wrapped(&mut text, "  ", "    ", &line);
        let line = format!(
            "buffers hold for {:.3} ms, corrected for what was taken out meanwhile {:.3} ms",
            benchmark.implied_buffer_s * 1e3,
            benchmark.corrected_buffer_s * 1e3
        );
        wrapped(&mut text, "  ", "    ", &line);
        if let Some(percent) = benchmark.offered_percent.filter(|percent| *percent < 99.9) {
            let line = format!("one of these bursts was sent at {percent:.1} % of that rate only");
            wrapped(&mut text, "  ", "    ", &line);
        }
    }
    if let Some(why) = &outcome.invalid_because {
        wrapped(&mut text, "  ", "    ", &format!("not valid: {why}"));
    }
    text
}

fn recovery(outcome: &RecoveryOutcome) -> String {
    let mut text = String::new();
    let line = format!(
        "{} packets/s for {} s, then {} for {} s",
        grouped(outcome.overload_pps.get().floor()),
        outcome.overloaded_s,
        grouped(outcome.after_pps.get().floor()),
        outcome.observed_s
    );
    wrapped(&mut text, "  ", "    ", &line);
    for repetition in &outcome.repetitions {
        let late = repetition
            .generator_late_ns
            .map_or(String::new(), |ns| format!(" (generator up to {:.3} ms late)", ns as f64 / 1e6));
        let line = match &repetition.recovery {
            Recovery::Recovered { after_s } => {
                format!("last frame lost {:.3} ms after the change{late}", after_s * 1e3)
            }
            Recovery::NothingLost => "nothing was lost: it was no overload".into(),
            Recovery::NotRecovered { at_least_s } => format!("not recovered after {at_least_s:.3} s"),
            Recovery::Unknown { because } => format!("unknown: {because}"),
        };
        wrapped(&mut text, "  ", "    ", &line);
    }
    if let Some(average) = outcome.average_s.filter(|_| outcome.repetitions.len() > 1) {
        let _ = writeln!(text, "  on average {:.3} ms", average * 1e3);
    }
    text
}
