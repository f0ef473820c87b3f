//! Dain (2004): the captured share against the work per packet, and two results that nobody explained.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_capture::options::ByteCount;
use capbench_traffic::layout::FrameLayout;
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;

use super::conditions::Conditions;
use super::material::{Material, Seen, captured};
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
           twice: with his number of loops, and with loops for as long as his took (2.96 ns each, by the slope of his own table \
           from 7000 loops on). Normal libpcap is recv today; the ring of 256 slots is packet-v2; libpcap of today is on a \
           ring of its own. Ring and socket buffer: 512 KiB.",
    beyond: &[
        ("Bigger rings did not help.", "No figures were published; `capbench sweep ring` measures it."),
        (
            "The causes that his one drop counter could not tell apart in 2004.",
            "Linux 2.4.22, its ns83820 driver and a Pentium III are not here; the ledger of each trial tells them apart on this \
             system.",
        ),
    ],
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
const METHODS: [&str; 3] = [SOCKET, RING, "libpcap"];

/// One of his two experiments.
struct Experiment {
    data: Data,
    pps: f64,
    title: &'static str,
    columns: &'static [(&'static str, &'static str)],
    loops: &'static str,
    time: &'static str,
}

const EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        data: published::DAIN_45KPPS,
        pps: 45_000.0,
        title: "45,000 packets/s",
        columns: &[("normal libpcap", "fraction_captured")],
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

    fn sweep(
        &self,
        conditions: &Conditions,
        of: fn(u32) -> WorkModel,
        methods: &[&str],
    ) -> Result<SweepPlan> {
        let layout = FrameLayout::dain_2004();
        let size = layout.minimum_size();
        let ring = RingSize::of_frames(SLOTS, SLOT)?;
        let mut base = Setup {
            label: SizeLabel::Octets(size.octets()),
            sizes: Sizes::Fixed(size),
            layout,
            placement: PlacementChoice::Same,
            ..conditions.base.clone()
        };
        (base.capture.ring, base.capture.block, base.capture.frame) = (ring.ring, ring.block, Some(SLOT));
        Ok(SweepPlan {
            axis: Axis::new(self.iterations().into_iter().map(|count| Point::Work(of(count))).collect())?,
            methods: methods.iter().map(|name| MethodSpec::plain(name)).collect(),
            base,
            placements: vec![PlacementChoice::Same],
            loads: vec![Load::Rate(Pps::new(self.pps)?)],
            probe: Probe::Trial,
            duration: conditions.scale.of(Duration::from_secs_f64(PACKETS / self.pps)),
            repeats: conditions.visits,
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
    for experiment in &EXPERIMENTS {
        let sweep = |of: fn(u32) -> WorkModel, methods: &[&str]| -> Result<Doing> {
            Ok(Doing::Sweep(Box::new(experiment.sweep(conditions, of, methods)?)))
        };
        steps.push(Step {
            name: experiment.time,
            summary: format!(
                "{}, work as long as his, {} points",
                experiment.title,
                experiment.iterations().len()
            ),
            doing: sweep(as_long, &METHODS[..])?,
        });
        steps.push(Step {
            name: experiment.loops,
            summary: format!("{}, as many loops as his", experiment.title),
            doing: sweep(WorkModel::Loop, &[SOCKET, RING][..experiment.columns.len()])?,
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
    let [first, second] = &EXPERIMENTS;
    let of = |step: &str| -> Vec<Effect> {
        let sweep = material.step(step).and_then(|done| Some((done.sweep.as_ref()?, &done.trials)));
        sweep.map_or_else(Vec::new, |(outcome, trials)| effects(outcome, trials))
    };
    for (steps, kind, claim, methods) in [
        (
            [first.time, first.loops],
            EffectKind::MoreWorkMorePackets,
            "At 45,000 packets/s more work per packet leads to more packets: 81 % are captured with 3000 loops and 98 % with 6000.",
            &METHODS[..],
        ),
        (
            [second.time, second.loops],
            EffectKind::RingBehindSocket,
            "At 167,000 packets/s the ring captures less than normal libpcap once packets are dropped, from 900 loops on.",
            &METHODS[1..],
        ),
    ] {
        let mut found: Vec<Judgement> = Vec::new();
        for (step, work) in steps.into_iter().zip(["work as long as his", "as many loops as his"]) {
            let wanted = |effect: &Effect| effect.kind == kind && methods.contains(&&*effect.method);
            let claim = format!("{claim} Run again with {work}.");
            for effect in of(step).into_iter().filter(wanted) {
                let (answer, said) =
                    (answer(effect.appearance), format!("{}: {}", effect.method, effect.text));
                match found.iter_mut().find(|known| known.answer == answer && known.claim == claim) {
                    Some(known) => {
                        known.text.push_str(&format!(" {said}"));
                        known.trials.extend(effect.trials);
                    }
                    None => found.push(Judgement {
                        claim: claim.clone(),
                        answer,
                        text: said,
                        trials: effect.trials,
                    }),
                }
            }
        }
        compared.findings.extend(found);
    }
    compared
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
        (experiment.time, "as long", &METHODS[..]),
        (experiment.loops, "as many loops", &[SOCKET, RING][..experiment.columns.len()]),
    ] {
        for method in material.had(methods) {
            let cells = (0..iterations.len()).map(|at| material.swept(step, method, at).cell(captured));
            sheet.column(Side::Here, (method, what), Quantity::Captured, cells);
        }
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
    let claim = format!(
        "At {} with normal libpcap more than 1 % are lost from {}.",
        experiment.title,
        then.map_or("no point on".into(), at)
    );
    let seen: Vec<Seen<'_>> =
        (0..iterations.len()).map(|row| material.swept(experiment.time, SOCKET, row)).collect();
    let trials: Vec<u32> = seen.iter().flat_map(Seen::numbers).collect();
    let here = seen.iter().position(|row| row.every(captured, |share| lost(&share)));
    let is_clean = seen.iter().all(|row| row.every(captured, |share| !lost(&share)));
    let (answer, text) = match (here, then) {
        (Some(here), Some(then)) if here == then => {
            (Answer::Holds, format!("With {SOCKET} that is so here, too."))
        }
        (Some(here), _) => {
            let row = &seen[here];
            let share = row.median(captured).unwrap_or_default();
            let text = format!(
                "With {SOCKET} and work as long, every visit loses more from {}: {} % are captured there.",
                at(here),
                Quantity::Captured.text(share)
            );
            (Answer::Changed, text)
        }
        (None, _) if is_clean => (
            Answer::Changed,
            format!("With {SOCKET} and work as long as his no visit of any point loses more."),
        ),
        (None, _) => (
            Answer::CannotBeTold,
            format!(
                "With {SOCKET} there is no point at which every one of at least two visits loses more, nor does none lose any."
            ),
        ),
    };
    Judgement { claim, answer, text, trials }
}
