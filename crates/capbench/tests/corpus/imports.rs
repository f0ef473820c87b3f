//! The types of capbench that the corpus needs. No other file of it names a crate of capbench whose content may move, but for
//! `simulated`, which makes plans.

pub use capbench::exit;
pub use capbench_dataset::compare as datasets;
pub use capbench_dataset::export::Export;
pub use capbench_dataset::layout::Labels;
pub use capbench_dataset::page;
pub use capbench_judge::comparison::runs::of_runs;
pub use capbench_judge::comparison::{Comparison, Thresholds};
pub use capbench_judge::finding::{Found, comparison};
pub use capbench_judge::livelock;
pub use capbench_judge::recommendation::{recommend, sustains};
pub use capbench_judge::thresholds::REPORTED_CHANGE_OF_HOSTS;
pub use capbench_model::requirement::Requirement;
pub use capbench_model::trial::{Load, Trial, TrialResult};
pub use capbench_plan::search::{self, Stored};
pub use capbench_report::formats::text::{self, Extent};
pub use capbench_report::model::{Report, Sentence};
pub use capbench_report::report;
pub use capbench_report::sentences;
pub use capbench_results::read::{self, Run};
pub use capbench_results::{Finding, Results};
