//! The words next to facts in results files, for readers that do not know the facts.

use capbench_chart::chart::interval_words;
use capbench_judge::comparison::Comparison;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::sweep::SweepOutcome;
use capbench_judge::sweep::back_to_back::SweptBurst;
use capbench_model::noise::Noise;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::comparison::{difference_words, note_words};
use super::cpu_tasks::load_depends_words;
use super::reproduction::{claim_words, here_words, table_notes};
use super::search::warnings;
use super::sweep::buffers::invalid_trial;
use super::{generator, noise, statements};

/// Gives all facts of results their words.
pub fn add_words(results: &mut Results) {
    results.statements = statements::of_run(results);
    results.trials.iter_mut().for_each(add_words_to_trial);
    for sweep in &mut results.sweeps {
        sweep.interval = interval_of_sweep(sweep).to_string();
    }
    for search in &mut results.searches {
        search.warnings = warnings::of_search(search);
    }
    results.reproductions.iter_mut().for_each(add_words_to_reproduction);
    for series in results.sweeps.iter_mut().flat_map(|sweep| &mut sweep.series) {
        for test in series.readings.iter_mut().filter_map(|reading| reading.back_to_back.as_mut()) {
            test.searches.iter_mut().for_each(add_words_to_burst);
        }
    }
    if let Some(record) = &mut results.soak {
        add_words_to_soak(record);
    }
}

/// Gives the facts of a comparison their words.
pub fn add_words_to_comparison(comparison: &mut Comparison) {
    comparison.notes = comparison.note_facts.iter().map(note_words).collect();
    comparison.differences = comparison.difference_facts.iter().map(difference_words).collect();
}

/// Gives the facts of a trial and of all that it keeps their words.
pub fn add_words_to_trial(trial: &mut TrialResult) {
    trial.noise.words = all_words(&trial.noise.reasons);
    if let Some(because) = &trial.profile.load_depends {
        trial.profile.load_depends_because = Some(load_depends_words(because));
    }
    if !trial.generator_facts.is_empty() {
        trial.generator = generator::line(&trial.generator_facts);
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

fn add_words_to_reproduction(reproduction: &mut Reproduction) {
    reproduction.here = here_words(reproduction);
    for judgement in &mut reproduction.findings {
        judgement.text = claim_words(judgement);
    }
    for table in &mut reproduction.tables {
        table.notes = table_notes(table);
    }
}

fn add_words_to_burst(search: &mut SweptBurst) {
    search.because = search.invalid_trial().as_ref().map(invalid_trial);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn saved_facts_have_their_words_next_to_them() {
        let table = json!({
            "id": "a", "caption": "A", "rows_are": {"heading": "bytes", "quantity": "frame_bytes"}, "columns": [], "rows": [],
            "notes": [], "note_facts": [{"what": "cannot_run", "method": "pf-ring", "because": "no card"}],
        });
        let finding = json!({
            "claim": "So.", "answer": "holds", "text": "", "trials": [1],
            "evidence": [{"what": "figures", "text": "It is {a}.", "values": {"a": {"what": "unmeasured"}}}],
        });
        let mut reproduction = Reproduction {
            tables: vec![serde_json::from_value(table).unwrap()],
            findings: vec![serde_json::from_value(finding).unwrap()],
            ..Reproduction::default()
        };
        add_words_to_reproduction(&mut reproduction);
        assert_eq!(reproduction.tables[0].notes, ["pf-ring cannot run here: no card"]);
        assert_eq!(reproduction.findings[0].text, "It is -.");

        let search = json!({
            "end": "invalid", "because_fact": {"trial": 4, "because": "a reason"}, "frames": null, "burst_pps": 1.0,
            "drained_pps": 1.0, "trials": [4],
        });
        let mut search: SweptBurst = serde_json::from_value(search).unwrap();
        add_words_to_burst(&mut search);
        assert_eq!(search.because.as_deref(), Some("trial 4: a reason"));
    }
}
