//! The costs of methods that keep up at points of a sweep, and which of them are lower by more than chance explains.

use std::ptr;

use crate::sweep::contrasts::{Evidence, Lead};
use crate::sweep::keeps_up::sustains_its_load;
use crate::sweep::outcome::{Reading, Series, SweepScene, Swept};
use crate::thresholds::EQUAL_SWEEP_COSTS;

/// A method that keeps up at a point, with its cost there.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'r> {
    pub(super) series: &'r Series,
    pub(super) reading: &'r Reading,
    pub(super) ns_per_packet: f64,
}

/// Methods of a scene, and which of them are proven cheaper than others.
pub(super) struct Costs<'s, 'r> {
    pub(super) swept: &'s Swept<'r>,
    pub(super) scene: &'s [&'r Series],
    /// The leads in cost that chance does not explain: `ahead` is the cheaper one.
    pub(super) leads: &'s [Lead<'r>],
}

/// The cost per packet in each trial of a method that keeps up; `None` if it does not, or a trial does not know its cost.
pub(super) fn ns_per_packet(swept: &Swept<'_>, reading: &Reading) -> Option<Vec<f64>> {
    if !sustains_its_load(swept, reading) {
        return None;
    }
    swept.trials_of(reading).map(|trial| trial.total_ns_per_packet()).collect()
}

impl<'r> Costs<'_, 'r> {
    /// Placement and load of the methods.
    pub(super) fn placement_and_load(&self) -> SweepScene {
        match self.scene.first() {
            Some(series) => series.placement_and_load(),
            None => SweepScene { placement: None, load: None },
        }
    }

    /// Methods that keep up with known costs at the selected points, cheapest first.
    pub(super) fn candidates(&self, is_selected: impl Fn(&Reading) -> bool) -> Vec<Candidate<'r>> {
        let mut candidates = Vec::new();
        for &series in self.scene {
            for reading in series.readings.iter().filter(|reading| is_selected(reading)) {
                let Some(cost) = reading.total_ns_per_packet else { continue };
                if ns_per_packet(self.swept, reading).is_some() {
                    candidates.push(Candidate { series, reading, ns_per_packet: cost.median });
                }
            }
        }
        candidates.sort_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet));
        candidates
    }

    /// The best evidence that one method is notably cheaper than another at the former's point.
    pub(super) fn evidence_at_point(
        &self,
        cheaper: &Candidate<'r>,
        dearer: &Candidate<'r>,
    ) -> Option<Evidence> {
        let point = cheaper.reading.point;
        self.best_evidence(cheaper, dearer, |lead| lead.points.iter().any(|at| at.ahead.point == point))
    }

    /// The best evidence that one method is notably cheaper than another at any points.
    pub(super) fn evidence_at_any_point(
        &self,
        cheaper: &Candidate<'r>,
        dearer: &Candidate<'r>,
    ) -> Option<Evidence> {
        self.best_evidence(cheaper, dearer, |_| true)
    }

    /// The evidence that chance explains least, of the selected leads of one method over the other; `None` if their costs are equal.
    fn best_evidence(
        &self,
        cheaper: &Candidate<'r>,
        dearer: &Candidate<'r>,
        is_selected: impl Fn(&Lead<'r>) -> bool,
    ) -> Option<Evidence> {
        if dearer.ns_per_packet - cheaper.ns_per_packet <= EQUAL_SWEEP_COSTS * dearer.ns_per_packet {
            return None;
        }
        let mut best: Option<Evidence> = None;
        for lead in self.leads {
            let is_of_both = ptr::eq(lead.ahead, cheaper.series) && ptr::eq(lead.behind, dearer.series);
            if !is_of_both || !is_selected(lead) {
                continue;
            }
            if best.is_none_or(|best| lead.evidence.by_chance < best.by_chance) {
                best = Some(lead.evidence);
            }
        }
        best
    }
}
