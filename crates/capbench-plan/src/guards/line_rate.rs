//! No link carries more than its speed. A rate above it is a measurement error: the 2008 report printed 550,691 packets/s on a
//! line that carries 550,660, because of its timestamps.

use capbench_judge::thresholds::{FRAMES_AT_START, LINK_CLOCKS_DIFFERENCE, ON_CHIP_BUFFER_S};

use capbench_frames::rates::Pps;

use capbench_model::figures::grouped;
use capbench_model::places::Place;
use capbench_model::trial::{Departed, TrialResult};

/// Why the trial cannot be right; absent if it can, if the link has no speed, or if the frames on their way are unknown.
pub(crate) fn contradiction(trial: &TrialResult) -> Option<String> {
    let line = trial.line_rate_pps?;
    let Departed { after_s, under_way } = trial.departed?;
    let seconds = after_s.max(trial.sending_s);
    let carried = line * (seconds * (1.0 + LINK_CLOCKS_DIFFERENCE) + ON_CHIP_BUFFER_S)
        + under_way as f64
        + FRAMES_AT_START;
    // These frames certainly never reached the wire.
    let before_wire: u64 =
        trial.losses().iter().filter(|(place, _)| *place == Place::Transmit).map(|(_, count)| count).sum();
    let claimed = trial.delivered.max(trial.sent.saturating_sub(before_wire));
    (claimed as f64 > carried).then(|| {
        format!(
            "{claimed} frames in {seconds:.4} s are more than the link carries ({} packets/s of this size, and \
             {under_way} that may be on their way)",
            grouped(line)
        )
    })
}

/// Whether a rate equals the link's capacity, within the error of two clocks and whole frames.
pub(crate) fn is_reached(line: Pps, pps: f64) -> bool {
    pps >= (line.get() * (1.0 - LINK_CLOCKS_DIFFERENCE)).floor()
}
