//! Several receive queues as one source.

use std::time::{Duration, Instant};

use capbench_capture::{Batch, Capture, FanoutMode};
use capbench_model::fanout::Fanout;
use capbench_model::options::CaptureOptions;
use capbench_sys::host::interface::index_of;
use capbench_sys::xdp::{Transmitter, TransmitterConfig, Wake};

use super::{
    MODES, counters_after, frame, losses, number, once_the_queue_is_free, open_as, options, refusal,
};
use crate::wire::{OTHER_MAC, take};
use capbench_testing::network::{Namespaces, PATIENCE, Place, eventually, privileges};

/// Sends through one transmit queue, which decides the peer's receive queue.
struct QueueWire(Transmitter);

impl QueueWire {
    fn new(place: &Place, queue: u32) -> Self {
        place.inside(|| {
            let interface = index_of("left").unwrap();
            let config = TransmitterConfig {
                interface,
                queue,
                chunk_size: 2048,
                frames: 64,
                send_buffer_bytes: 1 << 20,
                budget: 32,
            };
            Self(Transmitter::open(&config).unwrap())
        })
    }

    fn send(&mut self, data: &[u8]) {
        eventually("a free chunk", || self.0.queue().room(1) == 1);
        self.0.queue().slot(0)[..data.len()].copy_from_slice(data);
        self.0.queue().request(&[data.len() as u16]).unwrap();
        while self.0.queue().pending() > 0 {
            let wake = self.0.wake().unwrap();
            self.0.queue().take_count();
            if wake == Wake::Dropped {
                assert!(self.0.repeat_dropped());
            }
        }
    }
}

#[test]
fn root_all_queues_are_one_source_and_each_keeps_its_order() {
    let Some(()) = privileges() else { return };
    for method in MODES {
        let (spaces, is_native) = (Namespaces::with_queues(2), method == MODES[0]);
        let mut wires = [0, 1].map(|queue| QueueWire::new(&spaces.left, queue));
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &options()).unwrap();
            let running = capture.running().ring.to_string();
            assert!(running.starts_with("queues 0 to 1, each: receive ring of 1024"), "{running}");
            let mut next = [0, 0];
            for round in 0..10 {
                for n in 0..50 {
                    for (queue, wire) in wires.iter_mut().enumerate() {
                        wire.send(&frame([2, 0, 0, 0, 0, 10 + queue as u8], round * 50 + n, 60));
                    }
                }
                let (start, mut count) = (Instant::now(), 0);
                while count < 100 {
                    assert!(start.elapsed() < PATIENCE, "{method}: {count}");
                    let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else {
                        continue;
                    };
                    for frame in batch.frames() {
                        let queue = usize::from(frame.data[5] - 10);
                        // In generic mode the stack reports the queue, and a veth has not set it.
                        let reported = if is_native { queue as u32 } else { 0 };
                        assert_eq!(batch.queue(), Some(reported), "{method}");
                        assert_eq!(number(frame.data), next[queue], "{method} queue {queue}");
                        next[queue] += 1;
                        count += 1;
                    }
                }
            }
            let counters = counters_after(&mut capture, 1000);
            assert_eq!((counters.accepted, losses(&counters)), (Some(1000), [Some(0); 3]), "{method}");
            let read = ["queue0.taken", "queue1.taken"].map(|name| counters.raw(name));
            assert_eq!(read, if is_native { [Some(500); 2] } else { [Some(1000), Some(0)] }, "{method}");
        });
        if !is_native {
            continue;
        }
        // One queue: the frames of the other one are left to the stack, and counted.
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+queue=1"), 1500, &options()).unwrap();
            assert!(
                capture.running().ring.to_string().starts_with("queue 1, "),
                "{}",
                capture.running().ring
            );
            for n in 0..20 {
                wires[(n % 2) as usize].send(&frame(OTHER_MAC, n, 60));
            }
            let seen: Vec<_> = take(&mut capture, 10).iter().map(|seen| number(&seen.data)).collect();
            assert_eq!(seen, (0..20).filter(|n| n % 2 == 1).collect::<Vec<_>>(), "{method}");
            eventually("the others were passed", || {
                losses(&capture.counters().unwrap()) == [Some(10), Some(0), Some(0)]
            });
        });
        let text = refusal(&spaces.right, &format!("{method}+queue=2"), 1500);
        assert!(text.contains("no receive queue 2") && text.contains("it has 2"), "{text}");
    }
}

/// Members have a queue each and one program; a queue without a member is counted, and so is what is in the way.
#[test]
fn root_members_have_a_queue_each_and_their_counters_add_up() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::with_queues(2);
    let mut wires = [0, 1].map(|queue| QueueWire::new(&spaces.left, queue));
    let group = || CaptureOptions { fanout: Some(Fanout::new(FanoutMode::Queue)), ..options() };
    spaces.right.inside(|| {
        let shared = group();
        let mut members = [0, 1].map(|_| open_as("af-xdp", 1500, &shared).unwrap());
        for (queue, member) in members.iter().enumerate() {
            assert!(member.running().ring.to_string().starts_with(&format!("queue {queue}, ")));
            assert!(member.running().engine.to_string().contains("member of a fanout group (queue)"));
        }
        let text = open_as("af-xdp", 1500, &shared).unwrap_err().to_string();
        assert!(
            text.contains("the interface has 2") && text.contains("ethtool -L right combined N"),
            "{text}"
        );
        for n in 0..30 {
            wires[usize::from(n % 3 == 2)].send(&frame(OTHER_MAC, n, 60));
        }
        for (member, frames) in members.iter_mut().zip([20, 10]) {
            assert_eq!(take(member, frames as usize).len(), frames as usize);
            let counters = counters_after(member, frames);
            assert_eq!((counters.accepted, losses(&counters)), (Some(frames), [Some(0); 3]));
        }
        // The second leaves: the first one, which has the first queue, counts its frames. The kernel takes a closed socket out of the
        // map some time later; until then frames end with it.
        let [mut first, second] = members;
        drop(second);
        wires[0].send(&frame(OTHER_MAC, 1, 60));
        assert_eq!(take(&mut first, 1).len(), 1);
        eventually("a frame of the other queue is passed", || {
            wires[1].send(&frame(OTHER_MAC, 0, 60));
            let [passed, others @ ..] = losses(&first.counters().unwrap());
            assert_eq!(others, [Some(0); 2]);
            passed > Some(0)
        });
        drop(first);
        // A socket of another program on the first queue.
        let _other = once_the_queue_is_free(|| open_as("af-xdp+queue=0", 1500, &options())).unwrap();
        let text = open_as("af-xdp", 1500, &group()).unwrap_err().to_string();
        assert!(text.contains("another program's AF_XDP socket") && text.contains("capbench why"), "{text}");
    });
}
