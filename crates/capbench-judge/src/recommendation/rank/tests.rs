//! The order of methods and what is concluded from it.

use super::*;

fn measured(method: &str, lower_pps: f64, at_most_pps: Option<f64>, app_ns: f64) -> Ranked {
    let status = if at_most_pps.is_some() { SustainedStatus::Between } else { SustainedStatus::AtLeast };
    let lossless = Sustained {
        status,
        lower_pps: Some(lower_pps),
        upper_pps: at_most_pps,
        at_most_pps,
        precision: None,
        searched_to: None,
        trials: Vec::new(),
    };
    let cost = Cost {
        app_ns: Some(app_ns),
        app_error_ns: 1.0,
        total_ns: None,
        total_error_ns: 0.0,
        trials: Vec::new(),
        disturbed: false,
    };
    Ranked {
        method: method.into(),
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

fn named(methods: Vec<Ranked>) -> (Vec<SavedMethod>, Conclusion) {
    let (ranked, conclusion) = Order::from_methods(methods).conclude(0.1);
    (ranked.into_iter().map(|ranked| ranked.method).collect(), conclusion)
}

#[test]
fn limits_are_equal_within_two_precisions_of_a_twentieth_to_a_tenth() {
    let cases = [
        (0.04, 0.066, true),
        (0.04, 0.1, false),
        (0.5, 0.16, true),
        (0.5, 0.25, false),
        (0.001, 0.04, true),
        (0.001, 0.0625, false),
    ];
    for (precision, difference, are_equal) in cases {
        let lower = 1e6 * (1.0 - difference);
        let methods = vec![
            measured("packet-v3", 1e6, Some(1_001_000.0), 100.0),
            measured("recv", lower, Some(1_001_000.0), 50.0),
        ];
        let (_, conclusion) = Order::from_methods(methods).conclude(precision);
        let is_decided = matches!(conclusion, Conclusion::Use { .. });
        assert_eq!(is_decided, are_equal, "{difference} at a precision of {precision}: {conclusion:?}");
    }
}

#[test]
fn of_limits_that_are_not_known_well_the_highest_that_is_shown_comes_first() {
    let methods = || {
        let at_most = Some(1_500_000.0);
        vec![
            measured("packet-v3", 430_000.0, None, 87.0),
            measured("libpcap", 913_000.0, None, 118.0),
            measured("packet-v2", 900_000.0, at_most, 110.0),
        ]
    };
    let (order, conclusion) = named(methods());
    assert_eq!(order, ["packet-v2", "libpcap", "packet-v3"], "the cheapest of those within the precision");
    assert!(matches!(conclusion, Conclusion::OneOf { best, .. } if best == Some("packet-v2".into())));
    // Without a limit that is known, what the generator sent to one of them shows nothing of the other.
    let (order, conclusion) = named(methods()[..2].to_vec());
    assert_eq!(order, ["libpcap", "packet-v3"]);
    assert!(matches!(conclusion, Conclusion::OneOf { best, .. } if best == Some("libpcap".into())));
}

#[test]
fn the_cheapest_of_those_that_sustain_all_that_the_generator_sends_is_named() {
    let (order, conclusion) = named(vec![
        measured("libpcap", 1_340_000.0, None, 118.0),
        measured("packet-v3", 1_130_000.0, None, 87.0),
    ]);
    assert_eq!(order, ["packet-v3", "libpcap"]);
    assert!(matches!(conclusion, Conclusion::Use { because: Because::ApplicationTime, .. }));
}

#[test]
fn what_the_generator_sent_is_equal_down_to_three_quarters() {
    for (lower_pps, are_equal) in [(760_000.0, true), (740_000.0, false)] {
        let methods =
            vec![measured("libpcap", 1_000_000.0, None, 118.0), measured("packet-v3", lower_pps, None, 87.0)];
        let (_, conclusion) = named(methods);
        assert_eq!(matches!(conclusion, Conclusion::Use { .. }), are_equal, "{lower_pps}: {conclusion:?}");
    }
}

fn conclusion(methods: Vec<Ranked>) -> Conclusion {
    Order::from_methods(methods).conclude(0.1).1
}

fn without_cost(ranked: Ranked) -> Ranked {
    Ranked { cost: None, ..ranked }
}

fn is_certain(conclusion: &Conclusion) -> bool {
    matches!(conclusion, Conclusion::Use { certainty: Certainty::Certain, .. })
}

#[test]
fn methods_whose_cost_is_unknown_are_not_called_equal() {
    let conclusion_with = |costs: [Option<f64>; 3]| {
        let methods = ["recv", "packet-v3", "libpcap"].into_iter().zip(costs);
        conclusion(
            methods
                .map(|(method, app_ns)| match app_ns {
                    Some(app_ns) => measured(method, 100_000.0, None, app_ns),
                    None => without_cost(measured(method, 100_000.0, None, 0.0)),
                })
                .collect(),
        )
    };
    let Conclusion::Use { equal, certainty, .. } = conclusion_with([Some(90.0), Some(90.5), Some(120.0)])
    else {
        panic!()
    };
    assert_eq!((equal, certainty), (vec!["packet-v3".into()], Certainty::Certain));
    for costs in [[None; 3], [None, None, Some(90.0)], [Some(90.0), Some(90.5), None]] {
        let Conclusion::OneOf { methods, .. } = conclusion_with(costs) else { panic!("{costs:?}") };
        assert_eq!(methods.len(), 3, "{costs:?}");
    }
    let Conclusion::OneOf { best, .. } = conclusion_with([None, Some(120.0), Some(90.0)]) else { panic!() };
    assert_eq!(best, Some("libpcap".into()), "the cheapest of those with a known cost");
}

#[test]
fn a_dearer_method_that_sustains_no_more_is_not_left_open() {
    let open = |methods: Vec<Ranked>| match conclusion(methods) {
        Conclusion::OneOf { methods, worse, .. } => (methods, worse),
        other => panic!("{other:?}"),
    };
    let known = [measured("packet-v3", 1e5, None, 90.0), measured("recv", 1e5, None, 900.0)];
    let unknown = without_cost(measured("af-xdp", 1e5, None, 0.0));
    let of_cost = open([&known[..], &[unknown]].concat());
    assert_eq!(of_cost, (vec!["packet-v3".into(), "af-xdp".into()], vec!["recv".into()]));
    // Its limit can be higher.
    let hidden = Ranked {
        lossless: Sustained { status: SustainedStatus::Disturbed, ..known[1].lossless.clone() },
        ..known[1].clone()
    };
    let of_rate = open(vec![known[0].clone(), hidden]);
    assert_eq!(of_rate, (vec!["packet-v3".into(), "recv".into()], vec![]));
}

#[test]
fn nothing_is_certain_where_the_host_disturbed_most_trials_or_the_cost() {
    let certainty_with = |disturbed: u32, is_cost_disturbed| {
        let noisy = |ranked: Ranked| {
            let cost = ranked.cost.map(|cost| Cost { disturbed: is_cost_disturbed, ..cost });
            Ranked { trials: 10, disturbed, cost, ..ranked }
        };
        let equal = conclusion(
            ["recv", "packet-v3"].map(|method| noisy(measured(method, 100_000.0, None, 90.0))).to_vec(),
        );
        let methods = [measured("packet-v3", 1e6, None, 90.0), measured("recv", 3e5, Some(4e5), 90.0)];
        (is_certain(&equal), is_certain(&conclusion(methods.map(noisy).to_vec())))
    };
    assert_eq!(certainty_with(5, false), (true, true));
    assert_eq!(certainty_with(5, true), (false, true), "the limits decide without the cost");
    assert_eq!(certainty_with(6, false), (false, false));
}

#[test]
fn a_method_of_which_nothing_is_known_is_not_called_worse() {
    let unknown = |method| {
        let known = without_cost(measured(method, 0.0, None, 0.0));
        let lossless =
            Sustained { status: SustainedStatus::Unknown, lower_pps: None, ..known.lossless.clone() };
        Ranked { nearly_lossless: lossless.clone(), lossless, ..known }
    };
    let methods = vec![
        unknown("packet-v3"),
        measured("recv", 100_000.0, Some(200_000.0), 900.0),
        measured("cmd:tcpdump", 300_000.0, Some(330_000.0), 90.0),
    ];
    let (ranked, conclusion) = Order::from_methods(methods).conclude(0.1);
    let known: Vec<_> = ranked.iter().map(|one| (one.method.clone(), one.rank, one.below)).collect();
    assert_eq!(
        known,
        [
            ("cmd:tcpdump".into(), 1, None),
            ("packet-v3".into(), 1, None),
            ("recv".into(), 3, Some(Certainty::Certain))
        ]
    );
    let Conclusion::OneOf { best, methods, worse, .. } = conclusion else { panic!("{conclusion:?}") };
    assert_eq!(
        (best, methods, worse),
        (Some("cmd:tcpdump".into()), vec!["cmd:tcpdump".into(), "packet-v3".into()], vec!["recv".into()])
    );
}

#[test]
fn a_coarse_search_does_not_show_that_limits_are_equal() {
    let methods =
        || vec![measured("recv", 6e5, Some(1e6), 90.0), measured("packet-v3", 5e5, Some(9e5), 60.0)];
    let conclusion = Order::from_methods(methods()).conclude(0.4).1;
    assert!(matches!(conclusion, Conclusion::OneOf { .. }), "{conclusion:?}");
    let close = vec![measured("recv", 9e5, Some(1e6), 90.0), measured("packet-v3", 8.5e5, Some(9.5e5), 60.0)];
    let conclusion = Order::from_methods(close).conclude(0.1).1;
    assert!(
        matches!(&conclusion, Conclusion::Use { method, .. } if *method == "packet-v3"),
        "{conclusion:?}"
    );
}
