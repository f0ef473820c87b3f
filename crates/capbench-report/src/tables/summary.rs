//! The table directly after the verdict: the main numbers of this kind of run.

use crate::results::Results;
use capbench_model::trial::{Phase, TrialResult, Verdict};
use capbench_plan::rfc2544::{Found, Tested};
use capbench_plan::search::{Bound, GoalResult, Status};
use capbench_plan::soak::record::Interval;
use capbench_plan::sweep::{Reading, Series, SweepOutcome};

use super::searches::OfGoal;
use super::shape::{Columns, set_up};
use super::{comparisons, rfc2544, searches, soak};
use crate::figures::number;
use crate::model::{Cell, Table, Unit};
use crate::naming::{self, Kind, Scene};
use crate::sentences;
use crate::sentences::search::goals as of_goals;
use crate::sentences::sweep::is_of_bursts;
use capbench_model::statistics::by_key as grouped;

/// The table of a run; `None` without data.
pub(crate) fn table(results: &Results) -> Option<Table> {
    match Kind::of(results) {
        Kind::Bench => bench(&results.trials),
        Kind::Search => search(results),
        Kind::Sweep => sweep(results),
        Kind::Rfc2544 => tests(results),
        Kind::Soak => whole(results),
        Kind::Reproduce => comparisons::claims(results),
    }
}

/// Trials of a method in a set-up at one load, one per visit.
struct Visits<'r>(Vec<&'r TrialResult>);

impl<'r> Visits<'r> {
    /// Those of this phase, at the load of the last one: a load that a method did not sustain was lowered.
    fn of(trials: &'r [TrialResult], scene: &Scene, method: &str, phases: &[Phase]) -> Self {
        let is_own = |trial: &&TrialResult| {
            phases.contains(&trial.phase) && trial.profile.method == method && Scene::of(trial) == *scene
        };
        let own: Vec<&'r TrialResult> = trials.iter().filter(is_own).collect();
        let Some(last) = own.last().copied() else { return Self(Vec::new()) };
        let is_same = |trial: &&TrialResult| {
            trial.phase == last.phase && trial.intended_pps == last.intended_pps && trial.load == last.load
        };
        Self(own.into_iter().filter(is_same).collect())
    }

    /// Those in which the method sustained the load.
    fn held(mut self) -> Self {
        self.0.retain(|trial| trial.sustained_load());
        self
    }

    /// The conclusive ones; all of them if none is.
    fn shown(&self) -> Vec<&'r TrialResult> {
        let valid = self.0.iter().copied().filter(|trial| trial.verdict != Verdict::Invalid);
        let valid: Vec<&'r TrialResult> = valid.collect();
        if valid.is_empty() { self.0.clone() } else { valid }
    }

    /// Their median, with its interval if there are several.
    fn median(&self, of: fn(&TrialResult) -> Option<f64>) -> Cell {
        Cell::median(self.shown().into_iter().map(of))
    }

    /// Upper bound of the application's time, if only its sum with the kernel's is certain.
    fn app_at_most(&self) -> Cell {
        let is_open = |trial: &&TrialResult| {
            let range = trial.cpu.app_ns_per_packet_at_most.zip(trial.cpu.app_ns_per_packet);
            trial.cpu.split_is_sampled && range.is_some_and(|(most, least)| most - least >= 0.5)
        };
        match self.shown().iter().any(is_open) {
            true => self.median(|trial| trial.cpu.app_ns_per_packet_at_most),
            false => Cell::Empty,
        }
    }

    /// Whether a trial needs caution.
    fn is_doubtful(&self) -> bool {
        self.0.iter().any(|trial| !trial.noise.is_empty() || trial.verdict == Verdict::Invalid)
    }

    /// The place with the most losses; with a plus if other places lost frames, too.
    fn place(&self) -> String {
        let shown = self.shown();
        let losses = naming::losses(shown.iter().copied());
        match &losses[..] {
            _ if shown.iter().any(|trial| trial.unexplained != 0) => "unknown".into(),
            [] => String::new(),
            [(place, _)] => place.word().into(),
            [(place, _), ..] => format!("{}+", place.word()),
        }
    }

    /// The verdict, or how many visits have which verdict.
    fn verdict(&self) -> String {
        let word = |verdict: &Verdict| naming::key(*verdict).replace('_', " ");
        match &grouped(&self.0, |trial| trial.verdict)[..] {
            [(verdict, _)] => word(verdict),
            several => {
                let words = several.iter().map(|(verdict, own)| format!("{} {}", own.len(), word(verdict)));
                words.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// A method in a set-up: its trials at the highest load, and those at the common load.
struct Entrant<'r> {
    shown: Visits<'r>,
    cost: Visits<'r>,
}

impl<'r> Entrant<'r> {
    fn of(trials: &'r [TrialResult], scene: &Scene, method: &str) -> Option<Self> {
        let of = |phases: &[Phase]| Visits::of(trials, scene, method, phases);
        let highest = of(&[Phase::BestEffort, Phase::FixedLoad]);
        let shown = if highest.0.is_empty() { of(&[Phase::CommonLoad]) } else { highest };
        let cost = of(&[Phase::CommonLoad, Phase::FixedLoad]).held();
        (!shown.0.is_empty()).then_some(Self { shown, cost })
    }

    fn trials(&self) -> Vec<u32> {
        let mut trials = naming::numbers(self.shown.0.iter().copied());
        let more = self.cost.0.iter().map(|trial| trial.number);
        trials.extend(more.filter(|number| self.shown.0.iter().all(|shown| shown.number != *number)));
        trials
    }
}

/// Methods by set-up: results at the highest load, and cost at the common load.
fn bench(trials: &[TrialResult]) -> Option<Table> {
    // By set-up, like the tables on a terminal.
    let scenes = grouped(trials, |trial| Scene::of(trial)).into_iter();
    let rows: Vec<Entrant<'_>> = scenes
        .flat_map(|(scene, own)| {
            let methods = grouped(own, |trial| trial.profile.method.as_str()).into_iter();
            methods.filter_map(move |(method, _)| Entrant::of(trials, &scene, method))
        })
        .collect();
    let is_visited = rows.iter().any(|row| row.shown.0.len() > 1 || row.cost.0.len() > 1);
    let columns = Columns::new()
        .part(set_up(), |row: &Entrant<'_>| &row.shown.0[0].profile)
        .named("offered_pps", "offered", |row| row.shown.median(|trial| Some(trial.offered_pps)))
        .named("delivered_pps", "delivered", |row| row.shown.median(|trial| Some(trial.delivered_pps)))
        .named("sent_loss_ratio", "lost", |row| row.shown.median(|trial| Some(trial.sent_loss_ratio())))
        .words("lost_where", "where", |row| row.shown.place())
        .named("app_ns_per_packet", "app", |row| row.cost.median(|trial| trial.cpu.app_ns_per_packet))
        .named("app_ns_per_packet_at_most", "app at most", |row| row.cost.app_at_most())
        .named("total_ns_per_packet", "cpu", |row| row.cost.median(|trial| trial.cpu.total_ns_per_packet))
        .named("busy_cores", "busy", |row| row.cost.median(|trial| trial.cpu.busy_cores))
        .words("verdict", "verdict", |row| row.shown.verdict())
        .words("care", "care", |row| (row.shown.is_doubtful() || row.cost.is_doubtful()).then_some("*"));
    let loads: Vec<String> = costs_at(trials);
    let caption =
        "Each method at the highest load that was put on it; CPU time a packet at the load that all held";
    let note = match &loads[..] {
        [] => String::new(),
        [one] => format!("CPU time: at {one}."),
        many => format!("CPU time: at {}, by set-up.", many.join(", ")),
    };
    let has_invalid = trials.iter().any(|trial| trial.verdict == Verdict::Invalid);
    let table = columns.table("summary", caption, rows, Entrant::trials)?.without_empty_columns();
    let has_care = table.columns.iter().any(|column| column.key == "care");
    let notes = [
        (is_visited, "Medians of the visits to a load, with their intervals."),
        (has_invalid, "A trial with the verdict invalid shows nothing."),
        (has_care, "*: noisy or invalid trials; the findings say why."),
    ];
    let notes = notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.to_string());
    let notes = std::iter::once(note).chain(notes).chain(costs(trials)).chain(cpus(trials));
    Some(table.with_notes(notes))
}

/// The meaning of the CPU time columns, and the methods for which it is only approximate.
fn costs(trials: &[TrialResult]) -> Vec<String> {
    let verify = trials.iter().map(|trial| trial.cpu.verify_ns_per_packet).filter(|ns| *ns > 0.0);
    let Some(least) = verify.clone().min_by(f64::total_cmp) else { return Vec::new() };
    let ns = |value: f64| number(value.round(), Unit::NanosecondsPerPacket);
    let most = verify.fold(0.0, f64::max);
    let mut notes = vec![format!(
        "app: application time, with verifying every frame ({} to {} ns); cpu: with the kernel's receive work; busy: CPUs of \
         the host.",
        ns(least),
        ns(most)
    )];
    let mut coarse: Vec<&str> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.phase != Phase::BestEffort) {
        let total = trial.cpu.total_ns_per_packet.unwrap_or(f64::INFINITY);
        if trial.cpu_uncertainty_ns() > total / 10.0 && !coarse.contains(&trial.profile.method.as_str()) {
            coarse.push(&trial.profile.method);
        }
    }
    let coarse = (!coarse.is_empty()).then(|| {
        format!("cpu is known to a tenth at best, as the clocks are coarse: {}.", coarse.join(", "))
    });
    let has_programs = trials.iter().any(|trial| trial.cpu.verify_ns_per_packet == 0.0);
    let of_programs = "Programs (cmd:) do their own work; files that they write are verified afterwards.";
    notes.extend(coarse.into_iter().chain(has_programs.then(|| of_programs.into())));
    notes
}

/// The role of each CPU, by placement.
fn cpus(trials: &[TrialResult]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for profile in trials.iter().map(|trial| &trial.profile) {
        let kernel = profile.cpus.kernel.map_or_else(|| "an unknown CPU".into(), |cpu| format!("CPU {cpu}"));
        let note = format!(
            "Placement {}: CPU {} generates, {kernel} receives in the kernel, CPU {} runs the application.",
            profile.placement, profile.cpus.generator, profile.cpus.application
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The common loads of a bench, each once: the last one of each set-up, after lowering.
fn costs_at(trials: &[TrialResult]) -> Vec<String> {
    let held = trials.iter().filter(|trial| trial.phase == Phase::CommonLoad && trial.sustained_load());
    let last = grouped(held, |trial| Scene::of(trial)).into_iter().filter_map(|(_, own)| own.last().copied());
    grouped(last.map(naming::load), String::clone).into_iter().map(|(load, _)| load).collect()
}

fn search(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .part(searches::which(), |(search, _): &OfGoal<'_>| *search)
        .words("goal", "goal", |(_, goal)| goal.goal.name.as_str())
        .named("lower_pps", "lower bound", |(_, goal)| searches::lower(goal.status, bounds(goal).0))
        .named("upper_pps", "upper bound", |(_, goal)| {
            Cell::number(bounds(goal).1.map(|bound| bound.intended_pps.floor()))
        })
        .named("conditional_throughput_pps", "conditional throughput", |(_, goal)| {
            Cell::where_known(goal.conditional_throughput_pps.map(f64::floor))
        })
        .named("relative_width_ratio", "width", |(_, goal)| {
            let so_far = goal.so_far.as_ref().map(|so_far| so_far.relative_width);
            Cell::where_known(so_far.or(goal.relative_width))
        })
        .words("status", "result", |(_, goal)| match goal.so_far {
            Some(_) => "so far *",
            None => searches::worth(goal.status),
        });
    let trials = |(_, goal): &OfGoal<'_>| {
        let (lower, upper) = bounds(goal);
        [lower, upper].into_iter().flatten().flat_map(|bound| bound.trials.clone()).collect()
    };
    let caption = "Goals: the highest load that is held, and the lowest that is not";
    let table = columns.table("summary", caption, of_goals(&results.searches), trials)?;
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
    type OfSeries<'r> = (&'r SweepOutcome, &'r Series);
    let best = move |series: &'_ Series| -> Option<Reading> {
        let by_rate = |a: &&Reading, b: &&Reading| a.delivered_pps.median.total_cmp(&b.delivered_pps.median);
        series.readings.iter().max_by(by_rate).filter(|_| !is_of_bursts(series)).cloned()
    };
    let columns = Columns::new()
        .words("axis", "sweep", |(sweep, _): &OfSeries<'_>| sweep.axis.to_string())
        .words("method", "method", |(_, series)| series.method.as_str())
        .words("placement", "placement", |(_, series)| series.placement.as_deref())
        .words("load", "load", |(_, series)| series.load.as_deref())
        .count("points", "points", |(_, series)| series.readings.len())
        .count("lossy_points", "with loss", move |(_, series)| match is_of_bursts(series) {
            // Each search lengthens a burst until it loses.
            true => Cell::Empty,
            false => series.readings.iter().filter(|reading| reading.loses()).count().into(),
        })
        .words("onset", "outcome", move |(sweep, series)| {
            if is_of_bursts(series) {
                return sentences::sweep::bursts_of(sweep, series);
            }
            let (words, _) = sentences::sweep::onset(sweep, series)?;
            Some(words.strip_prefix(&series.name()).unwrap_or(&words).trim_start().to_string())
        })
        .named("delivered_pps", "delivered most", move |(_, series)| {
            best(series).map_or(Cell::Empty, |reading| Cell::from(&reading.delivered_pps))
        })
        .words("delivered_at", "at", move |(sweep, series)| {
            best(series).map(|reading| sweep.label(&reading).to_string())
        });
    let all =
        || results.sweeps.iter().flat_map(|sweep| sweep.series.iter().map(move |series| (sweep, series)));
    let trials =
        |(_, series): &OfSeries<'_>| series.readings.iter().flat_map(|one| one.trials.clone()).collect();
    let table = columns.table("summary", "Each series of the sweep, and what came out", all(), trials)?;
    let of_loads = all().filter(|(_, series)| !is_of_bursts(series));
    let is_few = |reading: &&Reading| !reading.loses() && !reading.is_clean();
    let few = of_loads.flat_map(|(_, series)| &series.readings).filter(is_few).count() as u64;
    let points = naming::many(few, "other point", "other points");
    let note = (few > 0)
        .then(|| format!("With loss: points whose median visit lost frames; at {points} fewer visits did."));
    Some(table.without_empty_columns().with_notes(note))
}

fn tests(results: &Results) -> Option<Table> {
    let throughput = Columns::new()
        .part(searches::set_up(), |(search, _): &OfGoal<'_>| *search)
        .words("test", "test", |(_, goal)| format!("throughput ({})", goal.goal.name))
        .words("outcome", "outcome", |(_, goal)| match (&goal.lower, goal.status) {
            (Some(lower), Status::AtLeast) => {
                format!("at least {}, which is no throughput", naming::rate(lower.achieved_pps))
            }
            (Some(lower), status) => {
                format!("{} ({})", naming::rate(lower.achieved_pps), searches::worth(status))
            }
            (None, _) => "no load was held".into(),
        });
    let others = Columns::new()
        .part(rfc2544::set_up(), |tested: &&Tested| *tested)
        .words("test", "test", |tested| rfc2544::name(&tested.found))
        .words("outcome", "outcome", |tested| {
            let outcome = sentences::rfc2544::outcome(&tested.found);
            outcome.or_else(|| rfc2544::unfinished(&tested.found)).unwrap_or_else(|| match &tested.found {
                Found::Latency(_) => "no latency was recorded".into(),
                _ => "nothing was found".into(),
            })
        });
    let held = |(_, goal): &OfGoal<'_>| goal.lower.iter().flat_map(|lower| lower.trials.clone()).collect();
    let caption = "Tests and what they found";
    let tables = [
        throughput.table("summary", caption, of_goals(&results.searches), held),
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
        .part(soak::stretch(), |(_, stretch)| *stretch);
    let caption = format!(
        "{} for {} in segments of {}",
        naming::rate(record.intended_pps),
        naming::time(record.planned_s),
        naming::time(record.segment_s)
    );
    let untaken = record.untaken_ratio();
    let note = (untaken > 0.0).then(|| {
        format!(
            "{} % of the frames were delivered only because the generator pauses after each segment.",
            number(untaken, Unit::Ratio)
        )
    });
    Some(columns.table("summary", &caption, rows, |_| soak::kept(record))?.with_notes(note))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::arrivals::Arrivals;
    use capbench_model::evidence::Evidence;
    use capbench_model::trial::{CpuAccount, Cpus, Load, Measured, Profile, SizeLabel};

    use super::*;
    use crate::formats::text;

    /// A trial of one second at maximum load.
    fn trial(method: &str, sent: u64, delivered: u64, cpu: &CpuAccount) -> TrialResult {
        let profile = Profile {
            method: method.into(),
            frame_size: SizeLabel::Octets(64),
            mean_frame_size: 64.0,
            traffic: String::new(),
            transmit: "packet-tx".into(),
            placement: "same".into(),
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            load_independent: true,
            load_depends_because: None,
            work: "none".into(),
        };
        let measured = Measured {
            intended: sent,
            evidence: Evidence {
                sent,
                delivered,
                read: delivered,
                transmit_drops: Some(sent - delivered),
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending: Duration::from_secs(1),
            cpu: cpu.clone(),
            ..Measured::default()
        };
        measured.result(1, Phase::FixedLoad, &profile, Load::Maximum, Duration::from_secs(1))
    }

    #[test]
    fn times_that_clocks_leave_open_are_ranges_and_named_and_lines_fit() {
        let slow = CpuAccount {
            app_ns: Some(10_204 * 9_000),
            app_charged_ns: Some(14_874 * 9_000),
            total_ns: Some(19_999 * 10_000),
            kernel_resolution_ns: Some(10_000_000),
            split_is_sampled: true,
            busy_cores: Some(1.27),
            ..CpuAccount::default()
        };
        let busy = CpuAccount { busy_cores: Some(128.0), ..slow.clone() };
        for (sent, cpu) in [(1_436_330, &slow), (14_436_330, &slow), (14_436_330, &busy)] {
            let trials = [
                trial("recv", 10_000, 10_000, cpu),
                trial("cmd:tcpdump", sent, sent, &CpuAccount::default()),
                trial("packet-v3+napi-thread", sent, sent / 2, cpu),
            ];
            let mut printed = String::new();
            text::table(&mut printed, &bench(&trials).unwrap());
            assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
            for field in ["9,184", "13,387", "transmit", "packet-v3+napi-thread", "cmd:tcpdump"] {
                assert!(printed.contains(field), "{field}: {printed}");
            }
        }
    }
}
