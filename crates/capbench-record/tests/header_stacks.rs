//! Frames of random stacks of headers, in a file of our encoder: tshark dissects each header as configured.
//!
//! `CAPBENCH_STACKS` is the number of stacks and `CAPBENCH_STACKS_SEED` the seed, which is printed.

use capbench_capture::{Frame, PacketType};
use capbench_frames::{HeaderStack, Mtu, Payload, StackPlan, Stamp, StreamId, TrialId};
use capbench_model::units::SnapLength;
use capbench_record::file::{ETHERNET, Encoder, LEAST_BUFFER, PacketFacts};
use capbench_testing::scratch_file;
use capbench_testing::stacks::{Draw, RandomStack, differences, dissected};

/// Frames of each stack: more than any pattern has values.
const FRAMES: usize = 6;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn tshark_dissects_random_stacks_as_configured() {
    let stacks = setting("CAPBENCH_STACKS").unwrap_or(200);
    let seed = setting("CAPBENCH_STACKS_SEED").unwrap_or(23);
    println!("CAPBENCH_STACKS_SEED={seed}");
    let mut draw = Draw(seed);
    let encoder = Encoder::pcap(ETHERNET, SnapLength::new(65_535));
    let (mut file, mut room) = (encoder.header(), vec![0; LEAST_BUFFER]);
    let mut expected = Vec::new();
    for _ in 0..stacks {
        let random = RandomStack::draw(&mut draw);
        let stack = HeaderStack::from_value(&random.headers).unwrap();
        assert_eq!(stack.octets(), random.octets);
        let largest = random.octets as u64 + 30 + draw.below(400);
        let sizes = format!("random:{}-{}", random.octets + 30, largest).parse().unwrap();
        let payload =
            if draw.below(2) == 0 { Payload::default() } else { Payload::Counting { unit: 1, down: true } };
        let stream = (draw.below(2) == 0).then_some(StreamId(1));
        let plan = StackPlan::new(stack, sizes, &payload, stream, Mtu(9000)).unwrap();
        let mut frames = plan.frames();
        for number in 0..FRAMES {
            let mut slot = [0; 2048];
            let stamp =
                Stamp { trial: TrialId(1), stream: StreamId(0), sequence: number as u64, planned_ns: 0 };
            let length = frames.write_next(&mut slot, stamp).captured();
            let frame = Frame {
                data: &slot[..length],
                wire_length: length as u32,
                time_ns: 0,
                vlan: None,
                packet_type: PacketType::Host,
                hash: None,
                status: 0,
            };
            let encoded = encoder.encode(&frame, &PacketFacts::default(), &mut room).unwrap();
            file.extend(&room[..encoded]);
            expected.push((random.headers.to_string(), random.expected(number, length)));
        }
    }
    let shown = dissected(scratch_file(&file).path());
    assert_eq!(shown.len(), expected.len());
    let wrong =
        shown.iter().zip(&expected).enumerate().filter_map(|(number, (shown, (headers, expected)))| {
            let differences = differences(shown, expected);
            (!differences.is_empty()).then(|| format!("frame {number} of {headers}: {differences:#?}"))
        });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "seed {seed}: {} frames, such as {}", wrong.len(), wrong[0]);
}
