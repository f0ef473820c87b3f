//! What buffers hold: the longest burst without loss and the time that buffers last, over the ring size or another varied setting.

use capbench_judge::bursts::BurstEnd;
use capbench_judge::sweep::back_to_back::BackToBack;
use capbench_judge::sweep::{Analysis, Reading, Series as SweptSeries, SweepOutcome};
use capbench_model::running::RingGeometry;
use capbench_results::Results;

use super::parts::{chart, logarithmic, point, series, whole_section};
use super::varied::Varied;
use crate::model::{Chart, Kind, Point, Role, Section, Trials, Unit};
use crate::naming::Numbered;

const TEXT: &str = "The longest burst that is delivered whole, from an idle path (RFC 9004). Its time is the implied buffer time; less what was \
                    read meanwhile, at the rate of the overload, it is the drain-corrected one. Where both stop to grow with the ring, something \
                    else is full first.";

/// How burst searches end that find no burst, as the end of a sentence: "1 search lost frames of the shortest burst."
const ENDS: [(BurstEnd, &str); 6] = [
    (BurstEnd::NoneHeld, "lost frames of the shortest burst"),
    (BurstEnd::NeverFills, "found that the load is sustained, so that the buffer never fills"),
    (BurstEnd::AtLimit, "went to the longest burst allowed without loss"),
    (BurstEnd::GeneratorLimited, "had no burst, as the generator did not reach the rate"),
    (BurstEnd::Invalid, "had an invalid trial"),
    (BurstEnd::NotRun, "could not be run"),
];

/// Bursts and buffer times, of sweeps that searched for bursts.
pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let mut charts = Vec::new();
    for sweep in &results.sweeps {
        let all_bursts = bursts_in_sweep(sweep);
        if all_bursts.is_empty() {
            continue;
        }
        let varied = varied_in_frames(sweep, trials);
        charts.push(bursts_chart(sweep, &varied).noting(notes_of_ends(&all_bursts)));
        charts.push(times_chart(sweep, &varied));
    }
    whole_section("buffers", "What buffers hold", charts, TEXT, [])
}

/// The burst searches of all points.
fn bursts_in_sweep(sweep: &SweepOutcome) -> Vec<&BackToBack> {
    let readings = sweep.series.iter().flat_map(|line| &line.readings);
    readings.filter_map(|reading| reading.back_to_back.as_ref()).collect()
}

/// The varied setting. A ring is measured in frames that it has slots for, if the trials report them.
fn varied_in_frames(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Varied {
    let varied = Varied::from_outcome(sweep);
    if !sweep.axis.shows(Analysis::Buffers) {
        return varied;
    }
    let slots: Option<Vec<f64>> =
        (0..sweep.points.len()).map(|index| slots_at_point(sweep, index, trials)).collect();
    match slots {
        Some(positions) => Varied { axis: logarithmic("Ring (frames)", Unit::Count), positions, ..varied },
        None => varied,
    }
}

/// Slots of the ring at the point with this index; `None` if it was measured and its trials do not report them. A point that was
/// not measured is NaN: nothing is drawn there, and the others keep their positions.
fn slots_at_point(sweep: &SweepOutcome, index: usize, trials: &Numbered<'_>) -> Option<f64> {
    let mut is_measured = false;
    for reading in sweep.series.iter().flat_map(|line| &line.readings) {
        if reading.point != index {
            continue;
        }
        if let Some(slots) = slots_of_reading(reading, trials) {
            return Some(slots);
        }
        is_measured = true;
    }
    if is_measured { None } else { Some(f64::NAN) }
}

/// Slots of the granted ring. Block rings have none.
fn slots_of_reading(reading: &Reading, trials: &Numbered<'_>) -> Option<f64> {
    let first = trials.sound(&reading.trials).into_iter().next()?;
    match first.capture.as_ref()?.ring {
        RingGeometry::Slots { slots, .. } => Some(slots.into()),
        _ => None,
    }
}

/// The trials of all searches at a point.
fn trials_of(bursts: &BackToBack) -> Trials {
    let mut trials = Trials::new();
    for search in &bursts.searches {
        trials.extend(&search.trials);
    }
    trials
}

/// A point of a line for each position with a burst search, as `make` makes it of its bursts and the position.
fn points(varied: &Varied, line: &SweptSeries, make: impl Fn(&BackToBack, f64) -> Point) -> Vec<Point> {
    let mut points = Vec::new();
    for reading in &line.readings {
        if let (Some(bursts), Some(x)) = (&reading.back_to_back, varied.at(reading)) {
            points.push(make(bursts, x));
        }
    }
    points
}

/// The longest burst without loss.
fn bursts_chart(sweep: &SweepOutcome, varied: &Varied) -> Chart {
    let mut lines = Vec::new();
    for line in &sweep.series {
        lines.push(series(line.name(), Role::Method, points(varied, line, burst_point)));
    }
    let title = format!("Longest burst without loss against {}", varied.words);
    let y = logarithmic("Back-to-back frames", Unit::Count);
    let kind = varied.kind(Kind::Points);
    chart("back-to-back", title, kind, varied.axis.clone(), y, lines).noting([
        "Points are means of the searches at that point; bars reach from the shortest to the longest.",
    ])
}

/// The mean burst at a point; with several searches also the shortest and the longest.
fn burst_point(bursts: &BackToBack, x: f64) -> Point {
    let interval = match (bursts.least_frames, bursts.most_frames) {
        (Some(least), Some(most)) if bursts.searches.len() > 1 => Some([least as f64, most as f64]),
        _ => None,
    };
    Point { interval, ..point(x, bursts.mean_frames, trials_of(bursts)) }
}

/// How many searches found no burst, and why.
fn notes_of_ends(all_bursts: &[&BackToBack]) -> Vec<String> {
    let mut notes = Vec::new();
    for (end, words) in ENDS {
        let searches = all_bursts.iter().flat_map(|bursts| &bursts.searches);
        match searches.filter(|search| search.end == end).count() {
            0 => {}
            1 => notes.push(format!("1 search {words}.")),
            several => notes.push(format!("{several} searches {words}.")),
        }
    }
    notes
}

/// How long an overload lasts until buffers are full: implied by the longest burst, and corrected for what was read meanwhile.
fn times_chart(sweep: &SweepOutcome, varied: &Varied) -> Chart {
    let mut lines = Vec::new();
    for line in &sweep.series {
        let implied = points(varied, line, |bursts, x| point(x, bursts.implied_buffer_s, trials_of(bursts)));
        let corrected =
            points(varied, line, |bursts, x| point(x, bursts.drain_corrected_buffer_s, trials_of(bursts)));
        lines.push(series(format!("{}, implied", line.name()), Role::Method, implied));
        lines.push(series(format!("{}, drain-corrected", line.name()), Role::Method, corrected));
    }
    let title = format!("Time that buffers hold for against {}", varied.words);
    let y = logarithmic("Buffer time", Unit::Seconds);
    chart("buffer-time", title, varied.kind(Kind::Points), varied.axis.clone(), y, lines)
}
