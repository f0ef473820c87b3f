//! No link carries more than its speed. A rate above it is a mistake of the measurement: the 2008 report printed 550,691
//! packets/s where the line carries 550,660, an effect of its time stamps.

use crate::trial::TrialResult;

/// What two clocks may differ by: crystals of links are good to 100 ppm each.
const TOLERANCE: f64 = 2e-4;
/// Frames that may be on their way when the last one has been handed over: the generator's ring of at most 4096 and as
/// many descriptors of a card. Sending ends for the generator before they are on the wire.
const UNDER_WAY: f64 = 8192.0;

/// Why the trial cannot be right; absent where it can.
pub(super) fn contradiction(trial: &TrialResult) -> Option<String> {
    let line = trial.line_rate_pps?;
    let carried = line * (1.0 + TOLERANCE) * trial.sending_s + UNDER_WAY;
    let claimed = trial.delivered.max(trial.sent.saturating_sub(booked_before_the_wire(trial)));
    (claimed as f64 > carried).then(|| {
        format!(
            "{claimed} frames in {:.3} s are more than the link carries ({line:.0} packets/s of this size)",
            trial.sending_s
        )
    })
}

/// Frames that were sent and are known never to have reached the wire.
fn booked_before_the_wire(trial: &TrialResult) -> u64 {
    let lost = trial.losses();
    lost.iter().filter(|(place, _)| *place == crate::ledger::Place::Transmit).map(|(_, count)| count).sum()
}
