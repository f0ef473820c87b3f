//! The ledger as layers on top of each other: what was delivered, what each place lost, and what nothing explains. Their sum is
//! what was to be sent.

use capbench_measure::places;
use capbench_measure::trial::TrialResult;

use super::parts::{Estimate, point, series};
use crate::model::{Point, Role, Series};
use crate::naming::numbers;

/// Name of the layer that is the promise of the whole.
pub(super) const UNEXPLAINED: &str = "unexplained";
pub(super) const DELIVERED: &str = "delivered";

/// Trials that stand at one place of the horizontal axis.
pub(super) struct Stand<'r> {
    pub(super) x: f64,
    pub(super) trials: Vec<&'r TrialResult>,
}

/// Layers from the lowest, and what is to be said about them.
pub(super) struct Layers {
    pub(super) series: Vec<Series>,
    pub(super) notes: Vec<String>,
}

impl Stand<'_> {
    /// Frames of its trials by the time that was spent on sending: packets per second.
    fn rate(&self, frames: Option<f64>) -> Option<f64> {
        let seconds: f64 = self.trials.iter().map(|trial| trial.sending_s).sum();
        frames.filter(|_| seconds > 0.0).map(|frames| frames / seconds)
    }

    /// How far apart its trials lie in what they delivered; `None` where there is but one.
    fn spread(&self) -> Option<[f64; 2]> {
        let own = self.trials.iter().filter(|trial| trial.sending_s > 0.0);
        let found = Estimate::of(own.map(|trial| trial.delivered as f64 / trial.sending_s))?;
        Some([found.low?, found.high?])
    }

    fn point(&self, frames: Option<f64>) -> Point {
        point(self.x, self.rate(frames), numbers(self.trials.iter().copied()))
    }
}

/// Layers of these trials, in packets per second. A place that a trial cannot tell of is unknown there, and what was lost there is
/// among what nothing explains.
pub(super) fn stacked(stands: &[Stand<'_>]) -> Layers {
    let of = |frames: &dyn Fn(&TrialResult) -> Option<f64>| -> Vec<Point> {
        stands.iter().map(|stand| stand.point(stand.trials.iter().map(|trial| frames(trial)).sum())).collect()
    };
    let mut delivered = of(&|trial| Some(trial.delivered as f64));
    for (point, stand) in delivered.iter_mut().zip(stands) {
        point.interval = stand.spread();
    }
    let mut layers = vec![series(DELIVERED, Role::Delivered, delivered)];
    let mut unknown = Vec::new();
    for place in places::ALL {
        let count = |trial: &TrialResult| {
            trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count)
        };
        let trials = || stands.iter().flat_map(|stand| &stand.trials);
        if trials().any(|trial| count(trial).is_some_and(|count| count > 0)) {
            layers.push(series(
                place.words(),
                Role::Place,
                of(&|trial| count(trial).map(|count| count as f64)),
            ));
        } else if trials().next().is_some() && trials().all(|trial| count(trial).is_none()) {
            unknown.push(place.words());
        }
    }
    layers.push(series(UNEXPLAINED, Role::Unexplained, of(&|trial| Some(trial.unexplained as f64))));
    let mut notes = Vec::new();
    if !unknown.is_empty() {
        notes.push(format!(
            "Nothing here could tell what was lost {}: it would be among what is unexplained.",
            unknown.join(", ")
        ));
    }
    Layers { series: layers, notes }
}
