//! Tables of trials: all of them, what ran, CPU cost, delays, losses, and what guards repeated or marked.

use capbench_model::latency::Delays;
use capbench_model::loss_pattern::{Burst, LossPattern};
use capbench_model::saved::SavedMethod;
use capbench_model::statistics::by_key as grouped;
use capbench_model::trial::TrialResult;
use capbench_results::Results;
use capbench_results::column::{self, Values};
use capbench_results::trial_columns::{self, key, lost_by_place, place_names};

use super::shape::{Columns, group, set_up, unit_of, words_of};
use crate::figures::number;
use crate::groups::{self, Group};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming;
use crate::sentences::noise;

/// A column of `trials.csv`.
type TrialColumn = column::Column<'static, TrialResult>;

/// The bounds of the application's CPU time.
const APP: &str = "app_ns_per_packet";
const APP_AT_MOST: &str = "app_ns_per_packet_at_most";
/// Most bursts that are listed.
const BURSTS: usize = 20;

/// Every trial, one row each, with the columns of `trials.csv`, and why a trial needs caution.
pub(crate) fn table(results: &Results) -> Table {
    let mut saved_columns = trial_columns::columns();
    // The upper bound is in the cell of the lower one.
    saved_columns.retain(|column| column.name != APP_AT_MOST);
    let mut columns: Vec<Column> = saved_columns.iter().map(shown_column).collect();
    for name in place_names() {
        let heading = name.replacen('_', ": ", 1).replace('_', " ");
        columns.push(Column::new(&name, &heading, Unit::Count));
    }
    columns.push(Column::words("care", "noisy because"));
    let rows = results.trials.iter().map(|trial| row(&saved_columns, trial)).collect();
    let caption = "Every trial; names and units as in results.json and trials.csv".into();
    let table = Table { id: "trials".into(), caption, columns, rows, ..Table::default() };
    table.with_notes(note_of_discarded(results))
}

/// A trial's cells for these columns, for its losses by place, and for the reasons of caution.
fn row(columns: &[TrialColumn], trial: &TrialResult) -> Row {
    let mut cells = Vec::new();
    for column in columns {
        cells.push(match app_at_most(trial) {
            Some(high) if column.name == APP => range(trial.cpu.app_ns_per_packet, high),
            _ => cell(column, trial),
        });
    }
    cells.extend(lost_by_place(trial).into_iter().map(Cell::count));
    let mut reasons: Vec<String> = trial.noise.reasons.iter().map(noise::words).collect();
    reasons.extend(trial.invalid_because.clone());
    cells.push(if reasons.is_empty() { Cell::Empty } else { Cell::text(reasons.join("; ")) });
    Row::new(cells, vec![trial.number])
}

/// Says how many attempts are in the results besides the trials; nothing if there are none.
fn note_of_discarded(results: &Results) -> Option<String> {
    let mut discarded = 0;
    for guarding in results.trials.iter().filter_map(|trial| trial.guarding.as_ref()) {
        discarded += guarding.discarded.len();
    }
    match discarded {
        0 => None,
        1 => Some(
            "One attempt was discarded and is in results.json, inside the trial that it belongs to.".into(),
        ),
        many => Some(format!(
            "{many} attempts were discarded and are in results.json, inside the trials that they belong to."
        )),
    }
}

/// The trials of two runs in one table. The first column names the run.
pub(crate) fn table_of_two_runs(runs: [(&str, &Results); 2]) -> Table {
    let mut all = Table::default();
    for (name, results) in runs {
        let mut trials = table(results);
        trials.columns.insert(0, Column::words("run", "run"));
        for row in &mut trials.rows {
            row.cells.insert(0, name.into());
        }
        trials.rows.splice(0..0, all.rows);
        trials.notes.splice(0..0, all.notes);
        all = trials;
    }
    all
}

/// How a report shows a column of `trials.csv`.
fn shown_column(column: &TrialColumn) -> Column {
    let key = column.name;
    let is_count = !matches!(column.values, Values::Text(_) | Values::Flag(_))
        && !key.ends_with("_cpu")
        && !matches!(key, "number" | "attempt");
    let unit = match unit_of(key) {
        Unit::None if is_count => Unit::Count,
        unit => unit,
    };
    Column::new(key, &words_of(key), unit)
}

/// A range up to `high`; one number if the lower end is no smaller.
fn range(low: Option<f64>, high: f64) -> Cell {
    match low {
        Some(low) if low < high => Cell::Range { low, high },
        low => Cell::number(low),
    }
}

/// The value of a column in a trial.
fn cell(column: &TrialColumn, trial: &TrialResult) -> Cell {
    match &column.values {
        Values::Count(find) => Cell::count(find(trial)),
        Values::Signed(find) => find(trial).map_or(Cell::Unknown, Cell::Signed),
        Values::Number(find) => Cell::number(find(trial)),
        Values::Flag(find) => match find(trial) {
            Some(true) => Cell::text("yes"),
            Some(false) => Cell::text("no"),
            None => Cell::Unknown,
        },
        _ => Cell::text(column.csv_field(trial)),
    }
}

/// The implementation that ran behind each method's name, as detected.
pub(super) fn engines(results: &Results) -> Option<Table> {
    let ran = results.trials.iter().filter(|trial| trial.capture.is_some());
    let rows = grouped(ran, |trial| (&trial.profile.method, trial.engine()));
    let columns = Columns::new()
        .words("method", "method", |((method, _), _): &((&SavedMethod, String), Vec<&TrialResult>)| {
            method.to_string()
        })
        .words("engine", "what ran", |((_, engine), _)| engine.clone());
    let trials = |(_, trials): &(_, Vec<&TrialResult>)| naming::numbers(trials.iter().copied());
    columns.table("engines", "Library, version and mode, by method", rows, trials).map(Table::main)
}

/// The application's time with what may be the kernel's.
fn app_at_most(trial: &TrialResult) -> Option<f64> {
    let most = trial.cpu.app_ns_per_packet_at_most.filter(|_| trial.cpu.split_is_sampled);
    most.or(trial.cpu.app_ns_per_packet)
}

/// CPU cost of packets.
pub(super) fn cpu(results: &Results) -> Option<Table> {
    let groups = groups::groups_in_run(results);
    type Figure = fn(&TrialResult) -> Option<f64>;
    let figures: [(&str, &str, Figure); 10] = [
        ("app_ns_per_packet", "application at least", |trial| trial.cpu.app_ns_per_packet),
        ("app_ns_per_packet_at_most", "at most", app_at_most),
        ("kernel_ns_per_packet", "kernel", |trial| trial.cpu.kernel_ns_per_packet),
        ("total_ns_per_packet", "together", TrialResult::total_ns_per_packet),
        ("verify_ns_per_packet", "of it verifying", |trial| Some(trial.cpu.verify_ns_per_packet)),
        ("tracer_ns_per_packet", "of it the tracer", |trial| trial.cpu.tracer_ns_per_packet),
        ("busy_cores", "busy", |trial| trial.cpu.busy_cores),
        ("frames_per_batch", "frames a batch", |trial| trial.cpu.frames_per_batch),
        ("frames_per_wakeup", "frames a wake-up", |trial| trial.cpu.frames_per_wakeup),
        ("steal_ratio", "stolen", |trial| trial.cpu.steal_ratio),
    ];
    let columns = group().named("delivered_pps", "delivered", |group| {
        Cell::median(group.trials.iter().map(|trial| Some(trial.delivered_pps)))
    });
    let columns = figures.into_iter().fold(columns, |columns, (key, heading, of)| {
        columns.named(key, heading, move |group| Cell::median(group.trials.iter().map(|trial| of(trial))))
    });
    let columns = columns
        .words("split", "how application and kernel divide", |group| split(&group.trials))
        .count("involuntary_switches", "switches because others ran", |group| {
            Cell::count(group.trials.iter().try_fold(0u64, |sum, trial| {
                trial.cpu.involuntary_switches.map(|switches| sum.saturating_add(switches))
            }))
        });
    let is_unverified = |trial: &&TrialResult| trial.cpu.verify_ns_per_packet == 0.0;
    let note = groups.iter().flat_map(|group| &group.trials).any(is_unverified).then(|| {
        "Where verifying takes 0 ns, frames were not verified one by one while they came.".to_string()
    });
    let caption =
        "CPU time for each packet and what it went with; of several trials the median with its interval";
    Some(columns.table("cpu-cost", caption, &groups, |group| group.numbers())?.with_notes(note))
}

/// Whether the split of the sum is known exactly, or only sampled.
fn split(trials: &[&TrialResult]) -> Cell {
    let sampled: Vec<&&TrialResult> = trials.iter().filter(|trial| trial.cpu.split_is_sampled).collect();
    if sampled.is_empty() {
        return Cell::Empty;
    }
    let most = sampled.iter().filter_map(|trial| trial.cpu.app_ns_per_packet_at_most).fold(0.0, f64::max);
    let most = number(most, Unit::NanosecondsPerPacket);
    Cell::text(format!("a range: the application uses up to {most} ns"))
}

type OfLeg<'r> = (&'r TrialResult, &'static str, &'r Delays);

/// Delays of frames.
pub(super) fn latency(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .part(set_up(), |(trial, ..): &OfLeg<'_>| &trial.profile)
        .words("load", "load", |(trial, ..)| naming::load(trial))
        .words("leg", "leg", |(_, leg, _)| *leg)
        .count("frames", "frames", |(.., delays)| delays.frames)
        .named("min_ns", "least", |(.., delays)| delays.min_ns as f64)
        .named("mean_ns", "mean", |(.., delays)| delays.mean_ns)
        .named("p50_ns", "median", |(.., delays)| delays.p50_ns as f64)
        .named("p90_ns", "90 %", |(.., delays)| delays.p90_ns as f64)
        .named("p99_ns", "99 %", |(.., delays)| delays.p99_ns as f64)
        .named("p99_9_ns", "99.9 %", |(.., delays)| delays.p99_9_ns as f64)
        .named("max_ns", "largest", |(.., delays)| delays.max_ns as f64)
        .named("pdv_ns", "variation (PDV)", |(.., delays)| delays.pdv_ns as f64)
        .count("lost", "lost in the trial", |(trial, ..)| trial.lost());
    let recorded = || results.trials.iter().filter_map(|trial| Some((trial, trial.latency.as_ref()?)));
    let rows = recorded().flat_map(|(trial, latency)| {
        let relative = latency.relative.as_ref();
        let legs = [
            ("to_kernel", &latency.to_kernel),
            ("to_application", &latency.to_application),
            ("total", &latency.total),
            ("relative to_kernel", relative.map_or(&None, |relative| &relative.to_kernel)),
            ("relative total", relative.map_or(&None, |relative| &relative.total)),
        ];
        legs.into_iter().filter_map(move |(leg, delays)| Some((trial, leg, delays.as_ref()?)))
    });
    let absent = recorded().filter_map(|(trial, latency)| {
        Some(format!("{}: {}.", trial.profile.method, latency.absent_because.as_ref()?))
    });
    let caption = "Latency of every frame, a row for each trial and leg; the figures are those of RFC 8219";
    let table = columns.table("latency-by-trial", caption, rows, |(trial, ..)| vec![trial.number])?;
    Some(table.with_notes(grouped(absent, String::clone).into_iter().map(|(note, _)| note)))
}

/// A trial that is no result: the trial that it belongs to, the trial itself, its kind and the reason.
type Kept<'r> = (&'r TrialResult, &'r TrialResult, &'static str, String);

/// Discarded attempts, and probes, with the trial that they belong to.
pub(super) fn attempts(results: &Results) -> Option<Table> {
    let mut rows: Vec<Kept<'_>> = Vec::new();
    for trial in &results.trials {
        let Some(guarding) = &trial.guarding else { continue };
        let discarded = guarding.discarded.iter();
        rows.extend(
            discarded.map(|one| (trial, &one.trial, "discarded", noise::joined(&one.because.reasons))),
        );
        if let Some(recovery) = &guarding.recovery {
            let had = if recovery.recovered { "had" } else { "had not" };
            let why = format!("after the overload of trial {}; the path {had} recovered", recovery.after);
            rows.extend(recovery.probes.iter().map(|probe| (trial, probe, "probe", why.clone())));
        }
    }
    let columns = Columns::new()
        .words("number", "number", |(_, kept, ..): &Kept<'_>| kept.number)
        .words("belongs_to", "belongs to trial", |(trial, ..)| trial.number)
        .words("what", "what", |(_, _, what, _)| *what)
        .words("because", "because", |(.., because)| because.clone())
        .words("method", "method", |(_, kept, ..)| kept.profile.method.to_string())
        .words("load", "load", |(_, kept, ..)| naming::load(kept))
        .count("sent", "sent", |(_, kept, ..)| kept.sent)
        .count("delivered", "delivered", |(_, kept, ..)| kept.delivered)
        .words("lost_where", "lost", |(_, kept, ..)| naming::places(&kept.losses(), kept.unexplained))
        .words("verdict", "verdict", |(_, kept, ..)| key(kept.verdict));
    let caption = "Discarded attempts and probes: stored with their trial, no results";
    columns.table("guards-attempts", caption, rows, |(trial, ..)| vec![trial.number])
}

/// Why a valid trial needs caution; empty if it does not.
fn care(trial: &TrialResult) -> String {
    let mut care: Vec<String> = trial.noise.reasons.iter().map(noise::words).collect();
    care.extend(trial.disturbance.reasons().iter().map(noise::words));
    care.extend(trial.invalid_because.iter().map(|why| format!("invalid: {why}")));
    care.extend(trial.livelock.as_ref().map(|livelock| {
        format!(
            "livelock: trial {} delivered {} of {}",
            livelock.against,
            naming::rate(livelock.delivered_pps),
            naming::rate(livelock.offered_pps)
        )
    }));
    care.dedup();
    care.join("; ")
}

/// Valid trials that need caution.
pub(super) fn marks(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .words("trial", "trial", |trial: &&TrialResult| trial.number)
        .words("method", "method", |trial| trial.profile.method.to_string())
        .words("phase", "run for", |trial| naming::phase(trial.phase))
        .words("load", "load", |trial| naming::load(trial))
        .words("care", "noisy because", |trial| care(trial));
    let rows = results.trials.iter().filter(|trial| !care(trial).is_empty());
    let caption = "Noisy and invalid trials";
    columns.table("guards-marks", caption, rows, |trial| vec![trial.number])
}

/// Trials with losses, with their loss patterns; unknown if one trial has none.
type OfLoss<'r> = (&'r Group<'r>, u64, Option<Vec<&'r LossPattern>>);

/// Bursts of loss, and the worst 100 ms.
pub(super) fn shapes(results: &Results) -> Option<Table> {
    let groups = groups::groups_in_run(results);
    let sum = |shapes: &Option<Vec<&LossPattern>>, of: fn(&LossPattern) -> u64| {
        shapes.as_ref().map(|shapes| shapes.iter().map(|shape| of(shape)).fold(0, u64::saturating_add))
    };
    let most = |shapes: &Option<Vec<&LossPattern>>, of: fn(&LossPattern) -> u64| {
        shapes.as_ref().and_then(|shapes| shapes.iter().map(|shape| of(shape)).max())
    };
    let total = move |key, heading, of: fn(&LossPattern) -> u64| {
        let head = Column::new(key, heading, Unit::Count);
        (head, move |(.., shapes): &OfLoss<'_>| Cell::count(sum(shapes, of)))
    };
    let bursts = total("loss_bursts", "bursts", |shape| shape.bursts.count);
    let at_start = total("lost_at_start", "in the first 100 ms", |shape| shape.lost_at_start);
    let steadily = total("lost_steadily", "in between", |shape| shape.lost_steadily);
    let at_end = total("lost_at_end", "in the last 100 ms", |shape| shape.lost_at_end);
    let columns = Columns::new()
        .part(group(), |(group, ..): &OfLoss<'_>| *group)
        .count("trials", "trials", |(group, ..)| group.trials.len())
        .count("lost", "lost", |(_, lost, _)| *lost)
        .with(bursts.0, bursts.1)
        .count("longest_burst", "frames of the longest", move |(.., shapes)| {
            Cell::count(most(shapes, |shape| shape.bursts.max.unwrap_or(0)))
        })
        .named("longest_burst_ns", "time of the longest", move |(.., shapes)| {
            Cell::number(most(shapes, duration_of_longest).map(|ns| ns as f64))
        })
        .named("worst_100ms_loss_ratio", "worst 100 ms", |(.., shapes)| {
            let worst =
                |shapes: &Vec<&LossPattern>| shapes.iter().map(|one| one.worst_ratio()).reduce(f64::max);
            Cell::number(shapes.as_ref().and_then(worst))
        })
        .named("lossy_100ms_ratio", "100 ms with loss", move |(.., shapes)| {
            let windows = sum(shapes, |shape| shape.windows).filter(|windows| *windows > 0);
            let lossy = sum(shapes, |shape| shape.lossy_windows);
            Cell::number(lossy.zip(windows).map(|(lossy, windows)| lossy as f64 / windows as f64))
        })
        .with(at_start.0, at_start.1)
        .with(steadily.0, steadily.1)
        .with(at_end.0, at_end.1);
    let rows: Vec<OfLoss<'_>> = groups
        .iter()
        .map(|group| {
            let lossy = group.trials.iter().filter(|trial| trial.lost() > 0);
            let shapes = lossy.clone().map(|trial| trial.loss_pattern.as_ref()).collect();
            (group, lossy.fold(0u64, |sum, trial| sum.saturating_add(trial.lost())), shapes)
        })
        .filter(|(_, lost, _)| *lost > 0)
        .collect();
    let is_open = rows.iter().any(|(.., shapes)| shapes.is_none());
    let note = is_open.then(|| "Unknown where frames were not looked at one by one.".to_string());
    let caption = "Bursts of loss and the worst 100 ms, of trials that lost frames; sums of several trials, and the largest of them";
    Some(columns.table("loss-bursts", caption, rows, |(group, ..)| group.numbers())?.with_notes(note))
}

/// Time from the first frame of the longest burst to the next received frame.
fn duration_of_longest(shape: &LossPattern) -> u64 {
    shape.longest.first().map_or(0, |burst| burst.to_ns.saturating_sub(burst.from_ns))
}

pub(super) fn longest(results: &Results) -> Option<Table> {
    type OfBurst<'r> = (&'r TrialResult, &'r Burst);
    let mut bursts: Vec<OfBurst<'_>> = results
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.loss_pattern.as_ref()?)))
        .flat_map(|(trial, shape)| shape.longest.iter().map(move |burst| (trial, burst)))
        .collect();
    bursts.sort_by_key(|(_, burst)| std::cmp::Reverse(burst.frames));
    bursts.truncate(BURSTS);
    let columns = Columns::new()
        .words("trial", "trial", |(trial, _): &OfBurst<'_>| trial.number)
        .words("method", "method", |(trial, _)| trial.profile.method.to_string())
        .words("load", "load", |(trial, _)| naming::load(trial))
        .count("frames", "frames", |(_, burst)| burst.frames)
        .count("first", "first frame", |(_, burst)| burst.first)
        .named("from_ns", "began", |(_, burst)| burst.from_ns as f64)
        .named("length_ns", "lasted", |(_, burst)| burst.to_ns.saturating_sub(burst.from_ns) as f64)
        .words("position", "part of the trial", |(_, burst)| key(burst.position))
        .words("marked", "marked by the method", |(_, burst)| {
            burst.marked.map_or(Cell::Unknown, |marked| if marked { "yes" } else { "no" }.into())
        });
    let caption = format!("The longest bursts of loss, {} of those that trials keep", bursts.len());
    columns.table("loss-longest", &caption, bursts, |(trial, _)| vec![trial.number])
}
