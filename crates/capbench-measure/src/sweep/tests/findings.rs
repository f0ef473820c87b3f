//! What sweeps say.

use capbench_capture::options::ByteCount;

use super::*;
use crate::limit::Limit;
use crate::limit::tests::in_one_window;
use crate::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::{Spacing, find};

fn texts(run: &SweepRun) -> String {
    let lines: Vec<_> = find(&run.outcome, &run.trials)
        .into_iter()
        .map(|finding| {
            assert!(!finding.trials.is_empty(), "{}", finding.text);
            format!("[{}] {}", finding.scene.unwrap_or_default(), finding.text)
        })
        .collect();
    lines.join("\n")
}

#[test]
fn two_regimes_are_said_with_what_goes_with_them() {
    let axis =
        Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(36_000), 37, Spacing::Linear).unwrap();
    let plan = SweepPlan { repeats: 4, loads: vec![at(45_000.0)], ..plan(axis, &["recv"]) };
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", dain())])
        .noise(1, Noise { per_trial: 0.001, per_second: 0.0 });
    insta::assert_snapshot!(texts(&run(&plan, &mut path)));
}

#[test]
fn a_ring_that_hurts_once_it_drops_is_seen_to_cross() {
    // The ring takes 2 us from the application per delivered packet and puts 1.2 us more on the kernel per arriving one.
    let methods = vec![
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 2200).sharing_cpu(),
    ];
    let axis =
        Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(24_000), 13, Spacing::Linear).unwrap();
    let plan = SweepPlan { repeats: 8, loads: vec![at(167_000.0)], ..plan(axis, &["recv", "packet-v2"]) };
    let mut path =
        SimulatedLaboratory::new(1e6, methods).noise(2, Noise { per_trial: 0.001, per_second: 0.0 });
    insta::assert_snapshot!(texts(&run(&plan, &mut path)));
}

#[test]
fn the_cheapest_lossless_method_and_ring_are_named() {
    let slot = Room::Slots(ByteCount(2048));
    let methods = || {
        vec![
            SimulatedMethod::new("recv", 120_000.0).cost(900, 900).room(slot),
            SimulatedMethod::new("packet-v2", 95_000.0).cost(100, 700).room(slot),
        ]
    };
    let rings = plan(Axis::rings(512, 32_768, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let loads = [40_000.0, 60_000.0, 80_000.0, 110_000.0, 300_000.0].map(|pps| Point::Load(at(pps)));
    let loads = plan(Axis::new(loads.to_vec()).unwrap(), &["recv", "packet-v2"]);
    let both: Vec<_> = [rings, loads]
        .into_iter()
        .map(|plan| {
            let plan = SweepPlan { repeats: 6, ..plan };
            texts(&run(&plan, &mut SimulatedLaboratory::new(1e6, methods())))
        })
        .collect();
    // At 100,000 packets/s packet-v2, which takes 95,000, loses nothing of a second with a large ring, nor at 110,000.
    insta::assert_snapshot!(both.join("\n\n"));
}

#[test]
fn what_chance_can_explain_is_not_the_cheapest() {
    let methods =
        || vec![SimulatedMethod::new("recv", 2e5).cost(900, 900), SimulatedMethod::new("packet-v2", 2e5)];
    let loads = [40_000.0, 80_000.0].map(|pps| Point::Load(at(pps)));
    let loads = plan(Axis::new(loads.to_vec()).unwrap(), &["recv", "packet-v2"]);
    let rings = plan(Axis::rings(512, 4096, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let said = |plan: &SweepPlan, repeats: u32| {
        let plan = SweepPlan { repeats, ..plan.clone() };
        texts(&run(&plan, &mut SimulatedLaboratory::new(1e6, methods())))
    };
    let one = said(&loads, 1);
    let doubt = "40,000 packets/s to 80,000 packets/s: of the methods that keep up without loss, the cheapest by CPU time per \
                 packet cannot be told from each other: recv (1.80 µs), packet-v2 (600 ns).";
    assert!(one.contains(doubt), "{one}");
    let one = said(&rings, 1);
    assert!(one.contains("packet-v2 with ring 1MiB, one block costs least, 600 ns of CPU time per packet, from which recv cannot be told; of those"), "{one}");
    let several = said(&rings, 6);
    assert!(several.contains("costs least, 600 ns of CPU time per packet (p < 0.0001 by ranks"), "{several}");
}

#[test]
fn what_limits_is_told_by_where_frames_are_lost() {
    let limit = |path: SimulatedLaboratory, pps: f64| {
        let loads = [1000.0, pps].map(|pps| Point::Load(at(pps)));
        texts(&run(&plan(Axis::new(loads.to_vec()).unwrap(), &["recv"]), &mut { path }))
    };
    let recv = || vec![SimulatedMethod::new("recv", 5e5)];
    let cases = [
        (SimulatedLaboratory::new(1e6, recv()), 9e5, Limit::Application),
        (SimulatedLaboratory::new(1e6, recv()).backlog(3e5), 4e5, Limit::Backlog),
        (SimulatedLaboratory::new(2e5, recv()), 4e5, Limit::Generator),
    ];
    for (path, pps, limits) in cases {
        let text = limit(path, pps);
        assert!(text.contains(&format!("What limits is {}.", limits.words())), "{limits:?}: {text}");
    }
}

/// What limits at the higher of two loads, of which all that is lost is lost in one tenth of a second.
fn limits_at_once(path: SimulatedLaboratory, pps: f64, is_at_end: Option<bool>) -> String {
    let loads = [1000.0, pps].map(|pps| Point::Load(at(pps)));
    let plan = SweepPlan { repeats: 3, ..plan(Axis::new(loads.to_vec()).unwrap(), &["recv"]) };
    let mut run = run(&plan, &mut { path });
    for trial in run.trials.iter_mut().filter(|trial| trial.lost() > 0) {
        trial.loss_shape = is_at_end.map(|is_at_end| in_one_window(trial.sent, trial.lost(), is_at_end));
    }
    let text = texts(&run);
    text.split_once("What limits is ").unwrap_or_else(|| panic!("{text}")).1.into()
}

#[test]
fn a_ring_is_too_small_where_frames_are_lost_in_moments_only() {
    let recv = || vec![SimulatedMethod::new("recv", 5e5)];
    let path = || SimulatedLaboratory::new(1e6, recv()).bursts(1, LossBursts { per_second: 1.0, frames: 5 });
    let ring = "the ring: it is too small for the moments in which nobody empties it.";
    assert_eq!(limits_at_once(path(), 4e5, Some(false)), ring);
    let doubt = "the ring or the application: too little is lost to tell which.";
    assert_eq!(limits_at_once(path(), 4e5, None), doubt, "where nobody saw when they were lost");
}

#[test]
fn a_ring_that_fills_late_is_not_too_small() {
    // 2000 frames a second are too many, so that it is full after 0.8 s, and 400 are lost in the end.
    let methods = vec![SimulatedMethod::new("recv", 100_000.0).room(Room::Frames(1600))];
    let application = "the application: the ring fills because frames are taken more slowly than they come.";
    assert_eq!(limits_at_once(SimulatedLaboratory::new(1e6, methods), 102_000.0, Some(true)), application);
}

#[test]
fn what_the_kernel_refuses_is_no_limit_of_the_application() {
    // Half of the frames get through the backlog. recv takes 5 us beside its work, so it keeps up to 15 us of that.
    let methods = vec![SimulatedMethod::new("recv", 200_000.0).cost(100, 2000)];
    let plan = SweepPlan { repeats: 2, ..plan(works(&[0, 5000, 10_000, 16_000, 30_000]), &["recv"]) };
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods).backlog(50_000.0));
    let readings = &run.outcome.series[0].readings;
    let limits: Vec<_> =
        readings.iter().map(|reading| (reading.is_limited_by_kernel(), reading.is_saturated())).collect();
    let (kernel, application) = ((true, false), (false, true));
    assert_eq!(limits, [kernel, kernel, kernel, application, application]);
    let most = readings[3].lost[0].place;
    assert!(
        !most.is_before_application(),
        "most is lost in the backlog, and the ring overflows all the same"
    );
    let text = texts(&run);
    let told = "recv: kernel-limited at 3 points, from work ns:0 to work ns:10000: up to 50 % of the frames are lost in the \
                softirq backlog, and the application takes those that are left, 50,000 packets/s. Its receive work takes \
                2.00 µs for every frame that it lets through, 10 % of a CPU.";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("the application is the limit at 2 points"), "{text}");
}

#[test]
fn what_an_iteration_takes_is_what_the_trials_measured() {
    let axis = Axis::work(WorkModel::Loop(0), WorkModel::Loop(20_000), 3, Spacing::Linear).unwrap();
    let recv = || vec![SimulatedMethod::new("recv", 200_000.0)];
    let run = run(&plan(axis, &["recv"]), &mut SimulatedLaboratory::new(1e6, recv()));
    assert_eq!(run.outcome.series[0].unit_ns, Some(1.0));
    assert!(run.trials.iter().all(|trial| trial.cpu.wait_ns_per_iteration == Some(1.0)));
}

#[test]
fn nothing_measured_nothing_found() {
    let mut record = Collected::stopping_after(0);
    let run = plan(works(&[1, 2]), &["recv"])
        .run(&mut SimulatedLaboratory::new(1e6, Vec::new()), &mut record)
        .unwrap();
    assert_eq!(texts(&run), "");
}
