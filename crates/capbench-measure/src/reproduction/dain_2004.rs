//! Dain (2004): the captured share against the work per packet, and two results that nobody explained.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::layout::FrameLayout;
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;

use super::conditions::Conditions;
use super::judging::{Rule, judgement};
use super::material::{Kept, Material, Order, Seen, captured, held, taken_pps};
use super::outcome::{Answer, Cell, Comparison, Judgement, Quantity, Side};
use super::publication::{Compared, Publication};
use super::published::{self, Data};
use super::step::{Doing, Step};
use super::tables::Sheet;
use crate::error::Result;
use crate::laboratory::Setup;
use crate::placement::PlacementChoice;
use crate::sweep::findings::effects::{Appearance, Effect, EffectKind, effects};
use crate::sweep::{Axis, Point, Probe, RingSize, SweepPlan};
use crate::trial::{Load, SizeLabel};
use crate::work::WorkModel;

pub(super) static PUBLICATION: Publication = Publication {
    key: "dain-2004",
    title: "O. Dain: Strange packet capture benchmark results",
    source: "linux-kernel list, 26 April 2004",
    then: "500,000 TCP packets with 4 bytes of payload (58 bytes) for each point at 45,000 and 167,000 packets/s; the receiver \
           counts, runs a wait loop, and takes the next packet. Pentium III, Linux 2.4.22, ns83820; libpcap, and libpcap on a ring \
           of 256 slots.",
    here: "The same packets at the same rates, the application and the kernel's receive work on one CPU as on his. Each point \
           in two ways: with loops for as long as his took (2.96 ns each, by the slope of his own table from 7000 loops on), and, \
           visited a quarter as often, with his number of loops. Normal libpcap is recv today, beside libpcap of today, visited as \
           often as that, on a ring of its \
           own at 45,000 packets/s; the ring of 256 slots is packet-v2, beside rings of 1024 and 4096 at two of his points. Ring and \
           socket buffer elsewhere: 512 KiB.",
    visits: 4,
    beyond: &[(
        "The causes that his one drop counter could not tell apart in 2004.",
        "Linux 2.4.22, its ns83820 driver and a Pentium III are not here; the ledger of each trial tells them apart on this \
         system.",
    )],
    plan,
    compare,
};

/// What a loop took him, nanoseconds: the slope of his first table from 7000 loops on, where nothing else grows.
const LOOP_NS: f64 = 2.96;
/// Packets of each of his experiments.
const PACKETS: f64 = 500_000.0;
/// Slots of his ring.
const SLOTS: u32 = 256;
const SLOT: ByteCount = ByteCount(2048);
/// Losses up to this share are no onset of loss.
const ONSET: f64 = 0.01;

/// An effect is not there where one of half the published size is excluded: his rise is from 81 % to 98 %, by a fifth, and his
/// ring is behind by more.
const EXCLUDED: f64 = 0.1;

const SOCKET: &str = "recv";
const RING: &str = "packet-v2";

/// Slots of the rings that are compared, his first.
const RINGS: [u32; 3] = [SLOTS, 1024, 4096];
/// The loops at which they are: of his points those with the most work, and what they are called in plans.
const RINGS_AT: [(u32, &str); 2] = [(1500, "rings-1500-loops"), (1700, "rings-1700-loops")];
/// Rates that differ by less, as a part of the larger one, are alike.
const PART: f64 = 0.05;

/// One of his two experiments.
struct Experiment {
    data: Data,
    pps: f64,
    title: &'static str,
    columns: &'static [(&'static str, &'static str)],
    /// What is measured with work as long as his.
    methods: &'static [&'static str],
    /// What of today is measured beside it, and what that step is called.
    today: Option<(&'static str, &'static str)>,
    loops: &'static str,
    time: &'static str,
}

const EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        data: published::DAIN_45KPPS,
        pps: 45_000.0,
        title: "45,000 packets/s",
        columns: &[("normal libpcap", "fraction_captured")],
        methods: &[SOCKET],
        today: Some(("libpcap", "45kpps-today")),
        loops: "45kpps-loops",
        time: "45kpps-time",
    },
    Experiment {
        data: published::DAIN_167KPPS,
        pps: 167_000.0,
        title: "167,000 packets/s",
        columns: &[
            ("normal libpcap", "fraction_captured_libpcap"),
            ("mmap libpcap", "fraction_captured_mmap_libpcap"),
        ],
        methods: &[SOCKET, RING],
        today: None,
        loops: "167kpps-loops",
        time: "167kpps-time",
    },
];

impl Experiment {
    fn iterations(&self) -> Vec<u32> {
        self.data
            .numbers("receive_wait_loop_iterations")
            .into_iter()
            .flatten()
            .map(|count| count as u32)
            .collect()
    }

    /// Methods that are measured with his number of loops: what takes the place of his.
    fn looped(&self) -> &'static [&'static str] {
        &[SOCKET, RING][..self.columns.len()]
    }

    /// His points at this rate, with such work.
    fn works(
        &self,
        conditions: &Conditions,
        of: fn(u32) -> WorkModel,
        methods: &[&str],
        visits: u32,
    ) -> Result<SweepPlan> {
        let points = self.iterations().into_iter().map(|count| Point::Work(of(count))).collect();
        self.sweep(conditions, Axis::new(points)?, WorkModel::None, methods, visits)
    }

    fn sweep(
        &self,
        conditions: &Conditions,
        axis: Axis,
        work: WorkModel,
        methods: &[&str],
        visits: u32,
    ) -> Result<SweepPlan> {
        let layout = FrameLayout::dain_2004();
        let size = layout.minimum_size();
        let ring = RingSize::of_frames(SLOTS, SLOT)?;
        let mut base = Setup {
            label: SizeLabel::Octets(size.octets()),
            sizes: Sizes::Fixed(size),
            layout,
            placement: PlacementChoice::Same,
            work: work.into(),
            ..conditions.base.clone()
        };
        (base.capture.ring, base.capture.block, base.capture.frame) = (ring.ring, ring.block, Some(SLOT));
        Ok(SweepPlan {
            axis,
            methods: methods.iter().map(|name| MethodSpec::plain(name)).collect(),
            base,
            placements: vec![PlacementChoice::Same],
            loads: vec![Load::Rate(Pps::new(self.pps)?)],
            probe: Probe::Trial,
            duration: conditions.scale.of(Duration::from_secs_f64(PACKETS / self.pps)),
            repeats: visits,
            refinement: 0,
            seed: conditions.seed,
            left_out: Vec::new(),
        })
    }
}

/// As long as his loops took him.
fn as_long(iterations: u32) -> WorkModel {
    WorkModel::Nanoseconds((f64::from(iterations) * LOOP_NS).round() as u32)
}

fn plan(conditions: &Conditions) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let boxed = |plan: SweepPlan| Doing::Sweep(Box::new(plan));
    let visits = conditions.visits;
    // His loops take a CPU of today a fraction of the time, and libpcap of today is in no claim: one look does.
    let few = visits.div_ceil(4);
    for experiment in &EXPERIMENTS {
        let points = experiment.iterations().len();
        steps.push(Step {
            name: experiment.time,
            summary: format!("{}, work as long as his, {points} points", experiment.title),
            doing: boxed(experiment.works(conditions, as_long, experiment.methods, visits)?),
        });
        steps.push(Step {
            name: experiment.loops,
            summary: format!("{}, as many loops as his", experiment.title),
            doing: boxed(experiment.works(conditions, WorkModel::Loop, experiment.looped(), few)?),
        });
        if let Some((method, name)) = experiment.today {
            steps.push(Step {
                name,
                summary: format!("{}, work as long as his, {method} of today", experiment.title),
                doing: boxed(experiment.works(conditions, as_long, &[method], few)?),
            });
        }
    }
    let [_, second] = &EXPERIMENTS;
    for (loops, name) in RINGS_AT {
        let rings: Result<Vec<Point>> =
            RINGS.into_iter().map(|slots| RingSize::of_frames(slots, SLOT).map(Point::Ring)).collect();
        let plan = second.sweep(conditions, Axis::new(rings?)?, as_long(loops), &[RING], visits)?;
        steps.push(Step {
            name,
            summary: format!("{}, rings, work as long as {loops} of his loops", second.title),
            doing: boxed(plan),
        });
    }
    Ok(steps)
}

fn compare(material: &Material<'_>) -> Compared {
    let mut compared = Compared::default();
    for experiment in &EXPERIMENTS {
        compared.tables.push(table(experiment, material));
        compared.findings.push(onset(experiment, material));
    }
    compared.tables.push(rings(material));
    let [first, second] = &EXPERIMENTS;
    for (experiment, kind, claim, methods) in [
        (
            first,
            EffectKind::MoreWorkMorePackets,
            "At 45,000 packets/s more work per packet leads to more packets: 81 % are captured with 3000 loops and 98 % with 6000.",
            first.methods,
        ),
        (
            second,
            EffectKind::RingBehindSocket,
            "At 167,000 packets/s the ring captures less than normal libpcap once packets are dropped, from 900 loops on.",
            &second.methods[1..],
        ),
    ] {
        for (step, work) in [
            (experiment.time, "Run again with work as long as his."),
            (experiment.loops, "Run again with as many loops as his."),
        ] {
            let claim = format!("{claim} {work}");
            compared.findings.extend(effects_of(material, step, &claim, (kind, methods)));
        }
    }
    compared.findings.push(bigger(material));
    compared
}

/// What a step shows of an effect: an answer for each method, those with the same answer together.
fn effects_of(
    material: &Material<'_>,
    step: &'static str,
    claim: &str,
    (kind, methods): (EffectKind, &[&str]),
) -> Vec<Judgement> {
    let Some((outcome, done)) = material.step(step).and_then(|done| Some((done.sweep.as_ref()?, done)))
    else {
        return Vec::new();
    };
    let mut found: Vec<Judgement> = Vec::new();
    let wanted = |effect: &Effect| effect.kind == kind && methods.contains(&&*effect.method);
    for effect in effects(outcome, &done.trials).into_iter().filter(wanted) {
        let seen = Seen::of(done.trials.iter().filter(|trial| effect.trials.contains(&trial.number)));
        let said = (answer(effect.appearance), format!("{}: {}", effect.method, effect.text));
        let mut judged = judgement(claim, said, [&seen], Rule::Own);
        judged.visits = Some(outcome.repeats);
        match found.iter_mut().find(|known| known.answer == judged.answer) {
            Some(known) => {
                known.text.push_str(&format!(" {}", judged.text));
                known.trials.extend(judged.trials);
            }
            None => found.push(judged),
        }
    }
    found
}

/// What a ring of so many slots took with so many of his loops, at the rate of his second table.
fn ringed<'m>(material: &Material<'m>, name: &str) -> Vec<(u32, Seen<'m>)> {
    RINGS.into_iter().enumerate().map(|(at, slots)| (slots, material.swept(name, RING, at))).collect()
}

fn rings(material: &Material<'_>) -> Comparison {
    let mut sheet = Sheet::new(
        "dain-2004-rings",
        "Share captured, and packets taken per second, against the ring, 167,000 packets/s, work as long as his loops",
        ("slots", Quantity::Slots),
        RINGS.into_iter().map(|slots| (slots.to_string(), Some(f64::from(slots)))),
    );
    for (loops, name) in RINGS_AT {
        let seen = ringed(material, name);
        let what = format!("{loops} loops");
        let shares: Vec<Cell> = seen.iter().map(|(_, seen)| seen.captured_cell(captured)).collect();
        sheet.column(Side::Here, (RING, &what), Quantity::Captured, shares);
        let rates: Vec<Cell> = seen.iter().map(|(_, seen)| seen.cell(taken_pps)).collect();
        sheet.column(Side::Here, (RING, &what), Quantity::PacketsPerSecond, rates);
    }
    sheet.note(
        "No figures were published. Packets/s are those that the application took while there were any.",
    );
    sheet.finish()
}

/// Whether bigger rings help, by what is taken: that they hold more at the end of sending is no help.
fn bigger(material: &Material<'_>) -> Judgement {
    let claim = "Bigger rings did not help.";
    let points: Vec<_> = RINGS_AT.into_iter().map(|(loops, name)| (loops, ringed(material, name))).collect();
    let mut orders = Vec::new();
    let mut words = Vec::new();
    for (loops, rings) in &points {
        let Some(((_, his), others)) = rings.split_first() else { continue };
        // Where nothing is lost there is nothing to help with.
        if his.kept(1.0 - ONSET) != Kept::No {
            continue;
        }
        let rate = |seen: &Seen<'_>| {
            seen.median(taken_pps).map_or("-".into(), |pps| Quantity::PacketsPerSecond.text(pps))
        };
        orders.extend(others.iter().map(|(_, seen)| {
            let larger = [seen, his].map(|seen| seen.median(taken_pps).unwrap_or_default());
            seen.against(his, taken_pps, PART * larger[0].max(larger[1]))
        }));
        let rates: Vec<String> =
            rings.iter().map(|(slots, seen)| format!("{} with {slots} slots", rate(seen))).collect();
        words.push(format!("with work as long as {loops} of his loops {}", rates.join(", ")));
    }
    let (answer, text) = if words.is_empty() {
        let text = format!(
            "No visits with {SLOTS} slots agree on a loss of more than 1 % with work as long as {} of his loops, so that there is \
             nothing that a bigger ring could help with.",
            RINGS_AT.map(|(loops, _)| loops.to_string()).join(" or ")
        );
        (Answer::CannotBeTold, text)
    } else {
        let answer = if orders.contains(&Order::Above) {
            Answer::Changed
        } else if orders.contains(&Order::Untold) {
            Answer::CannotBeTold
        } else {
            Answer::Holds
        };
        (answer, format!("Here {RING} takes, in packets/s of 167,000: {}.", words.join("; ")))
    };
    let rule = if answer == Answer::Changed { Rule::Apart } else { Rule::Own };
    judgement(claim, (answer, text), points.iter().flat_map(|(_, rings)| rings).map(|(_, seen)| seen), rule)
}

fn answer(appearance: Appearance) -> Answer {
    match appearance {
        Appearance::Appears => Answer::Holds,
        Appearance::DoesNotAppear { excluded_above } if excluded_above > EXCLUDED => Answer::CannotBeTold,
        Appearance::DoesNotAppear { .. } => Answer::Changed,
        // Where nothing is lost there is nothing to see it in: no answer about what happens where something is.
        Appearance::CannotAppear | Appearance::CannotBeTold => Answer::CannotBeTold,
    }
}

fn table(experiment: &Experiment, material: &Material<'_>) -> Comparison {
    let iterations = experiment.iterations();
    let rows = iterations.iter().map(|count| (count.to_string(), Some(f64::from(*count))));
    let mut sheet = Sheet::new(
        format!("dain-2004-{}", if experiment.columns.len() == 1 { "45kpps" } else { "167kpps" }),
        format!("Share captured against the wait loop per packet, {}", experiment.title),
        ("loops", Quantity::Iterations),
        rows,
    );
    let nanoseconds = iterations.iter().map(|count| Cell::published(Some(f64::from(*count) * LOOP_NS)));
    sheet.column(Side::Given, ("his loops", "took"), Quantity::Nanoseconds, nanoseconds);
    for (name, column) in experiment.columns {
        sheet.published((name, ""), Quantity::Captured, experiment.data.numbers(column));
    }
    for (step, what, methods) in [
        (experiment.time, "as long", experiment.methods),
        (experiment.loops, "as many loops", experiment.looped()),
    ] {
        for method in material.had(methods) {
            let cells =
                (0..iterations.len()).map(|at| material.swept(step, method, at).captured_cell(captured));
            sheet.column(Side::Here, (method, what), Quantity::Captured, cells);
        }
    }
    if let Some((method, step)) = experiment.today.filter(|(method, _)| !material.had(&[method]).is_empty()) {
        let cells = (0..iterations.len()).map(|at| material.swept(step, method, at).captured_cell(captured));
        sheet.column(Side::Here, (method, "as long"), Quantity::Captured, cells);
    }
    sheet.curves(Quantity::Captured);
    sheet.finish()
}

/// Where packets begin to be lost.
fn onset(experiment: &Experiment, material: &Material<'_>) -> Judgement {
    let iterations = experiment.iterations();
    let column = experiment.columns[0].1;
    let lost = |share: &f64| *share < 1.0 - ONSET;
    let then = experiment.data.numbers(column).iter().position(|share| share.as_ref().is_some_and(lost));
    let at = |row: usize| {
        let loops = iterations.get(row).copied().unwrap_or_default();
        format!("{loops} loops on ({:.2} us on his CPU)", f64::from(loops) * LOOP_NS / 1e3)
    };
    let at_loops = |row: usize| format!("{} of his loops", iterations.get(row).copied().unwrap_or_default());
    let claim = format!(
        "At {} with normal libpcap more than 1 % are lost from {}.",
        experiment.title,
        then.map_or("no point on".into(), at)
    );
    let seen: Vec<Seen<'_>> =
        (0..iterations.len()).map(|row| material.swept(experiment.time, SOCKET, row)).collect();
    let kept: Vec<Kept> = seen.iter().map(|seen| seen.kept(1.0 - ONSET)).collect();
    // Rows before this one lose none, and rows from the next one on do; in between nothing is told.
    let clean = kept.iter().take_while(|kept| **kept == Kept::Yes).count();
    let here = kept.iter().position(|kept| *kept == Kept::No);
    let between = kept.get(clean).is_some_and(|kept| *kept == Kept::Untold);
    let (answer, text) = match (here, then) {
        _ if clean == kept.len() => (
            Answer::Changed,
            format!("With {SOCKET} and work as long as his no visit of any point loses more."),
        ),
        (Some(here), Some(then)) if here == then && clean == here => {
            (Answer::Holds, format!("With {SOCKET} that is so here, too."))
        }
        (Some(here), Some(then)) if here < then || clean > then || !between => {
            let row = &seen[here];
            let share = row.median(captured).unwrap_or_default();
            let text = format!(
                "With {SOCKET} and work as long, every visit loses more from {}: {} % are captured there.",
                at(here),
                Quantity::Captured.text(share)
            );
            (Answer::Changed, text)
        }
        _ => {
            let why = seen.get(clean).map_or("it was not measured", Seen::why_untold);
            (Answer::CannotBeTold, format!("With {SOCKET} and work as long as {} {why}.", at_loops(clean)))
        }
    };
    let rows = here.map_or(seen.len(), |here| here + 1);
    judgement(claim, (answer, format!("{text}{}", held(&seen[..rows]))), &seen[..rows], Rule::Limit)
}
