//! The command that settles which of several methods is better.

use capbench_model::placement::PlacementName;
use capbench_model::saved::SavedMethod;
use capbench_model::work::Work;

use super::{Question, Scene};

/// Searches or visits that distinguish two methods among a few.
const TIMES: &str = "6";

/// The command that settles which of these methods is better.
pub(super) fn words_to_settle(
    question: Question,
    methods: &[SavedMethod],
    (frame_size, placement, work): &Scene,
) -> Vec<String> {
    let mut words: Vec<String> = match question {
        Question::HighestRate => {
            ["search", "--goal", "quick", "--searches", TIMES].map(String::from).to_vec()
        }
        Question::CheapestAt { pps } => {
            vec!["bench".into(), "--rate".into(), pps.to_string(), "--visits".into(), TIMES.into()]
        }
    };
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    words.extend(["--method".into(), methods.join(",")]);
    words.extend(["--size".into(), frame_size.to_string()]);
    // A placement of the user's own is named by its CPUs, which the user knows.
    if *placement != PlacementName::Custom {
        words.extend(["--placement".into(), placement.to_string()]);
    }
    if *work != Work::NONE {
        words.extend(["--work".into(), work.to_string()]);
    }
    words
}
