//! Results of searches: goals with their bounds and quality, the related numbers, repeats.

use std::fmt;

use capbench_judge::search::ranking::{self, Repeated, goals as of_goals};
use capbench_judge::search::{
    Apart, Bound, Buffered, GoalResult, Held, HighLoss, Losses, MaximumLoad, MaximumSource, Moments,
    SearchOutcome, SelfTest, SoFar, Status,
};
use capbench_model::ledger::LostAt;
use capbench_model::saved::Saved;

use super::shape::Columns;
use crate::figures::count;
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::{percent, rate, time};
use crate::sentences::limits;
use crate::sentences::search::{end_words, reason_words};
use crate::sentences::search::{goal_help, warnings};
use crate::sentences::sorted;

pub(super) fn tables(searches: &[SearchOutcome]) -> Vec<Table> {
    let tables = [goals, bounds, numbers, repeats, buffered, conduct];
    tables.iter().filter_map(|table| table(searches)).collect()
}

/// A part of a set-up, if known.
fn known<T: fmt::Display>(part: &Option<Saved<T>>) -> Cell {
    part.as_ref().map_or(Cell::Unknown, |part| part.to_string().into())
}

pub(crate) fn set_up<'c>() -> Columns<'c, &'c SearchOutcome> {
    Columns::new()
        .words("frame_size", "frame size", |search: &&SearchOutcome| {
            search.frame_size.as_ref().map_or(Cell::Unknown, |size| size.to_string().into())
        })
        .words("placement", "placement", |search| known(&search.placement))
        .words("work", "work", |search| known(&search.work))
        .words("method", "method", |search| known(&search.method))
}

/// The same, and the number of the search if there are several.
pub(crate) fn which<'c>() -> Columns<'c, &'c SearchOutcome> {
    set_up().words("nth", "search", |search| search.nth.map_or(Cell::Empty, Cell::from))
}

pub(crate) type OfGoal<'r> = (&'r SearchOutcome, &'r GoalResult);

/// The lower bound of a goal as a cell: "at least" if the result is only a lower bound.
pub(crate) fn lower(status: Status, bound: Option<&Bound>) -> Cell {
    match (status, bound) {
        (Status::AtLeast, Some(bound)) => Cell::AtLeast(bound.achieved_pps.floor()),
        (_, Some(bound)) => Cell::Number(bound.achieved_pps.floor()),
        (_, None) => Cell::Unknown,
    }
}

/// The quality of a goal's result, in one word.
pub(crate) fn worth(status: Status) -> &'static str {
    match status {
        Status::Regular => "regular",
        Status::AtLeast => "at least",
        Status::Irregular => "irregular",
    }
}

fn goals(searches: &[SearchOutcome]) -> Option<Table> {
    let so_far = |so_far: &SoFar| {
        format!(
            "with {} per load: {} to {}, {} apart",
            time(so_far.duration_sum.as_secs_f64()),
            rate(so_far.lower.achieved_pps),
            rate(so_far.upper.intended_pps),
            percent(so_far.relative_width)
        )
    };
    let apart = |apart: Apart| match apart.nearest {
        _ if apart.is_told() => format!("yes (chance {:.3})", apart.by_chance),
        Some([from, to]) => {
            format!("no (chance {:.2}); distinguished are {} and {}", apart.by_chance, rate(from), rate(to))
        }
        None => format!("no (chance {:.2}), and no two loads are", apart.by_chance),
    };
    let upper = |goal: &GoalResult| goal.upper.as_ref().map(|bound| bound.intended_pps.floor());
    let columns = Columns::new()
        .part(which(), |(search, _): &OfGoal<'_>| *search)
        .words("goal", "goal", |(_, goal)| goal.goal.name.as_str())
        .words("status", "result", |(_, goal)| worth(goal.status))
        .named("lower_pps", "lower bound", |(_, goal)| lower(goal.status, goal.lower.as_ref()))
        .named("upper_pps", "upper bound", move |(_, goal)| Cell::number(upper(goal)))
        .named("relative_width_ratio", "width", |(_, goal)| Cell::where_known(goal.relative_width))
        .named("conditional_throughput_pps", "conditional throughput", |(_, goal)| {
            Cell::where_known(goal.conditional_throughput_pps.map(f64::floor))
        })
        .words("limit", "what limits", |(_, goal)| goal.limit.map(limits::words))
        .words("reason", "why not regular", |(_, goal)| goal.reason.as_ref().map(reason_words))
        .words("so_far", "known so far, by a coarser target", move |(_, goal)| {
            goal.so_far.as_ref().map(so_far)
        })
        .words("apart", "bounds distinguished", move |(_, goal)| goal.apart.map(apart))
        .words("attributes", "what was asked for", |(_, goal)| goal_help::words(&goal.goal));
    let caption = "Goals: the highest load that was sustained and the lowest that was not";
    let trials = |(_, goal): &OfGoal<'_>| sorted(goal.trials());
    Some(columns.table("searches-goals", caption, of_goals(searches), trials)?.without_empty_columns())
}

type OfBound<'r> = (OfGoal<'r>, &'static str, &'r Bound);

fn bounds(searches: &[SearchOutcome]) -> Option<Table> {
    let lost = |losses: &Losses| {
        let place = |lost: &LostAt| format!("{} {}", lost.place.key(), count(lost.frames));
        losses.lost.iter().map(place).collect::<Vec<_>>().join(", ")
    };
    let moments = |moments: Moments| {
        format!(
            "{} of {}; {} frames or {}",
            count(moments.lossy_windows),
            count(moments.windows),
            count(moments.longest_frames),
            time(moments.longest_ns as f64 / 1e9)
        )
    };
    let share = |high: HighLoss| Cell::Interval {
        middle: f64::from(high.trials) / f64::from(high.of.max(1)),
        low: high.low,
        high: high.high,
    };
    let high_loss = Column::new("high_loss_ratio", "share that this fits (95 %)", Unit::Ratio);
    let columns = Columns::new()
        .part(which(), |((search, _), ..): &OfBound<'_>| *search)
        .words("goal", "goal", |((_, goal), ..)| goal.goal.name.as_str())
        .words("bound", "bound", |(_, name, _)| *name)
        .named("intended_pps", "intended", |(.., bound)| bound.intended_pps.floor())
        .named("achieved_pps", "offered at least", |(.., bound)| bound.achieved_pps.floor())
        .named("seconds_s", "seconds of trials", |(.., bound)| bound.seconds)
        .count("trials", "trials", |(.., bound)| bound.trials.len())
        .count("high_loss_trials", "of these high-loss", |(.., bound)| {
            Cell::count(bound.high_loss.map(|high| high.trials.into()))
        })
        .with(high_loss, move |(.., bound)| bound.high_loss.map_or(Cell::Unknown, share))
        .words("lost", "lost, by place", move |(.., bound)| bound.losses.as_ref().map(lost))
        .named("most_of_a_trial_ratio", "most of a trial", |(.., bound)| {
            Cell::where_known(bound.losses.as_ref().map(|losses| losses.most_of_a_trial))
        })
        .words("moments", "100 ms with loss, longest burst", move |(.., bound)| {
            bound.losses.as_ref().and_then(|losses| losses.moments).map(moments)
        })
        .count("disturbed", "disturbed trials", |(.., bound)| bound.disturbed.len());
    let rows = of_goals(searches).flat_map(|(search, goal)| {
        let coarser = goal.so_far.as_ref();
        let bounds = [
            ("lower", goal.lower.as_ref()),
            ("upper", goal.upper.as_ref()),
            ("lower, coarser target", coarser.map(|so_far| &so_far.lower)),
            ("upper, coarser target", coarser.map(|so_far| &so_far.upper)),
        ];
        bounds.into_iter().filter_map(move |(name, bound)| Some(((search, goal), name, bound?)))
    });
    let caption = "Bounds: the trials that decide them, and what those lost";
    let table = columns.table("searches-bounds", caption, rows, |(.., bound)| bound.trials.clone());
    Some(table?.without_empty_columns())
}

fn numbers(searches: &[SearchOutcome]) -> Option<Table> {
    let events = |search: &SearchOutcome| search.numbers.loss_events.clone();
    let columns = Columns::new()
        .part(which(), |search: &&SearchOutcome| *search)
        .named("strict_lossless_pps", "without any loss", |search| {
            sustained_cell(&search.numbers.strict_lossless)
        })
        .named("strict_lossless_below_pps", "with loss from", |search| {
            let strict = &search.numbers.strict_lossless;
            let below = strict.upper_pps.filter(|_| strict.pps.is_some() && !strict.at_least);
            Cell::where_known(below.map(f64::floor))
        })
        .named("ndr_pps", "NDR", |search| sustained_cell(&search.numbers.ndr))
        .named("pdr_pps", "PDR", |search| sustained_cell(&search.numbers.pdr))
        .named("loss_events_up_to_pps", "loss events up to", move |search| {
            Cell::where_known(events(search).map(|events| events.up_to_pps.floor()))
        })
        .count("loss_events", "loss events", move |search| {
            events(search).map_or(Cell::Empty, |events| match events.at_least {
                true => Cell::AtLeast(events.events as f64),
                false => Cell::Count(events.events),
            })
        })
        .named("loss_events_per_second", "a second (95 %)", move |search| {
            events(search).map_or(Cell::Empty, |events| match events.per_second_limits {
                Some([_, most]) if events.events == 0 => Cell::AtMost(most),
                Some([low, high]) => Cell::Interval { middle: events.per_second, low, high },
                None => events.per_second.into(),
            })
        })
        .words("lossy_trials", "trials with loss", move |search| {
            events(search).map(|events| format!("{} of {}", events.lossy_trials, events.trials))
        })
        .words("longest", "longest burst", move |search| {
            let longest = events(search).and_then(|events| events.longest);
            longest.map(|one| format!("{} frames or {}", count(one.frames), time(one.ns as f64 / 1e9)))
        });
    let trials = |search: &&SearchOutcome| {
        let numbers = &search.numbers;
        let found = [&numbers.strict_lossless, &numbers.ndr, &numbers.pdr];
        found.iter().flat_map(|found| found.trials.clone()).collect()
    };
    let caption = "Numbers to read together: on a noisy host each of them alone misleads";
    Some(columns.table("searches-numbers", caption, searches, trials)?.without_empty_columns().main())
}

fn sustained_cell(found: &Held) -> Cell {
    match (found.pps, found.upper_pps) {
        (Some(pps), _) if found.at_least => Cell::AtLeast(pps.floor()),
        (Some(pps), _) => Cell::Number(pps.floor()),
        (None, Some(upper)) => Cell::AtMost(upper.floor()),
        (None, None) => Cell::Unknown,
    }
}

fn repeats(searches: &[SearchOutcome]) -> Option<Table> {
    let all = ranking::repeated(searches);
    let spread = Column::new("spread_ratio", "from least to most", Unit::Ratio);
    let columns = Columns::new()
        .words("frame_size", "frame size", |repeat: &&Repeated| repeat.frame_size.to_string())
        .words("placement", "placement", |repeat| repeat.placement.to_string())
        .words("work", "work", |repeat| repeat.work.to_string())
        .words("method", "method", |repeat| repeat.method.to_string())
        .words("goal", "goal", |repeat| repeat.goal.as_str())
        .count("searches", "searches", |repeat| repeat.searches)
        .named("lower_pps", "lower bound, median", |repeat| &repeat.lower_pps)
        .named("least_pps", "least", |repeat| repeat.least_pps)
        .named("most_pps", "most", |repeat| repeat.most_pps)
        .with(spread, |repeat| repeat.spread_ratio())
        .count("regular", "regular", |repeat| repeat.regular)
        .count("at_least", "at least", |repeat| repeat.at_least)
        .count("coarser", "by a coarser target", |repeat| repeat.coarser)
        .count("without", "without a bound", |repeat| repeat.without);
    let caption = "Several searches of the same set-up: their spread shows how repeatable one search is";
    columns.table("searches-repeats", caption, &all, |repeat| repeat.trials.clone())
}

fn buffered(searches: &[SearchOutcome]) -> Option<Table> {
    let columns = Columns::new()
        .part(which(), |(search, _): &(&SearchOutcome, &Buffered)| *search)
        .named("from_pps", "from", |(_, buffered)| buffered.from_pps)
        .named("to_pps", "to", |(_, buffered)| buffered.to_pps)
        .named("taken_pps", "read at most", |(_, buffered)| buffered.taken_pps)
        .named("behind_s", "behind at most", |(_, buffered)| buffered.behind_s);
    let rows = searches.iter().filter_map(|search| Some((search, search.buffered.as_ref()?)));
    let caption = "Loads that lost nothing only because buffers had room; frames in buffers count as lost";
    columns.table("searches-buffered", caption, rows, |(_, buffered)| buffered.trials.clone())
}

fn conduct(searches: &[SearchOutcome]) -> Option<Table> {
    let source = |maximum: &MaximumLoad| match maximum.source {
        MaximumSource::Generator => "what the generator reaches with this method capturing",
        MaximumSource::GeneratorAndReceiver => "what generator and receiver reach together",
        MaximumSource::LineRate => "the line rate, which the generator reaches",
        MaximumSource::Given => "as asked for",
    };
    let tested = |search: &SearchOutcome, of: fn(&SelfTest) -> f64| {
        Cell::where_known(search.maximum.as_ref().and_then(|maximum| maximum.self_test.as_ref()).map(of))
    };
    let columns = Columns::new()
        .part(which(), |search: &&SearchOutcome| *search)
        .named("maximum_pps", "maximum load", |search| {
            Cell::number(search.maximum.as_ref().map(|maximum| maximum.load_pps.get().floor()))
        })
        .words("maximum_source", "which is", move |search| search.maximum.as_ref().map(source))
        .named("unpaced_pps", "self-test, unpaced", move |search| tested(search, |test| test.unpaced_pps))
        .named("paced_pps", "self-test, by plan", move |search| tested(search, |test| test.paced_pps))
        .count("trials", "trials", |search| search.trials.len())
        .named("sending_s", "traffic", |search| search.sending_s)
        .named("spent_s", "in all", |search| search.spent_s)
        .words("ended", "how it ended", |search| end_words(&search.ended))
        .words("warnings", "notes", |search| {
            let warnings = warnings::all(search);
            (!warnings.is_empty()).then(|| warnings.join("; "))
        });
    let table = columns.table("searches-conduct", "How each search went", searches, |one| one.trials.clone());
    let is_unnamed = searches.iter().any(|search| search.method.is_none());
    let note = is_unnamed.then(|| "A search without a method had no trial.".to_string());
    Some(table?.without_empty_columns().main().with_notes(note))
}
