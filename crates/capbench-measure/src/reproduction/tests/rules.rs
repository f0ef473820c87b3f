//! What is said of paths whose losses are known: each claim where it holds, where it does not, and where trials do not tell.

use super::*;
use crate::simulated::{Noise, Room, TwoRegimes};
use capbench_capture::options::ByteCount;

const HOLDS: Answer = Answer::Holds;
const CHANGED: Answer = Answer::Changed;
const UNTOLD: Answer = Answer::CannotBeTold;

/// The same path with these methods in the place of those of the same names.
fn path_with(replaced: Vec<SimulatedMethod>, names: &[&str]) -> SimulatedLaboratory {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let others =
        methods().into_iter().zip(NAMES).filter(|(_, name)| !names.iter().any(|known| known == name));
    path(others.map(|(method, _)| method).chain(replaced).collect())
}

/// Names of [`methods`], in their order.
const NAMES: [&str; 9] = [
    "recv",
    "libpcap",
    "packet-v1",
    "packet-v2",
    "packet-v3",
    "xdp-count+generic",
    "xdp-count+generic+napi-defer",
    "recv+napi-defer",
    "recv+napi-thread",
];

/// Constants that are read off Dain's first table.
fn dain() -> TwoRegimes {
    TwoRegimes {
        asleep: Duration::from_nanos(17_300),
        busy: Duration::from_nanos(4_600),
        asleep_until: Duration::from_nanos(9_000),
        busy_from: Duration::from_nanos(18_000),
        batch: 20.0,
    }
}

#[test]
fn dains_first_effect_is_found_where_it_is_and_only_there() {
    let mut there = path_with(vec![SimulatedMethod::with_regimes("recv", dain())], &["recv"]);
    let (reproduction, _) =
        run("dain-2004", 6, &mut there.clone().noise(3, Noise { per_trial: 0.002, per_second: 0.0 }));
    let of = |reproduction: &Reproduction, method: &str| -> Vec<Answer> {
        judgements(reproduction, "more work per packet leads to more")
            .into_iter()
            .filter(|judgement| judgement.claim.contains("work as long"))
            .filter(|judgement| judgement.text.contains(&format!("{method}: Dain")))
            .map(|judgement| judgement.answer)
            .collect()
    };
    assert_eq!(of(&reproduction, "recv"), [HOLDS], "{:#?}", reproduction.findings);
    assert_ne!(of(&reproduction, "packet-v2"), [HOLDS]);
    let (today, _) =
        run("dain-2004", 6, &mut path(methods()).noise(3, Noise { per_trial: 0.002, per_second: 0.0 }));
    assert_eq!(of(&today, "recv"), [CHANGED], "{:#?}", today.findings);
    // Where it is there and visits are too few to show it, it is not said to be gone.
    let (few, _) =
        run("dain-2004", 3, &mut there.clone().noise(3, Noise { per_trial: 0.002, per_second: 0.0 }));
    assert_eq!(of(&few, "recv"), [UNTOLD], "{:#?}", few.findings);
    let (once, _) = run("dain-2004", 1, &mut there);
    assert_eq!(of(&once, "recv"), [UNTOLD], "one visit tells nothing");
}

#[test]
fn where_packets_begin_to_be_lost_is_compared_with_the_published_point() {
    // 5.32 us of work and 16.8 us beside it fill the 22.2 us between packets: his 1800 loops lose the first ones.
    let slow =
        |overhead: f64| path_with(vec![SimulatedMethod::new("recv", 1e9 / overhead).cost(1, 1)], &["recv"]);
    let (same, _) = run("dain-2004", 2, &mut slow(16_850.0));
    assert_eq!(answers(&same, "more than 1 % are lost from 1900"), [HOLDS], "{:#?}", same.findings);
    let (later, _) = run("dain-2004", 2, &mut slow(2_000.0));
    assert_eq!(answers(&later, "more than 1 % are lost from 1900"), [CHANGED]);
}

#[test]
fn livelock_and_its_cures_are_found_where_they_are() {
    // Where nothing overwhelms the host there is no livelock and nothing to cure.
    let (calm, _) = run("deri-2004", 2, &mut path(methods()));
    assert_eq!(answers(&calm, "captures next to nothing"), [CHANGED]);
    // A path of 2004: interrupts take everything, polling gives it back.
    let mut old = path(vec![
        SimulatedMethod::new("recv", 60_000.0).livelock(3.0),
        SimulatedMethod::new("packet-v2", 61_000.0).livelock(3.0),
        SimulatedMethod::new("packet-v3", 61_000.0).livelock(3.0),
        SimulatedMethod::new("xdp-count+generic", 62_000.0).livelock(3.0),
        SimulatedMethod::new("recv+napi-defer", 200_000.0),
        SimulatedMethod::new("recv+napi-thread", 200_000.0),
        SimulatedMethod::new("xdp-count+generic+napi-defer", 2_000_000.0),
    ]);
    let (then, _) = run("deri-2004", 2, &mut old);
    assert_eq!(answers(&then, "receive livelock"), [HOLDS], "{:#?}", then.findings);
    assert_eq!(answers(&then, "hardly better"), [HOLDS]);
    assert_eq!(answers(&then, "Device polling"), [HOLDS, HOLDS]);
    let (once, _) = run("deri-2004", 1, &mut old);
    assert_eq!(answers(&once, "Device polling"), [UNTOLD, UNTOLD]);
}

#[test]
fn a_generator_that_falls_short_leaves_claims_about_the_wire_open() {
    let weak = || SimulatedLaboratory::new(150_000.0, methods());
    let (reproduction, _) = run("cesnet-2008", 2, &mut weak());
    assert_eq!(answers(&reproduction, "captures 1 Gbit/s from 313"), [UNTOLD, UNTOLD]);
    let table = &reproduction.tables[0];
    assert!(table.rows.iter().any(|row| row.cells.iter().any(|cell| cell.mark == Some('g'))));
    assert!(table.notes.iter().any(|note| note.starts_with("g: ")), "{:?}", table.notes);
}

#[test]
fn the_wire_is_held_down_to_the_size_that_the_method_holds() {
    // 400,000 packets/s are more than the 375,375 of 313 bytes and less than the 452,899 of 256.
    let (as_published, _) = run("cesnet-2008", 2, &mut path(methods()));
    assert_eq!(answers(&as_published, "captures 1 Gbit/s from 313"), [HOLDS, HOLDS]);
    assert_eq!(
        answers(&as_published, "more packets lead to fewer"),
        [HOLDS],
        "recv has a livelock on this path"
    );
    let mut fast = path_with(vec![SimulatedMethod::new("recv", 2e6).cost(100, 100)], &["recv"]);
    let (better, _) = run("cesnet-2008", 2, &mut fast);
    assert_eq!(answers(&better, "captures 1 Gbit/s from 313"), [CHANGED, CHANGED]);
    assert_eq!(answers(&better, "more packets lead to fewer"), [CHANGED]);
    assert_eq!(answers(&better, "throughput lies more than 10 %"), [CHANGED]);
}

#[test]
fn versions_of_the_ring_are_told_apart_only_where_they_differ() {
    let (differ, _) = run("loke-2011", 2, &mut path(methods()));
    assert_eq!(answers(&differ, "TPACKET_V1 drops"), [HOLDS]);
    let alike = vec![
        SimulatedMethod::new("packet-v1", 2e6),
        SimulatedMethod::new("packet-v2", 2e6),
        SimulatedMethod::new("packet-v3", 2e6),
    ];
    let (same, _) = run("loke-2011", 2, &mut path(alike.clone()));
    assert_eq!(answers(&same, "TPACKET_V1 drops"), [CHANGED]);
    let (once, _) = run("loke-2011", 1, &mut path(alike));
    assert_eq!(answers(&once, "TPACKET_V1 drops"), [UNTOLD]);
}

#[test]
fn rings_that_are_large_enough_are_told_from_those_that_are_not() {
    let (fast, _) = run("libtrace-2012", 2, &mut path(methods()));
    assert_eq!(answers(&fast, "more than 8 ring frames"), [HOLDS]);
    assert_eq!(answers(&fast, "without reporting"), [CHANGED], "every loss on this path is counted");
    let slow = vec![SimulatedMethod::new("packet-v2", 100_000.0).room(Room::Slots(ByteCount(2048)))];
    let (lossy, _) = run("libtrace-2012", 2, &mut path_with(slow, &["packet-v2"]));
    assert_eq!(answers(&lossy, "more than 8 ring frames"), [CHANGED]);
    assert_eq!(answers(&lossy, "does not depend on the ring size"), [UNTOLD]);
}
