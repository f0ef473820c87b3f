//! Deri (2004): interrupt livelock, and what cures it: polling, and capture in the kernel.

use std::time::Duration;

use capbench_traffic::rates::Pps;

use super::conditions::Conditions;
use super::judging::{Rule, judgement};
use super::material::{
    Figure, Material, Order, Seen, captured, captured_pps, held, offered_pps, taken, whole_load,
};
use super::outcome::{Answer, Cell, Judgement, Quantity, Side};
use super::publication::{Compared, Publication};
use super::published::DERI;
use super::step::{Case, Doing, Step};
use super::tables::Sheet;
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::placement::PlacementChoice;
use crate::trial::{Load, TrialResult};

pub(super) static PUBLICATION: Publication = Publication {
    key: "deri-2004",
    title: "L. Deri: Improving Passive Packet Capture: Beyond Device Polling",
    source: "as reported in January 2004; a revised paper followed on 20 February 2004",
    then: "The share of a high load (about 80,000 packets/s) that each system captured: interrupt-driven, polled, by a ring, and \
           in the kernel.",
    here: "64-byte packets at 80,000 packets/s, and at the rate that the generator reaches, since a host of today is not \
           overloaded by the former. Application and the kernel's receive work share a CPU, as livelock needs. Normal libpcap is \
           recv today, the ring packet-v2, a module in the kernel an XDP program that counts in the stack, device polling NAPI \
           by timer with interrupts held off (+napi-defer).",
    visits: 6,
    beyond: &[
        ("Windows 2000 captured 68 %, FreeBSD 34 %, polled 99.9 %.", "They are other systems than this one."),
        (
            "Interrupts of a card that nothing moderates, which livelocked the kernel of 2004.",
            "A virtual link raises none; with --tx and --rx real cards have those of today, which NAPI moderates.",
        ),
    ],
    plan,
    compare,
};

/// His load, packets/s.
const LOAD: f64 = 80_000.0;
/// Length of a trial at scale 1: he does not state one.
const LENGTH: Duration = Duration::from_secs(60);
const STEP: &str = "systems";
/// Rates that differ by less, as a part of the larger one, are alike.
const PART: f64 = 0.05;
/// Next to nothing is captured, little, and next to everything.
const NOTHING: f64 = 0.01;
const LITTLE: f64 = 0.1;
const MOST: f64 = 0.9;

const SOCKET: &str = "recv";
const RING: &str = "packet-v2";
const IN_KERNEL: &str = "xdp-count+generic";
const POLLED: &str = "recv+napi-defer";
const IN_KERNEL_POLLED: &str = "xdp-count+generic+napi-defer";

/// His systems and what takes their places here; systems that nothing here can be are absent, and methods of today that he
/// did not have stand at the end.
const SYSTEMS: [(&str, Option<&str>); 10] = [
    ("windows-2000", None),
    ("freebsd", None),
    ("linux-2.4-libpcap", Some(SOCKET)),
    ("linux-2.4-mmap-libpcap", Some(RING)),
    ("linux-2.4-kernel-module", Some(IN_KERNEL)),
    ("linux-2.6-libpcap-polling", Some(POLLED)),
    ("freebsd-4.8-polling", None),
    ("linux-kernel-module-polling", Some(IN_KERNEL_POLLED)),
    ("", Some("packet-v3")),
    ("", Some("recv+napi-thread")),
];

fn plan(conditions: &Conditions) -> Result<Vec<Step>> {
    let duration = conditions.scale.of(LENGTH);
    let mut cases = Vec::new();
    for method in SYSTEMS.iter().filter_map(|(_, method)| *method) {
        for load in [Load::Rate(Pps::new(LOAD)?), Load::Maximum] {
            let setup =
                Setup { method: spec(method)?, placement: PlacementChoice::Same, ..conditions.base.clone() };
            cases.push(Case { setup, load, duration });
        }
    }
    Ok(vec![Step {
        name: STEP,
        summary: "every system at 80,000 packets/s and at maximum load".into(),
        doing: Doing::Trials { cases, visits: conditions.visits, seed: conditions.seed },
    }])
}

/// A method with settings.
pub(super) fn spec(method: &str) -> Result<capbench_capture::MethodSpec> {
    method.parse().map_err(|reason| MeasureError::Sweep { reason })
}

fn at_load(trial: &TrialResult) -> bool {
    trial.intended_pps.is_some()
}

fn at_maximum(trial: &TrialResult) -> bool {
    trial.intended_pps.is_none()
}

fn compare(material: &Material<'_>) -> Compared {
    let mut sheet = Sheet::new(
        "deri-2004-fraction-captured",
        "Share of a high load that each system captured",
        ("system", Quantity::Name),
        SYSTEMS.iter().map(|(system, method)| {
            let name = match (*system, *method) {
                ("", Some(method)) => format!("(today) {method}"),
                (system, _) => system.into(),
            };
            (name, None)
        }),
    );
    let published = SYSTEMS
        .iter()
        .map(|(system, _)| DERI.row(system).and_then(|row| DERI.number(row, "fraction_captured")));
    sheet.published(("80 kpps", ""), Quantity::Captured, published);
    let of_each = |is_it: fn(&TrialResult) -> bool, cell: &dyn Fn(&Seen<'_>) -> Cell| -> Vec<Cell> {
        let cell = |method: &Option<&str>| {
            method.map_or_else(Cell::default, |method| cell(&material.seen(STEP, method, is_it)))
        };
        SYSTEMS.iter().map(|(_, method)| cell(method)).collect()
    };
    let here = |is_it, of: Figure| of_each(is_it, &|seen| seen.cell(of));
    let got = |is_it, of: Figure| of_each(is_it, &|seen| seen.captured_cell(of));
    sheet
        .column(Side::Here, ("80 kpps", ""), Quantity::Captured, got(at_load, captured))
        .column(Side::Here, ("80 kpps", "CPU"), Quantity::Load, here(at_load, whole_load))
        .column(Side::Here, ("maximum", ""), Quantity::Captured, got(at_maximum, captured))
        .column(Side::Here, ("maximum", ""), Quantity::PacketsPerSecond, got(at_maximum, captured_pps))
        .column(Side::Here, ("offered", ""), Quantity::PacketsPerSecond, here(at_maximum, offered_pps));
    let pairs: Vec<_> = SYSTEMS
        .iter()
        .filter_map(|(system, method)| {
            Some(format!("{system}: {}", (*method)?)).filter(|_| !system.is_empty())
        })
        .collect();
    sheet.note(format!("Here: {}.", pairs.join("; ")));
    sheet.note("The reporter of the published percentages doubted them, and the revised paper differs.");
    let mut compared = Compared { tables: vec![sheet.finish()], findings: Vec::new() };
    let socket = |is_it: fn(&TrialResult) -> bool| material.seen(STEP, SOCKET, is_it);
    compared.findings.extend([
        little(
            "Interrupt-driven, libpcap captures next to nothing (0.2 %) of about 80,000 packets/s.",
            SOCKET,
            ("at 80,000 packets/s", NOTHING),
            &socket(at_load),
        ),
        little(
            "A load that overwhelms the host leaves next to nothing (0.2 %) to libpcap: receive livelock.",
            SOCKET,
            ("at the rate that the generator reaches", NOTHING),
            &socket(at_maximum),
        ),
        little(
            "In the kernel, but interrupt-driven, 4 % are captured.",
            IN_KERNEL,
            ("at the rate that the generator reaches", LITTLE),
            &material.seen(STEP, IN_KERNEL, at_maximum),
        ),
    ]);
    for (claim, one, other, holds) in [
        (
            "The ring of libpcap is hardly better than normal libpcap (1 % against 0.2 %).",
            RING,
            SOCKET,
            &[Order::Alike, Order::Below][..],
        ),
        (
            "Device polling raises what libpcap captures (5.6 % against 0.2 %).",
            POLLED,
            SOCKET,
            &[Order::Above],
        ),
        (
            "Device polling cures capture in the kernel of its losses (99.5 % against 4 %).",
            IN_KERNEL_POLLED,
            IN_KERNEL,
            &[Order::Above],
        ),
    ] {
        compared.findings.push(against(claim, one, other, holds, material));
    }
    compared
}

/// The answer to a claim that so little is captured. More than little it is only where that was taken while packets came.
fn little(claim: &str, method: &str, (when, limit): (&str, f64), seen: &Seen<'_>) -> Judgement {
    let answer = if seen.every(captured, |share| share <= limit) {
        Answer::Holds
    } else if seen.every(taken, |share| share > LITTLE) {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    };
    let text = match (seen.median(captured), seen.median(offered_pps)) {
        (Some(share), Some(offered)) => format!(
            "{method} captures {} % {when} ({} packets/s offered{}).{}",
            Quantity::Captured.text(share),
            Quantity::PacketsPerSecond.text(offered),
            if seen.every(taken, |share| share >= MOST) { ", no livelock" } else { "" },
            held([seen])
        ),
        _ => format!("{method} was not measured {when}."),
    };
    judgement(claim, (answer, text), [seen], Rule::Limit)
}

/// Two methods at the rate that the generator reaches; the claim holds where they compare in one of these ways.
fn against(claim: &str, one: &str, other: &str, holds: &[Order], material: &Material<'_>) -> Judgement {
    let (first, second) = (material.seen(STEP, one, at_maximum), material.seen(STEP, other, at_maximum));
    // By rates and not by shares: what is offered differs where a receiver slows the generator.
    let order = first.rates_against(&second, PART);
    let answer = match order {
        Order::Untold => Answer::CannotBeTold,
        order if holds.contains(&order) => Answer::Holds,
        _ => Answer::Changed,
    };
    let words = |seen: &Seen<'_>| {
        let pps = |of| seen.median(of).map(|pps| Quantity::PacketsPerSecond.text(pps));
        Some(format!("{} of {}", pps(captured_pps)?, pps(offered_pps)?))
    };
    let text = match (words(&first), words(&second)) {
        (Some(a), Some(b)) => format!(
            "At the rate that the generator reaches {one} captures {a} packets/s and {other} {b}{}.{}",
            match order {
                Order::Untold => ", and their visits do not tell them apart",
                Order::Alike => ", which is alike",
                Order::Above | Order::Below => "",
            },
            held([&first, &second])
        ),
        (a, _) => format!("{} was not measured.", if a.is_none() { one } else { other }),
    };
    let rule = if order == Order::Alike { Rule::Own } else { Rule::Apart };
    judgement(claim, (answer, text), [&first, &second], rule)
}
