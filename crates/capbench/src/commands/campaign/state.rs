//! What is done of a run, by the results in its directory.

use std::fs;
use std::path::Path;

use capbench_judge::search::End;
use capbench_report::report;
use capbench_results::read;
use capbench_results::{Results, RunDirectory};

use super::file::PlannedRun;
use crate::exit::{self, RunEnd};

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is there.
    Missing,
    /// It came to its end.
    Done {
        /// Its exit code.
        code: u8,
        /// The first sentence of its report.
        verdict: String,
    },
    /// It ended by itself and could not measure what was asked for.
    Failed,
    /// It was stopped or killed.
    Interrupted {
        /// Whether the command can go on with it.
        can_resume: bool,
    },
    /// Another command line was measured under this name.
    Changed,
}

impl State {
    /// Looks at a run's directory.
    pub fn of(directory: &Path, run: &PlannedRun) -> Self {
        let entries = fs::read_dir(directory);
        if entries.map_or(true, |mut entries| entries.next().is_none()) {
            return Self::Missing;
        }
        match read::read(directory) {
            Ok(found) => Self::of_results(&found.results, directory, run),
            // It was killed before it saved the results, or something else is there.
            Err(_) => Self::Interrupted { can_resume: false },
        }
    }

    fn of_results(results: &Results, directory: &Path, run: &PlannedRun) -> Self {
        if !run.is_asked_by(&results.command) {
            return Self::Changed;
        }
        let end = results.exit_code.map(RunEnd::of);
        match end {
            _ if results.complete || end == Some(RunEnd::Measured) => {
                Self::Done { code: exit::saved_code(results), verdict: report::verdict(results).text }
            }
            Some(RunEnd::Failed) => Self::Failed,
            _ => Self::Interrupted { can_resume: run.command == "search" && can_resume(directory, results) },
        }
    }
}

/// Whether `search --resume` goes on with it: the file is whole, and no search has used up its time.
fn can_resume(directory: &Path, results: &Results) -> bool {
    let is_used_up =
        results.searches.iter().any(|search| matches!(search.ended, End::TimeUp | End::TrafficUp));
    !is_used_up && RunDirectory::resume(directory).is_ok()
}
