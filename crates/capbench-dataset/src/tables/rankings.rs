//! `rankings`: a row is a method of a ranking. A bench has a ranking for each set-up.

use capbench_judge::recommendation::turns::{BelowBy, InTurns, Multiple, RelationToFirst, Turns};
use capbench_judge::recommendation::{Conclusion, Question, Ranked, Ranking};
use capbench_results::column::Column;

use super::{ExportedRun, word};

/// A method of a ranking.
#[derive(Clone, Debug)]
pub struct RankingRow<'r> {
    run: &'r ExportedRun<'r>,
    ranking: &'r Ranking,
    /// From 1.
    place: u64,
    ranked: &'r Ranked,
}

impl<'r> RankingRow<'r> {
    /// The trials in turns, if there were enough rounds to judge.
    fn turns(&self) -> Option<&'r Turns> {
        self.ranking.turns.as_ref().filter(|turns| turns.judged_rounds > 0)
    }

    fn in_turns(&self) -> Option<&'r InTurns> {
        self.turns()?.find(&self.ranked.method)
    }

    fn relative_captured(&self) -> Option<Multiple> {
        self.in_turns()?.relative_captured
    }

    fn relative_cost(&self) -> Option<Multiple> {
        self.in_turns()?.relative_cost
    }
}

/// The methods of all rankings.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<RankingRow<'r>> {
    let mut rows = Vec::new();
    let Some(recommended) = &run.results.recommended else { return rows };
    for ranking in &recommended.rankings {
        for (place, ranked) in (1..).zip(&ranking.methods) {
            rows.push(RankingRow { run, ranking, place, ranked });
        }
    }
    rows
}

type Rankings<'r> = Column<'r, RankingRow<'r>>;

/// The columns, in order.
pub fn columns<'r>() -> Vec<Rankings<'r>> {
    let mut columns = vec![
        Rankings::text("run_id", "as in `trials`", |row: &RankingRow<'_>| Some(row.run.id.clone())),
        Rankings::text("host_id", "as in `trials`", |row| row.run.host_id.clone()),
        Rankings::text("frame_size", "`recommended.rankings[].frame_size`", |row| {
            word(&row.ranking.frame_size)
        }),
        Rankings::text("placement", "`recommended.rankings[].placement`", |row| word(&row.ranking.placement)),
        Rankings::text("work", "`recommended.rankings[].work`", |row| word(&row.ranking.work)),
        Rankings::count(
            "place",
            "the place in `recommended.rankings[].methods`, from 1: the best first",
            |row| Some(row.place),
        ),
        Rankings::text("method", "`recommended.rankings[].methods[].method`", |row| word(&row.ranked.method)),
        Rankings::count(
            "rank",
            "`recommended.rankings[].methods[].rank`: methods with the same rank are not distinguished",
            |row| Some(row.ranked.rank.into()),
        ),
        Rankings::text(
            "below",
            "`recommended.rankings[].methods[].below`: how certain it is that the method is worse than those of the first rank; NULL of these",
            |row| word(row.ranked.below?),
        ),
        Rankings::text("answer", "`recommended.rankings[].conclusion.answer`", |row| {
            let conclusion = serde_json::to_value(&row.ranking.conclusion).ok()?;
            conclusion["answer"].as_str().map(String::from)
        }),
        Rankings::flag("is_named", "whether the conclusion names this method", |row| {
            Some(row.ranking.conclusion.method() == Some(&row.ranked.method))
        }),
        Rankings::text(
            "certainty",
            "`recommended.rankings[].conclusion.certainty`: how certain it is that no method is better than the named one",
            |row| match &row.ranking.conclusion {
                Conclusion::Use { certainty, .. } => word(certainty),
                _ => None,
            },
        ),
        Rankings::number(
            "lossless_lower_pps",
            "`recommended.rankings[].methods[].lossless.lower_pps`",
            |row| row.ranked.lossless.lower_pps,
        ),
        Rankings::number(
            "lossless_upper_pps",
            "`recommended.rankings[].methods[].lossless.upper_pps`",
            |row| row.ranked.lossless.upper_pps,
        ),
        Rankings::number(
            "asked_pps",
            "`recommended.question.pps`: the load that was asked for; NULL if it was the highest rate",
            |row| match row.run.results.recommended.as_ref()?.question {
                Question::CheapestAt { pps } => Some(pps),
                Question::HighestRate => None,
            },
        ),
    ];
    columns.extend(of_turns());
    columns
}

/// What trials in turns show of the method. All are NULL if it took no turns, or if there were too few rounds to judge.
fn of_turns<'r>() -> Vec<Rankings<'r>> {
    vec![
        Rankings::flag(
            "is_decided",
            "`recommended.rankings[].turns.methods[].is_decided`. NULL without enough rounds, as all columns after it",
            |row: &RankingRow<'_>| row.in_turns()?.is_decided,
        ),
        Rankings::number("turns_load_pps", "`recommended.rankings[].turns.load_pps`", |row| {
            row.in_turns().and(Some(row.turns()?.load_pps))
        }),
        Rankings::count("turns_rounds", "`recommended.rankings[].turns.methods[].rounds`", |row| {
            Some(row.in_turns()?.rounds.into())
        }),
        Rankings::text("relation", "`recommended.rankings[].turns.methods[].relation.is`", |row| {
            let relation = serde_json::to_value(row.in_turns()?.relation).ok()?;
            relation["is"].as_str().map(String::from)
        }),
        Rankings::text(
            "below_by",
            "`recommended.rankings[].turns.methods[].relation.by`: the figure by which it is worse",
            |row| below_by(row.in_turns()?.relation).and_then(word),
        ),
        Rankings::flag(
            "may_be_better",
            "`recommended.rankings[].turns.methods[].relation.may_be_better`: whether it may be better than the first; NULL if the relation is known",
            |row| match row.in_turns()?.relation {
                RelationToFirst::Open { may_be_better } => Some(may_be_better),
                RelationToFirst::First | RelationToFirst::Equal | RelationToFirst::Below { .. } => None,
            },
        ),
        Rankings::number(
            "captured_ratio",
            "`recommended.rankings[].turns.methods[].captured.median`",
            |row| Some(row.in_turns()?.captured.median),
        ),
        Rankings::number("captured_ratio_low", "the same, `low`: the end of the interval", |row| {
            row.in_turns()?.captured.low
        }),
        Rankings::number("captured_ratio_high", "the same, `high`", |row| row.in_turns()?.captured.high),
        Rankings::number(
            "relative_captured",
            "`recommended.rankings[].turns.methods[].relative_captured.middle`: by the rounds in which both ran; NULL of the first",
            |row| Some(row.relative_captured()?.middle),
        ),
        Rankings::number("relative_captured_low", "the same, `low`: the end of the interval", |row| {
            row.relative_captured()?.low
        }),
        Rankings::number("relative_captured_high", "the same, `high`", |row| row.relative_captured()?.high),
        Rankings::number(
            "relative_cost",
            "`recommended.rankings[].turns.methods[].relative_cost.middle`: CPU time per packet; NULL of the first",
            |row| Some(row.relative_cost()?.middle),
        ),
        Rankings::number("relative_cost_low", "the same, `low`: the end of the interval", |row| {
            row.relative_cost()?.low
        }),
        Rankings::number("relative_cost_high", "the same, `high`", |row| row.relative_cost()?.high),
    ]
}

/// The figure by which a method is worse than the first one.
fn below_by(relation: RelationToFirst) -> Option<BelowBy> {
    match relation {
        RelationToFirst::Below { by, .. } => Some(by),
        RelationToFirst::First | RelationToFirst::Equal | RelationToFirst::Open { .. } => None,
    }
}
