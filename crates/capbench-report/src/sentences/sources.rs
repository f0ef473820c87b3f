//! The words of where the counts of a ledger come from, or why there are none.

use capbench_model::counters::{LossSource, ProgramCount};
use capbench_model::ledger::Entry;
use capbench_model::places::Place;
use capbench_model::sources::{
    BacklogPart, BacklogSource, BeforeCounters, BlindCard, CardCounters, CountedFrames, FilterSource,
    LinkSource, PathSource, SocketsUnknown, Source, TransmitCounters, TransmitSource, UnreadSource,
};
use capbench_model::traced_losses::{Doubts, LossesByReason, TracedCount, TracedXdp};

/// The difference of what two drivers counted.
const DIFFERENCE: &str = "computed: tx_packets of the sender less rx_packets of the receiver";

/// Where the count of an entry comes from: its fact in words, or the text of a file that has no fact.
pub fn words(entry: &Entry) -> String {
    let Some(source) = &entry.source_fact else { return entry.source.clone() };
    match source {
        Source::Method(LossSource::Method(counter)) => counter.to_string(),
        Source::Method(LossSource::Program(count)) => program_words(entry.place, count),
        Source::NotInMethod => match entry.place {
            Place::FillRing => "the method has no fill ring".into(),
            Place::Ring => "the method has no ring".into(),
            _ => "the method has no queue".into(),
        },
        Source::MethodReportsNone => "unknown: the method does not report it".into(),
        Source::Generator => "generator: intended - passed to the kernel".into(),
        Source::Transmit(transmit) => transmit_words(transmit),
        Source::NoLinkQueue => "frames go through no such queue".into(),
        Source::LinkQueue { left } => link_queue_words(*left),
        Source::Path(path) => path_words(path),
        Source::Link(link) => link_words(link),
        Source::Card(counters) => card_words(counters),
        Source::VethHasNoQueue => "a veth has no other queue".into(),
        Source::ReceiveDropsHaveCaptured => {
            "unknown: rx_dropped also counts frames that were captured".into()
        }
        Source::Backlog(backlog) => backlog_words(backlog),
        Source::Xdp(xdp) => xdp_words(xdp),
        Source::CardAndXdp { card, xdp } => format!("{}; {}", card_words(card), xdp_words(xdp)),
        Source::Stack(seen) => traced_words("none in front of the capture point", seen, 0),
        Source::NotTraced { because: None } => "unknown: needs a tracer of drop reasons".into(),
        Source::NotTraced { because: Some(because) } => {
            format!("unknown: no tracer of drop reasons: {because}")
        }
        Source::Filter(filter) => filter_words(*filter).into(),
        Source::NoQueue => "the application has no queue".into(),
        Source::Queue { length, refused: _, left: 0 } => {
            format!("capbench: frames that the queue of {length} had no room for")
        }
        Source::Queue { length, refused, left } => format!(
            "capbench: {refused} frames that the queue of {length} had no room for, {left} that were still in it at the end"
        ),
        Source::Unread(unread) => unread_words(unread),
        Source::Verification => "capbench: verification of every frame".into(),
        Source::Unverified { because } => format!("unknown: {because}"),
    }
}

/// What a program under test reported of a place.
fn program_words(place: Place, count: &ProgramCount) -> String {
    match count {
        ProgramCount::Reported { program, count } => {
            let room = match place {
                Place::MethodQueue => "its own queue had no room",
                _ => "its socket or ring had no room",
            };
            format!("reported by {program}: {count} ({room})")
        }
        ProgramCount::NotReported { program, count } => {
            format!("unknown: {program} did not report \"{count}\"")
        }
        ProgramCount::NoCount { program } => format!("unknown: {program} has no count of it"),
        ProgramCount::SocketStatistics => {
            "PACKET_STATISTICS of its sockets, read when it had ended: their queue or ring had no room".into()
        }
    }
}

fn transmit_words(transmit: &TransmitSource) -> String {
    let counters = match transmit.counters {
        TransmitCounters::LinkStatistics => "link statistics of the sender: tx_dropped + tx_errors",
        TransmitCounters::LessBacklog => {
            "link statistics of the sender: tx_dropped + tx_errors, less what the backlog refused"
        }
        TransmitCounters::FarQueueOnly => "a veth refuses only what the queue at its far end has no room for",
    };
    let mut text = counters.to_string();
    match &transmit.before {
        Some(BeforeCounters::Traced(losses)) => {
            text += &format!("; skb:kfree_skb: {}", losses_words(losses));
        }
        Some(BeforeCounters::Refused(frames)) => {
            text += &format!("; refused to the generator (ENOBUFS) before them: {frames}");
        }
        None => {}
    }
    if !transmit.unplaced.is_empty() {
        text += &format!("; skb:kfree_skb: {}", unplaced_words(&transmit.unplaced));
    }
    text
}

fn link_queue_words(left: Option<u64>) -> String {
    let counter =
        "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll";
    match left {
        None => counter.into(),
        Some(left) => format!(
            "{counter}; {left} more were still in it at the end, computed: sent less refused and rx_packets of the receiver"
        ),
    }
}

fn path_words(path: &PathSource) -> String {
    let unknown = match path {
        PathSource::NothingBetween => return "there is nothing between the ends of a veth".into(),
        PathSource::Difference => return DIFFERENCE.into(),
        PathSource::NotCompared => "the counters of the interfaces were not compared",
        PathSource::NotEachOnce => "not all drivers are known to count each frame once",
        PathSource::ForeignFrames => "foreign frames came, which hide lost ones in the counters",
        PathSource::Contradicted => {
            "tx_packets or rx_packets contradict the frames that were sent or captured"
        }
        PathSource::CardCountsOthers => "the receiving card counts what it loses together with other frames",
        PathSource::BlindCard(card) => {
            return format!("unknown: the receiving card may have lost them ({})", blind_words(card));
        }
    };
    format!("unknown: {unknown}")
}

fn link_words(link: &LinkSource) -> String {
    match link {
        LinkSource::LinkStatistics => {
            "link statistics of the receiver: rx missed, fifo, over, crc, length and frame errors".into()
        }
        LinkSource::CardAndDifference { card, by_card: 0, .. } => {
            format!("{DIFFERENCE}; the card counts none of them ({})", card_words(card))
        }
        LinkSource::CardAndDifference { card, by_card, more } => {
            format!("{by_card} by {}; {more} more {DIFFERENCE}", card_words(card))
        }
        LinkSource::Difference(card) => format!("{DIFFERENCE} ({})", blind_words(card)),
        LinkSource::Blind(card) => format!("unknown with {}", blind_words(card)),
    }
}

/// Why the counters of a card show nothing.
fn blind_words(card: &BlindCard) -> String {
    let driver = card.driver.as_deref().unwrap_or("the interface");
    let because = card.because.as_deref().unwrap_or("it has no counter for it");
    format!("{driver}: {because}")
}

/// Counters of a card or its driver.
fn card_words(counters: &CardCounters) -> String {
    let mut named = Vec::new();
    for counter in &counters.counters {
        let bound = match counter.is_bound_by_failed_redirects {
            true => " as far as xdp:xdp_redirect_err confirms it",
            false => "",
        };
        named.push(format!("{}{bound} ({})", counter.counter, counter.meaning));
    }
    let named = named.join("; ");
    match counters.counted {
        CountedFrames::Losses => named,
        CountedFrames::OnlyTrial => format!("{named}, where nothing but the trial's frames came"),
        CountedFrames::WithOthers { up_to } => {
            format!("unknown, up to {up_to}: {named}, which also counts what is not the trial's")
        }
    }
}

fn backlog_words(backlog: &BacklogSource) -> String {
    let part = match backlog.part {
        BacklogPart::NoBacklog => "frames pass no backlog: the NAPI poll takes them to the method",
        BacklogPart::ReceiverWithoutDriver => {
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver, without its driver's own, confirms it"
        }
        BacklogPart::ReceiverBeyondSender => {
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver exceeds tx_dropped of the sender"
        }
        BacklogPart::Receiver => {
            "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver confirms it"
        }
        BacklogPart::Sender => {
            "/proc/net/softnet_stat: dropped, as far as tx_dropped of the sender confirms it"
        }
        BacklogPart::Unreadable => "unknown: /proc/net/softnet_stat could not be read",
        BacklogPart::NoLinkStatistics => {
            "unknown: link statistics are missing, and softnet_stat counts for the whole host"
        }
    };
    if backlog.cpus.is_empty() {
        return part.into();
    }
    let mut cpus = Vec::new();
    for backlog in &backlog.cpus {
        cpus.push(format!("{} on CPU {}", backlog.dropped, backlog.cpu));
    }
    format!("{part}; the host's: {}", cpus.join(", "))
}

fn xdp_words(xdp: &TracedXdp) -> String {
    match xdp {
        TracedXdp::Generic { seen, failed } => traced_words("none by generic XDP", seen, *failed),
        TracedXdp::NotAttached => "no XDP program is attached".into(),
        TracedXdp::InDriver { failed } => format!(
            "unknown: the verdicts of the XDP program in the driver; {failed} of them failed (xdp:xdp_exception, \
             xdp:xdp_redirect_err)"
        ),
        TracedXdp::Unknown => "unknown: the verdicts of an XDP program".into(),
    }
}

/// What the tracer saw at a place, with its doubts. `none` says that it saw no loss; `failed` of the losses are failures of XDP.
fn traced_words(none: &str, seen: &TracedCount, failed: u64) -> String {
    let mut text = match seen.lost.is_empty() {
        true => format!("skb:kfree_skb: {none}"),
        false => format!("skb:kfree_skb: {}", losses_words(&seen.lost)),
    };
    if failed > 0 {
        text += &format!("; {failed} of them failed (xdp:*)");
    }
    if seen.doubts.is_empty() {
        return text;
    }
    let certainty = if seen.lost.is_empty() { "unknown" } else { "at least" };
    format!("{certainty}: {text}{}", doubts_words(&seen.doubts))
}

fn doubts_words(doubts: &Doubts) -> String {
    let mut text = String::new();
    if !doubts.unplaced.is_empty() {
        text += &format!("; {}", unplaced_words(&doubts.unplaced));
    }
    if doubts.missed > 0 {
        text += &format!("; {} events of the host were missed", doubts.missed);
    }
    if doubts.unseen > 0 {
        text += &format!("; {} frames ended on the interface that were not seen to end", doubts.unseen);
    }
    text
}

fn unplaced_words(losses: &LossesByReason) -> String {
    format!("not counted, as their place is unknown: {}", losses_words(losses))
}

fn losses_words(losses: &LossesByReason) -> String {
    let parts: Vec<_> = losses.by_reason().map(|(reason, frames)| format!("{reason} {frames}")).collect();
    parts.join(", ")
}

fn filter_words(filter: FilterSource) -> &'static str {
    match filter {
        FilterSource::NoFilter => "no socket filter drops frames of the trial",
        FilterSource::Difference => {
            "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted"
        }
        FilterSource::DifferenceInDoubt => {
            "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted: with what the \
             tracer did not see those lose"
        }
        FilterSource::DifferenceWithStack => {
            "computed: rx_packets of the receiver less what backlog and XDP lost and the socket accepted: with what the stack \
             lost, which no tracer counts"
        }
        FilterSource::Unknown => "unknown: the kernel does not count what a filter drops",
    }
}

fn unread_words(unread: &UnreadSource) -> String {
    match unread {
        UnreadSource::Drained => {
            "capbench: the trial went on until every frame was accounted for, or none came any more".into()
        }
        UnreadSource::SocketsOfProgram => {
            "capbench: frames in the sockets and rings of the program when it had ended".into()
        }
        UnreadSource::Difference => {
            "computed: what the method accepted, less its losses and the frames read".into()
        }
        UnreadSource::CutShort => {
            "unknown: the trial was cut short, and the method does not report what it accepted or lost".into()
        }
        UnreadSource::SocketsUnknown(SocketsUnknown::NoPacketSocket) => {
            "unknown: it captures by another way than a packet socket on the interface".into()
        }
        UnreadSource::SocketsUnknown(SocketsUnknown::NotVisible) => {
            "unknown: its packet socket is open in none of its processes that can be seen".into()
        }
        UnreadSource::SocketsUnknown(SocketsUnknown::Unreadable { error }) => format!("unknown: {error}"),
    }
}

#[cfg(test)]
mod tests;
