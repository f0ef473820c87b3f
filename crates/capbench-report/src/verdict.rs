//! At most three sentences that answer what a run was for. They are worked out from what was measured; the words of findings
//! are not looked at.
//!
//! | file | of |
//! |---|---|
//! | `bench` | which methods lose nothing, what the others lose and where, and who is cheapest at a load that all hold |
//! | `comparison` | what became worse or better, where methods took turns with another one |
//! | `search` | NDR, PDR and what is held without any loss; what limits |
//! | `sweep` | where each method begins to lose, and the most that it delivers |
//! | `rfc2544` | throughput, and what the tests told in terms of it found |
//! | `soak` | whether the load was held, and what was lost when |
//! | `reproduction` | how many claims of publications still hold, and which have changed |

mod bench;
pub(crate) mod comparison;
mod reproduction;
mod rfc2544;
mod search;
mod soak;
mod sweep;

use capbench_measure::results::Results;
use capbench_measure::trial::{TrialResult, Verdict};

use crate::model::{Sentence, Trials};
use crate::naming::{Kind, many, rate};

/// Sentences at most.
const MOST: usize = 3;

/// The verdict of a run.
pub fn verdict(results: &Results) -> Vec<Sentence> {
    let mut sentences = match Kind::of(results) {
        Kind::Bench => bench::verdict(results),
        Kind::Search => search::verdict(results),
        Kind::Sweep => sweep::verdict(results),
        Kind::Rfc2544 => rfc2544::verdict(results),
        Kind::Soak => soak::verdict(results),
        Kind::Reproduce => reproduction::verdict(results),
    };
    // Whoever asked for a comparison wants that first.
    if let Some(compared) = comparison::verdict(results) {
        sentences.insert(0, compared);
    }
    sentences.truncate(MOST);
    if sentences.is_empty() {
        sentences.push(unfinished(results));
    }
    sentences
}

/// What trials say of which nothing was concluded, because the run ended before.
fn unfinished(results: &Results) -> Sentence {
    let valid = || results.trials.iter().filter(|trial| trial.verdict != Verdict::Invalid);
    let by_load = |a: &&TrialResult, b: &&TrialResult| a.offered_pps.total_cmp(&b.offered_pps);
    let said = |trial: &TrialResult| format!("{} ({})", rate(trial.offered_pps), trial.profile.method);
    let clean = valid().filter(|trial| trial.lost() == 0 && trial.sent > 0).max_by(by_load);
    let lossy = valid().filter(|trial| trial.lost() > 0).min_by(by_load);
    let all = many(results.trials.len() as u64, "trial", "trials");
    let text = match (clean, lossy) {
        (None, None) if results.trials.is_empty() => "No trial was finished, so nothing can be said.".into(),
        (None, None) => format!("Nothing was concluded, and {all} show nothing."),
        (Some(clean), None) => {
            format!("Nothing was concluded: of {all}, none lost frames, at up to {}.", said(clean))
        }
        (None, Some(lossy)) => {
            format!("Nothing was concluded: of {all}, every one lost frames, from {} on.", said(lossy))
        }
        (Some(clean), Some(lossy)) => format!(
            "Nothing was concluded: of {all}, the highest load without loss is {}, and the lowest with loss {}.",
            said(clean),
            said(lossy)
        ),
    };
    sentence(text, clean.into_iter().chain(lossy).map(|trial| trial.number))
}

/// A sentence with its evidence, each trial once.
fn sentence(text: String, trials: impl IntoIterator<Item = u32>) -> Sentence {
    let mut trials: Trials = trials.into_iter().collect();
    trials.sort_unstable();
    trials.dedup();
    Sentence { text, trials }
}

/// With a capital, as sentences begin; names of methods stay as they are.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(crate) use rfc2544::outcome;
pub(crate) use sweep::{bursts_of, label, onset};
