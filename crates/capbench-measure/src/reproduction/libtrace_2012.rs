//! libtrace (2012): what the ring saves over frame sizes, and how small it may be.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::FrameSize;

use super::conditions::Conditions;
use super::judging::{Rule, at_what_was_sent, judgement};
use super::material::{
    Figure, Kept, Material, Order, Seen, captured, captured_pps, held, offered_pps, whole_load,
};
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
    visits: 2,
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
/// The fewest of [`SIZES`] that are almost every one of them.
const ALMOST_ALL: usize = 9;
/// Losses without a counter from this share of all losses on are not only a few that were counted at another time.
const NOT_FEW: f64 = 0.01;
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
        let got = SIZES.into_iter().map(|octets| sized(material, method, octets).captured_cell(captured));
        sheet
            .column(Side::Here, (method, "offered"), Quantity::PacketsPerSecond, cells(offered_pps))
            .column(Side::Here, (method, ""), Quantity::Captured, got)
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
    let cells = |of: Figure| seen.iter().map(|(_, seen)| seen.captured_cell(of)).collect::<Vec<_>>();
    let loads: Vec<Cell> = seen.iter().map(|(_, seen)| seen.cell(whole_load)).collect();
    sheet
        .column(Side::Here, (RING, ""), Quantity::Captured, cells(captured))
        .column(Side::Here, (RING, ""), Quantity::PacketsPerSecond, cells(captured_pps))
        .column(Side::Here, (RING, "CPU"), Quantity::Load, loads);
    sheet.note("No table of the publication survives: only the load and the findings in words.");
    sheet.curves(Quantity::Captured);
    sheet.finish()
}

fn cheaper(material: &Material<'_>) -> Judgement {
    let pairs: Vec<(u16, [Seen<'_>; 2])> = SIZES
        .into_iter()
        .map(|octets| (octets, [RING, SOCKET].map(|method| sized(material, method, octets))))
        .collect();
    // CPU times at different loads do not compare.
    let is_short = |pair: &[Seen<'_>; 2]| pair.iter().any(Seen::fell_short);
    let sizes_where = |is: &dyn Fn(&[Seen<'_>; 2]) -> bool| -> Vec<String> {
        pairs.iter().filter(|(_, pair)| is(pair)).map(|(octets, _)| octets.to_string()).collect()
    };
    let of = |wanted: Order| {
        sizes_where(&|pair| !is_short(pair) && pair[0].against(&pair[1], whole_load, MARGIN) == wanted)
    };
    let (below, above, alike, short) =
        (of(Order::Below), of(Order::Above), of(Order::Alike), sizes_where(&is_short));
    let answer = if below.len() >= ALMOST_ALL {
        Answer::Holds
    } else if above.len() + alike.len() > SIZES.len() - ALMOST_ALL {
        Answer::Changed
    } else {
        Answer::CannotBeTold
    };
    let told = below.len() + above.len() + alike.len() + short.len();
    let list = |sizes: &[String]| if sizes.is_empty() { "none".into() } else { sizes.join(", ") };
    let unreached = if short.is_empty() {
        String::new()
    } else {
        format!(" The generator did not reach the load at: {}.", list(&short))
    };
    let rest = if told < SIZES.len() { " At the others visits do not tell." } else { "" };
    let text = format!(
        "Here {RING} takes less of a CPU than {SOCKET} at these sizes: {}; more at: {}; alike at: {}.{unreached}{rest}",
        list(&below),
        list(&above),
        list(&alike)
    );
    let claim = "The ring lowers the CPU load at almost every frame size.";
    at_what_was_sent(claim, (answer, text), pairs.iter().flat_map(|(_, pair)| pair), Rule::Apart)
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
    let claim = "The kernel loses packets of 150 bytes and less without reporting them.";
    let count = |frames: u64| Quantity::Count.text(frames as f64);
    let untold = |text: String| (Answer::CannotBeTold, text);
    let said = if seen.iter().any(Seen::is_empty) {
        untold("These sizes were not all measured.".into())
    } else if overcounted {
        untold("Here counters tell of more packets than were lost.".into())
    } else if unexplained > 0 {
        let text =
            format!("Here {} of {} lost packets stand in no counter.", count(unexplained), count(lost));
        if (unexplained as f64) < NOT_FEW * lost as f64 {
            untold(text)
        } else {
            // What is lost at less than the load is lost.
            return at_what_was_sent(claim, (Answer::Holds, text), &seen, Rule::Own);
        }
    } else if lost == 0 {
        let held = held(&seen);
        let answer = if held.is_empty() { Answer::Changed } else { Answer::CannotBeTold };
        (answer, format!("Here no packet of these sizes is lost.{held}"))
    } else {
        let places: Vec<_> = LostAt::sum(trials().flat_map(|trial| trial.losses()))
            .iter()
            .map(|lost| format!("{} in {}", count(lost.frames), lost.place.word()))
            .collect();
        let text = format!(
            "Here {} packets are lost, and counters tell of each: {}.",
            count(lost),
            places.join(", ")
        );
        (Answer::Changed, text)
    };
    judgement(claim, said, &seen, Rule::Own)
}

fn almost_nothing(material: &Material<'_>) -> Judgement {
    let seen: Vec<_> = ringed(material).into_iter().filter(|(slots, _)| *slots > FEW).collect();
    let lossy = seen.iter().rfind(|(_, seen)| seen.kept(ALMOST) == Kept::No);
    let untold = seen.iter().find(|(_, seen)| seen.kept(ALMOST) == Kept::Untold);
    let said = match (lossy, untold) {
        (Some((slots, worst)), _) => (
            Answer::Changed,
            format!(
                "Here a ring of {slots} slots still loses more than 0.1 %: {} % are captured.",
                Quantity::Captured.text(worst.median(captured).unwrap_or_default())
            ),
        ),
        (None, Some((slots, seen))) => {
            (Answer::CannotBeTold, format!("Of a ring of {slots} slots, {}.", seen.why_untold()))
        }
        (None, None) => (
            Answer::Holds,
            format!("Here every ring of more than {FEW} slots captures 99.9 % or more in every visit."),
        ),
    };
    let claim = "With more than 8 ring frames almost nothing is lost at 153,940 packets/s.";
    judgement(claim, said, seen.iter().map(|(_, seen)| seen), Rule::Limit)
}

fn alike(material: &Material<'_>) -> Judgement {
    let all = ringed(material);
    let seen: Vec<_> = all.iter().filter(|(_, seen)| seen.kept(ALMOST) == Kept::Yes).collect();
    let claim = "The CPU load does not depend on the ring size.";
    let untold = |text: String| {
        let trials = all.iter().map(|(_, seen)| seen);
        judgement(claim, (Answer::CannotBeTold, text), trials, Rule::Own)
    };
    let (small, first, large, last) = match seen[..] {
        [] => return untold("No ring captured 99.9 % or more in every visit.".into()),
        [(slots, _)] => {
            return untold(format!(
                "Only the ring of {slots} slots captured 99.9 % or more in every visit, so there is none to compare it with."
            ));
        }
        [(small, first), .., (large, last)] => (small, first, large, last),
    };
    let order = first.against(last, whole_load, MARGIN);
    let answer = match order {
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
    let rule = if order == Order::Alike { Rule::Own } else { Rule::Apart };
    judgement(claim, (answer, text), [first, last], rule)
}
