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
         [programs.slow]\ncommand = ['python3', '{slow}', '{{interface}}', '{{file}}', '1000000', '0.004']\n\
         [programs.stops]\ncommand = ['python3', '{slow}', '{{interface}}', '{{file}}', '10', '0']\n"
    ))
}

/// A program, how many frames are sent to it, and how many it reads where it does not read all.
struct Reader {
    name: &'static str,
    sent: f64,
    read: Option<u64>,
}

#[test]
fn root_frames_that_a_program_has_not_read_are_counted_in_its_sockets_and_rings() {
    let Some(_turn) = turn() else { return };
    let folder = Scratch::new();
    // Together fewer than the kernel's backlog holds. Those to the slow one are more than its socket has room for.
    let readers = [
        Reader { name: "all", sent: 60.0, read: None },
        Reader { name: "some", sent: 150.0, read: Some(100) },
        Reader { name: "file", sent: 150.0, read: Some(100) },
        Reader { name: "slow", sent: 500.0, read: None },
        Reader { name: "stops", sent: 50.0, read: Some(10) },
    ];
    check_at_once(&programs(&folder), &readers, |laboratory, Reader { name, sent, read }| {
        let rate = Load::Rate(Pps::new(sent / SENDING.as_secs_f64()).unwrap());
        let setup = setup(&format!("cmd:{name}"));
        let trial = laboratory.prepare(&setup).unwrap().run(rate, SENDING).unwrap();
        let [ring, unread] = [Place::Ring, Place::Unread].map(|place| count(&trial, place));
        assert_eq!(trial.unexplained, 0, "{name}: {trial:#?}");
        assert!(ring.is_some() && unread.is_some(), "{name}: {:#?}", trial.ledger);
        match read {
            // A generator on a busy host may not send all of them.
            Some(read) => {
                assert_eq!(trial.delivered, trial.sent.min(*read), "{name}: {:#?}", trial.ledger);
                assert_eq!(unread > Some(0), trial.sent > *read, "{name}: {:#?}", trial.ledger);
            }
            None => assert_eq!(unread, Some(0), "{name}: {:#?}", trial.ledger),
        }
    });
}
