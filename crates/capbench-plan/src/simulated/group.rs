//! The members of a simulated method. Each has a CPU, and reads its part of the frames at its part of the method's capacity.

use capbench_model::laboratory::Setup;
use capbench_model::members::{FanoutMode, Member, MemberLoss, Members};
use capbench_model::places::Place;

use super::method::{Ability, SimulatedMethod};
use super::passage::Passage;

/// The first member's CPU: generator and kernel have others.
const FIRST_CPU: u32 = 2;

/// The members of a method.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The share of the frames that each gets.
    shares: Vec<f64>,
    /// Frames per second that each can read.
    capacity: f64,
}

impl Group {
    /// The members of a set-up's method, one of which has this ability; `None` if it has one thread. By hash, flows go to members
    /// in turn; else frames do.
    pub(super) fn from_setup(
        method: &SimulatedMethod,
        of_one: Ability,
        setup: &Setup,
    ) -> Result<Option<Self>, String> {
        let Some(Members { count, mode }) = Members::of_method(&setup.method)? else {
            return Ok(None);
        };
        let count = usize::from(count.get());
        let flows = match mode {
            FanoutMode::Hash => setup.layout.flows.get() as usize,
            _ => count,
        };
        let mut shares = vec![0.0; count];
        for flow in 0..flows {
            shares[flow % count] += 1.0 / flows as f64;
        }
        Ok(Some(Self { shares, capacity: of_one.capacity * method.scaled(count as u16) / count as f64 }))
    }

    /// The ability of all together where this many frames per second arrive: no member reads another one's part.
    pub(super) fn ability(&self, of_one: Ability, arriving_pps: f64) -> Ability {
        let whole = self.capacity * self.shares.len() as f64;
        let lost: f64 = self.shares.iter().map(|share| self.excess(*share, arriving_pps)).sum();
        let capacity = if lost > 0.0 { arriving_pps - lost } else { whole };
        Ability { capacity, application_ns: 1e9 / self.capacity, ..of_one }
    }

    /// Frames per second that come to a member with this share above its capacity.
    fn excess(&self, share: f64, arriving_pps: f64) -> f64 {
        (share * arriving_pps - self.capacity).max(0.0)
    }

    /// What each did in a trial. Their frames add up to the trial's.
    pub(super) fn members(&self, passage: &Passage, arriving_pps: f64) -> Vec<Member> {
        let accepted = parts(passage.delivered + passage.lost_in_ring, &self.shares);
        let excess: Vec<f64> = self.shares.iter().map(|share| self.excess(*share, arriving_pps)).collect();
        let has_excess = excess.iter().any(|excess| *excess > 0.0);
        let lost = parts(passage.lost_in_ring, if has_excess { &excess } else { &self.shares });
        let mut members = Vec::new();
        for (cpu, (accepted, lost)) in (FIRST_CPU..).zip(accepted.into_iter().zip(lost)) {
            let read = accepted - lost;
            members.push(Member {
                cpu,
                accepted: Some(accepted),
                lost: vec![MemberLoss { place: Place::Ring, frames: Some(lost) }],
                read,
                delivered: read,
                reordered: 0,
                cpu_ns: (read as f64 * 1e9 / self.capacity).round() as u64,
            });
        }
        members
    }
}

/// Whole parts of a number by their weights; they add up to it.
fn parts(whole: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let mut weight_so_far = 0.0;
    let mut start = 0;
    let mut parts = Vec::new();
    for (nth, weight) in weights.iter().enumerate() {
        weight_so_far += weight;
        let is_last = nth + 1 == weights.len();
        let end =
            if is_last { whole } else { (whole as f64 * (weight_so_far / sum).min(1.0)).round() as u64 };
        parts.push(end - start);
        start = end;
    }
    parts
}
