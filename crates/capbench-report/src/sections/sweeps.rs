//! Sweeps: rates, loss and cost over the varied setting; what a packet costs besides its work; what buffers hold.

use capbench_judge::bursts::BurstEnd;
use capbench_judge::sweep::back_to_back::BackToBack;
use capbench_judge::sweep::outcome::Swept;
use capbench_judge::sweep::regimes::{CostRegimes, cost_regimes};
use capbench_judge::sweep::{Analysis, Reading, Series as SweptSeries, SweepOutcome};
use capbench_model::running::RingGeometry;
use capbench_results::Results;

use super::loads::line_rate;
use super::parts::{
    Estimate, Varied, chart, estimated, grouped, keep_few, linear, logarithmic, point, section, sentence,
    series, stacked, whole_section,
};
use crate::figures;
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Series, Trials, Unit};
use crate::naming::{self, Numbered};

/// If a chart would have more lines than this, each placement and load has a chart.
const MOST_LINES: usize = 8;
const READ: &str = "Read: delivered frames by the time of sending and the time that the application was behind then; what was only in \
                     buffers does not raise it.";

const LAW: &str =
    "By the law: the Universal Scalability Law through the points at which the members are the limit.";

const BUFFERS: &str = "The longest burst that is delivered whole, from an idle path (RFC 9004). Its time is the implied buffer time; less what was \
                    read meanwhile, at the rate of the overload, it is the drain-corrected one. Where both stop to grow with the ring, something \
                    else is full first.";

/// A figure over the varied setting: its name in links, its words in a title and on the axis, and its value.
type Figure = (&'static str, &'static str, &'static str, Unit, fn(&Reading) -> Option<&Estimate>);

const DELIVERED: Figure =
    ("rate", "Delivered rate", "Delivered", Unit::PacketsPerSecond, |reading| Some(&reading.delivered_pps));
const RATE: Figure =
    ("rate", "Packets read per second", "Read", Unit::PacketsPerSecond, |reading| Some(&reading.taken_pps));
const LOSS: Figure = ("loss", "Share of the sent frames that was lost", "Lost", Unit::Ratio, |reading| {
    Some(&reading.sent_loss_ratio)
});
const COST: Figure = (
    "cost",
    "CPU time per packet, application and kernel",
    "CPU time per packet",
    Unit::NanosecondsPerPacket,
    |reading| reading.total_ns_per_packet.as_ref(),
);

pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> Vec<Section> {
    // Burst searches at each point are shown by their results.
    let has_rates = |sweep: &&SweepOutcome| {
        sweep.series.iter().flat_map(|line| &line.readings).any(|reading| reading.back_to_back.is_none())
    };
    let own = |sweep: &SweepOutcome| of_sweep(results, sweep, trials);
    results.sweeps.iter().filter(has_rates).filter_map(own).collect()
}

/// The differences between sweeps of a publication: the unit of the axis, and the set-up.
fn set_up(sweep: &SweepOutcome) -> String {
    let scene = sweep.series.first().and_then(SweptSeries::scene);
    let parts: Vec<String> = sweep.unit.clone().into_iter().chain(scene).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn publication<'r>(results: &'r Results, sweep: &SweepOutcome) -> Option<&'r str> {
    let mut readings = sweep.series.iter().flat_map(|line| &line.readings);
    let first = readings.find_map(|reading| reading.trials.first())?;
    naming::publication(results, *first)
}

fn of_sweep(results: &Results, sweep: &SweepOutcome, trials: &Numbered<'_>) -> Option<Section> {
    let publication = publication(results, sweep);
    let varied = Varied::from_outcome(sweep);
    let mut charts = Vec::new();
    for (scene, lines) in lines_together(sweep) {
        let drawn = |figure| of_figure(sweep, &varied, scene.as_deref(), &lines, figure);
        charts.extend([rate(sweep, &varied, &lines, trials, drawn), drawn(LOSS), drawn(COST)]);
    }
    // A publication compares methods; otherwise each method would have a chart.
    let apart = if publication.is_some() { &[] } else { sweep.series.as_slice() };
    let mut layered: Vec<Chart> =
        apart.iter().filter_map(|line| layers(sweep, &varied, line, trials)).collect();
    let left_out = keep_few(&mut layered);
    charts.extend(layered);
    let heading = match publication {
        Some(key) => format!("{key}: sweep over {}{}", varied.words, set_up(sweep)),
        None => format!("Sweep over {}", varied.words),
    };
    let text = format!(
        "Points are medians of up to {} repeats, bars their intervals ({}). A point without a bar has one repeat; a place \
         without a point was not measured.",
        sweep.repeats, sweep.interval
    );
    let short = "This sweep did not go to its end: points have fewer repeats, or none.";
    let stopped = sweep.stopped.then(|| sentence(short, Vec::new()));
    whole_section(
        &format!("sweep-{}", sweep.axis),
        &heading,
        charts,
        &text,
        stopped.into_iter().chain(left_out),
    )
}

/// Lines of one chart: all of them, or those of one placement and load, which the title names.
fn lines_together(sweep: &SweepOutcome) -> Vec<(Option<String>, Vec<&SweptSeries>)> {
    let by_scene = grouped(&sweep.series, |line| line.scene());
    if by_scene.len() > 1 && sweep.series.len() <= MOST_LINES {
        return vec![(None, sweep.series.iter().collect())];
    }
    by_scene
}

/// A figure of some lines. What all share is in the title; differences are in the names.
fn of_figure(
    sweep: &SweepOutcome,
    varied: &Varied,
    scene: Option<&str>,
    lines: &[&SweptSeries],
    (id, what, label, unit, value): Figure,
) -> Chart {
    let drawn = |line: &&SweptSeries| {
        let points = varied.points(line, |reading, x| match reading.back_to_back {
            Some(_) => estimated(x, None, Vec::new()),
            None => estimated(x, value(reading), reading.trials.clone()),
        });
        series(if scene.is_some() { line.method.to_string() } else { line.name() }, Role::Method, points)
    };
    let of = scene.map_or_else(String::new, |scene| format!(": {scene}"));
    let title = format!("{what} against {}{of}", varied.words);
    let (id, kind) = (format!("{}-{id}", sweep.axis), varied.kind(Kind::Bars));
    chart(&id, title, kind, varied.axis.clone(), linear(label, unit), lines.iter().map(drawn).collect())
}

fn rate(
    sweep: &SweepOutcome,
    varied: &Varied,
    lines: &[&SweptSeries],
    trials: &Numbered<'_>,
    drawn: impl Fn(Figure) -> Chart,
) -> Chart {
    match sweep.axis.facts().shows {
        Some(Analysis::Livelock) if varied.is_named() => drawn(DELIVERED),
        Some(Analysis::Livelock) => {
            let most = sweep.points.iter().filter_map(|point| point.at).fold(0.0, f64::max);
            let all = Place::Curve(vec![[0.0, 0.0], [most, most]]);
            drawn(DELIVERED).marking([Mark { label: "all frames to be sent".into(), at: all }])
        }
        Some(Analysis::LineRates) if !varied.is_named() => {
            let readings = lines.iter().flat_map(|line| &line.readings);
            let own = readings.flat_map(|reading| trials.sound(&reading.trials));
            let rates = line_rate(own, |label| label.to_string().parse().unwrap_or(0.0));
            drawn(RATE).noting([READ]).marking(rates)
        }
        Some(Analysis::Scaling) => {
            let mut chart = drawn(RATE).noting([READ, LAW]);
            chart.series.extend(lines.iter().filter_map(|line| law(varied, line)));
            chart.marking(lines.iter().filter_map(|line| ideal(varied, line)))
        }
        _ => drawn(RATE).noting([READ]),
    }
}

/// The last number of members of a line.
fn most_members(varied: &Varied, line: &SweptSeries) -> Option<f64> {
    varied.at(line.readings.last()?)
}

/// The fitted law at each number of members.
fn law(varied: &Varied, line: &SweptSeries) -> Option<Series> {
    let law = line.scaling.as_ref()?.law.as_ref()?.law();
    let trials = line.readings.iter().flat_map(|reading| reading.trials.clone()).collect::<Trials>();
    let members = (1..=most_members(varied, line)? as u32).map(f64::from);
    let points = members.map(|members| point(members, law.rate(members), trials.clone())).collect();
    Some(series(format!("{}, by the law", line.name()), Role::Fit, points))
}

/// As many times the rate of one member as there are members.
fn ideal(varied: &Varied, line: &SweptSeries) -> Option<Mark> {
    let of_one = line.scaling.as_ref()?.law.as_ref()?.lambda_pps.value;
    let most = most_members(varied, line)?;
    let at = Place::Curve(vec![[1.0, of_one], [most, most * of_one]]);
    Some(Mark { label: format!("{}: one member's rate for each", line.name()), at })
}

/// The ledger of one method over the axis. For a sweep of the load these layers are with those of searches.
fn layers(sweep: &SweepOutcome, varied: &Varied, line: &SweptSeries, trials: &Numbered<'_>) -> Option<Chart> {
    if sweep.axis.shows(Analysis::Livelock) {
        return None;
    }
    let mut placed = varied.placed(line, trials);
    placed.retain(|one| !one.trials.is_empty());
    let is_lossy = placed.iter().flat_map(|one| &one.trials).any(|trial| trial.lost() > 0);
    is_lossy.then(|| {
        let title = format!("Delivered and lost against {}: {}", varied.words, line.name());
        let id = format!("{}-layers-{}", sweep.axis, line.method);
        stacked(&id, title, varied.kind(Kind::StackedBars), varied.axis.clone(), &placed)
    })
}

/// The cost of a packet besides its work, over a work sweep, with its distinct levels.
pub(super) fn regimes(results: &Results) -> Option<Section> {
    let sweeps = results.sweeps.iter().filter(|sweep| sweep.axis.shows(Analysis::CostRegimes));
    let charts = sweeps.flat_map(|sweep| {
        let scenes = grouped(&sweep.series, |line| line.scene()).into_iter();
        scenes.filter_map(move |(scene, lines)| of_scene(results, sweep, scene.as_deref(), &lines))
    });
    let text = "Where the application is the limit, the time per packet, 1 / (rate x share read), is its work and what it costs to get a \
         packet. The second is what is left without the first. A level piece is a cost regime: woken for each packet a packet costs \
         more than where many are read at a time. Points at which the application kept up show no cost and are not here.";
    section("cost-regimes", "What a packet costs besides its work", charts.collect(), text, [])
}

/// Methods in one set-up, each with its regimes.
fn of_scene(
    results: &Results,
    sweep: &SweepOutcome,
    scene: Option<&str>,
    lines: &[&SweptSeries],
) -> Option<Chart> {
    let varied = Varied::from_outcome(sweep);
    let swept = Swept::new(sweep, &results.trials);
    let found: Vec<(&SweptSeries, CostRegimes<'_>)> =
        lines.iter().filter_map(|line| Some((*line, cost_regimes(&swept, line)?))).collect();
    let [(first, _), others @ ..] = found.as_slice() else { return None };
    let of = if others.is_empty() { first.name() } else { scene.unwrap_or("all methods").to_string() };
    let title = format!("Cost of a packet besides its work: {of}");
    let y = linear("Cost besides the work", Unit::NanosecondsPerPacket);
    let all = found.iter().flat_map(|(line, regimes)| series_of(&varied, line, regimes)).collect();
    let notes = found.iter().flat_map(|(line, regimes)| {
        let method = if others.is_empty() { String::new() } else { format!("{}: ", line.method) };
        notes(sweep, regimes).into_iter().map(move |note| format!("{method}{note}"))
    });
    let id = format!("cost-{}", first.method);
    Some(chart(&id, title, Kind::Lines, varied.axis.clone(), y, all).noting(notes))
}

/// The costs of a method, and the levels among them.
fn series_of(
    varied: &Varied,
    line: &SweptSeries,
    CostRegimes { readings, found, .. }: &CostRegimes<'_>,
) -> Vec<Series> {
    let costs: Vec<Point> = readings
        .iter()
        .zip(&found.costs_ns)
        .filter_map(|(reading, cost)| {
            let x = varied.at(reading)?;
            let work = 1e9 / reading.taken_pps.median - cost;
            let at_rate = |rate: f64| 1e9 / rate - work;
            // The higher rate is the lower cost.
            let ends = reading.taken_pps.high.zip(reading.taken_pps.low);
            let ends = ends.filter(|(high, low)| *high > 0.0 && *low > 0.0);
            let interval = ends.map(|(high, low)| [at_rate(high), at_rate(low)]);
            Some(Point { interval, ..point(x, *cost, reading.trials.clone()) })
        })
        .collect();
    let mut lines = vec![series(line.method.to_string(), Role::Method, costs)];
    for (nth, plateau) in found.plateaus.iter().enumerate() {
        let own = &readings[plateau.first..=plateau.last];
        let trials: Trials = own.iter().flat_map(|reading| reading.trials.iter().copied()).collect();
        let places = own.iter().filter_map(|reading| varied.at(reading));
        let points = places.map(|x| point(x, plateau.cost_ns, trials.clone())).collect();
        let cost = figures::number(plateau.cost_ns, Unit::Nanoseconds);
        let name = format!("{}, regime {}: {cost} ns", line.method, nth + 1);
        lines.push(Series { name, role: Role::Fit, points });
    }
    lines
}

fn notes(sweep: &SweepOutcome, CostRegimes { found, .. }: &CostRegimes<'_>) -> Vec<String> {
    let unit = figures::number(found.unit.ns, Unit::Nanoseconds);
    let of_work = if sweep.unit.as_deref() == Some("ns") { "A nanosecond asked for" } else { "An iteration" };
    let source = if found.unit.is_fitted {
        "read off the slope of the last straight piece"
    } else {
        "as measured alone on that CPU"
    };
    let mut notes = vec![format!("{of_work} counts as {unit} ns of work, {source}.")];
    if found.plateaus.is_empty() {
        notes.push("No piece is level enough, and long enough, to be called a regime.".into());
    }
    notes
}

/// The longest burst without loss and the time that buffers last, over the ring size or another varied setting.
pub(super) fn buffers(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let charts = results.sweeps.iter().filter(|sweep| bursts_of(sweep).next().is_some()).flat_map(|sweep| {
        let across = across(sweep, trials);
        [bursts(sweep, &across), times(sweep, &across)]
    });
    whole_section("buffers", "What buffers hold", charts.collect(), BUFFERS, [])
}

fn bursts_of(sweep: &SweepOutcome) -> impl Iterator<Item = &BackToBack> {
    sweep.series.iter().flat_map(|line| &line.readings).filter_map(|reading| reading.back_to_back.as_ref())
}

/// The varied setting. A ring is measured in frames that it has slots for, if the trials report them.
fn across(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Varied {
    let varied = Varied::from_outcome(sweep);
    let readings = || sweep.series.iter().flat_map(|line| &line.readings);
    let place = |nth: usize| {
        let own: Vec<&Reading> = readings().filter(|reading| reading.point == nth).collect();
        let found = own.iter().find_map(|reading| slots(reading, trials));
        // Nothing is drawn at a place without a measurement.
        if own.is_empty() { Some(f64::NAN) } else { found }
    };
    let places: Option<Vec<f64>> = (0..sweep.points.len()).map(place).collect();
    match places.filter(|_| sweep.axis.shows(Analysis::Buffers)) {
        Some(places) => Varied { axis: logarithmic("Ring (frames)", Unit::Count), places, ..varied },
        None => varied,
    }
}

/// A point of a line for each place with a burst search.
fn points(varied: &Varied, line: &SweptSeries, of: impl Fn(&BackToBack, f64) -> Point) -> Vec<Point> {
    let at = |reading: &Reading| Some(of(reading.back_to_back.as_ref()?, varied.at(reading)?));
    line.readings.iter().filter_map(at).collect()
}

/// Slots of the granted ring. Block rings have none.
fn slots(reading: &Reading, trials: &Numbered<'_>) -> Option<f64> {
    let first = trials.sound(&reading.trials).into_iter().next()?;
    match first.capture.as_ref()?.ring {
        RingGeometry::Slots { slots, .. } => Some(slots.into()),
        _ => None,
    }
}

fn trials_of(found: &BackToBack) -> Trials {
    found.searches.iter().flat_map(|search| search.trials.iter().copied()).collect()
}

fn bursts(sweep: &SweepOutcome, across: &Varied) -> Chart {
    let lines = sweep
        .series
        .iter()
        .map(|line| {
            let points = points(across, line, |found, x| {
                let ends = found.least_frames.zip(found.most_frames).filter(|_| found.searches.len() > 1);
                let interval = ends.map(|(least, most)| [least as f64, most as f64]);
                Point { interval, ..point(x, found.mean_frames, trials_of(found)) }
            });
            series(line.name(), Role::Method, points)
        })
        .collect();
    let title = format!("Longest burst without loss against {}", across.words);
    let y = logarithmic("Back-to-back frames", Unit::Count);
    let mut notes = vec![
        "Points are means of the searches at that point; bars reach from the shortest to the longest.".into(),
    ];
    let words_of = [
        (BurstEnd::NoneHeld, "lost frames of the shortest burst"),
        (BurstEnd::NeverFills, "found that the load is sustained, so that the buffer never fills"),
        (BurstEnd::AtLimit, "went to the longest burst allowed without loss"),
        (BurstEnd::GeneratorLimited, "had no burst, as the generator did not reach the rate"),
        (BurstEnd::Invalid, "had an invalid trial"),
        (BurstEnd::NotRun, "could not be run"),
    ];
    for (end, words) in words_of {
        let searches = bursts_of(sweep).flat_map(|found| &found.searches);
        match searches.filter(|search| search.end == end).count() {
            0 => {}
            1 => notes.push(format!("1 search {words}.")),
            several => notes.push(format!("{several} searches {words}.")),
        }
    }
    chart("back-to-back", title, across.kind(Kind::Points), across.axis.clone(), y, lines).noting(notes)
}

fn times(sweep: &SweepOutcome, across: &Varied) -> Chart {
    type Time = fn(&BackToBack) -> Option<f64>;
    let kinds: [(&str, Time); 2] = [
        ("implied", |found| found.implied_buffer_s),
        ("drain-corrected", |found| found.drain_corrected_buffer_s),
    ];
    let lines: Vec<Series> = sweep
        .series
        .iter()
        .flat_map(|line| {
            kinds.map(|(name, of)| {
                let points = points(across, line, |found, x| point(x, of(found), trials_of(found)));
                series(format!("{}, {name}", line.name()), Role::Method, points)
            })
        })
        .collect();
    let title = format!("Time that buffers hold for against {}", across.words);
    let y = logarithmic("Buffer time", Unit::Seconds);
    chart("buffer-time", title, across.kind(Kind::Points), across.axis.clone(), y, lines)
}
