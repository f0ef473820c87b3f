//! What rounds of trials in turns show, on both sides of each threshold.

use capbench_model::trial::{Phase, TrialResult};

use super::trial;
use crate::recommendation::turns::{BelowBy, RelationToFirst, Turns, judged, judged_so_far};

/// How the cost of packet-v3 varies in four rounds. Its mean stays on a logarithmic scale, and the standard error of the mean is 0.577 of
/// each deviation.
const UP_AND_DOWN: [f64; 4] = [1.0, -1.0, -1.0, 1.0];

/// Four rounds of recv and packet-v3.
struct Rounds {
    /// Of 100,000 frames: what recv captures, and what packet-v3 does.
    captured: [u64; 2],
    /// The mean cost of packet-v3, by that of recv.
    cost: f64,
    /// By how much it varies, on a logarithmic scale.
    noise: f64,
    /// By how much that what packet-v3 captures varies.
    captured_noise: f64,
}

/// A trial in turns that captured so many of 100,000 frames.
fn in_turns(method: &str, captured: u64, cost_ns: f64) -> TrialResult {
    let mut trial = TrialResult { phase: Phase::Turns, ..trial(100_000, 100_000 - captured) };
    trial.profile.method = method.into();
    trial.cpu.app_ns_per_packet_at_most = Some(cost_ns);
    trial.cpu.kernel_ns_per_packet = Some(0.0);
    trial
}

const EQUAL: Rounds = Rounds { captured: [100_000; 2], cost: 1.0, noise: 0.0, captured_noise: 0.0 };

impl Rounds {
    fn judged(&self) -> Turns {
        self.judged_by(judged)
    }

    fn judged_by(&self, look: fn(&[&TrialResult]) -> Option<Turns>) -> Turns {
        let mut trials = Vec::new();
        for direction in UP_AND_DOWN {
            let cost_ns = 100.0 * self.cost * (self.noise * direction).exp();
            trials.push(in_turns("recv", self.captured[0], 100.0));
            let captured = self.captured[1] as f64 * (self.captured_noise * direction).exp();
            trials.push(in_turns("packet-v3", captured as u64, cost_ns));
        }
        look(&trials.iter().collect::<Vec<_>>()).unwrap()
    }

    /// The relation of the method that is not the first.
    fn second(&self) -> RelationToFirst {
        self.judged().methods[1].relation
    }
}

fn is_below_by_cost(relation: RelationToFirst) -> bool {
    matches!(relation, RelationToFirst::Below { by: BelowBy::Cost, .. })
}

#[test]
fn methods_are_equal_up_to_a_cost_of_a_tenth_more() {
    assert_eq!(Rounds { cost: 1.085, noise: 0.001, ..EQUAL }.second(), RelationToFirst::Equal);
    let dearer = Rounds { cost: 1.115, noise: 0.001, ..EQUAL }.second();
    assert!(is_below_by_cost(dearer), "{dearer:?}");
}

#[test]
fn four_rounds_show_a_difference_of_six_standard_errors_at_the_end() {
    // With 3 degrees of freedom chance explains 5.84 standard errors in a hundredth of the cases: half of what all looks share.
    for (standard_errors, is_shown) in [(6.1, true), (5.6, false)] {
        let noise = 1.5_f64.ln() / (0.577 * standard_errors);
        let relation = Rounds { cost: 1.5, noise, ..EQUAL }.second();
        assert_eq!(is_below_by_cost(relation), is_shown, "{standard_errors} standard errors: {relation:?}");
    }
}

#[test]
fn four_rounds_show_a_difference_of_eleven_standard_errors_while_more_follow() {
    // The seven planned looks share the other half.
    for (standard_errors, is_shown) in [(11.8, true), (10.6, false)] {
        let noise = 1.5_f64.ln() / (0.577 * standard_errors);
        let turns = Rounds { cost: 1.5, noise, ..EQUAL }.judged_by(judged_so_far);
        assert_eq!(is_below_by_cost(turns.methods[1].relation), is_shown, "{standard_errors}: {turns:?}");
    }
}

#[test]
fn four_rounds_show_that_methods_are_equal_if_4_5_standard_errors_are_less_than_a_tenth() {
    // The ends of an interval of 98 % with 3 degrees of freedom. A tenth is 0.0953 on a logarithmic scale.
    for (standard_errors, is_equal) in [(4.8, true), (4.2, false)] {
        let noise = 0.0953 / (0.577 * standard_errors);
        let relation = Rounds { noise, ..EQUAL }.second();
        assert_eq!(relation == RelationToFirst::Equal, is_equal, "{standard_errors}: {relation:?}");
    }
}

#[test]
fn four_rounds_show_that_no_method_is_better_if_2_35_standard_errors_are_less_than_a_tenth() {
    // The ends of an interval of 90 % with 3 degrees of freedom.
    for (standard_errors, may_be_better) in [(2.5, false), (2.2, true)] {
        let noise = 0.0953 / (0.577 * standard_errors);
        let turns = Rounds { noise, ..EQUAL }.judged();
        let relation = turns.methods[1].relation;
        assert_eq!(relation, RelationToFirst::Open { may_be_better }, "{standard_errors} standard errors");
        assert_eq!(turns.name_the_best(), !may_be_better, "{turns:?}");
    }
}

#[test]
fn a_method_that_captures_less_than_a_thousandth_captures_a_thousandth() {
    // 120 of 100,000 frames are 1.2 thousandths.
    for captured in [80, 20, 1] {
        let relation = Rounds { captured: [120, captured], ..EQUAL }.second();
        let RelationToFirst::Below { by: BelowBy::Loss, factor } = relation else { panic!("{relation:?}") };
        assert!((factor.middle - 1.2).abs() < 0.01, "{captured} of 100,000: {factor:?}");
    }
}

#[test]
fn a_method_that_costs_twice_as_much_is_worse_if_it_captures_at_most_a_quarter_more() {
    // It captures more by 0.08 on a logarithmic scale, at most by 2.35 standard errors more than that, and a quarter is 0.223.
    for (standard_error, is_worse) in [(0.055, true), (0.067, false)] {
        let captured_noise = standard_error / 0.577;
        let turns = Rounds { captured: [80_000, 86_663], cost: 2.0, captured_noise, ..EQUAL }.judged();
        let relation = turns.methods[1].relation;
        assert_eq!(is_below_by_cost(relation), is_worse, "{standard_error}: {turns:?}");
    }
}

#[test]
fn a_method_looks_worse_if_chance_explains_that_it_captures_less_in_one_of_five_cases() {
    // It captures less by 0.15 on a logarithmic scale, and looks cheaper by 0.11, so that each may be better. With 3 degrees of freedom,
    // 1.64 standard errors are one of five cases.
    for (standard_errors, first) in [(1.8, "packet-v3"), (1.45, "recv")] {
        let captured_noise = 0.15 / (0.577 * standard_errors);
        let rounds = Rounds { captured: [60_000, 69_710], cost: 1.12, noise: 0.2, captured_noise };
        let turns = rounds.judged();
        assert_eq!(turns.methods[0].method, first, "{standard_errors}: {turns:?}");
    }
}
