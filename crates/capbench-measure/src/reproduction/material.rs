//! What was measured for a reproduction, and how two things that were measured compare.

use capbench_capture::MethodSpec;

use super::conditions::Conditions;
use super::outcome::{Cell, Quantity};
use crate::placement::PlacementChoice;
use crate::search::SearchOutcome;
use crate::sweep::SweepOutcome;
use crate::sweep::interval::Estimate;
use crate::trial::{TrialResult, Verdict};

/// A step as far as it was done.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The step's name.
    pub name: &'static str,
    /// Its trials.
    pub trials: Vec<TrialResult>,
    /// What it was as a sweep, where it was one.
    pub sweep: Option<SweepOutcome>,
    /// Its searches.
    pub searches: Vec<SearchOutcome>,
}

/// A method that cannot be had in a placement, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The method.
    pub method: MethodSpec,
    /// The placement.
    pub placement: PlacementChoice,
    /// Why, in a line.
    pub reason: String,
}

/// Everything that a comparison knows.
#[derive(Debug)]
pub struct Material<'m> {
    /// What was asked for.
    pub conditions: &'m Conditions,
    /// Steps, as far as they were done.
    pub steps: &'m [Done],
    /// What cannot be had here.
    pub left_out: &'m [LeftOut],
}

/// Trials of one method at one point.
#[derive(Clone, Debug, Default)]
pub struct Seen<'t> {
    trials: Vec<&'t TrialResult>,
}

/// Something of a trial; `None` where it does not know it.
pub type Figure = fn(&TrialResult) -> Option<f64>;

/// How two things that were measured compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each visit of the first lies above each of the second, and by more than the margin.
    Above,
    /// The other way round.
    Below,
    /// All visits of both lie within the margin.
    Alike,
    /// Neither.
    Untold,
}

/// Whether a share was kept that a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// By each visit, and not only because there was room until sending had ended.
    Yes,
    /// By none.
    No,
    /// Visits do not agree, are too few, or buffers held what a longer trial may lose.
    Untold,
}

/// A generator that sends less than this part of what was intended did not reach the load.
const REACHED: f64 = 0.99;
/// Frames that lay in buffers when sending ended make a difference from this share of those sent on.
const HELD: f64 = 0.001;

impl<'m> Material<'m> {
    /// A step; `None` where it was not begun.
    pub fn step(&self, name: &str) -> Option<&'m Done> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Trials of a step by method and what else they have to be.
    pub fn seen(&self, step: &str, method: &str, is_it: impl Fn(&TrialResult) -> bool) -> Seen<'m> {
        let of_step = self.step(step).into_iter().flat_map(|step| &step.trials);
        Seen::of(of_step.filter(|trial| trial.profile.method == method && is_it(trial)))
    }

    /// Trials of a sweep at one of its points, by the point's place on the axis.
    pub fn swept(&self, step: &str, method: &str, at: usize) -> Seen<'m> {
        let Some(done) = self.step(step) else { return Seen::default() };
        let Some(sweep) = &done.sweep else { return Seen::default() };
        let readings =
            sweep.series.iter().filter(|series| series.method == method).flat_map(|series| &series.readings);
        let numbers: Vec<u32> = readings
            .filter(|reading| reading.point == at)
            .flat_map(|reading| reading.trials.iter().copied())
            .collect();
        Seen::of(done.trials.iter().filter(|trial| numbers.contains(&trial.number)))
    }

    /// Why a method cannot be had; `None` where it was not left out of every placement that was asked for.
    pub fn why_left_out(&self, method: &str) -> Option<&'m str> {
        let of_method = self.left_out.iter().find(|left| left.method.to_string() == method)?;
        let ran = self.steps.iter().flat_map(|step| &step.trials).any(|trial| trial.profile.method == method);
        (!ran).then_some(of_method.reason.as_str())
    }

    /// Of these methods those that can be had.
    pub fn had<'a>(&self, methods: &[&'a str]) -> Vec<&'a str> {
        methods.iter().copied().filter(|method| self.why_left_out(method).is_none()).collect()
    }
}

impl<'t> Seen<'t> {
    /// Trials that show nothing are not among them.
    pub fn of(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        Self { trials: trials.into_iter().filter(|trial| trial.verdict != Verdict::Invalid).collect() }
    }

    /// The trials.
    pub fn trials(&self) -> &[&'t TrialResult] {
        &self.trials
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// Their numbers.
    pub fn numbers(&self) -> Vec<u32> {
        self.trials.iter().map(|trial| trial.number).collect()
    }

    /// Something of each; nothing where one of them does not know it, since what is left would be a choice.
    pub fn values(&self, of: Figure) -> Vec<f64> {
        self.trials.iter().map(|trial| of(trial)).collect::<Option<_>>().unwrap_or_default()
    }

    /// The median of something; `None` where a trial does not know it.
    pub fn median(&self, of: Figure) -> Option<f64> {
        self.estimate(of).map(|estimate| estimate.median)
    }

    fn estimate(&self, of: Figure) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.trials.iter().map(|trial| of(trial)).collect();
        Estimate::of(values?)
    }

    /// Something of them as a field of a table.
    pub fn cell(&self, of: Figure) -> Cell {
        let Some(estimate) = self.estimate(of) else { return Cell::default() };
        Cell {
            value: Some(estimate.median),
            low: estimate.low,
            high: estimate.high,
            at_least: false,
            mark: self.fell_short().then_some(GENERATOR),
            trials: self.numbers(),
        }
    }

    /// The same of something that counts what was captured: marked where that has room in buffers to thank.
    pub fn captured_cell(&self, of: Figure) -> Cell {
        let cell = self.cell(of);
        let mark = match (self.fell_short(), self.held() > HELD) {
            (true, true) => Some(BOTH),
            (false, true) => Some(BUFFERS),
            (_, false) => cell.mark,
        };
        if cell.value.is_some() { Cell { mark, ..cell } } else { cell }
    }

    /// The application's load: at least so much where the kernel only samples how a shared CPU divides.
    pub fn application_cell(&self) -> Cell {
        let cell = self.cell(application_load);
        let is_sampled = self.trials.iter().any(|trial| trial.cpu.split_is_sampled);
        Cell { at_least: is_sampled && cell.value.is_some(), ..cell }
    }

    /// Whether the generator did not reach the load.
    pub fn fell_short(&self) -> bool {
        self.trials.iter().any(|trial| is_short(trial))
    }

    /// The largest share of what was sent that still lay in buffers when sending ended; 0 where that is unknown.
    pub fn held(&self) -> f64 {
        let share = |trial: &&TrialResult| untaken(trial).unwrap_or_default() / trial.sent.max(1) as f64;
        self.trials.iter().map(share).fold(0.0, f64::max)
    }

    /// Whether it is so of each, of at least two visits: one may be a disturbance.
    pub fn every(&self, of: Figure, is: impl Fn(f64) -> bool) -> bool {
        let values = self.values(of);
        values.len() > 1 && values.into_iter().all(is)
    }

    /// Whether this share of what was sent was captured.
    pub fn kept(&self, limit: f64) -> Kept {
        self.kept_of([captured, taken], limit)
    }

    /// The same of another share: as it was captured, and without what only found room.
    pub fn kept_of(&self, [captured, taken]: [Figure; 2], limit: f64) -> Kept {
        if self.every(taken, |share| share >= limit) {
            Kept::Yes
        } else if self.every(captured, |share| share < limit) {
            Kept::No
        } else {
            Kept::Untold
        }
    }

    /// Why [`Self::kept`] does not tell.
    pub fn why_untold(&self) -> &'static str {
        match self.trials.len() {
            0 => "it was not measured",
            1 => "one visit does not tell",
            _ if self.held() > HELD => {
                "buffers held what came until sending had ended, so a longer trial (--scale) has to tell"
            }
            _ => "its visits do not agree",
        }
    }

    /// How something of them compares with the same of others, where smaller differences count as none.
    pub fn against(&self, other: &Seen<'_>, of: Figure, margin: f64) -> Order {
        order(&self.values(of), &other.values(of), margin)
    }

    /// How rates compare, where differences below this part of the larger one count as none: as they were captured and as
    /// they were taken. Where only one of them differs, room in buffers makes the difference, and that tells nothing.
    pub fn rates_against(&self, other: &Seen<'_>, part: f64) -> Order {
        let by = |of: Figure| {
            let larger = self.median(of).unwrap_or_default().max(other.median(of).unwrap_or_default());
            self.against(other, of, part * larger)
        };
        let captured = by(captured_pps);
        if captured == by(taken_pps) { captured } else { Order::Untold }
    }
}

/// Whether the generator did not reach the load of a trial.
pub(super) fn is_short(trial: &TrialResult) -> bool {
    trial.intended > 0 && (trial.sent as f64) < REACHED * trial.intended as f64
}

/// Marks a number whose load the generator did not reach.
pub const GENERATOR: char = 'g';

/// What the mark means.
pub const GENERATOR_NOTE: &str = "g: the generator sent less than the load of the publication; captured is the share of what it \
                                  did send.";

/// Marks a number that has room in buffers to thank.
const BUFFERS: char = 'b';
/// Marks both.
const BOTH: char = 'x';

/// What the marks of buffers mean.
pub(super) const BUFFER_NOTES: [(char, &str); 2] = [
    (
        BUFFERS,
        "b: more than 0.1 % of what was sent still lay in buffers when sending ended and counts as captured; a longer trial \
         may lose as much in the same time.",
    ),
    (
        BOTH,
        "x: both of it: the generator sent less than the load, and buffers held more than 0.1 % of what it sent.",
    ),
];

/// Said where buffers held more than a little of what was sent until sending had ended; empty elsewhere.
pub fn held<'s, 't: 's>(seen: impl IntoIterator<Item = &'s Seen<'t>>) -> String {
    let most = seen.into_iter().map(Seen::held).fold(0.0, f64::max);
    if most > HELD {
        format!(
            " Up to {} % of what was sent lay in buffers when sending ended.",
            Quantity::Captured.text(most)
        )
    } else {
        String::new()
    }
}

/// Frames that were delivered only because there was room for them until sending had ended; loads here are evenly spaced.
pub fn untaken(trial: &TrialResult) -> Option<f64> {
    trial.untaken(1).map(|frames| frames as f64)
}

/// The share of the sent frames that the application took while they came.
pub fn taken(trial: &TrialResult) -> Option<f64> {
    let untaken = untaken(trial)?;
    (trial.sent > 0).then(|| (trial.delivered as f64 - untaken) / trial.sent as f64)
}

/// Frames per second that the application took, for as long as there were any.
pub fn taken_pps(trial: &TrialResult) -> Option<f64> {
    trial.emptying.map(|_| trial.taken_pps())
}

/// The share of the sent frames that was captured.
pub fn captured(trial: &TrialResult) -> Option<f64> {
    (trial.sent > 0).then(|| trial.delivered as f64 / trial.sent as f64)
}

/// Captured frames per second of the sending time.
pub fn captured_pps(trial: &TrialResult) -> Option<f64> {
    Some(trial.delivered_pps)
}

/// The same on a link: frame, preamble and gap.
pub fn captured_bps(trial: &TrialResult) -> Option<f64> {
    Some(trial.delivered_pps * (trial.profile.mean_frame_size + 20.0) * 8.0)
}

/// Sent frames per second.
pub fn offered_pps(trial: &TrialResult) -> Option<f64> {
    Some(trial.offered_pps)
}

/// The time in which CPU time was spent: sending, and for as long as the application went on taking frames.
fn busy_s(trial: &TrialResult) -> f64 {
    trial.sending_s + trial.emptying.map_or(0.0, |emptying| emptying.after_s)
}

/// CPU time of the application, as a part of one CPU: at least this, where the kernel only samples how a shared CPU divides.
fn application_load(trial: &TrialResult) -> Option<f64> {
    let time_s = busy_s(trial);
    Some(trial.cpu.app_ns? as f64 / 1e9 / time_s).filter(|_| time_s > 0.0)
}

/// CPU time of the kernel's receive work, likewise.
pub fn kernel_load(trial: &TrialResult) -> Option<f64> {
    let time_s = busy_s(trial);
    Some(trial.cpu.kernel_ns? as f64 / 1e9 / time_s).filter(|_| time_s > 0.0)
}

/// CPU time of both together, likewise.
pub fn whole_load(trial: &TrialResult) -> Option<f64> {
    let time_s = busy_s(trial);
    Some(trial.cpu.total_ns? as f64 / 1e9 / time_s).filter(|_| time_s > 0.0)
}

/// Application and kernel time of a packet that arrived.
pub fn packet_ns(trial: &TrialResult) -> Option<f64> {
    trial.cpu.total_ns_per_packet
}

/// How visits compare. One visit each tells nothing: what chance does is not known then.
pub fn order(first: &[f64], second: &[f64], margin: f64) -> Order {
    if first.len() < 2 || second.len() < 2 {
        return Order::Untold;
    }
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let whole = most(first).max(most(second)) - least(first).min(least(second));
    if least(first) > most(second) + margin {
        Order::Above
    } else if most(first) < least(second) - margin {
        Order::Below
    } else if whole <= margin {
        Order::Alike
    } else {
        Order::Untold
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, order};

    #[test]
    fn visits_are_told_apart_only_where_all_of_them_are() {
        assert_eq!(order(&[0.9, 0.92], &[0.5, 0.6], 0.02), Order::Above);
        assert_eq!(order(&[0.5, 0.6], &[0.9, 0.92], 0.02), Order::Below);
        assert_eq!(order(&[0.9, 0.91], &[0.905, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[0.9, 0.5], &[0.6, 0.4], 0.02), Order::Untold);
        assert_eq!(order(&[0.905, 0.915], &[0.9, 0.9], 0.02), Order::Alike);
        assert_eq!(order(&[1.0], &[0.0], 0.02), Order::Untold, "one visit tells nothing");
        assert_eq!(order(&[], &[], 0.02), Order::Untold);
    }
}
