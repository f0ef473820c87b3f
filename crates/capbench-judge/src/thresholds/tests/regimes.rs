//! Cost regimes of a sweep of work.

use super::*;
use crate::sweep::regimes::Regimes;

fn points(times_ns: &[f64], step: f64, spread_ns: f64) -> Vec<Saturated> {
    let mut points = Vec::new();
    for (nth, &time_ns) in times_ns.iter().enumerate() {
        points.push(Saturated { work: step * nth as f64, time_ns, spread_ns });
    }
    points
}

#[test]
fn a_point_is_on_a_line_up_to_a_fiftieth_of_its_time() {
    for (off_ns, is_line) in [(39.0, true), (43.0, false)] {
        let points = points(&[1000.0, 2000.0 + off_ns, 3000.0, 4000.0], 100.0, 0.0);
        assert_eq!(find(&points, None).is_some(), is_line, "{off_ns} of 2000 ns");
    }
}

/// Eight points of 100 ns with an error of 5 ns: four, and four that cost more.
fn step(more_ns: f64) -> Regimes {
    let mut times_ns = [100.0; 8];
    for time_ns in &mut times_ns[4..] {
        *time_ns += more_ns;
    }
    find(&points(&times_ns, 1.0, 5.0), Some(0.001)).unwrap()
}

#[test]
fn a_plateau_must_explain_four_times_the_logarithm_of_the_points() {
    // Two levels explain 2 d^2 / 25 of the deviation, and a cut costs 8.3: 10.2 ns.
    for (more_ns, plateaus) in [(9.9, 1), (10.5, 2)] {
        assert_eq!(step(more_ns).plateaus.len().max(1), plateaus, "{more_ns} ns more");
    }
}

#[test]
fn the_points_of_a_plateau_vary_by_a_tenth_of_its_cost_for_each() {
    // Four points, whose errors explain any difference.
    for (off_ns, plateaus) in [(19.5, 1), (20.5, 0)] {
        let points = points(&[100.0 - off_ns, 100.0, 100.0, 100.0 + off_ns], 1.0, 100.0);
        assert_eq!(find(&points, Some(0.001)).unwrap().plateaus.len(), plateaus, "{off_ns} ns off");
    }
}

#[test]
fn the_time_of_a_unit_of_work_is_known_to_three_standard_errors() {
    let mut times_ns = Vec::new();
    for nth in 0..11 {
        times_ns.push(1000.0 + 100.0 * f64::from(nth));
    }
    // The works deviate by 110 in squares from their mean, so that one standard error is 30 / 10.49.
    let unit = find(&points(&times_ns, 1.0, 30.0), None).unwrap().unit;
    assert!(unit.is_fitted && (8.0..9.0).contains(&unit.error_ns), "{unit:?}");
}
