//! Buffers: the longest burst without loss and the time that buffers last, over the ring size or another varied setting.

use crate::results::Results;
use capbench_model::running::RingGeometry;
use capbench_plan::sweep::back_to_back::{BackToBack, BurstEnd};
use capbench_plan::sweep::{AxisKind, Reading, Series as SweptSeries, SweepOutcome};

use super::parts::{self, chart, logarithmic, point, series};
use super::varied::Varied;
use crate::model::{Chart, Kind, Point, Role, Section, Series, Trials, Unit};
use crate::naming::Numbered;

const TEXT: &str = "The longest burst that is delivered whole, from an idle path (RFC 9004). Its time is the implied buffer time; less what was \
                    taken meanwhile, at the rate of the overload, it is the drain-corrected one. Where both stop to grow with the ring, something \
                    else is full first.";

pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let charts = results.sweeps.iter().filter(|sweep| bursts_of(sweep).next().is_some()).flat_map(|sweep| {
        let across = across(sweep, trials);
        [bursts(sweep, &across), times(sweep, &across)]
    });
    parts::section("buffers", "What buffers hold", charts.collect(), TEXT, [])
}

fn bursts_of(sweep: &SweepOutcome) -> impl Iterator<Item = &BackToBack> {
    sweep.series.iter().flat_map(|line| &line.readings).filter_map(|reading| reading.back_to_back.as_ref())
}

/// The varied setting. A ring is given in frames that it has slots for, if the trials report them.
fn across(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Varied {
    let varied = Varied::of(sweep);
    let readings = || sweep.series.iter().flat_map(|line| &line.readings);
    let place = |nth: usize| {
        let own: Vec<&Reading> = readings().filter(|reading| reading.point == nth).collect();
        let found = own.iter().find_map(|reading| slots(reading, trials));
        // Nothing is drawn at a place without a measurement.
        if own.is_empty() { Some(f64::NAN) } else { found }
    };
    let places: Option<Vec<f64>> = (0..sweep.points.len()).map(place).collect();
    match places.filter(|_| sweep.axis == AxisKind::Ring) {
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

/// All trials behind a result at a point.
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
        (BurstEnd::NeverFills, "found that the load is held, so that the buffer never fills"),
        (BurstEnd::AtLimit, "went to the longest burst allowed without loss"),
        (BurstEnd::GeneratorLimited, "had no burst, as the generator did not reach the rate"),
        (BurstEnd::Invalid, "had a trial that shows nothing"),
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
