//! A simulated capture method with known constants.

use std::time::Duration;

use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;

use super::interrupts::InterruptsAtRate;
use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::SavedMethod;
use capbench_model::work::WorkModel;
use capbench_statistics::scalability::Law;

/// Cost per packet besides the application's work, by that work, shaped as Dain's results (2004): below one amount each packet
/// wakes the application, above another it never sleeps, and in between it sleeps less and less often.
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
    /// The share of packets that need no wake-up at this work per packet.
    fn kept_busy(&self, work: Duration) -> f64 {
        let slide = self.busy_from.saturating_sub(self.asleep_until).as_secs_f64();
        if slide == 0.0 {
            return if work >= self.busy_from { 1.0 } else { 0.0 };
        }
        (work.saturating_sub(self.asleep_until).as_secs_f64() / slide).clamp(0.0, 1.0)
    }
}

/// Where frames wait if they arrive faster than the application reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// Nowhere: frames above the capacity are lost.
    None,
    /// In a buffer of this many frames.
    Frames(u64),
    /// In the set-up's ring, in whole slots of this size and whole blocks.
    Slots(ByteCount),
}

impl Room {
    /// Capacity in frames of a ring of these sizes.
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
    pub(super) name: SavedMethod,
    capacity: f64,
    regimes: Option<TwoRegimes>,
    /// How the capacity grows with members: this law's rates over that of one member.
    scaling: Law,
    per_octet: Duration,
    shares_cpu: bool,
    pub(super) livelock: f64,
    pub(super) bursts_above: f64,
    room: Room,
    most_room: u64,
    pub(super) application_ns: u64,
    pub(super) kernel_ns: u64,
}

/// The abilities of a method in one set-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ability {
    /// Frames per second that it reads when it does nothing else.
    pub(super) capacity: f64,
    pub(super) application_ns: f64,
    pub(super) kernel_ns: f64,
    /// Whether the application's CPU also provides the kernel's time.
    pub(super) shares_cpu: bool,
    /// Wake-ups and batches per frame, where the method has regimes.
    pub(super) batching: Option<Batching>,
}

impl Ability {
    /// The same on a core that runs at this share of its best speed.
    pub(super) fn at_speed(self, share: f64) -> Self {
        Self {
            capacity: self.capacity * share,
            application_ns: self.application_ns / share,
            kernel_ns: self.kernel_ns / share,
            ..self
        }
    }

    /// The same behind a card: frames of an interrupt share its cost and, unless the method batches itself, arrive together.
    pub(super) fn interrupted(self, interrupts: InterruptsAtRate) -> Self {
        let per_frame = 1.0 / interrupts.frames;
        let together = Batching { wakeups: per_frame, batches: per_frame };
        Self {
            kernel_ns: self.kernel_ns + interrupts.cost_ns,
            batching: self.batching.or(Some(together)),
            ..self
        }
    }
}

/// How frames reach the application: wake-ups and batches per frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batching {
    pub(super) wakeups: f64,
    pub(super) batches: f64,
}

impl SimulatedMethod {
    /// A method that delivers up to `capacity` frames per second and drops the rest in its ring.
    pub fn new(name: &str, capacity: f64) -> Self {
        Self {
            name: name.into(),
            capacity,
            regimes: None,
            // As one member, however many there are.
            scaling: Law { lambda: 1.0, sigma: 1.0, kappa: 0.0 },
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

    /// A method whose members read at the rates of this law together: each takes the time per packet that follows from it.
    pub fn with_scaling(name: &str, law: Law) -> Self {
        Self { scaling: Law { lambda: 1.0, ..law }, ..Self::new(name, law.lambda) }
    }

    /// A method whose capacity follows from what it costs per packet in two regimes.
    pub fn with_regimes(name: &str, regimes: TwoRegimes) -> Self {
        Self { regimes: Some(regimes), ..Self::new(name, f64::INFINITY) }
    }

    /// Every frame above the capacity reduces the capacity by `cost` frames: receive livelock.
    #[must_use]
    pub fn livelock(self, cost: f64) -> Self {
        Self { livelock: cost, ..self }
    }

    /// Loses one frame in a thousand above this rate, though its capacity is higher.
    #[must_use]
    pub fn bursts_lost_above(self, rate: f64) -> Self {
        Self { bursts_above: rate, ..self }
    }

    /// CPU time per frame of application and kernel, ns. It limits nothing unless [`Self::sharing_cpu`] is set.
    #[must_use]
    pub fn cost(self, application_ns: u64, kernel_ns: u64) -> Self {
        Self { application_ns, kernel_ns, ..self }
    }

    /// Application time per octet of a frame.
    #[must_use]
    pub fn per_octet(self, per_octet: Duration) -> Self {
        Self { per_octet, ..self }
    }

    /// Frames above the capacity wait here before any is lost.
    #[must_use]
    pub fn room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// Upper bound of waiting frames for any ring size: another resource is full.
    #[must_use]
    pub fn room_at_most(self, frames: u64) -> Self {
        Self { most_room: frames, ..self }
    }

    /// In placement `same` the kernel's work on every arriving frame precedes the application's.
    #[must_use]
    pub fn sharing_cpu(self) -> Self {
        Self { shares_cpu: true, ..self }
    }

    /// By how much this many members read more frames per second than one.
    pub(super) fn scaled(&self, members: u16) -> f64 {
        self.scaling.rate(members.into())
    }

    /// Frames that can wait in a ring of these sizes.
    pub(super) fn waiting(&self, capture: &CaptureOptions) -> u64 {
        self.room.frames(capture).min(self.most_room)
    }

    /// What it can do in a set-up whose frames have this mean size.
    pub(super) fn ability(&self, setup: &Setup, octets: f64) -> Ability {
        let work = work(setup.work.model, octets);
        let added_s = work.as_secs_f64() + self.per_octet.as_secs_f64() * octets;
        let kept_busy = self.regimes.map(|regimes| (regimes, regimes.kept_busy(work)));
        let overhead_s = match kept_busy {
            Some((regimes, busy)) => {
                regimes.asleep.as_secs_f64() * (1.0 - busy) + regimes.busy.as_secs_f64() * busy
            }
            None => 1.0 / self.capacity,
        };
        // Features that are off must not cause a rounding.
        let capacity =
            if added_s == 0.0 && kept_busy.is_none() { self.capacity } else { 1.0 / (overhead_s + added_s) };
        let overhead_ns = match kept_busy {
            Some(_) => overhead_s * 1e9,
            None => self.application_ns as f64,
        };
        let shares_cpu = self.shares_cpu && setup.placement == PlacementChoice::Same;
        Ability {
            capacity,
            application_ns: overhead_ns + added_s * 1e9,
            kernel_ns: self.kernel_ns as f64,
            shares_cpu,
            batching: kept_busy.map(|(regimes, busy)| Batching {
                wakeups: 1.0 - busy,
                batches: 1.0 - busy + busy / regimes.batch.max(1.0),
            }),
        }
    }
}

/// Duration of the work on this path: an iteration of the wait loop and an examined octet take 1 ns each.
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
