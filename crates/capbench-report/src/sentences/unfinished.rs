//! The words of `Unfinished`: the loads with and without loss that a run tried before it ended without a conclusion.

use capbench_judge::finding::unfinished::{TriedLoad, Unfinished};

use crate::naming::{many, rate};

/// The text of a fact.
pub(super) fn words(fact: &Unfinished) -> String {
    let trials = many(fact.trials.into(), "trial", "trials");
    match (&fact.lossless, &fact.lossy) {
        (None, None) if fact.trials == 0 => "No trial was finished, so there is no result.".into(),
        (None, None) => format!("No conclusion: {trials} of the run are invalid."),
        (Some(lossless), None) => {
            format!("No conclusion: of {trials} none lost frames, up to {}.", load_words(lossless))
        }
        (None, Some(lossy)) => format!(
            "No conclusion: no trial of {trials} was without loss; the lowest load with loss is {}.",
            load_words(lossy)
        ),
        (Some(lossless), Some(lossy)) => format!(
            "No conclusion: of {trials} the highest load without loss is {}, and the lowest with loss {}.",
            load_words(lossless),
            load_words(lossy)
        ),
    }
}

fn load_words(load: &TriedLoad) -> String {
    format!("{} ({})", rate(load.offered_pps), load.method)
}

#[cfg(test)]
mod tests {
    use super::{TriedLoad, Unfinished, words};

    /// The sentence about trials, with the rates of the highest load without loss and of the lowest one with loss.
    fn text(trials: u32, lossless_pps: Option<f64>, lossy_pps: Option<f64>) -> String {
        let tried = |offered_pps| TriedLoad { trial: 1, method: "recv".into(), offered_pps };
        words(&Unfinished { trials, lossless: lossless_pps.map(tried), lossy: lossy_pps.map(tried) })
    }

    #[test]
    fn what_is_known_without_a_conclusion_is_said() {
        assert_eq!(text(0, None, None), "No trial was finished, so there is no result.");
        assert_eq!(text(2, None, None), "No conclusion: 2 trials of the run are invalid.");
        assert_eq!(
            text(2, Some(1000.0), None),
            "No conclusion: of 2 trials none lost frames, up to 1,000 packets/s (recv)."
        );
        assert_eq!(
            text(2, None, Some(1000.0)),
            "No conclusion: no trial of 2 trials was without loss; the lowest load with loss is 1,000 packets/s (recv)."
        );
        assert_eq!(
            text(2, Some(1000.0), Some(2000.0)),
            "No conclusion: of 2 trials the highest load without loss is 1,000 packets/s (recv), and the lowest with loss 2,000 \
             packets/s (recv)."
        );
    }
}
