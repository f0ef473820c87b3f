//! Each sentence about sweeps once; those about members and about where loss begins are tested in their files.

use capbench_judge::bursts::BurstEnd;
use capbench_judge::finding::sweep::buffers::{
    BufferGrowth, BurstAtPoint, EndedSearches, FullResource, LongestBursts, Resource,
};
use capbench_judge::finding::sweep::cheapest::{CheapestAtPoints, CheapestRing, MethodCost, RingCost};
use capbench_judge::finding::sweep::cost::{
    BeforeAndAfter, CostAtPoint, CostChange, CostRegime, KernelWork, LimitedByKernel, NoCost, PacketCost,
    PartOfCpu, SlowedWork,
};
use capbench_judge::finding::sweep::crossing::{CostParts, Crossing, CrossingCosts};
use capbench_judge::finding::sweep::point::{SweepPoint, SweepSeries};
use capbench_judge::sweep::back_to_back::InvalidTrial;
use capbench_judge::sweep::contrasts::Evidence;
use capbench_model::places::Place;

use super::{
    BurstRange, HighestRate, KeepsUp, KeptPoints, KeptUp, LivelockFound, LossAtHighestRate, MeanBurst,
    MethodKeepsUp, SweepScene, buffers, burst_range_words, cheapest, cost, crossing, highest_rate_words,
    keeps_up_words, kept_up_sentence, livelock, time_words,
};

/// The point with this index, labelled `p0`, `p1` and so on.
pub(super) fn point(index: usize) -> SweepPoint {
    SweepPoint { index, at: None, label: format!("p{index}") }
}

/// Placement `same`, and no constant load.
fn scene() -> SweepScene {
    SweepScene { placement: Some("same".into()), load: None }
}

/// The series of `recv`.
pub(super) fn series() -> SweepSeries {
    SweepSeries { method: "recv".into(), scene: scene() }
}

fn evidence() -> Evidence {
    Evidence { by_chance: 0.01, comparisons: 6 }
}

/// [`evidence`] in words.
const EVIDENCE: &str = "p = 0.0100 by ranks, corrected after Holm for 6 comparisons at level 0.05";

fn keeps_up(points: KeptPoints, unsent_points: usize) -> KeepsUp {
    KeepsUp { points, open: Vec::new(), unsent_points }
}

#[test]
fn the_points_at_which_a_method_keeps_up_are_named() {
    let five = [0, 2, 4, 6, 8].map(point).to_vec();
    for (points, text) in [
        (KeptPoints::Nowhere, "at no point"),
        (KeptPoints::Everywhere, "at every point"),
        (KeptPoints::UpTo(point(1)), "up to p1"),
        (KeptPoints::From(point(1)), "from p1 on"),
        (KeptPoints::Only { points: vec![point(1)] }, "only at p1"),
        (KeptPoints::Only { points: five }, "only at p0, p2, p4, …"),
    ] {
        assert_eq!(keeps_up_words(&keeps_up(points, 0)), text);
    }
    assert_eq!(
        keeps_up_words(&keeps_up(KeptPoints::UpTo(point(1)), 2)),
        "up to p1 (the generator did not send the load at 2 points)"
    );
}

#[test]
fn what_methods_share_is_said_once() {
    let method = |name: &str, points| MethodKeepsUp {
        method: name.into(),
        scene: scene(),
        keeps_up: keeps_up(points, 0),
        trials: vec![1],
    };
    let methods = vec![method("recv", KeptPoints::UpTo(point(1))), method("libpcap", KeptPoints::Everywhere)];
    let shared = KeptUp { shared_scene: Some(scene()), methods };
    let text = kept_up_sentence(&shared).text;
    assert_eq!(text, "With placement same: recv keeps up to p1; libpcap keeps up at every point.");
    let mut open = shared.clone();
    open.methods[0].keeps_up.open = vec![point(0), point(2)];
    assert_eq!(
        kept_up_sentence(&open).text,
        "With placement same: recv keeps up to p1 (at p0, p2 in some visits only); libpcap keeps up at every point."
    );
    let different = KeptUp { shared_scene: None, ..shared };
    let text = kept_up_sentence(&different).text;
    assert_eq!(text, "recv, placement same keeps up to p1; libpcap, placement same keeps up at every point.");
}

#[test]
fn the_highest_rate_is_named_with_its_loss() {
    let text = |scene, loss| {
        let highest =
            HighestRate { method: "recv".into(), scene, point: point(1), read_pps: 1000.0, loss, visits: 3 };
        highest_rate_words(&highest)
    };
    assert_eq!(
        text(Some(scene()), LossAtHighestRate::Lost { loss_ratio: 0.25 }),
        "recv, placement same read most: 1,000 packets/s at p1, and lost 25 % of what was sent (medians of 3 visits)."
    );
    for (loss, clause) in [
        (LossAtHighestRate::BuffersFilled, "while its buffers filled"),
        (LossAtHighestRate::Nothing, "and lost nothing"),
        (LossAtHighestRate::NothingInMostVisits, "and lost nothing in most visits"),
    ] {
        let expected = format!("recv read most: 1,000 packets/s at p1, {clause} (medians of 3 visits).");
        assert_eq!(text(None, loss), expected);
    }
}

#[test]
fn a_range_of_bursts_has_its_ends_and_its_gaps() {
    let burst = |index, frames, lasts_s| MeanBurst { point: point(index), frames, lasts_s };
    let only = BurstRange { shortest: burst(0, 64.0, None), longest: None, points_without: 1 };
    assert_eq!(burst_range_words(&only), "takes 64 frames at p0, and none was found at 1 other point");
    let both = BurstRange { longest: Some(burst(1, 1024.0, Some(0.001))), points_without: 0, ..only };
    assert_eq!(burst_range_words(&both), "takes 64 frames at p0 to 1,024 frames (1 ms) at p1");
}

#[test]
fn livelock_is_said_with_both_rates() {
    let fact = LivelockFound {
        series: series(),
        peak: point(1),
        peak_pps: 100_000.0,
        lowest: point(3),
        lowest_pps: 50_000.0,
        evidence: evidence(),
    };
    assert_eq!(
        livelock(&fact),
        format!("recv: livelock: 100,000 packets/s are delivered at p1 and only 50,000 at p3 ({EVIDENCE}).")
    );
}

/// A sweep in which no burst was found.
fn no_bursts() -> LongestBursts {
    LongestBursts { series: series(), first: None, last: None, growth: None, without_burst: Vec::new() }
}

/// A mean burst of this length, of which nothing else is known.
fn burst(index: usize, mean_frames: f64) -> BurstAtPoint {
    BurstAtPoint { point: point(index), mean_frames, deviation_frames: None, drain_corrected_buffer_s: None }
}

#[test]
fn the_longest_burst_of_a_sweep_is_said_as_far_as_it_is_known() {
    assert_eq!(buffers::longest_bursts(&no_bursts()), "recv: no longest burst was found.");
    let precise =
        BurstAtPoint { deviation_frames: Some(2.0), drain_corrected_buffer_s: Some(0.001), ..burst(0, 64.0) };
    assert_eq!(
        buffers::longest_bursts(&LongestBursts { first: Some(precise), ..no_bursts() }),
        "recv: the longest burst without loss is 64 ± 2 frames (drain-corrected buffer time 1.00 ms) at p0."
    );
}

#[test]
fn the_longest_bursts_are_said_with_their_growth() {
    let grows = "recv: the longest burst without loss is 64 frames at p0 and 512 frames at p1.";
    let with_growth = |growth| {
        let (first, last) = (Some(burst(0, 64.0)), Some(burst(1, 512.0)));
        buffers::longest_bursts(&LongestBursts { first, last, growth: Some(growth), ..no_bursts() })
    };
    assert_eq!(
        with_growth(BufferGrowth::AtEveryStep),
        format!("{grows} It grows with the ring at every step.")
    );
    let stops = |full| with_growth(BufferGrowth::Stops { from: point(1), full });
    let beyond = "From p1 on it does not grow with the ring any more: the limit is";
    assert_eq!(stops(None), format!("{grows} {beyond} a place that no counter here reports."));
    for (resource, words) in [
        (Resource::Link, "the link, the NIC or its driver"),
        (Resource::KernelReceiveWork, "the kernel's receive work, which is behind before the ring is full"),
        (Resource::ApplicationQueue, "the application's queue, which is full before the ring"),
        (Resource::RoomInRing, "the room that the ring has for frames, which grows less than its memory"),
        (Resource::Unexplained, "a place that no sweep explains"),
    ] {
        let full = FullResource { resource, place: Place::Ring, share: 0.75 };
        let lost = "of what longer bursts lose, 75 % is lost in the ring or socket queue";
        assert_eq!(stops(Some(full)), format!("{grows} {beyond} {words}; {lost}."));
    }
}

#[test]
fn searches_for_bursts_that_end_early_say_why() {
    for (end, words) in [
        (BurstEnd::Found, "the longest burst is known"),
        (BurstEnd::NoneHeld, "even the shortest burst loses frames"),
        (
            BurstEnd::NeverFills,
            "the application reads frames as fast as they come, so the buffer never fills and its length is unknown: the limit \
             is the load",
        ),
        (BurstEnd::AtLimit, "the burst is longer than the search went: the ring is no limit there"),
        (BurstEnd::GeneratorLimited, "the generator is the limit: it did not send at the rate of the burst"),
        (BurstEnd::Invalid, "an invalid trial ended a search"),
        (BurstEnd::NotRun, "a burst could not be run"),
    ] {
        let invalid = InvalidTrial { trial: Some(4), because: "a reason".into() };
        let ended = EndedSearches { end, points: vec![point(0), point(2)], invalid: Some(invalid) };
        let text = buffers::longest_bursts(&LongestBursts { without_burst: vec![ended], ..no_bursts() });
        assert!(text.ends_with(&format!(" At p0, p2: {words} (trial 4: a reason).")), "{text}");
    }
}

fn method_cost(method: &str, least_ns_per_packet: f64, most_ns_per_packet: f64) -> MethodCost {
    MethodCost { method: method.into(), least_ns_per_packet, most_ns_per_packet }
}

#[test]
fn the_cheapest_method_is_named_or_those_that_may_be() {
    let only_one = CheapestAtPoints {
        scene: scene(),
        from: point(0),
        to: point(0),
        cheapest: vec![method_cost("recv", 1800.0, 1800.0)],
        is_only_one: true,
        evidence: None,
    };
    assert_eq!(
        cheapest::cheapest_at_points(&only_one),
        "p0: only recv keeps up without loss, at 1.80 µs of CPU time per packet."
    );
    let proven = CheapestAtPoints {
        to: point(1),
        cheapest: vec![method_cost("recv", 600.0, 1800.0)],
        is_only_one: false,
        evidence: Some(evidence()),
        ..only_one.clone()
    };
    assert_eq!(
        cheapest::cheapest_at_points(&proven),
        format!(
            "p0 to p1: of the methods that keep up without loss, recv costs least, 600 ns to 1.80 µs of CPU time per packet \
             ({EVIDENCE})."
        )
    );
    let both = vec![method_cost("recv", 600.0, 600.0), method_cost("libpcap", 600.0, 700.0)];
    let undecided = CheapestAtPoints { cheapest: both, is_only_one: false, ..only_one };
    assert_eq!(
        cheapest::cheapest_at_points(&undecided),
        "p0: of the methods that keep up without loss, the cheapest by CPU time per packet cannot be distinguished from each \
         other: recv (600 ns), libpcap (600 ns to 700 ns)."
    );
}

#[test]
fn the_cheapest_ring_is_named_with_the_smallest_that_costs_the_same() {
    let ring = |method: &str, index, ns_per_packet| RingCost {
        method: method.into(),
        ring: point(index),
        ns_per_packet,
    };
    let only = CheapestRing {
        scene: scene(),
        pairs: 1,
        cheapest: ring("recv", 1, 600.0),
        evidence: None,
        not_distinguished: Vec::new(),
        smallest_alike: None,
    };
    assert_eq!(
        cheapest::cheapest_ring(&only),
        "only recv with p1 keeps up without loss, at 600 ns of CPU time per packet."
    );
    let proven = CheapestRing { pairs: 4, evidence: Some(evidence()), ..only };
    let of_pairs = "of 4 pairs of method and ring that keep up without loss, recv with p1 costs least, 600 ns of CPU time per \
                    packet";
    let smallest = "of those that cost the same within 5 %, the smallest ring is";
    assert_eq!(cheapest::cheapest_ring(&proven), format!("{of_pairs} ({EVIDENCE}); {smallest} its own."));
    let open = CheapestRing {
        evidence: None,
        not_distinguished: vec!["libpcap".into()],
        smallest_alike: Some(ring("libpcap", 0, 620.0)),
        ..proven
    };
    assert_eq!(
        cheapest::cheapest_ring(&open),
        format!(
            "{of_pairs}, from which libpcap cannot be distinguished; {smallest} that of libpcap with p0, at 620 ns."
        )
    );
}

#[test]
fn a_crossing_is_said_with_the_costs_that_explain_it() {
    let costs = |kernel_pays_for_lost| CrossingCosts {
        first: CostParts { kernel_ns_per_packet: 2200.0, app_ns_per_packet: 6500.0 },
        other: CostParts { kernel_ns_per_packet: 1000.0, app_ns_per_packet: 8500.0 },
        kernel_pays_for_lost,
    };
    let text = |costs| {
        crossing::crossing(&Crossing {
            series: series(),
            other: "libpcap".into(),
            ahead_up_to: point(1),
            ahead_evidence: evidence(),
            behind_from: point(2),
            behind_evidence: evidence(),
            loss_ratio: 0.42,
            costs,
        })
    };
    let overtakes = format!(
        "recv keeps up with more than libpcap up to p1 ({EVIDENCE}), and with less from p2 on ({EVIDENCE}), where up to 42 % of \
         the frames are lost."
    );
    assert_eq!(text(None), overtakes);
    let list = "recv: 2.20 µs of the kernel for every frame that arrives and 6.50 µs of the application, work included, for every \
                one delivered; libpcap: 1.00 µs and 8.50 µs";
    assert_eq!(text(Some(costs(false))), format!("{overtakes} ({list}.)"));
    let reason =
        "It costs the application less and the kernel more, and the kernel pays for lost frames, too";
    assert_eq!(text(Some(costs(true))), format!("{overtakes} {reason} ({list})."));
}

#[test]
fn points_at_which_the_kernel_is_the_limit_have_no_cost() {
    let one = LimitedByKernel {
        series: series(),
        points: 1,
        first: point(0),
        last: point(0),
        loss_ratio: 0.5,
        place: None,
        read_pps: 50_000.0,
        kernel: None,
    };
    let no_regime = "That is not a cost of the application, so no cost regime is computed there.";
    assert_eq!(
        cost::limited_by_kernel(&one),
        format!(
            "recv: kernel-limited at p0: up to 50 % of the frames are lost before the method, and the application reads those \
             that are left, 50,000 packets/s. {no_regime}"
        )
    );
    let several = LimitedByKernel {
        points: 3,
        last: point(2),
        place: Some(Place::Backlog),
        kernel: Some(KernelWork { ns_per_packet: 2000.0, busy_ratio: 0.1 }),
        ..one
    };
    assert_eq!(
        cost::limited_by_kernel(&several),
        format!(
            "recv: kernel-limited at 3 points, from p0 to p2: up to 50 % of the frames are lost in the softirq backlog, and the \
             application reads those that are left, 50,000 packets/s. Its receive work takes 2.00 µs for every frame that it \
             lets through, 10 % of a CPU. {no_regime}"
        )
    );
    assert_eq!(
        cost::no_cost(&NoCost { series: series(), points: 2 }),
        "recv: the application is the limit at 2 points: too few points, or too uneven a line, to compute what a packet costs."
    );
}

/// A regime at two points, whose cost is known to 100 ns.
fn regime(from: usize, cost_ns: f64) -> CostRegime {
    let to = point(from + 1);
    CostRegime { from: point(from), to, cost_ns, least_ns: cost_ns - 100.0, most_ns: cost_ns + 100.0 }
}

/// Costs without a regime.
fn no_regimes() -> PacketCost {
    PacketCost {
        series: series(),
        first: CostAtPoint { point: point(0), cost_ns: 900.0 },
        last: CostAtPoint { point: point(5), cost_ns: 500.0 },
        regimes: Vec::new(),
        changes: Vec::new(),
        slowed_work: None,
        is_upper_limit: false,
    }
}

#[test]
fn what_a_packet_costs_is_said_by_regime() {
    assert_eq!(
        cost::packet_cost(&no_regimes()),
        "recv: besides the work a packet costs 900 ns at p0 and 500 ns at p5, without a plateau."
    );
    let disturbed = cost::packet_cost(&PacketCost { is_upper_limit: true, ..no_regimes() });
    assert!(
        disturbed.contains(" without a plateau. These are upper limits: others used the CPUs"),
        "{disturbed}"
    );
    let one_regime = PacketCost { regimes: vec![regime(0, 3000.0)], ..no_regimes() };
    let one =
        "recv: one cost regime: besides the work a packet costs 3.00 µs (2.90 µs to 3.10 µs) from p0 to p1.";
    assert_eq!(cost::packet_cost(&one_regime), one);
    let slowed = |of_alone| {
        let slowed_work = Some(SlowedWork { unit_ns: 1.25, of_alone });
        cost::packet_cost(&PacketCost { slowed_work, ..one_regime.clone() })
    };
    assert_eq!(
        slowed(None),
        format!("{one} An iteration takes 1.250 ns there, the kernel's share of the CPU included.")
    );
    assert_eq!(
        slowed(Some(PartOfCpu { cpu_share: 0.8, costs_ns: vec![2500.0, 600.0] })),
        format!(
            "{one} The work takes 1.25 times as long there as alone: the application has 80 % of its CPU, and of its own time a \
             packet costs it 2.50 µs, then 600 ns."
        )
    );
}

#[test]
fn a_change_of_the_cost_is_said_with_what_changes_with_it() {
    let alone = CostChange {
        from: point(1),
        to: point(3),
        evidence: evidence(),
        wakeups_per_packet: None,
        frames_per_batch: None,
        backlog_share: None,
        ring_share: None,
    };
    let text = |change| {
        let regimes = vec![regime(0, 3000.0), regime(3, 900.0)];
        cost::packet_cost(&PacketCost { regimes, changes: vec![change], ..no_regimes() })
    };
    let regimes = "recv: 2 cost regimes: besides the work a packet costs 3.00 µs (2.90 µs to 3.10 µs) from p0 to p1, then 900 ns \
                   (800 ns to 1.00 µs) from p3 to p4.";
    let end = format!("; the costs differ by more than chance explains ({EVIDENCE}).");
    let nothing = "no counter here changes with it: neither wake-ups, batches, backlog nor ring";
    assert_eq!(text(alone.clone()), format!("{regimes} Between p1 and p3 {nothing}{end}"));
    let all = CostChange {
        wakeups_per_packet: Some(BeforeAndAfter { before: 1.0, after: 0.0 }),
        frames_per_batch: Some(BeforeAndAfter { before: 1.0, after: 20.0 }),
        backlog_share: Some(BeforeAndAfter { before: 0.5, after: 0.25 }),
        ring_share: Some(BeforeAndAfter { before: 0.5, after: 0.75 }),
        ..alone
    };
    assert_eq!(
        text(all),
        format!(
            "{regimes} Between p1 and p3 these change: wake-ups per packet from 1.000 to 0.000, frames per batch from 1.0 to 20.0, the share \
             of the backlog in the loss from 50 % to 25 %, the share of the ring or socket queue in the loss from 50 % to \
             75 %{end}"
        )
    );
}

#[test]
fn times_are_in_a_unit_that_suits_their_size() {
    let times = [900.0, 1800.0, 17_300.0, 2.5e6, 2.5e9].map(time_words);
    assert_eq!(times, ["900 ns", "1.80 µs", "17.3 µs", "2.50 ms", "2.500 s"]);
}
