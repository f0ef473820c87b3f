//! The picture of a ranking: sustained rates, and CPU time next to them, row by row.

use super::parts::{chart, linear, names, point, series};
use crate::model::{Chart, Kind, Point, Role, Unit};
use crate::naming::Kind as Purpose;
use crate::ranking::{self, Ranked, Ranking, Sustained, TOLERATED};
use crate::results::Results;

/// The charts of the deciding set-up of a bench; none for other runs.
pub(crate) fn charts(results: &Results) -> Vec<Chart> {
    if Purpose::of(results) != Purpose::Bench {
        return Vec::new();
    }
    ranking::of(results).first().map_or_else(Vec::new, |ranking| {
        let charts = [rates(ranking), costs(ranking)].into_iter();
        charts.filter(|chart| chart.is_known()).collect()
    })
}

fn rates(ranking: &Ranking<'_>) -> Chart {
    let of = |rate: fn(&Ranked<'_>) -> Option<Sustained>| -> Vec<Point> {
        let at = |(nth, row): (usize, &Ranked<'_>)| {
            let own = rate(row);
            let interval = own.and_then(|own| Some([own.pps, own.below?]));
            Point { interval, ..point(nth as f64, own.map(|own| own.pps), row.numbers()) }
        };
        ranking.rows.iter().enumerate().map(at).collect()
    };
    let without = |points: Vec<Point>| points.into_iter().map(|point| Point { interval: None, ..point }).collect();
    let tolerated = format!("with up to {} % loss", TOLERATED * 100.0);
    let series = vec![
        series("without loss", Role::Delivered, of(|row| row.lossless)),
        series(tolerated, Role::Account, without(of(|row| row.tolerant))),
    ];
    let title = format!("Sustained rate, {}", ranking.scene.words());
    let y = linear("Sustained rate", Unit::PacketsPerSecond);
    let note = "A line reaches to the lowest load with loss. Without a line, the generator sends no more.";
    chart("ranking-rates", title, Kind::Ranked, names("Method", methods(ranking)), y, series).noting([note])
}

fn costs(ranking: &Ranking<'_>) -> Chart {
    let of = |cost: &dyn Fn(&Ranked<'_>) -> Option<f64>| -> Vec<Point> {
        let rows = ranking.rows.iter().enumerate();
        rows.map(|(nth, row)| point(nth as f64, cost(row), row.numbers())).collect()
    };
    let series = vec![
        series("application", Role::Account, of(&|row| row.app_ns.map(|[_, most]| most))),
        series("application and kernel", Role::Account, of(&|row| row.total_ns.map(|total| total.median))),
    ];
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart("ranking-costs", "CPU time per packet".into(), Kind::Ranked, names("Method", methods(ranking)), y, series)
}

fn methods(ranking: &Ranking<'_>) -> Vec<String> {
    ranking.rows.iter().map(|row| row.method.to_string()).collect()
}
