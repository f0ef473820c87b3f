//! The parameter that a sweep varies, and its points.

use std::fmt;

use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_model::units::ByteCount;
use serde::{Deserialize, Serialize};

use crate::{PlanError, Result};
use capbench_model::laboratory::Setup;
use capbench_model::moderation::Moderation;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, SizeLabel};
use capbench_model::work::WorkModel;

/// The varied parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKind {
    /// Work of the application per packet.
    Work,
    /// Frame sizes.
    Size,
    /// Memory for the ring, and its block size.
    Ring,
    /// The CPUs of each task.
    Placement,
    /// The offered load.
    Load,
    /// Interrupt moderation of the receiving interface.
    Coalesce,
}

impl fmt::Display for AxisKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Ring and blocks of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Memory for the ring, or the socket's receive buffer for methods without a ring.
    pub ring: ByteCount,
    /// Block size of rings.
    pub block: ByteCount,
}

/// The minimum block: a page, of the size that x86-64 and most arm64 kernels have.
const PAGE: u64 = 4096;
/// Maximum block size of rings given in frames.
const BLOCK: u64 = 1 << 20;

impl RingSize {
    /// A ring for this number of frames in slots of this size: one block, or blocks of 1 MiB. Fails for zero frames.
    pub fn of_frames(frames: u32, slot: ByteCount) -> Result<Self> {
        let whole = u64::from(frames).saturating_mul(slot.0).min(u64::MAX / 2).next_multiple_of(PAGE);
        let ring = if whole > BLOCK { whole.next_multiple_of(BLOCK) } else { whole };
        Self::new(ByteCount(ring), ByteCount(ring.min(BLOCK)))
    }

    /// A ring in blocks. Fails for an empty ring, or less than a block.
    pub fn new(ring: ByteCount, block: ByteCount) -> Result<Self> {
        if block.0 == 0 || block > ring {
            return Err(contradiction(format!(
                "a ring of {ring} in blocks of {block} holds nothing; give a ring of at least one block"
            )));
        }
        Ok(Self { ring, block })
    }
}

/// A point on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Point {
    /// Work per packet; the queue before it does not change.
    Work(WorkModel),
    /// Frame sizes, and how results name them.
    Size(SizeLabel, Sizes),
    /// Ring and blocks.
    Ring(RingSize),
    /// A placement.
    Placement(PlacementChoice),
    /// An offered load.
    Load(Load),
    /// Interrupt moderation.
    Coalesce(Moderation),
}

impl Point {
    /// Its kind.
    pub fn kind(&self) -> AxisKind {
        match self {
            Self::Work(_) => AxisKind::Work,
            Self::Size(..) => AxisKind::Size,
            Self::Ring(_) => AxisKind::Ring,
            Self::Placement(_) => AxisKind::Placement,
            Self::Load(_) => AxisKind::Load,
            Self::Coalesce(_) => AxisKind::Coalesce,
        }
    }

    /// Its coordinate and unit; absent if points of its kind are names.
    pub fn coordinate(&self) -> Option<(f64, &'static str)> {
        match self {
            Self::Work(WorkModel::Nanoseconds(ns)) => Some((f64::from(*ns), "ns")),
            Self::Work(WorkModel::Loop(iterations)) => Some((f64::from(*iterations), "iterations")),
            Self::Size(_, Sizes::Fixed(size)) => Some((f64::from(size.octets()), "octets")),
            Self::Ring(size) => Some((size.ring.0 as f64, "bytes")),
            Self::Load(load) => load.pps().map(|pps| (pps, "packets/s")),
            Self::Coalesce(Moderation::Fixed(usecs)) => Some((f64::from(*usecs), "us")),
            Self::Work(_) | Self::Size(..) | Self::Placement(_) | Self::Coalesce(_) => None,
        }
    }

    /// A point half-way between two of the same kind, by ratio for rings. Absent if they are already neighbours.
    pub fn between(&self, other: &Self) -> Option<Self> {
        let middle = |a: u32, b: u32| {
            let middle = a.midpoint(b);
            (middle != a && middle != b).then_some(middle)
        };
        match (self, other) {
            (Self::Work(WorkModel::Nanoseconds(a)), Self::Work(WorkModel::Nanoseconds(b))) => {
                middle(*a, *b).map(|ns| Self::Work(WorkModel::Nanoseconds(ns)))
            }
            (Self::Work(WorkModel::Loop(a)), Self::Work(WorkModel::Loop(b))) => {
                middle(*a, *b).map(|iterations| Self::Work(WorkModel::Loop(iterations)))
            }
            (Self::Size(_, Sizes::Fixed(a)), Self::Size(_, Sizes::Fixed(b))) => {
                let size = FrameSize::new(middle(a.octets().into(), b.octets().into())?).ok()?;
                Some(Self::Size(SizeLabel::Octets(size.octets()), Sizes::Fixed(size)))
            }
            (Self::Ring(a), Self::Ring(b)) => {
                let block = a.block.min(b.block);
                let ideal = (a.ring.0 as f64 * b.ring.0 as f64).sqrt();
                let blocks = (ideal / block.0 as f64).round().max(1.0) as u64;
                let ring = ByteCount(blocks * block.0);
                (ring != a.ring && ring != b.ring).then_some(Self::Ring(RingSize { ring, block }))
            }
            (Self::Load(a), Self::Load(b)) => {
                let rate = f64::midpoint(a.pps()?, b.pps()?).round();
                let rate = Pps::new(rate).ok()?;
                (rate.get() != a.pps()? && rate.get() != b.pps()?).then_some(Self::Load(Load::Rate(rate)))
            }
            (Self::Coalesce(Moderation::Fixed(a)), Self::Coalesce(Moderation::Fixed(b))) => {
                middle(*a, *b).map(|usecs| Self::Coalesce(Moderation::Fixed(usecs)))
            }
            _ => None,
        }
    }

    /// The set-up and load of a trial at this point.
    pub(super) fn apply(&self, setup: &Setup, load: Load) -> (Setup, Load) {
        let mut setup = setup.clone();
        match self {
            Self::Work(work) => setup.work.model = *work,
            Self::Size(label, sizes) => (setup.label, setup.sizes) = (label.clone(), sizes.clone()),
            Self::Ring(size) => (setup.capture.ring, setup.capture.block) = (size.ring, size.block),
            Self::Placement(placement) => setup.placement = *placement,
            Self::Coalesce(moderation) => setup.moderation = Some(*moderation),
            Self::Load(load) => return (setup, *load),
        }
        (setup, load)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(work) => write!(f, "work {work}"),
            Self::Size(label, _) => write!(f, "{label} B"),
            Self::Ring(RingSize { ring, block }) if ring == block => write!(f, "ring {ring}, one block"),
            Self::Ring(RingSize { ring, block }) => write!(f, "ring {ring} in blocks of {block}"),
            Self::Placement(placement) => write!(f, "placement {placement}"),
            Self::Coalesce(moderation) => write!(f, "interrupt moderation {moderation}"),
            Self::Load(load) => load.fmt(f),
        }
    }
}

/// Points of one kind, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    kind: AxisKind,
    points: Vec<Point>,
}

/// Whether the points of a range have equal differences or equal ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Geometric,
}

impl Axis {
    /// An axis of these points, in ascending order unless they are names. Fails for none, repeated ones, and different kinds.
    pub fn new(mut points: Vec<Point>) -> Result<Self> {
        let Some(first) = points.first() else { return Err(contradiction("no point was given; name one")) };
        let (kind, unit) = (first.kind(), first.coordinate().map(|(_, unit)| unit));
        for (position, point) in points.iter().enumerate() {
            if point.kind() != kind {
                return Err(contradiction(format!("{point} is of another axis than {first}; name one axis")));
            }
            if points[..position].contains(point) {
                return Err(contradiction(format!("{point} was named twice; name it once")));
            }
        }
        if points.iter().all(|point| point.coordinate().map(|(_, other)| other) == unit) {
            let at = |point: &Point| point.coordinate().map_or(0.0, |(at, _)| at);
            points.sort_by(|a, b| at(a).total_cmp(&at(b)));
        }
        Ok(Self { kind, points })
    }

    /// Work from `from` to `to` at this number of points, in the unit of the two. Fails for models of different kinds or
    /// without a number, for ends out of order, and for fewer than 2 points.
    pub fn work(from: WorkModel, to: WorkModel, points: usize, spacing: Spacing) -> Result<Self> {
        type Make = fn(u32) -> WorkModel;
        let (from, to, make): (u32, u32, Make) = match (from, to) {
            (WorkModel::Loop(from), WorkModel::Loop(to)) => (from, to, WorkModel::Loop),
            (WorkModel::Nanoseconds(from), WorkModel::Nanoseconds(to)) => (from, to, WorkModel::Nanoseconds),
            _ => {
                return Err(contradiction(format!(
                    "there are no steps from work {from} to work {to}; give loop:N and loop:M, or ns:N and ns:M"
                )));
            }
        };
        let steps = steps(from, to, points, spacing)?;
        Self::new(steps.into_iter().map(|number| Point::Work(make(number))).collect())
    }

    /// Rings for `from` to `to` frames in slots of this size, doubling. Fails for zero frames, or ends out of order.
    pub fn rings(from: u32, to: u32, slot: ByteCount) -> Result<Self> {
        if from == 0 || from > to {
            return Err(contradiction(format!(
                "rings for {from} to {to} frames are none; 8 to 32768 are some"
            )));
        }
        let frames =
            std::iter::successors(Some(from), |frames| frames.checked_mul(2).filter(|&next| next <= to));
        let ring = |frames| Ok(Point::Ring(RingSize::of_frames(frames, slot)?));
        let mut points: Vec<_> = frames.map(ring).collect::<Result<_>>()?;
        points.dedup();
        Self::new(points)
    }

    /// The kind of its points.
    pub fn kind(&self) -> AxisKind {
        self.kind
    }

    /// Its points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

/// Whole numbers from `from` to `to`. Steps too narrow for whole numbers are merged.
fn steps(from: u32, to: u32, points: usize, spacing: Spacing) -> Result<Vec<u32>> {
    if from >= to || points < 2 {
        return Err(contradiction(format!("{points} points from {from} to {to} are no range; begin lower")));
    }
    // A ratio needs a start above 0.
    let low = if spacing == Spacing::Geometric { f64::from(from).max(1.0) } else { f64::from(from) };
    let mut steps: Vec<u32> = (0..points)
        .map(|nth| {
            let part = nth as f64 / (points - 1) as f64;
            match spacing {
                Spacing::Linear => low + (f64::from(to) - low) * part,
                Spacing::Geometric => low * (f64::from(to) / low).powf(part),
            }
            .round() as u32
        })
        .collect();
    steps[0] = from;
    steps.dedup();
    Ok(steps)
}

/// The error of a requested sweep that is impossible.
pub(super) fn contradiction(reason: impl Into<String>) -> PlanError {
    PlanError::Sweep { reason: reason.into() }
}
