//! A table of expressions: the kernel, tcpdump and the interpreter agree on random frames.

use capbench_capture::filter::{Compiler, Filter, FrameMetadata, Listing, Optimise, SoftwareFilter, Tags};
use capbench_model::units::SnapLength;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::frames::{frame, plain};
use super::kernel::InKernel;
use crate::wire::interface_of;
use capbench_testing::network::{Place, lossy, privileges, program};

pub const EXPRESSIONS: [&str; 67] = [
    "",
    "ip",
    "ip6",
    "arp",
    "rarp",
    "tcp",
    "udp",
    "icmp",
    "icmp6",
    "sctp",
    "port 53",
    "tcp port 80",
    "udp port 53",
    "src port 443",
    "dst port 80",
    "port http or port domain",
    "portrange 50-100",
    "tcp dst portrange 443-60000",
    "host 192.0.2.1",
    "src host 192.0.2.1",
    "dst net 198.51.100.0/24",
    "net 10",
    "src or dst net 192.0.2.0 mask 255.255.255.0",
    "ip6 host 2001:db8::1",
    "src net 2001:db8::/32",
    "ether host 02:00:00:00:00:02",
    "ether src 02:00:00:00:00:01",
    "ether dst ff:ff:ff:ff:ff:ff",
    "ether broadcast",
    "ether multicast",
    "ip broadcast",
    "ip multicast",
    "ip6 multicast",
    "greater 100",
    "less 60",
    "len > 80 and len <= 120",
    "len % 3 = 1",
    "ether proto 0x88b5",
    "ether[0] & 1 = 1",
    "ether[12:2] > 1500",
    "ether[20:4] > 0x10000000",
    "ip proto 47",
    "proto 17",
    "ip6 proto 58",
    "ip[8] < 10",
    "ip[6:2] & 0x1fff = 0",
    "ip[0] & 0xf != 5",
    "ip[2:2] - ((ip[0] & 0xf) << 2) > 40",
    "ip[1] / 2 = 0 and ip[8] * 3 >= 30",
    "tcp[13] == 2",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
    "tcp and not port 80 and not port 443",
    "udp[4:2] > 40 or tcp",
    "icmp[icmptype] = icmp-echo",
    "icmp6[icmp6type] = icmp6-echo",
    "not ip and not ip6",
    "(udp or icmp) and (host 10.1.2.3 or host 224.0.0.251)",
    "mpls",
    "pppoes",
    "vlan",
    "not vlan",
    "vlan 100",
    "vlan 100 and udp",
    "vlan and udp port 53",
    "vlan 100 and vlan 200 and ip",
    "udp port 53 or (vlan and udp port 53)",
];

/// The expressions compiled for an interface of a separate namespace, which has an IPv4 address.
fn compiled(place: &Place, optimise: Optimise, snap: SnapLength) -> Vec<Filter> {
    place.ip("address add 192.0.2.1/24 dev left");
    place.inside(|| {
        let mut compiler = Compiler::open(&interface_of(place), snap).unwrap();
        let compile =
            |text: &&str| compiler.compile(text, optimise).unwrap_or_else(|error| panic!("{text}: {error}"));
        EXPRESSIONS.iter().map(compile).collect()
    })
}

#[test]
fn root_expressions_run_here_as_in_the_kernel() {
    let Some(()) = privileges() else { return };
    for (optimise, snap) in [(Optimise::Yes, SnapLength::EVERYTHING), (Optimise::No, SnapLength::new(50))] {
        let filters = compiled(&Place::with_pair(), optimise, snap);
        let both: Vec<_> = filters
            .iter()
            .map(|filter| {
                let software =
                    SoftwareFilter::new(filter, snap, &FrameMetadata::tags(Tags::InFrames)).unwrap();
                (software, InKernel::new(filter.program()).unwrap())
            })
            .collect();
        let mut kept = vec![0; EXPRESSIONS.len()];
        let mut runner = TestRunner::new(Config { source_file: Some(file!()), ..Config::default() });
        let outcome = runner.run(&frame(), |frame| {
            for (text, (software, kernel)) in EXPRESSIONS.iter().zip(&both) {
                let here = software.matches(&plain(&frame));
                let here = here.map_or(0, |kept| frame.len().min(kept.octets() as usize));
                prop_assert_eq!(here, kernel.keeps(&frame), "{}: {:02x?}", text, frame);
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        // Not a test that wants nothing, or all.
        let mut runner = TestRunner::deterministic();
        for _ in 0..1500 {
            let frame = frame().new_tree(&mut runner).unwrap().current();
            for (kept, (software, _)) in kept.iter_mut().zip(&both) {
                *kept += u32::from(software.matches(&plain(&frame)).is_some());
            }
        }
        for (text, kept) in EXPRESSIONS.iter().zip(kept) {
            let never = ["rarp", "sctp"].contains(text);
            assert_eq!(kept == 0, never, "{text:?} wants {kept} of 1500 frames");
        }
    }
}

#[test]
fn root_expressions_want_what_tcpdump_wants() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let filters = compiled(&place, Optimise::Yes, SnapLength::EVERYTHING);
    let mut runner = TestRunner::deterministic();
    let frames: Vec<_> = (0..800).map(|_| frame().new_tree(&mut runner).unwrap().current()).collect();
    let file = capbench_testing::scratch_file(&pcap_of(&frames));
    for (text, filter) in EXPRESSIONS.iter().zip(&filters) {
        // A file has no interface, whose netmask this needs.
        if *text == "ip broadcast" {
            continue;
        }
        let software =
            SoftwareFilter::new(filter, SnapLength::EVERYTHING, &FrameMetadata::tags(Tags::InFrames))
                .unwrap();
        let here: Vec<_> =
            (0..frames.len()).filter(|&at| software.matches(&plain(&frames[at])).is_some()).collect();
        let mut tcpdump = program("tcpdump");
        tcpdump.args(["-n", "-w", "-", "-r"]).arg(file.path()).arg(text);
        let output = tcpdump.output().unwrap();
        assert!(output.status.success(), "{text}: {}", lossy(&output.stderr));
        assert_eq!(here, numbers_of(&output.stdout), "{text}");
    }
}

#[test]
fn root_listings_are_those_of_tcpdump() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let interface = place.inside(|| interface_of(&place));
    for text in ["tcp port 80", "vlan 100 and udp", "inbound and ip6", ""] {
        for (flags, snap, optimise) in [
            (vec![], SnapLength::EVERYTHING, Optimise::Yes),
            (vec!["-O", "-s", "96"], SnapLength::new(96), Optimise::No),
        ] {
            let filter =
                place.inside(|| Compiler::open(&interface, snap).unwrap().compile(text, optimise).unwrap());
            for (flag, listing) in [("-d", Listing::Words), ("-dd", Listing::C), ("-ddd", Listing::Decimal)] {
                let mut tcpdump = program("tcpdump");
                tcpdump.args(["-i", "left", flag]).args(&flags).arg(text);
                let theirs = place.output(&mut tcpdump);
                assert_eq!(listing.of(&filter).unwrap(), lossy(&theirs.stdout), "{flag} {text}");
            }
        }
    }
}

/// A file of classic pcap with these frames. Their times are their numbers in microseconds.
fn pcap_of(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 4 << 16 | 2, 0, 0, 262_144, 1] {
        file.extend(word.to_le_bytes());
    }
    for (number, frame) in (0u32..).zip(frames) {
        let length = frame.len() as u32;
        for word in [0, number, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// The numbers of the frames in such a file.
fn numbers_of(file: &[u8]) -> Vec<usize> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mut numbers = Vec::new();
    let mut at = 24;
    while at < file.len() {
        numbers.push(word(at + 4));
        at += 16 + word(at + 8);
    }
    numbers
}
