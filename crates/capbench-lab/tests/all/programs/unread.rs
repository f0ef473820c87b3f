//! Frames that a program has not read when it is ended have their place, also if it does not count them.

use std::process::Command;

use super::*;

/// The programs, in a folder: compiled, or as they are.
fn programs(folder: &Scratch) -> Programs {
    let source = |name: &str| format!("{}/tests/all/programs/{name}", env!("CARGO_MANIFEST_DIR"));
    let mine = folder.file("mine");
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&mine).arg(source("mine.c")).arg("-lpcap");
    assert!(cc.status().unwrap().success(), "it needs libpcap-dev");
    let slow = folder.file("slow.py");
    std::fs::copy(source("slow.py"), &slow).unwrap();
    let (mine, slow) = (mine.display(), slow.display());
    let usual = r#"
        counts.captured = '(\d+) packets? captured'
        counts.received = '(\d+) packets? received by filter'
        counts.dropped = '(\d+) packets? dropped by kernel'"#;
    defined(&format!(
        "[programs.all]\ncommand = ['{mine}', '{{interface}}', '0']\n{usual}\n\
         [programs.some]\ncommand = ['{mine}', '{{interface}}', '100']\n{usual}\n\
         [programs.file]\ncommand = ['{mine}', '{{interface}}', '100', '{{file}}']\n\
         [programs.slow]\ncommand = ['python3', '{slow}', '{{interface}}', '{{file}}', '1000000', '0.001']\n\
         [programs.stops]\ncommand = ['python3', '{slow}', '{{interface}}', '{{file}}', '10', '0']\n"
    ))
}

#[test]
fn root_alone_frames_that_a_program_has_not_read_are_counted_in_its_sockets_and_rings() {
    let Some(()) = privileges() else { return };
    let folder = Scratch::new();
    let mut laboratory = laboratory(programs(&folder));
    for (name, read) in
        [("all", None), ("some", Some(100)), ("file", Some(100)), ("slow", None), ("stops", Some(10))]
    {
        let rate = Load::Rate(Pps::new(50_000.0).unwrap());
        let setup = setup(&format!("cmd:{name}"));
        let trial = laboratory.prepare(&setup).unwrap().run(rate, Duration::from_millis(40)).unwrap();
        let [ring, unread] = [Place::Ring, Place::Unread].map(|place| count(&trial, place));
        assert_eq!(trial.unexplained, 0, "{name}: {trial:#?}");
        assert!(ring.is_some() && unread.is_some(), "{name}: {:#?}", trial.ledger);
        match read {
            Some(read) => {
                assert_eq!(trial.delivered, read, "{name}");
                assert!(unread > Some(0), "{name}: {:#?}", trial.ledger);
            }
            None => assert_eq!(unread, Some(0), "{name}: {:#?}", trial.ledger),
        }
        assert_nothing_left();
    }
}
