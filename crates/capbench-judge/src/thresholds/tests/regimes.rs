//! Cost regimes of a sweep of work, on both sides of each threshold.

use crate::sweep::regimes::{Regimes, Saturated, find};

/// A requested time of a unit of work that is so short that the time of a packet is its cost.
const FREE_WORK_NS: f64 = 0.001;

/// Points of a sweep of work at which the application is the limit.
struct Points<'t> {
    /// Work of the second point; each further point has as much more.
    work_step: f64,
    /// The time of a packet at each point.
    times_ns: &'t [f64],
    /// The deviation of the repeats from each time.
    spread_ns: f64,
}

impl Points<'_> {
    fn saturated(&self) -> Vec<Saturated> {
        let mut points = Vec::new();
        for (nth, &time_ns) in self.times_ns.iter().enumerate() {
            let work = self.work_step * nth as f64;
            points.push(Saturated { work, time_ns, spread_ns: self.spread_ns });
        }
        points
    }

    fn regimes_of_free_work(&self) -> Regimes {
        find(&self.saturated(), Some(FREE_WORK_NS)).unwrap()
    }
}

#[test]
fn a_point_is_on_a_line_up_to_a_fiftieth_of_its_time() {
    // The slope and the level of a line are medians, so one point off the line does not move it. A fiftieth of 2039 ns is 40.8 ns,
    // of 2043 ns 40.9 ns. Without a requested time of a unit of work, there are no regimes without a line through all four points.
    for (off_ns, is_line) in [(39.0, true), (43.0, false)] {
        let times_ns = [1000.0, 2000.0 + off_ns, 3000.0, 4000.0];
        let points = Points { work_step: 100.0, times_ns: &times_ns, spread_ns: 0.0 };
        assert_eq!(find(&points.saturated(), None).is_some(), is_line, "{off_ns} of 2000 ns");
    }
}

#[test]
fn a_point_is_on_a_line_up_to_twice_the_deviation_of_its_repeats() {
    for (off_ns, is_line) in [(95.0, true), (105.0, false)] {
        let times_ns = [1000.0, 2000.0 + off_ns, 3000.0, 4000.0];
        let points = Points { work_step: 100.0, times_ns: &times_ns, spread_ns: 50.0 };
        assert_eq!(
            find(&points.saturated(), None).is_some(),
            is_line,
            "{off_ns} ns off, a deviation of 50 ns"
        );
    }
}

#[test]
fn a_plateau_may_rise_by_twice_the_noise_of_its_points() {
    // Four points rise evenly. A tenth of their cost is noise, so they are one piece, and 0.08 of the cost is less than twice the noise.
    for (rise_ns, plateaus) in [(19.0, 1), (21.0, 0)] {
        let times_ns = [100.0, 100.0 + rise_ns / 3.0, 100.0 + 2.0 * rise_ns / 3.0, 100.0 + rise_ns];
        let points = Points { work_step: 1.0, times_ns: &times_ns, spread_ns: 10.0 };
        assert_eq!(points.regimes_of_free_work().plateaus.len(), plateaus, "{rise_ns} ns");
    }
}

#[test]
fn a_plateau_must_explain_four_times_the_logarithm_of_the_points() {
    // Four points at 100 ns, and four that cost d ns more, each with an error of 5 ns. If the points are cut in the middle, the two
    // levels explain 8 points x (d / 2)^2 / 5^2 = 2 d^2 / 25 of the deviation. A cut costs 4 ln 8 = 8.3, so they are cut from
    // d = 10.2 ns on. Uncut, the points rise too much for a plateau.
    for (more_ns, plateaus) in [(9.9, 0), (10.5, 2)] {
        let mut times_ns = [100.0; 8];
        for time_ns in &mut times_ns[4..] {
            *time_ns += more_ns;
        }
        let points = Points { work_step: 1.0, times_ns: &times_ns, spread_ns: 5.0 };
        assert_eq!(points.regimes_of_free_work().plateaus.len(), plateaus, "{more_ns} ns more");
    }
}

#[test]
fn the_costs_of_a_plateau_may_differ_by_a_tenth_times_the_number_of_its_points() {
    // Four points of about 100 ns may differ by 4 x 10 ns, so two of them may be off by 20 ns in both directions. Their error of
    // 100 ns explains that as noise, so they are one piece.
    for (off_ns, plateaus) in [(19.5, 1), (20.5, 0)] {
        let times_ns = [100.0 - off_ns, 100.0, 100.0, 100.0 + off_ns];
        let points = Points { work_step: 1.0, times_ns: &times_ns, spread_ns: 100.0 };
        assert_eq!(points.regimes_of_free_work().plateaus.len(), plateaus, "{off_ns} ns off");
    }
}

#[test]
fn the_time_of_a_unit_of_work_is_known_to_three_standard_errors() {
    let mut times_ns = Vec::new();
    for work in 0..11 {
        times_ns.push(1000.0 + 100.0 * f64::from(work));
    }
    // The squared differences of the works 0 to 10 from their mean 5 have the sum 110. So with an error of 30 ns at each point one
    // standard error of the slope is 30 / sqrt(110) = 2.86 ns, and three are 8.6 ns.
    let points = Points { work_step: 1.0, times_ns: &times_ns, spread_ns: 30.0 };
    let unit = find(&points.saturated(), None).unwrap().unit;
    assert!(unit.is_fitted && (8.0..9.0).contains(&unit.error_ns), "{unit:?}");
}
