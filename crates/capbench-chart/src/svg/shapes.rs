//! Lines, points, areas and bars inside the plot.

use super::axis::{Ruler, drawable};
use super::pen::Pen;
use crate::chart::{Chart, Kind, Point, Role, Series};
use crate::palette::{Look, Marker};

/// Lines with more points than this have markers only at isolated points.
const MARKED: usize = 80;
/// Charts with more points than this have no tooltips.
const TOOLTIPS: usize = 3000;
/// Trials in the tooltip of a point.
const TRIALS: usize = 12;

/// The chart, and its place in the drawing.
pub(super) struct Plot<'a> {
    pub(super) chart: &'a Chart,
    pub(super) x: Ruler<'a>,
    pub(super) y: Ruler<'a>,
    pub(super) looks: Vec<Look>,
    /// Whether each point has a tooltip (a `title` element).
    pub(super) has_tooltips: bool,
}

/// Where a point can be selected, in pixels of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Its position on the horizontal axis, shared by points of several series.
    pub axis_px: f64,
    /// The horizontal middle of its bar, layer or marker, and the upper and the lower end; `None` if the value is unknown.
    pub shape_px: Option<[f64; 3]>,
}

/// The lower and upper end of a layer at the place of a point.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    point: &'a Point,
}

/// Stacks the layers of every series: positive values upwards from 0, negative values downwards. An unknown layer and a total
/// have no height and are omitted.
pub(super) fn layers<'a>(chart: &'a Chart) -> Vec<Vec<Option<Layer<'a>>>> {
    let places = places(chart);
    // How far the layers reach at each place, downwards and upwards.
    let mut ends = vec![[0.0; 2]; places.len()];
    let stack = |series: &'a Series| {
        let points = series.points.iter();
        let mut points: Vec<(f64, &'a Point)> =
            points.filter_map(|point| Some((drawable(point.x)?, point))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let layer = |(&x, ends): (&f64, &mut [f64; 2])| {
            let nth = points.binary_search_by(|(at, _)| at.total_cmp(&x)).ok()?;
            let point = points[nth].1;
            let height = drawable(point.y?).filter(|_| series.role != Role::Total)?;
            let from = &mut ends[usize::from(height >= 0.0)];
            let to = drawable(*from + height)?;
            let layer = Layer { x, low: from.min(to), high: from.max(to), point };
            *from = to;
            Some(layer)
        };
        places.iter().zip(&mut ends).map(layer).collect()
    };
    chart.series.iter().map(stack).collect()
}

/// Every x at which a series has a point, once, in rising order.
pub(super) fn places(chart: &Chart) -> Vec<f64> {
    let mut places: Vec<f64> = points(chart).filter_map(|point| drawable(point.x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

pub(super) fn points(chart: &Chart) -> impl Iterator<Item = &Point> {
    chart.series.iter().flat_map(|series| &series.points)
}

/// Half the width of all bars at one x.
fn half_band(plot: &Plot<'_>) -> f64 {
    if let Some(band) = plot.x.band() {
        return (band * 0.37).clamp(1.0, 70.0);
    }
    let at: Vec<f64> = places(plot.chart).iter().map(|x| plot.x.at(*x)).collect();
    let least = at.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).fold(120.0, f64::min);
    (least * 0.4).clamp(1.0, 40.0)
}

impl Plot<'_> {
    /// Draws the whole chart.
    pub(super) fn draw(&self, pen: &mut Pen) {
        match self.chart.kind {
            Kind::Lines => self.each(pen, Self::line),
            Kind::Points => self.each(pen, Self::scattered),
            // Rows have drawings of their own.
            Kind::Ranked | Kind::Forest => {}
            Kind::Bars => self.each(pen, Self::bars),
            Kind::Stacked | Kind::StackedBars => {
                let layers = layers(self.chart);
                let is_area = self.chart.kind == Kind::Stacked;
                let draw = if is_area { Self::area } else { Self::stacked_bars };
                self.each(pen, |plot, pen, nth| draw(plot, pen, nth, &layers[nth]));
                if is_area && places(self.chart).len() <= MARKED {
                    self.each(pen, |plot, pen, nth| plot.tops(pen, nth, &layers[nth]));
                }
                self.each(pen, |plot, pen, nth| plot.spread(pen, nth, &layers[nth]));
            }
        }
    }

    /// Draws each series as a group in its colour. Fits come last, over their points.
    fn each(&self, pen: &mut Pen, draw: impl Fn(&Self, &mut Pen, usize)) {
        let mut order: Vec<usize> = (0..self.chart.series.len()).collect();
        order.sort_by_key(|nth| !self.looks[*nth].is_marked);
        for nth in order {
            pen.group(&coloured(&self.looks[nth], &format!("s{nth}")));
            draw(self, pen, nth);
            pen.end();
        }
    }

    fn at(&self, point: &Point) -> Option<[f64; 2]> {
        Some([self.x.at(drawable(point.x)?), self.y.at(drawable(point.y?)?)])
    }

    /// Where each point of a series can be selected; `None` for points without a place.
    pub(super) fn spots(&self) -> Vec<Vec<Option<Spot>>> {
        let [bottom, top] = self.y.ends();
        let layers = layers(self.chart);
        let places = places(self.chart);
        let all = self.chart.series.iter().enumerate();
        all.map(|(nth, series)| {
            let (begin, wide) = self.bar(nth);
            let middle = begin + wide / 2.0;
            let shift = self.shift(nth);
            let spot = |point: &Point| {
                let x = drawable(point.x)?;
                let axis_px = self.x.at(x);
                let shape = || {
                    let y = self.y.at(drawable(point.y?)?);
                    Some(match self.chart.kind {
                        Kind::Lines | Kind::Points | Kind::Ranked | Kind::Forest => [axis_px + shift, y, y],
                        Kind::Bars => [axis_px + middle, top, bottom],
                        // Slightly larger than the mark, so that it is hit before the layer below.
                        _ if series.role == Role::Total => [axis_px, y, y + 6.0],
                        Kind::Stacked | Kind::StackedBars => {
                            let at = places.binary_search_by(|other| other.total_cmp(&x)).ok()?;
                            let layer = layers[nth][at]?;
                            [axis_px, self.y.at(layer.high), self.y.at(layer.low)]
                        }
                    })
                };
                Some(Spot { axis_px, shape_px: shape() })
            };
            series.points.iter().map(spot).collect()
        })
        .collect()
    }

    /// Tooltip: series, x, value and trials of a point.
    fn tooltip(&self, series: &Series, point: &Point) -> String {
        if !self.has_tooltips || points(self.chart).nth(TOOLTIPS).is_some() {
            return String::new();
        }
        let value = point.y.map_or_else(|| "unknown".into(), |y| self.y.in_words(y));
        let mut text = format!("{}, {}: {value}", series.name, self.x.in_words(point.x));
        if let Some([low, high]) = point.interval {
            text.push_str(&format!(" ({} to {})", self.y.in_words(low), self.y.in_words(high)));
        }
        if !point.trials.is_empty() {
            let some: Vec<_> = point.trials.iter().take(TRIALS).map(u32::to_string).collect();
            let more = if point.trials.len() > TRIALS { ", …" } else { "" };
            text.push_str(&format!("; trials {}{more}", some.join(", ")));
        }
        text
    }

    fn line(&self, pen: &mut Pen, nth: usize) {
        let (series, look) = (&self.chart.series[nth], &self.looks[nth]);
        let attributes = format!(
            "fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-linecap=\"round\"{}",
            dash(look)
        );
        let pieces = series.points.split(|point| self.at(point).is_none());
        let is_marked = look.is_marked && series.points.len() <= MARKED;
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let way: Vec<[f64; 2]> = piece.iter().filter_map(|point| self.at(point)).collect();
            if way.len() > 1 {
                pen.path(&way, false, &attributes, "");
            }
            self.intervals(pen, piece, OWN, 0.0);
            if is_marked || way.len() == 1 {
                for (point, at) in piece.iter().zip(way) {
                    draw_marker(pen, at, look, "", &self.tooltip(series, point));
                }
            }
        }
    }

    fn scattered(&self, pen: &mut Pen, nth: usize) {
        let series = &self.chart.series[nth];
        let shift = self.shift(nth);
        self.intervals(pen, &series.points, OWN, shift);
        for point in &series.points {
            if let Some([x, y]) = self.at(point) {
                let tooltip = self.tooltip(series, point);
                draw_marker(pen, [x + shift, y], &self.looks[nth], " fill-opacity=\"0.75\"", &tooltip);
            }
        }
    }

    /// Offset of a series' points from the middle of their name, so that series do not hide each other. Points with places from
    /// the report are not moved.
    fn shift(&self, nth: usize) -> f64 {
        let Some(band) = self.x.band().filter(|_| self.chart.kind == Kind::Points) else { return 0.0 };
        if points(self.chart).any(|point| point.x.fract() != 0.0) {
            return 0.0;
        }
        let count = self.chart.series.len() as f64;
        (nth as f64 - (count - 1.0) / 2.0) * (0.6 / count).min(0.16) * band
    }

    fn intervals(&self, pen: &mut Pen, points: &[Point], stroke: &str, shift: f64) {
        for point in points {
            let ends = point.interval.map(|ends| ends.map(drawable));
            let (Some([Some(low), Some(high)]), Some([x, _])) = (ends, self.at(point)) else { continue };
            let (x, low, high) = (x + shift, self.y.at(low), self.y.at(high));
            if (low - high).abs() < 1.0 {
                continue;
            }
            pen.line([x, low], [x, high], stroke);
            pen.line([x - 3.5, low], [x + 3.5, low], stroke);
            pen.line([x - 3.5, high], [x + 3.5, high], stroke);
        }
    }

    fn area(&self, pen: &mut Pen, nth: usize, layers: &[Option<Layer<'_>>]) {
        let name = if self.has_tooltips { self.chart.series[nth].name.as_str() } else { "" };
        let attributes = filling(self.chart, &self.looks[nth]);
        for piece in layers.split(Option::is_none).filter(|piece| !piece.is_empty()) {
            let known: Vec<Layer<'_>> = piece.iter().copied().flatten().collect();
            // A layer of zero height would look like a line.
            if known.iter().all(|layer| layer.low == layer.high) {
                continue;
            }
            if let [one] = known.as_slice() {
                // A place between two unknown ones has no width.
                let (x, top) = (self.x.at(one.x), self.y.at(one.high));
                let height = self.y.at(one.low) - top;
                pen.rectangle([x - 3.0, top], [6.0, height], &attributes, name);
                continue;
            }
            let above = known.iter().map(|layer| [self.x.at(layer.x), self.y.at(layer.high)]);
            let below = known.iter().rev().map(|layer| [self.x.at(layer.x), self.y.at(layer.low)]);
            let around: Vec<[f64; 2]> = above.chain(below).collect();
            pen.path(&around, true, &attributes, name);
        }
    }

    /// A dot at the top of each measured layer.
    fn tops(&self, pen: &mut Pen, nth: usize, layers: &[Option<Layer<'_>>]) {
        let dark = "class=\"ink\" fill=\"#222222\" fill-opacity=\"0.55\"";
        for layer in layers.iter().flatten() {
            let at = [self.x.at(layer.x), self.y.at(layer.high)];
            pen.circle(at, 2.2, dark, &self.tooltip(&self.chart.series[nth], layer.point));
        }
    }

    /// Where the bars of a series start relative to their x, and their width.
    fn bar(&self, nth: usize) -> (f64, f64) {
        let half = half_band(self);
        let each = 2.0 * half / self.chart.series.len().max(1) as f64;
        (nth as f64 * each - half, each * 0.92)
    }

    fn bars(&self, pen: &mut Pen, nth: usize) {
        let series = &self.chart.series[nth];
        let attributes = filling(self.chart, &self.looks[nth]);
        let ground = self.y.ground();
        let (begin, wide) = self.bar(nth);
        for point in &series.points {
            let Some([x, y]) = self.at(point) else { continue };
            let tooltip = self.tooltip(series, point);
            pen.rectangle([x + begin, y.min(ground)], [wide, (y - ground).abs()], &attributes, &tooltip);
        }
        self.intervals(pen, &series.points, INK, begin + wide / 2.0);
    }

    fn stacked_bars(&self, pen: &mut Pen, nth: usize, layers: &[Option<Layer<'_>>]) {
        let half = half_band(self);
        let attributes = filling(self.chart, &self.looks[nth]);
        for layer in layers.iter().flatten() {
            let (x, top) = (self.x.at(layer.x), self.y.at(layer.high));
            let height = self.y.at(layer.low) - top;
            if height > 0.0 {
                let tooltip = self.tooltip(&self.chart.series[nth], layer.point);
                pen.rectangle([x - half, top], [2.0 * half, height], &attributes, &tooltip);
            }
        }
    }

    /// Intervals of layers, and totals with theirs, on top of everything.
    fn spread(&self, pen: &mut Pen, nth: usize, layers: &[Option<Layer<'_>>]) {
        let series = &self.chart.series[nth];
        if series.role == Role::Total {
            self.intervals(pen, &series.points, INK, 0.0);
            for point in &series.points {
                if let Some(at) = self.at(point) {
                    draw_marker(pen, at, &self.looks[nth], "", &self.tooltip(series, point));
                }
            }
            return;
        }
        for layer in layers.iter().flatten() {
            // The interval is relative to the layer's bottom, not to the axis.
            let interval = layer.point.interval.map(|ends| ends.map(|end| layer.low + end));
            let own = Point { y: Some(layer.high), interval, ..layer.point.clone() };
            self.intervals(pen, &[own], INK, 0.0);
        }
    }
}

/// Strokes of intervals: in the series' colour, in front of bars and areas.
pub(super) const OWN: &str = "stroke=\"currentColor\" stroke-width=\"1.2\"";
const INK: &str = "class=\"ink\" stroke=\"#222222\" stroke-width=\"1.2\"";

/// The colour of a series as attributes, with one more class. A dark page recolours the class.
pub(super) fn coloured(look: &Look, class: &str) -> String {
    format!("class=\"series {class} {}\" color=\"{}\"", look.colour.class(), look.colour.light)
}

/// The marker of a series, also in the legend.
pub(super) fn draw_marker(pen: &mut Pen, [x, y]: [f64; 2], look: &Look, more: &str, tooltip: &str) {
    let attributes = match look.is_hollow {
        true => {
            format!("class=\"paper\" fill=\"#ffffff\" stroke=\"currentColor\" stroke-width=\"1.6\"{more}")
        }
        false => {
            format!("class=\"edge\" fill=\"currentColor\" stroke=\"#ffffff\" stroke-width=\"0.8\"{more}")
        }
    };
    let around: &[[f64; 2]] = match look.marker {
        Marker::Circle => return pen.circle([x, y], 4.0, &attributes, tooltip),
        Marker::Square => &[[-3.6, -3.6], [3.6, -3.6], [3.6, 3.6], [-3.6, 3.6]],
        Marker::Triangle => &[[0.0, -4.8], [4.6, 3.4], [-4.6, 3.4]],
        Marker::Diamond => &[[0.0, -5.0], [5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]],
        Marker::Arrow => &[[0.0, 4.8], [4.6, -3.4], [-4.6, -3.4]],
    };
    let way: Vec<[f64; 2]> = around.iter().map(|[dx, dy]| [x + dx, y + dy]).collect();
    pen.path(&way, true, &attributes, tooltip);
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
    if look.is_hatched {
        return format!(
            "fill=\"url(#{})\" stroke=\"currentColor\" stroke-width=\"0.8\"",
            own_id("hatch", chart)
        );
    }
    if look.is_hollow {
        return "class=\"paper\" fill=\"#ffffff\" stroke=\"currentColor\" stroke-width=\"1.4\" stroke-dasharray=\"3 2\""
            .into();
    }
    "class=\"edge\" fill=\"currentColor\" fill-opacity=\"0.88\" stroke=\"#ffffff\" stroke-width=\"0.6\""
        .into()
}

/// An id unique to the chart: several drawings may be on one page.
pub(super) fn own_id(what: &str, chart: &Chart) -> String {
    let id: String = chart.id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{what}-{id}")
}
