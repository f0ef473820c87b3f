use std::io::ErrorKind;

use proptest::prelude::*;

use super::super::counts::PacketCounts;
use super::super::options::WhenFull;
use super::super::output::{Output, Recorded};
use super::super::pool::NoRoom;
use super::super::writer::Ending;
use super::fake::FakeEnds;
use super::stage::{ALL, By, Stage, open, put};

/// Where a packet of an interface went, summed up.
fn packets(output: Output) -> (Ending, u64, u64, u64) {
    let recorded = output.finish(&mut FakeEnds);
    let packets = recorded.counts.packets();
    (recorded.ending, packets.written, packets.refused, packets.unwritten)
}

proptest! {
    #[test]
    fn a_full_disk_keeps_whole_records_and_every_packet_is_counted(
        fills in prop::collection::vec(0..3000_usize, 1..60),
        room in 0..100_000_usize,
        flushes in 1..20_usize,
        by in prop::sample::select(ALL.to_vec()),
    ) {
        let stage = Stage::default();
        let mut output = open(&stage, by, |options| options.when_full = WhenFull::Wait);
        stage.lock().room = Some((room, ErrorKind::StorageFull));
        let mut ended = 0;
        for (number, &fill) in fills.iter().enumerate() {
            match put(&mut output, number as u32, fill, 0) {
                Ok(()) => {}
                Err(error) => {
                    prop_assert_eq!(error, NoRoom::Ended);
                    ended += 1;
                }
            }
            if number % flushes == 0 {
                output.flush();
            }
        }
        let Recorded { ending, counts } = output.finish(&mut FakeEnds);
        let PacketCounts { written, refused, unwritten, .. } = counts.packets();
        prop_assert_eq!(written + refused + unwritten, fills.len() as u64);
        prop_assert_eq!(refused, ended);
        let is_full = matches!(&ending, Ending::Failed(error) if error.to_string().contains("free space"));
        let bytes: usize = stage.lock().files.iter().map(|(_, bytes)| bytes.len()).sum();
        prop_assert_eq!(counts.stored_bytes, bytes as u64);
        prop_assert_eq!(counts.files, stage.lock().files.len() as u64);
        let Some((_, contents)) = stage.contents(by).pop() else {
            prop_assert!(is_full && written == 0);
            return Ok(());
        };
        prop_assert_eq!(contents.numbers, (0..written as u32).collect::<Vec<_>>());
        prop_assert_eq!(contents.left_over, 0);
        prop_assert!(by == By::Zstd || counts.bytes == bytes as u64);
        prop_assert!(is_full || contents.is_complete && unwritten == 0, "{:?}", ending);
    }
}

#[test]
fn a_disk_that_is_full_loses_only_the_record_that_does_not_fit() {
    for (by, room, expected) in [(By::Plain, 1000, 8), (By::Direct, 8192, 73)] {
        let stage = Stage::default();
        let mut output = open(&stage, by, |_| {});
        stage.lock().room = Some((room, ErrorKind::StorageFull));
        for number in 0..200 {
            // 112 bytes each, behind a header of 16 that a direct file writes again.
            let _ = put(&mut output, number, 100, 0);
        }
        let (ending, written, refused, unwritten) = packets(output);
        assert_eq!((written, written + refused + unwritten), (expected, 200), "{by:?}");
        assert!(
            matches!(&ending, Ending::Failed(error) if error.to_string().starts_with("cannot write f: "))
        );
        assert_eq!(stage.contents(by)[0].1.numbers.len() as u64, expected);
    }
}

#[test]
fn a_reader_that_goes_ends_it_without_an_error() {
    let stage = Stage::default();
    let mut output = open(&stage, By::Plain, |_| {});
    stage.lock().room = Some((5000, ErrorKind::BrokenPipe));
    let mut number = 0;
    while put(&mut output, number, 50, 0).is_ok() || !output.has_ended() {
        output.flush_if_idle();
        number += 1;
    }
    let (ending, written, ..) = packets(output);
    assert!(matches!(ending, Ending::ReaderGone), "{ending:?}");
    assert_eq!(written, 5000 / 62);
}

#[test]
fn a_stalled_sink_makes_the_pool_run_out_and_nothing_is_lost_before() {
    for by in ALL {
        let stage = Stage::default();
        let mut output = open(&stage, by, |_| {});
        let blocked = stage.block();
        let gauge = output.gauge();
        let before = gauge.read();
        let mut recorded = 0;
        while put(&mut output, recorded, 1000, 0).is_ok() {
            recorded += 1;
        }
        // Eight buffers with eight packets in each, or four where a block in front of them is kept free.
        assert!(recorded >= 8 * 4, "{recorded}");
        assert_eq!(put(&mut output, recorded, 1000, 0), Err(NoRoom::Full));
        let counts = gauge.read();
        assert_eq!((counts.in_use, counts.most_in_use, counts.pool), (8, 8, 8));
        let lag = counts.lag_since(&before).unwrap().to_string();
        assert!(lag.starts_with("the output does not keep up: 2 packets"), "{lag}");
        drop(blocked);
        // The next one waits until a buffer is back.
        while put(&mut output, recorded, 1000, 0).is_err() {
            std::thread::yield_now();
        }
        let recorded = recorded + 1;
        let recorded_all = output.finish(&mut FakeEnds);
        let packets = recorded_all.counts.packets();
        assert_eq!((packets.written, packets.unwritten), (u64::from(recorded), 0));
        assert!(packets.refused >= 2);
        let contents = stage.contents(by).remove(0).1;
        assert_eq!(contents.numbers, (0..recorded).collect::<Vec<_>>());
        assert!(contents.is_complete);
    }
}

#[test]
fn a_caller_with_time_waits_for_a_buffer() {
    let stage = Stage::default();
    let mut output = open(&stage, By::Plain, |options| options.when_full = WhenFull::Wait);
    let blocked = stage.block();
    let gauge = output.gauge();
    let other = std::thread::spawn(move || {
        while gauge.read().in_use < 8 {
            std::thread::yield_now();
        }
        drop(blocked);
    });
    for number in 0..1000 {
        put(&mut output, number, 1000, 0).unwrap();
    }
    other.join().unwrap();
    let (ending, written, refused, unwritten) = packets(output);
    assert!(matches!(ending, Ending::Finished));
    assert_eq!((written, refused, unwritten), (1000, 0, 0));
}

#[test]
fn a_flush_lets_readers_see_every_record() {
    for by in [By::Plain, By::Direct] {
        let stage = Stage::default();
        let mut output = open(&stage, by, |_| {});
        let gauge = output.gauge();
        for number in 0..20 {
            put(&mut output, number, 999, 0).unwrap();
            output.flush();
            while gauge.read().packets().written <= u64::from(number) {
                std::thread::yield_now();
            }
            let contents = stage.contents(by).remove(0).1;
            assert_eq!((contents.numbers.len(), contents.left_over), (number as usize + 1, 0), "{by:?}");
        }
        assert_eq!(gauge.read().in_use, 0, "every buffer is back");
        drop(output);
        assert!(!stage.contents(by)[0].1.is_complete, "nobody gave a trailer");
    }
}

#[test]
fn a_record_larger_than_a_buffer_is_refused_and_the_next_one_is_not() {
    let stage = Stage::default();
    let mut output = open(&stage, By::Plain, |_| {});
    assert_eq!(put(&mut output, 0, 9000, 0), Err(NoRoom::TooLong));
    assert_eq!(output.record(&[0; 9000]), Err(NoRoom::TooLong));
    put(&mut output, 1, 8180, 0).unwrap();
    let (_, written, refused, _) = packets(output);
    assert_eq!((written, refused), (1, 1));
}
