//! What a sweep prints: a table for each method, placement and load. A pure function of results.

use capbench_measure::sweep::interval::Estimate;
use capbench_measure::sweep::{Reading, Series, SweepOutcome};

use crate::summary::{thousands, wrapped};
use crate::table::Table;

/// The tables of a sweep.
pub fn sweep(outcome: &SweepOutcome) -> String {
    let mut text = String::new();
    for series in &outcome.series {
        wrapped(&mut text, "", "  ", &series.name());
        text.push_str(&if is_of_bursts(series) { bursts(outcome, series) } else { loads(outcome, series) });
        text.push('\n');
    }
    let visits = format!(
        "Medians of up to {} visits; +/- is half of the interval that holds the median ({}). Seed {}.",
        outcome.repeats, outcome.interval, outcome.seed
    );
    wrapped(&mut text, "", "", &visits);
    text.push('\n');
    text
}

fn is_of_bursts(series: &Series) -> bool {
    series.readings.iter().any(|reading| reading.back_to_back.is_some())
}

fn loads(outcome: &SweepOutcome, series: &Series) -> String {
    let mut table = Table::new(&["  point", "offered", "delivered", "+/-", "lost", "where", "cpu ns"]);
    for reading in &series.readings {
        table.row(vec![
            label(outcome, reading),
            thousands(reading.offered_pps.median),
            thousands(reading.delivered_pps.median),
            half(&reading.delivered_pps).map_or("-".into(), thousands),
            share(reading),
            places(reading),
            reading.total_ns_per_packet.map_or("-".into(), |ns| format!("{:.0}", ns.median)),
        ]);
    }
    table.within(80).to_string()
}

fn bursts(outcome: &SweepOutcome, series: &Series) -> String {
    let mut table =
        Table::new(&["  point", "burst frames", "least", "most", "implied ms", "corrected ms", "found"]);
    for reading in &series.readings {
        let Some(burst) = &reading.back_to_back else { continue };
        let number = |value: Option<f64>| value.map_or("-".into(), thousands);
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

fn half(estimate: &Estimate) -> Option<f64> {
    Some((estimate.high? - estimate.low?) / 2.0)
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
