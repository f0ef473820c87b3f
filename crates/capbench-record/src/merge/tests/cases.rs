//! What befalls ports, one thing at a time.

use std::time::Duration;

use super::super::PortPlan;
use super::{MS, Rig, START, times};

const SECOND: u64 = 1000 * MS;

/// Times of frames a millisecond apart.
fn every_ms(from_ms: u64, count: u64) -> Vec<u64> {
    (from_ms..from_ms + count).map(|ms| START + ms * MS).collect()
}

fn is_sorted(out: &[super::Out]) -> bool {
    times(out).is_sorted()
}

#[test]
fn an_idle_port_holds_nothing_back_beyond_its_hold() {
    let mut rig = Rig::of_ports(2);
    for round in 0..20 {
        rig.push(0, &every_ms(round * 10, 10));
        rig.idle(1);
        rig.pass(10 * MS);
        // It promises up to 12 ms before it looked, which was 10 ms ago.
        assert_eq!(rig.out.len() as u64, (round * 10).saturating_sub(12), "round {round}");
    }
    let (out, tally) = rig.finish();
    assert!(is_sorted(&out));
    assert_eq!((tally.forced, tally.ports[0].late), (0, 0));
    assert!(tally.most_held_batches <= 4, "{tally:?}");
}

#[test]
fn a_port_that_never_said_anything_is_waited_for_until_the_window_has_passed() {
    let mut rig = Rig::of_ports(2);
    for round in 0..6 {
        rig.push(0, &every_ms(round * 10, 10));
        rig.pass(10 * MS);
        assert_eq!(rig.out.len(), 0);
    }
    rig.pass(MS);
    assert_eq!(rig.out.len(), 57, "all but the disorder of the port that reports");
}

#[test]
fn a_stalled_port_is_not_waited_for_and_its_frames_come_late_but_come() {
    let mut rig = Rig::of_ports(3);
    let stalled = 300..1300;
    let mut backlog = vec![];
    let mut most_held = 0;
    for ms in (0..2000).step_by(10) {
        rig.push(0, &every_ms(ms, 10));
        rig.idle(1);
        if stalled.contains(&ms) {
            backlog.push(every_ms(ms, 10));
        } else {
            for times in backlog.drain(..) {
                rig.push(2, &times);
            }
            rig.push(2, &every_ms(ms, 10));
        }
        most_held = most_held.max(rig.merge.held_batches());
        rig.pass(10 * MS);
    }
    assert!(most_held < 120, "the backlog comes at once; until then {most_held}");
    let (out, tally) = rig.finish();
    assert_eq!((tally.ports[0].late, tally.ports[1].late), (0, 0));
    // The first frames of the stall are still in time: the port was waited for.
    assert!((900..1000).contains(&tally.ports[2].late), "{tally:?}");
    assert!(tally.ports[2].latest_ns > Some(900 * MS));
    let in_time: Vec<_> = out.iter().filter(|out| out.0 != 2).copied().collect();
    assert!(is_sorted(&in_time));
}

#[test]
fn a_process_that_was_stopped_puts_its_backlog_out_in_order() {
    let mut rig = Rig::of_ports(2);
    rig.push(0, &every_ms(0, 10));
    rig.push(1, &every_ms(0, 10));
    rig.pass(10 * MS);
    rig.pass(5 * SECOND);
    for ms in (10..5000).step_by(10) {
        rig.push((ms / 10 % 2) as usize, &every_ms(ms, 20));
        rig.pass(MS / 10);
    }
    let (out, tally) = rig.finish();
    assert!(is_sorted(&out));
    assert_eq!(tally.clock_set_forward, 0);
}

#[test]
fn no_frame_waits_longer_than_the_window() {
    let mut rig = Rig::of_ports(2);
    rig.push(0, &every_ms(1000, 10));
    for round in 0..6 {
        // It reports all the time, and is a second behind.
        rig.push(1, &every_ms(round * 10, 10));
        rig.pass(10 * MS);
        assert!(rig.out.iter().all(|out| out.0 == 1));
    }
    rig.push(1, &every_ms(60, 10));
    rig.pass(MS);
    assert_eq!(rig.out.iter().filter(|out| out.0 == 0).count(), 10);
    rig.push(1, &every_ms(70, 10));
    let (_, tally) = rig.finish();
    assert_eq!((tally.ports[0].late, tally.ports[1].late), (0, 10));
    assert_eq!(tally.ports[1].latest_ns, Some((1009 - 70) * MS));
    assert!(tally.forced >= 10);
}

#[test]
fn more_batches_than_may_be_held_force_the_oldest_out() {
    let plan = PortPlan { batches: 3, ..PortPlan::new(Duration::from_millis(10), 64) };
    let mut rig = Rig::new(vec![plan; 2], Duration::from_secs(10));
    for round in 0..10 {
        rig.push(0, &every_ms(round * 10, 10));
        rig.pass(MS);
        assert_eq!(rig.merge.held_batches(), (round + 1).min(3));
    }
    rig.push(1, &every_ms(65, 10));
    let (out, tally) = rig.finish();
    assert_eq!((tally.forced, tally.most_held_batches, tally.most_held_octets), (70, 4, 320));
    assert_eq!((tally.ports[1].late, tally.ports[1].latest_ns), (4, Some(4 * MS)));
    assert_eq!(times(&out[74..]), {
        let mut rest = every_ms(70, 30);
        rest.extend(every_ms(69, 6));
        rest.sort_unstable();
        rest
    });
}

#[test]
fn a_batch_without_frames_is_dropped_and_counts_as_a_report() {
    let mut rig = Rig::of_ports(2);
    rig.push(0, &[]);
    assert_eq!((rig.merge.held_batches(), rig.alive.get()), (0, 0));
    rig.push(1, &every_ms(0, 5));
    rig.pass(50 * MS);
    rig.push(0, &[]);
    for _ in 0..4 {
        rig.idle(1);
        rig.pass(14 * MS);
    }
    assert_eq!(rig.out.len(), 5, "held for the window at most");
}

#[test]
fn a_port_that_has_ended_is_not_waited_for() {
    let mut rig = Rig::of_ports(2);
    rig.push(0, &every_ms(0, 10));
    rig.push(1, &every_ms(0, 3));
    rig.pass(0);
    assert_eq!(rig.out.len(), 0);
    rig.merge.ended(1);
    rig.pass(0);
    assert_eq!(rig.out.len(), 10, "up to the disorder of the other");
}

#[test]
fn frames_without_a_time_stay_behind_the_frame_before_them() {
    let mut rig = Rig::of_ports(2);
    let [one, two, three] = [1, 2, 3].map(|ms| START + ms * MS);
    rig.push(0, &[0, one, 0, three, 0]);
    rig.push(1, &[two, 0, 0]);
    rig.push(0, &[0]);
    let (out, tally) = rig.finish();
    let order: Vec<_> = out.iter().map(|&(port, number, _)| (port, number)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (0, 4), (0, 5)]);
    assert!(tally.ports.iter().all(|port| port.late == 0));
}

#[test]
fn a_port_without_times_neither_waits_nor_is_waited_for() {
    let mut rig = Rig::of_ports(2);
    for round in 0..10 {
        rig.push(0, &every_ms(round * 10, 10));
        rig.push(1, &[0; 4]);
        rig.pass(10 * MS);
        let of_port = |port| rig.out.iter().filter(|out| out.0 == port).count() as u64;
        assert_eq!((of_port(0), of_port(1)), (round * 10 + 7, round * 4 + 4));
    }
    let (_, tally) = rig.finish();
    assert!(tally.ports.iter().all(|port| port.late == 0));
}

/// Two ports, each with a batch every 10 ms until the clock is set, and then again. The second port delivers the batch that
/// ends at the step 10 ms after the first port.
fn over_a_step(by: i64) -> (Vec<super::Out>, super::super::MergeTally) {
    let mut rig = Rig::of_ports(3);
    for round in 0..20 {
        rig.push(0, &every_ms(round * 10, 10));
        if round > 0 {
            rig.push(1, &every_ms(round * 10 - 10, 10));
        }
        rig.idle(2);
        rig.pass(10 * MS);
    }
    rig.set_clock(by);
    let set =
        |times: Vec<u64>| times.into_iter().map(|time| time.saturating_add_signed(by)).collect::<Vec<_>>();
    for round in 20..60 {
        rig.push(0, &set(every_ms(round * 10, 10)));
        if round > 20 {
            rig.push(1, &set(every_ms(round * 10 - 10, 10)));
        } else {
            rig.push(1, &every_ms(190, 10));
        }
        rig.idle(2);
        rig.pass(10 * MS);
        assert!(rig.merge.held_batches() < 10, "nothing piles up");
    }
    rig.finish()
}

#[test]
fn a_clock_set_back_puts_what_was_before_it_out_first() {
    let (out, tally) = over_a_step(-10 * SECOND as i64);
    let step = out.iter().position(|out| out.2 < START).unwrap();
    assert!(is_sorted(&out[..step]) && is_sorted(&out[step..]));
    assert_eq!(step, 400);
    assert_eq!((tally.clock_set_back, tally.clock_set_forward, tally.forced), (1, 0, 0));
    assert!(tally.ports.iter().all(|port| port.late == 0), "{tally:?}");
}

#[test]
fn a_clock_set_forward_leaves_the_order_as_it_is() {
    let (out, tally) = over_a_step(10 * SECOND as i64);
    assert!(is_sorted(&out));
    assert_eq!((tally.clock_set_back, tally.clock_set_forward), (0, 1));
    assert!(tally.ports.iter().all(|port| port.late == 0));
}

#[test]
fn a_clock_step_that_only_frames_show_is_noticed() {
    let mut rig = Rig::of_ports(1);
    rig.push(0, &[START, START + 1, START - 10 * SECOND, START + 2, START - 10 * SECOND + 1]);
    let (out, tally) = rig.finish();
    let order: Vec<_> = out.iter().map(|out| out.1).collect();
    assert_eq!(order, [0, 1, 3, 2, 4], "a frame stamped before the step and published behind it");
    assert_eq!((tally.clock_set_back, tally.ports[0].late, tally.ports[0].unsorted_batches), (1, 0, 1));
}

#[test]
fn one_time_from_far_away_does_not_disturb_for_long() {
    for stray in [START + 3600 * SECOND, START - 3600 * SECOND] {
        let mut rig = Rig::of_ports(2);
        for round in 0..40 {
            let mut times = every_ms(round * 10, 10);
            if round == 20 {
                times[5] = stray;
            }
            rig.push(0, &times);
            rig.push(1, &every_ms(round * 10, 10));
            rig.pass(10 * MS);
        }
        let (out, tally) = rig.finish();
        let rest: Vec<_> = out.into_iter().filter(|out| out.2 != stray).collect();
        let falls = rest.windows(2).filter(|pair| pair[1].2 < pair[0].2).count();
        assert!(falls <= 10, "{falls} falls, {tally:?}");
        assert_eq!(tally.clock_set_back, 1);
    }
}
