//! A search on the bed: the same prepared trial serves it from beginning to end, and every packet of it is accounted for.

use std::time::Duration;

use crate::excuse::excuse;
use capbench_judge::search::{SearchPlan, Status, parse};
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;
use capbench_plan::for_tests::Collected;
use capbench_plan::search::{self, Stored};
use capbench_testing::network::privileges;
use capbench_testing::{HostLoad, busy};

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

/// Work of 50 us a packet takes less than 20,000 packets/s on any host, and the ring has room for 524,000.
#[test]
fn root_lengthy_what_lies_in_the_ring_of_the_bed_is_no_throughput() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    let setup = Setup {
        work: WorkModel::Nanoseconds(50_000).into(),
        ..live_setup("packet-v3", 64 << 20, Duration::from_millis(200))
    };
    let mut trial = laboratory.prepare(&setup).unwrap();
    let load = HostLoad::watch();
    let mut lossless = false;
    for _ in 0..3 {
        let result = trial.run(Load::Rate("60k".parse().unwrap()), Duration::from_secs(1)).unwrap();
        println!(
            "offered {:.0}, lost {}, taken {:.0}, {:?}, behind {:?}",
            result.offered_pps,
            result.lost(),
            result.read_pps(),
            result.emptying,
            result.behind_s(1)
        );
        if result.offered_pps < 40_000.0 {
            let excuse = excuse(&result, load);
            let excuse = excuse.unwrap_or_else(|| panic!("a slow generator on a quiet host: {result:#?}"));
            return busy(format_args!(
                "the generator reaches {:.0} packets/s only; {excuse}",
                result.offered_pps
            ));
        }
        assert!(
            result.read_pps() < 20_100.0 && result.backlogged(1) > Some(result.delivered / 3),
            "{result:?}"
        );
        lossless |= result.lost() == 0;
        if lossless {
            break;
        }
    }
    println!("lossless by count: {lossless}");
    let goals = parse("brief:loss=0,duration=1s,sum=1s,initial=1s,targets=0,width=30%").unwrap();
    let plan = SearchPlan {
        least_pps: "5k".parse().unwrap(),
        maximum_pps: Some("60k".parse().unwrap()),
        ..SearchPlan::new(goals)
    };
    let finished =
        search::run(&plan, "the bed", &mut *trial, Stored::default(), &mut Collected::default()).unwrap();
    let goal = &finished.outcome.goals[0];
    assert!(goal.lower.as_ref().is_none_or(|lower| lower.intended_pps < 21_000.0), "{goal:?}");
    assert_ne!(goal.status, Status::AtLeast, "{goal:?}");
    let above = finished.trials.iter().filter(|trial| trial.lost() == 0 && trial.offered_pps > 25_000.0);
    let shown = finished.outcome.buffered.as_ref().map_or(&[][..], |buffered| &buffered.trials);
    assert!(above.map(|trial| trial.number).all(|number| shown.contains(&number)), "{shown:?}");
}
