//! The ledger as stacked layers: delivered frames, losses by place, and unexplained frames. Their sum is the intended load.

use capbench_model::places;
use capbench_model::trial::TrialResult;

use super::parts::{Estimate, PlacedTrials, chart, linear, point, series};
use crate::model::{Axis, Chart, Kind, Point, Role, Unit};

/// Name of the layer that must be 0 for a complete ledger.
pub(super) const UNEXPLAINED: &str = "unexplained";
pub(super) const DELIVERED: &str = "delivered";

impl PlacedTrials<'_> {
    /// Frames of its trials per second of sending time.
    fn rate(&self, frames: Option<f64>) -> Option<f64> {
        let seconds: f64 = self.trials.iter().map(|trial| trial.sending_s).sum();
        frames.filter(|_| seconds > 0.0).map(|frames| frames / seconds)
    }

    /// Spread of the delivered frames over its trials; `None` for a single trial.
    fn spread(&self) -> Option<[f64; 2]> {
        let own = self.trials.iter().filter(|trial| trial.sending_s > 0.0);
        let found = Estimate::of(own.map(|trial| trial.delivered as f64 / trial.sending_s))?;
        Some([found.low?, found.high?])
    }

    fn point(&self, frames: Option<f64>) -> Point {
        point(self.x, self.rate(frames), self.numbers())
    }
}

/// The layers of these trials as a chart in packets per second, lowest first. A place that a trial does not know is unknown
/// there, and its losses are unexplained frames.
pub(super) fn stacked(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let of = |frames: &dyn Fn(&TrialResult) -> Option<f64>| -> Vec<Point> {
        placed.iter().map(|one| one.point(one.trials.iter().map(|trial| frames(trial)).sum())).collect()
    };
    let mut delivered = of(&|trial| Some(trial.delivered as f64));
    for (point, one) in delivered.iter_mut().zip(placed) {
        point.interval = one.spread();
    }
    let mut layers = vec![series(DELIVERED, Role::Delivered, delivered)];
    let mut unknown = Vec::new();
    for place in places::ALL {
        let count = |trial: &TrialResult| {
            trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count)
        };
        let trials = || placed.iter().flat_map(|one| &one.trials);
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
    let y = linear("Delivered and lost", Unit::PacketsPerSecond);
    chart(id, title, kind, x, y, layers).noting(of_unknown(&unknown)).noting_repeats()
}

/// A note about places that no counter covers.
pub(super) fn of_unknown(places: &[&str]) -> Option<String> {
    let text = "it would be among what is unexplained.";
    (!places.is_empty())
        .then(|| format!("Nothing here could tell what was lost {}: {text}", places.join(", ")))
}
