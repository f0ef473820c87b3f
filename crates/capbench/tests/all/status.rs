//! What `count` and `record` show while they run: on a terminal, elsewhere, and when a signal asks.

use crate::support::{
    Namespaces, Place, Recording, Running, capbench, eventually, program, run, send_and_count, test_bed,
};
use serde_json::Value;

/// A command of ours on a terminal, which script(1) gives it: all that it wrote.
fn on_terminal(place: &Place, arguments: &str, terminal: &str) -> String {
    let mut command = program("script");
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_capbench"));
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", terminal);
    run(place, &mut command).success().out
}

/// The lines that were shown in one place.
fn shown(text: &str) -> Vec<&str> {
    let lines = text.split("\r\x1b[K").skip(1).map(|rest| rest.split(['\r', '\n']).next().unwrap());
    lines.filter(|line| line.contains(" packets  ")).collect()
}

#[test]
fn root_a_terminal_gets_a_line_each_second_with_rates_the_ring_and_losses_by_place() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("terminal.pcapng");
    let record = format!("record -i right -w {} --method packet-v2 --duration 2500ms", file.display());
    for arguments in ["count -i right --method packet-v2 --duration 2500ms", &record] {
        let text = on_terminal(&spaces.right, arguments, "xterm");
        let lines = shown(&text);
        assert!(lines.len() >= 2, "{arguments}: {text:?}");
        let buffers = if arguments == record { "  buffers 0/" } else { "  0 bit/s L2, 0 bit/s L1" };
        for line in lines {
            assert!(line.starts_with("0 packets  0 packets/s  dropped: none  ring 0 %"), "{line:?}");
            assert!(line.contains(buffers), "{line:?}");
        }
        assert!(text.contains("\x1b[K0 packets captured\r"), "{arguments}: {text:?}");
        let dumb = on_terminal(&spaces.right, arguments, "dumb");
        assert!(!dumb.contains('\x1b') && dumb.contains("0 packets captured\r"), "{arguments}: {dumb:?}");
    }
    // A method that has its ring to itself.
    let text = on_terminal(&spaces.right, "count -i right --method libpcap --duration 1200ms", "xterm");
    assert!(shown(&text).iter().all(|line| line.contains("  ring unknown")), "{text:?}");
}

#[test]
fn root_elsewhere_count_writes_lines_that_say_the_same() {
    let Some((_, spaces)) = test_bed() else { return };
    let count = |more: &[&str]| {
        run(&spaces.right, capbench("").args(["count", "-i", "right", "--duration", "200ms"]).args(more))
            .success()
    };
    let text = count(&[]).out;
    let line = text.lines().next().unwrap();
    assert!(line.ends_with("0 bit/s L2, 0 bit/s L1         0 dropped  ring 0 %"), "{text}");
    assert!(text.contains("\ndropped by place: none; highest ring fill: 0 %\n"), "{text}");
    let text = count(&["--json"]).out;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let none = serde_json::json!([{ "place": "ring", "count": 0 }]);
    assert_eq!((&lines[0]["ring_fill"], &lines[0]["losses"]), (&0.0.into(), &none), "{text}");
    assert_eq!((&lines[1]["ring_fullest"], &lines[1]["losses"]), (&0.0.into(), &none), "{text}");
    let text = count(&["--json", "--method", "libpcap"]).out;
    assert!(text.contains("\"ring_fill\":null"), "{text}");
}

/// Stops a process until its ring has overflowed, and lets it go on. Returns how many frames arrived.
fn standing_still(spaces: &Namespaces, running: &Running) -> u64 {
    running.signal("STOP");
    let arrived = send_and_count(spaces, "--rate 50000 -c 20000 --size 64 --trial 7");
    running.signal("CONT");
    arrived
}

#[test]
fn root_losses_are_told_by_place_and_signals_end_nothing() {
    let Some((folder, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right --method packet-v2 --ring 1MiB"));
    count.wait_for("packet-v2 on right");
    let received = format!("{} packets received by filter", standing_still(&spaces, &count));
    count.wait_for("  by place: ring ");
    // Nothing to flush.
    count.signal("USR2");
    count.signal("USR1");
    count.wait_for("dropped by place: ring ");
    count.signal("TERM");
    let ended = count.end().success();
    assert_eq!(ended.errors.matches(&received).count(), 1, "{ended:#?}");
    assert_eq!(ended.out.matches(&received).count(), 1, "{ended:#?}");
    // A ring that lost packets was full, also where no look saw that.
    assert!(ended.out.contains("highest ring fill: 100 %"), "{ended:#?}");

    let mut recording =
        Recording::start(&spaces.right, &folder.file("lossy.pcapng"), "--method packet-v2 --ring 1MiB");
    let arrived = standing_still(&spaces, &recording.running);
    eventually("the ring is empty", || {
        recording.running.signal("USR2");
        std::fs::metadata(recording.part()).unwrap().len() > 10_000
    });
    recording.running.signal("USR1");
    recording.running.wait_for("highest ring fill: ");
    let (ended, document) = recording.interrupt();
    let ledger = &document["interfaces"][0];
    assert_eq!((&ledger["accepted"], &ledger["unexplained"]), (&arrived.into(), &0.into()), "{ended:#?}");
    let fullest = ledger["ring_fullest"].as_f64().unwrap();
    assert!(
        (0.0..=1.0).contains(&fullest) && ledger["ring_fill"].as_f64().unwrap() <= fullest,
        "{document:#}"
    );
}
