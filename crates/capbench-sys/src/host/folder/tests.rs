use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::thread;

use capbench_testing::Scratch;

use super::{FILE_MODE, Folder};
use crate::host::trust::Trust;

/// A user that is not the one of the tests.
const STRANGER: u32 = 4711;

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn open(path: &Path) -> Folder {
    Folder::open(path, &Trust::everybody()).unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refusal(path: &Path, trust: &Trust) -> String {
    Folder::open(path, trust).unwrap_err().to_string()
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one_and_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let folder = open(scratch.path());
    folder.replace(name("a"), b"one").unwrap();
    let mut old = folder.open_file(name("a"), &Trust::everybody()).unwrap();
    folder.replace(name("a"), b"two").unwrap();
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), fs::read(scratch.path().join("a")).unwrap().as_slice()), ("one", &b"two"[..]));
    drop(folder.temporary(FILE_MODE).unwrap().with(b"dropped").unwrap());
    assert_eq!(folder.names().unwrap(), [name("a")]);
}

#[test]
fn one_of_many_gets_a_new_name() {
    let scratch = Scratch::new();
    let folder = open(scratch.path());
    let publish = |content: &str| {
        folder.temporary(FILE_MODE).unwrap().with(content.as_bytes()).unwrap().publish_new(name("a"))
    };
    let winners: Vec<String> = thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|index| scope.spawn(move || (index.to_string(), publish(&index.to_string()))))
            .collect();
        let ended = tries.into_iter().map(|thread| thread.join().unwrap());
        ended.filter_map(|(index, published)| published.is_ok().then_some(index)).collect()
    });
    assert_eq!(winners, [fs::read_to_string(scratch.path().join("a")).unwrap()]);
    assert_eq!(publish("late").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(folder.names().unwrap(), [name("a")]);
}

#[test]
fn a_folder_stays_the_same_one_when_a_link_takes_its_place() {
    let scratch = Scratch::new();
    let [run, moved, victim] = ["run", "moved", "victim"].map(|part| scratch.path().join(part));
    fs::create_dir(&victim).unwrap();
    let folder = Folder::create(&run, &Trust::everybody()).unwrap();
    fs::rename(&run, &moved).unwrap();
    symlink(&victim, &run).unwrap();
    folder.replace(name("a"), b"x").unwrap();
    assert!(moved.join("a").exists() && !victim.join("a").exists());
}

#[test]
fn links_in_a_folder_are_neither_written_nor_read_through() {
    let scratch = Scratch::new();
    let victim = scratch.path().join("victim");
    fs::write(&victim, "old").unwrap();
    let folder = Folder::create(&scratch.path().join("run"), &Trust::everybody()).unwrap();
    symlink(&victim, scratch.path().join("run/a")).unwrap();
    assert_eq!(folder.create_file(name("a"), FILE_MODE).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert!(folder.open_file(name("a"), &Trust::everybody()).is_err());
    folder.replace(name("a"), b"new").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "old");
    assert!(!scratch.path().join("run/a").is_symlink());
    assert!(folder.open_file(name(".."), &Trust::everybody()).is_err());
}

#[test]
fn folders_are_made_on_the_way_and_links_followed() {
    let scratch = Scratch::new();
    let base = scratch.path();
    let made = Folder::create(&base.join("a/b/../c"), &Trust::everybody()).unwrap();
    made.replace(name("x"), b"1").unwrap();
    symlink("a/c", base.join("short")).unwrap();
    assert_eq!(open(&base.join("short/.")).names().unwrap(), [name("x")]);
    symlink("loop", base.join("loop")).unwrap();
    for (path, kind) in [("none", ErrorKind::NotFound), ("a/c/x", ErrorKind::NotADirectory)] {
        assert_eq!(Folder::open(&base.join(path), &Trust::everybody()).unwrap_err().kind(), kind, "{path}");
    }
    assert!(Folder::open(&base.join("loop"), &Trust::everybody()).is_err());
    assert!(Folder::open(Path::new("/proc/self/root/tmp"), &Trust::everybody()).is_err());
    assert_eq!(open(Path::new("")).path(), Path::new(""));
    let (folder, everybody) = (open(base), Trust::everybody());
    assert_eq!(folder.below(name("a"), &everybody).unwrap().names().unwrap().len(), 2);
    assert!(folder.below(name("short"), &everybody).is_err());
    let file = base.join("short/x");
    let (folder, found) = Folder::of_file(&file, &Trust::everybody()).unwrap();
    assert_eq!((found, folder.names().unwrap().len()), (name("x"), 1));
    assert!(Folder::of_file(Path::new("/"), &Trust::everybody()).is_err());
}

#[test]
fn a_folder_that_others_may_write_is_not_trusted() {
    let scratch = Scratch::new();
    let (shared, inner) = (scratch.path().join("shared"), scratch.path().join("shared/inner"));
    fs::create_dir_all(&inner).unwrap();
    let trust = Trust::for_code();
    for (mode, words) in [(0o777, "may be written by everybody"), (0o775, "may be written by group")] {
        set_mode(&shared, mode);
        for path in [&shared, &inner] {
            let text = refusal(path, &trust);
            assert!(text.starts_with(shared.to_str().unwrap()) && text.contains(words), "{text}");
        }
        let error = Folder::create(&shared.join("new"), &trust).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(!shared.join("new").exists());
    }
    // Where nobody can replace what is ours, a folder below can be trusted.
    set_mode(&shared, 0o1777);
    let folder = Folder::open(&inner, &trust).unwrap();
    folder.replace(name("f"), b"x").unwrap();
    folder.open_file(name("f"), &trust).unwrap();
    set_mode(&inner.join("f"), 0o666);
    let text = folder.open_file(name("f"), &trust).unwrap_err().to_string();
    assert!(text.ends_with("inner/f may be written by everybody"), "{text}");
}

#[test]
fn root_a_file_is_opened_by_links_that_no_other_user_controls() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    let scratch = Scratch::new();
    let base = scratch.path();
    let [live, archive, theirs] = ["live", "archive", "theirs"].map(|folder| base.join(folder));
    [&live, &archive, &theirs].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    fs::write(archive.join("f1"), "text").unwrap();
    symlink("../archive/f1", live.join("f")).unwrap();
    let trust = Trust::root();
    assert_eq!(trust.read_text(&live.join("f"), 4).unwrap(), "text");
    assert_eq!(trust.read(&live.join("f"), 3).unwrap_err().kind(), ErrorKind::InvalidData);
    let refused = |path: &Path| trust.open(path).unwrap_err().to_string();
    // The user who controls the folder of a link chooses its target, also if that is a file of root.
    symlink("../archive/f1", theirs.join("f")).unwrap();
    chown(&theirs, Some(STRANGER), None).unwrap();
    assert!(refused(&theirs.join("f")).ends_with(&format!("/theirs belongs to user {STRANGER}")));
    symlink("loop", base.join("loop")).unwrap();
    assert_eq!(trust.open(&base.join("loop")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    for (mode, words) in [(0o604, "may be read by everybody"), (0o602, "may be written by everybody")] {
        set_mode(&archive.join("f1"), mode);
        let error = Trust::read_secret(&live.join("f"), 4).unwrap_err().to_string();
        assert!(error.ends_with(words), "{error}");
    }
    set_mode(&archive.join("f1"), 0o640);
    assert_eq!(Trust::read_secret(&live.join("f"), 4).unwrap(), b"text");
    chown(archive.join("f1"), Some(STRANGER), None).unwrap();
    assert!(refused(&live.join("f")).ends_with(&format!("/f1 belongs to user {STRANGER}")));
    assert!(Trust::everybody().open(&theirs.join("f")).is_ok());
}

#[test]
fn root_files_of_other_users_are_not_trusted() {
    let Some(()) = capbench_testing::network::privileges() else { return };
    let scratch = Scratch::new();
    let base = scratch.path();
    let (theirs, ours) = (base.join("theirs"), base.join("theirs/ours"));
    fs::create_dir_all(&ours).unwrap();
    fs::write(ours.join("f"), "x").unwrap();
    let trust = Trust::for_code();
    let folder = Folder::open(&ours, &trust).unwrap();
    chown(ours.join("f"), Some(STRANGER), None).unwrap();
    let text = folder.open_file(name("f"), &trust).unwrap_err().to_string();
    assert!(text.ends_with(&format!("/f belongs to user {STRANGER}")), "{text}");
    chown(&theirs, Some(STRANGER), None).unwrap();
    for trust in [Trust::for_code(), Trust::root(), Trust::for_output()] {
        let text = refusal(&ours, &trust);
        assert!(text.ends_with(&format!("/theirs belongs to user {STRANGER}")), "{text}");
    }
    // A link in a sticky folder is trusted if its owner is.
    set_mode(base, 0o1777);
    let link = base.join("link");
    symlink("/usr", &link).unwrap();
    Folder::open(&link, &trust).unwrap();
    std::os::unix::fs::lchown(&link, Some(STRANGER), None).unwrap();
    assert!(refusal(&link, &trust).ends_with(&format!("/link belongs to user {STRANGER}")));
}
