//! The table of the tests of RFC 2544: what each test found.

use capbench_judge::finding::rfc2544::{Contradiction, TestFact};
use capbench_judge::rfc2544::{Found, Tested};
use capbench_judge::search::ranking::goals;
use capbench_judge::search::{GoalResult, SearchOutcome, Status};
use capbench_results::Results;

use crate::model::Table;
use crate::naming;
use crate::sentences::rfc2544::{contradiction_words, test_words};
use crate::sentences::search::after_colon;
use crate::tables::rows::Rows;
use crate::tables::{rfc2544, searches};

/// A row per search for the throughput, and one per other test.
pub(super) fn table(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    for (search, goal) in goals(&results.searches) {
        let fields = searches::set_up(search)
            .words("test", "test", format!("throughput ({})", goal.goal.name))
            .words("outcome", "outcome", throughput(results, search, goal));
        let trials = goal.lower.as_ref().map_or_else(Vec::new, |lower| lower.trials.clone());
        rows.add(fields, trials);
    }
    for tested in &results.rfc2544 {
        let fields = rfc2544::set_up(tested).words("test", "test", rfc2544::name(&tested.found)).words(
            "outcome",
            "outcome",
            outcome(tested),
        );
        rows.add(fields, tested.trials.clone());
    }
    rows.table("summary", "Tests and what they found")
}

/// The throughput that a search found.
fn throughput(results: &Results, search: &SearchOutcome, goal: &GoalResult) -> String {
    if let Some(contradiction) = Contradiction::find(search, goal, &results.trials) {
        return format!("not repeatable: {}", contradiction_words(&contradiction));
    }
    let Some(lower) = &goal.lower else {
        return format!("no load is known to be sustained{}", after_colon(goal.reason.as_ref()));
    };
    let rate = naming::rate(lower.achieved_pps);
    match goal.status {
        Status::AtLeast => format!("at least {rate}{}", after_colon(goal.reason.as_ref())),
        status => format!("{rate} ({})", searches::quality(status)),
    }
}

/// What another test found, or why it found nothing.
fn outcome(tested: &Tested) -> String {
    if let Some(fact) = TestFact::of_outcome(&tested.found) {
        return test_words(&fact);
    }
    if let Some(reason) = rfc2544::unfinished(&tested.found) {
        return reason;
    }
    match tested.found {
        Found::Latency(_) => "no latency was recorded".into(),
        _ => "nothing was found".into(),
    }
}
