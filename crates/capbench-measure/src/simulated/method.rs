//! A capture method whose constants are known.

use std::time::Duration;

use capbench_capture::options::CaptureOptions;
use capbench_capture::units::ByteCount;

use super::interrupts::Held;
use crate::laboratory::Setup;
use crate::work::WorkModel;
use capbench_model::placement::PlacementChoice;

/// Cost per packet beside the application's work, by how busy that work keeps the application: the shape of the
/// results of Dain (2004). Below one work the application falls asleep between packets and is woken for each; above
/// another it never sleeps; in between it sleeps ever less often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRegimes {
    /// Per packet, while each wakes the application.
    pub asleep: Duration,
    /// Per packet, while it never sleeps.
    pub busy: Duration,
    /// Work up to which each packet wakes it.
    pub asleep_until: Duration,
    /// Work from which on it never sleeps.
    pub busy_from: Duration,
    /// Frames in a batch when it never sleeps.
    pub batch: f64,
}

impl TwoRegimes {
    /// The share of packets that need no wake-up, at so much work per packet.
    fn kept_busy(&self, work: Duration) -> f64 {
        let slide = self.busy_from.saturating_sub(self.asleep_until).as_secs_f64();
        if slide == 0.0 {
            return if work >= self.busy_from { 1.0 } else { 0.0 };
        }
        (work.saturating_sub(self.asleep_until).as_secs_f64() / slide).clamp(0.0, 1.0)
    }
}

/// Where frames wait that come faster than the application takes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// Nowhere: whatever is above the capacity is lost.
    None,
    /// For so many frames.
    Frames(u64),
    /// In the ring of the set-up, whole slots of this size in whole blocks.
    Slots(ByteCount),
}

impl Room {
    /// Frames that a ring of these sizes holds.
    pub fn frames(self, capture: &CaptureOptions) -> u64 {
        match self {
            Self::None => 0,
            Self::Frames(frames) => frames,
            Self::Slots(slot) => {
                let block = capture.block.0.min(capture.ring.0);
                (capture.ring.0 / block.max(1)) * (block / slot.0.max(1))
            }
        }
    }
}

/// A capture method with a known capacity.
#[derive(Clone, Debug)]
pub struct SimulatedMethod {
    pub(super) name: String,
    capacity: f64,
    regimes: Option<TwoRegimes>,
    per_octet: Duration,
    shares_cpu: bool,
    pub(super) livelock: f64,
    pub(super) bursts_above: f64,
    room: Room,
    most_room: u64,
    pub(super) application_ns: u64,
    pub(super) kernel_ns: u64,
}

/// What a method can do in one set-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ability {
    /// Frames per second that it takes when it does nothing else.
    pub(super) capacity: f64,
    /// The application's CPU time per frame taken.
    pub(super) application_ns: f64,
    /// CPU time of the kernel for every frame that arrives.
    pub(super) kernel_ns: f64,
    /// Whether it takes that from the application.
    pub(super) shares_cpu: bool,
    /// Frames per wake-up and frames per batch, where the method has regimes.
    pub(super) batching: Option<Batching>,
}

impl Ability {
    /// The same behind a card that interrupts: what an interrupt costs is shared by the frames that it hands over, and
    /// those come in one batch, unless the method has a way of its own.
    pub(super) fn interrupted(self, held: Held) -> Self {
        let together = Batching { wakeups: 1.0 / held.frames, batches: 1.0 / held.frames };
        Self { kernel_ns: self.kernel_ns + held.cost_ns, batching: self.batching.or(Some(together)), ..self }
    }
}

/// How frames come to the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batching {
    /// Wake-ups per frame.
    pub(super) wakeups: f64,
    /// Batches per frame.
    pub(super) batches: f64,
}

impl SimulatedMethod {
    /// A method that delivers up to `capacity` frames per second and drops the rest in its ring.
    pub fn new(name: &str, capacity: f64) -> Self {
        Self {
            name: name.into(),
            capacity,
            regimes: None,
            per_octet: Duration::ZERO,
            shares_cpu: false,
            livelock: 0.0,
            bursts_above: f64::INFINITY,
            room: Room::None,
            most_room: u64::MAX,
            application_ns: 100,
            kernel_ns: 500,
        }
    }

    /// A method whose capacity follows from what it costs per packet in two regimes.
    pub fn with_regimes(name: &str, regimes: TwoRegimes) -> Self {
        Self { regimes: Some(regimes), ..Self::new(name, f64::INFINITY) }
    }

    /// Every frame above the capacity costs so many frames of it: receive livelock.
    #[must_use]
    pub fn livelock(self, cost: f64) -> Self {
        Self { livelock: cost, ..self }
    }

    /// Loses one frame in a thousand above this rate, though its capacity is higher.
    #[must_use]
    pub fn bursts_lost_above(self, rate: f64) -> Self {
        Self { bursts_above: rate, ..self }
    }

    /// CPU time per frame of application and kernel, in nanoseconds. It is what the account shows, and limits nothing
    /// unless [`Self::sharing_cpu`] is asked for.
    #[must_use]
    pub fn cost(self, application_ns: u64, kernel_ns: u64) -> Self {
        Self { application_ns, kernel_ns, ..self }
    }

    /// Time that the application takes for every octet of a frame.
    #[must_use]
    pub fn per_octet(self, per_octet: Duration) -> Self {
        Self { per_octet, ..self }
    }

    /// Frames above the capacity wait here before any is lost.
    #[must_use]
    pub fn room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// However large the ring is, no more frames than these wait: something else is full.
    #[must_use]
    pub fn room_at_most(self, frames: u64) -> Self {
        Self { most_room: frames, ..self }
    }

    /// In placement `same` the kernel's work on every frame that arrives goes before the application's.
    #[must_use]
    pub fn sharing_cpu(self) -> Self {
        Self { shares_cpu: true, ..self }
    }

    /// Frames that can wait in this set-up.
    pub(super) fn waiting(&self, capture: &CaptureOptions) -> u64 {
        self.room.frames(capture).min(self.most_room)
    }

    /// What it can do with this set-up, with frames of this mean size.
    pub(super) fn ability(&self, setup: &Setup, octets: f64) -> Ability {
        let work = work(setup.work.model, octets);
        let octets = self.per_octet.as_secs_f64() * octets;
        let kept_busy = self.regimes.map(|regimes| (regimes, regimes.kept_busy(work)));
        let overhead = match kept_busy {
            Some((regimes, busy)) => {
                regimes.asleep.as_secs_f64() * (1.0 - busy) + regimes.busy.as_secs_f64() * busy
            }
            None => 1.0 / self.capacity,
        };
        let added = work.as_secs_f64() + octets;
        // What is not asked for must not cost a rounding.
        let capacity =
            if added == 0.0 && kept_busy.is_none() { self.capacity } else { 1.0 / (overhead + added) };
        let own = match kept_busy {
            Some(_) => overhead * 1e9,
            None => self.application_ns as f64,
        };
        let shares = self.shares_cpu && setup.placement == PlacementChoice::Same;
        Ability {
            capacity,
            application_ns: own + added * 1e9,
            kernel_ns: self.kernel_ns as f64,
            shares_cpu: shares,
            batching: kept_busy.map(|(regimes, busy)| Batching {
                wakeups: 1.0 - busy,
                batches: 1.0 - busy + busy / regimes.batch.max(1.0),
            }),
        }
    }
}

/// How long the work takes on this path: an iteration of the wait loop and an octet that is looked at take 1 ns.
fn work(model: WorkModel, octets: f64) -> Duration {
    const PARSE_NS: u64 = 20;
    match model {
        WorkModel::None => Duration::ZERO,
        WorkModel::Loop(iterations) => Duration::from_nanos(iterations.into()),
        WorkModel::Nanoseconds(ns) => Duration::from_nanos(ns.into()),
        WorkModel::Touch | WorkModel::Copy => Duration::from_nanos(octets as u64),
        WorkModel::Parse => Duration::from_nanos(PARSE_NS),
    }
}
