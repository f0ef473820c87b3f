//! Lines, points, areas and bars of a chart, inside the plot.

use super::axis::{Ruler, drawable};
use super::pen::{Pen, pixels};
use crate::model::{Chart, Kind, Point, Role, Series};
use crate::palette::{Look, Marker};

/// Lines with more points than this have markers only where a point stands alone.
const MARKED: usize = 80;
/// Charts with more points than this do not tell of each.
const TOLD: usize = 3000;
/// Trials that are told of a point.
const TRIALS: usize = 12;

/// What is drawn, and where.
pub(super) struct Plot<'a> {
    pub(super) chart: &'a Chart,
    pub(super) x: Ruler<'a>,
    pub(super) y: Ruler<'a>,
    pub(super) looks: Vec<Look>,
}

/// The lower and upper end of each layer at each place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The layers of every series on top of each other: upwards from 0, and what is below 0 downwards. A layer that is unknown has no
/// height, and is not there; a sum is none.
pub(super) fn layers(chart: &Chart) -> Vec<Vec<Option<Layer>>> {
    let places = places(chart);
    let mut up = vec![0.0; places.len()];
    let mut down = vec![0.0; places.len()];
    chart
        .series
        .iter()
        .map(|series| {
            let points = by_place(series);
            places
                .iter()
                .enumerate()
                .map(|(nth, &x)| {
                    let point = at_place(&points, x).filter(|_| series.role != Role::Total)?;
                    let height = drawable(point.y?)?;
                    let from = if height < 0.0 { &mut down[nth] } else { &mut up[nth] };
                    let to = drawable(*from + height)?;
                    let layer = Layer { x, low: from.min(to), high: from.max(to) };
                    *from = to;
                    Some(layer)
                })
                .collect()
        })
        .collect()
}

/// A series' points by where they are.
fn by_place(series: &Series) -> Vec<(f64, &Point)> {
    let mut points: Vec<(f64, &Point)> =
        series.points.iter().filter_map(|point| Some((drawable(point.x)?, point))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn at_place<'p>(points: &[(f64, &'p Point)], x: f64) -> Option<&'p Point> {
    let nth = points.binary_search_by(|(at, _)| at.total_cmp(&x)).ok()?;
    Some(points[nth].1)
}

/// Every place on the horizontal axis that some series has a point at, once, by rising value.
pub(super) fn places(chart: &Chart) -> Vec<f64> {
    let mut places: Vec<f64> = points(chart).filter_map(|point| drawable(point.x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

pub(super) fn points(chart: &Chart) -> impl Iterator<Item = &Point> {
    chart.series.iter().flat_map(|series| &series.points)
}

/// Half the width of what stands at a place of a chart with bars.
fn half_band(plot: &Plot<'_>) -> f64 {
    if let Some(band) = plot.x.band() {
        return (band * 0.37).clamp(1.0, 70.0);
    }
    let at: Vec<f64> = places(plot.chart).iter().map(|x| plot.x.at(*x)).collect();
    let least = at.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).fold(120.0, f64::min);
    (least * 0.4).clamp(1.0, 40.0)
}

impl Plot<'_> {
    /// Everything that the chart says.
    pub(super) fn draw(&self, pen: &mut Pen) {
        match self.chart.kind {
            Kind::Lines => {
                // Fits lie on the points that they are of.
                for is_marked in [true, false] {
                    self.each(|plot, series, look| {
                        if look.is_marked == is_marked {
                            plot.line(pen, series, look);
                        }
                    });
                }
            }
            Kind::Points => self.each(|plot, series, look| plot.scattered(pen, series, look)),
            Kind::Stacked => {
                self.areas(pen);
                self.spreads(pen);
            }
            Kind::Bars => self.bars(pen),
            Kind::StackedBars => {
                self.stacked_bars(pen);
                self.spreads(pen);
            }
        }
    }

    fn each(&self, mut draw: impl FnMut(&Self, &Series, &Look)) {
        for (series, look) in self.chart.series.iter().zip(&self.looks) {
            draw(self, series, look);
        }
    }

    fn at(&self, point: &Point) -> Option<[f64; 2]> {
        Some([self.x.at(drawable(point.x)?), self.y.at(drawable(point.y?)?)])
    }

    /// What a point says, for tools that show it.
    fn told(&self, series: &Series, point: &Point) -> String {
        if points(self.chart).nth(TOLD).is_some() {
            return String::new();
        }
        let value = point.y.map_or_else(|| "unknown".into(), |y| self.y.told(y));
        let mut text = format!("{}, {}: {value}", series.name, self.x.told(point.x));
        if let Some([low, high]) = point.interval {
            text.push_str(&format!(" ({} to {})", self.y.told(low), self.y.told(high)));
        }
        if !point.trials.is_empty() {
            let some: Vec<_> = point.trials.iter().take(TRIALS).map(u32::to_string).collect();
            let more = if point.trials.len() > TRIALS { ", …" } else { "" };
            text.push_str(&format!("; trials {}{more}", some.join(", ")));
        }
        text
    }

    fn line(&self, pen: &mut Pen, series: &Series, look: &Look) {
        let dash = dash(look);
        let colour = look.colour.light;
        let attributes = format!(
            "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-linecap=\"round\"{dash}"
        );
        let pieces = series.points.split(|point| self.at(point).is_none());
        let is_marked = look.is_marked && series.points.len() <= MARKED;
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let way: Vec<[f64; 2]> = piece.iter().filter_map(|point| self.at(point)).collect();
            if way.len() > 1 {
                pen.path(&way, false, &attributes, "");
            }
            self.intervals(pen, piece, look, 0.0);
            if is_marked || way.len() == 1 {
                for (point, at) in piece.iter().zip(way) {
                    self.marker(pen, at, look, 1.0, &self.told(series, point));
                }
            }
        }
    }

    fn scattered(&self, pen: &mut Pen, series: &Series, look: &Look) {
        self.intervals(pen, &series.points, look, 0.0);
        for point in &series.points {
            if let Some(at) = self.at(point) {
                self.marker(pen, at, look, 0.75, &self.told(series, point));
            }
        }
    }

    fn intervals(&self, pen: &mut Pen, points: &[Point], look: &Look, aside: f64) {
        let stroke = format!("stroke=\"{}\" stroke-width=\"1.2\"", look.colour.light);
        for point in points {
            let ends = point.interval.map(|ends| ends.map(drawable));
            let (Some([Some(low), Some(high)]), Some([x, _])) = (ends, self.at(point)) else { continue };
            let (x, low, high) = (x + aside, self.y.at(low), self.y.at(high));
            if (low - high).abs() < 1.0 {
                continue;
            }
            pen.line([x, low], [x, high], &stroke);
            pen.line([x - 3.5, low], [x + 3.5, low], &stroke);
            pen.line([x - 3.5, high], [x + 3.5, high], &stroke);
        }
    }

    fn areas(&self, pen: &mut Pen) {
        for ((series, look), layers) in self.chart.series.iter().zip(&self.looks).zip(layers(self.chart)) {
            let attributes = filling(self.chart, look);
            for piece in layers.split(Option::is_none).filter(|piece| !piece.is_empty()) {
                let known: Vec<Layer> = piece.iter().copied().flatten().collect();
                // A layer without any height would be a line that looks like something.
                if known.iter().all(|layer| layer.low == layer.high) {
                    continue;
                }
                if let [one] = known.as_slice() {
                    // A place between two unknown ones has no width of its own.
                    let (x, top) = (self.x.at(one.x), self.y.at(one.high));
                    let height = self.y.at(one.low) - top;
                    pen.rectangle([x - 3.0, top], [6.0, height], &attributes, &series.name);
                    continue;
                }
                let above = known.iter().map(|layer| [self.x.at(layer.x), self.y.at(layer.high)]);
                let below = known.iter().rev().map(|layer| [self.x.at(layer.x), self.y.at(layer.low)]);
                let around: Vec<[f64; 2]> = above.chain(below).collect();
                pen.path(&around, true, &attributes, &series.name);
            }
        }
        if places(self.chart).len() > MARKED {
            return;
        }
        for (series, layers) in self.chart.series.iter().zip(layers(self.chart)) {
            let points = by_place(series);
            for layer in layers.into_iter().flatten() {
                if let Some(point) = at_place(&points, layer.x) {
                    let at = [self.x.at(layer.x), self.y.at(layer.high)];
                    pen.circle(at, 2.2, "fill=\"#222222\" fill-opacity=\"0.55\"", &self.told(series, point));
                }
            }
        }
    }

    fn bars(&self, pen: &mut Pen) {
        let half = half_band(self);
        let each = 2.0 * half / self.chart.series.len().max(1) as f64;
        let ground = self.y.ground();
        for (nth, (series, look)) in self.chart.series.iter().zip(&self.looks).enumerate() {
            let attributes = filling(self.chart, look);
            for point in &series.points {
                let Some([x, y]) = self.at(point) else { continue };
                let left = x - half + nth as f64 * each;
                let told = self.told(series, point);
                pen.rectangle([left, y.min(ground)], [each * 0.92, (y - ground).abs()], &attributes, &told);
            }
            let dark = Look { colour: DARK, ..*look };
            self.intervals(pen, &series.points, &dark, (nth as f64 + 0.46) * each - half);
        }
    }

    fn stacked_bars(&self, pen: &mut Pen) {
        let half = half_band(self);
        for ((series, look), layers) in self.chart.series.iter().zip(&self.looks).zip(layers(self.chart)) {
            let attributes = filling(self.chart, look);
            let points = by_place(series);
            for layer in layers.into_iter().flatten() {
                let point = at_place(&points, layer.x);
                let told = point.map_or_else(String::new, |point| self.told(series, point));
                let (x, top) = (self.x.at(layer.x), self.y.at(layer.high));
                let height = self.y.at(layer.low) - top;
                if height > 0.0 {
                    pen.rectangle([x - half, top], [2.0 * half, height], &attributes, &told);
                }
            }
        }
    }

    /// Intervals of layers, and sums with theirs, in front of everything.
    fn spreads(&self, pen: &mut Pen) {
        for ((series, look), layers) in self.chart.series.iter().zip(&self.looks).zip(layers(self.chart)) {
            let dark = Look { colour: DARK, ..*look };
            if series.role == Role::Total {
                self.intervals(pen, &series.points, &dark, 0.0);
                for point in &series.points {
                    if let Some(at) = self.at(point) {
                        self.marker(pen, at, look, 1.0, &self.told(series, point));
                    }
                }
                continue;
            }
            let points = by_place(series);
            for layer in layers.into_iter().flatten() {
                if let Some((point, ends)) =
                    at_place(&points, layer.x).and_then(|point| Some((point, point.interval?)))
                {
                    // Where it is drawn it is not of the axis's ground but of the layer's own.
                    let interval = Some(ends.map(|end| layer.low + end));
                    let own = Point { y: Some(layer.high), interval, ..point.clone() };
                    self.intervals(pen, &[own], &dark, 0.0);
                }
            }
        }
    }

    fn marker(&self, pen: &mut Pen, at: [f64; 2], look: &Look, opacity: f64, told: &str) {
        let opacity =
            if opacity < 1.0 { format!(" fill-opacity=\"{}\"", pixels(opacity)) } else { String::new() };
        draw_marker(pen, at, look, &opacity, told);
    }
}

const DARK: crate::palette::Colour = crate::palette::Colour { light: "#222222", dark: "#dddddd" };

/// The marker of a series, also in the legend.
pub(super) fn draw_marker(pen: &mut Pen, [x, y]: [f64; 2], look: &Look, more: &str, told: &str) {
    let colour = look.colour.light;
    let attributes = match look.is_hollow {
        true => format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.6\"{more}"),
        false => format!("fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.8\"{more}"),
    };
    let around: &[[f64; 2]] = match look.marker {
        Marker::Circle => return pen.circle([x, y], 4.0, &attributes, told),
        Marker::Square => &[[-3.6, -3.6], [3.6, -3.6], [3.6, 3.6], [-3.6, 3.6]],
        Marker::Triangle => &[[0.0, -4.8], [4.6, 3.4], [-4.6, 3.4]],
        Marker::Diamond => &[[0.0, -5.0], [5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]],
        Marker::Arrow => &[[0.0, 4.8], [4.6, -3.4], [-4.6, -3.4]],
    };
    let way: Vec<[f64; 2]> = around.iter().map(|[dx, dy]| [x + dx, y + dy]).collect();
    pen.path(&way, true, &attributes, told);
}

/// The dashes of a line, as an attribute.
pub(super) fn dash(look: &Look) -> String {
    if look.dash.is_empty() {
        return String::new();
    }
    let lengths: Vec<_> = look.dash.iter().map(u8::to_string).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}

/// How an area or a bar is filled.
pub(super) fn filling(chart: &Chart, look: &Look) -> String {
    let colour = look.colour.light;
    if look.is_hatched {
        return format!("fill=\"url(#{})\" stroke=\"{colour}\" stroke-width=\"0.8\"", hatch(chart));
    }
    if look.is_hollow {
        return format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.4\" stroke-dasharray=\"3 2\"");
    }
    format!("fill=\"{colour}\" fill-opacity=\"0.88\" stroke=\"#ffffff\" stroke-width=\"0.6\"")
}

/// Name of the chart's own hatching: several drawings may stand on one page.
pub(super) fn hatch(chart: &Chart) -> String {
    let id: String = chart.id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("hatch-{id}")
}
