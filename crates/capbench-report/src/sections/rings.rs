//! Buffers: the longest burst without loss, and the time that buffers hold for, against the ring or whatever else was varied.

use capbench_measure::results::Results;
use capbench_measure::sweep::back_to_back::{BackToBack, BurstEnd};
use capbench_measure::sweep::{AxisKind, Reading, Series as SweptSeries, SweepOutcome};

use super::cpu::axis_words;
use super::parts::{chart, logarithmic, point, section, sentence, series};
use super::varied::Varied;
use crate::model::{Axis, Chart, Kind, Point, Role, Section, Series, Trials, Unit};
use crate::naming::Numbered;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let trials = Numbered::of(results);
    let mut charts = Vec::new();
    for sweep in &results.sweeps {
        let readings = || sweep.series.iter().flat_map(|line| &line.readings);
        if readings().any(|reading| reading.back_to_back.is_some()) {
            let across = Across::of(sweep, &trials);
            charts.push(bursts(sweep, &across));
            charts.push(times(sweep, &across));
        }
    }
    if charts.is_empty() {
        return Vec::new();
    }
    let mut section = section("buffers", "What buffers hold", charts);
    section.text.push(sentence(
        "The longest burst that is delivered whole, from an idle path (RFC 9004). Its time is the implied buffer time; less what was \
         taken meanwhile, at the rate of the overload, it is the drain-corrected one. Where both stop to grow with the ring, something \
         else is full first.",
        Vec::new(),
    ));
    vec![section]
}

/// The horizontal axis: frames that the ring has slots for, where the trials say so, else what was varied.
struct Across {
    axis: Axis,
    /// By the sweep's points.
    places: Vec<Option<f64>>,
    is_named: bool,
}

impl Across {
    fn of(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Self {
        let varied = Varied::of(sweep);
        let readings = || sweep.series.iter().flat_map(|line| &line.readings);
        let plain = |nth: usize| {
            readings().find(|reading| reading.point == nth).and_then(|reading| varied.at(reading))
        };
        let place = |nth: usize| {
            readings().filter(|reading| reading.point == nth).find_map(|reading| slots(reading, trials))
        };
        let points = || 0..sweep.points.len();
        let measured = |nth: &usize| readings().any(|reading| reading.point == *nth);
        let has_slots =
            sweep.axis == AxisKind::Ring && points().filter(measured).all(|nth| place(nth).is_some());
        if has_slots {
            let axis = logarithmic("Ring (frames)", Unit::Count);
            return Self { axis, places: points().map(place).collect(), is_named: false };
        }
        let is_named = varied.is_named();
        let places = points().map(plain).collect();
        Self { axis: varied.axis, places, is_named }
    }

    fn points(&self, line: &SweptSeries, of: impl Fn(&Reading, &BackToBack, f64) -> Point) -> Vec<Point> {
        let at = |reading: &Reading| {
            let x = (*self.places.get(reading.point)?)?;
            Some(of(reading, reading.back_to_back.as_ref()?, x))
        };
        line.readings.iter().filter_map(at).collect()
    }

    fn kind(&self) -> Kind {
        if self.is_named { Kind::Points } else { Kind::Lines }
    }
}

/// Slots of the ring as it was granted: `64 slots of 2KiB (128KiB)`. Rings of blocks have none.
fn slots(reading: &Reading, trials: &Numbered<'_>) -> Option<f64> {
    let first = trials.sound(&reading.trials).into_iter().next()?;
    let (number, _) = first.running.split_once(" slots of ")?;
    number.trim().parse().ok()
}

/// Everything that a result at a point rests on.
fn trials_of(found: &BackToBack) -> Trials {
    found.searches.iter().flat_map(|search| search.trials.iter().copied()).collect()
}

fn bursts(sweep: &SweepOutcome, across: &Across) -> Chart {
    let lines = sweep
        .series
        .iter()
        .map(|line| {
            let points = across.points(line, |_, found, x| {
                let ends = found.least_frames.zip(found.most_frames).filter(|_| found.searches.len() > 1);
                let interval = ends.map(|(least, most)| [least as f64, most as f64]);
                Point { interval, ..point(x, found.mean_frames, trials_of(found)) }
            });
            series(line.name(), Role::Method, points)
        })
        .collect();
    let title = format!("Longest burst without loss against {}", axis_words(sweep.axis));
    let y = logarithmic("Back-to-back frames", Unit::Count);
    let mut chart = chart("back-to-back", title, across.kind(), across.axis.clone(), y, lines);
    chart.notes.push(
        "Points are means of the searches at that point; bars reach from the shortest to the longest.".into(),
    );
    let ends = || {
        sweep
            .series
            .iter()
            .flat_map(|line| &line.readings)
            .filter_map(|reading| reading.back_to_back.as_ref())
    };
    let count =
        |end: BurstEnd| ends().flat_map(|found| &found.searches).filter(|search| search.end == end).count();
    let told = [
        (BurstEnd::NoneHeld, "lost frames of the shortest burst"),
        (BurstEnd::NeverFills, "found that the load is held, so that the buffer never fills"),
        (BurstEnd::AtLimit, "went to the longest burst allowed without loss"),
        (BurstEnd::GeneratorLimited, "had no burst, as the generator did not reach the rate"),
        (BurstEnd::Invalid, "had a trial that shows nothing"),
        (BurstEnd::NotRun, "could not be run"),
    ];
    for (end, words) in told {
        match count(end) {
            0 => {}
            1 => chart.notes.push(format!("1 search {words}.")),
            several => chart.notes.push(format!("{several} searches {words}.")),
        }
    }
    chart
}

fn times(sweep: &SweepOutcome, across: &Across) -> Chart {
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
                let points = across.points(line, |_, found, x| point(x, of(found), trials_of(found)));
                series(format!("{}, {name}", line.name()), Role::Method, points)
            })
        })
        .collect();
    let title = format!("Time that buffers hold for against {}", axis_words(sweep.axis));
    let y = logarithmic("Buffer time", Unit::Seconds);
    chart("buffer-time", title, across.kind(), across.axis.clone(), y, lines)
}
