//! A generator of several threads: each sends a stream of its own, and together they send one schedule.

use std::time::Duration;

use capbench_frames::Pps;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Verdict};
use capbench_sys::host::affinity;
use capbench_testing::network::privileges;

/// Frames in 50 ms.
const RATE: f64 = 20_020.0;
const FRAMES: u64 = 1001;

fn setup(transmit: &str, method: &str) -> Setup {
    Setup {
        placement: PlacementChoice::Other,
        transmit: transmit.parse().unwrap(),
        ..live_setup(method, 4 << 20, Duration::from_millis(250))
    }
}

#[test]
fn root_threads_send_one_schedule_whatever_they_send_with() {
    let Some(()) = privileges() else { return };
    let cpus = affinity::allowed_cpus().unwrap();
    if cpus.len() < 2 {
        return;
    }
    let mut laboratory = live(virtual_link());
    let with_bpf = cfg!(feature = "bpf").then_some("xdp-live");
    for transmit in ["packet-tx", "sendmmsg", "sendto", "packet-tx+qdisc"].into_iter().chain(with_bpf) {
        for (method, load) in [
            ("packet-v3", Load::Rate(Pps::new(RATE).unwrap())),
            ("recv", Load::Rate(Pps::new(RATE).unwrap())),
            ("packet-v2+members=2", Load::Maximum),
        ] {
            let what = format!("{transmit} {method}");
            let setup = setup(&format!("{transmit}+threads=2"), method);
            let mut trial = laboratory.prepare(&setup).unwrap();
            let result = trial.run(load, Duration::from_millis(50)).unwrap();
            assert_ne!(result.verdict, Verdict::Invalid, "{what}: {result:?}");
            assert_eq!(result.unexplained, 0, "{what}: {:?}", result.ledger);
            assert_eq!(result.foreign, 0, "{what}");
            if load != Load::Maximum {
                assert_eq!(result.intended, FRAMES, "{what}: exactly the schedule's");
                assert!(result.lateness.is_some(), "{what}");
            }
        }
    }
}

#[test]
fn root_more_threads_than_cpus_are_refused() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    let setup = setup("packet-tx+threads=256", "packet-v3");
    let error = laboratory.prepare(&setup).map(drop).unwrap_err().to_string();
    assert!(error.contains("256 generator threads") && error.contains("ask for fewer"), "{error}");
}
