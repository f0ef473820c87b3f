//! What the report says in words, and whether it is so here.

use super::super::material::{Material, Order, Seen, captured, captured_pps, whole_load};
use super::super::outcome::{Answer, Judgement, Quantity};
use super::super::published::{CESNET_3, CESNET_6};
use super::{PF_RING, PLACEMENTS, RING, STACK, SZEDATA2, best_effort, found, mixed, sizes};
use crate::placement::PlacementChoice;

/// Captured shares from here on count as everything.
const ALL: f64 = 0.999;
/// Rates that differ by less, as a part of the larger one, are alike.
const PART: f64 = 0.1;
/// Loads that differ by less are alike, as a part of one CPU.
const LOAD: f64 = 0.02;
/// Sizes up to this are small ones.
const SMALL: u16 = 128;

/// All claims.
pub(super) fn all(material: &Material<'_>) -> Vec<Judgement> {
    let mut findings: Vec<Judgement> =
        PLACEMENTS.into_iter().map(|placement| wire_speed(material, placement)).collect();
    findings.push(other_cpu(material));
    findings.push(livelock(material));
    findings.push(throughput(material));
    findings.extend(mix(material));
    for (claim, method) in [
        ("szedata2 captures every frame of every size at 1 Gbit/s.", SZEDATA2),
        (
            "PF_RING holds 1 Gbit/s from 207 bytes up with the application on the CPU of the interrupts.",
            PF_RING,
        ),
    ] {
        if let Some(reason) = material.why_left_out(method) {
            let text = format!("{method} cannot run here: {reason}");
            findings.push(Judgement {
                claim: claim.into(),
                answer: Answer::NotTestable,
                text,
                trials: Vec::new(),
            });
        }
    }
    findings
}

fn pps(value: f64) -> String {
    Quantity::PacketsPerSecond.text(value)
}

fn prefix(placement: PlacementChoice) -> &'static str {
    if placement == PlacementChoice::Same { "same" } else { "other" }
}

/// Said where the receiver slows the generator.
fn dependence<'t>(seen: impl IntoIterator<Item = &'t Seen<'t>>) -> &'static str {
    let depends = |seen: &Seen<'_>| seen.trials().iter().any(|trial| !trial.profile.load_independent);
    if seen.into_iter().any(depends) {
        " The receiver's work slowed the generator in some of these trials."
    } else {
        ""
    }
}

/// Down to which size the standard stack captures a full wire.
fn wire_speed(material: &Material<'_>, placement: PlacementChoice) -> Judgement {
    let published = |octets: u16| {
        let row = CESNET_3.row(&octets.to_string())?;
        CESNET_3.number(row, &format!("{}_cpu_gbps", prefix(placement)))
    };
    // Largest first.
    let then = sizes().into_iter().take_while(|&octets| published(octets) == Some(1.0)).last();
    let then = then.unwrap_or(u16::MAX);
    let claim = format!(
        "The standard stack captures 1 Gbit/s from {then} bytes up, and loses below, with the application on {}.",
        if placement == PlacementChoice::Same { "the CPU of the interrupts" } else { "another CPU" }
    );
    let seen: Vec<(u16, Seen<'_>)> =
        sizes().into_iter().map(|octets| (octets, best_effort(material, STACK, placement, octets))).collect();
    let trials = seen.iter().flat_map(|(_, seen)| seen.numbers()).collect();
    let held = seen
        .iter()
        .take_while(|(_, seen)| !seen.fell_short() && seen.every(captured, |share| share >= ALL))
        .count();
    let least = held.checked_sub(1).and_then(|last| seen.get(last)).map(|(octets, _)| *octets);
    let next = seen.get(held);
    let from =
        |octets: Option<u16>| octets.map_or("at no size".into(), |octets| format!("from {octets} bytes up"));
    let (answer, text) = match next {
        None => (Answer::Changed, "Here recv captures it at every size.".into()),
        Some((octets, seen)) if seen.every(captured, |share| share < ALL) => {
            let answer = if least == Some(then) { Answer::Holds } else { Answer::Changed };
            let share = seen.median(captured).unwrap_or_default();
            let text = format!(
                "Here recv captures it {}; at {octets} bytes it captures {} % of what is sent{}.",
                from(least),
                Quantity::Captured.text(share),
                if seen.fell_short() { ", which is less than the wire carries" } else { "" }
            );
            (answer, text)
        }
        Some((octets, seen)) if seen.fell_short() && seen.every(captured, |share| share >= ALL) => {
            let answer =
                if least.is_some_and(|least| least < then) { Answer::Changed } else { Answer::CannotBeTold };
            let text = format!(
                "Here recv captures it {}; at {octets} bytes the generator does not reach the wire's rate.",
                from(least)
            );
            (answer, text)
        }
        Some((octets, seen)) => {
            let why = match seen.trials().len() {
                0 => "it was not measured",
                1 => "one visit does not tell",
                _ => "its visits do not agree",
            };
            let answer =
                if least.is_some_and(|least| least < then) { Answer::Changed } else { Answer::CannotBeTold };
            (answer, format!("Here recv captures it {}; at {octets} bytes {why}.", from(least)))
        }
    };
    Judgement { claim, answer, text, trials }
}

/// Whether small frames are better captured on another CPU.
fn other_cpu(material: &Material<'_>) -> Judgement {
    let claim = "With frames of 64 to 128 bytes the standard stack captures less with the application on the CPU of the \
                 interrupts than on another (86,989 against 354,233 packets/s at 64 bytes).";
    let mut orders = Vec::new();
    let mut words = Vec::new();
    let mut all = Vec::new();
    for octets in sizes().into_iter().filter(|octets| *octets <= SMALL) {
        let [same, other] = PLACEMENTS.map(|placement| best_effort(material, STACK, placement, octets));
        if let (Some(a), Some(b)) = (same.median(captured_pps), other.median(captured_pps)) {
            orders.push(other.against(&same, captured_pps, PART * a.max(b)));
            words.push(format!("{} against {} at {octets} bytes", pps(a), pps(b)));
        }
        all.extend([same, other]);
    }
    let answer = by_all(&orders, Order::Above);
    let text = if words.is_empty() {
        "The two placements were not both measured.".into()
    } else {
        format!("Here {} packets/s.{}", words.join(", "), dependence(&all))
    };
    Judgement { claim: claim.into(), answer, text, trials: all.iter().flat_map(Seen::numbers).collect() }
}

/// The answer where all comparisons say so, or none does.
fn by_all(orders: &[Order], holds: Order) -> Answer {
    if orders.is_empty() || orders.contains(&Order::Untold) {
        Answer::CannotBeTold
    } else if orders.iter().all(|order| *order == holds) {
        Answer::Holds
    } else if orders.iter().all(|order| *order != holds) {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    }
}

/// Whether more packets lead to fewer captured.
fn livelock(material: &Material<'_>) -> Judgement {
    let claim = "With the application on the CPU of the interrupts, more packets lead to fewer captured ones: 386,925 packets/s at 207 \
                 bytes, 86,989 at 64 bytes.";
    let [small, large] = [64, 207].map(|octets| best_effort(material, STACK, PlacementChoice::Same, octets));
    let (Some(a), Some(b)) = (small.median(captured_pps), large.median(captured_pps)) else {
        let text = "The two sizes were not both measured.".into();
        return Judgement { claim: claim.into(), answer: Answer::CannotBeTold, text, trials: Vec::new() };
    };
    let answer = match small.against(&large, captured_pps, PART * a.max(b)) {
        Order::Below => Answer::Holds,
        Order::Above | Order::Alike => Answer::Changed,
        Order::Untold => Answer::CannotBeTold,
    };
    let text = format!(
        "Here recv captures {} packets/s at 207 bytes and {} at 64 bytes.{}",
        pps(b),
        pps(a),
        dependence([&small, &large])
    );
    Judgement { claim: claim.into(), answer, text, trials: [small.numbers(), large.numbers()].concat() }
}

/// Whether the throughput of RFC 2544 lies far below best effort.
fn throughput(material: &Material<'_>) -> Judgement {
    let published = |octets: u16| {
        let number =
            |data: super::super::published::Data| data.number(data.row(&octets.to_string())?, "same_cpu_pps");
        Some(number(CESNET_6)? < (1.0 - PART) * number(CESNET_3)?)
    };
    let then = sizes().into_iter().filter(|&octets| published(octets) == Some(true)).count();
    let claim = format!(
        "With the application on the CPU of the interrupts, the standard stack's RFC 2544 throughput lies more than 10 % below its \
         best effort at {then} of {} sizes.",
        sizes().len()
    );
    let (mut below, mut told) = (0, 0);
    let mut trials = Vec::new();
    for octets in sizes() {
        let effort = best_effort(material, STACK, PlacementChoice::Same, octets);
        let searched = found(material, STACK, PlacementChoice::Same, octets);
        let (Some(found), Some(effort_pps)) = (searched, effort.median(captured_pps)) else { continue };
        let is_below = found.pps < (1.0 - PART) * effort_pps;
        // What is held at least may be held up to the best effort.
        if is_below && found.at_least {
            continue;
        }
        told += 1;
        below += usize::from(is_below);
        trials.extend(effort.numbers());
        trials.extend(found.trials);
    }
    let answer = match (below, told) {
        (_, told) if told * 2 < sizes().len() => Answer::CannotBeTold,
        (0, _) => Answer::Changed,
        (below, told) if below * 2 >= told => Answer::Holds,
        _ => Answer::Changed,
    };
    let text = format!("Here with recv at {below} of the {told} sizes that tell, by one search each.");
    Judgement { claim, answer, text, trials }
}

/// What is said of the mix.
fn mix(material: &Material<'_>) -> [Judgement; 2] {
    let of = |method| PLACEMENTS.map(|placement| mixed(material, method, placement));
    let (stack, ring) = (of(STACK), of(RING));
    let both = || stack.iter().chain(&ring);
    let trials: Vec<u32> = both().flat_map(Seen::numbers).collect();
    let shares: Vec<f64> = both().filter_map(|seen| seen.median(captured)).collect();
    let every = |is: fn(f64) -> bool| both().all(|seen| seen.every(captured, is));
    let lost = both().any(|seen| seen.every(captured, |share| share < ALL));
    let answer = if both().any(Seen::fell_short) {
        Answer::CannotBeTold
    } else if every(|share| share >= ALL) {
        Answer::Holds
    } else if lost {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    };
    let least = shares.iter().copied().reduce(f64::min);
    let text = match least {
        Some(least) => format!(
            "Here {STACK} and {RING} capture {}{} % of it in either placement.{}",
            if least < 1.0 { "at least " } else { "" },
            Quantity::Captured.text(least),
            dependence(both())
        ),
        None => "The mix was not measured.".into(),
    };
    let all = Judgement {
        claim: "IMIX at 1 Gbit/s is captured whole by every method.".into(),
        answer,
        text,
        trials: trials.clone(),
    };
    let orders: Vec<Order> = ring
        .iter()
        .zip(&stack)
        .filter(|(ring, stack)| !ring.is_empty() && !stack.is_empty())
        .map(|(ring, stack)| ring.against(stack, whole_load, LOAD))
        .collect();
    let load = |seen: &Seen<'_>| seen.median(whole_load).map_or("-".into(), |load| Quantity::Load.text(load));
    let words: Vec<_> = PLACEMENTS
        .iter()
        .zip(ring.iter().zip(&stack))
        .map(|(placement, (ring, stack))| {
            format!("{} % against {} % (placement {placement})", load(ring), load(stack))
        })
        .collect();
    let cheaper = Judgement {
        claim: "For IMIX a ring (PF_RING) takes less CPU time than the standard stack: 27 % of a CPU against 64 %, and 54 % against \
                79 % with the application on another CPU."
            .into(),
        answer: by_all(&orders, Order::Below),
        text: format!("Here, application and kernel together, {RING} against {STACK}: {}.", words.join(", ")),
        trials,
    };
    [all, cheaper]
}
