//! Simulated hosts.

use std::time::Duration;

use capbench_model::units::ByteCount;
use capbench_plan::for_tests::{INTERRUPTS, methods, pps};
use capbench_plan::guards::Guarded;
use capbench_plan::simulated::{ForeignWork, LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};

/// Seeds of a host on which they make a difference.
const SEEDS: u64 = 3;

/// A simulated host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Every trial is exact.
    Quiet,
    /// Capacities vary by 2 %.
    Noisy,
    /// Capacities vary by 15 %.
    VeryNoisy,
    /// Frames are lost in bursts at any load.
    Bursty,
    /// Other work takes CPU time in half of the trials.
    Disturbed,
    /// The backlog passes 350,000 packets/s.
    Backlog,
    /// The link carries 300,000 packets/s.
    Link,
    /// The generator reaches 60,000 packets/s.
    SlowGenerator,
    /// A card that interrupts.
    Interrupts,
    /// The kernel takes CPU time from the application; frames wait in rings.
    Shared,
    /// Methods that hardly differ.
    Alike,
}

impl Host {
    pub const ALL: &[Self] = &[
        Self::Quiet,
        Self::Noisy,
        Self::VeryNoisy,
        Self::Bursty,
        Self::Disturbed,
        Self::Backlog,
        Self::Link,
        Self::SlowGenerator,
        Self::Interrupts,
        Self::Shared,
        Self::Alike,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Noisy => "noisy",
            Self::VeryNoisy => "very-noisy",
            Self::Bursty => "bursty",
            Self::Disturbed => "disturbed",
            Self::Backlog => "backlog",
            Self::Link => "link",
            Self::SlowGenerator => "slow-generator",
            Self::Interrupts => "interrupts",
            Self::Shared => "shared",
            Self::Alike => "alike",
        }
    }

    /// The seeds of its runs: several where they make a difference.
    pub fn seeds(self) -> std::ops::RangeInclusive<u64> {
        match self {
            Self::Noisy | Self::VeryNoisy | Self::Bursty | Self::Disturbed | Self::Alike => 1..=SEEDS,
            _ => 1..=1,
        }
    }

    pub fn path(self, seed: u64) -> Guarded<SimulatedLaboratory> {
        let path = SimulatedLaboratory::new(1_000_000.0, methods());
        let noise = |per_trial, per_second| Noise { per_trial, per_second };
        crate::runs::guarded(match self {
            Self::Quiet => path,
            Self::Noisy => path.noise(seed, noise(0.02, 0.01)),
            Self::VeryNoisy => path.noise(seed, noise(0.15, 0.1)),
            Self::Bursty => path.bursts(seed, LossBursts { per_second: 0.3, frames: 40 }).showing_moments(),
            Self::Disturbed => path
                .noise(seed, noise(0.03, 0.0))
                .foreign_work(seed, ForeignWork { per_trial: 0.5, share: 0.3 }),
            Self::Backlog => path.backlog(350_000.0),
            Self::Link => path.line_rate(pps(300_000.0)),
            Self::SlowGenerator => SimulatedLaboratory::new(60_000.0, methods()),
            Self::Interrupts => path.interrupts(INTERRUPTS),
            Self::Shared => SimulatedLaboratory::new(2_000_000.0, sharing()).noise(seed, noise(0.01, 0.0)),
            Self::Alike => SimulatedLaboratory::new(1_500_000.0, alike()).noise(seed, noise(0.04, 0.01)),
        })
    }
}

fn sharing() -> Vec<SimulatedMethod> {
    let slots = Room::Slots(ByteCount(2048));
    vec![
        SimulatedMethod::new("recv", 500_000.0).livelock(0.3).cost(800, 900).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1_100_000.0).room(slots).cost(200, 600).sharing_cpu(),
        SimulatedMethod::new("packet-v3", 1_600_000.0)
            .room(slots)
            .cost(90, 500)
            .per_octet(Duration::from_nanos(1))
            .sharing_cpu()
            .bursts_lost_above(1_200_000.0),
    ]
}

fn alike() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 790_000.0).cost(300, 700),
        SimulatedMethod::new("packet-v2", 800_000.0).cost(90, 700),
        SimulatedMethod::new("packet-v3", 810_000.0).cost(88, 690),
    ]
}
