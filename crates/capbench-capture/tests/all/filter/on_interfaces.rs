//! Filters in front of real captures: tags that the kernel has removed, and every method that has a filter.

use capbench_capture::backends::libpcap::Libpcap;
use capbench_capture::backends::packet_v3::PacketV3;
use capbench_capture::filter::{FilterText, FrameMetadata, Listing, Optimise, SoftwareFilter, Tags};
use capbench_capture::{Capture, Filter, METHODS, Visitor, open_with};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use etherparse::PacketBuilder;

use super::frames::with_tag;
use crate::wire::interface_of;
use crate::wire::{Seen, Wire, drain, take};
use capbench_testing::network::{Namespaces, Place, privileges};

/// A frame of UDP or TCP to a port, full of its number, with tags.
fn datagram(number: u8, tags: &[(u16, u16)], is_udp: bool, port: u16) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let builder = builder.ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9);
    let (mut frame, payload) = (Vec::new(), [number; 30]);
    if is_udp {
        builder.udp(1000, port).write(&mut frame, &payload).unwrap();
    } else {
        builder.tcp(1000, port, 1, 1).write(&mut frame, &payload).unwrap();
    }
    let tags: Vec<u8> =
        tags.iter().flat_map(|(tpid, tci)| [tpid.to_be_bytes(), tci.to_be_bytes()].concat()).collect();
    [&frame[..12], &tags, &frame[12..]].concat()
}

const Q: u16 = 0x8100;
const S: u16 = 0x88a8;

/// What is sent; the number of a frame is its place here.
fn traffic() -> Vec<Vec<u8>> {
    [
        (&[][..], true, 53),
        (&[], false, 80),
        (&[(Q, 100)], true, 53),
        (&[(Q, 100)], false, 80),
        (&[(Q, 0xe064)], true, 9),
        (&[(Q, 200)], true, 53),
        (&[(Q, 0)], true, 53),
        (&[(S, 100)], true, 53),
        (&[(Q, 100), (Q, 200)], true, 53),
        (&[(S, 300), (Q, 100)], false, 80),
    ]
    .into_iter()
    .zip(0u8..)
    .map(|((tags, is_udp, port), number)| datagram(number, tags, is_udp, port))
    .collect()
}

/// The numbers of the frames that each expression wants.
const WANTED: [(&str, &[u8]); 9] = [
    ("vlan", &[2, 3, 4, 5, 6, 7, 8, 9]),
    ("vlan 100", &[2, 3, 4, 7, 8]),
    ("vlan 100 and udp", &[2, 4, 7]),
    ("vlan 0", &[6]),
    ("not vlan", &[0, 1]),
    ("vlan 100 and vlan 200", &[8]),
    ("vlan 100 and vlan 200 and udp port 53", &[8]),
    ("udp port 53", &[0, 2, 5, 6, 7]),
    ("vlan and tcp port 80", &[3]),
];

fn options(filter: Option<Filter>) -> CaptureOptions {
    CaptureOptions {
        ring: ByteCount(4 << 20),
        block: ByteCount(64 << 10),
        filter,
        ..CaptureOptions::default()
    }
}

fn compile(place: &Place, text: &str) -> Filter {
    let text = FilterText::of_expression(text).unwrap();
    text.compile(&interface_of(place), SnapLength::EVERYTHING, Optimise::Yes).unwrap()
}

fn number(seen: &Seen) -> u8 {
    *seen.data.last().unwrap()
}

#[test]
fn root_tags_that_the_kernel_took_out_are_filtered_by() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let (wire, sent) = (Wire::new(&spaces.left), traffic());
    let place = &spaces.right;
    place.inside(|| {
        let method = MethodSpec::plain("packet-v3");
        let open = |filter| PacketV3::open(&method, &interface_of(place), &options(filter)).unwrap();
        let mut whole = open(None);
        sent.iter().for_each(|frame| wire.send(frame));
        let all = take(&mut whole, sent.len());
        let tags = Tags::found(whole.running(), place.interface);
        assert_eq!(tags, Tags::InMetadata);
        assert_eq!(all.iter().filter(|seen| seen.vlan.is_some()).count(), 8, "the kernel took them out");
        for (text, wanted) in WANTED {
            let filter = compile(place, text);
            let software =
                SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &FrameMetadata::tags(tags)).unwrap();
            let here = all.iter().filter(|seen| software.matches(&with_tag(&seen.data, seen.vlan)).is_some());
            assert_eq!(here.map(number).collect::<Vec<_>>(), wanted, "{text} here");
            let mut capture = open(Some(filter));
            sent.iter().for_each(|frame| wire.send(frame));
            let kept = take(&mut capture, wanted.len());
            assert_eq!(kept.iter().map(number).collect::<Vec<_>>(), wanted, "{text} in the kernel");
            assert_eq!(drain(&mut capture), 0, "{text}");
            assert_eq!(capture.counters().unwrap().accepted, Some(wanted.len() as u64), "{text}");
        }
    });
}

struct Numbers(Wire);

impl Visitor for Numbers {
    type Output = (Vec<u8>, Option<u64>, bool, Vec<String>);

    fn visit<C: Capture>(self, mut capture: C) -> Self::Output {
        traffic().iter().for_each(|frame| self.0.send(frame));
        let mut numbers: Vec<_> = take(&mut capture, 5).iter().map(number).collect();
        numbers.extend(vec![u8::MAX; drain(&mut capture) as usize]);
        let accepted = capture.counters().unwrap().accepted;
        (numbers, accepted, capture.running().filtered, capture.running().shortfalls.clone())
    }
}

#[test]
fn root_every_method_with_a_filter_applies_it() {
    let Some(()) = privileges() else { return };
    let methods = METHODS.iter().filter(|method| method.socket_filter).map(|method| method.name);
    for method in methods.chain(["libpcap+next-ex", "libpcap+immediate"]) {
        let spaces = Namespaces::make();
        let place = &spaces.right;
        place.inside(|| {
            let expression = compile(place, "udp port 53");
            let program: Filter = Listing::Decimal.of(&expression).unwrap().parse().unwrap();
            for filter in [expression, program] {
                let spec: MethodSpec = method.parse().unwrap();
                // In immediate mode libpcap asks for slots of 64 KiB each.
                let options = CaptureOptions { ring: ByteCount(16 << 20), ..options(Some(filter)) };
                let numbers = Numbers(Wire::new(&spaces.left));
                let found = open_with(&spec, &interface_of(place), &options, numbers).unwrap();
                assert_eq!(found, (vec![0, 2, 5, 6, 7], Some(5), true, vec![]), "{method}");
            }
        });
    }
}

#[test]
fn root_a_filter_for_tags_is_refused_if_tags_may_be_removed_without_a_report() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.inside(|| {
        let filter = compile(&place, "vlan 100");
        // libpcap reports no removed tags, nor does AF_XDP.
        let capture =
            Libpcap::open(&MethodSpec::plain("libpcap"), &interface_of(&place), &options(None)).unwrap();
        let found = || Tags::found(capture.running(), place.interface);
        place.run("ethtool", "-K left rxvlan on");
        assert_eq!(found(), Tags::Unknown);
        let said = SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &FrameMetadata::tags(found()))
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("VLAN tag") && said.contains("rxvlan off") && said.contains("vlan 100"),
            "{said}"
        );
        place.run("ethtool", "-K left rxvlan off");
        assert_eq!(found(), Tags::InFrames);
        assert!(SoftwareFilter::new(&filter, SnapLength::EVERYTHING, &FrameMetadata::tags(found())).is_ok());
    });
}
