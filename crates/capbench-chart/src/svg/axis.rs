//! An axis: maps values to pixels, and places ticks and labels.

use super::labels::{decimal, logarithmic_unit, power_label, scaling};
use crate::chart::{Axis, Scale, Unit};
use crate::figures;

/// Larger values are drawn as this, so that the difference of two stays finite.
const LARGEST: f64 = 1e300;
/// Smaller values are drawn as 0.
const SMALLEST: f64 = 1e-290;
/// Values in a range narrower than this share of its ends count as equal.
const NARROWEST: f64 = 1e-9;

/// A value that can be drawn; `None` for NaN.
pub(super) fn drawable(value: f64) -> Option<f64> {
    if value.is_nan() {
        None
    } else if value.abs() < SMALLEST {
        Some(0.0)
    } else {
        Some(value.clamp(-LARGEST, LARGEST))
    }
}

/// Where an axis ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At ticks, 0 included.
    AtTicks,
    /// At ticks, 0 included only if it is near.
    Near,
    /// A little beyond its values.
    Padded,
    /// At its values.
    Tight,
}

#[derive(Clone, Copy)]
enum Division {
    Linear {
        low: f64,
        high: f64,
    },
    /// In powers of ten.
    Logarithmic {
        low: f64,
        high: f64,
    },
    Names(usize),
}

/// A tick.
pub(super) struct Tick {
    /// Where, in pixels.
    pub(super) at: f64,
    /// Its label; empty for a small one.
    pub(super) label: String,
}

/// An axis with its range and its place in the drawing.
pub(super) struct Ruler<'a> {
    axis: &'a Axis,
    division: Division,
    /// Divisor of the values of a linear axis, and their unit after the division.
    factor: f64,
    unit: String,
    begin: f64,
    end: f64,
}

impl<'a> Ruler<'a> {
    /// An axis for these values, without a place.
    pub(super) fn new(axis: &'a Axis, values: &[f64], ends: Ends) -> Self {
        let (factor, unit) = match axis.scale {
            Scale::Linear => {
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                scaling(axis.unit, largest)
            }
            Scale::Logarithmic => (1.0, logarithmic_unit(axis.unit).into()),
            Scale::Names(_) => (1.0, String::new()),
        };
        let division = match &axis.scale {
            Scale::Linear => linear(values, ends, factor),
            Scale::Logarithmic => logarithmic(values),
            Scale::Names(names) => Division::Names(names.len()),
        };
        Self { axis, division, factor, unit, begin: 0.0, end: 1.0 }
    }

    /// Places it from one pixel to another.
    pub(super) fn put(&mut self, begin: f64, end: f64) {
        (self.begin, self.end) = (begin, end);
    }

    /// Title with the unit of its labels.
    pub(super) fn title(&self) -> String {
        match (self.axis.label.as_str(), self.unit.as_str()) {
            (label, "") => label.into(),
            ("", unit) => unit.into(),
            (label, unit) => format!("{label} ({unit})"),
        }
    }

    /// Pixel of a value, and whether the value was moved to the edge: a logarithmic axis moves values up to 0.
    pub(super) fn place(&self, value: f64) -> (f64, bool) {
        let (share, is_moved) = match self.division {
            Division::Linear { low, high } => ((value - low) / (high - low), false),
            Division::Logarithmic { .. } if value <= 0.0 => (0.0, true),
            Division::Logarithmic { low, high } => ((value.log10() - low) / (high - low), false),
            Division::Names(names) => ((value + 0.5) / names.max(1) as f64, false),
        };
        // Values beyond the ends, such as marks, stay near the drawing.
        (self.begin + share.clamp(-1.0, 2.0) * (self.end - self.begin), is_moved)
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.place(value).0
    }

    /// The pixels of its start and end.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.begin, self.end]
    }

    /// Where bars start: at 0, or at the edge if 0 is not on the axis.
    pub(super) fn ground(&self) -> f64 {
        match self.division {
            Division::Logarithmic { .. } => self.begin,
            Division::Linear { .. } | Division::Names(_) => self.at(0.0),
        }
    }

    /// Whether it is linear and starts above 0.
    pub(super) fn begins_above_zero(&self) -> bool {
        matches!(self.division, Division::Linear { low, .. } if low > 0.0)
    }

    /// Width of a name in pixels; `None` on a numeric axis.
    pub(super) fn band(&self) -> Option<f64> {
        match self.division {
            Division::Names(names) => Some((self.end - self.begin).abs() / names.max(1) as f64),
            Division::Linear { .. } | Division::Logarithmic { .. } => None,
        }
    }

    /// A value in words, with its unit.
    pub(super) fn in_words(&self, value: f64) -> String {
        if let Scale::Names(names) = &self.axis.scale {
            return name(names, value).unwrap_or_default().into();
        }
        let symbol = self.axis.unit.symbol();
        let number = figures::number(value, self.axis.unit);
        if symbol.is_empty() { number } else { format!("{number} {symbol}") }
    }

    /// Its ticks, about this number of them with a label.
    pub(super) fn ticks(&self, about: usize) -> Vec<Tick> {
        match self.division {
            Division::Linear { low, high } => {
                let step = step((high - low) / self.factor, about);
                multiples(low / self.factor, high / self.factor, step)
                    .map(|value| Tick { at: self.at(value * self.factor), label: decimal(value, step) })
                    .collect()
            }
            Division::Logarithmic { low, high } => self.powers(low, high, about),
            Division::Names(names) => {
                let label = |nth: usize| match &self.axis.scale {
                    Scale::Names(names) => names.get(nth).cloned().unwrap_or_default(),
                    Scale::Linear | Scale::Logarithmic => String::new(),
                };
                (0..names).map(|nth| Tick { at: self.at(nth as f64), label: label(nth) }).collect()
            }
        }
    }

    /// Ticks at powers of ten (of two for memory). More ticks between few powers, fewer labels on many.
    fn powers(&self, low: f64, high: f64, about: usize) -> Vec<Tick> {
        let label = |value: f64| power_label(self.axis.unit, value);
        let tick = |value: f64, is_labelled: bool| Tick {
            at: self.at(value),
            label: if is_labelled { label(value) } else { String::new() },
        };
        let is_inside = |value: f64| {
            let power = value.log10();
            power >= low - 1e-9 && power <= high + 1e-9
        };
        if self.axis.unit == Unit::Bytes && low >= 0.0 && high < 18.0 {
            let (first, last) =
                ((low / 2f64.log10()).ceil() as i32, (high / 2f64.log10() + 1e-9).floor() as i32);
            let every = ((last - first + 1).max(1) as usize).div_ceil(about + 4).max(1) as i32;
            return (first..=last).map(|power| tick(2f64.powi(power), power % every == 0)).collect();
        }
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        let decades = (last - first).max(1) as usize;
        // Power labels are short, and few labels are hard to interpolate.
        let every = decades.div_ceil(about + 4).max(1) as i32;
        let mut ticks = Vec::new();
        for power in first..=last {
            for times in 1..10 {
                let value = f64::from(times) * 10f64.powi(power);
                let is_crowded = decades > 12 && (times > 1 || power.rem_euclid(every) != 0);
                if !is_inside(value) || is_crowded {
                    continue;
                }
                let is_labelled = match times {
                    1 => power.rem_euclid(every) == 0,
                    2 | 5 => high - low <= 2.0,
                    _ => false,
                };
                ticks.push(tick(value, is_labelled));
            }
        }
        ticks
    }
}

fn name(names: &[String], value: f64) -> Option<&str> {
    if value < 0.0 { None } else { names.get(value.round() as usize).map(String::as_str) }
}

pub(super) fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

fn linear(values: &[f64], ends: Ends, factor: f64) -> Division {
    let Some((mut low, mut high)) = extremes(values.iter().copied()) else {
        return Division::Linear { low: 0.0, high: factor };
    };
    let is_one = |low: f64, high: f64| high - low <= NARROWEST * low.abs().max(high.abs());
    if matches!(ends, Ends::AtTicks | Ends::Near) {
        if ends == Ends::AtTicks || is_one(low, high) {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if is_one(low, high) {
            return Division::Linear { low: 0.0, high: factor };
        }
        let step = step((high - low) / factor, 6) * factor;
        return Division::Linear { low: (low / step).floor() * step, high: (high / step).ceil() * step };
    }
    if low > 0.0 && low < 0.3 * high {
        low = 0.0;
    }
    if is_one(low, high) {
        let room = low.abs() * 0.5;
        (low, high) = if low == 0.0 { (0.0, factor) } else { (low - room, high + room) };
    }
    let room = if ends == Ends::Padded { 0.03 * (high - low) } else { 0.0 };
    Division::Linear { low: low - room, high: high + room }
}

/// From the 1, 2 or 5 below the smallest value to the one above the largest.
fn logarithmic(values: &[f64]) -> Division {
    let Some((least, largest)) = extremes(values.iter().copied().filter(|value| *value > 0.0)) else {
        return Division::Logarithmic { low: 0.0, high: 1.0 };
    };
    let steps = [0.0, 2f64.log10(), 5f64.log10(), 1.0];
    let part = |power: f64| power - power.floor();
    let below = steps.iter().rev().find(|step| **step <= part(least.log10()) + 1e-9).unwrap_or(&0.0);
    let above = steps.iter().find(|step| **step >= part(largest.log10()) - 1e-9).unwrap_or(&1.0);
    let (mut low, mut high) = (least.log10().floor() + below, largest.log10().floor() + above);
    if high - low < 0.5 {
        (low, high) = (low - 0.5, high + 0.5);
    }
    Division::Logarithmic { low, high }
}

/// The step that divides a range into about this number of parts: 1, 2, 2.5 or 5 times a power of ten.
fn step(range: f64, about: usize) -> f64 {
    let raw = range / about.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let times = raw / power;
    let nice =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|nice| times <= nice * (1.0 + 1e-9)).unwrap_or(10.0);
    nice * power
}

/// Multiples of a step between two ends; few even for distant ends.
fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    let between = last - first + 1.0;
    let count = if between.is_finite() { between.clamp(0.0, 40.0) as usize } else { 0 };
    // No negative zero.
    (0..count).map(move |nth| (first + nth as f64) * step + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Unit, scale: Scale) -> Axis {
        Axis { label: "Load".into(), unit, scale }
    }

    fn labels(axis: &Axis, values: &[f64], ends: Ends) -> (String, Vec<String>) {
        let mut ruler = Ruler::new(axis, values, ends);
        ruler.put(0.0, 600.0);
        let labels = ruler.ticks(6).into_iter().map(|tick| tick.label).filter(|label| !label.is_empty());
        (ruler.title(), labels.collect())
    }

    #[test]
    fn labels_are_round_numbers_in_a_unit_that_the_title_names() {
        let rate = axis(Unit::PacketsPerSecond, Scale::Linear);
        let (title, found) = labels(&rate, &[0.0, 1_234_567.0], Ends::AtTicks);
        assert_eq!(title, "Load (million packets/s)");
        assert_eq!(found, ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]);
        let share = axis(Unit::Ratio, Scale::Linear);
        assert_eq!(
            labels(&share, &[0.0, 1.0], Ends::AtTicks),
            ("Load (%)".into(), ["0", "20", "40", "60", "80", "100"].map(String::from).to_vec())
        );
        let (title, found) =
            labels(&axis(Unit::Nanoseconds, Scale::Linear), &[-40_000.0, 61_000.0], Ends::AtTicks);
        assert_eq!(
            (title.as_str(), found[0].as_str(), found[found.len() - 1].as_str()),
            ("Load (µs)", "-40", "80")
        );
    }

    #[test]
    fn labels_of_powers_have_their_units() {
        let time = axis(Unit::Nanoseconds, Scale::Logarithmic);
        assert_eq!(
            labels(&time, &[2_000.0, 3e9], Ends::AtTicks),
            ("Load".into(), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].map(String::from).to_vec())
        );
        let memory = axis(Unit::Bytes, Scale::Logarithmic);
        let (_, found) = labels(&memory, &[4096.0, 4096.0 * 64.0], Ends::AtTicks);
        assert!(
            found.contains(&"4 KiB".into()) && !found.iter().any(|label| label.contains('.')),
            "{found:?}"
        );
        let count = axis(Unit::Count, Scale::Logarithmic);
        assert_eq!(labels(&count, &[8.0, 32.0], Ends::AtTicks).1, ["5", "10", "20", "50"]);
    }

    #[test]
    fn ticks_of_any_values_are_few_and_inside() {
        let sets: [&[f64]; 8] = [
            &[],
            &[0.0],
            &[5.0, 5.0],
            &[-3.0],
            &[1e300, -1e300],
            &[1e-290, 1e300],
            &[1e15, 1e15 + 0.25],
            &[-1e-200, 1e-200],
        ];
        for values in sets {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                for ends in [Ends::AtTicks, Ends::Near, Ends::Padded, Ends::Tight] {
                    let axis = axis(Unit::Nanoseconds, scale.clone());
                    let mut ruler = Ruler::new(&axis, values, ends);
                    ruler.put(0.0, 100.0);
                    let ticks = ruler.ticks(6);
                    assert!(ticks.len() < 150, "{values:?}: {}", ticks.len());
                    for tick in ticks {
                        assert!((-1.0..=101.0).contains(&tick.at), "{values:?} {scale:?}: {}", tick.at);
                        assert!(!tick.label.contains("NaN") && !tick.label.contains("inf"), "{}", tick.label);
                    }
                    for value in values {
                        assert!((-1e-6..=100.0 + 1e-6).contains(&ruler.at(*value)), "{values:?} {scale:?}");
                    }
                }
            }
        }
    }
}
