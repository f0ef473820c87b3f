//! Loke (2011): TPACKET_V3 against V1 under more than either takes.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::layout::{Flows, FrameLayout};

use super::conditions::Conditions;
use super::judging::{Rule, judgement};
use super::material::{Figure, Kept, Material, Order, Seen, captured, held, packet_ns, untaken};
use super::outcome::{Answer, Cell, Judgement, Quantity, Side};
use super::publication::{Compared, Publication};
use super::published::LOKE;
use super::step::{Case, Doing, Step};
use super::tables::Sheet;
use crate::error::Result;
use crate::laboratory::Setup;
use crate::ledger::Place;
use crate::placement::PlacementChoice;
use crate::trial::{Load, TrialResult};

pub(super) static PUBLICATION: Publication = Publication {
    key: "loke-2011",
    title: "C. Loke: AF_PACKET, TPACKET_V3",
    source: "netdev list, 25 May 2011",
    then: "Three virtual machines with the kernel's packet generator sent 40 million packets of 64 bytes each to a fourth, which \
           captured by TPACKET_V1 and by TPACKET_V3, with 64 blocks of 1 MiB.",
    here: "Three flows of 64-byte packets from one generator, as fast as it goes, into the same ring; application and the kernel's \
           receive work share a CPU, as in a guest of one. Rates were not published: 120 million packets are taken to last \
           80.6 s, as on a wire of 1 Gbit/s. From a scale of 0.0025 on no trial is shorter than 5 s, since the ring holds what \
           comes in a part of a second.",
    visits: 4,
    beyond: &[(
        "The hypervisor lost 20 to 30 % of the packets before the guest.",
        "The generator runs on this host, or is on the link that --tx names, so no hypervisor stands between it and the capture but that \
         of this host, where it has one; what reaches the capture is counted, and so is what does not.",
    )],
    plan,
    compare,
};

const STEP: &str = "versions";
/// 120 million packets at the rate of a wire of 1 Gbit/s.
const LENGTH: Duration = Duration::from_millis(80_640);
/// Shorter trials show how much memory the ring has, and not what the application takes.
const LEAST: Duration = Duration::from_secs(5);
const V1: &str = "packet-v1";
const V3: &str = "packet-v3";
/// What he calls them, and what they are here; one of today that he did not have.
const METHODS: [(&str, &str); 3] = [("tpacket_v1", V1), ("", "packet-v2"), ("tpacket_v3", V3)];
/// What is counted here.
const COUNTS: [(&str, Figure); 5] = [
    ("sent", sent),
    ("received", received),
    ("dropped", dropped),
    ("seen by app", seen_by_application),
    ("blocked", blocked),
];
/// Shares that differ by less are alike.
const MARGIN: f64 = 0.005;
/// V3 drops next to nothing where it keeps so much, and V1 drops where it keeps less than that.
const ALMOST: f64 = 0.999;
const DROPS: f64 = 0.99;

fn plan(conditions: &Conditions) -> Result<Vec<Step>> {
    let mut cases = Vec::new();
    for (_, method) in METHODS {
        let mut setup = Setup {
            method: MethodSpec::plain(method),
            layout: FrameLayout { flows: Flows::new(3)?, ..FrameLayout::default() },
            placement: PlacementChoice::Same,
            ..conditions.base.clone()
        };
        (setup.capture.ring, setup.capture.block) = (ByteCount(64 << 20), ByteCount(1 << 20));
        cases.push(Case {
            setup,
            load: Load::Maximum,
            duration: conditions.scale.of_at_least(LENGTH, LEAST),
        });
    }
    Ok(vec![Step {
        name: STEP,
        summary: "three flows into one ring at maximum load".into(),
        doing: Doing::Trials { cases, visits: conditions.visits, seed: conditions.seed },
    }])
}

/// Frames that the ring had no room for.
fn dropped(trial: &TrialResult) -> Option<f64> {
    trial.ledger.iter().find(|entry| entry.place == Place::Ring)?.count.map(|count| count as f64)
}

/// Frames that reached the ring, room or not: as `tp_packets` counts them.
fn received(trial: &TrialResult) -> Option<f64> {
    Some(dropped(trial)? + trial.delivered as f64)
}

fn reached(trial: &TrialResult) -> Option<f64> {
    Some(received(trial)? / trial.sent.max(1) as f64)
}

/// The share of what reached the ring that the ring had room for.
fn kept(trial: &TrialResult) -> Option<f64> {
    received(trial).filter(|received| *received > 0.0).map(|received| trial.delivered as f64 / received)
}

/// The same of what the application took while frames came.
fn kept_and_taken(trial: &TrialResult) -> Option<f64> {
    let taken = trial.delivered as f64 - untaken(trial)?;
    received(trial).filter(|received| *received > 0.0).map(|received| taken / received)
}

fn seen_by_application(trial: &TrialResult) -> Option<f64> {
    Some(trial.delivered as f64)
}

fn blocked(trial: &TrialResult) -> Option<f64> {
    trial.counters.get("method.tp_freeze_q_cnt").map(|count| *count as f64)
}

fn sent(trial: &TrialResult) -> Option<f64> {
    Some(trial.sent as f64)
}

fn compare(material: &Material<'_>) -> Compared {
    let of = |method: &str| material.seen(STEP, method, |_| true);
    let mut sheet = Sheet::new(
        "loke-2011-tpacket-v1-vs-v3",
        "Frames received, dropped and seen by the application",
        ("method", Quantity::Name),
        METHODS.iter().map(|(name, method)| {
            (if name.is_empty() { format!("(today) {method}") } else { format!("{name}: {method}") }, None)
        }),
    );
    for (what, column) in [
        ("received", "received"),
        ("dropped", "dropped"),
        ("seen by app", "seen_by_app"),
        ("blocked", "queue_blocked_count"),
    ] {
        let number = |(name, _): &(&str, &str)| LOKE.row(name).and_then(|row| LOKE.number(row, column));
        sheet.published((what, ""), Quantity::Count, METHODS.iter().map(number).collect::<Vec<_>>());
    }
    let share = |(name, _): &(&str, &str)| {
        let row = LOKE.row(name)?;
        Some(LOKE.number(row, "seen_by_app")? / LOKE.number(row, "received")?)
    };
    let shares = METHODS.iter().map(|row| Cell::published(share(row))).collect::<Vec<_>>();
    sheet.column(Side::Given, ("of received", "published"), Quantity::Captured, shares);
    for (what, of_trial) in COUNTS {
        let cells: Vec<Cell> = METHODS
            .iter()
            .map(|(_, method)| {
                let seen = of(method);
                if what == "seen by app" { seen.captured_cell(of_trial) } else { seen.cell(of_trial) }
            })
            .collect();
        sheet.column(Side::Here, (what, ""), Quantity::Count, cells);
    }
    let cells: Vec<Cell> = METHODS.iter().map(|(_, method)| of(method).captured_cell(captured)).collect();
    sheet.column(Side::Here, ("of sent", ""), Quantity::Captured, cells);
    sheet.note("Received counts what the ring had no room for, too. Counts here are medians of visits; \"blocked\" is how often V3's ring was full.");
    Compared {
        tables: vec![sheet.finish()],
        findings: vec![loss(&of(V1), &of(V3)), reach(&of(V1), &of(V3)), cost(&of(V1), &of(V3))],
    }
}

/// The answer to a claim of this order.
fn ordered(claim: &str, order: Order, holds: Order, text: String, seen: [&Seen<'_>; 2]) -> Judgement {
    let answer = match order {
        order if order == holds => Answer::Holds,
        Order::Untold => Answer::CannotBeTold,
        _ => Answer::Changed,
    };
    let rule = if order == Order::Alike { Rule::Own } else { Rule::Apart };
    judgement(claim, (answer, text), seen, rule)
}

fn loss(v1: &Seen<'_>, v3: &Seen<'_>) -> Judgement {
    let share =
        |seen: &Seen<'_>| seen.median(kept).map_or("-".into(), |share| Quantity::Captured.text(share));
    let is_kept = |seen: &Seen<'_>, limit| seen.kept_of([kept, kept_and_taken], limit);
    let (old, new) = (is_kept(v1, DROPS), is_kept(v3, ALMOST));
    let (answer, because) = match (old, new) {
        (Kept::No, Kept::Yes) => (Answer::Holds, ""),
        (Kept::Yes, _) => (Answer::Changed, ", so V1 drops less than 1 %"),
        (_, Kept::No) => (Answer::Changed, ", so V3 drops more than 0.1 %"),
        _ => (Answer::CannotBeTold, ""),
    };
    let why = match (old, new) {
        _ if answer != Answer::CannotBeTold => String::new(),
        (_, Kept::Untold) => format!(" Of {V3}, {}.", v3.why_untold()),
        _ => format!(" Of {V1}, {}.", v1.why_untold()),
    };
    let text = format!(
        "Here the application gets {} % of what reaches the ring with {V1}, {} % with {V3}{because}.{why}{}",
        share(v1),
        share(v3),
        held([v1, v3])
    );
    judgement(
        "TPACKET_V1 drops 6.8 % of what reaches it, and TPACKET_V3 next to nothing.",
        (answer, text),
        [v1, v3],
        Rule::Limit,
    )
}

fn reach(v1: &Seen<'_>, v3: &Seen<'_>) -> Judgement {
    let share =
        |seen: &Seen<'_>| seen.median(reached).map_or("-".into(), |share| Quantity::Captured.text(share));
    ordered(
        "More reaches the socket with TPACKET_V3: 102.6 against 84.9 of 120 million packets.",
        v3.against(v1, reached, MARGIN),
        Order::Above,
        format!(
            "Here {} % of what is sent reaches the ring with {V1}, {} % with {V3}.",
            share(v1),
            share(v3)
        ),
        [v1, v3],
    )
}

fn cost(v1: &Seen<'_>, v3: &Seen<'_>) -> Judgement {
    let ns = |seen: &Seen<'_>| {
        seen.median(packet_ns).map_or("-".into(), |ns| Quantity::NanosecondsPerPacket.text(ns))
    };
    let margin = 0.05 * v1.median(packet_ns).unwrap_or(0.0);
    let text = match (v1.median(packet_ns), v3.median(packet_ns)) {
        (Some(_), Some(_)) => format!(
            "Here a packet takes application and kernel {} ns with {V1} and {} ns with {V3}, at the rate that the generator reaches.",
            ns(v1),
            ns(v3)
        ),
        _ => "Here what a packet takes is not known: other work ran on the CPUs.".into(),
    };
    ordered(
        "TPACKET_V3 takes less CPU time (15 to 20 % less, it was said).",
        v3.against(v1, packet_ns, margin),
        Order::Below,
        text,
        [v1, v3],
    )
}
