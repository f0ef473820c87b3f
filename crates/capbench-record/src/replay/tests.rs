use super::*;

const WANTED: ReplayOptions = ReplayOptions {
    layer: LinkLayer::Ethernet,
    mtu: Mtu(1500),
    most_frames: u64::MAX,
    memory: ByteCount(u64::MAX),
    destination: None,
    source: None,
    leave_out: Vec::new(),
    times: WantedTimes::Sorted,
};

/// A pcap file of this link type: a time in microseconds, the octets and the original length of each frame.
fn pcap(link_type: u32, frames: &[(u32, &[u8], usize)]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, link_type]);
    for (time, octets, original) in frames {
        file.extend(words(&[0, *time, octets.len() as u32, *original as u32]));
        file.extend_from_slice(octets);
    }
    file
}

fn refused(file: &[u8], options: &ReplayOptions) -> String {
    read(file, options).unwrap_err().to_string()
}

#[test]
fn frames_and_times_are_those_of_the_file() {
    let file = pcap(1, &[(5, &[1; 60], 60), (5, &[2; 1514], 1514), (9, &[3; 14], 14)]);
    let Replay { frames, times, left_out, .. } = read(&file[..], &WANTED).unwrap();
    assert_eq!((frames.count(), times, left_out), (3, vec![5000, 5000, 9000], [0; 5]));
    for (number, frame) in [&[1; 60][..], &[2; 1514], &[3; 14]].into_iter().enumerate() {
        assert_eq!(frames.frame(number as u64), frame);
    }
    let untimed = ReplayOptions { times: WantedTimes::Nothing, most_frames: 2, ..WANTED };
    let Replay { frames, times, .. } = read(&file[..], &untimed).unwrap();
    assert_eq!((frames.count(), times), (2, vec![]));
}

#[test]
fn addresses_are_replaced_on_request() {
    let addresses = [2, 3].map(|octet| Some(MacAddress([octet; 6])));
    let options = ReplayOptions { destination: addresses[0], source: addresses[1], ..WANTED };
    let frames = read(&pcap(1, &[(0, &[7; 20], 20), (0, &[8; 20], 20)])[..], &options).unwrap().frames;
    for (number, octet) in [(0, 7), (1, 8)] {
        assert_eq!(
            frames.frame(number),
            [[2; 6], [3; 6]].concat().into_iter().chain([octet; 8]).collect::<Vec<_>>()
        );
    }
}

#[test]
fn frames_that_cannot_be_sent_are_refused_by_number_or_left_out_by_kind() {
    for (kind, link_type, frame, original, words) in [
        (Unsendable::OtherLink, 113, &[0; 60][..], 60, "frame 1 of link type 113"),
        (Unsendable::CutShort, 1, &[0; 60], 90, "60 of the 90 octets of frame 1"),
        (Unsendable::TooShort, 1, &[0; 13], 13, "frame 1 of 13 octets"),
        (Unsendable::TooLong, 1, &[0; 1515], 1515, "frame 1 of 1515 octets, which needs an MTU of 1501"),
    ] {
        let file = pcap(link_type, &[(0, frame, original)]);
        let error = refused(&file, &WANTED);
        assert!(error.contains(words) && error.contains(&format!("--leave-out {kind}")), "{error}");
        assert_eq!(kind.name().parse(), Ok(kind));
        let options = ReplayOptions { leave_out: vec![kind], ..WANTED };
        assert!(refused(&file, &options).contains("no frame to send"));
    }
    assert!("others".parse::<Unsendable>().unwrap_err().contains("cut-short"));
    let file = pcap(1, &[(3, &[1; 1515], 1515), (2, &[1; 60], 60), (4, &[1; 1600], 1600), (5, &[2; 60], 60)]);
    let replay = read(&file[..], &ReplayOptions { leave_out: vec![Unsendable::TooLong], ..WANTED }).unwrap();
    assert_eq!(
        (replay.frames.count(), replay.times, replay.left_out),
        (2, vec![2000, 5000], [0, 0, 0, 2, 0])
    );
    // The MTU of a loopback interface allows more than any frame has.
    let error =
        refused(&pcap(1, &[(0, &[0; 65_532], 65_532)]), &ReplayOptions { mtu: Mtu(65_536), ..WANTED });
    assert!(error.contains("frame 1: frame size 65536 is not allowed"), "{error}");
}

#[test]
fn a_link_without_ethernet_sends_ip_packets_of_its_mtu() {
    let packet = |version: u8, octets: usize| [vec![version << 4], vec![0; octets - 1]].concat();
    let options = |leave_out| ReplayOptions { layer: LinkLayer::Ip, leave_out, ..WANTED };
    for (kind, link_type, packet, words) in [
        (
            Unsendable::OtherLink,
            1,
            packet(4, 60),
            "frame 1 of link type 1, and this interface's is 101, RAW (Raw IP)",
        ),
        (Unsendable::TooShort, 101, packet(4, 19), "frame 1 of 19 octets, shorter than an IP header"),
        (Unsendable::TooShort, 229, packet(6, 39), "frame 1 of 39 octets, shorter than an IP header"),
        (Unsendable::TooLong, 228, packet(4, 1501), "frame 1 of 1501 octets, which needs an MTU of 1501"),
        (Unsendable::NotIp, 101, packet(5, 60), "frame 1, which is neither IPv4 nor IPv6"),
    ] {
        let file = pcap(link_type, &[(0, &packet, packet.len())]);
        let error = refused(&file, &options(vec![]));
        assert!(error.contains(words) && error.contains(&format!("--leave-out {kind}")), "{error}");
        assert!(refused(&file, &options(vec![kind])).contains("no frame to send"));
    }
    for link_type in [101, 228, 12] {
        let (first, second) = (packet(4, 20), packet(4, 1500));
        let file = pcap(link_type, &[(0, &first, 20), (1, &second, 1500)]);
        let frames = read(&file[..], &options(vec![])).unwrap().frames;
        assert_eq!(
            (frames.frame(1), frames.mean_octets(), frames.largest_octets()),
            (&second[..], 760.0, 1500)
        );
    }
}

#[test]
fn an_fcs_that_the_file_states_is_not_sent_and_the_original_length_rules() {
    // Two words of 16 bits of FCS; the third frame is cut short, but only within its FCS.
    let file =
        pcap(0x4400_0001, &[(0, &[1; 64], 64), (1, &[2; 80], 64), (2, &[3; 62], 64), (3, &[4; 64], 0)]);
    let replay = read(&file[..], &WANTED).unwrap();
    let sent: Vec<_> = (0..4).map(|number| replay.frames.frame(number).to_vec()).collect();
    assert_eq!(sent, [[1; 60], [2; 60], [3; 60], [4; 60]]);
    let mended_lengths = MendedLengths { cut: 1, raised: 1 };
    assert_eq!((replay.without_fcs, replay.mended_lengths), (4, mended_lengths));
    let error = refused(&pcap(0x4400_0001, &[(0, &[1; 50], 64)]), &WANTED);
    assert!(error.contains("has 50 of the 60 octets of frame 1"), "{error}");
}

#[test]
fn times_that_go_backwards_are_refused_raised_or_ignored() {
    let file = pcap(1, &[(9, &[0; 60], 60), (4, &[0; 60], 60), (10, &[0; 60], 60)]);
    let error = refused(&file, &WANTED);
    assert!(error.contains("frame 2 5µs before") && error.contains("--unsorted"), "{error}");
    let times = |times| read(&file[..], &ReplayOptions { times, ..WANTED }).unwrap().times;
    assert_eq!(times(WantedTimes::Raised), [9000, 9000, 10_000]);
    assert_eq!(times(WantedTimes::Nothing), [0; 0]);
}

#[test]
fn a_frame_without_time_is_refused_where_times_are_needed() {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    // A section, an Ethernet interface, and a simple packet block (draft-ietf-opsawg-pcapng, 4.1, 4.2, 4.4).
    let section = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
    let interface = words(&[1, 20, 1, 0, 20]);
    let file = [section, interface, words(&[3, 76, 60]), vec![9; 60], words(&[76])].concat();
    assert!(refused(&file, &WANTED).contains("no time for frame 1"));
    let options = ReplayOptions { times: WantedTimes::Nothing, ..WANTED };
    assert_eq!(read(&file[..], &options).unwrap().frames.frame(0), [9; 60]);
}

#[test]
fn files_that_end_early_or_are_empty_or_too_large_are_refused_with_the_frames_before() {
    let file = pcap(1, &[(0, &[0; 60], 60), (1, &[0; 60], 60), (2, &[0; 60], 60)]);
    let error = refused(&file[..file.len() - 1], &WANTED);
    assert!(error.contains("ends within a record; -c 2 sends"), "{error}");
    assert_eq!(
        read(&file[..file.len() - 1], &ReplayOptions { most_frames: 2, ..WANTED }).unwrap().frames.count(),
        2
    );
    let mut damaged = file.clone();
    damaged[24 + 76 + 11] = 0x7f;
    let error = refused(&damaged, &WANTED);
    assert!(
        error.contains("is damaged after 1 frames") && error.ends_with("; -c 1 sends the frames before"),
        "{error}"
    );
    assert_eq!(refused(&[], &WANTED), "is empty");
    assert_eq!(refused(&pcap(1, &[]), &WANTED), "has no frame to send");
    let each = 60 + RecordedFrames::OVERHEAD + RecordedTimes::OVERHEAD;
    let within = |octets: usize| ReplayOptions { memory: ByteCount(octets as u64), ..WANTED };
    assert!(refused(&file, &within(3 * each - 1)).contains("-c 2"));
    assert_eq!(read(&file[..], &within(3 * each)).unwrap().frames.count(), 3);
}
