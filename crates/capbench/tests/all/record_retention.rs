//! Old files of a recording that are removed: which, and what the account says of their packets.

use std::fs::{self, File as StdFile};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::{File, Namespaces, Recording, Scratch, Tmpfs, privileges, send, test_bed};

/// A file that was written so many seconds ago.
fn make(folder: &Path, name: &str, age: u64) {
    let file = StdFile::create(folder.join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
}

/// Packets in the capture files of a folder whose names begin so, and how many files these are.
fn kept(folder: &Scratch, prefix: &str) -> (u64, usize) {
    let names: Vec<_> = folder.entries().into_iter().filter(|name| name.starts_with(prefix)).collect();
    let packets = |name: &String| File::read(&folder.file(name), 7, None, None).packets.len() as u64;
    (names.iter().map(packets).sum(), names.len())
}

#[test]
fn root_the_oldest_files_go_and_their_packets_are_counted() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (name, age) in
        [("eth-1600000000.pcapng", 300), ("eth-1600000001.pcapng", 200), ("eth-1600000002.pcapng.part", 100)]
    {
        make(folder.path(), name, age);
    }
    let others = ["eth-x.pcapng", "eth-1600000000.txt", "other-1600000000.pcapng"];
    others.iter().for_each(|name| make(folder.path(), name, 1000));
    const FRAMES: u64 = 10_000;
    let pattern = folder.file("eth-%s.pcapng");
    let recording = Recording::start(&spaces.right, &pattern, "--method packet-v3 -G 1 --keep-files 2");
    assert!(!folder.entries().iter().any(|name| name.starts_with("eth-160000000") && name.ends_with("g")));
    send(&spaces, &format!("--rate 2000 --size 64 -c {FRAMES} --trial 7"));
    let (ended, document) = recording.interrupt();
    others.iter().for_each(|name| fs::remove_file(folder.file(name)).unwrap());
    let (packets, files) = kept(&folder, "eth-");
    assert!(files <= 2 && packets > 0, "{:?}", folder.entries());
    let ledger = &document["interfaces"][0];
    assert_eq!(ledger["written"], packets, "{document:#}");
    assert_eq!(ledger["deleted"], FRAMES - packets, "{document:#}");
    assert_eq!((&ledger["in_hand"], &ledger["unexplained"]), (&0.into(), &0.into()), "{document:#}");
    assert!(document["deleted_files"].as_u64() >= Some(5), "{document:#}");
    assert!(ended.errors.contains("deleted: retention"), "{}", ended.errors);
    assert!(ended.errors.contains("old files of this recording removed"), "{}", ended.errors);
}

#[test]
fn root_a_recording_that_keeps_space_free_does_not_fill_the_disk() {
    let Some(()) = privileges() else { return };
    let (disk, spaces) = (Tmpfs::new("16m"), Namespaces::make());
    const FRAMES: u64 = 40_000;
    make(disk.0.path(), "notes", 1000);
    let file = disk.0.file("a.pcapng");
    let recording = Recording::start(&spaces.right, &file, "--method packet-v3 -C 1 --keep-free 50%");
    send(&spaces, &format!("--rate 8000 --size 1000 -c {FRAMES} --trial 7"));
    let (_, document) = recording.interrupt();
    let (packets, files) = kept(&disk.0, "a.pcapng");
    assert!(files > 2, "{:?}", disk.0.entries());
    let ledger = &document["interfaces"][0];
    assert_eq!((&ledger["written"], &ledger["deleted"]), (&packets.into(), &(FRAMES - packets).into()));
    assert_eq!(ledger["unexplained"], 0, "{document:#}");
    assert!(disk.0.entries().contains(&"notes".to_string()));
}
