//! What follows from a sweep, in plain sentences with the trials that they rest on. A pure function of what is saved.

mod buffers;
mod cheapest;
mod crossings;
mod livelock;
mod onset;
mod regimes;

use capbench_measure::results::Finding;
use capbench_measure::sweep::effects::effects;
use capbench_measure::sweep::swept::Swept;
use capbench_measure::sweep::{AxisKind, Series, SweepOutcome};
use capbench_measure::trial::TrialResult;

/// Everything that a sweep shows beyond what its trials show by themselves.
pub(super) fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Finding> {
    let swept = Swept::new(outcome, trials);
    let mut findings = Vec::new();
    for series in &outcome.series {
        if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
            buffers::of(&swept, series, &mut findings);
            continue;
        }
        onset::of(&swept, series, &mut findings);
        match outcome.axis {
            AxisKind::Work => regimes::of(&swept, series, &mut findings),
            AxisKind::Load => livelock::of(&swept, series, &mut findings),
            AxisKind::Size | AxisKind::Ring | AxisKind::Placement | AxisKind::Coalesce => {}
        }
    }
    if outcome.axis == AxisKind::Work {
        let found = effects(&swept).into_iter();
        findings.extend(found.map(|(series, effect)| about(series, effect.text, effect.trials)));
    }
    crossings::find(&swept, &mut findings);
    cheapest::find(&swept, &mut findings);
    findings
}

/// A finding about one series.
fn about(series: &Series, text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: series.scene(), text: format!("{}: {text}", series.method), trials }
}
