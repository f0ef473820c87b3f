//! The counts that programs report, next to the measured ones. Agreement is evidence, too.

use std::collections::BTreeMap;

use capbench_model::trial::{ProgramReport, TrialResult};

use super::{ReportSums, TrialFinding, found, numbers};
use crate::finding::Found;

/// The sums of what each program reports.
pub(super) fn find(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_method: BTreeMap<_, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.report.is_some()) {
        by_method.entry(&trial.profile.method).or_default().push(trial);
    }
    let mut all = Vec::new();
    for (method, reporting) in by_method {
        let captured = sum(&reporting, |report| report.captured);
        let received = sum(&reporting, |report| report.received);
        let dropped = sum(&reporting, |report| report.dropped);
        if captured.or(received).or(dropped).is_none() {
            continue;
        }
        let sums = ReportSums {
            method: method.clone(),
            trials: reporting.len() as u32,
            captured,
            received,
            dropped,
            in_files: sum(&reporting, |report| report.in_file),
            delivered: reporting.iter().map(|trial| trial.delivered).sum(),
            sent: reporting.iter().map(|trial| trial.sent).sum(),
        };
        all.push(found(TrialFinding::ProgramReports(sums), numbers(&reporting)));
    }
    all
}

/// The sum of a count; `None` if one report lacks it: a sum without one part would be wrong.
fn sum(trials: &[&TrialResult], count: fn(&ProgramReport) -> Option<u64>) -> Option<u64> {
    trials.iter().filter_map(|trial| trial.report.as_ref()).map(count).sum()
}
