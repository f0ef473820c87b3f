//! What has become of the claims of publications.

use capbench_measure::reproduction::Reproduction;
use capbench_measure::results::{Finding, Results};

use super::trials;

/// Of each publication the answers to its claims, then what concerns all trials.
pub(super) fn find(results: &Results) -> Vec<Finding> {
    let of_all = trials::find(&results.trials).into_iter().filter(|finding| finding.scene.is_none());
    results.reproductions.iter().flat_map(claims).chain(of_all).collect()
}

fn claims(reproduction: &Reproduction) -> impl Iterator<Item = Finding> {
    reproduction.findings.iter().map(|judgement| Finding {
        scene: Some(reproduction.key.clone()),
        text: format!("{}: {} {}", judgement.answer, judgement.claim, judgement.text),
        trials: judgement.trials.clone(),
    })
}
