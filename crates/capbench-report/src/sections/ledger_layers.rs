//! The ledger of trials as stacked layers: delivered frames, losses by place, and unexplained frames.

use capbench_model::places::{ALL as ALL_PLACES, Place};
use capbench_model::trial::TrialResult;

use super::parts::{Estimate, chart, linear, point, series};
use crate::model::{Axis, Chart, Kind, Point, Role, Trials, Unit};
use crate::naming::numbers;
use crate::sentences::places;

/// Name of the layer that must be 0 for a complete ledger.
pub(super) const UNEXPLAINED: &str = "unexplained";

/// Trials at one position of the horizontal axis.
pub(super) struct PlacedTrials<'r> {
    pub(super) x: f64,
    pub(super) trials: Vec<&'r TrialResult>,
}

impl<'r> PlacedTrials<'r> {
    /// Groups of trials at the positions 0, 1, 2 and so on.
    pub(super) fn side_by_side(groups: impl IntoIterator<Item = Vec<&'r TrialResult>>) -> Vec<Self> {
        let mut placed = Vec::new();
        for (index, trials) in groups.into_iter().enumerate() {
            placed.push(Self { x: index as f64, trials });
        }
        placed
    }

    pub(super) fn numbers(&self) -> Trials {
        numbers(self.trials.iter().copied())
    }

    /// Frames of its trials per second of sending time; unknown if one trial does not know them.
    fn rate(&self, frames: impl Fn(&TrialResult) -> Option<f64>) -> Point {
        let seconds: f64 = self.trials.iter().map(|trial| trial.sending_s).sum();
        let frames: Option<f64> = self.trials.iter().map(|trial| frames(trial)).sum();
        let rate = match frames {
            Some(frames) if seconds > 0.0 => Some(frames / seconds),
            _ => None,
        };
        point(self.x, rate, self.numbers())
    }

    /// Delivered frames per second, with their spread over several trials.
    fn delivered(&self) -> Point {
        let mut rates = Vec::new();
        for trial in &self.trials {
            if trial.sending_s > 0.0 {
                rates.push(trial.delivered as f64 / trial.sending_s);
            }
        }
        let spread = Estimate::of(rates);
        let interval = spread.and_then(|spread| Some([spread.low?, spread.high?]));
        Point { interval, ..self.rate(|trial| Some(trial.delivered as f64)) }
    }

    /// Lost frames per second at a place.
    fn lost_at(&self, place: Place) -> Point {
        self.rate(|trial| Some(lost_at(trial, place)? as f64))
    }

    /// Unexplained frames per second.
    fn unexplained(&self) -> Point {
        self.rate(|trial| Some(trial.unexplained as f64))
    }
}

/// Frames that a trial lost at a place; `None` if unknown.
fn lost_at(trial: &TrialResult, place: Place) -> Option<u64> {
    trial.ledger.iter().find(|entry| entry.place == place)?.count
}

/// The ledger of these trials as a chart in packets per second. Its layers sum up to the intended load. Where a trial has no count
/// for a place, the place's layer is unknown, and its losses are unexplained frames.
pub(super) fn ledger_chart(
    id: &str,
    title: String,
    kind: Kind,
    x: Axis,
    placed: &[PlacedTrials<'_>],
) -> Chart {
    let trials: Vec<&TrialResult> = placed.iter().flat_map(|placed| placed.trials.iter().copied()).collect();
    let delivered = placed.iter().map(PlacedTrials::delivered).collect();
    let mut layers = vec![series("delivered", Role::Delivered, delivered)];
    let mut unknown = Vec::new();
    for place in ALL_PLACES {
        if trials.iter().any(|trial| lost_at(trial, place).is_some_and(|count| count > 0)) {
            let rates = placed.iter().map(|placed| placed.lost_at(place)).collect();
            layers.push(series(places::words(place), Role::Place, rates));
        } else if !trials.is_empty() && trials.iter().all(|trial| lost_at(trial, place).is_none()) {
            unknown.push(places::words(place));
        }
    }
    let unexplained = placed.iter().map(PlacedTrials::unexplained).collect();
    layers.push(series(UNEXPLAINED, Role::Unexplained, unexplained));
    let y = linear("Delivered and lost", Unit::PacketsPerSecond);
    chart(id, title, kind, x, y, layers).noting(note_of_unknown(&unknown)).noting_repeats()
}

/// Names the places whose losses no counter reports; `None` without any.
pub(super) fn note_of_unknown(places: &[&str]) -> Option<String> {
    if places.is_empty() {
        return None;
    }
    let places = places.join(", ");
    Some(format!("No counter here reports what was lost {places}: it would be among what is unexplained."))
}
