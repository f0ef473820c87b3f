//! How the rate of a method grows with its members.

use capbench_model::members::{Member, MemberLoss};
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult};

use super::trial;
use crate::sweep::members_growth::MembersStep;
use crate::sweep::outcome::Reading;
use crate::sweep::scaling::Scaling;

/// A trial of a second at a million packets/s, of which the members of a method, each on its CPU, read so many together. Each member
/// loses as many as it reads, so all are at their limit.
fn at_its_limit(members: u32, read: u64) -> TrialResult {
    let mut trial = TrialResult { intended_pps: None, ..trial(100_000, 0) };
    trial.offered_pps = 1e6;
    trial.intended = 1_000_000;
    trial.sent = 1_000_000;
    trial.delivered = read;
    trial.delivered_pps = read as f64;
    for cpu in 0..members {
        let read = read / u64::from(members);
        let lost = vec![MemberLoss { place: Place::Ring, frames: Some(read) }];
        trial.members.push(Member { cpu, read, delivered: read, lost, ..Member::default() });
    }
    trial
}

#[test]
fn more_members_are_worth_half_of_what_as_many_brought_before() {
    // One member reads 100,000 packets/s, so a second one is worth its CPU if it brings 50,000 more. A third one brings nothing.
    for (both_read, last_worth) in [(148_000, 1), (152_000, 2)] {
        let one = at_its_limit(1, 100_000);
        let two = at_its_limit(2, both_read);
        let three = at_its_limit(3, both_read);
        let trials = [&one, &two, &three];
        let readings = trials.map(|trial| Reading::from_trials(0, &[trial], None).unwrap());
        let mut steps = Vec::new();
        for (nth, reading) in readings.iter().enumerate() {
            steps.push(MembersStep { members: (nth + 1) as f64, reading, trials: vec![trials[nth]] });
        }
        let stop = Scaling::from_steps(&steps, Load::Maximum).stop.unwrap();
        assert_eq!(stop.after, last_worth, "{both_read} packets/s with two members");
    }
}
