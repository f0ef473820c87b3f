//! Frames that the host gets all the same.

use capbench_capture::backends::recv::Recv;
use capbench_capture::{Capture, Interface, PacketType};
use capbench_model::method_spec::MethodSpec;

use super::{frame, losses, open_as, options};
use crate::wire::{Wire, drain, take};
use capbench_testing::network::{Namespaces, RIGHT_MAC, privileges};

#[test]
fn root_what_was_passed_on_reaches_the_stack_once_after_it_was_captured() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let interface = Interface::of_name("right", 1500).unwrap();
        let mut stack = Recv::open(&MethodSpec::plain("recv"), &interface, &options()).unwrap();
        for (method, reaches) in [("af-xdp", false), ("af-xdp+pass", true)] {
            let mut capture = open_as(method, 1500, &options()).unwrap();
            let sent: Vec<_> = (0..100).map(|n| frame(RIGHT_MAC, n, 60 + 14 * n as usize)).collect();
            for part in sent.chunks(20) {
                part.iter().for_each(|frame| wire.send(frame));
                let seen = take(&mut capture, part.len());
                assert!(seen.iter().zip(part).all(|(seen, sent)| seen.data == *sent), "{method}");
            }
            assert_eq!(drain(&mut capture), 0, "{method}: what is passed on does not come back");
            let counters = capture.counters().unwrap();
            assert_eq!((counters.accepted, losses(&counters)), (Some(100), [Some(0); 3]), "{method}");
            if reaches {
                let seen = take(&mut stack, 100);
                assert!(
                    seen.iter()
                        .zip(&sent)
                        .all(|(seen, sent)| seen.data == *sent && seen.packet_type == PacketType::Host)
                );
                assert_eq!([counters.raw("passed_on"), counters.raw("pass_failed")], [Some(100), Some(0)]);
                assert!(
                    capture.running().engine.to_string().contains("passed on"),
                    "{}",
                    capture.running().engine
                );
            }
            assert_eq!(drain(&mut stack), 0, "{method}");
        }
    });
}

#[test]
fn root_what_could_not_be_passed_on_is_said() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    for (place, end) in [(&spaces.left, "left"), (&spaces.right, "right")] {
        place.ip(&format!("link set dev {end} mtu 3490"));
    }
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let mut capture = open_as("af-xdp+pass", 3490, &options()).unwrap();
        wire.send(&frame(RIGHT_MAC, 0, 1000));
        assert_eq!(take(&mut capture, 1).len(), 1);
        capture.counters().unwrap();
        assert_eq!(capture.running().shortfalls, [""; 0]);
        // A program that runs on a copied frame has less room in a page than a driver.
        (1..4).for_each(|n| wire.send(&frame(RIGHT_MAC, n, 3500)));
        assert_eq!(take(&mut capture, 3).len(), 3);
        let counters = capture.counters().unwrap();
        assert_eq!([counters.raw("passed_on"), counters.raw("pass_failed")], [Some(1), Some(3)]);
        let shortfall = capture.running().shortfalls.join("; ");
        assert!(shortfall.starts_with("3 of 4 captured frames were not passed on"), "{shortfall}");
        assert!(shortfall.contains("cannot run the BPF program pass") && shortfall.lines().count() == 1);
        eprintln!("{shortfall}");
    });
}
