//! The order of methods and what is concluded from it.

use super::{Because, Certainty, Conclusion, Cost, Order, Ranked, Sustained, SustainedStatus};
use capbench_model::saved::SavedMethod;

/// The share by which limits must differ to be certainly different, in most of these tests.
const MARGIN: f64 = 0.1;

/// What is measured of a method, before it is ranked.
struct Measured {
    method: &'static str,
    /// The highest load that it sustained.
    lower_pps: f64,
    /// The lowest load that it did not sustain; `None` if it sustained all that the generator sent.
    at_most_pps: Option<f64>,
    /// The application's time per packet, known to 1 ns.
    app_ns: f64,
}

impl Measured {
    fn ranked(&self) -> Ranked {
        let status = match self.at_most_pps {
            Some(_) => SustainedStatus::Between,
            None => SustainedStatus::AtLeast,
        };
        let lossless = Sustained {
            status,
            lower_pps: Some(self.lower_pps),
            upper_pps: self.at_most_pps,
            at_most_pps: self.at_most_pps,
            precision: None,
            searched_to: None,
            trials: Vec::new(),
        };
        let cost = Cost {
            app_ns: Some(self.app_ns),
            app_error_ns: 1.0,
            total_ns: None,
            total_error_ns: 0.0,
            trials: Vec::new(),
            disturbed: false,
        };
        Ranked {
            method: self.method.into(),
            rank: 0,
            below: None,
            nearly_lossless: lossless.clone(),
            lossless,
            cost: Some(cost),
            limited_by: None,
            lost_at: None,
            trials: 1,
            disturbed: 0,
        }
    }
}

/// A method that sustained all that the generator sent.
fn at_least(method: &'static str, lower_pps: f64, app_ns: f64) -> Ranked {
    Measured { method, lower_pps, at_most_pps: None, app_ns }.ranked()
}

/// A method whose limit is between two loads.
fn between(method: &'static str, [lower_pps, at_most_pps]: [f64; 2], app_ns: f64) -> Ranked {
    Measured { method, lower_pps, at_most_pps: Some(at_most_pps), app_ns }.ranked()
}

/// The names of the methods in their order.
fn order(methods: &[Ranked]) -> Vec<SavedMethod> {
    let (ranked, _) = Order::from_methods(methods.to_vec()).conclude(MARGIN);
    ranked.into_iter().map(|ranked| ranked.method).collect()
}

fn conclusion(methods: &[Ranked]) -> Conclusion {
    let (_, conclusion) = Order::from_methods(methods.to_vec()).conclude(MARGIN);
    conclusion
}

/// Whether several methods may be best, and this one is to be used meanwhile.
fn is_one_of(conclusion: &Conclusion, meanwhile: &str) -> bool {
    matches!(conclusion, Conclusion::OneOf { best: Some(best), .. } if *best == meanwhile)
}

#[test]
fn limits_are_equal_within_two_precisions_of_a_twentieth_to_a_tenth() {
    // Two precisions of 4 % are 8 %. A precision above 10 % counts as 10 %, and two of 0.1 % count as 5 %.
    let cases = [
        (0.04, 0.066, true),
        (0.04, 0.1, false),
        (0.5, 0.16, true),
        (0.5, 0.25, false),
        (0.001, 0.04, true),
        (0.001, 0.0625, false),
    ];
    for (precision, difference, are_equal) in cases {
        // Neither sustains more than 1,001,000 packets/s. The second one may sustain less by the difference.
        let methods = vec![
            between("packet-v3", [1e6, 1_001_000.0], 100.0),
            between("recv", [1e6 * (1.0 - difference), 1_001_000.0], 50.0),
        ];
        let (_, conclusion) = Order::from_methods(methods).conclude(precision);
        let is_decided = matches!(conclusion, Conclusion::Use { .. });
        assert_eq!(is_decided, are_equal, "{difference} at a precision of {precision}: {conclusion:?}");
    }
}

#[test]
fn of_limits_that_are_not_known_well_the_highest_that_is_shown_comes_first() {
    let low = at_least("packet-v3", 430_000.0, 87.0);
    let high = at_least("libpcap", 913_000.0, 118.0);
    let about_as_high = between("packet-v2", [900_000.0, 1_500_000.0], 110.0);
    let methods = [low.clone(), high.clone(), about_as_high];
    assert_eq!(
        order(&methods),
        ["packet-v2", "libpcap", "packet-v3"],
        "the cheaper one of about the same load"
    );
    assert!(is_one_of(&conclusion(&methods), "packet-v2"));
    // Without a limit that is known, what the generator sent to one of them shows nothing of the other.
    let unlimited = [low, high];
    assert_eq!(order(&unlimited), ["libpcap", "packet-v3"]);
    assert!(is_one_of(&conclusion(&unlimited), "libpcap"));
}

#[test]
fn of_limits_that_are_not_known_well_three_quarters_are_about_the_highest_load() {
    for (lower_pps, first) in [(760_000.0, "packet-v2"), (740_000.0, "libpcap")] {
        let high = between("libpcap", [1e6, 1.5e6], 118.0);
        let cheap = between("packet-v2", [lower_pps, 1.5e6], 50.0);
        assert_eq!(order(&[high, cheap])[0], first, "{lower_pps} and 1,000,000 packets/s");
    }
}

#[test]
fn the_cheapest_of_those_that_sustain_all_that_the_generator_sends_is_named() {
    let methods = [at_least("libpcap", 1_340_000.0, 118.0), at_least("packet-v3", 1_130_000.0, 87.0)];
    assert_eq!(order(&methods), ["packet-v3", "libpcap"]);
    assert!(matches!(conclusion(&methods), Conclusion::Use { because: Because::ApplicationTime, .. }));
}

#[test]
fn what_the_generator_sent_is_equal_down_to_three_quarters() {
    for (lower_pps, are_equal) in [(760_000.0, true), (740_000.0, false)] {
        let methods = [at_least("libpcap", 1_000_000.0, 118.0), at_least("packet-v3", lower_pps, 87.0)];
        let conclusion = conclusion(&methods);
        assert_eq!(matches!(conclusion, Conclusion::Use { .. }), are_equal, "{lower_pps}: {conclusion:?}");
    }
}

fn without_cost(ranked: Ranked) -> Ranked {
    Ranked { cost: None, ..ranked }
}

fn is_certain(conclusion: &Conclusion) -> bool {
    matches!(conclusion, Conclusion::Use { certainty: Certainty::Certain, .. })
}

/// The conclusion about three methods with the same limit and these costs.
fn conclusion_with_costs(costs: [Option<f64>; 3]) -> Conclusion {
    let mut methods = Vec::new();
    for (method, app_ns) in ["recv", "packet-v3", "libpcap"].into_iter().zip(costs) {
        methods.push(match app_ns {
            Some(app_ns) => at_least(method, 100_000.0, app_ns),
            None => without_cost(at_least(method, 100_000.0, 0.0)),
        });
    }
    conclusion(&methods)
}

#[test]
fn methods_whose_cost_is_unknown_are_not_called_equal() {
    let known = conclusion_with_costs([Some(90.0), Some(90.5), Some(120.0)]);
    let Conclusion::Use { equal, certainty, .. } = known else { panic!("{known:?}") };
    assert_eq!((equal, certainty), (vec!["packet-v3".into()], Certainty::Certain));
    for costs in [[None; 3], [None, None, Some(90.0)], [Some(90.0), Some(90.5), None]] {
        let unknown = conclusion_with_costs(costs);
        let Conclusion::OneOf { methods, .. } = unknown else { panic!("{costs:?}: {unknown:?}") };
        assert_eq!(methods.len(), 3, "{costs:?}");
    }
    let partly_known = conclusion_with_costs([None, Some(120.0), Some(90.0)]);
    assert!(is_one_of(&partly_known, "libpcap"), "the cheapest of those with a known cost: {partly_known:?}");
}

#[test]
fn a_dearer_method_that_sustains_no_more_is_not_left_open() {
    let cheap = at_least("packet-v3", 1e5, 90.0);
    let dear = at_least("recv", 1e5, 900.0);
    let unknown = without_cost(at_least("af-xdp", 1e5, 0.0));
    let by_cost = conclusion(&[cheap.clone(), dear.clone(), unknown]);
    let Conclusion::OneOf { methods, worse, .. } = by_cost else { panic!("{by_cost:?}") };
    assert_eq!((methods, worse), (vec!["packet-v3".into(), "af-xdp".into()], vec!["recv".into()]));
    // If noise hides its limit, that can be higher.
    let hidden = Sustained { status: SustainedStatus::Disturbed, ..dear.lossless.clone() };
    let by_rate = conclusion(&[cheap, Ranked { lossless: hidden, ..dear }]);
    let Conclusion::OneOf { methods, worse, .. } = by_rate else { panic!("{by_rate:?}") };
    assert_eq!((methods, worse), (vec!["packet-v3".into(), "recv".into()], vec![]));
}

/// A method with ten trials, of which the host disturbed so many.
fn disturbed(ranked: Ranked, disturbed: u32, is_cost_disturbed: bool) -> Ranked {
    let cost = ranked.cost.map(|cost| Cost { disturbed: is_cost_disturbed, ..cost });
    Ranked { trials: 10, disturbed, cost, ..ranked }
}

#[test]
fn nothing_is_certain_where_the_host_disturbed_most_trials_or_the_cost() {
    for (disturbed_trials, is_cost_disturbed, is_certain_by_cost, is_certain_by_limit) in [
        (5, false, true, true),
        // The limits decide without the cost.
        (5, true, false, true),
        (6, false, false, false),
    ] {
        let noisy = |ranked| disturbed(ranked, disturbed_trials, is_cost_disturbed);
        let by_cost = [at_least("recv", 100_000.0, 90.0), at_least("packet-v3", 100_000.0, 90.0)];
        assert_eq!(
            is_certain(&conclusion(&by_cost.map(noisy))),
            is_certain_by_cost,
            "{disturbed_trials} of 10"
        );
        let by_limit = [at_least("packet-v3", 1e6, 90.0), between("recv", [3e5, 4e5], 90.0)];
        assert_eq!(
            is_certain(&conclusion(&by_limit.map(noisy))),
            is_certain_by_limit,
            "{disturbed_trials} of 10"
        );
    }
}

#[test]
fn a_method_of_which_nothing_is_known_is_not_called_worse() {
    let unmeasured = without_cost(at_least("packet-v3", 0.0, 0.0));
    let lossless =
        Sustained { status: SustainedStatus::Unknown, lower_pps: None, ..unmeasured.lossless.clone() };
    let unknown = Ranked { nearly_lossless: lossless.clone(), lossless, ..unmeasured };
    let slow = between("recv", [100_000.0, 200_000.0], 900.0);
    let fast = between("cmd:tcpdump", [300_000.0, 330_000.0], 90.0);
    let (ranked, conclusion) = Order::from_methods(vec![unknown, slow, fast]).conclude(MARGIN);
    let [first, second, third] = &ranked[..] else { panic!("{ranked:?}") };
    assert!(first.method == "cmd:tcpdump" && second.method == "packet-v3" && third.method == "recv");
    assert_eq!((first.rank, first.below), (1, None));
    assert_eq!((second.rank, second.below), (1, None), "it may be as fast");
    assert_eq!((third.rank, third.below), (3, Some(Certainty::Certain)));
    let Conclusion::OneOf { best, methods, worse, .. } = conclusion else { panic!("{conclusion:?}") };
    assert_eq!(best, Some("cmd:tcpdump".into()));
    assert_eq!((methods, worse), (vec!["cmd:tcpdump".into(), "packet-v3".into()], vec!["recv".into()]));
}

#[test]
fn a_coarse_search_does_not_show_that_limits_are_equal() {
    let coarse = vec![between("recv", [6e5, 1e6], 90.0), between("packet-v3", [5e5, 9e5], 60.0)];
    // The bounds of both are 40 % apart, as the precision of the search says.
    let (_, conclusion_of_coarse) = Order::from_methods(coarse).conclude(0.4);
    assert!(matches!(conclusion_of_coarse, Conclusion::OneOf { .. }), "{conclusion_of_coarse:?}");
    let close = [between("recv", [9e5, 1e6], 90.0), between("packet-v3", [8.5e5, 9.5e5], 60.0)];
    let by_cost = conclusion(&close);
    assert!(matches!(&by_cost, Conclusion::Use { method, .. } if *method == "packet-v3"), "{by_cost:?}");
}
