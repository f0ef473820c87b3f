//! What soaks of a simulated path show, as facts. Their words: `src/sentences/soak.rs`.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::soak::SoakFinding;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::soak::segment::Segment;
use capbench_model::for_tests::setup;
use capbench_model::noise::{Noise, NoiseOfTrial};
use capbench_model::trial::TrialResult;
use capbench_plan::for_tests::Collected;
use capbench_plan::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::soak::SoakPlan;
use capbench_report::sentences;
use capbench_results::Results;

use super::{run_of, trial};

/// What a soak shows, as facts.
fn facts(record: SoakRecord) -> Vec<SoakFinding> {
    let mut facts = Vec::new();
    for finding in sentences::find(&Results { soak: Some(record), ..run_of(Vec::new()) }) {
        if let Some(Fact::Soak(fact)) = finding.fact {
            facts.push(fact);
        }
    }
    facts
}

#[test]
fn an_application_that_is_a_little_too_slow_is_reported_though_nothing_is_lost() {
    // The buffer has room for 30 s of the load. 2 % of the frames are read too late, so segments of 10 s lose none.
    let method = SimulatedMethod::new("packet-v3", 196_000.0).room(Room::Frames(6_000_000));
    let plan = SoakPlan {
        setup: setup(64),
        rate: Pps::new(200_000.0).unwrap(),
        length: Duration::from_secs(100),
        interval: Duration::from_secs(10),
    };
    let mut path = SimulatedLaboratory::new(1e6, vec![method]);
    let facts = facts(plan.run(&mut path, &mut Collected::default()).unwrap().record);
    let mut buffered_ratios = Vec::new();
    for fact in &facts {
        if let SoakFinding::Buffered { buffered_segments: 10, segments: 10, ratio, .. } = fact {
            buffered_ratios.push(*ratio);
        }
    }
    let [ratio] = buffered_ratios[..] else { panic!("{facts:?}") };
    assert!(ratio > 0.01, "{ratio}");
}

#[test]
fn reasons_of_noise_beyond_those_stored_are_counted() {
    let second = Duration::from_secs(1);
    let mut record = SoakRecord::new(Pps::new(1000.0).unwrap(), second, second);
    let quiet_trial = trial(1, "recv", 1000, 1000);
    // Each of 100 segments has a reason that no other one has, and one that all have: 101 reasons, of which 64 are stored.
    for number in 1..=100 {
        let reason = Noise::Shortfall { words: format!("reason {number}") };
        let noise = NoiseOfTrial::new(vec![reason, Noise::Steal]);
        let trial = TrialResult { noise, ..quiet_trial.clone() };
        record.add(Segment { number, began_unix_s: 0.0, resident_bytes: None, trial });
    }
    let facts = facts(record);
    let further = SoakFinding::FurtherNoise { reports: 37, stored_reasons: 64 };
    assert!(facts.contains(&further), "{facts:?}");
}
