//! libtrace (2012): what the ring saves over frame sizes, and how small it may be.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::FrameSize;

use super::conditions::Conditions;
use super::material::{Figure, Material, Order, Seen, captured, captured_pps, offered_pps, whole_load};
use super::outcome::{Answer, Cell, Comparison, Judgement, Quantity, Side};
use super::publication::{Compared, Publication};
use super::step::{Case, Doing, Step, gigabit};
use super::tables::Sheet;
use crate::error::Result;
use crate::laboratory::Setup;
use crate::ledger::LostAt;
use crate::placement::PlacementChoice;
use crate::sweep::{Axis, Point, Probe, RingSize, SweepPlan};
use crate::trial::{Load, SizeLabel};

pub(super) static PUBLICATION: Publication = Publication {
    key: "libtrace-2012",
    title: "libtrace: Linux native ring",
    source: "libtrace, 30 November 2012",
    then: "Frame sizes from 64 to 1518 bytes at 1 Gbit/s (1,488,095 to 81,274 packets/s), 20 s each, counted by a program that \
           does nothing else; CPU load sampled every 5 s, the middle three samples averaged; 128 ring frames. Then random sizes \
           at 153,940 packets/s against the ring size.",
    here: "The same rates and sizes; int: of libtrace is recv here and ring: is packet-v2, with 128 slots. CPU load is that of the \
           whole trial, application and the kernel's receive work together, which share a CPU.",
    beyond: &[("Very small packets behave oddly.", "What that looked like was not published in figures.")],
    plan,
    compare,
};

const LENGTH: Duration = Duration::from_secs(20);
/// Sizes over the published range; which ones it had is not known.
const SIZES: [u16; 10] = [64, 80, 100, 128, 150, 256, 512, 1024, 1280, 1518];
/// Slots of the ring while sizes are varied.
const SLOTS: u32 = 128;
/// Rings that are tried; blocks are whole pages, so 2 slots are the fewest.
const RINGS: [u32; 9] = [2, 4, 8, 16, 32, 64, 128, 256, 512];
const SLOT: ByteCount = ByteCount(2048);
/// The load on the rings, packets/s: 1 Gbit/s of random sizes.
const LOAD: f64 = 153_940.0;
const STEP_SIZES: &str = "sizes";
const STEP_RINGS: &str = "rings";
const SOCKET: &str = "recv";
const RING: &str = "packet-v2";
/// Frames up to this size were lost without being reported.
const SMALL: u16 = 150;
/// Rings above so many slots hardly lost anything.
const FEW: u32 = 8;
/// Captured shares from here on are almost everything.
const ALMOST: f64 = 0.999;
/// Loads that differ by less are alike, as a part of one CPU.
const MARGIN: f64 = 0.02;

fn base(conditions: &Conditions, slots: u32) -> Result<Setup> {
    let ring = RingSize::of_frames(slots, SLOT)?;
    let mut setup = Setup { placement: PlacementChoice::Same, ..conditions.base.clone() };
    (setup.capture.ring, setup.capture.block, setup.capture.frame) = (ring.ring, ring.block, Some(SLOT));
    Ok(setup)
}

fn plan(conditions: &Conditions) -> Result<Vec<Step>> {
    let duration = conditions.scale.of(LENGTH);
    let mut cases = Vec::new();
    for octets in SIZES {
        for method in [SOCKET, RING] {
            let setup = Setup {
                method: MethodSpec::plain(method),
                label: SizeLabel::Octets(octets),
                sizes: Sizes::Fixed(FrameSize::new(octets.into())?),
                ..base(conditions, SLOTS)?
            };
            cases.push(Case { setup, load: Load::Rate(gigabit(octets.into())?), duration });
        }
    }
    let random: Sizes = "random:64-1518".parse()?;
    let rings: Result<Vec<Point>> =
        RINGS.into_iter().map(|slots| RingSize::of_frames(slots, SLOT).map(Point::Ring)).collect();
    let sweep = SweepPlan {
        axis: Axis::new(rings?)?,
        methods: vec![MethodSpec::plain(RING)],
        base: Setup {
            label: SizeLabel::Named(random.to_string()),
            sizes: random,
            ..base(conditions, SLOTS)?
        },
        placements: vec![PlacementChoice::Same],
        loads: vec![Load::Rate(Pps::new(LOAD)?)],
        probe: Probe::Trial,
        duration,
        repeats: conditions.visits,
        refinement: 0,
        seed: conditions.seed,
        left_out: Vec::new(),
    };
    Ok(vec![
        Step {
            name: STEP_SIZES,
            summary: "frame sizes at 1 Gbit/s".into(),
            doing: Doing::Trials { cases, visits: conditions.visits, seed: conditions.seed },
        },
        Step {
            name: STEP_RINGS,
            summary: "rings at 153,940 packets/s of random sizes".into(),
            doing: Doing::Sweep(Box::new(sweep)),
        },
    ])
}

fn sized<'m>(material: &Material<'m>, method: &str, octets: u16) -> Seen<'m> {
    material.seen(STEP_SIZES, method, |trial| trial.profile.frame_size == SizeLabel::Octets(octets))
}

fn ringed<'m>(material: &Material<'m>) -> Vec<(u32, Seen<'m>)> {
    RINGS.into_iter().enumerate().map(|(at, slots)| (slots, material.swept(STEP_RINGS, RING, at))).collect()
}

fn compare(material: &Material<'_>) -> Compared {
    Compared {
        tables: vec![sizes(material), rings(material)],
        findings: vec![cheaper(material), unreported(material), almost_nothing(material), alike(material)],
    }
}

fn sizes(material: &Material<'_>) -> Comparison {
    let mut sheet = Sheet::new(
        "libtrace-2012-sizes",
        "Captured share and load in percent of a CPU against the frame size, at 1 Gbit/s",
        ("bytes", Quantity::FrameBytes),
        SIZES.into_iter().map(|octets| (octets.to_string(), Some(f64::from(octets)))),
    );
    let wire = SIZES
        .into_iter()
        .map(|octets| Cell::published(gigabit(octets.into()).ok().map(|pps| pps.get().floor())));
    sheet.column(Side::Given, ("the wire", ""), Quantity::PacketsPerSecond, wire);
    for method in [SOCKET, RING] {
        let cells =
            |of: Figure| SIZES.into_iter().map(move |octets| sized(material, method, octets).cell(of));
        sheet
            .column(Side::Here, (method, "offered"), Quantity::PacketsPerSecond, cells(offered_pps))
            .column(Side::Here, (method, ""), Quantity::Captured, cells(captured))
            .column(Side::Here, (method, "CPU"), Quantity::Load, cells(whole_load));
    }
    sheet.note("No table of the publication survives: only the rates and the findings in words.");
    sheet.curves(Quantity::Load);
    sheet.finish()
}

fn rings(material: &Material<'_>) -> Comparison {
    let mut sheet = Sheet::new(
        "libtrace-2012-rings",
        "Captured share and load in percent of a CPU against the ring, 153,940 packets/s of random sizes",
        ("slots", Quantity::Slots),
        RINGS.into_iter().map(|slots| (slots.to_string(), Some(f64::from(slots)))),
    );
    let seen = ringed(material);
    let cells = |of: Figure| seen.iter().map(|(_, seen)| seen.cell(of)).collect::<Vec<_>>();
    sheet
        .column(Side::Here, (RING, ""), Quantity::Captured, cells(captured))
        .column(Side::Here, (RING, ""), Quantity::PacketsPerSecond, cells(captured_pps))
        .column(Side::Here, (RING, "CPU"), Quantity::Load, cells(whole_load));
    sheet.note("No table of the publication survives: only the load and the findings in words.");
    sheet.curves(Quantity::Captured);
    sheet.finish()
}

fn cheaper(material: &Material<'_>) -> Judgement {
    let pairs: Vec<(u16, Seen<'_>, Seen<'_>)> = SIZES
        .into_iter()
        .map(|octets| (octets, sized(material, RING, octets), sized(material, SOCKET, octets)))
        .collect();
    let of = |wanted: Order| -> Vec<String> {
        let is = |(_, ring, socket): &&(u16, Seen<'_>, Seen<'_>)| {
            ring.against(socket, whole_load, MARGIN) == wanted
        };
        pairs.iter().filter(is).map(|(octets, ..)| octets.to_string()).collect()
    };
    let (below, above, alike) = (of(Order::Below), of(Order::Above), of(Order::Alike));
    let answer = if above.is_empty() && below.len() * 2 > SIZES.len() {
        Answer::Holds
    } else if above.len() + alike.len() > below.len() && (above.len() + alike.len()) * 2 > SIZES.len() {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    };
    let told = below.len() + above.len() + alike.len();
    let rest = if told < SIZES.len() { " At the others visits do not tell." } else { "" };
    let list = |sizes: &[String]| if sizes.is_empty() { "none".into() } else { sizes.join(", ") };
    Judgement {
        claim: "The ring lowers the CPU load at almost every frame size.".into(),
        answer,
        text: format!(
            "Here {RING} takes less of a CPU than {SOCKET} at these sizes: {}; more at: {}; alike at: {}.{rest}",
            list(&below),
            list(&above),
            list(&alike)
        ),
        trials: pairs
            .iter()
            .flat_map(|(_, ring, socket)| [ring.numbers(), socket.numbers()].concat())
            .collect(),
    }
}

fn unreported(material: &Material<'_>) -> Judgement {
    let seen: Vec<Seen<'_>> = SIZES
        .into_iter()
        .filter(|octets| *octets <= SMALL)
        .flat_map(|octets| [SOCKET, RING].map(|method| sized(material, method, octets)))
        .collect();
    let trials = || seen.iter().flat_map(|seen| seen.trials().iter().copied());
    let lost: u64 = trials().map(|trial| trial.lost()).sum();
    // Where counters say more than was lost, they are wrong about it, which is no loss without a counter.
    let unexplained: u64 = trials().map(|trial| trial.unexplained.max(0).unsigned_abs()).sum();
    let overcounted = trials().any(|trial| trial.unexplained < 0);
    let places = LostAt::sum(trials().flat_map(|trial| trial.losses()));
    let (answer, text) = if trials().next().is_none() {
        (Answer::CannotBeTold, "These sizes were not measured.".into())
    } else if overcounted {
        (Answer::CannotBeTold, "Here counters tell of more packets than were lost.".into())
    } else if unexplained > 0 {
        let text = format!("Here {unexplained} of {lost} lost packets stand in no counter.");
        (Answer::Holds, text)
    } else if lost == 0 {
        (Answer::Changed, "Here no packet of these sizes is lost.".into())
    } else {
        let list: Vec<_> = places
            .iter()
            .map(|lost| format!("{} in {}", Quantity::Count.text(lost.frames as f64), lost.place.word()))
            .collect();
        (
            Answer::Changed,
            format!(
                "Here {} packets are lost, and counters tell of each: {}.",
                Quantity::Count.text(lost as f64),
                list.join(", ")
            ),
        )
    };
    Judgement {
        claim: "The kernel loses packets of 150 bytes and less without reporting them.".into(),
        answer,
        text,
        trials: trials().map(|trial| trial.number).collect(),
    }
}

fn almost_nothing(material: &Material<'_>) -> Judgement {
    let seen: Vec<_> = ringed(material).into_iter().filter(|(slots, _)| *slots > FEW).collect();
    let lossy: Vec<_> =
        seen.iter().filter(|(_, seen)| seen.every(captured, |share| share < ALMOST)).collect();
    let is_held = seen.iter().all(|(_, seen)| seen.every(captured, |share| share >= ALMOST));
    let short = if seen.iter().any(|(_, seen)| seen.fell_short()) {
        " The generator did not reach the load in some trials."
    } else {
        ""
    };
    let (answer, text) = match lossy.last() {
        Some((slots, worst)) => (
            Answer::Changed,
            format!(
                "Here a ring of {slots} slots still loses more than 0.1 %: {} % are captured.{short}",
                Quantity::Captured.text(worst.median(captured).unwrap_or_default())
            ),
        ),
        None if is_held => {
            let answer = if short.is_empty() { Answer::Holds } else { Answer::CannotBeTold };
            (
                answer,
                format!(
                    "Here every ring of more than {FEW} slots captures 99.9 % or more in every visit.{short}"
                ),
            )
        }
        None => (Answer::CannotBeTold, format!("Visits do not agree, or were not made.{short}")),
    };
    Judgement {
        claim: "With more than 8 ring frames almost nothing is lost at 153,940 packets/s.".into(),
        answer,
        text,
        trials: seen.iter().flat_map(|(_, seen)| seen.numbers()).collect(),
    }
}

fn alike(material: &Material<'_>) -> Judgement {
    let seen: Vec<_> = ringed(material)
        .into_iter()
        .filter(|(_, seen)| seen.every(captured, |share| share >= ALMOST))
        .collect();
    let claim = "The CPU load does not depend on the ring size.".into();
    let (Some((small, first)), Some((large, last))) = (seen.first(), seen.last()) else {
        let text = "No ring captured 99.9 % or more in every visit.".into();
        return Judgement { claim, answer: Answer::CannotBeTold, text, trials: Vec::new() };
    };
    let answer = match first.against(last, whole_load, MARGIN) {
        _ if small == large => Answer::CannotBeTold,
        Order::Alike => Answer::Holds,
        Order::Above | Order::Below => Answer::Changed,
        Order::Untold => Answer::CannotBeTold,
    };
    let load = |seen: &Seen<'_>| seen.median(whole_load).map_or("-".into(), |load| Quantity::Load.text(load));
    let text = format!(
        "Here {} % of a CPU with {small} slots, the smallest ring that loses almost nothing, and {} % with {large}.",
        load(first),
        load(last)
    );
    Judgement { claim, answer, text, trials: [first.numbers(), last.numbers()].concat() }
}
