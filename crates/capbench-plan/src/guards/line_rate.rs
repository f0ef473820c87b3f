//! No link carries more than its speed. A rate above it is a measurement error: the 2008 report printed 550,691 packets/s on a
//! line that carries 550,660, because of its timestamps.

use capbench_judge::thresholds::{CLOCKS_DIFFERENCE, FRAMES_AT_START, ON_CHIP_BUFFER_S};

use capbench_frames::rates::Pps;

use capbench_model::places::Place;
use capbench_model::reasons::Invalid;
use capbench_model::trial::{Departed, TrialResult};

/// Why the trial cannot be right; absent if it can, if the link has no speed, or if the frames on their way are unknown.
pub(crate) fn contradiction(trial: &TrialResult) -> Option<Invalid> {
    let line = trial.line_rate_pps?;
    let Departed { after_s, under_way } = trial.departed?;
    let seconds = after_s.max(trial.sending_s);
    let carried =
        line * (seconds * (1.0 + CLOCKS_DIFFERENCE) + ON_CHIP_BUFFER_S) + under_way as f64 + FRAMES_AT_START;
    // These frames certainly never reached the wire.
    let before_wire: u64 =
        trial.losses().iter().filter(|(place, _)| *place == Place::Transmit).map(|(_, count)| count).sum();
    let claimed = trial.delivered.max(trial.sent.saturating_sub(before_wire));
    if claimed as f64 <= carried {
        return None;
    }
    Some(Invalid::MoreThanTheLinkCarries { claimed, seconds, line_pps: line, under_way })
}

/// Whether a rate equals the link's capacity, within the error of two clocks and whole frames.
pub(crate) fn is_reached(line: Pps, pps: f64) -> bool {
    pps >= (line.get() * (1.0 - CLOCKS_DIFFERENCE)).floor()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    #[test]
    fn more_than_clocks_and_a_card_explain_contradicts_the_link() {
        let cases = [
            (1e6, 1_000_680, true),
            (1e6, 1_000_750, false),
            // A frame more than the rate, and no second one.
            (100.0, 101, true),
            (1000.0, 1002, false),
        ];
        for (line, delivered, is_possible) in cases {
            let measured = measured(delivered, delivered, delivered, 0);
            let trial = measured.result(
                1,
                Phase::Sweep,
                &profile("packet-v3"),
                Load::Maximum,
                Duration::from_secs(1),
            );
            let departed = Some(Departed { after_s: 1.0, under_way: 0 });
            let trial = TrialResult { line_rate_pps: Some(line), departed, sending_s: 1.0, ..trial };
            assert_eq!(contradiction(&trial).is_none(), is_possible, "{delivered} frames");
        }
    }

    #[test]
    fn a_rate_equals_the_line_rate_within_two_clocks() {
        let line = "1M".parse().unwrap();
        assert!(is_reached(line, 999_840.0));
        assert!(!is_reached(line, 999_750.0));
    }
}
