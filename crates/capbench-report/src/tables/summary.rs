//! The table right after the verdict: what a run of this kind is looked at for.

use capbench_measure::results::Results;
use capbench_measure::rfc2544::Found;
use capbench_measure::sweep::Reading;
use capbench_measure::trial::{Phase, TrialResult, Verdict};

use crate::figures::number;
use crate::groups::{scene_cells, scene_columns};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{self, Kind, Scene};
use crate::sentences;

use super::{claims, rfc2544, searches, soak};

/// The table of a run; `None` where it has nothing to show.
pub(crate) fn table(results: &Results) -> Option<Table> {
    match Kind::of(results) {
        Kind::Bench => bench(&results.trials),
        Kind::Search => search(results),
        Kind::Sweep => sweep(results),
        Kind::Rfc2544 => tests(results),
        Kind::Soak => whole(results),
        Kind::Reproduce => claims::table(results),
    }
}

/// Trials of a method in a set-up at one load: one for each visit.
struct Visits<'r>(Vec<&'r TrialResult>);

impl<'r> Visits<'r> {
    /// Those that were run for this, at the load of the last of them: loads that not all methods held were lowered.
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

    /// Those in which the method held the load.
    fn held(mut self) -> Self {
        self.0.retain(|trial| trial.held_load());
        self
    }

    /// Those that show something; all of them where none does.
    fn shown(&self) -> Vec<&'r TrialResult> {
        let valid = self.0.iter().copied().filter(|trial| trial.verdict != Verdict::Invalid);
        let valid: Vec<&'r TrialResult> = valid.collect();
        if valid.is_empty() { self.0.clone() } else { valid }
    }

    /// Their median, with its interval where there are several.
    fn median(&self, of: fn(&TrialResult) -> Option<f64>) -> Cell {
        Cell::median(self.shown().into_iter().map(of))
    }

    /// The most that the application's time can be, where only its sum with the kernel's is certain.
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

    /// Whether a trial is to be taken with care.
    fn is_doubtful(&self) -> bool {
        self.0.iter().any(|trial| !trial.noise.is_empty() || trial.verdict == Verdict::Invalid)
    }

    /// Offered, delivered, lost and where.
    fn outcome(&self) -> [Cell; 4] {
        let shown = self.shown();
        let losses = naming::losses(shown.iter().copied());
        let is_explained = shown.iter().all(|trial| trial.unexplained == 0);
        let place: String = match &losses[..] {
            _ if !is_explained => "unknown".into(),
            [] => String::new(),
            [(place, _)] => place.word().into(),
            [(place, _), ..] => format!("{}+", place.word()),
        };
        [
            self.median(|trial| Some(trial.offered_pps)),
            self.median(|trial| Some(trial.delivered_pps)),
            self.median(|trial| Some(trial.sent_loss_ratio())),
            Cell::text(place),
        ]
    }

    /// The verdict, or how many visits have which.
    fn verdict(&self) -> String {
        let mut counts: Vec<(Verdict, usize)> = Vec::new();
        for trial in &self.0 {
            match counts.iter_mut().find(|(known, _)| *known == trial.verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((trial.verdict, 1)),
            }
        }
        let word = |verdict: Verdict| naming::key(verdict).replace('_', " ");
        if let [(verdict, _)] = counts[..] {
            return word(verdict);
        }
        let words: Vec<String> =
            counts.iter().map(|(verdict, count)| format!("{count} {}", word(*verdict))).collect();
        words.join(", ")
    }
}

/// A method in a set-up: what it did at the highest load, and what it cost at the load that all held.
fn bench(trials: &[TrialResult]) -> Option<Table> {
    let mut pairs: Vec<(Scene, &str)> = Vec::new();
    for trial in trials {
        let pair = (Scene::of(trial), trial.profile.method.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    // By set-up, as tables of a terminal have it.
    let mut order: Vec<&Scene> = Vec::new();
    for (scene, _) in &pairs {
        if !order.contains(&scene) {
            order.push(scene);
        }
    }
    let mut columns = scene_columns();
    columns.extend([
        Column::words("method", "method"),
        Column::named("offered_pps", "offered"),
        Column::named("delivered_pps", "delivered"),
        Column::named("sent_loss_ratio", "lost"),
        Column::words("lost_where", "where"),
        Column::named("app_ns_per_packet", "app"),
        Column::named("app_ns_per_packet_at_most", "app at most"),
        Column::named("total_ns_per_packet", "cpu"),
        Column::named("busy_cores", "busy"),
        Column::words("verdict", "verdict"),
        Column::words("care", "care"),
    ]);
    let (mut rows, mut is_visited) = (Vec::new(), false);
    for scene in order {
        for (own, method) in pairs.iter().filter(|(own, _)| own == scene) {
            let of = |phases: &[Phase]| Visits::of(trials, own, method, phases);
            let mut shown = of(&[Phase::BestEffort, Phase::FixedLoad]);
            if shown.0.is_empty() {
                shown = of(&[Phase::CommonLoad]);
            }
            if shown.0.is_empty() {
                continue;
            }
            let cost = of(&[Phase::CommonLoad, Phase::FixedLoad]).held();
            is_visited |= shown.0.len() > 1 || cost.0.len() > 1;
            let mut cells = scene_cells(own);
            cells.push(Cell::text(*method));
            cells.extend(shown.outcome());
            cells.extend([
                cost.median(|trial| trial.cpu.app_ns_per_packet),
                cost.app_at_most(),
                cost.median(|trial| trial.cpu.total_ns_per_packet),
                cost.median(|trial| trial.cpu.busy_cores),
                Cell::text(shown.verdict()),
                if shown.is_doubtful() || cost.is_doubtful() { Cell::text("*") } else { Cell::Empty },
            ]);
            let mut trials = naming::numbers(shown.0.iter().copied());
            let more = cost.0.iter().map(|trial| trial.number).filter(|number| !trials.contains(number));
            let more: Vec<u32> = more.collect();
            trials.extend(more);
            rows.push(Row::new(cells, trials));
        }
    }
    let loads: Vec<String> = costs_at(trials);
    let caption =
        "Each method at the highest load that was put on it; CPU time a packet at the load that all held";
    let note = match &loads[..] {
        [] => String::new(),
        [one] => format!("CPU time: at {one}."),
        many => format!("CPU time: at {}, by set-up.", many.join(", ")),
    };
    let visits = if is_visited {
        "Medians of the visits to a load, with their intervals.".into()
    } else {
        String::new()
    };
    let has_invalid = trials.iter().any(|trial| trial.verdict == Verdict::Invalid);
    let invalid =
        if has_invalid { "A trial with the verdict invalid shows nothing.".into() } else { String::new() };
    let table = Table::of("summary", caption, columns, rows)?.without_empty_columns();
    let care = match table.columns.iter().any(|column| column.key == "care") {
        true => "*: noisy or invalid trials; the findings say why.".into(),
        false => String::new(),
    };
    Some(table.with_notes([note, visits, invalid, care]).with_notes(costs(trials)).with_notes(cpus(trials)))
}

/// What the columns of CPU time mean, and of which methods it is known roughly only.
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
    if !coarse.is_empty() {
        notes.push(format!(
            "cpu is known to a tenth at best, as the clocks are coarse: {}.",
            coarse.join(", ")
        ));
    }
    if trials.iter().any(|trial| trial.cpu.verify_ns_per_packet == 0.0) {
        notes
            .push("Programs (cmd:) do their own work; files that they write are verified afterwards.".into());
    }
    notes
}

/// Which CPU does what, by placement.
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

/// The common loads of a bench, each once: of each set-up the last, to which those that not all held were lowered.
fn costs_at(trials: &[TrialResult]) -> Vec<String> {
    let mut loads: Vec<(Scene, String)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.phase == Phase::CommonLoad && trial.held_load()) {
        let (scene, load) = (Scene::of(trial), naming::load(trial));
        match loads.iter_mut().find(|(known, _)| *known == scene) {
            Some((_, known)) => *known = load,
            None => loads.push((scene, load)),
        }
    }
    let mut said: Vec<String> = Vec::new();
    for (_, load) in loads {
        if !said.contains(&load) {
            said.push(load);
        }
    }
    said
}

fn search(results: &Results) -> Option<Table> {
    let mut columns = searches::scene_columns();
    columns.extend([
        Column::words("goal", "goal"),
        Column::named("lower_pps", "lower bound"),
        Column::named("upper_pps", "upper bound"),
        Column::named("conditional_throughput_pps", "conditional throughput"),
        Column::new("relative_width_ratio", "width", Unit::Ratio),
        Column::words("status", "result"),
    ]);
    let (mut rows, mut is_so_far) = (Vec::new(), false);
    for search in &results.searches {
        for result in &search.goals {
            // Where the search ended before the goal had its bounds, those of a coarser target are the best there is.
            let so_far = result.so_far.as_ref();
            let (lower, upper, width, worth) = match so_far {
                Some(so_far) => {
                    (Some(&so_far.lower), Some(&so_far.upper), Some(so_far.relative_width), "so far *")
                }
                None => (
                    result.lower.as_ref(),
                    result.upper.as_ref(),
                    result.relative_width,
                    searches::worth(result.status),
                ),
            };
            is_so_far |= so_far.is_some();
            let mut cells = searches::scene_cells(search);
            cells.extend([
                Cell::text(result.goal.name.as_str()),
                searches::lower(result.status, lower),
                Cell::number(upper.map(|bound| bound.intended_pps.floor())),
                Cell::where_known(result.conditional_throughput_pps.map(f64::floor)),
                Cell::where_known(width),
                Cell::text(worth),
            ]);
            let bounds = [lower, upper].into_iter().flatten();
            rows.push(Row::new(cells, bounds.flat_map(|bound| bound.trials.clone()).collect()));
        }
    }
    let caption = "Goals: the highest load that is held, and the lowest that is not";
    let note =
        is_so_far.then(|| "* by fewer trials than the goal asks for: the search ended before.".to_string());
    Some(Table::of("summary", caption, columns, rows)?.without_empty_columns().with_notes(note))
}

fn sweep(results: &Results) -> Option<Table> {
    let columns = vec![
        Column::words("axis", "sweep"),
        Column::words("method", "method"),
        Column::words("placement", "placement"),
        Column::words("load", "load"),
        Column::new("points", "points", Unit::Count),
        Column::new("lossy_points", "with loss", Unit::Count),
        Column::words("onset", "outcome"),
        Column::named("delivered_pps", "delivered most"),
        Column::words("delivered_at", "at"),
    ];
    let (mut rows, mut few) = (Vec::new(), 0);
    for sweep in &results.sweeps {
        for series in &sweep.series {
            let by_rate =
                |a: &&Reading, b: &&Reading| a.delivered_pps.median.total_cmp(&b.delivered_pps.median);
            let best = series.readings.iter().max_by(by_rate);
            let is_of_bursts = series.readings.iter().any(|reading| reading.back_to_back.is_some());
            let onset = sentences::sweep::onset(sweep, series).filter(|_| !is_of_bursts);
            let of_loads = onset.as_ref().map(|(words, _)| {
                words.strip_prefix(&series.name()).unwrap_or(words).trim_start().to_string()
            });
            let words = of_loads.or_else(|| sentences::sweep::bursts_of(sweep, series));
            if !is_of_bursts {
                let is_few = |reading: &&Reading| !reading.loses() && !reading.is_clean();
                few += series.readings.iter().filter(is_few).count() as u64;
            }
            let best = best.filter(|_| !is_of_bursts);
            let cells = vec![
                Cell::text(sweep.axis.to_string()),
                Cell::text(series.method.as_str()),
                Cell::words(series.placement.as_deref()),
                Cell::words(series.load.as_deref()),
                Cell::Count(series.readings.len() as u64),
                if is_of_bursts {
                    // A burst is lengthened until it loses.
                    Cell::Empty
                } else {
                    Cell::Count(series.readings.iter().filter(|reading| reading.loses()).count() as u64)
                },
                Cell::words(words),
                best.map_or(Cell::Empty, |reading| Cell::estimate(Some(&reading.delivered_pps))),
                Cell::words(best.map(|reading| sweep.label(reading))),
            ];
            let trials = series.readings.iter().flat_map(|reading| reading.trials.clone()).collect();
            rows.push(Row::new(cells, trials));
        }
    }
    let caption = "Each series of the sweep, and what came out";
    let points = naming::many(few, "other point", "other points");
    let note = (few > 0)
        .then(|| format!("With loss: points whose median visit lost frames; at {points} fewer visits did."));
    Some(Table::of("summary", caption, columns, rows)?.without_empty_columns().with_notes(note))
}

fn tests(results: &Results) -> Option<Table> {
    let mut columns = rfc2544::scene_columns();
    columns.extend([Column::words("test", "test"), Column::words("outcome", "outcome")]);
    let mut rows = Vec::new();
    for search in &results.searches {
        for result in &search.goals {
            let mut cells = searches::scene_cells(search);
            cells.truncate(4);
            let outcome = match (&result.lower, result.status) {
                (Some(lower), capbench_measure::search::Status::AtLeast) => {
                    format!("at least {}, which is no throughput", naming::rate(lower.achieved_pps))
                }
                (Some(lower), status) => {
                    format!("{} ({})", naming::rate(lower.achieved_pps), searches::worth(status))
                }
                (None, _) => "no load was held".into(),
            };
            cells.extend([Cell::text(format!("throughput ({})", result.goal.name)), Cell::text(outcome)]);
            rows.push(Row::new(cells, result.lower.iter().flat_map(|lower| lower.trials.clone()).collect()));
        }
    }
    for tested in &results.rfc2544 {
        let mut cells = rfc2544::scene_cells(tested);
        let outcome =
            sentences::rfc2544::outcome(&tested.found).or_else(|| rfc2544::unfinished(&tested.found));
        let nothing = match &tested.found {
            Found::Latency(_) => "no latency was recorded",
            _ => "nothing was found",
        };
        cells.extend([
            Cell::text(rfc2544::name(&tested.found)),
            Cell::text(outcome.unwrap_or_else(|| nothing.into())),
        ]);
        rows.push(Row::new(cells, tested.trials.clone()));
    }
    Table::of("summary", "Tests and what they found", columns, rows)
}

fn whole(results: &Results) -> Option<Table> {
    let record = results.soak.as_ref()?;
    let trials: Vec<u32> = record.kept.iter().map(|trial| trial.number).collect();
    let mut rows = Vec::new();
    for (what, stretch) in [("whole", &record.whole), ("worst segment", &record.worst)] {
        let Some(stretch) = stretch else { continue };
        let mut cells = vec![Cell::text(what)];
        cells.extend(soak::stretch_cells(stretch));
        rows.push(Row::new(cells, trials.clone()));
    }
    let mut columns = vec![Column::words("stretch", "stretch")];
    columns.extend(soak::stretch_columns());
    let caption = format!(
        "{} for {} in segments of {}",
        naming::rate(record.intended_pps),
        naming::time(record.planned_s),
        naming::time(record.segment_s)
    );
    let untaken = record.untaken_ratio();
    let note = if untaken > 0.0 {
        format!(
            "{} % of the frames were delivered only because the generator pauses after each segment.",
            number(untaken, Unit::Ratio)
        )
    } else {
        String::new()
    };
    Some(Table::of("summary", &caption, columns, rows)?.with_notes([note]))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_measure::arrivals::Arrivals;
    use capbench_measure::evidence::Evidence;
    use capbench_measure::trial::{CpuAccount, Cpus, Load, Measured, Profile, SizeLabel};

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
