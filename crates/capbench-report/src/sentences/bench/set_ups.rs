//! Findings of each set-up: which methods lose nothing, what the others lose and where, and which is cheapest.
use crate::results::Finding;
use capbench_model::trial::{Phase, TrialResult, Verdict};

use crate::groups::grouped;
use crate::sentences::{finding, numbers, percent, rate};

/// Costs that differ by less than this share are called equal: the clock of kernel time is coarser.
const NOTABLE: f64 = 0.05;

/// Findings of each frame size and placement.
pub(crate) fn of_set_ups(trials: &[TrialResult]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let scene = |trial: &&TrialResult| (trial.profile.placement.clone(), trial.profile.frame_size.clone());
    for ((placement, size), group) in &grouped(trials, scene) {
        let scene = format!("{size}-byte frames, placement {placement}");
        let standing = representatives(group);
        let of = |phase| standing.iter().copied().filter(|trial| trial.phase == phase).collect::<Vec<_>>();
        let mut own = at_load(&of(Phase::BestEffort), best_effort);
        own.extend(at_load(&of(Phase::FixedLoad), fixed_load));
        own.extend(common_load(&standing));
        own.extend(several(group));
        findings.extend(own.into_iter().map(|finding| Finding { scene: Some(scene.clone()), ..finding }));
    }
    findings
}

/// One trial per method and load. For loss the one that lost most, because a lossless method loses nothing every time; for cost
/// the median one.
fn representatives<'t>(group: &[&'t TrialResult]) -> Vec<&'t TrialResult> {
    let visited = grouped(group.iter().copied(), |trial| key(trial));
    visited.iter().filter_map(|(_, visits)| representative(visits)).collect()
}

/// The key of visits of one set-up. Loads of sweeps and searches are covered elsewhere.
fn key(trial: &TrialResult) -> (&str, Phase, Option<u64>, Option<u32>) {
    let is_visited = matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad);
    let own = (!is_visited).then_some(trial.number);
    (&trial.profile.method, trial.phase, trial.intended_pps.map(f64::to_bits), own)
}

fn representative<'t>(visits: &[&'t TrialResult]) -> Option<&'t TrialResult> {
    let shows = |trial: &&&TrialResult| trial.verdict != Verdict::Invalid;
    let mut valid: Vec<&TrialResult> = visits.iter().filter(shows).copied().collect();
    let Some(first) = valid.first() else { return visits.first().copied() };
    if first.phase != Phase::CommonLoad || valid.iter().any(|trial| !trial.sustained_load()) {
        return valid.into_iter().max_by(|a, b| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio()));
    }
    let cost = |trial: &TrialResult| trial.cpu.total_ns_per_packet.unwrap_or(0.0);
    valid.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    valid.get(valid.len() / 2).copied()
}

/// One statement that there were several visits.
fn several(group: &[&TrialResult]) -> Option<Finding> {
    let of = |trial: &TrialResult| group.iter().filter(|other| key(other) == key(trial)).count();
    let most = group.iter().map(|trial| of(trial)).max().unwrap_or(0);
    let again = group.iter().filter(|trial| of(trial) > 1).map(|trial| trial.number);
    let text = format!(
        "every method was visited up to {most} times: of loss the visit that lost most is named, of costs the middle one."
    );
    (most > 1).then(|| finding(text, again))
}

/// Findings at one load: those of the lossless trials, those of the trials that did not reach it, and where frames were lost.
fn at_load(trials: &[&TrialResult], of_clean: fn(&[&TrialResult]) -> String) -> Vec<Finding> {
    let of = |verdict| trials.iter().copied().filter(|trial| trial.verdict == verdict).collect::<Vec<_>>();
    let clean = of(Verdict::Lossless);
    let clean_words = (!clean.is_empty()).then(|| finding(of_clean(&clean), numbers(&clean)));
    // At maximum load there is nothing to reach.
    let limited =
        trials.iter().any(|trial| trial.phase == Phase::FixedLoad).then(|| of(Verdict::GeneratorLimited));
    let limited = limited.and_then(|limited| limited_by_generator(&limited));
    [clean_words, limited, lossy(&of(Verdict::Lossy))].into_iter().flatten().collect()
}

/// Which methods are lossless at which rate, and what limited them.
fn best_effort(clean: &[&TrialResult]) -> String {
    let each = |trial: &&TrialResult| format!("{} at {}", trial.profile.method, rate(trial.offered_pps));
    let why = match clean.iter().all(|trial| trial.profile.load_independent) {
        true => "The generator was the limit, so each can hold at least that.",
        false => "The receiver slowed the generator there, so this is no limit of a method.",
    };
    format!("lossless at maximum load: {}. {why}", list(clean, each))
}

/// Which methods are lossless at a load that the user named.
fn fixed_load(clean: &[&TrialResult]) -> String {
    format!("lossless at {}: {}.", rate(clean[0].offered_pps), methods(clean))
}

/// Trials without loss in which the requested load was not reached.
fn limited_by_generator(limited: &[&TrialResult]) -> Option<Finding> {
    let each = |trial: &&TrialResult| format!("{} ({})", trial.profile.method, rate(trial.offered_pps));
    let text = format!(
        "the generator did not reach the load asked for with {}: nothing that was sent was lost, and nothing is shown about \
         that load.",
        list(limited, each)
    );
    (!limited.is_empty()).then(|| finding(text, numbers(limited)))
}

/// Which methods lost frames, and where.
fn lossy(lossy: &[&TrialResult]) -> Option<Finding> {
    let each = |trial: &&TrialResult| {
        let share = |count: u64| percent(count as f64 / trial.sent as f64);
        let places = trial.losses().into_iter();
        let mut places: Vec<_> =
            places.map(|(place, count)| format!("{} {}", share(count), place.words())).collect();
        if trial.unexplained > 0 {
            places.push(format!("{} where nothing here counts", share(trial.unexplained as u64)));
        }
        format!(
            "{} delivered {} of {} and lost {}",
            trial.profile.method,
            rate(trial.delivered_pps),
            rate(trial.offered_pps),
            places.join(", ")
        )
    };
    let words: Vec<_> = lossy.iter().map(each).collect();
    (!lossy.is_empty()).then(|| finding(format!("{}.", words.join("; ")), numbers(lossy)))
}

fn list(trials: &[&TrialResult], words: impl Fn(&&TrialResult) -> String) -> String {
    trials.iter().map(words).collect::<Vec<_>>().join(", ")
}

fn methods(trials: &[&TrialResult]) -> String {
    list(trials, |trial| trial.profile.method.clone())
}

/// The cheapest method at equal work.
fn common_load(group: &[&TrialResult]) -> Vec<Finding> {
    let of = |phase| group.iter().copied().filter(move |trial| trial.phase == phase);
    let loads = of(Phase::CommonLoad).filter_map(|trial| trial.intended_pps);
    let Some(pps) = loads.min_by(f64::total_cmp) else { return Vec::new() };
    let last: Vec<_> = of(Phase::CommonLoad).filter(|trial| trial.intended_pps == Some(pps)).collect();
    let missed = |verdict| -> Vec<_> {
        let missed = last.iter().copied().filter(|trial| !trial.sustained_load());
        missed.filter(|trial| trial.verdict == verdict).collect()
    };
    let has_run = |trial: &TrialResult| last.iter().any(|other| other.profile.method == trial.profile.method);
    let absent: Vec<_> = of(Phase::BestEffort).filter(|trial| !has_run(trial)).collect();
    let named = |trials: &[&TrialResult], words: String| {
        (!trials.is_empty()).then(|| finding(format!("{words}{}.", methods(trials)), numbers(trials)))
    };
    let lost = missed(Verdict::Lossy);
    let findings = [
        named(&lost, format!("at {} frames were lost by ", rate(pps))),
        limited_by_generator(&missed(Verdict::GeneratorLimited)),
        named(&absent, "too slow for a load at which costs can be compared: ".into()),
        cheapest(&last, pps),
    ];
    findings.into_iter().flatten().collect()
}

fn cheapest(last: &[&TrialResult], pps: f64) -> Option<Finding> {
    let held = last.iter().copied().filter(|trial| trial.sustained_load());
    let mut costs: Vec<_> = held.filter_map(|trial| Some((trial.cpu.total_ns_per_packet?, trial))).collect();
    costs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let ((least, cheapest), others) = costs.split_first().filter(|(_, others)| !others.is_empty())?;
    let is_dearer = |(cost, trial): &&(f64, &TrialResult)| {
        let doubt = cheapest.cpu_uncertainty_ns() + trial.cpu_uncertainty_ns();
        cost - least >= (cost * NOTABLE).max(doubt)
    };
    let alike: Vec<_> = others.iter().filter(|other| !is_dearer(other)).map(|(_, trial)| *trial).collect();
    let compared: Vec<_> = costs.iter().map(|(_, trial)| *trial).collect();
    let held_by_all = compared.len() == last.len() && last.iter().all(|trial| trial.sustained_load());
    let who = if held_by_all { "all".into() } else { methods(&compared) };
    let text = match others.iter().rfind(is_dearer) {
        None => "no method is notably cheaper than another.".into(),
        Some((most, dearest)) => {
            let alike = match alike.len() {
                0 => String::new(),
                _ => format!(", from which the clocks cannot tell {},", methods(&alike)),
            };
            format!(
                "{} costs least per packet ({}){alike} and {} most ({}).",
                cheapest.profile.method,
                cost(*least, cheapest),
                dearest.profile.method,
                cost(*most, dearest)
            )
        }
    };
    Some(finding(format!("at {}, held by {who}, {text}", rate(pps)), numbers(&compared)))
}

/// The CPU time per packet of a trial in words, with the uncertainty of its clocks. The application's share is omitted if
/// unknown, as for methods that count in the kernel.
fn cost(total: f64, trial: &TrialResult) -> String {
    let doubt = trial.cpu_uncertainty_ns();
    let total = if doubt >= 1.0 { format!("{total:.0} ± {doubt:.0}") } else { format!("{total:.0}") };
    let Some(own) = trial.cpu.app_ns_per_packet else { return format!("{total} ns of CPU time") };
    let own = match trial.cpu.app_ns_per_packet_at_most.filter(|_| trial.cpu.split_is_sampled) {
        Some(most) if most.round() > own.round() => format!("{own:.0} to {most:.0}"),
        _ => format!("{own:.0}"),
    };
    format!("{total} ns of CPU time, {own} of them in the application")
}
