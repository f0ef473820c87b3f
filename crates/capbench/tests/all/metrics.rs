//! The metrics of running commands against the reports of the programs that they are about.

#![cfg(feature = "bpf")]

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use crate::support::scrape::{PORT, Scrape};
use crate::support::why::number_before;
use crate::support::{
    HOST, NOBODY, Namespaces, Running, capbench, eventually, program, run, send, send_and_count, test_bed,
};

/// Starts a command at the right end that serves metrics there.
fn serving(spaces: &Namespaces, arguments: &str) -> Running {
    spaces.right.ip("link set lo up");
    let mut command = capbench(arguments);
    let mut running = Running::start(&spaces.right, command.args(["--metrics", PORT]));
    running.wait_for("metrics at 127.0.0.1:9873/metrics");
    running
}

/// A tcpdump at the right end that has begun to capture.
fn tcpdump(spaces: &Namespaces) -> Running {
    let mut tcpdump = Running::start(&spaces.right, program("tcpdump -B 64 -Z root -i right -w /dev/null"));
    tcpdump.wait_for("listening on right");
    tcpdump
}

const LOST: &str = "capbench_socket_lost_frames_total";
const TCPDUMP: &str = "program=\"tcpdump\"";

#[test]
fn root_the_frames_that_a_stopped_tcpdump_loses_are_counted_to_the_frame() {
    let Some((_, spaces)) = test_bed() else { return };
    let tcpdump = tcpdump(&spaces);
    let _why = serving(&spaces, "why -i right");
    assert_eq!(Scrape::settled(&spaces.right).sum(LOST, &[TCPDUMP]), 0);
    tcpdump.signal("STOP");
    send(&spaces, "--rate 50000 -c 50000");
    let scrape = Scrape::settled(&spaces.right);
    let lost = scrape.sum(LOST, &["interface=\"right\"", TCPDUMP, "method=\"packet-v3\"", "group=\"\""]);
    tcpdump.signal("CONT");
    tcpdump.signal("INT");
    let report = tcpdump.end().errors;
    println!("metrics: {lost}; tcpdump: {report}");
    assert_eq!(lost, number_before(&report, "packets dropped by kernel"), "{}", scrape.0);
    let delivered = scrape.sum("capbench_socket_delivered_frames_total", &[TCPDUMP]);
    assert_eq!(delivered + lost, number_before(&report, "packets received by filter"), "{}", scrape.0);
    assert!(lost > 0 && delivered > 0, "{}", scrape.0);
    let at_sockets = scrape.sum("capbench_lost_frames_total", &["interface=\"right\"", "place=\"ring\""]);
    assert_eq!(at_sockets, lost, "{}", scrape.0);
    // The counter continues after the socket is gone.
    assert!(Scrape::settled(&spaces.right).sum(LOST, &[TCPDUMP]) >= lost);
}

#[test]
fn root_a_burst_of_100_ms_is_in_few_of_many_windows() {
    let Some((_, spaces)) = test_bed() else { return };
    let tcpdump = tcpdump(&spaces);
    tcpdump.signal("STOP");
    let _why = serving(&spaces, "why -i right --no-trace");
    eventually("a second passes without loss", || Scrape::of(&spaces.right).windows() >= 10);
    assert_eq!(Scrape::of(&spaces.right).lossy_windows(), 0);
    send(&spaces, "--rate 50000 -c 5000");
    eventually("another second passes", || Scrape::of(&spaces.right).windows() >= 20);
    let scrape = Scrape::settled(&spaces.right);
    let (lossy, windows) = (scrape.lossy_windows(), scrape.windows());
    println!("{lossy} of {windows} windows lost {} frames", scrape.sum(LOST, &[TCPDUMP]));
    // A generator that a busy host delays spreads the burst.
    assert!(lossy >= 1 && lossy < windows / 2, "{}", scrape.0);
}

#[test]
fn root_counters_that_their_owner_reset_count_each_loss_once() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right --ring 256KiB"));
    count.wait_for("packet-v3 on right");
    let _why = serving(&spaces, "why -i right");
    for _ in 0..2 {
        count.signal("STOP");
        send(&spaces, "--rate 50000 -c 20000");
        let name = "capbench_socket_statistics_resets_total";
        let before = Scrape::settled(&spaces.right).sum(name, &[]);
        // It reads its counters, which resets them.
        count.signal("CONT");
        eventually("the reset is seen", || Scrape::of(&spaces.right).sum(name, &[]) > before);
    }
    let lost = Scrape::settled(&spaces.right).sum(LOST, &["program=\"capbench\""]);
    count.signal("INT");
    let report = count.end().success().out;
    println!("metrics: {lost}; {report}");
    assert_eq!(lost, number_before(&report, "packets dropped by kernel"), "{report}");
    assert!(lost > 0);
}

#[test]
fn root_all_takes_up_captures_that_begin_and_survives_interfaces_that_go() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut why = serving(&spaces, "why --all");
    let has = |name: &str| Scrape::of(&spaces.right).0.contains(&format!("interface=\"{name}\""));
    assert!(!has("right"));
    let tcpdump = tcpdump(&spaces);
    eventually("right is watched", || has("right"));
    // It is confined, and still sees the rings of sockets that were opened later.
    let scrape = Scrape::settled(&spaces.right);
    assert!(!scrape.0.contains("capbench_place_unknown{interface=\"right\",place=\"ring\"}"), "{}", scrape.0);
    tcpdump.signal("STOP");
    send(&spaces, "--rate 50000 -c 20000");
    let lost = Scrape::settled(&spaces.right).sum(LOST, &[TCPDUMP]);
    tcpdump.signal("CONT");
    tcpdump.signal("INT");
    assert_eq!(lost, number_before(&tcpdump.end().errors, "packets dropped by kernel"));
    spaces.right.ip("link add other type veth peer name end");
    spaces.right.ip("link set other up");
    let other = Running::start(&spaces.right, program("tcpdump -Z root -i other -w /dev/null"));
    eventually("the other one is watched", || has("other"));
    spaces.right.ip("link del other");
    drop(other);
    let begin = Scrape::of(&spaces.right).0.lines().count();
    assert!(begin > 0 && !why.has_ended(), "it goes on");
    why.signal("INT");
    why.end().success();
}

#[test]
fn root_count_and_record_serve_the_totals_that_they_print() {
    let Some((folder, spaces)) = test_bed() else { return };
    let file = folder.file("a.pcapng").display().to_string();
    for arguments in ["count -i right".into(), format!("record -i right -w {file}")] {
        let running = serving(&spaces, &arguments);
        let arrived = send_and_count(&spaces, "--rate 20000 -c 10000");
        let mut scrape = None;
        eventually("all frames are counted", || {
            let now = Scrape::settled(&spaces.right);
            let received = now.sum("capbench_received_frames_total", &["interface=\"right\""]);
            scrape = Some(now);
            received >= arrived
        });
        let scrape = scrape.unwrap();
        running.signal("INT");
        let ended = running.end().success();
        let report = if arguments.starts_with("count") { ended.out } else { ended.errors };
        let lost = scrape.sum("capbench_lost_frames_total", &["place=\"ring\""]);
        assert_eq!(lost, number_before(&report, "packets dropped by kernel"), "{}\n{report}", scrape.0);
        assert!(scrape.sum("capbench_ring_used_ratio_count", &[]) > 0, "{}", scrape.0);
        if arguments.starts_with("record") {
            let recorded = scrape.sum("capbench_recorded_frames_total", &[]);
            assert!(recorded > 0 && recorded <= number_before(&report, "packets captured"), "{report}");
        }
    }
}

#[test]
fn root_a_textfile_is_there_while_why_runs_though_it_is_confined() {
    let Some((folder, spaces)) = test_bed() else { return };
    let path = folder.file("textfiles");
    std::fs::create_dir(&path).unwrap();
    // Without its privileges root may not write there.
    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = capbench("why -i right");
    let why = Running::start(&spaces.right, command.arg("--textfile").arg(&path));
    let file = path.join("capbench_why_right.prom");
    let text = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually("windows are in the file", || text().contains("capbench_windows_total{command=\"why\""));
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o644);
    let inode = std::fs::metadata(&file).unwrap().ino();
    eventually("it is replaced", || std::fs::metadata(&file).is_ok_and(|now| now.ino() != inode));
    why.signal("INT");
    let ended = why.end().success();
    assert!(!ended.errors.contains("cannot write") && !file.exists(), "{ended:#?}");
}

#[test]
fn root_the_last_result_of_a_run_stays_in_its_textfile() {
    let Some((folder, _)) = test_bed() else { return };
    let run = |arguments: &str, out: &str| {
        let mut command = capbench(arguments);
        command.arg("--out").arg(folder.file(out)).arg("--textfile").arg(folder.path());
        run(HOST, &mut command)
    };
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let ended = run("soak --rate 2000 --for 1s --interval 500ms", "soak");
    let seen = text("capbench_soak_veth.prom");
    let code = ended.code.unwrap();
    assert!(
        seen.contains(&format!("capbench_run_exit_code{{command=\"soak\",file=\"veth\"}} {code}.0\n")),
        "{seen}"
    );
    assert!(
        seen.contains("method=\"packet-v3\",frame_size=\"64\",placement=\"same\",goal=\"soak\"}"),
        "{seen}"
    );
    // One that cannot begin leaves its exit code.
    let ended = run("search --method no-such-method --time 1s", "search");
    assert!(ended.code != Some(0), "{ended:#?}");
}

#[test]
fn without_a_place_to_export_to_flags_of_metrics_are_refused() {
    for (arguments, words) in [
        ("why --per-socket", "--per-socket"),
        ("why --web-config x", "--metrics"),
        ("count -i lo --metrics nonsense", "9873"),
        ("why --textfile /no/such/folder", "/no/such/folder"),
        // Other mistakes are found first, before a port or a folder is opened.
        ("count -i lo --cpu 0,0 --textfile /no/such/folder", "2 CPUs for 1"),
        ("record -i lo --method recv -w no.pcap -W 3 --textfile /no/such/folder", "-W: only files"),
    ] {
        let ended = run(HOST, capbench(arguments));
        assert!(ended.code != Some(0) && ended.errors.contains(words), "{arguments}: {ended:#?}");
        assert_eq!(ended.errors.lines().count(), 1, "{arguments}: {ended:#?}");
    }
    assert!(!Path::new("/no/such/folder").exists());
}

#[test]
fn root_counters_that_other_hosts_can_read_are_said_to_be_open() {
    let Some((_, spaces)) = test_bed() else { return };
    for (address, is_open) in [("0.0.0.0:9873", true), ("127.0.0.1:9873", false)] {
        let mut command = capbench("count -i right --metrics");
        let mut running = Running::start(&spaces.right, command.arg(address));
        running.wait_for("metrics at ");
        running.signal("INT");
        let ended = running.end();
        let words = "--metrics 0.0.0.0:9873: everybody who reaches it can read the counters, and they are sent without encryption";
        assert_eq!(ended.errors.contains(words), is_open, "{ended:?}");
    }
}
