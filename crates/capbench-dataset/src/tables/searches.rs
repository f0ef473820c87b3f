//! `searches`: a row is a goal of a search.

use capbench_judge::search::{GoalResult, SearchOutcome};
use capbench_results::column::Column;

use super::{ExportedRun, word};

/// A goal of a search.
#[derive(Clone, Debug)]
pub struct SearchRow<'r> {
    run: &'r ExportedRun<'r>,
    search: &'r SearchOutcome,
    goal: &'r GoalResult,
}

/// The goals of all searches.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<SearchRow<'r>> {
    let of = |search: &'r SearchOutcome| search.goals.iter().map(move |goal| SearchRow { run, search, goal });
    run.results.searches.iter().flat_map(of).collect()
}

type Searches<'r> = Column<'r, SearchRow<'r>>;

/// The columns, in order.
pub fn columns<'r>() -> Vec<Searches<'r>> {
    vec![
        Searches::text("run_id", "as in `trials`", |row| Some(row.run.id.clone())),
        Searches::count("nth", "`searches[].nth`; NULL if its set-up has one search", |row| {
            row.search.nth.map(u64::from)
        }),
        Searches::text("goal", "`searches[].goals[].goal.name`", |row| Some(row.goal.goal.name.to_string())),
        Searches::text("status", "`searches[].goals[].status`", |row| word(row.goal.status)),
        Searches::number("lower_pps", "`searches[].goals[].lower.intended_pps`", |row| {
            Some(row.goal.lower.as_ref()?.intended_pps)
        }),
        Searches::number("upper_pps", "`searches[].goals[].upper.intended_pps`", |row| {
            Some(row.goal.upper.as_ref()?.intended_pps)
        }),
        Searches::number("achieved_pps", "`searches[].goals[].lower.achieved_pps`", |row| {
            Some(row.goal.lower.as_ref()?.achieved_pps)
        }),
        Searches::count("trials", "the number of `searches[].trials`", |row| {
            Some(row.search.trials.len() as u64)
        }),
        Searches::number("seconds", "`searches[].spent_s`", |row| Some(row.search.spent_s)),
        Searches::text("limit", "`searches[].goals[].limit.what`", |row| {
            let limit = serde_json::to_value(row.goal.limit.as_ref()?).ok()?;
            limit["what"].as_str().map(String::from)
        }),
        Searches::count(
            "first_trial",
            "the first of `searches[].trials`: its row in `trials` has the set-up",
            |row| row.search.trials.first().map(|number| u64::from(*number)),
        ),
    ]
}
