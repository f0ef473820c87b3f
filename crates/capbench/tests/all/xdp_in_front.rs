//! An XDP program that takes frames before packet sockets see them: every capture names it, and its frames are lost.

#![cfg(feature = "bpf")]

use crate::support::scrape::{PORT, Scrape};
use crate::support::why::{look, number_before};
use crate::support::{Running, Scratch, capbench, eventually, results_file, send, test_bed};

/// A recording that loses nothing, as far as the user wants.
fn record(spaces: &crate::support::Namespaces, folder: &Scratch) -> Running {
    let mut command = capbench("record -i right --max-loss 0 --json -w");
    let mut record = Running::start(&spaces.right, command.arg(folder.file("a.pcapng")));
    record.wait_for("listening on right");
    record
}

#[test]
fn root_frames_that_an_xdp_program_takes_are_named_and_lost_for_packet_sockets() {
    let Some((_, spaces)) = test_bed() else { return };
    let folder = Scratch::new();
    spaces.right.ip("link set lo up");
    for method in ["af-xdp", "af-xdp+generic"] {
        let mut taker = Running::start(&spaces.right, capbench(&format!("count -i right --method {method}")));
        taker.wait_for(&format!("{method} on right"));
        let holder = format!("held by capbench {}", taker.pid());
        let record = record(&spaces, &folder);
        let mut count = capbench("count -i right --method packet-v2 --json --metrics");
        let mut count = Running::start(&spaces.right, count.arg(PORT));
        count.wait_for("packet-v2 on right");
        let mut why = Running::start(&spaces.right, capbench("why -i right --json"));
        why.wait_for("verdict");
        send(&spaces, "--rate 10k -c 2000");
        // Only the driver counts.
        let series = match method {
            "af-xdp" => "capbench_lost_frames_total{interface=\"right\",place=\"xdp\"} 2000\n",
            _ => "capbench_place_unknown{interface=\"right\",place=\"xdp\"} 1",
        };
        eventually("the metrics of count have what the program took", || {
            Scrape::of(&spaces.right).0.contains(series)
        });
        for running in [&why, &record, &count] {
            running.signal("INT");
        }
        let out = why.end().success().out;
        let looks: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let busiest = looks.iter().max_by_key(|look| look["received"].as_u64()).unwrap();
        let verdict = busiest["verdict"].as_str().unwrap();
        assert!(verdict.starts_with("XDP program ") && verdict.contains(&holder), "{verdict}");
        assert!(verdict.contains("TPACKET_V"), "the sockets behind it: {verdict}");

        let recorded = record.end().ended_with(3);
        let front = "packet sockets see only the frames that it passes";
        assert!(recorded.errors.contains(front) && recorded.errors.contains(&holder), "{recorded:#?}");
        let document = recorded.json();
        results_file::assert_valid_output("record", &document);
        let lost = document["interfaces"][0]["lost_by_xdp"].as_u64().unwrap();
        let words = format!("--max-loss 0: {lost} of {lost} packets are lost (right: xdp {lost})");
        assert!(recorded.errors.contains(&words) && document["missing"] == lost, "{recorded:#?}");
        // Of a generic program the comparison gives a lower limit: each CPU may have a frame in hand.
        let cpus = std::thread::available_parallelism().unwrap().get() as u64;
        let least = if method == "af-xdp" { 2000 } else { 2000 - 2 * cpus };
        assert!((least..=2000).contains(&lost), "{recorded:#?}");

        let counted = count.end().success();
        assert!(counted.errors.contains(&holder), "{counted:#?}");
        let totals: serde_json::Value = serde_json::from_str(counted.out.lines().last().unwrap()).unwrap();
        results_file::assert_valid_output("count", &totals);
        assert!(totals["xdp"]["program"].as_str().unwrap().contains(&holder), "{totals:#}");
        let expected = if method == "af-xdp" { 2000.into() } else { serde_json::Value::Null };
        assert_eq!(totals["xdp"]["packets"], expected, "{totals:#}");
        taker.signal("INT");
        assert_eq!(number_before(&taker.end().success().out, "packets captured"), 2000);
    }
}

#[test]
fn root_an_xdp_program_that_merely_passes_is_named_and_nothing_is_lost() {
    let Some((_, spaces)) = test_bed() else { return };
    let folder = Scratch::new();
    let mut passing = Running::start(&spaces.right, capbench("count -i right --method xdp-count+pass"));
    passing.wait_for("xdp-count+pass on right");
    let record = record(&spaces, &folder);
    send(&spaces, "--rate 10k -c 2000");
    record.signal("INT");
    let recorded = record.end().success();
    assert!(recorded.errors.contains(&format!("held by capbench {}", passing.pid())), "{recorded:#?}");
    let document = recorded.json();
    assert_eq!((&document["interfaces"][0]["lost_by_xdp"], &document["written"]), (&0.into(), &2000.into()));
    let verdict = look(&spaces.right)["verdict"].to_string();
    assert!(!verdict.contains("XDP"), "{verdict}");
}

#[test]
fn root_a_program_that_comes_later_is_named_and_with_a_filter_its_loss_is_unknown() {
    let Some((_, spaces)) = test_bed() else { return };
    let folder = Scratch::new();
    let mut filtered = capbench("record -i right --max-loss 0 -w");
    let mut record = Running::start(&spaces.right, filtered.arg(folder.file("b.pcapng")).arg("ip"));
    record.wait_for("listening on right");
    let mut taker = Running::start(&spaces.right, capbench("count -i right --method af-xdp"));
    taker.wait_for("af-xdp on right");
    record.wait_for("attached while it is recorded: XDP program ");
    send(&spaces, "--rate 10k -c 2000");
    record.signal("INT");
    let recorded = record.end().ended_with(4).errors;
    assert!(
        recorded.contains("unknown: it took 2000 frames, and which of them the filter would pass is unknown"),
        "{recorded}"
    );
}

#[test]
fn root_frames_of_a_generic_program_stay_lost_when_gro_ends_the_comparison() {
    let Some((_, spaces)) = test_bed() else { return };
    let folder = Scratch::new();
    let mut taker = Running::start(&spaces.right, capbench("count -i right --method af-xdp+generic"));
    taker.wait_for("af-xdp+generic on right");
    let mut record = record(&spaces, &folder);
    send(&spaces, "--rate 10k -c 2000");
    record.signal("USR1");
    record.wait_for("lost: xdp");
    spaces.right.run("ethtool", "-K right gro on");
    send(&spaces, "--rate 10k -c 2000");
    record.signal("INT");
    let recorded = record.end().ended_with(3);
    let lost = recorded.json()["interfaces"][0]["lost_by_xdp"].as_u64().unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get() as u64;
    assert!((2000 - 2 * cpus..=2000).contains(&lost), "{recorded:#?}");
    let words = "at least: rx_packets less accepted, while both could be compared";
    assert!(recorded.errors.contains(words), "{recorded:#?}");
}
