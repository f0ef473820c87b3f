//! Each loss at its place, to the frame.

use capbench_capture::{Capture, Occupancy};
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;

use super::{counters_after, frame, losses, open_as, options, with_each_mode};
use crate::wire::{OTHER_MAC, Wire, drain, take};

#[test]
fn root_a_starved_fill_ring_loses_at_its_own_place_to_the_frame() {
    with_each_mode("root_a_starved_fill_ring_loses_at_its_own_place_to_the_frame", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+fill=16"), 1500, &options()).unwrap();
            let mut read = 0;
            for round in 1..=3u64 {
                (0..1000).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
                let counters = counters_after(&mut capture, round * 1000);
                read += drain(&mut capture);
                assert_eq!(read, 16 * round, "{method}");
                let lost = round * 1000 - read;
                assert_eq!(losses(&counters), [Some(0), Some(lost), Some(0)], "{method} {counters:?}");
                assert_eq!(counters.accepted, Some(round * 1000));
                // Two counters of the kernel count each of these frames.
                let raw = ["rx_dropped", "rx_fill_ring_empty_descs"].map(|name| counters.raw(name));
                assert_eq!(raw, [Some(lost); 2], "{method} {counters:?}");
            }
        });
    });
}

#[test]
fn root_a_full_ring_loses_at_its_own_place_to_the_frame() {
    with_each_mode("root_a_full_ring_loses_at_its_own_place_to_the_frame", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let small = CaptureOptions { ring: ByteCount(128 << 10), ..options() };
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &small).unwrap();
            let mut read = 0;
            for round in 1..=3u64 {
                (0..1000).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
                let counters = counters_after(&mut capture, round * 1000);
                assert_eq!(capture.fill().map(Occupancy::share), Some(1.0), "{method}");
                read += drain(&mut capture);
                assert_eq!(capture.fill().map(Occupancy::share), Some(0.0), "{method}");
                assert_eq!(read, 64 * round, "{method}");
                let lost = round * 1000 - read;
                assert_eq!(losses(&counters), [Some(0), Some(0), Some(lost)], "{method} {counters:?}");
                assert_eq!(counters.raw("rx_ring_full"), Some(lost), "{method} {counters:?}");
            }
        });
    });
}

#[test]
fn root_frames_longer_than_a_buffer_are_counted_and_are_no_starvation() {
    let test = "root_frames_longer_than_a_buffer_are_counted_and_are_no_starvation";
    with_each_mode(test, |method, spaces| {
        spaces.left.ip("link set dev left mtu 3000");
        spaces.right.ip("link set dev right mtu 3000");
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            // As if the MTU had grown after the method was opened.
            let mut capture = open_as(method, 1500, &options()).unwrap();
            for (number, octets) in [1792, 1793, 60, 3014].into_iter().enumerate() {
                wire.send(&frame(OTHER_MAC, number as u32, octets));
            }
            let seen = take(&mut capture, 2);
            assert_eq!(seen.iter().map(|seen| seen.data.len()).collect::<Vec<_>>(), [1792, 60]);
            let counters = counters_after(&mut capture, 4);
            assert_eq!(
                (counters.accepted, losses(&counters)),
                (Some(2), [Some(2), Some(0), Some(0)]),
                "{method}"
            );
            drop(capture);
            let mut capture = open_as(method, 3000, &options()).unwrap();
            wire.send(&frame(OTHER_MAC, 9, 3014));
            assert_eq!(take(&mut capture, 1)[0].data, frame(OTHER_MAC, 9, 3014));
        });
    });
}
