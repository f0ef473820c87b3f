//! The command that settles which of several methods is better.

use capbench_model::placement::PlacementName;
use capbench_model::saved::SavedMethod;
use capbench_model::work::Work;

use super::{Conclusion, Question, Ranking};

impl Ranking {
    /// Adds the command that settles a ranking without a decision.
    pub(super) fn add_settling_command(&mut self, question: Question) {
        let words = words_to_settle(question, self.undecided(), self);
        if let Conclusion::OneOf { settle, .. } = &mut self.conclusion {
            *settle = words;
        }
    }
}

/// The words of the command that settles which of these methods of a ranking is better, without the program: the methods take turns
/// in this set-up alone, until they are decided or its time is over.
pub(crate) fn words_to_settle(question: Question, methods: &[SavedMethod], ranking: &Ranking) -> Vec<String> {
    let mut words: Vec<String> = vec!["bench".into()];
    if let Question::CheapestAt { pps } = question {
        words.extend(["--rate".into(), pps.to_string()]);
    }
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    words.extend(["--method".into(), methods.join(",")]);
    words.extend(["--size".into(), ranking.frame_size.to_string()]);
    // The user chose the CPUs of a custom placement, and names them again.
    if ranking.placement != PlacementName::Custom {
        words.extend(["--placement".into(), ranking.placement.to_string()]);
    }
    // A program has its own work.
    if ranking.work != Work::NONE && ranking.work != Work::OfProgram {
        words.extend(["--work".into(), ranking.work.to_string()]);
    }
    words
}
