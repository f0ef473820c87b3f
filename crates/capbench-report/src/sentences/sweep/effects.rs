//! The words of `Effect`: whether the two effects that Dain published in 2004 appear.

use capbench_judge::sweep::effects::{
    AgainstSocket, ComparedRates, Effect, Excluded, LargestRise, RingAhead, RingAnswer, RiseAnswer,
    SocketAnswer, SustainedPart,
};
use capbench_model::figures::{grouped, percent};
use capbench_model::saved::SavedMethod;

use super::evidence_words;

const FIRST: &str = "Dain's first effect (more work per packet, more packets)";
const SECOND: &str =
    "Dain's second effect (a ring captures less than a socket's queue once packets are lost)";

/// Whether an effect appears.
pub(crate) fn words(method: &SavedMethod, effect: &Effect) -> String {
    let text = match effect {
        Effect::MoreWorkMorePackets { answer } => rise_words(answer),
        Effect::RingBehindSocket { answer } => ring_words(answer),
    };
    format!("{method}: {text}")
}

/// Whether more work per packet captures more packets.
fn rise_words(answer: &RiseAnswer) -> String {
    match answer {
        RiseAnswer::HardlyAnyLoss { is_clean, up_to } => format!(
            "{FIRST} cannot appear: {} up to {up_to}, so there are none to win.",
            loss_words(*is_clean)
        ),
        RiseAnswer::Appears { rise } => format!("{FIRST} appears: {}.", largest_rise(rise)),
        RiseAnswer::Undecided { visits, points } => format!(
            "{FIRST} cannot be decided: {visits} visits of {points} points are no evidence of any rise, nor do they exclude one; \
             give more --visits."
        ),
        RiseAnswer::DoesNotAppear { largest, excluded } => {
            let largest = match largest {
                Some(rise) => format!("the largest rise is {}", largest_rise(rise)),
                None => "at no point are more captured than at one with less work".into(),
            };
            format!("{FIRST} does not appear: {largest}. {}.", excluded_words("A rise", excluded))
        }
    }
}

/// Whether a ring captures less than the queue of a socket.
fn ring_words(answer: &RingAnswer) -> String {
    match answer {
        RingAnswer::NoRing => format!("{SECOND} is one of rings, and this method has none."),
        RingAnswer::NoSocket => format!(
            "{SECOND} cannot be decided: no method without a ring was measured next to it; add recv to --method."
        ),
        RingAnswer::Against { sockets } => {
            let answers: Vec<String> = sockets.iter().map(against_words).collect();
            format!("{SECOND} {}.", answers.join("; it "))
        }
    }
}

/// The ring against one method without a ring, as the end of a sentence.
fn against_words(against: &AgainstSocket) -> String {
    let name = &against.socket;
    match &against.answer {
        SocketAnswer::HardlyAnyLoss { is_clean } => {
            format!("cannot appear against {name}: {} with either", loss_words(*is_clean))
        }
        SocketAnswer::RingBehind { rates, evidence } => {
            format!("appears against {name}: {} ({})", compared(rates), evidence_words(*evidence))
        }
        SocketAnswer::Undecided { visits, ring_ahead } => {
            let ahead = match ring_ahead {
                Some(ahead) => format!(": {}", ahead_words(ahead)),
                None => String::new(),
            };
            format!(
                "cannot be decided against {name} with {visits} visits, which exclude nothing{ahead}; give more --visits"
            )
        }
        SocketAnswer::RingAhead { ahead, excluded } => format!(
            "does not appear against {name}: {}, and nowhere less that chance does not explain; {}",
            ahead_words(ahead),
            excluded_words("a lead of the socket", excluded)
        ),
        SocketAnswer::Alike { worst, excluded } => {
            let worst = match worst {
                Some(rates) => format!(": {} at worst", compared(rates)),
                None => String::new(),
            };
            format!(
                "does not appear against {name}: the two do not differ by more than chance explains{worst}; {}",
                excluded_words("a lead of the socket", excluded)
            )
        }
    }
}

/// How few packets are lost where no effect can appear. `is_clean` is whether none are lost at all.
fn loss_words(is_clean: bool) -> &'static str {
    if is_clean { "no packets are lost" } else { "packets are lost now and then only" }
}

/// What is captured with less work and with more work.
fn largest_rise(rise: &LargestRise) -> String {
    let LargestRise { low, high, evidence } = rise;
    format!(
        "{} at {}, {} at {} ({})",
        share(low),
        labels(low),
        share(high),
        labels(high),
        evidence_words(*evidence)
    )
}

/// Where the ring captures more than the socket.
fn ahead_words(ahead: &RingAhead) -> String {
    format!("{} ({})", compared(&ahead.rates), evidence_words(ahead.evidence))
}

/// What the ring and the socket keep up with at the same points.
fn compared(rates: &ComparedRates) -> String {
    format!(
        "{} are kept up with against {} at {}",
        share(&rates.ring),
        share(&rates.socket),
        labels(&rates.ring)
    )
}

/// A share with its rate: `50 % (1,000 packets/s)`.
fn share(part: &SustainedPart) -> String {
    format!("{} ({} packets/s)", percent(part.ratio), grouped(part.pps))
}

/// The point, or the points from the first to the last.
fn labels(part: &SustainedPart) -> String {
    match &part.to {
        Some(last) => format!("{} to {last}", part.from),
        None => part.from.clone(),
    }
}

/// The size from which on something is excluded, and how sure that is.
fn excluded_words(what: &str, excluded: &Excluded) -> String {
    let basis = excluded.basis;
    let over = match basis.points {
        1 => "at single points".into(),
        points => format!("over {points} neighbouring points"),
    };
    let above = match excluded.above_ratio {
        0.0 => String::new(),
        ratio => format!(" above {:.2} %", ratio * 100.0),
    };
    format!(
        "{what}{above} is excluded ({over}, at {:.0} % for all {} comparisons together)",
        basis.level * 100.0,
        basis.comparisons
    )
}
