//! What a bench says of the methods of a set-up.

use capbench_model::trial::{CpuAccount, Phase, TrialResult};

use super::{find, texts, trial};

#[test]
fn loss_is_named_with_its_place_and_its_trial() {
    let found = find(&[trial(1, "recv", 1_000_000, 280_000)]);
    let expected = "recv delivered 280,000 packets/s of 1.000 million packets/s and lost 72 % in the ring or socket queue.";
    assert_eq!((found[0].text.as_str(), found[0].trials.as_slice()), (expected, &[1][..]));
    assert_eq!(found[0].scene.as_deref(), Some("64-byte frames, placement same"));
    assert!(found[1].text.starts_with("Every packet is accounted for"));
}

#[test]
fn a_method_that_delivers_next_to_nothing_is_too_slow_for_a_common_load() {
    let common = TrialResult { phase: Phase::CommonLoad, ..at_cost("recv", 100, 0, None) };
    let text = texts(&[trial(1, "livelocked", 1_000_000, 40_000), common]);
    assert!(text.contains("too slow for a load at which costs can be compared: livelocked. [1]"), "{text}");
}

#[test]
fn the_visit_that_lost_most_stands_for_a_method() {
    let visit = |number, method, lost: u32| trial(number, method, 1000, 1000 - lost);
    let visits = [visit(1, "recv", 30), visit(2, "packet-v3", 0), visit(3, "recv", 90), visit(4, "recv", 50)];
    let text = texts(&visits);
    assert!(text.contains("recv delivered 910 packets/s of 1,000 packets/s and lost 9.0 %"), "{text}");
    assert!(!text.contains("delivered 970") && !text.contains("delivered 950"), "{text}");
    let several =
        text.lines().find(|line| line.starts_with("every method was visited up to 3 times")).unwrap();
    assert!(several.ends_with("[1, 3, 4]"), "{several}");
    assert!(!texts(&visits[..2]).contains("was visited"), "one visit stands for itself");
}

/// 1000 frames at a common load that cost so many nanoseconds each, by clocks of this resolution.
fn at_cost(method: &str, total_ns: u64, resolution_ns: u64, app_ns: Option<[u64; 2]>) -> TrialResult {
    let cpu = CpuAccount {
        total_ns_per_packet: Some(total_ns as f64),
        app_ns_per_packet: app_ns.map(|[least, _]| least as f64),
        app_ns_per_packet_at_most: app_ns.map(|[_, most]| most as f64),
        split_is_sampled: true,
        kernel_resolution_ns: Some(resolution_ns * 1000),
        ..CpuAccount::default()
    };
    let (phase, intended_pps) = (Phase::CommonLoad, Some(1000.0));
    TrialResult { cpu, phase, intended_pps, ..trial(1, method, 1000, 1000) }
}

fn said(trials: &[TrialResult]) -> Vec<String> {
    let found = find(trials).into_iter().map(|finding| finding.text);
    found.filter(|text| text.starts_with("at 1,000 packets/s")).collect()
}

#[test]
fn an_unknown_share_of_the_application_is_not_called_none() {
    let counting = at_cost("xdp-count", 100, 0, None);
    let reading = at_cost("recv", 2000, 0, Some([600, 700]));
    assert_eq!(
        said(&[reading, counting]),
        [
            "at 1,000 packets/s, held by all, xdp-count costs least per packet (100 ns of CPU time) and recv most \
          (2000 ns of CPU time, 600 to 700 of them in the application)."
        ]
    );
}

#[test]
fn a_range_of_one_number_is_a_number() {
    let found = said(&[
        at_cost("recv", 20_000, 0, Some([14_874, 14_874])),
        at_cost("packet-v3", 700, 0, Some([60, 60])),
    ]);
    assert!(found[0].contains("20000 ns of CPU time, 14874 of them"), "{found:?}");
}

#[test]
fn those_that_cannot_be_told_from_the_cheapest_are_named() {
    let trials = [
        at_cost("libpcap", 140, 800, Some([60, 60])),
        at_cost("packet-v3", 900, 800, Some([60, 60])),
        at_cost("packet-v2", 1900, 800, Some([60, 60])),
        at_cost("recv", 9000, 800, Some([500, 500])),
    ];
    assert_eq!(
        said(&trials),
        [
            "at 1,000 packets/s, held by all, libpcap costs least per packet (140 ± 1600 ns of CPU time, 60 of them in \
          the application), from which the clocks cannot tell packet-v3, packet-v2, and recv most (9000 ± 1600 ns \
          of CPU time, 500 of them in the application)."
        ]
    );
    let alike = "at 1,000 packets/s, held by all, no method is notably cheaper than another.";
    assert_eq!(said(&trials[..2]), [alike]);
}

#[test]
fn a_doubtful_cost_is_not_the_dearest() {
    let trials = [
        at_cost("a", 100, 0, Some([60, 60])),
        at_cost("b", 900, 0, Some([60, 60])),
        at_cost("c", 1000, 5000, Some([60, 60])),
    ];
    let found = said(&trials);
    assert!(found[0].contains("cannot tell c, and b most (900 ns"), "{found:?}");
}
