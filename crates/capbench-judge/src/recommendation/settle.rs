//! The command that settles which of several methods is better.

use capbench_model::placement::PlacementName;
use capbench_model::saved::SavedMethod;
use capbench_model::work::Work;

use super::{Question, Scene};
use crate::thresholds::ADVISED_VISITS;

/// The words of the command that settles which of these methods is better, without the program. It measures each method so often
/// that chance alone no longer explains a difference: as many searches, or visits of the load.
pub(super) fn words_to_settle(question: Question, methods: &[SavedMethod], scene: &Scene) -> Vec<String> {
    let mut words: Vec<String> = match question {
        Question::HighestRate => ["search", "--goal", "quick", "--searches"].map(String::from).to_vec(),
        Question::CheapestAt { pps } => {
            vec!["bench".into(), "--rate".into(), pps.to_string(), "--visits".into()]
        }
    };
    words.push(ADVISED_VISITS.to_string());
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    words.extend(["--method".into(), methods.join(",")]);
    words.extend(["--size".into(), scene.frame_size.to_string()]);
    // The user chose the CPUs of a custom placement, and names them again.
    if scene.placement != PlacementName::Custom {
        words.extend(["--placement".into(), scene.placement.to_string()]);
    }
    if scene.work != Work::NONE {
        words.extend(["--work".into(), scene.work.to_string()]);
    }
    words
}
