//! Writes SVG elements; the width of a text, its line breaks, and escaping. [`pixels`] replaces NaN, so no element contains it.

use std::fmt::Write;

use capbench_model::figures::shortest;

/// Colours outside the series, for a white sheet. A page styles these classes itself.
const INK: &str = "class=\"ink\" fill=\"#222222\"";
const PALE: &str = "class=\"pale\" fill=\"#555555\"";

pub(super) struct Pen {
    out: String,
}

/// The end of a text that its position refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Text style.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) size: f64,
    pub(super) is_pale: bool,
    pub(super) anchor: Anchor,
    pub(super) is_bold: bool,
    /// Degrees, counter-clockwise.
    pub(super) turned: f64,
}

/// A length to a hundredth of a pixel; 0 for NaN.
pub(super) fn pixels(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    shortest(value, 2)
}

impl Pen {
    /// Starts a drawing of this size; `attributes` are those of its root.
    pub(super) fn new(width: f64, height: f64, attributes: &str) -> Self {
        let mut pen = Self { out: String::with_capacity(16 << 10) };
        let (w, h) = (pixels(width), pixels(height));
        pen.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             {attributes}>\n"
        ));
        pen
    }

    /// Starts a drawing of this height that fills the width of its place.
    pub(super) fn within(height: f64, attributes: &str) -> Self {
        let mut pen = Self { out: String::with_capacity(4 << 10) };
        let height = pixels(height);
        pen.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" height=\"{height}\" {attributes}>\n"
        ));
        pen
    }

    /// A text element without position: `title`, `desc`.
    pub(super) fn words(&mut self, element: &str, text: &str) {
        let _ = writeln!(self.out, "<{element}>{}</{element}>", escaped(text));
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Everything until [`Self::end`] has these attributes.
    pub(super) fn group(&mut self, attributes: &str) {
        let _ = writeln!(self.out, "<g {attributes}>");
    }

    pub(super) fn end(&mut self) {
        self.out.push_str("</g>\n");
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], attributes: &str) {
        let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(pixels);
        let _ = writeln!(self.out, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {attributes}/>");
    }

    /// A line through points, open or closed, with its tooltip.
    pub(super) fn path(&mut self, points: &[[f64; 2]], is_closed: bool, attributes: &str, tooltip: &str) {
        let mut way = String::new();
        for (nth, [x, y]) in points.iter().enumerate() {
            let _ = write!(way, "{}{} {}", if nth == 0 { "M" } else { "L" }, pixels(*x), pixels(*y));
        }
        if is_closed {
            way.push('Z');
        }
        let _ = write!(self.out, "<path d=\"{way}\" {attributes}");
        self.close("path", tooltip);
    }

    pub(super) fn rectangle(&mut self, from: [f64; 2], size: [f64; 2], attributes: &str, tooltip: &str) {
        let [x, y, width, height] = [from[0], from[1], size[0].max(0.0), size[1].max(0.0)].map(pixels);
        let _ =
            write!(self.out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {attributes}");
        self.close("rect", tooltip);
    }

    pub(super) fn circle(&mut self, at: [f64; 2], radius: f64, attributes: &str, tooltip: &str) {
        let [x, y, radius] = [at[0], at[1], radius].map(pixels);
        let _ = write!(self.out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {attributes}");
        self.close("circle", tooltip);
    }

    fn close(&mut self, element: &str, tooltip: &str) {
        if tooltip.is_empty() {
            self.out.push_str("/>\n");
        } else {
            let _ = writeln!(self.out, "><title>{}</title></{element}>", escaped(tooltip));
        }
    }

    pub(super) fn text(&mut self, text: &str, at: [f64; 2], style: Style) {
        let [x, y] = at.map(pixels);
        self.placed_text(text, [&x, &y], style);
    }

    /// A text at a place that may be in percent.
    pub(super) fn placed_text(&mut self, text: &str, [x, y]: [&str; 2], style: Style) {
        let anchor = match style.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.is_bold { " font-weight=\"bold\"" } else { "" };
        let turn = match style.turned {
            0.0 => String::new(),
            degrees => format!(" transform=\"rotate({} {x} {y})\"", pixels(-degrees)),
        };
        let colour = if style.is_pale { PALE } else { INK };
        let _ = writeln!(
            self.out,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" {colour} text-anchor=\"{anchor}\"{weight}{turn}>{}</text>",
            pixels(style.size),
            escaped(text)
        );
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// DejaVu Sans replaces Helvetica and Arial on systems without them and is wider by this factor.
const WIDEST_FONT: f64 = 1.13;

/// Upper bound of a text's width in pixels at this size: close enough to keep labels apart in any of the fonts.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | 'I' => 0.25,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '/' | '-' | '[' | ']' => 0.33,
        'm' | 'w' | '%' | '@' => 0.86,
        'M' | 'W' => 0.9,
        c if c.is_ascii_uppercase() => 0.69,
        c if c.is_ascii() => 0.556,
        _ => 0.6,
    };
    text.chars().map(of).sum::<f64>() * size * WIDEST_FONT
}

/// Wraps at spaces to lines of up to this width; a longer word gets its own line.
pub(super) fn wrapped(text: &str, size: f64, widest: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= widest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Escaped for an element or an attribute. Characters outside XML 1.0 are replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c < ' ' || ('\u{7f}'..='\u{9f}').contains(&c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}
