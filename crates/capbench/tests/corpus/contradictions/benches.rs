//! What a bench says of its methods, against its trials.

use std::collections::BTreeMap;

use super::comparisons::visits_of_run;
use super::{median, trials_of, turns};
use crate::imports::{
    BenchFinding, BenchVerdict, ComparedTime, Finding, PausedMethod, Phase, Results, Rivals, SavedMethod,
    SustainedRate, TrialResult, Verdict, recommendation,
};

/// A lossless trial shows a rate if it offered at least this share of it: a load may lack as much, and rates are rounded.
const ABOUT: f64 = 0.99;
/// The same of a load that the user asked for, of which a generator may leave a twentieth unsent.
const ABOUT_ASKED: f64 = 0.95;
/// A method that captured less than this share in each trial cannot sustain the load.
const FAR_LESS: f64 = 0.5;

pub fn in_finding(fact: &BenchFinding, finding: &Finding, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    if let BenchFinding::Verdict(verdict) = fact {
        all.extend(turns::in_verdict(verdict, results));
    }
    match fact {
        BenchFinding::InTurns(fact) => all.extend(turns::in_finding(fact, results)),
        BenchFinding::Verdict(BenchVerdict::Use { method, sustains, .. }) => {
            all.extend(against_rate(method, sustains, finding, results));
        }
        BenchFinding::Verdict(BenchVerdict::UseMeanwhile { method, sustains, rivals, .. }) => {
            all.extend(against_rate(method, sustains, finding, results));
            if let Rivals::Cost { may_sustain_it, .. } = rivals {
                all.extend(may_sustain_it.iter().filter_map(|rival| against_rival(rival, results)));
            }
        }
        BenchFinding::Verdict(BenchVerdict::NoneLossless { closest: Some(closest), .. }) => {
            all.extend(against_closest(closest, results));
        }
        BenchFinding::CostsDiffer { time, at_pps, cheapest, dearest, undecided, .. } => {
            if cheapest.contains(dearest) {
                all.push(format!("{dearest} has the least and the most"));
            }
            if undecided.iter().any(|method| method == dearest || cheapest.contains(method)) {
                all.push(format!("one of {undecided:?} is in two groups"));
            }
            if let (Some(at_pps), true) = (*at_pps, undecided.is_empty()) {
                all.extend(against_dearest(*time, at_pps, cheapest, dearest, finding, results));
            }
        }
        BenchFinding::Settle { command, .. } => all.extend(against_command(command, results)),
        BenchFinding::Paused { methods } => {
            all.extend(methods.iter().filter_map(|paused| against_paused(paused, finding, results)));
        }
        _ => {}
    }
    all
}

/// The column *lossless up to* of the tables of a bench.
pub fn in_ranking(results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    let Some(recommended) = recommendation(results) else { return all };
    for ranking in &recommended.rankings {
        for ranked in &ranking.methods {
            let Some(pps) = ranked.lossless.lower_pps else { continue };
            let is_shown = results.trials.iter().any(|trial| {
                let profile = &trial.profile;
                profile.method == ranked.method
                    && profile.frame_size == ranking.frame_size
                    && profile.placement == ranking.placement
                    && trial.lost() == 0
                    && trial.offered_pps >= ABOUT * pps
            });
            if !is_shown {
                all.push(format!(
                    "{} is lossless up to {pps}, but each such trial lost frames",
                    ranked.method
                ));
            }
        }
    }
    all
}

/// A rate without loss is that of a trial without loss, or below it.
fn against_rate(
    method: &SavedMethod,
    sustains: &SustainedRate,
    finding: &Finding,
    results: &Results,
) -> Option<String> {
    let least_pps = match *sustains {
        SustainedRate::Asked { pps } => ABOUT_ASKED * pps,
        SustainedRate::Sent { sent_pps: pps, .. }
        | SustainedRate::Limit { pps, .. }
        | SustainedRate::AtLeast { pps } => ABOUT * pps,
        SustainedRate::None | SustainedRate::Unknown | SustainedRate::UnknownAt { .. } => return None,
    };
    let mut trials = trials_of(results, &finding.trials);
    trials.retain(|trial| trial.profile.method == *method && trial.verdict != Verdict::Invalid);
    let is_shown = trials.iter().any(|trial| trial.lost() == 0 && trial.offered_pps >= least_pps);
    (!is_shown).then(|| format!("no trial of {method} from {least_pps:.0} packets/s on is without loss"))
}

/// No other method captured a larger share in its trials in turns, of the same set-up.
fn against_closest(closest: &SavedMethod, results: &Results) -> Option<String> {
    let mut in_turns: BTreeMap<&SavedMethod, Vec<f64>> = BTreeMap::new();
    let setup_of = |trial: &TrialResult| (trial.profile.frame_size.clone(), trial.profile.placement.clone());
    let turns = results.trials.iter().filter(|trial| trial.phase == Phase::Turns);
    let setup = setup_of(turns.clone().find(|trial| trial.profile.method == *closest)?);
    for trial in turns.filter(|trial| setup_of(trial) == setup) {
        let captured = trial.delivered as f64 / trial.sent.max(1) as f64;
        in_turns.entry(&trial.profile.method).or_default().push(captured);
    }
    let medians: BTreeMap<_, _> =
        in_turns.into_iter().map(|(method, shares)| (method, median(shares))).collect();
    let of_closest = medians[closest];
    let (other, share) = medians.into_iter().find(|(_, share)| *share > of_closest)?;
    Some(format!(
        "{other} captured {share:.3}, more than {closest} with {of_closest:.3}, which comes closest"
    ))
}

/// A method that may sustain the load captured most of it in some trial.
fn against_rival(rival: &SavedMethod, results: &Results) -> Option<String> {
    let mut most: Option<f64> = None;
    for trial in &results.trials {
        let is_sound = trial.verdict != Verdict::Invalid;
        if trial.phase == Phase::FixedLoad && trial.profile.method == *rival && is_sound {
            let captured = trial.delivered as f64 / trial.sent.max(1) as f64;
            most = Some(most.map_or(captured, |most| most.max(captured)));
        }
    }
    let most = most.filter(|most| *most < FAR_LESS)?;
    Some(format!("{rival} may sustain it, but captured up to {:.1} %", most * 100.0))
}

/// The method that needs most CPU time does so in the median of the trials.
fn against_dearest(
    time: ComparedTime,
    at_pps: f64,
    cheapest: &[SavedMethod],
    dearest: &SavedMethod,
    finding: &Finding,
    results: &Results,
) -> Option<String> {
    let dearest_ns = median_ns(time, at_pps, dearest, finding, results)?;
    for method in cheapest {
        let ns = median_ns(time, at_pps, method, finding, results)?;
        if ns > dearest_ns {
            return Some(format!("{method} needs {ns:.0} ns, and {dearest} {dearest_ns:.0} ns"));
        }
    }
    None
}

fn median_ns(
    time: ComparedTime,
    at_pps: f64,
    method: &SavedMethod,
    finding: &Finding,
    results: &Results,
) -> Option<f64> {
    let mut times = Vec::new();
    for trial in trials_of(results, &finding.trials) {
        if trial.profile.method == *method && trial.intended_pps == Some(at_pps) {
            times.extend(match time {
                ComparedTime::Application => application_ns(trial),
                ComparedTime::Total => trial.total_ns_per_packet(),
            });
        }
    }
    if times.is_empty() { None } else { Some(median(times)) }
}

/// The middle of the interval of the application's time.
fn application_ns(trial: &TrialResult) -> Option<f64> {
    let least = trial.cpu.app_ns_per_packet?;
    Some(f64::midpoint(least, trial.cpu.app_ns_per_packet_at_most.unwrap_or(least).max(least)))
}

/// As many of the named trials of a method lost frames, and none a larger share.
fn against_paused(paused: &PausedMethod, finding: &Finding, results: &Results) -> Option<String> {
    let mut lossy = trials_of(results, &finding.trials);
    lossy.retain(|trial| trial.profile.method == paused.method && trial.lost() > 0);
    let largest = lossy.iter().map(|trial| trial.sent_loss_ratio()).fold(0.0, f64::max);
    let is_so = (lossy.len() as u32, largest) == (paused.lossy_trials, paused.largest_loss_ratio);
    (!is_so).then(|| {
        format!("{} named trials of {} lost up to {largest} of their frames", lossy.len(), paused.method)
    })
}

/// A command that decides asks for more visits than the run had.
fn against_command(command: &[String], results: &Results) -> Option<String> {
    let flag = command.iter().position(|word| word == "--visits")?;
    let visits: usize = command.get(flag + 1)?.parse().ok()?;
    let had = visits_of_run(results, |_| true);
    (visits <= had).then(|| format!("{visits} visits are to decide, and the run had {had}"))
}
