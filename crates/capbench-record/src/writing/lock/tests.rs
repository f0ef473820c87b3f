use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::{LONGEST_NAME, RecordingLock, name_of};
use crate::writing::own_names::OwnNames;
use crate::writing::rotation::Rotation;
use capbench_testing::Scratch;

const PATTERN: &str = "%s.pcap";

#[test]
fn of_two_recorders_one_gets_the_lock_and_the_other_names_it() {
    let folder = Scratch::new();
    let first = folder.file("1.pcap");
    let lock_file = folder.file(".%s.pcap.lock");
    let held = RecordingLock::take(&first, PATTERN.as_ref()).unwrap().unwrap();
    assert_eq!(fs::metadata(&lock_file).unwrap().mode() & 0o7777, 0o600);
    let said = RecordingLock::take(&folder.file("2.pcap"), PATTERN.as_ref()).unwrap_err().to_string();
    assert!(said.starts_with(&format!("process {} (", std::process::id())), "{said}");
    RecordingLock::take(&first, "other.pcap".as_ref()).unwrap().unwrap();
    drop(held);
    assert!(!lock_file.exists());
    // Of a recorder that was killed.
    File::create(&lock_file).unwrap();
    drop(RecordingLock::take(&first, PATTERN.as_ref()).unwrap().unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn two_recorders_never_have_the_lock_at_once() {
    let folder = Scratch::new();
    let first = folder.file("1.pcap");
    let alone = folder.file("alone");
    let locked: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let attempts = (0..500).filter_map(|_| {
                        let _held = RecordingLock::take(&first, PATTERN.as_ref()).ok()??;
                        drop(File::create_new(&alone).unwrap());
                        fs::remove_file(&alone).unwrap();
                        Some(())
                    });
                    attempts.count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(locked > 0);
}

#[test]
fn only_files_are_locked_and_no_link_is_followed() {
    let folder = Scratch::new();
    assert!(RecordingLock::take("/dev/null".as_ref(), "null".as_ref()).unwrap().is_none());
    assert!(RecordingLock::take(folder.path(), "directory".as_ref()).unwrap().is_none());
    let victim = folder.file("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, folder.file(".a.pcap.lock")).unwrap();
    RecordingLock::take(&folder.file("a.pcap"), "a.pcap".as_ref()).unwrap_err();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_name_of_any_length_has_a_lock_file() {
    let long = "x".repeat(LONGEST_NAME - 5) + ".pcap";
    assert_eq!(name_of(long.as_ref()).len(), LONGEST_NAME);
    assert_eq!(name_of("/data/%Y/a.pcap".as_ref()), OsStr::new(".a.pcap.lock"));
}

#[test]
fn a_lock_file_is_none_of_the_files_that_retention_removes() {
    let timed = Rotation { seconds: Some(1), ..Rotation::default() };
    let numbered = Rotation { bytes: Some(1), ..Rotation::default() };
    let names = ["%s.pcap", "%Z", "a-%b", "%Y-%m-%dT%H:%M:%S%z"].map(|name| (name, timed));
    for (name, rotation) in names.into_iter().chain([("f", numbered), ("f.lock", numbered)]) {
        let own = OwnNames::new(name.as_ref(), &rotation, false).unwrap();
        assert!(!own.are(&name_of(name.as_ref())), "{name}");
    }
}

#[test]
fn root_a_lock_file_of_somebody_else_is_used_only_where_nobody_else_can_write() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    let folder = Scratch::new();
    let (first, lock_file) = (folder.file("a.pcap"), folder.file(".a.pcap.lock"));
    File::create(&lock_file).unwrap();
    std::os::unix::fs::chown(&lock_file, Some(65_534), None).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let said = RecordingLock::take(&first, "a.pcap".as_ref()).unwrap_err().to_string();
    assert_eq!(said, "its lock file .a.pcap.lock belongs to user 65534");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    RecordingLock::take(&first, "a.pcap".as_ref()).unwrap().unwrap();
}
