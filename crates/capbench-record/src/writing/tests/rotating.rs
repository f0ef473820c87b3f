use capbench_testing::Scratch;
use proptest::prelude::*;

use super::super::options::{WhenFull, WriteOptions};
use super::super::output::Output;
use super::super::pool::NoRoom;
use super::super::rotation::Rotation;
use super::super::writer::Ending;
use super::fake::read_record;
use super::fake::{FakeEnds, HEADER, TRAILER_FILL, read_file};
use super::stage::{ALL, By, Stage, open, put};

const SECOND: u64 = 1_000_000_000;

fn limit(largest: u64) -> impl Strategy<Value = Option<u64>> {
    prop::option::of(1..largest)
}

proptest! {
    #[test]
    fn all_files_together_are_the_input_and_each_is_within_its_limits(
        packets in prop::collection::vec((0..2000_usize, 0..2 * SECOND), 1..120),
        bytes in limit(20_000),
        count in limit(40),
        seconds in limit(20),
        flushes in 1..50_usize,
        by in prop::sample::select(ALL.to_vec()),
    ) {
        let rotation = Rotation { bytes, packets: count, seconds: seconds.map(|it| it as u32), files: None, last: None };
        let stage = Stage::default();
        let mut output = open(&stage, by, |options| {
            (options.rotation, options.when_full) = (rotation, WhenFull::Wait);
            // Otherwise files of the same second and number would replace each other.
            options.path = "%s.".into();
        });
        let mut times = Vec::new();
        let mut now = 0;
        for (number, &(fill, later)) in packets.iter().enumerate() {
            now += later;
            times.push(now);
            put(&mut output, number as u32, fill, now).unwrap();
            if number % flushes == 0 {
                output.flush_if_idle();
            }
        }
        let recorded = output.finish(&mut FakeEnds);
        prop_assert!(matches!(recorded.ending, Ending::Finished));
        let files = stage.contents(by);
        prop_assert_eq!(recorded.counts.files, files.len() as u64);
        let (mut all, mut octets) = (Vec::new(), 0);
        for (_, contents) in &files {
            prop_assert!(contents.is_complete && contents.left_over == 0);
            let lengths = contents.numbers.iter().map(|number| packets[*number as usize].0 + 12);
            let records: usize = lengths.clone().sum();
            octets += (records + 12 + TRAILER_FILL + HEADER.len()) as u64;
            let last = lengths.clone().next_back().unwrap_or(0);
            if let Some(limit) = bytes.filter(|_| contents.numbers.len() > 1) {
                prop_assert!((records - last + HEADER.len()) as u64 <= limit);
            }
            prop_assert!(contents.numbers.len() as u64 <= count.unwrap_or(u64::MAX));
            let spans = contents.numbers.iter().map(|number| times[*number as usize]);
            if let (Some(seconds), Some((first, last))) = (seconds, spans.clone().min().zip(spans.max())) {
                prop_assert!(last - first / SECOND * SECOND < seconds * SECOND);
            }
            all.extend(contents.numbers.iter().copied());
        }
        prop_assert_eq!(all, (0..packets.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!(recorded.counts.bytes, octets);
        let stored: usize = stage.lock().files.iter().map(|(_, bytes)| bytes.len()).sum();
        prop_assert_eq!(recorded.counts.stored_bytes, stored as u64);
    }

    #[test]
    fn a_clock_that_is_set_loses_no_packet_and_begins_no_files_without_packets(
        steps in prop::collection::vec((1..40_usize, -4_000_000_000_000_i64..4_000_000_000_000), 1..12),
        seconds in prop::sample::select(vec![1, 60, 3600]),
        count in prop::option::of(1..20_u64),
    ) {
        let stage = Stage::default();
        let mut output = open(&stage, By::Plain, |options| {
            options.rotation = Rotation { seconds: Some(seconds), packets: count, ..Rotation::default() };
            (options.path, options.when_full) = ("%s.".into(), WhenFull::Wait);
        });
        let (mut number, mut now) = (0, 1_700_000_000 * SECOND);
        for (many, step_us) in steps {
            for _ in 0..many {
                put(&mut output, number, 30, now).unwrap();
                number += 1;
                now += SECOND / 3;
            }
            // Off the seconds of any other step: files of one second have one name.
            now = now.saturating_add_signed(step_us * 1000) + u64::from(number);
        }
        let recorded = output.finish(&mut FakeEnds);
        let files = stage.contents(By::Plain);
        prop_assume!(recorded.counts.files == files.len() as u64);
        let all = files.iter().flat_map(|(_, contents)| contents.numbers.iter().copied());
        prop_assert!(all.eq(0..number));
        // Only the first file, which is there before any packet, may have none.
        prop_assert!(files.iter().skip(1).all(|(_, contents)| !contents.numbers.is_empty()));
    }
}

#[test]
fn an_interval_with_a_number_of_files_ends_the_recording() {
    let stage = Stage::default();
    let mut output = open(&stage, By::Plain, |options| {
        options.rotation = Rotation { seconds: Some(10), files: Some(2), ..Rotation::default() };
        options.path = "%s".into();
    });
    let mut times = (0..).map(|second| second * SECOND);
    let refused = times.find(|time| put(&mut output, 1, 30, *time) == Err(NoRoom::Ended));
    assert_eq!((refused, output.has_ended()), (Some(20 * SECOND), true));
    let recorded = output.finish(&mut FakeEnds);
    assert!(matches!(recorded.ending, Ending::FileLimit));
    assert_eq!(recorded.counts.packets().refused, 0, "it was not to be recorded");
    assert_eq!(stage.contents(By::Plain).iter().filter(|(_, contents)| contents.is_complete).count(), 2);
}

#[test]
fn a_file_ends_after_its_interval_though_no_packet_comes() {
    for by in ALL {
        let stage = Stage::default();
        let mut output = open(&stage, by, |options| {
            options.rotation = Rotation { seconds: Some(10), ..Rotation::default() };
            (options.path, options.when_full) = ("%s.".into(), WhenFull::Wait);
        });
        let published = |count| {
            while stage.lock().published.len() < count {
                std::thread::yield_now();
            }
        };
        output.end_interval(100 * SECOND, &mut FakeEnds);
        assert!(!output.position.has_ended(), "{by:?}: a file without packets stays");
        put(&mut output, 0, 30, SECOND).unwrap();
        output.end_interval(10 * SECOND, &mut FakeEnds);
        assert!(!output.position.has_ended(), "{by:?}: packets may still come");
        output.end_interval(11 * SECOND, &mut FakeEnds);
        published(1);
        // The next file begins with the next packet.
        output.end_interval(12 * SECOND, &mut FakeEnds);
        output.flush();
        assert_eq!(output.record(&[0; 12]), Err(NoRoom::Ended));
        put(&mut output, 1, 30, 50 * SECOND).unwrap();
        output.flush();
        put(&mut output, 2, 30, 51 * SECOND).unwrap();
        output.end_interval(90 * SECOND, &mut FakeEnds);
        published(2);
        assert_eq!(stage.contents(by)[1].1.numbers, [1, 2], "{by:?}");
        // A packet that comes late begins a file (a name that exists gets a number, but not here), and from then on only packets do.
        put(&mut output, 3, 30, 52 * SECOND).unwrap();
        output.end_interval(90 * SECOND, &mut FakeEnds);
        put(&mut output, 4, 30, 53 * SECOND).unwrap();
        let recorded = output.finish(&mut FakeEnds);
        assert!(matches!(recorded.ending, Ending::Finished), "{by:?}");
        let files = stage.contents(by);
        assert!(files.iter().all(|(_, file)| file.is_complete && file.left_over == 0), "{by:?}");
        let numbers: Vec<_> = files.iter().map(|(_, file)| file.numbers.clone()).collect();
        assert_eq!(numbers, [vec![0], vec![3, 4]], "{by:?}");
        assert_eq!((recorded.counts.files, recorded.counts.packets().written), (3, 5), "{by:?}");
    }
}

#[test]
fn a_place_that_cannot_be_written_to_shows_at_once_and_is_named() {
    let nowhere = WriteOptions::new("/proc/no/such/directory/a.pcap");
    let error = Output::open(&nowhere, read_record, 0, &mut FakeEnds).unwrap_err().to_string();
    assert!(error.starts_with("cannot open /proc/no/such/directory/a.pcap: "), "{error}");
    assert!(error.ends_with("make the directory first"), "{error}");
}

#[test]
fn a_later_file_that_cannot_be_opened_loses_nothing_of_the_one_before() {
    for compression in [None, Some(1)] {
        let directory = Scratch::new();
        let (here, there) = (directory.file("here"), directory.file("there"));
        std::fs::create_dir(&here).unwrap();
        let mut options = WriteOptions::new(here.join("f"));
        options.rotation = Rotation { packets: Some(5), ..Rotation::default() };
        options.compression = compression;
        let mut output = Output::open(&options, read_record, 0, &mut FakeEnds).unwrap();
        std::fs::rename(&here, &there).unwrap();
        for number in 0..8 {
            put(&mut output, number * 2, 10, 0).unwrap();
        }
        let recorded = output.finish(&mut FakeEnds);
        let Ending::Failed(error) = recorded.ending else { panic!("{:?}", recorded.ending) };
        let (suffix, decompress) = if compression.is_some() { (".zst", true) } else { ("", false) };
        assert!(error.to_string().contains(&format!("f1{suffix}: No such file or directory")), "{error}");
        let packets = recorded.counts.packets();
        assert_eq!((packets.written, packets.unwritten), (5, 3));
        let mut bytes = std::fs::read(there.join(format!("f{suffix}"))).unwrap();
        if decompress {
            bytes = zstd::decode_all(&bytes[..]).unwrap();
        }
        let contents = read_file(&bytes);
        assert_eq!(
            (contents.numbers, contents.is_complete, contents.left_over),
            (vec![0, 2, 4, 6, 8], true, 0)
        );
    }
}
