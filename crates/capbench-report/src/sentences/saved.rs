//! The words next to facts in results files, for readers that do not know the facts.

use capbench_chart::chart::interval_words;
use capbench_judge::comparison::Comparison;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::sweep::SweepOutcome;
use capbench_model::noise::Noise;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::comparison::{difference_words, note_words};
use super::reproduction::claim_words;
use super::search::warnings;
use super::{generator, noise, statements};

/// Adds the words of all facts to results.
pub fn add_words(results: &mut Results) {
    results.statements = statements::all(results);
    results.trials.iter_mut().for_each(add_words_to_trial);
    for sweep in &mut results.sweeps {
        sweep.interval = interval_of_sweep(sweep).to_string();
    }
    for search in &mut results.searches {
        search.warnings = warnings::all(search);
    }
    for reproduction in &mut results.reproductions {
        for judgement in &mut reproduction.findings {
            judgement.text = claim_words(judgement);
        }
    }
    if let Some(record) = &mut results.soak {
        add_words_to_soak(record);
    }
}

/// Adds the words of a comparison's facts to it.
pub fn add_words_to_comparison(comparison: &mut Comparison) {
    comparison.notes = comparison.note_facts.iter().map(note_words).collect();
    comparison.differences = comparison.difference_facts.iter().map(difference_words).collect();
}

/// Adds the words of a trial's facts to it, and to its discarded attempts and probes.
pub fn add_words_to_trial(trial: &mut TrialResult) {
    trial.noise.words = all_words(&trial.noise.reasons);
    if !trial.generator_facts.is_empty() {
        trial.generator = generator::all(&trial.generator_facts);
    }
    let Some(guarding) = &mut trial.guarding else { return };
    for attempt in &mut guarding.discarded {
        attempt.because.words = all_words(&attempt.because.reasons);
        add_words_to_trial(&mut attempt.trial);
    }
    if let Some(recovery) = &mut guarding.recovery {
        recovery.probes.iter_mut().for_each(add_words_to_trial);
    }
}

/// What the intervals of a sweep are; in older files the words are all.
pub(crate) fn interval_of_sweep(sweep: &SweepOutcome) -> &str {
    match sweep.interval_method {
        Some(method) => interval_words(method),
        None => &sweep.interval,
    }
}

fn add_words_to_soak(record: &mut SoakRecord) {
    record.noise_words.clear();
    for noisy in &record.noise {
        record.noise_words.insert(noise::words(&noisy.noise), noisy.segments);
    }
    record.kept.iter_mut().for_each(add_words_to_trial);
}

fn all_words(reasons: &[Noise]) -> Vec<String> {
    reasons.iter().map(noise::words).collect()
}
