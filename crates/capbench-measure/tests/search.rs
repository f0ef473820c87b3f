//! A search on the bed: the same prepared trial serves it from beginning to end, and every packet of it is accounted for.

#[path = "../../capbench/tests/support/network.rs"]
mod network;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions};
use capbench_measure::Result;
use capbench_measure::accounts::irqtime::IrqAccounting;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::live::{LiveLaboratory, Path, ReceiveBy};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::search::{self, End, MaximumSource, Observer, SearchPlan, Status, Stored};
use capbench_measure::simulated;
use capbench_measure::trial::{Load, Phase, TrialResult};
use capbench_measure::work::WorkModel;
use capbench_sys::host::identity;
use capbench_traffic::Mtu;
use network::in_turn;

/// Keeps the trials, and stops after some of them.
#[derive(Default)]
struct Kept {
    trials: Vec<TrialResult>,
    stop_after: Option<usize>,
}

impl Observer for Kept {
    fn starts(&mut self, _: Load, _: Duration) {}
    fn ends(&mut self, result: &TrialResult) -> Result<()> {
        self.trials.push(result.clone());
        Ok(())
    }
    fn stopping(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.trials.len() >= limit)
    }
}

#[test]
fn root_a_search_on_the_bed_is_interrupted_and_gone_on_with() {
    if identity::effective().uid != 0 {
        eprintln!("skipped: needs root");
        return;
    }
    let _turn = in_turn();
    let path = Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps };
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    let mut laboratory = LiveLaboratory::new(path, irq, Arc::new(AtomicBool::new(false)));
    // Work of 50 us a packet holds less than 20,000 packets/s on any host.
    let setup = Setup {
        method: "packet-v3".parse().unwrap(),
        placement: PlacementChoice::Same,
        work: WorkModel::Nanoseconds(50_000).into(),
        transmit: "packet-tx".into(),
        quiet: Duration::from_millis(100),
        capture: CaptureOptions { ring: ByteCount(4 << 20), ..CaptureOptions::default() },
        ..simulated::setup(64)
    };
    let goals = search::parse("brief:loss=1%,duration=200ms,sum=600ms,initial=200ms,width=5%").unwrap();
    let plan = SearchPlan { self_test: Duration::from_millis(200), ..SearchPlan::new(goals) };
    let mut first = Kept { stop_after: Some(5), ..Kept::default() };
    let stopped = {
        let mut trial = laboratory.prepare(&setup).unwrap();
        plan.run(&mut *trial, Stored::default(), &mut first).unwrap()
    };
    assert_eq!((stopped.outcome.ended, stopped.trials.len()), (End::Stopped, 5));
    let stored = Stored::new(&first.trials, |profile| profile.method == "packet-v3").unwrap();
    let mut second = Kept::default();
    let finished = {
        let mut trial = laboratory.prepare(&setup).unwrap();
        plan.run(&mut *trial, stored, &mut second).unwrap()
    };
    let outcome = &finished.outcome;
    for goal in &outcome.goals {
        println!("{goal}, {} trials, {:.1} s of traffic", finished.trials.len(), outcome.sending_s);
    }
    assert_eq!(outcome.ended, End::Complete);
    assert_eq!(finished.trials[..5], stopped.trials[..], "what was measured is not measured again");
    let maximum = outcome.maximum.as_ref().unwrap();
    assert_eq!(maximum.source, MaximumSource::Generator);
    assert!(maximum.self_test.as_ref().is_some_and(|test| test.paced_pps <= test.unpaced_pps * 1.5));
    // What is held depends on the host and on what else it does; what is said about it does not.
    let goal = &outcome.goals[0];
    assert_eq!(goal.reason.is_none(), goal.status == Status::Regular, "{goal}");
    if let Some(lower) = &goal.lower {
        assert!(lower.achieved_pps <= lower.intended_pps && lower.achieved_pps < 22_000.0, "{goal}");
        assert!(goal.upper.as_ref().is_none_or(|upper| lower.intended_pps < upper.intended_pps), "{goal}");
    }
    let mut numbers = outcome.trials.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), finished.trials.len());
    for trial in &finished.trials {
        assert_eq!(trial.unexplained, 0, "{} {:?}", trial.number, trial.ledger);
        assert!(matches!(trial.phase, Phase::Search | Phase::SelfTest));
    }
}
