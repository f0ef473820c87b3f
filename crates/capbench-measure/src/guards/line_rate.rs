//! No link carries more than its speed. A rate above it is a mistake of the measurement: the 2008 report printed 550,691
//! packets/s where the line carries 550,660, an effect of its time stamps.

use capbench_frames::rates::Pps;

use crate::trial::{Departed, TrialResult};
use capbench_model::figures::grouped;
use capbench_model::ledger::Place;

/// What two clocks may differ by: crystals of links are good to 100 ppm each.
const CLOCKS: f64 = 2e-4;
/// What a card holds on its chip, in seconds of its link: the driver lets go of a frame when it is there. The 82599 has
/// 160 KiB for 10 Gbit/s, older cards up to 40 KiB for 1 Gbit/s.
const ON_CHIP_S: f64 = 5e-4;
/// The first frame is sent at the very start, so that a phase has one more than rate times duration.
const FIRST: f64 = 1.0;

/// Why the trial cannot be right; absent where it can, where the link has no speed, and where nobody knows what was on its way.
pub(crate) fn contradiction(trial: &TrialResult) -> Option<String> {
    let line = trial.line_rate_pps?;
    let Departed { after_s, under_way } = trial.departed?;
    let seconds = after_s.max(trial.sending_s);
    let carried = line * (seconds * (1.0 + CLOCKS) + ON_CHIP_S) + under_way as f64 + FIRST;
    let claimed = trial.delivered.max(trial.sent.saturating_sub(booked_before_the_wire(trial)));
    (claimed as f64 > carried).then(|| {
        format!(
            "{claimed} frames in {seconds:.4} s are more than the link carries ({} packets/s of this size, and \
             {under_way} that may be on their way)",
            grouped(line)
        )
    })
}

/// Whether a rate is all that the link carries, as far as two clocks and whole frames can tell.
pub(crate) fn is_reached(line: Pps, pps: f64) -> bool {
    pps >= (line.get() * (1.0 - CLOCKS)).floor()
}

/// Frames that were sent and are known never to have reached the wire.
fn booked_before_the_wire(trial: &TrialResult) -> u64 {
    let lost = trial.losses();
    lost.iter().filter(|(place, _)| *place == Place::Transmit).map(|(_, count)| count).sum()
}
