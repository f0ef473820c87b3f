//! The loads that a multiple loss ratio search uses: a geometric series from the minimum load to the maximum. Relative widths
//! are then differences of whole numbers.

use capbench_frames::rates::Pps;

use crate::{PlanError, Result};
use capbench_judge::search::Ratio;
use capbench_judge::thresholds::{SERIES_LENGTH, SERIES_ROUNDING, STEP_WIDTH_LEAST, STEP_WIDTH_MOST};

/// A load by its index in the series: 0 is the minimum.
pub(super) type Step = i64;

#[derive(Clone, Debug)]
pub(super) struct Grid {
    least: Pps,
    maximum: Pps,
    /// Logarithm of the ratio of neighbours.
    unit: f64,
    top: Step,
}

fn logarithm(width: Ratio) -> f64 {
    -(-width.get()).ln_1p()
}

impl Grid {
    /// The shortest series in which every width is close to a whole number of steps.
    pub(super) fn new(least: Pps, maximum: Pps, widths: &[Ratio]) -> Result<Self> {
        let span = (maximum.get() / least.get()).ln();
        // `None` if a series of this length is close enough, else the first length that can be.
        let longer = |top: Step, width: Ratio| {
            let per_step = logarithm(width) / span;
            let steps = per_step * top as f64;
            let whole = steps.floor();
            let rounded = whole / steps;
            let enough = match rounded {
                _ if (STEP_WIDTH_LEAST..=STEP_WIDTH_MOST).contains(&rounded) => return None,
                _ if rounded > STEP_WIDTH_MOST => whole,
                _ => whole + 1.0,
            };
            Some(((enough / STEP_WIDTH_MOST / per_step).floor() as Step).max(top + 1))
        };
        // Shorter series have a step wider than the narrowest width.
        let narrowest = widths.iter().map(|&width| logarithm(width)).fold(f64::INFINITY, f64::min);
        let first = if narrowest.is_finite() { (span / narrowest).floor().max(1.0) as Step } else { 1 };
        let mut top = first;
        while let Some(longer) = widths.iter().find_map(|&width| longer(top, width)) {
            top = longer;
            if top >= SERIES_LENGTH {
                return Err(PlanError::Search {
                    reason: "the widths of the goals are too small to be searched together; give wider ones"
                        .into(),
                });
            }
        }
        Ok(Self { least, maximum, unit: span / top as f64, top })
    }

    pub(super) fn top(&self) -> Step {
        self.top
    }

    /// A width in steps, at least 1.
    pub(super) fn steps(&self, width: Ratio) -> Step {
        (logarithm(width) / self.unit).floor() as Step
    }

    pub(super) fn load(&self, step: Step) -> Pps {
        match step {
            0 => self.least,
            step if step == self.top => self.maximum,
            step => {
                let load = self.least.get() * (step as f64 * self.unit).exp();
                Pps::new(load).expect("a load between two loads")
            }
        }
    }

    /// The highest index with a load up to this rate, if there is one.
    pub(super) fn at_most(&self, frames_per_second: f64) -> Step {
        ((self.place(frames_per_second) + SERIES_ROUNDING).floor() as Step).clamp(0, self.top)
    }

    /// The lowest index with a load of at least this rate, if there is one.
    pub(super) fn at_least(&self, frames_per_second: f64) -> Step {
        ((self.place(frames_per_second) - SERIES_ROUNDING).ceil() as Step).clamp(0, self.top)
    }

    fn place(&self, frames_per_second: f64) -> f64 {
        (frames_per_second.max(f64::MIN_POSITIVE) / self.least.get()).ln() / self.unit
    }
}

#[cfg(test)]
mod tests {
    use capbench_frames::rates::Pps;
    use proptest::prelude::*;

    use super::{Grid, STEP_WIDTH_LEAST};
    use capbench_judge::search::Ratio;

    fn grid(least: f64, maximum: f64, widths: &[f64]) -> Grid {
        let widths: Vec<_> = widths.iter().map(|&width| Ratio::new(width).unwrap()).collect();
        Grid::new(Pps::new(least).unwrap(), Pps::new(maximum).unwrap(), &widths).unwrap()
    }

    proptest! {
        /// No width becomes wider by rounding, and every load finds its place again.
        #[test]
        fn widths_are_whole_steps_and_loads_have_places(
            least in 1.0f64..1e5, factor in 1.001f64..1e5, widths in proptest::collection::vec(1e-4f64..0.3, 1..4),
        ) {
            let grid = grid(least, least * factor, &widths);
            for &width in &widths {
                let steps = grid.steps(Ratio::new(width).unwrap());
                prop_assert!(steps >= 1);
                let rounded = 1.0 - (-(steps as f64) * grid.unit).exp();
                prop_assert!(rounded <= width && rounded >= width * (STEP_WIDTH_LEAST - 0.01), "{rounded} for {width}");
            }
            for step in [0, 1, grid.top() / 3, grid.top() - 1, grid.top()] {
                let step = step.clamp(0, grid.top());
                prop_assert_eq!(grid.at_most(grid.load(step).get()), step);
                prop_assert_eq!(grid.at_least(grid.load(step).get()), step);
            }
        }
    }

    #[test]
    fn a_width_is_a_little_less_than_the_requested_one_and_never_equal_to_it() {
        // Eight steps would have exactly this width.
        let grid = grid(1.0, 256.0, &[0.5]);
        assert_eq!((grid.top(), grid.steps(Ratio::new(0.5).unwrap())), (105, 13));
    }

    #[test]
    fn a_series_has_up_to_a_hundred_million_steps() {
        let series = |width: f64| {
            let least = Pps::new(1.0).unwrap();
            Grid::new(least, Pps::new(1e9).unwrap(), &[Ratio::new(width).unwrap()])
        };
        assert!(series(2.2e-7).is_ok(), "94 million");
        assert!(series(1.9e-7).is_err(), "109 million");
    }

    #[test]
    fn a_load_has_its_place_up_to_a_millionth_of_a_step() {
        let grid = grid(1000.0, 1_488_095.0, &[0.005]);
        let rate = |off: f64| grid.load(700).get() * (off * grid.unit).exp();
        assert_eq!((grid.at_most(rate(-0.9e-6)), grid.at_most(rate(-1.1e-6))), (700, 699));
        assert_eq!((grid.at_least(rate(0.9e-6)), grid.at_least(rate(1.1e-6))), (700, 701));
    }

    #[test]
    fn the_series_of_the_reference_vector() {
        let grid = grid(1000.0, 1_488_095.0, &[0.005]);
        assert_eq!((grid.top(), grid.at_most(1e6)), (1458, 1378));
        assert!((grid.load(1378).get() - 996_665.47).abs() < 0.01, "{}", grid.load(1378));
    }
}
