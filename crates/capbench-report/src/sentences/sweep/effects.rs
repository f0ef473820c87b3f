//! The words of Dain's two effects of 2004.

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

/// How few packets are lost if no point loses any in most of its trials.
fn loss_words(is_clean: bool) -> &'static str {
    if is_clean { "no packets are lost" } else { "packets are lost now and then only" }
}

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

fn ahead_words(ahead: &RingAhead) -> String {
    format!("{} ({})", compared(&ahead.rates), evidence_words(ahead.evidence))
}

fn compared(rates: &ComparedRates) -> String {
    format!(
        "{} are kept up with against {} at {}",
        share(&rates.ring),
        share(&rates.socket),
        labels(&rates.ring)
    )
}

fn share(part: &SustainedPart) -> String {
    format!("{} ({} packets/s)", percent(part.ratio), grouped(part.pps))
}

fn labels(part: &SustainedPart) -> String {
    match &part.to {
        Some(last) => format!("{} to {last}", part.from),
        None => part.from.clone(),
    }
}

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
