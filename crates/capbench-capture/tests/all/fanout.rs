//! Captures that share the frames of an interface: each frame goes to one of them, a flow stays together, and what is in the
//! way is explained.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::{AF_PACKET, Probe, SetOnDrop, Wire, With, frame, interface_of};
use capbench_capture::{
    Batch, Capture, FanoutMode, Filter, Interface, MembersVisitor, open_members, open_with,
};
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_testing::network::{LEFT_MAC, Namespaces, PATIENCE, Place, RIGHT_MAC, privileges};
use etherparse::PacketBuilder;

fn options(fanout: Fanout) -> CaptureOptions {
    CaptureOptions { fanout: Some(fanout), ..crate::wire::options() }
}

/// Frames that a capture took until none came any more.
fn drain(capture: &mut impl Capture) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    // Longer than a partly filled block waits.
    while let Some(batch) = capture.next_batch(Duration::from_millis(50)).unwrap() {
        frames.extend(batch.frames().map(|frame| frame.data.to_vec()));
    }
    frames
}

/// Opens members, has frames sent, and returns what each captured.
struct Members<F>(F);

impl<F: FnOnce()> MembersVisitor for Members<F> {
    type Output = (Vec<Vec<Vec<u8>>>, String);

    fn visit<C: Capture>(self, mut members: Vec<C>) -> Self::Output {
        (self.0)();
        let engine = members[0].running().engine.to_string();
        let seen: Vec<_> = members.iter_mut().map(drain).collect();
        for (member, seen) in members.iter_mut().zip(&seen) {
            let counters = member.counters().unwrap();
            assert_eq!((counters.accepted, counters.dropped()), (Some(seen.len() as u64), Some(0)));
        }
        (seen, engine)
    }
}

fn captured(
    place: &Place,
    method: &str,
    options: &CaptureOptions,
    members: usize,
    send: impl FnOnce() + Send,
) -> (Vec<Vec<Vec<u8>>>, String) {
    place.inside(|| {
        open_members(&MethodSpec::plain(method), &interface_of(place), options, members, Members(send))
            .unwrap()
    })
}

/// Both directions of a flow: UDP and TCP over IPv4, UDP over IPv6.
fn both_directions(flow: u16) -> [Vec<u8>; 2] {
    let (ports, payload) = ((1024 + flow, 53 + flow % 7), flow.to_be_bytes());
    let ends = ([10, 0, (flow >> 8) as u8, flow as u8], [10, 9, 8, 7]);
    let build = |(from, to), (from_port, to_port)| {
        let mut octets = Vec::new();
        let link = PacketBuilder::ethernet2(LEFT_MAC, RIGHT_MAC);
        match flow % 3 {
            0 => link.ipv4(from, to, 64).udp(from_port, to_port).write(&mut octets, &payload),
            1 => link.ipv4(from, to, 64).tcp(from_port, to_port, 1, 1000).write(&mut octets, &payload),
            _ => {
                let [from, to] =
                    [from, to].map(|ipv4| std::net::Ipv4Addr::from(ipv4).to_ipv6_mapped().octets());
                link.ipv6(from, to, 64).udp(from_port, to_port).write(&mut octets, &payload)
            }
        }
        .unwrap();
        octets
    };
    [build(ends, ports), build((ends.1, ends.0), (ports.1, ports.0))]
}

#[test]
fn root_both_directions_of_a_flow_go_to_the_same_member() {
    const FLOWS: u16 = 120;
    let Some(()) = privileges() else { return };
    let by_hash = AF_PACKET.map(|method| (method, FanoutMode::Hash));
    for (method, mode) in by_hash.into_iter().chain([("packet-v3", FanoutMode::Program)]) {
        let spaces = Namespaces::make();
        let wire = Wire::new(&spaces.left);
        let options = options(Fanout::new(mode));
        let (seen, engine) = captured(&spaces.right, method, &options, 3, || {
            for _ in 0..2 {
                for flow in 0..FLOWS {
                    both_directions(flow).iter().for_each(|octets| wire.send(octets));
                }
            }
        });
        assert!(engine.contains(&format!("member of a fanout group ({mode})")), "{engine}");
        assert!(seen.iter().all(|member| member.len() > FLOWS as usize / 4), "{method}: spread over all");
        assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 4 * usize::from(FLOWS), "{method}: each once");
        let mut members: HashMap<&[u8], HashSet<usize>> = HashMap::new();
        for (member, frames) in seen.iter().enumerate() {
            for octets in frames {
                members.entry(octets).or_default().insert(member);
            }
        }
        for flow in 0..FLOWS {
            let [there, back] = both_directions(flow);
            let (there, back) = (&members[&there[..]], &members[&back[..]]);
            assert!(there.len() == 1 && there == back, "{method}, flow {flow}: {there:?} {back:?}");
        }
    }
}

/// The program finds the headers of frames that this host sends, too, and goes by the addresses where a fragment has no ports.
#[test]
fn root_the_program_spreads_sent_frames_and_fragments() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let (there, back) = (Wire::new(&spaces.left), Wire::new(&spaces.right));
    let options = CaptureOptions { direction: Direction::Both, ..options(Fanout::new(FanoutMode::Program)) };
    // UDP over IPv4 (0 mod 3), TCP, and UDP over IPv6.
    let (seen, _) = captured(&spaces.right, "packet-v3", &options, 2, || {
        for flow in 0..90 {
            let [sent, received] = both_directions(flow);
            back.send(&sent);
            there.send(&received);
            // All fragments of the packets between two hosts, the first of which has ports.
            for (offset, ports) in [(0x2000u16, 1), (0x2001, 2), (3, 3)] {
                let mut fragment = both_directions(3 * flow)[0].clone();
                fragment[20..22].copy_from_slice(&offset.to_be_bytes());
                fragment[34..36].copy_from_slice(&[ports, 7]);
                there.send(&fragment);
            }
        }
    });
    let mut members: HashMap<Vec<u8>, HashSet<usize>> = HashMap::new();
    for (member, frames) in seen.iter().enumerate() {
        for octets in frames {
            // The hosts of a fragment, or the payload, which names the flow.
            let is_fragment = octets[12..14] == [8, 0] && octets[20..22] != [0, 0] && octets[20] != 0x40;
            let key = if is_fragment { octets[26..34].to_vec() } else { octets[octets.len() - 2..].to_vec() };
            members.entry(key).or_default().insert(member);
        }
    }
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 5 * 90);
    assert!(members.values().all(|of| of.len() == 1), "{members:?}");
    assert!(
        seen.iter().all(|member| member.len() > 90),
        "{:?}",
        seen.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

#[test]
fn root_every_mode_gives_each_frame_to_one_member() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let (wire, back) = (Wire::new(&spaces.left), Wire::new(&spaces.right));
    for (name, mode) in FanoutMode::ALL {
        for rollover in [false, true] {
            // A filter and a snap length hold for members as for others, and so does the direction.
            let filter: Filter = "4,48 0 0 20,21 0 1 99,6 0 0 0,6 0 0 262144".parse().unwrap();
            let options = CaptureOptions {
                filter: Some(filter),
                snap_length: SnapLength::new(40),
                direction: Direction::In,
                ..options(Fanout::new(mode).with_rollover(rollover))
            };
            let (seen, engine) = captured(&spaces.right, "packet-v3", &options, 4, || {
                for number in 0..200 {
                    wire.send(&frame(RIGHT_MAC, number, 60));
                    back.send(&frame(LEFT_MAC, 255, 60));
                }
            });
            let mut numbers: Vec<_> = seen.iter().flatten().map(|octets| octets[20]).collect();
            numbers.sort_unstable();
            assert!(
                numbers.iter().copied().eq((0..200).filter(|&number| number != 99)),
                "{name}: {numbers:?}"
            );
            assert!(seen.iter().flatten().all(|octets| octets.len() == 40));
            assert_eq!(engine.contains("rollover"), rollover || mode == FanoutMode::Rollover, "{engine}");
        }
    }
}

#[test]
fn root_members_can_be_opened_in_separate_threads() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    let fanout = Fanout::new(FanoutMode::InTurn);
    assert_eq!(fanout.group(), None);
    let (ready, are_ready) = mpsc::channel();
    let seen = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (place, options, ready) = (&spaces.right, options(fanout.clone()), ready.clone());
                let (go, wait) = mpsc::channel::<()>();
                let thread = scope.spawn(move || {
                    place.inside(move || {
                        let interface = Interface::of_name(place.interface, 1500).unwrap();
                        let spec = MethodSpec::plain("packet-v2");
                        let work = |probe: &mut dyn Probe| {
                            ready.send(()).unwrap();
                            let _ = wait.recv();
                            probe.drain()
                        };
                        open_with(&spec, &interface, &options, With(work)).unwrap()
                    })
                });
                (go, thread)
            })
            .collect();
        for _ in 0..4 {
            are_ready.recv_timeout(PATIENCE).unwrap();
        }
        (0..100).for_each(|number| wire.send(&frame(RIGHT_MAC, number, 60)));
        threads
            .into_iter()
            .map(|(go, thread)| {
                drop(go);
                thread.join().unwrap()
            })
            .collect::<Vec<_>>()
    });
    assert!(fanout.group().is_some());
    assert_eq!((seen.iter().sum::<u64>(), seen.iter().all(|&count| count == 25)), (100, true), "{seen:?}");
}

#[test]
fn root_a_group_that_is_in_the_way_is_explained() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.right.ip("link set dev lo up");
    let open = |interface: &str, fanout: Fanout, members: usize| {
        spaces.right.inside(|| {
            let interface = Interface::of_name(interface, 1500).unwrap();
            let spec = MethodSpec::plain("recv");
            let options = CaptureOptions { ring: ByteCount(8 << 10), ..options(fanout) };
            open_members(&spec, &interface, &options, members, Members(|| ()))
        })
    };
    let first = Fanout::new(FanoutMode::Hash);
    let (group, refusals) = spaces.right.inside(|| {
        let interface = Interface::of_name("right", 1500).unwrap();
        let work = |_: &mut dyn Probe| {
            let group = first.group().unwrap();
            let others = [
                ("right", Fanout::existing(FanoutMode::Cpu, group)),
                ("right", Fanout::existing(FanoutMode::Hash, group).with_rollover(true)),
                ("lo", Fanout::existing(FanoutMode::Hash, group)),
            ];
            let refusals =
                others.map(|(interface, other)| open(interface, other, 1).unwrap_err().to_string());
            let joined = open("right", Fanout::existing(FanoutMode::Hash, group), 2);
            assert!(joined.is_ok(), "the same mode and interface: {joined:?}");
            let fresh = Fanout::new(FanoutMode::Hash);
            open("right", fresh.clone(), 2).unwrap();
            assert_ne!(fresh.group(), Some(group), "the kernel chooses a number that is free");
            // The one that is open is a member already.
            let full = open("right", Fanout::existing(FanoutMode::Hash, group), 256).unwrap_err().to_string();
            (group, refusals.into_iter().chain([full]).collect::<Vec<_>>())
        };
        let options = options(first.clone());
        open_with(&MethodSpec::plain("recv"), &interface, &options, With(work)).unwrap()
    });
    for (refusal, on) in refusals[..3].iter().zip(["right", "right", "lo"]) {
        assert!(refusal.starts_with(&format!("recv on {on}: ")), "{refusal}");
        let says = format!("fanout group {group} of this network namespace belongs to another interface");
        assert!(refusal.contains(&says), "{refusal}");
    }
    assert!(refusals[3].contains("up to 256 members"), "{}", refusals[3]);
    let many = open("right", Fanout::new(FanoutMode::Hash), 257).unwrap_err().to_string();
    assert!(many.contains("1 to 256 members"), "{many}");
}

#[test]
fn root_a_member_that_joins_sees_no_frame_of_others() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    let over = AtomicBool::new(false);
    // Frames arrive all the time while members are opened: none of them reaches two of them.
    thread::scope(|scope| {
        let _end = SetOnDrop(&over);
        scope.spawn(|| {
            let mut octets = frame(RIGHT_MAC, 0, 60);
            for number in 0u32.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                octets[20..24].copy_from_slice(&number.to_be_bytes());
                wire.send(&octets);
            }
        });
        for _ in 0..ROUNDS {
            let options = options(Fanout::new(FanoutMode::InTurn));
            let mut numbers = spaces.right.inside(|| {
                let interface = Interface::of_name("right", 1500).unwrap();
                open_members(&MethodSpec::plain("packet-v3"), &interface, &options, 4, FirstOfEach).unwrap()
            });
            let total = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), total, "no frame twice");
        }
    });
}

/// How often the members are opened.
const ROUNDS: usize = 25;

/// Returns the numbers of the first frames of every member.
struct FirstOfEach;

impl MembersVisitor for FirstOfEach {
    type Output = Vec<u32>;

    fn visit<C: Capture>(self, mut members: Vec<C>) -> Vec<u32> {
        let seen =
            members.iter_mut().flat_map(|member| (0..3).flat_map(|_| some(member)).collect::<Vec<_>>());
        seen.map(|octets| u32::from_be_bytes(octets[20..24].try_into().unwrap())).collect()
    }
}

/// The frames of the next batch.
fn some(capture: &mut impl Capture) -> Vec<Vec<u8>> {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE);
        if let Some(batch) = capture.next_batch(Duration::from_millis(100)).unwrap() {
            return batch.frames().map(|frame| frame.data.to_vec()).collect();
        }
    }
}
