//! What the report says in words, and whether it is so here.

use super::super::judging::{Rule, at_what_was_sent, judgement};
use super::super::material::{
    Kept, Material, Order, Seen, captured, captured_pps, held, offered_pps, taken_pps, whole_load,
};
use super::super::outcome::{Answer, Judgement, Quantity};
use super::super::published::{CESNET_3, CESNET_6, Data};
use super::{
    METHODS, PF_RING, PLACEMENTS, RING, STACK, SZEDATA2, best_effort, found, mixed, searched_sizes, sizes,
};
use crate::placement::PlacementChoice;

/// Captured shares from here on count as everything.
const ALL: f64 = 0.999;
/// Rates that differ by less, as a part of the larger one, are alike.
const PART: f64 = 0.1;
/// Loads that differ by less are alike, as a part of one CPU.
const LOAD: f64 = 0.02;
/// The smallest size from which on PF_RING held the wire.
const PF_RING_FROM: u16 = 207;
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
    findings.extend(vendors(material));
    findings
}

/// What was said of the cards and libraries of vendors, where they are not here likewise.
fn vendors(material: &Material<'_>) -> [Judgement; 2] {
    let efforts = |method: &str, placements: &[PlacementChoice], from: u16| -> Vec<Seen<'_>> {
        let sizes = sizes().into_iter().filter(|octets| *octets >= from);
        let of = |octets| {
            placements.iter().map(move |placement| best_effort(material, method, *placement, octets))
        };
        sizes.flat_map(of).collect()
    };
    [
        ("szedata2 captures every frame of every size at 1 Gbit/s.", SZEDATA2, &PLACEMENTS[..], 0),
        (
            "PF_RING holds 1 Gbit/s from 207 bytes up with the application on the CPU of the interrupts.",
            PF_RING,
            &[PlacementChoice::Same],
            PF_RING_FROM,
        ),
    ]
    .map(|(claim, method, placements, from)| match material.why_left_out(method) {
        Some(reason) => {
            let text = format!("{method} cannot run here: {reason}");
            at_what_was_sent(claim, (Answer::NotTestable, text), &[], Rule::Own)
        }
        None => whole(claim, method, &efforts(method, placements, from)),
    })
}

/// The answer to a claim that all of this is captured whole.
fn whole(claim: &str, what: &str, seen: &[Seen<'_>]) -> Judgement {
    let least = seen.iter().flat_map(|seen| seen.values(captured)).reduce(f64::min);
    let share = least.map_or(String::new(), |least| {
        format!(
            "Here {what} captures {}{} % of what is sent in each visit.",
            if least < 1.0 { "at least " } else { "" },
            Quantity::Captured.text(least)
        )
    });
    if seen.iter().any(|seen| seen.kept(ALL) == Kept::No) {
        // What is lost at less than the load is lost.
        let text = format!("{share}{}", dependence(seen));
        return at_what_was_sent(claim, (Answer::Changed, text), seen, Rule::Limit);
    }
    let said = match seen.iter().find(|seen| seen.kept(ALL) == Kept::Untold) {
        None if !seen.is_empty() => (Answer::Holds, format!("{share}{}", dependence(seen))),
        Some(untold) if least.is_some() => {
            let text = format!("{share} But where it is least clear, {}.{}", untold.why_untold(), held(seen));
            (Answer::CannotBeTold, text)
        }
        _ => (Answer::CannotBeTold, "It was not measured.".into()),
    };
    judgement(claim, said, seen, Rule::Limit)
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
    let count = seen.iter().take_while(|(_, seen)| !seen.fell_short() && seen.kept(ALL) == Kept::Yes).count();
    let least = count.checked_sub(1).and_then(|last| seen.get(last)).map(|(octets, _)| *octets);
    let next = seen.get(count);
    let from =
        |octets: Option<u16>| octets.map_or("at no size".into(), |octets| format!("from {octets} bytes up"));
    let (answer, text) = match next {
        None => (Answer::Changed, "Here recv captures it at every size.".into()),
        Some((octets, seen)) if seen.kept(ALL) == Kept::No => {
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
        Some((octets, seen)) if seen.fell_short() && seen.kept(ALL) == Kept::Yes => {
            let answer =
                if least.is_some_and(|least| least < then) { Answer::Changed } else { Answer::CannotBeTold };
            let text = format!(
                "Here recv captures it {}; at {octets} bytes the generator does not reach the wire's rate.",
                from(least)
            );
            (answer, text)
        }
        Some((octets, seen)) => {
            let why = seen.why_untold();
            let answer =
                if least.is_some_and(|least| least < then) { Answer::Changed } else { Answer::CannotBeTold };
            (answer, format!("Here recv captures it {}; at {octets} bytes {why}.", from(least)))
        }
    };
    // The answer is about the sizes down to the first that is not held, and says where the generator falls short.
    let needed: Vec<Seen<'_>> = seen.into_iter().take(count + 1).map(|(_, seen)| seen).collect();
    let text = format!("{text}{}", dependence(&needed));
    at_what_was_sent(claim, (answer, text), &needed, Rule::Limit)
}

/// Whether small frames are better captured on another CPU.
fn other_cpu(material: &Material<'_>) -> Judgement {
    let claim = "With frames of 64 to 128 bytes the standard stack captures less with the application on the CPU of the \
                 interrupts than on another (86,989 against 354,233 packets/s at 64 bytes).";
    let small = || sizes().into_iter().filter(|octets| *octets <= SMALL);
    let mut orders = Vec::new();
    let mut words = Vec::new();
    let mut all = Vec::new();
    for octets in small() {
        let [same, other] = PLACEMENTS.map(|placement| best_effort(material, STACK, placement, octets));
        if let (Some(a), Some(b)) = (same.median(captured_pps), other.median(captured_pps)) {
            words.push(format!("{} against {} at {octets} bytes", pps(a), pps(b)));
        }
        orders.push(other.rates_against(&same, PART));
        all.extend([same, other]);
    }
    let answer = by_all(&orders, Order::Above);
    let text = if words.len() < small().count() {
        "The two placements were not both measured at each size.".into()
    } else {
        format!("Here {} packets/s.{}{}", words.join(", "), dependence(&all), held(&all))
    };
    judgement(claim, (answer, text), &all, rule(&orders))
}

/// How an answer follows from these comparisons.
fn rule(orders: &[Order]) -> Rule {
    if orders.contains(&Order::Alike) { Rule::Own } else { Rule::Apart }
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
    let both = [&small, &large];
    let of = |seen: &Seen<'_>| Some((pps(seen.median(captured_pps)?), pps(seen.median(offered_pps)?)));
    let (Some(a), Some(b)) = (of(&small), of(&large)) else {
        let text = "The two sizes were not both measured.".into();
        return judgement(claim, (Answer::CannotBeTold, text), both, Rule::Own);
    };
    let order = small.rates_against(&large, PART);
    let text = format!(
        "Here recv captures {} of {} packets/s at 207 bytes and {} of {} at 64 bytes.{}{}",
        b.0,
        b.1,
        a.0,
        a.1,
        dependence(both),
        held(both)
    );
    let is_more = small.against(&large, offered_pps, 0.0) == Order::Above;
    match order {
        // More packets, though fewer than the wire carries, are more packets.
        Order::Below if is_more => at_what_was_sent(claim, (Answer::Holds, text), both, Rule::Apart),
        Order::Below | Order::Untold => judgement(claim, (Answer::CannotBeTold, text), both, Rule::Apart),
        Order::Above | Order::Alike => judgement(claim, (Answer::Changed, text), both, rule(&[order])),
    }
}

/// Whether the throughput of RFC 2544 lies far below best effort, at the sizes at which it did then.
fn throughput(material: &Material<'_>) -> Judgement {
    let then_pps = |data: Data, octets: u16| data.number(data.row(&octets.to_string())?, "same_cpu_pps");
    let published = |octets: &u16| {
        let pair = then_pps(CESNET_6, *octets).zip(then_pps(CESNET_3, *octets));
        pair.is_some_and(|(throughput, effort)| throughput < (1.0 - PART) * effort)
    };
    let then = sizes().iter().filter(|octets| published(octets)).count();
    let claim = format!(
        "With the application on the CPU of the interrupts, the standard stack's RFC 2544 throughput lies more than 10 % below its \
         best effort at {then} of {} sizes.",
        sizes().len()
    );
    let searched: Vec<u16> = searched_sizes(material.conditions).into_iter().filter(published).collect();
    let (mut below, mut told) = (0, 0);
    let mut efforts = Vec::new();
    let mut searches: Vec<u32> = Vec::new();
    for octets in &searched {
        let effort = best_effort(material, STACK, PlacementChoice::Same, *octets);
        let Some(found) = found(material, STACK, PlacementChoice::Same, *octets) else { continue };
        searches.extend(found.trials);
        let is_below = |of| effort.median(of).map(|pps| found.pps < (1.0 - PART) * pps);
        // Buffers, and loads below the wire's, are no best effort.
        let is_below = is_below(captured_pps).filter(|told| is_below(taken_pps) == Some(*told));
        let is_short = effort.fell_short();
        efforts.push(effort);
        match is_below {
            // What is held at least may be held up to the best effort.
            Some(true) if found.at_least => {}
            Some(is_below) if !is_short => {
                told += 1;
                below += usize::from(is_below);
            }
            _ => {}
        }
    }
    let answer = throughput_answer(below, told, searched.len());
    let text = format!(
        "Here with recv at {below} of the {told} of those sizes that tell ({} were searched at), by one search each: how often chance \
         does that is not known.",
        searched.len()
    );
    let mut judgement = at_what_was_sent(claim, (answer, text), &efforts, Rule::Own);
    judgement.trials.extend(searches);
    judgement.visits = Some(1).filter(|_| !judgement.trials.is_empty());
    judgement
}

/// All but one of the sizes, or one of them at most; what does not tell may be either.
fn throughput_answer(below: usize, told: usize, of: usize) -> Answer {
    if of > 1 && below + 1 >= of {
        Answer::Holds
    } else if of > 1 && told - below + 1 >= of {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    }
}

/// What is said of the mix.
fn mix(material: &Material<'_>) -> [Judgement; 2] {
    let of = |method| PLACEMENTS.map(|placement| mixed(material, method, placement));
    let methods = material.had(&METHODS);
    let every: Vec<Seen<'_>> = methods.iter().copied().flat_map(of).collect();
    let what = format!("each of {}, in either placement,", methods.join(", "));
    let all = whole("IMIX at 1 Gbit/s is captured whole by every method.", &what, &every);
    let (stack, ring) = (of(STACK), of(RING));
    let orders: Vec<Order> =
        ring.iter().zip(&stack).map(|(ring, stack)| ring.against(stack, whole_load, LOAD)).collect();
    let load = |seen: &Seen<'_>| seen.median(whole_load).map_or("-".into(), |load| Quantity::Load.text(load));
    let words: Vec<_> = PLACEMENTS
        .iter()
        .zip(ring.iter().zip(&stack))
        .map(|(placement, (ring, stack))| {
            format!("{} % against {} % (placement {placement})", load(ring), load(stack))
        })
        .collect();
    let text =
        format!("Here, application and kernel together, {RING} against {STACK}: {}.", words.join(", "));
    let cheaper = judgement(
        "For IMIX a ring (PF_RING) takes less CPU time than the standard stack: 27 % of a CPU against 64 %, and 54 % against 79 % \
         with the application on another CPU.",
        (by_all(&orders, Order::Below), text),
        stack.iter().chain(&ring),
        rule(&orders),
    );
    [all, cheaper]
}

#[cfg(test)]
mod tests {
    use super::{Answer, throughput_answer};

    #[test]
    fn throughput_is_below_best_effort_at_all_sizes_but_one_or_at_one_at_most() {
        assert_eq!(throughput_answer(6, 6, 6), Answer::Holds);
        assert_eq!(throughput_answer(5, 5, 6), Answer::Holds);
        assert_eq!(throughput_answer(4, 6, 6), Answer::CannotBeTold);
        assert_eq!(throughput_answer(2, 6, 6), Answer::CannotBeTold);
        assert_eq!(throughput_answer(1, 6, 6), Answer::Changed);
        assert_eq!(throughput_answer(0, 5, 6), Answer::Changed);
        assert_eq!(throughput_answer(0, 4, 6), Answer::CannotBeTold);
        assert_eq!(throughput_answer(0, 0, 0), Answer::CannotBeTold);
    }
}
