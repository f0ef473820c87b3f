//! The table directly after the verdict: the main numbers of this kind of run.

use capbench_judge::finding::bench;
use capbench_judge::finding::rfc2544::{Contradiction, TestFact};
use capbench_judge::finding::sweep::answer::{
    SeriesOfSweep, all_series, burst_range, keeps_up, ranked, reads_most, searches_bursts,
};
use capbench_judge::recommendation::{LimitedBy, Question, Ranked, Ranking, Sustained, SustainedStatus};
use capbench_judge::rfc2544::{Found, Tested};
use capbench_judge::search::ranking::{goals as of_goals, ranked_goals};
use capbench_judge::search::{Bound, GoalResult, Status};
use capbench_judge::soak::record::Interval;
use capbench_judge::sweep::outcome::{Swept, numbers};
use capbench_judge::thresholds::NEARLY_LOSSLESS_RATIO;
use capbench_model::figures::percent;
use capbench_model::trial::TrialResult;
use capbench_results::Kind;
use capbench_results::Results;

use super::searches::OfGoal;
use super::shape::Columns;
use super::{comparisons, rfc2544, searches, soak};
use crate::figures::number;
use crate::groups::grouped;
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::{self, Scene};
use crate::sentences;
use crate::sentences::search::after_colon;

/// The table of a run; `None` without data.
pub(crate) fn table(results: &Results) -> Option<Table> {
    match results.kind() {
        Kind::Bench => bench(results),
        Kind::Search => search(results),
        Kind::Sweep => sweep(results),
        Kind::Rfc2544 => tests(results),
        Kind::Soak => whole(results),
        Kind::Reproduce => comparisons::claims(results),
    }
}

/// The methods of the deciding set-up, best first.
fn bench(results: &Results) -> Option<Table> {
    let recommendation = naming::recommendation(results)?;
    ranking("summary", recommendation.question, recommendation.headline()?, results)
}

/// The rankings of the other set-ups.
pub(super) fn other_set_ups(results: &Results) -> Vec<Table> {
    let recommendation = naming::recommendation(results);
    let others = recommendation.iter().flat_map(|all| all.rankings.iter().skip(1));
    let question = recommendation.as_ref().map(|all| all.question);
    others.filter_map(|one| ranking("ranking", question?, one, results)).collect()
}

const TOTAL_UNKNOWN: &str =
    "Total CPU is unknown where other work ran on the CPU, or the kernel's time is only sampled.";

fn ranking(id: &str, question: Question, ranking: &Ranking, results: &Results) -> Option<Table> {
    let is_of_one_load = matches!(question, Question::CheapestAt { .. });
    let scene = Scene::of_ranking(ranking);
    let rate = |sustained: &Sustained| match (sustained.status, sustained.lower_pps) {
        (SustainedStatus::Unknown, _) => Cell::Unknown,
        (_, None) => Cell::text("none"),
        (SustainedStatus::AtLeast | SustainedStatus::Disturbed, Some(pps)) => Cell::AtLeast(pps.floor()),
        (_, Some(pps)) => Cell::Number(pps.floor()),
    };
    let nearly_lossless = format!("≤ {} lost up to", percent(NEARLY_LOSSLESS_RATIO));
    let overloads = bench::at_overload(ranking, &results.trials);
    let columns = Columns::new()
        .words("method", "method", |row: &&Ranked| row.method.to_string())
        .named("lossless_pps", "lossless up to", move |row| rate(&row.lossless))
        .named("nearly_lossless_pps", &nearly_lossless, move |row| rate(&row.nearly_lossless))
        .named("app_ns_per_packet", "app CPU", |row| {
            match row.cost.as_ref().and_then(|cost| cost.app_range()) {
                None => Cell::Unknown,
                Some((low, high)) if low >= high => Cell::Number(low),
                Some((low, high)) => Cell::Range { low, high },
            }
        })
        .named("total_ns_per_packet", "total CPU", |row| {
            Cell::number(row.cost.as_ref().and_then(|cost| cost.total_ns))
        })
        .words("limit", "limited by", |row| row.lossless_limit(question, &results.trials).map(limit_word))
        .part(at_overload(), |row| {
            overloads.iter().find(|trial| trial.profile.method == row.method).copied()
        });
    let load = ranking.equal_load_pps.map(|pps| format!("CPU time at {}.", naming::rate(pps)));
    let has = |status| ranking.methods.iter().any(|row| row.lossless.status == status);
    let at_least = match (has(SustainedStatus::AtLeast), has(SustainedStatus::Disturbed)) {
        (false, false) => None,
        (true, _) if is_of_one_load => Some("≥: no higher load was tried."),
        (true, false) => Some("≥: the generator sends no more."),
        (false, true) => Some("≥: noise of the host hides the limit."),
        (true, true) => Some("≥: the generator sends no more, or noise of the host hides the limit."),
    };
    let which = if at_least.is_some() { "Other rates" } else { "Rates" };
    let has_none = |known: &Sustained| known.lower_pps.is_none() && known.status != SustainedStatus::Unknown;
    let is_none = |row: &Ranked| has_none(&row.lossless) || has_none(&row.nearly_lossless);
    let none = ranking.methods.iter().any(is_none);
    let lacks_total =
        |row: &Ranked| row.cost.as_ref().is_some_and(|cost| cost.app_ns.is_some() && cost.total_ns.is_none());
    let total = ranking.methods.iter().any(lacks_total).then(|| TOTAL_UNKNOWN.into());
    let notes = [
        none.then(|| "none: it sustained none of the loads that were tried.".into()),
        at_least.map(String::from),
        out_of_order(ranking),
        precisions(which, &ranking.methods),
        load,
        total,
    ];
    let note = notes.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let trials = |row: &&Ranked| {
        let overload = overloads.iter().filter(|trial| trial.profile.method == row.method);
        let overload = overload.map(|trial| trial.number);
        sentences::sorted(bench::trials_of(row).into_iter().chain(overload).collect())
    };
    let caption = format!("Sustained rates and CPU time per packet: {}", scene.words());
    let table = columns.table(id, &caption, &ranking.methods, trials)?;
    Some(table.without_empty_columns().with_notes([note]))
}

/// The trial of a method at maximum load that lost the largest share.
fn at_overload<'r>() -> Columns<'r, Option<&'r TrialResult>> {
    type Figure = fn(&TrialResult) -> f64;
    let figures: [(&str, &str, Figure); 3] = [
        ("overload_offered_pps", "at overload: offered", |trial| trial.offered_pps.floor()),
        ("overload_delivered_pps", "at overload: delivered", |trial| trial.delivered_pps.floor()),
        ("overload_lost_ratio", "at overload: lost", TrialResult::sent_loss_ratio),
    ];
    figures.into_iter().fold(Columns::new(), |columns, (key, heading, of)| {
        let head = Column::named(key, heading).files_only();
        columns.with(head, move |trial: &Option<&TrialResult>| Cell::where_known(trial.map(of)))
    })
}

/// Why a method is above one with a higher rate.
fn out_of_order(ranking: &Ranking) -> Option<String> {
    let why = "A method above one with a higher rate may sustain more, or costs less at about the same rate.";
    ranking.is_out_of_order().then(|| why.into())
}

/// How precisely the limits are known that are between two bounds: methods that the answer does not depend on less than others.
fn precisions(which: &str, methods: &[Ranked]) -> Option<String> {
    let between = methods.iter().filter(|row| row.lossless.status == SustainedStatus::Between);
    let searched = between.filter_map(|row| Some((row.method.to_string(), row.lossless.searched_to?)));
    let mut groups = grouped(searched, |(_, share)| number(*share, Unit::Ratio)).into_iter();
    let (first, _) = groups.next()?;
    let others = groups.map(|(share, rows)| {
        let names: Vec<&str> = rows.iter().map(|(method, _)| method.as_str()).collect();
        format!(", {} to {share} %", naming::list(&names))
    });
    Some(format!("{which} are known to {first} %{}.", others.collect::<String>()))
}

/// What limits a rate, in one word.
fn limit_word(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Generator => "generator",
        LimitedBy::Noise => "noise",
        LimitedBy::Application => "application",
        LimitedBy::Place(place) => place.key(),
    }
}

fn search(results: &Results) -> Option<Table> {
    let has_bound = |goal: &GoalResult| matches!(bounds(goal), (Some(_), _) | (_, Some(_)));
    of_goals(&results.searches).find(|(_, goal)| has_bound(goal))?;
    let columns = Columns::new()
        .part(searches::which(), |(search, _): &OfGoal<'_>| *search)
        .words("goal", "goal", |(_, goal)| goal.goal.name.as_str())
        .named("lower_pps", "sustained", |(_, goal)| searches::lower(goal.status, bounds(goal).0))
        .named("upper_pps", "not sustained", |(_, goal)| {
            Cell::number(bounds(goal).1.map(|bound| bound.intended_pps.floor()))
        })
        .named("relative_width_ratio", "width", |(_, goal)| {
            let so_far = goal.so_far.as_ref().map(|so_far| so_far.relative_width);
            Cell::where_known(so_far.or(goal.relative_width))
        })
        .words("status", "result", |(_, goal)| match goal.so_far {
            Some(_) => "so far *",
            None => searches::worth(goal.status),
        })
        .words("limit", "limited by", |(_, goal)| {
            let losses = goal.upper.as_ref().and_then(|upper| upper.losses.as_ref());
            let lost_at = losses.and_then(|losses| losses.lost.first()).map(|lost| lost.place);
            LimitedBy::of_limit(lost_at, goal.limit).map(limit_word)
        });
    let trials = |(_, goal): &OfGoal<'_>| sentences::sorted(goal.trials());
    let caption = "The highest load that was sustained, and the lowest that was not";
    let table = columns.table("summary", caption, ranked_goals(&results.searches), trials)?;
    let is_so_far = of_goals(&results.searches).any(|(_, goal)| goal.so_far.is_some());
    let note =
        is_so_far.then(|| "* by fewer trials than the goal asks for: the search ended before.".to_string());
    Some(table.without_empty_columns().with_notes(note))
}

/// The bounds of a goal. If the search ended early, those of a coarser target are the best available.
fn bounds(goal: &GoalResult) -> (Option<&Bound>, Option<&Bound>) {
    match &goal.so_far {
        Some(so_far) => (Some(&so_far.lower), Some(&so_far.upper)),
        None => (goal.lower.as_ref(), goal.upper.as_ref()),
    }
}

fn sweep(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .words("axis", "sweep", |one: &SeriesOfSweep<'_>| one.sweep.axis.to_string())
        .words("method", "method", |one| one.series.method.to_string())
        .words("placement", "placement", |one| one.series.placement.as_ref().map(ToString::to_string))
        .words("load", "load", |one| one.series.load.as_deref())
        .words("keeps_up", "keeps up", |one| where_it_keeps_up(results, one))
        .words("lost_where", "then lost in", |one| {
            let lossy = one.series.readings.iter().find(|reading| reading.loses())?;
            Some(lossy.lost.first()?.place.key())
        })
        .named("read_pps", "read most", |one| {
            Cell::where_known(reads_most(one.series).map(|reading| reading.taken_pps.median.floor()))
        })
        .words("read_at", "at", |one| Some(one.sweep.label(reads_most(one.series)?).to_string()));
    let mut all = ranked(&results.sweeps);
    all.extend(all_series(&results.sweeps).into_iter().filter(|one| searches_bursts(one.series)));
    let trials = |one: &SeriesOfSweep<'_>| numbers(&one.series.readings);
    let table =
        columns.table("summary", "Where each method keeps up, and the most that it reads", all, trials)?;
    Some(table.without_empty_columns())
}

fn where_it_keeps_up(results: &Results, one: &SeriesOfSweep<'_>) -> Option<String> {
    if searches_bursts(one.series) {
        return burst_range(one.sweep, one.series).map(|range| sentences::sweep::burst_range_words(&range));
    }
    let swept = Swept::new(one.sweep, &results.trials);
    Some(sentences::sweep::keeps_up_words(&keeps_up(&swept, one.series)))
}

fn tests(results: &Results) -> Option<Table> {
    let throughput = Columns::new()
        .part(searches::set_up(), |(search, _): &OfGoal<'_>| *search)
        .words("test", "test", |(_, goal)| format!("throughput ({})", goal.goal.name))
        .words("outcome", "outcome", |(search, goal)| match (&goal.lower, goal.status) {
            _ if let Some(contradiction) = Contradiction::find(search, goal, &results.trials) => {
                format!("not repeatable: {}", sentences::rfc2544::contradiction_words(&contradiction))
            }
            (Some(lower), Status::AtLeast) => {
                let reason = after_colon(goal.reason.as_ref());
                format!("at least {}{reason}", naming::rate(lower.achieved_pps))
            }
            (Some(lower), status) => {
                format!("{} ({})", naming::rate(lower.achieved_pps), searches::worth(status))
            }
            (None, _) => "no load was sustained".into(),
        });
    let others = Columns::new()
        .part(rfc2544::set_up(), |tested: &&Tested| *tested)
        .words("test", "test", |tested| rfc2544::name(&tested.found))
        .words("outcome", "outcome", |tested| {
            let outcome = TestFact::of_outcome(&tested.found);
            let outcome = outcome.map(|fact| sentences::rfc2544::test_words(&fact));
            outcome.or_else(|| rfc2544::unfinished(&tested.found)).unwrap_or_else(|| match &tested.found {
                Found::Latency(_) => "no latency was recorded".into(),
                _ => "nothing was found".into(),
            })
        });
    let sustained =
        |(_, goal): &OfGoal<'_>| goal.lower.iter().flat_map(|lower| lower.trials.clone()).collect();
    let caption = "Tests and what they found";
    let tables = [
        throughput.table("summary", caption, of_goals(&results.searches), sustained),
        others.table("summary", caption, &results.rfc2544, |tested| tested.trials.clone()),
    ];
    tables.into_iter().flatten().reduce(|mut all, more| {
        all.rows.extend(more.rows);
        all
    })
}

fn whole(results: &Results) -> Option<Table> {
    let record = results.soak.as_ref()?;
    let stretches = [("whole", &record.whole), ("worst segment", &record.worst)];
    let rows = stretches.into_iter().filter_map(|(what, stretch)| Some((what, stretch.as_ref()?)));
    let columns = Columns::new()
        .words("stretch", "stretch", |(what, _): &(&str, &Interval)| *what)
        .part(soak::losses(), |(_, stretch)| *stretch);
    let caption = format!(
        "{} for {} in segments of {}",
        naming::rate(record.intended_pps),
        naming::time(record.planned_s),
        naming::time(record.segment_s)
    );
    columns.table("summary", &caption, rows, |_| soak::kept(record))
}
