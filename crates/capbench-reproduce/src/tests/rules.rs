//! Answers on paths with known losses: each claim where it holds, where it does not, and where trials cannot decide.

use super::*;
use capbench_judge::reproduction::{ClaimEvidence, ClaimValue, TableNote, Undecided};
use capbench_model::units::ByteCount;
use capbench_plan::for_tests::dain;
use capbench_plan::simulated::{Noise, Room};
use capbench_report::sentences::claim_words;

const HOLDS: Answer = Answer::Holds;
const CHANGED: Answer = Answer::Changed;
const INCONCLUSIVE: Answer = Answer::Inconclusive;
const UNTESTABLE: Answer = Answer::NotTestable;

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

#[test]
fn lengthy_dains_first_effect_is_found_where_it_is_and_only_there() {
    let mut there = path_with(vec![SimulatedMethod::with_regimes("recv", dain())], &["recv"]);
    let (reproduction, _) =
        run("dain-2004", 6, &mut there.clone().noise(3, Noise { per_trial: 0.002, per_second: 0.0 }));
    let of = |reproduction: &Reproduction, method: &str| -> Vec<Answer> {
        judgements(reproduction, "more work per packet leads to more")
            .into_iter()
            .filter(|judgement| judgement.claim.contains("work as long"))
            .filter(|judgement| claim_words(judgement).contains(&format!("{method}: Dain")))
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
    assert_eq!(of(&few, "recv"), [INCONCLUSIVE], "{:#?}", few.findings);
    let (once, _) = run("dain-2004", 1, &mut there);
    assert_eq!(of(&once, "recv"), [INCONCLUSIVE], "one visit shows nothing");
}

#[test]
fn lengthy_where_packets_begin_to_be_lost_is_compared_with_the_published_point() {
    // 5.32 us of work and 16.8 us of overhead fill the 22.2 us between packets: his 1800 loops lose the first ones.
    let slow =
        |overhead: f64| path_with(vec![SimulatedMethod::new("recv", 1e9 / overhead).cost(1, 1)], &["recv"]);
    let (same, _) = run("dain-2004", 2, &mut slow(16_850.0));
    assert_eq!(answers(&same, "more than 1 % are lost from 1900"), [HOLDS], "{:#?}", same.findings);
    let (later, _) = run("dain-2004", 2, &mut slow(2_000.0));
    assert_eq!(answers(&later, "more than 1 % are lost from 1900"), [CHANGED]);
}

/// The answers of one run to claims with these words.
fn expect(key: &str, visits: u32, path: &mut dyn Laboratory, expected: &[(&str, &[Answer])]) {
    let (reproduction, _) = run(key, visits, path);
    for (words, expected) in expected {
        assert_eq!(answers(&reproduction, words), *expected, "{words}: {:#?}", reproduction.findings);
    }
}

#[test]
fn livelock_and_its_cures_are_found_where_they_are() {
    // Where nothing overwhelms the host there is no livelock and nothing to cure.
    expect("deri-2004", 2, &mut path(methods()), &[("captures next to nothing", &[CHANGED])]);
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
    let polling = "Device polling";
    let expected: [(&str, &[Answer]); 3] =
        [("receive livelock", &[HOLDS]), ("hardly better", &[HOLDS]), (polling, &[HOLDS, HOLDS])];
    expect("deri-2004", 2, &mut old, &expected);
}

#[test]
fn a_generator_that_falls_short_tests_no_claim_about_the_wire() {
    let weak = || SimulatedLaboratory::new(150_000.0, methods());
    let (reproduction, _) = run("cesnet-2008", 2, &mut weak());
    assert_eq!(answers(&reproduction, "captures 1 Gbit/s from 313"), [UNTESTABLE, UNTESTABLE]);
    let table = &reproduction.tables[0];
    assert!(table.rows.iter().any(|row| row.cells.iter().any(|cell| cell.mark == Some('g'))));
    assert!(table.note_facts.contains(&TableNote::LoadNotReached), "{:?}", table.note_facts);
}

#[test]
fn the_wire_is_sustained_down_to_the_size_that_the_method_sustains() {
    // 400,000 packets/s are more than the 375,375 of 313 bytes and less than the 452,899 of 256.
    let (wire, fewer) = ("captures 1 Gbit/s from 313", "more packets lead to fewer");
    // recv has a livelock on this path, and every method captures the mix.
    let mix = "IMIX at 1 Gbit/s is captured whole";
    let published: [(&str, &[Answer]); 3] = [(wire, &[HOLDS, HOLDS]), (fewer, &[HOLDS]), (mix, &[HOLDS])];
    expect("cesnet-2008", 2, &mut path(methods()), &published);
    let mut fast = path_with(vec![SimulatedMethod::new("recv", 2e6).cost(100, 100)], &["recv"]);
    let better: [(&str, &[Answer]); 3] =
        [(wire, &[CHANGED, CHANGED]), (fewer, &[CHANGED]), ("throughput is more than 10 %", &[CHANGED])];
    expect("cesnet-2008", 2, &mut fast, &better);
    let slow = vec![SimulatedMethod::new("libpcap", 100_000.0)];
    expect("cesnet-2008", 2, &mut path_with(slow, &["libpcap"]), &[(mix, &[CHANGED])]);
}

#[test]
fn versions_of_the_ring_are_distinguished_only_where_they_differ() {
    let alike = ["packet-v1", "packet-v2", "packet-v3"].map(|name| SimulatedMethod::new(name, 2e6)).to_vec();
    for (methods, answer) in [(methods(), HOLDS), (alike, CHANGED)] {
        expect("loke-2011", 2, &mut path(methods), &[("TPACKET_V1 drops more", &[answer])]);
    }
}

#[test]
fn large_enough_rings_are_distinguished_from_small_ones() {
    // Every loss on this path is counted.
    let fast: [(&str, &[Answer]); 2] =
        [("more than 8 ring frames", &[HOLDS]), ("without reporting", &[CHANGED])];
    expect("libtrace-2012", 2, &mut path(methods()), &fast);
    let slow = vec![SimulatedMethod::new("packet-v2", 100_000.0).room(Room::Slots(ByteCount(2048)))];
    let lossy: [(&str, &[Answer]); 2] =
        [("more than 8 ring frames", &[CHANGED]), ("does not depend on the ring size", &[UNTESTABLE])];
    expect("libtrace-2012", 2, &mut path_with(slow, &["packet-v2"]), &lossy);
}

#[test]
fn a_ring_with_room_for_the_whole_trial_shows_nothing_about_loss() {
    let deep = |name, capacity| SimulatedMethod::new(name, capacity).room(Room::Frames(100_000_000));
    let mut rings = path_with(vec![deep("packet-v3", 1e6)], &["packet-v3"]);
    let (buffered, _) = run("loke-2011", 2, &mut rings);
    let judged = judgements(&buffered, "TPACKET_V3 drops");
    assert_eq!(judged[0].answer, INCONCLUSIVE, "{judged:?}");
    let [ClaimEvidence::Figures(text), ..] = judged[0].evidence.as_slice() else { panic!("{judged:?}") };
    let is_buffered = |value: &ClaimValue| *value == ClaimValue::Undecided { why: Undecided::Buffered };
    assert!(text.values.values().any(is_buffered), "{judged:?}");
    let marked = |reproduction: &Reproduction| {
        let tables = reproduction.tables.iter();
        let cells = tables.flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        cells.filter(|cell| cell.mark == Some('b')).count()
    };
    assert!(marked(&buffered) > 0);
    let notes = &buffered.tables[0].note_facts;
    assert!(notes.iter().any(|note| matches!(note, TableNote::Buffered { .. })), "{notes:?}");
    let (shallow, _) = run("loke-2011", 2, &mut path(methods()));
    assert_eq!(marked(&shallow), 0);
    // The same of the standard stack, which takes a quarter of what the smallest frames are.
    let (stack, _) = run("cesnet-2008", 2, &mut path_with(vec![deep("recv", 100_000.0)], &["recv"]));
    assert_eq!(answers(&stack, "captures 1 Gbit/s from 313"), [INCONCLUSIVE, INCONCLUSIVE]);
    assert_eq!(answers(&stack, "IMIX at 1 Gbit/s is captured whole"), [INCONCLUSIVE]);
    // More are captured of more packets, and as many are read: neither is fewer.
    assert_eq!(answers(&stack, "more packets lead to fewer"), [CHANGED], "{:#?}", stack.findings);
    // Where a deep buffer makes no difference, it is no objection.
    let (enough, _) = run("loke-2011", 2, &mut path_with(vec![deep("packet-v3", 2e6)], &["packet-v3"]));
    assert_eq!(answers(&enough, "TPACKET_V3 drops"), [HOLDS]);
}

#[test]
fn versions_of_the_ring_have_to_be_as_good_and_as_bad_as_the_claim_says() {
    let of = |v1: f64, v3: f64| {
        let both = vec![SimulatedMethod::new("packet-v1", v1), SimulatedMethod::new("packet-v3", v3)];
        let (reproduction, _) = run("loke-2011", 2, &mut path_with(both, &["packet-v1", "packet-v3"]));
        [
            answers(&reproduction, "TPACKET_V3 drops next to nothing"),
            answers(&reproduction, "TPACKET_V1 drops more"),
        ]
        .concat()
    };
    // 1,500,000 packets/s come.
    assert_eq!(of(600_000.0, 675_000.0), [CHANGED, HOLDS], "V1 loses 60 % and V3 55 %");
    assert_eq!(of(800_000.0, 1_499_000.0), [HOLDS, HOLDS]);
    assert_eq!(of(800_000.0, 1_498_000.0), [CHANGED, HOLDS]);
    assert_eq!(of(1_484_000.0, 1_600_000.0), [HOLDS, HOLDS]);
    assert_eq!(of(1_486_000.0, 1_600_000.0), [HOLDS, CHANGED]);
}

#[test]
fn almost_every_size_is_all_but_one_and_sizes_without_their_load_do_not_count() {
    let cheaper = |generator: f64| {
        let (reproduction, _) = run("libtrace-2012", 2, &mut SimulatedLaboratory::new(generator, methods()));
        answers(&reproduction, "lowers the CPU load at almost every")
    };
    assert_eq!(cheaper(1.5e6), [HOLDS]);
    assert_eq!(cheaper(1.3e6), [HOLDS], "64 bytes are not reached");
    assert_eq!(
        cheaper(1.2e6),
        [INCONCLUSIVE],
        "nor are 80, and four visits are too few to say that they cannot be"
    );
    let (often, _) = run("libtrace-2012", 3, &mut SimulatedLaboratory::new(1.2e6, methods()));
    assert_eq!(answers(&often, "lowers the CPU load at almost every"), [UNTESTABLE], "nor in six visits");
    let alike = vec![SimulatedMethod::new("recv", 9e5), SimulatedMethod::new("packet-v2", 9e5)];
    let (same, _) = run("libtrace-2012", 2, &mut path_with(alike, &["recv", "packet-v2"]));
    assert_eq!(answers(&same, "lowers the CPU load at almost every"), [CHANGED]);
}

#[test]
fn a_ring_that_is_worse_than_the_socket_is_hardly_better() {
    // recv takes 400,000, less what its livelock costs.
    let of = |livelock: f64| {
        let socket = SimulatedMethod::new("recv", 400_000.0).livelock(livelock);
        let ring = SimulatedMethod::new("packet-v2", 200_000.0);
        run("deri-2004", 2, &mut path_with(vec![socket, ring], &["recv", "packet-v2"])).0
    };
    assert_eq!(answers(&of(0.0), "hardly better"), [HOLDS]);
    assert_eq!(answers(&of(0.3), "hardly better"), [CHANGED]);
}

#[test]
fn lengthy_claims_about_loads_that_the_generator_usually_does_not_reach_cannot_be_tested() {
    let weak = || SimulatedLaboratory::new(50_000.0, methods());
    let (livelock, _) = run("deri-2004", 2, &mut weak());
    let judged = judgements(&livelock, "captures next to nothing");
    assert_eq!(judged[0].answer, UNTESTABLE);
    let not_reached = ClaimEvidence::LoadNotReached { trials: 6, all_trials: 6, withdraws: true };
    assert!(judged[0].evidence.contains(&not_reached), "{judged:?}");
    let (small, _) = run("libtrace-2012", 9, &mut weak());
    assert_eq!(
        answers(&small, "without reporting"),
        [UNTESTABLE],
        "nothing was lost of what was not offered"
    );
    assert_eq!(answers(&small, "more than 8 ring frames"), [UNTESTABLE]);
    let (work, _) = run("dain-2004", 9, &mut weak());
    assert_eq!(answers(&work, "At 167,000 packets/s with normal libpcap"), [UNTESTABLE]);
    let (cesnet, _) = run("cesnet-2008", 9, &mut weak());
    for words in ["captures less with the application", "more packets lead to fewer", "IMIX at 1 Gbit/s"] {
        assert_eq!(answers(&cesnet, words), [UNTESTABLE], "{words}");
    }
}

#[test]
fn lengthy_bigger_rings_are_judged_by_read_frames_where_some_are_lost() {
    let of = |capacity: f64| {
        let ring = SimulatedMethod::new("packet-v2", capacity).room(Room::Slots(ByteCount(2048)));
        let (reproduction, _) = run("dain-2004", 4, &mut path_with(vec![ring], &["packet-v2"]));
        let judged = judgements(&reproduction, "Bigger rings did not help")[0];
        (judged.answer, claim_words(judged))
    };
    // In addition to 4.44 us of work it has 2 us of overhead, of the 6 us between packets.
    let (answer, text) = of(500_000.0);
    assert_eq!(answer, HOLDS, "4096 slots capture more of a trial and take no more: {text}");
    assert!(text.contains("256 slots") && text.contains("1700 of his loops"), "{text}");
    let (answer, text) = of(5e6);
    assert_eq!(answer, UNTESTABLE, "{text}");
}
