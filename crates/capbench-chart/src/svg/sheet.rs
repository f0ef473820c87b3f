//! The layout of a chart: title, plot with axes and marks, legend, notes.

mod marks;

use self::marks::{MARK, MARK_WIDTH, is_near, take_in};
use super::axis::{Ends, Ruler, Tick, drawable, extremes};
use super::pen::{Anchor, Pen, Style, escaped, pixels, width, wrapped};
use super::shapes::{self, Plot, coloured, dash, draw_marker, filling, layers, own_id, points};
use crate::chart::{Chart, Kind, Mark, Place, Point, Role, Scale};
use crate::palette::{Look, Palette};

pub(super) const WIDTH: f64 = 560.0;
pub(super) const PLOT_HEIGHT: f64 = 250.0;
pub(super) const EDGE: f64 = 14.0;
/// Fonts of similar widths; every system has one of them.
pub(super) const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
pub(super) const TITLE: Style =
    Style { size: 16.0, is_pale: false, anchor: Anchor::Start, is_bold: true, turned: 0.0 };
const HEADING: Style = Style { size: 13.0, is_bold: false, anchor: Anchor::Middle, ..TITLE };
const TICK: Style = Style { size: 12.0, ..HEADING };
const LEGEND: Style = Style { size: 12.5, anchor: Anchor::Start, ..HEADING };
pub(super) const NOTE: Style = Style { size: 11.5, is_pale: true, ..LEGEND };
/// Width factor of bold letters.
const BOLD: f64 = 1.07;
/// Longest rotated name that is written in full.
const LONGEST_NAME: usize = 34;

/// What is drawn besides the plot with its axes and marks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Title, legend and notes on a white sheet: for a file.
    Whole,
    /// Nothing: the page has these, and its own colours.
    Plot,
}

/// Names under the plot.
enum Under {
    /// Horizontal, in lines.
    Level(Vec<Vec<String>>),
    /// Rotated, because they are too long.
    Turned(Vec<String>),
    /// Numbers.
    Numbers,
}

/// A chart with its layout.
pub(super) struct Sheet<'a> {
    pub(super) plot: Plot<'a>,
    title: Vec<String>,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    under: Under,
    /// The drawn marks.
    pub(super) marks: Vec<&'a Mark>,
    /// Labels of vertical marks, by rows from the plot upwards: text and left end.
    pub(super) above: Vec<Vec<(String, f64)>>,
    extent: Extent,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(chart: &'a Chart, palette: &Palette, extent: Extent) -> Self {
        let looks = chart.series.iter().map(|series| palette.look(series.role, &series.name)).collect();
        let (mut across, mut up) = values(chart);
        let marks: Vec<&Mark> =
            chart.marks.iter().filter(|mark| is_near(mark, chart, &across, &up)).collect();
        take_in(&marks, chart, &mut across, &mut up);
        let ends = match chart.kind {
            Kind::Stacked => Ends::Tight,
            Kind::Lines | Kind::Points | Kind::Bars | Kind::StackedBars | Kind::Ranked | Kind::Forest => {
                Ends::Padded
            }
        };
        let plot = Plot {
            chart,
            x: Ruler::new(&chart.x, &across, ends),
            y: Ruler::new(&chart.y, &up, if is_high(chart, &up) { Ends::Near } else { Ends::AtTicks }),
            looks,
            has_tooltips: extent == Extent::Whole,
        };
        let title = match extent {
            Extent::Whole => wrapped(&chart.title, TITLE.size * BOLD, WIDTH - 2.0 * EDGE),
            Extent::Plot => Vec::new(),
        };
        let mut sheet = Self {
            plot,
            title,
            left: 0.0,
            right: WIDTH - 22.0,
            top: 0.0,
            under: Under::Numbers,
            marks,
            above: Vec::new(),
            extent,
        };
        sheet.place_plot();
        sheet
    }

    /// Places the plot: its left side depends on the labels there, its top on title and marks.
    fn place_plot(&mut self) {
        let widest_tick =
            self.plot.y.ticks(6).iter().map(|tick| width(&tick.label, TICK.size)).fold(0.0, f64::max);
        let headings = 16.0 * self.side_heading().len() as f64;
        self.left = EDGE + 4.0 + headings + widest_tick.min(160.0) + 10.0;
        let outside = self.marks.iter().filter(|mark| !matches!(mark.at, Place::X(_)));
        let lines = outside.flat_map(|mark| wrapped(&mark.label, MARK.size, MARK_WIDTH));
        let widest = lines.map(|line| width(&line, MARK.size)).fold(0.0, f64::max);
        if widest > 0.0 {
            self.right = WIDTH - EDGE - widest.min(2.0 * MARK_WIDTH) - 6.0;
        }
        self.plot.x.put(self.left, self.right);
        self.above = self.rows_above();
        let title = EDGE + 20.0 * self.title.len() as f64;
        self.top = title + 14.0 + 15.0 * self.above.len() as f64;
        self.plot.y.put(self.top + PLOT_HEIGHT, self.top);
        self.under = self.names();
    }

    /// Title of the vertical axis, in as many lines as it needs next to the plot.
    fn side_heading(&self) -> Vec<String> {
        wrapped(&self.plot.y.title(), HEADING.size, PLOT_HEIGHT)
    }

    fn names(&self) -> Under {
        let (Scale::Names(names), Some(band)) = (&self.plot.chart.x.scale, self.plot.x.band()) else {
            return Under::Numbers;
        };
        let level: Vec<Vec<String>> = names.iter().map(|name| wrapped(name, TICK.size, band - 8.0)).collect();
        let fits = |line: &String| width(line, TICK.size) <= band - 4.0;
        if level.iter().all(|lines| lines.len() <= 3 && lines.iter().all(fits)) {
            return Under::Level(level);
        }
        let short = |name: &String| match name.char_indices().nth(LONGEST_NAME) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name.clone(),
        };
        Under::Turned(names.iter().map(short).collect())
    }

    fn height_under(&self) -> f64 {
        match &self.under {
            Under::Numbers => 20.0,
            Under::Level(names) => 6.0 + 15.0 * names.iter().map(Vec::len).max().unwrap_or(1) as f64,
            Under::Turned(names) => {
                let longest = names.iter().map(|name| width(name, TICK.size)).fold(0.0, f64::max);
                16.0 + longest * TURN.to_radians().sin()
            }
        }
    }

    /// The marks as text: each with its position, and whether it is drawn.
    pub(super) fn marks(&self) -> Vec<(String, bool)> {
        let Plot { chart, x, y, .. } = &self.plot;
        let words = |mark: &Mark| {
            let label = &mark.label;
            match &mark.at {
                Place::X(at) => format!("{label} at {}", x.in_words(*at)),
                Place::Y(at) => format!("{label} at {}", y.in_words(*at)),
                Place::Curve(curve) => match extremes(curve.iter().map(|[_, height]| *height)) {
                    Some((low, high)) => format!("{label} from {} to {}", y.in_words(low), y.in_words(high)),
                    None => label.clone(),
                },
            }
        };
        let is_drawn = |mark: &Mark| self.marks.iter().any(|drawn| std::ptr::eq(*drawn, mark));
        chart.marks.iter().map(|mark| (words(mark), is_drawn(mark))).collect()
    }

    /// The chart's notes, and limits of its drawing.
    pub(super) fn notes(&self) -> Vec<String> {
        let Plot { chart, x, y, .. } = &self.plot;
        let mut notes = chart.notes.clone();
        let unknown = points(chart).filter(|point| point.y.and_then(drawable).is_none()).count();
        if unknown > 0 {
            let are = if unknown == 1 { "point is" } else { "points are" };
            notes.push(format!("{unknown} {are} unknown and not drawn."));
        }
        if y.begins_above_zero() {
            notes.push("The vertical axis does not begin at 0.".into());
        }
        let is_moved = |point: &Point| {
            point.y.and_then(drawable).is_some_and(|value| y.place(value).1)
                || drawable(point.x).is_some_and(|value| x.place(value).1)
        };
        if !matches!(chart.kind, Kind::Bars | Kind::StackedBars) && points(chart).any(is_moved) {
            notes.push("0 has no place on a logarithmic axis and is drawn at its edge.".into());
        }
        notes
    }

    pub(super) fn draw(&self) -> String {
        match self.extent {
            Extent::Whole => self.draw_whole(),
            Extent::Plot => {
                let id = escaped(&self.plot.chart.id);
                let mut pen = Pen::new(
                    WIDTH,
                    self.heading() + 10.0,
                    &format!("role=\"img\" aria-labelledby=\"title-{id}\" font-family=\"{FONTS}\""),
                );
                self.draw_plot(&mut pen);
                pen.finish()
            }
        }
    }

    fn draw_whole(&self) -> String {
        let rows = legend(self.plot.chart);
        let mut notes = self.notes();
        let beyond = self.marks().into_iter().filter(|(_, is_drawn)| !is_drawn);
        notes.extend(beyond.map(|(mark, _)| format!("{mark} is beyond what is drawn.")));
        let notes: Vec<String> =
            notes.iter().flat_map(|note| wrapped(note, NOTE.size, WIDTH - 2.0 * EDGE)).collect();
        let legend = self.heading() + 22.0;
        let below = legend + 19.0 * rows.len() as f64;
        let height = below + 15.0 * notes.len() as f64 + 10.0;
        let mut pen = Pen::new(WIDTH, height, &format!("role=\"img\" font-family=\"{FONTS}\""));
        pen.words("title", &self.plot.chart.title);
        let sheet = "fill=\"#ffffff\"";
        pen.rectangle([0.0, 0.0], [WIDTH, height], sheet, "");
        for (nth, line) in self.title.iter().enumerate() {
            pen.text(line, [EDGE, EDGE + 14.0 + 20.0 * nth as f64], TITLE);
        }
        self.draw_plot(&mut pen);
        draw_legend(&mut pen, self.plot.chart, &self.plot.looks, &rows, legend);
        for (nth, line) in notes.iter().enumerate() {
            pen.text(line, [EDGE, below + 8.0 + 15.0 * nth as f64], NOTE);
        }
        pen.finish()
    }

    /// Position of the horizontal axis title.
    fn heading(&self) -> f64 {
        self.top + PLOT_HEIGHT + self.height_under() + 16.0
    }

    fn draw_plot(&self, pen: &mut Pen) {
        let chart = self.plot.chart;
        pen.words("desc", &format!("{} against {}", self.plot.y.title(), self.plot.x.title()));
        self.definitions(pen);
        self.axes(pen);
        pen.group(&format!("clip-path=\"url(#{})\"", self.clip()));
        self.plot.draw(pen);
        pen.end();
        self.draw_marks(pen);
        if points(chart).all(|point| point.y.and_then(drawable).is_none()) {
            let middle = [(self.left + self.right) / 2.0, self.top + PLOT_HEIGHT / 2.0];
            pen.text("nothing is known that could be drawn", middle, Style { is_pale: true, ..HEADING });
        }
        pen.text(&self.plot.x.title(), [(self.left + self.right) / 2.0, self.heading()], HEADING);
        for (nth, line) in self.side_heading().iter().enumerate() {
            let middle = [EDGE + 8.0 + 16.0 * nth as f64, self.top + PLOT_HEIGHT / 2.0];
            pen.text(line, middle, Style { turned: 90.0, ..HEADING });
        }
    }

    pub(super) fn clip(&self) -> String {
        own_id("plot", self.plot.chart)
    }

    /// The clip path of the plot, with room for markers, and the hatching if needed.
    fn definitions(&self, pen: &mut Pen) {
        let [x, y, width, height] =
            [self.left - 6.0, self.top - 6.0, self.right - self.left + 12.0, PLOT_HEIGHT + 12.0].map(pixels);
        pen.raw(&format!(
            "<defs><clipPath id=\"{}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>",
            self.clip()
        ));
        if let Some(look) = self.plot.looks.iter().find(|look| look.is_hatched) {
            pen.raw(&format!(
                "<pattern id=\"{}\" {} width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"rotate(45)\"><rect class=\"paper\" width=\"6\" height=\"6\" fill=\"#ffffff\"/>\
                 <rect width=\"3\" height=\"6\" fill=\"currentColor\"/></pattern>",
                own_id("hatch", self.plot.chart),
                coloured(look, "hatch")
            ));
        }
        pen.raw("</defs>\n");
    }

    fn axes(&self, pen: &mut Pen) {
        let bottom = self.top + PLOT_HEIGHT;
        let grid = "class=\"grid\" stroke=\"#e2e2e2\" stroke-width=\"1\"";
        let axis = "class=\"axis\" stroke=\"#444444\" stroke-width=\"1.2\"";
        let size = [self.right - self.left, PLOT_HEIGHT];
        pen.rectangle([self.left, self.top], size, "class=\"area\" fill=\"none\"", "");
        let mut last = f64::INFINITY;
        for Tick { at, label } in self.plot.y.ticks(6) {
            let is_free = last - at >= TICK.size + 2.0;
            if label.is_empty() || !is_free {
                pen.line([self.left - 3.0, at], [self.left, at], axis);
                continue;
            }
            last = at;
            pen.line([self.left, at], [self.right, at], grid);
            pen.line([self.left - 5.0, at], [self.left, at], axis);
            pen.text(&label, [self.left - 8.0, at + 4.0], Style { anchor: Anchor::End, ..TICK });
        }
        match &self.under {
            Under::Numbers => self.numbers_under(pen, bottom, grid, axis),
            Under::Level(names) => {
                for (tick, lines) in self.plot.x.ticks(names.len()).iter().zip(names) {
                    for (nth, line) in lines.iter().enumerate() {
                        pen.text(line, [tick.at, bottom + 18.0 + 15.0 * nth as f64], TICK);
                    }
                }
            }
            Under::Turned(names) => {
                for (tick, name) in self.plot.x.ticks(names.len()).iter().zip(names) {
                    let style = Style { anchor: Anchor::End, turned: TURN, ..TICK };
                    pen.text(name, [tick.at + 4.0, bottom + 14.0], style);
                }
            }
        }
        pen.line([self.left, self.top], [self.left, bottom], axis);
        pen.line([self.left, bottom], [self.right, bottom], axis);
        let ground = self.plot.y.ground();
        if ground > self.top && ground < bottom - 0.5 {
            pen.line([self.left, ground], [self.right, ground], axis);
        }
    }

    fn numbers_under(&self, pen: &mut Pen, bottom: f64, grid: &str, axis: &str) {
        let mut last = f64::NEG_INFINITY;
        for Tick { at, label } in self.plot.x.ticks(8) {
            let half = width(&label, TICK.size) / 2.0;
            if label.is_empty() || at - half < last + 8.0 {
                pen.line([at, bottom], [at, bottom + 3.0], axis);
                continue;
            }
            last = at + half;
            pen.line([at, self.top], [at, bottom], grid);
            pen.line([at, bottom], [at, bottom + 5.0], axis);
            pen.text(&label, [at, bottom + 18.0], TICK);
        }
    }
}

/// Series numbers in rows of the legend.
pub(super) fn legend(chart: &Chart) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut free = 0.0;
    for (nth, series) in chart.series.iter().enumerate() {
        let wide = SWATCH + width(&series.name, LEGEND.size) + GAP;
        match rows.last_mut().filter(|_| wide <= free) {
            Some(row) => row.push(nth),
            None => {
                free = WIDTH - 2.0 * EDGE;
                rows.push(vec![nth]);
            }
        }
        free -= wide;
    }
    rows
}

/// Samples and names of series, in rows of their numbers.
pub(super) fn draw_legend(pen: &mut Pen, chart: &Chart, looks: &[Look], rows: &[Vec<usize>], top: f64) {
    for (nth, row) in rows.iter().enumerate() {
        let (mut x, y) = (EDGE, top + 19.0 * nth as f64);
        for &which in row {
            let (series, look) = (&chart.series[which], &looks[which]);
            pen.group(&coloured(look, "sample"));
            sample(pen, chart, series.role, look, [x, y - 4.0]);
            pen.end();
            pen.text(&series.name, [x + SWATCH, y], LEGEND);
            x += SWATCH + width(&series.name, LEGEND.size) + GAP;
        }
    }
}

/// A legend sample of a series, from this point on.
fn sample(pen: &mut Pen, chart: &Chart, role: Role, look: &Look, [x, y]: [f64; 2]) {
    match chart.kind {
        Kind::Lines => {
            let line = format!("stroke=\"currentColor\" stroke-width=\"2\"{}", dash(look));
            pen.line([x, y], [x + 24.0, y], &line);
            if look.is_marked {
                draw_marker(pen, [x + 12.0, y], look, "", "");
            }
        }
        Kind::Stacked | Kind::Bars | Kind::StackedBars | Kind::Ranked if role != Role::Total => {
            pen.rectangle([x + 6.0, y - 6.0], [16.0, 12.0], &filling(chart, look), "");
        }
        _ => draw_marker(pen, [x + 16.0, y], look, "", ""),
    }
}

/// The sample as a separate drawing, for the legend of a page.
pub(super) fn sample_alone(chart: &Chart, role: Role, look: &Look) -> String {
    let attributes = format!("{} aria-hidden=\"true\"", coloured(look, "sample"));
    let mut pen = Pen::new(28.0, 14.0, &attributes);
    sample(&mut pen, chart, role, look, [1.0, 7.0]);
    pen.finish()
}

/// Rotation in degrees of names that are too long.
const TURN: f64 = 35.0;
/// Width of a legend sample, and the gap before the next one.
const SWATCH: f64 = 30.0;
const GAP: f64 = 18.0;

/// The values that both axes must cover, without marks.
fn values(chart: &Chart) -> (Vec<f64>, Vec<f64>) {
    let ends = points(chart).filter_map(|point| point.interval.filter(|_| point.y.is_some())).flatten();
    let mut up: Vec<f64> = match chart.kind {
        Kind::Stacked | Kind::StackedBars => {
            let layers = layers(chart).into_iter().flatten().flatten();
            layers.flat_map(|layer| [layer.low, layer.high]).chain(ends).collect()
        }
        Kind::Lines | Kind::Points | Kind::Bars | Kind::Ranked | Kind::Forest => {
            points(chart).filter_map(|point| point.y).chain(ends).filter_map(drawable).collect()
        }
    };
    up.sort_by(f64::total_cmp);
    (shapes::places(chart), up)
}

/// Whether points are so far above 0, and so close to each other, that an axis from 0 would hide their differences.
fn is_high(chart: &Chart, up: &[f64]) -> bool {
    let ends = extremes(up.iter().copied());
    chart.kind == Kind::Points
        && matches!(chart.y.scale, Scale::Linear)
        && ends.is_some_and(|(low, high)| low > 0.7 * high && high > low)
}
