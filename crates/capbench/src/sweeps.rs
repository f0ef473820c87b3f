//! What a sweep prints: a table for each method, placement and load. A pure function of results.

use std::collections::BTreeMap;

use capbench_measure::figures::grouped;
use capbench_measure::statistics::interval::Estimate;
use capbench_measure::sweep::{Reading, Series, SweepOutcome};

use crate::summary::wrapped;
use crate::table::Table;

/// The tables of a sweep.
pub fn sweep(outcome: &SweepOutcome) -> String {
    let mut text = String::new();
    for series in &outcome.series {
        wrapped(&mut text, "", "  ", &series.name());
        text.push_str(&if is_of_bursts(series) { bursts(outcome, series) } else { loads(outcome, series) });
        text.push('\n');
    }
    let visits =
        format!("Medians of up to {} visits. {} Seed {}.", outcome.repeats, levels(outcome), outcome.seed);
    wrapped(&mut text, "", "", &visits);
    text.push('\n');
    text
}

/// How far intervals can be trusted: it depends on the visits that a point had.
fn levels(outcome: &SweepOutcome) -> String {
    let readings = outcome.series.iter().flat_map(|series| &series.readings);
    let levels: BTreeMap<u32, f64> = readings
        .filter_map(|reading| Some((reading.delivered_pps.repeats, reading.delivered_pps.level?)))
        .collect();
    let list: Vec<_> = levels
        .iter()
        .rev()
        .map(|(visits, level)| format!("{:.1} % with {visits} visits", level * 100.0))
        .collect();
    if list.is_empty() {
        return "One visit has no interval.".into();
    }
    format!(
        "An interval reaches from one visit to another, whatever their distribution, and holds the true median with a \
         probability of {}.",
        list.join(", ")
    )
}

fn is_of_bursts(series: &Series) -> bool {
    series.readings.iter().any(|reading| reading.back_to_back.is_some())
}

fn loads(outcome: &SweepOutcome, series: &Series) -> String {
    let mut table = Table::new(&["  point", "offered", "delivered", "interval", "lost", "where", "cpu ns"]);
    for reading in &series.readings {
        table.row(vec![
            label(outcome, reading),
            grouped(reading.offered_pps.median),
            grouped(reading.delivered_pps.median),
            interval(&reading.delivered_pps),
            share(reading),
            places(reading),
            reading.total_ns_per_packet.map_or("-".into(), |ns| format!("{:.0}", ns.median)),
        ]);
    }
    table.within(80).to_string()
}

fn bursts(outcome: &SweepOutcome, series: &Series) -> String {
    let mut table =
        Table::new(&["  point", "burst frames", "least", "most", "implied ms", "drain-corr. ms", "found"]);
    for reading in &series.readings {
        let Some(burst) = &reading.back_to_back else { continue };
        let number = |value: Option<f64>| value.map_or("-".into(), grouped);
        let ms = |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e3));
        table.row(vec![
            label(outcome, reading),
            number(burst.mean_frames),
            number(burst.least_frames.map(|frames| frames as f64)),
            number(burst.most_frames.map(|frames| frames as f64)),
            ms(burst.implied_buffer_s),
            ms(burst.drain_corrected_buffer_s),
            found(burst),
        ]);
    }
    table.within(80).to_string()
}

fn found(burst: &capbench_measure::sweep::back_to_back::BackToBack) -> String {
    use capbench_measure::sweep::back_to_back::BurstEnd;
    let count = |end: BurstEnd| burst.searches.iter().filter(|search| search.end == end).count();
    let all = burst.searches.len();
    let words = [
        (BurstEnd::NoneHeld, "none held"),
        (BurstEnd::NeverFills, "never fills"),
        (BurstEnd::AtLimit, "at limit"),
        (BurstEnd::GeneratorLimited, "generator"),
        (BurstEnd::Invalid, "invalid"),
        (BurstEnd::NotRun, "not run"),
    ];
    let mut parts = vec![format!("{} of {all}", count(BurstEnd::Found))];
    parts.extend(
        words.iter().filter(|(end, _)| count(*end) > 0).map(|(end, word)| format!("{word} {}", count(*end))),
    );
    parts.join(", ")
}

/// The point's name, marked where it was added because the curve bends there.
fn label(outcome: &SweepOutcome, reading: &Reading) -> String {
    match outcome.points.get(reading.point) {
        Some(point) if point.refined => format!("  {} (added)", point.label),
        Some(point) => format!("  {}", point.label),
        None => "  ?".into(),
    }
}

fn interval(estimate: &Estimate) -> String {
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{}-{}", grouped(low), grouped(high)),
        None => "-".into(),
    }
}

/// Share lost of what was sent. Never "0" unless it is none.
fn share(reading: &Reading) -> String {
    let ratio = reading.sent_loss_ratio.median * 100.0;
    match ratio {
        _ if reading.lost.is_empty() => "0".into(),
        _ if ratio >= 10.0 => format!("{ratio:.0} %"),
        _ if ratio >= 0.01 => format!("{ratio:.2} %"),
        _ => format!("{} pkt", reading.lost.iter().map(|lost| lost.frames).sum::<u64>()),
    }
}

fn places(reading: &Reading) -> String {
    match &reading.lost[..] {
        [] => "-".into(),
        [only] => only.place.word().into(),
        [most, ..] => format!("{}+", most.place.word()),
    }
}

#[cfg(test)]
mod tests {
    use capbench_measure::statistics::interval::Estimate;
    use capbench_measure::sweep::{AxisKind, Reading, Series, SweepOutcome};

    use super::sweep;

    /// A point with these delivered rates.
    fn reading(rates: &[f64]) -> Reading {
        let estimate = Estimate::of(rates.iter().copied()).unwrap();
        Reading {
            point: 0,
            trials: (1..).take(rates.len()).collect(),
            invalid: Vec::new(),
            lossless: 0,
            offered_pps: Estimate::of([1_234_567.0]).unwrap(),
            delivered_pps: estimate,
            taken_pps: estimate,
            sent_loss_ratio: Estimate::of([0.2]).unwrap(),
            total_ns_per_packet: None,
            lost: Vec::new(),
            back_to_back: None,
        }
    }

    fn printed(readings: Vec<Reading>) -> String {
        sweep(&SweepOutcome {
            axis: AxisKind::Work,
            unit: None,
            seed: 7,
            repeats: 6,
            quiet_s: 0.5,
            interval: String::new(),
            points: Vec::new(),
            series: vec![Series {
                method: "recv".into(),
                placement: None,
                load: None,
                unit_ns: None,
                readings,
            }],
            stopped: false,
        })
    }

    #[test]
    fn an_interval_has_two_ends_and_its_level() {
        // Skewed, so that its median is not in the middle.
        let text = printed(vec![
            reading(&[1_000_001.0, 1_000_002.0, 1_000_003.0, 1_000_004.0, 1_000_005.0, 1_900_000.0]),
            reading(&[5.0, 6.0, 7.0, 8.0, 9.0]),
        ]);
        for part in ["1,000,001-1,900,000", "5-9", "96.9 % with 6 visits", "93.8 % with 5 visits"] {
            assert!(text.replace('\n', " ").contains(part), "{part}: {text}");
        }
        assert!(!text.contains("+/-") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(printed(vec![reading(&[5.0])]).contains("One visit has no interval."));
    }
}
