use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use rustix::fs::{FlockOperation, flock};

use super::{LOCK_PAUSE, Making, PartFile, numbered};
use capbench_testing::Scratch;
use capbench_testing::network::eventually;

const MAKING: Making = Making { mode: 0o600, group: None };

fn refused(path: &Path) -> String {
    PartFile::create(path, None, &MAKING).unwrap_err().to_string()
}

#[test]
fn a_number_comes_before_the_ending() {
    let of = |name: &str| numbered(name.as_ref(), 2).into_string().unwrap();
    assert_eq!(numbered("a.pcapng".as_ref(), 0), "a.pcapng");
    let names = ["a.pcapng", "a.b.pcapng1", "a.pcapng.zst", "a", ".hidden", "a.zst"];
    assert_eq!(
        names.map(of),
        ["a-2.pcapng", "a.b-2.pcapng1", "a-2.pcapng.zst", "a-2", ".hidden-2", "a-2.zst"]
    );
}

#[test]
fn a_file_has_its_name_only_when_it_is_complete() {
    let folder = Scratch::new();
    let path = folder.file("f.pcap");
    fs::write(&path, "before").unwrap();
    let (_file, mut part) = PartFile::create(&path, None, &MAKING).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::metadata(folder.file("f.pcap.part")).unwrap().mode() & 0o7777, 0o600);
    part.publish().unwrap();
    assert!(part.sync_folder().unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert!(!folder.file("f.pcap.part").exists());
}

#[test]
fn foreign_files_are_kept_where_nothing_is_replaced() {
    let folder = Scratch::new();
    let path = folder.file("f.pcap");
    fs::write(&path, "first").unwrap();
    fs::write(folder.file("f-1.pcap.part"), "left behind").unwrap();
    let (_file, mut part) = PartFile::create(&path, Some(0), &MAKING).unwrap();
    assert_eq!(part.number(), 2);
    // Somebody is faster.
    fs::write(folder.file("f-2.pcap"), "faster").unwrap();
    part.publish().unwrap();
    assert_eq!((part.number(), fs::read(&path).unwrap()), (3, b"first".to_vec()));
    assert_eq!(fs::read(folder.file("f-2.pcap")).unwrap(), b"faster");
    assert!(folder.file("f-3.pcap").exists());
}

#[test]
fn a_file_that_another_recorder_writes_is_refused_with_its_name() {
    let folder = Scratch::new();
    let path = folder.file("f.pcap");
    let held = PartFile::create(&path, None, &MAKING).unwrap();
    let said = refused(&path);
    assert!(said.starts_with(&format!("process {} (", std::process::id())), "{said}");
    drop(held);
    // What it left behind goes, as a file of that name would. A process that another test begins has the lock, too, until it runs
    // its program.
    eventually("the file is replaced", || PartFile::create(&path, None, &MAKING).is_ok());
}

#[test]
fn a_file_that_a_starting_recorder_looks_at_is_replaced_all_the_same() {
    let folder = Scratch::new();
    let path = folder.file("f.pcap");
    fs::write(folder.file("f.pcap.part"), "left behind").unwrap();
    let looked_at = fs::File::open(folder.file("f.pcap.part")).unwrap();
    flock(&looked_at, FlockOperation::NonBlockingLockShared).unwrap();
    thread::scope(|scope| {
        let created = scope.spawn(|| PartFile::create(&path, None, &MAKING).map(drop));
        thread::sleep(LOCK_PAUSE * 10);
        assert!(!created.is_finished());
        drop(looked_at);
        created.join().unwrap().unwrap();
    });
}

#[test]
fn links_and_directories_are_not_written_to() {
    let folder = Scratch::new();
    let (victim, link) = (folder.file("victim"), folder.file("f.pcap"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &link).unwrap();
    assert!(refused(&link).contains("symbolic link"));
    symlink(&victim, folder.file("g.pcap.part")).unwrap();
    assert!(refused(&folder.file("g.pcap")).contains("symbolic link"));
    assert!(refused(folder.path()).contains("Is a directory"));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn root_a_file_of_somebody_else_is_replaced_only_where_nobody_else_can_write() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    let folder = Scratch::new();
    let path = folder.file("f.pcap");
    fs::write(&path, "theirs").unwrap();
    std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(refused(&path).contains("belongs to user 65534"));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    PartFile::create(&path, None, &MAKING).unwrap();
}

#[test]
fn root_mode_and_group_are_those_that_are_asked_for() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    let folder = Scratch::new();
    let making = Making { mode: 0o640, group: Some(12_345) };
    let (file, _) = PartFile::create(&folder.file("f"), None, &making).unwrap();
    let about = file.metadata().unwrap();
    assert_eq!((about.mode() & 0o7777, about.gid()), (0o640, 12_345));
}
