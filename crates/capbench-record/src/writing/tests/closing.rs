//! Files on their way from the page cache to the disk.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::thread;

use capbench_model::units::ByteCount;
use capbench_testing::Scratch;

use super::super::options::{WhenFull, WriteOptions};
use super::super::output::Output;
use super::super::retention::FreeSpace;
use super::super::rotation::Rotation;
use super::super::writer::Ending;
use super::fake::{FakeEnds, read_record};
use super::stage::{ALL, By, Stage, open, put};

/// Files of this many packets each.
fn rotating(stage: &Stage, by: By, packets: u64, files: Option<u32>) -> Output {
    open(stage, by, |options| {
        options.rotation = Rotation { packets: Some(packets), files, ..Rotation::default() };
        options.when_full = WhenFull::Wait;
    })
}

#[test]
fn a_file_that_the_disk_does_not_take_ends_the_recording_and_its_packets_are_not_written() {
    for by in ALL {
        let stage = Stage::default();
        let bad = if by == By::Zstd { "f1.zst" } else { "f1" };
        stage.lock().bad.push((bad.into(), ErrorKind::Other));
        let mut output = rotating(&stage, by, 10, None);
        let mut number = 0;
        while put(&mut output, number, 30, 0).is_ok() {
            number += 1;
            if number % 10 == 0 {
                output.flush();
            }
        }
        let recorded = output.finish(&mut FakeEnds);
        let Ending::Failed(error) = recorded.ending else { panic!("{by:?}: {:?}", recorded.ending) };
        assert!(error.to_string().starts_with(&format!("cannot bring to the disk {bad}: ")), "{error}");
        let packets = recorded.counts.packets();
        assert_eq!((packets.sync_failed, packets.unsynced), (10, 0), "{by:?}");
        // Packet `number` was the first that was refused.
        let all = packets.written + packets.sync_failed + packets.refused + packets.unwritten;
        assert_eq!(all, u64::from(number) + 1, "{by:?}");
        // The files that got their final names hold just what is counted as written.
        let published = stage.lock().published.clone();
        assert!(!published.contains(&PathBuf::from(bad)), "{by:?}: {published:?}");
        let is_published = |path: &PathBuf| published.contains(path);
        let contents = stage.contents(by);
        let kept = contents.iter().filter(|(path, _)| is_published(path));
        assert_eq!(kept.map(|(_, file)| file.numbers.len() as u64).sum::<u64>(), packets.written, "{by:?}");
    }
}

#[test]
fn the_last_file_counts_as_those_before() {
    let stage = Stage::default();
    stage.lock().bad.push(("f".into(), ErrorKind::StorageFull));
    let mut output = open(&stage, By::Plain, |_| {});
    for number in 0..7 {
        put(&mut output, number, 30, 0).unwrap();
    }
    let recorded = output.finish(&mut FakeEnds);
    let Ending::Failed(error) = recorded.ending else { panic!("{:?}", recorded.ending) };
    assert!(error.to_string().contains("free space"), "{error}");
    let of = |interface: usize| recorded.counts.interfaces[interface];
    assert_eq!([of(0), of(1)].map(|packets| (packets.written, packets.sync_failed)), [(0, 4), (0, 3)]);
    assert!(stage.lock().published.is_empty());
}

#[test]
fn packets_that_the_disk_does_not_have_yet_are_known() {
    let stage = Stage::default();
    let mut output = rotating(&stage, By::Plain, 10, None);
    let gauge = output.gauge();
    let busy = stage.make_disk_busy();
    for number in 0..25 {
        put(&mut output, number, 30, 0).unwrap();
    }
    output.flush();
    let reads = |written, unsynced| {
        let packets = gauge.read().packets();
        (packets.written, packets.unsynced) == (written, unsynced)
    };
    while !reads(25, 25) {
        thread::yield_now();
    }
    assert_eq!(stage.lock().published, [] as [PathBuf; 0], "no file has its final name before");
    drop(busy);
    while !reads(25, 5) {
        thread::yield_now();
    }
    let recorded = output.finish(&mut FakeEnds);
    assert!(matches!(recorded.ending, Ending::Finished));
    assert_eq!((recorded.counts.packets().written, recorded.counts.packets().unsynced), (25, 0));
    assert_eq!(stage.lock().published, ["f", "f1", "f2"].map(PathBuf::from));
}

#[test]
fn a_disk_that_is_busy_does_not_stop_the_writer_until_many_files_wait() {
    let stage = Stage::default();
    let busy = stage.make_disk_busy();
    let mut output = open(&stage, By::Plain, |options| {
        options.rotation = Rotation { packets: Some(1), ..Rotation::default() };
    });
    let gauge = output.gauge();
    // One file is being synced and 16 wait; then the next one waits in the writer, and the buffers fill up.
    for number in 0..18 {
        while put(&mut output, number, 30, 0).is_err() {
            thread::yield_now();
        }
        output.flush();
    }
    while gauge.read().packets().written < 18 {
        thread::yield_now();
    }
    let mut number = 18;
    while put(&mut output, number, 30, 0).is_ok() {
        output.flush();
        number += 1;
    }
    assert_eq!(gauge.read().packets().written, 18);
    drop(busy);
    let recorded = output.finish(&mut FakeEnds);
    let packets = recorded.counts.packets();
    assert_eq!((packets.written, packets.lost(), packets.unsynced), (u64::from(number), packets.refused, 0));
}

#[test]
fn replaced_packets_count_as_overwritten_and_stored_ones_as_written() {
    for files in [1, 3] {
        let stage = Stage::default();
        let mut output = rotating(&stage, By::Plain, 10, Some(files));
        for number in 0..75 {
            put(&mut output, number, 30, 0).unwrap();
        }
        let recorded = output.finish(&mut FakeEnds);
        let packets = recorded.counts.packets();
        let contents = stage.contents(By::Plain);
        let in_files: usize = contents.iter().map(|(_, file)| file.numbers.len()).sum();
        assert_eq!(
            (packets.written, packets.overwritten),
            (in_files as u64, 75 - in_files as u64),
            "{files}"
        );
        assert_eq!((packets.lost(), packets.unsynced, recorded.counts.files), (0, 0, 8));
    }
}

#[test]
fn a_file_that_gets_another_name_at_the_end_is_the_newest_of_the_recording() {
    let folder = Scratch::new();
    let mut options = WriteOptions::new(folder.file("f-%s.pcap"));
    options.rotation.seconds = Some(60);
    options.retention.files = Some(1);
    let mut output = Output::open(&options, read_record, 0, &mut FakeEnds).unwrap();
    put(&mut output, 0, 30, 0).unwrap();
    // Somebody is faster.
    fs::write(folder.file("f-0.pcap"), "faster").unwrap();
    let recorded = output.finish(&mut FakeEnds);
    assert!(matches!(recorded.ending, Ending::Finished));
    let packets = recorded.counts.packets();
    assert_eq!((packets.written, packets.deleted, recorded.counts.deleted_files), (1, 0, 1));
    assert!(folder.file("f-0-1.pcap").exists() && !folder.file("f-0.pcap").exists());
}

#[test]
fn as_many_files_are_kept_as_asked_also_when_none_is_open_any_more() {
    for files in 1..6 {
        let folder = Scratch::new();
        let mut options = WriteOptions::new(folder.file("f-%s.pcap"));
        options.rotation.seconds = Some(1);
        (options.retention.files, options.interfaces) = (Some(files), 2);
        let mut output = Output::open(&options, read_record, 0, &mut FakeEnds).unwrap();
        for second in 0..6 {
            put(&mut output, second, 30, u64::from(second) * 1_000_000_000).unwrap();
        }
        let packets = output.finish(&mut FakeEnds).counts.packets();
        let left = fs::read_dir(folder.path()).unwrap();
        let left =
            left.filter(|entry| !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!((left.count() as u64, packets.written, packets.deleted), (files, files, 6 - files));
    }
}

#[test]
fn a_start_at_which_old_files_cannot_be_removed_goes_on_and_says_why() {
    let folder = Scratch::new();
    fs::write(folder.file("f-0.pcap"), "old").unwrap();
    let mut options = WriteOptions::new(folder.file("f-%s.pcap"));
    options.rotation.seconds = Some(60);
    options.retention.free = Some(FreeSpace::Bytes(ByteCount(u64::MAX)));
    let mut output = Output::open(&options, read_record, 0, &mut FakeEnds).unwrap();
    put(&mut output, 0, 30, 0).unwrap();
    let said = output.gauge().read().retention_failure.unwrap();
    assert!(said.contains("free space"), "{said}");
    assert!(matches!(output.finish(&mut FakeEnds).ending, Ending::Finished));
    assert!(folder.file("f-0.pcap").exists());
}

#[test]
fn packets_of_a_folder_that_cannot_be_synced_are_not_known_to_be_on_the_disk() {
    for files in [None, Some(2)] {
        let stage = Stage::default();
        stage.lock().is_folder_unreadable = true;
        let mut output = rotating(&stage, By::Plain, 10, files);
        for number in 0..35 {
            put(&mut output, number, 30, 0).unwrap();
        }
        let recorded = output.finish(&mut FakeEnds);
        assert!(matches!(recorded.ending, Ending::Finished));
        let packets = recorded.counts.packets();
        let written = if files.is_some() { 15 } else { 35 };
        assert_eq!((packets.written, packets.unsynced), (written, written), "{files:?}");
        assert!(recorded.counts.is_folder_unsynced);
    }
}

#[test]
fn without_sync_nothing_is_known_of_the_disk() {
    let stage = Stage::default();
    let mut output = open(&stage, By::Plain, |options| options.syncs = false);
    put(&mut output, 0, 30, 0).unwrap();
    let recorded = output.finish(&mut FakeEnds);
    assert_eq!((recorded.counts.packets().unsynced, recorded.counts.syncs), (1, false));
}
