//! Which methods lose nothing, what the others lose and where, and who is cheapest.

use capbench_measure::results::Results;
use capbench_measure::trial::{Phase, TrialResult, Verdict};

use super::sentence;
use crate::figures::number;
use crate::model::{Sentence, Unit};
use crate::naming::{self, Scene, list, percent, rate};

/// A method with its trials at the highest load of each set-up.
struct Entrant<'r> {
    method: &'r str,
    /// In the order of the set-ups; never empty.
    tops: Vec<&'r TrialResult>,
}

impl Entrant<'_> {
    fn is_lossless(&self) -> bool {
        self.tops.iter().all(|trial| trial.lost() == 0)
    }

    /// The trial that lost the largest share.
    fn worst(&self) -> &TrialResult {
        let by_loss =
            |a: &&&TrialResult, b: &&&TrialResult| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio());
        self.tops.iter().max_by(by_loss).expect("an entrant has trials")
    }

    /// The trial with the highest offered load.
    fn fastest(&self) -> &TrialResult {
        let by_load = |a: &&&TrialResult, b: &&&TrialResult| a.offered_pps.total_cmp(&b.offered_pps);
        self.tops.iter().max_by(by_load).expect("an entrant has trials")
    }
}

pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let entrants = entrants(results);
    if entrants.is_empty() {
        return nothing(results);
    }
    let scenes = scenes(results);
    let mut sentences = vec![lossless(&entrants, &scenes)];
    sentences.extend(losers(results, &entrants, &scenes));
    sentences.extend(cheapest(results, &scenes));
    sentences
}

/// Trials that say something of a method at the highest load that was put on it.
fn entrants(results: &Results) -> Vec<Entrant<'_>> {
    let mut entrants: Vec<Entrant<'_>> = Vec::new();
    let tops = results.trials.iter().filter(|trial| {
        matches!(trial.phase, Phase::BestEffort | Phase::FixedLoad) && trial.verdict != Verdict::Invalid
    });
    for trial in tops {
        let method = trial.profile.method.as_str();
        match entrants.iter_mut().find(|entrant| entrant.method == method) {
            Some(entrant) => entrant.tops.push(trial),
            None => entrants.push(Entrant { method, tops: vec![trial] }),
        }
    }
    entrants
}

/// Set-ups in the order in which they ran.
fn scenes(results: &Results) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    for scene in results.trials.iter().map(Scene::of) {
        if !scenes.contains(&scene) {
            scenes.push(scene);
        }
    }
    scenes
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
        let text = format!("At {load}{place} every method lost frames.");
        return sentence(text, all().map(|trial| trial.number));
    }
    let words: Vec<String> = clean
        .iter()
        .map(|entrant| {
            let offered = rate(entrant.fastest().offered_pps);
            let preposition = if entrant.tops.len() == 1 { "at" } else { "at up to" };
            format!("{} ({preposition} {offered})", entrant.method)
        })
        .collect();
    let tops = || clean.iter().flat_map(|entrant| &entrant.tops);
    let care = if tops().any(|trial| trial.verdict == Verdict::GeneratorLimited) {
        "; the generator did not reach that load everywhere"
    } else if tops().any(|trial| !trial.profile.load_independent) {
        "; the receiver slowed the generator, so this is no limit of a method"
    } else if load == "maximum load" {
        "; the generator sends no more, so each holds at least that"
    } else {
        ""
    };
    let text = format!("At {load}{place} nothing was lost by {}{care}.", list(&words));
    sentence(text, tops().map(|trial| trial.number))
}

/// What the others lost at most, where, and what they held.
fn losers(results: &Results, entrants: &[Entrant<'_>], scenes: &[Scene]) -> Option<Sentence> {
    let lossy: Vec<&Entrant<'_>> = entrants.iter().filter(|entrant| !entrant.is_lossless()).collect();
    if lossy.is_empty() {
        return None;
    }
    let mut trials: Vec<u32> = Vec::new();
    let words: Vec<String> = lossy
        .iter()
        .map(|entrant| {
            let worst = entrant.worst();
            trials.extend(entrant.tops.iter().map(|trial| trial.number));
            let losses = naming::losses(entrant.tops.iter().copied());
            let place = losses.first().map_or("at an unknown place", |(place, _)| place.words());
            let up_to = if entrant.tops.len() == 1 { "" } else { "up to " };
            let times = if scenes.len() > 1 {
                let times = entrant.tops.iter().filter(|trial| trial.lost() > 0).count();
                format!(" in {times} of {}", entrant.tops.len())
            } else {
                String::new()
            };
            let held = held(results, worst).map_or_else(String::new, |held| {
                trials.push(held.number);
                format!(", and held {}", rate(held.offered_pps))
            });
            format!(
                "{} lost {up_to}{}{times}, most {place}{held}",
                entrant.method,
                percent(worst.sent_loss_ratio())
            )
        })
        .collect();
    Some(sentence(format!("Others lost frames: {}.", words.join("; ")), trials))
}

/// The highest load that a method held in the set-up of a trial in which it lost frames, below all loads at which it did.
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

/// Trials at the load that all methods of a set-up held, with their CPU time per packet.
fn at_common_load<'r>(results: &'r Results, scene: &Scene) -> Vec<(&'r TrialResult, f64)> {
    let common = || {
        let of_scene = results.trials.iter().filter(|trial| Scene::of(trial) == *scene);
        of_scene.filter(|trial| trial.phase == Phase::CommonLoad)
    };
    // Loads that not all held were lowered.
    let least = common().filter_map(|trial| trial.intended_pps).fold(f64::INFINITY, f64::min);
    common()
        .filter(|trial| trial.intended_pps == Some(least) && trial.held_load())
        .filter_map(|trial| Some((trial, trial.cpu.total_ns_per_packet?)))
        .collect()
}

fn cheapest(results: &Results, scenes: &[Scene]) -> Option<Sentence> {
    // Of several set-ups, the one with the smallest frames: most packets, and so where the cost of one counts.
    let mean = |scene: &Scene| {
        let trial = results.trials.iter().find(|trial| Scene::of(trial) == *scene);
        trial.map_or(f64::INFINITY, |trial| trial.profile.mean_frame_size)
    };
    let compared: Vec<(&Scene, Vec<(&TrialResult, f64)>)> = scenes
        .iter()
        .map(|scene| (scene, at_common_load(results, scene)))
        .filter(|(_, costs)| costs.len() > 1)
        .collect();
    let (scene, costs) = compared.iter().min_by(|a, b| mean(a.0).total_cmp(&mean(b.0)))?;
    let by_cost = |a: &&(&TrialResult, f64), b: &&(&TrialResult, f64)| a.1.total_cmp(&b.1);
    let (least, most) = (costs.iter().min_by(by_cost)?, costs.iter().max_by(by_cost)?);
    // What the clocks cannot tell apart costs the same.
    let same: Vec<&str> = costs
        .iter()
        .filter(|(trial, cost)| cost - least.1 <= trial.cpu_uncertainty_ns() + least.0.cpu_uncertainty_ns())
        .map(|(trial, _)| trial.profile.method.as_str())
        .collect();
    let ns = |cost: f64| format!("{} ns", number(cost, Unit::NanosecondsPerPacket));
    let load = least.0.intended_pps.map_or_else(String::new, |pps| format!(" of {}", rate(pps)));
    let at = if scenes.len() > 1 { format!(" ({})", scene.words()) } else { String::new() };
    let verb = if same.len() == 1 { "costs" } else { "cost" };
    let rest = if same.len() == costs.len() {
        ", no two of which can be told apart".to_string()
    } else {
        format!(", {} most with {}", most.0.profile.method, ns(most.1))
    };
    Some(sentence(
        format!(
            "At the common load{load}{at} {} {verb} least, {} of CPU time a packet{rest}.",
            list(&same),
            ns(least.1)
        ),
        costs.iter().map(|(trial, _)| trial.number),
    ))
}
