//! At most three sentences that answer what a run was for. They are worked out from what was measured; the words of findings
//! are not looked at.
//!
//! | file | of |
//! |---|---|
//! | `bench` | which methods lose nothing, what the others lose and where, and who is cheapest at a load that all hold |
//! | `search` | NDR, PDR and what is held without any loss; what limits |
//! | `sweep` | where each method begins to lose, and the most that it delivers |
//! | `rfc2544` | throughput, and what the tests told in terms of it found |
//! | `soak` | whether the load was held, and what was lost when |

mod bench;
mod rfc2544;
mod search;
mod soak;
mod sweep;

use capbench_measure::results::Results;

use crate::model::{Sentence, Trials};
use crate::naming::Kind;

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
    };
    sentences.truncate(MOST);
    if sentences.is_empty() {
        let text = match results.trials.len() {
            0 => "No trial was finished, so nothing can be said.".into(),
            _ => "What was finished answers nothing: the trials below are all there is.".to_string(),
        };
        sentences.push(Sentence { text, trials: Trials::new() });
    }
    sentences
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
pub(crate) use sweep::{label, onset};
