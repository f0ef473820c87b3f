//! What `capbench record` says to what it cannot do, on an interface where it could.

use std::fs;

use crate::support::{Namespaces, Scratch, capbench, run, test_bed};

/// Runs `capbench record` at the right end of a pair, in a folder; its exit code, and what it says.
fn said(spaces: &Namespaces, folder: &Scratch, arguments: &[&str]) -> String {
    let ended = run(
        &spaces.right,
        capbench("record -i right --method packet-v3 --ring 1MiB").args(arguments).current_dir(folder.path()),
    );
    assert_eq!(ended.out, "", "{arguments:?}");
    let listening = ended.errors.lines().filter(|line| line.contains("listening on")).count();
    assert_eq!(listening, 0, "{arguments:?}: {}", ended.errors);
    format!("{}exit code {}", ended.errors, ended.code.unwrap())
}

#[test]
fn root_what_cannot_be_recorded_is_refused_before_anything_is_made() {
    let Some((folder, spaces)) = test_bed() else { return };
    fs::create_dir(folder.file("folder")).unwrap();
    fs::write(folder.file("numbers"), "2\n40 0 0 12\n6 0 0\n").unwrap();
    let cases: [(&str, &[&str]); 10] = [
        ("filter_end", &["-w", "a.pcapng", "udp", "port"]),
        ("filter_word", &["-w", "a.pcapng", "udp and prot 53"]),
        ("filter_sign", &["-w", "a.pcapng", "udp port 53 &&& tcp"]),
        ("filter_numbers", &["-w", "a.pcapng", "-F", "numbers"]),
        ("members", &["-w", "a.pcapng", "--fanout", "hash", "--members", "257"]),
        ("no_members", &["-w", "a.pcapng", "--fanout", "hash", "--members", "0"]),
        ("no_folder", &["-w", "no-such-folder/a.pcapng"]),
        ("file_as_folder", &["-w", "numbers/a.pcapng"]),
        ("folder", &["-w", "folder"]),
        ("sealed", &["-w", "/proc/a.pcapng"]),
    ];
    for (name, arguments) in cases {
        insta::assert_snapshot!(name, said(&spaces, &folder, arguments));
    }
    let mut entries = folder.entries();
    entries.sort();
    assert_eq!(entries, ["folder", "numbers"]);
}

#[test]
fn root_a_folder_that_the_user_may_not_write_to_is_told_with_the_user() {
    let Some((folder, spaces)) = test_bed() else { return };
    insta::assert_snapshot!("not_nobodys", said(&spaces, &folder, &["-w", "a.pcapng", "-Z", "nobody"]));
    assert_eq!(folder.entries(), [] as [String; 0]);
}

#[test]
fn root_flags_that_contradict_each_other_are_refused() {
    let Some((folder, spaces)) = test_bed() else { return };
    for (arguments, parts) in [
        ("no --format verbatim --method packet-v2", ["packet-v2 has no blocks", "give --method packet-v3"]),
        ("no --format verbatim --fanout lb --members 2", ["it is for one capture", ""]),
        ("no --format verbatim --block 32MiB --ring 64MiB", ["blocks can have up to 16MiB", ""]),
        ("no --ring 16KiB --workers 2", ["--workers: ", "--ring"]),
        ("no --ring 16MiB --workers 1 --worker-queue 15", ["--worker-queue: ", "--ring"]),
        ("a.pcapng --keep-files 3", ["give -G or -C", ""]),
        ("a.pcapng -C 1 -W 3 --keep-files 3", ["no -W", ""]),
        ("%Y/a%H.pcapng -G 1 --keep-files 3", ["folder", ""]),
        ("%c.pcapng -G 1 --keep-free 1%", ["%c", ""]),
        ("a%s.pcapng -G 1 --keep-free 0%", ["1% to 99%", ""]),
    ] {
        let mut command = capbench("record -i right -w");
        command.args(arguments.split(' ')).current_dir(folder.path());
        let ended = run(&spaces.right, &mut command);
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:#?}");
        assert!(parts.iter().all(|part| ended.errors.contains(part)), "{arguments}: {ended:#?}");
        assert!(folder.entries().is_empty(), "{arguments}");
    }
}
