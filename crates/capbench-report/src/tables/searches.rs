//! What searches found: goals with their bounds and what those are worth, the numbers that belong together, repeats.

use capbench_measure::results::Results;
use capbench_measure::search::{self, Bound, Held, MaximumSource, SearchOutcome, Status};

use crate::figures::count;
use crate::groups::{Group, of_search};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{percent, rate, time};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let searches = &results.searches;
    [
        goals(searches),
        bounds(searches),
        numbers(searches),
        repeats(searches),
        buffered(searches),
        conduct(searches),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The first cells of a search's rows, and their columns.
pub(crate) fn scene_cells(search: &SearchOutcome) -> Vec<Cell> {
    let unknown =
        |text: &Option<String>| text.as_ref().map_or(Cell::Unknown, |text| Cell::text(text.as_str()));
    vec![
        search.frame_size.as_ref().map_or(Cell::Unknown, |size| Cell::text(size.to_string())),
        unknown(&search.placement),
        unknown(&search.work),
        unknown(&search.method),
        search.nth.map_or(Cell::Empty, |nth| Cell::Count(nth.into())),
    ]
}

/// The columns of [`scene_cells`].
pub(crate) fn scene_columns() -> Vec<Column> {
    let mut columns = Group::columns();
    columns.truncate(4);
    columns.push(Column::new("nth", "search", Unit::None));
    columns
}

/// The lower bound of a goal as a cell: "at least" where it is no more than that.
pub(crate) fn lower(status: Status, bound: Option<&Bound>) -> Cell {
    match (status, bound) {
        (Status::AtLeast, Some(bound)) => Cell::AtLeast(bound.achieved_pps.floor()),
        (_, Some(bound)) => Cell::Number(bound.achieved_pps.floor()),
        (_, None) => Cell::Unknown,
    }
}

/// What a goal's result is worth, in a word.
pub(crate) fn worth(status: Status) -> &'static str {
    match status {
        Status::Regular => "regular",
        Status::AtLeast => "at least",
        Status::Irregular => "irregular",
    }
}

fn goals(searches: &[SearchOutcome]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("goal", "goal"),
        Column::words("status", "result"),
        Column::named("lower_pps", "lower bound"),
        Column::named("upper_pps", "upper bound"),
        Column::named("relative_width_ratio", "width"),
        Column::named("conditional_throughput_pps", "conditional throughput"),
        Column::words("limit", "what limits"),
        Column::words("reason", "why not regular"),
        Column::words("so_far", "known so far, by a coarser target"),
        Column::words("apart", "bounds told apart"),
        Column::words("attributes", "what was asked for"),
    ]);
    let mut rows = Vec::new();
    for search in searches {
        for result in &search.goals {
            let mut cells = scene_cells(search);
            let so_far = result.so_far.as_ref().map(|so_far| {
                format!(
                    "by {} a load: {} to {}, {} apart",
                    time(so_far.duration_sum.as_secs_f64()),
                    rate(so_far.lower.achieved_pps),
                    rate(so_far.upper.intended_pps),
                    percent(so_far.relative_width)
                )
            });
            let apart = result.apart.map(|apart| match apart.nearest {
                _ if apart.is_told() => format!("yes (chance {:.3})", apart.by_chance),
                Some([from, to]) => {
                    format!(
                        "no (chance {:.2}); told apart are {} and {}",
                        apart.by_chance,
                        rate(from),
                        rate(to)
                    )
                }
                None => format!("no (chance {:.2}), and no two loads are", apart.by_chance),
            });
            cells.extend([
                Cell::text(result.goal.name.as_str()),
                Cell::text(worth(result.status)),
                lower(result.status, result.lower.as_ref()),
                Cell::number(result.upper.as_ref().map(|bound| bound.intended_pps.floor())),
                Cell::where_known(result.relative_width),
                Cell::where_known(result.conditional_throughput_pps.map(f64::floor)),
                Cell::words(result.limit.map(|limit| limit.words())),
                Cell::words(result.reason.as_ref().map(ToString::to_string)),
                Cell::words(so_far),
                Cell::words(apart),
                Cell::text(result.goal.to_string()),
            ]);
            let bounds = [&result.lower, &result.upper].into_iter().flatten();
            rows.push(Row::new(cells, bounds.flat_map(|bound| bound.trials.clone()).collect()));
        }
    }
    let caption = "Goals: the highest load that is held and the lowest that is not";
    Some(Table::of("searches-goals", caption, columns, rows)?.without_empty_columns())
}

fn bounds(searches: &[SearchOutcome]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("goal", "goal"),
        Column::words("bound", "bound"),
        Column::named("intended_pps", "intended"),
        Column::named("achieved_pps", "offered at least"),
        Column::named("seconds_s", "seconds of trials"),
        Column::new("trials", "trials", Unit::Count),
        Column::new("high_loss_trials", "of these high-loss", Unit::Count),
        Column::new("high_loss_ratio", "share that this fits (95 %)", Unit::Ratio),
        Column::words("lost", "lost, by place"),
        Column::new("most_of_a_trial_ratio", "most of a trial", Unit::Ratio),
        Column::words("moments", "100 ms with loss, longest burst"),
        Column::new("disturbed", "disturbed trials", Unit::Count),
    ]);
    let mut rows = Vec::new();
    for search in searches {
        for result in &search.goals {
            let of_goal = [("lower", result.lower.as_ref()), ("upper", result.upper.as_ref())];
            let of_target = result.so_far.as_ref().map(|so_far| {
                [
                    ("lower, coarser target", Some(&so_far.lower)),
                    ("upper, coarser target", Some(&so_far.upper)),
                ]
            });
            for (name, bound) in of_goal.into_iter().chain(of_target.into_iter().flatten()) {
                let Some(bound) = bound else { continue };
                let mut cells = scene_cells(search);
                cells.extend([Cell::text(result.goal.name.as_str()), Cell::text(name)]);
                cells.extend(bound_cells(bound));
                rows.push(Row::new(cells, bound.trials.clone()));
            }
        }
    }
    let caption = "Bounds: how many trials they rest on, and what those lost";
    Some(Table::of("searches-bounds", caption, columns, rows)?.without_empty_columns())
}

fn bound_cells(bound: &Bound) -> Vec<Cell> {
    let losses = bound.losses.as_ref();
    let lost = losses.map(|losses| {
        let words: Vec<String> =
            losses.lost.iter().map(|lost| format!("{} {}", lost.place.word(), count(lost.frames))).collect();
        words.join(", ")
    });
    let moments = losses.and_then(|losses| losses.moments).map(|moments| {
        format!(
            "{} of {}; {} frames or {}",
            count(moments.lossy_windows),
            count(moments.windows),
            count(moments.longest_frames),
            time(moments.longest_ns as f64 / 1e9)
        )
    });
    vec![
        Cell::number(Some(bound.intended_pps.floor())),
        Cell::number(Some(bound.achieved_pps.floor())),
        Cell::number(Some(bound.seconds)),
        Cell::Count(bound.trials.len() as u64),
        bound.high_loss.map_or(Cell::Unknown, |high| Cell::Count(high.trials.into())),
        bound.high_loss.map_or(Cell::Unknown, |high| Cell::Interval {
            middle: f64::from(high.trials) / f64::from(high.of.max(1)),
            low: high.low,
            high: high.high,
        }),
        Cell::words(lost),
        Cell::where_known(losses.map(|losses| losses.most_of_a_trial)),
        Cell::words(moments),
        Cell::Count(bound.disturbed.len() as u64),
    ]
}

fn numbers(searches: &[SearchOutcome]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::named("strict_lossless_pps", "without any loss"),
        Column::named("strict_lossless_below_pps", "with loss from"),
        Column::named("ndr_pps", "NDR"),
        Column::named("pdr_pps", "PDR"),
        Column::named("loss_events_up_to_pps", "loss events up to"),
        Column::new("loss_events", "loss events", Unit::Count),
        Column::named("loss_events_per_second", "a second (95 %)"),
        Column::words("lossy_trials", "trials with loss"),
        Column::words("longest", "longest burst"),
    ]);
    let rows = searches
        .iter()
        .map(|search| {
            let numbers = &search.numbers;
            let held = [&numbers.strict_lossless, &numbers.ndr, &numbers.pdr];
            let events = numbers.loss_events.as_ref();
            let mut cells = scene_cells(search);
            let strict = &numbers.strict_lossless;
            cells.push(held_cell(strict));
            let below = strict.upper_pps.filter(|_| strict.pps.is_some() && !strict.at_least);
            cells.push(Cell::where_known(below.map(f64::floor)));
            cells.extend([&numbers.ndr, &numbers.pdr].map(held_cell));
            let longest = events.and_then(|events| events.longest).map(|longest| {
                format!("{} frames or {}", count(longest.frames), time(longest.ns as f64 / 1e9))
            });
            cells.extend([
                Cell::where_known(events.map(|events| events.up_to_pps.floor())),
                events.map_or(Cell::Empty, |events| match events.at_least {
                    true => Cell::AtLeast(events.events as f64),
                    false => Cell::Count(events.events),
                }),
                events.map_or(Cell::Empty, |events| match events.per_second_limits {
                    Some([_, most]) if events.events == 0 => Cell::AtMost(most),
                    Some([low, high]) => Cell::Interval { middle: events.per_second, low, high },
                    None => Cell::number(Some(events.per_second)),
                }),
                Cell::words(events.map(|events| format!("{} of {}", events.lossy_trials, events.trials))),
                Cell::words(longest),
            ]);
            Row::new(cells, held.iter().flat_map(|held| held.trials.clone()).collect())
        })
        .collect();
    let caption = "Numbers that belong together: any one of them alone misleads on a noisy host";
    Some(Table::of("searches-numbers", caption, columns, rows)?.without_empty_columns().main())
}

fn held_cell(held: &Held) -> Cell {
    match (held.pps, held.upper_pps) {
        (Some(pps), _) if held.at_least => Cell::AtLeast(pps.floor()),
        (Some(pps), _) => Cell::Number(pps.floor()),
        (None, Some(upper)) => Cell::AtMost(upper.floor()),
        (None, None) => Cell::Unknown,
    }
}

fn repeats(searches: &[SearchOutcome]) -> Option<Table> {
    let columns = vec![
        Column::words("frame_size", "frame size"),
        Column::words("placement", "placement"),
        Column::words("work", "work"),
        Column::words("method", "method"),
        Column::words("goal", "goal"),
        Column::new("searches", "searches", Unit::Count),
        Column::named("lower_pps", "lower bound, median"),
        Column::named("least_pps", "least"),
        Column::named("most_pps", "most"),
        Column::new("spread_ratio", "from least to most", Unit::Ratio),
        Column::new("regular", "regular", Unit::Count),
        Column::new("at_least", "at least", Unit::Count),
        Column::new("coarser", "by a coarser target", Unit::Count),
        Column::new("without", "without a bound", Unit::Count),
    ];
    let rows = search::repeats::of(searches)
        .iter()
        .map(|repeat| {
            let cells = vec![
                Cell::text(repeat.frame_size.to_string()),
                Cell::text(repeat.placement.as_str()),
                Cell::text(repeat.work.as_str()),
                Cell::text(repeat.method.as_str()),
                Cell::text(repeat.goal.as_str()),
                Cell::Count(repeat.searches.into()),
                Cell::estimate(Some(&repeat.lower_pps)),
                Cell::number(Some(repeat.least_pps)),
                Cell::number(Some(repeat.most_pps)),
                Cell::number(Some((repeat.most_pps - repeat.least_pps) / repeat.lower_pps.median)),
                Cell::Count(repeat.regular.into()),
                Cell::Count(repeat.at_least.into()),
                Cell::Count(repeat.coarser.into()),
                Cell::Count(repeat.without.into()),
            ];
            Row::new(cells, repeat.trials.clone())
        })
        .collect();
    let caption = "Several searches of the same set-up: how far their results lie apart is what one of them is good for";
    Table::of("searches-repeats", caption, columns, rows)
}

fn buffered(searches: &[SearchOutcome]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::named("from_pps", "from"),
        Column::named("to_pps", "to"),
        Column::named("taken_pps", "taken at most"),
        Column::named("behind_s", "behind at most"),
    ]);
    let rows = searches
        .iter()
        .filter_map(|search| {
            let buffered = search.buffered.as_ref()?;
            let mut cells = scene_cells(search);
            cells.extend(
                [buffered.from_pps, buffered.to_pps, buffered.taken_pps, buffered.behind_s]
                    .map(|value| Cell::number(Some(value))),
            );
            Some(Row::new(cells, buffered.trials.clone()))
        })
        .collect();
    let caption = "Loads that lost nothing only because there was room; what lay in buffers counts as lost";
    Table::of("searches-buffered", caption, columns, rows)
}

fn conduct(searches: &[SearchOutcome]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::named("maximum_pps", "maximum load"),
        Column::words("maximum_source", "which is"),
        Column::named("unpaced_pps", "self-test, unpaced"),
        Column::named("paced_pps", "self-test, by plan"),
        Column::new("trials", "trials", Unit::Count),
        Column::named("sending_s", "traffic"),
        Column::named("spent_s", "in all"),
        Column::words("ended", "how it ended"),
        Column::words("warnings", "to be taken with care"),
    ]);
    let rows = searches
        .iter()
        .map(|search| {
            let maximum = search.maximum.as_ref();
            let test = maximum.and_then(|maximum| maximum.self_test.as_ref());
            let source = maximum.map(|maximum| match maximum.source {
                MaximumSource::Generator => "what the generator reaches with this method capturing",
                MaximumSource::GeneratorAndReceiver => "what generator and receiver reach together",
                MaximumSource::LineRate => "the line rate, which the generator reaches",
                MaximumSource::Given => "as asked for",
            });
            let mut cells = scene_cells(search);
            cells.extend([
                Cell::number(maximum.map(|maximum| maximum.load_pps.get().floor())),
                Cell::words(source),
                Cell::where_known(test.map(|test| test.unpaced_pps)),
                Cell::where_known(test.map(|test| test.paced_pps)),
                Cell::Count(search.trials.len() as u64),
                Cell::number(Some(search.sending_s)),
                Cell::number(Some(search.spent_s)),
                Cell::text(search.ended.to_string()),
                if search.warnings.is_empty() { Cell::Empty } else { Cell::text(search.warnings.join("; ")) },
            ]);
            Row::new(cells, search.trials.clone())
        })
        .collect();
    let caption = "How each search went";
    let table = Table::of("searches-conduct", caption, columns, rows)?.without_empty_columns().main();
    let unnamed = searches.iter().filter(|search| search.method.is_none()).map(of_search).collect::<Vec<_>>();
    Some(
        table
            .with_notes((!unnamed.is_empty()).then(|| "A search without a method ran no trial.".to_string())),
    )
}
