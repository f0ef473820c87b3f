//! The words of `Unfinished`: the loads with and without loss that a run tried before it ended without a conclusion.

use capbench_judge::finding::unfinished::{TriedLoad, Unfinished};

use crate::naming::{many, rate};

/// The text of a fact.
pub(super) fn words(fact: &Unfinished) -> String {
    if fact.trials == 0 {
        return "No trial was finished, so there is no result.".into();
    }
    let trials = many(fact.trials.into(), "trial", "trials");
    let start = match fact.is_stopped {
        true => format!("Stopped after {trials}, nothing is decided:"),
        false => format!("No conclusion from {trials}:"),
    };
    let loads = match (&fact.lossless, &fact.lossy) {
        (None, None) => "none is valid".into(),
        (Some(lossless), None) => format!("no valid one lost frames, up to {}", load_words(lossless)),
        (None, Some(lossy)) => {
            format!("none captured all; the lowest load with loss is {}", load_words(lossy))
        }
        (Some(lossless), Some(lossy)) => format!(
            "the highest load without loss is {}, and the lowest with loss {}",
            load_words(lossless),
            load_words(lossy)
        ),
    };
    format!("{start} {loads}.")
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
        let lossless = lossless_pps.map(tried);
        let lossy = lossy_pps.map(tried);
        words(&Unfinished { trials, is_stopped: true, lossless, lossy })
    }

    #[test]
    fn what_is_known_without_a_conclusion_is_said() {
        assert_eq!(text(0, None, None), "No trial was finished, so there is no result.");
        assert_eq!(text(2, None, None), "Stopped after 2 trials, nothing is decided: none is valid.");
        assert_eq!(
            text(2, Some(1000.0), None),
            "Stopped after 2 trials, nothing is decided: no valid one lost frames, up to 1,000 packets/s (recv)."
        );
        assert_eq!(
            text(1, None, Some(1000.0)),
            "Stopped after 1 trial, nothing is decided: none captured all; the lowest load with loss is 1,000 packets/s (recv)."
        );
        assert_eq!(
            text(2, Some(1000.0), Some(2000.0)),
            "Stopped after 2 trials, nothing is decided: the highest load without loss is 1,000 packets/s (recv), and the lowest \
             with loss 2,000 packets/s (recv)."
        );
        let ended = Unfinished { trials: 2, is_stopped: false, lossless: None, lossy: None };
        assert_eq!(words(&ended), "No conclusion from 2 trials: none is valid.");
    }
}
