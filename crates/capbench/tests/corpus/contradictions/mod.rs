//! Facts that the trials of their own run contradict. It reads facts and trials only, so that it does not repeat the judgement that made the
//! facts: it counts trials, adds up frames and compares medians.
//!
//! | file | rules about |
//! |---|---|
//! | `limits` | what limited trials |
//! | `searches` | what searches sustain, and their limits |
//! | `caveats` | how many trials noise may have changed, and which processes used their CPUs |
//! | `benches` | the rate of the named method, its rivals, costs, and commands that decide |
//! | `turns` | which methods are worse in turns, by how much, and which are equal |
//! | `sweeps` | points at which methods keep up, what stops more members |
//! | `comparisons` | the visits that a comparison asks for, and which method costs less |
//! | `trials` | where packets are, when they were lost, and the bounds of a run without a conclusion |
//! | `rfc2544` | throughputs, and the loss at the highest load |
//! | `transcribed` | facts of earlier versions that their trials contradict: each is found |

mod benches;
mod caveats;
mod comparisons;
mod limits;
mod rfc2544;
mod searches;
mod sweeps;
mod transcribed;
mod trials;
mod turns;

use crate::imports::{Fact, Finding, Results, TrialResult};

/// What the answers, findings and caveats of a run say against its trials: a line each.
pub fn in_run(results: &Results) -> Vec<String> {
    let mut all = benches::in_ranking(results);
    for finding in results.answers.iter().chain(&results.findings).chain(&results.caveats) {
        if let Some(fact) = &finding.fact {
            for contradiction in in_fact(fact, finding, results) {
                all.push(format!("\"{}\": {contradiction}", finding.text));
            }
        }
    }
    all
}

/// What a fact says against the trials of the run.
fn in_fact(fact: &Fact, finding: &Finding, results: &Results) -> Vec<String> {
    match fact {
        Fact::SearchAnswer(answer) => searches::in_answer(answer, results),
        Fact::Search(found) => searches::in_finding(found, finding, results),
        Fact::Bench(found) => benches::in_finding(found, finding, results),
        Fact::SweepAnswer(answer) => sweeps::in_answer(answer, finding, results),
        Fact::Sweep(found) => sweeps::in_finding(found, results),
        Fact::Comparison(found) => comparisons::in_finding(found, results),
        Fact::Caveat(caveat) => caveats::in_caveat(caveat, finding, results),
        Fact::Trials(found) => trials::in_finding(found, finding, results),
        Fact::LossPattern(found) => trials::in_loss_pattern(found, finding, results),
        Fact::Unfinished(found) => trials::in_unfinished(found, results),
        Fact::Rfc2544Answer(answer) => rfc2544::in_answer(answer, results),
        Fact::SoakAnswer(_)
        | Fact::Soak(_)
        | Fact::ReproductionAnswer(_)
        | Fact::Reproduction(_)
        | Fact::Queues(_) => Vec::new(),
    }
}

/// The trials with these numbers.
fn trials_of<'r>(results: &'r Results, numbers: &[u32]) -> Vec<&'r TrialResult> {
    results.trials.iter().filter(|trial| numbers.contains(&trial.number)).collect()
}

/// The median of values, at least one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values[values.len() / 2];
    let lower = values[(values.len() - 1) / 2];
    f64::midpoint(lower, upper)
}
