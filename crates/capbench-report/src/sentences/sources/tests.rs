//! Each source of a count in words.

use capbench_model::sources::{BacklogOfCpu, CardCounter};
use capbench_sys::host::CpuId;

use super::*;

fn words_at(place: Place, source: Source) -> String {
    words(&Entry::new(place, None, source))
}

fn losses(of: &[(&str, u64)]) -> LossesByReason {
    let mut losses = LossesByReason::default();
    for (reason, frames) in of {
        losses.add((*reason).into(), *frames);
    }
    losses
}

fn counters(counted: CountedFrames) -> CardCounters {
    let counter = CardCounter {
        counter: "driver counter rx_missed".into(),
        meaning: "missed: the NIC had no buffer from the host".into(),
        is_bound_by_failed_redirects: false,
    };
    CardCounters { counters: vec![counter], counted }
}

#[test]
fn a_text_of_an_earlier_version_stays() {
    let entry = Entry { place: Place::Ring, count: None, source: "tp_drops".into(), source_fact: None };
    assert_eq!(words(&entry), "tp_drops");
}

#[test]
fn each_place_of_a_path_has_its_counters() {
    let program = |count| Source::Method(LossSource::Program(count));
    let (tcpdump, name) = (|| "tcpdump".to_string(), || "dropped by kernel".to_string());
    let queue = |refused, left| Source::Queue { length: "8".parse().unwrap(), refused, left };
    let unreadable = SocketsUnknown::Unreadable { error: "pidfd_getfd: Permission denied".into() };
    for (place, source, expected) in [
        (Place::Unsent, Source::Generator, "generator: intended - passed to the kernel"),
        (Place::LinkQueue, Source::NoLinkQueue, "frames go through no such queue"),
        (
            Place::LinkQueue,
            Source::LinkQueue { left: None },
            "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll",
        ),
        (
            Place::LinkQueue,
            Source::LinkQueue { left: Some(244) },
            "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll; 244 more were \
             still in it at the end, computed: sent less refused and rx_packets of the receiver",
        ),
        (Place::Driver, Source::VethHasNoQueue, "a veth has no other queue"),
        (
            Place::Driver,
            Source::ReceiveDropsHaveCaptured,
            "unknown: rx_dropped also counts frames that were captured",
        ),
        (Place::Stack, Source::NotTraced { because: None }, "unknown: needs a tracer of drop reasons"),
        (
            Place::Stack,
            Source::NotTraced { because: Some("no BTF".into()) },
            "unknown: no tracer of drop reasons: no BTF",
        ),
        (Place::Ring, Source::Method("tp_drops".into()), "tp_drops"),
        (Place::Ring, Source::MethodReportsNone, "unknown: the method does not report it"),
        (Place::FillRing, Source::NotInMethod, "the method has no fill ring"),
        (Place::Ring, Source::NotInMethod, "the method has no ring"),
        (Place::MethodQueue, Source::NotInMethod, "the method has no queue"),
        (
            Place::Ring,
            program(ProgramCount::Reported { program: tcpdump(), count: name() }),
            "reported by tcpdump: dropped by kernel (its socket or ring had no room)",
        ),
        (
            Place::MethodQueue,
            program(ProgramCount::Reported { program: tcpdump(), count: name() }),
            "reported by tcpdump: dropped by kernel (its own queue had no room)",
        ),
        (
            Place::Ring,
            program(ProgramCount::NotReported { program: tcpdump(), count: name() }),
            "unknown: tcpdump did not report \"dropped by kernel\"",
        ),
        (
            Place::Ring,
            program(ProgramCount::NoCount { program: tcpdump() }),
            "unknown: tcpdump has no count of it",
        ),
        (
            Place::Ring,
            program(ProgramCount::SocketStatistics),
            "PACKET_STATISTICS of its sockets, read when it had ended: their queue or ring had no room",
        ),
        (Place::ApplicationQueue, Source::NoQueue, "the application has no queue"),
        (Place::ApplicationQueue, queue(3, 0), "capbench: frames that the queue of 8 had no room for"),
        (
            Place::ApplicationQueue,
            queue(3, 2),
            "capbench: 3 frames that the queue of 8 had no room for, 2 that were still in it at the end",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::Drained),
            "capbench: the trial went on until every frame was accounted for, or none came any more",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::SocketsOfProgram),
            "capbench: frames in the sockets and rings of the program when it had ended",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::Difference),
            "computed: what the method accepted, less its losses and the frames read",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::CutShort),
            "unknown: the trial was cut short, and the method does not report what it accepted or lost",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::SocketsUnknown(SocketsUnknown::NoPacketSocket)),
            "unknown: it captures by another way than a packet socket on the interface",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::SocketsUnknown(SocketsUnknown::NotVisible)),
            "unknown: its packet socket is open in none of its processes that can be seen",
        ),
        (
            Place::Unread,
            Source::Unread(UnreadSource::SocketsUnknown(unreadable)),
            "unknown: pidfd_getfd: Permission denied",
        ),
        (Place::Corrupt, Source::Verification, "capbench: verification of every frame"),
        (
            Place::Corrupt,
            Source::Unverified { because: "it only counts frames".into() },
            "unknown: it only counts frames",
        ),
    ] {
        assert_eq!(words_at(place, source), expected);
    }
}

#[test]
fn counters_of_the_sending_interface_name_what_they_miss() {
    let transmit = |counters, before, unplaced| {
        words_at(Place::Transmit, Source::Transmit(TransmitSource { counters, before, unplaced }))
    };
    assert_eq!(
        transmit(TransmitCounters::LinkStatistics, None, LossesByReason::default()),
        "link statistics of the sender: tx_dropped + tx_errors"
    );
    let traced = BeforeCounters::Traced(losses(&[("QDISC_DROP", 3), ("TC_EGRESS", 4)]));
    assert_eq!(
        transmit(TransmitCounters::LessBacklog, Some(traced), losses(&[("NEW", 5)])),
        "link statistics of the sender: tx_dropped + tx_errors, less what the backlog refused; skb:kfree_skb: QDISC_DROP 3, \
         TC_EGRESS 4; skb:kfree_skb: not counted, as their place is unknown: NEW 5"
    );
    assert_eq!(
        transmit(TransmitCounters::FarQueueOnly, Some(BeforeCounters::Refused(7)), LossesByReason::default()),
        "a veth refuses only what the queue at its far end has no room for; refused to the generator (ENOBUFS) before them: 7"
    );
}

#[test]
fn losses_on_the_path_are_a_difference_or_unknown_for_a_reason() {
    let blind = BlindCard { driver: Some("ixgbe".into()), because: Some("its counter wraps".into()) };
    for (path, expected) in [
        (PathSource::NothingBetween, "there is nothing between the ends of a veth"),
        (PathSource::Difference, "computed: tx_packets of the sender less rx_packets of the receiver"),
        (PathSource::NotCompared, "unknown: the counters of the interfaces were not compared"),
        (PathSource::NotEachOnce, "unknown: not all drivers are known to count each frame once"),
        (PathSource::ForeignFrames, "unknown: foreign frames came, which hide lost ones in the counters"),
        (
            PathSource::Contradicted,
            "unknown: tx_packets or rx_packets contradict the frames that were sent or captured",
        ),
        (
            PathSource::CardCountsOthers,
            "unknown: the receiving card counts what it loses together with other frames",
        ),
        (
            PathSource::BlindCard(blind),
            "unknown: the receiving card may have lost them (ixgbe: its counter wraps)",
        ),
    ] {
        assert_eq!(words_at(Place::Path, Source::Path(path)), expected);
    }
}

#[test]
fn losses_of_a_card_name_its_counters_and_what_only_the_difference_has() {
    let link = |link| words_at(Place::Link, Source::Link(link));
    let card = || counters(CountedFrames::Losses);
    let in_words = "driver counter rx_missed (missed: the NIC had no buffer from the host)";
    let difference = "computed: tx_packets of the sender less rx_packets of the receiver";
    assert_eq!(
        link(LinkSource::LinkStatistics),
        "link statistics of the receiver: rx missed, fifo, over, crc, length and frame errors"
    );
    assert_eq!(words_at(Place::Link, Source::Card(card())), in_words);
    assert_eq!(
        link(LinkSource::CardAndDifference { card: card(), by_card: 0, more: 7 }),
        format!("{difference}; the card counts none of them ({in_words})")
    );
    assert_eq!(
        link(LinkSource::CardAndDifference { card: card(), by_card: 3, more: 7 }),
        format!("3 by {in_words}; 7 more {difference}")
    );
    let no_counter = "the interface: it has no counter for it";
    assert_eq!(link(LinkSource::Difference(BlindCard::default())), format!("{difference} ({no_counter})"));
    assert_eq!(link(LinkSource::Blind(BlindCard::default())), format!("unknown with {no_counter}"));
    let driver = |counted| words_at(Place::Driver, Source::Card(counters(counted)));
    assert_eq!(
        driver(CountedFrames::OnlyTrial),
        format!("{in_words}, where nothing but the trial's frames came")
    );
    assert_eq!(
        driver(CountedFrames::WithOthers { up_to: 9 }),
        format!("unknown, up to 9: {in_words}, which also counts what is not the trial's")
    );
}

#[test]
fn drops_of_backlogs_are_confirmed_by_an_interface_and_named_by_cpu() {
    let backlog = |part, cpus| words_at(Place::Backlog, Source::Backlog(BacklogSource { part, cpus }));
    let of_cpu = |cpu, dropped| BacklogOfCpu { cpu: CpuId::new(cpu), dropped };
    assert_eq!(
        backlog(BacklogPart::Sender, vec![of_cpu(1, 38), of_cpu(3, 2)]),
        "/proc/net/softnet_stat: dropped, as far as tx_dropped of the sender confirms it; the host's: 38 on CPU 1, 2 on CPU 3"
    );
    for (part, expected) in [
        (BacklogPart::NoBacklog, "frames pass no backlog: the NAPI poll takes them to the method"),
        (
            BacklogPart::ReceiverWithoutDriver,
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver, without its driver's own, confirms it",
        ),
        (
            BacklogPart::ReceiverBeyondSender,
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver exceeds tx_dropped of the sender",
        ),
        (
            BacklogPart::Receiver,
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver confirms it",
        ),
        (BacklogPart::Unreadable, "unknown: /proc/net/softnet_stat could not be read"),
        (
            BacklogPart::NoLinkStatistics,
            "unknown: link statistics are missing, and softnet_stat counts for the whole host",
        ),
    ] {
        assert_eq!(backlog(part, Vec::new()), expected);
    }
}

#[test]
fn what_the_tracer_saw_is_in_doubt_where_it_may_have_missed_losses() {
    let stack = |lost, doubts| words_at(Place::Stack, Source::Stack(TracedCount { lost, doubts }));
    let none = Doubts::default;
    assert_eq!(stack(LossesByReason::default(), none()), "skb:kfree_skb: none in front of the capture point");
    assert_eq!(stack(losses(&[("PFMEMALLOC", 2)]), none()), "skb:kfree_skb: PFMEMALLOC 2");
    assert_eq!(
        stack(losses(&[("PFMEMALLOC", 2)]), Doubts { missed: 3, ..none() }),
        "at least: skb:kfree_skb: PFMEMALLOC 2; 3 events of the host were missed"
    );
    let doubts = Doubts { unplaced: losses(&[("NEW", 1)]), missed: 3, unseen: 7 };
    assert_eq!(
        stack(LossesByReason::default(), doubts),
        "unknown: skb:kfree_skb: none in front of the capture point; not counted, as their place is unknown: NEW 1; 3 events of \
         the host were missed; 7 frames ended on the interface that were not seen to end"
    );
}

#[test]
fn losses_in_xdp_are_those_of_the_driver_and_of_the_tracer() {
    let generic =
        |lost, failed| TracedXdp::Generic { seen: TracedCount { lost, doubts: Doubts::default() }, failed };
    for (traced, expected) in [
        (generic(LossesByReason::default(), 0), "skb:kfree_skb: none by generic XDP"),
        (generic(losses(&[("XDP", 5)]), 2), "skb:kfree_skb: XDP 5; 2 of them failed (xdp:*)"),
        (TracedXdp::NotAttached, "no XDP program is attached"),
        (
            TracedXdp::InDriver { failed: 2 },
            "unknown: the verdicts of the XDP program in the driver; 2 of them failed (xdp:xdp_exception, \
             xdp:xdp_redirect_err)",
        ),
        (TracedXdp::Unknown, "unknown: the verdicts of an XDP program"),
    ] {
        assert_eq!(words_at(Place::Xdp, Source::Xdp(traced)), expected);
    }
    let mut card = counters(CountedFrames::Losses);
    card.counters[0].is_bound_by_failed_redirects = true;
    let xdp = generic(losses(&[("XDP", 5)]), 0);
    assert_eq!(
        words_at(Place::Xdp, Source::CardAndXdp { card, xdp }),
        "driver counter rx_missed as far as xdp:xdp_redirect_err confirms it (missed: the NIC had no buffer from the host); \
         skb:kfree_skb: XDP 5"
    );
}

#[test]
fn drops_of_a_filter_are_a_difference_with_its_doubts() {
    for (filter, expected) in [
        (FilterSource::NoFilter, "no socket filter drops frames of the trial"),
        (
            FilterSource::Difference,
            "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted",
        ),
        (
            FilterSource::DifferenceInDoubt,
            "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted: with what the \
             tracer did not see those lose",
        ),
        (
            FilterSource::DifferenceWithStack,
            "computed: rx_packets of the receiver less what backlog and XDP lost and the socket accepted: with what the stack \
             lost, which no tracer counts",
        ),
        (FilterSource::Unknown, "unknown: the kernel does not count what a filter drops"),
    ] {
        assert_eq!(words_at(Place::Filter, Source::Filter(filter)), expected);
    }
}
