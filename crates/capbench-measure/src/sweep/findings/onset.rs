//! Where loss begins, where it is booked, and what limits.

use super::{Swept, about, numbers, percent};
use crate::findings::Finding;
use crate::ledger::Place;
use crate::sweep::outcome::{Reading, Series};
use crate::trial::TrialResult;

/// Loss in a ring below this share of what was sent can have either cause: too small a ring, too slow an application.
const TOO_SLOW: f64 = 0.01;
/// Loss that is this many times as dense in its worst tenth of a second as it is on average is that of too small a ring.
const DENSE: f64 = 5.0;

/// What kept a method from more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Generator,
    Nic,
    Backlog,
    Ring,
    RingOrApplication,
    Application,
    Elsewhere(Place),
}

impl Limit {
    fn words(self) -> String {
        match self {
            Self::Generator => "the generator".into(),
            Self::Nic => "the link, the NIC or its driver".into(),
            Self::Backlog => "the kernel's receive work: its backlog is full".into(),
            Self::Ring => "the ring: it is too small for the moments in which nobody empties it".into(),
            Self::RingOrApplication => "the ring or the application: too little is lost to tell which".into(),
            Self::Application => {
                "the application: the ring fills because frames are taken more slowly than they come".into()
            }
            Self::Elsewhere(place) => format!("a place that no sweep explains ({})", place.words()),
        }
    }

    /// What limited at a point where frames were lost.
    fn of<'t>(reading: &Reading, mut trials: impl Iterator<Item = &'t TrialResult>) -> Option<Self> {
        Some(match reading.lost.first()?.place {
            Place::Unsent => Self::Generator,
            Place::Transmit | Place::Link | Place::Driver => Self::Nic,
            Place::LinkQueue | Place::Backlog => Self::Backlog,
            place if place.is_before_application() => {
                let in_bursts = trials.any(|trial| {
                    let worst = trial.loss_shape.as_ref().map(|shape| shape.worst_ratio());
                    worst.is_some_and(|worst| worst > DENSE * trial.sent_loss_ratio())
                });
                match reading.sent_loss_ratio.median < TOO_SLOW {
                    _ if in_bursts => Self::Ring,
                    true => Self::RingOrApplication,
                    false => Self::Application,
                }
            }
            place => Self::Elsewhere(place),
        })
    }
}

/// The finding about a series.
pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    let readings = &series.readings;
    let Some(last) = readings.last() else { return };
    let has_order = swept.outcome.unit.is_some();
    let Some(first_lossy) = readings.iter().position(Reading::loses) else {
        sometimes(swept, series, readings, findings);
        return;
    };
    if !has_order {
        let lossy: Vec<_> = readings.iter().filter(|reading| reading.loses()).collect();
        let list: Vec<_> =
            lossy.iter().map(|reading| format!("{} ({})", swept.label(reading), places(reading))).collect();
        findings.push(about(series, format!("frames are lost at {}.", list.join("; ")), numbers(lossy)));
        return;
    }
    let lossy = &readings[first_lossy];
    let clean = readings[..first_lossy].iter().rev().find(|reading| reading.is_clean());
    let whence = match clean {
        Some(clean) => {
            format!("loss begins between {} and {}", swept.label(clean), swept.label(lossy))
        }
        None => format!("frames are lost from the first point on, {}", swept.label(lossy)),
    };
    // The limit may change on the way, and loss may end again: loss by size does, as frames grow larger.
    let mut limits: Vec<(Limit, &Reading)> = Vec::new();
    for reading in readings[first_lossy..].iter().filter(|reading| reading.loses()) {
        let Some(limit) = Limit::of(reading, swept.of(reading)) else { continue };
        if limits.last().is_none_or(|(known, _)| *known != limit) {
            limits.push((limit, reading));
        }
    }
    // What cannot be told at a point is told by the others.
    if limits.iter().any(|(limit, _)| *limit != Limit::RingOrApplication) {
        limits.retain(|(limit, _)| *limit != Limit::RingOrApplication);
        limits.dedup_by_key(|(limit, _)| *limit);
    }
    let limits = match limits.as_slice() {
        [] => String::new(),
        [(limit, _)] => format!(" What limits is {}.", limit.words()),
        several => {
            let list: Vec<_> = several
                .iter()
                .map(|(limit, from)| format!("from {} on {}", swept.label(from), limit.words()))
                .collect();
            format!(" What limits: {}.", list.join("; "))
        }
    };
    let ends = readings[first_lossy..].iter().rev().take_while(|reading| reading.is_clean()).last();
    let ends = ends.map_or(String::new(), |reading| format!(" It ends at {}.", swept.label(reading)));
    let end = match last.point == lossy.point {
        true => String::new(),
        false if last.loses() => format!("; at {} it is {}", swept.label(last), places(last)),
        false => format!("; at {} there is none", swept.label(last)),
    };
    let text = format!("{whence}, where it is {}{end}.{ends}{limits}", places(lossy));
    findings.push(about(series, text, numbers(clean.into_iter().chain(&readings[first_lossy..]))));
}

/// Nothing is lost at most points, or only now and then.
fn sometimes(swept: &Swept<'_>, series: &Series, readings: &[Reading], findings: &mut Vec<Finding>) {
    let stained: Vec<_> = readings.iter().filter(|reading| !reading.is_clean()).collect();
    let limited = readings
        .iter()
        .flat_map(|reading| swept.of(reading))
        .any(|trial| !trial.held_load() || trial.intended_pps.is_none());
    let limits =
        if limited { format!(" What limits is {}.", Limit::Generator.words()) } else { String::new() };
    let text = if stained.is_empty() {
        format!("no frame is lost at any point.{limits}")
    } else {
        let labels: Vec<_> = stained.iter().map(|reading| swept.label(reading)).collect();
        format!("frames are lost in some trials and not in most, at {}.{limits}", labels.join(", "))
    };
    findings.push(about(
        series,
        text,
        numbers(if stained.is_empty() { readings.iter().collect() } else { stained }),
    ));
}

/// How much was lost at a point, and where.
fn places(reading: &Reading) -> String {
    let all: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
    let ratio = reading.sent_loss_ratio.median;
    let list: Vec<_> = reading
        .lost
        .iter()
        .map(|lost| match reading.lost.len() {
            1 => lost.place.words().to_string(),
            _ => format!("{} of it {}", percent(lost.frames as f64 / all as f64), lost.place.words()),
        })
        .collect();
    let places = if list.is_empty() { "where nothing here counts".into() } else { list.join(", ") };
    format!("{} of the frames, {places}", percent(ratio))
}
