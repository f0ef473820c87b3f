//! Decisions on both sides of their threshold. Each side is within a factor of 1.5, so that another threshold fails a test.

use crate::scalability::ScalabilityFit;

#[test]
fn rates_follow_the_scalability_law_within_15_percent() {
    for (off, follows) in [(0.1, true), (0.15, false)] {
        let mut rates = Vec::new();
        for workers in 1..=12 {
            let factor = if workers % 2 == 0 { 1.0 + off } else { 1.0 - off };
            rates.push((f64::from(workers), vec![1e6 * f64::from(workers) * factor]));
        }
        assert_eq!(ScalabilityFit::of(&rates).is_ok(), follows, "{off}");
    }
}
