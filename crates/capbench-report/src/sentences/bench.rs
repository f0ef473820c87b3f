//! Which methods lose nothing, what the others lose and where, and which is cheapest.

mod set_ups;
use crate::results::Results;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use super::sentence;
use crate::figures::number;
use crate::groups::grouped;
use crate::model::{Sentence, Unit};
use crate::naming::{self, Scene, list, percent, rate, whole};

pub(super) use set_ups::of_set_ups;

/// A method with its trials at the highest load of each set-up.
struct Entrant<'r> {
    method: &'r str,
    /// In the order in which they ran, with all visits of a set-up; never empty.
    tops: Vec<&'r TrialResult>,
}

impl Entrant<'_> {
    fn is_lossless(&self) -> bool {
        self.tops.iter().all(|trial| trial.lost() == 0)
    }

    fn worst(&self) -> &TrialResult {
        let by_loss =
            |a: &&&TrialResult, b: &&&TrialResult| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio());
        self.tops.iter().max_by(by_loss).expect("an entrant has trials")
    }

    /// The number of its set-ups, and of those with loss.
    fn set_ups(&self) -> (usize, usize) {
        let tops = || self.tops.iter().copied();
        (scenes(tops()).len(), scenes(tops().filter(|trial| trial.lost() > 0)).len())
    }

    /// Its offered loads in words: of several set-ups, from the lowest to the highest.
    fn offered(&self) -> String {
        let loads = || self.tops.iter().map(|trial| trial.offered_pps);
        let least = loads().fold(f64::INFINITY, f64::min);
        let most = loads().fold(f64::NEG_INFINITY, f64::max);
        let (few, many) = (whole(least), whole(most));
        match self.set_ups() {
            _ if few == many => format!("at {}", rate(most)),
            (1, _) => format!("at up to {}", rate(most)),
            _ => format!("at {few} to {}", rate(most)),
        }
    }

    /// A caveat about its loads if it lost nothing; empty if they were requested and reached.
    fn care(&self) -> &'static str {
        if self.tops.iter().any(|trial| trial.verdict == Verdict::GeneratorLimited) {
            "the generator did not reach that load everywhere"
        } else if self.tops.iter().any(|trial| !trial.profile.load_independent) {
            "the receiver slowed the generator, so this is no limit of a method"
        } else if self.tops.iter().all(|trial| trial.phase == Phase::FixedLoad) {
            ""
        } else if self.set_ups().0 == 1 {
            "the generator sends no more, so each holds at least that"
        } else {
            "the generator sends no more, so in each set-up at least what it sent there is held"
        }
    }
}

/// Which methods lose nothing, what the others lose and where, and which is cheapest.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let entrants = entrants(results);
    if entrants.is_empty() {
        return nothing(results);
    }
    let scenes = scenes(&results.trials);
    let of_loss = [Some(lossless(&entrants, &scenes)), losers(results, &entrants, &scenes)];
    of_loss.into_iter().chain([cheapest(results, &scenes)]).flatten().collect()
}

/// Conclusive trials of each method at its highest load.
fn entrants(results: &Results) -> Vec<Entrant<'_>> {
    let tops = results.trials.iter().filter(|trial| {
        matches!(trial.phase, Phase::BestEffort | Phase::FixedLoad) && trial.verdict != Verdict::Invalid
    });
    let methods = grouped(tops, |trial| trial.profile.method.as_str()).into_iter();
    methods.map(|(method, tops)| Entrant { method, tops }).collect()
}

/// Scenes in the order in which they ran.
fn scenes<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Vec<Scene> {
    grouped(trials, |trial| Scene::of(trial)).into_iter().map(|(scene, _)| scene).collect()
}

fn nothing(results: &Results) -> Vec<Sentence> {
    let invalid: Vec<_> = results.trials.iter().filter(|trial| trial.verdict == Verdict::Invalid).collect();
    let Some(first) = invalid.first() else { return Vec::new() };
    vec![sentence(
        format!("No trial shows anything about a method: {}.", first.why_invalid()),
        invalid.iter().map(|trial| trial.number),
    )]
}

fn lossless(entrants: &[Entrant<'_>], scenes: &[Scene]) -> Sentence {
    let clean: Vec<&Entrant<'_>> = entrants.iter().filter(|entrant| entrant.is_lossless()).collect();
    let all = || entrants.iter().flat_map(|entrant| &entrant.tops);
    let load = if all().all(|trial| trial.phase == Phase::FixedLoad) {
        "the load asked for"
    } else {
        "maximum load"
    };
    let place = match scenes {
        [one] => format!(" ({})", one.words()),
        many => format!(" in {} set-ups", many.len()),
    };
    if clean.is_empty() {
        let text = match scenes {
            [_] => format!("At {load}{place} every method lost frames."),
            many => format!("At {load} every method lost frames in at least one of {} set-ups.", many.len()),
        };
        return sentence(text, all().map(|trial| trial.number));
    }
    let each = |entrant: &&Entrant<'_>| {
        let (own, _) = entrant.set_ups();
        let part = if own < scenes.len() { format!("in {own} of them, ") } else { String::new() };
        format!("{} ({part}{})", entrant.method, entrant.offered())
    };
    let words: Vec<String> = clean.iter().map(each).collect();
    let tops = clean.iter().flat_map(|entrant| &entrant.tops);
    let text = format!("At {load}{place} nothing was lost by {}{}.", list(&words), cares(&clean));
    sentence(text, tops.map(|trial| trial.number))
}

/// Caveats about the loads of lossless methods: one for all if it is the same, else by name.
fn cares(clean: &[&Entrant<'_>]) -> String {
    let cares = grouped(clean, |entrant| entrant.care());
    let is_one = cares.len() == 1;
    let said = cares.iter().filter(|(care, _)| !care.is_empty()).map(|(care, entrants)| {
        let methods: Vec<&str> = entrants.iter().map(|entrant| entrant.method).collect();
        if is_one { format!("; {care}") } else { format!("; of {}: {care}", list(&methods)) }
    });
    said.collect()
}

/// The largest loss of the other methods, where, and their sustained loads.
fn losers(results: &Results, entrants: &[Entrant<'_>], scenes: &[Scene]) -> Option<Sentence> {
    let mut trials: Vec<u32> = Vec::new();
    let mut said = |entrant: &Entrant<'_>| {
        let (method, tops, worst) = (entrant.method, &entrant.tops, entrant.worst());
        trials.extend(tops.iter().map(|trial| trial.number));
        let losses = naming::losses(tops.iter().copied());
        let place = losses.first().map_or("at an unknown place", |(place, _)| place.words());
        let up_to = if tops.len() == 1 { "" } else { "up to " };
        let visits = tops.iter().filter(|trial| trial.lost() > 0).count();
        let (own, lossy) = entrant.set_ups();
        let times = match scenes.len() {
            2.. => format!(" in {lossy} of {own} set-ups"),
            _ if visits < tops.len() => format!(" in {visits} of {} visits", tops.len()),
            _ => String::new(),
        };
        let held = held(results, worst).map_or_else(String::new, |held| {
            trials.push(held.number);
            format!(", and held {}", rate(held.offered_pps))
        });
        format!("{method} lost {up_to}{}{times}, most {place}{held}", percent(worst.sent_loss_ratio()))
    };
    let lossy = entrants.iter().filter(|entrant| !entrant.is_lossless());
    let words: Vec<String> = lossy.map(&mut said).collect();
    (!words.is_empty()).then(|| sentence(format!("Others lost frames: {}.", words.join("; ")), trials))
}

/// The highest load without loss of a method in the set-up of a lossy trial, below all its lossy loads.
fn held<'r>(results: &'r Results, lossy: &TrialResult) -> Option<&'r TrialResult> {
    let own = || {
        results.trials.iter().filter(|trial| {
            trial.profile.method == lossy.profile.method
                && Scene::of(trial) == Scene::of(lossy)
                && trial.verdict != Verdict::Invalid
        })
    };
    let least_lossy =
        own().filter(|trial| trial.lost() > 0).map(|trial| trial.offered_pps).fold(f64::INFINITY, f64::min);
    let by_load = |a: &&TrialResult, b: &&TrialResult| a.offered_pps.total_cmp(&b.offered_pps);
    own().filter(|trial| trial.lost() == 0 && trial.offered_pps < least_lossy).max_by(by_load)
}

/// The cost of a method at the common load of a set-up.
struct Cost<'r> {
    method: &'r str,
    /// CPU time per packet in nanoseconds, over its visits.
    ns: Estimate,
    /// Largest error of the clocks among its visits, in nanoseconds.
    uncertainty_ns: f64,
    /// One trial per visit; never empty.
    trials: Vec<&'r TrialResult>,
}

impl<'r> Cost<'r> {
    fn of(method: &'r str, trials: Vec<&'r TrialResult>) -> Option<Self> {
        let ns = Estimate::of(trials.iter().filter_map(|trial| trial.cpu.total_ns_per_packet))?;
        let uncertainty_ns = trials.iter().map(|trial| trial.cpu_uncertainty_ns()).fold(0.0, f64::max);
        Some(Self { method, ns, uncertainty_ns, trials })
    }

    /// Whether its cost cannot be distinguished from a lower or equal one, given the errors of clocks and the visits.
    fn is_same_as(&self, less: &Self) -> bool {
        let is_within_clocks = self.ns.median - less.ns.median <= self.uncertainty_ns + less.uncertainty_ns;
        let overlaps = self.ns.low.zip(less.ns.high).is_some_and(|(low, high)| low <= high);
        is_within_clocks || overlaps
    }
}

/// The cost of each method at the common load of a set-up.
fn at_common_load<'r>(results: &'r Results, scene: &Scene) -> Vec<Cost<'r>> {
    let common = || {
        let of_scene = results.trials.iter().filter(|trial| Scene::of(trial) == *scene);
        of_scene.filter(|trial| trial.phase == Phase::CommonLoad)
    };
    // A load that a method did not sustain was lowered.
    let least = common().filter_map(|trial| trial.intended_pps).fold(f64::INFINITY, f64::min);
    let held = common().filter(|trial| {
        trial.intended_pps == Some(least) && trial.sustained_load() && trial.cpu.total_ns_per_packet.is_some()
    });
    let methods = grouped(held, |trial| trial.profile.method.as_str()).into_iter();
    methods.filter_map(|(method, trials)| Cost::of(method, trials)).collect()
}

fn cheapest(results: &Results, scenes: &[Scene]) -> Option<Sentence> {
    // Of several set-ups the one with the smallest frames: it has the most packets, so the cost per packet matters most.
    let mean = |scene: &Scene| {
        let trial = results.trials.iter().find(|trial| Scene::of(trial) == *scene);
        trial.map_or(f64::INFINITY, |trial| trial.profile.mean_frame_size)
    };
    let of_scenes = scenes.iter().map(|scene| (scene, at_common_load(results, scene)));
    let compared = of_scenes.filter(|(_, costs)| costs.len() > 1);
    let (scene, costs) = &compared.min_by(|a, b| mean(a.0).total_cmp(&mean(b.0)))?;
    let by_cost = |a: &&Cost<'_>, b: &&Cost<'_>| a.ns.median.total_cmp(&b.ns.median);
    let (least, most) = (costs.iter().min_by(by_cost)?, costs.iter().max_by(by_cost)?);
    let same: Vec<&str> =
        costs.iter().filter(|cost| cost.is_same_as(least)).map(|cost| cost.method).collect();
    let ns = |cost: &Cost<'_>| format!("{} ns", number(cost.ns.median, Unit::NanosecondsPerPacket));
    let intended = least.trials.first().and_then(|trial| trial.intended_pps);
    let load = intended.map_or_else(String::new, |pps| format!(" of {}", rate(pps)));
    let at = if scenes.len() > 1 { format!(" ({})", scene.words()) } else { String::new() };
    let verb = if same.len() == 1 { "costs" } else { "cost" };
    let rest = if same.len() == costs.len() {
        ", no two of which can be told apart".to_string()
    } else {
        format!(", {} most with {}", most.method, ns(most))
    };
    let is_visited = costs.iter().any(|cost| cost.trials.len() > 1);
    let visits = if is_visited { " (medians of the visits)" } else { "" };
    let (same, least) = (list(&same), ns(least));
    Some(sentence(
        format!(
            "At the common load{load}{at} {same} {verb} least, {least} of CPU time a packet{rest}{visits}."
        ),
        costs.iter().flat_map(|cost| cost.trials.iter().map(|trial| trial.number)),
    ))
}
