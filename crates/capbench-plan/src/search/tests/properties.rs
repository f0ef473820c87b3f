//! Properties that are true on every path.

use std::time::Duration;

use proptest::prelude::*;

use super::paths::{Path, observed, plan, run};
use crate::search;
use capbench_judge::search::{End, Ratio, Reason, SearchPlan, Status};
use capbench_judge::sustained::{Class, Criteria, Observation};

fn observation(milliseconds: u64, loss: f64) -> Observation {
    observed(Duration::from_millis(milliseconds), loss)
}

fn rank(class: Class) -> i32 {
    match class {
        Class::Upper => 0,
        Class::Undecided => 1,
        Class::Lower => 2,
    }
}

proptest! {
    /// A good full-length trial never speaks against a load, and a bad one of any length never for it.
    #[test]
    fn classification_is_monotone_in_the_evidence(
        trials in proptest::collection::vec((1u64..5000, prop_oneof![Just(0.0), Just(0.004), Just(0.006), Just(0.5)]), 0..40),
        full in 1u64..3000,
        sums in 1u64..10,
        loss in prop_oneof![Just(0.0), Just(0.005)],
        exceed in 0.0f64..0.95,
        length in 1u64..6000,
    ) {
        let criteria = Criteria {
            loss_ratio: Ratio::new(loss).unwrap(),
            exceed_ratio: Ratio::new(exceed).unwrap(),
            full_length: Duration::from_millis(full),
            duration_sum: Duration::from_millis(full * sums),
        };
        let mut seen: Vec<_> = trials.iter().map(|&(length, loss)| observation(length, loss)).collect();
        let before = rank(criteria.classify(&seen));
        seen.push(observation(full.max(length), 0.0));
        prop_assert!(rank(criteria.classify(&seen)) >= before);
        seen.pop();
        seen.push(observation(length, 0.9));
        prop_assert!(rank(criteria.classify(&seen)) <= before);
        // Once full-length time of the sum is there, the load is decided.
        seen.push(observation(full * sums, 0.0));
        prop_assert!(criteria.classify(&seen) != Class::Undecided);
        prop_assert!((0.0..=1.0).contains(&criteria.quantile_loss(&seen)));
    }

    /// Bounds are ordered, regular results have their width, and no more time is taken than is allowed.
    #[test]
    fn outcomes_keep_their_word(
        capacity in 300.0f64..3e6,
        generator in 2000.0f64..3e6,
        noise in prop_oneof![Just(0.0), 0.0f64..0.05],
        bursts_per_s in prop_oneof![Just(0.0), 0.0f64..0.5],
        seed: u64,
        allowed in proptest::option::of(15u64..400),
        is_maximum_given: bool,
        goals in prop_oneof![Just("ndr,pdr"), Just("quick"), Just("strict-capture;w:loss=1%,duration=500ms,sum=3s,width=2%"),
            Just("ndr;b:from=rfc2544,duration=2s,sum=4s,exceed=0.5"), Just("pdr;n:from=nfvbench-pdr,duration=1s,sum=1s")],
    ) {
        let path = Path { generator, noise, bursts_per_s, seed, ..Path::new(capacity) };
        let plan = plan(goals);
        // A search refuses less than its least traffic. Without a maximum, the self-test of the generator has up to three trials more.
        let least = search::estimate(&plan).unwrap().least_traffic.traffic + 3 * plan.self_test;
        let allowed = allowed.map(|seconds| Duration::from_secs(seconds).max(least));
        let plan = SearchPlan { time_allowed: allowed, maximum_pps: plan.maximum_pps.filter(|_| is_maximum_given), ..plan };
        let finished = run(&plan, &path);
        let outcome = &finished.outcome;
        prop_assert!(allowed.is_none_or(|allowed| outcome.spent_s <= allowed.as_secs_f64() + 1e-6), "{}", outcome.spent_s);
        prop_assert!(matches!(outcome.ended, End::Complete | End::TimeUp), "{:?}", outcome.ended);
        prop_assert_eq!(outcome.trials.len(), finished.trials.len());
        for goal in &outcome.goals {
            let (lower, upper) = (goal.lower.as_ref(), goal.upper.as_ref());
            if let (Some(lower), Some(upper)) = (lower, upper) {
                prop_assert!(lower.intended_pps < upper.intended_pps);
            }
            if let (Some(lower), Some(forwarded)) = (lower, goal.conditional_throughput_pps) {
                prop_assert!(forwarded <= lower.intended_pps && lower.achieved_pps <= lower.intended_pps);
            }
            prop_assert_eq!(goal.status == Status::Regular, goal.reason.is_none());
            if goal.status == Status::Regular {
                let top = outcome.maximum.as_ref().unwrap().load_pps.get();
                prop_assert!(goal.goal.width.is_met(lower.unwrap().intended_pps, upper.unwrap().intended_pps, top));
            }
            if outcome.ended == End::Complete {
                let is_open = matches!(goal.reason, Some(Reason::Ended { .. }));
                prop_assert!(!is_open, "{goal:?} {:?}", finished.trials.iter().map(|trial| (trial.intended_pps, trial.duration_s, trial.loss_ratio)).collect::<Vec<_>>());
            }
        }
    }
}
